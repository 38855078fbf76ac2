/* test_join_step.c: what happens within one step of a join: rows and pairs that come and go,
 * residuals that fail, what is emitted and what is refused. */
#include "join_script.h"

static const JoinKind kinds[] = {JOIN_INNER, JOIN_LEFT, JOIN_FULL, JOIN_SEMI, JOIN_ANTI, JOIN_MARK};

static const char *const kind_names[] = {"inner", "left", "full", "semi", "anti", "mark"};

static JoinConfig simple_config(JoinKind kind, ResidualKind residual)
{
    JoinConfig config = {.kind = kind, .residual = residual, .key_count = 1};
    show_columns(&config, true);
    return config;
}

static TestRow row_of(int key, int number)
{
    return (TestRow){.key = {key, 0, 2}, .number = number, .text = 1};
}

static WeightedRow weighted(int key, int number, int64_t weight)
{
    return (WeightedRow){.row = row_of(key, number), .weight = weight};
}

/* --- residuals that fail ----------------------------------------------------------------------- */

enum { BOMB_KEY = 9 };

/* Moves the rows that must not meet from side `holder` to the other; some only pass by. */
static void move_bombs(Script *script, RowSet sides[2], size_t holder, Random *random)
{
    RowSet *from = &sides[holder];
    for (size_t i = from->count; i > 0; i--) {
        const WeightedRow entry = from->rows[i - 1];
        if (entry.row.key[0] == BOMB_KEY) {
            script_add(script, holder, &entry.row, -entry.weight);
            row_set_add(from, &entry.row, -entry.weight);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        const TestRow bomb = row_of(BOMB_KEY, BIG + (int)random_below(random, 3));
        script_add(script, 1 - holder, &bomb, 1);
        row_set_add(&sides[1 - holder], &bomb, 1);
        const TestRow passing = row_of(BOMB_KEY, BIG + 5);
        script_add(script, holder, &passing, 1);
        script_add(script, holder, &passing, -1);
    }
}

/* The residual fails for every pair of bombs; no such pair is there at the end of a step. */
static void pairs_that_are_not_there_in_the_end_cannot_fail(void **unused)
{
    WEIR_UNUSED(unused);
    Random random = {.state = test_seed()};
    const Domain domain = {.keys = 3, .payloads = 6, .null_percent = 10};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        for (size_t round = 0; round < 10; round++) {
            JoinConfig config = simple_config(kinds[i], RESIDUAL_SUM);
            config.is_null_safe[0] =
                kinds[i] == JOIN_MARK; /* a condition is part of the residual */
            World world;
            Script script = {0};
            world_init(&world, &config, random_next(&random));
            assert_ok(&world, world_open(&world, false));
            for (size_t s = 0; s < 8; s++) {
                const size_t first = script.count;
                script_step(&script, world.sides, 10, &domain, &random);
                move_bombs(&script, world.sides, s % 2, &random);
                script_shuffle(&script, first, &random);
                assert_ok(&world, run_events(&world, &script, first, &random));
                world_check(&world);
            }
            world_deinit(&world);
            script_free(&script);
        }
    }
}

static void a_pair_on_which_the_residual_fails_fails_the_step(void **unused)
{
    WEIR_UNUSED(unused);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        for (size_t first_side = 0; first_side < 3; first_side++) {
            const JoinConfig config = simple_config(kinds[i], RESIDUAL_SUM);
            const WeightedRow row = weighted(1, BIG, 1);
            World world;
            world_init(&world, &config, 1);
            assert_ok(&world, world_open(&world, false));
            if (first_side < 2) {
                assert_ok(&world, world_step(&world, &row, first_side == 0 ? 1 : 0, &row,
                                             first_side == 1 ? 1 : 0));
            }
            const Status status =
                world_step(&world, &row, first_side == 0 ? 0 : 1, &row, first_side == 1 ? 0 : 1);
            assert_int_equal(status, WEIR_ERR_EVALUATION);
            assert_int_equal(world.err.code, WEIR_ERR_EVALUATION);
            world_deinit(&world);
        }
    }
}

/* --- what is emitted --------------------------------------------------------------------------- */

/* Rows and matches that arrive in one step give no row that is taken back. */
static void a_step_emits_only_what_is_true_at_its_end(void **unused)
{
    WEIR_UNUSED(unused);
    static const size_t expected[] = {4, 5, 6, 2, 1, 3}; /* rows out, by kind */
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        for (size_t residual = 0; residual < 2; residual++) {
            const JoinConfig config = simple_config(kinds[i], (ResidualKind)residual);
            const WeightedRow left[] = {weighted(1, 0, 1), weighted(1, 1, 1), weighted(2, 0, 1)};
            const WeightedRow right[] = {weighted(1, 7, 1), weighted(1, 8, 1), weighted(3, 8, 1)};
            World world;
            world_init(&world, &config, 1);
            assert_ok(&world, world_open(&world, false));
            assert_ok(&world, world_step(&world, left, 3, right, 3));
            assert_int_equal(world.collector->row_count, expected[i]);
            /* An update of a right row that changes no match: no left row is touched. */
            const WeightedRow update[] = {weighted(1, 7, -1), weighted(1, 9, 1)};
            const bool shows_pairs = kinds[i] <= JOIN_FULL;
            assert_ok(&world, world_step(&world, NULL, 0, update, 2));
            assert_int_equal(world.collector->row_count, expected[i] + (shows_pairs ? 4 : 0));
            /* The last match goes. */
            const WeightedRow gone[] = {weighted(1, 8, -1), weighted(1, 9, -1)};
            assert_ok(&world, world_step(&world, NULL, 0, gone, 2));
            for (size_t r = 0; r < 3; r++) {
                row_set_add(&world.sides[0], &left[r].row, 1);
            }
            row_set_add(&world.sides[1], &right[2].row, 1);
            world_check(&world);
            world_deinit(&world);
        }
    }
}

/* 3000 left rows of one key against 3 right ones: full batches. */
static void output_comes_in_full_batches(void **unused)
{
    WEIR_UNUSED(unused);
    static WeightedRow rows[2048];
    const JoinConfig config = simple_config(JOIN_INNER, RESIDUAL_NONE);
    World world;
    world_init(&world, &config, 1);
    assert_ok(&world, world_open(&world, false));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        rows[i] = weighted(1, (int)i % 900, 1);
        rows[i].row.text = (int)i / 900;
    }
    assert_ok(&world, world_step(&world, rows, 2048, NULL, 0));
    assert_ok(&world, world_step(&world, NULL, 0, rows, 10));
    assert_int_equal(world.collector->row_count, 20480);
    assert_int_equal(world.collector->batch_count, 10);
    assert_ok(&world, world_step(&world, rows, 1, NULL, 0));
    assert_int_equal(world.collector->row_count, 20490);
    world_deinit(&world);
}

/* --- one stream on both ports ------------------------------------------------------------------- */

/* A step of changes of one side. */
static void one_sided_step(Script *script, RowSet sides[2], const Domain *domain, Random *random)
{
    size_t kept = 0;
    script->count = 0;
    sides[1].count = 0;
    script_step(script, sides, 30, domain, random);
    for (size_t e = 0; e < script->count; e++) {
        script->events[kept] = script->events[e];
        kept += script->events[e].port == 0 ? 1 : 0;
    }
    script->count = kept;
}

static void join_with_itself(const JoinConfig *config, Random *random)
{
    const Domain domain = {.keys = 3, .payloads = 6, .null_percent = 10};
    World world;
    Script script = {0};
    RowSet sides[2] = {{0}, {0}};
    world_init(&world, config, 1);
    assert_ok(&world, world_open(&world, true));
    for (size_t s = 0; s < 10; s++) {
        one_sided_step(&script, sides, &domain, random);
        assert_ok(&world, run_events(&world, &script, 0, random));
        for (size_t port = 0; port < 2; port++) {
            world.sides[port].count = 0;
            for (size_t r = 0; r < sides[0].count; r++) {
                const WeightedRow *entry = &sides[0].rows[r];
                row_set_push(&world.sides[port], &entry->row, entry->weight);
            }
        }
        world_check(&world);
    }
    script_free(&script);
    row_set_free(&sides[0]);
    row_set_free(&sides[1]);
    world_deinit(&world);
}

static void a_stream_joined_with_itself(void **unused)
{
    WEIR_UNUSED(unused);
    Random random = {.state = test_seed()};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        for (size_t residual = 0; residual < RESIDUAL_COUNT; residual++) {
            JoinConfig config = simple_config(kinds[i], (ResidualKind)residual);
            join_with_itself(&config, &random);
            config.is_null_safe[0] = true;
            join_with_itself(&config, &random);
        }
    }
}

/* --- what is refused ----------------------------------------------------------------------------- */

static void a_right_row_removed_too_often_is_refused(void **unused)
{
    WEIR_UNUSED(unused);
    for (size_t i = 1; i < WEIR_ARRAY_COUNT(kinds); i++) {
        for (size_t residual = 0; residual < 2; residual++) {
            const JoinConfig config = simple_config(kinds[i], (ResidualKind)residual);
            const WeightedRow left = weighted(1, 0, 1);
            const WeightedRow right = weighted(1, 5, 1);
            const WeightedRow gone = weighted(1, 5, -2);
            World world;
            world_init(&world, &config, 1);
            assert_ok(&world, world_open(&world, false));
            assert_ok(&world, world_step(&world, &left, 1, &right, 1));
            assert_int_equal(world_step(&world, NULL, 0, &gone, 1), WEIR_ERR_NEGATIVE);
            world_deinit(&world);
        }
    }
}

static void weights_out_of_range_are_refused(void **unused)
{
    WEIR_UNUSED(unused);
    for (size_t i = 0; i <= JOIN_FULL; i++) {
        for (size_t residual = 0; residual < 2; residual++) {
            const JoinConfig config = simple_config(kinds[i], (ResidualKind)residual);
            const WeightedRow left = weighted(1, 0, INT64_C(1) << 40);
            const WeightedRow right = weighted(1, 5, INT64_C(1) << 30);
            World world;
            world_init(&world, &config, 1);
            assert_ok(&world, world_open(&world, false));
            assert_int_equal(world_step(&world, &left, 1, &right, 1), WEIR_ERR_WEIGHT);
            world_deinit(&world);
        }
    }
}

/* --- accounts ------------------------------------------------------------------------------------ */

static void a_join_tells_its_kind_and_its_state(void **unused)
{
    WEIR_UNUSED(unused);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        for (size_t residual = 0; residual < 2; residual++) {
            const JoinConfig config = simple_config(kinds[i], (ResidualKind)residual);
            const WeightedRow rows[] = {weighted(1, 0, 1), weighted(2, 0, 1)};
            World world;
            Buf text;
            world_init(&world, &config, 1);
            weir_buf_init(&text, world.mem, 4096);
            assert_ok(&world, world_open(&world, false));
            const OpType *type = world.join->type;
            assert_int_equal(type->state_rows(world.join), 0);
            const size_t empty_bytes = type->state_bytes(world.join);
            assert_ok(&world, world_step(&world, rows, 2, rows, 2));
            assert_int_equal(type->state_rows(world.join), 4);
            assert_true(type->state_bytes(world.join) > empty_bytes);
            type->describe(world.join, &text);
            assert_int_equal(weir_buf_status(&text, &world.err), WEIR_OK);
            assert_non_null(strstr(text.data, kind_names[i]));
            const bool has_key = kinds[i] != JOIN_MARK || residual == 0;
            assert_non_null(strstr(text.data, has_key ? "#0 = #0" : "each row with each"));
            weir_buf_deinit(&text);
            world_deinit(&world);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_that_are_not_there_in_the_end_cannot_fail),
        cmocka_unit_test(a_pair_on_which_the_residual_fails_fails_the_step),
        cmocka_unit_test(a_step_emits_only_what_is_true_at_its_end),
        cmocka_unit_test(output_comes_in_full_batches),
        cmocka_unit_test(a_stream_joined_with_itself),
        cmocka_unit_test(a_right_row_removed_too_often_is_refused),
        cmocka_unit_test(weights_out_of_range_are_refused),
        cmocka_unit_test(a_join_tells_its_kind_and_its_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
