/* test_threads.c: threads write to one database at once, each on a connection of its own or all on one. The
 * log leads from the first state to the last, with one COMMIT record per transaction. */
#include "replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

enum { WORKERS = 3, TRANSACTIONS = 80, SQL_BYTES = 512 };

static const char SCHEMA[] = "CREATE TABLE t(id INTEGER PRIMARY KEY, who INTEGER, note TEXT);"
                             "CREATE INDEX t_who ON t(who);"
                             "INSERT INTO t VALUES (1, 0, 'one'), (2, 0, 'two'), (3, 0, 'three')";

typedef struct Worker {
    sqlite3 *db;
    int number;
    int committed;
    atomic_int *failures;
    pthread_t thread;
} Worker;

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

/* Waits for others: a shared cache has table locks that no busy handler waits for. True if it ran. */
static int run_patiently(Worker *worker, const char *sql)
{
    int rc = SQLITE_OK;
    for (int tries = 0; tries < 20000; tries++) {
        rc = sqlite3_exec(worker->db, sql, NULL, NULL, NULL);
        if (rc != SQLITE_BUSY && rc != SQLITE_LOCKED) {
            break;
        }
        usleep(200);
    }
    if (rc != SQLITE_OK) {
        atomic_fetch_add(worker->failures, 1);
    }
    return rc == SQLITE_OK;
}

static void look_at_setting(Worker *worker)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(worker->db, "PRAGMA capture_data_changes_conn", -1, &statement, NULL) ==
            SQLITE_OK &&
        (sqlite3_step(statement) != SQLITE_ROW ||
         strcmp((const char *)sqlite3_column_text(statement, 0), "full") != 0)) {
        atomic_fetch_add(worker->failures, 1);
    }
    sqlite3_finalize(statement);
}

/* One statement is one transaction. */
static void *work(void *argument)
{
    Worker *const worker = argument;
    for (int i = 0; i < TRANSACTIONS; i++) {
        char sql[SQL_BYTES];
        sqlite3_snprintf(SQL_BYTES, sql,
                         i % 4 == 3 ? "UPDATE t SET note = note || '+' WHERE who <= %d AND id < 4"
                         : i % 4 == 2
                             ? "DELETE FROM t WHERE id = (SELECT max(id) FROM t WHERE who = %d)"
                             : "INSERT INTO t(who, note) VALUES (%d, 'first'), (9, 'second')",
                         worker->number);
        worker->committed += run_patiently(worker, sql);
        look_at_setting(worker);
    }
    return NULL;
}

/* The first states: what a log is applied to has no capture. */
static sqlite3 *open_first(void)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    run(db, SCHEMA);
    return db;
}

static void check_log(sqlite3 *db, int committed)
{
    Text problem = {0};
    Text found = {0};
    Text expected = {0};
    sqlite3 *const first = open_first();
    if (replay_check_rules(db, "turso_cdc", &problem) != 0 ||
        replay_forward(first, db, "turso_cdc", &problem) != 0) {
        fail_msg("%s", text_get(&problem));
    }
    replay_dump(first, &found);
    replay_dump(db, &expected);
    assert_string_equal(text_get(&found), text_get(&expected));
    sqlite3_stmt *count = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM turso_cdc WHERE change_type = 2",
                                        -1, &count, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(count), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(count, 0), committed);
    sqlite3_finalize(count);
    sqlite3_close(first);
    text_free(&problem);
    text_free(&found);
    text_free(&expected);
}

/* Each worker's connection to `uri`, or (NULL) the first one's. */
static void run_workers(sqlite3 *db, const char *uri)
{
    Worker workers[WORKERS];
    atomic_int failures = 0;
    int committed = 0;
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (Worker){.db = db, .number = i + 1, .failures = &failures};
        if (uri != NULL) {
            assert_int_equal(sqlite3_open(uri, &workers[i].db), SQLITE_OK);
            sqlite3_busy_timeout(workers[i].db, 20000);
        }
        run(workers[i].db, "PRAGMA capture_data_changes_conn('full')");
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        committed += workers[i].committed;
        if (uri != NULL) {
            assert_int_equal(sqlite3_close(workers[i].db), SQLITE_OK);
        }
    }
    assert_int_equal(failures, 0);
    check_log(db, committed);
}

static void of_a_file(const char *journal)
{
    static const char *const FILES[] = {"cdc_threads.db", "cdc_threads.db-wal",
                                        "cdc_threads.db-shm", "cdc_threads.db-journal"};
    sqlite3 *db = NULL;
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        (void)unlink(FILES[i]);
    }
    assert_int_equal(sqlite3_open(FILES[0], &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 20000);
    run(db, journal);
    run(db, SCHEMA);
    run_workers(db, FILES[0]);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void connections_to_a_file_with_a_wal(void **state)
{
    (void)state;
    of_a_file("PRAGMA journal_mode = wal; PRAGMA synchronous = off");
}

static void connections_to_a_file_with_a_journal(void **state)
{
    (void)state;
    of_a_file("PRAGMA journal_mode = delete; PRAGMA synchronous = off");
}

static void connections_with_a_shared_cache(void **state)
{
    (void)state;
    static const char URI[] = "file:cdc_threads?mode=memory&cache=shared";
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(URI, &db), SQLITE_OK);
    run(db, SCHEMA);
    run_workers(db, URI);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void one_connection(void **state)
{
    (void)state;
    sqlite3 *const db = open_first();
    run_workers(db, NULL);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(connections_to_a_file_with_a_wal),
        cmocka_unit_test(connections_to_a_file_with_a_journal),
        cmocka_unit_test(connections_with_a_shared_cache),
        cmocka_unit_test(one_connection),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
