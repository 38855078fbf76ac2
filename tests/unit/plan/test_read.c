/* test_read.c: plans of real DuckDBs become graphs, without rules. */
#include "plan_samples.h"

typedef struct World {
    Mem *mem;
    Samples *v156;
    Samples *v144;
} World;

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->mem = weir_mem_new(0);
    assert_non_null(world->mem);
    world->v156 = samples_open("1.5.6");
    world->v144 = samples_open("1.4.4");
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    World *world = *state;
    samples_close(world->v156);
    samples_close(world->v144);
    weir_mem_free_allocator(world->mem);
    free(world);
    return 0;
}

/* The text of the translation alone, of both versions where there are two. */
static void expect_text(const World *world, const char *name, const char *expected)
{
    const PlanEnv env = {.mem = world->mem, .rules_off = true};
    char text[4096];
    Error err = {0};
    const Status status =
        sample_text(&env, samples_find(world->v156, name)->json, text, sizeof text, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, WEIR_OK);
    assert_string_equal(text, expected);
    for (size_t i = 0; i < world->v144->count; i++) {
        if (strcmp(world->v144->items[i].name, name) == 0) {
            assert_int_equal(sample_text(&env, world->v144->items[i].json, text, sizeof text, &err),
                             WEIR_OK);
            assert_string_equal(text, expected);
        }
    }
}

static void a_scan_reads_the_columns_in_the_order_of_the_plan(void **state)
{
    expect_text(*state, "scan", "project a, b\n  scan memory.main.t (a, b)\n");
    expect_text(*state, "filter",
                "project a\n  filter (a > 3) AND (b ~~ 'x%')\n    scan memory.main.t (a, b)\n");
}

static void a_row_id_that_nobody_reads_is_no_column(void **state)
{
    expect_text(*state, "count_star",
                "project count(*)\n  aggregate count(*)\n    scan memory.main.t ()\n");
    expect_text(*state, "no_columns", "project 1\n  scan memory.main.t ()\n");
}

static void a_view_of_weir_is_a_source(void **state)
{
    expect_text(*state, "view_reference",
                "project s, b\n"
                "  inner join on a = a\n"
                "    view it's (a, s)\n"
                "    scan memory.main.t (a, b)\n");
}

static void computed_operands_of_an_aggregate_are_columns_of_a_projection(void **state)
{
    expect_text(*state, "group_by_expression",
                "project (a % 10), sum((a * 2)) FILTER (column2), count(DISTINCT b)\n"
                "  group by (a % 10): sum((a * 2)) FILTER (column2), count(DISTINCT b)\n"
                "    project (a % 10), (a * 2), (CAST(c AS DECIMAL(12,2)) > CAST(1 AS "
                "DECIMAL(12,2))), b\n"
                "      scan memory.main.t (a, c, b)\n");
}

static void grouping_sets_are_a_union_of_aggregates_over_one_input(void **state)
{
    expect_text(*state, "grouping_sets",
                "project a, b, 0, count(*)\n"
                "  union all\n"
                "    project a, b, count(*), 0\n"
                "      group by a, b: count(*)\n"
                "        #1: scan memory.main.t (a, b)\n"
                "    project a, NULL, count(*), 1\n"
                "      group by a: count(*)\n"
                "        #1\n"
                "    project NULL, NULL, count(*), 3\n"
                "      aggregate count(*)\n"
                "        #1\n");
}

static void a_right_join_is_a_left_join_of_the_other_side(void **state)
{
    expect_text(*state, "right_join",
                "project src, dst, k, v, w\n"
                "  left join on k = src\n"
                "    scan memory.main.u (k, v, w)\n"
                "    scan memory.main.e (src, dst)\n");
    expect_text(*state, "right_join_any",
                "project dst, w\n"
                "  left join on ((src = k) AND ((CAST(dst AS BIGINT) + w) > CAST(3 AS BIGINT)))\n"
                "    scan memory.main.u (k, w)\n"
                "    filter (dst > 1)\n"
                "      scan memory.main.e (src, dst)\n");
}

static void union_distinct_is_the_same_in_both_versions(void **state)
{
    expect_text(*state, "union_distinct",
                "distinct\n"
                "  union all\n"
                "    project a\n"
                "      scan memory.main.t (a)\n"
                "    project k\n"
                "      scan memory.main.u (k)\n");
}

static void a_common_table_expression_is_one_node(void **state)
{
    expect_text(*state, "cte",
                "project a\n"
                "  inner join on b = b\n"
                "    #1: project a, b\n"
                "      scan memory.main.t (a, b)\n"
                "    #1\n");
}

static void exists_counts_instead_of_limiting(void **state)
{
    expect_text(*state, "exists",
                "project a\n"
                "  filter (count(*) >= 1)\n"
                "    cross join\n"
                "      scan memory.main.t (a)\n"
                "      project (count(*) >= 1)\n"
                "        aggregate count(*)\n"
                "          project 1\n"
                "            scan memory.main.u ()\n");
}

static void a_scalar_subquery_of_one_row_needs_no_check(void **state)
{
    expect_text(*state, "scalar",
                "project a\n"
                "  filter (a > max(k))\n"
                "    cross join\n"
                "      scan memory.main.t (a)\n"
                "      project max(k)\n"
                "        project max(k)\n"
                "          aggregate max(k)\n"
                "            scan memory.main.u (k)\n");
}

static void a_correlated_subquery_reads_the_distinct_outer_values(void **state)
{
    expect_text(*state, "correlated_in",
                "project a\n"
                "  filter mark\n"
                "    mark join on a IS NOT DISTINCT FROM a AND b = v\n"
                "      #1: scan memory.main.t (a, b)\n"
                "      project v, a\n"
                "        filter (k = a)\n"
                "          cross join\n"
                "            scan memory.main.u (k, v)\n"
                "            distinct\n"
                "              project a\n"
                "                #1\n");
    expect_text(*state, "correlated_max",
                "project a, max(w)\n"
                "  left join on a IS NOT DISTINCT FROM a\n"
                "    #1: scan memory.main.t (a)\n"
                "    project max(w), a\n"
                "      inner join on a IS NOT DISTINCT FROM a\n"
                "        #2: distinct\n"
                "          project a\n"
                "            #1\n"
                "        group by a: max(w)\n"
                "          filter (k = a)\n"
                "            cross join\n"
                "              scan memory.main.u (k, w)\n"
                "              #2\n");
}

static void a_mark_over_several_columns_is_as_coarse_as_in_duckdb(void **state)
{
    expect_text(*state, "multi_in",
                "project a\n"
                "  filter mark\n"
                "    mark join on CASE WHEN ((a IS NULL) OR (k IS NULL) OR (b IS NULL) OR (v IS "
                "NULL)) THEN NULL ELSE ((a = k) AND (b = v)) END\n"
                "      scan memory.main.t (a, b)\n"
                "      project k, v\n"
                "        scan memory.main.u (k, v)\n");
}

static void rows_that_differ_in_constants_only_are_one_table(void **state)
{
    expect_text(*state, "values_dates",
                "project CAST(value0 AS DATE), value1\n"
                "  project CAST(value0 AS DATE), value1\n"
                "    union all\n"
                "      project CAST(value0 AS DATE), value1\n"
                "        values (2 rows of 2 columns)\n"
                "      values (1 rows of 2 columns)\n");
}

static void intervals_are_compared_without_their_common_form(void **state)
{
    expect_text(*state, "interval_compare",
                "project k\n"
                "  filter (iv < jv) AND (iv IN (jv, to_days(CAST(trunc(CAST(1 AS DOUBLE)) AS "
                "INTEGER)))) AND (tt = ut)\n"
                "    scan memory.main.iv (iv, jv, tt, ut, k)\n");
    expect_text(*state, "interval_distinct",
                "distinct\n"
                "  project iv, tt\n"
                "    scan memory.main.iv (iv, tt)\n");
    expect_text(*state, "interval_group",
                "project min(iv), min(tt), count(*)\n"
                "  group by normalized_interval(iv), timetz_byte_comparable(tt): min(iv), min(tt), "
                "count(*)\n"
                "    project normalized_interval(iv), timetz_byte_comparable(tt), iv, tt\n"
                "      scan memory.main.iv (iv, tt)\n");
}

/* Sources, schema and rounding. */
static void a_plan_tells_its_sources_and_what_is_rounded(void **state)
{
    const World *world = *state;
    const PlanEnv env = {.mem = world->mem};
    const Sample *sample = samples_find(world->v156, "rounded");
    Plan *plan = NULL;
    Error err = {0};
    assert_int_equal(weir_plan_new(&env, sample->json, strlen(sample->json), &plan, &err), 0);
    assert_int_equal(weir_plan_source_count(plan), 1);
    const PlanSource *source = weir_plan_source(plan, 0);
    assert_int_equal(source->kind, PLAN_SOURCE_TABLE);
    assert_string_equal(source->catalog, "memory");
    assert_string_equal(source->schema, "main");
    assert_string_equal(source->name, "f");
    assert_int_equal(source->column_count, 3);
    static const char *const COLUMNS[] = {"x", "y", "k"};
    static const bool ROUNDED[] = {false, true, true, false, true, false};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(source->columns[i], COLUMNS[i]);
    }
    assert_int_equal(weir_plan_schema(plan)->count, WEIR_ARRAY_COUNT(ROUNDED));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ROUNDED); i++) {
        assert_int_equal(weir_plan_is_rounded(plan, i), ROUNDED[i]);
    }
    assert_int_equal(weir_plan_schema(plan)->types[3]->id, TYPE_HUGEINT);
    weir_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scan_reads_the_columns_in_the_order_of_the_plan),
        cmocka_unit_test(a_row_id_that_nobody_reads_is_no_column),
        cmocka_unit_test(a_view_of_weir_is_a_source),
        cmocka_unit_test(computed_operands_of_an_aggregate_are_columns_of_a_projection),
        cmocka_unit_test(grouping_sets_are_a_union_of_aggregates_over_one_input),
        cmocka_unit_test(a_right_join_is_a_left_join_of_the_other_side),
        cmocka_unit_test(union_distinct_is_the_same_in_both_versions),
        cmocka_unit_test(a_common_table_expression_is_one_node),
        cmocka_unit_test(exists_counts_instead_of_limiting),
        cmocka_unit_test(a_scalar_subquery_of_one_row_needs_no_check),
        cmocka_unit_test(a_correlated_subquery_reads_the_distinct_outer_values),
        cmocka_unit_test(a_mark_over_several_columns_is_as_coarse_as_in_duckdb),
        cmocka_unit_test(rows_that_differ_in_constants_only_are_one_table),
        cmocka_unit_test(intervals_are_compared_without_their_common_form),
        cmocka_unit_test(a_plan_tells_its_sources_and_what_is_rounded),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
