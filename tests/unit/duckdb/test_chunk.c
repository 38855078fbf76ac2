/* test_chunk.c: every type goes from DuckDB into a batch and back without a change. */
#include "duck.h"

#include "base/buf.h"
#include "duckdb/chunk.h"
#include "duckdb/type_map.h"
#include "types/nested.h"

typedef struct Fixture {
    duckdb_database database;
    duckdb_connection connection;
    Mem *mem;
    Arena arena;
    Error err;
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->mem = weir_mem_new(0);
    weir_arena_init(&f->arena, f->mem, 0);
    assert_int_equal(duckdb_open(NULL, &f->database), DuckDBSuccess);
    assert_int_equal(duckdb_connect(f->database, &f->connection), DuckDBSuccess);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    duckdb_disconnect(&f->connection);
    duckdb_close(&f->database);
    weir_arena_deinit(&f->arena);
    weir_mem_free_allocator(f->mem);
    free(f);
    return 0;
}

/* A type, and a value made from i; NULLs are mixed in. */
typedef struct TypeCase {
    const char *type;
    const char *value;
} TypeCase;

static const TypeCase CASES[] = {
    {"BOOLEAN", "i % 3 = 0"},
    {"TINYINT", "(i % 256) - 128"},
    {"SMALLINT", "i - 2000"},
    {"INTEGER", "i * 800003 - 2000000000"},
    {"BIGINT", "i * 1000000000000 - 9000000000000"},
    {"HUGEINT", "i::HUGEINT * 1000000000000000000000 - 7"},
    {"UTINYINT", "i % 256"},
    {"USMALLINT", "i * 3"},
    {"UINTEGER", "4294967295 - i"},
    {"UBIGINT", "18446744073709551615 - i"},
    {"UHUGEINT", "340282366920938463463374607431768211455::UHUGEINT - i::UHUGEINT"},
    {"FLOAT",
     "CASE i % 5 WHEN 0 THEN '-0.0' WHEN 1 THEN 'nan' WHEN 2 THEN '-inf' ELSE i || '.25' END"},
    {"DOUBLE",
     "CASE i % 5 WHEN 0 THEN '-0.0' WHEN 1 THEN 'nan' WHEN 2 THEN 'inf' ELSE i || '.125' END"},
    {"DECIMAL(4,1)", "i / 10"},
    {"DECIMAL(9,2)", "i * 1.01"},
    {"DECIMAL(18,3)", "i * 1000000.001"},
    {"DECIMAL(38,5)", "i * 1000000000000000000.001"},
    {"VARCHAR", "repeat(chr(97 + (i % 26)::INTEGER), (i % 30)::INTEGER)"},
    {"JSON", "'{\"a\": ' || i || '}'"},
    {"BLOB", "repeat(chr((i % 90)::INTEGER), (i % 30)::INTEGER)"},
    {"BIT", "(i::BIGINT::BIT::VARCHAR)[1 : 1 + (i % 50)]"},
    {"DATE", "DATE '1992-01-01' + i::INTEGER"},
    {"TIME", "TIME '00:00:01' + to_seconds(i)"},
    {"TIME_NS", "('00:00:01.' || (100000000 + i))"},
    {"TIMETZ", "('12:00:00+' || lpad((i % 15)::VARCHAR, 2, '0'))"},
    {"TIMESTAMP", "TIMESTAMP '1992-01-01' + to_seconds(i)"},
    {"TIMESTAMP_S", "TIMESTAMP '1992-01-01' + to_seconds(i)"},
    {"TIMESTAMP_MS", "TIMESTAMP '1992-01-01' + to_milliseconds(i)"},
    {"TIMESTAMP_NS", "TIMESTAMP '1992-01-01' + to_seconds(i)"},
    {"TIMESTAMPTZ", "(TIMESTAMP '1992-01-01' + to_seconds(i))"},
    {"INTERVAL",
     "CASE WHEN i % 2 = 0 THEN INTERVAL 30 DAY ELSE INTERVAL 1 MONTH END * (i % 7)::INTEGER"},
    {"UUID", "('00000000-0000-0000-0000-' || lpad(i::VARCHAR, 12, '0'))"},
    {"UUID", "('f0000000-0000-0000-8000-' || lpad(i::VARCHAR, 12, '0'))"},
    {"mood", "['sad', 'ok', 'happy'][1 + i % 3]"},
    {"wide_enum", "'value ' || (i % 700)"},
    {"BIGNUM", "((i - 1000)::HUGEINT * 1000000000000000000000)::VARCHAR"},
    {"INTEGER[]", "CASE WHEN i % 5 = 0 THEN [] ELSE [i, NULL, i + 1] END"},
    {"VARCHAR[]", "[repeat('x', (i % 40)::INTEGER), '', NULL]"},
    {"INTEGER[][]", "[[i], [], NULL, [i, NULL]]"},
    {"BOOLEAN[]", "[i % 2 = 0]"},
    {"INTEGER[3]", "[i, NULL, i * 2]"},
    {"VARCHAR[2]", "['a long enough string ' || i, NULL]"},
    {"INTEGER[2][2]", "[[i, NULL], NULL]"},
    {"STRUCT(a INTEGER, b VARCHAR)",
     "{'a': i, 'b': CASE WHEN i % 2 = 0 THEN 'longer than twelve ' || i END}"},
    {"STRUCT(a STRUCT(b INTEGER[], c DOUBLE), d DATE)",
     "{'a': CASE WHEN i % 3 > 0 THEN {'b': [i, NULL], 'c': -0.0::DOUBLE} END, 'd': DATE "
     "'2000-01-01'}"},
    {"STRUCT(a INTEGER)[]", "[{'a': i}, NULL, {'a': NULL}]"},
    {"MAP(VARCHAR, INTEGER)", "MAP {'key number ' || i: i, 'b': NULL}"},
    {"MAP(INTEGER, VARCHAR[])", "MAP {i: ['x', NULL], i + 1: NULL}"},
    {"UNION(n INTEGER, s VARCHAR, l INTEGER[])",
     "CASE i % 4 WHEN 0 THEN union_value(n := i::INTEGER)::UNION(n INTEGER, s VARCHAR, l "
     "INTEGER[]) "
     "WHEN 1 THEN union_value(s := 'a string of length ' || i)::UNION(n INTEGER, s VARCHAR, l "
     "INTEGER[]) "
     "WHEN 2 THEN union_value(l := [i::INTEGER, NULL])::UNION(n INTEGER, s VARCHAR, l INTEGER[]) "
     "ELSE union_value(s := NULL)::UNION(n INTEGER, s VARCHAR, l INTEGER[]) END"},
    {"UNION(n INTEGER, s VARCHAR)[]",
     "[union_value(n := i::INTEGER)::UNION(n INTEGER, s VARCHAR), NULL]"},
    {"DECIMAL(18,3)[]", "[i * 0.001, NULL]"},
    {"mood[]", "[['sad', 'ok', 'happy'][1 + i % 3]::mood, NULL]"},
    {"INTERVAL[]", "[INTERVAL 30 DAY, INTERVAL 1 MONTH, NULL]"},
    {"UUID[]", "[('f0000000-0000-0000-8000-' || lpad(i::VARCHAR, 12, '0'))::UUID]"},
};

static Schema read_schema(Fixture *f, duckdb_result *result)
{
    const size_t count = duckdb_column_count(result);
    const LogicalType **types =
        weir_arena_calloc(&f->arena, count, sizeof(const LogicalType *), &f->err);
    assert_non_null(types);
    for (size_t c = 0; c < count; c++) {
        duckdb_logical_type type = duckdb_column_logical_type(result, c);
        types[c] = weir_type_from_duckdb(&f->arena, type, &f->err);
        duckdb_destroy_logical_type(&type);
        ASSERT_OK(types[c] == NULL ? f->err.code : WEIR_OK, &f->err);
    }
    return (Schema){.count = count, .types = types};
}

/* Sends every row of s through a batch and a new chunk into d. */
static void copy_rows(Fixture *f, ChunkStrings strings)
{
    duckdb_result result = {0};
    assert_int_equal(duckdb_query(f->connection, "FROM s", &result), DuckDBSuccess);
    const Schema schema = read_schema(f, &result);
    duckdb_logical_type type = NULL;
    ASSERT_OK(weir_type_to_duckdb(schema.types[0], &type, &f->err), &f->err);
    duckdb_data_chunk copy = duckdb_create_data_chunk(&type, 1);
    assert_non_null(copy);
    duckdb_appender appender = NULL;
    assert_int_equal(duckdb_appender_create(f->connection, NULL, "d", &appender), DuckDBSuccess);
    for (;;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
        if (chunk == NULL) {
            break;
        }
        Batch batch = {0};
        ASSERT_OK(weir_chunk_read(chunk, 0, &schema, &f->arena, &batch, &f->err), &f->err);
        duckdb_data_chunk_reset(copy);
        ASSERT_OK(weir_chunk_write(&batch, &schema, strings, &f->arena, copy, &f->err), &f->err);
        if (duckdb_append_data_chunk(appender, copy) != DuckDBSuccess) {
            fail_msg("append: %s", duckdb_appender_error(appender));
        }
        duckdb_destroy_data_chunk(&chunk);
    }
    assert_int_equal(duckdb_appender_close(appender), DuckDBSuccess);
    duckdb_appender_destroy(&appender);
    duckdb_destroy_data_chunk(&copy);
    duckdb_destroy_logical_type(&type);
    duckdb_destroy_result(&result);
}

static void check_case(Fixture *f, const TypeCase *type_case, ChunkStrings strings)
{
    duck_run(f->connection, "DROP TABLE IF EXISTS s; DROP TABLE IF EXISTS d");
    duck_runf(f->connection, "CREATE TABLE s(c %s); CREATE TABLE d(c %s)", type_case->type,
              type_case->type);
    duck_runf(f->connection,
              "INSERT INTO s SELECT v FROM range(5000) r(n) LEFT JOIN (SELECT i, (%s)::%s AS v "
              "FROM range(5000) q(i) WHERE hash(i) %% 4 > 0) ON i = n ORDER BY n",
              type_case->value, type_case->type);
    copy_rows(f, strings);
    const int64_t differences = duck_count(
        f->connection, "SELECT count(*) FROM (SELECT rowid AS r, c, c::VARCHAR AS t FROM s) a "
                       "FULL JOIN (SELECT rowid AS r, c, c::VARCHAR AS t FROM d) b USING (r) "
                       "WHERE a.c IS DISTINCT FROM b.c OR a.t IS DISTINCT FROM b.t");
    if (differences != 0) {
        fail_msg("%s: %d rows differ", type_case->type, (int)differences);
    }
    assert_int_equal(duck_count(f->connection, "SELECT count(*) FROM d"), 5000);
    weir_arena_reset(&f->arena);
}

static void make_types(Fixture *f)
{
    duck_run(f->connection, "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')");
    duck_run(f->connection,
             "CREATE TYPE wide_enum AS ENUM (SELECT 'value ' || i FROM range(700) t(i))");
}

static void every_type_survives_the_way_through_a_batch(void **state)
{
    Fixture *f = *state;
    make_types(f);
    const bool is_old = strncmp(duckdb_library_version(), "v1.4", 4) == 0;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(CASES); i++) {
        if (is_old && strcmp(CASES[i].type, "TIME_NS") == 0) {
            continue; /* 1.4 does not tell C that a column has this type */
        }
        check_case(f, &CASES[i], CHUNK_COPIES);
        check_case(f, &CASES[i], CHUNK_BORROWS);
    }
}

/* What a nested value's bytes must be is known exactly for small ones. */
static void nested_values_have_canonical_bytes(void **state)
{
    Fixture *f = *state;
    duckdb_result result = {0};
    assert_int_equal(duckdb_query(f->connection,
                                  "SELECT [1::TINYINT, NULL], {'a': 'xy', 'b': NULL::INTEGER}, "
                                  "union_value(n := 7::TINYINT)",
                                  &result),
                     DuckDBSuccess);
    const Schema schema = read_schema(f, &result);
    duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
    Batch batch = {0};
    ASSERT_OK(weir_chunk_read(chunk, 0, &schema, &f->arena, &batch, &f->err), &f->err);
    static const char LIST[] = {2, 0, 0, 0, 1, 1, 0};
    static const char STRUCT[] = {1, 2, 0, 0, 0, 'x', 'y', 0};
    static const char UNION[] = {0, 1, 7};
    const struct {
        const char *bytes;
        size_t size;
    } expected[] = {{LIST, sizeof LIST}, {STRUCT, sizeof STRUCT}, {UNION, sizeof UNION}};
    for (size_t c = 0; c < 3; c++) {
        const String *s = batch.columns[c].data;
        assert_int_equal(weir_string_size(s), expected[c].size);
        assert_memory_equal(weir_string_data(s), expected[c].bytes, expected[c].size);
    }
    duckdb_destroy_data_chunk(&chunk);
    duckdb_destroy_result(&result);
}

static void a_constant_vector_fills_all_rows(void **state)
{
    Fixture *f = *state;
    int32_t value = 42;
    Vector column = {.phys = PHYS_I32, .is_constant = true, .data = &value};
    const LogicalType *type = weir_type_simple(TYPE_INTEGER);
    const Schema schema = {.count = 1, .types = &type};
    const Batch batch = {.count = 1000, .column_count = 1, .columns = &column};
    duckdb_logical_type theirs = NULL;
    ASSERT_OK(weir_type_to_duckdb(type, &theirs, &f->err), &f->err);
    duckdb_data_chunk chunk = duckdb_create_data_chunk(&theirs, 1);
    ASSERT_OK(weir_chunk_write(&batch, &schema, CHUNK_COPIES, &f->arena, chunk, &f->err), &f->err);
    assert_int_equal(duckdb_data_chunk_get_size(chunk), 1000);
    const int32_t *data = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 0));
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(data[i], 42);
    }
    duckdb_destroy_data_chunk(&chunk);
    duckdb_destroy_logical_type(&theirs);
}

static void types_that_weir_lacks_are_refused(void **state)
{
    Fixture *f = *state;
    static const char *const SELECTS[] = {"SELECT NULL::VARIANT", "SELECT [NULL::VARIANT]",
                                          "SELECT NULL::GEOMETRY"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(SELECTS); i++) {
        duckdb_result result = {0};
        if (duckdb_query(f->connection, SELECTS[i], &result) == DuckDBSuccess) {
            duckdb_logical_type type = duckdb_column_logical_type(&result, 0);
            assert_null(weir_type_from_duckdb(&f->arena, type, &f->err));
            assert_int_equal(f->err.code, WEIR_ERR_TYPE);
            duckdb_destroy_logical_type(&type);
        }
        duckdb_destroy_result(&result);
    }
}

static void a_failing_allocation_is_reported(void **state)
{
    Fixture *f = *state;
    duckdb_result result = {0};
    assert_int_equal(duckdb_query(f->connection,
                                  "SELECT [i, NULL], {'a': [i::VARCHAR], 'b': MAP {'x': i}} "
                                  "FROM range(2000) t(i)",
                                  &result),
                     DuckDBSuccess);
    const Schema schema = read_schema(f, &result);
    duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
    duckdb_logical_type types[2];
    for (size_t c = 0; c < 2; c++) {
        ASSERT_OK(weir_type_to_duckdb(schema.types[c], &types[c], &f->err), &f->err);
    }
    duckdb_data_chunk copy = duckdb_create_data_chunk(types, 2);
    size_t failures = 0;
    for (size_t nth = 1;; nth++) {
        Arena arena;
        weir_arena_init(&arena, f->mem, 4096);
        weir_mem_fail_after(f->mem, nth, false);
        Batch batch = {0};
        Status status = weir_chunk_read(chunk, 0, &schema, &arena, &batch, &f->err);
        if (status == WEIR_OK) {
            duckdb_data_chunk_reset(copy);
            status = weir_chunk_write(&batch, &schema, CHUNK_COPIES, &arena, copy, &f->err);
        }
        weir_mem_fail_after(f->mem, 0, false);
        weir_arena_deinit(&arena);
        if (status == WEIR_OK) {
            break;
        }
        assert_int_equal(status, WEIR_ERR_NOMEM);
        failures++;
    }
    assert_true(failures > 5);
    duckdb_destroy_data_chunk(&copy);
    duckdb_destroy_logical_type(&types[0]);
    duckdb_destroy_logical_type(&types[1]);
    duckdb_destroy_data_chunk(&chunk);
    duckdb_destroy_result(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_type_survives_the_way_through_a_batch, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nested_values_have_canonical_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_constant_vector_fills_all_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(types_that_weir_lacks_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failing_allocation_is_reported, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
