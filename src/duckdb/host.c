/* host.c: begin and end, sessions, interruption. */
#include "duckdb/host.h"

#include "duckdb/baseline.h"
#include "duckdb/host_priv.h"
#include "duckdb/query.h"

void weir_duck_host_set_engine(DuckHost *host, Engine *engine)
{
    host->engine = engine;
}

Status weir_duck_host_new(Mem *mem, Connector *connector, bool is_capturing, DuckHost **out,
                          Error *err)
{
    DuckHost *host = weir_mem_zalloc(mem, sizeof *host, err);
    if (host == NULL) {
        return err->code;
    }
    Status status = weir_lock_init(&host->lock, LOCK_RANK_HOST, err);
    if (status != WEIR_OK) {
        weir_mem_free(mem, host);
        return status;
    }
    host->mem = mem;
    host->is_capturing = is_capturing;
    host->group_rows = BASELINE_GROUP_ROWS;
    host->connector = weir_connector_ref(connector);
    weir_arena_init(&host->arena, mem, 0);
    host->pool = weir_page_pool_new(mem, err);
    if (host->pool == NULL) {
        status = err->code;
        weir_duck_host_free(host);
        return status;
    }
    *out = host;
    return WEIR_OK;
}

void weir_duck_host_free(DuckHost *host)
{
    if (host == NULL) {
        return;
    }
    WEIR_ASSERT(!host->is_open);
    weir_page_pool_free(host->pool);
    weir_arena_deinit(&host->arena);
    weir_lock_deinit(&host->lock);
    weir_connector_unref(host->connector);
    weir_mem_free(host->mem, host);
}

/* --- begin .. end ----------------------------------------------------------------------------- */

static void host_end(void *context)
{
    DuckHost *const host = context;
    weir_duck_host_forget_statements(host);
    if (host->plan_statement != NULL) {
        duckdb_destroy_prepare(&host->plan_statement);
        host->plan_statement = NULL;
    }
    weir_lock_acquire(&host->lock);
    for (Session *session = host->sessions; session != NULL; session = session->next) {
        duckdb_disconnect(&session->connection);
    }
    host->sessions = NULL;
    if (host->scan != NULL) {
        duckdb_disconnect(&host->scan); /* and rolls back */
    }
    host->scan = NULL;
    weir_lock_release(&host->lock);
    host->is_snapshot_used = false;
    host->functions = (CatalogList){0};
    host->names = (CatalogList){0};
    host->is_open = false;
    weir_arena_reset(&host->arena);
}

static Status host_begin(void *context, Error *err)
{
    DuckHost *const host = context;
    WEIR_ASSERT(!host->is_open);
    WEIR_TRY(weir_connector_check(host->connector, err));
    weir_lock_acquire(&host->lock);
    weir_cancel_forget(&host->cancel);
    weir_lock_release(&host->lock);
    host->is_open = true;
    host->epoch++;
    return WEIR_OK;
}

Status weir_duck_host_open_snapshot(DuckHost *host, Error *err)
{
    static const char SQL[] = "BEGIN TRANSACTION READ ONLY";
    if (host->scan != NULL) {
        return WEIR_OK;
    }
    duckdb_connection connection = NULL;
    WEIR_TRY(weir_connector_connect(host->connector, &connection, err));
    const Status status = weir_query_run(connection, SQL, err);
    if (status != WEIR_OK) {
        duckdb_disconnect(&connection);
        return status;
    }
    weir_lock_acquire(&host->lock);
    host->scan = connection;
    weir_lock_release(&host->lock);
    host->snapshot_serial++;
    host->is_snapshot_used = false;
    return WEIR_OK;
}

Status weir_duck_host_restart_snapshot(DuckHost *host, Error *err)
{
    WEIR_ASSERT(host->scan != NULL && !host->is_snapshot_used);
    WEIR_TRY(weir_query_run(host->scan, "ROLLBACK", err));
    host->snapshot_serial++;
    return weir_query_run(host->scan, "BEGIN TRANSACTION READ ONLY", err);
}

/* --- interruption ----------------------------------------------------------------------------- */

void weir_duck_host_interrupt(DuckHost *host)
{
    weir_lock_acquire(&host->lock);
    weir_cancel_want(&host->cancel);
    if (host->scan != NULL) {
        duckdb_interrupt(host->scan);
    }
    for (const Session *session = host->sessions; session != NULL; session = session->next) {
        duckdb_interrupt(session->connection);
    }
    weir_lock_release(&host->lock);
}

/* --- sessions --------------------------------------------------------------------------------- */

static bool text_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool settings_equal(const ViewSettings *a, const ViewSettings *b)
{
    return text_equal(a->search_path, b->search_path) && text_equal(a->time_zone, b->time_zone) &&
           text_equal(a->calendar, b->calendar);
}

static Status copy_text(Arena *arena, const char *text, const char **out, Error *err)
{
    *out = text == NULL ? NULL : weir_arena_strdup(arena, text, err);
    return text != NULL && *out == NULL ? err->code : WEIR_OK;
}

Status weir_duck_settings_copy(Arena *arena, const ViewSettings *settings, ViewSettings *out,
                               Error *err)
{
    *out = (ViewSettings){0};
    if (settings == NULL) {
        return WEIR_OK;
    }
    WEIR_TRY(copy_text(arena, settings->search_path, &out->search_path, err));
    WEIR_TRY(copy_text(arena, settings->time_zone, &out->time_zone, err));
    return copy_text(arena, settings->calendar, &out->calendar, err);
}

/* Statements for planning: see PLAN in README.md. */
static Status prepare_planning(duckdb_connection connection, Error *err)
{
    WEIR_TRY(weir_query_run(connection, "PRAGMA disable_optimizer", err));
    return weir_query_run(connection, "SET pivot_filter_threshold = 100000", err);
}

static Status open_session(DuckHost *host, const ViewSettings *settings, bool is_planning,
                           duckdb_connection *out, Error *err)
{
    Session *session = weir_arena_zalloc(&host->arena, sizeof *session, err);
    if (session == NULL) {
        return err->code;
    }
    session->is_planning = is_planning;
    WEIR_TRY(weir_duck_settings_copy(&host->arena, settings, &session->settings, err));
    WEIR_TRY(weir_connector_connect_session(host->connector, settings, &session->connection, err));
    const Status status = is_planning ? prepare_planning(session->connection, err) : WEIR_OK;
    if (status != WEIR_OK) {
        duckdb_disconnect(&session->connection);
        return status;
    }
    weir_lock_acquire(&host->lock);
    session->next = host->sessions;
    host->sessions = session;
    weir_lock_release(&host->lock);
    *out = session->connection;
    return WEIR_OK;
}

Status weir_duck_host_session(DuckHost *host, const ViewSettings *settings, bool is_planning,
                              duckdb_connection *out, Error *err)
{
    static const ViewSettings DEFAULTS = {0};
    if (!host->is_open) {
        return weir_error_set(err, WEIR_ERR_INTERNAL, "DuckDB was called outside begin and end");
    }
    const ViewSettings *const wanted = settings == NULL ? &DEFAULTS : settings;
    Session *session = host->sessions;
    while (session != NULL &&
           (session->is_planning != is_planning || !settings_equal(&session->settings, wanted))) {
        session = session->next;
    }
    if (session == NULL) {
        return open_session(host, wanted, is_planning, out, err);
    }
    *out = session->connection;
    return WEIR_OK;
}

Host weir_duck_host_functions(DuckHost *host)
{
    return (Host){
        .context = host,
        .is_capturing = host->is_capturing,
        .cancel = &host->cancel,
        .begin = host_begin,
        .end = host_end,
        .plan = weir_duck_host_plan,
        .plan_digest = weir_duck_host_plan_digest,
        .stability = weir_duck_host_stability,
        .resolve_name = weir_duck_host_resolve_name,
        .name_exists = weir_duck_host_name_exists,
        .table_schema = weir_duck_host_table_schema,
        .table_open = weir_duck_host_table_open,
        .table_close = weir_duck_host_table_close,
        .table_follow = weir_duck_host_table_follow,
        .prepare_sync = weir_duck_host_prepare_sync,
        .table_sync = weir_duck_host_table_sync,
        .look = weir_duck_host_look,
        .table_is_unchanged = weir_duck_host_table_is_unchanged,
        .table_believe_append_only = weir_duck_host_table_believe_append_only,
        .table_method = weir_duck_host_table_method,
        .table_scan = weir_duck_host_table_scan,
        .table_row_count = weir_duck_host_table_row_count,
        .table_bytes = weir_duck_host_table_bytes,
        .load_views = weir_duck_host_load_views,
        .save_view = weir_duck_host_save_view,
        .end_saving = weir_duck_host_end_saving,
        .expr_open = weir_duck_host_expr_open,
        .expr_close = weir_duck_host_expr_close,
    };
}
