/* ext_threads.c: threads with connections of their own read views, write tables, and make and drop
 * views at once; are interrupted; and read on while the database is closed.
 *
 * Writers move amounts between rows and between two tables: the totals are the same in every commit,
 * so a reader that sees another total has seen half of one. */
#include "ext.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* On a slow machine work goes on until everything has happened at least once. */
enum { WORK_MS = 3000, INTERRUPTS_MS = 2000, PATIENCE_MS = 120000, CLOSINGS = 10 };

typedef struct Shared {
    atomic_bool is_over;
    atomic_size_t failures; /* cmocka's assertions are for the main thread */
    atomic_size_t reads;
    atomic_size_t writes;
    atomic_size_t made;
    atomic_size_t interrupted;
} Shared;

typedef struct Worker {
    Shared *shared;
    duckdb_connection connection; /* its own */
    int number;
    pthread_t thread;
} Worker;

static void complain(Shared *shared, const char *what, const char *why)
{
    atomic_fetch_add(&shared->failures, 1);
    printf("FAILED: %s: %s\n", what, why);
}

static void pause_ms(long ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void start(Worker *worker, void *(*work)(void *))
{
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
}

/* ---- everything at once ------------------------------------------------------------------------- */

/* 100 in each of 50 rows of t, and two more rows that pay into two rows of u. */
static void make_accounts(Db *db)
{
    run(db, "CREATE TABLE t AS SELECT i AS a, 100 AS n FROM range(52) r(i);"
            "CREATE TABLE u AS SELECT 50 + i AS k, 0 AS x FROM range(2) r(i)");
    create_view(db, "inner_total", "SELECT sum(n) AS n FROM t WHERE a < 50");
    create_view(db, "by_group", "SELECT a % 7 AS g, sum(n) AS n FROM t WHERE a < 50 GROUP BY 1");
    create_view(db, "over", "SELECT g % 2 AS h, sum(n) AS s FROM by_group GROUP BY 1");
    create_view(db, "paid", "SELECT a, n + x AS s FROM t JOIN u ON a = k");
}

static void *run_writer(void *user)
{
    Worker *const worker = user;
    Text error = {0};
    Text ignored = {0};
    int done = 0;
    for (int i = 0; !atomic_load(&worker->shared->is_over); i++) {
        char *sql = text_format("BEGIN; UPDATE t SET n = n - 1 WHERE a = %d; "
                                "UPDATE t SET n = n + 1 WHERE a = %d; "
                                "UPDATE t SET n = n - 2 WHERE a = %d; DELETE FROM u WHERE k = %d; "
                                "INSERT INTO u VALUES (%d, %d); COMMIT",
                                i % 50, (i * 7 + 3) % 50, worker->number, worker->number,
                                worker->number, 2 * (done + 1));
        if (db_run(worker->connection, sql, &error)) {
            done++;
            atomic_fetch_add(&worker->shared->writes, 1);
        } else {
            if (strstr(text_get(&error), "onflict") == NULL) { /* with the other writer */
                complain(worker->shared, "a write", text_get(&error));
            }
            (void)db_run(worker->connection, "ROLLBACK", &ignored);
        }
        test_free(sql);
    }
    text_free(&error);
    text_free(&ignored);
    return NULL;
}

static void *run_reader(void *user)
{
    static const struct {
        const char *sql;
        int64_t total;
    } QUERIES[] = {
        {"SELECT CAST(sum(n) AS BIGINT) FROM inner_total", 5000},
        {"SELECT CAST(sum(n) AS BIGINT) FROM by_group", 5000},
        {"SELECT CAST(sum(s) AS BIGINT) FROM over", 5000},
        {"SELECT CAST(sum(s) AS BIGINT) FROM paid", 200},
    };
    Worker *const worker = user;
    Text error = {0};
    for (size_t i = 0; !atomic_load(&worker->shared->is_over); i++) {
        const size_t which = i % (sizeof QUERIES / sizeof QUERIES[0]);
        int64_t total = 0;
        if (!db_number(worker->connection, QUERIES[which].sql, &total, &error)) {
            complain(worker->shared, QUERIES[which].sql, text_get(&error));
        } else if (total != QUERIES[which].total) {
            complain(worker->shared, QUERIES[which].sql, "half a commit");
        }
        atomic_fetch_add(&worker->shared->reads, 1);
    }
    text_free(&error);
    return NULL;
}

static void *run_maker(void *user)
{
    static const char *const CALLS[] = {
        "CALL dbsp_create_view('own', 'SELECT a, n FROM t WHERE n > 0')",
        "CALL dbsp_create_view('own_over', 'SELECT count(*) AS c FROM own')",
        "SELECT count(*) FROM own_over",
        ("CALL dbsp_replace_view('by_group', "
         "'SELECT a % 5 AS g, sum(n) AS n FROM t WHERE a < 50 GROUP BY 1')"),
        "CALL dbsp_refresh('over')",
        "SELECT count(*) FROM dbsp_changes('over')",
        ("CALL dbsp_replace_view('by_group', "
         "'SELECT a % 7 AS g, sum(n) AS n FROM t WHERE a < 50 GROUP BY 1')"),
        "CALL dbsp_drop_cascade('own')",
        "SELECT count(*) FROM dbsp_views()",
        "SELECT count(*) FROM dbsp_tables()",
    };
    Worker *const worker = user;
    Text error = {0};
    while (!atomic_load(&worker->shared->is_over)) {
        for (size_t i = 0; i < sizeof CALLS / sizeof CALLS[0]; i++) {
            if (!db_run(worker->connection, CALLS[i], &error)) {
                complain(worker->shared, CALLS[i], text_get(&error));
            }
        }
        atomic_fetch_add(&worker->shared->made, 1);
    }
    text_free(&error);
    return NULL;
}

static void many_threads_do_everything_at_once(void **state)
{
    static void *(*const WORK[])(void *) = {run_writer, run_writer, run_reader, run_reader,
                                            run_maker};
    enum { COUNT = sizeof WORK / sizeof WORK[0] };
    Db *db = *state;
    Shared shared = {0};
    Worker workers[COUNT] = {0};
    make_accounts(db);
    for (size_t i = 0; i < COUNT; i++) {
        workers[i] = (Worker){
            .shared = &shared, .connection = db_connection(db, i + 1), .number = 50 + (int)i};
        start(&workers[i], WORK[i]);
    }
    for (int ms = 0; ms < PATIENCE_MS; ms += 100) {
        const bool has_all = atomic_load(&shared.reads) > 0 && atomic_load(&shared.writes) > 0 &&
                             atomic_load(&shared.made) > 0;
        if (has_all && ms >= WORK_MS) {
            break;
        }
        pause_ms(100);
    }
    atomic_store(&shared.is_over, true);
    for (size_t i = 0; i < COUNT; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    printf("%zu writes, %zu reads, %zu rounds of making\n", atomic_load(&shared.writes),
           atomic_load(&shared.reads), atomic_load(&shared.made));
    assert_int_equal(atomic_load(&shared.failures), 0);
    assert_true(atomic_load(&shared.reads) > 0);
    assert_true(atomic_load(&shared.writes) > 0);
    assert_true(atomic_load(&shared.made) > 0);
    verifies(db, "inner_total");
    verifies(db, "by_group");
    verifies(db, "over");
    verifies(db, "paid");
}

/* ---- interrupted -------------------------------------------------------------------------------- */

static void *run_interrupted(void *user)
{
    static const char *const STATEMENTS[] = {
        "INSERT INTO t SELECT a % 1000, b FROM t LIMIT 3000",
        "SELECT a, max(b) FROM v GROUP BY a ORDER BY 2",
        "CALL dbsp_create_view('own', 'SELECT a, count(b) AS n FROM t GROUP BY a')",
        "DELETE FROM t WHERE rowid % 11 = 3",
        "SELECT count(*), sum(n) FROM own",
        "CALL dbsp_sync()",
        "CALL dbsp_refresh('v')",
        "SELECT count(*) FROM dbsp_changes('v')",
        "CALL dbsp_drop('own')",
    };
    Worker *const worker = user;
    Text error = {0};
    for (size_t i = 0; !atomic_load(&worker->shared->is_over); i++) {
        const char *const sql = STATEMENTS[i % (sizeof STATEMENTS / sizeof STATEMENTS[0])];
        if (db_run(worker->connection, sql, &error)) {
            atomic_fetch_add(&worker->shared->reads, 1);
        } else if (strstr(text_get(&error), "nterrupt") != NULL) {
            atomic_fetch_add(&worker->shared->interrupted, 1);
        } else if (strstr(sql, "own") == NULL) { /* which its own interruption keeps from being */
            complain(worker->shared, sql, text_get(&error));
        }
    }
    text_free(&error);
    return NULL;
}

static void interrupts_leave_views_right(void **state)
{
    Db *db = *state;
    Shared shared = {0};
    Worker worker = {.shared = &shared, .connection = db_connection(db, 1)};
    run(db, "CREATE TABLE t AS SELECT i AS a, 'text of row ' || i AS b FROM range(20000) r(i)");
    create_view(db, "v", "SELECT a, b FROM t WHERE a % 2 = 0");
    create_view(db, "over", "SELECT count(*) AS n, max(b) AS b FROM v");
    start(&worker, run_interrupted);
    int pause = 3;
    for (int ms = 0; ms < PATIENCE_MS; ms += pause) {
        const bool has_both =
            atomic_load(&shared.reads) > 0 && atomic_load(&shared.interrupted) > 0;
        if (has_both && ms >= INTERRUPTS_MS) {
            break;
        }
        pause = ms < INTERRUPTS_MS ? 3 : pause + 5; /* until a statement is faster */
        pause_ms(pause);
        duckdb_interrupt(worker.connection);
    }
    atomic_store(&shared.is_over, true);
    pthread_join(worker.thread, NULL);
    printf("%zu statements done, %zu interrupted\n", atomic_load(&shared.reads),
           atomic_load(&shared.interrupted));
    assert_int_equal(atomic_load(&shared.failures), 0);
    assert_true(atomic_load(&shared.reads) > 0);
    assert_true(atomic_load(&shared.interrupted) > 0);
    verifies(db, "v");
    verifies(db, "over");
}

/* ---- closed while reading ------------------------------------------------------------------------ */

/* Reads to the end after the database's handle is gone; then its connection, the last, takes the
 * database with it. */
static void *run_last_reader(void *user)
{
    Worker *const worker = user;
    Text error = {0};
    int rounds_left = 5;
    while (rounds_left > 0) {
        int64_t count = 0;
        rounds_left -= atomic_load(&worker->shared->is_over);
        if (!db_number(worker->connection, "SELECT count(DISTINCT b) FROM v", &count, &error)) {
            complain(worker->shared, "a read", text_get(&error));
        } else if (count != 5000) {
            complain(worker->shared, "a read", "rows are missing");
        }
        atomic_fetch_add(&worker->shared->reads, 1);
    }
    duckdb_disconnect(&worker->connection);
    text_free(&error);
    return NULL;
}

static void a_database_is_closed_while_others_read(void **state)
{
    (void)state;
    Shared shared = {0};
    for (int i = 0; i < CLOSINGS; i++) {
        Db db;
        Worker workers[3] = {0};
        ext_open(&db, NULL);
        run(&db, "CREATE TABLE t AS SELECT i AS a, 'text ' || i AS b FROM range(5000) r(i)");
        create_view(&db, "v", "SELECT a, b FROM t");
        atomic_store(&shared.is_over, false);
        for (size_t k = 0; k < 3; k++) {
            workers[k].shared = &shared;
            assert_int_equal(duckdb_connect(db.handle, &workers[k].connection), DuckDBSuccess);
            start(&workers[k], run_last_reader);
        }
        pause_ms(20);
        run(&db, "INSERT INTO t SELECT a, b FROM t LIMIT 100"); /* no new texts */
        atomic_store(&shared.is_over, true);
        db_close(&db);
        for (size_t k = 0; k < 3; k++) {
            pthread_join(workers[k].thread, NULL);
        }
    }
    assert_int_equal(atomic_load(&shared.failures), 0);
    assert_true(atomic_load(&shared.reads) >= (size_t)CLOSINGS * 3 * 5);
}

static const struct CMUnitTest tests[] = {
    EXT_TEST(many_threads_do_everything_at_once),
    EXT_TEST(interrupts_leave_views_right),
    cmocka_unit_test(a_database_is_closed_while_others_read),
};

EXT_MAIN(tests)
