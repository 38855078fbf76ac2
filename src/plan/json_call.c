/* json_call.c: calls of scalar functions.
 *
 * Binding moves some arguments into function_data; they are put back so that the call can be spelled
 * as SQL again:
 *   struct_pack, struct_insert, union_value ...  names of the arguments
 *   list_transform, list_filter, list_reduce     lambda_expr: the body. Its BOUND_REFs count the
 *                                                parameters in reverse order, then the captures,
 *                                                which are the call's last children
 *   list_aggregate                               bind_data.aggr_expr: separator, quantile
 * The name of a list aggregate stays an argument; the parts of date_part([..], x) are the fields of
 * its result. */
#include "plan/json_priv.h"

#include <json-c/json.h>

/* A call whose arguments have been read. */
typedef struct Call {
    const char *name; /* in the plan's arena */
    const LogicalType *type;
    JsonArray children;
    const Expr *const *args;
    size_t arg_count;
    Json *data; /* function_data; NULL = none */
} Call;

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* True if the field is there and null: DuckDB found out that the result is NULL. */
static bool is_present_null(Json *object, const char *key)
{
    Json *value = NULL;
    return json_object_is_type(object, json_type_object) &&
           json_object_object_get_ex(object, key, &value) && value == NULL;
}

static Status make_call(JsonReader *reader, const Call *call, const CallExtra *extra,
                        const Expr **out, Error *err)
{
    const CallExtra *kept = NULL;
    if (extra != NULL) {
        CallExtra *copy = weir_arena_alloc(reader->arena, sizeof *copy, err);
        if (copy == NULL) {
            return weir_ir_failure(err);
        }
        *copy = *extra;
        kept = copy;
    }
    const Expr expr = {
        .kind = EXPR_CALL,
        .type = call->type,
        .args = call->args,
        .arg_count = call->arg_count,
        .name = call->name,
        .extra = kept,
    };
    *out = weir_json_make_expr(reader, &expr, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* The aliases of the arguments are their names; the first one may have none. */
static Status read_argument_names(JsonReader *reader, const Call *call, size_t first,
                                  CallExtra *extra, Error *err)
{
    const char **names = weir_arena_calloc(reader->arena, call->arg_count, sizeof *names, err);
    if (names == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < call->arg_count; i++) {
        const char *name =
            i < first ? "" : weir_json_find_text(weir_json_item(&call->children, i), "alias");
        names[i] = weir_arena_strdup(reader->arena, name, err);
        if (names[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    extra->arg_names = names;
    return WEIR_OK;
}

static Status check_field_count(const Call *call, size_t offset, Error *err)
{
    if (call->type->name_count != call->arg_count + offset) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: %s of %zu arguments gives %s",
                              call->name, call->arg_count, weir_type_name(call->type->id));
    }
    return WEIR_OK;
}

/* Functions with named arguments. */
static Status read_named_call(JsonReader *reader, const Call *call, const Expr **out, Error *err)
{
    CallExtra extra = {0};
    if (strcmp(call->name, "struct_pack") == 0) {
        WEIR_TRY(check_field_count(call, 0, err));
        extra.arg_names = call->type->names;
    } else if (strcmp(call->name, "union_value") == 0) {
        if (call->arg_count != 1 || call->type->name_count == 0) {
            return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: union_value");
        }
        extra.arg_names = call->type->names;
    } else {
        WEIR_TRY(read_argument_names(reader, call, 1, &extra, err));
    }
    return make_call(reader, call, &extra, out, err);
}

/* list_transform(list, lambda x, i: body, [initial]): captures become part of the body. */
static Status read_lambda_call(JsonReader *reader, const JsonScope *scope, Call *call, Json *body,
                               const Expr **out, Error *err)
{
    static const char *const REDUCERS[] = {"list_reduce", "array_reduce", "reduce"};
    const bool has_index = weir_json_find_flag(call->data, "has_index");
    const bool has_initial = weir_json_find_flag(call->data, "has_initial");
    const size_t plain_count = has_initial ? 2 : 1;
    if (call->arg_count < plain_count) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: %s of %zu arguments", call->name,
                              call->arg_count);
    }
    const bool is_reducer = is_one_of(call->name, REDUCERS, WEIR_ARRAY_COUNT(REDUCERS));
    const LambdaScope *around = scope->lambda;
    const LambdaScope lambda = {
        .first_parameter = around == NULL ? 0 : around->first_parameter + around->parameter_count,
        .parameter_count = (is_reducer ? 2u : 1u) + (has_index ? 1u : 0u),
        .captures = call->args + plain_count,
        .capture_count = call->arg_count - plain_count,
    };
    const JsonScope inner = {.lambda = &lambda};
    CallExtra extra = {
        .lambda_parameter_count = lambda.parameter_count,
        .lambda_has_initial = has_initial,
    };
    WEIR_TRY(weir_json_read_expr(reader, &inner, body, &extra.lambda, err));
    call->arg_count = plain_count;
    return make_call(reader, call, &extra, out, err);
}

/* The argument of the aggregate that binding removed; *out = NULL if there is none. */
static Status read_list_argument(JsonReader *reader, Json *aggregate, const Call *call,
                                 const Expr **out, Error *err)
{
    Json *data = weir_json_find(aggregate, "function_data");
    Json *separator = weir_json_find(data, "separator");
    *out = NULL;
    if (separator != NULL) {
        const char *text = NULL;
        size_t size = 0;
        WEIR_TRY(weir_json_as_text(separator, &text, &size, err));
        const char *copy = weir_arena_strndup(reader->arena, text, size, err);
        *out = copy == NULL ? NULL : weir_json_make_text(reader, copy, size, err);
        return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
    }
    const bool is_plain = strcmp(weir_json_find_text(aggregate, "name"), "median") == 0 ||
                          strcmp(weir_json_find_text(aggregate, "name"), "mad") == 0;
    if (weir_json_find(data, "quantiles") == NULL || is_plain) {
        return WEIR_OK;
    }
    JsonArray quantiles = {0};
    WEIR_TRY(weir_json_get_array(data, "quantiles", &quantiles, err));
    if (quantiles.count != 1 || call->type->id == TYPE_LIST ||
        weir_json_find(weir_json_item(&quantiles, 0), "type") == NULL) {
        return weir_error_set(err, WEIR_ERR_FUNCTION, "%s of a list of quantiles is not supported",
                              call->name);
    }
    return weir_json_read_constant(reader, weir_json_item(&quantiles, 0), out, err);
}

static Status read_list_aggregate(JsonReader *reader, const Call *call, Json *bind_data,
                                  const Expr **out, Error *err)
{
    Json *aggregate = NULL;
    JsonArray args = {0};
    WEIR_TRY(weir_json_get(bind_data, "aggr_expr", &aggregate, err));
    WEIR_TRY(weir_json_get_array(aggregate, "children", &args, err));
    if (args.count > 1) {
        return weir_error_set(err, WEIR_ERR_FUNCTION,
                              "%s with further arguments is not supported in a view", call->name);
    }
    const Expr **more = weir_arena_alloc(reader->arena, sizeof(const Expr *), err);
    if (more == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(read_list_argument(reader, aggregate, call, &more[0], err));
    if (more[0] == NULL) {
        return make_call(reader, call, NULL, out, err);
    }
    const CallExtra extra = {.more_args = more, .more_arg_count = 1};
    return make_call(reader, call, &extra, out, err);
}

Status weir_json_read_call(JsonReader *reader, const JsonScope *scope, Json *json, const Expr **out,
                           Error *err)
{
    static const char *const NAMED[] = {"struct_pack", "struct_insert", "struct_update",
                                        "union_value"};
    const char *name = NULL;
    Json *type = NULL;
    Call call = {0};
    WEIR_TRY(weir_json_get_text(json, "name", &name, err));
    WEIR_TRY(weir_json_get_array(json, "children", &call.children, err));
    WEIR_TRY(weir_json_check_function(reader, name, call.children.count, err));
    WEIR_TRY(weir_json_get(json, "return_type", &type, err));
    WEIR_TRY(weir_json_read_type(reader, type, &call.type, err));
    WEIR_TRY(
        weir_json_read_exprs(reader, scope, json, "children", &call.args, &call.arg_count, err));
    call.name = weir_arena_strdup(reader->arena, name, err);
    if (call.name == NULL) {
        return weir_ir_failure(err);
    }
    call.data = weir_json_find(json, "function_data");
    if (is_present_null(call.data, "lambda_expr") || is_present_null(call.data, "bind_data")) {
        *out = weir_json_make_null(reader, call.type, err);
        return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
    }
    Json *body = weir_json_find(call.data, "lambda_expr");
    if (body != NULL) {
        return read_lambda_call(reader, scope, &call, body, out, err);
    }
    Json *bind_data = weir_json_find(call.data, "bind_data");
    if (bind_data != NULL) {
        return read_list_aggregate(reader, &call, bind_data, out, err);
    }
    if (is_one_of(call.name, NAMED, WEIR_ARRAY_COUNT(NAMED))) {
        return read_named_call(reader, &call, out, err);
    }
    return make_call(reader, &call, NULL, out, err);
}
