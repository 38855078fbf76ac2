/* test_kernels.c: what the law tests cannot see: garbage under NULL, masks, running out of memory. */
#include "expr_support.h"

#include "expr/mask.h"

enum { ROWS = 200 };

static void masks_turn_into_bits_and_back(void **state)
{
    WEIR_UNUSED(state);
    uint8_t bytes[ROWS] = {0};
    uint8_t again[ROWS];
    uint64_t bits[(ROWS + 63) / 64];
    uint16_t selection[ROWS];
    for (size_t count = 0; count <= ROWS; count++) {
        size_t wanted = 0;
        for (size_t i = 0; i < count; i++) {
            bytes[i] = (uint8_t)((i * 7 + count) % 5 < 2);
            wanted += bytes[i];
        }
        weir_mask_pack(bytes, count, bits);
        weir_mask_unpack(bits, count, again);
        assert_memory_equal(bytes, again, count);
        assert_int_equal(weir_mask_select(bytes, count, selection), wanted);
        for (size_t k = 0; k < wanted; k++) {
            assert_int_equal(bytes[selection[k]], 1);
        }
        if (count % 64 != 0) {
            assert_int_equal(bits[count / 64] >> (count % 64), UINT64_MAX >> (count % 64));
        }
    }
}

/* A VARCHAR column whose rows are all NULL over slots that point nowhere. */
static Vector wild_strings(World *w)
{
    Vector v;
    must_ok(w, weir_vector_init(&v, PHYS_STRING, ROWS, &w->step, &w->err));
    must_ok(w, weir_vector_add_validity(&v, ROWS, &w->step, &w->err));
    memset(v.data, 0xAB, ROWS * sizeof(String));
    memset(v.validity, 0, sizeof(uint64_t) * weir_mask_words(ROWS));
    return v;
}

static void strings_under_null_are_not_followed(void **state)
{
    World *w = *state;
    const LogicalType *text = weir_type_simple(TYPE_VARCHAR);
    const LogicalType *types[] = {text};
    const Schema schema = {.count = 1, .types = types};
    Vector columns[] = {wild_strings(w)};
    const Batch batch = {.count = ROWS, .column_count = 1, .columns = columns};
    const Expr *s = column(w, 0, TYPE_VARCHAR);
    const String bytes = weir_string_make("x", 1);
    const Expr *x = constant(w, TYPE_VARCHAR, &bytes, sizeof bytes);
    const LogicalType *bigint = weir_type_simple(TYPE_BIGINT);
    const Expr *exprs[] = {
        compare(w, COMPARE_LT, s, x),
        compare(w, COMPARE_NOT_DISTINCT, s, x),
        call2(w, "||", s, x),
        call2(w, "concat", s, x),
        node(w, (Expr){.kind = EXPR_CALL, .name = "lower", .type = text}, 1, s),
        node(w, (Expr){.kind = EXPR_CALL, .name = "trim", .type = text}, 1, s),
        node(w, (Expr){.kind = EXPR_CALL, .name = "length", .type = bigint}, 1, s),
        node(w, (Expr){.kind = EXPR_CALL, .name = "~~", .type = weir_type_simple(TYPE_BOOLEAN)}, 2,
             s, x),
        node(w, (Expr){.kind = EXPR_CAST, .type = bigint}, 1, s),
        node(w, (Expr){.kind = EXPR_COALESCE, .type = text}, 2, s, x),
        call2(w, "greatest", s, x),
        node(w, (Expr){.kind = EXPR_IN}, 6, s, x, x, x, x, x),
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(exprs); i++) {
        Evaluator *ev = NULL;
        Vector out;
        must_ok(w, weir_evaluator_new(w->mem, NULL, &exprs[i], 1, &schema, &ev, &w->err));
        must_ok(w, weir_evaluator_run(ev, &batch, &w->step, &out, &w->err));
        weir_evaluator_free(ev);
    }
}

static void a_shared_validity_is_not_written(void **state)
{
    World *w = *state;
    const int32_t values[] = {1, 0, INT32_MIN, 4};
    const int32_t divisors[] = {0, 0, 1, 2};
    const LogicalType *types[] = {weir_type_simple(TYPE_INTEGER), weir_type_simple(TYPE_INTEGER)};
    const Schema schema = {.count = 2, .types = types};
    Vector columns[] = {integers(w, values, 4), integers(w, divisors, 4)};
    const uint64_t before = columns[0].validity[0];
    const Batch batch = {.count = 4, .column_count = 2, .columns = columns};
    const Expr *expr = call2(w, "//", column(w, 0, TYPE_INTEGER), column(w, 1, TYPE_INTEGER));
    Evaluator *ev = NULL;
    Vector out;
    must_ok(w, weir_evaluator_new(w->mem, NULL, &expr, 1, &schema, &ev, &w->err));
    must_ok(w, weir_evaluator_run(ev, &batch, &w->step, &out, &w->err));
    assert_true(columns[0].validity[0] == before);
    assert_true(weir_vector_is_null(&out, 0));
    assert_true(weir_vector_is_null(&out, 1));
    assert_true(weir_vector_is_null(&out, 2));
    assert_int_equal(((int32_t *)out.data)[3], 2);
    weir_evaluator_free(ev);
}

static void a_long_list_is_looked_up(void **state)
{
    World *w = *state;
    enum { LIST = 1000 };
    const int32_t values[] = {0, 999, 1000, -1, INT32_MIN, 7};
    const LogicalType *types[] = {weir_type_simple(TYPE_INTEGER)};
    const Schema schema = {.count = 1, .types = types};
    Vector columns[] = {integers(w, values, 6)};
    const Batch batch = {.count = 6, .column_count = 1, .columns = columns};
    const Expr **args = weir_arena_calloc(&w->plan, LIST + 1, sizeof(const Expr *), &w->err);
    assert_non_null(args);
    args[0] = column(w, 0, TYPE_INTEGER);
    for (int32_t i = 0; i < LIST; i++) {
        args[i + 1] = integer(w, i);
    }
    const Expr in = {.kind = EXPR_IN,
                     .type = weir_type_simple(TYPE_BOOLEAN),
                     .args = args,
                     .arg_count = LIST + 1};
    const Expr *expr = &in;
    Evaluator *ev = NULL;
    Vector out;
    must_ok(w, weir_evaluator_new(w->mem, NULL, &expr, 1, &schema, &ev, &w->err));
    must_ok(w, weir_evaluator_run(ev, &batch, &w->step, &out, &w->err));
    const uint8_t wanted[] = {1, 1, 0, 0, 0, 1};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(weir_vector_is_null(&out, i), i == 4);
        assert_true(i == 4 || ((uint8_t *)out.data)[i] == wanted[i]);
    }
    weir_evaluator_free(ev);
}

/* CASE WHEN a < 3 THEN a + 1 ELSE COALESCE(a // 0, 5) END and a || 'x' under failing memory. */
static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    World *w = *state;
    const int32_t values[] = {1, 5, INT32_MIN, 2};
    const LogicalType *types[] = {weir_type_simple(TYPE_INTEGER)};
    const Schema schema = {.count = 1, .types = types};
    Vector columns[] = {integers(w, values, 4)};
    const Batch batch = {.count = 4, .column_count = 1, .columns = columns};
    const Expr *a = column(w, 0, TYPE_INTEGER);
    const Expr *quotient = call2(w, "//", a, integer(w, 0));
    const Expr *first =
        node(w, (Expr){.kind = EXPR_COALESCE, .type = a->type}, 2, quotient, integer(w, 5));
    const Expr *exprs[] = {
        node(w, (Expr){.kind = EXPR_CASE, .type = a->type}, 3,
             compare(w, COMPARE_LT, a, integer(w, 3)), call2(w, "+", a, integer(w, 1)), first),
        node(w, (Expr){.kind = EXPR_CAST, .type = weir_type_simple(TYPE_VARCHAR)}, 1, a),
    };
    for (size_t nth = 1;; nth++) {
        Arena arena;
        weir_arena_init(&arena, w->mem, 64); /* small blocks: many allocations */
        Evaluator *ev = NULL;
        Vector out[2];
        weir_mem_fail_after(w->mem, nth, true);
        Status status = weir_evaluator_new(w->mem, NULL, exprs, 2, &schema, &ev, &w->err);
        if (status == WEIR_OK) {
            status = weir_evaluator_run(ev, &batch, &arena, out, &w->err);
        }
        weir_mem_fail_after(w->mem, 0, false);
        weir_evaluator_free(ev);
        weir_arena_deinit(&arena);
        if (status == WEIR_OK) {
            assert_true(nth > 3);
            break;
        }
        assert_int_equal(status, WEIR_ERR_NOMEM);
        assert_int_equal(w->err.code, WEIR_ERR_NOMEM);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(masks_turn_into_bits_and_back),
        TEST(strings_under_null_are_not_followed),
        TEST(a_shared_validity_is_not_written),
        TEST(a_long_list_is_looked_up),
        TEST(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
