/* ext_lifetime.c: closing a database gives its file back at once, whatever was open in it. */
#include "ext.h"

#include <stdio.h>
#include <unistd.h>

static bool has_log(const char *path)
{
    char *log = text_format("%s.wal", path);
    const bool is_there = access(log, F_OK) == 0;
    test_free(log);
    return is_there;
}

static void make(Db *db)
{
    run(db, "CREATE TABLE IF NOT EXISTS t (a INTEGER, b VARCHAR);"
            "INSERT INTO t SELECT i, 'row number ' || i FROM range(3000) r(i);"
            "CALL dbsp_create_view('v', 'SELECT a % 7 AS g, count(*) AS n, max(b) AS b "
            "FROM t GROUP BY 1');"
            "CALL dbsp_create_view('w', 'SELECT sum(n) AS n FROM v')");
}

static void closing_frees_the_file_and_merges_the_log(void **state)
{
    (void)state;
    char *path = ext_new_path("close");
    for (int i = 1; i <= 3; i++) { /* and the same process opens it again */
        Db db;
        ext_open(&db, path);
        make(&db);
        run(&db, "INSERT INTO t VALUES (1, 'x')");
        gives(&db, "SELECT n = (SELECT count(*) FROM t) FROM w", "true\n");
        assert_int_equal(number(&db, "SELECT n FROM w"), (int64_t)3001 * i);
        run(&db, "DELETE FROM t WHERE a % 2 = 0");
        run(&db, "INSERT INTO t SELECT i, 'y' FROM range(1500) r(i)");
        verifies(&db, "v");
        assert_false(ext_is_free(path)); /* the test can tell */
        db_close(&db);
        assert_true(ext_is_free(path));
        assert_false(has_log(path));
        ext_open(&db, path);
        gives(&db, "SELECT view FROM dbsp_views() ORDER BY view", "v\nw\n"); /* kept in the file */
        verifies(&db, "v");
        verifies(&db, "w");
        run(&db, "CALL dbsp_drop_cascade('v')");
        run(&db, "DELETE FROM t");
        char *sql = text_format("INSERT INTO t SELECT i, 'z' FROM range(%d) r(i)", 3001 * i);
        run(&db, sql);
        test_free(sql);
        db_close(&db);
    }
    db_remove_file(path);
    test_free(path);
}

static void a_result_outlives_its_database(void **state)
{
    (void)state;
    char *path = ext_new_path("result");
    Db db;
    ext_open(&db, path);
    make(&db);
    duckdb_result result;
    assert_int_equal(duckdb_query(db_connection(&db, 0), "SELECT * FROM v ORDER BY g", &result),
                     DuckDBSuccess);
    db_close(&db);
    assert_true(ext_is_free(path));
    idx_t count = 0;
    for (;;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
        if (chunk == NULL) {
            break;
        }
        count += duckdb_data_chunk_get_size(chunk);
        duckdb_destroy_data_chunk(&chunk);
    }
    assert_int_equal(count, 7);
    duckdb_destroy_result(&result);
    db_remove_file(path);
    test_free(path);
}

/* A prepared statement keeps the database until it is destroyed, as without us. (A pending result of
 * any C table function that is given up keeps it for ever: DuckDB's own cycle.) */
static void a_prepared_statement_keeps_no_more_than_duckdb_does(void **state)
{
    (void)state;
    char *path = ext_new_path("prepared");
    Db db;
    ext_open(&db, path);
    make(&db);
    duckdb_prepared_statement statement = NULL;
    assert_int_equal(duckdb_prepare(db_connection(&db, 0), "SELECT * FROM v", &statement),
                     DuckDBSuccess);
    db_close(&db);
    duckdb_destroy_prepare(&statement);
    assert_true(ext_is_free(path));
    db_remove_file(path);
    test_free(path);
}

static void the_connection_may_outlive_the_handle(void **state)
{
    (void)state;
    char *path = ext_new_path("handle");
    Db db;
    ext_open(&db, path);
    make(&db);
    duckdb_close(&db.handle);
    gives(&db, "SELECT n FROM w", "3000\n"); /* DuckDB lives as long as a connection */
    run(&db, "DELETE FROM t WHERE a < 1000");
    gives(&db, "SELECT n FROM w", "2000\n");
    run(&db, "CALL dbsp_create_view('late', 'SELECT count(*) AS n FROM t')");
    verifies(&db, "late");
    db_close(&db);
    assert_true(ext_is_free(path));
    db_remove_file(path);
    test_free(path);
}

static void an_attached_file_is_freed_by_detaching(void **state)
{
    Db *db = *state;
    char *path = ext_new_path("attached");
    char *attach = text_format("ATTACH '%s' AS other", path);
    run(db, attach);
    run(db, "CREATE TABLE other.t (a INTEGER); INSERT INTO other.t VALUES (1)");
    run(db, "CALL dbsp_create_view('v', 'SELECT a FROM other.t')");
    run(db, "INSERT INTO other.t VALUES (2)");
    gives(db, "SELECT count(*) FROM v", "2\n");
    run(db, "DETACH other");
    assert_true(ext_is_free(path));
    assert_false(has_log(path));
    fails(db, "SELECT * FROM v", "DBSP-E304");
    run(db, attach);
    run(db, "INSERT INTO other.t VALUES (3)");
    gives(db, "SELECT count(*) FROM v", "3\n");
    run(db, "DETACH other");
    db_remove_file(path);
    test_free(attach);
    test_free(path);
}

/* A view that nobody has asked for yet is not replaced by a new one of its name. */
static void an_attached_database_brings_its_views(void **state)
{
    Db *db = *state;
    char *path = ext_new_path("attached_views");
    char *attach = text_format("ATTACH '%s' AS other", path);
    char *attach_told = text_format("CALL dbsp_exec('ATTACH ''%s'' AS other')", path);
    run(db, attach);
    run(db, "CREATE TABLE other.t (a INTEGER); INSERT INTO other.t VALUES (1)");
    run(db, "CALL dbsp_create_view('other.v', 'SELECT a FROM other.t')");
    run(db, "CALL dbsp_create_view('other.w', 'SELECT count(*) AS n FROM v')");
    run(db, "DETACH other");
    Db second;
    ext_open(&second, NULL);
    gives(&second, "SELECT count(*) FROM dbsp_views()", "0\n");
    run(&second, attach);
    fails(&second, "CALL dbsp_create_view('other.v', 'SELECT 2')", "DBSP-E104");
    gives(&second, "SELECT n FROM w", "1\n");
    run(&second, "INSERT INTO other.t VALUES (2)");
    gives(&second, "SELECT n FROM w", "2\n");
    db_close(&second);
    ext_open(&second, NULL);
    gives(&second, "SELECT count(*) FROM dbsp_views()", "0\n");
    run(&second, attach_told);
    gives(&second, "SELECT n FROM w", "2\n");
    db_close(&second);
    ext_open(&second, NULL);
    gives(&second, "SELECT count(*) FROM dbsp_views()", "0\n");
    run(&second, attach);
    gives(&second, "SELECT n FROM w", "2\n");
    db_close(&second);
    assert_true(ext_is_free(path));
    db_remove_file(path);
    test_free(attach_told);
    test_free(attach);
    test_free(path);
}

/* Views come with rows of their own table, whichever statement brings those, at the next use. */
static void an_imported_database_brings_its_views(void **state)
{
    static const char *const FILES[] = {"schema.sql", "load.sql", "t.csv", "_dbsp_views.csv"};
    static const char *const USES[] = {"SELECT n FROM w", "SELECT n FROM dbsp_query('s.w')",
                                       "SELECT row_count FROM dbsp_views() WHERE view = 'v'"};
    (void)state;
    Db db;
    char *path = ext_new_path("imported");
    char *directory = ext_new_path("exported");
    char *export = text_format("EXPORT DATABASE '%s'", directory);
    char *imports[] = {text_format("IMPORT DATABASE '%s'", directory),
                       text_format("BEGIN; IMPORT DATABASE '%s'; COMMIT", directory),
                       text_format("CALL dbsp_exec('IMPORT DATABASE ''%s''')", directory)};
    ext_open(&db, path); /* databases in memory keep nothing */
    run(&db, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1); CREATE SCHEMA s");
    create_view(&db, "v", "SELECT a FROM t");
    create_view(&db, "s.w", "SELECT count(*) AS n FROM v");
    run(&db, export);
    db_close(&db);
    for (size_t i = 0; i < 9; i++) {
        db_remove_file(path);
        ext_open(&db, path);
        gives(&db, "SELECT count(*) FROM dbsp_views()", "0\n");
        fails(&db, "SELECT n FROM w", "w does not exist");
        run(&db, imports[i / 3]);
        gives(&db, USES[i % 3], "1\n");
        run(&db, "INSERT INTO t VALUES (2)");
        gives(&db, "SELECT n FROM w", "2\n");
        db_close(&db);
    }
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        char *file = text_format("%s/%s", directory, FILES[i]);
        (void)remove(file);
        test_free(file);
    }
    (void)rmdir(directory);
    db_remove_file(path);
    for (size_t i = 0; i < sizeof imports / sizeof *imports; i++) {
        test_free(imports[i]);
    }
    test_free(export);
    test_free(directory);
    test_free(path);
}

static void databases_come_and_go(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        Db db;
        ext_open(&db, NULL);
        if (i % 2 == 0) {
            make(&db);
            gives(&db, "SELECT n FROM w", "3000\n");
        }
        db_close(&db);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(closing_frees_the_file_and_merges_the_log),
    cmocka_unit_test(a_result_outlives_its_database),
    cmocka_unit_test(a_prepared_statement_keeps_no_more_than_duckdb_does),
    cmocka_unit_test(the_connection_may_outlive_the_handle),
    EXT_TEST(an_attached_file_is_freed_by_detaching),
    EXT_TEST(an_attached_database_brings_its_views),
    cmocka_unit_test(an_imported_database_brings_its_views),
    cmocka_unit_test(databases_come_and_go),
};

EXT_MAIN(tests)
