/* ext_key.c: random transactions on a table with a promised key, which must be found broken by exactly
 * those syncs after which plain SQL finds a key twice, or a NULL in it. In memory, in a file, and by
 * dbsp_exec.
 *
 *   ext_key EXTENSION [TRANSACTIONS [SEED]] */
#include "ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TRANSACTIONS = 120, ROWS = 3000 };

typedef struct Driver {
    Db db;
    uint64_t seed;
    long transactions;
    unsigned next_id;
    bool is_told; /* by dbsp_exec */
    size_t breaks;
} Driver;

static Driver driver;

static unsigned pick(unsigned limit)
{
    driver.seed = driver.seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(driver.seed >> 33) % limit;
}

static const char FILL[] =
    "INSERT INTO t SELECT i, i, 'b' || i % 3, 0 FROM range(3000) r(i)"; /* ROWS of them */

static const char OFFENCES[] = "SELECT count(*) FROM (SELECT a, b FROM t GROUP BY a, b "
                               "HAVING count(*) > 1 OR a IS NULL OR b IS NULL)";

static void open_world(const char *path)
{
    ext_open(&driver.db, path);
    run(&driver.db, "CREATE TABLE t (x DOUBLE, a INTEGER, b VARCHAR, n INTEGER)");
    run(&driver.db, FILL);
    run(&driver.db, "SET wal_autocheckpoint = '100KB'");
    create_view(&driver.db, "v", "SELECT b, count(*) AS n, sum(n) AS s FROM t GROUP BY b");
    run(&driver.db, "CALL dbsp_track('t', key := 'b, a')");
    driver.next_id = ROWS;
}

/* Most leave the key one; some do within a transaction what the next one undoes. */
static char *random_statement(void)
{
    const unsigned id = pick(driver.next_id + 1);
    const unsigned count = 1 + pick(pick(20) == 0 ? 3000 : 8);
    switch (pick(14)) {
    case 0:
    case 1:
    case 2:
        driver.next_id += count;
        return text_format("INSERT INTO t SELECT i, i, 'b' || i %% 3, 1 FROM range(%u, %u) r(i)",
                           driver.next_id - count, driver.next_id);
    case 3: return text_format("DELETE FROM t WHERE a BETWEEN %u AND %u", id, id + count);
    case 4: /* two keys change places */
        return text_format("UPDATE t SET a = CASE a WHEN %u THEN %u ELSE %u END, b = 'b' || "
                           "CASE a WHEN %u THEN %u ELSE %u END WHERE a IN (%u, %u)",
                           id, id + 1, id, id, (id + 1) % 3, id % 3, id, id + 1);
    case 5: return text_format("UPDATE t SET n = n + 1 WHERE a %% 50 = %u", pick(50));
    case 6: /* all keys move */ return text_format("UPDATE t SET a = %u - a WHERE a <= %u", id, id);
    case 7:
        return text_format("UPDATE t SET b = 'c' || b WHERE a BETWEEN %u AND %u", id, id + count);
    case 8: /* the same key goes and comes */
        return text_format("DELETE FROM t WHERE a = %u; INSERT INTO t VALUES (0, %u, 'b%u', 2)", id,
                           id, id % 3);
    case 9: /* a row comes twice and goes once */
        return text_format("INSERT INTO t SELECT -1, a, b, 7 FROM t WHERE a BETWEEN %u AND %u; "
                           "DELETE FROM t WHERE x = -1",
                           id, id + count);
    case 10: return text_format("DELETE FROM t WHERE a %% 97 = %u", pick(97));
    case 11:
        return pick(4) > 0 ? text_format("DELETE FROM t WHERE a < 0")
                           : text_format("UPDATE t SET a = NULL WHERE a = %u", id);
    case 12:
        return pick(4) > 0 ? text_format("UPDATE t SET x = -x WHERE a = %u", id)
                           : text_format("INSERT INTO t SELECT x, a, b, 9 FROM t WHERE a = %u", id);
    default:
        return pick(4) > 0 ? text_format("UPDATE t SET n = NULL WHERE a = %u", id)
                           : text_format("UPDATE t SET a = a + 1 WHERE a = %u", id);
    }
}

static void random_transaction(void)
{
    Text sql = {0};
    const bool is_rolled_back = !driver.is_told && pick(10) == 0;
    if (pick(60) == 0) {
        run(&driver.db, "CHECKPOINT");
    }
    if (pick(80) == 0) {
        run(&driver.db, "TRUNCATE t");
        run(&driver.db, FILL);
        driver.next_id = ROWS;
    }
    for (unsigned statements = 1 + pick(3); statements > 0; statements--) {
        char *statement = random_statement();
        text_addf(&sql, "%s%s", sql.len == 0 ? "" : "; ", statement);
        test_free(statement);
    }
    if (driver.is_told) {
        Text call = {0};
        text_add(&call, "FROM dbsp_exec(");
        text_add_literal(&call, text_get(&sql));
        text_add(&call, ")");
        run(&driver.db, text_get(&call));
        text_free(&call);
    } else {
        const size_t connection = 1 + pick(2);
        run_on(&driver.db, connection, "BEGIN");
        run_on(&driver.db, connection, text_get(&sql));
        run_on(&driver.db, connection, is_rolled_back ? "ROLLBACK" : "COMMIT");
    }
    text_free(&sql);
}

/* What is promised again must be so. */
static void promise_again(void)
{
    run(&driver.db, "DELETE FROM t WHERE a IS NULL OR b IS NULL OR (a, b) IN (SELECT (a, b) FROM t "
                    "GROUP BY a, b HAVING count(*) > 1)");
    run(&driver.db, pick(2) == 0 ? "CALL dbsp_track('t', key := 'b, a')"
                                 : "CALL dbsp_track('t', key := 'a, b')");
}

static void check_promise(void)
{
    const bool is_broken = number(&driver.db, OFFENCES) > 0;
    gives(&driver.db, "SELECT promise_error IS NULL FROM dbsp_tables()",
          is_broken ? "false\n" : "true\n");
    if (is_broken) {
        driver.breaks++;
        gives(&driver.db, "SELECT promise_error[:9] FROM dbsp_tables()", "DBSP-E305\n");
        gives(&driver.db,
              "SELECT regexp_extract(promise_error, 'with \\((.*)\\) = ', 1) IN "
              "('a, b', 'b, a') FROM dbsp_tables()",
              "true\n");
        fails(&driver.db, "CALL dbsp_track('t', key := 'a, b')", "DBSP-E305");
        promise_again();
    }
}

static void drive(const char *path, bool is_told)
{
    driver.is_told = is_told;
    driver.breaks = 0;
    open_world(path);
    for (long i = 0; i < driver.transactions; i++) {
        random_transaction();
        if (driver.is_told || pick(5) > 0) { /* or what several commits leave behind is looked at */
            run(&driver.db, pick(2) == 0 ? "CALL dbsp_sync()" : "FROM v");
            check_promise();
        }
        if (pick(60) == 0) {
            verifies(&driver.db, "v");
        }
    }
    print_message("%zu of %ld broken\n", driver.breaks, driver.transactions);
    assert_true(driver.breaks > (size_t)driver.transactions / 100);
    db_close(&driver.db);
}

static void in_memory(void **state)
{
    (void)state;
    drive(NULL, false);
}

static void in_a_file(void **state)
{
    (void)state;
    char *path = ext_new_path("key");
    drive(path, false);
    db_remove_file(path);
    test_free(path);
}

static void by_statements_that_tell(void **state)
{
    (void)state;
    char *path = ext_new_path("key_told");
    drive(path, true);
    db_remove_file(path);
    test_free(path);
    drive(NULL, true);
}

/* All keys at once. */
static void with_many_rows(void **state)
{
    Db *db = *state;
    run(db, "CREATE TABLE t AS SELECT i AS a, 'a text that is not inline ' || i AS b, i / 7 AS d "
            "FROM range(100000) r(i)");
    create_view(db, "v", "SELECT a % 10 AS g, count(*) AS n FROM t GROUP BY 1");
    run(db, "CALL dbsp_track('t', key := 'b, d')");
    run(db, "UPDATE t SET b = 'a text that is not inline ' || (99999 - a), d = (99999 - a) / 7");
    verifies(db, "v");
    run(db, "INSERT INTO t SELECT a + 100000, b || 'x', d FROM t");
    run(db, "DELETE FROM t WHERE a < 90000; INSERT INTO t SELECT a, b[:-2], d FROM t "
            "WHERE a BETWEEN 100000 AND 189999");
    gives(db, "SELECT promise, promise_error FROM (SELECT * FROM dbsp_sync()), dbsp_tables()",
          "key (b, d)|NULL\n");
    run(db, "UPDATE t SET b = 'one' WHERE a IN (150000, 150001, 150002)");
    run(db, "UPDATE t SET d = 5 WHERE b = 'one'");
    verifies(db, "v");
    gives(db,
          "SELECT promise_error LIKE 'DBSP-E305: table t has _ rows with (b, d) = (''one'', 5%' "
          "FROM dbsp_tables()",
          "true\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(in_memory),
    cmocka_unit_test(in_a_file),
    cmocka_unit_test(by_statements_that_tell),
    EXT_TEST(with_many_rows),
};

int main(int argc, char **argv)
{
    driver.transactions = DEFAULT_TRANSACTIONS;
    driver.seed = 1;
    return ext_take_run(argc, argv, "TRANSACTIONS", &driver.transactions, &driver.seed)
               ? cmocka_run_group_tests(tests, NULL, NULL)
               : 2;
}
