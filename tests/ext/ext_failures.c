/* ext_failures.c: definitions that are refused, and rows on which a definition fails: a view is
 * never silently old, and the others go on. */
#include "ext.h"

static void make(Db *db)
{
    make_t(db, "(1, '10'), (2, '20'), (3, '30')");
}

/* ---- definitions ----------------------------------------------------------------------------------- */

typedef struct Refused {
    const char *sql;
    const char *code;
} Refused;

static void bad_definitions_are_refused_with_a_code(void **state)
{
    Db *db = *state;
    static const Refused REFUSED[] = {
        {"", "DBSP-E10"},
        {";", "DBSP-E10"},
        {"SELEC a FROM t", "DBSP-E100"},
        {"SELECT a FROM t; SELECT b FROM t", "DBSP-E101"},
        {"INSERT INTO t VALUES (4, '40')", "DBSP-E101"},
        {"DELETE FROM t", "DBSP-E101"},
        {"DROP TABLE t", "DBSP-E101"},
        {"CREATE TABLE x AS SELECT a FROM t", "DBSP-E101"},
        {"SELECT a FROM t; DROP TABLE t", "DBSP-E101"},
        {"SELECT a FROM nosuch", "DBSP-E102"},
        {"SELECT nosuch FROM t", "DBSP-E100"},
        {"SELECT nosuch(a) FROM t", "DBSP-E100"},
        {"SELECT random() FROM t", "DBSP-E103"},
        {"SELECT a FROM t WHERE random() < 0.5", "DBSP-E103"},
        {"SELECT now(), a FROM t", "DBSP-E103"},
        {"SELECT uuid() FROM t", "DBSP-E103"},
        {"SELECT * FROM dbsp_views()", "DBSP-E1"},
        {"SELECT * FROM dbsp_sync()", "DBSP-E1"},
        {"SELECT * FROM dbsp_drop('v')", "DBSP-E1"},
        {"SELECT * FROM dbsp_query('nosuch')", "DBSP-E"},
        {"SELECT * FROM v", "DBSP-E105"},
        {"SELECT * FROM information_schema.tables", "DBSP-E1"},
    };
    make(db);
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        Text call = {0};
        text_add(&call, "CALL dbsp_create_view('v', ");
        text_add_literal(&call, REFUSED[i].sql);
        text_add(&call, ")");
        fails(db, call.data, REFUSED[i].code);
        text_free(&call);
    }
    gives(db, "SELECT count(*), sum(a) FROM t", "3|6\n"); /* and none of them was run */
    gives(db, "SELECT count(*) FROM dbsp_views()", "0\n");
    gives(db, "SELECT count(*) FROM dbsp_tables()", "0\n");
}

static void a_view_does_not_come_to_depend_on_itself(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "CALL dbsp_create_view('one', 'SELECT a FROM t')");
    run(db, "CALL dbsp_create_view('two', 'SELECT a FROM one')");
    run(db, "CALL dbsp_create_view('three', 'SELECT a FROM two')");
    fails(db, "CALL dbsp_replace_view('one', 'SELECT a FROM one')", "DBSP-E105");
    fails(db, "CALL dbsp_replace_view('one', 'SELECT a FROM two')", "DBSP-E105");
    fails(db, "CALL dbsp_replace_view('one', 'SELECT a FROM three')", "DBSP-E105");
    fails(db, "CALL dbsp_replace_view('two', 'SELECT t.a FROM t JOIN three USING (a)')",
          "DBSP-E105");
    run(db, "CREATE VIEW through AS SELECT a FROM three");
    fails(db, "CALL dbsp_replace_view('two', 'SELECT a FROM through')", "DBSP-E105");
    run(db, "CALL dbsp_replace_view('three', 'SELECT a FROM one')");
    run(db, "INSERT INTO t VALUES (4, '40')");
    verifies(db, "one");
    verifies(db, "two");
    verifies(db, "three");
}

static void a_replacement_that_fails_leaves_the_old_view(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "INSERT INTO t VALUES (4, 'x')");
    run(db, "CALL dbsp_create_view('v', 'SELECT a FROM t')");
    run(db, "CALL dbsp_create_view('over', 'SELECT sum(a) AS s FROM v')");
    fails(db, "CALL dbsp_replace_view('v', 'SELECT CAST(b AS INTEGER) AS a FROM t')", "DBSP-E301");
    fails(db, "CALL dbsp_replace_view('v', 'SELECT nosuch FROM t')", "DBSP-E100");
    fails(db, "CALL dbsp_replace_view('v', 'SELECT a, b FROM t')", "DBSP-E202");
    fails(db, "CALL dbsp_create_view('w', 'SELECT CAST(b AS INTEGER) FROM t')", "DBSP-E301");
    run(db, "INSERT INTO t VALUES (5, '50')");
    verifies(db, "v");
    verifies(db, "over");
    gives(db, "SELECT view FROM dbsp_views() ORDER BY 1", "over\nv\n");
}

/* ---- rows ------------------------------------------------------------------------------------------ */

typedef struct Failing {
    const char *definition; /* of columns k and x */
    const char *bad_row;
} Failing;

static const Failing FAILING[] = {
    {"SELECT a AS k, CAST(b AS INTEGER) AS x FROM t", "INSERT INTO t VALUES (9, 'bad')"},
    {"SELECT a AS k, a + 2147483600 AS x FROM t", "INSERT INTO t VALUES (900, '1')"},
    {"SELECT a AS k, a * 1000000 AS x FROM t", "INSERT INTO t VALUES (90000, '1')"},
    {"SELECT a AS k, sum(CAST(b AS INTEGER)) AS x FROM t GROUP BY a",
     "INSERT INTO t VALUES (2, 'q')"},
    {"SELECT a AS k, length(b) AS x FROM t WHERE CAST(b AS INTEGER) > 0",
     "INSERT INTO t VALUES (2, '')"},
    {"SELECT t.a AS k, CAST(o.b AS INTEGER) AS x FROM t JOIN t o ON t.a = o.a",
     "INSERT INTO t VALUES (2, 'z')"},
};

static void a_row_that_fails_breaks_the_view_and_what_reads_it(void **state)
{
    Db *db = *state;
    for (size_t i = 0; i < sizeof FAILING / sizeof FAILING[0]; i++) {
        make(db);
        run(db, "CALL dbsp_create_view('good', 'SELECT count(*) AS n FROM t')");
        create_view(db, "v", FAILING[i].definition);
        run(db, "CALL dbsp_create_view('over', 'SELECT count(*) AS n, sum(x) AS x FROM v')");
        run(db, FAILING[i].bad_row);
        fails(db, "SELECT * FROM v", "DBSP-E301");
        fails(db, "SELECT * FROM over", "DBSP-E204");
        fails(db, "SELECT * FROM dbsp_changes('over')", "DBSP-E204");
        fails(db, "CALL dbsp_verify('over')", "DBSP-E204");
        fails(db, "CALL dbsp_create_view('more', 'SELECT x FROM v')", "DBSP-E204");
        fails(db, "CALL dbsp_refresh('v')", "DBSP-E301");
        gives(db, "SELECT view, state FROM dbsp_views() ORDER BY view",
              "good|live\nover|broken\nv|broken\n");
        gives(db, "SELECT * FROM good", "4\n");
        run(db, "INSERT INTO t VALUES (4, '40')"); /* does not mend it */
        fails(db, "SELECT * FROM v", "DBSP-E301");
        gives(db, "SELECT * FROM good", "5\n");
        run(db, "DELETE FROM t WHERE rowid = 3");
        verifies(db, "v");
        verifies(db, "over");
        verifies(db, "good");
        run(db, "CALL dbsp_drop_cascade('v'); CALL dbsp_drop('good'); DROP TABLE t");
    }
}

/* The feed of a view that was broken for a while adds up to its contents. */
static void a_feed_has_no_gap_where_the_view_was_broken(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "CALL dbsp_create_view('v', 'SELECT a, CAST(b AS INTEGER) AS x FROM t')");
    run(db, "CALL dbsp_create_view('over', 'SELECT a % 2 AS g, sum(x) AS s FROM v GROUP BY 1')");
    run(db, "CREATE TABLE copy_v AS SELECT a, x FROM v");
    run(db, "CREATE TABLE copy_over AS SELECT g, s FROM over");
    const int64_t since = number(db, "SELECT generation FROM dbsp_sync()");
    run(db, "INSERT INTO t VALUES (4, '40')");
    run(db, "CALL dbsp_sync()");
    run(db, "INSERT INTO t VALUES (5, 'bad'); DELETE FROM t WHERE a = 1");
    fails(db, "SELECT * FROM v", "DBSP-E301");
    run(db, "UPDATE t SET b = '21' WHERE a = 2");
    fails(db, "SELECT * FROM v", "DBSP-E301");
    run(db, "UPDATE t SET b = '50' WHERE a = 5");
    verifies(db, "v");
    verifies(db, "over");
    adds_up(db, "v", "a, x", since);
    adds_up(db, "over", "g, s", since);
}

static void an_evaluation_by_duckdb_fails_likewise(void **state)
{
    Db *db = *state;
    run(db, "CREATE TABLE t (a INTEGER, s VARCHAR); INSERT INTO t VALUES (1, '2020')");
    run(db, "CALL dbsp_create_view('v', 'SELECT a, year(strptime(s, ''%Y'')) AS y FROM t')");
    run(db, "INSERT INTO t VALUES (2, 'soon')");
    fails(db, "SELECT * FROM v", "DBSP-E301");
    run(db, "DELETE FROM t WHERE a = 2; INSERT INTO t VALUES (3, '2023')");
    gives(db, "SELECT * FROM v ORDER BY a", "1|2020\n3|2023\n");
    run(db, "CALL dbsp_replace_view('v', 'SELECT a, year(strptime(s, ''%Y'')) + 1 AS y FROM t')");
    run(db, "CALL dbsp_refresh('v')");
    gives(db, "SELECT * FROM v ORDER BY a", "1|2021\n3|2024\n");
}

/* A setting that the planner does not see. */
static void integer_division_is_refused(void **state)
{
    Db *db = *state;
    make(db);
    run(db, "SET GLOBAL integer_division = true");
    fails(db, "CALL dbsp_create_view('v', 'SELECT a / 2 AS h FROM t')", "DBSP-E113");
    run(db, "SET GLOBAL integer_division = false");
    run(db, "CALL dbsp_create_view('v', 'SELECT a / 2 AS h FROM t')");
    verifies(db, "v");
}

static const struct CMUnitTest tests[] = {
    EXT_TEST(bad_definitions_are_refused_with_a_code),
    EXT_TEST(a_view_does_not_come_to_depend_on_itself),
    EXT_TEST(a_replacement_that_fails_leaves_the_old_view),
    EXT_TEST(a_row_that_fails_breaks_the_view_and_what_reads_it),
    EXT_TEST(a_feed_has_no_gap_where_the_view_was_broken),
    EXT_TEST(an_evaluation_by_duckdb_fails_likewise),
    EXT_TEST(integer_division_is_refused),
};

EXT_MAIN(tests)
