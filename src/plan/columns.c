/* columns.c: makes the operands of aggregates and joins plain columns.
 *
 * Operators take columns, not expressions: GROUP BY a + 1 becomes a grouping by a column of a
 * projection below, and so do computed arguments, filters and join keys. Equal expressions share a
 * column. */
#include "plan/plan_priv.h"

/* Expressions that a projection will compute. */
typedef struct ColumnList {
    size_t count;
    size_t capacity;
    const Expr **exprs;
} ColumnList;

static Status init_list(Ir *ir, ColumnList *list, size_t capacity, Error *err)
{
    *list = (ColumnList){.capacity = capacity};
    list->exprs = weir_arena_calloc(ir->arena, capacity, sizeof(const Expr *), err);
    return list->exprs == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* The list's column for the expression. */
static const Expr *add_column(Ir *ir, ColumnList *list, const Expr *expr, Error *err)
{
    size_t i = 0;
    while (i < list->count && !weir_expr_equal(list->exprs[i], expr)) {
        i++;
    }
    if (i == list->count) {
        WEIR_ASSERT(list->count < list->capacity);
        list->exprs[list->count++] = expr;
    }
    return weir_expr_column(ir->arena, i, expr->type, err);
}

static bool is_plain_aggregate(const IrAggregate *aggregate)
{
    for (size_t i = 0; i < aggregate->group_count; i++) {
        if (aggregate->groups[i]->kind != EXPR_COLUMN) {
            return false;
        }
    }
    for (size_t i = 0; i < aggregate->call_count; i++) {
        const IrCall *call = &aggregate->calls[i];
        if (call->filter != NULL && call->filter->kind != EXPR_COLUMN) {
            return false;
        }
        for (size_t a = 0; a < call->arg_count; a++) {
            if (call->args[a]->kind != EXPR_COLUMN) {
                return false;
            }
        }
    }
    return true;
}

static Status split_call(Ir *ir, ColumnList *list, IrCall *call, Error *err)
{
    for (size_t a = 0; a < call->arg_count; a++) {
        call->args[a] = add_column(ir, list, call->args[a], err);
        if (call->args[a] == NULL) {
            return weir_ir_failure(err);
        }
    }
    if (call->filter != NULL) {
        call->filter = add_column(ir, list, call->filter, err);
        if (call->filter == NULL) {
            return weir_ir_failure(err);
        }
    }
    return WEIR_OK;
}

static Status split_aggregate(Ir *ir, const IrNode *node, const IrNode **out, Error *err)
{
    const IrAggregate *aggregate = weir_ir_as_aggregate(node);
    ColumnList list = {0};
    WEIR_TRY(init_list(ir, &list,
                       aggregate->group_count + aggregate->call_count * (IR_CALL_ARGS + 1), err));
    const Expr **groups =
        weir_arena_calloc(ir->arena, aggregate->group_count, sizeof(const Expr *), err);
    IrCall *calls = weir_arena_calloc(ir->arena, aggregate->call_count, sizeof *calls, err);
    if (groups == NULL || calls == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < aggregate->group_count; i++) {
        groups[i] = add_column(ir, &list, aggregate->groups[i], err);
        if (groups[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    for (size_t i = 0; i < aggregate->call_count; i++) {
        calls[i] = aggregate->calls[i];
        WEIR_TRY(split_call(ir, &list, &calls[i], err));
    }
    const IrNode *below = weir_ir_project(ir, node->children[0], list.exprs, list.count, err);
    if (below == NULL) {
        return weir_ir_failure(err);
    }
    const IrAggregateSpec spec = {.groups = groups,
                                  .group_count = aggregate->group_count,
                                  .calls = calls,
                                  .call_count = aggregate->call_count};
    *out = weir_ir_aggregate(ir, below, &spec, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static bool has_plain_keys(const IrJoin *join)
{
    for (size_t k = 0; k < join->key_count; k++) {
        if (join->keys[k].left->kind != EXPR_COLUMN || join->keys[k].right->kind != EXPR_COLUMN) {
            return false;
        }
    }
    return true;
}

/* All columns of the child, then its computed keys; the keys become columns. */
static Status split_keys(Ir *ir, const IrNode *child, IrKey *keys, size_t key_count, bool is_left,
                         const IrNode **out, Error *err)
{
    ColumnList list = {0};
    WEIR_TRY(init_list(ir, &list, child->column_count + key_count, err));
    for (size_t i = 0; i < child->column_count; i++) {
        list.exprs[i] = weir_expr_column(ir->arena, i, child->types[i], err);
        if (list.exprs[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    list.count = child->column_count;
    for (size_t k = 0; k < key_count; k++) {
        const Expr **key = is_left ? &keys[k].left : &keys[k].right;
        *key = add_column(ir, &list, *key, err);
        if (*key == NULL) {
            return weir_ir_failure(err);
        }
    }
    *out = child;
    if (list.count > child->column_count) {
        *out = weir_ir_project(ir, child, list.exprs, list.count, err);
    }
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status split_join(Ir *ir, const IrNode *node, const IrNode **out, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    const size_t left_count = node->children[0]->column_count;
    const size_t right_count = node->children[1]->column_count;
    const IrNode *left = NULL;
    const IrNode *right = NULL;
    IrKey *keys = weir_arena_calloc(ir->arena, join->key_count, sizeof *keys, err);
    if (keys == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t k = 0; k < join->key_count; k++) {
        keys[k] = join->keys[k];
    }
    WEIR_TRY(split_keys(ir, node->children[0], keys, join->key_count, true, &left, err));
    WEIR_TRY(split_keys(ir, node->children[1], keys, join->key_count, false, &right, err));
    IrJoinSpec spec = weir_ir_join_spec(join);
    spec.keys = keys;
    if (join->residual != NULL) {
        size_t *map = weir_arena_calloc(ir->arena, left_count + right_count, sizeof *map, err);
        if (map == NULL) {
            return weir_ir_failure(err);
        }
        for (size_t i = 0; i < left_count + right_count; i++) {
            map[i] = i < left_count ? i : left->column_count + (i - left_count);
        }
        spec.residual = weir_expr_remap(ir->arena, join->residual, map, err);
        if (spec.residual == NULL) {
            return weir_ir_failure(err);
        }
    }
    *out = weir_ir_join(ir, left, right, &spec, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status split_node(Ir *ir, void *context, const IrNode *old, const IrNode *node,
                         const IrNode **out, Error *err)
{
    WEIR_UNUSED(context);
    WEIR_UNUSED(old);
    *out = node;
    if (node->kind == IR_AGGREGATE && !is_plain_aggregate(weir_ir_as_aggregate(node))) {
        return split_aggregate(ir, node, out, err);
    }
    if (node->kind == IR_JOIN && !has_plain_keys(weir_ir_as_join(node))) {
        return split_join(ir, node, out, err);
    }
    return WEIR_OK;
}

Status weir_plan_split_columns(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    return weir_ir_rewrite(ir, root, split_node, NULL, out, err);
}
