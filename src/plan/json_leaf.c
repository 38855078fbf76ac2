/* json_leaf.c: tables, views and table functions; rows from nothing.
 *
 * A GET's columns follow column_indexes: positions in `names`, or 2^64-1 for the row id, which stands
 * there unread when no column is needed. A table is the function seq_scan, another view of Weir the
 * function dbsp_query with its name. */
#include "plan/json_priv.h"

enum { RANGE_MAX_ROWS = 100000 };

/* Column numbers from here on are virtual: row id, file name, ... */
#define FIRST_VIRTUAL_COLUMN (UINT64_C(1) << 63)

/* The column of the table for each output column. */
static Status read_column_indexes(JsonReader *reader, Json *json, size_t column_count, Rel *out,
                                  Error *err)
{
    JsonArray indexes = {0};
    WEIR_TRY(weir_json_get_array(json, "column_indexes", &indexes, err));
    if (indexes.count > JSON_MAX_COLUMNS) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "more than %d columns", JSON_MAX_COLUMNS);
    }
    size_t *columns = weir_arena_calloc(reader->arena, indexes.count, sizeof *columns, err);
    if (columns == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < indexes.count; i++) {
        Json *item = weir_json_item(&indexes, i);
        uint64_t index = 0;
        JsonArray nested = {0};
        WEIR_TRY(weir_json_get_index(item, "index", &index, err));
        WEIR_TRY(weir_json_get_array(item, "child_indexes", &nested, err));
        if (nested.count > 0 || (index >= column_count && index < FIRST_VIRTUAL_COLUMN)) {
            return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: column index %llu of %zu",
                                  (unsigned long long)index, column_count);
        }
        columns[i] = index < column_count ? (size_t)index : REL_UNUSED;
        if (index == JSON_NO_INDEX) {
            columns[i] = REL_ROW_ID;
        }
    }
    const Rel all = {.node = out->node, .count = indexes.count, .columns = columns};
    return weir_json_rel_pick(reader, &all, json, "projection_ids", out, err);
}

static Status read_names(JsonReader *reader, Json *json, IrTable *table, Error *err)
{
    JsonArray array = {0};
    WEIR_TRY(weir_json_get_array(json, "names", &array, err));
    WEIR_TRY(weir_json_read_types(reader, json, "returned_types", &table->types,
                                  &table->column_count, err));
    const char **names = weir_arena_calloc(reader->arena, array.count, sizeof *names, err);
    if (names == NULL) {
        return weir_ir_failure(err);
    }
    if (array.count != table->column_count) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: %zu names for %zu columns",
                              array.count, table->column_count);
    }
    for (size_t i = 0; i < array.count; i++) {
        const char *text = NULL;
        size_t size = 0;
        WEIR_TRY(weir_json_as_text(weir_json_item(&array, i), &text, &size, err));
        names[i] = weir_arena_strndup(reader->arena, text, size, err);
        if (names[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    table->names = names;
    return WEIR_OK;
}

static Status copy_field(JsonReader *reader, Json *json, const char *key, const char **out,
                         Error *err)
{
    const char *text = NULL;
    WEIR_TRY(weir_json_get_text(json, key, &text, err));
    *out = weir_arena_strdup(reader->arena, text, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* Makes the scan: the columns of the relation are the table's columns that are read, in order. */
static Status make_scan(JsonReader *reader, Json *json, const IrTable *declared, Rel *out,
                        Error *err)
{
    const IrTable *table = NULL;
    WEIR_TRY(weir_ir_add_table(reader->ir, declared, &table, err));
    WEIR_TRY(read_column_indexes(reader, json, table->column_count, out, err));
    size_t *places = weir_arena_calloc(reader->arena, out->count, sizeof *places, err);
    size_t *columns = weir_arena_calloc(reader->arena, out->count, sizeof *columns, err);
    if (places == NULL || columns == NULL) {
        return weir_ir_failure(err);
    }
    size_t used = 0;
    for (size_t i = 0; i < out->count; i++) {
        places[i] = out->columns[i];
        if (out->columns[i] < table->column_count) {
            places[i] = used;
            columns[used++] = out->columns[i];
        }
    }
    out->columns = places;
    out->node = weir_ir_scan(reader->ir, table, columns, used, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status read_table(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    Json *data = NULL;
    IrTable table = {.kind = PLAN_SOURCE_TABLE};
    WEIR_TRY(weir_json_get(json, "function_data", &data, err));
    WEIR_TRY(copy_field(reader, data, "catalog", &table.catalog, err));
    WEIR_TRY(copy_field(reader, data, "schema", &table.schema, err));
    WEIR_TRY(copy_field(reader, data, "table", &table.name, err));
    WEIR_TRY(read_names(reader, json, &table, err));
    return make_scan(reader, json, &table, out, err);
}

/* Constant arguments of a table function. */
static Status read_parameters(JsonReader *reader, Json *json, const Expr ***out, size_t *count,
                              Error *err)
{
    JsonArray array = {0};
    WEIR_TRY(weir_json_get_array(json, "parameters", &array, err));
    *out = weir_arena_calloc(reader->arena, array.count, sizeof(const Expr *), err);
    if (*out == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < array.count; i++) {
        WEIR_TRY(weir_json_read_constant(reader, weir_json_item(&array, i), &(*out)[i], err));
    }
    *count = array.count;
    return WEIR_OK;
}

static Status read_view(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    const Expr **parameters = NULL;
    size_t count = 0;
    IrTable view = {.kind = PLAN_SOURCE_VIEW};
    WEIR_TRY(read_parameters(reader, json, &parameters, &count, err));
    if (count != 1 || parameters[0]->kind != EXPR_CONSTANT ||
        parameters[0]->type->id != TYPE_VARCHAR || parameters[0]->value.is_null) {
        return weir_error_set(err, WEIR_ERR_PLAN, "dbsp_query takes the name of a view");
    }
    String name;
    memcpy(&name, parameters[0]->value.data.bytes, sizeof name);
    view.name =
        weir_arena_strndup(reader->arena, weir_string_data(&name), weir_string_size(&name), err);
    if (view.name == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(read_names(reader, json, &view, err));
    return make_scan(reader, json, &view, out, err);
}

/* --- range and generate_series over BIGINT --- */

typedef struct Range {
    int64_t first;
    int64_t end; /* exclusive for range, inclusive for generate_series */
    int64_t step;
    bool is_empty;
} Range;

static Status read_range_bounds(const Expr *const *parameters, size_t count, Range *out, Error *err)
{
    int64_t bounds[3] = {0};
    *out = (Range){.step = 1};
    if (count < 1 || count > 3) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: range of %zu arguments", count);
    }
    for (size_t i = 0; i < count; i++) {
        const Expr *bound = parameters[i];
        if (bound->kind != EXPR_CONSTANT || bound->type->id != TYPE_BIGINT) {
            return weir_json_refuse("a series that is not of BIGINT", "store it in a table", err);
        }
        out->is_empty = out->is_empty || bound->value.is_null;
        memcpy(&bounds[i], bound->value.data.bytes, sizeof bounds[i]);
    }
    out->first = count == 1 ? 0 : bounds[0];
    out->end = count == 1 ? bounds[0] : bounds[1];
    out->step = count == 3 ? bounds[2] : 1;
    if (out->step == 0 && !out->is_empty) {
        return weir_error_set(err, WEIR_ERR_PLAN, "the step of a series cannot be 0");
    }
    return WEIR_OK;
}

static size_t count_range(const Range *range, bool is_inclusive)
{
    const i128 distance =
        range->step > 0 ? (i128)range->end - range->first : (i128)range->first - range->end;
    const i128 step = range->step > 0 ? (i128)range->step : -(i128)range->step;
    if (range->is_empty || distance < 0) {
        return 0;
    }
    const i128 count = is_inclusive ? distance / step + 1 : (distance + step - 1) / step;
    return count > (i128)SIZE_MAX ? SIZE_MAX : (size_t)count;
}

static Status read_range(JsonReader *reader, Json *json, bool is_inclusive, Rel *out, Error *err)
{
    const Expr **parameters = NULL;
    size_t parameter_count = 0;
    Range range = {0};
    IrTable shape = {0};
    WEIR_TRY(read_parameters(reader, json, &parameters, &parameter_count, err));
    WEIR_TRY(read_range_bounds(parameters, parameter_count, &range, err));
    WEIR_TRY(read_names(reader, json, &shape, err));
    if (shape.column_count != 1 || shape.types[0]->id != TYPE_BIGINT) {
        return weir_json_refuse("a series that is not of BIGINT", "store it in a table", err);
    }
    const size_t row_count = count_range(&range, is_inclusive);
    if (row_count > RANGE_MAX_ROWS) {
        return weir_json_refuse("a series of so many rows", "store it in a table", err);
    }
    Value *values = weir_arena_calloc(reader->arena, row_count, sizeof *values, err);
    if (values == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < row_count; i++) {
        const int64_t value = (int64_t)((i128)range.first + (i128)range.step * (i128)i);
        values[i].type = shape.types[0];
        memcpy(values[i].data.bytes, &value, sizeof value);
    }
    out->node = weir_ir_values(reader->ir, shape.types, 1, values, row_count, err);
    return out->node == NULL ? weir_ir_failure(err)
                             : read_column_indexes(reader, json, shape.column_count, out, err);
}

Status weir_json_read_get(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    const char *name = NULL;
    JsonArray children = {0};
    WEIR_TRY(weir_json_get_text(json, "name", &name, err));
    WEIR_TRY(weir_json_get_array(json, "children", &children, err));
    if (children.count > 0) {
        return weir_json_refuse(strcmp(name, "unnest") == 0 ? "UNNEST" : "LATERAL table functions",
                                "compute it in the query that reads the view", err);
    }
    JsonArray filters = {0};
    Json *table_filters = weir_json_find(json, "table_filters");
    if (weir_json_find(table_filters, "filters") != NULL) {
        WEIR_TRY(weir_json_get_array(table_filters, "filters", &filters, err));
    }
    if (filters.count > 0) {
        return weir_error_set(err, WEIR_ERR_PLAN, "the plan is optimized");
    }
    if (strcmp(name, "seq_scan") == 0) {
        return read_table(reader, json, out, err);
    }
    if (strcmp(name, "dbsp_query") == 0) {
        return read_view(reader, json, out, err);
    }
    if (strcmp(name, "range") == 0 || strcmp(name, "generate_series") == 0) {
        return read_range(reader, json, strcmp(name, "range") != 0, out, err);
    }
    const Status status = weir_error_set(err, WEIR_ERR_UNKNOWN_TABLE,
                                         "the table function %s cannot be followed", name);
    weir_error_hint(err, "store its rows in a table");
    return status;
}

/* --- rows from nothing --- */

Status weir_json_read_dummy_scan(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    WEIR_UNUSED(json);
    size_t *columns = weir_arena_alloc(reader->arena, sizeof *columns, err);
    const LogicalType **types = weir_arena_alloc(reader->arena, sizeof(const LogicalType *), err);
    if (columns == NULL || types == NULL) {
        return weir_ir_failure(err);
    }
    columns[0] = REL_UNUSED;
    out->node = weir_ir_values(reader->ir, types, 0, NULL, 1, err);
    out->count = 1;
    out->columns = columns;
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

Status weir_json_read_empty_result(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    const LogicalType *const *types = NULL;
    size_t count = 0;
    WEIR_TRY(weir_json_read_types(reader, json, "return_types", &types, &count, err));
    return weir_json_rel_of(reader, weir_ir_values(reader->ir, types, count, NULL, 0, err), out,
                            err);
}
