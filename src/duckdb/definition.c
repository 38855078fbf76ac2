/* definition.c: names in a definition that stand for text kept elsewhere.
 *
 * DuckDB puts the text of views and macros in their places before it plans. A call whose name is not in the plan is
 * a macro, or a form of the grammar. */
#include "duckdb/definition.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/sql_lexer.h"
#include "duckdb/query.h"

enum { NAME_BYTES = 128 };

/* Forms that are written like calls and planned as something else. */
static const char *const FORMS[] = {
    "all",      "and",     "any",     "array",    "as",        "between",  "bit",
    "by",       "case",    "cast",    "char",     "coalesce",  "columns",  "count",
    "cube",     "dec",     "decimal", "distinct", "else",      "enum",     "except",
    "exclude",  "exists",  "extract", "filter",   "float",     "from",     "group",
    "grouping", "having",  "ifnull",  "in",       "intersect", "interval", "is",
    "join",     "lateral", "like",    "limit",    "list",      "map",      "materialized",
    "not",      "nullif",  "numeric", "on",       "or",        "order",    "over",
    "pivot",    "qualify", "replace", "rollup",   "row",       "select",   "sets",
    "some",     "struct",  "then",    "time",     "timestamp", "trim",     "try_cast",
    "union",    "using",   "values",  "varchar",  "when",      "where",    "within",
};

/* The name as it is compared, without quotes and in lower case; false if it is longer than any. */
static bool put_name(const SqlToken *token, char *out)
{
    const char *from = token->start;
    const char *end = token->end;
    if (*from == '"') {
        from++;
        end--;
    }
    const size_t size = (size_t)(end - from);
    if (end < from || size >= NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        out[i] = (char)tolower((unsigned char)from[i]);
    }
    out[size] = '\0';
    return true;
}

static bool is_form(const SqlToken *token)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(FORMS); i++) {
        if (weir_sql_token_is(token, FORMS[i])) {
            return true;
        }
    }
    return false;
}

/* Whether the plan calls a function of the name. */
static bool is_planned(const char *json, const char *name)
{
    char quoted[NAME_BYTES + 16];
    const int written = snprintf(quoted, sizeof quoted, "\"name\":\"%s\"", name);
    return written > 0 && (size_t)written < sizeof quoted && strstr(json, quoted) != NULL;
}

static bool calls_macro(const char *sql, const char *json)
{
    char name[NAME_BYTES];
    SqlToken token = {.end = sql};
    SqlToken before = {0};
    while (weir_sql_token_next(&token)) {
        if (*token.start == '(' && before.start != NULL && weir_sql_token_is_name(&before) &&
            !is_form(&before) && (!put_name(&before, name) || !is_planned(json, name))) {
            return true;
        }
        before = token;
    }
    return false;
}

static bool has_name(const char *sql, const char *wanted)
{
    char name[NAME_BYTES];
    SqlToken token = {.end = sql};
    while (weir_sql_token_next(&token)) {
        if (weir_sql_token_is_name(&token) &&
            (!put_name(&token, name) || strcmp(name, wanted) == 0)) {
            return true;
        }
    }
    return false;
}

static Status reads_view(duckdb_connection connection, const char *sql, Arena *arena, bool *out,
                         Error *err)
{
    static const char VIEWS[] = "SELECT system.main.lower(view_name) FROM "
                                "system.main.duckdb_views() WHERE NOT internal";
    duckdb_result result = {0};
    Status status = WEIR_OK;
    WEIR_TRY(weir_query(connection, VIEWS, WEIR_ERR_HOST, &result, err));
    Rows rows = weir_rows(&result);
    while (status == WEIR_OK && !*out && weir_rows_next(&rows)) {
        const char *const name = weir_rows_text(&rows, 0, arena, err);
        status = name == NULL ? err->code : WEIR_OK;
        *out = name != NULL && (strlen(name) >= NAME_BYTES || has_name(sql, name));
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return status;
}

Status weir_definition_reads_others(duckdb_connection connection, const char *sql, const char *json,
                                    Arena *arena, bool *out, Error *err)
{
    *out = calls_macro(sql, json);
    return *out ? WEIR_OK : reads_view(connection, sql, arena, out, err);
}
