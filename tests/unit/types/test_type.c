/* test_type.c: logical types: layout, equality, copies, spelling, names. */
#include "types_test.h"

#include "types/nested.h"

/* STRUCT(a DOUBLE, "b c" INTEGER[])[3] and friends, made in the world's arena. */
static const LogicalType *deep_type(World *world)
{
    Arena *arena = &world->arena;
    Error *err = &world->err;
    const LogicalType *list = weir_type_list(arena, weir_type_simple(TYPE_INTEGER), err);
    const char *const names[2] = {"a", "b\"c"};
    const LogicalType *const fields[2] = {weir_type_simple(TYPE_DOUBLE), list};
    const LogicalType *record = weir_type_struct(arena, TYPE_STRUCT, names, fields, 2, err);
    const char *const values[2] = {"x", "it's"};
    const LogicalType *mood = weir_type_enum(arena, values, 2, err);
    const LogicalType *map = weir_type_map(arena, mood, record, err);
    return weir_type_array(arena, map, 3, err);
}

static void check_sql(const LogicalType *type, const char *wanted)
{
    World world;
    world_init(&world);
    Buf buf;
    weir_buf_init(&buf, world.mem, 1000);
    weir_type_put_sql(&buf, type);
    assert_int_equal(weir_buf_status(&buf, &world.err), WEIR_OK);
    assert_string_equal(buf.data, wanted);
    weir_buf_deinit(&buf);
    world_deinit(&world);
}

static void types_have_duckdbs_layout(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    static const struct {
        uint8_t width;
        PhysType phys;
    } decimals[] = {{1, PHYS_I16},  {4, PHYS_I16},  {5, PHYS_I32},   {9, PHYS_I32},
                    {10, PHYS_I64}, {18, PHYS_I64}, {19, PHYS_I128}, {38, PHYS_I128}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(decimals); i++) {
        const LogicalType *type = weir_type_decimal(&world.arena, decimals[i].width, 1, &world.err);
        assert_int_equal(type->phys, decimals[i].phys);
        assert_int_equal(type->width, decimals[i].width);
        assert_int_equal(type->scale, 1);
    }
    static const char *names[70000];
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++) {
        names[i] = "v";
    }
    const LogicalType *small = weir_type_enum(&world.arena, names, 255, &world.err);
    const LogicalType *middle = weir_type_enum(&world.arena, names, 256, &world.err);
    const LogicalType *large = weir_type_enum(&world.arena, names, 70000, &world.err);
    assert_int_equal(small->phys, PHYS_U8);
    assert_int_equal(middle->phys, PHYS_U16);
    assert_int_equal(large->phys, PHYS_U32);
    assert_int_equal(weir_type_simple(TYPE_UUID)->phys, PHYS_I128);
    assert_int_equal(weir_phys_width(PHYS_INTERVAL), 16);
    assert_int_equal(weir_phys_width(PHYS_STRING), sizeof(String));
    assert_int_equal(weir_phys_width(PHYS_I16), 2);
    world_deinit(&world);
}

static void types_refuse_impossible_parameters(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    assert_null(weir_type_decimal(&world.arena, 0, 0, &world.err));
    assert_null(weir_type_decimal(&world.arena, 39, 0, &world.err));
    assert_null(weir_type_decimal(&world.arena, 4, 5, &world.err));
    assert_int_equal(world.err.code, WEIR_ERR_TYPE);
    const LogicalType *type = weir_type_simple(TYPE_INTEGER);
    size_t depth = 0;
    weir_error_clear(&world.err);
    while (type != NULL) {
        type = weir_type_list(&world.arena, type, &world.err);
        depth++;
    }
    assert_int_equal(depth, NESTED_MAX_DEPTH + 1);
    assert_int_equal(world.err.code, WEIR_ERR_TYPE);
    world_deinit(&world);
}

static void types_are_equal_by_structure(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Arena *arena = &world.arena;
    const LogicalType *integer = weir_type_simple(TYPE_INTEGER);
    const LogicalType *const types[] = {
        integer,
        weir_type_simple(TYPE_BIGINT),
        weir_type_simple(TYPE_VARCHAR),
        weir_type_json(),
        weir_type_decimal(arena, 10, 2, &world.err),
        weir_type_decimal(arena, 10, 3, &world.err),
        weir_type_decimal(arena, 11, 2, &world.err),
        weir_type_enum(arena, (const char *const[]){"a", "b"}, 2, &world.err),
        weir_type_enum(arena, (const char *const[]){"a", "c"}, 2, &world.err),
        weir_type_list(arena, integer, &world.err),
        weir_type_list(arena, weir_type_json(), &world.err),
        weir_type_array(arena, integer, 3, &world.err),
        weir_type_array(arena, integer, 4, &world.err),
        weir_type_struct(arena, TYPE_STRUCT, (const char *const[]){"a"}, &integer, 1, &world.err),
        weir_type_struct(arena, TYPE_STRUCT, (const char *const[]){"b"}, &integer, 1, &world.err),
        weir_type_struct(arena, TYPE_UNION, (const char *const[]){"a"}, &integer, 1, &world.err),
        weir_type_map(arena, integer, integer, &world.err),
        deep_type(&world),
    };
    World other;
    world_init(&other);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(types); i++) {
        const LogicalType *copy = weir_type_copy(&other.arena, types[i], &other.err);
        for (size_t j = 0; j < WEIR_ARRAY_COUNT(types); j++) {
            assert_int_equal(weir_type_equal(types[j], copy), i == j);
        }
    }
    world_deinit(&world);
    world_deinit(&other);
}

static void types_survive_in_the_copy_when_the_original_is_gone(void **state)
{
    (void)state;
    World world;
    World other;
    world_init(&world);
    world_init(&other);
    const LogicalType *copy = weir_type_copy(&other.arena, deep_type(&world), &other.err);
    world_deinit(&world);
    check_sql(copy, "MAP(ENUM('x', 'it''s'), STRUCT(\"a\" DOUBLE, \"b\"\"c\" INTEGER[]))[3]");
    world_deinit(&other);
}

static void types_know_their_flags(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const LogicalType *integer = weir_type_simple(TYPE_INTEGER);
    assert_true(weir_type_is_integer(integer) && weir_type_is_numeric(integer));
    assert_false(weir_type_is_lossy(integer) || weir_type_is_nested(integer));
    const LogicalType *real = weir_type_simple(TYPE_DOUBLE);
    assert_true(weir_type_is_lossy(real) && weir_type_is_numeric(real));
    assert_false(weir_type_is_integer(real));
    assert_true(weir_type_is_lossy(weir_type_simple(TYPE_INTERVAL)));
    const LogicalType *list = weir_type_list(&world.arena, integer, &world.err);
    assert_true(weir_type_is_nested(list));
    assert_false(weir_type_is_lossy(list));
    assert_true(weir_type_is_lossy(deep_type(&world)));
    assert_false(weir_type_is_numeric(deep_type(&world)));
    world_deinit(&world);
}

static void types_are_spelled_for_a_cast(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    check_sql(weir_type_simple(TYPE_TIMESTAMP_TZ), "TIMESTAMP WITH TIME ZONE");
    check_sql(weir_type_simple(TYPE_SQLNULL), "\"NULL\"");
    check_sql(weir_type_json(), "JSON");
    check_sql(weir_type_decimal(&world.arena, 10, 2, &world.err), "DECIMAL(10,2)");
    check_sql(deep_type(&world),
              "MAP(ENUM('x', 'it''s'), STRUCT(\"a\" DOUBLE, \"b\"\"c\" INTEGER[]))[3]");
    world_deinit(&world);
}

static void unnamed_structs_have_no_spelling(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const LogicalType *integer = weir_type_simple(TYPE_INTEGER);
    const LogicalType *const fields[2] = {integer, integer};
    const LogicalType *row = weir_type_struct(&world.arena, TYPE_STRUCT,
                                              (const char *const[]){"", ""}, fields, 2, &world.err);
    const LogicalType *list = weir_type_list(&world.arena, row, &world.err);
    assert_true(weir_type_is_unspellable(list));
    assert_false(weir_type_is_unspellable(deep_type(&world)));
    Buf buf;
    weir_buf_init(&buf, world.mem, 1000);
    weir_type_put_sql(&buf, list);
    assert_int_equal(weir_buf_status(&buf, &world.err), WEIR_ERR_TYPE);
    weir_buf_deinit(&buf);
    world_deinit(&world);
}

static void type_names_lead_to_ids(void **state)
{
    (void)state;
    for (int id = 0; id < TYPE_COUNT; id++) {
        assert_int_equal(weir_type_id_from_name(weir_type_name((TypeId)id)), id);
    }
    assert_int_equal(weir_type_id_from_name("int"), TYPE_INTEGER);
    assert_int_equal(weir_type_id_from_name("timestamptz"), TYPE_TIMESTAMP_TZ);
    assert_int_equal(weir_type_id_from_name("VARINT"), TYPE_BIGNUM);
    assert_int_equal(weir_type_id_from_name("\"NULL\""), TYPE_SQLNULL);
    assert_int_equal(weir_type_id_from_name("GEOMETRY"), TYPE_COUNT);
    assert_int_equal(weir_type_id_from_name(""), TYPE_COUNT);
}

static void building_and_copying_types_report_failing_allocations(void **state)
{
    (void)state;
    World source;
    world_init(&source);
    const LogicalType *type = deep_type(&source);
    for (size_t nth = 1;; nth++) {
        World world;
        world_init(&world);
        weir_arena_deinit(&world.arena);
        weir_arena_init(&world.arena, world.mem, 16); /* a block for every allocation */
        weir_mem_fail_after(world.mem, nth, true);
        const LogicalType *copy = weir_type_copy(&world.arena, type, &world.err);
        const bool is_done = copy != NULL;
        if (is_done) {
            assert_true(weir_type_equal(copy, type));
        } else {
            assert_int_equal(world.err.code, WEIR_ERR_NOMEM);
        }
        world_deinit(&world);
        if (is_done) {
            assert_true(nth > 10);
            break;
        }
    }
    world_deinit(&source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_duckdbs_layout),
        cmocka_unit_test(types_refuse_impossible_parameters),
        cmocka_unit_test(types_are_equal_by_structure),
        cmocka_unit_test(types_survive_in_the_copy_when_the_original_is_gone),
        cmocka_unit_test(types_know_their_flags),
        cmocka_unit_test(types_are_spelled_for_a_cast),
        cmocka_unit_test(unnamed_structs_have_no_spelling),
        cmocka_unit_test(type_names_lead_to_ids),
        cmocka_unit_test(building_and_copying_types_report_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
