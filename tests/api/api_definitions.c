/* api_definitions.c: views go and come with the statements that take away or bring what they are. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Views go with what a transaction drops, when it is committed. */
static void test_cascades(void **state)
{
    static const char VIEWS_LEFT[] = "SELECT view, state FROM dbsp_views() ORDER BY view";
    WeirDb *const db = api_open(NULL);
    (void)state;
    run(db, "CREATE TABLE t (a INTEGER); CREATE TABLE u (a INTEGER); CREATE SCHEMA \"s s\";"
            "CREATE TABLE \"s s\".t (a INTEGER); INSERT INTO t VALUES (1);"
            "CREATE MATERIALIZED VIEW a AS FROM t; CREATE MATERIALIZED VIEW b AS FROM a;"
            "CREATE MATERIALIZED VIEW c AS SELECT u.a FROM t, u; CREATE MATERIALIZED VIEW d AS "
            "FROM u; CREATE MATERIALIZED VIEW \"s s\".\"E e\" AS FROM u;"
            "CREATE MATERIALIZED VIEW f AS FROM \"s s\".t");
    run(db, "BEGIN; DROP TABLE t CASCADE; ROLLBACK; INSERT INTO t VALUES (2)");
    gives(db, "SELECT max(a) FROM b", "2\n");
    run(db, "BEGIN; DROP TABLE t CASCADE");
    fails(db, "SELECT 'x'::INTEGER", "Could not convert");
    run(db, "COMMIT; BEGIN; DROP TABLE t CASCADE; CREATE TABLE other (a INTEGER)");
    fails(db, "DROP TABLE u", "reads table memory.main.u");
    fails(db, "COMMIT", "the transaction was rolled back");
    gives(db, VIEWS_LEFT, "E e|live\na|live\nb|live\nc|live\nd|live\nf|live\n");
    run(db, "BEGIN; DROP TABLE t CASCADE; ALTER TABLE u ADD COLUMN b INTEGER;"
            "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (3); CREATE TABLE a (z INTEGER)");
    gives(db, "SELECT count(*) FROM b", "2\n"); /* as of the last commit */
    run(db, "COMMIT");
    gives(db, VIEWS_LEFT, "E e|live\nd|live\nf|live\n");
    gives(db, "SELECT count(*) FROM a", "0\n");
    run(db, "BEGIN; DROP SCHEMA \"s s\" CASCADE; DROP TABLE IF EXISTS u CASCADE; ROLLBACK");
    gives(db, VIEWS_LEFT, "E e|live\nd|live\nf|live\n");
    run(db, "BEGIN; DROP SCHEMA \"s s\" CASCADE; CREATE SCHEMA \"s s\"; COMMIT");
    gives(db, VIEWS_LEFT, "d|live\n");
    run(db, "FROM dbsp_exec('DROP TABLE u CASCADE')");
    gives(db, VIEWS_LEFT, "");
    WeirError none;
    assert_false(weir_take_warning(db, &none));
    weir_close(db);
}

/* The text with the path for every @. */
static void put_path(char *out, size_t size, const char *text, const char *path)
{
    size_t used = 0;
    for (const char *c = text; *c != '\0' && used < size; c++) {
        used += (size_t)snprintf(out + used, size - used, "%.*s", *c == '@' ? 1000 : 1,
                                 *c == '@' ? path : c);
    }
}

/* Definitions that come with data are views at once, however they come. */
static void test_imports(void **state)
{
    static const char *const FILES[] = {"schema.sql", "load.sql", "t.csv", "_dbsp_views.csv"};
    static const char *const FORMS[] = {
        "IMPORT DATABASE '@'",
        "BEGIN; INSERT INTO other VALUES (1); IMPORT DATABASE '@'; COMMIT",
        "PREPARE p AS SELECT 1; PRAGMA import_database('@')",
        "CREATE TABLE t (a INTEGER); CREATE SCHEMA s; CREATE TABLE _dbsp_views (view_schema "
        "VARCHAR, "
        "view_name VARCHAR, definition VARCHAR, search_path VARCHAR, time_zone VARCHAR, calendar "
        "VARCHAR, \"position\" BIGINT); COPY _dbsp_views FROM '@/_dbsp_views.csv'; "
        "COPY main.t FROM '@/t.csv'",
        "FROM dbsp_exec('IMPORT DATABASE ''@''')",
    };
    char text[2048];
    char *const directory = test_path("exported");
    char *const path = test_path("imported");
    WeirDb *db = api_open(path);
    (void)state;
    run(db, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1); CREATE SCHEMA s;"
            "CREATE MATERIALIZED VIEW v AS FROM t;"
            "CREATE MATERIALIZED VIEW s.w AS SELECT count(*) AS n FROM v");
    (void)snprintf(text, sizeof text, "EXPORT DATABASE '%s'", directory);
    run(db, text);
    weir_close(db);
    for (size_t i = 0; i < sizeof FORMS / sizeof FORMS[0]; i++) {
        (void)unlink(path);
        db = api_open(path);
        run(db, "CREATE TABLE other (a INTEGER); CREATE MATERIALIZED VIEW o AS FROM other;"
                "DROP MATERIALIZED VIEW o; DROP TABLE _dbsp_views");
        put_path(text, sizeof text, FORMS[i], directory);
        run(db, text);
        gives(db, "SELECT view, state FROM dbsp_views() ORDER BY view", "v|live\nw|live\n");
        run(db, "INSERT INTO t VALUES (2)");
        gives(db, "SELECT n FROM w", "2\n");
        weir_close(db);
    }
    (void)unlink(path);
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        (void)snprintf(text, sizeof text, "%s/%s", directory, FILES[i]);
        (void)unlink(text);
    }
    (void)rmdir(directory);
    free(path);
    free(directory);
}

/* Views of one name in several schemas, and names with a schema that has no such view. */
static void test_schemas(void **state)
{
    WeirDb *const db = api_open(NULL);
    (void)state;
    run(db,
        "CREATE SCHEMA one; CREATE SCHEMA \"t w\"; CREATE TABLE t (a INTEGER);"
        "CREATE TABLE one.r (v INTEGER); INSERT INTO one.r VALUES (9); INSERT INTO t VALUES (1);"
        "CREATE MATERIALIZED VIEW one.v AS SELECT a + 10 AS a FROM t");
    gives(db, "FROM v", "11\n");
    gives(db, "FROM one.v, memory.one.v AS w", "11|11\n");
    fails(db, "FROM \"t w\".v", "there is no view \"t w\".v");
    fails(db, "INSERT INTO t FROM main.v", "there is no view main.v");
    run(db, "CREATE MATERIALIZED VIEW \"t w\".\"V\" AS SELECT a + 20 AS a FROM t");
    fails(db, "FROM v", "several schemas have a view v");
    gives(db, "FROM one.v, \"T w\" . v AS w", "11|21\n");
    gives(db, "FROM memory.\"t w\".\"v\", LATERAL (SELECT max(a) FROM one.v)", "21|11\n");
    gives(db, "WITH v AS (SELECT 7 AS a) SELECT v.a, w.a, r.v FROM v, one.v w, one.r r",
          "7|11|9\n");
    gives(db, "SELECT 'one.v' AS \"é one.v\" /* FROM one.v */, w.a FROM one.v AS w(a)",
          "one.v|11\n");
    run(db, "CREATE TABLE made AS FROM one.v; INSERT INTO made (a) SELECT a FROM \"t w\".v;"
            "UPDATE made SET a = v.a + made.a FROM one.v WHERE made.a = v.a;"
            "PREPARE p AS INSERT INTO made SELECT a + ? FROM \"t w\".v; EXECUTE p(100)");
    gives(db, "FROM made ORDER BY a", "21\n22\n121\n");
    run(db, "CREATE VIEW plain AS FROM one.v");
    gives(db, "SELECT plain.a, m.a FROM plain, (FROM \"t w\".v) m", "11|21\n");
    run(db,
        "CREATE MATERIALIZED VIEW united AS SELECT a FROM one.v UNION ALL SELECT a FROM \"t w\".v;"
        "INSERT INTO t VALUES (2); REFRESH MATERIALIZED VIEW united");
    gives(db, "SELECT sum(a) FROM united", "66\n");
    gives(db, "FROM dbsp_verify('united')", "ok|NULL\n");
    gives(db, "SELECT sql LIKE '%FROM one.v %' FROM dbsp_views() WHERE view = 'united'", "true\n");
    fails(db, "CREATE MATERIALIZED VIEW none AS FROM none.v", "there is no view none.v");
    fails(db, "SELECT nosuch FROM one.v", "\"nosuch\" not found");
    gives(db, "FROM dbsp_exec('CREATE TABLE told AS FROM one.v')", "1|0\n");
    run(db, "BEGIN; CREATE SCHEMA none; CREATE TABLE none.v (z VARCHAR)");
    gives(db, "SELECT count(z) FROM none.v", "0\n");
    run(db, "COMMIT");
    gives(db, "SELECT count(z) FROM none.v", "0\n");
    weir_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cascades),
        cmocka_unit_test(test_imports),
        cmocka_unit_test(test_schemas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
