/* test_row_table.c: the table against an array indexed by key number. */
#include "key_space.h"

#include "trace/row_table.h"

enum { KEYS = 6000, STATE_BYTES = 24 };

typedef struct Model {
    bool is_there;
    int64_t weight;
} Model;

typedef struct Fixture {
    World world;
    RowTable table;
    KeyColumns keys;
    int64_t payload[BATCH_CAPACITY];
    Vector payload_vector;
    const Vector *columns[KEY_SPACE_COLUMNS + 1];
    uint64_t numbers[BATCH_CAPACITY];
    Row *rows[BATCH_CAPACITY];
    bool is_new[BATCH_CAPACITY];
    Model model[KEYS];
    size_t model_count;
    bool is_wide;        /* four key columns, else the int64 one */
    const int64_t *list; /* keys of a narrow space, or NULL */
} Fixture;

static void set_key(Fixture *f, size_t i, uint64_t number)
{
    f->numbers[i] = number;
    f->payload[i] = (int64_t)number * 10;
    if (f->is_wide) {
        key_columns_set(&f->keys, i, number);
    } else {
        f->keys.numbers[i] = f->list == NULL ? (int64_t)number : f->list[number];
    }
}

static Status fixture_open(Fixture *f, bool is_wide, const int64_t *list)
{
    const size_t key_count = is_wide ? KEY_SPACE_COLUMNS : 1;
    key_columns_init(&f->keys);
    f->is_wide = is_wide;
    f->list = list;
    f->payload_vector = vector_of(PHYS_I64, f->payload);
    memcpy(f->columns, f->keys.columns, key_count * sizeof(Vector *));
    f->columns[key_count] = &f->payload_vector;
    memset(f->model, 0, sizeof f->model);
    f->model_count = 0;
    const PhysType payload = PHYS_I64;
    const RowLayoutSpec spec = {
        .key = key_space_types,
        .key_count = key_count,
        .payload = &payload,
        .payload_count = 1,
        .state_bytes = STATE_BYTES,
    };
    return weir_row_table_init(&f->table, f->world.mem, f->world.pool, &spec, &f->world.err);
}

static Fixture *fixture_new(bool is_wide, const int64_t *list)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    world_init(&f->world);
    assert_int_equal(fixture_open(f, is_wide, list), WEIR_OK);
    return f;
}

static void fixture_free(Fixture *f)
{
    weir_row_table_deinit(&f->table);
    world_deinit(&f->world);
    free(f);
}

/* A row's payload tells its number. */
static uint64_t number_of(const Fixture *f, const Row *row)
{
    const RowLayout *layout = &f->table.layout;
    int64_t payload;
    memcpy(&payload, (const char *)row + layout->columns[layout->column_count - 1].offset,
           sizeof payload);
    return (uint64_t)payload / 10;
}

static void check_all(Fixture *f)
{
    assert_int_equal(f->table.row_count, f->model_count);
    for (size_t first = 0; first < KEYS; first += 1000) {
        for (size_t i = 0; i < 1000; i++) {
            set_key(f, i, first + i);
        }
        weir_row_table_find(&f->table, f->columns, 1000, f->rows);
        for (size_t i = 0; i < 1000; i++) {
            assert_int_equal(f->rows[i] != NULL, f->model[first + i].is_there);
            if (f->rows[i] != NULL) {
                assert_int_equal(number_of(f, f->rows[i]), first + i);
                assert_int_equal(weir_row_weight(f->rows[i]), f->model[first + i].weight);
            }
        }
    }
    bool *seen = calloc(KEYS, sizeof *seen);
    uint64_t cursor = 0;
    size_t total = 0;
    for (;;) {
        const size_t n = weir_row_table_scan(&f->table, &cursor, f->rows, 333);
        for (size_t i = 0; i < n; i++) {
            const uint64_t number = number_of(f, f->rows[i]);
            assert_true(f->model[number].is_there);
            assert_false(seen[number]);
            seen[number] = true;
        }
        total += n;
        if (n == 0) {
            break;
        }
    }
    assert_int_equal(total, f->model_count);
    free(seen);
}

static void check_new_row(const Fixture *f, const Row *row)
{
    static const char zero[STATE_BYTES];
    assert_int_equal(weir_row_weight(row), 0);
    assert_int_equal(weir_row_link(row), 0);
    assert_memory_equal((const char *)row + f->table.layout.state_offset, zero, STATE_BYTES);
}

/* Adds 1 to the weight of count random keys below limit. */
static Status upsert_some(Fixture *f, Random *random, size_t count, uint64_t limit)
{
    for (size_t i = 0; i < count; i++) {
        set_key(f, i, random_below(random, limit));
    }
    WEIR_TRY(
        weir_row_table_upsert(&f->table, f->columns, count, f->rows, f->is_new, &f->world.err));
    for (size_t i = 0; i < count; i++) {
        Model *model = &f->model[f->numbers[i]];
        assert_int_equal(number_of(f, f->rows[i]), f->numbers[i]);
        assert_int_equal(f->is_new[i], !model->is_there);
        if (!model->is_there) {
            check_new_row(f, f->rows[i]);
            model->is_there = true;
            f->model_count++;
        }
        memset((char *)f->rows[i] + f->table.layout.state_offset, 0xee, STATE_BYTES);
        model->weight++;
        weir_row_set_weight(f->rows[i], model->weight);
    }
    return WEIR_OK;
}

static void remove_some(Fixture *f, Random *random, size_t count, uint64_t limit)
{
    for (size_t i = 0; i < count; i++) {
        set_key(f, i, random_below(random, limit));
    }
    weir_row_table_find(&f->table, f->columns, count, f->rows);
    for (size_t i = 0; i < count; i++) {
        Model *model = &f->model[f->numbers[i]];
        if (model->is_there) {
            assert_non_null(f->rows[i]);
            weir_row_table_remove(&f->table, f->rows[i]);
            assert_int_equal(number_of(f, f->rows[i]), f->numbers[i]); /* still readable */
            *model = (Model){0};
            f->model_count--;
        }
    }
}

static void churn(Fixture *f, uint64_t limit)
{
    Random random = {.state = test_seed()};
    for (size_t step = 0; step < 200; step++) {
        const size_t most = step % 10 == 0 ? BATCH_CAPACITY : 70;
        const size_t count = random_below(&random, most + 1);
        assert_int_equal(upsert_some(f, &random, count, limit), WEIR_OK);
        remove_some(f, &random, random_below(&random, most + 1), limit);
        weir_row_table_end_step(&f->table);
        if (step % 50 == 0) {
            check_all(f);
        }
        if (step == 100) {
            weir_row_table_clear(&f->table);
            memset(f->model, 0, sizeof f->model);
            f->model_count = 0;
        }
    }
    check_all(f);
}

static void row_table_agrees_with_an_array(void **state)
{
    (void)state;
    for (size_t wide = 0; wide < 2; wide++) {
        Fixture *f = fixture_new(wide != 0, NULL);
        churn(f, KEYS);
        fixture_free(f);
    }
}

static void row_table_handles_duplicates_within_a_batch(void **state)
{
    (void)state;
    Fixture *f = fixture_new(true, NULL);
    churn(f, 12);
    fixture_free(f);
}

static void row_table_tells_keys_of_equal_hash_apart(void **state)
{
    (void)state;
    static int64_t list[KEYS];
    const size_t count = colliding_keys(list, 800);
    assert_true(count >= 100);
    for (size_t i = count; i < KEYS; i++) {
        list[i] = -(int64_t)i;
    }
    Fixture *f = fixture_new(false, list);
    churn(f, count);
    fixture_free(f);
}

static void row_table_without_key_columns_has_one_row(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    RowTable table;
    const RowLayoutSpec spec = {.state_bytes = 8};
    assert_int_equal(weir_row_table_init(&table, world.mem, world.pool, &spec, &world.err),
                     WEIR_OK);
    Row *rows[100];
    bool is_new[100];
    weir_row_table_find(&table, NULL, 1, rows);
    assert_null(rows[0]);
    assert_int_equal(weir_row_table_upsert(&table, NULL, 100, rows, is_new, &world.err), WEIR_OK);
    assert_true(is_new[0]);
    for (size_t i = 1; i < 100; i++) {
        assert_false(is_new[i]);
        assert_ptr_equal(rows[i], rows[0]);
    }
    assert_int_equal(table.row_count, 1);
    weir_row_table_deinit(&table);
    world_deinit(&world);
}

static void row_table_takes_constant_columns(void **state)
{
    (void)state;
    Fixture *f = fixture_new(true, NULL);
    set_key(f, 0, 12); /* a NULL real */
    f->keys.vectors[1].is_constant = true;
    f->keys.vectors[2].is_constant = true;
    for (size_t i = 0; i < 100; i++) {
        f->keys.numbers[i] = (int64_t)(i % 10);
        f->keys.notes[i] = f->keys.notes[0];
        f->keys.note_validity[i / 64] |= UINT64_C(1) << (i % 64);
    }
    assert_int_equal(
        weir_row_table_upsert(&f->table, f->columns, 100, f->rows, NULL, &f->world.err), WEIR_OK);
    assert_int_equal(f->table.row_count, 10);
    for (size_t i = 0; i < 100; i++) {
        assert_ptr_equal(f->rows[i], f->rows[i % 10]);
        assert_true(weir_row_is_null(&f->table.layout, f->rows[i], 2));
    }
    fixture_free(f);
}

static void row_table_reserves_without_changing_its_rows(void **state)
{
    (void)state;
    Fixture *f = fixture_new(true, NULL);
    Random random = {.state = test_seed()};
    assert_int_equal(upsert_some(f, &random, 1000, KEYS), WEIR_OK);
    assert_int_equal(weir_row_table_reserve(&f->table, 100000, &f->world.err), WEIR_OK);
    check_all(f);
    assert_true(weir_row_table_bytes(&f->table) > 100000 * sizeof(uint64_t));
    fixture_free(f);
}

static void row_table_gives_memory_back_when_it_is_empty(void **state)
{
    (void)state;
    Fixture *f = fixture_new(false, NULL);
    enum { COUNT = 100 * BATCH_CAPACITY };
    for (size_t first = 0; first < COUNT; first += BATCH_CAPACITY) {
        for (size_t i = 0; i < BATCH_CAPACITY; i++) {
            set_key(f, i, first + i);
        }
        assert_int_equal(weir_row_table_upsert(&f->table, f->columns, BATCH_CAPACITY, f->rows, NULL,
                                               &f->world.err),
                         WEIR_OK);
    }
    const size_t full_bytes = weir_row_table_bytes(&f->table);
    uint64_t cursor = 0;
    size_t n = weir_row_table_scan(&f->table, &cursor, f->rows, 100);
    while (n > 0) {
        for (size_t i = 0; i < n; i++) {
            weir_row_table_remove(&f->table, f->rows[i]);
        }
        n = weir_row_table_scan(&f->table, &cursor, f->rows, 100);
    }
    assert_int_equal(f->table.row_count, 0);
    weir_row_table_end_step(&f->table);
    assert_true(weir_row_table_bytes(&f->table) < full_bytes / 20);
    check_all(f);
    Random random = {.state = test_seed()};
    assert_int_equal(upsert_some(f, &random, 1000, KEYS), WEIR_OK);
    check_all(f);
    fixture_free(f);
}

static void row_table_stays_freeable_when_an_allocation_fails(void **state)
{
    (void)state;
    Fixture *f = calloc(1, sizeof *f);
    world_init(&f->world);
    size_t failures = 0;
    for (size_t nth = 1; nth < 200; nth++) {
        Random random = {.state = nth};
        weir_mem_fail_after(f->world.mem, nth, nth % 2 == 0);
        Status status = fixture_open(f, true, NULL);
        for (size_t step = 0; step < 20 && status == WEIR_OK; step++) {
            status = upsert_some(f, &random, 500, KEYS);
            if (status == WEIR_OK) {
                remove_some(f, &random, 500, KEYS);
                weir_row_table_end_step(&f->table);
            }
        }
        weir_mem_fail_after(f->world.mem, 0, false);
        if (status != WEIR_OK) {
            assert_int_equal(status, WEIR_ERR_NOMEM);
            assert_int_equal(f->world.err.code, WEIR_ERR_NOMEM);
            failures++;
        } else {
            check_all(f);
        }
        weir_row_table_deinit(&f->table);
        assert_int_equal(weir_page_pool_used_bytes(f->world.pool), 0);
    }
    assert_true(failures > 20);
    world_deinit(&f->world);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_table_agrees_with_an_array),
        cmocka_unit_test(row_table_handles_duplicates_within_a_batch),
        cmocka_unit_test(row_table_tells_keys_of_equal_hash_apart),
        cmocka_unit_test(row_table_without_key_columns_has_one_row),
        cmocka_unit_test(row_table_takes_constant_columns),
        cmocka_unit_test(row_table_reserves_without_changing_its_rows),
        cmocka_unit_test(row_table_gives_memory_back_when_it_is_empty),
        cmocka_unit_test(row_table_stays_freeable_when_an_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
