/* test_refuse.c: what cannot be maintained is refused, with the right code and the right name; what
 * can be is not. */
#include "plan_samples.h"

typedef struct Refusal {
    const char *name; /* of the sample */
    Status code;
    const char *part; /* of the message */
} Refusal;

static const Refusal REFUSALS[] = {
    {"window", WEIR_ERR_OPERATOR, "window functions"},
    {"qualify", WEIR_ERR_OPERATOR, "window functions"},
    {"order_by", WEIR_ERR_OPERATOR, "ORDER BY"},
    {"order_by_hidden", WEIR_ERR_OPERATOR, "ORDER BY"},
    {"cte_order_by", WEIR_ERR_OPERATOR, "ORDER BY"},
    {"limit", WEIR_ERR_OPERATOR, "LIMIT"},
    {"order_limit", WEIR_ERR_OPERATOR, "LIMIT"},
    {"limit_subquery", WEIR_ERR_OPERATOR, "LIMIT"},
    {"intersect_all", WEIR_ERR_OPERATOR, "INTERSECT ALL"},
    {"except_all", WEIR_ERR_OPERATOR, "EXCEPT ALL"},
    {"recursive", WEIR_ERR_OPERATOR, "recursive CTE"},
    {"distinct_on", WEIR_ERR_OPERATOR, "DISTINCT ON"},
    {"distinct_collated", WEIR_ERR_OPERATOR, "collation"},
    {"group_collated", WEIR_ERR_OPERATOR, "collation"},
    {"interval_rollup", WEIR_ERR_OPERATOR, "GROUPING SETS"},
    {"unnest", WEIR_ERR_OPERATOR, "UNNEST"},
    {"unnest_lateral", WEIR_ERR_OPERATOR, "UNNEST"},
    {"unpivot", WEIR_ERR_OPERATOR, "UNNEST"},
    {"asof", WEIR_ERR_OPERATOR, "ASOF JOIN"},
    {"positional", WEIR_ERR_OPERATOR, "POSITIONAL JOIN"},
    {"sample", WEIR_ERR_OPERATOR, "SAMPLE"},
    {"median", WEIR_ERR_OPERATOR, "aggregate median"},
    {"quantile", WEIR_ERR_OPERATOR, "aggregate quantile_cont"},
    {"string_agg", WEIR_ERR_OPERATOR, "aggregate string_agg"},
    {"list_aggregate", WEIR_ERR_OPERATOR, "aggregate list"},
    {"first", WEIR_ERR_OPERATOR, "aggregate first"},
    {"any_value", WEIR_ERR_OPERATOR, "aggregate any_value"},
    {"pivot_dynamic", WEIR_ERR_OPERATOR, "PIVOT"},
    {"rowid", WEIR_ERR_VOLATILE, "rowid"},
    {"rowid_filter", WEIR_ERR_VOLATILE, "rowid"},
    {"random", WEIR_ERR_VOLATILE, "random()"},
    {"now", WEIR_ERR_VOLATILE, "now()"},
    {"current_date", WEIR_ERR_VOLATILE, "current_date()"},
    {"nextval", WEIR_ERR_VOLATILE, "nextval()"},
    {"setting", WEIR_ERR_VOLATILE, "current_setting()"},
    {"age_one", WEIR_ERR_VOLATILE, "age()"},
    {"constants_volatile", WEIR_ERR_VOLATILE, "uuid()"},
    {"icu_collation", WEIR_ERR_FUNCTION, "icu_collate_de"},
    {"table_function", WEIR_ERR_UNKNOWN_TABLE, "duckdb_tables"},
    {"read_csv", WEIR_ERR_PLAN, "x.csv"},
    {"insert", WEIR_ERR_NOT_A_SELECT, "INSERT"},
    {"delete", WEIR_ERR_NOT_A_SELECT, "DELETE"},
    {"update", WEIR_ERR_NOT_A_SELECT, "UPDATE"},
    {"merge", WEIR_ERR_NOT_A_SELECT, "MERGE"},
    {"create_table", WEIR_ERR_NOT_A_SELECT, "CREATE_TABLE"},
    {"create_view", WEIR_ERR_NOT_A_SELECT, "CREATE_VIEW"},
    {"set", WEIR_ERR_NOT_A_SELECT, "SET"},
    {"explain", WEIR_ERR_NOT_A_SELECT, "EXPLAIN"},
    {"two_statements", WEIR_ERR_NOT_A_SELECT, "2 statements"},
    {"no_statement", WEIR_ERR_NOT_A_SELECT, "0 statements"},
    {"syntax", WEIR_ERR_PLAN, "selec"},
    {"unknown_column", WEIR_ERR_PLAN, "zz"},
    {"unknown_table", WEIR_ERR_UNKNOWN_TABLE, "nix"},
    {"unknown_function", WEIR_ERR_PLAN, "nix"},
    {"parameter", WEIR_ERR_PLAN, "NULL"},
    {"variant", WEIR_ERR_TYPE, "VARIANT"},
};

static const Refusal *find_refusal(const char *name)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(REFUSALS); i++) {
        if (strcmp(REFUSALS[i].name, name) == 0) {
            return &REFUSALS[i];
        }
    }
    return NULL;
}

/* Every plan of the version, with and without rules. */
static void check_version(const char *version)
{
    Samples *samples = samples_open(version);
    Mem *mem = weir_mem_new(0);
    assert_non_null(mem);
    size_t refused = 0;
    for (size_t i = 0; i < 2 * samples->count; i++) {
        const Sample *sample = &samples->items[i / 2];
        const PlanEnv env = {.mem = mem, .rules_off = i % 2 == 1};
        const Refusal *refusal = find_refusal(sample->name);
        Plan *plan = NULL;
        Error err = {0};
        const Status status = weir_plan_new(&env, sample->json, strlen(sample->json), &plan, &err);
        if (status != (refusal == NULL ? WEIR_OK : refusal->code)) {
            fail_msg("%s: %s: %d %s", sample->name, sample->sql, status, err.message);
        }
        if (refusal != NULL) {
            refused += 1;
            assert_null(plan);
            assert_int_equal(err.code, status);
            if (strstr(err.message, refusal->part) == NULL) {
                fail_msg("%s: \"%s\" does not name %s", sample->name, err.message, refusal->part);
            }
        } else {
            assert_string_equal(err.message, "");
        }
        weir_plan_free(plan);
    }
    if (strcmp(version, "1.5.6") == 0) {
        assert_int_equal(refused, 2 * WEIR_ARRAY_COUNT(REFUSALS));
    }
    weir_mem_free_allocator(mem);
    samples_close(samples);
}

static void plans_of_1_5_6_are_accepted_or_refused(void **state)
{
    WEIR_UNUSED(state);
    check_version("1.5.6");
}

static void plans_of_1_4_4_are_accepted_or_refused(void **state)
{
    WEIR_UNUSED(state);
    check_version("1.4.4");
}

/* Answers for the functions that the plan does not know itself. */
static Status answer_stability(void *context, const char *function, FunctionStability *out,
                               Error *err)
{
    const FunctionStability *answer = context;
    if (*answer == STABILITY_UNKNOWN) {
        return weir_error_set(err, WEIR_ERR_HOST, "no answer for %s", function);
    }
    *out = *answer;
    return WEIR_OK;
}

static void other_functions_are_looked_up_in_the_database(void **state)
{
    WEIR_UNUSED(state);
    Samples *samples = samples_open("1.5.6");
    Mem *mem = weir_mem_new(0);
    const Sample *sample = samples_find(samples, "date_parts");
    static const Status EXPECTED[] = {
        [STABILITY_UNKNOWN] = WEIR_ERR_HOST,
        [STABILITY_CONSISTENT] = WEIR_OK,
        [STABILITY_WITHIN_QUERY] = WEIR_ERR_VOLATILE,
        [STABILITY_VOLATILE] = WEIR_ERR_VOLATILE,
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(EXPECTED); i++) {
        FunctionStability answer = (FunctionStability)i;
        const PlanEnv env = {.mem = mem, .stability = answer_stability, .context = &answer};
        Plan *plan = NULL;
        Error err = {0};
        assert_int_equal(weir_plan_new(&env, sample->json, strlen(sample->json), &plan, &err),
                         EXPECTED[i]);
        weir_plan_free(plan);
    }
    weir_mem_free_allocator(mem);
    samples_close(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_1_5_6_are_accepted_or_refused),
        cmocka_unit_test(plans_of_1_4_4_are_accepted_or_refused),
        cmocka_unit_test(other_functions_are_looked_up_in_the_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
