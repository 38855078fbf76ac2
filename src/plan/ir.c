/* ir.c: making nodes of the plan graph. */
#include "plan/ir.h"

#include <strings.h>

/* Places the node in the arena and numbers it. */
static void *add_node(Ir *ir, const void *node, size_t size, Error *err)
{
    IrNode *copy = weir_arena_alloc(ir->arena, size, err);
    if (copy != NULL) {
        memcpy(copy, node, size);
        copy->id = ir->node_count++;
    }
    return copy;
}

/* The array of one child. */
static const IrNode *const *one_child(Ir *ir, const IrNode *child, Error *err)
{
    const IrNode **children = weir_arena_alloc(ir->arena, sizeof(const IrNode *), err);
    if (children != NULL) {
        children[0] = child;
    }
    return children;
}

/* The types of the columns `columns` of a list of types. */
static const LogicalType *const *pick_types(Ir *ir, const LogicalType *const *types,
                                            const size_t *columns, size_t count, Error *err)
{
    const LogicalType **picked =
        weir_arena_calloc(ir->arena, count, sizeof(const LogicalType *), err);
    if (picked == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        picked[i] = types[columns[i]];
    }
    return picked;
}

const IrNode *weir_ir_scan(Ir *ir, const IrTable *table, const size_t *columns, size_t count,
                           Error *err)
{
    const LogicalType *const *types = pick_types(ir, table->types, columns, count, err);
    if (types == NULL) {
        return NULL;
    }
    const IrScan scan = {
        .head = {.kind = IR_SCAN, .column_count = count, .types = types},
        .table = table,
        .columns = columns,
    };
    return add_node(ir, &scan, sizeof scan, err);
}

const IrNode *weir_ir_values(Ir *ir, const LogicalType *const *types, size_t column_count,
                             const Value *values, size_t row_count, Error *err)
{
    const IrValues node = {
        .head = {.kind = IR_VALUES, .column_count = column_count, .types = types},
        .row_count = row_count,
        .values = values,
    };
    return add_node(ir, &node, sizeof node, err);
}

const IrNode *weir_ir_filter(Ir *ir, const IrNode *child, const Expr *const *predicates,
                             size_t count, Error *err)
{
    const IrNode *const *children = one_child(ir, child, err);
    if (children == NULL) {
        return NULL;
    }
    const IrFilter filter = {
        .head = {.kind = IR_FILTER,
                 .column_count = child->column_count,
                 .types = child->types,
                 .child_count = 1,
                 .children = children},
        .predicate_count = count,
        .predicates = predicates,
    };
    return add_node(ir, &filter, sizeof filter, err);
}

const IrNode *weir_ir_project(Ir *ir, const IrNode *child, const Expr *const *exprs, size_t count,
                              Error *err)
{
    const IrNode *const *children = one_child(ir, child, err);
    const LogicalType **types =
        weir_arena_calloc(ir->arena, count, sizeof(const LogicalType *), err);
    if (children == NULL || types == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        types[i] = exprs[i]->type;
    }
    const IrProject project = {
        .head = {.kind = IR_PROJECT,
                 .column_count = count,
                 .types = types,
                 .child_count = 1,
                 .children = children},
        .exprs = exprs,
    };
    return add_node(ir, &project, sizeof project, err);
}

const IrNode *weir_ir_aggregate(Ir *ir, const IrNode *child, const IrAggregateSpec *spec,
                                Error *err)
{
    WEIR_ASSERT(spec->group_count + spec->call_count > 0);
    const size_t count = spec->group_count + spec->call_count;
    const IrNode *const *children = one_child(ir, child, err);
    const LogicalType **types =
        weir_arena_calloc(ir->arena, count, sizeof(const LogicalType *), err);
    if (children == NULL || types == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < spec->group_count; i++) {
        types[i] = spec->groups[i]->type;
    }
    for (size_t i = 0; i < spec->call_count; i++) {
        types[spec->group_count + i] = spec->calls[i].type;
    }
    const IrAggregate aggregate = {
        .head = {.kind = IR_AGGREGATE,
                 .column_count = count,
                 .types = types,
                 .child_count = 1,
                 .children = children},
        .group_count = spec->group_count,
        .groups = spec->groups,
        .call_count = spec->call_count,
        .calls = spec->calls,
    };
    return add_node(ir, &aggregate, sizeof aggregate, err);
}

const IrNode *weir_ir_distinct(Ir *ir, const IrNode *child, Error *err)
{
    const IrNode *const *children = one_child(ir, child, err);
    if (children == NULL) {
        return NULL;
    }
    const IrNode node = {
        .kind = IR_DISTINCT,
        .column_count = child->column_count,
        .types = child->types,
        .child_count = 1,
        .children = children,
    };
    return add_node(ir, &node, sizeof node, err);
}

/* 0, 1, 2, ...: all columns in order. */
static const size_t *all_columns(Ir *ir, size_t count, Error *err)
{
    size_t *columns = weir_arena_calloc(ir->arena, count, sizeof *columns, err);
    for (size_t i = 0; columns != NULL && i < count; i++) {
        columns[i] = i;
    }
    return columns;
}

/* Fills in the outputs that the spec leaves open. */
static Status complete_outputs(Ir *ir, const IrNode *left, const IrNode *right,
                               const IrJoinSpec *spec, IrJoin *join, Error *err)
{
    join->left_output = spec->left_output;
    join->left_output_count = spec->left_output_count;
    if (join->left_output == NULL) {
        join->left_output_count = left->column_count;
        join->left_output = all_columns(ir, left->column_count, err);
    }
    if (weir_ir_join_shows_right(spec->kind)) {
        join->right_output = spec->right_output;
        join->right_output_count = spec->right_output_count;
        if (join->right_output == NULL) {
            join->right_output_count = right->column_count;
            join->right_output = all_columns(ir, right->column_count, err);
        }
        if (join->right_output == NULL) {
            return weir_ir_failure(err);
        }
    }
    return join->left_output == NULL ? weir_ir_failure(err) : WEIR_OK;
}

const IrNode *weir_ir_join(Ir *ir, const IrNode *left, const IrNode *right, const IrJoinSpec *spec,
                           Error *err)
{
    IrJoin join = {
        .kind = spec->kind,
        .key_count = spec->key_count,
        .keys = spec->keys,
        .residual = spec->residual,
    };
    if (complete_outputs(ir, left, right, spec, &join, err) != WEIR_OK) {
        return NULL;
    }
    const size_t shown = join.left_output_count + join.right_output_count;
    const size_t count = shown + (spec->kind == JOIN_MARK ? 1 : 0);
    const LogicalType **types =
        weir_arena_calloc(ir->arena, count, sizeof(const LogicalType *), err);
    const IrNode **children = weir_arena_calloc(ir->arena, 2, sizeof(const IrNode *), err);
    if (types == NULL || children == NULL) {
        return NULL;
    }
    children[0] = left;
    children[1] = right;
    for (size_t i = 0; i < join.left_output_count; i++) {
        types[i] = left->types[join.left_output[i]];
    }
    for (size_t i = 0; i < join.right_output_count; i++) {
        types[join.left_output_count + i] = right->types[join.right_output[i]];
    }
    if (spec->kind == JOIN_MARK) {
        types[shown] = weir_type_simple(TYPE_BOOLEAN);
    }
    join.head = (IrNode){
        .kind = IR_JOIN,
        .column_count = count,
        .types = types,
        .child_count = 2,
        .children = children,
    };
    return add_node(ir, &join, sizeof join, err);
}

const IrNode *weir_ir_union(Ir *ir, const IrNode *const *children, size_t count, Error *err)
{
    WEIR_ASSERT(count > 0);
    const IrNode node = {
        .kind = IR_UNION,
        .column_count = children[0]->column_count,
        .types = children[0]->types,
        .child_count = count,
        .children = children,
    };
    return add_node(ir, &node, sizeof node, err);
}

const IrNode *weir_ir_with_children(Ir *ir, const IrNode *node, const IrNode *const *children,
                                    Error *err)
{
    static const size_t SIZES[IR_KIND_COUNT] = {
        [IR_SCAN] = sizeof(IrScan),     [IR_VALUES] = sizeof(IrValues),
        [IR_FILTER] = sizeof(IrFilter), [IR_PROJECT] = sizeof(IrProject),
        [IR_DISTINCT] = sizeof(IrNode), [IR_AGGREGATE] = sizeof(IrAggregate),
        [IR_JOIN] = sizeof(IrJoin),     [IR_UNION] = sizeof(IrNode),
    };
    IrNode *copy = add_node(ir, node, SIZES[node->kind], err);
    if (copy != NULL) {
        copy->children = children;
    }
    return copy;
}

IrJoinSpec weir_ir_join_spec(const IrJoin *join)
{
    return (IrJoinSpec){
        .kind = join->kind,
        .keys = join->keys,
        .key_count = join->key_count,
        .residual = join->residual,
        .left_output = join->left_output,
        .left_output_count = join->left_output_count,
        .right_output = join->right_output,
        .right_output_count = join->right_output_count,
    };
}

size_t weir_ir_join_source(const IrJoin *join, size_t i)
{
    WEIR_ASSERT(i < join->head.column_count);
    if (i < join->left_output_count) {
        return join->left_output[i];
    }
    if (join->kind == JOIN_MARK) {
        return SIZE_MAX;
    }
    return join->head.children[0]->column_count + join->right_output[i - join->left_output_count];
}

bool weir_ir_type_matches(const LogicalType *a, const LogicalType *b)
{
    if (a == b) {
        return true;
    }
    if (a->id != b->id || a->phys != b->phys || a->width != b->width || a->scale != b->scale ||
        a->array_size != b->array_size || a->child_count != b->child_count ||
        a->name_count != b->name_count) {
        return false;
    }
    for (size_t i = 0; i < a->name_count; i++) {
        if (strcmp(a->names[i], b->names[i]) != 0) {
            return false;
        }
    }
    for (size_t i = 0; i < a->child_count; i++) {
        if (!weir_ir_type_matches(a->children[i], b->children[i])) {
            return false;
        }
    }
    return true;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool has_same_columns(const IrTable *a, const IrTable *b)
{
    if (a->column_count != b->column_count) {
        return false;
    }
    for (size_t i = 0; i < a->column_count; i++) {
        if (strcmp(a->names[i], b->names[i]) != 0 ||
            !weir_ir_type_matches(a->types[i], b->types[i])) {
            return false;
        }
    }
    return true;
}

Status weir_ir_add_table(Ir *ir, const IrTable *table, const IrTable **out, Error *err)
{
    for (size_t i = 0; i < ir->table_count; i++) {
        const IrTable *known = ir->tables[i];
        if (known->kind == table->kind && is_same_text(known->catalog, table->catalog) &&
            is_same_text(known->schema, table->schema) && strcmp(known->name, table->name) == 0) {
            if (!has_same_columns(known, table)) {
                return weir_error_set(err, WEIR_ERR_PLAN,
                                      "the plan gives two lists of columns for %s", table->name);
            }
            *out = known;
            return WEIR_OK;
        }
    }
    if (ir->table_count == ir->table_capacity) {
        const size_t capacity = ir->table_capacity == 0 ? 8 : 2 * ir->table_capacity;
        const IrTable **grown =
            weir_arena_calloc(ir->arena, capacity, sizeof(const IrTable *), err);
        if (grown == NULL) {
            return weir_ir_failure(err);
        }
        for (size_t i = 0; i < ir->table_count; i++) {
            grown[i] = ir->tables[i];
        }
        ir->tables = grown;
        ir->table_capacity = capacity;
    }
    IrTable *added = weir_arena_alloc(ir->arena, sizeof *added, err);
    if (added == NULL) {
        return weir_ir_failure(err);
    }
    *added = *table;
    added->index = ir->table_count;
    ir->tables[ir->table_count++] = added;
    *out = added;
    return WEIR_OK;
}
