/* json_values.c: VALUES and other literal rows.
 *
 * A row of VALUES is a list of expressions without columns. Most are constants under a cast, like
 * CAST('2020-01-01' AS DATE): rows whose expressions differ in constants only become one table of
 * those constants, with one projection above that does the rest. */
#include "plan/json_priv.h"

enum { GROUPS_TRIED = 4 };

/* Rows of one shape. */
typedef struct RowGroup {
    const Expr *const *shape; /* one an output column, over the constants */
    size_t constant_count;
    const LogicalType **types; /* of the constants */
    Value *values;             /* row by row */
    size_t row_count;
    size_t row_capacity;
} RowGroup;

typedef struct ValuesReader {
    JsonReader *reader;
    size_t column_count;
    size_t group_count;
    RowGroup *groups; /* room for one a row */
} ValuesReader;

/* Calls that may be given a column instead of a constant without binding otherwise. */
static bool is_transparent(const Expr *expr)
{
    static const char *const NAMES[] = {
        "list_value", "to_years", "to_months",       "to_days",         "to_hours", "to_minutes",
        "to_seconds", "to_weeks", "to_milliseconds", "to_microseconds", "trunc",    "-",
    };
    if (expr->kind == EXPR_CAST) {
        return true;
    }
    if (expr->kind != EXPR_CALL) {
        return false;
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(NAMES); i++) {
        if (strcmp(expr->name, NAMES[i]) == 0) {
            return expr->extra == NULL ||
                   (expr->extra->lambda == NULL && expr->extra->arg_names == NULL &&
                    expr->extra->more_arg_count == 0);
        }
    }
    return false;
}

static size_t count_constants(const Expr *expr)
{
    if (expr->kind == EXPR_CONSTANT) {
        return 1;
    }
    size_t count = 0;
    for (size_t i = 0; is_transparent(expr) && i < expr->arg_count; i++) {
        count += count_constants(expr->args[i]);
    }
    return count;
}

/* The expression with its constants, from *next on, replaced by columns. */
static Status make_shape(JsonReader *reader, const Expr *expr, size_t *next, const Expr **out,
                         Error *err)
{
    *out = expr;
    if (expr->kind == EXPR_CONSTANT) {
        *out = weir_expr_column(reader->arena, *next, expr->type, err);
        (*next)++;
        return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
    }
    if (!is_transparent(expr)) {
        return WEIR_OK;
    }
    const Expr **args =
        weir_arena_calloc(reader->arena, expr->arg_count, sizeof(const Expr *), err);
    if (args == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        WEIR_TRY(make_shape(reader, expr->args[i], next, &args[i], err));
    }
    Expr copy = *expr;
    copy.args = args;
    *out = weir_json_make_expr(reader, &copy, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* True if the expression has the shape; then values holds its constants. */
static bool matches(const Expr *shape, const Expr *expr, Value *values)
{
    if (shape->kind == EXPR_COLUMN) {
        if (expr->kind != EXPR_CONSTANT || !weir_type_equal(shape->type, expr->type)) {
            return false;
        }
        values[shape->column] = expr->value;
        return true;
    }
    if (!is_transparent(shape)) {
        return weir_expr_equal(shape, expr);
    }
    if (!is_transparent(expr) || shape->kind != expr->kind || shape->arg_count != expr->arg_count ||
        shape->is_try != expr->is_try || !weir_type_equal(shape->type, expr->type) ||
        (shape->kind == EXPR_CALL && strcmp(shape->name, expr->name) != 0)) {
        return false;
    }
    for (size_t i = 0; i < shape->arg_count; i++) {
        if (!matches(shape->args[i], expr->args[i], values)) {
            return false;
        }
    }
    return true;
}

/* Makes room for one more row. */
static Status grow_group(ValuesReader *values, RowGroup *group, Error *err)
{
    if (group->row_count < group->row_capacity) {
        return WEIR_OK;
    }
    const size_t capacity = group->row_capacity == 0 ? 1 : 2 * group->row_capacity;
    const size_t row_bytes = group->constant_count * sizeof *group->values;
    Value *grown = weir_arena_calloc(values->reader->arena, capacity, row_bytes, err);
    if (grown == NULL) {
        return weir_ir_failure(err);
    }
    if (group->row_count > 0) {
        memcpy(grown, group->values, group->row_count * row_bytes);
    }
    group->values = grown;
    group->row_capacity = capacity;
    return WEIR_OK;
}

static Status add_to_group(ValuesReader *values, RowGroup *group, const Expr *const *row,
                           bool *is_added, Error *err)
{
    WEIR_TRY(grow_group(values, group, err));
    Value *constants = group->values + group->row_count * group->constant_count;
    for (size_t i = 0; i < values->column_count; i++) {
        if (!matches(group->shape[i], row[i], constants)) {
            return WEIR_OK;
        }
    }
    group->row_count++;
    *is_added = true;
    return WEIR_OK;
}

static Status add_group(ValuesReader *values, const Expr *const *row, Error *err)
{
    Arena *arena = values->reader->arena;
    size_t constant_count = 0;
    for (size_t i = 0; i < values->column_count; i++) {
        constant_count += count_constants(row[i]);
    }
    const Expr **shape = weir_arena_calloc(arena, values->column_count, sizeof(const Expr *), err);
    const LogicalType **types =
        weir_arena_calloc(arena, constant_count, sizeof(const LogicalType *), err);
    if (shape == NULL || types == NULL) {
        return weir_ir_failure(err);
    }
    size_t next = 0;
    for (size_t i = 0; i < values->column_count; i++) {
        WEIR_TRY(make_shape(values->reader, row[i], &next, &shape[i], err));
    }
    RowGroup *group = &values->groups[values->group_count++];
    *group = (RowGroup){.shape = shape, .constant_count = constant_count, .types = types};
    bool is_added = false;
    WEIR_TRY(add_to_group(values, group, row, &is_added, err));
    WEIR_ASSERT(is_added);
    for (size_t i = 0; i < constant_count; i++) {
        types[i] = group->values[i].type;
    }
    return WEIR_OK;
}

/* Puts the row into one of the last groups, or makes a new one. */
static Status add_row(ValuesReader *values, const Expr *const *row, Error *err)
{
    const size_t tried = WEIR_MIN(values->group_count, (size_t)GROUPS_TRIED);
    bool is_added = false;
    for (size_t i = 0; !is_added && i < tried; i++) {
        RowGroup *group = &values->groups[values->group_count - 1 - i];
        WEIR_TRY(add_to_group(values, group, row, &is_added, err));
    }
    return is_added ? WEIR_OK : add_group(values, row, err);
}

static const IrNode *make_group_node(ValuesReader *values, const RowGroup *group, Error *err)
{
    Ir *ir = values->reader->ir;
    const IrNode *node = weir_ir_values(ir, group->types, group->constant_count, group->values,
                                        group->row_count, err);
    bool is_identity = group->constant_count == values->column_count;
    for (size_t i = 0; is_identity && i < values->column_count; i++) {
        is_identity = group->shape[i]->kind == EXPR_COLUMN && group->shape[i]->column == i;
    }
    if (node == NULL || is_identity) {
        return node;
    }
    return weir_ir_project(ir, node, group->shape, values->column_count, err);
}

static Status make_union(JsonReader *reader, const IrNode *const *nodes, size_t count, Rel *out,
                         Error *err)
{
    const IrNode *node = count == 1 ? nodes[0] : weir_ir_union(reader->ir, nodes, count, err);
    return weir_json_rel_of(reader, node, out, err);
}

/* Rows without columns of a child: constants. */
static Status make_constant_rows(JsonReader *reader, const Expr *const *const *rows,
                                 size_t row_count, size_t column_count, Rel *out, Error *err)
{
    ValuesReader values = {.reader = reader, .column_count = column_count};
    values.groups = weir_arena_calloc(reader->arena, row_count, sizeof *values.groups, err);
    const IrNode **nodes = weir_arena_calloc(reader->arena, row_count, sizeof(const IrNode *), err);
    if (values.groups == NULL || nodes == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < row_count; i++) {
        WEIR_TRY(add_row(&values, rows[i], err));
    }
    for (size_t i = 0; i < values.group_count; i++) {
        nodes[i] = make_group_node(&values, &values.groups[i], err);
        if (nodes[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    return make_union(reader, nodes, values.group_count, out, err);
}

/* Rows over a child (a correlated VALUES): one projection a row. */
static Status make_projected_rows(JsonReader *reader, const IrNode *child,
                                  const Expr *const *const *rows, size_t row_count,
                                  size_t column_count, Rel *out, Error *err)
{
    const IrNode **nodes = weir_arena_calloc(reader->arena, row_count, sizeof(const IrNode *), err);
    if (nodes == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < row_count; i++) {
        nodes[i] = weir_ir_project(reader->ir, child, rows[i], column_count, err);
        if (nodes[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    return make_union(reader, nodes, row_count, out, err);
}

static Status read_row(JsonReader *reader, const JsonScope *scope, Json *json,
                       const LogicalType *const *types, size_t column_count,
                       const Expr *const **out, Error *err)
{
    JsonArray array = {0};
    WEIR_TRY(weir_json_as_array(json, &array, err));
    const Expr **row = weir_arena_calloc(reader->arena, column_count, sizeof(const Expr *), err);
    if (row == NULL) {
        return weir_ir_failure(err);
    }
    if (array.count != column_count) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a row of %zu values",
                              array.count);
    }
    for (size_t i = 0; i < column_count; i++) {
        WEIR_TRY(weir_json_read_expr(reader, scope, weir_json_item(&array, i), &row[i], err));
        if (!weir_ir_type_matches(row[i]->type, types[i])) {
            return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a %s among values of %s",
                                  weir_type_name(row[i]->type->id), weir_type_name(types[i]->id));
        }
    }
    *out = row;
    return WEIR_OK;
}

Status weir_json_read_expression_get(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    Rel child = {0};
    JsonArray array = {0};
    const LogicalType *const *types = NULL;
    size_t column_count = 0;
    WEIR_TRY(weir_json_read_child(reader, json, 0, &child, err));
    WEIR_TRY(weir_json_read_types(reader, json, "expr_types", &types, &column_count, err));
    WEIR_TRY(weir_json_get_array(json, "expressions", &array, err));
    if (array.count > JSON_MAX_ROWS) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "VALUES of more than %d rows", JSON_MAX_ROWS);
    }
    if (array.count == 0) {
        return weir_json_rel_of(
            reader, weir_ir_values(reader->ir, types, column_count, NULL, 0, err), out, err);
    }
    const Expr *const **rows =
        weir_arena_calloc(reader->arena, array.count, sizeof(const Expr *const *), err);
    if (rows == NULL) {
        return weir_ir_failure(err);
    }
    const JsonScope scope = {.left = &child};
    for (size_t i = 0; i < array.count; i++) {
        WEIR_TRY(read_row(reader, &scope, weir_json_item(&array, i), types, column_count, &rows[i],
                          err));
    }
    const bool is_dummy = child.node->kind == IR_VALUES && child.node->column_count == 0 &&
                          weir_ir_as_values(child.node)->row_count == 1;
    return is_dummy
               ? make_constant_rows(reader, rows, array.count, column_count, out, err)
               : make_projected_rows(reader, child.node, rows, array.count, column_count, out, err);
}

/* {"types": [...], "values": [column, ...]}, a column being an array of constants. */
Status weir_json_read_chunk_get(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    Json *collection = NULL;
    const LogicalType *const *types = NULL;
    size_t column_count = 0;
    JsonArray columns = {0};
    WEIR_TRY(weir_json_get(json, "collection", &collection, err));
    WEIR_TRY(weir_json_read_types(reader, collection, "types", &types, &column_count, err));
    WEIR_TRY(weir_json_get_array(collection, "values", &columns, err));
    JsonArray first = {0};
    if (columns.count != column_count || column_count == 0) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: literal rows");
    }
    WEIR_TRY(weir_json_as_array(weir_json_item(&columns, 0), &first, err));
    const size_t row_count = first.count;
    if (row_count > JSON_MAX_ROWS) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "more than %d literal rows", JSON_MAX_ROWS);
    }
    Value *values = weir_arena_calloc(reader->arena, row_count, column_count * sizeof *values, err);
    if (values == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t c = 0; c < column_count; c++) {
        JsonArray column = {0};
        WEIR_TRY(weir_json_as_array(weir_json_item(&columns, c), &column, err));
        for (size_t r = 0; r < row_count; r++) {
            const Expr *constant = NULL;
            if (column.count != row_count) {
                return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: literal columns");
            }
            WEIR_TRY(weir_json_read_constant(reader, weir_json_item(&column, r), &constant, err));
            if (constant->kind != EXPR_CONSTANT ||
                !weir_ir_type_matches(constant->type, types[c])) {
                return weir_json_refuse("literal rows of nested types", "use VALUES", err);
            }
            values[r * column_count + c] = constant->value;
            values[r * column_count + c].type = types[c];
        }
    }
    return weir_json_rel_of(
        reader, weir_ir_values(reader->ir, types, column_count, values, row_count, err), out, err);
}
