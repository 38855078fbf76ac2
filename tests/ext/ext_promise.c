/* ext_promise.c: tables of which it was promised that rows are only added. */
#include "ext.h"

static void make(Db *db)
{
    run(db, "CREATE TABLE t AS SELECT i AS a, 'row ' || i AS b FROM range(20000) r(i)");
    create_view(db, "v", "SELECT a % 7 AS g, count(*) AS n, max(b) AS b FROM t GROUP BY 1");
    gives(db, "CALL dbsp_track('t', append_only := true)", "t|20000\n");
}

static const char PROMISE[] = "SELECT promise, promise_error[:9] FROM dbsp_tables()";

static void added_rows_are_found(void **state)
{
    Db *db = *state;
    make(db);
    gives(db, PROMISE, "append_only|NULL\n");
    for (int i = 0; i < 30; i++) {
        char *sql =
            text_format("INSERT INTO t SELECT %d + i, NULL FROM range(%d) r(i)", i * 100, i * 37);
        run(db, sql);
        test_free(sql);
        verifies(db, "v");
        if (i > 0) {
            gives(db, "SELECT row_count = (SELECT count(*) FROM t) FROM dbsp_tables()", "true\n");
        }
    }
    run(db, "CALL dbsp_sync()");
    gives(db, "SELECT last_sync FROM dbsp_tables()", "unchanged\n");
    run(db, "INSERT INTO t VALUES (1, 'x')");
    run(db, "CALL dbsp_sync()");
    gives(db, "SELECT last_sync FROM dbsp_tables()", "appended\n");
    run(db, "CALL dbsp_sync(name := 't')");
    gives(db, PROMISE, "append_only|NULL\n");
    gives(db, "SELECT diffs FROM dbsp_table_state()", "0\n");
}

static void a_deleted_row_breaks_it(void **state)
{
    Db *db = *state;
    make(db);
    run(db,
        "DELETE FROM t WHERE a = 7; INSERT INTO t VALUES (30000, 'new')"); /* as many as before */
    verifies(db, "v");
    gives(db, PROMISE, "append_only|DBSP-E305\n");
    run(db, "UPDATE t SET b = 'other' WHERE a = 15000"); /* nothing is believed any more */
    verifies(db, "v");
    run(db, "CALL dbsp_track('t')");
    gives(db, PROMISE, "NULL|NULL\n");
    run(db, "DELETE FROM t WHERE a < 100");
    verifies(db, "v");
    run(db, "CALL dbsp_track('t', append_only := true)");
    gives(db, PROMISE, "append_only|NULL\n");
    run(db, "CALL dbsp_exec('DELETE FROM t WHERE a < 200')");
    gives(db, PROMISE, "append_only|DBSP-E305\n");
    verifies(db, "v");
}

/* Counting does not see it; one of the samples does, each of which is another group. */
static void an_update_is_found_by_and_by(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "UPDATE t SET b = 'updated' WHERE a = 9000");
    for (int i = 0; i < 10; i++) {
        run(db, "CALL dbsp_sync()");
    }
    gives(db, PROMISE, "append_only|DBSP-E305\n");
    verifies(db, "v");
}

static void a_sync_by_name_looks_at_everything(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "UPDATE t SET b = 'updated' WHERE a = 19000");
    run(db, "CALL dbsp_sync(name := 't')");
    gives(db, PROMISE, "append_only|DBSP-E305\n");
    verifies(db, "v");
}

static void what_cannot_be_promised_is_refused(void **state)
{
    Db *db = *state;
    make(db);
    fails(db, "CALL dbsp_track('t', manual := true, append_only := true)", "DBSP-E501");
    gives(db, PROMISE, "append_only|NULL\n");
    run(db, "CALL dbsp_track('t', manual := true)");
    gives(db, PROMISE, "NULL|NULL\n");
}

static void an_empty_table_may_grow(void **state)
{
    Db *db = *state;
    run(db, "CREATE TABLE t (a INTEGER)");
    run(db, "CALL dbsp_track('t', append_only := true)");
    create_view(db, "v", "SELECT a FROM t");
    run(db, "INSERT INTO t VALUES (1)");
    gives(db, "SELECT * FROM v", "1\n");
    run(db, "TRUNCATE t");
    gives(db, "SELECT count(*) FROM v", "0\n");
    gives(db, PROMISE, "append_only|DBSP-E305\n");
}

static const struct CMUnitTest tests[] = {
    EXT_TEST(added_rows_are_found),
    EXT_TEST(a_deleted_row_breaks_it),
    EXT_TEST(an_update_is_found_by_and_by),
    EXT_TEST(a_sync_by_name_looks_at_everything),
    EXT_TEST(what_cannot_be_promised_is_refused),
    EXT_TEST(an_empty_table_may_grow),
};

EXT_MAIN(tests)
