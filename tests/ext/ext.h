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

/* The view holds what its definition gives now. */
void verifies(Db *db, const char *view);

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

#endif
