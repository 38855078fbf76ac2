/* test_float_sum.c: the sum against a plain integer of 2432 bits, rounded bit by bit. */
#include "types_test.h"

#include <math.h>

#include "types/float_sum.h"

/* --- the reference ------------------------------------------------------------------------------- */

enum { BIG_LIMBS = 76, BIG_BITS = BIG_LIMBS * 32 };

/* Two's complement, in units of 2^-1074. */
typedef struct Big {
    uint32_t limbs[BIG_LIMBS];
} Big;

static int big_bit(const Big *big, int bit)
{
    return bit < 0 || bit >= BIG_BITS ? 0 : (int)(big->limbs[bit / 32] >> (bit % 32) & 1u);
}

static void big_add(Big *big, const Big *other, bool subtract)
{
    uint64_t carry = subtract ? 1 : 0;
    for (size_t i = 0; i < BIG_LIMBS; i++) {
        const uint32_t limb = subtract ? ~other->limbs[i] : other->limbs[i];
        const uint64_t sum = (uint64_t)big->limbs[i] + limb + carry;
        big->limbs[i] = (uint32_t)sum;
        carry = sum >> 32;
    }
}

static void big_shift(Big *big, int bits)
{
    Big shifted = {{0}};
    for (int bit = bits; bit < BIG_BITS; bit++) {
        if (big_bit(big, bit - bits) != 0) {
            shifted.limbs[bit / 32] |= UINT32_C(1) << (bit % 32);
        }
    }
    *big = shifted;
}

/* big += value * weight, by schoolbook steps. */
static void big_add_product(Big *big, double value, int64_t weight)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7FF);
    const uint64_t significand = (bits & 0xFFFFFFFFFFFFF) | (exponent > 0 ? UINT64_C(1) << 52 : 0);
    const uint64_t magnitude = weight < 0 ? 0 - (uint64_t)weight : (uint64_t)weight;
    u128 product = (u128)significand * magnitude;
    Big term = {{0}};
    for (size_t i = 0; product != 0; i++) {
        term.limbs[i] = (uint32_t)product;
        product >>= 32;
    }
    big_shift(&term, exponent > 0 ? exponent - 1 : 0);
    big_add(big, &term, (bits >> 63 != 0) != (weight < 0));
}

/* The nearest double, ties to even, found by looking at single bits. */
static double big_round(const Big *big)
{
    Big magnitude = *big;
    const bool is_negative = big_bit(big, BIG_BITS - 1) != 0;
    if (is_negative) {
        magnitude = (Big){{0}};
        big_add(&magnitude, big, true);
    }
    int highest = BIG_BITS - 1;
    while (highest >= 0 && big_bit(&magnitude, highest) == 0) {
        highest--;
    }
    if (highest < 0) {
        return 0.0;
    }
    const int lowest = highest > 52 ? highest - 52 : 0;
    uint64_t significand = 0;
    for (int bit = highest; bit >= lowest; bit--) {
        significand = significand << 1 | (uint64_t)big_bit(&magnitude, bit);
    }
    bool has_rest = false;
    for (int bit = 0; bit < lowest - 1; bit++) {
        has_rest = has_rest || big_bit(&magnitude, bit) != 0;
    }
    if (big_bit(&magnitude, lowest - 1) != 0 && (has_rest || significand % 2 == 1)) {
        significand++;
    }
    const double result = ldexp((double)significand, lowest - 1074); /* exact, or infinite */
    return is_negative ? -result : result;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* --- values of all kinds --------------------------------------------------------------------------- */

static double power_of_two(int exponent)
{
    return exponent < -1022 ? double_of(UINT64_C(1) << (exponent + 1074))
                            : double_of((uint64_t)(exponent + 1023) << 52);
}

static double random_value(Random *random, size_t kind)
{
    const double sign = random_below(random, 2) == 0 ? 1.0 : -1.0;
    static const double edges[] = {
        1.7976931348623157e308, 2.2250738585072014e-308, 2.225073858507201e-308, 5e-324, 1.0,
        9007199254740992.0,     9007199254740993.0,      1.1102230246251565e-16, 0.5,    0.0,
    };
    switch (kind) {
    case 0: /* prices */ return sign * (double)random_below(random, 1000000) / 100.0;
    case 1: /* any finite bits */
        return double_of(random_next(random) & UINT64_C(0xBFFFFFFFFFFFFFFF));
    case 2: /* subnormal */ return double_of(random_next(random) & UINT64_C(0x800FFFFFFFFFFFFF));
    case 3: /* wide */
        return sign * power_of_two((int)random_below(random, 140) - 70) *
               (double)random_below(random, 1 << 30);
    case 4: /* halfway cases */ return sign * power_of_two((int)random_below(random, 64) - 58);
    case 5: return sign * edges[random_below(random, WEIR_ARRAY_COUNT(edges))];
    default: /* the whole range of exponents */
        return sign * power_of_two((int)random_below(random, 2098) - 1074);
    }
}

static int64_t random_weight(Random *random)
{
    static const int64_t weights[] = {1, 1,  1,       1,         -1,         -1,
                                      2, -3, 1000000, INT64_MAX, -INT64_MAX, INT64_MIN};
    const size_t pick = random_below(random, WEIR_ARRAY_COUNT(weights) + 1);
    return pick < WEIR_ARRAY_COUNT(weights) ? weights[pick] : (int64_t)random_next(random);
}

typedef struct Entry {
    double value;
    int64_t weight;
} Entry;

static void add(World *world, FloatSum *sum, double value, int64_t weight)
{
    assert_int_equal(weir_float_sum_add(sum, world->mem, value, weight, &world->err), WEIR_OK);
}

static void check_value(const FloatSum *sum, const Big *reference)
{
    assert_int_equal(bits_of(weir_float_sum_value(sum)), bits_of(big_round(reference)));
}

/* --- tests ------------------------------------------------------------------------------------------ */

static void sums_are_the_nearest_double_after_every_change(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    for (size_t round = 0; round < 400; round++) {
        FloatSum sum = {0};
        Big reference = {{0}};
        Entry entries[40];
        size_t count = 0;
        const size_t kind = random_below(&random, 8);
        for (size_t step = 0; step < 40; step++) {
            Entry entry = {0};
            if (count > 0 && random_below(&random, 3) == 0) {
                const size_t pick = random_below(&random, count);
                entry = entries[pick];
                entries[pick] = entries[--count];
                entry.weight = -entry.weight;
            } else {
                entry.value = random_value(&random, kind < 7 ? kind : random_below(&random, 7));
                entry.weight = random_weight(&random);
                if (entry.weight != INT64_MIN) {
                    entries[count++] = entry;
                }
            }
            add(&world, &sum, entry.value, entry.weight);
            big_add_product(&reference, entry.value, entry.weight);
            check_value(&sum, &reference);
        }
        weir_float_sum_deinit(&sum, world.mem);
    }
    world_deinit(&world);
}

static void taking_everything_out_gives_zero_and_what_is_left_returns_exactly(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    for (size_t kind = 0; kind < 7; kind++) {
        FloatSum sum = {0};
        Entry entries[200];
        for (size_t i = 0; i < 200; i++) {
            entries[i] = (Entry){random_value(&random, kind), (int64_t)random_below(&random, 9)};
            add(&world, &sum, entries[i].value, entries[i].weight);
        }
        add(&world, &sum, 0.1, 1);
        for (size_t i = 0; i < 200; i++) {
            add(&world, &sum, entries[i].value, -entries[i].weight);
        }
        assert_int_equal(bits_of(weir_float_sum_value(&sum)), bits_of(0.1));
        add(&world, &sum, 0.1, -1);
        assert_int_equal(bits_of(weir_float_sum_value(&sum)), 0);
        weir_float_sum_deinit(&sum, world.mem);
    }
    world_deinit(&world);
}

static void long_sums_do_not_drift(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    FloatSum sum = {0};
    for (size_t i = 0; i < 100000; i++) {
        add(&world, &sum, 0.1, 1);
    }
    /* 0.1 is 3602879701896397 / 2^55 */
    assert_true(weir_float_sum_value(&sum) ==
                (double)((u128)3602879701896397u * 100000) / 36028797018963968.0);
    assert_int_equal(sum.form, FLOAT_SUM_WINDOW);
    for (size_t i = 0; i < 100000; i++) {
        add(&world, &sum, -0.1, 1);
    }
    assert_int_equal(bits_of(weir_float_sum_value(&sum)), 0);
    weir_float_sum_deinit(&sum, world.mem);
    world_deinit(&world);
}

static void infinities_and_nan_come_and_go(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const double infinity = (double)__builtin_inff();
    const double nan = (double)__builtin_nanf("");
    FloatSum sum = {0};
    add(&world, &sum, 1.5, 1);
    add(&world, &sum, infinity, 2);
    assert_true(weir_float_sum_value(&sum) == infinity);
    add(&world, &sum, -infinity, 1);
    assert_true(weir_float_sum_value(&sum) != weir_float_sum_value(&sum));
    add(&world, &sum, infinity, -2);
    assert_true(weir_float_sum_value(&sum) == -infinity);
    add(&world, &sum, -nan, 1);
    add(&world, &sum, -infinity, -1);
    assert_int_equal(bits_of(weir_float_sum_value(&sum)), UINT64_C(0x7FF8000000000000));
    add(&world, &sum, nan, -1);
    assert_true(weir_float_sum_value(&sum) == 1.5);
    weir_float_sum_deinit(&sum, world.mem);
    world_deinit(&world);
}

static void sums_beyond_the_range_are_infinite_until_they_come_back(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const double largest = 1.7976931348623157e308;
    FloatSum sum = {0};
    add(&world, &sum, largest, INT64_MAX);
    add(&world, &sum, 5e-324, 1);
    assert_true(weir_float_sum_value(&sum) == (double)__builtin_inff());
    add(&world, &sum, largest, -(INT64_MAX - 1));
    assert_true(weir_float_sum_value(&sum) == largest);
    add(&world, &sum, largest, -1);
    assert_true(weir_float_sum_value(&sum) == 5e-324);
    weir_float_sum_deinit(&sum, world.mem);
    world_deinit(&world);
}

static void negative_zeros_sum_to_zero(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    FloatSum sum = {0};
    assert_int_equal(bits_of(weir_float_sum_value(&sum)), 0);
    add(&world, &sum, -0.0, 3);
    add(&world, &sum, 5.0, 0);
    assert_int_equal(bits_of(weir_float_sum_value(&sum)), 0);
    assert_int_equal(sum.form, FLOAT_SUM_EMPTY);
    world_deinit(&world);
}

static void ordinary_data_needs_no_block(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    FloatSum sum = {0};
    for (size_t i = 0; i < 100000; i++) {
        add(&world, &sum, random_value(&random, 0), 1);
        add(&world, &sum, (double)random_below(&random, SIZE_MAX), -1);
    }
    assert_int_equal(sum.form, FLOAT_SUM_WINDOW);
    assert_int_equal(weir_mem_allocation_count(world.mem), 0);
    world_deinit(&world);
}

static void copies_are_independent(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    FloatSum sum = {0};
    FloatSum copy = {0};
    add(&world, &sum, 1e300, 1);
    add(&world, &sum, 1.0, 1);
    assert_int_equal(sum.form, FLOAT_SUM_BLOCK);
    assert_int_equal(weir_float_sum_copy(&sum, world.mem, &copy, &world.err), WEIR_OK);
    add(&world, &sum, 1e300, -1);
    assert_true(weir_float_sum_value(&sum) == 1.0);
    assert_true(weir_float_sum_value(&copy) == 1e300);
    weir_float_sum_deinit(&sum, world.mem);
    weir_float_sum_deinit(&sum, world.mem);
    add(&world, &copy, 1e300, -1);
    assert_true(weir_float_sum_value(&copy) == 1.0);
    weir_float_sum_deinit(&copy, world.mem);
    add(&world, &sum, 2.5, 1);
    assert_int_equal(weir_float_sum_copy(&sum, world.mem, &copy, &world.err), WEIR_OK);
    assert_true(weir_float_sum_value(&copy) == 2.5);
    world_deinit(&world);
}

static void a_failing_allocation_leaves_the_sum_as_it_was(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    FloatSum sum = {0};
    FloatSum copy = {0};
    add(&world, &sum, 3.25, 1);
    weir_mem_fail_after(world.mem, 1, true);
    const double infinity = (double)__builtin_inff();
    assert_int_equal(weir_float_sum_add(&sum, world.mem, 1e300, 1, &world.err), WEIR_ERR_NOMEM);
    assert_int_equal(weir_float_sum_add(&sum, world.mem, infinity, 1, &world.err), WEIR_ERR_NOMEM);
    assert_true(weir_float_sum_value(&sum) == 3.25);
    weir_mem_fail_after(world.mem, 0, false);
    add(&world, &sum, infinity, 1);
    weir_mem_fail_after(world.mem, 1, true);
    assert_int_equal(weir_float_sum_copy(&sum, world.mem, &copy, &world.err), WEIR_ERR_NOMEM);
    add(&world, &sum, infinity, -1);
    assert_true(weir_float_sum_value(&sum) == 3.25);
    weir_float_sum_deinit(&sum, world.mem);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_the_nearest_double_after_every_change),
        cmocka_unit_test(taking_everything_out_gives_zero_and_what_is_left_returns_exactly),
        cmocka_unit_test(long_sums_do_not_drift),
        cmocka_unit_test(infinities_and_nan_come_and_go),
        cmocka_unit_test(sums_beyond_the_range_are_infinite_until_they_come_back),
        cmocka_unit_test(negative_zeros_sum_to_zero),
        cmocka_unit_test(ordinary_data_needs_no_block),
        cmocka_unit_test(copies_are_independent),
        cmocka_unit_test(a_failing_allocation_leaves_the_sum_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
