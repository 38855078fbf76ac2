/* duck.h: what the tests of src/duckdb share: a database in memory, statements, single answers. */
#ifndef WEIR_TEST_DUCK_H
#define WEIR_TEST_DUCK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "duckdb/api.h"
#include "base/arena.h"

/* Fails the test with what went wrong. */
#define ASSERT_OK(status, err)                                           \
    do {                                                                 \
        if ((status) != WEIR_OK) {                                       \
            fail_msg("%s (error %d)", (err)->message, (int)(err)->code); \
        }                                                                \
    } while (0)

/* Runs statements that must succeed. */
static inline void duck_run(duckdb_connection connection, const char *sql)
{
    duckdb_result result = {0};
    if (duckdb_query(connection, sql, &result) != DuckDBSuccess) {
        fail_msg("%s: %s", sql, duckdb_result_error(&result));
    }
    duckdb_destroy_result(&result);
}

/* Runs statements with values put in as by printf. */
static inline void duck_runf(duckdb_connection connection, const char *format, ...)
    WEIR_PRINTF(2, 3);

static inline void duck_runf(duckdb_connection connection, const char *format, ...)
{
    char sql[4096];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(sql, sizeof sql, format, arguments);
    va_end(arguments);
    assert_in_range(length, 1, sizeof sql - 1);
    duck_run(connection, sql);
}

/* The first value of the first row, which must be a BIGINT. */
static inline int64_t duck_count(duckdb_connection connection, const char *sql)
{
    duckdb_result result = {0};
    if (duckdb_query(connection, sql, &result) != DuckDBSuccess) {
        fail_msg("%s: %s", sql, duckdb_result_error(&result));
    }
    assert_int_equal(duckdb_column_type(&result, 0), DUCKDB_TYPE_BIGINT);
    duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
    assert_non_null(chunk);
    int64_t value;
    memcpy(&value, duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 0)), sizeof value);
    duckdb_destroy_data_chunk(&chunk);
    duckdb_destroy_result(&result);
    return value;
}

#endif
