/* test_accumulator.c: accumulators on bare rows: what comes goes without a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agg/aggregate.h"

static uint64_t random_state = 7;

static uint64_t next_random(void)
{
    random_state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A number with a random count of significant bits, either sign. */
static i128 random_wide(void)
{
    const u128 bits = (u128)next_random() << 64 | next_random();
    return (i128)bits >> (next_random() % 128);
}

/* A weight that leaves room for sums of a few hundred. */
static int64_t random_weight(void)
{
    return (int64_t)next_random() >> (10 + next_random() % 54);
}

enum { ROWS = 300, STATE_WORDS = 64 };

typedef struct Group {
    u128 align;
    uint64_t words[STATE_WORDS];
} Group;

typedef struct Sample {
    Vector arg;
    i128 values[ROWS];
    int64_t weights[ROWS];
    Group group;
    Row *rows[ROWS];
} Sample;

/* The accumulator of a call on one group, at offset 16 of its row. */
static void open_call(Accumulator *accumulator, const char *name, TypeId arg, Mem *mem,
                      Sample *sample)
{
    Error err = {0};
    const AggregateSignature call = {.name = name, .arg = weir_type_simple(arg)};
    const AggregateDef *def = weir_aggregate_find(&call);
    assert_non_null(def);
    assert_int_equal(
        weir_accumulator_open(accumulator, def->accumulator, call.arg, mem, NULL, &err), WEIR_OK);
    accumulator->shown = 16;
    accumulator->hidden = 16 + accumulator->type->shown_bytes;
    *sample = (Sample){.arg = {.phys = call.arg->phys, .data = sample->values}};
    for (size_t i = 0; i < ROWS; i++) {
        sample->rows[i] = (Row *)(void *)&sample->group;
    }
}

static void update(Accumulator *accumulator, const Sample *sample, bool is_lone)
{
    Error err = {0};
    const AccumulatorInput in = {
        .arg = &sample->arg,
        .count = ROWS,
        .weights = sample->weights,
        .rows = sample->rows,
        .lone = is_lone ? sample->rows[0] : NULL,
    };
    assert_int_equal(accumulator->update(accumulator, &in, &err), WEIR_OK);
}

/* Takes all rows out again, the last first. */
static void take_back(Accumulator *accumulator, Sample *sample)
{
    for (size_t i = 0; i < ROWS / 2; i++) {
        const i128 value = sample->values[i];
        const int64_t weight = sample->weights[i];
        sample->values[i] = sample->values[ROWS - 1 - i];
        sample->weights[i] = sample->weights[ROWS - 1 - i];
        sample->values[ROWS - 1 - i] = value;
        sample->weights[ROWS - 1 - i] = weight;
    }
    for (size_t i = 0; i < ROWS; i++) {
        sample->weights[i] = -sample->weights[i];
    }
    update(accumulator, sample, false);
}

static void sums_of_hugeints_are_exact_whatever_passes_through(void **state)
{
    WEIR_UNUSED(state);
    static Sample sample;
    static const Group empty;
    Mem *mem = weir_mem_new(0);
    Accumulator accumulator;
    for (int round = 0; round < 100; round++) {
        open_call(&accumulator, "sum", TYPE_HUGEINT, mem, &sample);
        u128 low = 0;
        int64_t count = 0;
        for (size_t i = 0; i < ROWS; i++) {
            sample.values[i] = random_wide();
            sample.weights[i] = random_weight();
            low += (u128)sample.values[i] * (u128)(i128)sample.weights[i];
            count += sample.weights[i];
        }
        update(&accumulator, &sample, round % 2 == 0);
        const uint64_t *shown = sample.group.words;
        assert_true(shown[0] == (uint64_t)low && shown[1] == (uint64_t)(low >> 64));
        assert_int_equal((int64_t)shown[3], count);
        take_back(&accumulator, &sample);
        assert_memory_equal(&sample.group, &empty, sizeof empty);
        weir_accumulator_close(&accumulator);
    }
    weir_mem_free_allocator(mem);
}

/* Values of the width of the argument, packed as in a vector. */
static void pack_values(Sample *sample)
{
    const size_t width = weir_phys_width(sample->arg.phys);
    unsigned char *bytes = (unsigned char *)sample->values;
    for (size_t i = 0; i < ROWS; i++) {
        u128 value = (u128)next_random() << 64 | next_random();
        if (sample->arg.phys == PHYS_U8) {
            value &= 1;
        }
        memcpy(bytes + i * width, &value, width);
    }
}

static void linear_states_return_to_zero(void **state)
{
    WEIR_UNUSED(state);
    static const struct {
        const char *name;
        TypeId arg;
    } calls[] = {
        {"count", TYPE_VARCHAR},   {"sum", TYPE_TINYINT},     {"sum", TYPE_SMALLINT},
        {"sum", TYPE_INTEGER},     {"sum", TYPE_BIGINT},      {"sum", TYPE_UTINYINT},
        {"sum", TYPE_USMALLINT},   {"sum", TYPE_UINTEGER},    {"sum", TYPE_UBIGINT},
        {"sum", TYPE_BOOLEAN},     {"avg", TYPE_TIMESTAMP},   {"bit_xor", TYPE_BIGINT},
        {"bit_and", TYPE_INTEGER}, {"bit_or", TYPE_UTINYINT}, {"bool_or", TYPE_BOOLEAN},
    };
    static Sample sample;
    static const Group empty;
    Mem *mem = weir_mem_new(0);
    for (size_t k = 0; k < WEIR_ARRAY_COUNT(calls); k++) {
        Accumulator accumulator;
        open_call(&accumulator, calls[k].name, calls[k].arg, mem, &sample);
        pack_values(&sample);
        for (size_t i = 0; i < ROWS; i++) {
            sample.weights[i] = random_weight();
        }
        update(&accumulator, &sample, false);
        assert_memory_not_equal(&sample.group, &empty, sizeof empty);
        for (size_t i = 0; i < ROWS; i++) {
            sample.weights[i] = -sample.weights[i];
        }
        update(&accumulator, &sample, k % 2 == 0);
        assert_memory_equal(&sample.group, &empty, sizeof empty);
        weir_accumulator_close(&accumulator);
    }
    weir_mem_free_allocator(mem);
}

static void a_count_that_leaves_its_range_is_an_error(void **state)
{
    WEIR_UNUSED(state);
    static Sample sample;
    Mem *mem = weir_mem_new(0);
    Error err = {0};
    Accumulator accumulator;
    open_call(&accumulator, "count", TYPE_INTEGER, mem, &sample);
    sample.weights[0] = INT64_MAX;
    sample.weights[1] = 1;
    const AccumulatorInput in = {
        .arg = &sample.arg,
        .count = 2,
        .weights = sample.weights,
        .rows = sample.rows,
    };
    assert_int_equal(accumulator.update(&accumulator, &in, &err), WEIR_ERR_WEIGHT);
    weir_accumulator_close(&accumulator);
    weir_mem_free_allocator(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_hugeints_are_exact_whatever_passes_through),
        cmocka_unit_test(linear_states_return_to_zero),
        cmocka_unit_test(a_count_that_leaves_its_range_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
