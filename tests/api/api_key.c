/* api_key.c [SEED [ROUNDS]]: random commits of two connections on a table with a promised key, which must be
 * found broken by exactly those commits after which plain SQL finds a key twice, or a NULL in it. */
#include "api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

enum { CONNECTIONS = 2, SQL_SIZE = 512, DEFAULT_ROUNDS = 800 };

static const char OFFENCES[] = "SELECT count(*) > 0 FROM (SELECT a, b FROM t GROUP BY a, b "
                               "HAVING count(*) > 1 OR a IS NULL OR b IS NULL)";
static const char IS_BROKEN[] =
    "SELECT promise_error IS NOT NULL FROM dbsp_tables() WHERE \"table\" = 't'";

static uint64_t seed = 1;
static size_t rounds = DEFAULT_ROUNDS;

/* Most leave the key one. A # is a number, ~ one that no row has had. */
static const char *const FORMS[] = {
    "INSERT INTO t VALUES (~, 'x', #, 0.0), (~, 'a text that is not inline', #, -0.0)",
    "INSERT INTO t SELECT ~ * 1000 + i, 'y' || i, i, NULL FROM range(# * #) r(i)",
    "INSERT INTO t BY NAME SELECT ~ AS a, 'x' AS b, n FROM t WHERE a = #",
    "DELETE FROM t WHERE a % 12 = #",
    "DELETE FROM t WHERE random() < 0.01 * #",
    "UPDATE t SET n = n + 1 WHERE a % 12 < #",
    "UPDATE t SET n = # WHERE random() < 0.5",
    "UPDATE t SET a = -a",
    "UPDATE t SET b = b || 'z' WHERE a % 12 = #",
    "UPDATE t SET a = (SELECT max(a) + min(a) FROM t) - a",
    "UPDATE t SET d = -d",
    "DELETE FROM t WHERE a = #; INSERT INTO t VALUES (#, '~', 5, 1)",
    "INSERT INTO t SELECT a, b, -7, d FROM t WHERE a % 12 = #; DELETE FROM t WHERE n = -7",
    "TRUNCATE t; INSERT INTO t SELECT i, 'x', 0, i FROM range(12) r(i)",
    "TRUNCATE t; INSERT INTO t SELECT i, 'x', 0, i FROM range(9) r(i)",
    "INSERT INTO t VALUES (#, 'x', #, NULL)",
    "INSERT INTO t SELECT * FROM t WHERE a = #",
    "UPDATE t SET b = NULL WHERE a = #",
    "UPDATE t SET a = a // 2 WHERE a % 100 = #",
};
enum { FORM_COUNT = sizeof FORMS / sizeof FORMS[0] };

static void put_statement(Rng *rng, size_t *fresh, char *out)
{
    const char *const form = FORMS[rng_below(rng, FORM_COUNT)];
    char *end = out;
    for (const char *c = form; *c != '\0'; c++) {
        const size_t left = SQL_SIZE - (size_t)(end - out);
        if (*c == '#' || *c == '~') {
            const size_t value = *c == '#' ? rng_below(rng, 12) : (*fresh)++;
            end += snprintf(end, left, "%zu", value);
        } else {
            *end++ = *c;
        }
    }
    *end = '\0';
}

static bool is_true(WeirDb *db, const char *sql)
{
    WeirError err = {0};
    char *const rows = try_run(db, sql, &err);
    if (rows == NULL) {
        fail_msg("%s: %s", sql, err.message);
    }
    const bool result = rows != NULL && strcmp(rows, "true\n") == 0;
    free(rows);
    return result;
}

/* A transaction, which may fail for a conflict. */
static void write_some(Rng *rng, size_t *fresh, WeirDb *db)
{
    char sql[SQL_SIZE];
    WeirError err = {0};
    size_t statements = rng_between(rng, 1, 3);
    put_statement(rng, fresh, sql);
    const bool is_open = statements > 1 || strchr(sql, ';') != NULL || rng_chance(rng, 30);
    if (is_open) {
        run(db, "BEGIN");
    }
    bool is_done = true;
    for (; statements > 0 && is_done; statements--) {
        char *const rows = try_run(db, sql, &err);
        is_done = rows != NULL;
        free(rows);
        put_statement(rng, fresh, sql);
    }
    if (is_open) {
        free(try_run(db, !is_done || rng_chance(rng, 10) ? "ROLLBACK" : "COMMIT", &err));
    }
}

static void the_promise_is_broken_by_the_commit_that_breaks_it(void **state)
{
    (void)state;
    Rng rng = {.state = seed};
    size_t fresh = 100;
    size_t breaks = 0;
    WeirDb *connections[CONNECTIONS] = {api_open(NULL)};
    WeirDb *const db = connections[0];
    connections[1] = api_connect(db);
    run(db, "CREATE TABLE t (a BIGINT, b VARCHAR, n INTEGER, d DOUBLE);"
            "CREATE MATERIALIZED VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b;"
            "CALL dbsp_track('t', key := 'a, b')");
    for (size_t i = 0; i < rounds; i++) {
        write_some(&rng, &fresh, connections[rng_below(&rng, CONNECTIONS)]);
        const bool is_broken = is_true(db, OFFENCES);
        if (is_true(db, IS_BROKEN) != is_broken) {
            fail_msg("seed %" PRIu64 ", round %zu: the promise is %s", seed, i,
                     is_broken ? "broken" : "not broken");
        }
        if (is_broken) {
            breaks++;
            fails(db, "CALL dbsp_track('t', key := 'a, b')", "DBSP-E305");
            run(db, "DELETE FROM t WHERE a IS NULL OR b IS NULL OR (a, b) IN "
                    "(SELECT (a, b) FROM t GROUP BY a, b HAVING count(*) > 1);"
                    "CALL dbsp_track('t', key := 'a, b')");
        }
    }
    gives(db, "FROM dbsp_verify('v')", "ok|NULL\n");
    print_message("seed %" PRIu64 ": %zu of %zu commits broke it\n", seed, breaks, rounds);
    assert_true(breaks > rounds / 50 && breaks < rounds / 2);
    weir_close(connections[1]);
    weir_close(db);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_promise_is_broken_by_the_commit_that_breaks_it),
    };
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed;
    rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : rounds;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
