/* test_ordered_set.c: sets of values of every type against sorted arrays of weights. */
#include "trace_test.h"

#include "trace/ordered_set.h"
#include "types/vector.h"

enum { VALUES = 500, SETS = 12, TEXT_BYTES = 64 };

typedef struct Fixture {
    World world;
    Arena arena;
    const LogicalType *type;
    OrderedSpace *space;
    size_t width;
    size_t count;                         /* different values */
    _Alignas(16) char values[VALUES][16]; /* sorted */
    char texts[VALUES][TEXT_BYTES];       /* of long strings */
    OrderedSet sets[SETS];
    int64_t weights[SETS][VALUES];
} Fixture;

/* The order of DuckDB's MIN and MAX, then bytes where the set keeps equal values apart. */
static int value_order(const Fixture *f, const void *a, const void *b)
{
    if (f->type->id == TYPE_TIME_TZ) { /* by its bits, unlike ORDER BY */
        uint64_t x;
        uint64_t y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return (x > y) - (x < y);
    }
    const int order = weir_value_compare(f->type, a, b);
    if (order != 0) {
        return order;
    }
    if (f->type->phys == PHYS_INTERVAL) {
        return memcmp(a, b, f->width);
    }
    if (f->type->phys == PHYS_STRING) {
        String x;
        String y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return weir_string_compare(&x, &y);
    }
    return 0;
}

static void make_text(Fixture *f, Random *random, size_t i)
{
    char *text = f->texts[i];
    size_t size = random_below(random, 30);
    memset(text, 'a', TEXT_BYTES);
    for (size_t k = random_below(random, 12); k < size; k++) {
        text[k] = (char)(random_below(random, 3) == 0 ? random_next(random) : 'a');
    }
    if (weir_type_is_nested(f->type)) { /* a list of doubles */
        const uint32_t count = (uint32_t)random_below(random, 4);
        static const double parts[] = {0.0, -0.0, 1.5, -7.0};
        memcpy(text, &count, 4);
        size = 4;
        for (uint32_t k = 0; k < count; k++) {
            text[size] = 1;
            memcpy(text + size + 1, &parts[random_below(random, 4)], 8);
            size += 9;
        }
    }
    const String string = weir_string_make(text, size);
    memcpy(f->values[i], &string, sizeof string);
}

static void make_value(Fixture *f, Random *random, size_t i)
{
    uint64_t words[2] = {random_next(random), random_next(random)};
    const Interval interval = {
        .months = (int32_t)random_below(random, 7) - 3,
        .days = (int32_t)random_below(random, 100) - 50,
        .micros = ((int64_t)random_below(random, 5) - 2) * INT64_C(43200000000),
    };
    static const double doubles[] = {0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 5e-324, 1.0 / 3.0};
    switch (f->type->phys) {
    case PHYS_STRING: make_text(f, random, i); return;
    case PHYS_INTERVAL: memcpy(words, &interval, sizeof interval); break;
    case PHYS_F64:
        if (i < 8) {
            memcpy(words, &doubles[i], sizeof *words);
        } else if (i < 12) {
            words[0] = i % 2 == 0 ? UINT64_C(0x7FF8000000000000) : UINT64_C(0xFFF0000000000000);
        }
        break;
    case PHYS_F32: words[0] = i < 2 ? (uint64_t)i << 31 : words[0]; break;
    default:
        words[0] >>= random_below(random, 2) * 40;
        words[1] = random_below(random, 3) == 0 ? 0 : words[1];
        break;
    }
    if (f->type->id == TYPE_TIME_TZ) { /* few times, few offsets: equal instants */
        words[0] = (random_below(random, 9) * 1000000) << 24 | random_below(random, 8);
    }
    memcpy(f->values[i], words, f->width);
}

/* Makes the values, sorts them, and keeps one of each. */
static void make_values(Fixture *f, Random *random)
{
    size_t count = 0;
    for (size_t i = 0; i < VALUES; i++) {
        make_value(f, random, i);
        size_t place = count;
        while (place > 0 && value_order(f, f->values[place - 1], f->values[i]) > 0) {
            place--;
        }
        if (place > 0 && value_order(f, f->values[place - 1], f->values[i]) == 0) {
            continue;
        }
        char value[16];
        memcpy(value, f->values[i], sizeof value);
        memmove(f->values + place + 1, f->values + place, (count - place) * sizeof *f->values);
        memcpy(f->values[place], value, sizeof value);
        count++;
    }
    f->count = count;
}

static Status fixture_open(Fixture *f)
{
    memset(f->sets, 0, sizeof f->sets);
    memset(f->weights, 0, sizeof f->weights);
    return weir_ordered_space_new(f->world.mem, f->world.pool, f->type, &f->space, &f->world.err);
}

static Fixture *fixture_new(TypeId id, Random *random)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    world_init(&f->world);
    weir_arena_init(&f->arena, f->world.mem, 0);
    f->type = id == TYPE_LIST
                  ? weir_type_list(&f->arena, weir_type_simple(TYPE_DOUBLE), &f->world.err)
                  : weir_type_simple(id);
    assert_non_null(f->type);
    f->width = weir_phys_width(f->type->phys);
    make_values(f, random);
    assert_int_equal(fixture_open(f), WEIR_OK);
    return f;
}

static void fixture_free(Fixture *f)
{
    weir_ordered_space_free(f->space);
    weir_arena_deinit(&f->arena);
    world_deinit(&f->world);
    free(f);
}

static void check_value(const Fixture *f, const void *got, size_t number)
{
    assert_non_null(got);
    assert_int_equal(value_order(f, got, f->values[number]), 0);
}

/* What the model has as the end, or -1. */
static int model_end(const int64_t *weights, size_t count, bool at_last)
{
    for (size_t i = 0; i < count; i++) {
        const size_t place = at_last ? count - 1 - i : i;
        if (weights[place] > 0) {
            return (int)place;
        }
    }
    return -1;
}

static void check_set(Fixture *f, size_t set)
{
    const int64_t *weights = f->weights[set];
    const int least = model_end(weights, f->count, false);
    const int most = model_end(weights, f->count, true);
    const void *min = weir_ordered_set_min(f->space, &f->sets[set]);
    const void *max = weir_ordered_set_max(f->space, &f->sets[set]);
    if (least < 0) {
        assert_null(min);
        assert_null(max);
    } else {
        check_value(f, min, (size_t)least);
        check_value(f, max, (size_t)most);
    }
    size_t count = 0;
    int64_t sum = 0;
    bool is_negative = false;
    for (size_t i = 0; i < f->count; i++) {
        count += weights[i] != 0;
        sum += weights[i];
        is_negative = is_negative || weights[i] < 0;
    }
    assert_int_equal(weir_ordered_set_count(f->space, &f->sets[set]), count);
    assert_int_equal(weir_ordered_set_weight(f->space, &f->sets[set]), sum);
    assert_int_equal(weir_ordered_set_verify(f->space, &f->sets[set], &f->world.err),
                     is_negative ? WEIR_ERR_NEGATIVE : WEIR_OK);
    int64_t offset = 0;
    for (size_t i = 0; !is_negative && i < f->count; i++) {
        if (weights[i] > 0) {
            check_value(f, weir_ordered_set_select(f->space, &f->sets[set], offset), i);
            offset += weights[i];
            check_value(f, weir_ordered_set_select(f->space, &f->sets[set], offset - 1), i);
        }
    }
    if (!is_negative) {
        assert_null(weir_ordered_set_select(f->space, &f->sets[set], offset));
        assert_null(weir_ordered_set_select(f->space, &f->sets[set], -1));
    }
}

/* Set k draws from its first few values only, so that all forms occur. */
static size_t set_range(const Fixture *f, size_t set)
{
    static const size_t ranges[SETS] = {1, 2, 3, 5, 9, 20, 60, 120, 140, 200, 400, VALUES};
    return WEIR_MIN(ranges[set], f->count);
}

static Status add(Fixture *f, size_t set, size_t number, int64_t weight)
{
    const Status status =
        weir_ordered_set_add(f->space, &f->sets[set], f->values[number], weight, &f->world.err);
    if (status == WEIR_OK) {
        f->weights[set][number] += weight;
    }
    return status;
}

static int64_t draw_weight(Random *random, int64_t before, bool shrinks)
{
    const uint64_t choice = random_below(random, shrinks ? 2 : 8);
    if (choice == 0) {
        return -before;
    }
    if (choice == 1 && before > 0) {
        return -1;
    }
    return choice == 2 ? -1 : 1 + (int64_t)random_below(random, 2);
}

static void churn(Fixture *f, Random *random)
{
    for (size_t step = 0; step < 30000; step++) {
        const size_t set = random_below(random, SETS);
        const size_t number = random_below(random, set_range(f, set));
        const bool shrinks = step / 5000 % 2 == 1;
        int64_t weight = draw_weight(random, f->weights[set][number], shrinks);
        if (random_below(random, 3000) == 0) {
            weight = INT64_C(5000000000);
        }
        assert_int_equal(add(f, set, number, weight), WEIR_OK);
        if (step % 50 == 0) {
            check_set(f, set);
        }
        if (step % 100 == 0) {
            weir_ordered_space_end_step(f->space);
        }
        if (random_below(random, 4000) == 0) {
            weir_ordered_set_clear(f->space, &f->sets[set]);
            memset(f->weights[set], 0, sizeof f->weights[set]);
        }
    }
    for (size_t set = 0; set < SETS; set++) {
        check_set(f, set);
        for (size_t i = 0; i < f->count; i++) {
            assert_int_equal(add(f, set, i, -f->weights[set][i]), WEIR_OK);
        }
        check_set(f, set);
        const OrderedSet empty = {{0}};
        assert_memory_equal(&f->sets[set], &empty, sizeof empty);
    }
}

static const TypeId all_types[] = {
    TYPE_BOOLEAN,  TYPE_TINYINT,   TYPE_SMALLINT, TYPE_INTEGER, TYPE_BIGINT,    TYPE_HUGEINT,
    TYPE_UTINYINT, TYPE_USMALLINT, TYPE_UINTEGER, TYPE_UBIGINT, TYPE_UHUGEINT,  TYPE_FLOAT,
    TYPE_DOUBLE,   TYPE_VARCHAR,   TYPE_BLOB,     TYPE_DATE,    TYPE_TIMESTAMP, TYPE_TIME_TZ,
    TYPE_INTERVAL, TYPE_UUID,      TYPE_LIST};

static void ordered_set_agrees_with_a_sorted_array_of_every_type(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(all_types); i++) {
        Fixture *f = fixture_new(all_types[i], &random);
        churn(f, &random);
        fixture_free(f);
    }
}

static void ordered_set_takes_batches(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    const TypeId types[] = {TYPE_INTEGER, TYPE_VARCHAR, TYPE_HUGEINT};
    for (size_t t = 0; t < WEIR_ARRAY_COUNT(types); t++) {
        Fixture *f = fixture_new(types[t], &random);
        static _Alignas(16) char data[BATCH_CAPACITY * 16];
        static int64_t weights[BATCH_CAPACITY];
        static uint16_t selection[BATCH_CAPACITY];
        static OrderedSet *sets[BATCH_CAPACITY];
        for (size_t round = 0; round < 20; round++) {
            const bool is_selected = round % 2 == 0;
            const size_t count = random_below(&random, BATCH_CAPACITY / 2);
            for (size_t i = 0; i < count; i++) {
                selection[i] = (uint16_t)(2 * i);
                const size_t place = is_selected ? selection[i] : i;
                const size_t set = random_below(&random, SETS);
                const size_t number = random_below(&random, set_range(f, set));
                memcpy(data + place * f->width, f->values[number], f->width);
                weights[place] = 1 + (int64_t)random_below(&random, 3);
                f->weights[set][number] += weights[place];
                sets[place] = &f->sets[set];
            }
            const Vector vector = vector_of(f->type->phys, data);
            assert_int_equal(weir_ordered_set_add_batch(f->space, sets, &vector,
                                                        is_selected ? selection : NULL, weights,
                                                        count, &f->world.err),
                             WEIR_OK);
        }
        for (size_t set = 0; set < SETS; set++) {
            check_set(f, set);
            weir_ordered_set_clear(f->space, &f->sets[set]);
        }
        fixture_free(f);
    }
}

static void ordered_set_holds_one_zero_and_one_nan(void **state)
{
    (void)state;
    Random random = {.state = 1};
    Fixture *f = fixture_new(TYPE_DOUBLE, &random);
    OrderedSet *set = &f->sets[0];
    const double zeros[] = {0.0, -0.0};
    const uint64_t nans[] = {UINT64_C(0x7FF8000000000001), UINT64_C(0xFFFFFFFFFFFFFFFF)};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(weir_ordered_set_add(f->space, set, &zeros[i], 1, &f->world.err), WEIR_OK);
        assert_int_equal(weir_ordered_set_add(f->space, set, &nans[i], 1, &f->world.err), WEIR_OK);
    }
    assert_int_equal(weir_ordered_set_count(f->space, set), 2);
    double max;
    memcpy(&max, weir_ordered_set_max(f->space, set), sizeof max);
    assert_true(max != max);
    assert_int_equal(weir_ordered_set_add(f->space, set, &nans[0], -2, &f->world.err), WEIR_OK);
    memcpy(&max, weir_ordered_set_max(f->space, set), sizeof max);
    assert_true(max >= 0.0 && max <= 0.0);
    fixture_free(f);
}

static void ordered_set_keeps_a_removed_string_readable_in_the_step(void **state)
{
    (void)state;
    Random random = {.state = 1};
    Fixture *f = fixture_new(TYPE_VARCHAR, &random);
    const String text = weir_string_make("a string of more than twelve bytes", 34);
    assert_int_equal(weir_ordered_set_add(f->space, &f->sets[0], &text, 1, &f->world.err), WEIR_OK);
    String shown;
    memcpy(&shown, weir_ordered_set_min(f->space, &f->sets[0]), sizeof shown);
    assert_ptr_not_equal(weir_string_data(&shown), weir_string_data(&text));
    assert_int_equal(weir_ordered_set_add(f->space, &f->sets[0], &text, -1, &f->world.err),
                     WEIR_OK);
    for (size_t i = 0; i < f->count; i++) {
        assert_int_equal(add(f, 1, i, 1), WEIR_OK);
    }
    assert_true(weir_string_equal(&shown, &text));
    weir_ordered_set_clear(f->space, &f->sets[1]);
    fixture_free(f);
}

static void ordered_set_of_few_values_costs_little(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    OrderedSpace *space = NULL;
    assert_int_equal(weir_ordered_space_new(world.mem, world.pool, weir_type_simple(TYPE_BIGINT),
                                            &space, &world.err),
                     WEIR_OK);
    enum { GROUPS = 20000 };
    OrderedSet *sets = calloc(GROUPS, sizeof *sets);
    for (size_t i = 0; i < GROUPS; i++) {
        for (int64_t value = 0; value < 5; value++) {
            assert_int_equal(weir_ordered_set_add(space, &sets[i], &value, 1, &world.err), WEIR_OK);
        }
    }
    assert_true(weir_ordered_space_bytes(space) / GROUPS < 110);
    free(sets);
    weir_ordered_space_free(space);
    world_deinit(&world);
}

static void ordered_set_refuses_weights_out_of_range(void **state)
{
    (void)state;
    Random random = {.state = 1};
    Fixture *f = fixture_new(TYPE_BIGINT, &random);
    assert_int_equal(add(f, 0, 3, INT64_MAX), WEIR_OK);
    assert_int_equal(add(f, 0, 3, 1), WEIR_ERR_WEIGHT);
    assert_int_equal(add(f, 0, 4, 1), WEIR_ERR_WEIGHT);
    assert_int_equal(add(f, 1, 4, INT32_MAX), WEIR_OK);
    assert_int_equal(add(f, 1, 4, 1), WEIR_OK);
    check_set(f, 0);
    check_set(f, 1);
    fixture_free(f);
}

static void ordered_set_is_unchanged_when_an_allocation_fails(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    const TypeId types[] = {TYPE_INTEGER, TYPE_VARCHAR, TYPE_UHUGEINT};
    for (size_t t = 0; t < WEIR_ARRAY_COUNT(types); t++) {
        Fixture *f = fixture_new(types[t], &random);
        weir_ordered_space_free(f->space);
        for (size_t nth = 1; nth < 6; nth++) {
            weir_mem_fail_after(f->world.mem, nth, false);
            if (fixture_open(f) == WEIR_OK) {
                weir_ordered_space_free(f->space);
            }
        }
        weir_mem_fail_after(f->world.mem, 0, false);
        assert_int_equal(fixture_open(f), WEIR_OK);
        size_t failures = 0;
        for (size_t step = 0; step < 20000; step++) {
            const size_t set = random_below(&random, SETS);
            const size_t number = random_below(&random, set_range(f, set));
            const bool shrinks = step / 4000 % 2 == 1;
            const int64_t before = f->weights[set][number];
            weir_mem_fail_after(f->world.mem, 1 + random_below(&random, 2), false);
            const Status status = add(f, set, number, draw_weight(&random, before, shrinks));
            weir_mem_fail_after(f->world.mem, 0, false);
            if (status != WEIR_OK) {
                assert_int_equal(status, WEIR_ERR_NOMEM);
                failures++;
                check_set(f, set);
            }
        }
        for (size_t set = 0; set < SETS; set++) {
            check_set(f, set);
        }
        assert_true(failures > 5);
        fixture_free(f);
    }
}

/* A batch of random values, on every second place if is_selected, to all sets but the first
 * `spared`. */
static Status load_some(Fixture *f, Random *random, bool is_selected, size_t spared)
{
    static _Alignas(16) char data[BATCH_CAPACITY * 16];
    static int64_t weights[BATCH_CAPACITY];
    static uint16_t selection[BATCH_CAPACITY];
    static OrderedSet *sets[BATCH_CAPACITY];
    const size_t count = random_below(random, is_selected ? BATCH_CAPACITY / 2 : BATCH_CAPACITY);
    for (size_t i = 0; i < count; i++) {
        selection[i] = (uint16_t)(2 * i);
        const size_t place = is_selected ? selection[i] : i;
        const size_t set = spared + random_below(random, SETS - spared);
        const size_t number = random_below(random, set_range(f, set));
        memcpy(data + place * f->width, f->values[number], f->width);
        weights[place] = draw_weight(random, f->weights[set][number], false);
        if (random_below(random, 20000) == 0) {
            weights[place] = INT64_C(5000000000);
        }
        f->weights[set][number] += weights[place];
        sets[place] = &f->sets[set];
    }
    const Vector vector = vector_of(f->type->phys, data);
    return weir_ordered_set_load_batch(f->space, sets, &vector, is_selected ? selection : NULL,
                                       weights, count, &f->world.err);
}

static Status settle_all(Fixture *f)
{
    Status status = WEIR_OK;
    for (size_t set = 0; status == WEIR_OK && set < SETS; set++) {
        status = weir_ordered_set_settle(f->space, &f->sets[set], &f->world.err);
    }
    return status;
}

static void ordered_set_of_loaded_values_is_that_of_added_ones(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(all_types); i++) {
        Fixture *f = fixture_new(all_types[i], &random);
        for (size_t round = 0; round < 3; round++) {
            for (size_t batch = 0; batch < 40; batch++) {
                assert_int_equal(load_some(f, &random, batch % 2 == 0, batch < 30 ? SETS - 2 : 0),
                                 WEIR_OK);
            }
            assert_int_equal(settle_all(f), WEIR_OK);
            for (size_t set = 0; set < SETS; set++) {
                check_set(f, set);
            }
            weir_ordered_space_end_step(f->space);
        }
        churn(f, &random);
        fixture_free(f);
    }
}

/* Values that are loaded and taken back within a step leave nothing. */
static void ordered_set_forgets_loaded_values_that_went(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    const TypeId types[] = {TYPE_INTEGER, TYPE_VARCHAR, TYPE_HUGEINT};
    for (size_t t = 0; t < WEIR_ARRAY_COUNT(types); t++) {
        Fixture *f = fixture_new(types[t], &random);
        OrderedSet *const set = &f->sets[0];
        OrderedSet *sets[2] = {set, set};
        const OrderedSet empty = {{0}};
        for (size_t i = 0; i < f->count; i++) {
            assert_int_equal(add(f, 0, i, 1), WEIR_OK);
            _Alignas(16) char data[2 * 16];
            const int64_t weights[2] = {INT32_MAX, -INT32_MAX};
            memcpy(data, f->values[i], f->width);
            memcpy(data + f->width, f->values[i], f->width);
            const Vector vector = vector_of(f->type->phys, data);
            assert_int_equal(weir_ordered_set_load_batch(f->space, sets, &vector, NULL, weights, 2,
                                                         &f->world.err),
                             WEIR_OK);
            assert_int_equal(weir_ordered_set_settle(f->space, set, &f->world.err), WEIR_OK);
            check_set(f, 0);
        }
        OrderedSet *all[VALUES];
        int64_t weights[VALUES];
        for (size_t i = 0; i < f->count; i++) {
            all[i] = &f->sets[1];
            weights[i] = 1;
        }
        for (int round = 0; round < 2; round++) {
            for (size_t i = 0; i < f->count; i++) {
                const Vector vector = vector_of(f->type->phys, f->values[i]);
                assert_int_equal(weir_ordered_set_load_batch(f->space, all, &vector, NULL,
                                                             weights + i, 1, &f->world.err),
                                 WEIR_OK);
                weights[i] = -1;
            }
        }
        assert_int_equal(weir_ordered_set_settle(f->space, &f->sets[1], &f->world.err), WEIR_OK);
        assert_memory_equal(&f->sets[1], &empty, sizeof empty);
        fixture_free(f);
    }
}

static void ordered_set_is_freed_after_a_load_that_failed(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    const TypeId types[] = {TYPE_INTEGER, TYPE_VARCHAR, TYPE_UHUGEINT};
    for (size_t t = 0; t < WEIR_ARRAY_COUNT(types); t++) {
        Fixture *f = fixture_new(types[t], &random);
        size_t failures = 0;
        for (size_t nth = 1; nth < 120; nth++) {
            weir_ordered_space_free(f->space);
            assert_int_equal(fixture_open(f), WEIR_OK);
            weir_mem_fail_after(f->world.mem, nth, false);
            Status status = WEIR_OK;
            for (size_t batch = 0; status == WEIR_OK && batch < 12; batch++) {
                status = load_some(f, &random, false, SETS - 2);
            }
            if (status == WEIR_OK) {
                status = settle_all(f);
            }
            weir_mem_fail_after(f->world.mem, 0, false);
            assert_true(status == WEIR_OK || status == WEIR_ERR_NOMEM);
            failures += status != WEIR_OK;
            for (size_t set = 0; status == WEIR_OK && set < SETS; set++) {
                check_set(f, set);
            }
        }
        assert_true(failures > 10);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordered_set_agrees_with_a_sorted_array_of_every_type),
        cmocka_unit_test(ordered_set_takes_batches),
        cmocka_unit_test(ordered_set_holds_one_zero_and_one_nan),
        cmocka_unit_test(ordered_set_keeps_a_removed_string_readable_in_the_step),
        cmocka_unit_test(ordered_set_of_few_values_costs_little),
        cmocka_unit_test(ordered_set_refuses_weights_out_of_range),
        cmocka_unit_test(ordered_set_is_unchanged_when_an_allocation_fails),
        cmocka_unit_test(ordered_set_of_loaded_values_is_that_of_added_ones),
        cmocka_unit_test(ordered_set_forgets_loaded_values_that_went),
        cmocka_unit_test(ordered_set_is_freed_after_a_load_that_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
