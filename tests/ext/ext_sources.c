/* ext_sources.c: where changes come from: feeds, stale reads, tables fed by hand, and what verify
 * finds; with tables that are altered, renamed, dropped, and put back. */
#include "ext.h"

static void make(Db *db)
{
    make_t(db, "(1, 'x'), (2, 'y'), (2, 'z')");
    create_view(db, "v", "SELECT a, count(*) AS n FROM t GROUP BY a");
}

/* Since generation `since`, as "a|n|weight" lines. */
static void changes(Db *db, int64_t since, const char *rows)
{
    char *sql = text_format("SELECT a, n, weight FROM dbsp_changes('v', since := %lld) "
                            "ORDER BY a, n, weight",
                            (long long)since);
    gives(db, sql, rows);
    test_free(sql);
}

static int64_t generation(Db *db)
{
    return number(db, "SELECT generation FROM dbsp_sync()");
}

/* ---- feeds --------------------------------------------------------------------------------------- */

static void a_feed_is_resumed(void **state)
{
    Db *db = *state;
    make(db);
    const int64_t start = generation(db);
    assert_int_equal(number(db, "SELECT generation FROM dbsp_views()"), start);
    changes(db, start, "");
    run(db, "INSERT INTO t VALUES (3, 'w')");
    changes(db, start, "3|1|1\n");
    const int64_t middle = generation(db);
    run(db, "DELETE FROM t WHERE a = 2");
    changes(db, middle, "2|2|-1\n");
    changes(db, start, "2|2|-1\n3|1|1\n");
    changes(db, generation(db), "");
    fails(db, "CALL dbsp_changes('v', since := 1000000)", "DBSP-E501");
    gives(db, "SELECT count(*), count(DISTINCT generation) FROM dbsp_changes('v')", "2|2\n");
    run(db, "INSERT INTO t VALUES (9, 'w'); DELETE FROM t WHERE a = 9");
    const int64_t before = generation(db);
    run(db, "UPDATE t SET b = 'q'"); /* nothing that the view reads */
    assert_int_equal(generation(db), before);
}

static void a_change_too_large_for_the_feed_is_a_gap(void **state)
{
    Db *db = *state;
    run(db, "CREATE TABLE t (a INTEGER, n BIGINT, s VARCHAR)");
    run(db, "CALL dbsp_create_view('v', 'SELECT a, n, s FROM t')");
    const int64_t start = generation(db);
    run(db, "INSERT INTO t SELECT i, i, repeat('x', 400) FROM range(200000) r(i)");
    fails(db, "SELECT count(*) FROM dbsp_changes('v', since := 0)", "DBSP-E205");
    char *sql =
        text_format("SELECT count(*) FROM dbsp_changes('v', since := %lld)", (long long)start);
    fails(db, sql, "DBSP-E205");
    test_free(sql);
    gives(db, "SELECT count(*) FROM v", "200000\n");
    const int64_t later = generation(db);
    run(db, "DELETE FROM t WHERE a = 5");
    changes(db, later, "5|5|-1\n");
    gives(db, "SELECT feed_bytes < 100000000 FROM dbsp_view_state()", "true\n");
}

static void a_feed_goes_on_through_replace_and_ends_with_the_view(void **state)
{
    Db *db = *state;
    make(db);
    const int64_t start = generation(db);
    run(db, "CALL dbsp_replace_view('v', 'SELECT a, count(*) * 10 AS n FROM t GROUP BY a')");
    changes(db, start, "1|1|-1\n1|10|1\n2|2|-1\n2|20|1\n");
    run(db, "CALL dbsp_refresh('v')");
    changes(db, start, "1|1|-1\n1|10|1\n2|2|-1\n2|20|1\n");
    run(db, "CALL dbsp_drop('v')");
    run(db, "CALL dbsp_create_view('v', 'SELECT a, count(*) AS n FROM t GROUP BY a')");
    fails(db, "SELECT * FROM dbsp_changes('v', since := 1)", "DBSP-E205");
}

/* ---- stale on request ----------------------------------------------------------------------------- */

static void without_auto_sync_a_view_waits_for_a_sync(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "CALL dbsp_auto_sync(false)");
    run(db, "INSERT INTO t VALUES (5, 'x')");
    gives(db, "SELECT count(*) FROM v", "2\n");
    gives(db, "SELECT count(*) FROM dbsp_changes('v')", "0\n");
    gives(db, "SELECT result FROM dbsp_verify('v')", "missing\n");
    gives(db, "SELECT changed_rows FROM dbsp_sync()", "1\n");
    gives(db, "SELECT count(*) FROM v", "3\n");
    run(db, "INSERT INTO t VALUES (6, 'x')");
    run(db, "CALL dbsp_auto_sync(true)");
    gives(db, "SELECT count(*) FROM v", "4\n");
}

static void a_table_is_synced_alone(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "CREATE TABLE u (a INTEGER)");
    run(db, "CALL dbsp_create_view('w', 'SELECT a FROM u')");
    run(db, "CALL dbsp_auto_sync(false)");
    run(db, "INSERT INTO u VALUES (1); INSERT INTO t VALUES (7, 'q')");
    gives(db, "SELECT changed_rows FROM dbsp_sync(name := 'U')", "1\n");
    gives(db, "SELECT (SELECT count(*) FROM v), (SELECT count(*) FROM w)", "2|1\n");
    run(db, "CALL dbsp_sync(name := 'memory.main.t')");
    gives(db, "SELECT count(*) FROM v", "3\n");
}

/* ---- by hand -------------------------------------------------------------------------------------- */

static void a_manual_table_is_told_and_reconciled(void **state)
{
    Db *db = *state;
    make(db);
    gives(db, "CALL dbsp_track('t', manual := true)", "t|3\n");
    gives(db, "SELECT method FROM dbsp_tables()", "manual\n");
    run(db, "INSERT INTO t VALUES (8, 'x')");
    gives(db, "SELECT count(*) FROM v", "2\n"); /* not compared */
    run(db, "CALL dbsp_notify_insert('t', {'a': 8, 'b': 'x'})");
    gives(db, "SELECT * FROM v ORDER BY a", "1|1\n2|2\n8|1\n");
    run(db, "CALL dbsp_notify_insert('t', [{'a': 9, 'b': 'x'}, {'a': 9, 'b': NULL}])");
    gives(db, "SELECT n FROM v WHERE a = 9", "2\n");
    gives(db, "SELECT result FROM dbsp_verify('v')", "unexpected\n"); /* verify finds it */
    gives(db, "CALL dbsp_create_view('late', 'SELECT a FROM t')", "late|6\n");
    gives(db, "SELECT changed_rows FROM dbsp_sync(name := 't')", "2\n");
    verifies(db, "v");
    verifies(db, "late");
    run(db, "CALL dbsp_notify_delete('t', {'b': 'y', 'a': '2'})"); /* by name; cast */
    gives(db, "SELECT n FROM v WHERE a = 2", "1\n");
    run(db, "CALL dbsp_sync(name := 't')");
    verifies(db, "v");
    run(db, "CALL dbsp_track('t')");
    run(db, "DELETE FROM t WHERE a = 1");
    verifies(db, "v");
}

static void rows_told_wrongly_are_refused(void **state)
{
    Db *db = *state;
    make(db);
    fails(db, "CALL dbsp_notify_insert('t', {'a': 1})", "DBSP-E503");
    run(db, "CALL dbsp_track('t', manual := true)");
    fails(db, "CALL dbsp_notify_insert('t', {'a': 1})", "DBSP-E501");
    fails(db, "CALL dbsp_notify_insert('t', {'a': 'q', 'b': 'x'})", "DBSP-E501");
    fails(db, "CALL dbsp_notify_insert('t', 7)", "DBSP-E501");
    fails(db, "CALL dbsp_notify_insert('t', [7])", "DBSP-E501");
    gives(db, "SELECT rows FROM dbsp_notify_insert('t', [{'a': 1, 'b': 'x'}][1:0])", "0\n");
    verifies(db, "v");
    fails(db, "SELECT * FROM dbsp_notify_insert('t', [{'a': '1', 'b': 'x'}, {'a': 'q', 'b': 'x'}])",
          "DBSP-E501");
    verifies(db, "v");
}

static void many_rows_are_told_as_one_commit(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "CALL dbsp_track('t', manual := true)");
    const int64_t before = generation(db);
    gives(db,
          "SELECT rows FROM dbsp_notify_insert('t', list_transform(range(5000), "
          "lambda x: {'a': x, 'b': 'many'}))",
          "5000\n");
    assert_int_equal(generation(db), before + 1);
    gives(db, "SELECT count(*), sum(n) FROM v", "5000|5003\n");
    run(db, "CALL dbsp_sync(name := 't')");
    verifies(db, "v");
}

/* The new column is read from the database, and so is what was told meanwhile. */
static void a_manual_table_gets_columns(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "CALL dbsp_track('t', manual := true)");
    run(db, "CALL dbsp_notify_insert('t', {'a': 50, 'b': 'x'})");
    run(db, "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 4");
    run(db, "INSERT INTO t VALUES (60, 'x', 5)");
    gives(db, "CALL dbsp_create_view('w', 'SELECT a, c FROM t')", "w|4\n");
    verifies(db, "v");
    verifies(db, "w");
    run(db, "CALL dbsp_notify_delete('t', {'a': 60, 'b': 'x', 'c': 5})");
    gives(db, "SELECT count(*) FROM w", "3\n");
    run(db, "CALL dbsp_sync(name := 't')");
    verifies(db, "v");
    verifies(db, "w");
}

/* ---- tables that change ---------------------------------------------------------------------------- */

static void alterations_break_views_until_they_are_undone(void **state)
{
    Db *db = *state;
    static const char *const PAIRS[][2] = {
        {"ALTER TABLE t RENAME TO t2", "ALTER TABLE t2 RENAME TO t"},
        {"ALTER TABLE t RENAME COLUMN a TO z", "ALTER TABLE t RENAME COLUMN z TO a"},
        {"ALTER TABLE t ALTER a TYPE BIGINT", "ALTER TABLE t ALTER a TYPE INTEGER"},
        {"DROP TABLE t", "CREATE TABLE t (a INTEGER, b VARCHAR)"},
        {"ALTER TABLE t DROP COLUMN a", "ALTER TABLE t ADD COLUMN a INTEGER"},
    };
    make(db);
    run(db, "CALL dbsp_create_view('over', 'SELECT sum(n) AS n FROM v')");
    run(db, "CREATE TABLE u (a INTEGER)");
    run(db, "CALL dbsp_create_view('other', 'SELECT count(*) AS n FROM u')");
    for (size_t i = 0; i < sizeof PAIRS / sizeof PAIRS[0]; i++) {
        run(db, PAIRS[i][0]);
        run(db, "INSERT INTO u VALUES (1)");
        fails(db, "SELECT * FROM v", "DBSP-E304");
        fails(db, "SELECT * FROM over", "DBSP-E304");
        fails(db, "SELECT * FROM dbsp_changes('over')", "DBSP-E204");
        verifies(db, "other");
        gives(db,
              "SELECT count(*) FROM dbsp_views() WHERE state = 'broken' AND reason LIKE "
              "'%E304%'",
              "2\n");
        run(db, PAIRS[i][1]);
        run(db, "INSERT INTO t (a, b) VALUES (4, 'new')");
        verifies(db, "v");
        verifies(db, "over");
    }
}

static void alterations_that_views_do_not_read_are_no_harm(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "ALTER TABLE t ADD COLUMN c INTEGER; INSERT INTO t VALUES (7, 'x', 1)");
    verifies(db, "v");
    run(db, "ALTER TABLE t DROP COLUMN b");
    verifies(db, "v");
    run(db, "CREATE INDEX i ON t (a); INSERT INTO t VALUES (8, 1); UPDATE t SET a = a + 1");
    verifies(db, "v");
    run(db, "DROP INDEX i; ALTER TABLE t ALTER c SET DEFAULT 5; DELETE FROM t WHERE a = 3");
    verifies(db, "v");
    run(db, "CHECKPOINT; INSERT INTO t VALUES (9, 1)");
    verifies(db, "v");
}

/* A view made right after an alteration must not read the old rows as the new type. */
static void a_view_made_after_an_alteration_is_right(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "ALTER TABLE t ALTER a TYPE BIGINT; UPDATE t SET a = 5000000000 WHERE a = 1");
    run(db, "CALL dbsp_create_view('w', 'SELECT a FROM t')");
    gives(db, "SELECT a FROM w ORDER BY a", "2\n2\n5000000000\n");
    fails(db, "SELECT * FROM v", "DBSP-E304");
    run(db, "CALL dbsp_refresh('v')");
    verifies(db, "v");
    verifies(db, "w");
    gives(db, "SELECT count(*) FROM dbsp_tables()", "1\n"); /* the old one is released */
}

static void a_dropped_table_is_made_again_as_another(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "DROP TABLE t; CREATE TABLE t (a VARCHAR, c INTEGER); INSERT INTO t VALUES ('q', 1)");
    fails(db, "SELECT * FROM v", "DBSP-E304");
    run(db, "CALL dbsp_replace_view('v', 'SELECT a, count(*) AS n FROM t GROUP BY a')");
    gives(db, "SELECT * FROM v", "q|1\n");
    run(db, "DROP TABLE t; CREATE VIEW t AS SELECT 'z' AS a, 2 AS c");
    fails(db, "SELECT * FROM v", "DBSP-E304");
    run(db, "DROP VIEW t");
    fails(db, "SELECT * FROM v", "DBSP-E304");
    gives(db, "CALL dbsp_drop('v')", "1\n");
    gives(db, "SELECT count(*) FROM dbsp_tables()", "0\n");
}

static void attached_databases_are_followed(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "ATTACH ':memory:' AS other; CREATE TABLE other.t (a INTEGER, c INTEGER)");
    run(db, "INSERT INTO other.t VALUES (1, 10), (2, 20)");
    run(db, "CALL dbsp_create_view('both', 'SELECT t.a, b, c FROM t JOIN other.t o ON t.a = o.a')");
    run(db, "CALL dbsp_create_view('other.main.inside', 'SELECT sum(c) AS c FROM other.t')");
    run(db, "INSERT INTO other.t VALUES (2, 21); DELETE FROM t WHERE b = 'y'");
    verifies(db, "both");
    verifies(db, "other.main.inside");
    gives(db, "SELECT * FROM inside", "51\n");
    run(db, "DETACH other");
    fails(db, "SELECT * FROM \"both\"", "DBSP-E304");
    verifies(db, "v");
    gives(db, "SELECT count(*) FROM dbsp_views()", "3\n");
    run(db, "ATTACH ':memory:' AS other");
    fails(db, "SELECT * FROM \"both\"", "DBSP-E304");
    run(db, "CREATE TABLE other.t (a INTEGER, c INTEGER); INSERT INTO other.t VALUES (1, 99)");
    gives(db, "SELECT * FROM \"both\"", "1|x|99\n");
    run(db, "DETACH other");
    gives(db, "CALL dbsp_drop('inside')", "1\n");
    gives(db, "CALL dbsp_drop('both')", "1\n");
}

static const struct CMUnitTest tests[] = {
    EXT_TEST(a_feed_is_resumed),
    EXT_TEST(a_change_too_large_for_the_feed_is_a_gap),
    EXT_TEST(a_feed_goes_on_through_replace_and_ends_with_the_view),
    EXT_TEST(without_auto_sync_a_view_waits_for_a_sync),
    EXT_TEST(a_table_is_synced_alone),
    EXT_TEST(a_manual_table_is_told_and_reconciled),
    EXT_TEST(rows_told_wrongly_are_refused),
    EXT_TEST(many_rows_are_told_as_one_commit),
    EXT_TEST(a_manual_table_gets_columns),
    EXT_TEST(alterations_break_views_until_they_are_undone),
    EXT_TEST(alterations_that_views_do_not_read_are_no_harm),
    EXT_TEST(a_view_made_after_an_alteration_is_right),
    EXT_TEST(a_dropped_table_is_made_again_as_another),
    EXT_TEST(attached_databases_are_followed),
};

EXT_MAIN(tests)
