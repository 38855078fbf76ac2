/* ext.h: what the tests of the extension share: a database with the extension loaded, statements
 * that must succeed, give certain rows, or fail with a certain message.
 *
 * Every program takes the extension's path as its argument. */
#ifndef WEIR_TESTS_EXT_EXT_H
#define WEIR_TESTS_EXT_EXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"

#include <cmocka.h>

/* cmocka has macros of these names, for mallocs of its own; here they are the harness's. */
#undef test_free
#undef test_realloc

/* The extension's path, from the command line. */
extern const char *ext_path;

/* A cmocka test with a database in memory as its state. */
#define EXT_TEST(function) cmocka_unit_test_setup_teardown(function, ext_setup, ext_teardown)
int ext_setup(void **state);
int ext_teardown(void **state);

/* Opens a database file (NULL = in memory) with the extension loaded. */
void ext_open(Db *db, const char *path);

/* A path for a database of this test, of which no file exists; the caller frees it. */
char *ext_new_path(const char *name);

/* True if another process can lock the file: nobody holds it any more. */
bool ext_is_free(const char *path);

/* Statements on connection 0, and on connection `index`. */
void run(Db *db, const char *sql);
void run_on(Db *db, size_t index, const char *sql);

/* The rows, one a line with its newline, values separated by '|', must be these. */
void gives(Db *db, const char *sql, const char *rows);
void gives_on(Db *db, size_t index, const char *sql, const char *rows);

/* The statement must fail, with this text in its message. */
void fails(Db *db, const char *sql, const char *part);
void fails_on(Db *db, size_t index, const char *sql, const char *part);

/* The first number of the first row. */
int64_t number(Db *db, const char *sql);

/* Makes the table t (a INTEGER, b VARCHAR) of these rows. */
void make_t(Db *db, const char *rows);

/* CALL dbsp_create_view(view, definition). */
void create_view(Db *db, const char *view, const char *definition);

/* The view holds what its definition gives now: says dbsp_verify, which knows the session that the
 * definition was written in. */
void says_ok(Db *db, const char *view);

/* The same, and says DuckDB, which runs the definition in the session of connection 0. */
void verifies(Db *db, const char *view);

/* The rows of the table copy_<view>, taken from the view as of generation `since`, and the changes
 * after that generation add up to what the view holds now. */
void adds_up(Db *db, const char *view, const char *columns, int64_t since);

/* The tests of the program's main: takes the path, runs the group. */
#define EXT_MAIN(tests)                                   \
    int main(int argc, char **argv)                       \
    {                                                     \
        if (!ext_take_path(argc, argv)) {                 \
            return 2;                                     \
        }                                                 \
        return cmocka_run_group_tests(tests, NULL, NULL); \
    }
bool ext_take_path(int argc, char **argv);

/* The same of "EXTENSION [COUNT [SEED]]"; what is not given stays as it is. `what` is counted. */
bool ext_take_run(int argc, char **argv, const char *what, long *count, uint64_t *seed);

#endif
