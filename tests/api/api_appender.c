/* api_appender.c: rows that are appended reach the views as those of a statement do. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char TABLES[] =
    "CREATE TABLE t (id BIGINT, s VARCHAR, d DOUBLE, n DECIMAL(9, 2) DEFAULT 1.5, b BOOLEAN);"
    "CREATE TABLE one (a INTEGER);"
    "CREATE SCHEMA \"a b\"; CREATE TABLE \"a b\".\"c.d\" (k INTEGER PRIMARY KEY);"
    "CREATE MATERIALIZED VIEW sums AS SELECT id % 10 AS g, count(*) AS n, sum(n) AS s, min(s) AS m "
    "FROM t GROUP BY g;"
    "CREATE MATERIALIZED VIEW ones AS SELECT a, count(*) AS n FROM one GROUP BY a;"
    "CREATE MATERIALIZED VIEW keys AS SELECT count(*) AS n FROM \"a b\".\"c.d\"";

static int setup(void **state)
{
    WeirDb *const db = api_open(NULL);
    run(db, TABLES);
    *state = db;
    return 0;
}

static int teardown(void **state)
{
    weir_close(*state);
    return 0;
}

static void verify(WeirDb *db)
{
    gives(db, "FROM dbsp_verify('sums')", "ok|NULL\n");
    gives(db, "FROM dbsp_verify('ones')", "ok|NULL\n");
    gives(db, "FROM dbsp_verify('keys')", "ok|NULL\n");
}

static WeirAppender *open_appender(WeirDb *db, const char *table)
{
    WeirAppender *appender = NULL;
    WeirError err = {0};
    if (weir_appender_open(db, table, &appender, &err) != WEIR_OK) {
        fail_msg("%s", err.message);
    }
    return appender;
}

static void append(WeirAppender *appender, int64_t id)
{
    WeirError err = {0};
    weir_append_int64(appender, id);
    if (id % 3 == 0) {
        weir_append_null(appender);
    } else {
        weir_append_text(appender, "a text that is not inline", (size_t)(id % 25));
    }
    weir_append_double(appender, (double)id / 2);
    if (id % 2 == 0) {
        weir_append_default(appender);
    } else {
        weir_append_text(appender, "12.25", 5);
    }
    weir_append_bool(appender, id % 7 == 0);
    if (weir_append_row(appender, &err) != WEIR_OK) {
        fail_msg("%s", err.message);
    }
}

static void closes(WeirAppender *appender)
{
    WeirError err = {0};
    if (weir_appender_close(appender, &err) != WEIR_OK) {
        fail_msg("%s", err.message);
    }
}

static void appended_rows_are_told(void **state)
{
    WeirDb *const db = *state;
    WeirError err = {0};
    WeirAppender *appender = open_appender(db, "main.t");
    for (int64_t i = 0; i < 150000; i++) { /* more than are flushed at once */
        append(appender, i);
    }
    assert_int_equal(weir_appender_flush(appender, &err), WEIR_OK);
    gives(db, "SELECT sum(n) FROM sums", "150000\n");
    append(appender, 1);
    gives(db, "SELECT sum(n) FROM sums", "150000\n");
    closes(appender);
    gives(db, "SELECT sum(n) FROM sums", "150001\n");
    appender = open_appender(db, "\"a b\".\"c.d\"");
    weir_append_text(appender, "77", 2);
    assert_int_equal(weir_append_row(appender, &err), WEIR_OK);
    closes(appender);
    gives(db, "FROM keys", "1\n");
    gives(db, "SELECT sum(diffs) FROM dbsp_table_state()", "0\n");
    verify(db);
}

static void appended_rows_are_of_the_transaction(void **state)
{
    WeirDb *const db = *state;
    WeirDb *const other = api_connect(db);
    run(db, "BEGIN; INSERT INTO one VALUES (1)");
    WeirAppender *appender = open_appender(db, "t");
    append(appender, 5);
    closes(appender);
    gives(other, "SELECT count(*) FROM sums", "0\n");
    gives(db, "SELECT count(*) FROM t", "1\n");
    run(db, "COMMIT");
    gives(other, "SELECT sum(n) FROM sums", "1\n");
    verify(other);
    run(db, "BEGIN");
    appender = open_appender(db, "t");
    append(appender, 6);
    closes(appender);
    appender = open_appender(db, "t"); /* of a table that the transaction has changed before */
    append(appender, 7);
    closes(appender);
    run(db, "DELETE FROM t WHERE id = 6; COMMIT");
    gives(other, "SELECT sum(n) FROM sums", "2\n");
    verify(other);
    run(db, "BEGIN");
    appender = open_appender(db, "t");
    append(appender, 8);
    closes(appender);
    run(db, "ROLLBACK");
    gives(other, "SELECT sum(n) FROM sums", "2\n");
    verify(other);
    weir_close(other);
}

static void bad_rows_are_refused(void **state)
{
    WeirDb *const db = *state;
    WeirError err = {0};
    WeirAppender *appender = NULL;
    assert_int_equal(weir_appender_open(db, "nosuch", &appender, &err), WEIR_ERR_HOST);
    assert_non_null(strstr(err.message, "nosuch"));
    assert_null(appender);
    /* A value that does not fit takes the rows before it, too. */
    appender = open_appender(db, "one");
    weir_append_int64(appender, 1);
    assert_int_equal(weir_append_row(appender, &err), WEIR_OK);
    weir_append_text(appender, "two", 3);
    assert_int_equal(weir_append_row(appender, &err), WEIR_ERR_HOST);
    assert_non_null(strstr(err.message, "value 1 of a row for one"));
    assert_int_equal(weir_appender_close(appender, &err), WEIR_ERR_HOST);
    gives(db, "SELECT count(*) FROM one", "0\n");
    verify(db);
    /* Too few values, and a row that does not end. */
    appender = open_appender(db, "t");
    weir_append_int64(appender, 1);
    assert_int_equal(weir_append_row(appender, &err), WEIR_ERR_HOST);
    assert_int_equal(weir_appender_close(appender, &err), WEIR_ERR_HOST);
    appender = open_appender(db, "t");
    append(appender, 1);
    weir_append_int64(appender, 2);
    assert_int_equal(weir_appender_close(appender, &err), WEIR_ERR_MISUSE);
    gives(db, "SELECT count(*) FROM t", "0\n");
    /* A key that is there. */
    run(db, "INSERT INTO \"a b\".\"c.d\" VALUES (1)");
    appender = open_appender(db, "\"a b\".\"c.d\"");
    for (int64_t k = 0; k < 3; k++) {
        weir_append_int64(appender, k);
        assert_int_equal(weir_append_row(appender, &err), WEIR_OK);
    }
    assert_int_equal(weir_appender_close(appender, &err), WEIR_ERR_HOST);
    gives(db, "FROM keys", "1\n");
    verify(db);
    assert_int_equal(weir_appender_close(NULL, &err), WEIR_OK);
}

static void what_fails_in_a_transaction_is_found(void **state)
{
    WeirDb *const db = *state;
    WeirError err = {0};
    run(db, "BEGIN; INSERT INTO one VALUES (9)");
    WeirAppender *appender = open_appender(db, "one");
    weir_append_int64(appender, 1);
    assert_int_equal(weir_append_row(appender, &err), WEIR_OK);
    weir_append_text(appender, "two", 3);
    assert_int_equal(weir_append_row(appender, &err), WEIR_ERR_HOST);
    assert_int_equal(weir_appender_close(appender, &err), WEIR_ERR_HOST);
    run(db, "COMMIT");
    verify(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appended_rows_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(appended_rows_are_of_the_transaction, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_rows_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(what_fails_in_a_transaction_is_found, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
