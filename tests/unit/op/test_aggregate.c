/* test_aggregate.c: GROUP BY, DISTINCT and every aggregate function. */
#include "op_law.h"

/* The input of most tests: a key and a column for every kind of argument. */
enum {
    COLUMN_KEY,      /* INTEGER */
    COLUMN_TEXT,     /* VARCHAR */
    COLUMN_DOUBLE,   /* DOUBLE */
    COLUMN_INTERVAL, /* INTERVAL */
    COLUMN_BOOLEAN,  /* BOOLEAN */
    COLUMN_SMALL,    /* SMALLINT */
    COLUMN_BIG,      /* BIGINT */
    COLUMN_HUGE,     /* HUGEINT */
    COLUMN_DECIMAL,  /* DECIMAL(9,2) */
    COLUMN_BYTE,     /* UTINYINT */
    COLUMN_TIME,     /* TIMESTAMP */
    COLUMN_FLAG,     /* BOOLEAN, for FILTER */
    COLUMN_COUNT
};

static const Schema *wide_schema(Fixture *f)
{
    const LogicalType *const types[] = {
        [COLUMN_KEY] = weir_type_simple(TYPE_INTEGER),
        [COLUMN_TEXT] = weir_type_simple(TYPE_VARCHAR),
        [COLUMN_DOUBLE] = weir_type_simple(TYPE_DOUBLE),
        [COLUMN_INTERVAL] = weir_type_simple(TYPE_INTERVAL),
        [COLUMN_BOOLEAN] = weir_type_simple(TYPE_BOOLEAN),
        [COLUMN_SMALL] = weir_type_simple(TYPE_SMALLINT),
        [COLUMN_BIG] = weir_type_simple(TYPE_BIGINT),
        [COLUMN_HUGE] = weir_type_simple(TYPE_HUGEINT),
        [COLUMN_DECIMAL] = weir_type_decimal(&f->plan, 9, 2, &f->err),
        [COLUMN_BYTE] = weir_type_simple(TYPE_UTINYINT),
        [COLUMN_TIME] = weir_type_simple(TYPE_TIMESTAMP),
        [COLUMN_FLAG] = weir_type_simple(TYPE_BOOLEAN),
    };
    return schema_of_types(f, types, COLUMN_COUNT);
}

typedef struct CallSpec {
    const char *name;
    ptrdiff_t arg;
    bool is_distinct;
    ptrdiff_t filter; /* 0 = none */
} CallSpec;

static const LogicalType *result_type(Fixture *f, const char *name, const LogicalType *arg)
{
    const bool is_count = strncmp(name, "count", 5) == 0 && strstr(name, "if") == NULL;
    if (arg == NULL || is_count) {
        return weir_type_simple(TYPE_BIGINT);
    }
    if (strncmp(name, "bool", 4) == 0) {
        return weir_type_simple(TYPE_BOOLEAN);
    }
    const bool is_sum = strcmp(name, "sum") == 0 || strstr(name, "if") != NULL;
    if (is_sum && arg->id == TYPE_DECIMAL) {
        return weir_type_decimal(&f->plan, 38, arg->scale, &f->err);
    }
    if (is_sum) {
        return weir_type_simple(arg->id == TYPE_DOUBLE ? TYPE_DOUBLE : TYPE_HUGEINT);
    }
    if (strcmp(name, "avg") == 0 && arg->id != TYPE_INTERVAL && arg->id != TYPE_TIMESTAMP) {
        return weir_type_simple(TYPE_DOUBLE);
    }
    return arg;
}

static const AggregateSpec *aggregate_spec(Fixture *f, const Schema *input, const size_t *groups,
                                           size_t group_count, const CallSpec *specs, size_t count)
{
    AggregateSpec *spec = need(weir_arena_zalloc(&f->plan, sizeof *spec, &f->err));
    AggregateCall *calls = need(weir_arena_calloc(&f->plan, count, sizeof *calls, &f->err));
    size_t *columns = need(weir_arena_calloc(&f->plan, group_count, sizeof *columns, &f->err));
    const LogicalType *types[64];
    assert_true(group_count + count <= 64);
    for (size_t i = 0; i < group_count; i++) {
        columns[i] = groups[i];
        types[i] = input->types[groups[i]];
    }
    for (size_t i = 0; i < count; i++) {
        const LogicalType *arg = specs[i].arg == OP_NO_COLUMN ? NULL : input->types[specs[i].arg];
        calls[i] = (AggregateCall){
            .name = specs[i].name,
            .args = {specs[i].arg, OP_NO_COLUMN, OP_NO_COLUMN},
            .arg_type = arg,
            .filter = specs[i].filter == 0 ? OP_NO_COLUMN : specs[i].filter,
            .is_distinct = specs[i].is_distinct,
            .type = result_type(f, specs[i].name, arg),
        };
        types[group_count + i] = calls[i].type;
    }
    *spec = (AggregateSpec){
        .group_columns = columns,
        .group_count = group_count,
        .calls = calls,
        .call_count = count,
        .is_global = group_count == 0 && count > 0,
        .schema = *schema_of_types(f, types, group_count + count),
    };
    return spec;
}

static Status build_aggregate(const Shape *shape, Fixture *f, Circuit *circuit, Op *const *sources,
                              Op **last)
{
    return weir_op_aggregate_new(circuit, sources[0], shape->spec, last, &f->err);
}

static Shape aggregate_shape(Fixture *f, const size_t *groups, size_t group_count,
                             const CallSpec *calls, size_t call_count)
{
    const Schema *input = wide_schema(f);
    return (Shape){
        .build = build_aggregate,
        .spec = aggregate_spec(f, input, groups, group_count, calls, call_count),
        .inputs = {input},
        .input_count = 1,
    };
}

static const CallSpec all_calls[] = {
    {"count_star", OP_NO_COLUMN, false, 0},
    {"count_star", OP_NO_COLUMN, false, COLUMN_FLAG},
    {"count", COLUMN_TEXT, false, 0},
    {"count", COLUMN_TEXT, true, 0},
    {"count", COLUMN_DOUBLE, true, 0},
    {"count", COLUMN_INTERVAL, true, COLUMN_FLAG},
    {"count", OP_NO_COLUMN, false, COLUMN_FLAG},
    {"count_if", COLUMN_BOOLEAN, false, 0},
    {"countif", COLUMN_BOOLEAN, true, COLUMN_FLAG},
    {"sum", COLUMN_BOOLEAN, false, 0},
    {"sum", COLUMN_SMALL, false, 0},
    {"sum", COLUMN_BIG, false, COLUMN_FLAG},
    {"sum", COLUMN_BIG, true, COLUMN_FLAG},
    {"sum", COLUMN_HUGE, false, 0},
    {"sum", COLUMN_DECIMAL, false, 0},
    {"sum", COLUMN_BYTE, false, 0},
    {"sum", COLUMN_DOUBLE, false, 0},
    {"sum", COLUMN_DOUBLE, true, 0},
    {"avg", COLUMN_SMALL, false, 0},
    {"avg", COLUMN_BIG, false, 0},
    {"avg", COLUMN_HUGE, true, 0},
    {"avg", COLUMN_DECIMAL, false, 0},
    {"avg", COLUMN_DOUBLE, false, COLUMN_FLAG},
    {"avg", COLUMN_TIME, false, 0},
    {"avg", COLUMN_INTERVAL, false, 0},
    {"min", COLUMN_BIG, false, 0},
    {"max", COLUMN_BIG, true, 0},
    {"min", COLUMN_TEXT, false, 0},
    {"max", COLUMN_TEXT, false, COLUMN_FLAG},
    {"min", COLUMN_DOUBLE, false, 0},
    {"max", COLUMN_DOUBLE, false, 0},
    {"max", COLUMN_INTERVAL, false, 0},
    {"min", COLUMN_HUGE, false, 0},
    {"max", COLUMN_BOOLEAN, false, 0},
    {"first", COLUMN_DECIMAL, false, 0},
    {"first", COLUMN_TEXT, false, 0},
    {"bool_and", COLUMN_BOOLEAN, false, 0},
    {"bool_or", COLUMN_BOOLEAN, true, 0},
    {"bit_and", COLUMN_BIG, false, 0},
    {"bit_or", COLUMN_BYTE, false, 0},
    {"bit_or", COLUMN_HUGE, false, 0},
    {"bit_xor", COLUMN_SMALL, false, 0},
    {"bit_xor", COLUMN_BIG, true, 0},
};

static void every_function_of_the_list_is_tested(void **state)
{
    WEIR_UNUSED(state);
    static const char *const names[] = {
#define X(name, argument, accumulator, finish, flags) #name,
#include "agg/aggregates.def"
#undef X
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++) {
        bool is_tested = false;
        for (size_t k = 0; k < WEIR_ARRAY_COUNT(all_calls); k++) {
            is_tested = is_tested || strcmp(all_calls[k].name, names[i]) == 0;
        }
        if (!is_tested) {
            fail_msg("%s", names[i]);
        }
    }
}

/* --- laws ------------------------------------------------------------------------------------ */

static void every_function_sums_over_steps(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_KEY};
    const Shape shape = aggregate_shape(f, groups, 1, all_calls, WEIR_ARRAY_COUNT(all_calls));
    for (uint64_t seed = 1; seed <= 6; seed++) {
        check_law(f, &shape, seed, 14);
    }
}

static void every_function_sums_over_steps_for_the_global_group(void **state)
{
    Fixture *f = fixture_of(state);
    const Shape shape = aggregate_shape(f, NULL, 0, all_calls, WEIR_ARRAY_COUNT(all_calls));
    for (uint64_t seed = 11; seed <= 14; seed++) {
        check_law(f, &shape, seed, 14);
    }
}

static void groups_are_found_by_equality_of_several_columns(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_TEXT, COLUMN_DOUBLE, COLUMN_BOOLEAN, COLUMN_INTERVAL};
    const CallSpec calls[] = {
        {"sum", COLUMN_BIG, false, 0},
        {"count", COLUMN_SMALL, true, 0},
        {"max", COLUMN_TEXT, false, 0},
    };
    const Shape shape = aggregate_shape(f, groups, 4, calls, WEIR_ARRAY_COUNT(calls));
    for (uint64_t seed = 21; seed <= 24; seed++) {
        check_law(f, &shape, seed, 12);
    }
}

static void distinct_is_an_aggregate_without_calls(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_DOUBLE, COLUMN_KEY};
    const Shape shape = aggregate_shape(f, groups, 2, NULL, 0);
    for (uint64_t seed = 31; seed <= 34; seed++) {
        check_law(f, &shape, seed, 14);
    }
    const Shape of_no_columns = aggregate_shape(f, NULL, 0, NULL, 0);
    check_law(f, &of_no_columns, 35, 20);
}

static void every_failed_allocation_is_survived(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_KEY, COLUMN_DOUBLE};
    const CallSpec calls[] = {
        {"sum", COLUMN_DOUBLE, false, 0},    {"count", COLUMN_TEXT, true, COLUMN_FLAG},
        {"avg", COLUMN_BIG, true, 0},        {"max", COLUMN_TEXT, false, 0},
        {"bit_and", COLUMN_SMALL, false, 0},
    };
    const Shape shape = aggregate_shape(f, groups, 2, calls, WEIR_ARRAY_COUNT(calls));
    check_faults(f, &shape, 5);
    const Shape global = aggregate_shape(f, NULL, 0, calls, WEIR_ARRAY_COUNT(calls));
    check_faults(f, &global, 6);
}

/* --- against values written down ------------------------------------------------------------- */

/* Runs a step of rows (key, column = cell) with weights. */
typedef struct Change {
    int64_t key;
    Cell cell;
    int64_t weight;
} Change;

static Status try_changes(Fixture *f, const Machine *machine, const Schema *input, size_t column,
                          const Change *changes, size_t count)
{
    ZSet *delta[MAX_SOURCES] = {zset_new(f, input)};
    for (size_t i = 0; i < count; i++) {
        Cell *row = zset_add(f, delta[0], changes[i].weight);
        row[COLUMN_KEY] = cell_i32((int32_t)changes[i].key);
        row[column] = changes[i].cell;
    }
    return run_step(f, machine, delta);
}

static void change(Fixture *f, const Machine *machine, const Schema *input, size_t column,
                   const Change *changes, size_t count)
{
    must(f, try_changes(f, machine, input, column, changes, count));
    weir_circuit_end_step(machine->circuit);
}

static void a_group_leaves_with_its_last_row(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_KEY};
    const CallSpec calls[] = {
        {"count_star", OP_NO_COLUMN, false, 0}, {"sum", COLUMN_BIG, false, 0},
        {"avg", COLUMN_BIG, false, 0},          {"min", COLUMN_BIG, false, 0},
        {"max", COLUMN_BIG, false, 0},          {"count", COLUMN_BIG, true, 0},
    };
    const Shape shape = aggregate_shape(f, groups, 1, calls, WEIR_ARRAY_COUNT(calls));
    const Schema *input = shape.inputs[0];
    Machine machine = new_machine(f, &shape);
    const Change first[] = {
        {1, cell_i64(10), 1}, {1, cell_i64(20), 2}, {2, cell_null(), 1}, {3, cell_i64(-7), 1}};
    change(f, &machine, input, COLUMN_BIG, first, 4);
    assert_string_equal(contents(f, machine.sink), "1|3|50|0x1.0aaaaaaaaaaabp+4|10|20|2 x1\n"
                                                   "2|1|NULL|NULL|NULL|NULL|0 x1\n"
                                                   "3|1|-7|-0x1.cp+2|-7|-7|1 x1\n");
    const Change second[] = {{1, cell_i64(20), -2}, {2, cell_null(), -1}, {4, cell_i64(1), 1}};
    change(f, &machine, input, COLUMN_BIG, second, 3);
    assert_string_equal(contents(f, machine.sink), "1|1|10|0x1.4p+3|10|10|1 x1\n"
                                                   "3|1|-7|-0x1.cp+2|-7|-7|1 x1\n"
                                                   "4|1|1|0x1p+0|1|1|1 x1\n");
    const Change third[] = {{1, cell_i64(10), -1}, {3, cell_i64(-7), -1}, {4, cell_i64(1), -1}};
    change(f, &machine, input, COLUMN_BIG, third, 3);
    assert_string_equal(contents(f, machine.sink), "");
    weir_circuit_free(machine.circuit);
}

static void a_global_aggregate_always_has_its_row(void **state)
{
    Fixture *f = fixture_of(state);
    const CallSpec calls[] = {
        {"count_star", OP_NO_COLUMN, false, 0}, {"count", COLUMN_BIG, false, 0},
        {"sum", COLUMN_BIG, false, 0},          {"sum", COLUMN_DOUBLE, false, 0},
        {"count_if", COLUMN_BOOLEAN, false, 0}, {"bool_and", COLUMN_BOOLEAN, false, 0},
        {"bit_xor", COLUMN_BIG, false, 0},
    };
    const Shape shape = aggregate_shape(f, NULL, 0, calls, WEIR_ARRAY_COUNT(calls));
    Machine machine = new_machine(f, &shape);
    const char *empty = "0|0|NULL|NULL|NULL|NULL|NULL x1\n";
    change(f, &machine, shape.inputs[0], COLUMN_BIG, NULL, 0);
    assert_string_equal(contents(f, machine.sink), empty);
    const Change rows[] = {{1, cell_i64(6), 2}, {1, cell_i64(5), 1}};
    change(f, &machine, shape.inputs[0], COLUMN_BIG, rows, 2);
    assert_string_equal(contents(f, machine.sink), "3|3|17|NULL|NULL|NULL|5 x1\n");
    const Change back[] = {{1, cell_i64(6), -2}, {1, cell_i64(5), -1}};
    change(f, &machine, shape.inputs[0], COLUMN_BIG, back, 2);
    assert_string_equal(contents(f, machine.sink), empty);
    weir_circuit_free(machine.circuit);
}

static void nothing_is_emitted_for_a_group_whose_row_stays(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_KEY};
    const CallSpec calls[] = {{"avg", COLUMN_BIG, false, 0}, {"max", COLUMN_BIG, false, 0}};
    const Shape shape = aggregate_shape(f, groups, 1, calls, 2);
    const Schema *input = shape.inputs[0];
    Machine machine = new_machine(f, &shape);
    const Change first[] = {{1, cell_i64(4), 1}, {2, cell_i64(4), 1}, {3, cell_i64(8), 1}};
    change(f, &machine, input, COLUMN_BIG, first, 3);
    const Op *aggregate = weir_circuit_op(machine.circuit, 1);
    assert_int_equal(aggregate->rows_out, 3);
    const Change second[] = {{1, cell_i64(4), 1}, {2, cell_i64(2), 1}, {2, cell_i64(2), -1}};
    change(f, &machine, input, COLUMN_BIG, second, 3);
    assert_int_equal(aggregate->rows_out, 3);
    const Change third[] = {{1, cell_i64(4), 5}, {3, cell_i64(2), 1}};
    change(f, &machine, input, COLUMN_BIG, third, 2);
    assert_int_equal(aggregate->rows_out, 5);
    weir_circuit_free(machine.circuit);
}

static void averages_divide_as_duckdb_does(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_KEY};
    const CallSpec calls[] = {{"avg", COLUMN_TIME, false, 0}, {"avg", COLUMN_INTERVAL, false, 0}};
    const Shape shape = aggregate_shape(f, groups, 1, calls, 2);
    const Schema *input = shape.inputs[0];
    Machine machine = new_machine(f, &shape);
    const Change times[] = {{1, cell_i64(1), 1}, {1, cell_i64(2), 1},  {2, cell_i64(1), 1},
                            {2, cell_i64(2), 2}, {3, cell_i64(-1), 1}, {3, cell_i64(-2), 2}};
    change(f, &machine, input, COLUMN_TIME, times, 6);
    assert_string_equal(contents(f, machine.sink), "1|1|NULL x1\n2|2|NULL x1\n3|-1|NULL x1\n");
    const Interval values[] = {{.months = 1}, {.days = 1}, {.micros = 1000000}};
    const Change intervals[] = {{4, cell_of(&values[0], 16), 1},
                                {4, cell_of(&values[1], 16), 1},
                                {4, cell_of(&values[2], 16), 1}};
    change(f, &machine, input, COLUMN_INTERVAL, intervals, 3);
    /* 10 days 08:00:00.333334, little endian words printed from the top */
    assert_non_null(
        strstr(contents(f, machine.sink), "4|NULL|00000006b4a236160000000a00000000 x1"));
    weir_circuit_free(machine.circuit);
}

static void a_sum_of_hugeints_must_fit_only_at_the_end(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_KEY};
    const CallSpec calls[] = {{"sum", COLUMN_HUGE, false, 0}, {"avg", COLUMN_HUGE, false, 0}};
    const Shape shape = aggregate_shape(f, groups, 1, calls, 2);
    const i128 largest = (i128)(((u128)1 << 127) - 1);
    const i128 smallest = -largest - 1;
    for (int sign = 0; sign < 2; sign++) {
        Machine machine = new_machine(f, &shape);
        const i128 extreme = sign == 0 ? largest : smallest;
        const Change first[] = {{1, cell_of(&extreme, 16), 5}, {1, cell_of(&extreme, 16), -4}};
        change(f, &machine, shape.inputs[0], COLUMN_HUGE, first, 2);
        const char *text = contents(f, machine.sink);
        assert_non_null(strstr(text, sign == 0 ? "1|7fffffffffffffffffffffffffffffff|"
                                               : "1|80000000000000000000000000000000|"));
        const Change second[] = {{1, cell_of(&extreme, 16), 1}};
        assert_int_equal(try_changes(f, &machine, shape.inputs[0], COLUMN_HUGE, second, 1),
                         WEIR_ERR_EVALUATION);
        assert_string_equal(f->err.message, "Overflow in HUGEINT addition");
        weir_circuit_end_step(machine.circuit);
        weir_circuit_free(machine.circuit);
    }
}

static void sums_of_doubles_do_not_drift(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_KEY};
    const CallSpec calls[] = {{"sum", COLUMN_DOUBLE, false, 0}, {"avg", COLUMN_DOUBLE, false, 0}};
    const Shape shape = aggregate_shape(f, groups, 1, calls, 2);
    Machine machine = new_machine(f, &shape);
    const Change first[] = {{1, cell_f64(0.1), 1}, {1, cell_f64(1e300), 1}, {1, cell_f64(NAN), 1}};
    change(f, &machine, shape.inputs[0], COLUMN_DOUBLE, first, 3);
    assert_string_equal(contents(f, machine.sink), "1|nan|nan x1\n");
    const Change second[] = {{1, cell_f64(1e300), -1}, {1, cell_f64(NAN), -1}};
    change(f, &machine, shape.inputs[0], COLUMN_DOUBLE, second, 2);
    assert_string_equal(contents(f, machine.sink),
                        "1|0x1.999999999999ap-4|0x1.999999999999ap-4 x1\n");
    weir_circuit_free(machine.circuit);
}

static void a_group_keeps_the_look_it_was_first_seen_with(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_DOUBLE};
    const Shape shape = aggregate_shape(f, groups, 1, NULL, 0);
    Machine machine = new_machine(f, &shape);
    const Change first[] = {{1, cell_f64(-0.0), 1}};
    change(f, &machine, shape.inputs[0], COLUMN_DOUBLE, first, 1);
    const Change second[] = {{1, cell_f64(0.0), 1}};
    change(f, &machine, shape.inputs[0], COLUMN_DOUBLE, second, 1);
    RowTable *table = weir_sink_table(machine.sink);
    assert_int_equal(table->row_count, 1);
    uint64_t cursor = 0;
    Row *row = NULL;
    assert_int_equal(weir_row_table_scan(table, &cursor, &row, 1), 1);
    double shown = 1;
    uint64_t validity[VECTOR_VALIDITY_WORDS];
    Vector column = {.phys = PHYS_F64, .data = &shown};
    weir_row_unpack(&table->layout, &row, 1, 0, &column, validity);
    assert_true(shown == 0 && signbit(shown));
    weir_circuit_free(machine.circuit);
}

static void first_of_one_row_is_that_row(void **state)
{
    Fixture *f = fixture_of(state);
    const CallSpec calls[] = {{"first", COLUMN_DOUBLE, false, 0}};
    const Shape shape = aggregate_shape(f, NULL, 0, calls, 1);
    Machine machine = new_machine(f, &shape);
    const double values[] = {-0.0, 1.5};
    for (size_t i = 0; i < 2; i++) {
        const Change rows[] = {{1, cell_f64(values[i]), 1}, {1, cell_f64(values[0]), -(int64_t)i}};
        change(f, &machine, shape.inputs[0], COLUMN_DOUBLE, rows, 1 + i);
        RowTable *table = weir_sink_table(machine.sink);
        uint64_t cursor = 0;
        Row *row = NULL;
        assert_int_equal(weir_row_table_scan(table, &cursor, &row, 1), 1);
        double shown = 1;
        uint64_t validity[VECTOR_VALIDITY_WORDS];
        Vector column = {.phys = PHYS_F64, .data = &shown};
        weir_row_unpack(&table->layout, &row, 1, 0, &column, validity);
        assert_memory_equal(&shown, &values[i], sizeof shown);
    }
    weir_circuit_free(machine.circuit);
}

static void more_removed_than_added_is_an_error(void **state)
{
    Fixture *f = fixture_of(state);
    const size_t groups[] = {COLUMN_KEY};
    const CallSpec calls[] = {{"count", COLUMN_BIG, true, 0}};
    const CallSpec max_calls[] = {{"max", COLUMN_BIG, false, 0}};
    const Shape distinct = aggregate_shape(f, groups, 1, calls, 1);
    const Shape max = aggregate_shape(f, groups, 1, max_calls, 1);
    const Change of_group[] = {{1, cell_i64(1), -1}};
    const Change of_value[] = {{1, cell_i64(1), -1}, {1, cell_i64(2), 1}};
    for (int i = 0; i < 4; i++) {
        const Shape *shape = i < 2 ? &distinct : &max;
        Machine machine = new_machine(f, shape);
        assert_int_equal(try_changes(f, &machine, shape->inputs[0], COLUMN_BIG,
                                     i % 2 == 0 ? of_group : of_value, i % 2 == 0 ? 1 : 2),
                         WEIR_ERR_NEGATIVE);
        weir_circuit_end_step(machine.circuit);
        weir_circuit_free(machine.circuit);
    }
}

static void a_call_without_implementation_is_refused(void **state)
{
    Fixture *f = fixture_of(state);
    const Schema *input = wide_schema(f);
    AggregateCall call = {
        .name = "median",
        .args = {COLUMN_BIG, OP_NO_COLUMN, OP_NO_COLUMN},
        .arg_type = input->types[COLUMN_BIG],
        .filter = OP_NO_COLUMN,
        .type = input->types[COLUMN_DOUBLE],
    };
    assert_false(weir_op_aggregate_supports(&call));
    call.name = "max";
    assert_true(weir_op_aggregate_supports(&call));
    call.args[1] = COLUMN_BIG; /* max(x, n) */
    assert_false(weir_op_aggregate_supports(&call));
    call.args[1] = OP_NO_COLUMN;
    call.name = "avg";
    call.args[0] = COLUMN_INTERVAL;
    call.arg_type = input->types[COLUMN_INTERVAL];
    assert_true(weir_op_aggregate_supports(&call));
    call.is_distinct = true;
    assert_false(weir_op_aggregate_supports(&call));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_function_of_the_list_is_tested),
        TEST(every_function_sums_over_steps),
        TEST(every_function_sums_over_steps_for_the_global_group),
        TEST(groups_are_found_by_equality_of_several_columns),
        TEST(distinct_is_an_aggregate_without_calls),
        TEST(every_failed_allocation_is_survived),
        TEST(a_group_leaves_with_its_last_row),
        TEST(a_global_aggregate_always_has_its_row),
        TEST(nothing_is_emitted_for_a_group_whose_row_stays),
        TEST(averages_divide_as_duckdb_does),
        TEST(a_sum_of_hugeints_must_fit_only_at_the_end),
        TEST(sums_of_doubles_do_not_drift),
        TEST(a_group_keeps_the_look_it_was_first_seen_with),
        TEST(first_of_one_row_is_that_row),
        TEST(more_removed_than_added_is_an_error),
        TEST(a_call_without_implementation_is_refused),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
