/* test_stateless.c: source, union, constant and sink. */
#include <math.h>

#include "op_law.h"

static const Schema *mixed_schema(Fixture *f)
{
    const LogicalType *const types[] = {
        weir_type_simple(TYPE_INTEGER), weir_type_simple(TYPE_VARCHAR),
        weir_type_simple(TYPE_DOUBLE), weir_type_simple(TYPE_INTERVAL)};
    return schema_of_types(f, types, WEIR_ARRAY_COUNT(types));
}

static void the_sink_holds_the_sum_of_all_deltas(void **state)
{
    Fixture *f = fixture_of(state);
    const Shape shape = {.inputs = {mixed_schema(f)}, .input_count = 1};
    for (uint64_t seed = 1; seed <= 5; seed++) {
        check_law(f, &shape, seed, 12);
    }
}

static void the_sink_tells_equal_values_apart_that_look_different(void **state)
{
    Fixture *f = fixture_of(state);
    const LogicalType *const types[] = {weir_type_simple(TYPE_DOUBLE)};
    const Shape shape = {.inputs = {schema_of_types(f, types, 1)}, .input_count = 1};
    Machine machine = new_machine(f, &shape);
    ZSet *delta = zset_new(f, shape.inputs[0]);
    *zset_add(f, delta, 1) = cell_f64(0.0);
    *zset_add(f, delta, 1) = cell_f64(-0.0);
    must(f, run_step(f, &machine, &delta));
    assert_int_equal(weir_sink_delta_row_count(machine.sink), 2);
    weir_circuit_end_step(machine.circuit);
    assert_int_equal(weir_sink_table(machine.sink)->row_count, 2);

    ZSet *second = zset_new(f, shape.inputs[0]);
    *zset_add(f, second, -1) = cell_f64(0.0);
    *zset_add(f, second, 1) = cell_f64(-0.0);
    must(f, run_step(f, &machine, &second));
    assert_int_equal(weir_sink_delta_row_count(machine.sink), 2);
    weir_circuit_end_step(machine.circuit);
    assert_int_equal(weir_sink_table(machine.sink)->row_count, 1);
    assert_int_equal(weir_sink_row_count(machine.sink), 2);
    weir_circuit_free(machine.circuit);
}

static void the_sink_forgets_rows_that_cancel(void **state)
{
    Fixture *f = fixture_of(state);
    const Shape shape = {.inputs = {mixed_schema(f)}, .input_count = 1};
    Machine machine = new_machine(f, &shape);
    ZSet *delta = zset_new(f, shape.inputs[0]);
    Cell *row = zset_add_random(f, delta, -3);
    zset_add_row(f, delta, row, 1);
    zset_add_row(f, delta, zset_row(delta, 0), 2);
    must(f, run_step(f, &machine, &delta));
    assert_int_equal(weir_sink_delta_row_count(machine.sink), 0);
    weir_circuit_end_step(machine.circuit);
    assert_int_equal(weir_sink_table(machine.sink)->row_count, 0);
    weir_circuit_free(machine.circuit);
}

static void the_sink_refuses_to_hold_less_than_nothing(void **state)
{
    Fixture *f = fixture_of(state);
    const Shape shape = {.inputs = {mixed_schema(f)}, .input_count = 1};
    Machine machine = new_machine(f, &shape);
    ZSet *delta = zset_new(f, shape.inputs[0]);
    zset_add_random(f, delta, -1);
    assert_int_equal(run_step(f, &machine, &delta), WEIR_ERR_NEGATIVE);
    weir_circuit_end_step(machine.circuit);
    weir_circuit_free(machine.circuit);
}

static void the_sink_takes_a_failed_step_back(void **state)
{
    Fixture *f = fixture_of(state);
    const Shape shape = {.inputs = {mixed_schema(f)}, .input_count = 1};
    Machine machine = new_machine(f, &shape);
    ZSet *first = zset_new(f, shape.inputs[0]);
    for (size_t i = 0; i < 50; i++) {
        zset_add_random(f, first, 2);
    }
    must(f, run_step(f, &machine, &first));
    weir_circuit_end_step(machine.circuit);
    const char *before = contents(f, machine.sink);

    ZSet *second = zset_new(f, shape.inputs[0]);
    zset_add_row(f, second, zset_row(first, 0), -1);
    zset_add_row(f, second, zset_row(first, 1), 7);
    zset_add_random(f, second, 3);
    zset_add_row(f, second, zset_row(first, 2), -50);
    assert_int_equal(run_step(f, &machine, &second), WEIR_ERR_NEGATIVE);
    weir_sink_rollback(machine.sink);
    assert_int_equal(weir_sink_delta_row_count(machine.sink), 0);
    weir_circuit_end_step(machine.circuit);
    assert_string_equal(contents(f, machine.sink), before);
    assert_int_equal(weir_sink_row_count(machine.sink), 100);
    weir_circuit_free(machine.circuit);
}

static void the_sink_takes_a_failed_first_step_back(void **state)
{
    Fixture *f = fixture_of(state);
    const Shape shape = {.inputs = {mixed_schema(f)}, .input_count = 1};
    Machine machine = new_machine(f, &shape);
    ZSet *first = zset_new(f, shape.inputs[0]);
    for (size_t i = 0; i < 50; i++) {
        zset_add_random(f, first, i < 40 ? 3 : -1);
    }
    assert_int_equal(run_step(f, &machine, &first), WEIR_ERR_NEGATIVE);
    weir_sink_rollback(machine.sink);
    assert_int_equal(weir_sink_delta_row_count(machine.sink), 0);
    weir_circuit_end_step(machine.circuit);
    assert_string_equal(contents(f, machine.sink), "");
    assert_int_equal(weir_sink_row_count(machine.sink), 0);
    weir_circuit_free(machine.circuit);
}

/* The sum of all weights is counted without overflow. */
static void the_sink_refuses_more_rows_than_it_can_count(void **state)
{
    Fixture *f = fixture_of(state);
    const LogicalType *const types[] = {weir_type_simple(TYPE_INTEGER)};
    const Shape shape = {.inputs = {schema_of_types(f, types, 1)}, .input_count = 1};
    Machine machine = new_machine(f, &shape);
    ZSet *delta = zset_new(f, shape.inputs[0]);
    for (int32_t i = 0; i < 3; i++) {
        zset_add(f, delta, INT64_MAX)[0] = cell_i32(i);
    }
    assert_int_equal(run_step(f, &machine, &delta), WEIR_ERR_WEIGHT);
    weir_circuit_end_step(machine.circuit);
    weir_circuit_free(machine.circuit);
}

static void the_sink_refuses_weights_beyond_64_bits(void **state)
{
    Fixture *f = fixture_of(state);
    const Shape shape = {.inputs = {mixed_schema(f)}, .input_count = 1};
    Machine machine = new_machine(f, &shape);
    ZSet *delta = zset_new(f, shape.inputs[0]);
    const Cell *row = zset_add_random(f, delta, INT64_MAX);
    zset_add_row(f, delta, row, 1);
    assert_int_equal(run_step(f, &machine, &delta), WEIR_ERR_WEIGHT);
    weir_circuit_end_step(machine.circuit);
    weir_circuit_free(machine.circuit);
}

static Status build_union(const Shape *shape, Fixture *f, Circuit *circuit, Op *const *sources,
                          Op **last)
{
    Op *const inputs[] = {sources[0], sources[1], sources[0]};
    return weir_op_union_new(circuit, inputs, 3, shape->inputs[0], last, &f->err);
}

static void a_union_is_the_sum_of_its_inputs(void **state)
{
    Fixture *f = fixture_of(state);
    const Schema *schema = mixed_schema(f);
    const Shape shape = {.build = build_union, .inputs = {schema, schema}, .input_count = 2};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        check_law(f, &shape, seed, 8);
    }
    check_faults(f, &shape, 1);
}

static Status build_constant(const Shape *shape, Fixture *f, Circuit *circuit, Op *const *sources,
                             Op **last)
{
    Op *constant = NULL;
    WEIR_TRY(weir_op_constant_new(circuit, shape->spec, &constant, &f->err));
    Op *const inputs[] = {sources[0], constant};
    return weir_op_union_new(circuit, inputs, 2, shape->inputs[0], last, &f->err);
}

/* 5000 rows (i, NULL or text). */
static const ConstantSpec *many_constants(Fixture *f, const Schema *schema)
{
    enum { ROWS = 5000 };
    static const char *const text = "a constant that is longer than twelve bytes";
    Value *values = need(weir_arena_calloc(&f->plan, (size_t)2 * ROWS, sizeof *values, &f->err));
    ConstantSpec *spec = need(weir_arena_zalloc(&f->plan, sizeof *spec, &f->err));
    Value *value = values;
    for (int32_t i = 0; i < ROWS; i++) {
        const String string = weir_string_make(text, strlen(text));
        value->type = schema->types[0];
        memcpy(value->data.bytes, &i, sizeof i);
        value++;
        value->type = schema->types[1];
        value->is_null = i % 3 == 0;
        memcpy(value->data.bytes, &string, sizeof string);
        value++;
    }
    *spec = (ConstantSpec){.schema = *schema, .values = values, .row_count = ROWS};
    return spec;
}

static void constants_are_there_from_the_first_step_on(void **state)
{
    Fixture *f = fixture_of(state);
    const LogicalType *const types[] = {weir_type_simple(TYPE_INTEGER),
                                        weir_type_simple(TYPE_VARCHAR)};
    const Schema *schema = schema_of_types(f, types, 2);
    const Shape shape = {
        .build = build_constant,
        .spec = many_constants(f, schema),
        .inputs = {schema},
        .input_count = 1,
    };
    Machine machine = new_machine(f, &shape);
    ZSet *nothing[MAX_SOURCES] = {0};
    must(f, run_step(f, &machine, nothing));
    weir_circuit_end_step(machine.circuit);
    assert_int_equal(weir_sink_row_count(machine.sink), 5000);
    const char *text = contents(f, machine.sink);
    assert_non_null(strstr(text, "4998|NULL x1\n4999|'a constant that is longer"));
    must(f, run_step(f, &machine, nothing));
    assert_int_equal(weir_sink_delta_row_count(machine.sink), 0);
    weir_circuit_end_step(machine.circuit);
    weir_circuit_free(machine.circuit);
    check_faults(f, &shape, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_sink_holds_the_sum_of_all_deltas),
        TEST(the_sink_tells_equal_values_apart_that_look_different),
        TEST(the_sink_forgets_rows_that_cancel),
        TEST(the_sink_refuses_to_hold_less_than_nothing),
        TEST(the_sink_takes_a_failed_step_back),
        TEST(the_sink_takes_a_failed_first_step_back),
        TEST(the_sink_refuses_more_rows_than_it_can_count),
        TEST(the_sink_refuses_weights_beyond_64_bits),
        TEST(a_union_is_the_sum_of_its_inputs),
        TEST(constants_are_there_from_the_first_step_on),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
