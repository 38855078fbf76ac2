/* lower.c: from the IR to operators.
 *
 * A lowered node is an operator and the places of the node's columns among the operator's: scans and
 * projections of plain columns need no operator, and joins, groupings and filters pick what they
 * read. Only a union and the result must be laid out exactly. A projection and the filter below it
 * are one operator. */
#include "plan/plan_priv.h"

typedef struct Lowered {
    size_t op; /* SIZE_MAX = not lowered yet */
    const size_t *columns;
} Lowered;

typedef struct Lowerer {
    Ir *ir;
    Arena *arena;
    PlanProgram *program;
    size_t *parent_counts;
    const size_t *source_of;       /* table -> source */
    size_t *const *source_columns; /* table -> (column -> column of the source) */
    Lowered *done;                 /* by node id */
} Lowerer;

static Status lower_node(Lowerer *l, const IrNode *node, Lowered *out, Error *err);

/* --- the program --- */

static Status add_op(Lowerer *l, const PlanOp *op, size_t *out, Error *err)
{
    PlanProgram *program = l->program;
    if (program->op_count == program->op_capacity) {
        const size_t capacity = program->op_capacity == 0 ? 16 : 2 * program->op_capacity;
        PlanOp *grown = weir_arena_calloc(l->arena, capacity, sizeof *grown, err);
        if (grown == NULL) {
            return weir_ir_failure(err);
        }
        if (program->op_count > 0) {
            memcpy(grown, program->ops, program->op_count * sizeof *grown);
        }
        program->ops = grown;
        program->op_capacity = capacity;
    }
    *out = program->op_count;
    program->ops[program->op_count++] = *op;
    return WEIR_OK;
}

static const Schema *schema_of(const Lowerer *l, size_t op)
{
    return &l->program->ops[op].schema;
}

static const size_t *identity(Lowerer *l, size_t count, Error *err)
{
    size_t *columns = weir_arena_calloc(l->arena, count, sizeof *columns, err);
    for (size_t i = 0; columns != NULL && i < count; i++) {
        columns[i] = i;
    }
    return columns;
}

/* Adds the operator of a node, which shows exactly the node's columns. */
static Status add_exact(Lowerer *l, const PlanOp *op, Lowered *out, Error *err)
{
    WEIR_TRY(add_op(l, op, &out->op, err));
    out->columns = identity(l, op->schema.count, err);
    return out->columns == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Schema node_schema(const IrNode *node)
{
    return (Schema){.count = node->column_count, .types = node->types};
}

static Status remap_list(Lowerer *l, const Expr *const *exprs, size_t count, const size_t *map,
                         const Expr *const **out, Error *err)
{
    const Expr **list = weir_arena_calloc(l->arena, count, sizeof(const Expr *), err);
    if (list == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < count; i++) {
        list[i] = weir_expr_remap(l->arena, exprs[i], map, err);
        if (list[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    *out = list;
    return WEIR_OK;
}

/* --- leaves --- */

static Status lower_scan(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    const IrScan *scan = weir_ir_as_scan(node);
    size_t *columns = weir_arena_calloc(l->arena, node->column_count, sizeof *columns, err);
    if (columns == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        columns[i] = l->source_columns[scan->table->index][scan->columns[i]];
    }
    *out = (Lowered){.op = l->source_of[scan->table->index], .columns = columns};
    return WEIR_OK;
}

static Status lower_values(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    const IrValues *values = weir_ir_as_values(node);
    const PlanOp op = {
        .kind = PLAN_OP_CONSTANT,
        .schema = node_schema(node),
        .spec.constant = {.schema = node_schema(node),
                          .values = values->values,
                          .row_count = values->row_count},
    };
    return add_exact(l, &op, out, err);
}

/* --- filters and projections --- */

static bool is_column_list(const IrProject *project)
{
    for (size_t i = 0; i < project->head.column_count; i++) {
        if (project->exprs[i]->kind != EXPR_COLUMN) {
            return false;
        }
    }
    return true;
}

static Status lower_filter(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    const IrFilter *filter = weir_ir_as_filter(node);
    Lowered child = {0};
    WEIR_TRY(lower_node(l, node->children[0], &child, err));
    PlanOp op = {
        .kind = PLAN_OP_MAP,
        .inputs = {child.op},
        .schema = *schema_of(l, child.op),
        .spec.map = {.predicate_count = filter->predicate_count},
    };
    op.spec.map.schema = op.schema;
    WEIR_TRY(remap_list(l, filter->predicates, filter->predicate_count, child.columns,
                        &op.spec.map.predicates, err));
    out->columns = child.columns;
    return add_op(l, &op, &out->op, err);
}

/* A projection as an operator, together with a filter below that nothing else reads. */
static Status lower_map(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    const IrProject *project = weir_ir_as_project(node);
    const IrNode *below = node->children[0];
    const IrFilter *filter = NULL;
    if (below->kind == IR_FILTER && l->parent_counts[below->id] == 1) {
        filter = weir_ir_as_filter(below);
        below = below->children[0];
    }
    Lowered child = {0};
    WEIR_TRY(lower_node(l, below, &child, err));
    PlanOp op = {
        .kind = PLAN_OP_MAP,
        .inputs = {child.op},
        .schema = node_schema(node),
        .spec.map = {.schema = node_schema(node)},
    };
    if (filter != NULL) {
        op.spec.map.predicate_count = filter->predicate_count;
        WEIR_TRY(remap_list(l, filter->predicates, filter->predicate_count, child.columns,
                            &op.spec.map.predicates, err));
    }
    WEIR_TRY(
        remap_list(l, project->exprs, node->column_count, child.columns, &op.spec.map.exprs, err));
    return add_exact(l, &op, out, err);
}

static Status lower_project(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    const IrProject *project = weir_ir_as_project(node);
    if (!is_column_list(project)) {
        return lower_map(l, node, out, err);
    }
    Lowered child = {0};
    WEIR_TRY(lower_node(l, node->children[0], &child, err));
    size_t *columns = weir_arena_calloc(l->arena, node->column_count, sizeof *columns, err);
    if (columns == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        columns[i] = child.columns[project->exprs[i]->column];
    }
    *out = (Lowered){.op = child.op, .columns = columns};
    return WEIR_OK;
}

/* True if the projection and the filter below can be one operator. */
static bool is_map_over_filter(const Lowerer *l, const IrNode *node)
{
    return node->kind == IR_PROJECT && node->children[0]->kind == IR_FILTER &&
           l->parent_counts[node->children[0]->id] == 1;
}

/* An operator that shows exactly the node's columns. */
static Status lower_exact(Lowerer *l, const IrNode *node, size_t *out, Error *err)
{
    Lowered lowered = {0};
    if (is_map_over_filter(l, node) && l->done[node->id].columns == NULL) {
        WEIR_TRY(lower_map(l, node, &l->done[node->id], err));
    }
    WEIR_TRY(lower_node(l, node, &lowered, err));
    bool is_exact = schema_of(l, lowered.op)->count == node->column_count;
    for (size_t i = 0; i < node->column_count; i++) {
        is_exact = is_exact && lowered.columns[i] == i;
    }
    *out = lowered.op;
    if (is_exact) {
        return WEIR_OK;
    }
    const Expr **exprs = weir_arena_calloc(l->arena, node->column_count, sizeof(const Expr *), err);
    if (exprs == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        exprs[i] = weir_expr_column(l->arena, lowered.columns[i], node->types[i], err);
        if (exprs[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    const PlanOp op = {
        .kind = PLAN_OP_MAP,
        .inputs = {lowered.op},
        .schema = node_schema(node),
        .spec.map = {.exprs = exprs, .schema = node_schema(node)},
    };
    return add_op(l, &op, out, err);
}

/* --- aggregates --- */

static size_t column_of(const Lowered *child, const Expr *expr)
{
    WEIR_ASSERT(expr->kind == EXPR_COLUMN);
    return child->columns[expr->column];
}

static AggregateCall lower_call(const Lowered *child, const IrCall *call)
{
    AggregateCall lowered = {
        .name = call->name,
        .args = {OP_NO_COLUMN, OP_NO_COLUMN, OP_NO_COLUMN},
        .filter = OP_NO_COLUMN,
        .is_distinct = call->is_distinct,
        .type = call->type,
    };
    for (size_t a = 0; a < call->arg_count; a++) {
        lowered.args[a] = (ptrdiff_t)column_of(child, call->args[a]);
    }
    if (call->arg_count > 0) {
        lowered.arg_type = call->args[0]->type;
    }
    if (call->filter != NULL) {
        lowered.filter = (ptrdiff_t)column_of(child, call->filter);
    }
    return lowered;
}

static Status lower_aggregate(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    const IrAggregate *aggregate = weir_ir_as_aggregate(node);
    Lowered child = {0};
    WEIR_TRY(lower_node(l, node->children[0], &child, err));
    size_t *groups = weir_arena_calloc(l->arena, aggregate->group_count, sizeof *groups, err);
    AggregateCall *calls = weir_arena_calloc(l->arena, aggregate->call_count, sizeof *calls, err);
    if (groups == NULL || calls == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < aggregate->group_count; i++) {
        groups[i] = column_of(&child, aggregate->groups[i]);
    }
    for (size_t i = 0; i < aggregate->call_count; i++) {
        calls[i] = lower_call(&child, &aggregate->calls[i]);
    }
    const PlanOp op = {
        .kind = PLAN_OP_AGGREGATE,
        .inputs = {child.op},
        .schema = node_schema(node),
        .spec.aggregate = {.group_columns = groups,
                           .group_count = aggregate->group_count,
                           .calls = calls,
                           .call_count = aggregate->call_count,
                           .is_global = aggregate->group_count == 0,
                           .schema = node_schema(node)},
    };
    return add_exact(l, &op, out, err);
}

static Status lower_distinct(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    Lowered child = {0};
    WEIR_TRY(lower_node(l, node->children[0], &child, err));
    const PlanOp op = {
        .kind = PLAN_OP_AGGREGATE,
        .inputs = {child.op},
        .schema = node_schema(node),
        .spec.aggregate = {.group_columns = child.columns,
                           .group_count = node->column_count,
                           .schema = node_schema(node)},
    };
    return add_exact(l, &op, out, err);
}

/* --- joins and unions --- */

static Status lower_residual(Lowerer *l, const IrNode *node, const Lowered sides[2],
                             const Expr **out, Error *err)
{
    const Expr *residual = weir_ir_as_join(node)->residual;
    const size_t left_count = node->children[0]->column_count;
    const size_t count = left_count + node->children[1]->column_count;
    *out = NULL;
    if (residual == NULL) {
        return WEIR_OK;
    }
    size_t *map = weir_arena_calloc(l->arena, count, sizeof *map, err);
    if (map == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < count; i++) {
        map[i] = i < left_count
                     ? sides[0].columns[i]
                     : schema_of(l, sides[0].op)->count + sides[1].columns[i - left_count];
    }
    *out = weir_expr_remap(l->arena, residual, map, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static const size_t *pick(Lowerer *l, const size_t *columns, const size_t *shown, size_t count,
                          Error *err)
{
    size_t *picked = weir_arena_calloc(l->arena, count, sizeof *picked, err);
    for (size_t i = 0; picked != NULL && i < count; i++) {
        picked[i] = columns[shown[i]];
    }
    return picked;
}

static Status lower_join(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    Lowered sides[2] = {{0}, {0}};
    WEIR_TRY(lower_node(l, node->children[0], &sides[0], err));
    WEIR_TRY(lower_node(l, node->children[1], &sides[1], err));
    size_t *left_keys = weir_arena_calloc(l->arena, join->key_count, sizeof *left_keys, err);
    size_t *right_keys = weir_arena_calloc(l->arena, join->key_count, sizeof *right_keys, err);
    bool *is_null_safe = weir_arena_calloc(l->arena, join->key_count, sizeof *is_null_safe, err);
    if (left_keys == NULL || right_keys == NULL || is_null_safe == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t k = 0; k < join->key_count; k++) {
        left_keys[k] = column_of(&sides[0], join->keys[k].left);
        right_keys[k] = column_of(&sides[1], join->keys[k].right);
        is_null_safe[k] = join->keys[k].is_null_safe;
    }
    PlanOp op = {
        .kind = PLAN_OP_JOIN,
        .inputs = {sides[0].op, sides[1].op},
        .schema = node_schema(node),
        .spec.join = {.kind = join->kind,
                      .left_keys = left_keys,
                      .right_keys = right_keys,
                      .is_null_safe = is_null_safe,
                      .key_count = join->key_count,
                      .left_output_count = join->left_output_count,
                      .right_output_count = join->right_output_count,
                      .schema = node_schema(node)},
    };
    op.spec.join.left_output =
        pick(l, sides[0].columns, join->left_output, join->left_output_count, err);
    op.spec.join.right_output =
        pick(l, sides[1].columns, join->right_output, join->right_output_count, err);
    if (op.spec.join.left_output == NULL || op.spec.join.right_output == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(lower_residual(l, node, sides, &op.spec.join.residual, err));
    return add_exact(l, &op, out, err);
}

static Status lower_union(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    size_t *inputs = weir_arena_calloc(l->arena, node->child_count, sizeof *inputs, err);
    if (inputs == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->child_count; i++) {
        WEIR_TRY(lower_exact(l, node->children[i], &inputs[i], err));
    }
    const PlanOp op = {
        .kind = PLAN_OP_UNION,
        .more_inputs = inputs,
        .more_input_count = node->child_count,
        .schema = node_schema(node),
    };
    return add_exact(l, &op, out, err);
}

static Status lower_by_kind(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    switch (node->kind) {
    case IR_SCAN: return lower_scan(l, node, out, err);
    case IR_VALUES: return lower_values(l, node, out, err);
    case IR_FILTER: return lower_filter(l, node, out, err);
    case IR_PROJECT: return lower_project(l, node, out, err);
    case IR_AGGREGATE: return lower_aggregate(l, node, out, err);
    case IR_DISTINCT: return lower_distinct(l, node, out, err);
    case IR_JOIN: return lower_join(l, node, out, err);
    case IR_UNION: return lower_union(l, node, out, err);
    }
    return WEIR_OK;
}

static Status lower_node(Lowerer *l, const IrNode *node, Lowered *out, Error *err)
{
    Lowered *done = &l->done[node->id];
    if (done->columns == NULL) {
        Lowered lowered = {0};
        WEIR_TRY(lower_by_kind(l, node, &lowered, err));
        *done = lowered;
    }
    *out = *done;
    WEIR_ASSERT(out->columns != NULL);
    return WEIR_OK;
}

/* --- sources --- */

/* Marks the columns that scans read: is_used[table][column]. */
static void mark_scans(const IrNode *node, bool *is_seen, bool *is_read, bool **is_used)
{
    if (is_seen[node->id]) {
        return;
    }
    is_seen[node->id] = true;
    for (size_t i = 0; i < node->child_count; i++) {
        mark_scans(node->children[i], is_seen, is_read, is_used);
    }
    if (node->kind == IR_SCAN) {
        const IrScan *scan = weir_ir_as_scan(node);
        is_read[scan->table->index] = true;
        for (size_t i = 0; i < node->column_count; i++) {
            is_used[scan->table->index][scan->columns[i]] = true;
        }
    }
}

/* The source of one table: the columns that are used, in the table's order. */
static Status add_source(Lowerer *l, const IrTable *table, const bool *is_used,
                         size_t *source_columns, Error *err)
{
    const char **names = weir_arena_calloc(l->arena, table->column_count, sizeof *names, err);
    const LogicalType **types =
        weir_arena_calloc(l->arena, table->column_count, sizeof(const LogicalType *), err);
    if (names == NULL || types == NULL) {
        return weir_ir_failure(err);
    }
    size_t count = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        source_columns[i] = SIZE_MAX;
        if (is_used[i]) {
            names[count] = table->names[i];
            types[count] = table->types[i];
            source_columns[i] = count++;
        }
    }
    l->program->sources[l->program->source_count++] = (PlanSource){
        .kind = table->kind,
        .catalog = table->catalog,
        .schema = table->schema,
        .name = table->name,
        .column_count = count,
        .columns = names,
        .types = types,
    };
    const PlanOp op = {
        .kind = PLAN_OP_SOURCE,
        .schema = {.count = count, .types = types, .names = names},
        .spec.label = table->name,
    };
    size_t added = 0;
    return add_op(l, &op, &added, err);
}

static Status add_sources(Lowerer *l, const IrNode *root, Error *err)
{
    const Ir *ir = l->ir;
    bool *is_seen = weir_arena_calloc(l->arena, ir->node_count, sizeof *is_seen, err);
    bool *is_read = weir_arena_calloc(l->arena, ir->table_count, sizeof *is_read, err);
    bool **is_used = weir_arena_calloc(l->arena, ir->table_count, sizeof *is_used, err);
    size_t *source_of = weir_arena_calloc(l->arena, ir->table_count, sizeof *source_of, err);
    size_t **columns = weir_arena_calloc(l->arena, ir->table_count, sizeof *columns, err);
    l->program->sources =
        weir_arena_calloc(l->arena, ir->table_count, sizeof *l->program->sources, err);
    if (is_seen == NULL || is_read == NULL || is_used == NULL || source_of == NULL ||
        columns == NULL || l->program->sources == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t t = 0; t < ir->table_count; t++) {
        const size_t count = ir->tables[t]->column_count;
        is_used[t] = weir_arena_calloc(l->arena, count, sizeof *is_used[t], err);
        columns[t] = weir_arena_calloc(l->arena, count, sizeof *columns[t], err);
        if (is_used[t] == NULL || columns[t] == NULL) {
            return weir_ir_failure(err);
        }
    }
    mark_scans(root, is_seen, is_read, is_used);
    for (size_t t = 0; t < ir->table_count; t++) {
        if (is_read[t]) {
            source_of[t] = l->program->source_count;
            WEIR_TRY(add_source(l, ir->tables[t], is_used[t], columns[t], err));
        }
    }
    l->source_of = source_of;
    l->source_columns = columns;
    return WEIR_OK;
}

Status weir_plan_lower(Ir *ir, const IrNode *root, PlanProgram *out, Error *err)
{
    Lowerer l = {.ir = ir, .arena = ir->arena, .program = out};
    *out = (PlanProgram){0};
    l.done = weir_arena_calloc(ir->arena, ir->node_count, sizeof *l.done, err);
    if (l.done == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(weir_ir_count_parents(ir, root, &l.parent_counts, err));
    WEIR_TRY(add_sources(&l, root, err));
    return lower_exact(&l, root, &out->result, err);
}
