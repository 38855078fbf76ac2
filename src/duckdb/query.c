/* query.c: running statements; DuckDB's messages; walking rows. */
#include "duckdb/query.h"

#include <stdlib.h>

/* "Binder Error: Catalog Error: x" -> "Catalog Error: x": the last prefix is the one that is meant.
 */
static const char *skip_doubled_prefix(const char *message)
{
    static const char ENDING[] = " Error: ";
    for (;;) {
        const char *const first = strstr(message, ENDING);
        if (first == NULL) {
            return message;
        }
        /* A prefix is one or two words: what follows must be another one at once. */
        const char *const rest = first + strlen(ENDING);
        const char *const second = strstr(rest, ENDING);
        if (second == NULL || second - rest > 24 ||
            strcspn(rest, ":\n\"'(") < (size_t)(second - rest)) {
            return message;
        }
        message = rest;
    }
}

/* What a function of Weir reported inside the statement keeps its code, message and hint:
 * "Invalid Input Error: DBSP-E001: out of memory (hint: ...)". False if it is another error. */
static bool take_own_error(const char *text, size_t size, Error *err)
{
    static const char PREFIX[] = " Error: ";
    static const char SCAN[] = "Error in replacement scan: "; /* DuckDB says so in front of ours */
    static const char CODE[] = "DBSP-E";
    static const char HINT[] = " (hint: ";
    const char *const place = strstr(text, "\n\nLINE "); /* of a statement that is Weir's own */
    const char *const end = place == NULL ? text + size : place;
    const char *const prefix = strstr(text, PREFIX);
    if (prefix == NULL || strchr(text, ':') != prefix + strlen(" Error")) {
        return false;
    }
    const char *own = prefix + strlen(PREFIX);
    own += strncmp(own, SCAN, strlen(SCAN)) == 0 ? strlen(SCAN) : 0;
    if (strncmp(own, CODE, strlen(CODE)) != 0) {
        return false;
    }
    char *rest = NULL;
    const long code = strtol(own + strlen(CODE), &rest, 10);
    if (rest != own + strlen(CODE) + 3 || strncmp(rest, ": ", 2) != 0 ||
        weir_error_summary((Status)code) == NULL) {
        return false;
    }
    const char *const message = rest + 2;
    const char *const hint = end[-1] == ')' ? strstr(message, HINT) : NULL;
    const char *const message_end = hint == NULL ? end : hint;
    weir_error_set(err, (Status)code, "%.*s", (int)(message_end - message), message);
    if (hint != NULL) {
        const char *const hint_start = hint + strlen(HINT);
        weir_error_hint(err, "%.*s", (int)(end - 1 - hint_start), hint_start);
    }
    return true;
}

Status weir_query_error(Error *err, Status code, const char *message)
{
    if (message == NULL) {
        return weir_error_set(err, code, "DuckDB failed without a message");
    }
    const char *const text = skip_doubled_prefix(message);
    const char *const trace = strstr(text, "\n\nStack Trace:");
    size_t size = trace == NULL ? strlen(text) : (size_t)(trace - text);
    while (size > 0 && text[size - 1] == '\n') {
        size--;
    }
    if (take_own_error(text, size, err)) {
        return err->code;
    }
    return weir_error_set(err, code, "%.*s", (int)WEIR_MIN(size, sizeof err->message), text);
}

/* Takes the error out of a result and destroys it. */
static Status take_error(duckdb_result *result, Status code, Error *err)
{
    const bool is_interrupt = duckdb_result_error_type(result) == DUCKDB_ERROR_INTERRUPT;
    const Status status = weir_query_error(err, is_interrupt ? WEIR_ERR_INTERRUPTED : code,
                                           duckdb_result_error(result));
    duckdb_destroy_result(result);
    return status;
}

Status weir_query(duckdb_connection connection, const char *sql, Status code, duckdb_result *out,
                  Error *err)
{
    duckdb_result result = {0};
    if (duckdb_query(connection, sql, &result) != DuckDBSuccess) {
        return take_error(&result, code, err);
    }
    *out = result;
    return WEIR_OK;
}

Status weir_query_execute(duckdb_prepared_statement statement, Status code, duckdb_result *out,
                          Error *err)
{
    duckdb_result result = {0};
    if (duckdb_execute_prepared(statement, &result) != DuckDBSuccess) {
        return take_error(&result, code, err);
    }
    *out = result;
    return WEIR_OK;
}

Status weir_query_bound(duckdb_connection connection, const char *sql, const char *const *texts,
                        size_t count, Status code, duckdb_result *out, Error *err)
{
    Status status = WEIR_OK;
    duckdb_prepared_statement statement = NULL;
    if (duckdb_prepare(connection, sql, &statement) != DuckDBSuccess) {
        status = weir_query_error(err, code, duckdb_prepare_error(statement));
        goto done;
    }
    for (size_t i = 0; i < count; i++) {
        const duckdb_state state = texts[i] == NULL
                                       ? duckdb_bind_null(statement, i + 1)
                                       : duckdb_bind_varchar(statement, i + 1, texts[i]);
        if (state != DuckDBSuccess) {
            status = weir_error_set(err, code, "cannot bind the text \"%s\"",
                                    texts[i] == NULL ? "NULL" : texts[i]);
            goto done;
        }
    }
    status = weir_query_execute(statement, code, out, err);
done:
    duckdb_destroy_prepare(&statement);
    return status;
}

Status weir_query_run(duckdb_connection connection, const char *sql, Error *err)
{
    duckdb_result result = {0};
    WEIR_TRY(weir_query(connection, sql, WEIR_ERR_HOST, &result, err));
    duckdb_destroy_result(&result);
    return WEIR_OK;
}

Status weir_query_touch_databases(duckdb_connection connection, Error *err)
{
    return weir_query_run(connection,
                          "SELECT system.main.count(*) FROM system.main.duckdb_tables()", err);
}

/* --- rows ------------------------------------------------------------------------------------- */

Rows weir_rows(duckdb_result *result)
{
    return (Rows){.result = result};
}

bool weir_rows_next(Rows *rows)
{
    rows->row++;
    while (rows->chunk == NULL || rows->row >= rows->count) {
        if (rows->chunk != NULL) {
            duckdb_destroy_data_chunk(&rows->chunk);
        }
        rows->chunk = duckdb_fetch_chunk(*rows->result);
        if (rows->chunk == NULL) {
            return false;
        }
        rows->count = duckdb_data_chunk_get_size(rows->chunk);
        rows->row = 0;
    }
    return true;
}

void weir_rows_deinit(Rows *rows)
{
    if (rows->chunk != NULL) {
        duckdb_destroy_data_chunk(&rows->chunk);
    }
    *rows = (Rows){0};
}

bool weir_rows_is_null(const Rows *rows, size_t column)
{
    return !weir_validity_get(
        duckdb_vector_get_validity(duckdb_data_chunk_get_vector(rows->chunk, column)), rows->row);
}

static const void *column_data(const Rows *rows, size_t column)
{
    return duckdb_vector_get_data(duckdb_data_chunk_get_vector(rows->chunk, column));
}

int64_t weir_rows_i64(const Rows *rows, size_t column)
{
    return ((const int64_t *)column_data(rows, column))[rows->row];
}

uint64_t weir_rows_u64(const Rows *rows, size_t column)
{
    return ((const uint64_t *)column_data(rows, column))[rows->row];
}

bool weir_rows_bool(const Rows *rows, size_t column)
{
    return ((const uint8_t *)column_data(rows, column))[rows->row] != 0;
}

char *weir_rows_text(const Rows *rows, size_t column, Arena *arena, Error *err)
{
    if (weir_rows_is_null(rows, column)) {
        return weir_arena_strdup(arena, "", err);
    }
    const String *const text = &((const String *)column_data(rows, column))[rows->row];
    return weir_arena_strndup(arena, weir_string_data(text), weir_string_size(text), err);
}
