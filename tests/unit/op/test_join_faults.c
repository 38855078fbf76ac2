/* test_join_faults.c: every allocation of a join's life fails once, and once with all that follow.
 *
 * The run ends with WEIR_ERR_NOMEM and the circuit can be freed, or the failure did not matter and
 * the output is right. */
#include "join_script.h"

static const JoinKind kinds[] = {JOIN_INNER, JOIN_LEFT, JOIN_FULL, JOIN_SEMI, JOIN_ANTI, JOIN_MARK};

enum { STEPS = 3 };

/* Three steps, the same in every run. */
static Status run_steps(World *world, const Script *scripts)
{
    WEIR_TRY(world_open(world, false));
    for (size_t s = 0; s < STEPS; s++) {
        Random random = {.state = s};
        WEIR_TRY(run_events(world, &scripts[s], 0, &random));
    }
    return WEIR_OK;
}

/* One run whose nth allocation fails; nth 0: none. Returns how many allocations were made. */
static size_t run_faulty(const JoinConfig *config, const Script *scripts, TextSet *want, size_t nth,
                         bool is_sticky)
{
    World world;
    world_init(&world, config, 1);
    const size_t before = weir_mem_allocation_count(world.mem);
    weir_mem_fail_after(world.mem, nth, is_sticky);
    const Status status = run_steps(&world, scripts);
    const size_t count = weir_mem_allocation_count(world.mem) - before;
    if (status == WEIR_OK) {
        assert_true(text_set_equal(&world.out, want));
    } else {
        assert_int_equal(status, WEIR_ERR_NOMEM);
        assert_int_equal(world.err.code, WEIR_ERR_NOMEM);
        assert_true(nth > 0);
    }
    world_deinit(&world);
    return count;
}

static void run_all(const JoinConfig *config, uint64_t seed)
{
    Random random = {.state = seed};
    const Domain domain = {.keys = 2, .payloads = 12, .null_percent = 10};
    Script scripts[STEPS] = {{0}};
    RowSet sides[2] = {{0}, {0}};
    TextSet want = {0};
    for (size_t s = 0; s < STEPS; s++) {
        script_step(&scripts[s], sides, 60, &domain, &random);
    }
    model_join(config, &sides[0], &sides[1], &want);
    const size_t count = run_faulty(config, scripts, &want, 0, false);
    assert_true(count > 30);
    for (size_t nth = 1; nth <= count; nth++) {
        run_faulty(config, scripts, &want, nth, false);
        run_faulty(config, scripts, &want, nth, true);
    }
    for (size_t s = 0; s < STEPS; s++) {
        script_free(&scripts[s]);
    }
    row_set_free(&sides[0]);
    row_set_free(&sides[1]);
    text_set_free(&want);
}

static void joins_survive_every_failing_allocation(void **unused)
{
    WEIR_UNUSED(unused);
    Random random = {.state = test_seed()};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        for (size_t residual = 0; residual < RESIDUAL_COUNT; residual++) {
            for (size_t key_count = 1; key_count <= 2; key_count++) {
                JoinConfig config =
                    random_config(kinds[i], (ResidualKind)residual, key_count, &random);
                config.is_null_safe[0] = key_count == 2;
                config.is_null_safe[1] = false;
                run_all(&config, random_next(&random));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_survive_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
