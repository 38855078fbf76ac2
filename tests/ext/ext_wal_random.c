/* ext_wal_random.c: random transactions of other connections on tables of a file, checkpoints in
 * between, and views that must be their definitions after any number of them.
 *
 *   ext_wal_random EXTENSION [TRANSACTIONS [SEED]] */
#include "ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES = 2, VIEWS = 4, DEFAULT_TRANSACTIONS = 2000, ROWS_MAX = 6000 };

typedef struct Driver {
    Db db;
    char *path;
    uint64_t seed;
    long transactions;
    long next_id;
} Driver;

static Driver driver;

static unsigned pick(unsigned limit)
{
    driver.seed = driver.seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(driver.seed >> 33) % limit;
}

static const char *const VIEW_NAMES[VIEWS] = {"grouped", "joined", "texts", "all_columns"};

static void open_world(void)
{
    driver.path = ext_new_path("wal_random");
    ext_open(&driver.db, driver.path);
    run(&driver.db,
        "CREATE TABLE t0 (id BIGINT, a INTEGER, s VARCHAR, d DOUBLE, l INTEGER[]); "
        "CREATE TABLE t1 (k INTEGER, id BIGINT, u HUGEINT, b BOOLEAN, n DECIMAL(12, 2))");
    run(&driver.db, "SET wal_autocheckpoint = '200KB'");
    create_view(
        &driver.db, "grouped",
        "SELECT a, count(*) AS n, count(s) AS k, min(s) AS m, max(id) AS x FROM t0 GROUP BY a");
    create_view(
        &driver.db, "joined",
        "SELECT t0.a, t1.k, count(*) AS n FROM t0 JOIN t1 ON t0.a = t1.k GROUP BY t0.a, t1.k");
    create_view(&driver.db, "texts", "SELECT id, s FROM t0 WHERE s LIKE '%1%'");
    create_view(&driver.db, "all_columns", "SELECT k, id, u, b, n FROM t1");
}

/* One statement over t0 or t1; %u are random numbers. */
static char *random_statement(unsigned table)
{
    const unsigned from = pick((unsigned)driver.next_id + 1);
    const unsigned to = from + pick(pick(8) == 0 ? 1000 : 20);
    const unsigned r = pick(9);
    switch (pick(table == 0 ? 12 : 9)) {
    case 0:
    case 1:
    case 2: {
        const long first = driver.next_id;
        const unsigned count = 1 + pick(pick(10) == 0 ? 900 : 6);
        driver.next_id += count;
        return text_format(
            table == 0
                ? "INSERT INTO t0 SELECT %ld + i, i %% 7, CASE i %% 3 WHEN 0 THEN NULL WHEN 1 "
                  "THEN 's' || i ELSE 'a text that is longer ' || i END, i / 2, [i, NULL] FROM "
                  "range(%u) r(i)"
                : "INSERT INTO t1 SELECT i %% 9, %ld + i, i * 100000000000000, i %% 2 = 0, i / "
                  "4 FROM range(%u) r(i)",
            first, count);
    }
    case 3: return text_format("DELETE FROM t%u WHERE id BETWEEN %u AND %u", table, from, to);
    case 4:
        return text_format(table == 0 ? "UPDATE t0 SET a = %u WHERE id BETWEEN %u AND %u"
                                      : "UPDATE t1 SET k = %u WHERE id BETWEEN %u AND %u",
                           r, from, to);
    case 5:
        return text_format(table == 0
                               ? "UPDATE t0 SET s = CASE WHEN id %% %u = 0 THEN NULL ELSE s || "
                                 "'1' END, d = NULL WHERE id BETWEEN %u AND %u"
                               : "UPDATE t1 SET u = u + %u, b = NOT b, n = NULL WHERE id "
                                 "BETWEEN %u AND %u",
                           r + 1, from, to);
    case 6:
        return text_format(table == 0 ? "UPDATE t0 SET s = 'v' || %u, a = NULL WHERE id BETWEEN %u "
                                        "AND %u"
                                      : "UPDATE t1 SET n = %u, b = NULL WHERE id BETWEEN %u AND %u",
                           r, from, to);
    case 7: return text_format("DELETE FROM t%u WHERE id %% 97 = %u", table, pick(97));
    case 8:
        return text_format(
            "UPDATE t%u SET id = CASE id WHEN %u THEN %u ELSE %u END WHERE id IN (%u, "
            "%u)",
            table, from, from + 1, from, from, from + 1);
    case 9: return text_format("UPDATE t0 SET l = [%u] WHERE id BETWEEN %u AND %u", r, from, to);
    case 10: return text_format("UPDATE t0 SET a = a + 1 WHERE id %% 13 = %u", r);
    default:
        return text_format("INSERT INTO t0 SELECT * FROM t0 WHERE id BETWEEN %u AND %u", from, to);
    }
}

static void shrink_tables(void)
{
    for (unsigned t = 0; t < TABLES; t++) {
        char *sql =
            text_format("DELETE FROM t%u WHERE id %% 4 > 0 AND (SELECT count(*) FROM t%u) > %d", t,
                        t, (int)ROWS_MAX);
        run(&driver.db, sql);
        test_free(sql);
    }
}

static void random_transaction(void)
{
    const size_t connection = 1 + pick(2);
    const unsigned statements = 1 + pick(3);
    const bool is_open = statements > 1 || pick(4) == 0;
    if (is_open) {
        run_on(&driver.db, connection, "BEGIN");
    }
    const unsigned only = pick(TABLES);
    for (unsigned i = 0; i < statements; i++) {
        char *sql = random_statement(pick(3) == 0 ? pick(TABLES) : only);
        run_on(&driver.db, connection, sql);
        test_free(sql);
    }
    if (is_open) {
        run_on(&driver.db, connection, pick(10) == 0 ? "ROLLBACK" : "COMMIT");
    }
    if (pick(150) == 0) {
        run(&driver.db, "CHECKPOINT");
    }
    if (pick(400) == 0) {
        run(&driver.db, pick(2) == 0 ? "TRUNCATE t0" : "ALTER TABLE t1 ALTER b SET DEFAULT true");
    }
}

static void views_are_their_definitions(void **state)
{
    (void)state;
    print_message("seed %llu, %ld transactions\n", (unsigned long long)driver.seed,
                  driver.transactions);
    open_world();
    for (long i = 0; i < driver.transactions; i++) {
        random_transaction();
        if (pick(4) == 0) {
            run(&driver.db, "SELECT count(*) FROM grouped");
        }
        if (pick(40) == 0) {
            verifies(&driver.db, VIEW_NAMES[pick(VIEWS)]);
        }
        if (i % 200 == 199) {
            shrink_tables();
            for (size_t v = 0; v < VIEWS; v++) {
                verifies(&driver.db, VIEW_NAMES[v]);
            }
        }
    }
    /* Most syncs took the log's word. */
    gives(&driver.db, "SELECT DISTINCT method FROM dbsp_tables() WHERE \"table\" IN ('t0', 't1')",
          "wal\n");
    gives(&driver.db, "SELECT bool_and(fall_backs < syncs / 4) FROM dbsp_table_state()", "true\n");
    db_close(&driver.db);
    db_remove_file(driver.path);
    test_free(driver.path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(views_are_their_definitions),
};

int main(int argc, char **argv)
{
    driver.transactions = DEFAULT_TRANSACTIONS;
    driver.seed = 1;
    return ext_take_run(argc, argv, "TRANSACTIONS", &driver.transactions, &driver.seed)
               ? cmocka_run_group_tests(tests, NULL, NULL)
               : 2;
}
