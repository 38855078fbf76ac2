/* test_robust.c: no text does harm. Plans that were damaged at random are refused or planned, never
 * more; every allocation may fail, and nothing leaks. */
#include "plan_samples.h"

enum { MUTATIONS_PER_PLAN = 40, EDITS_MAX = 4, ALLOCATION_STEPS_MAX = 100000 };

/* splitmix64 */
static uint64_t random_next(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static size_t random_below(uint64_t *state, size_t bound)
{
    return (size_t)(random_next(state) % bound);
}

/* What takes the place of a number, a word, a list. */
static const char *const TOKENS[] = {
    "0",
    "1",
    "2",
    "3",
    "-1",
    "18446744073709551615",
    "9223372036854775808",
    "1e999",
    "NaN",
    "null",
    "true",
    "false",
    "\"\"",
    "[]",
    "{}",
    "[0]",
    "[[]]",
    "\"INNER\"",
    "\"LEFT\"",
    "\"MARK\"",
    "\"SINGLE\"",
    "\"LOGICAL_GET\"",
    "\"LOGICAL_DELIM_GET\"",
    "\"LOGICAL_CTE_REF\"",
    "\"BOUND_REF\"",
    "\"BOUND_CONSTANT\"",
    "\"COMPARE_EQUAL\"",
    "\"VARCHAR\"",
    "\"DECIMAL\"",
    "\"count_star\"",
    "\"first\"",
};

/* Where a JSON value that starts at text ends; 0 if none starts there. */
static size_t value_length(const char *text)
{
    size_t length = 0;
    if (*text == '"') {
        length = 1;
        while (text[length] != '\0' && text[length] != '"') {
            length += text[length] == '\\' && text[length + 1] != '\0' ? 2 : 1;
        }
        return text[length] == '"' ? length + 1 : 0;
    }
    if (*text == '{' || *text == '[') {
        size_t depth = 0;
        do {
            const size_t inner = text[length] == '"' ? value_length(text + length) : 1;
            if (inner == 0 || text[length] == '\0') {
                return 0;
            }
            depth += text[length] == '{' || text[length] == '[' ? 1 : 0;
            depth -= text[length] == '}' || text[length] == ']' ? 1 : 0;
            length += inner;
        } while (depth > 0);
        return length;
    }
    while (text[length] != '\0' && strchr(",:]} ", text[length]) == NULL) {
        length++;
    }
    return length;
}

/* A place behind ':', '[' or ',' where a value starts. */
static size_t random_value(const char *text, size_t size, uint64_t *state)
{
    for (size_t attempt = 0; attempt < 1000; attempt++) {
        const size_t at = 1 + random_below(state, size - 1);
        if (strchr(":[,", text[at - 1]) != NULL && text[at - 1] != '\0' &&
            value_length(text + at) > 0) {
            return at;
        }
    }
    return 0;
}

/* Replaces [at, at + length) by the bytes; the text has room. */
static void replace(char *text, size_t at, size_t length, const char *bytes, size_t size)
{
    memmove(text + at + size, text + at + length, strlen(text + at + length) + 1);
    memcpy(text + at, bytes, size);
}

/* One random change: another token, a value from elsewhere in the plan, a byte, a cut. */
static void mutate(char *text, size_t capacity, uint64_t *state)
{
    const size_t size = strlen(text);
    const size_t at = size < 2 ? 0 : random_value(text, size, state);
    if (at == 0) {
        return;
    }
    const size_t length = value_length(text + at);
    switch (random_below(state, 8)) {
    case 0: text[random_below(state, size)] = (char)(1 + random_below(state, 255)); break;
    case 1: text[random_below(state, size)] = '\0'; break;
    case 2:
    case 3:
    case 4: {
        const size_t from = random_value(text, size, state);
        const size_t from_length = from == 0 ? 0 : value_length(text + from);
        char *copy = malloc(from_length + 1);
        assert_non_null(copy);
        memcpy(copy, text + from, from_length);
        if (size + from_length < capacity) {
            replace(text, at, length, copy, from_length);
        }
        free(copy);
        break;
    }
    default: {
        const char *token = TOKENS[random_below(state, WEIR_ARRAY_COUNT(TOKENS))];
        if (size + strlen(token) < capacity) {
            replace(text, at, length, token, strlen(token));
        }
        break;
    }
    }
}

/* What was planned can be built, or is refused; with an empty step. */
static void build(const Plan *plan, Mem *mem)
{
    Error err = {0};
    PagePool *pool = weir_page_pool_new(mem, &err);
    assert_non_null(pool);
    const CircuitEnv env = {.mem = mem, .pool = pool};
    Op **sources = calloc(weir_plan_source_count(plan) + 1, sizeof(Op *));
    assert_non_null(sources);
    Circuit *circuit = NULL;
    Op *sink = NULL;
    Status status = weir_plan_build(plan, &env, &circuit, sources, &sink, &err);
    if (status == WEIR_OK) {
        status = weir_circuit_begin_step(circuit, &err);
        if (status == WEIR_OK) {
            status = weir_circuit_finish_step(circuit, &err);
        }
        weir_circuit_end_step(circuit);
    }
    assert_int_equal(status, err.code);
    weir_circuit_free(circuit);
    free(sources);
    weir_page_pool_free(pool);
}

static void damaged_plans_do_no_harm(void **state)
{
    WEIR_UNUSED(state);
    Samples *samples = samples_open("1.5.6");
    Mem *mem = weir_mem_new((size_t)256 << 20);
    const size_t capacity = 1 << 20;
    char *text = malloc(capacity);
    assert_non_null(mem);
    assert_non_null(text);
    size_t planned = 0;
    for (size_t i = 0; i < samples->count * MUTATIONS_PER_PLAN; i++) {
        const Sample *sample = &samples->items[i % samples->count];
        uint64_t seed = i;
        assert_true(strlen(sample->json) < capacity / 2);
        memcpy(text, sample->json, strlen(sample->json) + 1);
        for (size_t edits = 1 + random_below(&seed, EDITS_MAX); edits > 0; edits--) {
            mutate(text, capacity, &seed);
        }
        const PlanEnv env = {.mem = mem, .rules_off = i % 3 == 0};
        Plan *plan = NULL;
        Error err = {0};
        const Status status = weir_plan_new(&env, text, strlen(text), &plan, &err);
        if (status == WEIR_ERR_INTERNAL || (status == WEIR_OK) != (plan != NULL) ||
            status != err.code) {
            fail_msg("seed %zu, %s: %d %s", i, sample->name, status, err.message);
        }
        if (status == WEIR_OK) {
            planned++;
            build(plan, mem);
        }
        weir_plan_free(plan);
    }
    /* The damage must often be small enough to get through. */
    assert_true(planned > samples->count);
    free(text);
    weir_mem_free_allocator(mem);
    samples_close(samples);
}

static void texts_that_are_no_plans_are_refused(void **state)
{
    WEIR_UNUSED(state);
    static const char *const TEXTS[] = {
        "",
        " ",
        "{",
        "[]",
        "null",
        "1",
        "\"x\"",
        "{}",
        "{\"error\":false}",
        "{\"error\":false,\"plans\":{}}",
        "{\"error\":false,\"plans\":[null]}",
        "{\"error\":false,\"plans\":[[]]}",
        "{\"error\":true}",
        "{\"error\":false,\"plans\":[{\"type\":\"LOGICAL_FILTER\"}]}",
        "{\"error\":false,\"plans\":[{\"type\":\"LOGICAL_NONSENSE\",\"children\":[]}]}",
    };
    Mem *mem = weir_mem_new(0);
    const PlanEnv env = {.mem = mem};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(TEXTS); i++) {
        Plan *plan = NULL;
        Error err = {0};
        const Status status = weir_plan_new(&env, TEXTS[i], strlen(TEXTS[i]), &plan, &err);
        assert_true(status == WEIR_ERR_PLAN || status == WEIR_ERR_OPERATOR);
        assert_null(plan);
        assert_true(strlen(err.message) > 0);
    }
    weir_mem_free_allocator(mem);
}

/* {"error":false,"plans":[P(P(P(...)))]} with `depth` projections. */
static char *deep_plan(size_t depth)
{
    static const char HEAD[] = "{\"error\":false,\"plans\":[";
    static const char OPEN[] = "{\"type\":\"LOGICAL_PROJECTION\",\"expressions\":[],\"children\":[";
    char *text = malloc(sizeof HEAD + depth * (sizeof OPEN + 2) + 64);
    assert_non_null(text);
    char *end = text + snprintf(text, sizeof HEAD, "%s", HEAD);
    for (size_t i = 0; i < depth; i++) {
        end += snprintf(end, sizeof OPEN, "%s", OPEN);
    }
    end += snprintf(end, 64, "{\"type\":\"LOGICAL_DUMMY_SCAN\"}");
    for (size_t i = 0; i < depth; i++) {
        end += snprintf(end, 3, "]}");
    }
    (void)snprintf(end, 3, "]}");
    return text;
}

static void nesting_is_limited(void **state)
{
    WEIR_UNUSED(state);
    Mem *mem = weir_mem_new(0);
    const PlanEnv env = {.mem = mem};
    static const size_t DEPTHS[] = {600, 1400, 100000};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(DEPTHS); i++) {
        char *text = deep_plan(DEPTHS[i]);
        Plan *plan = NULL;
        Error err = {0};
        assert_int_equal(weir_plan_new(&env, text, strlen(text), &plan, &err), WEIR_ERR_LIMIT);
        free(text);
    }
    weir_mem_free_allocator(mem);
}

static void check_allocations(const Sample *sample)
{
    Mem *mem = weir_mem_new(0);
    assert_non_null(mem);
    const PlanEnv env = {.mem = mem, .arena_block_bytes = 64};
    for (size_t nth = 1; nth < ALLOCATION_STEPS_MAX; nth++) {
        Plan *plan = NULL;
        Error err = {0};
        weir_mem_fail_after(mem, nth, nth % 2 == 0);
        const Status status = weir_plan_new(&env, sample->json, strlen(sample->json), &plan, &err);
        weir_mem_fail_after(mem, 0, false);
        if (status != WEIR_ERR_NOMEM) {
            /* The plan needs fewer allocations than this. */
            assert_true(nth > 10);
            assert_int_equal(err.code, status);
            weir_plan_free(plan);
            weir_mem_free_allocator(mem);
            return;
        }
        assert_null(plan);
        assert_int_equal(err.code, WEIR_ERR_NOMEM);
        assert_int_equal(weir_mem_used(mem), 0);
    }
    fail_msg("%s allocates for ever", sample->name);
}

static void every_allocation_may_fail(void **state)
{
    WEIR_UNUSED(state);
    static const char *const NAMES[] = {
        "group_by_expression",
        "grouping_sets",
        "left_join_any",
        "right_join_any",
        "multi_in",
        "exists",
        "scalar_many",
        "correlated_in",
        "cte_nested",
        "values_dates",
        "correlated_value",
        "correlated_count",
        "lateral",
        "range",
        "lambda",
        "list_quantile",
        "structs",
        "intersect",
        "rounded",
        "three_way",
    };
    Samples *samples = samples_open("1.5.6");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(NAMES); i++) {
        check_allocations(samples_find(samples, NAMES[i]));
    }
    samples_close(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_plans_do_no_harm),
        cmocka_unit_test(texts_that_are_no_plans_are_refused),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
