/* test_follow.c: which tables can be followed, what their alteration does, and what a failure leaves
 * behind. */
#include "follow_test.h"

/* --- definitions -------------------------------------------------------------------------------- */

static void expect_changed(Follower *f, const char *sql, const char *message)
{
    World *w = f->w;
    SyncReport report;
    duck_run(w->user, sql);
    world_begin(w);
    const Status status =
        w->host.table_sync(w->host.context, f->table, bag_visit, &f->sum, &report, &w->err);
    world_end(w);
    assert_int_equal(status, WEIR_ERR_SOURCE_CHANGED);
    if (strstr(w->err.message, message) == NULL) {
        fail_msg("%s: %s", sql, w->err.message);
    }
}

static void alterations_are_told_apart(void **state)
{
    WEIR_UNUSED(state);
    World w;
    Follower f;
    static const char *const COLUMNS[] = {"a", "s", "g"};
    world_open(&w, NULL);
    duck_run(
        w.user,
        "CREATE TABLE t(a INTEGER, s VARCHAR, u INTEGER, g INTEGER GENERATED ALWAYS AS (a * 2))");
    duck_run(w.user, "INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)");
    world_begin(&w);
    follow(&f, &w, COLUMNS, 3);
    world_end(&w);
    expect(&f, "ALTER TABLE t ADD COLUMN n INTEGER", SYNC_UNCHANGED);
    expect(&f, "ALTER TABLE t DROP COLUMN n", SYNC_UNCHANGED);
    expect(&f, "ALTER TABLE t ALTER a SET DEFAULT 5", SYNC_UNCHANGED);
    expect(&f, "COMMENT ON TABLE t IS 'x'", SYNC_UNCHANGED);
    expect(&f, "CREATE INDEX t_a ON t(s); DROP INDEX t_a", SYNC_UNCHANGED);
    expect(&f, "ALTER TABLE t RENAME COLUMN u TO v", SYNC_UNCHANGED);
    /* Another table of the same name is the same source if its columns are the same. */
    expect(&f,
           "DROP TABLE t; CREATE TABLE t(a INTEGER, s VARCHAR, g INTEGER GENERATED ALWAYS AS (a * "
           "2)); "
           "INSERT INTO t VALUES (1, 'x'), (3, 'z')",
           SYNC_DIFFED);
    expect(&f,
           "CREATE OR REPLACE TABLE t(s VARCHAR, a INTEGER, g INTEGER GENERATED ALWAYS AS (a * 2))",
           SYNC_DIFFED);
    expect(&f, "INSERT INTO t VALUES ('x', 1)", SYNC_APPENDED);

    expect_changed(
        &f,
        "CREATE OR REPLACE TABLE t(s VARCHAR, a INTEGER, g INTEGER GENERATED ALWAYS AS (a * 3))",
        "generated expression");
    expect_changed(
        &f,
        "CREATE OR REPLACE TABLE t(s VARCHAR COLLATE NOCASE, a INTEGER, g INTEGER GENERATED "
        "ALWAYS AS (a * 2))",
        "collation");
    expect_changed(
        &f, "CREATE OR REPLACE TABLE t(s VARCHAR, a BIGINT, g INTEGER GENERATED ALWAYS AS (a * 2))",
        "column a of table memory.main.t was altered from INTEGER to BIGINT");
    expect_changed(&f, "CREATE OR REPLACE TABLE t(s VARCHAR, a DECIMAL(9,2)[], g INTEGER)",
                   "altered from INTEGER to DECIMAL(9,2)[]");
    expect_changed(&f, "CREATE OR REPLACE TABLE t(s VARCHAR, g INTEGER)",
                   "column a of table memory.main.t was dropped");
    expect_changed(&f, "DROP TABLE t", "table memory.main.t was dropped");
    expect_changed(&f, "CREATE VIEW t AS SELECT 1 AS rowid, 1 AS a, 'x' AS s, 2 AS g", "");
    duck_run(
        w.user,
        "DROP VIEW t; CREATE TABLE t(a INTEGER, s VARCHAR, g INTEGER GENERATED ALWAYS AS (a * 2))");
    sync_and_check(&f);
    expect_changed(&f, "ALTER TABLE t RENAME TO t2", "renamed");
    expect_changed(&f,
                   "CREATE TABLE t(a INTEGER, s VARCHAR, g INTEGER GENERATED ALWAYS AS (a * 2), "
                   "rowid INTEGER)",
                   "rowid");
    unfollow(&f);
    world_close(&w);
}

static void expect_unknown(World *w, const char *name)
{
    const TableName table = {.catalog = "memory", .schema = "main", .name = name};
    HostTable *opened = NULL;
    const Status status = w->host.table_open(w->host.context, &table, &opened, &w->err);
    assert_int_equal(status, WEIR_ERR_UNKNOWN_TABLE);
    assert_true(strlen(w->err.message) > 0);
}

static void only_tables_can_be_followed(void **state)
{
    WEIR_UNUSED(state);
    World w;
    world_open(&w, NULL);
    duck_run(w.user, "CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT rowid, a FROM t; "
                     "CREATE TABLE r(rowid INTEGER, a INTEGER)");
    world_begin(&w);
    expect_unknown(&w, "nope");
    expect_unknown(&w, "v");
    expect_unknown(&w, "r");
    expect_unknown(&w, "duckdb_tables");
    world_end(&w);
    world_close(&w);
}

static void the_columns_must_be_those_of_the_plan(void **state)
{
    WEIR_UNUSED(state);
    World w;
    static const char *const COLUMNS[] = {"a"};
    static const char *const MISSING[] = {"b"};
    const LogicalType *const bigint = weir_type_simple(TYPE_BIGINT);
    const LogicalType *const integer = weir_type_simple(TYPE_INTEGER);
    HostTable *table = NULL;
    world_open(&w, NULL);
    duck_run(w.user, "CREATE TABLE t(a INTEGER)");
    world_begin(&w);
    ASSERT_OK(w.host.table_open(w.host.context, &T, &table, &w.err), &w.err);
    assert_int_equal(w.host.table_follow(w.host.context, table, COLUMNS, &bigint, 1, &w.err),
                     WEIR_ERR_SOURCE_CHANGED);
    assert_int_equal(w.host.table_follow(w.host.context, table, MISSING, &integer, 1, &w.err),
                     WEIR_ERR_SOURCE_CHANGED);
    ASSERT_OK(w.host.table_follow(w.host.context, table, COLUMNS, &integer, 1, &w.err), &w.err);
    world_end(&w);
    w.host.table_close(w.host.context, table);
    world_close(&w);
}

/* The functions that we register for ourselves can be called by anyone. */
static void internal_functions_survive_any_arguments(void **state)
{
    WEIR_UNUSED(state);
    static const char *const CALLS[] = {
        "dbsp_internal_hash()",
        "dbsp_internal_hash(NULL)",
        "dbsp_internal_hash([1], {'a': 1})",
        "dbsp_internal_parts()",
        "dbsp_internal_parts(1::BIGINT, 2::BIGINT)",
        "dbsp_internal_parts(1::BIGINT, 0::BIGINT, i)",
        "dbsp_internal_parts(-1::BIGINT, -1::BIGINT, i)",
        "dbsp_internal_parts(-9223372036854775807::BIGINT, 100::BIGINT, i)",
        "dbsp_internal_parts(9223372036854775807::BIGINT, 100::BIGINT, i)",
        "dbsp_internal_parts(5::BIGINT, 100::BIGINT, -i)",
        "dbsp_internal_parts(5::BIGINT, 1::BIGINT, i * 4000000000000000)",
        "dbsp_internal_parts(5::BIGINT, 100::BIGINT, NULL::BIGINT)",
        "dbsp_internal_parts(NULL::BIGINT, 100::BIGINT, i)",
        "dbsp_internal_parts('x', 100::BIGINT, i)",
        "dbsp_internal_parts(5::BIGINT, 100::BIGINT, i, [i])",
        "dbsp_internal_parts(i, i + 1, i * i % 7)",
    };
    World w;
    world_open(&w, NULL);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(CALLS); i++) {
        char sql[256];
        duckdb_result result = {0};
        (void)snprintf(sql, sizeof sql, "SELECT %s FROM range(5000) r(i)", CALLS[i]);
        if (duckdb_query(w.user, sql, &result) != DuckDBSuccess) {
            assert_non_null(duckdb_result_error(&result));
        }
        duckdb_destroy_result(&result);
    }
    world_close(&w);
}

static void an_attached_database_can_be_followed(void **state)
{
    WEIR_UNUSED(state);
    World w;
    world_open(&w, NULL);
    duck_run(w.user, "ATTACH ':memory:' AS \"o'd b\"; CREATE SCHEMA \"o'd b\".\"s.1\"; "
                     "CREATE TABLE \"o'd b\".\"s.1\".\"T \"\"x\" AS SELECT 1 AS \"c 1\"");
    const TableName name = {.catalog = "o'd b", .schema = "s.1", .name = "T \"x"};
    const char *const columns[] = {"c 1"};
    const LogicalType *const types[] = {weir_type_simple(TYPE_INTEGER)};
    HostTable *table = NULL;
    SyncReport report;
    Bag bag;
    bag_init(&bag, w.mem, types, 1);
    world_begin(&w);
    ASSERT_OK(w.host.table_open(w.host.context, &name, &table, &w.err), &w.err);
    ASSERT_OK(w.host.table_follow(w.host.context, table, columns, types, 1, &w.err), &w.err);
    world_end(&w);
    duck_run(w.user, "INSERT INTO \"o'd b\".\"s.1\".\"T \"\"x\" VALUES (2)");
    world_begin(&w);
    ASSERT_OK(w.host.table_sync(w.host.context, table, bag_visit, &bag, &report, &w.err), &w.err);
    assert_int_equal(bag.count, 1);
    world_end(&w);
    duck_run(w.user, "DETACH \"o'd b\"");
    world_begin(&w);
    assert_int_equal(w.host.table_sync(w.host.context, table, bag_visit, &bag, &report, &w.err),
                     WEIR_ERR_SOURCE_CHANGED);
    world_end(&w);
    w.host.table_close(w.host.context, table);
    bag_deinit(&bag);
    world_close(&w);
}

/* --- failures ----------------------------------------------------------------------------------- */

static Status fail_visit(void *user, const Batch *batch, Error *err)
{
    WEIR_UNUSED(user);
    WEIR_UNUSED(batch);
    return weir_error_set(err, WEIR_ERR_LIMIT, "enough");
}

static void a_failing_visitor_ends_the_sync(void **state)
{
    WEIR_UNUSED(state);
    World w;
    Follower f;
    static const char *const COLUMNS[] = {"a"};
    world_open(&w, NULL);
    duck_run(w.user, "CREATE TABLE t AS SELECT i AS a FROM range(5000) r(i)");
    world_begin(&w);
    follow(&f, &w, COLUMNS, 1);
    assert_int_equal(w.host.table_scan(w.host.context, f.table, fail_visit, NULL, &w.err),
                     WEIR_ERR_LIMIT);
    world_end(&w);
    duck_run(w.user, "UPDATE t SET a = -a");
    world_begin(&w);
    assert_int_equal(
        w.host.table_sync(w.host.context, f.table, fail_visit, NULL, &f.report, &w.err),
        WEIR_ERR_LIMIT);
    world_end(&w);
    unfollow(&f);
    world_close(&w);
}

/* Opens, follows, syncs, scans, with an allocation failing. */
static Status faulty_round(World *w, Bag *bag, const LogicalType *const *types)
{
    static const char *const COLUMNS[] = {"a", "l"};
    HostTable *table = NULL;
    SyncReport report;
    Error *const err = &w->err;
    Status status = w->host.begin(w->host.context, err);
    if (status != WEIR_OK) {
        return status;
    }
    status = w->host.table_open(w->host.context, &T, &table, err);
    if (status == WEIR_OK) {
        status = w->host.table_follow(w->host.context, table, COLUMNS, types, 2, err);
    }
    if (status == WEIR_OK) {
        status = w->host.table_scan(w->host.context, table, bag_visit, bag, err);
    }
    w->host.end(w->host.context);
    duck_run(w->user, "UPDATE t SET a = a + 1 WHERE a % 2 = 0; INSERT INTO t VALUES (5, [5])");
    if (status == WEIR_OK) {
        status = w->host.begin(w->host.context, err);
    }
    if (status == WEIR_OK) {
        status = w->host.table_sync(w->host.context, table, bag_visit, bag, &report, err);
        w->host.end(w->host.context);
    }
    w->host.table_close(w->host.context, table);
    return status;
}

static void a_failing_allocation_leaves_nothing_behind(void **state)
{
    WEIR_UNUSED(state);
    World w;
    world_open(&w, NULL);
    duck_run(w.user,
             "CREATE TABLE t AS SELECT i::INTEGER AS a, [i::INTEGER] AS l FROM range(3000) r(i)");
    const LogicalType *const list =
        weir_type_list(&w.arena, weir_type_simple(TYPE_INTEGER), &w.err);
    const LogicalType *const types[] = {weir_type_simple(TYPE_INTEGER), list};
    size_t failures = 0;
    for (size_t nth = 1;; nth++) {
        Mem *bag_mem = weir_mem_new(0);
        Bag bag;
        bag_init(&bag, bag_mem, types, 2);
        weir_mem_fail_after(w.mem, nth, nth % 2 == 0);
        const Status status = faulty_round(&w, &bag, types);
        weir_mem_fail_after(w.mem, 0, false);
        bag_deinit(&bag);
        weir_mem_free_allocator(bag_mem);
        if (status == WEIR_OK) {
            break;
        }
        assert_int_equal(status, WEIR_ERR_NOMEM);
        failures++;
    }
    assert_true(failures > 20);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alterations_are_told_apart),
        cmocka_unit_test(only_tables_can_be_followed),
        cmocka_unit_test(the_columns_must_be_those_of_the_plan),
        cmocka_unit_test(internal_functions_survive_any_arguments),
        cmocka_unit_test(an_attached_database_can_be_followed),
        cmocka_unit_test(a_failing_visitor_ends_the_sync),
        cmocka_unit_test(a_failing_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
