/* host_plan.c: planning a definition.
 *
 * The plan comes from json_serialize_plan, which plans but never runs. Its text is bound as a
 * parameter: a literal would be folded when the statement is prepared. The session has the optimizer
 * off (it reads statistics) and a pivot threshold that always gives the form with filters. */
#include "duckdb/host_priv.h"
#include "duckdb/query.h"
#include "duckdb/view_refs.h"

#define XXH_INLINE_ALL
#include <strings.h>
#include <xxhash.h>

/* The planner parses with default options: it does not see this setting, so the plan would not be
 * what the user gets. */
static Status refuse_settings(duckdb_connection connection, Error *err)
{
    duckdb_result result = {0};
    WEIR_TRY(weir_query(connection, "SELECT system.main.current_setting('integer_division')",
                        WEIR_ERR_HOST, &result, err));
    Rows rows = weir_rows(&result);
    const bool is_set = weir_rows_next(&rows) && weir_rows_bool(&rows, 0);
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    if (is_set) {
        weir_error_set(err, WEIR_ERR_SETTING, "views cannot be made while integer_division is on");
        weir_error_hint(err, "SET integer_division = false, and write // for integer division");
        return err->code;
    }
    return WEIR_OK;
}

static Status plan_json(duckdb_connection connection, const char *sql, Arena *arena, HostPlan *out,
                        Error *err)
{
    duckdb_result result = {0};
    WEIR_TRY(weir_query_bound(connection, "SELECT system.main.json_serialize_plan($1::VARCHAR)",
                              &sql, 1, WEIR_ERR_PLAN, &result, err));
    Rows rows = weir_rows(&result);
    Status status = WEIR_OK;
    if (!weir_rows_next(&rows)) {
        status = weir_error_set(err, WEIR_ERR_PLAN, "DuckDB gave no plan");
        goto done;
    }
    out->json = weir_rows_text(&rows, 0, arena, err);
    if (out->json == NULL) {
        status = err->code;
        goto done;
    }
    out->json_size = strlen(out->json);
    out->digest = XXH3_64bits(out->json, out->json_size);
done:
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return status;
}

static bool is_failure(const HostPlan *plan)
{
    static const char FAILURE[] = "{\"error\":true";
    return plan->json_size == 0 || strncmp(plan->json, FAILURE, strlen(FAILURE)) == 0;
}

/* What comes after DESCRIBE is run: it must be one statement. */
static Status check_one_statement(duckdb_connection connection, const char *sql, Error *err)
{
    duckdb_extracted_statements statements = NULL;
    const size_t count = duckdb_extract_statements(connection, sql, &statements);
    duckdb_destroy_extracted(&statements);
    if (count != 1) {
        return weir_error_set(err, WEIR_ERR_NOT_A_SELECT,
                              "a definition must be exactly one SELECT, not %zu statements", count);
    }
    return WEIR_OK;
}

/* The columns' names, as they are read. */
typedef struct NameList {
    Arena *arena;
    const char **names;
    size_t count;
    size_t capacity;
} NameList;

static bool is_taken(const NameList *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcasecmp(list->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Appends a name. The second column "a" becomes "a_1", as in a view. */
static Status add_name(NameList *list, const char *name, Error *err)
{
    if (list->names == NULL || list->count == list->capacity) {
        const size_t capacity = WEIR_MAX(2 * list->capacity, (size_t)16);
        const char **names = weir_arena_calloc(list->arena, capacity, sizeof *names, err);
        if (names == NULL) {
            return err->code;
        }
        if (list->names != NULL) {
            memcpy(names, list->names, list->count * sizeof *names);
        }
        list->names = names;
        list->capacity = capacity;
    }
    const char *unique = name;
    for (size_t k = 1; unique != NULL && is_taken(list, unique); k++) {
        unique = weir_arena_printf(list->arena, err, "%s_%zu", name, k);
    }
    list->names[list->count++] = unique;
    return unique == NULL ? err->code : WEIR_OK;
}

static Status read_names(duckdb_result *result, Arena *arena, HostPlan *out, Error *err)
{
    Status status = WEIR_OK;
    NameList list = {.arena = arena};
    Rows rows = weir_rows(result);
    while (status == WEIR_OK && weir_rows_next(&rows)) {
        const char *const name = weir_rows_text(&rows, 0, arena, err);
        status = name == NULL ? err->code : add_name(&list, name, err);
    }
    weir_rows_deinit(&rows);
    out->column_names = list.names;
    out->column_count = list.count;
    return status;
}

static Status plan_names(duckdb_connection connection, const char *sql, Arena *arena, HostPlan *out,
                         Error *err)
{
    WEIR_TRY(check_one_statement(connection, sql, err));
    const char *describe = weir_arena_printf(arena, err, "DESCRIBE %s", sql);
    if (describe == NULL) {
        return err->code;
    }
    duckdb_result result = {0};
    Status status = weir_query(connection, describe, WEIR_ERR_NOT_A_SELECT, &result, err);
    if (status == WEIR_ERR_NOT_A_SELECT) {
        weir_error_set(err, status, "a definition must be exactly one SELECT");
    }
    if (status == WEIR_OK) {
        status = read_names(&result, arena, out, err);
        duckdb_destroy_result(&result);
    }
    return status;
}

Status weir_duck_host_plan(void *context, const ViewSettings *settings, const char *sql,
                           Arena *arena, HostPlan *out, Error *err)
{
    DuckHost *const host = context;
    duckdb_connection connection = NULL;
    *out = (HostPlan){0};
    WEIR_TRY(weir_duck_host_session(host, settings, true, &connection, err));
    WEIR_TRY(refuse_settings(connection, err));
    sql = weir_view_refs_write(host->engine, connection, sql, arena);
    WEIR_TRY(plan_json(connection, sql, arena, out, err));
    if (is_failure(out)) {
        return WEIR_OK; /* the reader of plans says what is wrong */
    }
    WEIR_TRY(plan_names(connection, sql, arena, out, err));
    return weir_duck_host_reads_others(host, sql, &out->reads_others, err);
}

Status weir_duck_host_plan_digest(void *context, const ViewSettings *settings, const char *sql,
                                  uint64_t *out, Error *err)
{
    DuckHost *const host = context;
    duckdb_connection connection = NULL;
    HostPlan plan = {0};
    Arena scratch;
    weir_arena_init(&scratch, host->mem, 0);
    Status status = weir_duck_host_session(host, settings, true, &connection, err);
    if (status == WEIR_OK) {
        sql = weir_view_refs_write(host->engine, connection, sql, &scratch);
        status = plan_json(connection, sql, &scratch, &plan, err);
    }
    *out = plan.digest;
    weir_arena_deinit(&scratch);
    return status;
}
