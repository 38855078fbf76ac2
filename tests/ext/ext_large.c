/* ext_large.c: sizes at which something changes: the vector of 2048 rows, the row group of 122,880,
 * and a view that several threads read. */
#include "ext.h"

static void views_around_a_vector(void **state)
{
    Db *db = *state;
    static const int SIZES[] = {0, 1, 2047, 2048, 2049, 4095, 4096, 4097};
    run(db, "CREATE TABLE t (a INTEGER, s VARCHAR)");
    run(db, "CALL dbsp_create_view('v', 'SELECT a, s FROM t')");
    run(db, "CALL dbsp_create_view('g', 'SELECT a % 5000 AS k, count(*) AS n FROM v GROUP BY 1')");
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        char *sql =
            text_format("BEGIN; DELETE FROM t; INSERT INTO t SELECT i, CASE WHEN i %% 3 = 0 "
                        "THEN NULL ELSE 'a string that is long ' || i END "
                        "FROM range(%d) r(i); COMMIT",
                        SIZES[i]);
        run(db, sql);
        test_free(sql);
        assert_int_equal(number(db, "SELECT count(*) FROM v"), SIZES[i]);
        assert_int_equal(number(db, "SELECT count(*) FROM g"), SIZES[i]);
        verifies(db, "v");
        verifies(db, "g");
        run(db, "INSERT INTO t VALUES (-1, 'one more')");
        verifies(db, "v");
        run(db, "DELETE FROM t WHERE a = -1");
        verifies(db, "g");
    }
}

static void tables_around_a_row_group(void **state)
{
    Db *db = *state;
    static const int SIZES[] = {122879, 122880, 122881};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        char *sql = text_format(
            "CREATE TABLE t AS SELECT i AS a, i %% 100 AS g FROM range(%d) r(i)", SIZES[i]);
        run(db, sql);
        test_free(sql);
        run(db, "CALL dbsp_create_view('v', 'SELECT g, count(*) AS n, sum(a) AS s FROM t "
                "GROUP BY g')");
        verifies(db, "v");
        run(db, "INSERT INTO t VALUES (1, 1), (2, 200)");
        verifies(db, "v");
        run(db, "DELETE FROM t WHERE a IN (0, 122878, 122879, 122880)");
        verifies(db, "v");
        run(db, "UPDATE t SET g = g + 1 WHERE a % 1000 = 999");
        verifies(db, "v");
        run(db, "DELETE FROM t WHERE a < 100000; CHECKPOINT"); /* row ids move */
        verifies(db, "v");
        run(db, "INSERT INTO t SELECT i, 7 FROM range(3000) r(i)");
        verifies(db, "v");
        run(db, "CALL dbsp_drop('v'); DROP TABLE t");
    }
}

static void four_threads_read_a_view(void **state)
{
    Db *db = *state;
    run(db, "SET threads = 4");
    run(db, "CREATE TABLE t AS SELECT i AS a, 'text of row ' || i AS s FROM range(300000) r(i)");
    run(db, "CALL dbsp_create_view('v', 'SELECT a, s FROM t')");
    gives(db, "SELECT count(*), count(DISTINCT a), sum(a), count(DISTINCT s) FROM v",
          "300000|300000|44999850000|300000\n");
    run(db, "DELETE FROM t WHERE a % 3 = 0");
    gives(db, "SELECT count(*), sum(a) FROM v", "200000|30000000000\n");
    verifies(db, "v");
    run(db, "UPDATE t SET s = 'other' WHERE a < 1000");
    verifies(db, "v");
}

static const struct CMUnitTest tests[] = {
    EXT_TEST(views_around_a_vector),
    EXT_TEST(tables_around_a_row_group),
    EXT_TEST(four_threads_read_a_view),
};

EXT_MAIN(tests)
