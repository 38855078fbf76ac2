/* json_function.c: functions that are not functions of their arguments.
 *
 * A view must be a function of its tables. The lists name what DuckDB calls volatile or constant
 * within a query, and functions that it calls consistent though they read the session; other names
 * are looked up in the database, if the plan's owner can do that. error() is in no list: it fails
 * deterministically. */
#include "plan/json_priv.h"

#include <strings.h>

/* Another value at each call. */
static const char *const VOLATILE_FUNCTIONS[] = {
    "random",
    "setseed",
    "uuid",
    "uuidv4",
    "uuidv7",
    "gen_random_uuid",
    "nextval",
    "currval",
    "lastval",
    "current_query",
    "current_query_id",
    "current_transaction_id",
    "current_connection_id",
    "write_log",
    "stats",
    "sleep_ms",
    "vector_type",
};

/* Another value at each statement, or in each session. */
static const char *const CONTEXT_FUNCTIONS[] = {
    "now",
    "current_date",
    "today",
    "get_current_time",
    "get_current_timestamp",
    "current_localtime",
    "current_localtimestamp",
    "transaction_timestamp",
    "current_schema",
    "current_schemas",
    "current_database",
    "current_catalog",
    "current_user",
    "current_role",
    "session_user",
    "user",
    "current_setting",
    "getvariable",
    "getenv",
    "in_search_path",
    "txid_current",
    "version",
    "pg_my_temp_schema",
    "has_any_column_privilege",
    "json_serialize_plan",
};

/* They see the text of the query, not the values. */
static const char *const TEXT_FUNCTIONS[] = {"alias", "json_serialize_sql", "json_deserialize_sql"};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static Status refuse_volatile(const char *name, const char *why, Error *err)
{
    const Status status = weir_error_set(err, WEIR_ERR_VOLATILE,
                                         "%s() is not a function of the tables: %s", name, why);
    weir_error_hint(err, "leave it out of the view and call it in the query that reads the view, "
                         "or store its value in a table");
    return status;
}

static Status refuse_function(const char *name, Error *err)
{
    return weir_error_set(err, WEIR_ERR_FUNCTION, "the function %s is not supported in a view",
                          name);
}

static Status check_stability(JsonReader *reader, const char *name, Error *err)
{
    FunctionStability stability = STABILITY_UNKNOWN;
    if (reader->env->stability == NULL) {
        return WEIR_OK;
    }
    WEIR_TRY(reader->env->stability(reader->env->context, name, &stability, err));
    if (stability == STABILITY_VOLATILE) {
        return refuse_volatile(name, "it may give another value at each call", err);
    }
    if (stability == STABILITY_WITHIN_QUERY) {
        return refuse_volatile(name, "it may give another value in each statement", err);
    }
    return WEIR_OK;
}

Status weir_json_check_function(JsonReader *reader, const char *name, size_t arg_count, Error *err)
{
    if (strcmp(name, "error") == 0) {
        return WEIR_OK;
    }
    if (is_one_of(name, VOLATILE_FUNCTIONS, WEIR_ARRAY_COUNT(VOLATILE_FUNCTIONS))) {
        return refuse_volatile(name, "it gives another value at each call", err);
    }
    if (is_one_of(name, CONTEXT_FUNCTIONS, WEIR_ARRAY_COUNT(CONTEXT_FUNCTIONS))) {
        return refuse_volatile(name, "it depends on the time or the session", err);
    }
    if (strcasecmp(name, "age") == 0 && arg_count == 1) {
        return refuse_volatile(name, "with one argument it depends on the current date", err);
    }
    if (strncmp(name, "icu_collate_", 12) == 0) {
        const Status status = refuse_function(name, err);
        weir_error_hint(err, "the collations NOCASE, NOACCENT and NFC work");
        return status;
    }
    if (is_one_of(name, TEXT_FUNCTIONS, WEIR_ARRAY_COUNT(TEXT_FUNCTIONS)) ||
        strncmp(name, "__internal", 10) == 0) {
        return refuse_function(name, err);
    }
    return check_stability(reader, name, err);
}
