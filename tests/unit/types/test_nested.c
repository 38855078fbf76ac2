/* test_nested.c: canonical bytes of nested values: size, order, normal form. */
#include "types_test.h"

#include "types/nested.h"

/* --- writing nested values ---------------------------------------------------------------------- */

static void put_u32(Buf *out, uint32_t value)
{
    weir_buf_append(out, &value, sizeof value);
}

static void put_null(Buf *out)
{
    weir_buf_putc(out, 0);
}

static void put_int(Buf *out, int32_t value)
{
    weir_buf_putc(out, 1);
    weir_buf_append(out, &value, sizeof value);
}

static void put_double(Buf *out, double value)
{
    weir_buf_putc(out, 1);
    weir_buf_append(out, &value, sizeof value);
}

static void put_text(Buf *out, const char *text)
{
    weir_buf_putc(out, 1);
    put_u32(out, (uint32_t)strlen(text));
    weir_buf_puts(out, text);
}

/* A list of integers; INT32_MIN stands for NULL. */
enum { NONE = INT32_MIN };

static void put_list(Buf *out, const int32_t *values, size_t count)
{
    put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        if (values[i] == NONE) {
            put_null(out);
        } else {
            put_int(out, values[i]);
        }
    }
}

static int sign_of(int order)
{
    return (order > 0) - (order < 0);
}

enum { MAX_VALUES = 16 };

/* Values of one type in rising order. */
typedef struct Values {
    Buf bufs[MAX_VALUES];
    size_t count;
} Values;

static Buf *add_value(Values *values, World *world)
{
    assert_true(values->count < MAX_VALUES);
    Buf *buf = &values->bufs[values->count++];
    weir_buf_init(buf, world->mem, 10000);
    return buf;
}

static void check_rising(const LogicalType *type, Values *values)
{
    for (size_t i = 0; i < values->count; i++) {
        const Buf *a = &values->bufs[i];
        assert_int_equal(weir_nested_size(type, a->data), a->size);
        for (size_t j = 0; j < values->count; j++) {
            const Buf *b = &values->bufs[j];
            const int wanted = (i > j) - (i < j);
            assert_int_equal(sign_of(weir_nested_compare(type, a->data, b->data)), wanted);
            const String x = weir_string_make(a->data, a->size);
            const String y = weir_string_make(b->data, b->size);
            assert_int_equal(sign_of(weir_value_compare(type, &x, &y)), wanted);
        }
    }
    for (size_t i = 0; i < values->count; i++) {
        weir_buf_deinit(&values->bufs[i]);
    }
}

/* --- tests --------------------------------------------------------------------------------------- */

static void lists_are_ordered_element_by_element_with_null_largest(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const LogicalType *type =
        weir_type_list(&world.arena, weir_type_simple(TYPE_INTEGER), &world.err);
    Values values = {0};
    put_list(add_value(&values, &world), NULL, 0);
    put_list(add_value(&values, &world), (const int32_t[]){-1}, 1);
    put_list(add_value(&values, &world), (const int32_t[]){1}, 1);
    put_list(add_value(&values, &world), (const int32_t[]){1, 2}, 2);
    put_list(add_value(&values, &world), (const int32_t[]){1, 2, 0}, 3);
    put_list(add_value(&values, &world), (const int32_t[]){1, NONE}, 2);
    put_list(add_value(&values, &world), (const int32_t[]){1, NONE, 5}, 3);
    put_list(add_value(&values, &world), (const int32_t[]){1, NONE, NONE}, 3);
    put_list(add_value(&values, &world), (const int32_t[]){2}, 1);
    put_list(add_value(&values, &world), (const int32_t[]){NONE}, 1);
    put_list(add_value(&values, &world), (const int32_t[]){NONE, NONE}, 2);
    check_rising(type, &values);
    world_deinit(&world);
}

static void structs_are_ordered_field_by_field(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const LogicalType *const fields[2] = {weir_type_simple(TYPE_INTEGER),
                                          weir_type_simple(TYPE_VARCHAR)};
    const LogicalType *type = weir_type_struct(
        &world.arena, TYPE_STRUCT, (const char *const[]){"a", "b"}, fields, 2, &world.err);
    Values values = {0};
    static const char *const texts[] = {"", "a", "a long text, longer than 12", "b", NULL};
    for (int number = 1; number <= 2; number++) {
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
            Buf *out = add_value(&values, &world);
            put_int(out, number);
            if (texts[i] == NULL) {
                put_null(out);
            } else {
                put_text(out, texts[i]);
            }
        }
    }
    Buf *out = add_value(&values, &world);
    put_null(out);
    put_text(out, "");
    check_rising(type, &values);
    world_deinit(&world);
}

static void maps_are_ordered_as_lists_of_entries(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const LogicalType *integer = weir_type_simple(TYPE_INTEGER);
    const LogicalType *type = weir_type_map(&world.arena, integer, integer, &world.err);
    Values values = {0};
    static const int32_t entries[][2][2] = {
        {{1, 2}, {0, 0}}, {{1, 2}, {3, 4}}, {{1, 3}, {0, 0}}, {{1, NONE}, {0, 0}}, {{2, 0}, {0, 0}},
    };
    put_u32(add_value(&values, &world), 0);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(entries); i++) {
        Buf *out = add_value(&values, &world);
        const uint32_t count = i == 1 ? 2 : 1;
        put_u32(out, count);
        for (uint32_t e = 0; e < count; e++) {
            put_int(out, entries[i][e][0]);
            if (entries[i][e][1] == NONE) {
                put_null(out);
            } else {
                put_int(out, entries[i][e][1]);
            }
        }
    }
    check_rising(type, &values);
    world_deinit(&world);
}

static void unions_are_ordered_by_tag_then_by_value(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const LogicalType *const members[2] = {weir_type_simple(TYPE_VARCHAR),
                                           weir_type_simple(TYPE_DOUBLE)};
    const LogicalType *type = weir_type_struct(
        &world.arena, TYPE_UNION, (const char *const[]){"s", "d"}, members, 2, &world.err);
    Values values = {0};
    Buf *out = add_value(&values, &world);
    weir_buf_putc(out, 0);
    put_text(out, "x");
    out = add_value(&values, &world);
    weir_buf_putc(out, 0);
    put_null(out);
    out = add_value(&values, &world);
    weir_buf_putc(out, 1);
    put_double(out, -1.0);
    out = add_value(&values, &world);
    weir_buf_putc(out, 1);
    put_double(out, 2.0);
    check_rising(type, &values);
    world_deinit(&world);
}

static void deep_values_are_walked_to_the_end(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const LogicalType *type = weir_type_simple(TYPE_DOUBLE);
    for (size_t i = 0; i < NESTED_MAX_DEPTH; i++) {
        type = weir_type_list(&world.arena, type, &world.err);
    }
    Values values = {0};
    for (int v = 0; v < 2; v++) {
        Buf *out = add_value(&values, &world);
        put_u32(out, 1);
        for (size_t i = 1; i < NESTED_MAX_DEPTH; i++) {
            weir_buf_putc(out, 1);
            put_u32(out, 1);
        }
        put_double(out, v == 0 ? -0.0 : 1.0);
    }
    Buf normal;
    weir_buf_init(&normal, world.mem, 10000);
    weir_nested_normalise(type, values.bufs[0].data, values.bufs[0].size, &normal);
    assert_int_equal(normal.size, values.bufs[0].size);
    assert_int_equal(weir_nested_compare(type, normal.data, values.bufs[0].data), 0);
    assert_memory_not_equal(normal.data, values.bufs[0].data, normal.size);
    weir_buf_deinit(&normal);
    check_rising(type, &values);
    world_deinit(&world);
}

/* MAP(VARCHAR, STRUCT(d DOUBLE, f FLOAT, i INTERVAL, u UNION(f FLOAT))[]) */
static const LogicalType *lossy_type(World *world)
{
    Arena *arena = &world->arena;
    Error *err = &world->err;
    const LogicalType *real = weir_type_simple(TYPE_FLOAT);
    const LogicalType *const fields[4] = {
        weir_type_simple(TYPE_DOUBLE),
        real,
        weir_type_simple(TYPE_INTERVAL),
        weir_type_struct(arena, TYPE_UNION, (const char *const[]){"f"}, &real, 1, err),
    };
    const LogicalType *record = weir_type_struct(
        arena, TYPE_STRUCT, (const char *const[]){"d", "f", "i", "u"}, fields, 4, err);
    const LogicalType *list = weir_type_list(arena, record, err);
    return weir_type_map(arena, weir_type_simple(TYPE_VARCHAR), list, err);
}

static void put_lossy(Buf *out, double d, float f, Interval i)
{
    put_u32(out, 1);
    put_text(out, "a key of some length");
    weir_buf_putc(out, 1);
    put_u32(out, 2);
    put_null(out);
    weir_buf_putc(out, 1);
    put_double(out, d);
    weir_buf_putc(out, 1);
    weir_buf_append(out, &f, sizeof f);
    weir_buf_putc(out, 1);
    weir_buf_append(out, &i, sizeof i);
    weir_buf_putc(out, 1);
    weir_buf_putc(out, 0);
    weir_buf_putc(out, 1);
    weir_buf_append(out, &f, sizeof f);
}

static void normal_forms_of_equal_values_are_equal_bytes(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const LogicalType *type = lossy_type(&world);
    Buf a;
    Buf b;
    Buf normal;
    weir_buf_init(&a, world.mem, 10000);
    weir_buf_init(&b, world.mem, 10000);
    weir_buf_init(&normal, world.mem, 10000);
    const float nan = __builtin_nanf("");
    put_lossy(&a, -0.0, nan, (Interval){.days = 60});
    put_lossy(&b, 0.0, -nan, (Interval){.months = 1, .micros = INT64_C(30) * 86400000000});
    assert_int_equal(weir_nested_size(type, a.data), a.size);
    assert_int_equal(weir_nested_compare(type, a.data, b.data), 0);
    assert_memory_not_equal(a.data, b.data, a.size);
    weir_buf_puts(&normal, "before");
    weir_nested_normalise(type, a.data, a.size, &normal);
    assert_int_equal(normal.size, a.size + 6);
    assert_memory_equal(normal.data, "before", 6);
    weir_nested_normalise_in_place(type, b.data, b.size);
    assert_memory_equal(normal.data + 6, b.data, b.size);
    weir_buf_deinit(&a);
    weir_buf_deinit(&b);
    weir_buf_deinit(&normal);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_ordered_element_by_element_with_null_largest),
        cmocka_unit_test(structs_are_ordered_field_by_field),
        cmocka_unit_test(maps_are_ordered_as_lists_of_entries),
        cmocka_unit_test(unions_are_ordered_by_tag_then_by_value),
        cmocka_unit_test(deep_values_are_walked_to_the_end),
        cmocka_unit_test(normal_forms_of_equal_values_are_equal_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
