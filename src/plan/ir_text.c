/* ir_text.c: the plan graph as text, one node a line, children indented below.
 *
 *   project a, sum(b)
 *     group by a: sum(b)
 *       scan memory.main.t (a, b)
 *
 * A node that several parents read is printed where it is met first, as "#1: ...", and as "#1"
 * after that. */
#include "plan/ir.h"

enum { NAME_MAX_BYTES = 48, TEXT_MAX_BYTES = 64 * 1024 };

/* --- names --- */

typedef struct Naming {
    const Ir *ir;
    const char *const **done; /* by node id; NULL = not yet */
    Buf scratch;
} Naming;

static const char *keep_name(Naming *n, size_t column, Error *err)
{
    const bool is_short =
        n->scratch.status == WEIR_OK && n->scratch.size > 0 && n->scratch.size <= NAME_MAX_BYTES;
    return is_short ? weir_arena_strndup(n->ir->arena, n->scratch.data, n->scratch.size, err)
                    : weir_arena_printf(n->ir->arena, err, "column%zu", column);
}

static const char *name_expr(Naming *n, const Expr *expr, const char *const *child, size_t column,
                             Error *err)
{
    if (expr->kind == EXPR_COLUMN) {
        return child[expr->column];
    }
    weir_buf_clear(&n->scratch);
    weir_expr_put_text(&n->scratch, expr, child);
    return keep_name(n, column, err);
}

static void put_call(Buf *out, const IrCall *call, const char *const *names)
{
    if (strcmp(call->name, "count_star") == 0) {
        weir_buf_puts(out, "count(*)");
    } else {
        weir_buf_printf(out, "%s(%s", call->name, call->is_distinct ? "DISTINCT " : "");
        for (size_t i = 0; i < call->arg_count; i++) {
            weir_buf_puts(out, i == 0 ? "" : ", ");
            weir_expr_put_text(out, call->args[i], names);
        }
        weir_buf_putc(out, ')');
    }
    if (call->filter != NULL) {
        weir_buf_puts(out, " FILTER (");
        weir_expr_put_text(out, call->filter, names);
        weir_buf_putc(out, ')');
    }
}

static const char *name_call(Naming *n, const IrCall *call, const char *const *child, size_t column,
                             Error *err)
{
    weir_buf_clear(&n->scratch);
    put_call(&n->scratch, call, child);
    return keep_name(n, column, err);
}

static const char *name_column(Naming *n, const IrNode *node, size_t i, Error *err)
{
    const char *const *child = n->done[weir_ir_first(node)->id];
    switch (node->kind) {
    case IR_SCAN: {
        const IrScan *scan = weir_ir_as_scan(node);
        return scan->table->names[scan->columns[i]];
    }
    case IR_VALUES: return weir_arena_printf(n->ir->arena, err, "value%zu", i);
    case IR_FILTER:
    case IR_DISTINCT:
    case IR_UNION: return child[i];
    case IR_PROJECT: return name_expr(n, weir_ir_as_project(node)->exprs[i], child, i, err);
    case IR_AGGREGATE: {
        const IrAggregate *aggregate = weir_ir_as_aggregate(node);
        const size_t groups = aggregate->group_count;
        return i < groups ? name_expr(n, aggregate->groups[i], child, i, err)
                          : name_call(n, &aggregate->calls[i - groups], child, i, err);
    }
    case IR_JOIN: break;
    }
    const size_t source = weir_ir_join_source(weir_ir_as_join(node), i);
    const size_t left_count = node->children[0]->column_count;
    if (source == SIZE_MAX) {
        return "mark";
    }
    return source < left_count ? child[source]
                               : n->done[node->children[1]->id][source - left_count];
}

static Status name_node(Naming *n, const IrNode *node, Error *err)
{
    if (n->done[node->id] != NULL) {
        return WEIR_OK;
    }
    for (size_t i = 0; i < node->child_count; i++) {
        WEIR_TRY(name_node(n, node->children[i], err));
    }
    const char **names = weir_arena_calloc(n->ir->arena, node->column_count, sizeof *names, err);
    if (names == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        names[i] = name_column(n, node, i, err);
        if (names[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    n->done[node->id] = names;
    return WEIR_OK;
}

Status weir_ir_name_columns(const Ir *ir, const IrNode *root, IrNames *names, Error *err)
{
    Naming n = {.ir = ir};
    n.done = weir_arena_calloc(ir->arena, ir->node_count, sizeof(const char *const *), err);
    if (n.done == NULL) {
        return weir_ir_failure(err);
    }
    weir_buf_init(&n.scratch, ir->arena->mem, TEXT_MAX_BYTES);
    const Status status = name_node(&n, root, err);
    weir_buf_deinit(&n.scratch);
    *names = n.done;
    return status;
}

/* --- lines --- */

typedef struct Printing {
    const IrText *text;
    Buf *out;
    const IrNode **shared; /* nodes with several parents, in the order of their numbers */
    size_t shared_count;
    size_t shared_capacity;
} Printing;

static void put_exprs(Buf *out, const Expr *const *exprs, size_t count, const char *const *names,
                      const char *separator)
{
    for (size_t i = 0; i < count; i++) {
        weir_buf_puts(out, i == 0 ? "" : separator);
        weir_expr_put_text(out, exprs[i], names);
    }
}

static void put_scan(Buf *out, const IrScan *scan)
{
    const IrTable *table = scan->table;
    if (table->kind == PLAN_SOURCE_VIEW) {
        weir_buf_printf(out, "view %s (", table->name);
    } else {
        weir_buf_printf(out, "scan %s.%s.%s (", table->catalog, table->schema, table->name);
    }
    for (size_t i = 0; i < scan->head.column_count; i++) {
        weir_buf_printf(out, "%s%s", i == 0 ? "" : ", ", table->names[scan->columns[i]]);
    }
    weir_buf_putc(out, ')');
}

static void put_aggregate(Buf *out, const IrAggregate *aggregate, const char *const *names)
{
    weir_buf_puts(out, aggregate->group_count == 0 ? "aggregate " : "group by ");
    put_exprs(out, aggregate->groups, aggregate->group_count, names, ", ");
    weir_buf_puts(out, aggregate->group_count == 0 || aggregate->call_count == 0 ? "" : ": ");
    for (size_t i = 0; i < aggregate->call_count; i++) {
        weir_buf_puts(out, i == 0 ? "" : ", ");
        put_call(out, &aggregate->calls[i], names);
    }
}

static const char *kind_name(JoinKind kind)
{
    switch (kind) {
    case JOIN_INNER: return "inner";
    case JOIN_LEFT: return "left";
    case JOIN_FULL: return "full";
    case JOIN_SEMI: return "semi";
    case JOIN_ANTI: return "anti";
    case JOIN_MARK: return "mark";
    }
    return "";
}

/* The residual counts the columns of both sides. */
static void put_residual(const Printing *p, const IrJoin *join)
{
    const IrNode *left = join->head.children[0];
    const IrNode *right = join->head.children[1];
    const size_t count = left->column_count + right->column_count;
    Error err = {0};
    const char **names = weir_mem_calloc(p->out->mem, count, sizeof *names, &err);
    for (size_t i = 0; names != NULL && i < count; i++) {
        names[i] = i < left->column_count ? p->text->names[left->id][i]
                                          : p->text->names[right->id][i - left->column_count];
    }
    weir_expr_put_text(p->out, join->residual, names);
    weir_mem_free(p->out->mem, names);
}

static void put_join(const Printing *p, const IrJoin *join)
{
    const char *const *left = p->text->names[join->head.children[0]->id];
    const char *const *right = p->text->names[join->head.children[1]->id];
    const bool is_product =
        join->kind == JOIN_INNER && join->key_count == 0 && join->residual == NULL;
    weir_buf_printf(p->out, "%s join", is_product ? "cross" : kind_name(join->kind));
    for (size_t k = 0; k < join->key_count; k++) {
        const IrKey *key = &join->keys[k];
        weir_buf_puts(p->out, k == 0 ? " on " : " AND ");
        weir_expr_put_text(p->out, key->left, left);
        weir_buf_puts(p->out, key->is_null_safe ? " IS NOT DISTINCT FROM " : " = ");
        weir_expr_put_text(p->out, key->right, right);
    }
    if (join->residual != NULL) {
        weir_buf_puts(p->out, join->key_count == 0 ? " on " : " AND ");
        put_residual(p, join);
    }
}

static void put_line(const Printing *p, const IrNode *node)
{
    const char *const *names = p->text->names[weir_ir_first(node)->id];
    switch (node->kind) {
    case IR_SCAN: put_scan(p->out, weir_ir_as_scan(node)); break;
    case IR_VALUES:
        weir_buf_printf(p->out, "values (%zu rows of %zu columns)",
                        weir_ir_as_values(node)->row_count, node->column_count);
        break;
    case IR_FILTER: {
        const IrFilter *filter = weir_ir_as_filter(node);
        weir_buf_puts(p->out, "filter ");
        put_exprs(p->out, filter->predicates, filter->predicate_count, names, " AND ");
        break;
    }
    case IR_PROJECT:
        weir_buf_puts(p->out, node->column_count == 0 ? "project nothing" : "project ");
        put_exprs(p->out, weir_ir_as_project(node)->exprs, node->column_count, names, ", ");
        break;
    case IR_AGGREGATE: put_aggregate(p->out, weir_ir_as_aggregate(node), names); break;
    case IR_DISTINCT: weir_buf_puts(p->out, "distinct"); break;
    case IR_JOIN: put_join(p, weir_ir_as_join(node)); break;
    case IR_UNION: weir_buf_puts(p->out, "union all"); break;
    }
    weir_buf_putc(p->out, '\n');
}

/* The number of a shared node; *is_new if it gets it now. */
static size_t shared_number(Printing *p, const IrNode *node, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < p->shared_count; i++) {
        if (p->shared[i] == node) {
            return i + 1;
        }
    }
    *is_new = true;
    if (p->shared_count < p->shared_capacity) {
        p->shared[p->shared_count++] = node;
    }
    return p->shared_count;
}

static void put_node(Printing *p, const IrNode *node, size_t depth)
{
    if (p->out->status != WEIR_OK) {
        return;
    }
    for (size_t i = 0; i < depth; i++) {
        weir_buf_puts(p->out, "  ");
    }
    if (p->text->counts[node->id] > 1) {
        bool is_new = false;
        const size_t number = shared_number(p, node, &is_new);
        weir_buf_printf(p->out, is_new ? "#%zu: " : "#%zu\n", number);
        if (!is_new) {
            return;
        }
    }
    put_line(p, node);
    for (size_t i = 0; i < node->child_count; i++) {
        put_node(p, node->children[i], depth + 1);
    }
}

static size_t count_shared(const IrText *text)
{
    size_t count = 0;
    for (size_t i = 0; i <= text->root->id; i++) {
        count += text->counts[i] > 1 ? 1 : 0;
    }
    return count;
}

void weir_ir_put_text(const IrText *text, Buf *out)
{
    Error err = {0};
    Printing p = {.text = text, .out = out, .shared_capacity = count_shared(text)};
    p.shared = weir_mem_calloc(out->mem, p.shared_capacity, sizeof(const IrNode *), &err);
    if (p.shared == NULL) {
        out->status = err.code;
        out->err = err;
        return;
    }
    put_node(&p, text->root, 0);
    weir_mem_free(out->mem, p.shared);
}
