/* test_law.c: rules on = off. For every plan that needs no database to evaluate it, circuits with and
 * without rules, and without each rule, are given the same random changes, and hold the same rows
 * after each step. */
#include "../op/op_fixture.h"

#include "plan/rule_priv.h"
#include "plan_samples.h"

enum {
#define X(name, phase, summary) RULE_##name,
#include "plan/rules.def"
#undef X
    RULE_COUNT
};

enum { VARIANTS = RULE_COUNT + 2, SOURCES_MAX = 8, STEPS = 4, ROWS_PER_STEP = 12 };

typedef struct Variant {
    Plan *plan;
    Circuit *circuit;
    Op *sources[SOURCES_MAX];
    Op *sink;
} Variant;

static void free_variant(Variant *variant)
{
    weir_circuit_free(variant->circuit);
    weir_plan_free(variant->plan);
    *variant = (Variant){0};
}

/* Variant 0: all rules; 1: none; i + 2: without rule i. False if the plan is refused, or needs the
 * database. */
static bool make_variant(Fixture *f, const Sample *sample, size_t index, Variant *out)
{
    const PlanEnv env = {
        .mem = f->mem,
        .rules_off = index == 1,
        .rules_without = index < 2 ? 0 : UINT32_C(1) << (index - 2),
    };
    *out = (Variant){0};
    Status status = weir_plan_new(&env, sample->json, strlen(sample->json), &out->plan, &f->err);
    if (status != WEIR_OK) {
        return false;
    }
    assert_true(weir_plan_source_count(out->plan) <= SOURCES_MAX);
    status = weir_plan_build(out->plan, &f->env, &out->circuit, out->sources, &out->sink, &f->err);
    if (status == WEIR_ERR_FUNCTION || status == WEIR_ERR_TYPE) {
        free_variant(out);
        return false;
    }
    must(f, status);
    return true;
}

static const PlanSource *find_source(const Plan *plan, const char *name, size_t *index)
{
    for (*index = 0; *index < weir_plan_source_count(plan); (*index)++) {
        const PlanSource *source = weir_plan_source(plan, *index);
        if (strcmp(source->name, name) == 0) {
            return source;
        }
    }
    return NULL;
}

static size_t find_column(const PlanSource *source, const char *name)
{
    size_t i = 0;
    while (i < source->column_count && strcmp(source->columns[i], name) != 0) {
        i++;
    }
    assert_true(i < source->column_count);
    return i;
}

/* The columns of a source of one variant, out of rows of that source without rules. */
static ZSet *project_rows(Fixture *f, const ZSet *rows, const PlanSource *all,
                          const PlanSource *some)
{
    ZSet *out = zset_new(f, schema_of_types(f, some->types, some->column_count));
    for (size_t r = 0; r < rows->count; r++) {
        Cell *row = zset_add(f, out, rows->weights[r]);
        for (size_t c = 0; c < some->column_count; c++) {
            row[c] = zset_row(rows, r)[find_column(all, some->columns[c])];
        }
    }
    return out;
}

/* New rows, and some of the rows that are there taken out; kept is what is there after. */
static ZSet *random_delta(Fixture *f, ZSet *kept)
{
    ZSet *delta = zset_new(f, kept->schema);
    for (size_t i = 0; i < kept->count; i++) {
        if (kept->weights[i] > 0 && below(f, 3) == 0) {
            zset_add_row(f, delta, zset_row(kept, i), -1);
            kept->weights[i]--;
        }
    }
    for (size_t i = below(f, ROWS_PER_STEP); i > 0; i--) {
        const Cell *row = zset_add_random(f, delta, 1);
        zset_add_row(f, kept, row, 1);
    }
    return delta;
}

static bool holds_nested(const Plan *plan)
{
    for (size_t s = 0; s < weir_plan_source_count(plan); s++) {
        const PlanSource *source = weir_plan_source(plan, s);
        for (size_t c = 0; c < source->column_count; c++) {
            const TypeId id = source->types[c]->id;
            if (weir_type_is_nested(source->types[c]) || id == TYPE_ENUM || id == TYPE_BIT) {
                return true; /* random bytes are no values of these */
            }
        }
    }
    return false;
}

/* One step of one variant. */
static Status run_step(Fixture *f, Variant *variant, const Plan *all, ZSet *const *deltas)
{
    WEIR_TRY(weir_circuit_begin_step(variant->circuit, &f->err));
    for (size_t s = 0; s < weir_plan_source_count(variant->plan); s++) {
        const PlanSource *some = weir_plan_source(variant->plan, s);
        size_t index = 0;
        const PlanSource *source = find_source(all, some->name, &index);
        assert_non_null(source);
        ZSet *rows = project_rows(f, need(deltas[index]), source, some);
        WEIR_TRY(zset_push(f, rows, variant->circuit, variant->sources[s]));
    }
    return weir_circuit_finish_step(variant->circuit, &f->err);
}

/* True if all variants could be compared in all steps. */
static bool compare_variants(Fixture *f, const Sample *sample, Variant *variants)
{
    const Plan *all = variants[1].plan;
    ZSet *kept[SOURCES_MAX] = {NULL};
    ZSet *deltas[SOURCES_MAX] = {NULL};
    for (size_t s = 0; s < weir_plan_source_count(all); s++) {
        const PlanSource *source = weir_plan_source(all, s);
        kept[s] = zset_new(f, schema_of_types(f, source->types, source->column_count));
    }
    for (size_t step = 0; step < STEPS; step++) {
        const char *expected = NULL;
        for (size_t s = 0; s < weir_plan_source_count(all); s++) {
            deltas[s] = random_delta(f, need(kept[s]));
        }
        bool is_failed = false;
        for (size_t v = 0; v < VARIANTS; v++) {
            /* Rules let a failing expression see fewer rows: a failure is no difference. Nor is a
             * value that only the database can compute. */
            const Status status = run_step(f, &variants[v], all, deltas);
            weir_circuit_end_step(variants[v].circuit);
            if (status == WEIR_ERR_EVALUATION || status == WEIR_ERR_FUNCTION) {
                is_failed = true;
                continue;
            }
            must(f, status);
            const char *found = contents(f, variants[v].sink);
            expected = expected == NULL ? found : expected;
            if (strcmp(found, expected) != 0) {
                fail_msg("%s, step %zu, variant %zu:\n%s\nis not\n%s\n%s", sample->name, step, v,
                         found, expected, sample->sql);
            }
        }
        if (is_failed) {
            return false;
        }
    }
    return true;
}

static void circuits_with_and_without_rules_agree(void **state)
{
    Fixture *f = fixture_of(state);
    Samples *samples = samples_open("1.5.6");
    size_t compared = 0;
    for (size_t i = 0; i < samples->count; i++) {
        const ArenaMark mark = weir_arena_mark(&f->plan);
        Variant variants[VARIANTS] = {{0}};
        size_t made = 0;
        f->random = i;
        while (made < VARIANTS && make_variant(f, &samples->items[i], made, &variants[made])) {
            made++;
        }
        if (made == VARIANTS && !holds_nested(variants[1].plan)) {
            compared += compare_variants(f, &samples->items[i], variants) ? 1 : 0;
        }
        for (size_t v = 0; v < VARIANTS; v++) {
            free_variant(&variants[v]);
        }
        weir_arena_release(&f->plan, mark);
    }
    samples_close(samples);
    assert_true(compared > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(circuits_with_and_without_rules_agree, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
