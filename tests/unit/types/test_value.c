/* test_value.c: constants as SQL. That DuckDB reads each of these texts as exactly the value was
 * checked against DuckDB; here the texts are pinned. */
#include "types_test.h"

#include "types/interval.h"
#include "types/time.h"
#include "types/value.h"

static void check_sql(const LogicalType *type, const void *bytes, const char *wanted)
{
    World world;
    world_init(&world);
    Value value = {.type = type, .is_null = bytes == NULL};
    if (bytes != NULL) {
        memcpy(value.data.bytes, bytes, weir_phys_width(type->phys));
    }
    Buf buf;
    weir_buf_init(&buf, world.mem, 10000);
    weir_value_put_sql(&buf, &value);
    assert_int_equal(weir_buf_status(&buf, &world.err), WEIR_OK);
    assert_string_equal(buf.data, wanted);
    weir_buf_deinit(&buf);
    world_deinit(&world);
}

#define CHECK(id, ctype, value, wanted)                           \
    do {                                                          \
        const ctype bytes = (value);                              \
        check_sql(weir_type_simple(TYPE_##id), &bytes, (wanted)); \
    } while (0)

static void integers_are_spelled_with_their_type(void **state)
{
    (void)state;
    CHECK(TINYINT, int8_t, INT8_MIN, "CAST('-128' AS TINYINT)");
    CHECK(UTINYINT, uint8_t, 255, "CAST('255' AS UTINYINT)");
    CHECK(SMALLINT, int16_t, -1, "CAST('-1' AS SMALLINT)");
    CHECK(USMALLINT, uint16_t, 65535, "CAST('65535' AS USMALLINT)");
    CHECK(INTEGER, int32_t, INT32_MIN, "CAST('-2147483648' AS INTEGER)");
    CHECK(UINTEGER, uint32_t, UINT32_MAX, "CAST('4294967295' AS UINTEGER)");
    CHECK(BIGINT, int64_t, INT64_MIN, "CAST('-9223372036854775808' AS BIGINT)");
    CHECK(UBIGINT, uint64_t, UINT64_MAX, "CAST('18446744073709551615' AS UBIGINT)");
    CHECK(HUGEINT, i128, (i128)((u128)1 << 127),
          "CAST('-170141183460469231731687303715884105728' AS HUGEINT)");
    CHECK(UHUGEINT, u128, ~(u128)0, "CAST('340282366920938463463374607431768211455' AS UHUGEINT)");
    CHECK(BOOLEAN, uint8_t, 1, "CAST('true' AS BOOLEAN)");
    CHECK(BOOLEAN, uint8_t, 0, "CAST('false' AS BOOLEAN)");
}

static void decimals_are_spelled_with_all_their_digits(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const int16_t small = -5;
    check_sql(weir_type_decimal(&world.arena, 4, 2, &world.err), &small,
              "CAST('-0.05' AS DECIMAL(4,2))");
    const i128 large = (i128)INT64_MAX * 1000 + 1;
    check_sql(weir_type_decimal(&world.arena, 38, 3, &world.err), &large,
              "CAST('9223372036854775807.001' AS DECIMAL(38,3))");
    check_sql(weir_type_decimal(&world.arena, 38, 38, &world.err), &large,
              "CAST('0.00000000000000009223372036854775807001' AS DECIMAL(38,38))");
    world_deinit(&world);
}

static void floats_are_spelled_so_that_they_come_back(void **state)
{
    (void)state;
    CHECK(DOUBLE, double, 0.1, "CAST('0.10000000000000001' AS DOUBLE)");
    CHECK(DOUBLE, double, -0.0, "CAST('-0' AS DOUBLE)");
    CHECK(DOUBLE, double, 5e-324, "CAST('4.9406564584124654e-324' AS DOUBLE)");
    CHECK(DOUBLE, double, (double)__builtin_inff(), "CAST('inf' AS DOUBLE)");
    CHECK(DOUBLE, double, -(double)__builtin_inff(), "CAST('-inf' AS DOUBLE)");
    CHECK(DOUBLE, double, (double)__builtin_nanf(""), "CAST('nan' AS DOUBLE)");
    CHECK(FLOAT, float, 0.1f, "CAST('0.100000001' AS FLOAT)");
    CHECK(FLOAT, float, 3.40282347e+38f, "CAST('3.40282347e+38' AS FLOAT)");
}

static void dates_and_times_are_spelled_over_their_whole_range(void **state)
{
    (void)state;
    CHECK(DATE, int32_t, 0, "CAST('1970-01-01' AS DATE)");
    CHECK(DATE, int32_t, DATE_MIN, "CAST('5877642-06-25 (BC)' AS DATE)");
    CHECK(DATE, int32_t, DATE_MAX, "CAST('5881580-07-10' AS DATE)");
    CHECK(DATE, int32_t, DATE_INFINITY, "CAST('infinity' AS DATE)");
    CHECK(DATE, int32_t, DATE_NEGATIVE_INFINITY, "CAST('-infinity' AS DATE)");
    CHECK(TIME, int64_t, TIME_MICROS_PER_DAY, "CAST('24:00:00.000000' AS TIME)");
    CHECK(TIME_NS, int64_t, 1, "CAST('00:00:00.000000001' AS TIME_NS)");
    CHECK(TIME_TZ, uint64_t, weir_time_tz_make(1, -90),
          "CAST('00:00:00.000001-00:01:30' AS TIME WITH TIME ZONE)");
    CHECK(TIMESTAMP, int64_t, -1, "CAST('1969-12-31 23:59:59.999999' AS TIMESTAMP)");
    CHECK(TIMESTAMP, int64_t, INT64_C(-9223372022400000000),
          "CAST('290309-12-22 (BC) 00:00:00.000000' AS TIMESTAMP)");
    CHECK(TIMESTAMP, int64_t, INT64_MAX, "CAST('infinity' AS TIMESTAMP)");
    CHECK(TIMESTAMP_S, int64_t, -1, "CAST('1969-12-31 23:59:59' AS TIMESTAMP_S)");
    CHECK(TIMESTAMP_MS, int64_t, 5, "CAST('1970-01-01 00:00:00.005' AS TIMESTAMP_MS)");
    CHECK(TIMESTAMP_NS, int64_t, 5, "CAST('1970-01-01 00:00:00.000000005' AS TIMESTAMP_NS)");
    CHECK(TIMESTAMP_TZ, int64_t, 0,
          "CAST('1970-01-01 00:00:00.000000+00' AS TIMESTAMP WITH TIME ZONE)");
    CHECK(TIMESTAMP_TZ, int64_t, -INT64_MAX, "CAST('-infinity' AS TIMESTAMP WITH TIME ZONE)");
    const Interval interval = {-1, 2, -3};
    check_sql(weir_type_simple(TYPE_INTERVAL), &interval,
              "CAST('-1 months 2 days -3 microseconds' AS INTERVAL)");
    const Interval least = {INT32_MIN, INT32_MIN, INT64_MIN};
    check_sql(weir_type_simple(TYPE_INTERVAL), &least,
              "CAST('-2147483648 months -2147483648 days -9223372036854775807 microseconds"
              " -1 microseconds' AS INTERVAL)");
}

static void texts_and_bytes_are_spelled_whatever_they_hold(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    String text = weir_string_make("it's", 4);
    check_sql(weir_type_simple(TYPE_VARCHAR), &text, "CAST('it''s' AS VARCHAR)");
    check_sql(weir_type_json(), &text, "CAST('it''s' AS JSON)");
    text = weir_string_make("a\0b", 3);
    check_sql(weir_type_simple(TYPE_VARCHAR), &text, "CAST(('a' || chr(0) || 'b') AS VARCHAR)");
    text = weir_string_make("\x00'\xFF", 3);
    check_sql(weir_type_simple(TYPE_BLOB), &text, "CAST('\\x00\\x27\\xFF' AS BLOB)");
    text = weir_string_make("\x04\xF5", 2);
    check_sql(weir_type_simple(TYPE_BIT), &text, "CAST('0101' AS BIT)");
    text = weir_string_make("\x00\x80\x01", 3);
    check_sql(weir_type_simple(TYPE_BIT), &text, "CAST('1000000000000001' AS BIT)");
    const i128 uuid = (i128)(((u128)UINT64_C(0x8123456789ABCDEF) << 64) | 0x1122334455667788);
    check_sql(weir_type_simple(TYPE_UUID), &uuid,
              "CAST('01234567-89ab-cdef-1122-334455667788' AS UUID)");
    const LogicalType *mood =
        weir_type_enum(&world.arena, (const char *const[]){"a", "it's"}, 2, &world.err);
    const uint8_t index = 1;
    check_sql(mood, &index, "CAST('it''s' AS ENUM('a', 'it''s'))");
    world_deinit(&world);
}

static void bignums_are_spelled_in_decimal(void **state)
{
    (void)state;
    String text = weir_string_make("\x80\x00\x01\x00", 4);
    check_sql(weir_type_simple(TYPE_BIGNUM), &text, "CAST('0' AS BIGNUM)");
    text = weir_string_make("\x7F\xFF\xFE\x84", 4);
    check_sql(weir_type_simple(TYPE_BIGNUM), &text, "CAST('-123' AS BIGNUM)");
    /* 2^80 */
    text = weir_string_make("\x80\x00\x0B\x01\0\0\0\0\0\0\0\0\0\0", 14);
    check_sql(weir_type_simple(TYPE_BIGNUM), &text, "CAST('1208925819614629174706176' AS BIGNUM)");
}

static void nulls_keep_their_type(void **state)
{
    (void)state;
    check_sql(weir_type_simple(TYPE_DATE), NULL, "CAST(NULL AS DATE)");
    check_sql(weir_type_simple(TYPE_SQLNULL), NULL, "NULL");
}

static void spelling_reports_failing_allocations(void **state)
{
    (void)state;
    bool is_done = false;
    for (size_t nth = 1; !is_done; nth++) {
        World world;
        world_init(&world);
        const String text = weir_string_make("\x80\x00\x0B\x01\0\0\0\0\0\0\0\0\0\0", 14);
        Value value = {.type = weir_type_simple(TYPE_BIGNUM)};
        memcpy(value.data.bytes, &text, sizeof text);
        Buf buf;
        weir_buf_init(&buf, world.mem, 10000);
        weir_mem_fail_after(world.mem, nth, true);
        weir_value_put_sql(&buf, &value);
        const Status status = weir_buf_status(&buf, &world.err);
        is_done = status == WEIR_OK;
        assert_true(is_done || status == WEIR_ERR_NOMEM);
        assert_true(!is_done || nth > 3);
        weir_buf_deinit(&buf);
        world_deinit(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_spelled_with_their_type),
        cmocka_unit_test(decimals_are_spelled_with_all_their_digits),
        cmocka_unit_test(floats_are_spelled_so_that_they_come_back),
        cmocka_unit_test(dates_and_times_are_spelled_over_their_whole_range),
        cmocka_unit_test(texts_and_bytes_are_spelled_whatever_they_hold),
        cmocka_unit_test(bignums_are_spelled_in_decimal),
        cmocka_unit_test(nulls_keep_their_type),
        cmocka_unit_test(spelling_reports_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
