/* capture_define.c: statements that take tables or columns away from under views are refused, and those
 * that take the name of a view or its schema.
 *
 * The statement is run, and then every followed table is looked at in the same transaction: nobody
 * has to know what the statement means. In a transaction of the user's that cannot be taken back
 * alone: the transaction can then only be rolled back. DROP ... CASCADE drops the views as well.
 * DETACH is not undone by a rollback: what it takes away is told before. */
#include "duckdb/capture_priv.h"

#include "duckdb/query.h"
#include "duckdb/type_map.h"

typedef struct Check {
    Capture *capture;
    bool is_cascade;
    Arena arena;
    const TableName *looked; /* the table of the last look, and what it found */
    Status found;
    Error why;
    const char **views; /* that a cascade drops; in the arena */
    size_t view_count;
    size_t view_capacity;
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

static Status note_view(Check *check, const TableName *view, Error *err)
{
    if (check->view_count == check->view_capacity) {
        const size_t capacity = 2 * check->view_capacity + 8;
        const char **views = weir_arena_calloc(&check->arena, capacity, sizeof *views, err);
        if (views == NULL) {
            return err->code;
        }
        for (size_t i = 0; i < check->view_count; i++) {
            views[i] = check->views[i];
        }
        check->views = views;
        check->view_capacity = capacity;
    }
    Buf name;
    weir_buf_init(&name, check->capture->mem, SIZE_MAX);
    weir_name_put_sql(&name, view);
    Status status = weir_buf_status(&name, err);
    if (status == WEIR_OK) {
        check->views[check->view_count] = weir_arena_strdup(&check->arena, name.data, err);
        status = check->views[check->view_count] == NULL ? err->code : WEIR_OK;
    }
    check->view_count += status == WEIR_OK;
    weir_buf_deinit(&name);
    return status;
}

static Status check_table(void *user, const FollowedTable *table, Error *err)
{
    Check *const check = user;
    char name[256];
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
        return note_view(check, table->view, err);
    }
    weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS, "view %s reads table %s as it is (%.*s)",
                   table->view->name, weir_name_text(table->name, name, sizeof name),
                   (int)strcspn(check->why.message, "\n"), check->why.message);
    weir_error_hint(err, "DROP MATERIALIZED VIEW %s first; DROP TABLE ... CASCADE drops it too",
                    table->view->name);
    return err->code;
}

/* Drops the views that the statement has left without their tables. */
static void drop_views(const Check *check)
{
    for (size_t i = 0; i < check->view_count; i++) {
        Error ignored = {0}; /* it may be gone with another one */
        if (weir_engine_drop(check->capture->database->engine, check->views[i], true, NULL,
                             &ignored) != WEIR_OK) {
            weir_error_clear(&ignored);
        }
    }
    if (check->view_count > 0) { /* that they broke before they were dropped is no news */
        Error told = {0};
        (void)weir_engine_take_notice(check->capture->database->engine, &told);
    }
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

/* Nothing has come by the name of a view, where it would be found instead. */
static Status check_names(const Check *check, Error *err)
{
    static const char SQL[] =
        "SELECT v.view, v.schema FROM system.main.dbsp_views() AS v, "
        "(SELECT database_name, schema_name, table_name AS name FROM system.main.duckdb_tables() "
        "UNION ALL SELECT database_name, schema_name, view_name FROM system.main.duckdb_views()) "
        "AS t WHERE system.main.lower(v.catalog) = system.main.lower(t.database_name) "
        "AND system.main.lower(v.schema) = system.main.lower(t.schema_name) "
        "AND system.main.lower(v.view) = system.main.lower(t.name) LIMIT 1";
    Capture *const capture = check->capture;
    Arena arena;
    duckdb_result result = {0};
    WEIR_TRY(weir_query(capture->connection, SQL, WEIR_ERR_HOST, &result, err));
    weir_arena_init(&arena, capture->mem, 0);
    Status status = WEIR_OK;
    Rows rows = weir_rows(&result);
    if (weir_rows_next(&rows)) {
        const char *const view = weir_rows_text(&rows, 0, &arena, err);
        const char *const schema = view == NULL ? NULL : weir_rows_text(&rows, 1, &arena, err);
        if (schema == NULL) {
            status = err->code;
        } else {
            status = weir_error_set(err, WEIR_ERR_NAME_CLASH,
                                    "there is a materialized view %s in schema %s already", view,
                                    schema);
            weir_error_hint(err, "choose another name, or DROP MATERIALIZED VIEW %s first", view);
        }
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    weir_arena_deinit(&arena);
    return status;
}

/* A view whose schema is not there any more. */
static Status lose_schema(Check *check, const TableName *view, Error *err)
{
    if (check->is_cascade && !check->capture->is_in_transaction) {
        return note_view(check, view, err);
    }
    weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS, "there is a materialized view %s in schema %s",
                   view->name, view->schema);
    weir_error_hint(err, "DROP MATERIALIZED VIEW %s.%s first%s", view->schema, view->name,
                    check->capture->is_in_transaction ? ", outside of a transaction"
                                                      : "; DROP SCHEMA ... CASCADE drops it too");
    return err->code;
}

static Status check_schemas(Check *check, Error *err)
{
    static const char SQL[] =
        "SELECT v.catalog, v.schema, v.view FROM system.main.dbsp_views() AS v "
        "WHERE NOT EXISTS (FROM system.main.duckdb_schemas() AS s WHERE "
        "system.main.lower(v.catalog) = system.main.lower(s.database_name) AND "
        "system.main.lower(v.schema) = system.main.lower(s.schema_name))";
    duckdb_result result = {0};
    WEIR_TRY(weir_query(check->capture->connection, SQL, WEIR_ERR_HOST, &result, err));
    Status status = WEIR_OK;
    Rows rows = weir_rows(&result);
    while (status == WEIR_OK && weir_rows_next(&rows)) {
        const char *parts[3] = {0};
        for (size_t i = 0; status == WEIR_OK && i < 3; i++) {
            parts[i] = weir_rows_text(&rows, i, &check->arena, err);
            status = parts[i] == NULL ? err->code : WEIR_OK;
        }
        if (status == WEIR_OK) {
            const TableName view = {.catalog = parts[0], .schema = parts[1], .name = parts[2]};
            status = lose_schema(check, &view, err);
        }
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return status;
}

/* ---- DETACH ----------------------------------------------------------------------------------- */

/* user: the span that writes the database's name. */
static Status check_detached(void *user, const FollowedTable *table, Error *err)
{
    const SqlSpan *const database = user;
    if (weir_name_is_written(database->start, database->size, table->name->catalog)) {
        weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS, "view %s reads table %s of database %s",
                       table->view->name, table->name->name, table->name->catalog);
    } else if (weir_name_is_written(database->start, database->size, table->view->catalog)) {
        weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS, "view %s is kept in database %s",
                       table->view->name, table->view->catalog);
    } else {
        return WEIR_OK;
    }
    weir_error_hint(err, "DROP MATERIALIZED VIEW %s first", table->view->name);
    return err->code;
}

static Status check_detach(Capture *capture, const WriteShape *shape, Error *err)
{
    SqlSpan database = shape->target;
    if (shape->kind != WRITE_DEFINITION || database.start == NULL) {
        return WEIR_OK;
    }
    return weir_engine_visit_followed(capture->database->engine, check_detached, &database, err);
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
    WEIR_TRY(check_detach(capture, shape, err));
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
    if (status == WEIR_OK && is_alone) {
        drop_views(&check);
    }
    weir_arena_deinit(&check.arena);
    return status;
}
