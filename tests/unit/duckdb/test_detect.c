/* test_detect.c: after any writes, the differences that sync reports add up to the table. */
#include "follow_test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "duckdb/baseline.h"

/* --- single changes ----------------------------------------------------------------------------- */

static void every_kind_of_change_is_found(void **state)
{
    WEIR_UNUSED(state);
    World w;
    Follower f;
    static const char *const COLUMNS[] = {"a", "s", "d", "i", "l", "st", "u"};
    world_open(&w, NULL);
    duck_run(w.user,
             "CREATE TABLE t AS SELECT i::INTEGER AS a, 'aaaaaaaXaaaaaaaX' AS s, 0.0::DOUBLE "
             "AS d, INTERVAL 30 DAY AS i, [i, NULL] AS l, {'x': 0.0::FLOAT, 'y': 'k' || i} AS "
             "st, union_value(n := i::INTEGER)::UNION(n INTEGER, s VARCHAR) AS u, 1 AS unused "
             "FROM range(3000) r(i)");
    world_begin(&w);
    follow(&f, &w, COLUMNS, WEIR_ARRAY_COUNT(COLUMNS));
    check_content(&f);
    world_end(&w);

    expect(&f, "SELECT 1", SYNC_UNCHANGED);
    expect(&f, "UPDATE t SET unused = 2", SYNC_UNCHANGED);
    expect(&f, "INSERT INTO t SELECT * FROM t LIMIT 10", SYNC_APPENDED);
    assert_int_equal(f.report.rows_read, 10);
    expect(&f, "UPDATE t SET a = 7 WHERE a < 2000", SYNC_DIFFED);
    expect(&f, "UPDATE t SET a = 8 WHERE a = 7", SYNC_DIFFED);
    expect(&f, "UPDATE t SET a = NULL WHERE a = 8", SYNC_DIFFED);
    expect(&f, "UPDATE t SET a = 0 WHERE a IS NULL", SYNC_DIFFED);
    /* (An update to an equal value is nothing to DuckDB, but there are ways around it.) */
    expect(&f, "UPDATE t SET d = 5; UPDATE t SET d = '-0.0'::DOUBLE", SYNC_DIFFED);
    expect(&f, "UPDATE t SET d = 'nan' WHERE a % 2 = 0", SYNC_DIFFED);
    expect(&f, "UPDATE t SET i = INTERVAL 5 YEAR; UPDATE t SET i = INTERVAL 1 MONTH", SYNC_DIFFED);
    expect(&f, "UPDATE t SET i = INTERVAL 5 YEAR; UPDATE t SET i = INTERVAL 720 HOUR", SYNC_DIFFED);
    expect(&f,
           "UPDATE t SET st = {'x': 5, 'y': st.y}; "
           "UPDATE t SET st = {'x': '-0.0'::FLOAT, 'y': st.y}",
           SYNC_DIFFED);
    expect(&f, "UPDATE t SET st = NULL WHERE a = 2500", SYNC_DIFFED);
    expect(&f, "UPDATE t SET st = {'x': NULL, 'y': NULL} WHERE a = 2500", SYNC_DIFFED);
    expect(&f, "UPDATE t SET l = [] WHERE a = 2501", SYNC_DIFFED);
    expect(&f,
           "UPDATE t SET u = union_value(s := '2502')::UNION(n INTEGER, s VARCHAR) WHERE a = 2502",
           SYNC_DIFFED);
    expect(&f, "DELETE FROM t WHERE a BETWEEN 2600 AND 2700", SYNC_DIFFED);
    expect(&f, "DELETE FROM t WHERE a = 2999; INSERT INTO t SELECT * FROM t WHERE a = 2998",
           SYNC_DIFFED);
    /* Strings that DuckDB's hash() cannot tell apart. */
    for (int k = 0; k < 25; k++) {
        char sql[256];
        (void)snprintf(sql, sizeof sql,
                       "UPDATE t SET s = 'aaaaaaa' || chr(%d) || 'aaaaaaa' || chr(%d)",
                       33 + (k * 7) % 90, 33 + (k * 13) % 90);
        expect(&f, sql, SYNC_DIFFED);
    }
    expect(&f, "TRUNCATE t", SYNC_DIFFED);
    expect(&f, "INSERT INTO t(a) VALUES (1), (1), (1)", SYNC_APPENDED);
    expect(&f, "DELETE FROM t WHERE rowid = (SELECT min(rowid) FROM t)", SYNC_DIFFED);
    unfollow(&f);
    world_close(&w);
}

static void a_table_without_followed_columns_is_counted(void **state)
{
    WEIR_UNUSED(state);
    World w;
    Follower f;
    world_open(&w, NULL);
    duck_run(w.user, "CREATE TABLE t AS SELECT i AS a FROM range(5000) r(i)");
    world_begin(&w);
    follow(&f, &w, NULL, 0);
    assert_int_equal(w.host.table_row_count(f.table), 5000);
    world_end(&w);
    const char *const statements[] = {"UPDATE t SET a = 1", "INSERT INTO t VALUES (1), (2)",
                                      "DELETE FROM t WHERE rowid % 3 = 0", "TRUNCATE t",
                                      "INSERT INTO t VALUES (5)"};
    int64_t total = 5000;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(statements); i++) {
        duck_run(w.user, statements[i]);
        world_begin(&w);
        ASSERT_OK(w.host.table_sync(w.host.context, f.table, bag_visit, &f.sum, &f.report, &w.err),
                  &w.err);
        total = duck_count(w.duck->scan, "SELECT count(*) FROM t");
        world_end(&w);
        assert_int_equal(w.host.table_row_count(f.table), total);
        bag_normalise(&f.sum);
        assert_int_equal(f.sum.count, total > 0 ? 1 : 0);
        assert_int_equal(total > 0 ? f.sum.rows[0].weight : 0, total);
    }
    unfollow(&f);
    world_close(&w);
}

/* --- random changes ----------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static const char INSERT_ROWS[] =
    "INSERT INTO t SELECT %llu + i, i %% 7, CASE i %% 4 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 "
    "THEN "
    "'short' ELSE 'a string that is longer than twelve ' || i %% 5 END, CASE i %% 3 WHEN 0 THEN "
    "0.0 "
    "WHEN 1 THEN '-0.0'::DOUBLE ELSE i END, CASE WHEN i %% 5 > 0 THEN [i %% 3, NULL] END, {'x': i "
    "%% 2, 'y': "
    "'y'} FROM range(%llu) r(i)";

static void random_statement(World *w, uint64_t *seed, uint64_t *next_id)
{
    const unsigned long long r = next_random(seed);
    const unsigned long long from = next_random(seed) % (*next_id + 1);
    const unsigned long long size = next_random(seed) % 4 == 0 ? *next_id : 1 + r % 200;
    switch (next_random(seed) % 16) {
    case 0:
    case 1:
    case 2: {
        const unsigned long long count = 1 + r % 1500;
        duck_runf(w->user, INSERT_ROWS, (unsigned long long)*next_id, count);
        *next_id += count;
        break;
    }
    case 3:
        duck_runf(w->user, "UPDATE t SET a = %llu WHERE id BETWEEN %llu AND %llu", r % 9, from,
                  from + size);
        break;
    case 4:
        duck_runf(w->user, "UPDATE t SET d = -d WHERE id BETWEEN %llu AND %llu", from, from + size);
        break;
    case 5:
        duck_runf(w->user, "DELETE FROM t WHERE id BETWEEN %llu AND %llu", from, from + size);
        break;
    case 6: /* the same number of rows */
        duck_runf(
            w->user,
            "BEGIN; CREATE TEMP TABLE g AS FROM t WHERE id BETWEEN %llu AND %llu; DELETE FROM t "
            "WHERE id BETWEEN %llu AND %llu; INSERT INTO t FROM g; DROP TABLE g; COMMIT",
            from, from + size, from, from + size);
        break;
    case 7: /* swap */
        duck_runf(
            w->user,
            "UPDATE t SET id = CASE id WHEN %llu THEN %llu ELSE %llu END WHERE id IN (%llu, %llu)",
            from, from + 1, from, from, from + 1);
        break;
    case 8: duck_run(w->user, "CHECKPOINT"); break;
    case 9: duck_runf(w->user, "DELETE FROM t WHERE id %% %llu = 0; CHECKPOINT", 2 + r % 5); break;
    case 10: duck_run(w->user, r % 3 == 0 ? "TRUNCATE t" : "SELECT 1"); break;
    case 11: /* a list column: delete and insert underneath */
        duck_runf(w->user, "UPDATE t SET l = [%llu] WHERE id BETWEEN %llu AND %llu", r % 4, from,
                  from + size);
        break;
    case 12:
        duck_runf(w->user,
                  "UPDATE t SET st = {'x': st.x + 1, 'y': st.y} WHERE id BETWEEN %llu AND %llu",
                  from, from + size);
        break;
    case 13: duck_runf(w->user, "BEGIN; UPDATE t SET a = a + 1; ROLLBACK"); break;
    case 14:
        duck_runf(w->user, "UPDATE t SET s = s || '.' WHERE id BETWEEN %llu AND %llu", from,
                  from + size);
        break;
    default:
        duck_runf(w->user, "INSERT INTO t SELECT * FROM t WHERE id %% 11 = %llu", r % 11);
        break;
    }
}

static void run_random(uint64_t seed, size_t rounds, uint32_t group_rows)
{
    World w;
    Follower f;
    uint64_t next_id = 0;
    static const char *const COLUMNS[] = {"a", "s", "d", "l", "st", "id"};
    world_open(&w, NULL);
    w.duck->group_rows = group_rows;
    duck_run(w.user, "CREATE TABLE t(id BIGINT, a INTEGER, s VARCHAR, d DOUBLE, l INTEGER[], "
                     "st STRUCT(x INTEGER, y VARCHAR))");
    if (seed % 2 == 0) {
        duck_run(w.user, "CREATE INDEX t_a ON t(a)");
    }
    for (size_t i = 0; i < 5; i++) {
        random_statement(&w, &seed, &next_id);
    }
    world_begin(&w);
    follow(&f, &w, COLUMNS, 1 + seed % WEIR_ARRAY_COUNT(COLUMNS));
    check_content(&f);
    world_end(&w);
    for (size_t i = 0; i < rounds; i++) {
        const size_t statements = 1 + next_random(&seed) % 3;
        for (size_t k = 0; k < statements; k++) {
            random_statement(&w, &seed, &next_id);
        }
        if (duck_count(w.user, "SELECT count(*) FROM t") > 20000) {
            duck_run(w.user, "DELETE FROM t WHERE id % 4 > 0");
        }
        sync_and_check(&f);
    }
    unfollow(&f);
    world_close(&w);
}

static void random_changes_add_up(void **state)
{
    WEIR_UNUSED(state);
    const char *rounds_text = getenv("WEIR_TEST_ROUNDS");
    const size_t rounds = rounds_text == NULL ? 40 : (size_t)strtoul(rounds_text, NULL, 10);
    const char *seed_text = getenv("WEIR_TEST_SEED");
    const uint64_t first = seed_text == NULL ? 1 : strtoull(seed_text, NULL, 10);
    for (uint64_t seed = first; seed < first + 5; seed++) {
        print_message("seed %d\n", (int)seed);
        run_random(seed, rounds, seed % 3 == 0 ? BASELINE_GROUP_ROWS : 300);
    }
}

/* Row ids move when DuckDB compacts row groups: at a size where it does. */
static void renumbered_rows_add_up(void **state)
{
    WEIR_UNUSED(state);
    World w;
    Follower f;
    static const char *const COLUMNS[] = {"a", "s"};
    world_open(&w, NULL);
    duck_run(w.user,
             "CREATE TABLE t AS SELECT i % 1000 AS a, 'row ' || i AS s FROM range(300000) r(i)");
    world_begin(&w);
    follow(&f, &w, COLUMNS, 2);
    world_end(&w);
    const int64_t first = duck_count(w.user, "SELECT min(rowid) FROM t WHERE s = 'row 200000'");
    expect(&f, "DELETE FROM t WHERE rowid < 125000; CHECKPOINT", SYNC_DIFFED);
    assert_true(duck_count(w.user, "SELECT min(rowid) FROM t WHERE s = 'row 200000'") < first);
    expect(&f, "INSERT INTO t SELECT i, 'more ' || i FROM range(1000) r(i)", SYNC_APPENDED);
    expect(&f, "DELETE FROM t WHERE a % 2 = 0; CHECKPOINT; INSERT INTO t VALUES (1, 'x')",
           SYNC_DIFFED);
    expect(&f, "SELECT 1", SYNC_UNCHANGED);
    unfollow(&f);
    world_close(&w);
}

/* A visitor that lets another connection renumber the rows while a sync is under way. */
typedef struct Meddler {
    Follower *follower;
    const char *sql;
    bool is_done;
} Meddler;

static Status meddle(void *user, const Batch *batch, Error *err)
{
    WEIR_UNUSED(err);
    Meddler *meddler = user;
    bag_add(&meddler->follower->sum, batch);
    if (!meddler->is_done) {
        meddler->is_done = true;
        duck_run(meddler->follower->w->user, meddler->sql);
    }
    return WEIR_OK;
}

static void rows_may_be_renumbered_during_a_sync(void **state)
{
    WEIR_UNUSED(state);
    World w;
    Follower f;
    static const char *const COLUMNS[] = {"a", "s"};
    world_open(&w, NULL);
    w.duck->group_rows = 20; /* many fetches */
    duck_run(w.user, "CREATE TABLE t AS SELECT i AS a, 'row ' || i AS s FROM range(300000) r(i)");
    duck_run(w.user, "CHECKPOINT");
    world_begin(&w);
    follow(&f, &w, COLUMNS, 2);
    world_end(&w);
    duck_run(w.user, "DELETE FROM t WHERE a < 125000");
    duck_run(w.user, "UPDATE t SET a = -a WHERE a % 3 = 0");
    Meddler meddler = {.follower = &f, .sql = "CHECKPOINT"};
    world_begin(&w);
    ASSERT_OK(weir_duck_host_open_snapshot(w.duck, &w.err), &w.err);
    const int64_t before = duck_count(w.duck->scan, "SELECT max(rowid) FROM t");
    ASSERT_OK(w.host.table_sync(w.host.context, f.table, meddle, &meddler, &f.report, &w.err),
              &w.err);
    assert_true(meddler.is_done);
    assert_true(duck_count(w.duck->scan, "SELECT max(rowid) FROM t") < before);
    check_content(&f);
    world_end(&w);
    sync_and_check(&f);
    unfollow(&f);
    world_close(&w);
}

/* DuckDB may be told not to keep the order of rows. */
static void rows_that_come_in_disorder_add_up(void **state)
{
    WEIR_UNUSED(state);
    World w;
    Follower f;
    static const char *const COLUMNS[] = {"a", "s"};
    world_open(&w, NULL);
    duck_run(w.user, "SET preserve_insertion_order = false; SET threads = 4");
    duck_run(w.user, "CREATE TABLE t AS SELECT i AS a, 'row ' || i AS s FROM range(900000) r(i)");
    world_begin(&w);
    follow(&f, &w, COLUMNS, 2);
    check_content(&f);
    world_end(&w);
    expect(&f, "UPDATE t SET s = s || 'x' WHERE a % 100 = 0", SYNC_DIFFED);
    expect(&f, "INSERT INTO t SELECT a, s FROM t WHERE a % 2 = 0", SYNC_APPENDED);
    expect(&f, "DELETE FROM t WHERE a % 3 = 0", SYNC_DIFFED);
    unfollow(&f);
    world_close(&w);
}

/* Another connection that writes and checkpoints all the time. */
typedef struct Writer {
    duckdb_connection connection;
    atomic_bool is_stopped;
    size_t done;
} Writer;

static void *write_all_the_time(void *argument)
{
    static const char *const STATEMENTS[] = {
        "DELETE FROM t WHERE a % 5 = 0",
        "CHECKPOINT",
        "INSERT INTO t SELECT i, 'n' FROM range(20000) r(i) WHERE (FROM t SELECT count(*)) < 99999",
        "UPDATE t SET a = a + 1 WHERE a % 7 = 0",
        "DELETE FROM t WHERE rowid < (SELECT max(rowid) // 3 FROM t)",
        "INSERT INTO t SELECT a, s FROM t WHERE (SELECT count(*) FROM t) < 150000 LIMIT 30000",
        "CHECKPOINT",
    };
    Writer *writer = argument;
    for (size_t i = 0; !atomic_load(&writer->is_stopped); i++) {
        duckdb_result result = {0};
        if (duckdb_query(writer->connection, STATEMENTS[i % WEIR_ARRAY_COUNT(STATEMENTS)],
                         &result) == DuckDBSuccess) {
            writer->done++;
        }
        duckdb_destroy_result(&result);
    }
    return NULL;
}

static void a_busy_writer_does_not_confuse_sync(void **state)
{
    WEIR_UNUSED(state);
    World w;
    static const char *const COLUMNS[] = {"a", "s"};
    world_open(&w, NULL);
    w.duck->group_rows = 300;
    duck_run(w.user, "CREATE TABLE t AS SELECT i AS a, 'row ' || i AS s FROM range(150000) r(i)");
    Writer writer = {0};
    pthread_t thread;
    assert_int_equal(duckdb_connect(w.database, &writer.connection), DuckDBSuccess);
    assert_int_equal(pthread_create(&thread, NULL, write_all_the_time, &writer), 0);
    for (size_t i = 0; i < 3; i++) {
        Follower f;
        world_begin(&w);
        follow(&f, &w, COLUMNS, 2);
        check_content(&f);
        world_end(&w);
        for (size_t k = 0; k < 4; k++) {
            sync_and_check(&f);
        }
        unfollow(&f);
    }
    atomic_store(&writer.is_stopped, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(writer.done > 5);
    duckdb_disconnect(&writer.connection);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_change_is_found),
        cmocka_unit_test(a_table_without_followed_columns_is_counted),
        cmocka_unit_test(random_changes_add_up),
        cmocka_unit_test(renumbered_rows_add_up),
        cmocka_unit_test(rows_may_be_renumbered_during_a_sync),
        cmocka_unit_test(rows_that_come_in_disorder_add_up),
        cmocka_unit_test(a_busy_writer_does_not_confuse_sync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
