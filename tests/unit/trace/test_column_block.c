/* test_column_block.c: what is packed is read back, byte for byte, whatever the range of the values;
 * blocks give their memory back. */
#include "trace_test.h"

#include "trace/column_block.h"

static const TypeId types[] = {
    TYPE_TINYINT,  TYPE_SMALLINT,  TYPE_INTEGER,  TYPE_BIGINT,  TYPE_HUGEINT,
    TYPE_UTINYINT, TYPE_USMALLINT, TYPE_UINTEGER, TYPE_UBIGINT, TYPE_UHUGEINT,
    TYPE_FLOAT,    TYPE_DOUBLE,    TYPE_INTERVAL, TYPE_VARCHAR,
};

enum { COLUMNS = WEIR_ARRAY_COUNT(types), ROUNDS = 300 };

typedef struct BlockTest {
    World world;
    Arena arena;
    RowStore store;
    Schema schema;
    ColumnReader reader;
    Random random;
} BlockTest;

static void block_test_init(BlockTest *test)
{
    static const LogicalType *list[COLUMNS];
    *test = (BlockTest){.random = {.state = test_seed()}};
    world_init(&test->world);
    weir_arena_init(&test->arena, test->world.mem, 0);
    for (size_t c = 0; c < COLUMNS; c++) {
        list[c] = weir_type_simple(types[c]);
    }
    test->schema = (Schema){.count = COLUMNS, .types = list};
    Error *const err = &test->world.err;
    assert_int_equal(weir_row_store_init(&test->store, test->world.mem, test->world.pool, err),
                     WEIR_OK);
    assert_int_equal(
        weir_column_reader_init(&test->reader, &test->schema, &test->arena, &test->world.err),
        WEIR_OK);
}

static void block_test_deinit(BlockTest *test)
{
    weir_row_store_deinit(&test->store);
    weir_arena_deinit(&test->arena);
    world_deinit(&test->world);
}

/* Values within 2^bits of a random one, at times the extremes. */
static void fill_numbers(BlockTest *test, char *data, size_t width, size_t count)
{
    const uint64_t bits = random_below(&test->random, 65);
    const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    const uint64_t base = random_below(&test->random, 3) == 0 ? 0 : random_next(&test->random);
    for (size_t i = 0; i < count; i++) {
        uint64_t words[2] = {base + (random_next(&test->random) & mask),
                             random_next(&test->random)};
        if (bits > 8 && random_below(&test->random, 500) == 0) {
            words[0] = UINT64_C(1) << (8 * WEIR_MIN(width, (size_t)8) - 1);
            words[0] -= random_below(&test->random, 2);
        }
        memcpy(data + i * width, words, width);
    }
}

static void fill_strings(BlockTest *test, String *strings, size_t count)
{
    const uint64_t longest = random_below(&test->random, 4) == 0 ? 300 : 15;
    const bool is_empty = random_below(&test->random, 8) == 0;
    for (size_t i = 0; i < count; i++) {
        const size_t size = is_empty ? 0 : random_below(&test->random, longest);
        char *bytes = weir_arena_zalloc(&test->arena, size + 1, &test->world.err);
        assert_non_null(bytes);
        for (size_t k = 0; k < size; k++) {
            bytes[k] = (char)random_next(&test->random);
        }
        strings[i] = weir_string_make(bytes, size);
    }
}

static void fill_validity(BlockTest *test, Vector *column, size_t count)
{
    const uint64_t kind = random_below(&test->random, 4);
    if (kind == 0) {
        return;
    }
    assert_int_equal(weir_vector_add_validity(column, count, &test->arena, &test->world.err),
                     WEIR_OK);
    for (size_t i = 0; i < count && kind > 1; i++) {
        if (kind == 3 || random_below(&test->random, 3) == 0) {
            weir_validity_set_null(column->validity, i);
            char *const slot = (char *)column->data + i * weir_phys_width(column->phys);
            memset(slot, 0xA5, weir_phys_width(column->phys));
        }
    }
}

static Batch random_rows(BlockTest *test)
{
    Batch *batch = NULL;
    assert_int_equal(weir_batch_new(&test->arena, &test->schema, &batch, &test->world.err),
                     WEIR_OK);
    const size_t most = random_below(&test->random, 3) == 0 ? BATCH_CAPACITY : 70;
    batch->count = 1 + random_below(&test->random, most);
    for (size_t c = 0; c < COLUMNS; c++) {
        Vector *column = &batch->columns[c];
        if (column->phys == PHYS_STRING) {
            fill_strings(test, column->data, batch->count);
        } else {
            fill_numbers(test, column->data, weir_phys_width(column->phys), batch->count);
        }
        fill_validity(test, column, batch->count);
    }
    return *batch;
}

static void check_rows(const Batch *expected, const Batch *found)
{
    assert_int_equal(found->count, expected->count);
    assert_int_equal(found->column_count, expected->column_count);
    assert_null(found->weights);
    for (size_t c = 0; c < expected->column_count; c++) {
        const Vector *a = &expected->columns[c];
        const Vector *b = &found->columns[c];
        const size_t width = weir_phys_width(a->phys);
        for (size_t i = 0; i < expected->count; i++) {
            assert_int_equal(weir_vector_is_null(a, i), weir_vector_is_null(b, i));
            if (weir_vector_is_null(a, i)) {
                continue;
            }
            if (a->phys == PHYS_STRING) {
                assert_true(
                    weir_string_equal((const String *)a->data + i, (const String *)b->data + i));
            } else {
                assert_memory_equal((const char *)a->data + i * width,
                                    (const char *)b->data + i * width, width);
            }
        }
    }
}

static void what_is_packed_is_read_back(void **state)
{
    (void)state;
    BlockTest test;
    block_test_init(&test);
    for (size_t round = 0; round < ROUNDS; round++) {
        const ArenaMark mark = weir_arena_mark(&test.arena);
        const Batch rows = random_rows(&test);
        ColumnBlock block = {0};
        assert_int_equal(weir_column_block_pack(&test.store, &rows, &block, &test.world.err),
                         WEIR_OK);
        check_rows(&rows, weir_column_block_read(&test.reader, &test.store, &block));
        weir_column_block_free(&test.store, &block, COLUMNS);
        weir_arena_release(&test.arena, mark);
    }
    block_test_deinit(&test);
}

static void numbers_take_the_bytes_of_their_range(void **state)
{
    (void)state;
    BlockTest test;
    block_test_init(&test);
    static const struct {
        int64_t low;
        int64_t high;
        uint8_t width;
    } cases[] = {
        {7, 7, 0},
        {-100, 155, 1},
        {-100, 156, 2},
        {INT64_MIN, INT64_MIN, 0},
        {0, UINT16_MAX, 2},
        {0, 1 << 16, 4},
        {-5, UINT32_MAX - 5, 4},
        {-6, UINT32_MAX - 5, 8},
        {INT64_MIN, INT64_MAX, 8},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        int64_t values[BATCH_CAPACITY];
        for (size_t k = 0; k < BATCH_CAPACITY; k++) {
            values[k] = k % 2 == 0 ? cases[i].low : cases[i].high;
        }
        Vector column = vector_of(PHYS_I64, values);
        const Batch rows = {.count = BATCH_CAPACITY, .column_count = 1, .columns = &column};
        ColumnBlock block = {0};
        assert_int_equal(weir_column_block_pack(&test.store, &rows, &block, &test.world.err),
                         WEIR_OK);
        assert_int_equal(block.pieces[0].width, cases[i].width);
        assert_int_equal(block.pieces[0].size, BATCH_CAPACITY * cases[i].width);
        weir_column_block_free(&test.store, &block, 1);
    }
    block_test_deinit(&test);
}

static void blocks_do_not_grow_under_steady_churn(void **state)
{
    (void)state;
    enum { BLOCKS = 20 };
    BlockTest test;
    block_test_init(&test);
    ColumnBlock blocks[BLOCKS] = {0};
    const Batch rows = random_rows(&test);
    size_t bytes = 0;
    for (size_t round = 0; round < 50; round++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            weir_column_block_free(&test.store, &blocks[i], COLUMNS);
            assert_int_equal(
                weir_column_block_pack(&test.store, &rows, &blocks[i], &test.world.err), WEIR_OK);
        }
        bytes = round == 1 ? weir_row_store_bytes(&test.store) : bytes;
    }
    assert_int_equal(weir_row_store_bytes(&test.store), bytes);
    for (size_t i = 0; i < BLOCKS; i++) {
        weir_column_block_free(&test.store, &blocks[i], COLUMNS);
    }
    block_test_deinit(&test);
}

static void a_block_is_packed_or_nothing_happens(void **state)
{
    (void)state;
    BlockTest test;
    block_test_init(&test);
    const Batch rows = random_rows(&test);
    const size_t before = weir_mem_used(test.world.mem);
    Status status = WEIR_ERR_NOMEM;
    for (size_t nth = 1; status != WEIR_OK; nth++) {
        ColumnBlock block = {0};
        weir_mem_fail_after(test.world.mem, nth, true);
        status = weir_column_block_pack(&test.store, &rows, &block, &test.world.err);
        weir_mem_fail_after(test.world.mem, 0, false);
        if (status == WEIR_OK) {
            check_rows(&rows, weir_column_block_read(&test.reader, &test.store, &block));
        } else {
            assert_int_equal(status, WEIR_ERR_NOMEM);
            assert_null(block.pieces);
        }
        weir_column_block_free(&test.store, &block, COLUMNS);
        weir_row_store_clear(&test.store);
        weir_page_pool_trim(test.world.pool, 0);
    }
    assert_in_range(weir_mem_used(test.world.mem), before, before + (1 << 20));
    block_test_deinit(&test);
}

static void rows_without_columns_are_counted(void **state)
{
    (void)state;
    BlockTest test;
    block_test_init(&test);
    const Batch rows = {.count = 17};
    const Schema none = {0};
    ColumnBlock block = {0};
    assert_int_equal(weir_column_reader_init(&test.reader, &none, &test.arena, &test.world.err),
                     WEIR_OK);
    assert_int_equal(weir_column_block_pack(&test.store, &rows, &block, &test.world.err), WEIR_OK);
    assert_int_equal(weir_column_block_read(&test.reader, &test.store, &block)->count, 17);
    weir_column_block_free(&test.store, &block, 0);
    block_test_deinit(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_is_read_back),
        cmocka_unit_test(numbers_take_the_bytes_of_their_range),
        cmocka_unit_test(blocks_do_not_grow_under_steady_churn),
        cmocka_unit_test(a_block_is_packed_or_nothing_happens),
        cmocka_unit_test(rows_without_columns_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
