/* duck.h: a DuckDB database in memory with the extension loaded, and statements with their time. */
#ifndef WEIR_BENCH_DUCK_H
#define WEIR_BENCH_DUCK_H

#include "bench.h"

#include <duckdb.h>

typedef struct Duck {
    duckdb_database database;
    duckdb_connection connection;
} Duck;

void duck_open(Duck *duck, const char *extension);
void duck_close(Duck *duck);

/* Runs statements; a failure ends the program. */
void duck_run(Duck *duck, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same; returns how long it took. */
double duck_time(Duck *duck, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first value of the first row. */
double duck_number(Duck *duck, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the program unless the view equals its definition. */
void duck_verify(Duck *duck, const char *view);

#endif
