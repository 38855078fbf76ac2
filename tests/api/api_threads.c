/* api_threads.c: connections of several threads write at once, and one reads. Every commit moves an
 * amount between two accounts: whatever a reader sees, the total is the same. */
#include "api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

enum { WRITERS = 3, COMMITS = 60, ACCOUNTS = 20, START = 100 };

typedef struct Shared {
    WeirDb *db;
    atomic_int working;
    atomic_int conflicts;
    atomic_int reads;
    atomic_bool has_failed;
} Shared;

typedef struct Worker {
    Shared *shared;
    WeirDb *db;
    uint64_t seed;
    pthread_t thread;
} Worker;

static void broken(Worker *worker, const char *sql, const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", sql, what);
    atomic_store(&worker->shared->has_failed, true);
}

/* False: another writer was there first, and the transaction is over. */
static bool execute(Worker *worker, const char *sql)
{
    WeirError err = {0};
    if (weir_execute(worker->db, sql, NULL, NULL, &err) == WEIR_OK) {
        return true;
    }
    if (strstr(err.message, "onflict") == NULL) {
        broken(worker, sql, err.message);
    }
    atomic_fetch_add(&worker->shared->conflicts, 1);
    WeirError ignored = {0};
    (void)weir_execute(worker->db, "ROLLBACK", NULL, NULL, &ignored);
    return false;
}

static void transfer(Worker *worker, Rng *rng)
{
    char take[128];
    char give[128];
    (void)snprintf(take, sizeof take, "UPDATE accounts SET amount = amount - 1 WHERE id = %zu",
                   rng_below(rng, ACCOUNTS));
    (void)snprintf(give, sizeof give, "UPDATE accounts SET amount = amount + 1 WHERE id = %zu",
                   rng_below(rng, ACCOUNTS));
    (void)(execute(worker, "BEGIN") && execute(worker, take) && execute(worker, give) &&
           execute(worker, "COMMIT"));
}

static void *write_all(void *argument)
{
    Worker *const worker = argument;
    Rng rng = {.state = worker->seed};
    for (int i = 0; i < COMMITS; i++) {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "INSERT INTO log VALUES (%zu, %d)", (size_t)worker->seed,
                       i);
        transfer(worker, &rng);
        (void)execute(worker, sql);
        if (i % 10 == 9) {
            (void)execute(worker, "DELETE FROM log WHERE step % 3 = 0");
        }
    }
    atomic_fetch_sub(&worker->shared->working, 1);
    return NULL;
}

static void *read_all(void *argument)
{
    Worker *const worker = argument;
    while (atomic_load(&worker->shared->working) > 0) {
        WeirError err = {0};
        char *const total = try_run(worker->db, "SELECT total FROM totals", &err);
        char expected[32];
        (void)snprintf(expected, sizeof expected, "%d\n", ACCOUNTS * START);
        if (total == NULL || strcmp(total, expected) != 0) {
            broken(worker, "SELECT total", total == NULL ? err.message : total);
        }
        free(total);
        atomic_fetch_add(&worker->shared->reads, 1);
    }
    return NULL;
}

static void test_writers(void **state)
{
    (void)state;
    Shared shared = {.db = api_open(NULL)};
    Worker workers[WRITERS + 1];
    char sql[256];
    atomic_init(&shared.working, WRITERS);
    (void)snprintf(sql, sizeof sql,
                   "CREATE TABLE accounts AS SELECT i::INTEGER AS id, %d AS amount, i %% 3 AS kind "
                   "FROM range(%d) r(i)",
                   START, ACCOUNTS);
    run(shared.db, sql);
    run(shared.db, "CREATE TABLE log (writer INTEGER, step INTEGER);"
                   "CREATE MATERIALIZED VIEW kinds AS SELECT kind, sum(amount) AS amount "
                   "FROM accounts GROUP BY kind;"
                   "CREATE MATERIALIZED VIEW totals AS SELECT sum(amount) AS total FROM kinds;"
                   "CREATE MATERIALIZED VIEW steps AS SELECT writer, count(*) AS n, max(step) AS "
                   "last FROM log GROUP BY writer");
    for (size_t i = 0; i <= WRITERS; i++) {
        workers[i] =
            (Worker){.shared = &shared, .db = api_connect(shared.db), .seed = (uint64_t)i + 1};
        const int status = pthread_create(&workers[i].thread, NULL,
                                          i < WRITERS ? write_all : read_all, &workers[i]);
        assert_int_equal(status, 0);
    }
    for (size_t i = 0; i <= WRITERS; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        weir_close(workers[i].db);
    }
    assert_false(atomic_load(&shared.has_failed));
    gives(shared.db, "FROM dbsp_verify('kinds')", "ok|NULL\n");
    gives(shared.db, "FROM dbsp_verify('totals')", "ok|NULL\n");
    gives(shared.db, "FROM dbsp_verify('steps')", "ok|NULL\n");
    gives(shared.db, "SELECT sum(diffs) FROM dbsp_table_state()", "0\n");
    (void)printf("%d conflicts, %d reads\n", atomic_load(&shared.conflicts),
                 atomic_load(&shared.reads));
    weir_close(shared.db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_writers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
