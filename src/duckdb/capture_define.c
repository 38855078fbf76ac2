/* capture_define.c: statements that take tables or columns away from under views are refused, and those
 * that take the name of a view or its schema.
 *
 * The statement is run, and then every followed table is looked at in the same transaction: nobody
 * has to know what the statement means. In a transaction of the user's that cannot be taken back
 * alone: the transaction can then only be rolled back. DROP ... CASCADE drops the views as well, when
 * the transaction has been committed.
 * DETACH is not undone by a rollback: what it takes away is told before. */
#include "duckdb/capture_priv.h"

#include "duckdb/query.h"
#include "duckdb/type_map.h"

typedef struct Check {
    Capture *capture;
    bool is_cascade;
    SqlSpan detached; /* DETACH: the database */
    Arena arena;
    const TableName *looked; /* the table of the last look, and what it found */
    Status found;
    Error why;
} Check;

/* The followed columns are there, with their types. */
static Status look_at(Capture *capture, const FollowedTable *table, Arena *arena, Error *err)
{
    Buf sql;
    duckdb_result result = {0};
    weir_buf_init(&sql, capture->mem, SIZE_MAX);
    weir_buf_puts(&sql, "SELECT rowid");
    for (size_t c = 0; c < table->columns->count; c++) {
        weir_buf_puts(&sql, ", ");
        weir_buf_put_sql_name(&sql, table->columns->names[c]);
    }
    weir_buf_puts(&sql, " FROM ");
    weir_name_put_sql(&sql, table->name);
    weir_buf_puts(&sql, " LIMIT 0");
    Status status = weir_buf_status(&sql, err);
    if (status == WEIR_OK) {
        status = weir_query(capture->connection, sql.data, WEIR_ERR_SOURCE_CHANGED, &result, err);
    }
    weir_buf_deinit(&sql);
    for (size_t c = 0; status == WEIR_OK && c < table->columns->count; c++) {
        duckdb_logical_type theirs = duckdb_column_logical_type(&result, c + 1);
        const LogicalType *const type = weir_type_from_duckdb(arena, theirs, err);
        duckdb_destroy_logical_type(&theirs);
        if (type == NULL || !weir_type_equal(type, table->columns->types[c])) {
            status = weir_error_set(err, WEIR_ERR_SOURCE_CHANGED, "column %s has another type",
                                    table->columns->names[c]);
        }
    }
    duckdb_destroy_result(&result);
    return status;
}

/* ---- views that a cascade drops --------------------------------------------------------------- */

static bool is_dropped(const Capture *capture, const TableName *view)
{
    const DroppedView *dropped = capture->dropped;
    while (dropped != NULL && !weir_name_equal(&dropped->name, view)) {
        dropped = dropped->next;
    }
    return dropped != NULL;
}

static Status note_dropped(Capture *capture, const TableName *view, Error *err)
{
    DroppedView *const dropped =
        weir_arena_calloc(&capture->dropped_arena, 1, sizeof *dropped, err);
    if (dropped == NULL) {
        return err->code;
    }
    WEIR_TRY(weir_name_copy(&capture->dropped_arena, view, &dropped->name, err));
    dropped->next = capture->dropped;
    capture->dropped = dropped;
    return WEIR_OK;
}

/* It may be gone with another one. */
static void drop_view(Engine *engine, Mem *mem, const TableName *view)
{
    Buf name;
    Error ignored = {0};
    weir_buf_init(&name, mem, SIZE_MAX);
    weir_name_put_sql(&name, view);
    if (weir_buf_status(&name, &ignored) == WEIR_OK &&
        weir_engine_drop(engine, name.data, true, NULL, &ignored) != WEIR_OK) {
        weir_error_clear(&ignored);
    }
    weir_buf_deinit(&name);
}

void weir_capture_drop_views(const Capture *capture)
{
    Engine *const engine = capture->database->engine;
    for (const DroppedView *view = capture->dropped; view != NULL; view = view->next) {
        drop_view(engine, capture->mem, &view->name);
    }
    if (capture->dropped != NULL) { /* that they broke before they were dropped is no news */
        Error told = {0};
        (void)weir_engine_take_notice(engine, &told);
    }
}

/* ---- followed tables -------------------------------------------------------------------------- */

static Status check_table(void *user, const FollowedTable *table, Error *err)
{
    Check *const check = user;
    char name[256];
    if (is_dropped(check->capture, table->view)) {
        return WEIR_OK;
    }
    if (check->looked != table->name) { /* its views come one after another */
        check->looked = table->name;
        check->found = look_at(check->capture, table, &check->arena, &check->why);
    }
    if (check->found == WEIR_OK) {
        return WEIR_OK;
    }
    if (check->found != WEIR_ERR_SOURCE_CHANGED) {
        *err = check->why;
        return err->code;
    }
    if (check->is_cascade) {
        return note_dropped(check->capture, table->view, err);
    }
    weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS, "view %s reads table %s as it is (%.*s)",
                   table->view->name, weir_name_text(table->name, name, sizeof name),
                   (int)strcspn(check->why.message, "\n"), check->why.message);
    weir_error_hint(err, "DROP MATERIALIZED VIEW %s first; DROP TABLE ... CASCADE drops it too",
                    table->view->name);
    return err->code;
}

/* ---- names and schemas of views --------------------------------------------------------------- */

bool weir_capture_is_view_name(const Capture *capture, SqlSpan name)
{
    Buf text;
    Error ignored = {0};
    weir_buf_init(&text, capture->mem, SIZE_MAX);
    weir_buf_printf(&text, "%.*s", (int)name.size, name.start == NULL ? "" : name.start);
    const bool is_one = name.start == NULL || weir_buf_status(&text, &ignored) != WEIR_OK ||
                        weir_engine_look_up(capture->database->engine, text.data) != NAME_UNKNOWN;
    weir_buf_deinit(&text);
    return is_one;
}

/* Calls visit for the views that a query gives: catalog, schema, name; not for those that are dropped. */
static Status visit_views(Check *check, const char *sql,
                          Status (*visit)(Check *check, const TableName *view, Error *err),
                          Error *err)
{
    duckdb_result result = {0};
    WEIR_TRY(weir_query(check->capture->connection, sql, WEIR_ERR_HOST, &result, err));
    Status status = WEIR_OK;
    Rows rows = weir_rows(&result);
    while (status == WEIR_OK && weir_rows_next(&rows)) {
        const char *parts[3] = {0};
        for (size_t i = 0; status == WEIR_OK && i < 3; i++) {
            parts[i] = weir_rows_text(&rows, i, &check->arena, err);
            status = parts[i] == NULL ? err->code : WEIR_OK;
        }
        const TableName view = {.catalog = parts[0], .schema = parts[1], .name = parts[2]};
        if (status == WEIR_OK && !is_dropped(check->capture, &view)) {
            status = visit(check, &view, err);
        }
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return status;
}

static Status clash(Check *check, const TableName *view, Error *err)
{
    (void)check;
    weir_error_set(err, WEIR_ERR_NAME_CLASH, "there is a materialized view %s in schema %s already",
                   view->name, view->schema);
    weir_error_hint(err, "choose another name, or DROP MATERIALIZED VIEW %s first", view->name);
    return err->code;
}

/* Nothing has come by the name of a view, where it would be found instead. */
static Status check_names(Check *check, Error *err)
{
    static const char SQL[] =
        "SELECT v.catalog, v.schema, v.view FROM system.main.dbsp_views() AS v, "
        "(SELECT database_name, schema_name, table_name AS name FROM system.main.duckdb_tables() "
        "UNION ALL SELECT database_name, schema_name, view_name FROM system.main.duckdb_views()) "
        "AS t WHERE system.main.lower(v.catalog) = system.main.lower(t.database_name) "
        "AND system.main.lower(v.schema) = system.main.lower(t.schema_name) "
        "AND system.main.lower(v.view) = system.main.lower(t.name)";
    return visit_views(check, SQL, clash, err);
}

/* A view whose schema is not there any more. */
static Status lose_schema(Check *check, const TableName *view, Error *err)
{
    if (check->is_cascade) {
        return note_dropped(check->capture, view, err);
    }
    weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS, "there is a materialized view %s in schema %s",
                   view->name, view->schema);
    weir_error_hint(err, "DROP MATERIALIZED VIEW %s.%s first; DROP SCHEMA ... CASCADE drops it too",
                    view->schema, view->name);
    return err->code;
}

static Status check_schemas(Check *check, Error *err)
{
    static const char SQL[] =
        "SELECT v.catalog, v.schema, v.view FROM system.main.dbsp_views() AS v "
        "WHERE NOT EXISTS (FROM system.main.duckdb_schemas() AS s WHERE "
        "system.main.lower(v.catalog) = system.main.lower(s.database_name) AND "
        "system.main.lower(v.schema) = system.main.lower(s.schema_name))";
    return visit_views(check, SQL, lose_schema, err);
}

/* ---- DETACH ----------------------------------------------------------------------------------- */

static Status refuse_detach(const TableName *view, Error *err)
{
    weir_error_hint(err, "DROP MATERIALIZED VIEW %s first", view->name);
    return err->code;
}

/* user: the span that writes the database's name. */
static Status check_read(void *user, const FollowedTable *table, Error *err)
{
    const SqlSpan *const database = user;
    if (!weir_name_is_written(database->start, database->size, table->name->catalog)) {
        return WEIR_OK;
    }
    weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS, "view %s reads table %s of database %s",
                   table->view->name, table->name->name, table->name->catalog);
    return refuse_detach(table->view, err);
}

static Status check_kept(Check *check, const TableName *view, Error *err)
{
    if (!weir_name_is_written(check->detached.start, check->detached.size, view->catalog)) {
        return WEIR_OK;
    }
    weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS, "view %s is kept in database %s", view->name,
                   view->catalog);
    return refuse_detach(view, err);
}

Status weir_capture_check_detach(Capture *capture, SqlSpan database, Error *err)
{
    static const char SQL[] = "SELECT catalog, schema, view FROM system.main.dbsp_views()";
    Check check = {.capture = capture, .detached = database};
    if (database.start == NULL) {
        return WEIR_OK;
    }
    WEIR_TRY(weir_engine_visit_followed(capture->database->engine, check_read, &database, err));
    weir_arena_init(&check.arena, capture->mem, 0);
    const Status status = visit_views(&check, SQL, check_kept, err);
    weir_arena_deinit(&check.arena);
    return status;
}

/* ---- running ---------------------------------------------------------------------------------- */

static Status check_all(Check *check, WriteKind kind, Error *err)
{
    if (kind == WRITE_DEFINITION) {
        WEIR_TRY(
            weir_engine_visit_followed(check->capture->database->engine, check_table, check, err));
        WEIR_TRY(check_schemas(check, err));
    }
    return check_names(check, err);
}

static Status run_checked(Capture *capture, const char *sql, const WriteShape *shape, Check *check,
                          CapturedResult *out, Error *err)
{
    WEIR_TRY(weir_capture_plain(capture, sql, out, err));
    const Status status = check_all(check, shape->kind, err);
    if (status != WEIR_OK) {
        weir_captured_result_deinit(out, capture->mem);
    }
    return status;
}

Status weir_capture_define(Capture *capture, const char *sql, const WriteShape *shape,
                           CapturedResult *out, Error *err)
{
    Check check = {.capture = capture, .is_cascade = shape->is_cascade};
    const bool is_alone = !capture->is_in_transaction;
    if (shape->kind == WRITE_DEFINITION) {
        WEIR_TRY(weir_capture_check_detach(capture, shape->target, err));
    }
    weir_arena_init(&check.arena, capture->mem, 0);
    Status status = is_alone ? weir_query_run(capture->connection, "BEGIN", err) : WEIR_OK;
    if (status == WEIR_OK) {
        status = run_checked(capture, sql, shape, &check, out, err);
    }
    capture->has_definitions = capture->has_definitions || shape->kind == WRITE_DEFINITION;
    capture->has_new_names = true;
    if (is_alone) {
        status = weir_capture_end_alone(capture, status, out, err);
    } else if (status == WEIR_ERR_HAS_DEPENDENTS || status == WEIR_ERR_NAME_CLASH) {
        capture->is_doomed = true;
    }
    weir_arena_deinit(&check.arena);
    return status;
}
