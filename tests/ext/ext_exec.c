/* ext_exec.c: dbsp_exec: its transaction, its failures, and that it lives with what others write. */
#include "ext.h"

#include <stdio.h>
#include <string.h>

static int64_t generation(Db *db)
{
    return number(db, "SELECT generation FROM dbsp_sync()");
}

static void it_tells_what_each_statement_changed(void **state)
{
    Db *db = *state;
    make_t(db, "(1, 'x'), (2, 'y')");
    create_view(db, "v", "SELECT b, sum(a) AS n FROM t GROUP BY b");
    gives(db,
          "FROM dbsp_exec('INSERT INTO t VALUES (3, ''y''), (4, ''z;''); ;\n"
          "UPDATE t SET a = a + 1 WHERE a > 2; -- a comment; of no account\n"
          "DELETE FROM t WHERE a = 1 RETURNING a; SELECT 7; CREATE TABLE u (a INTEGER)')",
          "1|2\n2|2\n3|1\n4|0\n5|0\n");
    gives(db, "SELECT * FROM v ORDER BY ALL", "y|6\nz;|5\n");
    gives(db, "SELECT count(*) FROM u", "0\n");
    gives(db, "SELECT count(*) FROM dbsp_exec(' ; -- nothing')", "0\n");
    verifies(db, "v");
}

static void one_call_is_one_generation(void **state)
{
    Db *db = *state;
    make_t(db, "(1, 'x')");
    create_view(db, "v", "SELECT a, b FROM t");
    create_view(db, "w", "SELECT count(*) AS n FROM v");
    const int64_t before = generation(db);
    run(db, "CALL dbsp_auto_sync(false)");
    run(db, "CALL dbsp_exec('INSERT INTO t VALUES (2, ''y''); DELETE FROM t WHERE a = 1')");
    gives(db, "SELECT a, weight FROM dbsp_changes('v') ORDER BY generation, a", "1|-1\n2|1\n");
    gives(db, "SELECT last_sync FROM dbsp_tables()", "captured\n"); /* it was not looked for */
    gives(db, "SELECT * FROM v", "2|y\n");
    run(db, "CALL dbsp_auto_sync(true)");
    gives(db, "SELECT n FROM w", "1\n");
    assert_int_equal(generation(db), before + 1); /* the sync found nothing that was not told */
    verifies(db, "v");
}

static void a_failure_takes_everything_back(void **state)
{
    Db *db = *state;
    make_t(db, "(1, 'x')");
    run(db, "CREATE TABLE k (a INTEGER PRIMARY KEY)");
    create_view(db, "v", "SELECT a FROM t");
    create_view(db, "w", "SELECT a FROM k");
    const int64_t before = generation(db);
    fails(db, "CALL dbsp_exec('INSERT INTO t VALUES (2, ''y''); INSERT INTO k VALUES (1), (1)')",
          "DBSP-E401: statement 2 of dbsp_exec: Constraint Error");
    fails(db, "CALL dbsp_exec('DELETE FROM t; nonsense')",
          "statement 2 of dbsp_exec: Parser Error");
    fails(db, "CALL dbsp_exec('DELETE FROM t; SELECT ''open')", "statement 2 of dbsp_exec: Parser");
    fails(db, "CALL dbsp_exec('DELETE FROM t; COMMIT; DELETE FROM k')",
          "DBSP-E503: statement 2 of dbsp_exec: it begins or ends a transaction");
    fails(db, "CALL dbsp_exec('DELETE FROM t; DROP TABLE t')",
          "DBSP-E202: statement 2 of dbsp_exec");
    fails(db, "CALL dbsp_exec(NULL)", "DBSP-E501");
    fails(db, "CALL dbsp_exec('SELECT 1', search_path := 'nowhere')", "DBSP-E113");
    gives(db, "SELECT * FROM v", "1\n");
    gives(db, "SELECT count(*) FROM t", "1\n");
    assert_int_equal(generation(db), before);
    verifies(db, "w");
}

static void the_callers_transaction_is_another_one(void **state)
{
    Db *db = *state;
    make_t(db, "(1, 'x'), (2, 'y')");
    create_view(db, "v", "SELECT a FROM t");
    run(db, "BEGIN");
    run(db, "INSERT INTO t VALUES (3, 'mine')");
    run(db, "DELETE FROM t WHERE a = 1");
    fails(db, "CALL dbsp_exec('DELETE FROM t WHERE a = 1')", "onflict");
    run(db, "ROLLBACK"); /* a statement that failed ends it, as any other does */
    run(db, "BEGIN");
    run(db, "INSERT INTO t VALUES (3, 'mine')");
    gives(db, "FROM dbsp_exec('DELETE FROM t WHERE a > 1')", "1|1\n"); /* 3 is not seen */
    gives(db, "SELECT count(*) FROM t", "3\n"); /* nor is the commit, from the snapshot */
    run(db, "COMMIT");
    gives(db, "SELECT a FROM v ORDER BY a", "1\n3\n");
    verifies(db, "v");
}

static void names_and_times_are_those_of_the_settings(void **state)
{
    Db *db = *state;
    run(db, "CREATE SCHEMA s; CREATE TABLE s.t (a TIMESTAMPTZ)");
    create_view(db, "v", "SELECT a FROM s.t");
    run(db, "CALL dbsp_exec('INSERT INTO t VALUES (''2024-01-01 12:00:00'')', search_path := 's', "
            "time_zone := 'UTC')");
    gives(db, "SELECT epoch(a) FROM v", "1704110400.0\n");
    verifies(db, "v");
}

static void definitions_and_what_is_not_told_is_found(void **state)
{
    Db *db = *state;
    make_t(db, "(1, 'x'), (2, 'y')");
    run(db, "CREATE TABLE k (a INTEGER PRIMARY KEY, b INTEGER)");
    create_view(db, "v", "SELECT a, b FROM t");
    create_view(db, "w", "SELECT a, b FROM k");
    run(db, "CALL dbsp_exec('INSERT INTO k VALUES (1, 1), (2, 2); "
            "INSERT OR REPLACE INTO k VALUES (2, 3); INSERT INTO t VALUES (4, ''n'')')");
    verifies(db, "v");
    verifies(db, "w");
    run(db, "CALL dbsp_exec('ALTER TABLE t ADD COLUMN c INTEGER; UPDATE t SET c = a, a = a + 1')");
    verifies(db, "v");
    run(db, "CALL dbsp_exec('CREATE OR REPLACE TABLE k AS SELECT 9 AS a, 8 AS b')");
    gives(db, "SELECT * FROM w", "9|8\n");
    verifies(db, "w");
    run(db, "CALL dbsp_exec('CREATE TABLE new AS SELECT 1 AS a')");
    create_view(db, "n", "SELECT a FROM new");
    run(db, "CALL dbsp_exec('PREPARE p AS INSERT INTO new VALUES (5); EXECUTE p; "
            "INSERT INTO new SELECT count(*) FROM v')");
    verifies(db, "n");
    run(db, "CALL dbsp_track('k', manual := true)");
    run(db, "CALL dbsp_exec('INSERT INTO k VALUES (10, 10)')"); /* told by hand alone */
    gives(db, "SELECT count(*) FROM w", "1\n");
    run(db, "CALL dbsp_sync(name := 'k')");
    verifies(db, "w");
}

/* Followed by a new column after it was told of rows that no sync has seen. */
static void a_view_made_after_it_has_its_rows(void **state)
{
    Db *db = *state;
    make_t(db, "(1, 'x')");
    create_view(db, "v", "SELECT a FROM t");
    run(db, "CALL dbsp_exec('INSERT INTO t VALUES (2, ''y'')')");
    create_view(db, "w", "SELECT a, b FROM t");
    create_view(db, "n", "SELECT count(*) AS n FROM v");
    verifies(db, "w");
    verifies(db, "n");
    run(db, "CALL dbsp_exec('DELETE FROM t WHERE a = 2; INSERT INTO t VALUES (7, NULL)')");
    create_view(db, "x", "SELECT b FROM t");
    verifies(db, "v");
    verifies(db, "w");
    verifies(db, "x");
}

/* ---- with others ------------------------------------------------------------------------------ */

typedef struct Mix {
    Db db;
    uint64_t seed;
    long next_id;
    size_t failures;
} Mix;

static unsigned pick(Mix *mix, unsigned limit)
{
    mix->seed = mix->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(mix->seed >> 33) % limit;
}

static char *random_statement(Mix *mix)
{
    const unsigned from = pick(mix, (unsigned)mix->next_id + 1);
    const unsigned to = from + pick(mix, 30);
    switch (pick(mix, 9)) {
    case 0:
    case 1:
        mix->next_id += 5;
        return text_format("INSERT INTO t SELECT %ld + i, i %% 3, 's' || i FROM range(5) r(i)",
                           mix->next_id);
    case 2: return text_format("DELETE FROM t WHERE id BETWEEN %u AND %u", from, to);
    case 3: return text_format("UPDATE t SET g = g + 1 WHERE id BETWEEN %u AND %u", from, to);
    case 4: return text_format("UPDATE t SET s = NULL, id = id + 1 WHERE id = %u", from);
    case 5: return text_format("INSERT INTO k VALUES (%u, %u)", from, to);
    case 6: return text_format("INSERT OR REPLACE INTO k VALUES (%u, %u)", from % 20, to);
    case 7: return text_format("DELETE FROM k WHERE id %% 5 = %u", from % 5);
    default:
        return text_format("INSERT INTO t SELECT * FROM t WHERE id BETWEEN %u AND %u", from, to);
    }
}

static void run_forgiving(Mix *mix, size_t connection, const char *sql)
{
    Text error = {0};
    mix->failures += !db_run(db_connection(&mix->db, connection), sql, &error);
    text_free(&error);
}

static void exec_some(Mix *mix)
{
    Text call = {0};
    Text statements = {0};
    for (unsigned i = 0, count = 1 + pick(mix, 4); i < count; i++) {
        char *statement = random_statement(mix);
        text_add(&statements, statement);
        text_add(&statements, ";");
        test_free(statement);
    }
    text_add(&call, "CALL dbsp_exec(");
    text_add_literal(&call, statements.data);
    text_add(&call, ")");
    run_forgiving(mix, 0, call.data);
    text_free(&call);
    text_free(&statements);
}

static void write_otherwise(Mix *mix)
{
    char *statement = random_statement(mix);
    run_forgiving(mix, 1 + pick(mix, 2), statement);
    test_free(statement);
}

static void one_step(Mix *mix)
{
    const unsigned kind = pick(mix, 20);
    if (kind < 9) {
        exec_some(mix);
    } else if (kind < 16) {
        write_otherwise(mix);
    } else if (kind == 16) { /* a transaction that is open while dbsp_exec commits */
        run_on(&mix->db, 3, "BEGIN");
        char *statement = random_statement(mix);
        run_forgiving(mix, 3, statement);
        test_free(statement);
        exec_some(mix);
        run_forgiving(mix, 3, "COMMIT");
        run_forgiving(mix, 3, "ROLLBACK");
    } else if (kind == 17) {
        run_forgiving(mix, 0, "CHECKPOINT");
    } else {
        run(&mix->db, "SELECT count(*) FROM joined");
    }
}

static void mix_with_others(const char *path, uint64_t seed)
{
    static const char *const VIEWS[] = {"grouped", "joined", "all_rows"};
    Mix mix = {.seed = seed};
    print_message("seed %llu\n", (unsigned long long)seed);
    ext_open(&mix.db, path);
    run(&mix.db, "CREATE TABLE t (id BIGINT, g INTEGER, s VARCHAR); "
                 "CREATE TABLE k (id INTEGER PRIMARY KEY, g INTEGER)");
    create_view(&mix.db, "grouped", "SELECT g, count(*) AS n, max(s) AS m FROM t GROUP BY g");
    create_view(&mix.db, "joined", "SELECT t.id, k.g FROM t JOIN k ON t.g = k.id % 5");
    create_view(&mix.db, "all_rows", "SELECT id, g, s FROM t");
    run(&mix.db, "CREATE TABLE copy_all_rows AS SELECT * FROM all_rows");
    const int64_t since = generation(&mix.db);
    for (int i = 0; i < 120; i++) {
        one_step(&mix);
        if (i % 6 == 5) {
            for (size_t v = 0; v < sizeof VIEWS / sizeof VIEWS[0]; v++) {
                verifies(&mix.db, VIEWS[v]);
            }
        }
    }
    adds_up(&mix.db, "all_rows", "id, g, s", since);
    gives(&mix.db, "SELECT count(*) FROM dbsp_views() WHERE state <> 'live'", "0\n");
    assert_true(mix.failures < 60);
    db_close(&mix.db);
}

static void it_mixes_with_others_in_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        mix_with_others(NULL, seed);
    }
}

static void it_mixes_with_others_in_a_file(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        char *path = ext_new_path("exec");
        mix_with_others(path, seed);
        db_remove_file(path);
        test_free(path);
    }
}

/* All writes by dbsp_exec, nobody looks: nothing is missed, and nothing needs to be looked for. */
static void alone_it_needs_no_sync(void **state)
{
    Db *db = *state;
    make_t(db, "(0, 'x')");
    create_view(db, "v", "SELECT a % 10 AS g, count(*) AS n FROM t GROUP BY 1");
    run(db, "CALL dbsp_auto_sync(false)");
    const int64_t syncs = number(db, "SELECT diffs FROM dbsp_table_state()");
    for (int i = 1; i <= 50; i++) {
        char *sql = text_format("CALL dbsp_exec('INSERT INTO t VALUES (%d, ''n''); "
                                "DELETE FROM t WHERE a = %d; UPDATE t SET a = a + 1 WHERE a = %d')",
                                3 * i, i, 2 * i);
        run(db, sql);
        test_free(sql);
    }
    verifies(db, "v");
    assert_int_equal(number(db, "SELECT diffs FROM dbsp_table_state()"), syncs);
    run(db, "CALL dbsp_sync()");
    verifies(db, "v");
}

static const struct CMUnitTest tests[] = {
    EXT_TEST(it_tells_what_each_statement_changed),
    EXT_TEST(one_call_is_one_generation),
    EXT_TEST(a_failure_takes_everything_back),
    EXT_TEST(the_callers_transaction_is_another_one),
    EXT_TEST(names_and_times_are_those_of_the_settings),
    EXT_TEST(definitions_and_what_is_not_told_is_found),
    EXT_TEST(a_view_made_after_it_has_its_rows),
    cmocka_unit_test(it_mixes_with_others_in_memory),
    cmocka_unit_test(it_mixes_with_others_in_a_file),
    EXT_TEST(alone_it_needs_no_sync),
};

EXT_MAIN(tests)
