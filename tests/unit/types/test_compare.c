/* test_compare.c: SQL's order: each list of values is in rising order, checked pair by pair. What is
 * equal stands in one row of the list. Orders were taken from DuckDB. */
#include "types_test.h"

#include "types/interval.h"
#include "types/time.h"

static int sign_of(int order)
{
    return (order > 0) - (order < 0);
}

/* ranks[i]: the place of value i in the order. */
static void check_order(const LogicalType *type, const void *values, const int *ranks, size_t count)
{
    const size_t width = weir_phys_width(type->phys);
    const char *bytes = values;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            const int order = weir_value_compare(type, bytes + i * width, bytes + j * width);
            assert_int_equal(sign_of(order), sign_of(ranks[i] - ranks[j]));
        }
    }
}

#define CHECK_RISING(type, values)                                  \
    do {                                                            \
        int ranks[WEIR_ARRAY_COUNT(values)];                        \
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(values); i++) {     \
            ranks[i] = (int)i;                                      \
        }                                                           \
        check_order(type, values, ranks, WEIR_ARRAY_COUNT(values)); \
    } while (0)

static void integers_are_ordered_by_their_sign_and_size(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const int8_t tiny[] = {INT8_MIN, -1, 0, 1, INT8_MAX};
    CHECK_RISING(weir_type_simple(TYPE_TINYINT), tiny);
    const uint8_t utiny[] = {0, 1, 127, 128, 255};
    CHECK_RISING(weir_type_simple(TYPE_UTINYINT), utiny);
    const int16_t small[] = {INT16_MIN, -1, 0, INT16_MAX};
    CHECK_RISING(weir_type_simple(TYPE_SMALLINT), small);
    CHECK_RISING(weir_type_decimal(&world.arena, 4, 1, &world.err), small);
    const uint16_t usmall[] = {0, 0x7FFF, 0x8000, 0xFFFF};
    CHECK_RISING(weir_type_simple(TYPE_USMALLINT), usmall);
    const int32_t integers[] = {INT32_MIN, -1, 0, 1, INT32_MAX};
    CHECK_RISING(weir_type_simple(TYPE_INTEGER), integers);
    CHECK_RISING(weir_type_simple(TYPE_DATE), integers);
    const uint32_t uintegers[] = {0, 1, UINT32_C(1) << 31, UINT32_MAX};
    CHECK_RISING(weir_type_simple(TYPE_UINTEGER), uintegers);
    const int64_t big[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    CHECK_RISING(weir_type_simple(TYPE_BIGINT), big);
    CHECK_RISING(weir_type_simple(TYPE_TIMESTAMP), big);
    const uint64_t ubig[] = {0, 1, UINT64_C(1) << 63, UINT64_MAX};
    CHECK_RISING(weir_type_simple(TYPE_UBIGINT), ubig);
    const i128 huge[] = {(i128)INT64_MIN * INT64_MAX, INT64_MIN, -1, 0, UINT64_MAX,
                         (i128)UINT64_MAX + 1};
    CHECK_RISING(weir_type_simple(TYPE_HUGEINT), huge);
    CHECK_RISING(weir_type_simple(TYPE_UUID), huge);
    const u128 uhuge[] = {0, UINT64_MAX, (u128)1 << 127, ~(u128)0};
    CHECK_RISING(weir_type_simple(TYPE_UHUGEINT), uhuge);
    const uint8_t booleans[] = {0, 1};
    CHECK_RISING(weir_type_simple(TYPE_BOOLEAN), booleans);
    world_deinit(&world);
}

static void floats_have_a_total_order_with_nan_at_the_end(void **state)
{
    (void)state;
    const double infinity = (double)__builtin_inff();
    const double nan = (double)__builtin_nanf("");
    const double doubles[] = {-infinity, -1.0, -5e-324,  -0.0, 0.0,
                              5e-324,    1.0,  infinity, nan,  -nan};
    const int ranks[] = {0, 1, 2, 3, 3, 4, 5, 6, 7, 7};
    check_order(weir_type_simple(TYPE_DOUBLE), doubles, ranks, WEIR_ARRAY_COUNT(doubles));
    float floats[WEIR_ARRAY_COUNT(doubles)];
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(doubles); i++) {
        floats[i] = (float)doubles[i];
    }
    floats[2] = -1e-45f;
    floats[5] = 1e-45f;
    check_order(weir_type_simple(TYPE_FLOAT), floats, ranks, WEIR_ARRAY_COUNT(floats));
}

static void intervals_are_ordered_after_normalising(void **state)
{
    (void)state;
    const int64_t day = INTERVAL_MICROS_PER_DAY;
    const Interval values[] = {
        {INT32_MIN, INT32_MIN, INT64_MIN},
        {-1, 0, 0},
        {0, -30, 0},
        {0, 0, -day},
        {0, -1, 0},
        {-1, 30, 0},
        {0, 0, 0},
        {1, -30, 0},
        {1, 0, -30 * day},
        {0, 0, 1},
        {0, 1, -1}, /* 1 day - 1 microsecond: days first */
        {0, 1, 0},
        {0, 0, day},
        {0, 29, 0},
        {1, -1, 0}, /* larger than 29 days, since its month is 1 */
        {1, 0, 0},
        {0, 30, 0},
        {0, 29, day},
        {0, 0, 30 * day},
        {0, 20, 15 * day},
        {1, 5, 0},
        {12, 0, 0},
        {0, 360, 0},
        {INT32_MAX, INT32_MAX, INT64_MAX},
    };
    const int ranks[] = {0, 1, 1, 2, 2, 3, 3, 3,  3,  4,  5,  6,
                         6, 7, 8, 9, 9, 9, 9, 10, 10, 11, 11, 12};
    assert_int_equal(WEIR_ARRAY_COUNT(values), WEIR_ARRAY_COUNT(ranks));
    check_order(weir_type_simple(TYPE_INTERVAL), values, ranks, WEIR_ARRAY_COUNT(values));
}

static void canonical_intervals_are_equal_in_bytes_if_equal_in_value(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    static const int32_t edges[] = {INT32_MIN, -31, -30, -1, 0, 1, 29, 30, 31, INT32_MAX};
    for (size_t i = 0; i < 200000; i++) {
        const int64_t micros =
            random_below(&random, 4) == 0
                ? (int64_t)random_next(&random)
                : ((int64_t)random_below(&random, 80) - 40) * INTERVAL_MICROS_PER_DAY;
        const Interval a = {.months = edges[random_below(&random, 10)],
                            .days = edges[random_below(&random, 10)],
                            .micros = micros};
        const Interval b = {.months = edges[random_below(&random, 10)],
                            .days = edges[random_below(&random, 10)],
                            .micros = micros + (int64_t)random_below(&random, 2)};
        const Interval x = weir_interval_canonical(a);
        const Interval y = weir_interval_canonical(b);
        assert_int_equal(weir_interval_compare(a, x), 0);
        assert_int_equal(weir_interval_compare(a, b) == 0, memcmp(&x, &y, sizeof x) == 0);
        const Interval again = weir_interval_canonical(x);
        assert_memory_equal(&again, &x, sizeof x);
    }
}

static void strings_are_ordered_by_bytes_then_length(void **state)
{
    (void)state;
    String values[] = {
        weir_string_make("", 0),
        weir_string_make("\0", 1),
        weir_string_make("\0\0\0\0\0\0\0\0\0\0\0\0\0", 13),
        weir_string_make("a", 1),
        weir_string_make("a\0", 2),
        string_of("ab"),
        string_of("abcd"),
        string_of("abcde"),
        string_of("abcdefghijkl"),
        string_of("abcdefghijklm"),
        string_of("abcdefghijklm and more"),
        string_of("abcdefghijklz"),
        string_of("abd"),
        string_of("b"),
        string_of("\x7F"),
        string_of("\xC3\xA4"),
        string_of("\xFF\xFF"),
    };
    CHECK_RISING(weir_type_simple(TYPE_VARCHAR), values);
    CHECK_RISING(weir_type_simple(TYPE_BLOB), values);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(values); i++) {
        for (size_t j = 0; j < WEIR_ARRAY_COUNT(values); j++) {
            assert_int_equal(weir_string_equal(&values[i], &values[j]), i == j);
        }
        char copy[40];
        memcpy(copy, weir_string_data(&values[i]), weir_string_size(&values[i]));
        const String same = weir_string_make(copy, weir_string_size(&values[i]));
        assert_true(weir_string_equal(&values[i], &same));
        assert_int_equal(weir_string_compare(&values[i], &same), 0);
    }
}

static void times_with_zone_are_ordered_by_utc_then_by_offset(void **state)
{
    (void)state;
    const int64_t hour = TIME_MICROS_PER_HOUR;
    const uint64_t values[] = {
        weir_time_tz_make(0, TIME_TZ_MAX_OFFSET),
        weir_time_tz_make(0, 3600),
        weir_time_tz_make(13 * hour, 3600), /* 12:00 UTC, the larger offset first */
        weir_time_tz_make(12 * hour, 0),
        weir_time_tz_make(11 * hour, -3600),
        weir_time_tz_make(12 * hour + 1, 0),
        weir_time_tz_make(0, -15 * 3600),
        weir_time_tz_make(24 * hour, -TIME_TZ_MAX_OFFSET),
    };
    CHECK_RISING(weir_type_simple(TYPE_TIME_TZ), values);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(values); i++) {
        assert_int_equal(values[i], weir_time_tz_make(weir_time_tz_micros(values[i]),
                                                      weir_time_tz_offset(values[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_ordered_by_their_sign_and_size),
        cmocka_unit_test(floats_have_a_total_order_with_nan_at_the_end),
        cmocka_unit_test(intervals_are_ordered_after_normalising),
        cmocka_unit_test(canonical_intervals_are_equal_in_bytes_if_equal_in_value),
        cmocka_unit_test(strings_are_ordered_by_bytes_then_length),
        cmocka_unit_test(times_with_zone_are_ordered_by_utc_then_by_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
