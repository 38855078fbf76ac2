/* test_memory.c: every allocation fails in turn, once or for ever; the database must stay whole: what is in
 * the tables is in the log, and nothing else. */
#include "replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
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

/* --- a workload --- */

static const char SCHEMA[] =
    "PRAGMA foreign_keys=1; PRAGMA recursive_triggers=1;"
    "CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE, z REAL);"
    "CREATE TABLE c(p REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE, v);"
    "CREATE TABLE l(m);"
    "CREATE TRIGGER g AFTER UPDATE ON t BEGIN INSERT INTO l VALUES (old.y); END;"
    "INSERT INTO t VALUES (1,1,1),(2,2,2),(3,3,3); INSERT INTO c VALUES (1,'a'),(2,'b');"
    "ALTER TABLE t ADD COLUMN w DEFAULT 'new';";

static const char SHOW_RECORDS[] =
    "SELECT count(bin_record_json_object_full(table_columns_json_array(table_name), after)) "
    "FROM turso_cdc WHERE table_name<>'sqlite_schema'";

static const char *const STATEMENTS[] = {
    "INSERT INTO t VALUES (4,4,4,zeroblob(2000)),(5,5,5,'five')",
    "UPDATE t SET z=z+1, y=y+10 WHERE x>1",
    "INSERT OR REPLACE INTO t VALUES (1,12,0,'r')",
    "BEGIN",
    "INSERT INTO t(y) VALUES (50) ON CONFLICT DO UPDATE SET z=0",
    "SAVEPOINT s",
    "DELETE FROM t WHERE x=3",
    "ROLLBACK TO s",
    "UPDATE t SET x=x+100 WHERE x=2",
    "COMMIT",
    "CREATE TABLE n AS SELECT x, w FROM t",
    "ALTER TABLE n ADD COLUMN extra DEFAULT 3",
    "DELETE FROM n",
    "ALTER TABLE n RENAME COLUMN x TO xx",
    "CREATE INDEX ni ON n(w)",
    "DROP TABLE n",
    "PRAGMA capture_data_changes_conn('full')",
    SHOW_RECORDS,
    "DELETE FROM t",
};

static void run_statements(sqlite3 *db)
{
    for (size_t i = 0; i < sizeof STATEMENTS / sizeof STATEMENTS[0]; i++) {
        (void)sqlite3_exec(db, STATEMENTS[i], NULL, NULL, NULL);
    }
    sqlite3_blob *blob = NULL;
    if (sqlite3_blob_open(db, "main", "c", "v", 1, 1, &blob) == SQLITE_OK) {
        (void)sqlite3_blob_write(blob, "z", 1, 0);
    }
    (void)sqlite3_blob_close(blob);
}

static sqlite3 *open_first_state(const char *enable)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, SCHEMA, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, enable, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void check(sqlite3 *db, sqlite3 *first, long point)
{
    Text problem = {0};
    sqlite3_stmt *integrity = NULL;
    if (!sqlite3_get_autocommit(db)) {
        assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    }
    (void)sqlite3_exec(
        first, "DROP TRIGGER g; PRAGMA foreign_keys=0; PRAGMA capture_data_changes_conn('off')",
        NULL, NULL, NULL);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &integrity, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(integrity), SQLITE_ROW);
    if (strcmp((const char *)sqlite3_column_text(integrity, 0), "ok") != 0) {
        fail_msg("point %ld: %s", point, sqlite3_column_text(integrity, 0));
    }
    sqlite3_finalize(integrity);
    if (replay_check_rules(db, "turso_cdc", &problem) ||
        replay_forward(first, db, "turso_cdc", &problem)) {
        text_add(&problem, "\n");
        text_add_log(&problem, db, "turso_cdc", 0);
        fail_msg("point %ld: %s", point, text_get(&problem));
    }
    Text x = {0};
    Text y = {0};
    replay_dump(db, &x);
    replay_dump(first, &y);
    assert_string_equal(text_get(&x), text_get(&y));
    text_free(&x);
    text_free(&y);
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
        run_statements(db);
        fail_at = 0;
        const int is_over = allocation_count < point;
        check(db, first, point);
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

/* Enabling fails at each allocation: all or nothing. */
static void enabling_may_fail_anywhere(void **state)
{
    (void)state;
    int rc = SQLITE_NOMEM;
    for (long point = 1; rc != SQLITE_OK; point++) {
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, SCHEMA, NULL, NULL, NULL), SQLITE_OK);
        allocation_count = 0;
        fails_on = 0;
        fail_at = point;
        rc = sqlite3_exec(db, ENABLE, NULL, NULL, NULL);
        fail_at = 0;
        sqlite3_stmt *row = NULL;
        assert_int_equal(sqlite3_prepare_v2(
                             db,
                             "SELECT mode, (SELECT count(*) FROM sqlite_schema WHERE name LIKE "
                             "'turso_cdc%' AND type='table') FROM pragma_capture_data_changes_conn",
                             -1, &row, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_step(row), SQLITE_ROW);
        const int is_on = strcmp((const char *)sqlite3_column_text(row, 0), "full") == 0;
        /* Memory may also run out after the tables are made: then they stay, and are used next time. */
        assert_int_equal(is_on, rc == SQLITE_OK);
        assert_true(sqlite3_column_int(row, 1) == 0 || sqlite3_column_int(row, 1) == 2);
        sqlite3_finalize(row);
        assert_int_equal(sqlite3_exec(db, ENABLE, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "INSERT INTO l VALUES (1)", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
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
        run_statements(db);
        (void)sqlite3_exec(db, "PRAGMA max_page_count=100000", NULL, NULL, NULL);
        check(db, first, pages);
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
        cmocka_unit_test(a_full_database_stays_whole),
    };
    return cmocka_run_group_tests(TESTS, install, NULL);
}
