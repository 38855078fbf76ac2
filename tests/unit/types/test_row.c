/* test_row.c: rows come back as they went in, and equal rows have equal bytes: random schemas of all
 * layouts, with and without NULLs, constants, selections and long strings. */
#include "types_test.h"

#include "types/row.h"

enum { MAX_COLUMNS = 200, MAX_STATE_BYTES = 96 };

/* A random schema and count rows of it. */
typedef struct Table {
    PhysType phys[MAX_COLUMNS];
    Vector columns[MAX_COLUMNS];
    const Vector *pointers[MAX_COLUMNS];
    size_t key_count;
    size_t payload_count;
    size_t count; /* places in the columns */
    RowLayout layout;
} Table;

static const char LONG_TEXT[] =
    "The quick brown fox jumps over the lazy dog, again and again and again; and then once more.";

/* Few different values, so that equal rows occur. */
static void fill_value(Random *random, PhysType phys, void *value, size_t variety)
{
    const size_t pick = random_below(random, variety);
    if (phys == PHYS_STRING) {
        static const size_t lengths[] = {0, 1, 12, 13, 16, 17, 32, 33, 4, 5, 60, 24};
        const size_t length = lengths[pick % WEIR_ARRAY_COUNT(lengths)];
        const String text = weir_string_make(LONG_TEXT + pick / 12 % 8, length);
        memcpy(value, &text, sizeof text);
        return;
    }
    unsigned char bytes[16];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(pick * (i + 1) * 37);
    }
    memcpy(value, bytes, weir_phys_width(phys));
}

static void add_random_nulls(World *world, Random *random, Vector *v, size_t count)
{
    assert_int_equal(weir_vector_add_validity(v, count, &world->arena, &world->err), WEIR_OK);
    static const size_t rarities[] = {1, 2, 5, 300, 3000};
    const size_t one_in = rarities[random_below(random, WEIR_ARRAY_COUNT(rarities))];
    for (size_t i = 0; i < (v->is_constant ? 1 : count); i++) {
        if (random_below(random, one_in) == 0) {
            weir_validity_set_null(v->validity, i); /* garbage stays under it */
        }
    }
}

static void fill_table(World *world, Random *random, Table *table, size_t variety)
{
    const size_t total = table->key_count + table->payload_count;
    for (size_t c = 0; c < total; c++) {
        Vector *v = &table->columns[c];
        assert_int_equal(
            weir_vector_init(v, table->phys[c], VECTOR_CAPACITY, &world->arena, &world->err),
            WEIR_OK);
        v->is_constant = random_below(random, 8) == 0;
        char *bytes = v->data;
        for (size_t i = 0; i < (v->is_constant ? 1 : table->count); i++) {
            fill_value(random, v->phys, bytes + i * weir_phys_width(v->phys), variety);
        }
        if (random_below(random, 2) == 0) {
            add_random_nulls(world, random, v, table->count);
        }
        table->pointers[c] = v;
    }
}

static void make_table(World *world, Random *random, Table *table, size_t max_columns)
{
    table->key_count = random_below(random, max_columns / 2);
    table->payload_count = random_below(random, max_columns / 2);
    table->count = random_below(random, 5) == 0 ? random_below(random, 4)
                                                : random_below(random, VECTOR_CAPACITY) + 1;
    const bool has_strings = random_below(random, 3) > 0;
    const size_t total = table->key_count + table->payload_count;
    for (size_t c = 0; c < total; c++) {
        table->phys[c] = (PhysType)random_below(random, has_strings ? PHYS_COUNT : PHYS_STRING);
    }
    static const size_t states[] = {0, 0, 1, 8, 24, MAX_STATE_BYTES};
    const RowLayoutSpec spec = {
        .key = table->phys,
        .key_count = table->key_count,
        .payload = table->phys + table->key_count,
        .payload_count = table->payload_count,
        .state_bytes = states[random_below(random, WEIR_ARRAY_COUNT(states))],
    };
    assert_int_equal(weir_row_layout_init(&table->layout, world->mem, &spec, &world->err), WEIR_OK);
}

/* No two parts overlap, everything is aligned and inside its section. */
static void check_layout(const RowLayout *layout)
{
    unsigned char used[64 * 1024] = {0};
    assert_true(layout->fixed_bytes <= sizeof used);
    assert_int_equal(layout->fixed_bytes % 8, 0);
    assert_int_equal(layout->key.begin, ROW_HEADER_BYTES);
    assert_int_equal(layout->payload.begin, layout->key.end);
    assert_true(layout->state_offset >= layout->payload.end);
    assert_true(layout->state_bytes == 0 || layout->state_offset % 16 == 0);
    assert_true(layout->fixed_bytes >= layout->state_offset + layout->state_bytes);
    for (size_t c = 0; c < layout->column_count; c++) {
        const RowSection *section = c < layout->key.count ? &layout->key : &layout->payload;
        const size_t width = weir_phys_width(layout->columns[c].phys);
        const uint32_t offset = layout->columns[c].offset;
        assert_true(offset >= section->begin && offset + width <= section->end);
        assert_int_equal(offset % WEIR_MIN(width, (size_t)8), 0);
        for (size_t i = 0; i < width; i++) {
            assert_int_equal(used[offset + i]++, 0);
        }
    }
    const RowSection *const sections[2] = {&layout->key, &layout->payload};
    for (size_t s = 0; s < 2; s++) {
        assert_int_equal(sections[s]->end % 8, 0);
        assert_true(sections[s]->null_bytes >= (sections[s]->count + 7) / 8);
        for (uint32_t i = 0; i < sections[s]->null_bytes; i++) {
            assert_int_equal(used[sections[s]->null_offset + i]++, 0);
        }
    }
}

/* Rows in memory filled with `junk` first, so that forgotten bytes show. */
static Row **pack_rows(World *world, const Table *table, const uint16_t *selection, size_t count,
                       int junk)
{
    uint32_t place_sizes[VECTOR_CAPACITY];
    weir_row_sizes(&table->layout, table->pointers, table->count, place_sizes);
    uint32_t sizes[VECTOR_CAPACITY];
    uint32_t hashes[VECTOR_CAPACITY];
    Row **rows = weir_arena_alloc(&world->arena, count * sizeof(Row *), &world->err);
    assert_non_null(rows);
    for (size_t i = 0; i < count; i++) {
        sizes[i] = place_sizes[selection == NULL ? i : selection[i]];
        hashes[i] = (uint32_t)i * 77;
        char *place = weir_arena_alloc(&world->arena, sizes[i], &world->err);
        assert_non_null(place);
        memset(place, junk, sizes[i]);
        rows[i] = (Row *)(void *)place;
    }
    weir_row_pack(&table->layout, table->pointers, selection, count, hashes,
                  table->layout.has_strings ? sizes : NULL, rows);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(weir_row_size(&table->layout, rows[i]), sizes[i]);
        assert_int_equal(weir_row_weight(rows[i]), 0);
        assert_int_equal(weir_row_hash(rows[i]), hashes[i]);
        assert_int_equal(weir_row_link(rows[i]), 0);
        const unsigned char *memory = weir_row_state(&table->layout, rows[i]);
        for (size_t b = 0; b < table->layout.state_bytes; b++) {
            assert_int_equal(memory[b], 0);
        }
    }
    return rows;
}

/* SQL equality of one value in two places of a column, NULL = NULL. */
static bool same_value(const Vector *v, size_t i, size_t j)
{
    if (weir_vector_is_null(v, i) || weir_vector_is_null(v, j)) {
        return weir_vector_is_null(v, i) == weir_vector_is_null(v, j);
    }
    const size_t width = weir_phys_width(v->phys);
    const char *a = (const char *)v->data + weir_vector_place(v, i) * width;
    const char *b = (const char *)v->data + weir_vector_place(v, j) * width;
    if (v->phys == PHYS_STRING) {
        String x;
        String y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return weir_string_equal(&x, &y);
    }
    return memcmp(a, b, width) == 0;
}

static bool same_values(const Table *table, size_t i, size_t j, size_t column_count)
{
    for (size_t c = 0; c < column_count; c++) {
        if (!same_value(&table->columns[c], i, j)) {
            return false;
        }
    }
    return true;
}

/* Column c of the table, against what was unpacked. */
static void check_column(const Table *table, size_t c, const uint16_t *selection, size_t count,
                         const Vector *out)
{
    const Vector *from = &table->columns[c];
    const size_t width = weir_phys_width(from->phys);
    bool has_nulls = false;
    assert_int_equal(out->phys, from->phys);
    assert_false(out->is_constant);
    for (size_t i = 0; i < count; i++) {
        const size_t place = weir_vector_place(from, selection == NULL ? i : selection[i]);
        const bool is_null = weir_vector_is_null(from, place);
        has_nulls = has_nulls || is_null;
        assert_int_equal(weir_vector_is_null(out, i), is_null);
        const char *got = (const char *)out->data + i * width;
        const char *wanted = (const char *)from->data + place * width;
        if (is_null) {
            static const char zeros[16] = {0};
            assert_memory_equal(got, zeros, width);
        } else if (from->phys == PHYS_STRING) {
            assert_true(weir_string_equal((const String *)(const void *)got,
                                          (const String *)(const void *)wanted));
        } else {
            assert_memory_equal(got, wanted, width);
        }
    }
    assert_int_equal(out->validity != NULL, has_nulls);
}

/* All columns one by one, then a random run of columns at once. */
static void check_unpacked(World *world, Random *random, const Table *table,
                           const uint16_t *selection, size_t count, Row *const *rows)
{
    static uint64_t masks[MAX_COLUMNS][VECTOR_VALIDITY_WORDS];
    static Vector out[MAX_COLUMNS];
    const size_t total = table->layout.column_count;
    for (size_t c = 0; c < total; c++) {
        assert_int_equal(
            weir_vector_init(&out[c], table->phys[c], VECTOR_CAPACITY, &world->arena, &world->err),
            WEIR_OK);
        weir_row_unpack(&table->layout, rows, count, c, &out[c], masks[c]);
        check_column(table, c, selection, count, &out[c]);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(weir_row_is_null(&table->layout, rows[i], c),
                             weir_vector_is_null(&out[c], i));
        }
    }
    const size_t first = random_below(random, total + 1);
    const size_t column_count = random_below(random, total - first + 1);
    weir_row_unpack_columns(&table->layout, rows, count, first, column_count, &out[first],
                            masks[first]);
    for (size_t c = first; c < first + column_count; c++) {
        check_column(table, c, selection, count, &out[c]);
    }
}

static void rows_come_back_as_they_went_in(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    for (size_t round = 0; round < 150; round++) {
        World world;
        world_init(&world);
        static Table table;
        make_table(&world, &random, &table, round % 10 == 0 ? MAX_COLUMNS : 16);
        fill_table(&world, &random, &table, 40);
        check_layout(&table.layout);
        uint16_t selection[VECTOR_CAPACITY];
        const bool is_selected = table.count > 0 && random_below(&random, 2) == 0;
        size_t count = table.count;
        if (is_selected) {
            count = random_below(&random, VECTOR_CAPACITY + 1);
            for (size_t i = 0; i < count; i++) {
                selection[i] = (uint16_t)random_below(&random, table.count);
            }
        }
        Row **rows = pack_rows(&world, &table, is_selected ? selection : NULL, count, 0xA5);
        check_unpacked(&world, &random, &table, is_selected ? selection : NULL, count, rows);
        weir_row_layout_deinit(&table.layout, world.mem);
        world_deinit(&world);
    }
}

static void equal_rows_are_equal_bytes_and_others_are_not(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    size_t equal_pairs = 0;
    for (size_t round = 0; round < 100; round++) {
        World world;
        world_init(&world);
        static Table table;
        make_table(&world, &random, &table, 8);
        table.count = 200;
        fill_table(&world, &random, &table, 3 + 10 * (round % 2));
        const RowLayout *layout = &table.layout;
        Row **a = pack_rows(&world, &table, NULL, table.count, 0xA5);
        Row **b = pack_rows(&world, &table, NULL, table.count, 0x5A);
        const size_t total = table.key_count + table.payload_count;
        for (size_t n = 0; n < 2000; n++) {
            const size_t i = random_below(&random, table.count);
            const size_t j = random_below(&random, table.count);
            const bool keys_equal = same_values(&table, i, j, table.key_count);
            const bool rows_equal = same_values(&table, i, j, total);
            equal_pairs += rows_equal && i != j ? 1 : 0;
            assert_int_equal(weir_row_key_equal(layout, a[i], b[j]), keys_equal);
            assert_int_equal(weir_row_equal(layout, a[i], b[j]), rows_equal);
            const size_t size = weir_row_size(layout, a[i]);
            const bool bytes_equal =
                size == weir_row_size(layout, b[j]) &&
                memcmp((const char *)a[i] + 16, (const char *)b[j] + 16, size - 16) == 0;
            assert_int_equal(bytes_equal, rows_equal);
        }
        weir_row_layout_deinit(&table.layout, world.mem);
        world_deinit(&world);
    }
    assert_true(equal_pairs > 1000);
}

static void rows_may_be_moved_as_bytes(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    static const PhysType phys[2] = {PHYS_STRING, PHYS_STRING};
    const RowLayoutSpec spec = {.key = phys, .key_count = 1, .payload = phys, .payload_count = 1};
    RowLayout layout;
    assert_int_equal(weir_row_layout_init(&layout, world.mem, &spec, &world.err), WEIR_OK);
    String key = string_of("a key with many letters");
    String text = string_of("and a text with many letters");
    const Vector columns[2] = {{.phys = PHYS_STRING, .data = &key},
                               {.phys = PHYS_STRING, .data = &text}};
    const Vector *const pointers[2] = {&columns[0], &columns[1]};
    uint32_t size = 0;
    weir_row_sizes(&layout, pointers, 1, &size);
    uint64_t first[32] = {0};
    uint64_t second[32] = {0};
    assert_true(size <= sizeof first);
    Row *row = (Row *)(void *)first;
    weir_row_pack(&layout, pointers, NULL, 1, NULL, &size, &row);
    memcpy(second, first, size);
    memset(first, 0, sizeof first);
    row = (Row *)(void *)second;
    String got;
    uint64_t mask[1];
    Vector out = {.phys = PHYS_STRING, .data = &got};
    weir_row_unpack(&layout, &row, 1, 0, &out, mask);
    assert_true(weir_string_equal(&got, &key));
    weir_row_unpack(&layout, &row, 1, 1, &out, mask);
    assert_true(weir_string_equal(&got, &text));
    weir_row_set_weight(row, -5);
    weir_row_set_hash(row, 6);
    weir_row_set_link(row, 7);
    assert_int_equal(weir_row_weight(row), -5);
    assert_int_equal(weir_row_hash(row), 6);
    assert_int_equal(weir_row_link(row), 7);
    weir_row_layout_deinit(&layout, world.mem);
    world_deinit(&world);
}

static void a_row_too_long_to_exist_has_the_largest_size(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    static const PhysType phys[2] = {PHYS_STRING, PHYS_STRING};
    const RowLayoutSpec spec = {.payload = phys, .payload_count = 2};
    RowLayout layout;
    assert_int_equal(weir_row_layout_init(&layout, world.mem, &spec, &world.err), WEIR_OK);
    String huge = {.remote = {.length = UINT32_C(3) << 30, .pointer = LONG_TEXT}};
    const Vector column = {.phys = PHYS_STRING, .is_constant = true, .data = &huge};
    const Vector *const pointers[2] = {&column, &column};
    uint32_t size = 0;
    weir_row_sizes(&layout, pointers, 1, &size);
    assert_int_equal(size, UINT32_MAX);
    weir_row_layout_deinit(&layout, world.mem);
    world_deinit(&world);
}

static void layouts_have_limits_and_report_failing_allocations(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    static PhysType phys[ROW_MAX_COLUMNS + 1];
    RowLayoutSpec spec = {.key = phys, .key_count = ROW_MAX_COLUMNS + 1};
    RowLayout layout = {0};
    assert_int_equal(weir_row_layout_init(&layout, world.mem, &spec, &world.err), WEIR_ERR_LIMIT);
    spec.key_count = 1;
    spec.state_bytes = SIZE_MAX;
    assert_int_equal(weir_row_layout_init(&layout, world.mem, &spec, &world.err), WEIR_ERR_LIMIT);
    spec.state_bytes = 8;
    for (size_t nth = 1; nth <= 2; nth++) {
        weir_mem_fail_after(world.mem, nth, false);
        assert_int_equal(weir_row_layout_init(&layout, world.mem, &spec, &world.err),
                         WEIR_ERR_NOMEM);
        assert_int_equal(weir_mem_used(world.mem), 0);
    }
    assert_int_equal(weir_row_layout_init(&layout, world.mem, &spec, &world.err), WEIR_OK);
    weir_row_layout_deinit(&layout, world.mem);
    weir_row_layout_deinit(&layout, world.mem);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_as_they_went_in),
        cmocka_unit_test(equal_rows_are_equal_bytes_and_others_are_not),
        cmocka_unit_test(rows_may_be_moved_as_bytes),
        cmocka_unit_test(a_row_too_long_to_exist_has_the_largest_size),
        cmocka_unit_test(layouts_have_limits_and_report_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
