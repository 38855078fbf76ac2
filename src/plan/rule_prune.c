/* rule_prune.c: drops columns that nothing reads.
 *
 * First each node learns, parents before children, which of its columns are read; then the graph is
 * rebuilt bottom-up without the others. GROUP BY keeps its groups and DISTINCT all its columns, since
 * they decide about rows; everything else goes: unused results of aggregates, sides' columns that a
 * join shows, columns of tables. A mark that nobody tests is no join at all. */
#include "plan/rule_priv.h"

/* A rebuilt node; columns[i] is the place of old column i, SIZE_MAX if it is gone. */
typedef struct Pruned {
    const IrNode *node;
    size_t *columns;
} Pruned;

typedef struct Pruner {
    Ir *ir;
    bool **needed; /* by node id; NULL = not part of the graph */
    Pruned *done;  /* by node id */
} Pruner;

/* --- what is needed --- */

static void need_exprs(const Expr *const *exprs, size_t count, bool *needed)
{
    for (size_t i = 0; i < count; i++) {
        weir_expr_collect_columns(exprs[i], needed);
    }
}

static void need_call(const IrCall *call, bool *needed)
{
    need_exprs(call->args, call->arg_count, needed);
    if (call->filter != NULL) {
        weir_expr_collect_columns(call->filter, needed);
    }
}

static Status need_join(const Pruner *p, const IrNode *node, const bool *own, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    const IrNode *left = node->children[0];
    const IrNode *right = node->children[1];
    bool *needed[2] = {p->needed[left->id], p->needed[right->id]};
    for (size_t k = 0; k < join->key_count; k++) {
        weir_expr_collect_columns(join->keys[k].left, needed[0]);
        weir_expr_collect_columns(join->keys[k].right, needed[1]);
    }
    bool *both = weir_arena_calloc(p->ir->arena, left->column_count + right->column_count,
                                   sizeof *both, err);
    if (both == NULL) {
        return weir_ir_failure(err);
    }
    if (join->residual != NULL) {
        weir_expr_collect_columns(join->residual, both);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        const size_t source = weir_ir_join_source(join, i);
        if (own[i] && source != SIZE_MAX) {
            both[source] = true;
        }
    }
    for (size_t i = 0; i < left->column_count; i++) {
        needed[0][i] = needed[0][i] || both[i];
    }
    for (size_t i = 0; i < right->column_count; i++) {
        needed[1][i] = needed[1][i] || both[left->column_count + i];
    }
    return WEIR_OK;
}

/* Tells the children what this node reads, given what is read of it. */
static Status need_children(const Pruner *p, const IrNode *node, Error *err)
{
    const bool *own = p->needed[node->id];
    bool *below = p->needed[weir_ir_first(node)->id];
    switch (node->kind) {
    case IR_SCAN:
    case IR_VALUES: break;
    case IR_FILTER: {
        const IrFilter *filter = weir_ir_as_filter(node);
        need_exprs(filter->predicates, filter->predicate_count, below);
        for (size_t i = 0; i < node->column_count; i++) {
            below[i] = below[i] || own[i];
        }
        break;
    }
    case IR_PROJECT:
        for (size_t i = 0; i < node->column_count; i++) {
            if (own[i]) {
                weir_expr_collect_columns(weir_ir_as_project(node)->exprs[i], below);
            }
        }
        break;
    case IR_AGGREGATE: {
        const IrAggregate *aggregate = weir_ir_as_aggregate(node);
        need_exprs(aggregate->groups, aggregate->group_count, below);
        for (size_t i = 0; i < aggregate->call_count; i++) {
            if (own[aggregate->group_count + i]) {
                need_call(&aggregate->calls[i], below);
            }
        }
        break;
    }
    case IR_DISTINCT: memset(below, true, node->column_count * sizeof *below); break;
    case IR_UNION:
        for (size_t c = 0; c < node->child_count; c++) {
            bool *child = p->needed[node->children[c]->id];
            for (size_t i = 0; i < node->column_count; i++) {
                child[i] = child[i] || own[i];
            }
        }
        break;
    case IR_JOIN: return need_join(p, node, own, err);
    }
    return WEIR_OK;
}

/* Adds the nodes to the list, children before parents. */
static Status list_nodes(Pruner *p, const IrNode *node, const IrNode **list, size_t *count,
                         Error *err)
{
    if (p->needed[node->id] != NULL) {
        return WEIR_OK;
    }
    p->needed[node->id] = weir_arena_calloc(p->ir->arena, node->column_count, sizeof(bool), err);
    if (p->needed[node->id] == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->child_count; i++) {
        WEIR_TRY(list_nodes(p, node->children[i], list, count, err));
    }
    list[(*count)++] = node;
    return WEIR_OK;
}

/* --- rebuilding --- */

static Status remap(const Pruner *p, const Expr *expr, const size_t *map, const Expr **out,
                    Error *err)
{
    *out = weir_expr_remap(p->ir->arena, expr, map, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status remap_list(const Pruner *p, const Expr *const *exprs, size_t count, const size_t *map,
                         const Expr ***out, Error *err)
{
    *out = weir_arena_calloc(p->ir->arena, count, sizeof(const Expr *), err);
    if (*out == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < count; i++) {
        WEIR_TRY(remap(p, exprs[i], map, &(*out)[i], err));
    }
    return WEIR_OK;
}

/* Numbers the needed columns; the others are gone. Returns their number. */
static size_t number_needed(const bool *needed, size_t count, size_t *columns)
{
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        columns[i] = needed[i] ? next++ : SIZE_MAX;
    }
    return next;
}

static Status prune_scan(const Pruner *p, const IrNode *node, Pruned *out, Error *err)
{
    const IrScan *scan = weir_ir_as_scan(node);
    const size_t count = number_needed(p->needed[node->id], node->column_count, out->columns);
    size_t *columns = weir_arena_calloc(p->ir->arena, count, sizeof *columns, err);
    if (columns == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        if (out->columns[i] != SIZE_MAX) {
            columns[out->columns[i]] = scan->columns[i];
        }
    }
    out->node = weir_ir_scan(p->ir, scan->table, columns, count, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status prune_values(const Pruner *p, const IrNode *node, Pruned *out, Error *err)
{
    const IrValues *old = weir_ir_as_values(node);
    const size_t count = number_needed(p->needed[node->id], node->column_count, out->columns);
    const LogicalType **types =
        weir_arena_calloc(p->ir->arena, count, sizeof(const LogicalType *), err);
    Value *values = weir_arena_calloc(p->ir->arena, old->row_count, count * sizeof *values, err);
    if (types == NULL || values == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        if (out->columns[i] == SIZE_MAX) {
            continue;
        }
        types[out->columns[i]] = node->types[i];
        for (size_t r = 0; r < old->row_count; r++) {
            values[r * count + out->columns[i]] = old->values[r * node->column_count + i];
        }
    }
    out->node = weir_ir_values(p->ir, types, count, values, old->row_count, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status prune_filter(const Pruner *p, const IrNode *node, const Pruned *child, Pruned *out,
                           Error *err)
{
    const IrFilter *filter = weir_ir_as_filter(node);
    const Expr **predicates = NULL;
    WEIR_TRY(remap_list(p, filter->predicates, filter->predicate_count, child->columns, &predicates,
                        err));
    out->columns = child->columns;
    out->node = weir_ir_filter(p->ir, child->node, predicates, filter->predicate_count, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status prune_project(const Pruner *p, const IrNode *node, const Pruned *child, Pruned *out,
                            Error *err)
{
    const IrProject *project = weir_ir_as_project(node);
    const size_t count = number_needed(p->needed[node->id], node->column_count, out->columns);
    const Expr **exprs = weir_arena_calloc(p->ir->arena, count, sizeof(const Expr *), err);
    if (exprs == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        if (out->columns[i] != SIZE_MAX) {
            WEIR_TRY(remap(p, project->exprs[i], child->columns, &exprs[out->columns[i]], err));
        }
    }
    out->node = weir_ir_project(p->ir, child->node, exprs, count, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status remap_call(const Pruner *p, const IrCall *call, const size_t *map, IrCall *out,
                         Error *err)
{
    *out = *call;
    for (size_t a = 0; a < call->arg_count; a++) {
        WEIR_TRY(remap(p, call->args[a], map, &out->args[a], err));
    }
    return call->filter == NULL ? WEIR_OK : remap(p, call->filter, map, &out->filter, err);
}

static Status prune_aggregate(const Pruner *p, const IrNode *node, const Pruned *child, Pruned *out,
                              Error *err)
{
    const IrAggregate *aggregate = weir_ir_as_aggregate(node);
    const bool *needed = p->needed[node->id];
    const size_t groups = aggregate->group_count;
    const Expr **group_exprs = NULL;
    IrCall *calls = weir_arena_calloc(p->ir->arena, aggregate->call_count, sizeof *calls, err);
    if (calls == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(remap_list(p, aggregate->groups, groups, child->columns, &group_exprs, err));
    for (size_t i = 0; i < groups; i++) {
        out->columns[i] = i;
    }
    size_t used = 0;
    for (size_t i = 0; i < aggregate->call_count; i++) {
        out->columns[groups + i] = SIZE_MAX;
        if (needed[groups + i]) {
            WEIR_TRY(remap_call(p, &aggregate->calls[i], child->columns, &calls[used], err));
            out->columns[groups + i] = groups + used++;
        }
    }
    if (groups + used == 0) {
        /* One row, whatever the input holds. */
        out->node = weir_ir_values(p->ir, node->types, 0, NULL, 1, err);
    } else {
        const IrAggregateSpec spec = {
            .groups = group_exprs, .group_count = groups, .calls = calls, .call_count = used};
        out->node = weir_ir_aggregate(p->ir, child->node, &spec, err);
    }
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* The child with exactly the given columns of it, in their order. */
static Status exact_child(const Pruner *p, const IrNode *old, const bool *needed, size_t count,
                          const IrNode **out, Error *err)
{
    const Pruned *child = &p->done[old->id];
    const Expr **exprs = weir_arena_calloc(p->ir->arena, count, sizeof(const Expr *), err);
    if (exprs == NULL) {
        return weir_ir_failure(err);
    }
    size_t used = 0;
    bool is_exact = child->node->column_count == count;
    for (size_t i = 0; i < old->column_count; i++) {
        if (needed[i]) {
            const size_t column = child->columns[i];
            is_exact = is_exact && column == used;
            exprs[used] = weir_expr_column(p->ir->arena, column, child->node->types[column], err);
            if (exprs[used++] == NULL) {
                return weir_ir_failure(err);
            }
        }
    }
    *out = is_exact ? child->node : weir_ir_project(p->ir, child->node, exprs, count, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status prune_union(const Pruner *p, const IrNode *node, Pruned *out, Error *err)
{
    const bool *needed = p->needed[node->id];
    const size_t count = number_needed(needed, node->column_count, out->columns);
    const IrNode **children =
        weir_arena_calloc(p->ir->arena, node->child_count, sizeof(const IrNode *), err);
    if (children == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t c = 0; c < node->child_count; c++) {
        WEIR_TRY(exact_child(p, node->children[c], needed, count, &children[c], err));
    }
    out->node = weir_ir_union(p->ir, children, node->child_count, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status prune_distinct(const Pruner *p, const IrNode *node, Pruned *out, Error *err)
{
    const IrNode *child = NULL;
    bool *all = weir_arena_calloc(p->ir->arena, node->column_count, sizeof *all, err);
    if (all == NULL) {
        return weir_ir_failure(err);
    }
    memset(all, true, node->column_count * sizeof *all);
    number_needed(all, node->column_count, out->columns);
    WEIR_TRY(exact_child(p, node->children[0], all, node->column_count, &child, err));
    out->node = weir_ir_distinct(p->ir, child, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* --- joins --- */

static Status remap_condition(const Pruner *p, const IrNode *node, const Pruned *left,
                              const Pruned *right, IrJoinSpec *spec, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    const size_t left_count = node->children[0]->column_count;
    const size_t count = left_count + node->children[1]->column_count;
    IrKey *keys = weir_arena_calloc(p->ir->arena, join->key_count, sizeof *keys, err);
    size_t *map = weir_arena_calloc(p->ir->arena, count, sizeof *map, err);
    if (keys == NULL || map == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t k = 0; k < join->key_count; k++) {
        keys[k].is_null_safe = join->keys[k].is_null_safe;
        WEIR_TRY(remap(p, join->keys[k].left, left->columns, &keys[k].left, err));
        WEIR_TRY(remap(p, join->keys[k].right, right->columns, &keys[k].right, err));
    }
    spec->keys = keys;
    if (join->residual == NULL) {
        return WEIR_OK;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t place = i < left_count ? left->columns[i] : right->columns[i - left_count];
        map[i] = place;
        if (i >= left_count && place != SIZE_MAX) {
            map[i] += left->node->column_count;
        }
    }
    return remap(p, join->residual, map, &spec->residual, err);
}

static Status prune_join(const Pruner *p, const IrNode *node, Pruned *out, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    const bool *needed = p->needed[node->id];
    const Pruned *left = &p->done[node->children[0]->id];
    const Pruned *right = &p->done[node->children[1]->id];
    size_t *left_output =
        weir_arena_calloc(p->ir->arena, join->left_output_count, sizeof *left_output, err);
    size_t *right_output =
        weir_arena_calloc(p->ir->arena, join->right_output_count, sizeof *right_output, err);
    if (left_output == NULL || right_output == NULL) {
        return weir_ir_failure(err);
    }
    IrJoinSpec spec = weir_ir_join_spec(join);
    spec.left_output = left_output;
    spec.right_output = right_output;
    spec.left_output_count = 0;
    spec.right_output_count = 0;
    number_needed(needed, node->column_count, out->columns);
    for (size_t i = 0; i < join->left_output_count; i++) {
        if (needed[i]) {
            left_output[spec.left_output_count++] = left->columns[join->left_output[i]];
        }
    }
    for (size_t i = 0; i < join->right_output_count; i++) {
        if (needed[join->left_output_count + i]) {
            right_output[spec.right_output_count++] = right->columns[join->right_output[i]];
        }
    }
    if (join->kind == JOIN_MARK && !needed[node->column_count - 1]) {
        for (size_t i = 0; i < join->left_output_count; i++) {
            out->columns[i] = left->columns[join->left_output[i]];
        }
        out->node = left->node;
        return WEIR_OK;
    }
    if (join->kind == JOIN_MARK) {
        out->columns[node->column_count - 1] = spec.left_output_count;
    }
    WEIR_TRY(remap_condition(p, node, left, right, &spec, err));
    out->node = weir_ir_join(p->ir, left->node, right->node, &spec, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status prune_node(const Pruner *p, const IrNode *node, Pruned *out, Error *err)
{
    const Pruned *child = &p->done[weir_ir_first(node)->id];
    out->columns = weir_arena_calloc(p->ir->arena, node->column_count, sizeof *out->columns, err);
    if (out->columns == NULL) {
        return weir_ir_failure(err);
    }
    switch (node->kind) {
    case IR_SCAN: return prune_scan(p, node, out, err);
    case IR_VALUES: return prune_values(p, node, out, err);
    case IR_FILTER: return prune_filter(p, node, child, out, err);
    case IR_PROJECT: return prune_project(p, node, child, out, err);
    case IR_AGGREGATE: return prune_aggregate(p, node, child, out, err);
    case IR_DISTINCT: return prune_distinct(p, node, out, err);
    case IR_UNION: return prune_union(p, node, out, err);
    case IR_JOIN: return prune_join(p, node, out, err);
    }
    return WEIR_OK;
}

Status weir_rule_prune(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    Pruner p = {.ir = ir};
    size_t count = 0;
    p.needed = weir_arena_calloc(ir->arena, ir->node_count, sizeof *p.needed, err);
    p.done = weir_arena_calloc(ir->arena, ir->node_count, sizeof *p.done, err);
    const IrNode **list = weir_arena_calloc(ir->arena, ir->node_count, sizeof(const IrNode *), err);
    if (p.needed == NULL || p.done == NULL || list == NULL) {
        return weir_ir_failure(err);
    }
    const size_t old_count = ir->node_count;
    WEIR_TRY(list_nodes(&p, root, list, &count, err));
    WEIR_ASSERT(count <= old_count);
    WEIR_UNUSED(old_count);
    memset(p.needed[root->id], true, root->column_count * sizeof *p.needed[root->id]);
    for (size_t i = count; i > 0; i--) {
        WEIR_TRY(need_children(&p, list[i - 1], err));
    }
    for (size_t i = 0; i < count; i++) {
        WEIR_TRY(prune_node(&p, list[i], &p.done[list[i]->id], err));
    }
    bool *all = weir_arena_calloc(ir->arena, root->column_count, sizeof *all, err);
    if (all == NULL) {
        return weir_ir_failure(err);
    }
    memset(all, true, root->column_count * sizeof *all);
    return exact_child(&p, root, all, root->column_count, out, err);
}
