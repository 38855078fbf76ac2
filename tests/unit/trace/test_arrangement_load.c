/* test_arrangement_load.c: rows that are loaded and settled are those that applying them gives. */
#include "trace_test.h"

#include "trace/arrangement.h"

enum { KEYS = 700, PAYLOADS = 50, CELLS = KEYS * PAYLOADS, NAME_SIZE = 24 };

typedef struct Fixture {
    World world;
    Arrangement *arrangement;
    int64_t keys[BATCH_CAPACITY];
    String names[BATCH_CAPACITY]; /* the payload: short, long, NULL */
    uint64_t validity[VECTOR_VALIDITY_WORDS];
    char texts[PAYLOADS][NAME_SIZE];
    int64_t weights[BATCH_CAPACITY];
    Vector vectors[2];
    const Vector *columns[2];
    int64_t model[KEYS][PAYLOADS];
} Fixture;

static Status fixture_open(Fixture *f)
{
    const PhysType types[2] = {PHYS_I64, PHYS_STRING};
    const RowLayoutSpec spec = {
        .key = types, .key_count = 1, .payload = types + 1, .payload_count = 1};
    memset(f->model, 0, sizeof f->model);
    f->arrangement = NULL;
    return weir_arrangement_new(f->world.mem, f->world.pool, &spec, &f->arrangement, &f->world.err);
}

static Fixture *fixture_new(void)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    world_init(&f->world);
    f->vectors[0] = vector_of(PHYS_I64, f->keys);
    f->vectors[1] = vector_of(PHYS_STRING, f->names);
    f->vectors[1].validity = f->validity;
    f->columns[0] = &f->vectors[0];
    f->columns[1] = &f->vectors[1];
    for (size_t p = 0; p < PAYLOADS; p++) {
        (void)snprintf(f->texts[p], NAME_SIZE, p % 2 == 0 ? "%zu" : "payload number %zu", p);
    }
    return f;
}

static void fixture_free(Fixture *f)
{
    weir_arrangement_free(f->arrangement);
    world_deinit(&f->world);
    free(f);
}

/* Payload 0 is NULL. */
static void set_row(Fixture *f, size_t i, size_t key, size_t payload, int64_t weight)
{
    const char *text = f->texts[payload];
    f->keys[i] = (int64_t)key;
    f->names[i] = payload == 0 ? (String){.words = {0, 0}} : weir_string_make(text, strlen(text));
    const uint64_t bit = UINT64_C(1) << (i % 64);
    f->validity[i / 64] = payload == 0 ? f->validity[i / 64] & ~bit : f->validity[i / 64] | bit;
    f->weights[i] = weight;
    f->model[key][payload] += weight;
}

/* A third of the rows goes to few keys, which become heavy. */
static Status load_some(Fixture *f, Random *random, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t key = random_below(random, random_below(random, 3) == 0 ? 5 : KEYS);
        set_row(f, i, key, random_below(random, PAYLOADS), (int64_t)random_below(random, 5) - 1);
    }
    return weir_arrangement_load(f->arrangement, f->columns, f->weights, count, &f->world.err);
}

/* The cell of a row, by its key and the text of its payload. */
static int64_t *cell_of(Fixture *f, Row *row)
{
    const RowLayout *layout = weir_arrangement_layout(f->arrangement);
    int64_t key;
    String name;
    uint64_t validity[VECTOR_VALIDITY_WORDS];
    memcpy(&key, (const char *)row + layout->columns[0].offset, sizeof key);
    Vector vector = vector_of(PHYS_STRING, &name);
    weir_row_unpack(layout, &row, 1, 1, &vector, validity);
    char text[NAME_SIZE] = {0};
    memcpy(text, weir_string_data(&name), weir_string_size(&name));
    const char *digits = strrchr(text, ' ') == NULL ? text : strrchr(text, ' ');
    assert_true(key >= 0 && key < KEYS);
    return &f->model[key][weir_row_is_null(layout, row, 1) ? 0 : strtoul(digits, NULL, 10)];
}

static void check_rows(Fixture *f)
{
    Row *rows[100];
    uint64_t cursor = 0;
    size_t left = 0;
    for (size_t cell = 0; cell < CELLS; cell++) {
        left += (&f->model[0][0])[cell] != 0;
    }
    assert_int_equal(weir_arrangement_row_count(f->arrangement), left);
    for (;;) {
        const size_t count = weir_arrangement_scan(f->arrangement, &cursor, rows, 100);
        if (count == 0) {
            break;
        }
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(weir_row_weight(rows[i]), *cell_of(f, rows[i]));
            assert_int_not_equal(weir_row_weight(rows[i]), 0);
        }
        left -= count;
    }
    assert_int_equal(left, 0);
}

static void loaded_rows_are_there_once_they_are_settled(void **unused)
{
    WEIR_UNUSED(unused);
    Fixture *f = fixture_new();
    Random random = {.state = test_seed()};
    for (size_t batches = 0; batches < 12; batches++) {
        assert_int_equal(fixture_open(f), WEIR_OK);
        for (size_t i = 0; i < batches; i++) {
            assert_int_equal(load_some(f, &random, random_below(&random, BATCH_CAPACITY + 1)),
                             WEIR_OK);
        }
        assert_int_equal(weir_arrangement_settle(f->arrangement, &f->world.err), WEIR_OK);
        check_rows(f);
        /* Now rows are added at once. */
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(load_some(f, &random, 900), WEIR_OK);
            assert_true(batches == 0 ||
                        weir_arrangement_settle(f->arrangement, &f->world.err) == WEIR_OK);
        }
        assert_int_equal(weir_arrangement_settle(f->arrangement, &f->world.err), WEIR_OK);
        weir_arrangement_end_step(f->arrangement);
        check_rows(f);
        weir_arrangement_free(f->arrangement);
    }
    f->arrangement = NULL;
    fixture_free(f);
}

static void loading_equal_rows_again_and_again_takes_bounded_memory(void **unused)
{
    WEIR_UNUSED(unused);
    Fixture *f = fixture_new();
    Random random = {.state = test_seed()};
    size_t bytes_after_check = 0;
    assert_int_equal(fixture_open(f), WEIR_OK);
    for (size_t i = 0; i < 2400; i++) {
        assert_int_equal(load_some(f, &random, BATCH_CAPACITY), WEIR_OK);
        if (i == 800) {
            bytes_after_check = weir_arrangement_bytes(f->arrangement);
        }
    }
    assert_true(weir_arrangement_bytes(f->arrangement) < bytes_after_check + (16 << 20));
    assert_int_equal(weir_arrangement_settle(f->arrangement, &f->world.err), WEIR_OK);
    check_rows(f);
    fixture_free(f);
}

static void different_rows_are_settled_at_the_end(void **unused)
{
    WEIR_UNUSED(unused);
    enum { BATCHES = 700, ROWS = BATCHES * BATCH_CAPACITY };
    World world;
    world_init(&world);
    const PhysType types[2] = {PHYS_I64, PHYS_I64};
    const RowLayoutSpec spec = {.key = types, .key_count = 1, .payload = types, .payload_count = 1};
    Arrangement *arrangement = NULL;
    int64_t keys[BATCH_CAPACITY];
    int64_t payloads[BATCH_CAPACITY];
    const Vector vectors[2] = {vector_of(PHYS_I64, keys), vector_of(PHYS_I64, payloads)};
    const Vector *const columns[2] = {&vectors[0], &vectors[1]};
    assert_int_equal(weir_arrangement_new(world.mem, world.pool, &spec, &arrangement, &world.err),
                     WEIR_OK);
    for (int64_t row = 0; row < ROWS; row += BATCH_CAPACITY) {
        for (int64_t i = 0; i < BATCH_CAPACITY; i++) {
            keys[i] = (row + i) % 50021;
            payloads[i] = row + i;
        }
        assert_int_equal(
            weir_arrangement_load(arrangement, columns, NULL, BATCH_CAPACITY, &world.err), WEIR_OK);
        assert_int_equal(weir_arrangement_row_count(arrangement), 0);
    }
    assert_int_equal(weir_arrangement_settle(arrangement, &world.err), WEIR_OK);
    assert_int_equal(weir_arrangement_row_count(arrangement), ROWS);
    int64_t found[BATCH_CAPACITY];
    for (int64_t i = 0; i < BATCH_CAPACITY; i++) {
        keys[i] = 49000 + i;
    }
    weir_arrangement_key_weights(arrangement, columns, NULL, BATCH_CAPACITY, found);
    for (int64_t i = 0; i < BATCH_CAPACITY; i++) {
        const int64_t wanted = keys[i] < 50021 ? (ROWS - 1 - keys[i]) / 50021 + 1 : 0;
        assert_int_equal(found[i], wanted);
    }
    weir_arrangement_free(arrangement);
    world_deinit(&world);
}

static void loading_stays_freeable_when_an_allocation_fails(void **unused)
{
    WEIR_UNUSED(unused);
    Fixture *f = fixture_new();
    size_t failures = 0;
    for (size_t nth = 1; nth < 90; nth++) {
        Random random = {.state = nth};
        weir_mem_fail_after(f->world.mem, nth, nth % 2 == 0);
        Status status = fixture_open(f);
        for (size_t i = 0; i < 8 && status == WEIR_OK; i++) {
            status = load_some(f, &random, BATCH_CAPACITY);
        }
        if (status == WEIR_OK) {
            status = weir_arrangement_settle(f->arrangement, &f->world.err);
        }
        weir_mem_fail_after(f->world.mem, 0, false);
        if (status == WEIR_OK) {
            check_rows(f);
        } else {
            assert_int_equal(status, WEIR_ERR_NOMEM);
            failures++;
        }
        if (f->arrangement != NULL) {
            weir_arrangement_end_step(f->arrangement);
        }
        weir_arrangement_free(f->arrangement);
        assert_int_equal(weir_page_pool_used_bytes(f->world.pool), 0);
    }
    f->arrangement = NULL;
    assert_true(failures > 20);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loaded_rows_are_there_once_they_are_settled),
        cmocka_unit_test(loading_equal_rows_again_and_again_takes_bounded_memory),
        cmocka_unit_test(different_rows_are_settled_at_the_end),
        cmocka_unit_test(loading_stays_freeable_when_an_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
