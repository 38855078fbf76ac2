/* test_expr.c: trees: equality, columns, rewriting, failure, SQL and text. */
#include "expr_support.h"

static void expect_sql(World *w, const Expr *expr, const char *wanted)
{
    Buf buf;
    weir_buf_init(&buf, w->mem, SIZE_MAX);
    weir_expr_put_sql(&buf, expr);
    must_ok(w, weir_buf_status(&buf, &w->err));
    assert_string_equal(buf.data, wanted);
    weir_buf_deinit(&buf);
}

static void expect_text(World *w, const Expr *expr, const char *const *names, const char *wanted)
{
    Buf buf;
    weir_buf_init(&buf, w->mem, SIZE_MAX);
    weir_expr_put_text(&buf, expr, names);
    must_ok(w, weir_buf_status(&buf, &w->err));
    assert_string_equal(buf.data, wanted);
    weir_buf_deinit(&buf);
}

static void expect_refused(World *w, const Expr *expr)
{
    Buf buf;
    weir_buf_init(&buf, w->mem, SIZE_MAX);
    weir_expr_put_sql(&buf, expr);
    assert_int_equal(weir_buf_status(&buf, &w->err), WEIR_ERR_FUNCTION);
    weir_buf_deinit(&buf);
}

static const Expr *text_constant(World *w, const char *text)
{
    const String s = weir_string_make(text, strlen(text));
    return constant(w, TYPE_VARCHAR, &s, sizeof s);
}

static const Expr *call(World *w, const char *name, TypeId type, const Expr *a)
{
    return node(w, (Expr){.kind = EXPR_CALL, .name = name, .type = weir_type_simple(type)}, 1, a);
}

static void equality_looks_at_values_types_and_names(void **state)
{
    World *w = *state;
    const Expr *a = column(w, 0, TYPE_INTEGER);
    assert_true(weir_expr_equal(call2(w, "+", a, integer(w, 1)),
                                call2(w, "+", column(w, 0, TYPE_INTEGER), integer(w, 1))));
    assert_false(weir_expr_equal(call2(w, "+", a, integer(w, 1)), call2(w, "+", a, integer(w, 2))));
    assert_false(weir_expr_equal(call2(w, "+", a, integer(w, 1)), call2(w, "-", a, integer(w, 1))));
    assert_false(weir_expr_equal(a, column(w, 0, TYPE_BIGINT)));
    assert_false(weir_expr_equal(text_constant(w, "a"), text_constant(w, "b")));
    assert_true(weir_expr_equal(text_constant(w, "a text longer than a slot"),
                                text_constant(w, "a text longer than a slot")));
    assert_false(weir_expr_equal(integer(w, 0), constant(w, TYPE_INTEGER, NULL, 0)));
}

static void remapping_keeps_what_does_not_change(void **state)
{
    World *w = *state;
    const Expr *constants = call2(w, "+", integer(w, 1), integer(w, 2));
    const Expr *expr = call2(w, "*", column(w, 2, TYPE_INTEGER), constants);
    bool used[3] = {false};
    weir_expr_collect_columns(expr, used);
    assert_true(!used[0] && !used[1] && used[2]);

    const size_t map[] = {SIZE_MAX, SIZE_MAX, 0};
    const Expr *moved = must(w, weir_expr_remap(&w->plan, expr, map, &w->err));
    assert_int_equal(moved->args[0]->column, 0);
    assert_ptr_equal(moved->args[1], constants);
    const size_t same[] = {0, 1, 2};
    assert_ptr_equal(weir_expr_remap(&w->plan, expr, same, &w->err), expr);
    const size_t gone[] = {0, 1, SIZE_MAX};
    assert_null(weir_expr_remap(&w->plan, expr, gone, &w->err));
    assert_int_equal(w->err.code, WEIR_ERR_INTERNAL);
}

static void substitution_composes_projections(void **state)
{
    World *w = *state;
    const Expr *inner[] = {call2(w, "+", column(w, 4, TYPE_INTEGER), integer(w, 1))};
    const Expr *outer = call2(w, "*", column(w, 0, TYPE_INTEGER), column(w, 0, TYPE_INTEGER));
    const Expr *both = must(w, weir_expr_substitute(&w->plan, outer, inner, &w->err));
    expect_sql(w, both,
               "system.main.\"*\"(system.main.\"+\"(c4, CAST('1' AS INTEGER)), "
               "system.main.\"+\"(c4, CAST('1' AS INTEGER)))");
}

static void what_can_fail(void **state)
{
    World *w = *state;
    const Expr *a = column(w, 0, TYPE_INTEGER);
    const Expr *sum = call2(w, "+", a, a);
    assert_true(weir_expr_can_fail(sum));
    assert_false(weir_expr_can_fail(a));
    assert_false(weir_expr_can_fail(compare(w, COMPARE_LT, a, a)));
    assert_true(weir_expr_can_fail(compare(w, COMPARE_LT, sum, a)));
    assert_false(weir_expr_can_fail(node(w, (Expr){.kind = EXPR_TRY, .type = a->type}, 1, sum)));
    const LogicalType *big = weir_type_simple(TYPE_BIGINT);
    const LogicalType *tiny = weir_type_simple(TYPE_TINYINT);
    assert_false(weir_expr_can_fail(node(w, (Expr){.kind = EXPR_CAST, .type = big}, 1, a)));
    assert_true(weir_expr_can_fail(node(w, (Expr){.kind = EXPR_CAST, .type = tiny}, 1, a)));
    assert_false(
        weir_expr_can_fail(node(w, (Expr){.kind = EXPR_CAST, .type = tiny, .is_try = true}, 1, a)));
    assert_true(weir_expr_can_fail(call(w, "no_such_function", TYPE_INTEGER, a)));
}

static void sql_of_operators_and_calls(void **state)
{
    World *w = *state;
    const Expr *a = column(w, 0, TYPE_INTEGER);
    const Expr *s = column(w, 1, TYPE_VARCHAR);
    expect_sql(w, call(w, "-", TYPE_INTEGER, a), "system.main.\"-\"(c0)");
    expect_sql(w, call(w, "list", TYPE_INTEGER, a), "system.main.\"list\"(c0)");
    expect_sql(w, call(w, "lower", TYPE_VARCHAR, s), "system.main.\"lower\"(c1)");
    expect_sql(w, call(w, "unpivot_list", TYPE_INTEGER, a), "system.main.\"list_value\"(c0)");
    expect_sql(w, call(w, "error", TYPE_INTEGER, s), "CAST(system.main.\"error\"(c1) AS INTEGER)");
    expect_sql(w, call2(w, "~~", s, text_constant(w, "it's%")),
               "system.main.\"~~\"(c1, CAST('it''s%' AS VARCHAR))");
    expect_sql(w, compare(w, COMPARE_NOT_DISTINCT, a, integer(w, -5)),
               "(c0 IS NOT DISTINCT FROM CAST('-5' AS INTEGER))");
    expect_sql(w, node(w, (Expr){.kind = EXPR_IN, .is_negated = true}, 3, a, integer(w, 1), a),
               "(c0 NOT IN (CAST('1' AS INTEGER), c0))");
    expect_sql(w,
               node(w, (Expr){.kind = EXPR_CASE, .type = a->type}, 3,
                    node(w, (Expr){.kind = EXPR_IS_NULL}, 1, a), integer(w, 0), a),
               "CASE WHEN (c0 IS NULL) THEN CAST('0' AS INTEGER) ELSE c0 END");
    expect_sql(w, node(w, (Expr){.kind = EXPR_TRY, .type = a->type}, 1, a), "TRY(c0)");
    const LogicalType *decimal = must(w, weir_type_decimal(&w->plan, 13, 2, &w->err));
    const Expr *d = must(w, weir_expr_column(&w->plan, 2, decimal, &w->err));
    expect_sql(w, call2(w, "+", d, d), "CAST(system.main.\"+\"(c2, c2) AS DECIMAL(13,2))");
    expect_refused(w, call(w, "icu_collate_de", TYPE_VARCHAR, s));
}

static void sql_of_lambdas_numbers_parameters_from_the_outermost(void **state)
{
    World *w = *state;
    const LogicalType *integer_type = weir_type_simple(TYPE_INTEGER);
    const LogicalType *list = must(w, weir_type_list(&w->plan, integer_type, &w->err));
    const Expr *l = must(w, weir_expr_column(&w->plan, 0, list, &w->err));
    const Expr *x0 = node(w, (Expr){.kind = EXPR_PARAMETER, .type = integer_type}, 0);
    const Expr *x1 = node(w, (Expr){.kind = EXPR_PARAMETER, .type = integer_type, .column = 1}, 0);
    const CallExtra inner = {
        .lambda = call2(w, "+", x1, call2(w, "*", x0, column(w, 1, TYPE_INTEGER))),
        .lambda_parameter_count = 1,
    };
    const Expr *nested =
        node(w, (Expr){.kind = EXPR_CALL, .name = "list_transform", .type = list, .extra = &inner},
             1, l);
    const CallExtra outer = {.lambda = nested, .lambda_parameter_count = 1};
    const Expr *expr =
        node(w, (Expr){.kind = EXPR_CALL, .name = "list_transform", .type = list, .extra = &outer},
             1, l);
    expect_sql(w, expr,
               "system.main.\"list_transform\"(c0, lambda x0: system.main.\"list_transform\"(c0, "
               "lambda x1: system.main.\"+\"(x1, system.main.\"*\"(x0, c1))))");
    bool used[2] = {false};
    weir_expr_collect_columns(expr, used);
    assert_true(used[0] && used[1]);
    const size_t map[] = {3, 7};
    expect_sql(w, must(w, weir_expr_remap(&w->plan, expr, map, &w->err)),
               "system.main.\"list_transform\"(c3, lambda x0: system.main.\"list_transform\"(c3, "
               "lambda x1: system.main.\"+\"(x1, system.main.\"*\"(x0, c7))))");
}

static void text_is_short(void **state)
{
    World *w = *state;
    const char *const names[] = {"price", NULL};
    const Expr *a = column(w, 0, TYPE_INTEGER);
    const Expr *expr =
        node(w, (Expr){.kind = EXPR_AND}, 2, compare(w, COMPARE_GT, a, integer(w, 5)),
             call2(w, "~~", column(w, 1, TYPE_VARCHAR), text_constant(w, "x%")));
    expect_text(w, expr, names, "((price > 5) AND (#1 ~~ 'x%'))");
    expect_text(w, expr, NULL, "((#0 > 5) AND (#1 ~~ 'x%'))");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(equality_looks_at_values_types_and_names),
        TEST(remapping_keeps_what_does_not_change),
        TEST(substitution_composes_projections),
        TEST(what_can_fail),
        TEST(sql_of_operators_and_calls),
        TEST(sql_of_lambdas_numbers_parameters_from_the_outermost),
        TEST(text_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
