/* rule_null_tests.c: x IS NOT NULL is dropped where rows with NULL in x come to nothing anyway: in
 * the key of an inner or semi join, or of the right side of a left or anti join.
 *
 * Parents before children, each node learns of which columns all its parents reject NULL. What can
 * fail stops this, since it would see more rows. */
#include "plan/rule_priv.h"

typedef struct NullTests {
    Ir *ir;
    bool **rejected; /* by node id: by column; NULL = not part of the graph */
    size_t *heard;   /* by node id: parents that have spoken */
} NullTests;

/* One parent rejects NULL of the marked columns: what one does not reject, all do not. */
static void tell(const NullTests *t, const IrNode *node, const bool *columns)
{
    bool *all = t->rejected[node->id];
    for (size_t i = 0; i < node->column_count; i++) {
        all[i] = columns[i] && (all[i] || t->heard[node->id] == 0);
    }
    t->heard[node->id]++;
}

static void reject_plain(const Expr *expr, bool is_rejected, bool *columns)
{
    if (is_rejected && expr->kind == EXPR_COLUMN) {
        columns[expr->column] = true;
    }
}

static bool is_null_test(const Expr *predicate)
{
    return predicate->kind == EXPR_IS_NOT_NULL && predicate->args[0]->kind == EXPR_COLUMN;
}

static void tell_filter(const IrNode *node, const bool *own, bool *below)
{
    const IrFilter *filter = weir_ir_as_filter(node);
    for (size_t i = 0; i < filter->predicate_count; i++) {
        if (weir_expr_can_fail(filter->predicates[i])) {
            return;
        }
    }
    for (size_t i = 0; i < node->column_count; i++) {
        below[i] = own[i];
    }
    for (size_t i = 0; i < filter->predicate_count; i++) {
        const Expr *predicate = filter->predicates[i];
        if (is_null_test(predicate)) {
            below[predicate->args[0]->column] = true;
        }
    }
}

static void tell_project(const IrNode *node, const bool *own, bool *below)
{
    const Expr *const *exprs = weir_ir_as_project(node)->exprs;
    for (size_t i = 0; i < node->column_count; i++) {
        if (weir_expr_can_fail(exprs[i])) {
            return;
        }
    }
    for (size_t i = 0; i < node->column_count; i++) {
        reject_plain(exprs[i], own[i], below);
    }
}

static void tell_aggregate(const IrNode *node, const bool *own, bool *below)
{
    const IrAggregate *aggregate = weir_ir_as_aggregate(node);
    for (size_t i = 0; i < aggregate->call_count; i++) {
        for (size_t a = 0; a < aggregate->calls[i].arg_count; a++) {
            if (weir_expr_can_fail(aggregate->calls[i].args[a])) {
                return;
            }
        }
    }
    for (size_t i = 0; i < aggregate->group_count; i++) {
        reject_plain(aggregate->groups[i], own[i], below);
    }
}

static void tell_join(const IrNode *node, const bool *own, bool *left, bool *right)
{
    const IrJoin *join = weir_ir_as_join(node);
    const bool can_fail = join->residual != NULL && weir_expr_can_fail(join->residual);
    const bool hides_left = join->kind == JOIN_INNER || join->kind == JOIN_SEMI;
    const bool hides_right = hides_left || join->kind == JOIN_LEFT || join->kind == JOIN_ANTI;
    for (size_t k = 0; k < join->key_count; k++) {
        reject_plain(join->keys[k].left, hides_left && !join->keys[k].is_null_safe, left);
        reject_plain(join->keys[k].right, hides_right && !join->keys[k].is_null_safe, right);
    }
    for (size_t i = 0; !can_fail && join->kind != JOIN_FULL && i < join->left_output_count; i++) {
        left[join->left_output[i]] = left[join->left_output[i]] || own[i];
    }
    for (size_t i = 0; !can_fail && join->kind == JOIN_INNER && i < join->right_output_count; i++) {
        bool *shown = &right[join->right_output[i]];
        *shown = *shown || own[join->left_output_count + i];
    }
}

/* Tells the children of a node whose parents have all spoken. */
static Status tell_children(const NullTests *t, const IrNode *node, Error *err)
{
    const bool *own = t->rejected[node->id];
    const size_t counts[2] = {
        node->child_count > 0 ? node->children[0]->column_count : 0,
        node->child_count > 1 ? node->children[1]->column_count : 0,
    };
    bool *below[2] = {
        weir_arena_calloc(t->ir->arena, counts[0], sizeof(bool), err),
        weir_arena_calloc(t->ir->arena, counts[1], sizeof(bool), err),
    };
    if (below[0] == NULL || below[1] == NULL) {
        return weir_ir_failure(err);
    }
    switch (node->kind) {
    case IR_SCAN:
    case IR_VALUES: return WEIR_OK;
    case IR_FILTER: tell_filter(node, own, below[0]); break;
    case IR_PROJECT: tell_project(node, own, below[0]); break;
    case IR_AGGREGATE: tell_aggregate(node, own, below[0]); break;
    case IR_JOIN: tell_join(node, own, below[0], below[1]); break;
    case IR_DISTINCT:
    case IR_UNION:
        for (size_t i = 0; i < node->child_count; i++) {
            tell(t, node->children[i], own);
        }
        return WEIR_OK;
    }
    for (size_t i = 0; i < node->child_count; i++) {
        tell(t, node->children[i], below[i]);
    }
    return WEIR_OK;
}

/* Adds the nodes to the list, children before parents. */
static Status list_nodes(const NullTests *t, const IrNode *node, const IrNode **list, size_t *count,
                         Error *err)
{
    if (t->rejected[node->id] != NULL) {
        return WEIR_OK;
    }
    t->rejected[node->id] = weir_arena_calloc(t->ir->arena, node->column_count, sizeof(bool), err);
    if (t->rejected[node->id] == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->child_count; i++) {
        WEIR_TRY(list_nodes(t, node->children[i], list, count, err));
    }
    list[(*count)++] = node;
    return WEIR_OK;
}

static Status drop_tests(Ir *ir, void *context, const IrNode *old, const IrNode *node,
                         const IrNode **out, Error *err)
{
    const NullTests *t = context;
    const bool *rejected = t->rejected[old->id];
    *out = node;
    if (node->kind != IR_FILTER) {
        return WEIR_OK;
    }
    const IrFilter *filter = weir_ir_as_filter(node);
    ExprList kept = {0};
    WEIR_TRY(weir_rule_list_init(ir, &kept, filter->predicate_count, err));
    bool can_fail = false;
    for (size_t i = 0; i < filter->predicate_count; i++) {
        can_fail = can_fail || weir_expr_can_fail(filter->predicates[i]);
    }
    for (size_t i = 0; i < filter->predicate_count; i++) {
        const Expr *predicate = filter->predicates[i];
        if (can_fail || !is_null_test(predicate) || !rejected[predicate->args[0]->column]) {
            weir_rule_list_add(&kept, predicate);
        }
    }
    if (kept.count < filter->predicate_count) {
        *out = weir_rule_filter(ir, node->children[0], &kept, err);
    }
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

Status weir_rule_null_tests(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    NullTests t = {.ir = ir};
    size_t count = 0;
    t.rejected = weir_arena_calloc(ir->arena, ir->node_count, sizeof *t.rejected, err);
    t.heard = weir_arena_calloc(ir->arena, ir->node_count, sizeof *t.heard, err);
    const IrNode **list = weir_arena_calloc(ir->arena, ir->node_count, sizeof(const IrNode *), err);
    if (t.rejected == NULL || t.heard == NULL || list == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(list_nodes(&t, root, list, &count, err));
    for (size_t i = count; i > 0; i--) {
        WEIR_TRY(tell_children(&t, list[i - 1], err));
    }
    return weir_ir_rewrite(ir, root, drop_tests, &t, out, err);
}
