/* db.c: opening, closing and running statements. */
#include "api/db_priv.h"

#include <string.h>

const char *weir_version(void)
{
    return WEIR_VERSION;
}

const char *weir_next_statement(const char *sql)
{
    return weir_statement_start(sql);
}

bool weir_is_complete(const char *sql)
{
    return weir_statement_is_complete(sql);
}

static Status open_handle(const char *path, duckdb_database *out, Error *err)
{
    duckdb_config config = NULL;
    char *message = NULL;
    if (duckdb_create_config(&config) != DuckDBSuccess) {
        duckdb_destroy_config(&config);
        return weir_error_set(err, WEIR_ERR_NOMEM, "cannot make a DuckDB configuration");
    }
    duckdb_set_config(config, "allow_unsigned_extensions", "true");
    const duckdb_state state = duckdb_open_ext(path, out, config, &message);
    duckdb_destroy_config(&config);
    if (state != DuckDBSuccess) {
        weir_error_set(err, WEIR_ERR_CONNECT, "cannot open %s: %s",
                       path == NULL ? "a database" : path,
                       message == NULL ? "no reason given" : message);
        duckdb_free(message);
        return err->code;
    }
    return WEIR_OK;
}

OpenDatabase *weir_open_database_ref(OpenDatabase *shared)
{
    atomic_fetch_add(&shared->ref_count, 1);
    return shared;
}

void weir_open_database_unref(OpenDatabase *shared)
{
    WeirDatabase *const database = shared->database;
    if (atomic_fetch_sub(&shared->ref_count, 1) > 1) {
        return;
    }
    duckdb_close(&shared->handle);
    weir_mem_free(database->mem, shared);
    weir_database_unref(database);
}

/* Takes the reference to the database, also on failure. */
static Status open_connection(OpenDatabase *shared, duckdb_connection connection, WeirDb **out,
                              Error *err)
{
    Mem *const mem = shared->database->mem;
    Capture *capture = NULL;
    WeirDb *db = weir_mem_zalloc(mem, sizeof *db, err);
    if (db == NULL || weir_capture_new(shared->database, connection, &capture, err) != WEIR_OK) {
        weir_mem_free(mem, db);
        duckdb_disconnect(&connection);
        weir_open_database_unref(shared);
        return err->code;
    }
    *db = (WeirDb){.shared = shared,
                   .connection = connection,
                   .database = shared->database,
                   .mem = mem,
                   .capture = capture};
    *out = db;
    return WEIR_OK;
}

WeirStatus weir_open(const char *path, WeirDb **out, WeirError *err)
{
    duckdb_database handle = NULL;
    duckdb_connection connection = NULL;
    WeirDatabase *database = NULL;
    *out = NULL;
    weir_error_clear(err);
    WEIR_TRY(open_handle(path, &handle, err));
    if (duckdb_connect(handle, &connection) != DuckDBSuccess) {
        duckdb_close(&handle);
        return weir_error_set(err, WEIR_ERR_CONNECT, "cannot connect to the database");
    }
    const Status status = weir_database_attach(handle, connection, true, &database, err);
    OpenDatabase *shared =
        status != WEIR_OK ? NULL : weir_mem_zalloc(database->mem, sizeof *shared, err);
    if (shared == NULL) {
        duckdb_disconnect(&connection);
        duckdb_close(&handle);
        weir_database_unref(database);
        return err->code;
    }
    shared->handle = handle;
    shared->database = database;
    atomic_init(&shared->ref_count, 1);
    weir_engine_restore(database->engine);
    return open_connection(shared, connection, out, err);
}

WeirStatus weir_connect(WeirDb *db, WeirDb **out, WeirError *err)
{
    duckdb_connection connection = NULL;
    *out = NULL;
    weir_error_clear(err);
    if (duckdb_connect(db->shared->handle, &connection) != DuckDBSuccess) {
        return weir_error_set(err, WEIR_ERR_CONNECT, "cannot connect to the database");
    }
    return open_connection(weir_open_database_ref(db->shared), connection, out, err);
}

void weir_close(WeirDb *db)
{
    if (db == NULL) {
        return;
    }
    OpenDatabase *const shared = db->shared;
    weir_interrupt(db);
    weir_capture_free(db->capture);
    duckdb_disconnect(&db->connection);
    weir_mem_free(db->mem, db);
    weir_open_database_unref(shared);
}

/* The statement of the session, and what Weir runs for it. The views are worked on for one connection at
 * a time: if this one waits for another, it is that one's work that ends. */
void weir_interrupt(WeirDb *db)
{
    duckdb_interrupt(db->connection);
    if (atomic_load(&db->running) > 0) {
        weir_duck_host_interrupt(db->database->host);
    }
}

void weir_set_progress(WeirDb *db, WeirProgress progress, void *user)
{
    weir_engine_set_progress(db->database->engine, progress, user);
}

bool weir_take_warning(WeirDb *db, WeirError *out)
{
    return weir_engine_take_notice(db->database->engine, out);
}

/* ---- running -------------------------------------------------------------------------------- */

/* DuckDB's own message, without the doubled class in front. */
static Status duckdb_failed(duckdb_result *result, Error *err)
{
    const char *const message = duckdb_result_error(result);
    const duckdb_error_type type = duckdb_result_error_type(result);
    return weir_error_set(err,
                          type == DUCKDB_ERROR_INTERRUPT ? WEIR_ERR_INTERRUPTED : WEIR_ERR_HOST,
                          "%s", message == NULL ? "the statement failed" : message);
}

/* The session's settings, as they are stored with a view. */
static Status read_settings(WeirDb *db, Arena *arena, ViewSettings *out, Error *err)
{
    duckdb_result result;
    const char **const places[3] = {&out->search_path, &out->time_zone, &out->calendar};
    if (duckdb_query(db->connection,
                     "SELECT system.main.current_setting('search_path'), "
                     "system.main.current_setting('TimeZone'), "
                     "system.main.current_setting('Calendar')",
                     &result) != DuckDBSuccess) {
        duckdb_failed(&result, err);
        duckdb_destroy_result(&result);
        return err->code;
    }
    Status status = WEIR_OK;
    for (idx_t i = 0; i < WEIR_ARRAY_COUNT(places); i++) {
        char *text = duckdb_value_varchar(&result, i, 0);
        *places[i] = NULL;
        if (text != NULL && text[0] != '\0') {
            *places[i] = weir_arena_strdup(arena, text, err);
            status = *places[i] == NULL ? err->code : status;
        }
        duckdb_free(text);
    }
    duckdb_destroy_result(&result);
    return status;
}

Status weir_db_connect_alike(WeirDb *db, duckdb_connection *out, Error *err)
{
    Arena arena;
    ViewSettings settings = {0};
    weir_arena_init(&arena, db->mem, 0);
    Status status = read_settings(db, &arena, &settings, err);
    if (status == WEIR_OK) {
        settings.search_path = NULL; /* names are of no use there */
        status = weir_connector_connect_session(db->database->connector, &settings, out, err);
    }
    weir_arena_deinit(&arena);
    return status;
}

static Status run_create(WeirDb *db, const Statement *statement, Arena *arena, Error *err)
{
    CreateSpec spec = {.name = statement->name, .sql = statement->query, .mode = statement->mode};
    WEIR_TRY(read_settings(db, arena, &spec.settings, err));
    return weir_engine_create(db->database->engine, &spec, NULL, err);
}

static Status change_view(WeirDb *db, const Statement *statement, Arena *arena, Error *err)
{
    Engine *const engine = db->database->engine;
    if (weir_capture_is_in_transaction(db->capture)) {
        weir_error_set(err, WEIR_ERR_MISUSE,
                       "materialized views cannot be changed inside a transaction");
        weir_error_hint(err, "COMMIT or ROLLBACK first");
        return err->code;
    }
    if (statement->kind == STATEMENT_CREATE) {
        return run_create(db, statement, arena, err);
    }
    if (statement->kind == STATEMENT_REFRESH) {
        return weir_engine_refresh(engine, statement->name, NULL, err);
    }
    const Status status =
        weir_engine_drop(engine, statement->name, statement->is_cascade, NULL, err);
    if (status == WEIR_ERR_UNKNOWN_VIEW && statement->is_if_exists) {
        weir_error_clear(err);
        return WEIR_OK;
    }
    return status;
}

/* Its result is that of a statement without rows. */
static Status run_own(WeirDb *db, const Statement *statement, Arena *arena, WeirResult **out,
                      Error *err)
{
    CapturedResult nothing = {.is_counted = true};
    WEIR_TRY(change_view(db, statement, arena, err));
    return weir_result_new(db, &nothing, out, err);
}

static Status run_duckdb(WeirDb *db, const char *sql, WeirResult **out, Error *err)
{
    CapturedResult result = {0};
    WEIR_TRY(weir_capture_execute(db->capture, sql, &result, err));
    return weir_result_new(db, &result, out, err);
}

static Status run_explain(WeirDb *db, const Statement *statement, WeirResult **out, Error *err)
{
    ViewShape shape; /* dbsp_explain would take a name that it does not know for a SELECT */
    WEIR_TRY(weir_engine_shape(db->database->engine, statement->name, &shape, err));
    weir_view_shape_deinit(&shape);
    return run_duckdb(db, statement->query, out, err);
}

static Status run_statement(WeirDb *db, const Statement *statement, Arena *arena, WeirResult **out,
                            Error *err)
{
    switch (statement->kind) {
    case STATEMENT_EMPTY: break;
    case STATEMENT_DUCKDB: return run_duckdb(db, statement->text, out, err);
    case STATEMENT_EXPLAIN: return run_explain(db, statement, out, err);
    case STATEMENT_CREATE:
    case STATEMENT_DROP:
    case STATEMENT_REFRESH: return run_own(db, statement, arena, out, err);
    }
    return WEIR_OK;
}

WeirStatus weir_execute(WeirDb *db, const char *sql, const char **tail, WeirResult **out,
                        WeirError *err)
{
    Status status = WEIR_OK;
    Statement statement;
    const char *rest = NULL;
    WeirResult *result = NULL;
    Arena arena;
    weir_error_clear(err);
    weir_arena_init(&arena, db->mem, 0);
    status = weir_statement_read(&arena, sql, &rest, &statement, err);
    if (tail != NULL) {
        *tail = rest == NULL ? sql + strlen(sql) : rest;
    }
    if (out != NULL) {
        *out = NULL;
    }
    if (status == WEIR_OK) {
        atomic_fetch_add(&db->running, 1);
        status = run_statement(db, &statement, &arena, &result, err);
        atomic_fetch_sub(&db->running, 1);
    }
    weir_arena_deinit(&arena);
    if (out != NULL) {
        *out = result;
    } else {
        weir_result_free(result);
    }
    return status;
}
