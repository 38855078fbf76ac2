/* ext_transactions.c: what a view shows inside and beside the user's transactions, and databases and
 * connections that must not mix. */
#include "ext.h"

static void make(Db *db)
{
    run(db, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2);"
            "CALL dbsp_create_view('v', 'SELECT count(*) AS n, sum(a) AS s FROM t')");
}

static void uncommitted_rows_are_not_seen(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "BEGIN");
    run(db, "INSERT INTO t VALUES (10)");
    gives(db, "SELECT * FROM v", "2|3\n");
    gives(db, "SELECT count(*) FROM t", "3\n");
    gives_on(db, 1, "SELECT * FROM v", "2|3\n");
    run(db, "COMMIT");
    gives(db, "SELECT * FROM v", "3|13\n");
    gives_on(db, 1, "SELECT * FROM v", "3|13\n");
}

static void a_rollback_leaves_no_trace(void **state)
{
    Db *db = *state;
    make(db);
    const int64_t generation = number(db, "SELECT generation FROM dbsp_sync()");
    run(db, "BEGIN; DELETE FROM t; INSERT INTO t VALUES (7); UPDATE t SET a = 8");
    gives(db, "SELECT * FROM v", "2|3\n");
    run(db, "ROLLBACK");
    gives(db, "SELECT * FROM v", "2|3\n");
    assert_int_equal(number(db, "SELECT generation FROM dbsp_sync()"), generation);
    verifies(db, "v");
}

static void an_error_aborts_the_users_transaction_and_no_more(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "BEGIN; INSERT INTO t VALUES (10)");
    fails(db, "SELECT * FROM dbsp_query('nosuch')", "DBSP-E201"); /* at bind: nothing is lost */
    run(db, "COMMIT");
    gives(db, "SELECT * FROM v", "3|13\n");
    run(db, "BEGIN; INSERT INTO t VALUES (20)");
    fails(db, "CALL dbsp_drop('nosuch')", "DBSP-E201"); /* at run */
    fails(db, "SELECT * FROM v", "aborted");
    run(db, "ROLLBACK");
    gives(db, "SELECT * FROM v", "3|13\n");
    verifies(db, "v");
}

static void views_are_made_inside_a_transaction(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "BEGIN; INSERT INTO t VALUES (10)");
    gives(db, "CALL dbsp_create_view('w', 'SELECT a FROM t')", "w|2\n");
    gives(db, "SELECT a FROM w ORDER BY a", "1\n2\n");
    fails(db, "CALL dbsp_create_view('x', 'SELECT a FROM uncommitted')", "DBSP-E102");
    run(db, "ROLLBACK");
    gives(db, "SELECT a FROM w ORDER BY a", "1\n2\n"); /* views are no part of it */
    run(db, "BEGIN");
    gives(db, "CALL dbsp_drop('w')", "1\n");
    run(db, "COMMIT");
    fails(db, "SELECT a FROM w", "does not exist");
}

static void uncommitted_tables_are_not_there_yet(void **state)
{
    Db *db = *state;
    run(db, "BEGIN; CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)");
    fails(db, "CALL dbsp_create_view('v', 'SELECT a FROM t')", "DBSP-E102");
    run(db, "ROLLBACK");
    run(db, "CREATE TEMP TABLE t (a INTEGER)");
    fails(db, "CALL dbsp_create_view('v', 'SELECT a FROM t')", "DBSP-E102");
}

static void two_connections_see_each_others_commits(void **state)
{
    Db *db = *state;
    make(db);
    for (int i = 0; i < 5; i++) {
        run_on(db, 1, "INSERT INTO t VALUES (1)");
        gives_on(db, 0, "SELECT n = (SELECT count(*) FROM t) FROM v", "true\n");
        run_on(db, 0, "DELETE FROM t WHERE rowid = (SELECT max(rowid) FROM t)");
        gives_on(db, 1, "SELECT n = (SELECT count(*) FROM t) FROM v", "true\n");
    }
    run_on(db, 1, "CALL dbsp_replace_view('v', 'SELECT sum(a) AS s FROM t')");
    gives_on(db, 0, "SELECT * FROM v", "3\n");
    run_on(db, 0, "CALL dbsp_drop('v')");
    fails_on(db, 1, "SELECT * FROM v", "does not exist");
}

static void an_open_transaction_does_not_hold_a_view_back(void **state)
{
    Db *db = *state;
    make(db);
    run_on(db, 1, "BEGIN; SELECT * FROM t");
    run(db, "INSERT INTO t VALUES (10)");
    gives_on(db, 1, "SELECT count(*) FROM t", "2\n"); /* its snapshot */
    gives_on(db, 1, "SELECT n FROM v", "3\n");        /* the view is as of the last commit */
    run_on(db, 1, "COMMIT");
}

static void two_databases_keep_apart(void **state)
{
    Db *db = *state;
    Db other;
    ext_open(&other, NULL);
    make(db);
    run(&other, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (100)");
    fails(&other, "SELECT * FROM v", "does not exist");
    run(&other, "CALL dbsp_create_view('v', 'SELECT a FROM t')");
    gives(&other, "SELECT * FROM v", "100\n");
    gives(db, "SELECT * FROM v", "2|3\n");
    run(&other, "INSERT INTO t VALUES (200)");
    run(&other, "CALL dbsp_auto_sync(false)");
    gives(db, "SELECT n FROM v", "2\n");
    run(db, "INSERT INTO t VALUES (3)");
    gives(db, "SELECT n FROM v", "3\n");
    gives(&other, "SELECT count(*) FROM v", "1\n");
    db_close(&other);
    run(db, "INSERT INTO t VALUES (4)");
    gives(db, "SELECT n FROM v", "4\n");
}

static void large_and_small_commits_come_in_any_order(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "INSERT INTO t SELECT i FROM range(5000) r(i)");
    verifies(db, "v");
    run(db, "BEGIN; DELETE FROM t WHERE a % 2 = 0; UPDATE t SET a = a + 1; COMMIT");
    verifies(db, "v");
    run(db, "BEGIN; INSERT INTO t SELECT 5 FROM range(3000); ROLLBACK");
    run(db, "DELETE FROM t WHERE a > 3");
    verifies(db, "v");
    run(db, "TRUNCATE t");
    gives(db, "SELECT * FROM v", "0|NULL\n");
}

static const struct CMUnitTest tests[] = {
    EXT_TEST(uncommitted_rows_are_not_seen),
    EXT_TEST(a_rollback_leaves_no_trace),
    EXT_TEST(an_error_aborts_the_users_transaction_and_no_more),
    EXT_TEST(views_are_made_inside_a_transaction),
    EXT_TEST(uncommitted_tables_are_not_there_yet),
    EXT_TEST(two_connections_see_each_others_commits),
    EXT_TEST(an_open_transaction_does_not_hold_a_view_back),
    EXT_TEST(two_databases_keep_apart),
    EXT_TEST(large_and_small_commits_come_in_any_order),
};

EXT_MAIN(tests)
