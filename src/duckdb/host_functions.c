/* host_functions.c: what the names in a definition may stand for: the stability of functions, and
 * whether DuckDB's own views, macros or types are among them.
 *
 * The catalog is asked once between begin and end: duckdb_functions() takes some 30 ms. */
#include <strings.h>

#include "base/sql_lexer.h"
#include "duckdb/host_priv.h"
#include "duckdb/query.h"
#include "view/names.h"

/* Of overloads the least stable counts. */
static const char FUNCTIONS_SQL[] =
    "SELECT function_name, system.main.max(CASE WHEN function_type <> 'scalar' THEN 0 "
    "WHEN stability = 'CONSISTENT' THEN 1 WHEN stability = 'CONSISTENT_WITHIN_QUERY' THEN 2 "
    "ELSE 3 END)::BIGINT, system.main.bool_or(NOT internal AND function_type IN "
    "('macro', 'table_macro')) FROM system.main.duckdb_functions() "
    "WHERE NOT internal OR function_type = 'scalar' GROUP BY 1";

static const char NAMES_SQL[] =
    "SELECT view_name, 0::BIGINT, true FROM system.main.duckdb_views() WHERE NOT internal UNION "
    "SELECT type_name, 0::BIGINT, true FROM system.main.duckdb_types() WHERE NOT internal";

static FunctionStability stability_of(int64_t value)
{
    static const FunctionStability VALUES[] = {STABILITY_UNKNOWN, STABILITY_CONSISTENT,
                                               STABILITY_WITHIN_QUERY, STABILITY_VOLATILE};
    WEIR_ASSERT(value >= 0 && (size_t)value < WEIR_ARRAY_COUNT(VALUES));
    return VALUES[value];
}

/* Rows of name, stability, whether it is the user's. */
static Status read_list(duckdb_result *result, Arena *arena, CatalogName **out, Error *err)
{
    Status status = WEIR_OK;
    Rows rows = weir_rows(result);
    while (weir_rows_next(&rows)) {
        CatalogName *entry = weir_arena_alloc(arena, sizeof *entry, err);
        const char *const name = entry == NULL ? NULL : weir_rows_text(&rows, 0, arena, err);
        if (name == NULL) {
            status = err->code;
            break;
        }
        *entry = (CatalogName){.next = *out,
                               .name = name,
                               .stability = stability_of(weir_rows_i64(&rows, 1)),
                               .is_users = weir_rows_bool(&rows, 2)};
        *out = entry;
    }
    weir_rows_deinit(&rows);
    return status;
}

static Status load_list(DuckHost *host, CatalogList *list, const char *sql, Error *err)
{
    duckdb_connection connection = NULL;
    duckdb_result result = {0};
    if (list->is_loaded) {
        return WEIR_OK;
    }
    WEIR_TRY(weir_duck_host_session(host, NULL, false, &connection, err));
    WEIR_TRY(weir_query(connection, sql, WEIR_ERR_HOST, &result, err));
    CatalogName *first = NULL;
    const Status status = read_list(&result, &host->arena, &first, err);
    duckdb_destroy_result(&result);
    if (status == WEIR_OK) {
        *list = (CatalogList){.first = first, .is_loaded = true};
    }
    return status;
}

Status weir_duck_host_stability(void *context, const char *function, FunctionStability *out,
                                Error *err)
{
    DuckHost *const host = context;
    WEIR_TRY(load_list(host, &host->functions, FUNCTIONS_SQL, err));
    *out = STABILITY_UNKNOWN;
    for (const CatalogName *entry = host->functions.first; entry != NULL; entry = entry->next) {
        if (entry->stability != STABILITY_UNKNOWN && strcasecmp(entry->name, function) == 0) {
            *out = entry->stability;
        }
    }
    return WEIR_OK;
}

/* --- names that stand for something else -------------------------------------------------------- */

/* Whether the token writes the name of one of the user's own. */
static bool is_users(const CatalogList *list, const SqlToken *token)
{
    const size_t size = (size_t)(token->end - token->start);
    for (const CatalogName *entry = list->first; entry != NULL; entry = entry->next) {
        if (entry->is_users && weir_name_is_written(token->start, size, entry->name)) {
            return true;
        }
    }
    return false;
}

Status weir_duck_host_reads_others(DuckHost *host, const char *sql, bool *out, Error *err)
{
    SqlToken token = {.end = sql};
    SqlToken before = {0};
    *out = false;
    WEIR_TRY(load_list(host, &host->names, NAMES_SQL, err));
    while (!*out && weir_sql_token_next(&token)) {
        if (weir_sql_token_is_name(&token)) {
            *out = is_users(&host->names, &token);
        } else if (*token.start == '(' && before.start != NULL && weir_sql_token_is_name(&before)) {
            WEIR_TRY(load_list(host, &host->functions, FUNCTIONS_SQL, err));
            *out = is_users(&host->functions, &before);
        }
        before = token;
    }
    return WEIR_OK;
}
