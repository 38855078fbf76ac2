/* json_top.c: the object around the plans, and what a view cannot be.
 *
 * Success: {"error": false, "plans": [plan, ...]}, one a statement. Failure: {"error": true,
 * "error_type", "error_message", ...}. */
#include "plan/json_priv.h"

Status weir_json_refuse(const char *what, const char *hint, Error *err)
{
    const Status status = weir_error_set(err, WEIR_ERR_OPERATOR, "a view cannot contain %s", what);
    if (hint != NULL) {
        weir_error_hint(err, "%s", hint);
    }
    return status;
}

static const struct {
    const char *operator_name;
    const char *what; /* NULL: not a SELECT */
    const char *hint;
} REFUSED[] = {
    {"LOGICAL_WINDOW", "window functions", "compute them in the query that reads the view"},
    {"LOGICAL_LIMIT", "LIMIT", "put ORDER BY and LIMIT into the query that reads the view"},
    {"LOGICAL_TOP_N", "LIMIT", "put ORDER BY and LIMIT into the query that reads the view"},
    {"LOGICAL_RECURSIVE_CTE", "a recursive CTE", "compute it in the query that reads the view"},
    {"LOGICAL_UNNEST", "UNNEST", "unnest in the query that reads the view"},
    {"LOGICAL_ASOF_JOIN", "ASOF JOIN", "join in the query that reads the view"},
    {"LOGICAL_POSITIONAL_JOIN", "POSITIONAL JOIN", "join on a key"},
    {"LOGICAL_DEPENDENT_JOIN", "LATERAL", NULL},
    {"LOGICAL_SAMPLE", "SAMPLE", "sample in the query that reads the view"},
    {"LOGICAL_PIVOT", "PIVOT with so many values", "use aggregates with FILTER"},
    {"LOGICAL_INSERT", NULL, NULL},
    {"LOGICAL_DELETE", NULL, NULL},
    {"LOGICAL_UPDATE", NULL, NULL},
    {"LOGICAL_MERGE_INTO", NULL, NULL},
    {"LOGICAL_ALTER", NULL, NULL},
    {"LOGICAL_CREATE_TABLE", NULL, NULL},
    {"LOGICAL_CREATE_INDEX", NULL, NULL},
    {"LOGICAL_CREATE_SEQUENCE", NULL, NULL},
    {"LOGICAL_CREATE_VIEW", NULL, NULL},
    {"LOGICAL_CREATE_SCHEMA", NULL, NULL},
    {"LOGICAL_CREATE_MACRO", NULL, NULL},
    {"LOGICAL_CREATE_TYPE", NULL, NULL},
    {"LOGICAL_CREATE_SECRET", NULL, NULL},
    {"LOGICAL_DROP", NULL, NULL},
    {"LOGICAL_PRAGMA", NULL, NULL},
    {"LOGICAL_TRANSACTION", NULL, NULL},
    {"LOGICAL_EXPLAIN", NULL, NULL},
    {"LOGICAL_EXECUTE", NULL, NULL},
    {"LOGICAL_PREPARE", NULL, NULL},
    {"LOGICAL_VACUUM", NULL, NULL},
    {"LOGICAL_SET", NULL, NULL},
    {"LOGICAL_RESET", NULL, NULL},
    {"LOGICAL_LOAD", NULL, NULL},
    {"LOGICAL_EXPORT", NULL, NULL},
    {"LOGICAL_COPY_TO_FILE", NULL, NULL},
    {"LOGICAL_COPY_DATABASE", NULL, NULL},
    {"LOGICAL_ATTACH", NULL, NULL},
    {"LOGICAL_DETACH", NULL, NULL},
    {"LOGICAL_UPDATE_EXTENSIONS", NULL, NULL},
    {"LOGICAL_EXTENSION_OPERATOR", NULL, NULL},
};

static Status refuse_statement(const char *what, Error *err)
{
    const Status status =
        weir_error_set(err, WEIR_ERR_NOT_A_SELECT, "the definition is not a SELECT but %s", what);
    weir_error_hint(err, "write one SELECT");
    return status;
}

Status weir_json_refuse_operator(Json *json, const char *name, Error *err)
{
    WEIR_UNUSED(json);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(REFUSED); i++) {
        if (strcmp(REFUSED[i].operator_name, name) != 0) {
            continue;
        }
        return REFUSED[i].what == NULL ? refuse_statement(name + strlen("LOGICAL_"), err)
                                       : weir_json_refuse(REFUSED[i].what, REFUSED[i].hint, err);
    }
    return weir_error_set(err, WEIR_ERR_OPERATOR, "a view cannot contain the operator %s", name);
}

/* --- DuckDB's own refusals --- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static Status report_not_implemented(const char *message, Error *err)
{
    if (strstr(message, "type MULTI") != NULL) {
        return weir_json_refuse("PIVOT without a list of values",
                                "write PIVOT ... ON column IN (value, ...)", err);
    }
    if (strstr(message, "erializ") != NULL && strstr(message, "export state") == NULL) {
        const Status status =
            weir_error_set(err, WEIR_ERR_UNKNOWN_TABLE, "a file cannot be followed: %s", message);
        weir_error_hint(err, "load the file into a table");
        return status;
    }
    return weir_error_set(err, WEIR_ERR_OPERATOR, "%s", message);
}

/* The failure of planning, as DuckDB words it. */
static Status report_failure(Json *json, Error *err)
{
    const char *type = weir_json_find_text(json, "error_type");
    const char *message = weir_json_find_text(json, "error_message");
    if (message[0] == '\0') {
        message = "DuckDB does not plan the definition";
    }
    if (strcmp(type, "catalog") == 0) {
        const bool is_table = strcmp(weir_json_find_text(json, "type"), "Table") == 0;
        return weir_error_set(err, is_table ? WEIR_ERR_UNKNOWN_TABLE : WEIR_ERR_PLAN, "%s",
                              message);
    }
    if (strcmp(type, "not implemented") == 0) {
        return report_not_implemented(message, err);
    }
    if (strcmp(type, "invalid input") == 0 && starts_with(message, "Operator '")) {
        return weir_error_set(err, WEIR_ERR_NOT_A_SELECT, "the definition is not a SELECT: %s",
                              message);
    }
    const Status status = weir_error_set(err, WEIR_ERR_PLAN, "%s", message);
    if (strcmp(type, "internal") == 0) {
        weir_error_hint(err, "parameters ($1, ?) and WITH ORDINALITY are not supported");
    }
    return status;
}

/* --- the plan --- */

/* ORDER BY on top of the definition, maybe below the projection that cuts off its columns. */
static bool has_order_on_top(Json *json)
{
    const char *name = weir_json_find_text(json, "type");
    const bool is_cte = strcmp(name, "LOGICAL_MATERIALIZED_CTE") == 0;
    const bool is_projection = strcmp(name, "LOGICAL_PROJECTION") == 0;
    JsonArray children = {0};
    Error ignored = {0};
    if (strcmp(name, "LOGICAL_ORDER_BY") == 0) {
        return true;
    }
    if ((!is_cte && !is_projection) ||
        weir_json_get_array(json, "children", &children, &ignored) != WEIR_OK ||
        children.count != (is_cte ? 2 : 1)) {
        return false;
    }
    Json *child = weir_json_item(&children, children.count - 1);
    return is_cte ? has_order_on_top(child)
                  : strcmp(weir_json_find_text(child, "type"), "LOGICAL_ORDER_BY") == 0;
}

Status weir_json_read_plan(JsonReader *reader, Json *json, const IrNode **out, Error *err)
{
    JsonArray plans = {0};
    if (weir_json_find_flag(json, "error")) {
        return report_failure(json, err);
    }
    WEIR_TRY(weir_json_get_array(json, "plans", &plans, err));
    if (plans.count != 1) {
        const Status status =
            weir_error_set(err, WEIR_ERR_NOT_A_SELECT,
                           "the definition must be one SELECT, not %zu statements", plans.count);
        weir_error_hint(err, "write one SELECT");
        return status;
    }
    Json *plan = weir_json_item(&plans, 0);
    if (has_order_on_top(plan)) {
        return weir_json_refuse("ORDER BY", "put ORDER BY into the query that reads the view", err);
    }
    Rel rel = {0};
    WEIR_TRY(weir_json_read_rel(reader, plan, &rel, err));
    WEIR_TRY(weir_json_rel_node(reader, &rel, out, err));
    if ((*out)->column_count == 0 || (*out)->column_count > JSON_MAX_COLUMNS) {
        return weir_error_set(err, WEIR_ERR_PLAN, "the definition has %zu columns",
                              (*out)->column_count);
    }
    return WEIR_OK;
}
