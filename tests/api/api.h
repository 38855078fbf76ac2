/* api.h: what the tests of libweir share: statements that must succeed, fail, or give certain rows. */
#ifndef WEIR_TESTS_API_API_H
#define WEIR_TESTS_API_API_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

#include <cmocka.h>

/* NULL = in memory. */
WeirDb *api_open(const char *path);
WeirDb *api_connect(WeirDb *db);

/* Every statement of the text must succeed. */
void run(WeirDb *db, const char *sql);

/* The rows of the last statement, one a line with its newline, values separated by '|'; for one that
 * has no rows of its own "changed N". The caller frees it. NULL, and *err filled, if one fails. */
char *try_run(WeirDb *db, const char *sql, WeirError *err);

void gives(WeirDb *db, const char *sql, const char *rows);

/* It must fail, with a message that contains this. */
void fails(WeirDb *db, const char *sql, const char *message);

/* A path for a file of this process; the caller frees it. */
char *test_path(const char *name);

#endif
