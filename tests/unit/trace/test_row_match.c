/* test_row_match.c: comparing columns with packed rows = packing them and comparing rows. */
#include "trace_test.h"

#include "trace/row_match.h"

enum { ROWS = 64, COLUMNS = 20 };

typedef struct Fixture {
    World world;
    RowLayout layout;
    PhysType types[COLUMNS];
    size_t key_count;
    size_t column_count;
    _Alignas(16) char data[COLUMNS][ROWS * 16];
    uint64_t validity[COLUMNS][1];
    char texts[ROWS][64];
    Vector vectors[COLUMNS];
    const Vector *columns[COLUMNS];
    Row *rows[ROWS];
} Fixture;

static void fill_value(Fixture *f, Random *random, size_t column, size_t i)
{
    char *value = f->data[column] + i * weir_phys_width(f->types[column]);
    if (f->types[column] == PHYS_STRING) {
        memset(f->texts[i], 'a', sizeof f->texts[i]);
        const size_t size = random_below(random, 2) == 0 ? 3 : 30 + random_below(random, 2);
        f->texts[i][size - 1] = (char)('a' + random_below(random, 2));
        const String string = weir_string_make(f->texts[i], size);
        memcpy(value, &string, sizeof string);
        return;
    }
    const uint64_t words[2] = {random_below(random, 2) << 7, random_below(random, 2) << 40};
    memcpy(value, words, weir_phys_width(f->types[column]));
}

/* A random layout, random columns of few different values, and their packed rows. */
static void fixture_fill(Fixture *f, Random *random)
{
    f->key_count = random_below(random, 12);
    f->column_count = f->key_count + random_below(random, COLUMNS - f->key_count);
    uint32_t sizes[ROWS];
    for (size_t c = 0; c < f->column_count; c++) {
        f->types[c] = (PhysType)random_below(random, PHYS_COUNT);
        const bool is_constant = random_below(random, 5) == 0;
        const bool is_nullable = random_below(random, 2) == 0;
        f->vectors[c] = vector_of(f->types[c], f->data[c]);
        f->vectors[c].is_constant = is_constant;
        f->vectors[c].validity = is_nullable ? f->validity[c] : NULL;
        f->validity[c][0] = UINT64_MAX;
        for (size_t i = 0; i < ROWS; i++) {
            fill_value(f, random, c, i);
            if (random_below(random, 4) == 0) {
                weir_validity_set_null(f->validity[c], i);
            }
        }
        f->columns[c] = &f->vectors[c];
    }
    const RowLayoutSpec spec = {
        .key = f->types,
        .key_count = f->key_count,
        .payload = f->types + f->key_count,
        .payload_count = f->column_count - f->key_count,
    };
    assert_int_equal(weir_row_layout_init(&f->layout, f->world.mem, &spec, &f->world.err), WEIR_OK);
    weir_row_sizes(&f->layout, f->columns, ROWS, sizes);
    for (size_t i = 0; i < ROWS; i++) {
        f->rows[i] = weir_mem_alloc(f->world.mem, sizes[i], &f->world.err);
        assert_non_null(f->rows[i]);
    }
    weir_row_pack(&f->layout, f->columns, NULL, ROWS, NULL, sizes, f->rows);
}

static void fixture_empty(Fixture *f)
{
    for (size_t i = 0; i < ROWS; i++) {
        weir_mem_free(f->world.mem, f->rows[i]);
    }
    weir_row_layout_deinit(&f->layout, f->world.mem);
}

/* Row i of the columns against some other row, with and without places. */
static void check_matches(Fixture *f, Random *random)
{
    const bool key_nulls = weir_rows_have_nulls(&f->layout.key, f->columns, f->rows, ROWS);
    const bool payload_nulls = weir_rows_have_nulls(&f->layout.payload, f->columns, f->rows, ROWS);
    bool has_null = false;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t c = 0; c < f->key_count; c++) {
            has_null = has_null || weir_row_is_null(&f->layout, f->rows[i], c);
        }
    }
    assert_int_equal(key_nulls, has_null);
    for (size_t with_places = 0; with_places < 2; with_places++) {
        uint16_t places[ROW_MATCH_MAX];
        Row *rows[ROW_MATCH_MAX];
        const size_t count = random_below(random, ROW_MATCH_MAX + 1);
        const size_t first = random_below(random, ROWS - ROW_MATCH_MAX);
        for (size_t i = 0; i < count; i++) {
            places[i] = (uint16_t)(with_places != 0 ? random_below(random, ROWS) : first + i);
            rows[i] =
                f->rows[random_below(random, 3) == 0 ? places[i] : random_below(random, ROWS)];
        }
        const RowMatch match = {
            .layout = &f->layout,
            .columns = f->columns,
            .places = with_places != 0 ? places : NULL,
            .first = first,
            .rows = rows,
            .count = count,
            .key_has_nulls = key_nulls,
            .payload_has_nulls = payload_nulls,
        };
        const uint32_t keys = weir_row_match_key(&match);
        const uint32_t all = weir_row_match_all(&match);
        for (size_t i = 0; i < count; i++) {
            const Row *mine = f->rows[places[i]];
            assert_int_equal((keys >> i) & 1, !weir_row_key_equal(&f->layout, mine, rows[i]));
            assert_int_equal((all >> i) & 1, !weir_row_equal(&f->layout, mine, rows[i]));
        }
        assert_int_equal((uint64_t)keys >> count, 0);
        assert_int_equal((uint64_t)all >> count, 0);
    }
}

static void row_match_agrees_with_comparing_packed_rows(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    world_init(&f->world);
    for (size_t round = 0; round < 3000; round++) {
        fixture_fill(f, &random);
        check_matches(f, &random);
        fixture_empty(f);
    }
    world_deinit(&f->world);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_match_agrees_with_comparing_packed_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
