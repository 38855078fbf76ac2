/* duck.c: see duck.h. */
#include "duck.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DUCK_SQL_BYTES = 4096 };

static void duck_query(Duck *duck, const char *sql, duckdb_result *result)
{
    if (duckdb_query(duck->connection, sql, result) != DuckDBSuccess) {
        bench_fail("%s\nin: %s", duckdb_result_error(result), sql);
    }
}

void duck_open(Duck *duck, const char *extension)
{
    duckdb_config config = NULL;
    char *message = NULL;
    *duck = (Duck){0};
    if (extension == NULL) {
        bench_fail("which extension? --ext FILE");
    }
    duckdb_create_config(&config);
    duckdb_set_config(config, "allow_unsigned_extensions", "true");
    const duckdb_state state = duckdb_open_ext(NULL, &duck->database, config, &message);
    duckdb_destroy_config(&config);
    if (state != DuckDBSuccess ||
        duckdb_connect(duck->database, &duck->connection) != DuckDBSuccess) {
        bench_fail("cannot open a database: %s", message == NULL ? "no reason given" : message);
    }
    duck_run(duck, "LOAD '%s'", extension);
}

void duck_close(Duck *duck)
{
    duckdb_disconnect(&duck->connection);
    duckdb_close(&duck->database);
}

static double duck_time_list(Duck *duck, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static double duck_time_list(Duck *duck, const char *format, va_list args)
{
    char sql[DUCK_SQL_BYTES];
    duckdb_result result;
    (void)vsnprintf(sql, sizeof sql, format, args);
    const double start = bench_now_ms();
    duck_query(duck, sql, &result);
    duckdb_destroy_result(&result);
    return bench_now_ms() - start;
}

void duck_run(Duck *duck, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    duck_time_list(duck, format, args);
    va_end(args);
}

double duck_time(Duck *duck, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const double elapsed = duck_time_list(duck, format, args);
    va_end(args);
    return elapsed;
}

double duck_number(Duck *duck, const char *format, ...)
{
    char sql[DUCK_SQL_BYTES];
    duckdb_result result;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    duck_query(duck, sql, &result);
    const double number = duckdb_value_double(&result, 0, 0);
    duckdb_destroy_result(&result);
    return number;
}

void duck_verify(Duck *duck, const char *view)
{
    const double wrong =
        duck_number(duck, "SELECT count(*) FROM dbsp_verify('%s') WHERE result <> 'ok'", view);
    if (wrong > 0) {
        bench_fail("view %s differs from its definition in %.0f rows", view, wrong);
    }
}
