/* ext_poll.c: views and feeds that stay live without a reader, and a thread that ends with its
 * database. */
#include "ext.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long milliseconds)
{
    const struct timespec time = {.tv_sec = milliseconds / 1000,
                                  .tv_nsec = milliseconds % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

/* Until the query gives another number than 0; it must not bring views up to date itself. */
static void wait_until(Db *db, const char *sql)
{
    for (int i = 0; i < 3000; i++) {
        if (number(db, sql) != 0) {
            return;
        }
        sleep_ms(10);
    }
    fail_msg("%s\nis never true", sql);
}

static void views_are_live_without_a_reader(void **state)
{
    Db *db = *state;
    make_t(db, "(1, 'x')");
    create_view(db, "v", "SELECT b, count(*) AS n FROM t GROUP BY b");
    gives(db, "FROM dbsp_auto_sync_state()", "true|0|0|0|0|NULL\n");
    gives(db, "CALL dbsp_auto_sync(true, every_ms := 5)", "true\n");
    const int64_t before = number(db, "SELECT max(generation) FROM dbsp_views()");
    run(db, "INSERT INTO t VALUES (2, 'y'), (3, 'y')");
    char *sql =
        text_format("SELECT (max(generation) > %lld)::INT FROM dbsp_views()", (long long)before);
    wait_until(db, sql);
    test_free(sql);
    gives(db, "SELECT row_count FROM dbsp_views()", "2\n");
    wait_until(db,
               "SELECT steps FROM dbsp_auto_sync_state()"); /* counted when the look has ended */
    gives(db, "SELECT every_ms, steps, failures, last_error FROM dbsp_auto_sync_state()",
          "5|1|0|NULL\n");
    run(db, "CALL dbsp_auto_sync(true, every_ms := 3600000)"); /* the same thread */
    gives(db, "SELECT every_ms, steps FROM dbsp_auto_sync_state()", "3600000|1\n");
    run(db, "CALL dbsp_auto_sync(true, every_ms := 1)");
    wait_until(db, "SELECT (looks > 3)::INT FROM dbsp_auto_sync_state()");
    run(db, "CALL dbsp_auto_sync(true)");
    gives(db, "SELECT auto_sync, every_ms FROM dbsp_auto_sync_state()", "true|0\n");
    const int64_t looks = number(db, "SELECT looks FROM dbsp_auto_sync_state()");
    sleep_ms(30);
    assert_int_equal(number(db, "SELECT looks FROM dbsp_auto_sync_state()"), looks);
    run(db, "CALL dbsp_auto_sync(true, every_ms := 5); CALL dbsp_auto_sync(false)");
    gives(db, "SELECT auto_sync, every_ms FROM dbsp_auto_sync_state()", "false|0\n");
}

static void intervals_that_are_none_are_refused(void **state)
{
    Db *db = *state;
    fails(db, "CALL dbsp_auto_sync(true, every_ms := 0)", "DBSP-E501: every_ms is 0");
    fails(db, "CALL dbsp_auto_sync(true, every_ms := -5)", "DBSP-E501");
    fails(db, "CALL dbsp_auto_sync(true, every_ms := 86400001)", "DBSP-E501");
    fails(db, "CALL dbsp_auto_sync(false, every_ms := 10)", "DBSP-E501");
    gives(db, "SELECT auto_sync, every_ms FROM dbsp_auto_sync_state()", "true|0\n");
}

static void its_errors_are_kept(void **state)
{
    Db *db = *state;
    make_t(db, "(1, 'x')");
    create_view(db, "v", "SELECT b::INTEGER AS n FROM t WHERE a > 1");
    run(db, "CREATE TABLE rowids (a INTEGER)");
    create_view(db, "w", "SELECT a FROM rowids");
    run(db, "CALL dbsp_auto_sync(true, every_ms := 5)");
    run(db, "INSERT INTO t VALUES (2, 'no number')"); /* the view's own trouble, not a look's */
    wait_until(db, "SELECT count(*) FROM dbsp_views() WHERE view = 'v' AND state = 'broken'");
    run(db, "DELETE FROM t WHERE a = 2; INSERT INTO t VALUES (3, '7')");
    wait_until(db, "SELECT count(*) FROM dbsp_views() WHERE view = 'v' AND state = 'live'");
    gives(db, "SELECT failures FROM dbsp_auto_sync_state()", "0\n");
    verifies(db, "v");
    run(db, "DROP TABLE rowids"); /* nor is that */
    wait_until(db, "SELECT count(*) FROM dbsp_views() WHERE view = 'w' AND state = 'broken'");
    gives(db, "SELECT last_error FROM dbsp_auto_sync_state()", "NULL\n");
}

/* ---- closing ---------------------------------------------------------------------------------- */

static void wait_for_file(const char *path)
{
    for (int i = 0; i < 1000 && !ext_is_free(path); i++) {
        sleep_ms(10);
    }
    assert_true(ext_is_free(path));
}

static void make(Db *db)
{
    run(db, "CREATE TABLE IF NOT EXISTS t (a INTEGER, b VARCHAR)");
    run(db, "CALL dbsp_replace_view('v', 'SELECT a % 7 AS g, count(*) AS n, max(b) AS b FROM t "
            "GROUP BY 1')");
    run(db, "CALL dbsp_auto_sync(true, every_ms := 1)");
}

/* Its looks at an idle log hold nothing, so that closing is closing: the same process may open the file
 * again at once, as often as it likes. */
static void a_file_is_closed_and_opened_while_it_looks(void **state)
{
    (void)state;
    char *path = ext_new_path("poll");
    for (int i = 1; i <= 20; i++) {
        Db db;
        ext_open(&db, path);
        make(&db);
        run(&db, "INSERT INTO t SELECT i, 'row ' || i FROM range(500) r(i)");
        gives(&db, "SELECT sum(n) = (SELECT count(*) FROM t) FROM v", "true\n");
        assert_int_equal(number(&db, "SELECT count(*) FROM t"), (int64_t)500 * i);
        wait_until(&db, "SELECT (looks > 2)::INT FROM dbsp_auto_sync_state()");
        db_close(&db);
        assert_true(ext_is_free(path));
    }
    db_remove_file(path);
    test_free(path);
}

/* Closed in the middle of looks that have the whole table to compare: the file is free after at most one
 * of them, the log is merged, nothing is lost. */
static void a_file_is_closed_while_it_compares(void **state)
{
    (void)state;
    char *path = ext_new_path("poll_busy");
    for (int i = 0; i < 12; i++) {
        Db db;
        ext_open(&db, path);
        make(&db);
        char *sql = text_format("INSERT INTO t SELECT i, 'x' FROM range(%d) r(i); CHECKPOINT",
                                20000 + 1000 * i);
        run(&db, "DELETE FROM t");
        run(&db, sql);
        test_free(sql);
        run(&db, "DELETE FROM t WHERE a % 3 = 0");
        sleep_ms(i % 4);
        run(&db, "CHECKPOINT");
        sleep_ms(i % 3);
        db_close(&db);
        wait_for_file(path);
        ext_open(&db, path);
        sql = text_format("SELECT count(*) = %d - (%d + 2) // 3 FROM t", 20000 + 1000 * i,
                          20000 + 1000 * i);
        gives(&db, sql, "true\n");
        test_free(sql);
        verifies(&db, "v");
        db_close(&db);
        wait_for_file(path);
    }
    db_remove_file(path);
    test_free(path);
}

static void databases_in_memory_come_and_go(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        Db db;
        ext_open(&db, NULL);
        make(&db);
        run(&db, "INSERT INTO t SELECT i, 'x' FROM range(20000) r(i)");
        sleep_ms(i % 5);
        db_close(&db);
    }
}

/* ---- with others ------------------------------------------------------------------------------ */

typedef struct Writer {
    Db *db;
    size_t connection;
    int rounds;
    atomic_bool is_done;
} Writer;

static void *write_rows(void *argument)
{
    Writer *const writer = argument;
    for (int i = 0; i < writer->rounds; i++) {
        char *sql = text_format("INSERT INTO t SELECT i, 'w%zu' FROM range(%d, %d) r(i)",
                                writer->connection, i * 10, i * 10 + 10);
        run_on(writer->db, writer->connection, sql);
        test_free(sql);
        if (i % 3 == 2) {
            sql = text_format("CALL dbsp_exec('DELETE FROM t WHERE b = ''w%zu'' AND a %% 4 = 1')",
                              writer->connection);
            run_on(writer->db, writer->connection, sql);
            test_free(sql);
        }
        if (i % 10 == 9) {
            run_on(writer->db, writer->connection, "CALL dbsp_auto_sync(true, every_ms := 2)");
        }
    }
    atomic_store(&writer->is_done, true);
    return NULL;
}

static void it_runs_beside(const char *path)
{
    Db db;
    ext_open(&db, path);
    make(&db);
    create_view(&db, "w", "SELECT a, b FROM t");
    run(&db, "CREATE TABLE copy_w AS SELECT * FROM w");
    const int64_t since = number(&db, "SELECT generation FROM dbsp_sync()");
    Writer writers[] = {{.db = &db, .connection = 1, .rounds = 60},
                        {.db = &db, .connection = 2, .rounds = 60}};
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++) {
        (void)db_connection(&db, writers[i].connection); /* opened here */
        assert_int_equal(pthread_create(&threads[i], NULL, write_rows, &writers[i]), 0);
    }
    while (!atomic_load(&writers[0].is_done) || !atomic_load(&writers[1].is_done)) {
        run(&db, "SELECT count(*) FROM v");
        run(&db, "CALL dbsp_auto_sync(true)");
        run(&db, "CALL dbsp_auto_sync(true, every_ms := 1)");
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    verifies(&db, "v");
    verifies(&db, "w");
    adds_up(&db, "w", "a, b", since);
    db_close(&db);
}

static void it_runs_beside_writers_in_memory(void **state)
{
    (void)state;
    it_runs_beside(NULL);
}

static void it_runs_beside_writers_in_a_file(void **state)
{
    (void)state;
    char *path = ext_new_path("poll_writers");
    it_runs_beside(path);
    wait_for_file(path);
    db_remove_file(path);
    test_free(path);
}

static const struct CMUnitTest tests[] = {
    EXT_TEST(views_are_live_without_a_reader),
    EXT_TEST(intervals_that_are_none_are_refused),
    EXT_TEST(its_errors_are_kept),
    cmocka_unit_test(a_file_is_closed_and_opened_while_it_looks),
    cmocka_unit_test(a_file_is_closed_while_it_compares),
    cmocka_unit_test(databases_in_memory_come_and_go),
    cmocka_unit_test(it_runs_beside_writers_in_memory),
    cmocka_unit_test(it_runs_beside_writers_in_a_file),
};

EXT_MAIN(tests)
