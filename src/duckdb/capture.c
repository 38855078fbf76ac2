/* capture.c: statements, transactions and commits of one connection. */
#include "duckdb/capture_priv.h"

#include "duckdb/query.h"
#include "duckdb/view_refs.h"

Status weir_capture_new(WeirDatabase *database, duckdb_connection connection, Capture **out,
                        Error *err)
{
    Capture *capture = weir_mem_zalloc(database->mem, sizeof *capture, err);
    if (capture == NULL) {
        return err->code;
    }
    capture->database = database;
    capture->mem = database->mem;
    capture->connection = connection;
    weir_arena_init(&capture->arena, capture->mem, 0);
    weir_arena_init(&capture->dropped_arena, capture->mem, 0);
    for (size_t i = 0; i < CAPTURE_KNOWN_TARGETS; i++) {
        weir_arena_init(&capture->targets[i].arena, capture->mem, 0);
    }
    if (weir_told_handle_add(database->told, &capture->told_handle, err) != WEIR_OK) {
        weir_arena_deinit(&capture->arena);
        weir_mem_free(capture->mem, capture);
        return err->code;
    }
    capture->pool = weir_page_pool_new(capture->mem, err);
    if (capture->pool == NULL) {
        weir_capture_free(capture);
        return err->code;
    }
    *out = capture;
    return WEIR_OK;
}

void weir_capture_free(Capture *capture)
{
    if (capture == NULL) {
        return;
    }
    weir_capture_forget(capture);
    for (size_t i = 0; i < CAPTURE_KNOWN_TARGETS; i++) {
        weir_arena_deinit(&capture->targets[i].arena);
    }
    weir_capture_forget_prepared(capture, (SqlSpan){0});
    weir_arena_deinit(&capture->dropped_arena);
    weir_arena_deinit(&capture->arena);
    weir_told_handle_remove(capture->database->told, capture->told_handle);
    weir_page_pool_free(capture->pool);
    weir_mem_free(capture->mem, capture);
}

bool weir_capture_is_in_transaction(const Capture *capture)
{
    return capture->is_in_transaction;
}

/* ---- commits ---------------------------------------------------------------------------------- */

/* Before DuckDB's transaction sees any data. */
static void note_begin(Capture *capture)
{
    capture->since = weir_engine_commits(capture->database->engine);
}

/* What is run in a commit, with the engine's lock held. */
typedef struct CommitRun {
    Capture *capture;
    const CaptureRun *statement; /* that commits by itself; NULL = none */
    const char *sql;             /* COMMIT, otherwise; NULL = the database has committed already */
    CapturedResult *out;
    Arena arena; /* what is told */
} CommitRun;

/* Without memory for the list all that is known is that something changed. */
static void list_changes(CommitRun *run, EngineCommit *commit)
{
    Error ignored = {0};
    const Capture *const capture = run->capture;
    size_t count = 0;
    for (const CapturedTable *table = capture->tables; table != NULL; table = table->next) {
        count++;
    }
    TableChange *changes = weir_arena_calloc(&run->arena, count, sizeof *changes, &ignored);
    commit->is_unknown = capture->is_unknown || changes == NULL;
    commit->has_definitions = capture->has_definitions;
    commit->since = capture->since;
    if (changes == NULL) {
        return;
    }
    CapturedTable *table = capture->tables;
    for (size_t i = 0; i < count; i++, table = table->next) {
        changes[i] = (TableChange){.name = table->name,
                                   .rewrites = table->rewrites,
                                   .follow_id = table->follow_id,
                                   .rows = table->is_known ? &table->rows : NULL};
    }
    commit->changes = changes;
    commit->change_count = count;
}

static Status commit_run(void *context, EngineCommit *commit, Error *err)
{
    CommitRun *const run = context;
    if (run->statement != NULL) {
        note_begin(run->capture);
        WEIR_TRY(weir_capture_run(*run->statement, run->out, err));
    } else if (run->sql != NULL) {
        WEIR_TRY(weir_capture_plain(run->capture, run->sql, run->out, err));
    }
    list_changes(run, commit);
    return WEIR_OK;
}

/* Tells the engine what the transaction changed. The transaction is over in any case. */
static Status commit(CommitRun *run, Error *err)
{
    Capture *const capture = run->capture;
    EngineCommit told = {.run = commit_run, .context = run};
    weir_arena_init(&run->arena, capture->mem, 0);
    const Status status = weir_engine_commit(capture->database->engine, &told, err);
    weir_arena_deinit(&run->arena);
    if (status == WEIR_OK) {
        weir_capture_drop_views(capture);
    }
    weir_capture_forget(capture);
    return status;
}

static Status commit_by(Capture *capture, const char *sql, CapturedResult *out, Error *err)
{
    return commit(&(CommitRun){.capture = capture, .sql = sql, .out = out}, err);
}

static Status tell_committed(Capture *capture, Error *err)
{
    return commit(&(CommitRun){.capture = capture}, err);
}

static bool has_changes(const Capture *capture)
{
    return capture->tables != NULL || capture->is_unknown || capture->has_definitions;
}

/* ---- statements ------------------------------------------------------------------------------- */

static void forget_names(Capture *capture)
{
    atomic_fetch_add(&capture->database->name_epoch, 1);
}

static Status execute_session(Capture *capture, const char *sql, CapturedResult *out, Error *err)
{
    const Status status = weir_capture_plain(capture, sql, out, err);
    capture->has_new_names = true;
    forget_names(capture);
    return status;
}

/* Definitions of views may have come. Until a transaction is over, others do not see them. */
static void take_views(Capture *capture)
{
    capture->brings_views = capture->is_in_transaction;
    if (!capture->is_in_transaction) {
        weir_engine_restore_new(capture->database->engine);
    }
}

static Status execute_attach(Capture *capture, const char *sql, const WriteShape *shape,
                             CapturedResult *out, Error *err)
{
    WEIR_TRY(weir_capture_check_detach(capture, shape->target, err));
    WEIR_TRY(execute_session(capture, sql, out, err));
    take_views(capture);
    return WEIR_OK;
}

/* It may do anything: it is run as it is, and told of afterwards. */
static Status execute_unknown(Capture *capture, const char *sql, CapturedResult *out, Error *err)
{
    WEIR_TRY(execute_session(capture, sql, out, err));
    capture->is_unknown = true;
    capture->has_definitions = true;
    const Status status = capture->is_in_transaction ? WEIR_OK : tell_committed(capture, err);
    take_views(capture); /* by IMPORT DATABASE, COPY FROM DATABASE */
    return status;
}

static void roll_back(Capture *capture)
{
    Error ignored = {0};
    CapturedResult result = {0};
    if (weir_capture_plain(capture, "ROLLBACK", &result, &ignored) == WEIR_OK) {
        weir_captured_result_deinit(&result, capture->mem);
    }
    weir_capture_forget(capture);
}

Status weir_capture_end_alone(Capture *capture, Status status, CapturedResult *out, Error *err)
{
    CapturedResult ignored = {0};
    if (status == WEIR_OK) {
        status = commit_by(capture, "COMMIT", &ignored, err);
        weir_captured_result_deinit(&ignored, capture->mem);
        if (status != WEIR_OK) {
            weir_captured_result_deinit(out, capture->mem);
        }
    }
    if (status != WEIR_OK) {
        roll_back(capture);
    }
    return status;
}

/* A transaction of its own around the statement; or the statement within the commit, if it is sure to
 * ask nothing of the engine, whose lock is held. */
static Status execute_alone(const CaptureRun *run, CapturedResult *out, Error *err)
{
    Capture *const capture = run->capture;
    if (run->shape->is_simple) {
        CommitRun committing = {.capture = capture, .statement = run, .out = out};
        return commit(&committing, err);
    }
    note_begin(capture);
    WEIR_TRY(weir_query_run(capture->connection, "BEGIN", err));
    const Status status = weir_capture_run(*run, out, err);
    return weir_capture_end_alone(capture, status, out, err);
}

/* A table that nobody follows, or that cannot be told: if one began to be followed meanwhile, it may
 * or may not have been filled with these rows. */
static Status execute_unfollowed(const CaptureRun *run, CapturedResult *out, Error *err)
{
    Capture *const capture = run->capture;
    WEIR_TRY(weir_capture_run_unchanged(run, out, err));
    if (run->target == NULL ||
        run->target->shape.epoch != weir_engine_epoch(capture->database->engine)) {
        capture->is_unknown = true;
        return tell_committed(capture, err);
    }
    return WEIR_OK;
}

static Status execute_rows_of_table(CaptureRun run, CapturedResult *out, Error *err)
{
    Capture *const capture = run.capture;
    run.target = weir_capture_target(capture, run.shape->target);
    if (capture->is_in_transaction) {
        if (run.target != NULL) {
            return weir_capture_run(run, out, err);
        }
        capture->is_unknown = true;
        return weir_capture_run_unchanged(&run, out, err);
    }
    return run.target != NULL && run.target->shape.is_followed ? execute_alone(&run, out, err)
                                                               : execute_unfollowed(&run, out, err);
}

/* Where an exported database is loaded by hand, definitions are rows like others. */
static Status execute_rows(CaptureRun run, CapturedResult *out, Error *err)
{
    WEIR_TRY(execute_rows_of_table(run, out, err));
    if (weir_name_is_written(run.shape->alias.start, run.shape->alias.size, "_dbsp_views")) {
        take_views(run.capture);
    }
    return WEIR_OK;
}

Status weir_capture_flush(Capture *capture, const char *table, duckdb_appender appender,
                          uint64_t row_count, Error *err)
{
    const WriteShape shape = {.kind = WRITE_COPY, .target = {table, strlen(table)}};
    CapturedResult out = {0};
    WEIR_TRY(execute_rows(
        (CaptureRun){
            .capture = capture, .shape = &shape, .appender = appender, .appended_count = row_count},
        &out, err));
    weir_captured_result_deinit(&out, capture->mem);
    return WEIR_OK;
}

void weir_capture_discard(Capture *capture, duckdb_appender *appender)
{
    Error ignored = {0};
    const bool is_alone = !capture->is_in_transaction &&
                          weir_query_run(capture->connection, "BEGIN", &ignored) == WEIR_OK;
    capture->is_unknown = capture->is_unknown || !is_alone;
    (void)duckdb_appender_destroy(appender);
    if (is_alone) {
        roll_back(capture);
    }
}

static Status execute_prepare(Capture *capture, const char *sql, const WriteShape *shape,
                              CapturedResult *out, Error *err)
{
    WEIR_TRY(weir_capture_plain(capture, sql, out, err));
    weir_capture_remember(capture, shape->target, shape->relation);
    return WEIR_OK;
}

static Status execute_deallocate(Capture *capture, const char *sql, const WriteShape *shape,
                                 CapturedResult *out, Error *err)
{
    WEIR_TRY(weir_capture_plain(capture, sql, out, err));
    weir_capture_forget_prepared(capture, shape->target);
    return WEIR_OK;
}

static Status execute_prepared(Capture *capture, const char *sql, const WriteShape *call,
                               CapturedResult *out, Error *err)
{
    CapturePrepared *const prepared = weir_capture_find_prepared(capture, call->target);
    if (prepared == NULL) {
        return execute_unknown(capture, sql, out, err);
    }
    WriteShape shape = weir_write_shape(prepared->sql);
    shape.is_simple = shape.is_simple && weir_sql_span_is_plain(call->relation);
    switch (shape.kind) {
    case WRITE_NONE: return weir_capture_plain(capture, sql, out, err);
    case WRITE_INSERT:
    case WRITE_UPDATE:
    case WRITE_DELETE:
    case WRITE_UPSERT:
    case WRITE_MERGE:
        return execute_rows((CaptureRun){.capture = capture,
                                         .sql = prepared->sql,
                                         .shape = &shape,
                                         .prepared = prepared,
                                         .call = sql,
                                         .arguments = call->relation.start},
                            out, err);
    default: return execute_unknown(capture, sql, out, err);
    }
}

static Status execute_definition(Capture *capture, const char *sql, const WriteShape *shape,
                                 CapturedResult *out, Error *err)
{
    const Status status = weir_capture_define(capture, sql, shape, out, err);
    forget_names(capture);
    return status;
}

/* Few tables have the name of a view, be it in another schema. */
static Status execute_create(Capture *capture, const char *sql, const WriteShape *shape,
                             CapturedResult *out, Error *err)
{
    return weir_capture_is_view_name(capture, shape->alias)
               ? execute_definition(capture, sql, shape, out, err)
               : execute_session(capture, sql, out, err);
}

static Status execute_begin(Capture *capture, const char *sql, CapturedResult *out, Error *err)
{
    const uint64_t since = weir_engine_commits(capture->database->engine);
    WEIR_TRY(weir_capture_plain(capture, sql, out, err));
    capture->since = since; /* BEGIN within a transaction fails */
    capture->is_in_transaction = true;
    capture->has_failed = false; /* what failed before it is of no account */
    return WEIR_OK;
}

/* DuckDB makes a ROLLBACK of the COMMIT of a transaction that a failure has aborted, and does not say
 * so. Not every failure aborts one. */
static bool is_aborted(Capture *capture)
{
    Error ignored = {0};
    return capture->has_failed &&
           weir_query_run(capture->connection, "SELECT 1", &ignored) != WEIR_OK;
}

/* COMMIT or ROLLBACK: DuckDB's transaction is over, whether it succeeds or not. */
static Status execute_finish(Capture *capture, const char *sql, bool is_commit, CapturedResult *out,
                             Error *err)
{
    if (is_commit && capture->is_doomed) {
        capture->is_in_transaction = false;
        roll_back(capture);
        return weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS,
                              "the transaction was rolled back: a statement of it was refused "
                              "because of views");
    }
    const bool is_told =
        is_commit && capture->is_in_transaction && has_changes(capture) && !is_aborted(capture);
    capture->is_in_transaction = false;
    if (!is_told) {
        weir_capture_forget(capture);
    }
    const Status status =
        is_told ? commit_by(capture, sql, out, err) : weir_capture_plain(capture, sql, out, err);
    if (capture->has_new_names) { /* for others they are new now, or never were */
        capture->has_new_names = false;
        forget_names(capture);
    }
    if (capture->brings_views) {
        take_views(capture);
    }
    return status;
}

static Status execute(Capture *capture, const char *sql, CapturedResult *out, Error *err)
{
    const WriteShape shape = weir_write_shape(sql);
    *out = (CapturedResult){0};
    switch (shape.kind) {
    case WRITE_NONE: return weir_capture_plain(capture, sql, out, err);
    case WRITE_BEGIN: return execute_begin(capture, sql, out, err);
    case WRITE_COMMIT: return execute_finish(capture, sql, true, out, err);
    case WRITE_ROLLBACK: return execute_finish(capture, sql, false, out, err);
    case WRITE_SESSION: return execute_session(capture, sql, out, err);
    case WRITE_ATTACH: return execute_attach(capture, sql, &shape, out, err);
    case WRITE_CREATE: return execute_create(capture, sql, &shape, out, err);
    case WRITE_DEFINITION: return execute_definition(capture, sql, &shape, out, err);
    case WRITE_UNKNOWN: return execute_unknown(capture, sql, out, err);
    case WRITE_PREPARE: return execute_prepare(capture, sql, &shape, out, err);
    case WRITE_EXECUTE: return execute_prepared(capture, sql, &shape, out, err);
    case WRITE_DEALLOCATE: return execute_deallocate(capture, sql, &shape, out, err);
    default:
        return execute_rows((CaptureRun){.capture = capture, .sql = sql, .shape = &shape}, out,
                            err);
    }
}

Status weir_capture_execute(Capture *capture, const char *sql, CapturedResult *out, Error *err)
{
    Arena arena;
    weir_arena_init(&arena, capture->mem, 0);
    const char *const text =
        weir_view_refs_write(capture->database->engine, capture->connection, sql, &arena);
    const Status status = execute(capture, text, out, err);
    if (status != WEIR_OK && text != sql) {
        weir_capture_cut_quotation(err);
    }
    weir_arena_deinit(&arena);
    return status;
}
