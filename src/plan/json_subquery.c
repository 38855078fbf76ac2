/* json_subquery.c: the two shapes that DuckDB makes of uncorrelated subqueries.
 *
 *   EXISTS (q)     PROJECTION[count_star() = 1] over AGGREGATE[count_star()] over LIMIT 1 over q:
 *                  read as count_star() >= 1 over q, for a limit without order is not maintained
 *   (SELECT x ..)  PROJECTION[CASE WHEN count > 1 THEN error(..) ELSE first] over
 *                  AGGREGATE[first(x), count_star()]: read with min(x), which is x whenever the check
 *                  passes. The check goes above the product with the outer query, so that it fails
 *                  only when there is a row to compute it for. A subquery that is one row by its form
 *                  needs neither. */
#include "plan/json_priv.h"

/* Item `index` of an array field of `count` items; NULL if it has another number. */
static Json *item_at(Json *json, const char *key, size_t index, size_t count)
{
    JsonArray array = {0};
    Error ignored = {0};
    if (weir_json_get_array(json, key, &array, &ignored) != WEIR_OK || array.count != count) {
        return NULL;
    }
    return weir_json_item(&array, index);
}

/* The only item of an array field; NULL if there is not exactly one. */
static Json *only_item(Json *json, const char *key)
{
    return item_at(json, key, 0, 1);
}

static bool has_text(Json *json, const char *key, const char *text)
{
    return strcmp(weir_json_find_text(json, key), text) == 0;
}

static bool is_empty_array(Json *json, const char *key)
{
    JsonArray array = {0};
    Error ignored = {0};
    return weir_json_get_array(json, key, &array, &ignored) == WEIR_OK && array.count == 0;
}

/* LIMIT 1 without OFFSET. */
static bool is_limit_one(Json *json)
{
    uint64_t limit = 0;
    Error ignored = {0};
    Json *value = weir_json_find(json, "limit_val");
    return has_text(json, "type", "LOGICAL_LIMIT") && has_text(value, "type", "CONSTANT_VALUE") &&
           weir_json_get_index(value, "constant_integer", &limit, &ignored) == WEIR_OK &&
           limit == 1 && has_text(weir_json_find(json, "offset_val"), "type", "UNSET");
}

/* #index */
static bool is_ref(Json *json, uint64_t index)
{
    uint64_t found = 0;
    Error ignored = {0};
    return has_text(json, "expression_class", "BOUND_REF") &&
           weir_json_get_index(json, "index", &found, &ignored) == WEIR_OK && found == index;
}

/* #index `compare` 1 */
static bool is_one_test(Json *json, const char *compare, uint64_t index)
{
    uint64_t one = 0;
    Error ignored = {0};
    Json *right = weir_json_find(json, "right");
    return has_text(json, "type", compare) && is_ref(weir_json_find(json, "left"), index) &&
           has_text(right, "expression_class", "BOUND_CONSTANT") &&
           weir_json_get_index(weir_json_find(right, "value"), "value", &one, &ignored) ==
               WEIR_OK &&
           one == 1;
}

/* An aggregate over all rows without more. */
static bool is_global_aggregate(Json *json)
{
    return has_text(json, "type", "LOGICAL_AGGREGATE_AND_GROUP_BY") &&
           is_empty_array(json, "groups") && is_empty_array(json, "grouping_functions");
}

/* count_star() >= 1 over the aggregate. */
static Status make_count_test(JsonReader *reader, const IrNode *aggregate, Rel *out, Error *err)
{
    const Expr **args = weir_arena_calloc(reader->arena, 2, sizeof(const Expr *), err);
    const Expr **exprs = weir_arena_alloc(reader->arena, sizeof(const Expr *), err);
    if (args == NULL || exprs == NULL) {
        return weir_ir_failure(err);
    }
    args[0] = weir_expr_column(reader->arena, 0, weir_type_simple(TYPE_BIGINT), err);
    args[1] = weir_json_make_bigint(reader, 1, err);
    if (args[0] == NULL || args[1] == NULL) {
        return weir_ir_failure(err);
    }
    const Expr test = {
        .kind = EXPR_COMPARE,
        .type = weir_type_simple(TYPE_BOOLEAN),
        .args = args,
        .arg_count = 2,
        .compare = COMPARE_GE,
    };
    exprs[0] = weir_json_make_expr(reader, &test, err);
    if (exprs[0] == NULL) {
        return weir_ir_failure(err);
    }
    return weir_json_rel_of(reader, weir_ir_project(reader->ir, aggregate, exprs, 1, err), out,
                            err);
}

Status weir_json_read_exists(JsonReader *reader, Json *json, Rel *out, bool *is_done, Error *err)
{
    Json *aggregate = only_item(json, "children");
    Json *limit = only_item(aggregate, "children");
    *is_done = is_global_aggregate(aggregate) &&
               has_text(only_item(aggregate, "expressions"), "name", "count_star") &&
               is_limit_one(limit) &&
               is_one_test(only_item(json, "expressions"), "COMPARE_EQUAL", 0);
    if (!*is_done) {
        return WEIR_OK;
    }
    Rel child = {0};
    Rel counted = {0};
    WEIR_TRY(weir_json_read_child(reader, limit, 0, &child, err));
    WEIR_TRY(weir_json_read_aggregate_over(reader, aggregate, &child, &counted, err));
    if (counted.count != 1 || counted.node->types[0]->id != TYPE_BIGINT) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: EXISTS");
    }
    return make_count_test(reader, counted.node, out, err);
}

bool weir_json_is_scalar(Json *json)
{
    Json *aggregate = only_item(json, "children");
    Json *expr = only_item(json, "expressions");
    Json *check = only_item(expr, "case_checks");
    return has_text(json, "type", "LOGICAL_PROJECTION") && is_global_aggregate(aggregate) &&
           has_text(item_at(aggregate, "expressions", 0, 2), "name", "first") &&
           has_text(item_at(aggregate, "expressions", 1, 2), "name", "count_star") &&
           has_text(expr, "expression_class", "BOUND_CASE") &&
           is_one_test(weir_json_find(check, "when_expr"), "COMPARE_GREATERTHAN", 1) &&
           has_text(weir_json_find(check, "then_expr"), "name", "error") &&
           is_ref(weir_json_find(expr, "else_expr"), 0);
}

/* The subquery is one row: its value alone. */
static Status read_value(JsonReader *reader, Json *first, const Rel *child, const IrNode **out,
                         Error *err)
{
    const JsonScope scope = {.left = child};
    const Expr *const *args = NULL;
    size_t count = 0;
    WEIR_TRY(weir_json_read_exprs(reader, &scope, first, "children", &args, &count, err));
    if (count != 1) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: first of %zu", count);
    }
    *out = weir_ir_project(reader->ir, child->node, args, 1, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* left, then the value behind its check. */
static Status make_checked(JsonReader *reader, Json *json, const Rel *left, const IrNode *aggregate,
                           Rel *out, Error *err)
{
    const IrJoinSpec spec = {.kind = JOIN_INNER};
    const size_t width = left->node->column_count;
    const IrNode *product = weir_ir_join(reader->ir, left->node, aggregate, &spec, err);
    const Expr **exprs = weir_arena_calloc(reader->arena, width + 1, sizeof(const Expr *), err);
    if (product == NULL || exprs == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < width; i++) {
        exprs[i] = weir_expr_column(reader->arena, i, product->types[i], err);
        if (exprs[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    const size_t columns[2] = {width, width + 1};
    const Rel value = {.node = product, .count = 2, .columns = columns};
    const JsonScope scope = {.left = &value};
    WEIR_TRY(
        weir_json_read_expr(reader, &scope, only_item(json, "expressions"), &exprs[width], err));
    const IrNode *node = weir_ir_project(reader->ir, product, exprs, width + 1, err);
    return node == NULL ? weir_ir_failure(err)
                        : weir_json_append_column(reader, left, node, out, err);
}

Status weir_json_read_scalar(JsonReader *reader, Json *json, const Rel *left, Rel *out, Error *err)
{
    Json *aggregate = only_item(json, "children");
    Json *first = item_at(aggregate, "expressions", 0, 2);
    const IrJoinSpec spec = {.kind = JOIN_INNER};
    Rel child = {0};
    WEIR_TRY(weir_json_read_child(reader, aggregate, 0, &child, err));
    if (weir_ir_is_single_row(child.node)) {
        const IrNode *value = NULL;
        WEIR_TRY(read_value(reader, first, &child, &value, err));
        const IrNode *product = weir_ir_join(reader->ir, left->node, value, &spec, err);
        return product == NULL ? weir_ir_failure(err)
                               : weir_json_append_column(reader, left, product, out, err);
    }
    Rel counted = {0};
    reader->scalar_first = first;
    const Status status = weir_json_read_aggregate_over(reader, aggregate, &child, &counted, err);
    reader->scalar_first = NULL;
    WEIR_TRY(status);
    return make_checked(reader, json, left, counted.node, out, err);
}
