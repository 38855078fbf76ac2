/* test_arrangement.c: the arrangement against a matrix of weights, key number x payload number. */
#include "key_space.h"

#include "trace/arrangement.h"

enum { KEYS = 120, PAYLOADS = 600, CELLS = KEYS * PAYLOADS };

typedef enum Shape {
    SHAPE_KEY_ONLY, /* int64 key, no payload */
    SHAPE_NARROW,   /* int64 key, int64 payload */
    SHAPE_WIDE,     /* four columns each */
} Shape;

typedef struct Fixture {
    World world;
    Arrangement *arrangement;
    ArrangementProbe probe;
    Shape shape;
    const int64_t *list; /* narrow: the values of the numbers, or NULL */
    KeyColumns keys;
    KeyColumns payloads;
    const Vector *columns[2 * KEY_SPACE_COLUMNS];
    size_t key_columns;
    size_t payload_columns;
    int64_t weights[BATCH_CAPACITY];
    uint16_t selection[BATCH_CAPACITY];
    uint16_t places[BATCH_CAPACITY];
    Row *rows[BATCH_CAPACITY];
    int64_t model[KEYS][PAYLOADS];
    size_t key_limit;
    size_t payload_limit;
} Fixture;

static void set_columns(const Fixture *f, KeyColumns *columns, size_t i, uint64_t number)
{
    if (f->shape == SHAPE_WIDE) {
        key_columns_set(columns, i, number);
    } else {
        columns->numbers[i] = f->list == NULL ? (int64_t)number : f->list[number];
    }
}

static void set_row(Fixture *f, size_t i, uint64_t key, uint64_t payload)
{
    set_columns(f, &f->keys, i, key);
    set_columns(f, &f->payloads, i, payload);
}

static int64_t read_i64(const Arrangement *arrangement, const Row *row, size_t column)
{
    int64_t value;
    const RowLayout *layout = weir_arrangement_layout(arrangement);
    memcpy(&value, (const char *)row + layout->columns[column].offset, sizeof value);
    return value;
}

/* The number that key_columns_set spread over four columns. */
static uint64_t decode_wide(const Fixture *f, Row *row, size_t first)
{
    const RowLayout *layout = weir_arrangement_layout(f->arrangement);
    String name;
    Vector vector = vector_of(PHYS_STRING, &name);
    uint64_t validity[VECTOR_VALIDITY_WORDS];
    weir_row_unpack(layout, &row, 1, first + 1, &vector, validity);
    char digits[64] = {0};
    memcpy(digits, weir_string_data(&name), weir_string_size(&name));
    const uint64_t fifth = digits[0] == 'n' ? strtoull(digits + 1, NULL, 10) / 11 : 0;
    double real;
    vector = vector_of(PHYS_F64, &real);
    weir_row_unpack(layout, &row, 1, first + 2, &vector, validity);
    const uint64_t low =
        weir_row_is_null(layout, row, first + 2) ? 5 : (uint64_t)(2.0 * real + 0.5);
    const uint64_t high = (uint64_t)(read_i64(f->arrangement, row, first) + 3) * 5 + fifth;
    return high * 7 + low;
}

static uint64_t decode(const Fixture *f, Row *row, size_t first)
{
    if (f->shape == SHAPE_WIDE) {
        return decode_wide(f, row, first);
    }
    const int64_t value = read_i64(f->arrangement, row, first);
    for (uint64_t i = 0; f->list != NULL; i++) {
        if (f->list[i] == value) {
            return i;
        }
    }
    return (uint64_t)value;
}

static Status fixture_open(Fixture *f)
{
    const RowLayoutSpec spec = {
        .key = key_space_types,
        .key_count = f->key_columns,
        .payload = key_space_types,
        .payload_count = f->payload_columns,
    };
    memset(f->model, 0, sizeof f->model);
    f->arrangement = NULL;
    f->probe = (ArrangementProbe){0};
    WEIR_TRY(
        weir_arrangement_new(f->world.mem, f->world.pool, &spec, &f->arrangement, &f->world.err));
    return weir_arrangement_probe_new(f->arrangement, &f->probe, &f->world.err);
}

static void fixture_close(Fixture *f)
{
    if (f->arrangement != NULL) {
        weir_arrangement_probe_free(f->arrangement, &f->probe);
    }
    weir_arrangement_free(f->arrangement);
}

static Fixture *fixture_make(Shape shape, const int64_t *list)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    world_init(&f->world);
    f->shape = shape;
    f->list = list;
    key_columns_init(&f->keys);
    key_columns_init(&f->payloads);
    f->key_columns = shape == SHAPE_WIDE ? KEY_SPACE_COLUMNS : 1;
    f->payload_columns = shape == SHAPE_KEY_ONLY ? 0 : f->key_columns;
    memcpy(f->columns, f->keys.columns, f->key_columns * sizeof(Vector *));
    memcpy(f->columns + f->key_columns, f->payloads.columns, f->payload_columns * sizeof(Vector *));
    f->key_limit = KEYS;
    f->payload_limit = shape == SHAPE_KEY_ONLY ? 1 : PAYLOADS;
    return f;
}

static Fixture *fixture_new(Shape shape, const int64_t *list)
{
    Fixture *f = fixture_make(shape, list);
    assert_int_equal(fixture_open(f), WEIR_OK);
    return f;
}

static void fixture_free(Fixture *f)
{
    fixture_close(f);
    world_deinit(&f->world);
    free(f);
}

static size_t model_rows(const Fixture *f)
{
    const int64_t *cells = &f->model[0][0];
    size_t count = 0;
    for (size_t i = 0; i < CELLS; i++) {
        count += cells[i] != 0;
    }
    return count;
}

/* Checks one row against the model and marks it. */
static void see_row(const Fixture *f, Row *row, uint64_t *key, bool *seen)
{
    *key = decode(f, row, 0);
    const uint64_t payload = f->payload_columns == 0 ? 0 : decode(f, row, f->key_columns);
    assert_true(*key < KEYS && payload < PAYLOADS);
    assert_int_equal(weir_row_weight(row), f->model[*key][payload]);
    assert_int_not_equal(weir_row_weight(row), 0);
    assert_false(seen[*key * PAYLOADS + payload]);
    seen[*key * PAYLOADS + payload] = true;
}

static void check_scan(Fixture *f)
{
    bool *seen = calloc(CELLS, sizeof *seen);
    uint64_t cursor = 0;
    size_t total = 0;
    for (;;) {
        const size_t n = weir_arrangement_scan(f->arrangement, &cursor, f->rows, 100);
        for (size_t i = 0; i < n; i++) {
            uint64_t key = 0;
            see_row(f, f->rows[i], &key, seen);
        }
        total += n;
        if (n == 0) {
            break;
        }
    }
    assert_int_equal(total, model_rows(f));
    free(seen);
}

/* Probes all keys, in the order of a shuffled selection, with the given capacity per call. */
static void check_probe(Fixture *f, Random *random, size_t capacity)
{
    bool *seen = calloc(CELLS, sizeof *seen);
    for (size_t i = 0; i < KEYS; i++) {
        set_columns(f, &f->keys, i, i);
        f->selection[i] = (uint16_t)i;
    }
    for (size_t i = KEYS; i > 1; i--) {
        const size_t j = random_below(random, i);
        const uint16_t swapped = f->selection[i - 1];
        f->selection[i - 1] = f->selection[j];
        f->selection[j] = swapped;
    }
    weir_arrangement_probe_start(f->arrangement, &f->probe, f->columns, f->selection, KEYS);
    size_t total = 0;
    for (;;) {
        const size_t n =
            weir_arrangement_probe_next(f->arrangement, &f->probe, f->places, f->rows, capacity);
        assert_true(n <= capacity);
        for (size_t i = 0; i < n; i++) {
            uint64_t key = 0;
            see_row(f, f->rows[i], &key, seen);
            assert_int_equal(f->places[i], key);
        }
        total += n;
        if (n == 0) {
            break;
        }
    }
    assert_int_equal(total, model_rows(f));
    free(seen);
}

static void check_key_weights(Fixture *f)
{
    for (size_t i = 0; i < KEYS; i++) {
        set_columns(f, &f->keys, i, KEYS - 1 - i);
    }
    weir_arrangement_key_weights(f->arrangement, f->columns, NULL, KEYS, f->weights);
    for (size_t i = 0; i < KEYS; i++) {
        int64_t sum = 0;
        for (size_t p = 0; p < PAYLOADS; p++) {
            sum += f->model[KEYS - 1 - i][p];
        }
        assert_int_equal(f->weights[i], sum);
    }
    for (size_t i = 0; i < KEYS / 3; i++) {
        f->selection[i] = (uint16_t)(3 * i);
    }
    weir_arrangement_key_weights(f->arrangement, f->columns, f->selection, KEYS / 3, f->weights);
    int64_t sum = 0;
    for (size_t p = 0; p < PAYLOADS; p++) {
        sum += f->model[KEYS - 1 - 3 * 10][p];
    }
    assert_int_equal(f->weights[10], sum);
}

static void check_all(Fixture *f, Random *random)
{
    assert_int_equal(weir_arrangement_row_count(f->arrangement), model_rows(f));
    check_scan(f);
    check_probe(f, random, 1 + random_below(random, BATCH_CAPACITY));
    check_key_weights(f);
}

/* Keys are drawn so that some get hundreds of rows and most a few. */
static uint64_t draw_key(const Fixture *f, Random *random)
{
    switch (random_below(random, 4)) {
    case 0: return random_below(random, 2);
    case 1: return random_below(random, WEIR_MIN(f->key_limit, (size_t)10));
    default: return random_below(random, f->key_limit);
    }
}

typedef enum Mode { MODE_MIXED, MODE_GROW, MODE_SHRINK } Mode;

/* Applies count random rows, through a selection or not. */
static Status apply_some(Fixture *f, Random *random, size_t count, Mode mode)
{
    const bool is_selected = random_below(random, 2) == 0;
    const size_t stride = is_selected && count <= BATCH_CAPACITY / 2 ? 2 : 1;
    uint64_t *keys = calloc(count + 1, sizeof *keys);
    uint64_t *payloads = calloc(count + 1, sizeof *payloads);
    for (size_t i = 0; i < count; i++) {
        keys[i] = draw_key(f, random);
        const size_t limit = keys[i] < 10 ? f->payload_limit : WEIR_MIN(f->payload_limit, 20);
        payloads[i] = random_below(random, limit);
        const int64_t before = f->model[keys[i]][payloads[i]];
        int64_t weight = (int64_t)random_below(random, 7) - 3;
        if (mode == MODE_GROW) {
            weight = 1;
        } else if (mode == MODE_SHRINK || random_below(random, 2) == 0) {
            weight = -before; /* also 0: nothing happens */
        }
        f->model[keys[i]][payloads[i]] += weight;
        f->weights[i] = weight;
        f->selection[i] = (uint16_t)(stride * (count - 1 - i));
        set_row(f, is_selected ? f->selection[i] : i, keys[i], payloads[i]);
    }
    free(keys);
    free(payloads);
    return weir_arrangement_apply(f->arrangement, f->columns, is_selected ? f->selection : NULL,
                                  mode == MODE_GROW ? NULL : f->weights, count, &f->world.err);
}

static void churn(Fixture *f)
{
    Random random = {.state = test_seed()};
    for (size_t step = 0; step < 160; step++) {
        const Mode mode = step % 40 < 12 ? MODE_GROW : step % 40 < 30 ? MODE_MIXED : MODE_SHRINK;
        const size_t most = step % 4 == 0 ? BATCH_CAPACITY : 90;
        assert_int_equal(apply_some(f, &random, random_below(&random, most + 1), mode), WEIR_OK);
        if (random_below(&random, 3) > 0) {
            weir_arrangement_end_step(f->arrangement);
        }
        if (step % 10 == 9) {
            check_all(f, &random);
        }
    }
    /* Everything goes. */
    for (size_t k = 0; k < KEYS; k++) {
        for (size_t p = 0; p < PAYLOADS; p += BATCH_CAPACITY / 4) {
            const size_t count = WEIR_MIN(PAYLOADS - p, (size_t)BATCH_CAPACITY / 4);
            for (size_t i = 0; i < count; i++) {
                set_row(f, i, k, p + i);
                f->weights[i] = -f->model[k][p + i];
                f->model[k][p + i] = 0;
            }
            assert_int_equal(weir_arrangement_apply(f->arrangement, f->columns, NULL, f->weights,
                                                    count, &f->world.err),
                             WEIR_OK);
        }
    }
    check_all(f, &random);
    assert_int_equal(weir_arrangement_row_count(f->arrangement), 0);
}

static void arrangement_agrees_with_a_matrix(void **state)
{
    (void)state;
    const Shape shapes[] = {SHAPE_KEY_ONLY, SHAPE_NARROW, SHAPE_WIDE};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(shapes); i++) {
        Fixture *f = fixture_new(shapes[i], NULL);
        churn(f);
        fixture_free(f);
    }
}

static void arrangement_tells_equal_hashes_apart(void **state)
{
    (void)state;
    static int64_t list[PAYLOADS];
    const size_t count = colliding_keys(list, PAYLOADS);
    for (size_t i = count; i < PAYLOADS; i++) {
        list[i] = -(int64_t)i;
    }
    Fixture *f = fixture_new(SHAPE_NARROW, list);
    churn(f);
    fixture_free(f);
}

static void arrangement_bears_many_duplicates_of_few_rows(void **state)
{
    (void)state;
    Fixture *f = fixture_new(SHAPE_WIDE, NULL);
    f->key_limit = 2;
    f->payload_limit = 19;
    churn(f);
    fixture_free(f);
}

/* One key with count rows; returns bytes of state. */
static size_t fill_key(Fixture *f, size_t count, int64_t weight)
{
    for (size_t i = 0; i < count; i++) {
        set_row(f, i, 5, i);
        f->weights[i] = weight;
        f->model[5][i] += weight;
    }
    assert_int_equal(
        weir_arrangement_apply(f->arrangement, f->columns, NULL, f->weights, count, &f->world.err),
        WEIR_OK);
    weir_arrangement_end_step(f->arrangement);
    return weir_arrangement_bytes(f->arrangement);
}

static void arrangement_key_becomes_heavy_and_light_again(void **state)
{
    (void)state;
    Fixture *f = fixture_new(SHAPE_WIDE, NULL);
    Random random = {.state = test_seed()};
    for (size_t round = 0; round < 3; round++) {
        for (size_t count = 14; count <= 500; count = count < 19 ? count + 1 : 3 * count) {
            fill_key(f, count, 1);
            check_all(f, &random);
            fill_key(f, count - round, -1); /* round rows stay */
            check_all(f, &random);
            for (size_t p = count - round; p < count; p++) {
                set_row(f, 0, 5, p);
                f->weights[0] = -f->model[5][p];
                f->model[5][p] = 0;
                assert_int_equal(weir_arrangement_apply(f->arrangement, f->columns, NULL,
                                                        f->weights, 1, &f->world.err),
                                 WEIR_OK);
            }
            assert_int_equal(weir_arrangement_row_count(f->arrangement), 0);
        }
    }
    fixture_free(f);
}

static void arrangement_does_not_grow_under_steady_churn(void **state)
{
    (void)state;
    Fixture *f = fixture_new(SHAPE_WIDE, NULL);
    size_t bytes = 0;
    for (size_t round = 0; round < 30; round++) {
        fill_key(f, 400, 1);
        const size_t now = fill_key(f, 400, -1);
        if (round == 3) {
            bytes = now;
        }
        assert_true(round <= 3 || now == bytes);
    }
    fixture_free(f);
}

static void arrangement_refuses_weights_out_of_range(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 20; count += 19) {
        Fixture *f = fixture_new(SHAPE_NARROW, NULL);
        fill_key(f, count, 1);
        set_row(f, 0, 5, 0);
        f->weights[0] = INT64_MAX;
        assert_int_equal(
            weir_arrangement_apply(f->arrangement, f->columns, NULL, f->weights, 1, &f->world.err),
            WEIR_ERR_WEIGHT);
        fixture_free(f);
    }
}

static void arrangement_probe_can_be_started_anew(void **state)
{
    (void)state;
    Fixture *f = fixture_new(SHAPE_NARROW, NULL);
    Random random = {.state = test_seed()};
    fill_key(f, 300, 2);
    set_columns(f, &f->keys, 0, 5);
    weir_arrangement_probe_start(f->arrangement, &f->probe, f->columns, NULL, 1);
    assert_int_equal(weir_arrangement_probe_next(f->arrangement, &f->probe, f->places, f->rows, 7),
                     7);
    weir_arrangement_probe_start(f->arrangement, &f->probe, f->columns, NULL, 0);
    assert_int_equal(weir_arrangement_probe_next(f->arrangement, &f->probe, f->places, f->rows, 7),
                     0);
    check_all(f, &random);
    fixture_free(f);
}

static void arrangement_takes_a_reservation(void **state)
{
    (void)state;
    Fixture *f = fixture_new(SHAPE_NARROW, NULL);
    Random random = {.state = test_seed()};
    assert_int_equal(weir_arrangement_reserve(f->arrangement, 50000, &f->world.err), WEIR_OK);
    assert_true(weir_arrangement_bytes(f->arrangement) > 50000 * sizeof(uint64_t));
    fill_key(f, 300, 2);
    check_all(f, &random);
    fixture_free(f);
}

static void arrangement_gives_memory_back_when_it_is_empty(void **state)
{
    (void)state;
    Fixture *f = fixture_new(SHAPE_NARROW, NULL);
    Random random = {.state = test_seed()};
    size_t full_bytes = 0;
    for (int64_t weight = 1; weight >= -1; weight -= 2) {
        full_bytes = weir_arrangement_bytes(f->arrangement);
        for (int64_t first = 0; first < (int64_t)40 * BATCH_CAPACITY; first += BATCH_CAPACITY) {
            for (size_t i = 0; i < BATCH_CAPACITY; i++) {
                f->keys.numbers[i] = (first + (int64_t)i) / 25;
                f->payloads.numbers[i] = (int64_t)i;
                f->weights[i] = weight;
            }
            assert_int_equal(weir_arrangement_apply(f->arrangement, f->columns, NULL, f->weights,
                                                    BATCH_CAPACITY, &f->world.err),
                             WEIR_OK);
        }
    }
    assert_int_equal(weir_arrangement_row_count(f->arrangement), 0);
    weir_arrangement_end_step(f->arrangement);
    assert_true(weir_arrangement_bytes(f->arrangement) < full_bytes / 4);
    fill_key(f, 300, 2);
    check_all(f, &random);
    fixture_free(f);
}

static void arrangement_stays_freeable_when_an_allocation_fails(void **state)
{
    (void)state;
    Fixture *f = fixture_make(SHAPE_WIDE, NULL);
    size_t failures = 0;
    for (size_t nth = 1; nth < 260; nth++) {
        Random random = {.state = nth};
        weir_mem_fail_after(f->world.mem, nth, nth % 2 == 0);
        Status status = fixture_open(f);
        for (size_t step = 0; step < 12 && status == WEIR_OK; step++) {
            status = apply_some(f, &random, 700, step % 3 < 2 ? MODE_GROW : MODE_SHRINK);
            if (status == WEIR_OK) {
                weir_arrangement_end_step(f->arrangement);
            }
        }
        weir_mem_fail_after(f->world.mem, 0, false);
        if (status != WEIR_OK) {
            assert_int_equal(status, WEIR_ERR_NOMEM);
            failures++;
        } else {
            check_all(f, &random);
        }
        fixture_close(f);
        assert_int_equal(weir_page_pool_used_bytes(f->world.pool), 0);
    }
    assert_true(failures > 40);
    world_deinit(&f->world);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrangement_agrees_with_a_matrix),
        cmocka_unit_test(arrangement_tells_equal_hashes_apart),
        cmocka_unit_test(arrangement_bears_many_duplicates_of_few_rows),
        cmocka_unit_test(arrangement_key_becomes_heavy_and_light_again),
        cmocka_unit_test(arrangement_does_not_grow_under_steady_churn),
        cmocka_unit_test(arrangement_refuses_weights_out_of_range),
        cmocka_unit_test(arrangement_probe_can_be_started_anew),
        cmocka_unit_test(arrangement_takes_a_reservation),
        cmocka_unit_test(arrangement_gives_memory_back_when_it_is_empty),
        cmocka_unit_test(arrangement_stays_freeable_when_an_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
