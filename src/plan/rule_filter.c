/* rule_filter.c: merges filters and moves them down.
 *
 *   filter over filter       one filter, inner predicates first
 *   over a projection        the predicate over the projection's input, if that costs little
 *   over a union             into every branch
 *   over DISTINCT            predicates that see no difference between equal values
 *   over GROUP BY            the same, on grouping columns
 *   over joins               rule_join.c
 *
 * Predicates are ordered, and one that can fail counts on those before it: it moves only where they
 * move too, and never below what removes rows. A node with several parents is left as it is, with
 * the filter above it. */
#include "plan/rule_priv.h"

enum { SUBSTITUTION_COST_MAX = 8 };

/* Predicates that go down, and those that stay. */
typedef struct Split {
    ExprList down;
    ExprList stay;
} Split;

static Status init_split(FilterPusher *p, Split *split, size_t count, Error *err)
{
    WEIR_TRY(weir_rule_list_init(p->ir, &split->down, count, err));
    return weir_rule_list_init(p->ir, &split->stay, count, err);
}

/* One that can fail stays if one before it stays. */
static bool is_free(const Split *split, const Expr *predicate)
{
    return split->stay.count == 0 || !weir_expr_can_fail(predicate);
}

/* --- projections --- */

/* What it costs to compute the columns that the predicate reads. */
static size_t substitution_cost(const Expr *predicate, const Expr *const *exprs)
{
    if (predicate->kind == EXPR_COLUMN) {
        return weir_rule_cost(exprs[predicate->column]);
    }
    size_t cost = 0;
    for (size_t i = 0; i < predicate->arg_count; i++) {
        cost += substitution_cost(predicate->args[i], exprs);
    }
    if (predicate->extra != NULL && predicate->extra->lambda != NULL) {
        cost += substitution_cost(predicate->extra->lambda, exprs);
    }
    return cost;
}

static Status push_project(FilterPusher *p, const IrNode *node, const ExprList *predicates,
                           const IrNode **out, Error *err)
{
    const Expr *const *exprs = weir_ir_as_project(node)->exprs;
    Split split = {0};
    WEIR_TRY(init_split(p, &split, predicates->count, err));
    for (size_t i = 0; i < predicates->count; i++) {
        const Expr *predicate = predicates->items[i];
        if (!is_free(&split, predicate) ||
            substitution_cost(predicate, exprs) > SUBSTITUTION_COST_MAX) {
            weir_rule_list_add(&split.stay, predicate);
            continue;
        }
        const Expr *below = weir_expr_substitute(p->ir->arena, predicate, exprs, err);
        if (below == NULL) {
            return weir_ir_failure(err);
        }
        if (split.stay.count > 0 && weir_expr_can_fail(below)) {
            weir_rule_list_add(&split.stay, predicate);
        } else {
            weir_rule_list_add(&split.down, below);
        }
    }
    const IrNode *child = NULL;
    WEIR_TRY(weir_rule_push(p, node->children[0], &split.down, &child, err));
    const IrNode *project = weir_ir_project(p->ir, child, exprs, node->column_count, err);
    *out = project == NULL ? NULL : weir_rule_filter(p->ir, project, &split.stay, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* --- unions, DISTINCT, GROUP BY --- */

static Status push_union(FilterPusher *p, const IrNode *node, const ExprList *predicates,
                         const IrNode **out, Error *err)
{
    const IrNode **children =
        weir_arena_calloc(p->ir->arena, node->child_count, sizeof(const IrNode *), err);
    if (children == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->child_count; i++) {
        WEIR_TRY(weir_rule_push(p, node->children[i], predicates, &children[i], err));
    }
    *out = weir_ir_union(p->ir, children, node->child_count, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* True if all columns that it reads are among the first `count` and of types whose equal values are
 * alike. */
static bool reads_plain(const Expr *expr, size_t count)
{
    if (expr->kind == EXPR_COLUMN) {
        return expr->column < count && !weir_type_is_lossy(expr->type);
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        if (!reads_plain(expr->args[i], count)) {
            return false;
        }
    }
    return expr->extra == NULL || expr->extra->lambda == NULL ||
           reads_plain(expr->extra->lambda, count);
}

/* Predicates over the first `count` columns of the node, which are the expressions `below` over its
 * child, go below it: whole groups pass or fail. */
static Status push_grouping(FilterPusher *p, const IrNode *node, size_t count,
                            const Expr *const *below, const ExprList *predicates,
                            const IrNode **out, Error *err)
{
    Split split = {0};
    WEIR_TRY(init_split(p, &split, predicates->count, err));
    for (size_t i = 0; i < predicates->count; i++) {
        const Expr *predicate = predicates->items[i];
        if (count == 0 || weir_expr_can_fail(predicate) || !reads_plain(predicate, count)) {
            weir_rule_list_add(&split.stay, predicate);
            continue;
        }
        if (below != NULL) {
            predicate = weir_expr_substitute(p->ir->arena, predicate, below, err);
            if (predicate == NULL) {
                return weir_ir_failure(err);
            }
        }
        weir_rule_list_add(&split.down, predicate);
    }
    const IrNode **children = weir_arena_alloc(p->ir->arena, sizeof(const IrNode *), err);
    if (children == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(weir_rule_push(p, node->children[0], &split.down, &children[0], err));
    const IrNode *copy = weir_ir_with_children(p->ir, node, children, err);
    *out = copy == NULL ? NULL : weir_rule_filter(p->ir, copy, &split.stay, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* --- the walk --- */

/* The predicates of this filter, then those from above. */
static Status push_filter(FilterPusher *p, const IrNode *node, const ExprList *predicates,
                          const IrNode **out, Error *err)
{
    const IrFilter *filter = weir_ir_as_filter(node);
    ExprList own = {0};
    ExprList all = {0};
    WEIR_TRY(weir_rule_split(p->ir, filter->predicates, filter->predicate_count, &own, err));
    WEIR_TRY(weir_rule_list_init(p->ir, &all, own.count + predicates->count, err));
    for (size_t i = 0; i < own.count; i++) {
        weir_rule_list_add(&all, own.items[i]);
    }
    for (size_t i = 0; i < predicates->count; i++) {
        weir_rule_list_add(&all, predicates->items[i]);
    }
    return weir_rule_push(p, node->children[0], &all, out, err);
}

static Status push_by_kind(FilterPusher *p, const IrNode *node, const ExprList *predicates,
                           const IrNode **out, Error *err)
{
    switch (node->kind) {
    case IR_SCAN:
    case IR_VALUES:
        *out = weir_rule_filter(p->ir, node, predicates, err);
        return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
    case IR_FILTER: return push_filter(p, node, predicates, out, err);
    case IR_PROJECT: return push_project(p, node, predicates, out, err);
    case IR_UNION: return push_union(p, node, predicates, out, err);
    case IR_DISTINCT: return push_grouping(p, node, node->column_count, NULL, predicates, out, err);
    case IR_AGGREGATE: {
        const IrAggregate *aggregate = weir_ir_as_aggregate(node);
        return push_grouping(p, node, aggregate->group_count, aggregate->groups, predicates, out,
                             err);
    }
    case IR_JOIN: return weir_rule_push_join(p, node, predicates, out, err);
    }
    return WEIR_OK;
}

Status weir_rule_push(FilterPusher *pusher, const IrNode *node, const ExprList *predicates,
                      const IrNode **out, Error *err)
{
    if (pusher->parent_counts[node->id] == 1) {
        return push_by_kind(pusher, node, predicates, out, err);
    }
    if (pusher->done[node->id] == NULL) {
        const ExprList none = {0};
        const IrNode *shared = NULL;
        WEIR_TRY(push_by_kind(pusher, node, &none, &shared, err));
        pusher->done[node->id] = shared;
    }
    *out = weir_rule_filter(pusher->ir, pusher->done[node->id], predicates, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

Status weir_rule_push_filters(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    FilterPusher pusher = {.ir = ir};
    const ExprList none = {0};
    WEIR_TRY(weir_ir_count_parents(ir, root, &pusher.parent_counts, err));
    pusher.done = weir_arena_calloc(ir->arena, ir->node_count, sizeof(const IrNode *), err);
    if (pusher.done == NULL) {
        return weir_ir_failure(err);
    }
    return weir_rule_push(&pusher, root, &none, out, err);
}
