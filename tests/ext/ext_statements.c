/* ext_statements.c: views as parts of other statements: prepared ones, joins, subqueries, DuckDB's own
 * views and macros, INSERT, CREATE TABLE and COPY; and under names that need care. */
#include "ext.h"

#include <stdio.h>

static void make(Db *db)
{
    make_t(db, "(1, 'x'), (2, 'y'), (2, 'z')");
    create_view(db, "v", "SELECT a, count(*) AS n FROM t GROUP BY a");
}

/* ---- prepared ---------------------------------------------------------------------------------- */

static void a_prepared_statement_is_current(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "PREPARE p AS SELECT a, n FROM v ORDER BY a");
    run(db, "PREPARE q AS SELECT n FROM v WHERE a = $1");
    gives(db, "EXECUTE p", "1|1\n2|2\n");
    run(db, "INSERT INTO t VALUES (1, 'w'), (3, 'w')");
    gives(db, "EXECUTE p", "1|2\n2|2\n3|1\n");
    gives(db, "EXECUTE q(3)", "1\n");
    run(db, "DELETE FROM t WHERE a = 3");
    gives(db, "EXECUTE q(3)", "");
    gives(db, "EXECUTE p", "1|2\n2|2\n");
}

static void a_prepared_statement_sees_a_view_of_the_same_columns(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "PREPARE p AS SELECT a, n FROM v ORDER BY a");
    run(db, "CALL dbsp_replace_view('v', 'SELECT a, count(*) * 10 AS n FROM t GROUP BY a')");
    gives(db, "EXECUTE p", "1|10\n2|20\n");
}

static void a_prepared_statement_refuses_a_view_of_other_columns(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "PREPARE p AS SELECT a, n FROM v ORDER BY a");
    run(db, "CALL dbsp_replace_view('v', 'SELECT a, b FROM t')");
    fails(db, "EXECUTE p", "DBSP-E503");
    run(db, "CALL dbsp_replace_view('v', 'SELECT count(*) AS n, a FROM t GROUP BY a')");
    fails(db, "EXECUTE p", "DBSP-E503");
    run(db, "CALL dbsp_replace_view('v', 'SELECT a + 0 AS n, count(*) AS a FROM t GROUP BY 1')");
    fails(db, "EXECUTE p", "DBSP-E503"); /* the same types by other names */
    run(db, "CALL dbsp_drop('v')");
    fails(db, "EXECUTE p", "DBSP-E201");
    run(db, "CALL dbsp_create_view('v', 'SELECT a, count(*) AS n FROM t GROUP BY a')");
    gives(db, "EXECUTE p", "1|1\n2|2\n");
}

static void a_prepared_feed_refuses_a_view_of_other_columns(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "PREPARE p AS SELECT a, n, weight FROM dbsp_changes('v') ORDER BY ALL");
    run(db, "INSERT INTO t VALUES (1, 'w')");
    gives(db, "EXECUTE p", "1|1|-1\n1|2|1\n");
    run(db, "CALL dbsp_replace_view('v', 'SELECT a, b FROM t')");
    fails(db, "EXECUTE p", "DBSP-E503");
}

/* ---- parts of statements ------------------------------------------------------------------------ */

static void views_join_and_nest(void **state)
{
    Db *db = *state;
    make(db);
    gives(db, "SELECT t.b, v.n FROM t JOIN v USING (a) ORDER BY ALL", "x|1\ny|2\nz|2\n");
    gives(db, "SELECT x.a FROM v x JOIN v y ON x.n = y.a ORDER BY 1", "1\n2\n");
    gives(db, "WITH w AS (SELECT * FROM v WHERE n > 1) SELECT a FROM w", "2\n");
    gives(db, "WITH v AS (SELECT 7 AS a) SELECT a FROM v", "7\n"); /* a CTE goes first */
    gives(db, "SELECT (SELECT max(n) FROM v), a IN (SELECT a FROM v) FROM t ORDER BY b LIMIT 1",
          "2|true\n");
    gives(db, "SELECT sum(n) FROM (SELECT * FROM v UNION ALL SELECT * FROM v)", "6\n");
    gives(db, "FROM v SELECT a WHERE n = 2", "2\n");
    gives(db, "DESCRIBE v", "a|INTEGER|YES|NULL|NULL|NULL\nn|BIGINT|YES|NULL|NULL|NULL\n");
    gives(db, "SELECT count(*) FROM (SUMMARIZE v)", "2\n");
    gives(db, "SELECT * EXCLUDE (n) FROM v AS q (a, n) ORDER BY 1", "1\n2\n");
    run(db, "EXPLAIN SELECT * FROM v");
}

static void views_stand_in_views_and_macros_of_duckdb(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "CREATE VIEW plain AS SELECT a, n + 1 AS m FROM v");
    run(db, "CREATE MACRO total() AS (SELECT sum(n) FROM v)");
    run(db, "CREATE MACRO above(x) AS TABLE SELECT a FROM v WHERE n > x");
    gives(db, "SELECT * FROM plain ORDER BY a", "1|2\n2|3\n");
    gives(db, "SELECT total()", "3\n");
    gives(db, "SELECT * FROM above(1)", "2\n");
    run(db, "INSERT INTO t VALUES (1, 'w'), (1, 'w')");
    gives(db, "SELECT * FROM plain ORDER BY a", "1|4\n2|3\n");
    gives(db, "SELECT total()", "5\n");
    gives(db, "SELECT * FROM above(1) ORDER BY 1", "1\n2\n");
    run(db, "CALL dbsp_create_view('over', 'SELECT sum(m) AS s FROM plain')");
    gives(db, "SELECT * FROM over", "7\n");
    run(db, "DELETE FROM t WHERE b = 'w'");
    gives(db, "SELECT * FROM over", "5\n");
    gives(db, "SELECT name, kind FROM dbsp_deps('over')", "v|view\nt|table\n");
    run(db, "CALL dbsp_drop_cascade('v')");
    fails(db, "SELECT * FROM plain", "v");
}

static void views_are_copied_into_tables_and_files(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "CREATE TABLE copy AS SELECT * FROM v");
    run(db, "INSERT INTO copy SELECT * FROM v");
    gives(db, "SELECT sum(n) FROM copy", "6\n");
    run(db, "INSERT INTO t SELECT a + 10, 'new' FROM v"); /* into what it reads */
    gives(db, "SELECT a, n FROM v ORDER BY a", "1|1\n2|2\n11|1\n12|1\n");
    run(db, "UPDATE t SET b = (SELECT CAST(n AS VARCHAR) FROM v WHERE v.a = t.a)");
    run(db, "DELETE FROM t WHERE a IN (SELECT a FROM v WHERE n > 1)");
    gives(db, "SELECT a, n FROM v ORDER BY a", "1|1\n11|1\n12|1\n");
    char *path = ext_new_path("copy");
    char *sql = text_format("COPY (SELECT * FROM v) TO '%s' (FORMAT csv)", path);
    run(db, sql);
    test_free(sql);
    sql = text_format("SELECT count(*) FROM read_csv('%s')", path);
    gives(db, sql, "3\n");
    test_free(sql);
    db_remove_file(path);
    test_free(path);
}

static void a_view_is_not_written(void **state)
{
    Db *db = *state;
    make(db);
    fails(db, "INSERT INTO v VALUES (1, 1)", "Error");
    fails(db, "DELETE FROM v", "Error");
    fails(db, "UPDATE v SET n = 1", "Error");
    fails(db, "DROP VIEW v", "Error");
    fails(db, "DROP TABLE v", "Error");
    fails(db, "CREATE INDEX i ON v (a)", "Error");
    verifies(db, "v");
}

/* ---- names -------------------------------------------------------------------------------------- */

static void names_are_quoted_and_without_case(void **state)
{
    Db *db = *state;
    run(db,
        "CREATE TABLE \"my table\" (\"the \"\"a\" INTEGER, \"b.c\" VARCHAR, \"select\" INTEGER)");
    run(db, "INSERT INTO \"my table\" VALUES (1, 'x', 2)");
    run(db, "CALL dbsp_create_view('\"my view\"', 'SELECT \"the \"\"a\" AS \"x \"\"y\", \"b.c\", "
            "\"select\" FROM \"my table\"')");
    gives(db, "SELECT \"x \"\"y\", \"b.c\", \"select\" FROM \"my view\"", "1|x|2\n");
    gives(db, "SELECT * FROM \"MY View\"", "1|x|2\n");
    gives(db, "SELECT * FROM dbsp_query('my view')", "1|x|2\n");
    gives(db, "SELECT * FROM dbsp_query('\"MY VIEW\"')", "1|x|2\n");
    gives(db, "SELECT * FROM dbsp_query('main.\"my view\"')", "1|x|2\n");
    gives(db, "SELECT * FROM dbsp_query('MEMORY.Main.\"my view\"')", "1|x|2\n");
    gives(db, "SELECT columns FROM dbsp_tables()", "the \"a, b.c, select\n");
    run(db, "INSERT INTO \"my table\" VALUES (NULL, NULL, NULL)");
    says_ok(db, "\"my view\"");
    run(db, "CALL dbsp_create_view('\"dot.ted\"', 'SELECT count(*) AS n FROM \"my view\"')");
    gives(db, "SELECT * FROM \"dot.ted\"", "2\n");
    gives(db, "SELECT * FROM dbsp_query('\"dot.ted\"')", "2\n");
    fails(db, "SELECT * FROM \"main.my view\"", "does not exist");
    fails(db, "SELECT * FROM dbsp_query('dot.ted')", "DBSP-E201");
    run(db, "CALL dbsp_create_view('\"q\"\"q\"', 'SELECT n FROM \"dot.ted\"')");
    gives(db, "SELECT * FROM \"q\"\"q\"", "2\n");
    run(db, "CALL dbsp_refresh('\"q\"\"q\"')");
    says_ok(db, "\"q\"\"q\"");
    fails(db, "CALL dbsp_create_view('MY VIEW', 'SELECT 1 AS a')", "DBSP-E104");
    run(db, "CALL dbsp_drop_cascade('\"MY VIEW\"')");
}

static void schemas_keep_views_apart(void **state)
{
    Db *db = *state;
    run(db, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)");
    run(db, "CREATE SCHEMA s2; CREATE TABLE s2.t (a INTEGER); INSERT INTO s2.t VALUES (2), (3)");
    gives(db, "CALL dbsp_create_view('v', 'SELECT a FROM t')", "v|1\n");
    gives(db, "CALL dbsp_create_view('s2.v', 'SELECT a FROM s2.t')", "s2.v|2\n");
    gives(db, "SELECT schema, view, row_count FROM dbsp_views() ORDER BY 1", "main|v|1\ns2|v|2\n");
    gives(db, "SELECT a FROM dbsp_query('main.v')", "1\n");
    gives(db, "SELECT a FROM dbsp_query('v')", "1\n");
    gives(db, "SELECT a FROM dbsp_query('s2.v') ORDER BY 1", "2\n3\n");
    gives(db, "SELECT a FROM dbsp_query('memory.s2.v') ORDER BY 1", "2\n3\n");
    fails(db, "SELECT a FROM v", "DBSP-E201"); /* DuckDB does not say which */
    fails(db, "SELECT a FROM s2.v", "DBSP-E201");
    fails(db, "CALL dbsp_create_view('s2.v', 'SELECT 1 AS a')", "DBSP-E104");
    run(db, "INSERT INTO s2.t VALUES (4)");
    says_ok(db, "s2.v");
    run(db, "CALL dbsp_refresh('s2.v')");
    run(db, "CALL dbsp_drop('main.v')");
    gives(db, "SELECT a FROM v ORDER BY 1", "2\n3\n4\n");
    gives(db, "SELECT a FROM s2.v ORDER BY 1", "2\n3\n4\n");
}

static void the_search_path_decides_what_a_definition_reads(void **state)
{
    Db *db = *state;
    run(db, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)");
    run(db, "CREATE SCHEMA s2; CREATE TABLE s2.t (a INTEGER); INSERT INTO s2.t VALUES (2)");
    run(db, "CALL dbsp_create_view('in_main', 'SELECT a FROM t')");
    gives(db, "CALL dbsp_create_view('in_s2', 'SELECT a FROM t', search_path := 's2')",
          "in_s2|1\n");
    gives(db, "SELECT * FROM in_main", "1\n");
    gives(db, "SELECT * FROM in_s2", "2\n");
    gives(db, "SELECT schema FROM dbsp_views() WHERE view = 'in_s2'", "s2\n");
    run(db, "USE s2");
    gives(db, "SELECT * FROM in_main", "1\n");
    run(db, "CALL dbsp_refresh('in_s2')");
    run(db, "INSERT INTO t VALUES (20)");
    gives(db, "SELECT * FROM in_s2 ORDER BY 1", "2\n20\n");
    says_ok(db, "in_s2");
    says_ok(db, "in_main");
    run(db, "CALL dbsp_replace_view('in_s2', 'SELECT a + 1 AS a FROM t', search_path := 's2')");
    gives(db, "SELECT * FROM in_s2 ORDER BY 1", "3\n21\n");
    fails(db, "CALL dbsp_create_view('x', 'SELECT a FROM t', search_path := 'nosuch')",
          "DBSP-E113");
}

static void the_time_zone_is_the_views_own(void **state)
{
    Db *db = *state;
    run(db, "CREATE TABLE t (moment TIMESTAMP WITH TIME ZONE)");
    run(db, "INSERT INTO t VALUES ('2024-06-30 23:30:00+00')");
    run(db, "SET TimeZone = 'UTC'");
    run(db, "CALL dbsp_create_view('utc', 'SELECT CAST(moment AS DATE) AS d FROM t', "
            "time_zone := 'UTC')");
    run(db, "CALL dbsp_create_view('tokyo', 'SELECT CAST(moment AS DATE) AS d FROM t', "
            "time_zone := 'Asia/Tokyo')");
    gives(db, "SELECT u.d, k.d FROM utc u, tokyo k", "2024-06-30|2024-07-01\n");
    run(db, "SET TimeZone = 'America/New_York'");
    run(db, "INSERT INTO t VALUES ('2024-07-30 23:30:00+00')");
    gives(db, "SELECT d FROM utc ORDER BY 1", "2024-06-30\n2024-07-30\n");
    gives(db, "SELECT d FROM tokyo ORDER BY 1", "2024-07-01\n2024-07-31\n");
    says_ok(db, "utc");
    says_ok(db, "tokyo");
    run(db, "CALL dbsp_refresh('tokyo')");
    says_ok(db, "tokyo");
    fails(db, "CALL dbsp_create_view('x', 'SELECT moment FROM t', time_zone := 'Nowhere/Land')",
          "DBSP-E113");
}

static void names_that_are_taken_are_refused(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "CREATE VIEW plain AS SELECT 1 AS a");
    fails(db, "CALL dbsp_create_view('t', 'SELECT 1 AS a')", "DBSP-E104");
    fails(db, "CALL dbsp_create_view('PLAIN', 'SELECT 1 AS a')", "DBSP-E104");
    fails(db, "CALL dbsp_replace_view('t', 'SELECT 1 AS a')", "DBSP-E104");
    fails(db, "CALL dbsp_create_view('v', 'SELECT 1 AS a')", "DBSP-E104");
    run(db, "CREATE TABLE v (a INTEGER)"); /* DuckDB does not know of ours: the table goes first */
    gives(db, "SELECT * FROM v", "");
    gives(db, "SELECT count(*) FROM dbsp_query('v')", "2\n");
}

/* Our own statements do not use what the user has made of the names in them. */
static void macros_of_builtin_names_do_no_harm(void **state)
{
    Db *db = *state;
    static const char *const NAMES[] = {"lower", "max", "abs", "bit_xor", "greatest", "count_star"};
    make(db);
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        char *sql = text_format("CREATE MACRO %s(x) AS 'zzz'", NAMES[i]);
        run(db, sql);
        test_free(sql);
    }
    run(db, "CREATE MACRO count() AS 'zzz'");
    run(db, "INSERT INTO t VALUES (7, 'w')");
    run(db, "DELETE FROM t WHERE a = 1");
    gives(db, "SELECT * FROM v ORDER BY a", "2|2\n7|1\n");
    run(db, "CALL dbsp_create_view('w', 'SELECT a FROM t')");
    says_ok(db, "w");
    run(db, "ALTER TABLE t RENAME TO t2");
    fails(db, "SELECT * FROM v", "DBSP-E304");
}

static const struct CMUnitTest tests[] = {
    EXT_TEST(a_prepared_statement_is_current),
    EXT_TEST(a_prepared_statement_sees_a_view_of_the_same_columns),
    EXT_TEST(a_prepared_statement_refuses_a_view_of_other_columns),
    EXT_TEST(a_prepared_feed_refuses_a_view_of_other_columns),
    EXT_TEST(views_join_and_nest),
    EXT_TEST(views_stand_in_views_and_macros_of_duckdb),
    EXT_TEST(views_are_copied_into_tables_and_files),
    EXT_TEST(a_view_is_not_written),
    EXT_TEST(names_are_quoted_and_without_case),
    EXT_TEST(schemas_keep_views_apart),
    EXT_TEST(the_search_path_decides_what_a_definition_reads),
    EXT_TEST(the_time_zone_is_the_views_own),
    EXT_TEST(names_that_are_taken_are_refused),
    EXT_TEST(macros_of_builtin_names_do_no_harm),
};

EXT_MAIN(tests)
