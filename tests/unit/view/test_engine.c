/* test_engine.c: views follow their tables; failures of tables and views, and how they mend. */
#include "view_test.h"

static int setup(void **state)
{
    World *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world_open(world);
    for (int32_t i = 0; i < 10; i++) {
        fake_insert(&world->fake, "t", i % 4, i);
        fake_insert(&world->fake, "u", i % 3, INT64_C(10) * i);
    }
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    world_close(*state);
    free(*state);
    return 0;
}

/* ---- following -------------------------------------------------------------------------------- */

static void views_follow_tables_and_views(void **state)
{
    World *w = *state;
    Bag base;
    world_create(w, "base", "sum");
    world_create(w, "joined", "joined");
    world_create(w, "over", "over");
    world_create(w, "diamond", "diamond");
    for (int32_t i = 0; i < 8; i++) {
        fake_insert(&w->fake, "t", i % 5, 100 + i);
        fake_delete(&w->fake, "t", i % 4, i);
        fake_insert(&w->fake, "u", i % 4, 7);
        define(w, "sum", NULL, &base);
        check_view(w, "base", "sum", NULL);
        check_view(w, "joined", "joined", NULL);
        check_view(w, "over", "over", &base);
        check_view(w, "diamond", "diamond", &base);
    }
}

static void a_feed_adds_up_through_replace_and_refresh(void **state)
{
    World *w = *state;
    Bag sum;
    Bag now;
    world_create(w, "base", "sum");
    world_create(w, "over", "over");
    ASSERT_OK(bag_read(w, "over", &sum), &w->err);
    uint64_t since = weir_engine_generation(w->engine);
    for (int32_t i = 0; i < 6; i++) {
        fake_insert(&w->fake, "t", i, INT64_C(1000) * i);
        if (i == 2) {
            ASSERT_OK(world_try(w, "base", "rows", CREATE_OR_REPLACE), &w->err);
        } else if (i == 4) {
            ASSERT_OK(weir_engine_refresh(w->engine, "base", NULL, &w->err), &w->err);
        }
        ASSERT_OK(bag_follow(w, "over", (int64_t)since, &sum), &w->err);
        since = weir_engine_generation(w->engine);
        ASSERT_OK(bag_read(w, "over", &now), &w->err);
        bag_assert_equal(&sum, &now);
    }
    check_view(w, "base", "rows", NULL);
}

/* ---- names and dependencies -------------------------------------------------------------------- */

static void a_view_cannot_be_replaced_by_what_reads_it(void **state)
{
    World *w = *state;
    world_create(w, "base", "rows");
    world_create(w, "over", "over");
    assert_int_equal(world_try(w, "base", "circle", CREATE_OR_REPLACE), WEIR_ERR_CYCLE);
    assert_int_equal(world_try(w, "base", "over", CREATE_OR_REPLACE), WEIR_ERR_CYCLE);
    check_view(w, "base", "rows", NULL);
}

static void a_drop_takes_all_dependents_or_none(void **state)
{
    World *w = *state;
    size_t dropped = 0;
    world_create(w, "base", "rows");
    world_create(w, "over", "over");
    world_create(w, "top", "top");
    world_create(w, "other", "circle");
    assert_int_equal(weir_engine_drop(w->engine, "base", false, &dropped, &w->err),
                     WEIR_ERR_HAS_DEPENDENTS);
    assert_int_equal(dropped, 0);
    ASSERT_OK(weir_engine_drop(w->engine, "over", true, &dropped, &w->err), &w->err);
    assert_int_equal(dropped, 2);
    ASSERT_OK(weir_engine_drop(w->engine, "base", true, &dropped, &w->err), &w->err);
    assert_int_equal(dropped, 2);
    assert_int_equal(w->fake.open_tables, 0);
}

static void other_columns_are_refused_while_a_view_depends_on_them(void **state)
{
    World *w = *state;
    world_create(w, "base", "rows");
    world_create(w, "over", "over");
    assert_int_equal(world_try(w, "base", "narrow", CREATE_OR_REPLACE), WEIR_ERR_HAS_DEPENDENTS);
    assert_int_equal(world_try(w, "base", "renamed", CREATE_OR_REPLACE), WEIR_ERR_HAS_DEPENDENTS);
    check_view(w, "base", "rows", NULL);
}

static void a_name_of_two_schemas_means_the_one_in_main(void **state)
{
    World *w = *state;
    CreateResult result;
    const CreateSpec spec = {.name = "v", .sql = "narrow", .settings = {.search_path = "s2"}};
    fake_insert(&w->fake, "t", 99, 1);
    ASSERT_OK(weir_engine_create(w->engine, &spec, &result, &w->err), &w->err);
    assert_int_equal(result.row_count, 11);
    assert_int_equal(weir_engine_look_up(w->engine, "v"), NAME_FOUND);
    world_create(w, "v", "distinct");
    assert_int_equal(weir_engine_look_up(w->engine, "v"), NAME_AMBIGUOUS);
    assert_int_equal(weir_engine_look_up(w->engine, "S2.V"), NAME_FOUND);
    check_view(w, "v", "distinct", NULL);
    check_view(w, "main.v", "distinct", NULL);
}

static void a_feed_does_not_go_on_from_another_view_of_the_name(void **state)
{
    World *w = *state;
    Bag bag = {0};
    world_create(w, "v", "rows");
    const int64_t since = (int64_t)weir_engine_generation(w->engine);
    ASSERT_OK(bag_follow(w, "v", since, &bag), &w->err);
    ASSERT_OK(weir_engine_drop(w->engine, "v", false, NULL, &w->err), &w->err);
    world_create(w, "v", "sum");
    assert_int_equal(bag_follow(w, "v", since, &bag), WEIR_ERR_TOO_OLD);
    const int64_t later = (int64_t)weir_engine_generation(w->engine);
    ASSERT_OK(bag_follow(w, "v", later, &bag), &w->err);
    ASSERT_OK(world_try(w, "v", "narrow", CREATE_OR_REPLACE), &w->err);
    assert_int_equal(bag_follow(w, "v", later, &bag), WEIR_ERR_TOO_OLD);
}

/* ---- views that fail --------------------------------------------------------------------------- */

static void a_row_that_fails_breaks_the_view_until_it_is_gone(void **state)
{
    World *w = *state;
    Bag sum;
    Bag now;
    world_create(w, "add", "add");
    world_create(w, "joined", "joined");
    ASSERT_OK(bag_read(w, "add", &sum), &w->err);
    const int64_t since = (int64_t)weir_engine_generation(w->engine);
    fake_insert(&w->fake, "t", 1, 5000);
    check_broken(w, "add", WEIR_ERR_EVALUATION);
    check_view(w, "joined", "joined", NULL);
    fake_insert(&w->fake, "t", 2, 3);
    check_broken(w, "add", WEIR_ERR_EVALUATION);
    fake_delete(&w->fake, "t", 1, 5000);
    ASSERT_OK(bag_read(w, "add", &now), &w->err);
    assert_int_equal(now.count, 11);
    ASSERT_OK(bag_follow(w, "add", since, &sum), &w->err);
    bag_assert_equal(&sum, &now);
}

static void dependents_of_a_broken_view_are_broken_and_mend_with_it(void **state)
{
    World *w = *state;
    world_create(w, "base", "add");
    world_create(w, "over", "over");
    world_create(w, "diamond", "diamond");
    fake_insert(&w->fake, "t", 1, 5000);
    check_broken(w, "over", WEIR_ERR_EVALUATION);
    check_broken(w, "diamond", WEIR_ERR_EVALUATION);
    assert_int_equal(world_try(w, "top", "top", CREATE_NEW), WEIR_ERR_BROKEN);
    fake_insert(&w->fake, "t", 3, 1);
    check_broken(w, "diamond", WEIR_ERR_EVALUATION);
    fake_delete(&w->fake, "t", 1, 5000);
    Bag base;
    ASSERT_OK(bag_read(w, "base", &base), &w->err);
    check_view(w, "over", "over", &base);
    check_view(w, "diamond", "diamond", &base);
}

/* ---- tables that fail -------------------------------------------------------------------------- */

static void a_table_that_cannot_be_read_takes_only_its_views_with_it(void **state)
{
    World *w = *state;
    world_create(w, "sum", "sum");
    world_create(w, "distinct", "distinct");
    fake_insert(&w->fake, "t", 1, 1);
    fake_insert(&w->fake, "u", 77, 1);
    fake_fail(&w->fake, FAKE_SYNC, WEIR_ERR_HOST);
    check_view(w, "distinct", "distinct", NULL);
    weir_engine_set_auto_sync(w->engine, false);
    check_broken(w, "sum", WEIR_ERR_HOST);
    weir_engine_set_auto_sync(w->engine, true);
    check_view(w, "sum", "sum", NULL);
}

/* The delta that was found is lost: the views must not be left without it. */
static void a_table_that_fails_half_way_is_read_anew(void **state)
{
    World *w = *state;
    Bag base;
    Bag sum;
    Bag now;
    world_create(w, "base", "sum");
    world_create(w, "joined", "joined");
    world_create(w, "over", "over");
    ASSERT_OK(bag_read(w, "over", &sum), &w->err);
    const int64_t since = (int64_t)weir_engine_generation(w->engine);
    for (int32_t i = 0; i < 8; i++) {
        fake_insert(&w->fake, "t", i, INT64_C(100) * i);
    }
    fake_fail(&w->fake, FAKE_SYNC_LATE, WEIR_ERR_NOMEM);
    assert_int_equal(world_sync(w), WEIR_ERR_NOMEM);
    weir_engine_set_auto_sync(w->engine, false);
    check_broken(w, "joined", WEIR_ERR_NOMEM);
    check_broken(w, "over", WEIR_ERR_NOMEM);
    weir_engine_set_auto_sync(w->engine, true);
    define(w, "sum", NULL, &base);
    check_view(w, "base", "sum", NULL);
    check_view(w, "joined", "joined", NULL);
    check_view(w, "over", "over", &base);
    ASSERT_OK(bag_read(w, "over", &now), &w->err);
    ASSERT_OK(bag_follow(w, "over", since, &sum), &w->err);
    bag_assert_equal(&sum, &now);
}

static void a_table_that_cannot_be_opened_again_is_tried_again(void **state)
{
    World *w = *state;
    static const FakeCall CALLS[] = {FAKE_OPEN, FAKE_FOLLOW, FAKE_SCAN};
    world_create(w, "sum", "sum");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(CALLS); i++) {
        fake_insert(&w->fake, "t", 1, 17);
        fake_fail(&w->fake, FAKE_SYNC_LATE, WEIR_ERR_HOST);
        assert_int_equal(world_sync(w), WEIR_ERR_HOST);
        fake_fail(&w->fake, CALLS[i], WEIR_ERR_HOST);
        (void)world_sync(w);
        weir_engine_set_auto_sync(w->engine, false);
        check_broken(w, "sum", WEIR_ERR_HOST);
        weir_engine_set_auto_sync(w->engine, true);
        fake_insert(&w->fake, "t", 1, 18);
        check_view(w, "sum", "sum", NULL);
    }
}

static void an_interrupted_sync_leaves_nothing_broken(void **state)
{
    World *w = *state;
    static const FakeCall CALLS[] = {FAKE_SYNC, FAKE_SYNC_LATE};
    world_create(w, "sum", "sum");
    world_create(w, "distinct", "distinct");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(CALLS); i++) {
        Bag bag;
        fake_insert(&w->fake, "t", 1, 17);
        fake_insert(&w->fake, "u", 17, 17);
        fake_fail(&w->fake, CALLS[i], WEIR_ERR_INTERRUPTED);
        assert_int_equal(bag_read(w, "distinct", &bag), WEIR_ERR_INTERRUPTED);
        check_view(w, "sum", "sum", NULL);
        check_view(w, "distinct", "distinct", NULL);
    }
}

static void a_table_that_is_gone_breaks_its_views_until_it_is_back(void **state)
{
    World *w = *state;
    world_create(w, "sum", "sum");
    world_create(w, "joined", "joined");
    world_create(w, "distinct", "distinct");
    fake_table(&w->fake, "t")->is_gone = true;
    fake_insert(&w->fake, "t", 3, 3);
    fake_insert(&w->fake, "u", 55, 3);
    check_broken(w, "sum", WEIR_ERR_SOURCE_CHANGED);
    check_broken(w, "joined", WEIR_ERR_SOURCE_CHANGED);
    check_view(w, "distinct", "distinct", NULL);
    assert_int_equal(world_try(w, "base", "rows", CREATE_NEW), WEIR_ERR_UNKNOWN_TABLE);
    fake_table(&w->fake, "t")->is_gone = false;
    world_create(w, "base", "rows");
    check_view(w, "sum", "sum", NULL);
    check_view(w, "joined", "joined", NULL);
    check_view(w, "base", "rows", NULL);
}

static void a_failed_creation_leaves_nothing(void **state)
{
    World *w = *state;
    static const FakeCall CALLS[] = {FAKE_BEGIN, FAKE_PLAN, FAKE_OPEN, FAKE_FOLLOW, FAKE_SCAN};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(CALLS); i++) {
        fake_fail(&w->fake, CALLS[i], WEIR_ERR_HOST);
        assert_int_equal(world_try(w, "v", "joined", CREATE_NEW), WEIR_ERR_HOST);
        assert_int_equal(w->fake.open_tables, 0);
        assert_int_equal(weir_engine_look_up(w->engine, "v"), NAME_UNKNOWN);
    }
    world_create(w, "v", "sum");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(CALLS); i++) {
        if (CALLS[i] != FAKE_BEGIN) {
            fake_fail(&w->fake, CALLS[i], WEIR_ERR_HOST);
            assert_int_equal(world_try(w, "v", "joined", CREATE_OR_REPLACE), WEIR_ERR_HOST);
        }
        check_view(w, "v", "sum", NULL);
        assert_int_equal(w->fake.open_tables, 1);
    }
}

/* Nothing has changed in a table. Until the new meaning is known nothing is read. */
static void a_definition_that_means_something_else_is_followed(void **state)
{
    static const FakeCall CALLS[] = {FAKE_PLAN_DIGEST, FAKE_PLAN};
    static const Status CODES[] = {WEIR_ERR_NOMEM, WEIR_ERR_INTERRUPTED};
    World *w = *state;
    Bag base;
    ViewReader *reader = NULL;
    w->fake.reads_others = true;
    world_create(w, "base", "sum");
    world_create(w, "over", "over");
    fake_exchange_plans(&w->fake, "sum", "rows");
    for (size_t i = 0; i < 4; i++) {
        fake_fail(&w->fake, CALLS[i / 2], CODES[i % 2]);
        assert_int_equal(weir_engine_read(w->engine, "over", &reader, &w->err), CODES[i % 2]);
        assert_null(reader);
    }
    define(w, "rows", NULL, &base);
    check_view(w, "over", "over", &base);
    check_view(w, "base", "rows", NULL);
    fake_fail(&w->fake, FAKE_PLAN_DIGEST, WEIR_ERR_PLAN); /* it means nothing */
    assert_int_equal(weir_engine_read(w->engine, "base", &reader, &w->err), WEIR_ERR_BROKEN);
    fake_insert(&w->fake, "t", 2, 2); /* which does not give it a meaning */
    fake_fail(&w->fake, FAKE_PLAN, WEIR_ERR_PLAN);
    assert_int_equal(weir_engine_read(w->engine, "over", &reader, &w->err), WEIR_ERR_BROKEN);
    check_view(w, "base", "rows", NULL);
    fake_exchange_plans(&w->fake, "sum", "rows");
    ASSERT_OK(world_sync(w), &w->err);
    check_view(w, "base", "sum", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(views_follow_tables_and_views, setup, teardown),
        cmocka_unit_test_setup_teardown(a_feed_adds_up_through_replace_and_refresh, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_view_cannot_be_replaced_by_what_reads_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_drop_takes_all_dependents_or_none, setup, teardown),
        cmocka_unit_test_setup_teardown(other_columns_are_refused_while_a_view_depends_on_them,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_of_two_schemas_means_the_one_in_main, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_feed_does_not_go_on_from_another_view_of_the_name, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_row_that_fails_breaks_the_view_until_it_is_gone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(dependents_of_a_broken_view_are_broken_and_mend_with_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_that_cannot_be_read_takes_only_its_views_with_it,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_that_fails_half_way_is_read_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_that_cannot_be_opened_again_is_tried_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_interrupted_sync_leaves_nothing_broken, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_that_is_gone_breaks_its_views_until_it_is_back,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_creation_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_definition_that_means_something_else_is_followed, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
