/* embedded.c: see embedded.h. */
#include "embedded.h"

#include "bench.h"

#include <stdarg.h>
#include <stdio.h>

enum { SQL_SIZE = 1024 };

WeirDb *embedded_open(void)
{
    WeirDb *db = NULL;
    WeirError err = {0};
    if (weir_open(NULL, &db, &err) != WEIR_OK) {
        bench_fail("%s", err.message);
    }
    return db;
}

void run(WeirDb *db, const char *format, ...)
{
    char sql[SQL_SIZE];
    WeirError err = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sql, sizeof sql, format, arguments);
    va_end(arguments);
    const char *rest = sql;
    while (*rest != '\0') {
        if (weir_execute(db, rest, &rest, NULL, &err) != WEIR_OK) {
            bench_fail("%s: %s", sql, err.message);
        }
    }
}
