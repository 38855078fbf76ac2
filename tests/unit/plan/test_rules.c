/* test_rules.c: what each rule makes of plans of real DuckDBs. That it makes the same rows of them is
 * test_law.c's and the oracle's to show. */
#include "plan_samples.h"

#include "plan/rule_priv.h"

enum {
#define X(name, phase, summary) RULE_##name,
#include "plan/rules.def"
#undef X
    RULE_COUNT
};

typedef struct World {
    Mem *mem;
    Samples *samples;
} World;

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->mem = weir_mem_new(0);
    assert_non_null(world->mem);
    world->samples = samples_open("1.5.6");
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    World *world = *state;
    samples_close(world->samples);
    weir_mem_free_allocator(world->mem);
    free(world);
    return 0;
}

/* The plan with all rules but those of the mask. */
static void expect_without(const World *world, const char *name, uint32_t rules_without,
                           const char *expected)
{
    const PlanEnv env = {.mem = world->mem, .rules_without = rules_without};
    char text[4096];
    Error err = {0};
    const Status status =
        sample_text(&env, samples_find(world->samples, name)->json, text, sizeof text, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, WEIR_OK);
    assert_string_equal(text, expected);
}

static void expect(const World *world, const char *name, const char *expected)
{
    expect_without(world, name, 0, expected);
}

static void conditions_of_a_product_become_keys_and_filters(void **state)
{
    expect(*state, "three_way",
           "inner join on k = src\n"
           "  inner join on a = k\n"
           "    filter (CAST(c AS DECIMAL(12,2)) > CAST(1 AS DECIMAL(12,2)))\n"
           "      scan memory.main.t (a, c)\n"
           "    scan memory.main.u (k, v)\n"
           "  scan memory.main.e (src, dst)\n");
}

static void an_equality_leaves_the_residual_of_an_outer_join(void **state)
{
    expect(*state, "left_join_any",
           "project a, b, c, l, k, v, w\n"
           "  left join on a = k AND (((a + k) > 3) AND (CAST(c AS DECIMAL(12,2)) > CAST(1 AS "
           "DECIMAL(12,2))))\n"
           "    scan memory.main.t (a, c, b, l)\n"
           "    scan memory.main.u (k, v, w)\n");
}

static void a_condition_that_rejects_null_makes_an_outer_join_inner(void **state)
{
    expect(*state, "left_join_rejecting",
           "inner join on a = k\n"
           "  scan memory.main.t (a)\n"
           "  filter (w > CAST(3 AS BIGINT))\n"
           "    scan memory.main.u (k, w)\n");
    /* IS NULL does not reject it. */
    expect(*state, "left_join_null",
           "project a\n"
           "  filter (w IS NULL)\n"
           "    left join on a = k\n"
           "      scan memory.main.t (a)\n"
           "      scan memory.main.u (k, w)\n");
}

static void what_can_fail_is_not_moved_below_a_join(void **state)
{
    expect(*state, "failing_filter",
           "inner join on a = k AND ((CAST(c AS DOUBLE) / CAST(a AS DOUBLE)) > CAST(CAST(b AS "
           "INTEGER) AS "
           "DOUBLE))\n"
           "  scan memory.main.t (a, c, b)\n"
           "  filter (w > CAST(3 AS BIGINT))\n"
           "    scan memory.main.u (k, w)\n");
}

static void a_filter_goes_below_a_grouping_by_its_columns(void **state)
{
    expect(*state, "cte_once",
           "filter (sum(c) > CAST(2 AS DECIMAL(38,2)))\n"
           "  group by a: sum(c)\n"
           "    filter (a > 1)\n"
           "      scan memory.main.t (a, c)\n");
    expect(*state, "filter_global",
           "project 1\n"
           "  filter (count(*) > CAST(5 AS BIGINT))\n"
           "    aggregate count(*)\n"
           "      scan memory.main.t ()\n");
}

static void a_filter_goes_into_the_branches_of_a_union(void **state)
{
    expect(*state, "filter_union",
           "union all\n"
           "  filter (a > 1)\n"
           "    scan memory.main.t (a)\n"
           "  filter (k > 1)\n"
           "    scan memory.main.u (k)\n");
}

static void a_mark_that_must_be_true_is_a_semi_join(void **state)
{
    expect(*state, "in_subquery",
           "semi join on b = v\n"
           "  scan memory.main.t (b, a)\n"
           "  scan memory.main.u (v)\n");
    expect(*state, "multi_in",
           "semi join on a = k AND b = v\n"
           "  scan memory.main.t (a, b)\n"
           "  scan memory.main.u (k, v)\n");
    /* NOT IN sees NULLs. */
    expect(*state, "not_in_subquery",
           "project a\n"
           "  filter (NOT mark)\n"
           "    mark join on b = v\n"
           "      scan memory.main.t (b, a)\n"
           "      scan memory.main.u (v)\n");
}

static void correlated_subqueries_join_without_the_distinct_outer_values(void **state)
{
    expect(*state, "correlated_not_exists",
           "anti join on a = k\n"
           "  scan memory.main.t (a)\n"
           "  scan memory.main.u (k)\n");
    expect(*state, "correlated_count_equal",
           "project a, CASE WHEN (count(*) IS NULL) THEN 0 ELSE count(*) END\n"
           "  left join on a = k\n"
           "    scan memory.main.t (a)\n"
           "    group by k: count(*)\n"
           "      scan memory.main.u (k)\n");
    expect(*state, "correlated_nested",
           "semi join on a = k\n"
           "  scan memory.main.t (a)\n"
           "  semi join on k = dst AND k = src\n"
           "    project k, k\n"
           "      scan memory.main.u (k)\n"
           "    project dst, src\n"
           "      scan memory.main.e (src, dst)\n");
}

static void what_is_never_null_needs_no_null_safe_key_and_then_no_test(void **state)
{
    const uint32_t null_tests = UINT32_C(1) << RULE_null_tests;
    const uint32_t null_keys = UINT32_C(1) << RULE_null_keys;
    expect_without(*state, "correlated_not_exists", null_tests,
                   "anti join on a = k\n"
                   "  scan memory.main.t (a)\n"
                   "  filter (k IS NOT NULL)\n"
                   "    scan memory.main.u (k)\n");
    expect_without(*state, "correlated_not_exists", null_keys,
                   "anti join on a IS NOT DISTINCT FROM k\n"
                   "  scan memory.main.t (a)\n"
                   "  filter (k IS NOT NULL)\n"
                   "    scan memory.main.u (k)\n");
    /* The value of a mark depends on its plain keys. */
    expect(*state, "correlated_exists_value",
           "mark join on a IS NOT DISTINCT FROM k\n"
           "  scan memory.main.t (a)\n"
           "  filter (k IS NOT NULL)\n"
           "    scan memory.main.u (k)\n");
}

static void a_correlation_that_is_no_equality_keeps_the_outer_values(void **state)
{
    expect(*state, "correlated_exists_less",
           "semi join on a IS NOT DISTINCT FROM a\n"
           "  #1: scan memory.main.t (a)\n"
           "  inner join on (k < a)\n"
           "    scan memory.main.u (k)\n"
           "    distinct\n"
           "      #1\n");
    /* -0.0 = 0.0, but they are not alike. */
    expect(*state, "correlated_double",
           "project x\n"
           "  filter (x > CAST(sum(w) AS DOUBLE))\n"
           "    left join on x = x\n"
           "      #1: scan memory.main.f (x)\n"
           "      project sum(w), x\n"
           "        inner join on x = x\n"
           "          #2: distinct\n"
           "            #1\n"
           "          group by x: sum(w)\n"
           "            inner join on CAST(k AS DOUBLE) = x\n"
           "              project w, CAST(k AS DOUBLE)\n"
           "                scan memory.main.u (k, w)\n"
           "              #2\n");
}

static void distinct_of_distinct_rows_goes(void **state)
{
    expect(*state, "intersect",
           "distinct\n"
           "  semi join on a IS NOT DISTINCT FROM k\n"
           "    scan memory.main.t (a)\n"
           "    scan memory.main.u (k)\n");
    expect(*state, "distinct_grouped",
           "group by a, b\n"
           "  scan memory.main.t (a, b)\n");
}

static void projections_become_one(void **state)
{
    expect(*state, "projections", "project ((a + 1) * 2)\n  scan memory.main.t (a)\n");
    /* What costs something is not computed twice. */
    expect(*state, "projections_costly",
           "project (((a + 1) * 2) + 3), (((a + 1) * 2) + 3)\n"
           "  project (((a + 1) * 2) + 3)\n"
           "    scan memory.main.t (a)\n");
}

static void unused_columns_are_not_read(void **state)
{
    expect(*state, "unused",
           "group by a: min(c)\n"
           "  left join on a = k\n"
           "    scan memory.main.t (a, c)\n"
           "    scan memory.main.u (k)\n");
    expect(*state, "exists",
           "cross join\n"
           "  scan memory.main.t (a)\n"
           "  project nothing\n"
           "    filter (count(*) >= 1)\n"
           "      aggregate count(*)\n"
           "        scan memory.main.u ()\n");
}

static void equal_parts_are_one(void **state)
{
    expect(*state, "self_union",
           "union all\n"
           "  #1: group by a: sum(c)\n"
           "    scan memory.main.t (a, c)\n"
           "  #1\n");
    expect_without(*state, "self_union", UINT32_C(1) << RULE_share,
                   "union all\n"
                   "  group by a: sum(c)\n"
                   "    scan memory.main.t (a, c)\n"
                   "  group by a: sum(c)\n"
                   "    scan memory.main.t (a, c)\n");
}

/* No rule depends on another having run. */
static void every_rule_can_be_left_out(void **state)
{
    const World *world = *state;
    for (size_t rule = 0; rule < RULE_COUNT; rule++) {
        for (size_t i = 0; i < world->samples->count; i++) {
            const Sample *sample = &world->samples->items[i];
            const PlanEnv with = {.mem = world->mem};
            const PlanEnv without = {.mem = world->mem, .rules_without = UINT32_C(1) << rule};
            Plan *plans[2] = {NULL, NULL};
            Error errors[2] = {{0}, {0}};
            const size_t size = strlen(sample->json);
            const Status status = weir_plan_new(&with, sample->json, size, &plans[0], &errors[0]);
            assert_int_equal(weir_plan_new(&without, sample->json, size, &plans[1], &errors[1]),
                             status);
            if (status == WEIR_OK) {
                const Schema *schemas[2] = {weir_plan_schema(plans[0]), weir_plan_schema(plans[1])};
                assert_int_equal(schemas[0]->count, schemas[1]->count);
                for (size_t c = 0; c < schemas[0]->count; c++) {
                    assert_true(weir_type_equal(schemas[0]->types[c], schemas[1]->types[c]));
                    assert_int_equal(weir_plan_is_rounded(plans[0], c),
                                     weir_plan_is_rounded(plans[1], c));
                }
            }
            weir_plan_free(plans[0]);
            weir_plan_free(plans[1]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_of_a_product_become_keys_and_filters),
        cmocka_unit_test(an_equality_leaves_the_residual_of_an_outer_join),
        cmocka_unit_test(a_condition_that_rejects_null_makes_an_outer_join_inner),
        cmocka_unit_test(what_can_fail_is_not_moved_below_a_join),
        cmocka_unit_test(a_filter_goes_below_a_grouping_by_its_columns),
        cmocka_unit_test(a_filter_goes_into_the_branches_of_a_union),
        cmocka_unit_test(a_mark_that_must_be_true_is_a_semi_join),
        cmocka_unit_test(correlated_subqueries_join_without_the_distinct_outer_values),
        cmocka_unit_test(what_is_never_null_needs_no_null_safe_key_and_then_no_test),
        cmocka_unit_test(a_correlation_that_is_no_equality_keeps_the_outer_values),
        cmocka_unit_test(distinct_of_distinct_rows_goes),
        cmocka_unit_test(projections_become_one),
        cmocka_unit_test(unused_columns_are_not_read),
        cmocka_unit_test(equal_parts_are_one),
        cmocka_unit_test(every_rule_can_be_left_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
