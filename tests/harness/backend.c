/* backend.c: see backend.h. */
#include "backend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const fault_names[FAULT_COUNT] = {
    [FAULT_NONE] = "none", [FAULT_STALE] = "stale", [FAULT_LOST] = "lost", [FAULT_TWICE] = "twice",
    [FAULT_NEAR] = "near", [FAULT_ZERO] = "zero",   [FAULT_FEED] = "feed", [FAULT_CRASH] = "crash",
};

Fault fault_find(const char *name)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (strcmp(fault_names[i], name) == 0) {
            return (Fault)i;
        }
    }
    return FAULT_COUNT;
}

bool backend_open(Backend *backend, BackendKind kind, duckdb_connection connection, Text *error)
{
    *backend = (Backend){.kind = kind, .connection = connection};
    return db_run(connection, "ATTACH IF NOT EXISTS ':memory:' AS shadow", error);
}

static bool call_on_view(const Backend *backend, const char *function, const char *name,
                         const char *sql, Text *error)
{
    Text call = {0};
    text_addf(&call, "CALL %s(", function);
    text_add_literal(&call, name);
    if (sql != NULL) {
        text_add(&call, ", ");
        text_add_literal(&call, sql);
    }
    text_add_char(&call, ')');
    const bool is_good = db_run(backend->connection, call.data, error);
    text_free(&call);
    return is_good;
}

/* The model's first content and its empty feed. */
static bool model_create(Backend *backend, const char *name, const char *query, Text *error)
{
    Text sql = {0};
    text_addf(&sql, "CREATE TABLE shadow.\"%s\" AS %s;", name, query);
    text_addf(&sql,
              "CREATE TABLE shadow.\"changes_%s\" AS SELECT *, CAST(0 AS BIGINT) AS weight, "
              "CAST(0 AS BIGINT) AS generation FROM shadow.\"%s\" LIMIT 0",
              name, name);
    const bool is_good = db_run(backend->connection, sql.data, error);
    text_free(&sql);
    if (is_good) {
        text_list_add(&backend->names, name);
        text_list_add(&backend->queries, query);
    }
    return is_good;
}

bool backend_create(Backend *backend, const char *name, const char *sql, const char *expanded,
                    Text *error)
{
    if (backend->kind == BACKEND_EXTENSION) {
        return call_on_view(backend, "dbsp_create_view", name, sql, error);
    }
    return model_create(backend, name, expanded, error);
}

static void model_forget(Backend *backend, size_t index)
{
    test_free(backend->names.items[index]);
    test_free(backend->queries.items[index]);
    backend->names.count--;
    backend->queries.count--;
    for (size_t i = index; i < backend->names.count; i++) {
        backend->names.items[i] = backend->names.items[i + 1];
        backend->queries.items[i] = backend->queries.items[i + 1];
    }
}

bool backend_drop(Backend *backend, const char *name, Text *error)
{
    if (backend->kind == BACKEND_EXTENSION) {
        return call_on_view(backend, "dbsp_drop", name, NULL, error);
    }
    for (size_t i = 0; i < backend->names.count; i++) {
        if (strcmp(backend->names.items[i], name) == 0) {
            model_forget(backend, i);
            break;
        }
    }
    char *sql = text_format("DROP TABLE IF EXISTS shadow.\"%s\"; DROP TABLE shadow.\"changes_%s\"",
                            name, name);
    const bool is_good = db_run(backend->connection, sql, error);
    test_free(sql);
    return is_good;
}

/* One column of the model's view that is a double, or NULL. */
static char *find_double(Backend *backend, const char *name)
{
    Rows rows = {0};
    Text error = {0};
    char *column = NULL;
    char *sql = text_format("DESCRIBE shadow.\"%s\"", name);
    if (db_fetch(backend->connection, sql, &rows, &error)) {
        for (size_t i = 0; i < rows.row_count && column == NULL; i++) {
            if (strcmp(rows_cell(&rows, i, 1), "DOUBLE") == 0) {
                column = test_copy(rows_cell(&rows, i, 0));
            }
        }
    }
    rows_free(&rows);
    text_free(&error);
    test_free(sql);
    return column;
}

static bool model_break_double(Backend *backend, const char *name, Text *error)
{
    char *column = find_double(backend, name);
    if (column == NULL) {
        return true;
    }
    /* Not by UPDATE: DuckDB keeps the old spelling where the new value is equal. */
    Text sql = {0};
    text_addf(&sql,
              "CREATE OR REPLACE TABLE shadow.next AS SELECT * REPLACE (\"%s\" %s AS \"%s\") "
              "FROM shadow.\"%s\"; DELETE FROM shadow.\"%s\"; "
              "INSERT INTO shadow.\"%s\" FROM shadow.next",
              column, backend->fault == FAULT_NEAR ? "* 1.000001" : "+ 0.0", column, name, name,
              name);
    const bool is_good = db_run(backend->connection, sql.data, error);
    text_free(&sql);
    test_free(column);
    return is_good;
}

static bool model_break(Backend *backend, const char *name, Text *error)
{
    const char *format = "";
    switch (backend->fault) {
    case FAULT_LOST:
        format = "DELETE FROM shadow.\"%s\" WHERE rowid = (SELECT max(rowid) FROM shadow.\"%s\")";
        break;
    case FAULT_TWICE:
        format = "INSERT INTO shadow.\"%s\" SELECT * FROM shadow.\"%s\" LIMIT 1";
        break;
    case FAULT_NEAR:
    case FAULT_ZERO: return model_break_double(backend, name, error);
    case FAULT_CRASH: abort();
    case FAULT_FEED:
    case FAULT_NONE:
    case FAULT_STALE:
    case FAULT_COUNT: return true;
    }
    Text sql = {0};
    for (const char *c = format; *c != '\0'; c++) {
        if (c[0] == '%' && c[1] == 's') {
            text_add(&sql, name);
            c++;
        } else {
            text_add_char(&sql, *c);
        }
    }
    const bool is_good = db_run(backend->connection, sql.data, error);
    text_free(&sql);
    return is_good;
}

/* A definition that fails makes its view unreadable, as in Weir: the table is dropped. */
static bool model_sync_view(Backend *backend, const char *name, const char *query, Text *error)
{
    Text sql = {0};
    text_addf(&sql, "CREATE OR REPLACE TABLE shadow.next AS %s", query);
    if (!db_run(backend->connection, sql.data, error)) {
        Text ignored = {0};
        text_clear(&sql);
        text_addf(&sql, "DROP TABLE IF EXISTS shadow.\"%s\"", name);
        db_run(backend->connection, sql.data, &ignored);
        text_free(&ignored);
        text_free(&sql);
        return true;
    }
    text_clear(&sql);
    text_addf(&sql, "CREATE TABLE IF NOT EXISTS shadow.\"%s\" AS FROM shadow.next LIMIT 0;", name);
    text_addf(&sql,
              "INSERT INTO shadow.\"changes_%s\" SELECT *, -1, %" PRId64
              " FROM (FROM shadow.\"%s\" EXCEPT ALL FROM shadow.next)%s;",
              name, backend->generation, name, backend->fault == FAULT_FEED ? " LIMIT 0" : "");
    text_addf(&sql,
              "INSERT INTO shadow.\"changes_%s\" SELECT *, 1, %" PRId64
              " FROM (FROM shadow.next EXCEPT ALL FROM shadow.\"%s\");",
              name, backend->generation, name);
    text_addf(&sql, "DELETE FROM shadow.\"%s\"; INSERT INTO shadow.\"%s\" FROM shadow.next", name,
              name);
    bool is_good = db_run(backend->connection, sql.data, error);
    text_free(&sql);
    /* A view stays right for a while, so that its fault is one of maintenance. */
    if (is_good && backend->generation > 3) {
        is_good = model_break(backend, name, error);
    }
    return is_good;
}

bool backend_sync(Backend *backend, Text *error)
{
    if (backend->kind == BACKEND_EXTENSION) {
        return db_run(backend->connection, "CALL dbsp_sync()", error);
    }
    backend->generation++;
    if (backend->fault == FAULT_STALE && backend->generation > 3) {
        return true;
    }
    bool is_good = true;
    for (size_t i = 0; i < backend->names.count; i++) {
        if (!model_sync_view(backend, backend->names.items[i], backend->queries.items[i], error)) {
            is_good = false;
        }
    }
    return is_good;
}

char *backend_content(const Backend *backend, const char *name)
{
    return text_format(backend->kind == BACKEND_EXTENSION ? "\"%s\"" : "shadow.\"%s\"", name);
}

char *backend_changes(const Backend *backend, const char *name, int64_t since)
{
    if (backend->kind == BACKEND_EXTENSION) {
        return text_format("dbsp_changes('%s', since := %" PRId64 ")", name, since);
    }
    return text_format("(SELECT * FROM shadow.\"changes_%s\" WHERE generation > %" PRId64 ")", name,
                       since);
}

bool backend_generation(Backend *backend, int64_t *generation, Text *error)
{
    if (backend->kind == BACKEND_EXTENSION) {
        return db_number(backend->connection, "SELECT generation FROM dbsp_sync()", generation,
                         error);
    }
    *generation = backend->generation;
    return true;
}

bool backend_has(Backend *backend, const char *name, Text *error)
{
    if (backend->kind == BACKEND_COPY) {
        return text_list_has(&backend->names, name);
    }
    int64_t count = 0;
    char *sql = text_format("SELECT count(*) FROM dbsp_views() WHERE view = '%s'", name);
    const bool is_good = db_number(backend->connection, sql, &count, error);
    test_free(sql);
    return is_good && count > 0;
}

void backend_close(Backend *backend)
{
    text_list_free(&backend->names);
    text_list_free(&backend->queries);
    *backend = (Backend){0};
}
