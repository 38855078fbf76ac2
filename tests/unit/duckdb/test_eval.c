/* test_eval.c: expressions that DuckDB evaluates over our batches. */
#include "host_test.h"

typedef struct Eval {
    World w;
    ExprHost expr;
} Eval;

static int setup(void **state)
{
    Eval *e = calloc(1, sizeof *e);
    assert_non_null(e);
    world_open(&e->w, NULL);
    world_begin(&e->w);
    ASSERT_OK(e->w.host.expr_open(e->w.host.context, NULL, &e->expr, &e->w.err), &e->w.err);
    *state = e;
    return 0;
}

static int teardown(void **state)
{
    Eval *e = *state;
    e->w.host.expr_close(e->w.host.context, &e->expr);
    world_end(&e->w);
    world_close(&e->w);
    free(e);
    return 0;
}

static const LogicalType *type_of(Eval *e, const char *type_sql)
{
    char sql[512];
    (void)snprintf(sql, sizeof sql, "SELECT %s LIMIT 0", type_sql);
    duckdb_result result = {0};
    assert_int_equal(duckdb_query(e->w.user, sql, &result), DuckDBSuccess);
    duckdb_logical_type theirs = duckdb_column_logical_type(&result, 0);
    const LogicalType *type = weir_type_from_duckdb(&e->w.arena, theirs, &e->w.err);
    assert_non_null(type);
    duckdb_destroy_logical_type(&theirs);
    duckdb_destroy_result(&result);
    return type;
}

/* A batch of the rows of a query of one column; lives as long as the arena. */
static Batch batch_of(Eval *e, const char *sql, const Schema *schema)
{
    duckdb_result result = {0};
    if (duckdb_query(e->w.user, sql, &result) != DuckDBSuccess) {
        fail_msg("%s: %s", sql, duckdb_result_error(&result));
    }
    duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
    assert_non_null(chunk);
    Batch batch = {0};
    Arena *arena = &e->w.arena;
    ASSERT_OK(weir_chunk_read(chunk, 0, schema, arena, &batch, &e->w.err), &e->w.err);
    for (size_t c = 0; c < batch.column_count; c++) {
        Vector *column = &batch.columns[c];
        if (column->phys == PHYS_STRING) {
            ASSERT_OK(weir_vector_own_strings(column, batch.count, arena, &e->w.err), &e->w.err);
        }
        void *copy = weir_arena_alloc(arena, batch.count * 16, &e->w.err);
        memcpy(copy, column->data, batch.count * weir_phys_width(column->phys));
        column->data = copy;
        if (column->validity != NULL) {
            uint64_t *mask = weir_arena_alloc(arena, BATCH_CAPACITY / 8, &e->w.err);
            memcpy(mask, column->validity, (batch.count + 63) / 64 * 8);
            column->validity = mask;
        }
    }
    duckdb_destroy_data_chunk(&chunk);
    duckdb_destroy_result(&result);
    return batch;
}

static HostProgram *prepare(Eval *e, const char *sql, const Schema *input,
                            const LogicalType *output)
{
    HostProgram *program = NULL;
    const Schema out = {.count = 1, .types = &output};
    ASSERT_OK(e->expr.prepare(e->expr.context, &sql, 1, input, &out, &program, &e->w.err),
              &e->w.err);
    return program;
}

static Vector evaluate(Eval *e, HostProgram *program, const Batch *batch)
{
    Vector out = {0};
    ASSERT_OK(e->expr.evaluate(e->expr.context, program, batch, &e->w.arena, &out, &e->w.err),
              &e->w.err);
    return out;
}

/* Values made from i, of every kind of type. */
static const char *const VALUES[] = {
    "i % 3 = 0",
    "(i % 256)::UTINYINT",
    "i::HUGEINT * 1000000000000000000000",
    "i::UUID::VARCHAR",
    "(i * 1.5)::DOUBLE",
    "(i * 1.5)::DECIMAL(20, 3)",
    "'x' || i",
    "repeat('longer than twelve', 2) || i",
    "('x' || i)::BLOB",
    "i::INTEGER::BIT",
    "DATE '2020-01-01' + i::INTEGER",
    "TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_seconds(i)",
    "to_seconds(i)",
    "'12:00:00+02'::TIMETZ",
    "['a', 'b', 'c'][1 + i % 3]::ENUM('a', 'b', 'c')",
    "[i, NULL]",
    "[[i::VARCHAR], NULL, []]",
    "[i, NULL, 3]::BIGINT[3]",
    "{'a': i, 'b': [i], 'c': {'d': NULL::INTEGER}}",
    "row(i, 'x')",
    "[row(i, NULL::VARCHAR)]",
    "MAP {i: 'x' || i, -1: NULL}",
    "union_value(n := i::INTEGER)",
    "i::HUGEINT::VARCHAR::BIGNUM",
    "json_object('a', i)",
};

static void a_column_comes_back_as_it_is(void **state)
{
    Eval *e = *state;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(VALUES); i++) {
        char sql[512];
        if (strstr(VALUES[i], "UUID") != NULL) {
            (void)snprintf(sql, sizeof sql, "SELECT uuid() FROM range(2048)");
        } else {
            (void)snprintf(sql, sizeof sql,
                           "SELECT v FROM range(2048) q(n) LEFT JOIN (SELECT i, %s AS v FROM "
                           "range(2048) r(i)) ON i = n AND n %% 5 > 0 ORDER BY n",
                           VALUES[i]);
        }
        char of[600];
        (void)snprintf(of, sizeof of, "v FROM (%s) z(v)", sql);
        const LogicalType *type = type_of(e, of);
        const Schema schema = {.count = 1, .types = &type};
        const Batch batch = batch_of(e, sql, &schema);
        HostProgram *program = prepare(e, "c0", &schema, type);
        Vector out = evaluate(e, program, &batch);
        e->expr.release(e->expr.context, program);

        Bag given;
        Bag got;
        bag_init(&given, e->w.mem, &type, 1);
        bag_init(&got, e->w.mem, &type, 1);
        const Batch back = {.count = batch.count, .column_count = 1, .columns = &out};
        bag_add(&given, &batch);
        bag_add(&got, &back);
        for (size_t k = 0; k < given.count; k++) { /* in the same order */
            if (bag_row_compare(&given.rows[k], &got.rows[k]) != 0) {
                fail_msg("%s: row %d differs", VALUES[i], (int)k);
            }
        }
        bag_deinit(&given);
        bag_deinit(&got);
        weir_arena_reset(&e->w.arena);
    }
}

static void several_expressions_use_several_columns(void **state)
{
    Eval *e = *state;
    const LogicalType *types[] = {weir_type_simple(TYPE_BIGINT), weir_type_simple(TYPE_VARCHAR)};
    const Schema schema = {.count = 2, .types = types};
    const Batch batch = batch_of(e, "SELECT i, 'abc' || i FROM range(1000) r(i)", &schema);
    const char *const sql[] = {"regexp_replace(c1, 'b', 'X')", "c0 + 1", "NULL"};
    const LogicalType *outputs[] = {types[1], types[0], weir_type_simple(TYPE_SQLNULL)};
    const Schema output = {.count = 3, .types = outputs};
    HostProgram *program = NULL;
    ASSERT_OK(e->expr.prepare(e->expr.context, sql, 3, &schema, &output, &program, &e->w.err),
              &e->w.err);
    for (size_t round = 0; round < 3; round++) {
        Vector out[3];
        ASSERT_OK(e->expr.evaluate(e->expr.context, program, &batch, &e->w.arena, out, &e->w.err),
                  &e->w.err);
        const String *text = out[0].data;
        const int64_t *number = out[1].data;
        for (size_t i = 0; i < 1000; i++) {
            char expected[32];
            (void)snprintf(expected, sizeof expected, "aXc%d", (int)i);
            assert_int_equal(weir_string_size(&text[i]), strlen(expected));
            assert_memory_equal(weir_string_data(&text[i]), expected, strlen(expected));
            assert_int_equal(number[i], i + 1);
            assert_true(weir_vector_is_null(&out[2], i));
        }
    }
    e->expr.release(e->expr.context, program);
}

static void constants_are_evaluated_without_columns(void **state)
{
    Eval *e = *state;
    const Schema none = {0};
    const Batch one_row = {.count = 1};
    HostProgram *program = prepare(e, "md5('x')", &none, weir_type_simple(TYPE_VARCHAR));
    Vector out = evaluate(e, program, &one_row);
    const String *text = out.data;
    assert_memory_equal(weir_string_data(text), "9dd4e461268c8034f5c8564e155c67a6", 32);
    const Batch many = {.count = 2048};
    out = evaluate(e, program, &many);
    text = out.data;
    assert_memory_equal(weir_string_data(&text[2047]), "9dd4e461268c8034f5c8564e155c67a6", 32);
    e->expr.release(e->expr.context, program);
}

static void a_failing_row_is_reported_with_duckdbs_words(void **state)
{
    Eval *e = *state;
    const LogicalType *type = weir_type_simple(TYPE_VARCHAR);
    const Schema schema = {.count = 1, .types = &type};
    HostProgram *program =
        prepare(e, "CAST(c0 AS INTEGER)", &schema, weir_type_simple(TYPE_INTEGER));
    const Batch good = batch_of(e, "SELECT i::VARCHAR FROM range(10) r(i)", &schema);
    const Batch bad = batch_of(
        e, "SELECT CASE i WHEN 7 THEN 'x' ELSE i::VARCHAR END FROM range(10) r(i)", &schema);
    Vector out = evaluate(e, program, &good);
    assert_int_equal(e->expr.evaluate(e->expr.context, program, &bad, &e->w.arena, &out, &e->w.err),
                     WEIR_ERR_EVALUATION);
    assert_non_null(strstr(e->w.err.message, "Could not convert string 'x' to INT32"));
    out = evaluate(e, program, &good);
    assert_int_equal(((const int32_t *)out.data)[9], 9);
    e->expr.release(e->expr.context, program);
}

static void what_duckdb_does_not_take_is_refused_early(void **state)
{
    Eval *e = *state;
    const LogicalType *type = weir_type_simple(TYPE_INTEGER);
    const Schema schema = {.count = 1, .types = &type};
    HostProgram *program = NULL;
    const char *const texts[] = {"no_such_function(c0)", "c1", "c0 +", "c0::VARCHAR"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        assert_int_equal(
            e->expr.prepare(e->expr.context, &texts[i], 1, &schema, &schema, &program, &e->w.err),
            WEIR_ERR_FUNCTION);
    }
}

static void a_program_outlives_begin_and_end(void **state)
{
    Eval *e = *state;
    const LogicalType *type = weir_type_simple(TYPE_INTEGER);
    const Schema schema = {.count = 1, .types = &type};
    HostProgram *program = prepare(e, "c0 * 2", &schema, type);
    const Batch batch = batch_of(e, "SELECT i::INTEGER FROM range(10) r(i)", &schema);
    for (size_t i = 0; i < 3; i++) {
        world_end(&e->w);
        world_begin(&e->w);
        const Vector out = evaluate(e, program, &batch);
        assert_int_equal(((const int32_t *)out.data)[9], 18);
    }
    world_end(&e->w);
    e->expr.release(e->expr.context, program);
    world_begin(&e->w);
}

static void settings_are_those_of_the_view(void **state)
{
    Eval *e = *state;
    const ViewSettings settings = {.time_zone = "America/New_York", .search_path = "main"};
    ExprHost other = {0};
    ASSERT_OK(e->w.host.expr_open(e->w.host.context, &settings, &other, &e->w.err), &e->w.err);
    const LogicalType *input = weir_type_simple(TYPE_TIMESTAMP_TZ);
    const LogicalType *output = weir_type_simple(TYPE_VARCHAR);
    const Schema in = {.count = 1, .types = &input};
    const Schema out_schema = {.count = 1, .types = &output};
    const Batch batch = batch_of(e, "SELECT TIMESTAMPTZ '2020-07-01 12:00:00+00'", &in);
    const char *const sql = "c0::VARCHAR";
    HostProgram *program = NULL;
    Vector out = {0};
    ASSERT_OK(other.prepare(other.context, &sql, 1, &in, &out_schema, &program, &e->w.err),
              &e->w.err);
    ASSERT_OK(other.evaluate(other.context, program, &batch, &e->w.arena, &out, &e->w.err),
              &e->w.err);
    const String *text = out.data;
    assert_memory_equal(weir_string_data(text), "2020-07-01 08:00:00-04", 22);
    other.release(other.context, program);
    e->w.host.expr_close(e->w.host.context, &other);

    const ViewSettings wrong = {.time_zone = "Nowhere"};
    ASSERT_OK(e->w.host.expr_open(e->w.host.context, &wrong, &other, &e->w.err), &e->w.err);
    assert_int_equal(other.prepare(other.context, &sql, 1, &in, &out_schema, &program, &e->w.err),
                     WEIR_ERR_SETTING);
    e->w.host.expr_close(e->w.host.context, &other);
}

static void expect_failure(World *w, const char *sql, const char *message)
{
    duckdb_result result = {0};
    assert_int_equal(duckdb_query(w->user, sql, &result), DuckDBError);
    if (strstr(duckdb_result_error(&result), message) == NULL) {
        fail_msg("%s: %s", sql, duckdb_result_error(&result));
    }
    duckdb_destroy_result(&result);
}

static void a_forged_handle_is_an_error(void **state)
{
    Eval *e = *state;
    expect_failure(&e->w, "FROM dbsp_internal_batch(0::UBIGINT)", "there is no batch");
    expect_failure(&e->w, "FROM dbsp_internal_batch(1234567::UBIGINT)", "there is no batch");
    expect_failure(&e->w, "FROM dbsp_internal_batch(NULL::UBIGINT)", "");
    const LogicalType *type = weir_type_simple(TYPE_INTEGER);
    const Schema schema = {.count = 1, .types = &type};
    uint64_t handle = 0;
    BatchRegistry *batches = weir_connector_batches(e->w.connector);
    ASSERT_OK(weir_batch_slot_add(batches, &schema, &handle, &e->w.err), &e->w.err);
    char sql[128];
    (void)snprintf(sql, sizeof sql, "FROM dbsp_internal_batch(%llu::UBIGINT)",
                   (unsigned long long)handle);
    expect_failure(&e->w, sql, "the batch is gone");
    duckdb_prepared_statement bound = NULL;
    assert_int_equal(duckdb_prepare(e->w.user, sql, &bound), DuckDBSuccess);
    weir_batch_slot_remove(batches, handle);
    duckdb_result result = {0};
    assert_int_equal(duckdb_execute_prepared(bound, &result), DuckDBError);
    duckdb_destroy_result(&result);
    duckdb_destroy_prepare(&bound);
}

static void a_failing_allocation_leaves_nothing_behind(void **state)
{
    Eval *e = *state;
    Mem *mem = e->w.mem;
    const LogicalType *type = type_of(e, "['x']");
    const Schema schema = {.count = 1, .types = &type};
    const Batch batch = batch_of(e, "SELECT ['x' || i, NULL] FROM range(100) r(i)", &schema);
    const char *const sql = "list_reverse(c0)";
    size_t failures = 0;
    for (size_t nth = 1;; nth++) {
        HostProgram *program = NULL;
        Vector out = {0};
        Arena arena;
        weir_arena_init(&arena, mem, 1024);
        world_end(&e->w);
        world_begin(&e->w);
        const size_t used = weir_mem_used(mem);
        weir_mem_fail_after(mem, nth, false);
        Status status =
            e->expr.prepare(e->expr.context, &sql, 1, &schema, &schema, &program, &e->w.err);
        if (status == WEIR_OK) {
            status = e->expr.evaluate(e->expr.context, program, &batch, &arena, &out, &e->w.err);
            e->expr.release(e->expr.context, program);
        }
        weir_mem_fail_after(mem, 0, false);
        weir_arena_deinit(&arena);
        if (status == WEIR_OK) {
            break;
        }
        assert_int_equal(status, WEIR_ERR_NOMEM);
        assert_true(weir_mem_used(mem) <= used + (1 << 17)); /* the host's arena keeps its blocks */
        failures++;
    }
    assert_true(failures > 5);
}

#define EVAL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EVAL_TEST(a_column_comes_back_as_it_is),
        EVAL_TEST(several_expressions_use_several_columns),
        EVAL_TEST(constants_are_evaluated_without_columns),
        EVAL_TEST(a_failing_row_is_reported_with_duckdbs_words),
        EVAL_TEST(what_duckdb_does_not_take_is_refused_early),
        EVAL_TEST(a_program_outlives_begin_and_end),
        EVAL_TEST(settings_are_those_of_the_view),
        EVAL_TEST(a_forged_handle_is_an_error),
        EVAL_TEST(a_failing_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
