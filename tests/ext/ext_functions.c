/* ext_functions.c: every function of the SQL surface: both forms of calling it, its arguments, and
 * that nothing happens before it runs. */
#include "ext.h"

static void make_tables(Db *db)
{
    make_t(db, "(1, 'x'), (2, 'y')");
}

static void loading_twice_is_no_harm(void **state)
{
    Db *db = *state;
    make_tables(db);
    run(db, "CALL dbsp_create_view('v', 'SELECT a FROM t')");
    Text load = {0};
    text_add(&load, "LOAD ");
    text_add_literal(&load, ext_path);
    run(db, load.data);
    run_on(db, 1, load.data);
    text_free(&load);
    gives(db, "SELECT * FROM v ORDER BY 1", "1\n2\n");
}

static void an_unsigned_extension_needs_the_setting(void **state)
{
    (void)state;
    Db db;
    Text error = {0};
    Text load = {0};
    const DbOptions options = {.path = NULL};
    assert_true(db_open(&db, &options, &error));
    text_add(&load, "LOAD ");
    text_add_literal(&load, ext_path);
    run(&db, load.data);
    gives(&db,
          "SELECT count(*) > 15 FROM duckdb_functions() WHERE function_name LIKE 'dbsp\\_%' "
          "ESCAPE '\\'",
          "true\n");
    db_close(&db);
    duckdb_database plain = NULL;
    duckdb_connection connection = NULL;
    assert_int_equal(duckdb_open(NULL, &plain), DuckDBSuccess);
    assert_int_equal(duckdb_connect(plain, &connection), DuckDBSuccess);
    assert_false(db_run(connection, load.data, &error));
    duckdb_disconnect(&connection);
    duckdb_close(&plain);
    text_free(&load);
    text_free(&error);
}

static void functions_are_called_either_way(void **state)
{
    Db *db = *state;
    make_tables(db);
    gives(db, "CALL dbsp_create_view('v', 'SELECT a FROM t')", "v|2\n");
    gives(db, "SELECT * FROM dbsp_create_view('w', 'SELECT a, count(*) AS n FROM v GROUP BY a')",
          "w|2\n");
    gives(db, "CALL dbsp_replace_view('v', 'SELECT a FROM t WHERE a > 1')", "v|1\n");
    gives(db, "SELECT row_count FROM dbsp_replace_view('v', 'SELECT a FROM t')", "2\n");
    gives(db, "CALL dbsp_refresh('v')", "v|2\n");
    gives(db, "SELECT view FROM dbsp_refresh('w')", "w\n");
    gives(db, "SELECT * FROM dbsp_query('v') ORDER BY a", "1\n2\n");
    gives(db, "SELECT count(*) FROM (FROM dbsp_query('w'))", "2\n");
    gives(db, "SELECT view, state, reason, row_count, sql FROM dbsp_views()",
          "v|live|NULL|2|SELECT a FROM t\n"
          "w|live|NULL|2|SELECT a, count(*) AS n FROM v GROUP BY a\n");
    gives(db, "SELECT view, state_bytes > 0, steps >= 1, populate_ms >= 0 FROM dbsp_view_state()",
          "v|true|true|true\nw|true|true|true\n");
    gives(db, "SELECT catalog, schema, \"table\", columns, row_count FROM dbsp_tables()",
          "memory|main|t|a|2\n");
    gives(db, "SELECT \"table\", state_bytes > 0 FROM dbsp_table_state()", "t|true\n");
    gives(db, "CALL dbsp_deps('w')", "v|view|1\nt|table|2\n");
    gives(db, "SELECT name FROM dbsp_deps('w') WHERE depth = 1", "v\n");
}

static void the_rest_is_called_either_way(void **state)
{
    Db *db = *state;
    make_tables(db);
    run(db, "CALL dbsp_create_view('v', 'SELECT a FROM t')");
    gives(db, "SELECT changed_rows FROM dbsp_sync()", "0\n");
    run(db, "INSERT INTO t VALUES (3, 'z')");
    gives(db, "SELECT changed_rows FROM dbsp_sync(name := 't')", "1\n");
    run(db, "CALL dbsp_sync()");
    gives(db, "CALL dbsp_track('t')", "t|3\n");
    gives(db, "SELECT * FROM dbsp_track('t', manual := true)", "t|3\n");
    gives(db, "SELECT rows FROM dbsp_notify_insert('t', {'a': 4, 'b': 'w'})", "1\n");
    gives(db, "SELECT rows FROM dbsp_notify_delete('t', [{'a': 4, 'b': 'w'}])", "1\n");
    gives(db, "SELECT count(*) > 1 FROM dbsp_explain('v')", "true\n");
    gives(db, "SELECT count(*) > 1 FROM dbsp_explain('SELECT sum(a) FROM t')", "true\n");
    gives(db, "CALL dbsp_verify('v')", "ok|NULL\n");
    gives(db, "CALL dbsp_auto_sync(false)", "false\n");
    gives(db, "SELECT auto_sync FROM dbsp_auto_sync(true)", "true\n");
    gives(db, "SELECT * FROM dbsp_changes('v', since := 0) LIMIT 0", "");
    fails(db, "CALL dbsp_changes('v', since := 4000000000000000000)",
          "DBSP-E501: generation 4000000000000000000 is still to come");
    gives(db, "CALL dbsp_drop('v')", "1\n");
    gives(db, "SELECT dropped FROM dbsp_drop('v', if_exists := true)", "0\n");
    gives(db, "CALL dbsp_drop_view('v', if_exists := true)", "0\n");
    run(db, "CALL dbsp_create_view('v', 'SELECT a FROM t')");
    run(db, "CALL dbsp_create_view('w', 'SELECT a FROM v')");
    fails(db, "CALL dbsp_drop_view('v')", "DBSP-E202");
    gives(db, "CALL dbsp_drop_cascade('v')", "2\n");
    gives(db, "CALL dbsp_drop_view_cascade('v', if_exists := true)", "0\n");
    fails(db, "CALL dbsp_drop_cascade('v')", "DBSP-E201");
}

static void null_is_no_name(void **state)
{
    Db *db = *state;
    static const char *const CALLS[] = {
        "CALL dbsp_create_view(NULL, 'SELECT 1')",
        "CALL dbsp_create_view('v', NULL)",
        "CALL dbsp_replace_view(NULL, NULL)",
        "CALL dbsp_refresh(NULL)",
        "CALL dbsp_drop(NULL)",
        "CALL dbsp_drop_view(NULL)",
        "CALL dbsp_drop_cascade(NULL)",
        "CALL dbsp_drop_view_cascade(NULL)",
        "CALL dbsp_query(NULL)",
        "CALL dbsp_changes(NULL)",
        "CALL dbsp_deps(NULL)",
        "CALL dbsp_track(NULL)",
        "CALL dbsp_notify_insert(NULL, {'a': 1})",
        "CALL dbsp_notify_insert('t', NULL)",
        "CALL dbsp_notify_delete(NULL, NULL)",
        "CALL dbsp_explain(NULL)",
        "CALL dbsp_verify(NULL)",
        "CALL dbsp_auto_sync(NULL)",
    };
    for (size_t i = 0; i < sizeof CALLS / sizeof CALLS[0]; i++) {
        fails(db, CALLS[i], "DBSP-E501");
    }
    make_tables(db);
    run(db, "CALL dbsp_create_view('v', 'SELECT a FROM t', search_path := NULL, "
            "time_zone := NULL)");
    run(db, "CALL dbsp_sync(name := NULL)");
    gives(db, "CALL dbsp_changes('v', since := NULL)", "");
    fails(db, "CALL dbsp_drop('w', if_exists := NULL)", "DBSP-E201");
    gives(db, "CALL dbsp_track('t', manual := NULL)", "t|2\n");
}

static void wrong_arguments_are_told_by_the_binder(void **state)
{
    Db *db = *state;
    static const char *const CALLS[] = {
        "CALL dbsp_create_view('v')",
        "CALL dbsp_create_view('v', 'SELECT 1', 'x')",
        "CALL dbsp_create_view()",
        "CALL dbsp_query()",
        "CALL dbsp_query('v', 1)",
        "CALL dbsp_query(1)",
        "CALL dbsp_changes('v', 3)",
        "CALL dbsp_views(1)",
        "CALL dbsp_sync('t', 1)",
        "CALL dbsp_query('v', nosuch := 1)",
        "CALL dbsp_changes('v', until := 1)",
        "CALL dbsp_deps('v', depth := 1)",
        "CALL dbsp_auto_sync()",
        "CALL dbsp_notify_insert('t')",
    };
    for (size_t i = 0; i < sizeof CALLS / sizeof CALLS[0]; i++) {
        fails(db, CALLS[i], "Binder Error");
    }
    fails(db, "CALL dbsp_changes('v', since := 'x')", "Could not convert");
    fails(db, "CALL dbsp_auto_sync('perhaps')", "Error");
}

static void wrong_names_are_told_with_a_code(void **state)
{
    Db *db = *state;
    make_tables(db);
    fails(db, "CALL dbsp_query('v')", "DBSP-E201");
    fails(db, "CALL dbsp_query('a.b.c.d')", "DBSP-E201");
    fails(db, "CALL dbsp_query('')", "DBSP-E201");
    fails(db, "CALL dbsp_changes('v')", "DBSP-E201");
    fails(db, "CALL dbsp_refresh('v')", "DBSP-E201");
    fails(db, "CALL dbsp_drop('v')", "DBSP-E201");
    fails(db, "CALL dbsp_deps('t')", "DBSP-E201");
    fails(db, "CALL dbsp_verify('t')", "DBSP-E201");
    fails(db, "CALL dbsp_sync(name := 't')", "DBSP-E203");
    fails(db, "CALL dbsp_track('nosuch')", "DBSP-E102");
    fails(db, "CALL dbsp_track('dbsp_views')", "DBSP-E102");
    fails(db, "CALL dbsp_notify_insert('t', {'a': 1})", "DBSP-E203");
    fails(db, "CALL dbsp_create_view('a.b.c.d', 'SELECT a FROM t')", "DBSP-E501");
    fails(db, "CALL dbsp_create_view('\"v', 'SELECT a FROM t')", "DBSP-E501");
    fails(db, "CALL dbsp_create_view('', 'SELECT a FROM t')", "DBSP-E501");
    fails(db, "CALL dbsp_create_view('nosuch.v', 'SELECT a FROM t')", "DBSP-E501");
    fails(db, "CALL dbsp_explain('nosuch')", "DBSP-E");
    gives(db, "SELECT count(*) FROM dbsp_views()", "0\n");
    gives(db, "SELECT count(*) FROM dbsp_tables()", "0\n");
}

static void nothing_happens_before_a_function_runs(void **state)
{
    Db *db = *state;
    make_tables(db);
    run(db, "EXPLAIN CALL dbsp_create_view('v', 'SELECT a FROM t')");
    run(db, "EXPLAIN SELECT * FROM dbsp_create_view('v', 'SELECT a FROM t')");
    run(db, "DESCRIBE SELECT * FROM dbsp_create_view('v', 'SELECT a FROM t')");
    run(db, "PREPARE p AS SELECT * FROM dbsp_create_view('v', 'SELECT a FROM t')");
    run(db, "CREATE VIEW plain AS SELECT * FROM dbsp_create_view('v', 'SELECT a FROM t')");
    run(db, "SELECT json_serialize_plan('SELECT * FROM dbsp_create_view(''v'', ''SELECT 1'')')");
    gives(db, "SELECT count(*) FROM dbsp_views()", "0\n");
    gives(db, "EXECUTE p", "v|2\n");
    fails(db, "EXECUTE p", "DBSP-E104");
    run(db, "EXPLAIN CALL dbsp_drop('v')");
    run(db, "PREPARE q AS SELECT * FROM dbsp_drop('v')");
    run(db, "PREPARE r AS SELECT * FROM dbsp_auto_sync(false)");
    gives(db, "SELECT count(*) FROM dbsp_views()", "1\n");
    run(db, "EXPLAIN ANALYZE CALL dbsp_refresh('v')");
    gives(db, "EXECUTE q", "1\n");
    gives(db, "SELECT view FROM plain", "v\n");
    run(db, "INSERT INTO t VALUES (3, 'z')");
    gives(db, "SELECT count(*) FROM v", "3\n");
}

static void prepared_statements_take_parameters(void **state)
{
    Db *db = *state;
    make_tables(db);
    run(db, "PREPARE make AS SELECT * FROM dbsp_create_view($1, $2)");
    gives(db, "EXECUTE make('v', 'SELECT a FROM t')", "v|2\n");
    gives(db, "EXECUTE make('w', 'SELECT b FROM t')", "w|2\n");
    run(db, "PREPARE look AS SELECT count(*) FROM dbsp_query($1)");
    gives(db, "EXECUTE look('v')", "2\n");
    gives(db, "EXECUTE look('w')", "2\n");
    fails(db, "EXECUTE look('x')", "DBSP-E201");
    fails(db, "EXECUTE look(NULL)", "DBSP-E501");
}

static const struct CMUnitTest tests[] = {
    EXT_TEST(loading_twice_is_no_harm),
    cmocka_unit_test(an_unsigned_extension_needs_the_setting),
    EXT_TEST(functions_are_called_either_way),
    EXT_TEST(the_rest_is_called_either_way),
    EXT_TEST(null_is_no_name),
    EXT_TEST(wrong_arguments_are_told_by_the_binder),
    EXT_TEST(wrong_names_are_told_with_a_code),
    EXT_TEST(nothing_happens_before_a_function_runs),
    EXT_TEST(prepared_statements_take_parameters),
};

EXT_MAIN(tests)
