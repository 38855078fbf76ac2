/* test_evaluator.c: programs of kernels, lazy branches, and parts that go to the host. */
#include "expr_support.h"

enum { NONE = INT32_MIN };

/* Evaluates one expression of physical type I32 or U8 and compares; NONE = NULL. */
static void expect(World *w, const ExprHost *host, const Expr *expr, const Batch *batch,
                   const Schema *schema, const int32_t *wanted)
{
    Evaluator *ev = NULL;
    must_ok(w, weir_evaluator_new(w->mem, host, &expr, 1, schema, &ev, &w->err));
    Vector out;
    must_ok(w, weir_evaluator_run(ev, batch, &w->step, &out, &w->err));
    for (size_t i = 0; i < batch->count; i++) {
        const size_t place = weir_vector_place(&out, i);
        int32_t got = NONE;
        if (!weir_vector_is_null(&out, i)) {
            got =
                out.phys == PHYS_I32 ? ((int32_t *)out.data)[place] : ((uint8_t *)out.data)[place];
        }
        assert_int_equal(got, wanted[i]);
    }
    weir_evaluator_free(ev);
}

static const int32_t left[] = {1, 2, NONE, 0, INT32_MAX, -5};
static const int32_t right[] = {1, 3, 4, NONE, 1, -6};
enum { ROWS = 6 };

typedef struct Table {
    const LogicalType *types[2];
    Schema schema;
    Vector columns[2];
    Batch batch;
} Table;

static void table_init(World *w, Table *t)
{
    t->types[0] = weir_type_simple(TYPE_INTEGER);
    t->types[1] = t->types[0];
    t->schema = (Schema){.count = 2, .types = t->types};
    t->columns[0] = integers(w, left, ROWS);
    t->columns[1] = integers(w, right, ROWS);
    t->batch = (Batch){.count = ROWS, .column_count = 2, .columns = t->columns};
}

static void comparisons_are_null_if_a_side_is(void **state)
{
    World *w = *state;
    Table t;
    table_init(w, &t);
    const Expr *a = column(w, 0, TYPE_INTEGER);
    const Expr *b = column(w, 1, TYPE_INTEGER);
    expect(w, NULL, compare(w, COMPARE_LT, a, b), &t.batch, &t.schema,
           (int32_t[]){0, 1, NONE, NONE, 0, 0});
    expect(w, NULL, compare(w, COMPARE_GE, a, b), &t.batch, &t.schema,
           (int32_t[]){1, 0, NONE, NONE, 1, 1});
    expect(w, NULL, compare(w, COMPARE_NE, a, integer(w, 1)), &t.batch, &t.schema,
           (int32_t[]){0, 1, NONE, 1, 1, 1});
    expect(w, NULL, compare(w, COMPARE_DISTINCT, a, b), &t.batch, &t.schema,
           (int32_t[]){0, 1, 1, 1, 1, 1});
}

static void addition_overflows_only_on_valid_rows(void **state)
{
    World *w = *state;
    Table t;
    table_init(w, &t);
    const Expr *sum = call2(w, "+", column(w, 0, TYPE_INTEGER), column(w, 1, TYPE_INTEGER));
    Evaluator *ev = NULL;
    must_ok(w, weir_evaluator_new(w->mem, NULL, &sum, 1, &t.schema, &ev, &w->err));
    Vector out;
    assert_int_equal(weir_evaluator_run(ev, &t.batch, &w->step, &out, &w->err),
                     WEIR_ERR_EVALUATION);
    assert_string_equal(w->err.message, "Out of Range Error: Overflow in addition of INT32 "
                                        "(2147483647 + 1)!");
    ((int32_t *)t.columns[1].data)[3] = INT32_MAX; /* under NULL */
    t.batch.count = 4;
    must_ok(w, weir_evaluator_run(ev, &t.batch, &w->step, &out, &w->err));
    assert_int_equal(((int32_t *)out.data)[1], 5);
    assert_true(weir_vector_is_null(&out, 2));
    assert_true(weir_vector_is_null(&out, 3));
    weir_evaluator_free(ev);
}

/* CASE WHEN a < 100 THEN a + b ELSE 0 END: row 4 would overflow. */
static void a_failing_branch_sees_only_its_rows(void **state)
{
    World *w = *state;
    Table t;
    table_init(w, &t);
    const Expr *a = column(w, 0, TYPE_INTEGER);
    const Expr *sum = call2(w, "+", a, column(w, 1, TYPE_INTEGER));
    const Expr *condition = compare(w, COMPARE_LT, a, integer(w, 100));
    const Expr *expr =
        node(w, (Expr){.kind = EXPR_CASE, .type = a->type}, 3, condition, sum, integer(w, 0));
    expect(w, NULL, expr, &t.batch, &t.schema, (int32_t[]){2, 5, 0, NONE, 0, -11});
    const Expr *attempt = node(w, (Expr){.kind = EXPR_TRY, .type = a->type}, 1, sum);
    expect(w, NULL, attempt, &t.batch, &t.schema, (int32_t[]){2, 5, NONE, NONE, NONE, -11});
    const Expr *first =
        node(w, (Expr){.kind = EXPR_COALESCE, .type = a->type}, 2, column(w, 1, TYPE_INTEGER), sum);
    expect(w, NULL, first, &t.batch, &t.schema, (int32_t[]){1, 3, 4, NONE, 1, -6});
    const Expr *logic =
        node(w, (Expr){.kind = EXPR_AND}, 2, condition, compare(w, COMPARE_GT, sum, integer(w, 3)));
    expect(w, NULL, logic, &t.batch, &t.schema, (int32_t[]){0, 1, NONE, NONE, 0, 0});
}

static void in_is_three_valued(void **state)
{
    World *w = *state;
    Table t;
    table_init(w, &t);
    const Expr *a = column(w, 0, TYPE_INTEGER);
    const Expr *null = constant(w, TYPE_INTEGER, NULL, 0);
    const Expr *in = node(w, (Expr){.kind = EXPR_IN}, 3, a, integer(w, 1), integer(w, 0));
    expect(w, NULL, in, &t.batch, &t.schema, (int32_t[]){1, 0, NONE, 1, 0, 0});
    const Expr *not_in =
        node(w, (Expr){.kind = EXPR_IN, .is_negated = true}, 3, a, integer(w, 1), null);
    expect(w, NULL, not_in, &t.batch, &t.schema, (int32_t[]){0, NONE, NONE, NONE, NONE, NONE});
}

static void casts_between_numbers(void **state)
{
    World *w = *state;
    Table t;
    table_init(w, &t);
    const Expr *a = column(w, 0, TYPE_INTEGER);
    const LogicalType *tiny = weir_type_simple(TYPE_TINYINT);
    const Expr *narrow = node(w, (Expr){.kind = EXPR_CAST, .type = tiny, .is_try = true}, 1, a);
    const Expr *wide = node(w, (Expr){.kind = EXPR_CAST, .type = a->type}, 1, narrow);
    expect(w, NULL, wide, &t.batch, &t.schema, (int32_t[]){1, 2, NONE, 0, NONE, -5});
}

/* --- a host that knows only "c0": it returns its first column, and counts --------------------- */

typedef struct FakeHost {
    size_t prepared;
    size_t released;
    size_t rows;
    char sql[256];
} FakeHost;

static Status fake_prepare(void *context, const char *const *sql, size_t count, const Schema *input,
                           const Schema *output, HostProgram **out, Error *err)
{
    WEIR_UNUSED(err);
    FakeHost *host = context;
    assert_int_equal(count, 1);
    assert_int_equal(output->count, 1);
    assert_int_equal(input->count, 1);
    host->prepared++;
    strncpy(host->sql, sql[0], sizeof host->sql - 1);
    *out = context;
    return WEIR_OK;
}

static Status fake_evaluate(void *context, HostProgram *program, const Batch *in, Arena *arena,
                            Vector *out, Error *err)
{
    WEIR_UNUSED(program);
    FakeHost *host = context;
    host->rows += in->count;
    assert_int_equal(in->column_count, 1);
    return weir_vector_flatten(&in->columns[0], in->count, arena, out, err);
}

static void fake_release(void *context, HostProgram *program)
{
    if (program != NULL) {
        ((FakeHost *)context)->released++;
    }
}

static void what_has_no_kernel_goes_to_the_host(void **state)
{
    World *w = *state;
    Table t;
    table_init(w, &t);
    FakeHost fake = {0};
    const ExprHost host = {
        .context = &fake,
        .prepare = fake_prepare,
        .evaluate = fake_evaluate,
        .release = fake_release,
    };
    const Expr *b = column(w, 1, TYPE_INTEGER);
    const Expr *odd = call2(w, "no_such_function", b, integer(w, 3));
    const Expr *expr = node(w, (Expr){.kind = EXPR_CASE, .type = b->type}, 3,
                            compare(w, COMPARE_LT, b, integer(w, 2)), odd, integer(w, 9));
    expect(w, &host, expr, &t.batch, &t.schema, (int32_t[]){1, 9, 9, 9, 1, -6});
    assert_string_equal(fake.sql, "system.main.\"no_such_function\"(c0, CAST('3' AS INTEGER))");
    assert_int_equal(fake.rows, 3);
    assert_int_equal(fake.prepared, 1);
    assert_int_equal(fake.released, 1);

    Evaluator *ev = NULL;
    assert_int_equal(weir_evaluator_new(w->mem, NULL, &odd, 1, &t.schema, &ev, &w->err),
                     WEIR_ERR_FUNCTION);
}

static void select_stops_at_the_rows_that_fail_earlier_conditions(void **state)
{
    World *w = *state;
    Table t;
    table_init(w, &t);
    const Expr *a = column(w, 0, TYPE_INTEGER);
    const Expr *sum = call2(w, "+", a, column(w, 1, TYPE_INTEGER));
    const Expr *conditions[] = {
        compare(w, COMPARE_LT, a, integer(w, 100)),
        compare(w, COMPARE_GT, sum, integer(w, -20)),
        compare(w, COMPARE_NE, a, integer(w, 1)),
    };
    Evaluator *ev = NULL;
    must_ok(w, weir_evaluator_new(w->mem, NULL, conditions, 3, &t.schema, &ev, &w->err));
    uint16_t selection[BATCH_CAPACITY];
    size_t count = 0;
    must_ok(w, weir_evaluator_select(ev, &t.batch, &w->step, selection, &count, &w->err));
    assert_int_equal(count, 2);
    assert_int_equal(selection[0], 1);
    assert_int_equal(selection[1], 5);
    t.batch.count = 0;
    must_ok(w, weir_evaluator_select(ev, &t.batch, &w->step, selection, &count, &w->err));
    assert_int_equal(count, 0);
    weir_evaluator_free(ev);
}

static void constants_are_folded(void **state)
{
    World *w = *state;
    Table t;
    table_init(w, &t);
    const Expr *sum = call2(w, "+", integer(w, 2), integer(w, 3));
    Evaluator *ev = NULL;
    must_ok(w, weir_evaluator_new(w->mem, NULL, &sum, 1, &t.schema, &ev, &w->err));
    Vector out;
    must_ok(w, weir_evaluator_run(ev, &t.batch, &w->step, &out, &w->err));
    assert_true(out.is_constant);
    assert_int_equal(*(int32_t *)out.data, 5);
    weir_evaluator_free(ev);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(comparisons_are_null_if_a_side_is),
        TEST(addition_overflows_only_on_valid_rows),
        TEST(a_failing_branch_sees_only_its_rows),
        TEST(in_is_three_valued),
        TEST(casts_between_numbers),
        TEST(what_has_no_kernel_goes_to_the_host),
        TEST(select_stops_at_the_rows_that_fail_earlier_conditions),
        TEST(constants_are_folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
