/* host_saved.c: definitions in the table _dbsp_views of the database file that the views belong to. */
#include "duckdb/host_priv.h"
#include "duckdb/query.h"
#include "view/names.h"

#define SAVED_TABLE ".main._dbsp_views"

static bool has_row(duckdb_result *result)
{
    Rows rows = weir_rows(result);
    const bool is_found = weir_rows_next(&rows);
    weir_rows_deinit(&rows);
    return is_found;
}

/* ---- loading ---------------------------------------------------------------------------------- */

typedef struct SavedList {
    Arena *arena;
    SavedView *views;
    size_t count;
    size_t capacity;
} SavedList;

static Status add_row(SavedList *list, const Rows *rows, const char *catalog, Error *err)
{
    if (list->count == list->capacity) {
        const size_t capacity = WEIR_MAX(2 * list->capacity, (size_t)16);
        SavedView *views = weir_arena_calloc(list->arena, capacity, sizeof *views, err);
        if (views == NULL) {
            return err->code;
        }
        if (list->count > 0) {
            memcpy(views, list->views, list->count * sizeof *views);
        }
        list->views = views;
        list->capacity = capacity;
    }
    SavedView *const view = &list->views[list->count];
    const char **const texts[] = {
        &view->name.schema,          &view->name.name,          &view->sql,
        &view->settings.search_path, &view->settings.time_zone, &view->settings.calendar};
    *view = (SavedView){0};
    view->name.catalog = weir_arena_strdup(list->arena, catalog, err);
    if (view->name.catalog == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        if (!weir_rows_is_null(rows, i)) {
            *texts[i] = weir_rows_text(rows, i, list->arena, err);
            if (*texts[i] == NULL) {
                return err->code;
            }
        }
    }
    list->count += view->name.schema != NULL && view->name.name != NULL && view->sql != NULL;
    return WEIR_OK;
}

/* A definition without a search path was written where its own database was the default one: the names in
 * it mean what they mean there. */
static Status at_home(SavedList *list, size_t first, const char *catalog, Error *err)
{
    Buf path;
    weir_buf_init(&path, list->arena->mem, SIZE_MAX);
    weir_buf_put_sql_name(&path, catalog);
    weir_buf_puts(&path, ".main");
    Status status = weir_buf_status(&path, err);
    const char *const text =
        status == WEIR_OK ? weir_arena_strdup(list->arena, path.data, err) : NULL;
    weir_buf_deinit(&path);
    for (size_t i = first; text != NULL && i < list->count; i++) {
        ViewSettings *const settings = &list->views[i].settings;
        settings->search_path = settings->search_path == NULL ? text : settings->search_path;
    }
    return text == NULL ? err->code : WEIR_OK;
}

static Status load_catalog(DuckHost *host, const char *catalog, SavedList *list, Error *err)
{
    Buf sql;
    duckdb_result result = {0};
    weir_buf_init(&sql, host->mem, SIZE_MAX);
    weir_buf_puts(&sql,
                  "SELECT view_schema, view_name, definition, search_path, time_zone, calendar "
                  "FROM ");
    weir_buf_put_sql_name(&sql, catalog);
    weir_buf_puts(&sql, SAVED_TABLE " ORDER BY position");
    Status status = weir_buf_status(&sql, err);
    if (status == WEIR_OK) {
        status = weir_query(host->scan, sql.data, WEIR_ERR_HOST, &result, err);
    }
    weir_buf_deinit(&sql);
    WEIR_TRY(status);
    Rows rows = weir_rows(&result);
    while (status == WEIR_OK && weir_rows_next(&rows)) {
        status = add_row(list, &rows, catalog, err);
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return status;
}

Status weir_duck_host_load_views(void *context, Arena *arena, SavedView **out, size_t *count,
                                 Error *err)
{
    static const char SQL[] =
        "SELECT database_name, database_name <> system.main.current_database() "
        "FROM duckdb_tables() WHERE table_name = '_dbsp_views' "
        "AND schema_name = 'main' AND NOT temporary ORDER BY database_oid";
    DuckHost *const host = context;
    duckdb_result result = {0};
    SavedList list = {.arena = arena};
    WEIR_TRY(weir_duck_host_open_snapshot(host, err));
    WEIR_TRY(weir_query(host->scan, SQL, WEIR_ERR_HOST, &result, err));
    Status status = WEIR_OK;
    Rows rows = weir_rows(&result);
    while (status == WEIR_OK && weir_rows_next(&rows)) {
        const char *const catalog = weir_rows_text(&rows, 0, &host->arena, err);
        const size_t first = list.count;
        status = catalog == NULL ? err->code : load_catalog(host, catalog, &list, err);
        if (status == WEIR_OK && weir_rows_bool(&rows, 1)) {
            status = at_home(&list, first, catalog, err);
        }
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    *out = list.views;
    *count = list.count;
    return status;
}

/* ---- saving ----------------------------------------------------------------------------------- */

/* Whether the database keeps anything: a file that can be written. */
static Status can_keep(DuckHost *host, const char *catalog, bool *out, Error *err)
{
    static const char SQL[] = "SELECT 1 FROM duckdb_databases() WHERE database_name = $1 "
                              "AND path IS NOT NULL AND NOT readonly AND type = 'duckdb'";
    duckdb_result result = {0};
    WEIR_TRY(weir_query_bound(host->saver, SQL, &catalog, 1, WEIR_ERR_HOST, &result, err));
    *out = has_row(&result);
    duckdb_destroy_result(&result);
    return WEIR_OK;
}

/* A statement over the catalog's table. */
typedef struct Bound {
    const char *before;
    const char *catalog;
    const char *after;
    const char *const *texts; /* $1, $2, ... */
    size_t count;
} Bound;

/* *changed = rows changed. */
static Status run_bound(DuckHost *host, const Bound *bound, uint64_t *changed, Error *err)
{
    Buf sql;
    duckdb_result result = {0};
    weir_buf_init(&sql, host->mem, SIZE_MAX);
    weir_buf_puts(&sql, bound->before);
    weir_buf_put_sql_name(&sql, bound->catalog);
    weir_buf_printf(&sql, "%s%s", SAVED_TABLE, bound->after);
    Status status = weir_buf_status(&sql, err);
    if (status == WEIR_OK) {
        status = weir_query_bound(host->saver, sql.data, bound->texts, bound->count, WEIR_ERR_HOST,
                                  &result, err);
    }
    weir_buf_deinit(&sql);
    if (status == WEIR_OK) {
        *changed = duckdb_rows_changed(&result);
        duckdb_destroy_result(&result);
    }
    return status;
}

static Status keep(DuckHost *host, const SavedView *view, Error *err)
{
    const char *const catalog = view->name.catalog;
    uint64_t changed = 0;
    const char *const texts[] = {
        view->name.schema,          view->name.name,          view->sql,
        view->settings.search_path, view->settings.time_zone, view->settings.calendar};
    const Bound make = {.before = "CREATE TABLE IF NOT EXISTS ",
                        .catalog = catalog,
                        .after = " (view_schema VARCHAR, view_name VARCHAR, definition VARCHAR, "
                                 "search_path VARCHAR, time_zone VARCHAR, calendar VARCHAR, "
                                 "position BIGINT)"};
    const Bound replace = {
        .before = "UPDATE ",
        .catalog = catalog,
        .after = " SET definition = $3, search_path = $4, time_zone = $5, calendar = $6 "
                 "WHERE system.main.lower(view_schema) = system.main.lower($1) "
                 "AND system.main.lower(view_name) = system.main.lower($2)",
        .texts = texts,
        .count = WEIR_ARRAY_COUNT(texts)};
    WEIR_TRY(run_bound(host, &make, &changed, err));
    WEIR_TRY(run_bound(host, &replace, &changed, err));
    if (changed > 0) {
        return WEIR_OK;
    }
    Buf after;
    weir_buf_init(&after, host->mem, SIZE_MAX);
    weir_buf_puts(&after, " SELECT $1, $2, $3, $4, $5, $6, "
                          "coalesce(system.main.max(position), 0) + 1 FROM ");
    weir_buf_put_sql_name(&after, catalog);
    weir_buf_puts(&after, SAVED_TABLE);
    Status status = weir_buf_status(&after, err);
    if (status == WEIR_OK) {
        const Bound add = {.before = "INSERT INTO ",
                           .catalog = catalog,
                           .after = after.data,
                           .texts = texts,
                           .count = WEIR_ARRAY_COUNT(texts)};
        status = run_bound(host, &add, &changed, err);
    }
    weir_buf_deinit(&after);
    return status;
}

static Status forget(DuckHost *host, const TableName *name, Error *err)
{
    static const char SQL[] = "SELECT 1 FROM duckdb_tables() WHERE database_name = $1 "
                              "AND schema_name = 'main' AND table_name = '_dbsp_views'";
    const char *const texts[] = {name->schema, name->name};
    uint64_t changed = 0;
    duckdb_result result = {0};
    WEIR_TRY(weir_query_bound(host->saver, SQL, &name->catalog, 1, WEIR_ERR_HOST, &result, err));
    const bool has_table = has_row(&result);
    duckdb_destroy_result(&result);
    if (!has_table) {
        return WEIR_OK;
    }
    const Bound gone = {.before = "DELETE FROM ",
                        .catalog = name->catalog,
                        .after = " WHERE system.main.lower(view_schema) = system.main.lower($1) "
                                 "AND system.main.lower(view_name) = system.main.lower($2)",
                        .texts = texts,
                        .count = WEIR_ARRAY_COUNT(texts)};
    return run_bound(host, &gone, &changed, err);
}

Status weir_duck_host_save_view(void *context, const SavedView *view, Error *err)
{
    DuckHost *const host = context;
    bool is_kept = false;
    if (host->saver == NULL) {
        WEIR_TRY(weir_connector_connect(host->connector, &host->saver, err));
        WEIR_TRY(weir_query_run(host->saver, "BEGIN", err));
    }
    WEIR_TRY(can_keep(host, view->name.catalog, &is_kept, err));
    if (!is_kept) {
        return WEIR_OK;
    }
    return view->sql == NULL ? forget(host, &view->name, err) : keep(host, view, err);
}

Status weir_duck_host_end_saving(void *context, bool is_commit, Error *err)
{
    DuckHost *const host = context;
    Status status = WEIR_OK;
    if (host->saver != NULL) {
        if (is_commit) {
            status = weir_query_run(host->saver, "COMMIT", err);
        }
        duckdb_disconnect(&host->saver); /* and rolls back what is not committed */
        host->saver = NULL;
    }
    return status;
}
