/* test_normalise.c: equal values get equal bytes, and what is normal already is not copied. */
#include "types_test.h"

#include "types/nested.h"

static Vector normalise(World *world, const Vector *v, TypeId id, size_t count)
{
    Vector out = {0};
    assert_int_equal(
        weir_vector_normalise(v, weir_type_simple(id), count, &world->arena, &out, &world->err),
        WEIR_OK);
    return out;
}

static void doubles_lose_negative_zero_and_strange_nans(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    uint64_t bits[] = {
        0,
        UINT64_C(1) << 63,
        UINT64_C(0x7FF8000000000000),
        UINT64_C(0xFFF8000000000000),
        UINT64_C(0x7FF0000000000001),
        UINT64_C(0x7FF0000000000000),
        UINT64_C(0xFFF0000000000000),
        UINT64_C(0x8000000000000001),
        UINT64_C(0x3FF0000000000000),
    };
    static const size_t wanted[] = {0, 0, 2, 2, 2, 5, 6, 7, 8}; /* which value it becomes */
    const Vector v = {.phys = PHYS_F64, .data = bits};
    const Vector out = normalise(&world, &v, TYPE_DOUBLE, WEIR_ARRAY_COUNT(bits));
    assert_ptr_not_equal(out.data, bits);
    const uint64_t *values = out.data;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(bits); i++) {
        assert_int_equal(values[i], bits[wanted[i]]);
    }
    const Vector again = normalise(&world, &out, TYPE_DOUBLE, WEIR_ARRAY_COUNT(bits));
    assert_ptr_equal(again.data, out.data);
    world_deinit(&world);
}

static void floats_lose_negative_zero_and_strange_nans(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    uint32_t bits[] = {0,          0x80000000, 0x7FC00000, 0xFFC00000, 0x7F800001,
                       0x7F800000, 0xFF800000, 0x80000001, 0x3F800000};
    static const size_t wanted[] = {0, 0, 2, 2, 2, 5, 6, 7, 8};
    const Vector v = {.phys = PHYS_F32, .data = bits};
    const Vector out = normalise(&world, &v, TYPE_FLOAT, WEIR_ARRAY_COUNT(bits));
    const uint32_t *values = out.data;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(bits); i++) {
        assert_int_equal(values[i], bits[wanted[i]]);
    }
    world_deinit(&world);
}

static void intervals_become_canonical(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Interval values[] = {{0, 30, 0}, {1, 0, 0}};
    Vector v = {.phys = PHYS_INTERVAL, .data = values};
    const Vector out = normalise(&world, &v, TYPE_INTERVAL, 2);
    const Interval *normal = out.data;
    assert_memory_equal(&normal[0], &values[1], sizeof(Interval));
    assert_memory_equal(&normal[1], &values[1], sizeof(Interval));
    assert_int_equal(values[0].days, 30);
    v.data = &values[1];
    assert_ptr_equal(normalise(&world, &v, TYPE_INTERVAL, 1).data, &values[1]);
    world_deinit(&world);
}

static void values_under_null_become_zero(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    int32_t values[130];
    uint64_t validity[3] = {UINT64_MAX, ~UINT64_C(2), UINT64_MAX};
    for (size_t i = 0; i < 130; i++) {
        values[i] = (int32_t)i + 1;
    }
    const Vector v = {.phys = PHYS_I32, .data = values, .validity = validity};
    const Vector out = normalise(&world, &v, TYPE_INTEGER, 130);
    assert_ptr_not_equal(out.data, values);
    const int32_t *normal = out.data;
    for (size_t i = 0; i < 130; i++) {
        assert_int_equal(normal[i], i == 65 ? 0 : values[i]);
    }
    values[65] = 0;
    assert_ptr_equal(normalise(&world, &v, TYPE_INTEGER, 130).data, values);
    validity[2] = 3; /* rows behind the last one do not count */
    assert_ptr_equal(normalise(&world, &v, TYPE_INTEGER, 130).data, values);
    world_deinit(&world);
}

static void padding_of_short_strings_becomes_zero(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const char *const text = "abcdefghijklmnop";
    String values[17];
    for (size_t n = 0; n <= 16; n++) {
        memset(&values[n], 0x55, sizeof values[n]);
        values[n].inlined.length = (uint32_t)n;
        if (n <= STRING_INLINE_BYTES) {
            memcpy(values[n].inlined.bytes, text, n);
        } else {
            values[n] = weir_string_make(text, n);
        }
    }
    Vector v = {.phys = PHYS_STRING, .data = values};
    const Vector out = normalise(&world, &v, TYPE_VARCHAR, 17);
    for (size_t n = 0; n <= 16; n++) {
        const String wanted = weir_string_make(text, n);
        assert_memory_equal((const String *)out.data + n, &wanted, sizeof wanted);
    }
    assert_ptr_equal(normalise(&world, &out, TYPE_VARCHAR, 17).data, out.data);
    v.data = &values[12];
    assert_ptr_equal(normalise(&world, &v, TYPE_VARCHAR, 5).data, &values[12]);
    world_deinit(&world);
}

static void constants_are_normalised_as_one_value(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    double zero = -0.0;
    const Vector v = {.phys = PHYS_F64, .is_constant = true, .data = &zero};
    const Vector out = normalise(&world, &v, TYPE_DOUBLE, 2048);
    assert_true(out.is_constant);
    assert_int_equal(*(const uint64_t *)out.data, 0);
    world_deinit(&world);
}

/* A list with one double, as canonical bytes (13 of them: longer than a slot). */
static void write_list(char *out, double value)
{
    const uint32_t count = 1;
    memcpy(out, &count, 4);
    out[4] = 1;
    memcpy(out + 5, &value, 8);
}

static void nested_values_are_normalised_inside(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    char negative[13];
    char positive[13];
    write_list(negative, -0.0);
    write_list(positive, 0.0);
    const LogicalType *type =
        weir_type_list(&world.arena, weir_type_simple(TYPE_DOUBLE), &world.err);
    String values[3] = {weir_string_make(negative, 13), weir_string_make("\0\0\0\0", 4),
                        weir_string_make(negative, 13)};
    uint64_t validity[1] = {3};
    const Vector v = {.phys = PHYS_STRING, .data = values, .validity = validity};
    Vector out = {0};
    assert_int_equal(weir_vector_normalise(&v, type, 3, &world.arena, &out, &world.err), WEIR_OK);
    const String *normal = out.data;
    const String wanted = weir_string_make(positive, 13);
    assert_true(weir_string_equal(&normal[0], &wanted));
    assert_true(weir_string_equal(&normal[1], &values[1]));
    assert_int_equal(normal[2].words[0] | normal[2].words[1], 0);
    assert_int_equal(negative[12], (char)0x80); /* the source is left alone */
    world_deinit(&world);
}

static void normalising_reports_failing_allocations(void **state)
{
    (void)state;
    bool is_done = false;
    for (size_t nth = 1; !is_done; nth++) {
        World world;
        world_init(&world);
        const LogicalType *type =
            weir_type_list(&world.arena, weir_type_simple(TYPE_DOUBLE), &world.err);
        Arena arena;
        weir_arena_init(&arena, world.mem, 16);
        char bytes[13];
        write_list(bytes, -0.0);
        String value = weir_string_make(bytes, 13);
        const Vector v = {.phys = PHYS_STRING, .data = &value};
        Vector out = {0};
        weir_mem_fail_after(world.mem, nth, true);
        const Status status = weir_vector_normalise(&v, type, 1, &arena, &out, &world.err);
        is_done = status == WEIR_OK;
        assert_true(is_done || status == WEIR_ERR_NOMEM);
        assert_true(!is_done || nth == 3);
        weir_arena_deinit(&arena);
        world_deinit(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_lose_negative_zero_and_strange_nans),
        cmocka_unit_test(floats_lose_negative_zero_and_strange_nans),
        cmocka_unit_test(intervals_become_canonical),
        cmocka_unit_test(values_under_null_become_zero),
        cmocka_unit_test(padding_of_short_strings_becomes_zero),
        cmocka_unit_test(constants_are_normalised_as_one_value),
        cmocka_unit_test(nested_values_are_normalised_inside),
        cmocka_unit_test(normalising_reports_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
