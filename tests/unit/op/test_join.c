/* test_join.c: every kind of join, with and without a residual, on 0 to 3 keys, against the model. */
#include "join_script.h"

static const JoinKind kinds[] = {JOIN_INNER, JOIN_LEFT, JOIN_FULL, JOIN_SEMI, JOIN_ANTI, JOIN_MARK};

/* Random steps; after each, the sum of outputs is the join; in the end, also that of one step of a
 * fresh operator over everything that was ever pushed. */
static void run_random(const JoinConfig *config, const Domain *domain, size_t step_count,
                       size_t change_count, uint64_t seed)
{
    Random random = {.state = seed};
    World world;
    Script script = {0};
    world_init(&world, config, seed);
    assert_ok(&world, world_open(&world, false));
    for (size_t s = 0; s < step_count; s++) {
        const size_t first = script.count;
        const size_t least = change_count < 1000 ? 0 : change_count / 2;
        script_step(&script, world.sides, least + random_below(&random, change_count - least + 1),
                    domain, &random);
        if (random_chance(&random, 10)) {
            script_clear(&script, world.sides, random_below(&random, 2));
        }
        assert_ok(&world, run_events(&world, &script, first, &random));
        world_check(&world);
    }
    World fresh;
    world_init(&fresh, config, seed);
    assert_ok(&fresh, world_open(&fresh, false));
    script_shuffle(&script, 0, &random);
    assert_ok(&fresh, run_events(&fresh, &script, 0, &random));
    assert_true(text_set_equal(&fresh.out, &world.out));
    world_deinit(&fresh);
    world_deinit(&world);
    script_free(&script);
}

static void run_kind(JoinKind kind, ResidualKind residual)
{
    Random random = {.state = test_seed() * 1000 + (uint64_t)kind * 10 + (uint64_t)residual};
    for (size_t key_count = 0; key_count <= KEY_COLUMNS; key_count++) {
        for (size_t round = 0; round < 6; round++) {
            const JoinConfig config = random_config(kind, residual, key_count, &random);
            const Domain domain = {
                .keys = 2 + (int)random_below(&random, 3),
                .payloads = 3 + (int)random_below(&random, 6),
                .null_percent = random_below(&random, 4) * 8,
            };
            run_random(&config, &domain, 12, 40, random_next(&random));
        }
    }
}

static void joins_on_keys_equal_the_model(void **unused)
{
    WEIR_UNUSED(unused);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        run_kind(kinds[i], RESIDUAL_NONE);
    }
}

static void joins_with_a_residual_equal_the_model(void **unused)
{
    WEIR_UNUSED(unused);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        run_kind(kinds[i], RESIDUAL_LESS);
        run_kind(kinds[i], RESIDUAL_LESS_AND_TEXT);
        run_kind(kinds[i], RESIDUAL_SUM);
        run_kind(kinds[i], RESIDUAL_UNKNOWN);
    }
}

/* One key, hundreds of rows on both sides: output in many batches, heavy keys. */
static void joins_of_heavy_keys_equal_the_model(void **unused)
{
    WEIR_UNUSED(unused);
    Random random = {.state = test_seed()};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        for (size_t residual = 0; residual < 2; residual++) {
            const JoinConfig config = random_config(kinds[i], (ResidualKind)residual, 1, &random);
            const Domain domain = {.keys = 2, .payloads = 16, .null_percent = 3};
            run_random(&config, &domain, 4, 300, random_next(&random));
        }
    }
}

/* Thousands of keys change in a step: everything that is read in pieces has several. */
static void joins_of_many_keys_equal_the_model(void **unused)
{
    WEIR_UNUSED(unused);
    Random random = {.state = test_seed()};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        for (size_t residual = 0; residual < 2; residual++) {
            JoinConfig config = random_config(kinds[i], (ResidualKind)residual, 2, &random);
            const Domain domain = {.keys = 80, .payloads = 3, .null_percent = 1};
            config.is_null_safe[0] = true;
            config.is_null_safe[1] = random_chance(&random, 50);
            run_random(&config, &domain, 2, 11000, random_next(&random));
        }
    }
}

static void joins_without_output_columns_count_rows(void **unused)
{
    WEIR_UNUSED(unused);
    Random random = {.state = test_seed()};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        for (size_t residual = 0; residual < RESIDUAL_COUNT; residual++) {
            JoinConfig config = random_config(kinds[i], (ResidualKind)residual, 1, &random);
            config.left_output_count = 0;
            config.right_output_count = 0;
            const Domain domain = {.keys = 4, .payloads = 4, .null_percent = 10};
            run_random(&config, &domain, 6, 40, random_next(&random));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_on_keys_equal_the_model),
        cmocka_unit_test(joins_with_a_residual_equal_the_model),
        cmocka_unit_test(joins_of_heavy_keys_equal_the_model),
        cmocka_unit_test(joins_of_many_keys_equal_the_model),
        cmocka_unit_test(joins_without_output_columns_count_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
