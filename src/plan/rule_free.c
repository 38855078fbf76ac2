/* rule_free.c: the right side of a correlated join without the distinct outer values D; the idea is in
 * rule_delim.c.
 *
 * A node is freed if it can be made without D, so that for each value of D it has the rows that it
 * had, and its other rows have values of their own. columns[j] tells where D's column j is. */
#include "plan/rule_delim_priv.h"

static bool reads_delim(const Delim *d, const IrNode *node, bool *is_seen)
{
    if (node == d->node) {
        return true;
    }
    if (is_seen[node->id]) {
        return false;
    }
    is_seen[node->id] = true;
    for (size_t i = 0; i < node->child_count; i++) {
        if (reads_delim(d, node->children[i], is_seen)) {
            return true;
        }
    }
    return false;
}

static Status contains_delim(const Delim *d, const IrNode *node, bool *out, Error *err)
{
    const ArenaMark mark = weir_arena_mark(d->ir->arena);
    bool *is_seen = weir_arena_calloc(d->ir->arena, d->ir->node_count, sizeof *is_seen, err);
    if (is_seen == NULL) {
        return weir_ir_failure(err);
    }
    *out = reads_delim(d, node, is_seen);
    weir_arena_release(d->ir->arena, mark);
    return WEIR_OK;
}

static bool can_any_fail(const Expr *const *exprs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (weir_expr_can_fail(exprs[i])) {
            return true;
        }
    }
    return false;
}

static size_t *new_columns(const Delim *d, Error *err)
{
    return weir_arena_calloc(d->ir->arena, d->count, sizeof(size_t), err);
}

/* --- operators with one child --- */

static Status free_filter(const Delim *d, const IrNode *node, Freed *out, Error *err)
{
    const IrFilter *filter = weir_ir_as_filter(node);
    if (can_any_fail(filter->predicates, filter->predicate_count)) {
        return WEIR_OK;
    }
    Freed child = {0};
    WEIR_TRY(weir_rule_free(d, node->children[0], &child, err));
    if (child.node == NULL) {
        return WEIR_OK;
    }
    out->columns = child.columns;
    out->node = weir_ir_filter(d->ir, child.node, filter->predicates, filter->predicate_count, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* Where the list of expressions has the column plainly; SIZE_MAX if it does not. */
static size_t find_plain(const Expr *const *exprs, size_t count, size_t column)
{
    for (size_t i = 0; i < count; i++) {
        if (exprs[i]->kind == EXPR_COLUMN && exprs[i]->column == column) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Follows D's columns through a list of expressions; false if one is lost. */
static bool follow(const Delim *d, const size_t *below, const Expr *const *exprs, size_t count,
                   size_t *out)
{
    for (size_t j = 0; j < d->count; j++) {
        out[j] = find_plain(exprs, count, below[j]);
        if (out[j] == SIZE_MAX) {
            return false;
        }
    }
    return true;
}

static Status free_project(const Delim *d, const IrNode *node, Freed *out, Error *err)
{
    const Expr *const *exprs = weir_ir_as_project(node)->exprs;
    if (can_any_fail(exprs, node->column_count)) {
        return WEIR_OK;
    }
    Freed child = {0};
    WEIR_TRY(weir_rule_free(d, node->children[0], &child, err));
    out->columns = new_columns(d, err);
    if (out->columns == NULL) {
        return weir_ir_failure(err);
    }
    if (child.node == NULL || !follow(d, child.columns, exprs, node->column_count, out->columns)) {
        return WEIR_OK;
    }
    out->node = weir_ir_project(d->ir, child.node, exprs, node->column_count, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static bool can_aggregate_fail(const IrAggregate *aggregate)
{
    for (size_t i = 0; i < aggregate->call_count; i++) {
        const IrCall *call = &aggregate->calls[i];
        if (can_any_fail(call->args, call->arg_count) ||
            (call->filter != NULL && weir_expr_can_fail(call->filter))) {
            return true;
        }
    }
    return can_any_fail(aggregate->groups, aggregate->group_count);
}

static Status free_aggregate(const Delim *d, const IrNode *node, Freed *out, Error *err)
{
    const IrAggregate *aggregate = weir_ir_as_aggregate(node);
    if (can_aggregate_fail(aggregate)) {
        return WEIR_OK;
    }
    Freed child = {0};
    WEIR_TRY(weir_rule_free(d, node->children[0], &child, err));
    out->columns = new_columns(d, err);
    if (out->columns == NULL) {
        return weir_ir_failure(err);
    }
    if (child.node == NULL ||
        !follow(d, child.columns, aggregate->groups, aggregate->group_count, out->columns)) {
        return WEIR_OK;
    }
    const IrAggregateSpec spec = {.groups = aggregate->groups,
                                  .group_count = aggregate->group_count,
                                  .calls = aggregate->calls,
                                  .call_count = aggregate->call_count};
    out->node = weir_ir_aggregate(d->ir, child.node, &spec, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status free_distinct(const Delim *d, const IrNode *node, Freed *out, Error *err)
{
    Freed child = {0};
    WEIR_TRY(weir_rule_free(d, node->children[0], &child, err));
    if (child.node == NULL) {
        return WEIR_OK;
    }
    out->columns = child.columns;
    out->node = weir_ir_distinct(d->ir, child.node, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status free_union(const Delim *d, const IrNode *node, Freed *out, Error *err)
{
    const IrNode **children =
        weir_arena_calloc(d->ir->arena, node->child_count, sizeof(const IrNode *), err);
    if (children == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->child_count; i++) {
        Freed child = {0};
        WEIR_TRY(weir_rule_free(d, node->children[i], &child, err));
        if (child.node == NULL) {
            return WEIR_OK;
        }
        if (i == 0) {
            out->columns = child.columns;
        }
        if (memcmp(out->columns, child.columns, d->count * sizeof *child.columns) != 0) {
            return WEIR_OK;
        }
        children[i] = child.node;
    }
    out->node = weir_ir_union(d->ir, children, node->child_count, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* --- joins --- */

/* The expression of the other side that D's column j equals by a key; *is_null_safe tells how. */
static const Expr *find_partner(const IrJoin *join, bool is_delim_left, size_t column,
                                bool *is_null_safe)
{
    for (size_t k = 0; k < join->key_count; k++) {
        const IrKey *key = &join->keys[k];
        const Expr *own = is_delim_left ? key->left : key->right;
        if (own->kind == EXPR_COLUMN && own->column == column) {
            *is_null_safe = key->is_null_safe;
            return is_delim_left ? key->right : key->left;
        }
    }
    return NULL;
}

static Status add_not_null(const Delim *d, const Expr *expr, ExprList *list, Error *err)
{
    const Expr **args = weir_arena_alloc(d->ir->arena, sizeof(const Expr *), err);
    Expr *test = weir_arena_zalloc(d->ir->arena, sizeof *test, err);
    if (args == NULL || test == NULL) {
        return weir_ir_failure(err);
    }
    args[0] = expr;
    *test = (Expr){
        .kind = EXPR_IS_NOT_NULL,
        .type = weir_type_simple(TYPE_BOOLEAN),
        .args = args,
        .arg_count = 1,
    };
    weir_rule_list_add(list, test);
    return WEIR_OK;
}

/* A join of D with X becomes X: the expressions over X for the columns of left ++ right, and the
 * predicates that remain. */
static Status replace_delim(const Delim *d, const IrNode *node, bool is_delim_left,
                            const Expr **both, ExprList *predicates, bool *is_possible, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    const IrNode *x = node->children[is_delim_left ? 1 : 0];
    const size_t delim_offset = is_delim_left ? 0 : x->column_count;
    WEIR_TRY(weir_rule_columns(d->ir, x, both + (is_delim_left ? d->count : 0), err));
    *is_possible = join->key_count >= d->count;
    for (size_t j = 0; *is_possible && j < d->count; j++) {
        bool is_null_safe = false;
        const Expr *partner = find_partner(join, is_delim_left, j, &is_null_safe);
        *is_possible = partner != NULL;
        if (partner == NULL) {
            return WEIR_OK;
        }
        both[delim_offset + j] = partner;
        if (!is_null_safe) {
            WEIR_TRY(add_not_null(d, partner, predicates, err));
        }
    }
    /* Another key for the same column would be a condition of its own. */
    *is_possible = *is_possible && join->key_count == d->count;
    return WEIR_OK;
}

/* INNER join of D itself with X, which may read D too. */
static Status free_product(const Delim *d, const IrNode *node, bool is_delim_left, Freed *out,
                           Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    const IrNode *x = node->children[is_delim_left ? 1 : 0];
    const size_t width = x->column_count + d->count;
    const Expr **both = weir_arena_calloc(d->ir->arena, width, sizeof(const Expr *), err);
    const Expr **exprs =
        weir_arena_calloc(d->ir->arena, node->column_count, sizeof(const Expr *), err);
    ExprList predicates = {0};
    bool is_possible = false;
    bool is_nested = false;
    if (both == NULL || exprs == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(weir_rule_list_init(d->ir, &predicates, d->count + 1, err));
    WEIR_TRY(replace_delim(d, node, is_delim_left, both, &predicates, &is_possible, err));
    WEIR_TRY(contains_delim(d, x, &is_nested, err));
    if (!is_possible || (join->residual != NULL && weir_expr_can_fail(join->residual))) {
        return WEIR_OK;
    }
    Freed inner = {.node = x};
    if (is_nested) {
        WEIR_TRY(weir_rule_free(d, x, &inner, err));
        for (size_t j = 0; inner.node != NULL && j < d->count; j++) {
            const Expr *partner = both[(is_delim_left ? 0 : x->column_count) + j];
            if (partner->kind != EXPR_COLUMN || partner->column != inner.columns[j]) {
                return WEIR_OK;
            }
        }
        if (inner.node == NULL) {
            return WEIR_OK;
        }
    }
    if (join->residual != NULL) {
        const Expr *residual = weir_expr_substitute(d->ir->arena, join->residual, both, err);
        if (residual == NULL) {
            return weir_ir_failure(err);
        }
        weir_rule_list_add(&predicates, residual);
    }
    out->columns = new_columns(d, err);
    if (out->columns == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t j = 0; j < d->count; j++) {
        out->columns[j] = SIZE_MAX;
    }
    const size_t delim_offset = is_delim_left ? 0 : x->column_count;
    for (size_t i = 0; i < node->column_count; i++) {
        const size_t source = weir_ir_join_source(join, i);
        exprs[i] = both[source];
        if (source >= delim_offset && source - delim_offset < d->count) {
            out->columns[source - delim_offset] = i;
        }
    }
    for (size_t j = 0; j < d->count; j++) {
        if (out->columns[j] == SIZE_MAX) {
            return WEIR_OK;
        }
    }
    const IrNode *filtered = weir_rule_filter(d->ir, inner.node, &predicates, err);
    out->node =
        filtered == NULL ? NULL : weir_ir_project(d->ir, filtered, exprs, node->column_count, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static bool can_join_fail(const IrJoin *join)
{
    for (size_t k = 0; k < join->key_count; k++) {
        if (weir_expr_can_fail(join->keys[k].left) || weir_expr_can_fail(join->keys[k].right)) {
            return true;
        }
    }
    return join->residual != NULL && weir_expr_can_fail(join->residual);
}

/* True if for every column of D a null-safe key joins left's with right's place of it. */
static bool is_aligned(const Delim *d, const IrJoin *join, const size_t *left, const size_t *right)
{
    for (size_t j = 0; j < d->count; j++) {
        bool is_found = false;
        for (size_t k = 0; k < join->key_count && !is_found; k++) {
            const IrKey *key = &join->keys[k];
            is_found = key->is_null_safe && key->left->kind == EXPR_COLUMN &&
                       key->right->kind == EXPR_COLUMN && key->left->column == left[j] &&
                       key->right->column == right[j];
        }
        if (!is_found) {
            return false;
        }
    }
    return true;
}

/* The join's outputs of D's columns, found on one side; false if one is not shown. */
static bool follow_join(const Delim *d, const IrJoin *join, const size_t *side, size_t offset,
                        size_t *out)
{
    for (size_t j = 0; j < d->count; j++) {
        out[j] = SIZE_MAX;
        for (size_t i = 0; i < join->head.column_count && out[j] == SIZE_MAX; i++) {
            if (weir_ir_join_source(join, i) == offset + side[j]) {
                out[j] = i;
            }
        }
        if (out[j] == SIZE_MAX) {
            return false;
        }
    }
    return true;
}

/* A join of which one side, or both on all columns of D, can be freed. */
static Status free_sides(const Delim *d, const IrNode *node, const bool reads[2], Freed *out,
                         Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    Freed sides[2] = {{.node = node->children[0]}, {.node = node->children[1]}};
    if (can_join_fail(join) || (!reads[0] && join->kind != JOIN_INNER)) {
        return WEIR_OK;
    }
    for (size_t s = 0; s < 2; s++) {
        /* D itself may stay on the preserved side: it has exactly the partitions needed. */
        if (s == 0 && reads[0] && node->children[0] == d->node && reads[1]) {
            sides[0].columns = new_columns(d, err);
            if (sides[0].columns == NULL) {
                return weir_ir_failure(err);
            }
            for (size_t j = 0; j < d->count; j++) {
                sides[0].columns[j] = j;
            }
        } else if (reads[s]) {
            WEIR_TRY(weir_rule_free(d, node->children[s], &sides[s], err));
        }
        if (sides[s].node == NULL) {
            return WEIR_OK;
        }
    }
    if (reads[0] && reads[1] && !is_aligned(d, join, sides[0].columns, sides[1].columns)) {
        return WEIR_OK;
    }
    const size_t own = reads[0] ? 0 : 1;
    out->columns = new_columns(d, err);
    if (out->columns == NULL) {
        return weir_ir_failure(err);
    }
    if (!follow_join(d, join, sides[own].columns, own == 0 ? 0 : node->children[0]->column_count,
                     out->columns)) {
        return WEIR_OK;
    }
    const IrJoinSpec spec = weir_ir_join_spec(join);
    out->node = weir_ir_join(d->ir, sides[0].node, sides[1].node, &spec, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status free_join(const Delim *d, const IrNode *node, Freed *out, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    bool reads[2] = {false, false};
    if (join->kind == JOIN_FULL) {
        return WEIR_OK;
    }
    for (size_t s = 0; s < 2; s++) {
        WEIR_TRY(contains_delim(d, node->children[s], &reads[s], err));
        if (join->kind == JOIN_INNER && node->children[s] == d->node) {
            WEIR_TRY(free_product(d, node, s == 0, out, err));
            if (out->node != NULL) {
                return WEIR_OK;
            }
        }
    }
    return free_sides(d, node, reads, out, err);
}

static Status free_by_kind(const Delim *d, const IrNode *node, Freed *out, Error *err)
{
    switch (node->kind) {
    case IR_SCAN:
    case IR_VALUES: return WEIR_OK;
    case IR_FILTER: return free_filter(d, node, out, err);
    case IR_PROJECT: return free_project(d, node, out, err);
    case IR_AGGREGATE: return free_aggregate(d, node, out, err);
    case IR_DISTINCT: return free_distinct(d, node, out, err);
    case IR_UNION: return free_union(d, node, out, err);
    case IR_JOIN: return free_join(d, node, out, err);
    }
    return WEIR_OK;
}

Status weir_rule_free(const Delim *d, const IrNode *node, Freed *out, Error *err)
{
    *out = (Freed){0};
    if (node == d->node || d->parent_counts[node->id] != 1) {
        return WEIR_OK;
    }
    WEIR_TRY(free_by_kind(d, node, out, err));
    WEIR_ASSERT(out->node == NULL || out->columns != NULL);
    return WEIR_OK;
}
