/* db.c: see db.h. */
#include "db.h"

#include "render.h"

#include <stdio.h>
#include <stdlib.h>

static bool db_open_handle(Db *db, const DbOptions *options, Text *error)
{
    duckdb_config config = NULL;
    if (duckdb_create_config(&config) != DuckDBSuccess) {
        text_add(error, "cannot make a configuration");
        return false;
    }
    duckdb_set_config(config, "allow_unsigned_extensions", "true");
    char *message = NULL;
    const duckdb_state state = duckdb_open_ext(options->path, &db->handle, config, &message);
    duckdb_destroy_config(&config);
    if (state != DuckDBSuccess) {
        text_add(error, message == NULL ? "cannot open the database" : message);
        duckdb_free(message);
        return false;
    }
    return true;
}

bool db_open(Db *db, const DbOptions *options, Text *error)
{
    *db = (Db){0};
    text_clear(error);
    if (!db_open_handle(db, options, error)) {
        return false;
    }
    if (options->extension == NULL) {
        return true;
    }
    Text load = {0};
    text_add(&load, "LOAD ");
    text_add_literal(&load, options->extension);
    const bool is_loaded = db_run(db_connection(db, 0), load.data, error);
    text_free(&load);
    if (!is_loaded) {
        db_close(db);
    }
    return is_loaded;
}

void db_close(Db *db)
{
    for (size_t i = 0; i < DB_CONNECTIONS_MAX; i++) {
        if (db->connections[i] != NULL) {
            duckdb_disconnect(&db->connections[i]);
        }
    }
    if (db->handle != NULL) {
        duckdb_close(&db->handle);
    }
    *db = (Db){0};
}

duckdb_connection db_connection(Db *db, size_t index)
{
    if (db->connections[index] == NULL) {
        if (duckdb_connect(db->handle, &db->connections[index]) != DuckDBSuccess) {
            db->connections[index] = NULL;
        }
    }
    return db->connections[index];
}

static bool db_query(duckdb_connection connection, const char *sql, duckdb_result *result,
                     Text *error)
{
    text_clear(error);
    if (connection == NULL) {
        text_add(error, "no connection");
        return false;
    }
    if (duckdb_query(connection, sql, result) == DuckDBSuccess) {
        return true;
    }
    const char *message = duckdb_result_error(result);
    text_add(error, message == NULL ? "unknown error" : message);
    duckdb_destroy_result(result);
    return false;
}

bool db_run(duckdb_connection connection, const char *sql, Text *error)
{
    duckdb_result result;
    if (!db_query(connection, sql, &result, error)) {
        return false;
    }
    duckdb_destroy_result(&result);
    return true;
}

static void rows_add_chunk(Rows *rows, duckdb_data_chunk chunk, const duckdb_logical_type *types)
{
    const size_t count = duckdb_data_chunk_get_size(chunk);
    const size_t cell_count = (rows->row_count + count) * rows->column_count;
    rows->cells = test_realloc(rows->cells, cell_count * sizeof *rows->cells);
    Text text = {0};
    for (size_t column = 0; column < rows->column_count; column++) {
        duckdb_vector vector = duckdb_data_chunk_get_vector(chunk, column);
        for (size_t row = 0; row < count; row++) {
            text_clear(&text);
            const bool is_valid = render_value(&text, vector, types[column], row);
            char **cell = &rows->cells[(rows->row_count + row) * rows->column_count + column];
            *cell = is_valid ? test_copy(text_get(&text)) : NULL;
        }
    }
    text_free(&text);
    rows->row_count += count;
}

bool db_fetch(duckdb_connection connection, const char *sql, Rows *rows, Text *error)
{
    *rows = (Rows){0};
    duckdb_result result;
    if (!db_query(connection, sql, &result, error)) {
        return false;
    }
    rows->column_count = duckdb_column_count(&result);
    rows->names = test_alloc((rows->column_count + 1) * sizeof *rows->names);
    duckdb_logical_type *types = test_alloc((rows->column_count + 1) * sizeof(duckdb_logical_type));
    for (size_t i = 0; i < rows->column_count; i++) {
        rows->names[i] = test_copy(duckdb_column_name(&result, i));
        types[i] = duckdb_column_logical_type(&result, i);
    }
    duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
    while (chunk != NULL) {
        rows_add_chunk(rows, chunk, types);
        duckdb_destroy_data_chunk(&chunk);
        chunk = duckdb_fetch_chunk(result);
    }
    for (size_t i = 0; i < rows->column_count; i++) {
        duckdb_destroy_logical_type(&types[i]);
    }
    test_free(types);
    duckdb_destroy_result(&result);
    return true;
}

bool db_number(duckdb_connection connection, const char *sql, int64_t *value, Text *error)
{
    Rows rows = {0};
    *value = 0;
    if (!db_fetch(connection, sql, &rows, error)) {
        return false;
    }
    const char *cell = rows_cell(&rows, 0, 0);
    if (cell != NULL) {
        *value = strtoll(cell, NULL, 10);
    }
    rows_free(&rows);
    return true;
}

void rows_free(Rows *rows)
{
    for (size_t i = 0; i < rows->column_count; i++) {
        test_free(rows->names[i]);
    }
    for (size_t i = 0; i < rows->row_count * rows->column_count; i++) {
        test_free(rows->cells[i]);
    }
    test_free(rows->names);
    test_free(rows->cells);
    *rows = (Rows){0};
}

const char *rows_cell(const Rows *rows, size_t row, size_t column)
{
    if (row >= rows->row_count || column >= rows->column_count) {
        return NULL;
    }
    return rows->cells[row * rows->column_count + column];
}

void rows_print(const Rows *rows, Text *out)
{
    for (size_t row = 0; row < rows->row_count; row++) {
        for (size_t column = 0; column < rows->column_count; column++) {
            const char *cell = rows_cell(rows, row, column);
            text_add(out, column > 0 ? "|" : "");
            text_add(out, cell == NULL ? "NULL" : cell);
        }
        text_add_char(out, '\n');
    }
}

void db_remove_file(const char *path)
{
    char *log = text_format("%s.wal", path);
    (void)remove(path);
    (void)remove(log);
    test_free(log);
}
