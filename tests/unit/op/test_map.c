/* test_map.c: filter and projection, and rows on which an expression fails. */
#include "op_law.h"

static const Expr *column(Fixture *f, const Schema *schema, size_t index)
{
    const Expr *expr = weir_expr_column(&f->plan, index, schema->types[index], &f->err);
    assert_non_null(expr);
    return expr;
}

static const Expr *integer(Fixture *f, int32_t value)
{
    Value constant = {.type = weir_type_simple(TYPE_INTEGER)};
    memcpy(constant.data.bytes, &value, sizeof value);
    const Expr *expr = weir_expr_constant(&f->plan, &constant, &f->err);
    assert_non_null(expr);
    return expr;
}

static const Expr *node(Fixture *f, Expr init, const Expr *a, const Expr *b)
{
    Expr *expr = need(weir_arena_alloc(&f->plan, sizeof *expr, &f->err));
    const Expr **args = need(weir_arena_calloc(&f->plan, 2, sizeof(const Expr *), &f->err));
    args[0] = a;
    args[1] = b;
    *expr = init;
    expr->args = args;
    expr->arg_count = 2;
    return expr;
}

static const Expr *less(Fixture *f, const Expr *a, const Expr *b)
{
    const Expr init = {
        .kind = EXPR_COMPARE,
        .compare = COMPARE_LT,
        .type = weir_type_simple(TYPE_BOOLEAN),
    };
    return node(f, init, a, b);
}

static const Expr *plus(Fixture *f, const Expr *a, const Expr *b)
{
    const Expr init = {.kind = EXPR_CALL, .name = "+", .is_operator = true, .type = a->type};
    return node(f, init, a, b);
}

/* a INTEGER, b INTEGER, s VARCHAR, unused DOUBLE */
static const Schema *input_schema(Fixture *f)
{
    const LogicalType *const types[] = {
        weir_type_simple(TYPE_INTEGER), weir_type_simple(TYPE_INTEGER),
        weir_type_simple(TYPE_VARCHAR), weir_type_simple(TYPE_DOUBLE)};
    return schema_of_types(f, types, WEIR_ARRAY_COUNT(types));
}

static Status build_map(const Shape *shape, Fixture *f, Circuit *circuit, Op *const *sources,
                        Op **last)
{
    return weir_op_map_new(circuit, sources[0], shape->spec, last, &f->err);
}

/* SELECT exprs FROM t WHERE predicate; either may be absent. */
static Shape map_shape(Fixture *f, const Schema *input, const Expr *predicate,
                       const Expr *const *exprs, size_t expr_count)
{
    MapSpec *spec = need(weir_arena_zalloc(&f->plan, sizeof *spec, &f->err));
    const Expr **list =
        need(weir_arena_calloc(&f->plan, expr_count + 1, sizeof(const Expr *), &f->err));
    const LogicalType *types[8];
    assert_true(expr_count <= 8);
    for (size_t i = 0; i < expr_count; i++) {
        list[i] = exprs[i];
        types[i] = exprs[i]->type;
    }
    list[expr_count] = predicate;
    *spec = (MapSpec){
        .predicates = list + expr_count,
        .predicate_count = predicate != NULL,
        .exprs = exprs == NULL ? NULL : list,
        .schema = exprs == NULL ? *input : *schema_of_types(f, types, expr_count),
    };
    return (Shape){.build = build_map, .spec = spec, .inputs = {input}, .input_count = 1};
}

static void filters_and_projections_sum_over_steps(void **state)
{
    Fixture *f = fixture_of(state);
    const Schema *schema = input_schema(f);
    const Expr *a = column(f, schema, 0);
    const Expr *b = column(f, schema, 1);
    const Expr *const exprs[] = {plus(f, a, integer(f, 1)), column(f, schema, 2), integer(f, 7)};
    const Shape both = map_shape(f, schema, less(f, a, b), exprs, 3);
    const Shape filter = map_shape(f, schema, less(f, a, b), NULL, 0);
    const Shape projection = map_shape(f, schema, NULL, exprs, 3);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        check_law(f, &both, seed, 10);
        check_law(f, &filter, seed, 10);
        check_law(f, &projection, seed, 10);
    }
    check_faults(f, &both, 4);
    check_faults(f, &filter, 4);
}

/* Runs one step of rows (a, b) with weights. */
typedef struct Change {
    int32_t a;
    int32_t b;
    int64_t weight;
} Change;

static Status try_changes(Fixture *f, const Machine *machine, const Schema *input,
                          const Change *changes, size_t count)
{
    ZSet *delta[MAX_SOURCES] = {zset_new(f, input)};
    for (size_t i = 0; i < count; i++) {
        Cell *row = zset_add(f, delta[0], changes[i].weight);
        row[0] = cell_i32(changes[i].a);
        row[1] = cell_i32(changes[i].b);
    }
    return run_step(f, machine, delta);
}

static void a_filter_is_evaluated_as_written(void **state)
{
    Fixture *f = fixture_of(state);
    const Schema *schema = input_schema(f);
    const Expr *a = column(f, schema, 0);
    const Expr *const exprs[] = {plus(f, a, column(f, schema, 1))};
    const Shape shape = map_shape(f, schema, less(f, a, integer(f, 3)), exprs, 1);
    Machine machine = new_machine(f, &shape);
    const Change rows[] = {{1, 10, 1}, {2, 20, 3}, {3, 30, 1}, {INT32_MAX, 1, 1}};
    must(f, try_changes(f, &machine, schema, rows, 4));
    weir_circuit_end_step(machine.circuit);
    assert_string_equal(contents(f, machine.sink), "11 x1\n22 x3\n");
    weir_circuit_free(machine.circuit);
}

static void a_failing_row_that_does_not_stay_is_forgotten(void **state)
{
    Fixture *f = fixture_of(state);
    const Schema *schema = input_schema(f);
    const Expr *const exprs[] = {plus(f, column(f, schema, 0), column(f, schema, 1))};
    const Shape shape = map_shape(f, schema, NULL, exprs, 1);
    Machine machine = new_machine(f, &shape);
    const Change rows[] = {{1, 1, 1},         {INT32_MAX, 1, -2}, {2, 2, 1},
                           {INT32_MAX, 2, 1}, {INT32_MAX, 1, 1},  {3, 3, 1},
                           {INT32_MAX, 1, 1}, {4, 4, 2},          {INT32_MAX, 2, -1}};
    must(f, try_changes(f, &machine, schema, rows, WEIR_ARRAY_COUNT(rows)));
    weir_circuit_end_step(machine.circuit);
    assert_string_equal(contents(f, machine.sink), "2 x1\n4 x1\n6 x1\n8 x2\n");
    must(f, try_changes(f, &machine, schema, rows, WEIR_ARRAY_COUNT(rows)));
    weir_circuit_end_step(machine.circuit);
    assert_string_equal(contents(f, machine.sink), "2 x2\n4 x2\n6 x2\n8 x4\n");
    weir_circuit_free(machine.circuit);
}

static void a_failing_row_that_stays_fails_the_step_with_its_error(void **state)
{
    Fixture *f = fixture_of(state);
    const Schema *schema = input_schema(f);
    const Expr *sum = plus(f, column(f, schema, 0), column(f, schema, 1));
    const Expr *const exprs[] = {column(f, schema, 2), sum};
    const Shape in_projection = map_shape(f, schema, NULL, exprs, 2);
    const Shape in_filter = map_shape(f, schema, less(f, sum, integer(f, 5)), NULL, 0);
    const Shape *shapes[] = {&in_projection, &in_filter};
    for (size_t i = 0; i < 2; i++) {
        Machine machine = new_machine(f, shapes[i]);
        const Change rows[] = {{1, 1, 1}, {INT32_MAX, 8, 2}, {2, 2, 1}, {INT32_MAX, 8, -1}};
        assert_int_equal(try_changes(f, &machine, schema, rows, 4), WEIR_ERR_EVALUATION);
        assert_non_null(
            strstr(f->err.message, " fails on the row (c0 = '2147483647', c1 = '8'): "));
        assert_non_null(strstr(f->err.message, "Overflow in addition of INT32 (2147483647 + 8)!"));
        weir_circuit_end_step(machine.circuit);
        weir_circuit_free(machine.circuit);
    }
}

static void an_expression_that_always_fails_needs_a_row_to_fail_on(void **state)
{
    Fixture *f = fixture_of(state);
    const Schema *schema = input_schema(f);
    const Expr *const exprs[] = {plus(f, integer(f, INT32_MAX), integer(f, 1))};
    const Shape shape = map_shape(f, schema, NULL, exprs, 1);
    Machine machine = new_machine(f, &shape);
    const Change passing[] = {{1, 1, 1}, {2, 2, -1}, {3, 3, 1}, {4, 4, -1}};
    must(f, try_changes(f, &machine, schema, passing, 4));
    weir_circuit_end_step(machine.circuit);
    const Change staying[] = {{1, 1, 1}, {2, 2, 1}};
    assert_int_equal(try_changes(f, &machine, schema, staying, 2), WEIR_ERR_EVALUATION);
    weir_circuit_end_step(machine.circuit);
    weir_circuit_free(machine.circuit);
}

static void failures_in_large_batches_are_found(void **state)
{
    Fixture *f = fixture_of(state);
    const Schema *schema = input_schema(f);
    const Expr *const exprs[] = {plus(f, column(f, schema, 0), column(f, schema, 1))};
    const Shape shape = map_shape(f, schema, NULL, exprs, 1);
    Machine machine = new_machine(f, &shape);
    ZSet *delta[MAX_SOURCES] = {zset_new(f, schema)};
    for (int32_t i = 0; i < 20000; i++) {
        const bool fails = i % 97 == 0;
        for (int sign = 1; sign >= (fails ? -1 : 1); sign -= 2) {
            Cell *row = zset_add(f, delta[0], sign);
            row[0] = cell_i32(fails ? INT32_MAX : i);
            row[1] = cell_i32(1 + i % 2);
        }
    }
    zset_shuffle(f, delta[0]);
    must(f, run_step(f, &machine, delta));
    weir_circuit_end_step(machine.circuit);
    assert_int_equal(weir_sink_row_count(machine.sink), 20000 - (20000 + 96) / 97);
    weir_circuit_free(machine.circuit);
}

static void failing_rows_survive_failed_allocations(void **state)
{
    Fixture *f = fixture_of(state);
    const Schema *schema = input_schema(f);
    const Expr *const exprs[] = {plus(f, column(f, schema, 0), column(f, schema, 1))};
    const Shape shape = map_shape(f, schema, NULL, exprs, 1);
    const Change rows[] = {{1, 1, 1}, {INT32_MAX, 8, 2}, {2, 2, 1}, {INT32_MAX, 8, -1}};
    Status status = WEIR_ERR_NOMEM;
    for (size_t nth = 1; status == WEIR_ERR_NOMEM; nth++) {
        Machine machine = new_machine(f, &shape);
        ZSet *delta[MAX_SOURCES] = {zset_new(f, schema)};
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
            Cell *row = zset_add(f, delta[0], rows[i].weight);
            row[0] = cell_i32(rows[i].a);
            row[1] = cell_i32(rows[i].b);
        }
        weir_mem_fail_after(f->mem, nth, false);
        status = run_step(f, &machine, delta);
        weir_mem_fail_after(f->mem, 0, false);
        weir_circuit_end_step(machine.circuit);
        weir_circuit_free(machine.circuit);
    }
    assert_int_equal(status, WEIR_ERR_EVALUATION);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(filters_and_projections_sum_over_steps),
        TEST(a_filter_is_evaluated_as_written),
        TEST(a_failing_row_that_does_not_stay_is_forgotten),
        TEST(a_failing_row_that_stays_fails_the_step_with_its_error),
        TEST(an_expression_that_always_fails_needs_a_row_to_fail_on),
        TEST(failures_in_large_batches_are_found),
        TEST(failing_rows_survive_failed_allocations),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
