/* ext_wal.c: a table of a file is followed through DuckDB's log: that the log is used where it tells
 * all, and that nothing fools it where it does not. */
#include "ext.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A database file with t (id, a, s) of `rows` rows and three views, which have been read once. */
typedef struct World {
    Db db;
    char *path;
} World;

static const char VIEWS[] = "CALL dbsp_create_view('v', 'SELECT a % 10 AS g, count(*) AS n, sum(a) "
                            "AS s, min(s) AS m FROM t "
                            "GROUP BY a % 10');"
                            "CALL dbsp_create_view('w', 'SELECT id, a, s FROM t WHERE id % 3 = 0')";

static void world_open(World *w, const char *name, int rows)
{
    w->path = ext_new_path(name);
    ext_open(&w->db, w->path);
    char *sql =
        text_format("CREATE TABLE t (id BIGINT, a INTEGER, s VARCHAR); INSERT INTO t SELECT "
                    "i, i * 7 %% 1000, 'a string that is longer than twelve ' || i FROM "
                    "range(%d) r(i)",
                    rows);
    run(&w->db, sql);
    test_free(sql);
    run(&w->db, VIEWS);
    run(&w->db, "INSERT INTO t VALUES (-1, 5, NULL)");
    run(&w->db, "SELECT count(*) FROM v");
}

static void world_close(World *w)
{
    db_close(&w->db);
    db_remove_file(w->path);
    test_free(w->path);
}

static int64_t fall_backs(World *w)
{
    return number(&w->db, "SELECT fall_backs FROM dbsp_table_state() WHERE \"table\" = 't'");
}

/* The views are right after the statements, t was synced so, and the log gave up so often. */
static void found_with(World *w, const char *sql, const char *how, int64_t times)
{
    const int64_t before = fall_backs(w);
    char *expected = text_format("%s\n", how);
    run(&w->db, sql);
    run(&w->db, "SELECT count(*) FROM v");
    gives(&w->db, "SELECT last_sync FROM dbsp_tables() WHERE \"table\" = 't'", expected);
    gives(&w->db, "SELECT method FROM dbsp_tables() WHERE \"table\" = 't'", "wal\n");
    assert_int_equal(fall_backs(w) - before, times);
    says_ok(&w->db, "v");
    verifies(&w->db, "v");
    verifies(&w->db, "w");
    gives(&w->db,
          "SELECT row_count = (SELECT count(*) FROM t) FROM dbsp_tables() WHERE \"table\" = 't'",
          "true\n");
    test_free(expected);
}

/* By the log alone. */
static void found_by(World *w, const char *sql, const char *how)
{
    found_with(w, sql, how, 0);
}

/* By one comparison. */
static void compared(World *w, const char *sql, const char *how)
{
    found_with(w, sql, how, 1);
}

static void the_log_tells_of_every_row(void **state)
{
    (void)state;
    World w;
    world_open(&w, "wal_rows", 5000);
    found_by(&w, "SELECT 1", "unchanged");
    found_by(&w, "INSERT INTO t VALUES (10000, 1, 'x')", "logged");
    found_by(&w, "INSERT INTO t SELECT i, i, 'more ' || i FROM range(7000) r(i)", "logged");
    found_by(&w, "UPDATE t SET a = a + 1 WHERE id = 77", "logged");
    found_by(&w, "UPDATE t SET a = a + 1, s = s || '!' WHERE id % 5 = 0", "logged");
    found_by(&w, "UPDATE t SET s = NULL WHERE id % 7 = 0", "logged");
    found_by(&w, "UPDATE t SET s = 'back ' || id, a = NULL WHERE id % 14 = 0", "logged");
    found_by(&w,
             "UPDATE t SET a = CASE WHEN id % 3 = 0 THEN NULL WHEN id % 3 = 1 THEN 5 ELSE a END",
             "logged");
    found_by(&w,
             "BEGIN; UPDATE t SET s = NULL WHERE id = 4; UPDATE t SET s = 'z' WHERE id < 9; "
             "UPDATE t SET s = NULL, a = 3 WHERE id = 5; COMMIT",
             "logged");
    found_by(&w, "DELETE FROM t WHERE id % 11 = 0", "logged");
    found_by(&w, "DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, 2, 'again')", "logged");
    found_by(&w,
             "BEGIN; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (2, 3, 'x'), (3, 4, NULL); "
             "UPDATE t SET a = 9 WHERE id = 3; COMMIT",
             "logged");
    found_by(&w, "UPDATE t SET id = CASE id WHEN 5 THEN 6 ELSE 5 END WHERE id IN (5, 6)", "logged");
    found_by(&w, "UPDATE t SET a = a WHERE a IS NOT NULL", "logged");
    found_by(&w, "BEGIN; UPDATE t SET a = 1; DELETE FROM t WHERE id > 9; ROLLBACK", "unchanged");
    found_by(&w, "CREATE TABLE other AS SELECT 1 AS x; INSERT INTO other VALUES (2)", "unchanged");
    found_by(&w,
             "INSERT INTO t SELECT * FROM t; DELETE FROM t WHERE id % 2 = 1; "
             "UPDATE t SET a = 4 WHERE id % 4 = 0",
             "logged");
    found_by(&w, "DELETE FROM t", "logged");
    found_by(&w, "INSERT INTO t VALUES (1, 1, 'only')", "logged");
    assert_int_equal(fall_backs(&w), 0);
    world_close(&w);
}

/* DuckDB keeps the stored value under a NULL, and does not log it when an update brings it back. */
static void a_value_that_comes_back_is_compared(void **state)
{
    (void)state;
    World w;
    world_open(&w, "wal_null", 5000);
    run(&w.db, "UPDATE t SET a = 2, s = 'two' WHERE id BETWEEN 10 AND 30");
    run(&w.db, "CHECKPOINT");
    run(&w.db, "SELECT count(*) FROM v");
    found_by(&w, "UPDATE t SET a = NULL, s = NULL WHERE id BETWEEN 12 AND 20", "logged");
    compared(&w, "UPDATE t SET a = 2 WHERE id BETWEEN 15 AND 40", "diffed");
    found_by(&w, "UPDATE t SET a = 2 WHERE id BETWEEN 15 AND 40", "logged");
    compared(&w, "UPDATE t SET s = 'two', a = 3 WHERE id BETWEEN 12 AND 14", "diffed");
    found_by(&w, "UPDATE t SET a = NULL, s = NULL WHERE id = 11", "logged");
    found_by(&w, "UPDATE t SET a = 4, s = 'four' WHERE id = 11", "logged");
    found_by(&w, "INSERT INTO t VALUES (6000, NULL, NULL)", "logged");
    found_by(&w, "UPDATE t SET a = 0, s = '' WHERE id = 6000", "logged");
    world_close(&w);
}

static void a_checkpoint_is_compared_once(void **state)
{
    (void)state;
    World w;
    world_open(&w, "wal_checkpoint", 300000);
    compared(&w, "DELETE FROM t WHERE id < 125000; CHECKPOINT", "diffed"); /* renumbers */
    found_by(&w, "UPDATE t SET a = 1 WHERE id = 200000", "logged");
    found_by(&w, "DELETE FROM t WHERE id = 200001", "logged");
    run(&w.db, "INSERT INTO t VALUES (7, 7, '7')"); /* its row id is not always certain */
    run(&w.db, "SELECT count(*) FROM v");
    found_by(&w, "INSERT INTO t VALUES (8, 8, '8')", "logged");
    compared(&w, "CHECKPOINT", "unchanged");
    found_by(&w, "SELECT 1", "unchanged");
    found_by(&w, "INSERT INTO t VALUES (9, 9, '9')", "logged");
    compared(&w, "CHECKPOINT; INSERT INTO t VALUES (9, 9, '9')", "appended");
    compared(&w, "INSERT INTO t VALUES (9, 9, '9'); CHECKPOINT; UPDATE t SET a = 2 WHERE id = 9",
             "diffed");
    world_close(&w);
}

static void checkpoints_come_by_themselves(void **state)
{
    (void)state;
    World w;
    world_open(&w, "wal_autocheckpoint", 3000);
    run(&w.db, "SET wal_autocheckpoint = '20KB'");
    for (int i = 0; i < 60; i++) {
        char *sql =
            text_format("UPDATE t SET a = a + 1 WHERE id %% 20 = %d; DELETE FROM t WHERE id "
                        "= %d; INSERT INTO t SELECT i, i, 'n' FROM range(%d) r(i)",
                        i % 20, i * 7, i);
        run(&w.db, sql);
        verifies(&w.db, "v");
        verifies(&w.db, "w");
        test_free(sql);
    }
    assert_true(fall_backs(&w) > 5);
    run(&w.db, "RESET wal_autocheckpoint; SELECT count(*) FROM v");
    found_by(&w, "UPDATE t SET a = 3 WHERE id = 2", "logged");
    world_close(&w);
}

static void what_is_not_in_the_log_is_compared_once(void **state)
{
    (void)state;
    World w;
    world_open(&w, "wal_bulk", 2000);
    compared(&w, "INSERT INTO t SELECT i, i % 1000, 'bulk' FROM range(400000) r(i)", "appended");
    found_by(&w, "INSERT INTO t VALUES (1, 1, 'x'); DELETE FROM t WHERE id = 399999", "logged");
    found_by(&w, "TRUNCATE t; INSERT INTO t SELECT i, 1, 'new' FROM range(5000) r(i)", "logged");
    compared(&w, "ALTER TABLE t ADD COLUMN extra INTEGER DEFAULT 3", "unchanged");
    world_close(&w);
}

static void another_table_of_the_name_is_compared(void **state)
{
    (void)state;
    World w;
    world_open(&w, "wal_recreate", 2000);
    run(&w.db, "DROP TABLE t; CREATE TABLE t (id BIGINT, a INTEGER, s VARCHAR); "
               "INSERT INTO t SELECT i, i, 'other' FROM range(2001) r(i)");
    verifies(&w.db, "v");
    verifies(&w.db, "w");
    found_by(&w, "UPDATE t SET a = 3 WHERE id = 2", "logged");
    run(&w.db, "ALTER TABLE t RENAME TO old; ALTER TABLE old RENAME TO t");
    verifies(&w.db, "v");
    found_by(&w, "INSERT INTO t VALUES (4, 4, '4')", "logged");
    run(&w.db, "ALTER TABLE t ALTER a TYPE VARCHAR");
    fails(&w.db, "SELECT * FROM v", "altered");
    world_close(&w);
}

/* Columns that are stored, but not followed; columns that are not stored. */
static void columns_are_found_where_they_are_stored(void **state)
{
    (void)state;
    World w;
    world_open(&w, "wal_columns", 10);
    run(&w.db, "CREATE TABLE u (x INTEGER, twice INTEGER GENERATED ALWAYS AS (x * 2), y VARCHAR, z "
               "INTEGER[], r STRUCT(p INTEGER, q VARCHAR), d DOUBLE)");
    run(&w.db,
        "INSERT INTO u VALUES (1, 'one', [1], {'p': 1, 'q': 'q'}, 1.5), (2, 'two', NULL, NULL, "
        "NULL)");
    create_view(&w.db, "y", "SELECT y, d FROM u");
    create_view(&w.db, "nested", "SELECT z, r FROM u");
    run(&w.db, "INSERT INTO u VALUES (3, 'three', [], {'p': NULL, 'q': 'z'}, 0.0)");
    const char *const statements[] = {
        "INSERT INTO u VALUES (4, 'four', [4], {'p': 4, 'q': NULL}, '-0.0'::DOUBLE)",
        "UPDATE u SET y = 'ten', d = 10 WHERE x = 1",
        "UPDATE u SET x = 9 WHERE x = 2",
        "UPDATE u SET d = NULL, y = NULL WHERE x = 3",
        "UPDATE u SET z = [7, 8] WHERE x = 1",
        "UPDATE u SET r = {'p': 5, 'q': 'five'} WHERE x IN (1, 9)",
        "UPDATE u SET r = NULL WHERE x = 4",
        "DELETE FROM u WHERE x = 3",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        run(&w.db, statements[i]);
        verifies(&w.db, "y");
        verifies(&w.db, "nested");
    }
    create_view(&w.db, "twice", "SELECT twice FROM u");
    run(&w.db, "UPDATE u SET x = 100 WHERE x = 9");
    verifies(&w.db, "twice");
    run(&w.db, "INSERT INTO u VALUES (5, 'five', [5], NULL, 5)");
    verifies(&w.db, "twice");
    verifies(&w.db, "y");
    run(&w.db, "CREATE INDEX u_y ON u(y); UPDATE u SET y = y || '.'");
    verifies(&w.db, "y");
    world_close(&w);
}

static void an_attached_database_may_come_back(void **state)
{
    (void)state;
    World w;
    world_open(&w, "wal_attach", 10);
    char *path = ext_new_path("wal_attached");
    char *other = ext_new_path("wal_attached_other");
    char *attach = text_format("ATTACH '%s' AS x", path);
    run(&w.db, attach);
    run(&w.db,
        "CREATE TABLE x.t (id BIGINT, a INTEGER); INSERT INTO x.t SELECT i, i FROM range(3000) "
        "r(i)");
    create_view(&w.db, "xv", "SELECT a % 3 AS g, count(*) AS n FROM x.t GROUP BY g");
    run(&w.db, "INSERT INTO x.t VALUES (1, 1)");
    verifies(&w.db, "xv");
    run(&w.db, "DETACH x");
    fails(&w.db, "SELECT * FROM xv", "x");
    run(&w.db, attach);
    run(&w.db, "UPDATE x.t SET a = a + 1 WHERE id % 3 = 0");
    run(&w.db, "CALL dbsp_refresh('xv')");
    verifies(&w.db, "xv");
    run(&w.db, "INSERT INTO x.t VALUES (2, 2)");
    verifies(&w.db, "xv");
    /* The name is another file's, while the first one is open under another name. */
    char *swap =
        text_format("CHECKPOINT x; SELECT * FROM xv; DETACH x; ATTACH '%s' AS y; ATTACH '%s' "
                    "AS x; CREATE TABLE x.t (id BIGINT, a INTEGER)",
                    path, other);
    run(&w.db, "INSERT INTO x.t VALUES (3, 3)");
    run(&w.db, swap);
    verifies(&w.db, "xv");
    run(&w.db, "INSERT INTO x.t VALUES (3, 3)");
    verifies(&w.db, "xv");
    db_remove_file(path);
    db_remove_file(other);
    test_free(swap);
    test_free(attach);
    test_free(path);
    test_free(other);
    world_close(&w);
}

/* --- beside writers ----------------------------------------------------------------------------- */

typedef struct Writer {
    World *w;
    size_t connection;
    atomic_bool *is_stopped;
    uint64_t seed;
} Writer;

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void *write_commits(void *argument)
{
    Writer *const writer = argument;
    const duckdb_connection connection = db_connection(&writer->w->db, writer->connection);
    while (!atomic_load(writer->is_stopped)) {
        const int r = (int)(next_random(&writer->seed) % 1000);
        char *sql = text_format(
            r % 50 == 0  ? "CHECKPOINT -- %d %d"
            : r % 3 == 0 ? "UPDATE t SET a = %d WHERE id %% 100 = %d"
            : r % 3 == 1
                ? "BEGIN; INSERT INTO t VALUES (%d, 1, 'x'); INSERT INTO moved VALUES (%d); "
                  "COMMIT"
                : "DELETE FROM t WHERE id = %d OR a = %d",
            r, r % 100);
        duckdb_result result = {0};
        (void)duckdb_query(connection, sql, &result); /* it may conflict */
        duckdb_destroy_result(&result);
        test_free(sql);
    }
    return NULL;
}

static void a_reader_beside_writers_sees_commits(void **state)
{
    (void)state;
    enum { WRITERS = 3 };
    World w;
    Writer writers[WRITERS];
    pthread_t threads[WRITERS];
    atomic_bool is_stopped = false;
    world_open(&w, "wal_writers", 3000);
    run(&w.db, "CREATE TABLE moved (id BIGINT)");
    create_view(&w.db, "pair",
                "SELECT (SELECT count(*) FROM t WHERE s = 'x' AND a = 1) AS n, (SELECT "
                "count(*) FROM moved) AS k");
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] =
            (Writer){.w = &w, .connection = i + 1, .is_stopped = &is_stopped, .seed = 77 + i};
        (void)db_connection(&w.db, i + 1);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_commits, &writers[i]), 0);
    }
    for (int i = 0; i < 150; i++) {
        run(&w.db, "SELECT * FROM v; SELECT count(*) FROM w; SELECT * FROM pair");
    }
    atomic_store(&is_stopped, true);
    for (size_t i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    verifies(&w.db, "v");
    verifies(&w.db, "w");
    verifies(&w.db, "pair");
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_log_tells_of_every_row),
    cmocka_unit_test(a_value_that_comes_back_is_compared),
    cmocka_unit_test(a_checkpoint_is_compared_once),
    cmocka_unit_test(checkpoints_come_by_themselves),
    cmocka_unit_test(what_is_not_in_the_log_is_compared_once),
    cmocka_unit_test(another_table_of_the_name_is_compared),
    cmocka_unit_test(columns_are_found_where_they_are_stored),
    cmocka_unit_test(an_attached_database_may_come_back),
    cmocka_unit_test(a_reader_beside_writers_sees_commits),
};

EXT_MAIN(tests)
