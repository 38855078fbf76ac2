/* test_memory.c: every allocation fails in turn, once or for ever; the database must stay whole: what is in
 * the tables is in the log, and nothing else. */
#include "story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* --- an allocator that fails --- */

static sqlite3_mem_methods real_methods;
static long fail_at; /* the allocation that fails, 0 for none */
static long allocation_count;
static int fails_on;

static int must_fail(void)
{
    allocation_count++;
    return fail_at > 0 && (allocation_count == fail_at || (fails_on && allocation_count > fail_at));
}

static void *failing_malloc(int size)
{
    return must_fail() ? NULL : real_methods.xMalloc(size);
}

static void *failing_realloc(void *memory, int size)
{
    return must_fail() ? NULL : real_methods.xRealloc(memory, size);
}

static int install(void **state)
{
    (void)state;
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_methods) != SQLITE_OK) {
        return 1;
    }
    sqlite3_mem_methods methods = real_methods;
    methods.xMalloc = failing_malloc;
    methods.xRealloc = failing_realloc;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK ||
           sqlite3_initialize() != SQLITE_OK;
}

/* --- failures --- */

static sqlite3 *open_first_state(const char *enable)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, STORY_SCHEMA, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, enable, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/* Fails at each allocation of the workload, or at every `step`-th; returns how many there were. */
static long fail_everywhere(const char *enable, int for_ever, long step)
{
    for (long point = 1;; point += step) {
        sqlite3 *const db = open_first_state(enable);
        sqlite3 *const first = open_first_state(enable);
        allocation_count = 0;
        fails_on = for_ever;
        fail_at = point;
        story_run(db);
        fail_at = 0;
        const int is_over = allocation_count < point;
        story_check(db, first, point);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(sqlite3_close(first), SQLITE_OK);
        if (is_over) {
            return point;
        }
    }
}

static const char ENABLE[] = "PRAGMA capture_data_changes_conn('full')";
static const char ENABLE_INDEXED[] =
    "PRAGMA capture_data_changes_conn('full');"
    "CREATE INDEX li ON turso_cdc(table_name); DELETE FROM turso_cdc";

static void each_allocation_may_fail_once(void **state)
{
    (void)state;
    print_message("%ld points\n", fail_everywhere(ENABLE, 0, 1));
    assert_int_equal(sqlite3_memory_used(), 0);
}

static void allocations_may_fail_with_an_index_on_the_log(void **state)
{
    (void)state;
    print_message("%ld points\n", fail_everywhere(ENABLE_INDEXED, 0, 3));
    assert_int_equal(sqlite3_memory_used(), 0);
}

static void allocations_may_fail_for_ever(void **state)
{
    (void)state;
    print_message("%ld points\n", fail_everywhere(ENABLE, 1, 5));
    assert_int_equal(sqlite3_memory_used(), 0);
}

static int count_rows(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    const int count = sqlite3_column_int(row, 0);
    (void)sqlite3_finalize(row);
    return count;
}

static const char COUNT_TABLES[] =
    "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'turso_cdc%'";

/* Enabling fails at each allocation: all or nothing. */
static void enabling_may_fail_anywhere(void **state)
{
    (void)state;
    int rc = SQLITE_NOMEM;
    for (long point = 1; rc != SQLITE_OK; point++) {
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, STORY_SCHEMA, NULL, NULL, NULL), SQLITE_OK);
        allocation_count = 0;
        fails_on = 0;
        fail_at = point;
        rc = sqlite3_exec(db, ENABLE, NULL, NULL, NULL);
        fail_at = 0;
        assert_int_equal(sqlite3_get_autocommit(db), 1);
        const int is_on =
            count_rows(db, "SELECT mode = 'full' FROM pragma_capture_data_changes_conn");
        const int tables = count_rows(db, COUNT_TABLES);
        /* Memory may also run out after the tables are made: then they stay, and are used next time. */
        assert_int_equal(is_on, rc == SQLITE_OK);
        assert_true(tables == 0 || tables == 2);
        assert_int_equal(sqlite3_exec(db, ENABLE, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "INSERT INTO l VALUES (1)", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
    assert_int_equal(sqlite3_memory_used(), 0);
}

/* In a transaction of the user's, which goes on as it was, or is gone with all that it wrote. */
static void enabling_may_fail_in_a_transaction(void **state)
{
    (void)state;
    int rc = SQLITE_NOMEM;
    for (long point = 1; rc != SQLITE_OK; point++) {
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, STORY_SCHEMA, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "BEGIN; INSERT INTO l VALUES (1)", NULL, NULL, NULL),
                         SQLITE_OK);
        allocation_count = 0;
        fails_on = 0;
        fail_at = point;
        rc = sqlite3_exec(db, ENABLE, NULL, NULL, NULL);
        fail_at = 0;
        assert_int_equal(count_rows(db, "SELECT count(*) FROM l"), !sqlite3_get_autocommit(db));
        if (rc != SQLITE_OK) {
            const int tables =
                count_rows(db, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'turso_cdc%'");
            assert_true(tables == 0 || tables == 2); /* made, and then no memory for the name */
            assert_int_not_equal(
                sqlite3_exec(db, "RELEASE \"weir capture setup\"", NULL, NULL, NULL), SQLITE_OK);
        }
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
}

/* Finding and keeping a gap fails at each allocation: it is kept or can still be found. */
static void a_gap_is_never_lost(void **state)
{
    static const char *const JOURNALS[] = {"DELETE", "WAL"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        int rc = SQLITE_NOMEM;
        for (long point = 1; rc != SQLITE_OK; point++) {
            sqlite3 *db = NULL;
            const sqlite3_int64 after = story_make_gap("memory.db", JOURNALS[i]);
            assert_int_equal(sqlite3_open("memory.db", &db), SQLITE_OK);
            assert_int_equal(sqlite3_exec(db, ENABLE, NULL, NULL, NULL), SQLITE_OK);
            allocation_count = 0;
            fails_on = 0;
            fail_at = point;
            rc = sqlite3_exec(db, "UPDATE t SET z=9 WHERE x=1", NULL, NULL, NULL);
            (void)sqlite3_exec(db, "SELECT * FROM pragma_capture_data_changes_gaps", NULL, NULL,
                               NULL);
            fail_at = 0;
            assert_int_equal(sqlite3_close(db), SQLITE_OK);
            story_check_gap("memory.db", after, point);
        }
    }
    assert_int_equal(sqlite3_memory_used(), 0);
}

/* The database may not grow: the statement that hits the limit leaves nothing. */
static void a_full_database_stays_whole(void **state)
{
    (void)state;
    for (int pages = 12; pages < 40; pages++) {
        sqlite3 *const db = open_first_state(ENABLE);
        sqlite3 *const first = open_first_state(ENABLE);
        char *const limit = sqlite3_mprintf("PRAGMA max_page_count=%d", pages);
        assert_int_equal(sqlite3_exec(db, limit, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_free(limit);
        story_run(db);
        (void)sqlite3_exec(db, "PRAGMA max_page_count=100000", NULL, NULL, NULL);
        story_check(db, first, pages);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(sqlite3_close(first), SQLITE_OK);
    }
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(each_allocation_may_fail_once),
        cmocka_unit_test(allocations_may_fail_with_an_index_on_the_log),
        cmocka_unit_test(allocations_may_fail_for_ever),
        cmocka_unit_test(enabling_may_fail_anywhere),
        cmocka_unit_test(enabling_may_fail_in_a_transaction),
        cmocka_unit_test(a_gap_is_never_lost),
        cmocka_unit_test(a_full_database_stays_whole),
    };
    return cmocka_run_group_tests(TESTS, install, NULL);
}
