/* test_plan.c: what the host tells about definitions, functions and names; and its lifetime. */
#include "host_test.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup(void **state)
{
    World *w = calloc(1, sizeof *w);
    assert_non_null(w);
    world_open(w, NULL);
    duck_run(w->user,
             "CREATE TABLE t(a INTEGER, b VARCHAR); CREATE SCHEMA s; CREATE TABLE s.u(x INTEGER); "
             "CREATE VIEW v AS SELECT a FROM t; ATTACH ':memory:' AS other; "
             "CREATE TABLE other.main.o(y INTEGER)");
    world_begin(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    World *w = *state;
    world_end(w);
    world_close(w);
    free(w);
    return 0;
}

static Status plan(World *w, const ViewSettings *settings, const char *sql, HostPlan *out)
{
    return w->host.plan(w->host.context, settings, sql, &w->arena, out, &w->err);
}

/* A definition and its column names, comma separated. */
typedef struct NameCase {
    const char *sql;
    const char *names;
} NameCase;

static void names_are_those_of_a_view(void **state)
{
    World *w = *state;
    static const NameCase CASES[] = {
        {"SELECT a, b FROM t", "a,b"},
        {"SELECT a, a, a AS \"A\", a FROM t;", "a,a_1,A_2,a_3"},
        {"SELECT a AS x, a AS \"X_1\", b AS x FROM t -- the end", "x,X_1,x_2"},
        {"FROM t", "a,b"},
        {"(SELECT a FROM t) UNION ALL (SELECT 1)", "a"},
        {"VALUES (1, 2)", "col0,col1"},
        {"WITH c AS (SELECT a FROM t) SELECT c.a + 1, count(*) FROM c GROUP BY ALL",
         "(c.a + 1),count_star()"},
        {"SELECT 'it''s' AS \"q\"\"x\"", "q\"x"},
        {"/* comment */ TABLE t", "a,b"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(CASES); i++) {
        HostPlan out = {0};
        ASSERT_OK(plan(w, NULL, CASES[i].sql, &out), &w->err);
        assert_non_null(strstr(out.json, "\"error\":false"));
        char names[256] = "";
        for (size_t c = 0; c < out.column_count; c++) {
            (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                           c == 0 ? "" : ",", out.column_names[c]);
        }
        assert_string_equal(names, CASES[i].names);
    }
}

static void duplicate_names_are_numbered_as_duckdb_does(void **state)
{
    World *w = *state;
    static const char SQL[] =
        "SELECT a, b AS a, a AS a_1, b AS \"A\", a AS a_2, b AS a_1, a FROM t";
    HostPlan out = {0};
    ASSERT_OK(plan(w, NULL, SQL, &out), &w->err);
    duckdb_result result = {0};
    char sql[256];
    (void)snprintf(sql, sizeof sql, "SELECT * FROM (%s) LIMIT 0", SQL);
    assert_int_equal(duckdb_query(w->user, sql, &result), DuckDBSuccess);
    assert_int_equal(out.column_count, duckdb_column_count(&result));
    for (size_t i = 0; i < out.column_count; i++) {
        assert_string_equal(out.column_names[i], duckdb_column_name(&result, i));
    }
    duckdb_destroy_result(&result);
}

static void plans_are_not_optimised(void **state)
{
    World *w = *state;
    HostPlan out = {0};
    duck_run(w->user, "INSERT INTO t VALUES (1, 'x')");
    ASSERT_OK(plan(w, NULL, "SELECT a FROM t WHERE a > 1000", &out), &w->err);
    assert_non_null(strstr(out.json, "LOGICAL_FILTER"));
    ASSERT_OK(plan(w, NULL,
                   "PIVOT t ON b IN ('1','2','3','4','5','6','7','8','9','10','11','12','13',"
                   "'14','15','16','17','18','19','20','21','22') USING sum(a)",
                   &out),
              &w->err);
    assert_null(strstr(out.json, "LOGICAL_PIVOT"));
    assert_int_equal(out.column_count, 22);
}

static void failures_are_left_to_the_reader_of_plans(void **state)
{
    World *w = *state;
    static const char *const TEXTS[] = {"SELECT FROM", "SELECT x FROM t", "SELECT * FROM nope",
                                        "SELECT nope(1)", "EXPLAIN SELECT 1"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(TEXTS); i++) {
        HostPlan out = {0};
        ASSERT_OK(plan(w, NULL, TEXTS[i], &out), &w->err);
        assert_non_null(strstr(out.json, "\"error\":true"));
        assert_int_equal(out.column_count, 0);
    }
}

static void what_is_not_one_select_does_nothing(void **state)
{
    World *w = *state;
    static const char *const TEXTS[] = {
        "INSERT INTO t VALUES (1, 'x')",
        "SELECT 1; DROP TABLE t",
        "DROP TABLE t",
        "CREATE TABLE n(a INTEGER)",
        "SELECT 1; SELECT 2",
        "",
        "DELETE FROM t RETURNING a",
        "SUMMARIZE t",
        "/* only a comment */",
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(TEXTS); i++) {
        HostPlan out = {0};
        const Status status = plan(w, NULL, TEXTS[i], &out);
        if (status != WEIR_ERR_NOT_A_SELECT) {
            fail_msg("%s: %d %s", TEXTS[i], status, status == WEIR_OK ? out.json : w->err.message);
        }
    }
    assert_int_equal(duck_count(w->user, "SELECT count(*) FROM t"), 0);
}

static void settings_matter(void **state)
{
    World *w = *state;
    HostPlan out = {0};
    const ViewSettings in_s = {.search_path = "s"};
    ASSERT_OK(plan(w, NULL, "SELECT x FROM u", &out), &w->err);
    assert_non_null(strstr(out.json, "\"error\":true"));
    ASSERT_OK(plan(w, &in_s, "SELECT x FROM u", &out), &w->err);
    assert_non_null(strstr(out.json, "\"schema\":\"s\""));
    const ViewSettings nowhere = {.search_path = "nowhere"};
    assert_int_equal(plan(w, &nowhere, "SELECT 1", &out), WEIR_ERR_SETTING);
    duck_run(w->user, "SET GLOBAL integer_division = true");
    const ViewSettings fresh = {.time_zone = "UTC"};
    assert_int_equal(plan(w, &fresh, "SELECT 1", &out), WEIR_ERR_SETTING);
}

static void functions_have_a_stability(void **state)
{
    World *w = *state;
    static const struct {
        const char *name;
        FunctionStability stability;
    } CASES[] = {
        {"lower", STABILITY_CONSISTENT},
        {"LOWER", STABILITY_CONSISTENT},
        {"random", STABILITY_VOLATILE},
        {"now", STABILITY_WITHIN_QUERY},
        {"nextval", STABILITY_VOLATILE},
        {"no_such_function", STABILITY_UNKNOWN},
        {"dbsp_internal_hash", STABILITY_VOLATILE},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(CASES); i++) {
        FunctionStability found = STABILITY_UNKNOWN;
        ASSERT_OK(w->host.stability(w->host.context, CASES[i].name, &found, &w->err), &w->err);
        assert_int_equal(found, CASES[i].stability);
    }
}

static void names_are_completed(void **state)
{
    World *w = *state;
    static const struct {
        const char *search_path;
        const char *name;
        const char *full;
    } CASES[] = {
        {NULL, "x", "memory|main|x"},
        {NULL, "\"X y\"", "memory|main|X y"},
        {NULL, "S.x", "memory|s|x"},
        {NULL, "other.x", "other|main|x"},
        {NULL, "Memory.S.\"a.b\"", "memory|s|a.b"},
        {"s", "x", "memory|s|x"},
        {"other.main", "x", "other|main|x"},
        {"other.main", "memory.s.x", "memory|s|x"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(CASES); i++) {
        const ViewSettings settings = {.search_path = CASES[i].search_path};
        TableName name = {0};
        ASSERT_OK(w->host.resolve_name(w->host.context, &settings, CASES[i].name, &w->arena, &name,
                                       &w->err),
                  &w->err);
        char full[256];
        (void)snprintf(full, sizeof full, "%s|%s|%s", name.catalog, name.schema, name.name);
        assert_string_equal(full, CASES[i].full);
    }
    static const char *const WRONG[] = {"nowhere.x", "a.b.c.d",          "",
                                        "a.",        "memory.nowhere.x", "\"a"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(WRONG); i++) {
        TableName name = {0};
        assert_int_equal(
            w->host.resolve_name(w->host.context, NULL, WRONG[i], &w->arena, &name, &w->err),
            WEIR_ERR_ARGUMENT);
    }
}

static void taken_names_are_known(void **state)
{
    World *w = *state;
    static const struct {
        TableName name;
        bool exists;
    } CASES[] = {
        {{.catalog = "memory", .schema = "main", .name = "t"}, true},
        {{.catalog = "MEMORY", .schema = "Main", .name = "T"}, true},
        {{.catalog = "memory", .schema = "main", .name = "v"}, true},
        {{.catalog = "memory", .schema = "s", .name = "t"}, false},
        {{.catalog = "other", .schema = "main", .name = "o"}, true},
        {{.catalog = "memory", .schema = "main", .name = "it's"}, false},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(CASES); i++) {
        bool exists = false;
        ASSERT_OK(w->host.name_exists(w->host.context, &CASES[i].name, &exists, &w->err), &w->err);
        assert_int_equal(exists, CASES[i].exists);
    }
}

static void the_columns_of_a_table_are_listed(void **state)
{
    World *w = *state;
    duck_run(w->user,
             "CREATE TABLE c(a INTEGER, \"B b\" STRUCT(x DOUBLE)[], g VARCHAR GENERATED ALWAYS "
             "AS (a::VARCHAR))");
    /* A snapshot begun before does not see it. */
    world_end(w);
    world_begin(w);
    const TableName name = {.catalog = "memory", .schema = "main", .name = "c"};
    Schema schema = {0};
    ASSERT_OK(w->host.table_schema(w->host.context, &name, &w->arena, &schema, &w->err), &w->err);
    assert_int_equal(schema.count, 3);
    assert_string_equal(schema.names[1], "B b");
    assert_int_equal(schema.types[1]->id, TYPE_LIST);
    assert_int_equal(schema.types[2]->id, TYPE_VARCHAR);
    const TableName view = {.catalog = "memory", .schema = "main", .name = "v"};
    assert_int_equal(w->host.table_schema(w->host.context, &view, &w->arena, &schema, &w->err),
                     WEIR_ERR_UNKNOWN_TABLE);
}

static Status ask_everything(World *w)
{
    const TableName table = {.catalog = "memory", .schema = "main", .name = "t"};
    Error *const err = &w->err;
    HostPlan out = {0};
    Status status = plan(w, NULL, "SELECT a, a, b FROM t", &out);
    FunctionStability stability = STABILITY_UNKNOWN;
    if (status == WEIR_OK) {
        status = w->host.stability(w->host.context, "lower", &stability, err);
    }
    TableName name = {0};
    const ViewSettings settings = {.search_path = "s", .time_zone = "UTC"};
    if (status == WEIR_OK) {
        status = w->host.resolve_name(w->host.context, &settings, "x.y", &w->arena, &name, err);
        status = status == WEIR_ERR_ARGUMENT ? WEIR_OK : status;
    }
    bool exists = false;
    if (status == WEIR_OK) {
        status = w->host.name_exists(w->host.context, &table, &exists, err);
    }
    Schema schema = {0};
    if (status == WEIR_OK) {
        status = w->host.table_schema(w->host.context, &table, &w->arena, &schema, err);
    }
    return status;
}

static void a_failing_allocation_is_reported(void **state)
{
    World *w = *state;
    size_t failures = 0;
    for (size_t nth = 1;; nth++) {
        world_end(w);
        weir_arena_deinit(&w->arena);
        weir_arena_init(&w->arena, w->mem, 256);
        weir_arena_deinit(&w->duck->arena);
        weir_arena_init(&w->duck->arena, w->mem, 256);
        world_begin(w);
        weir_mem_fail_after(w->mem, nth, nth % 2 == 0);
        const Status status = ask_everything(w);
        weir_mem_fail_after(w->mem, 0, false);
        if (status == WEIR_OK) {
            break;
        }
        assert_int_equal(status, WEIR_ERR_NOMEM);
        failures++;
        if (failures > 40) {
            nth += 10; /* the list of functions is long */
        }
    }
    assert_true(failures > 20);
}

/* --- lifetime ----------------------------------------------------------------------------------- */

/* True if another process can open the file for writing. */
static bool is_released(const char *path)
{
    const pid_t child = fork();
    if (child == 0) {
        duckdb_database database = NULL;
        _exit(duckdb_open(path, &database) == DuckDBSuccess ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void closing_the_database_releases_its_file(void **state)
{
    WEIR_UNUSED(state);
    char path[64];
    char log[80];
    (void)snprintf(path, sizeof path, "/tmp/weir_test_%d.db", (int)getpid());
    (void)snprintf(log, sizeof log, "%s.wal", path);
    World w;
    world_open(&w, path);
    duck_run(w.user, "CREATE TABLE t AS SELECT i::INTEGER AS a FROM range(1000) r(i)");
    const LogicalType *type = weir_type_simple(TYPE_INTEGER);
    const Schema schema = {.count = 1, .types = &type};
    const char *const sql = "c0 + 1";
    ExprHost expr = {0};
    HostProgram *program = NULL;
    TableName name = {.schema = "main", .name = "t"};
    HostTable *table = NULL;
    const char *const columns[] = {"a"};
    const ViewSettings settings = {.time_zone = "America/New_York"};
    world_begin(&w);
    ASSERT_OK(w.host.resolve_name(w.host.context, NULL, "t", &w.arena, &name, &w.err), &w.err);
    ASSERT_OK(w.host.expr_open(w.host.context, &settings, &expr, &w.err), &w.err);
    ASSERT_OK(expr.prepare(expr.context, &sql, 1, &schema, &schema, &program, &w.err), &w.err);
    ASSERT_OK(w.host.table_open(w.host.context, &name, &table, &w.err), &w.err);
    ASSERT_OK(w.host.table_follow(w.host.context, table, columns, &type, 1, &w.err), &w.err);
    world_end(&w);

    assert_false(is_released(path));
    duckdb_disconnect(&w.user);
    duckdb_close(&w.database);
    assert_true(is_released(path));
    assert_int_not_equal(access(log, F_OK), 0); /* the log is merged */

    assert_int_equal(w.host.begin(w.host.context, &w.err), WEIR_ERR_CLOSED);
    duckdb_connection connection = NULL;
    assert_int_equal(weir_connector_connect(w.connector, &connection, &w.err), WEIR_ERR_CLOSED);
    expr.release(expr.context, program);
    w.host.expr_close(w.host.context, &expr);
    w.host.table_close(w.host.context, table);
    world_close(&w);
    assert_int_equal(unlink(path), 0);
}

static void an_interrupt_ends_what_runs(void **state)
{
    World *w = *state;
    const TableName name = {.catalog = "memory", .schema = "main", .name = "t"};
    HostTable *table = NULL;
    ASSERT_OK(w->host.table_open(w->host.context, &name, &table, &w->err), &w->err);
    ASSERT_OK(w->host.table_follow(w->host.context, table, NULL, NULL, 0, &w->err), &w->err);
    weir_duck_host_interrupt(w->duck);
    SyncReport report;
    assert_int_equal(w->host.table_sync(w->host.context, table, NULL, NULL, &report, &w->err),
                     WEIR_ERR_INTERRUPTED);
    world_end(w);
    world_begin(w);
    ASSERT_OK(w->host.table_sync(w->host.context, table, NULL, NULL, &report, &w->err), &w->err);
    w->host.table_close(w->host.context, table);
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(names_are_those_of_a_view),
        WORLD_TEST(duplicate_names_are_numbered_as_duckdb_does),
        WORLD_TEST(plans_are_not_optimised),
        WORLD_TEST(failures_are_left_to_the_reader_of_plans),
        WORLD_TEST(what_is_not_one_select_does_nothing),
        WORLD_TEST(settings_matter),
        WORLD_TEST(functions_have_a_stability),
        WORLD_TEST(names_are_completed),
        WORLD_TEST(taken_names_are_known),
        WORLD_TEST(the_columns_of_a_table_are_listed),
        WORLD_TEST(a_failing_allocation_is_reported),
        cmocka_unit_test(closing_the_database_releases_its_file),
        WORLD_TEST(an_interrupt_ends_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
