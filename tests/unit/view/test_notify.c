/* test_notify.c: tables fed by hand: what is told reaches the views, and the next sync by name takes
 * back what the database does not confirm. */
#include "view_test.h"

static int setup(void **state)
{
    World *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world_open(world);
    for (int32_t i = 0; i < 4; i++) {
        fake_insert(&world->fake, "t", i, i);
    }
    uint64_t row_count = 0;
    ASSERT_OK(weir_engine_track(world->engine, &(TrackSpec){.name = "t", .is_manual = true},
                                &row_count, &world->err),
              &world->err);
    assert_int_equal(row_count, 4);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    world_close(*state);
    free(*state);
    return 0;
}

/* `count` rows (first + i, n) in batches of two; the batch before `fail_at` is the last. */
typedef struct Told {
    int32_t first;
    int64_t n;
    size_t count;
    size_t fail_at;
    PhysType phys; /* of the second column */
} Told;

static Status tell_rows(void *context, HostVisit visit, void *user, Error *err)
{
    const Told *const told = context;
    for (size_t i = 0; i < told->count; i += 2) {
        if (i >= told->fail_at) {
            return weir_error_set(err, WEIR_ERR_ARGUMENT, "planned failure");
        }
        int32_t a[2] = {told->first + (int32_t)i, told->first + (int32_t)i + 1};
        int64_t n[2] = {told->n, told->n};
        Vector columns[2] = {{.phys = PHYS_I32, .data = a}, {.phys = told->phys, .data = n}};
        const Batch batch = {
            .count = WEIR_MIN(told->count - i, (size_t)2), .column_count = 2, .columns = columns};
        WEIR_TRY(visit(user, &batch, err));
    }
    return WEIR_OK;
}

static Status tell(World *w, int64_t sign, Told told)
{
    told.fail_at = told.fail_at == 0 ? SIZE_MAX : told.fail_at;
    told.phys = told.phys == 0 ? PHYS_I64 : told.phys;
    const RowSource rows = {.context = &told, .visit_rows = tell_rows};
    weir_error_clear(&w->err);
    return weir_engine_notify(w->engine, "t", sign, &rows, &w->err);
}

static void sync_by_name(World *w)
{
    uint64_t changed = 0;
    ASSERT_OK(weir_engine_sync(w->engine, "t", &changed, &w->err), &w->err);
}

static void rows_told_are_one_commit(void **state)
{
    World *w = *state;
    Bag bag;
    world_create(w, "v", "rows");
    const uint64_t before = weir_engine_generation(w->engine);
    ASSERT_OK(tell(w, 1, (Told){.first = 10, .n = 5, .count = 7}), &w->err);
    assert_int_equal(weir_engine_generation(w->engine), before + 1);
    ASSERT_OK(bag_read(w, "v", &bag), &w->err);
    assert_int_equal(bag.count, 11);
    ASSERT_OK(tell(w, -1, (Told){.first = 10, .n = 5, .count = 7}), &w->err);
    check_view(w, "v", "rows", NULL);
}

static void a_sync_without_the_name_leaves_the_table_alone(void **state)
{
    World *w = *state;
    Bag bag;
    world_create(w, "v", "rows");
    ASSERT_OK(tell(w, 1, (Told){.first = 10, .n = 5, .count = 1}), &w->err);
    fake_insert(&w->fake, "t", 20, 6);
    ASSERT_OK(world_sync(w), &w->err);
    ASSERT_OK(bag_read(w, "v", &bag), &w->err);
    assert_int_equal(bag.count, 5);
}

static void a_sync_by_name_takes_back_what_is_not_there(void **state)
{
    World *w = *state;
    world_create(w, "v", "rows");
    ASSERT_OK(tell(w, 1, (Told){.first = 10, .n = 5, .count = 3}), &w->err);
    ASSERT_OK(tell(w, -1, (Told){.first = 0, .n = 0, .count = 1}), &w->err);
    fake_insert(&w->fake, "t", 10, 5); /* confirms one of the rows told */
    fake_insert(&w->fake, "t", 20, 6); /* not told */
    sync_by_name(w);
    check_view(w, "v", "rows", NULL);
    sync_by_name(w);
    check_view(w, "v", "rows", NULL);
}

static void a_view_made_after_rows_were_told_has_them(void **state)
{
    World *w = *state;
    Bag bag;
    Bag late;
    world_create(w, "v", "rows");
    ASSERT_OK(tell(w, 1, (Told){.first = 10, .n = 5, .count = 3}), &w->err);
    world_create(w, "late", "rows");
    ASSERT_OK(bag_read(w, "v", &bag), &w->err);
    ASSERT_OK(bag_read(w, "late", &late), &w->err);
    bag_assert_equal(&late, &bag);
    fake_insert(&w->fake, "t", 11, 5);
    sync_by_name(w);
    check_view(w, "v", "rows", NULL);
    check_view(w, "late", "rows", NULL);
}

static void rows_that_cannot_be_told_whole_are_not_told(void **state)
{
    World *w = *state;
    world_create(w, "v", "rows");
    const uint64_t before = weir_engine_generation(w->engine);
    assert_int_equal(tell(w, 1, (Told){.first = 10, .n = 5, .count = 7, .fail_at = 4}),
                     WEIR_ERR_ARGUMENT);
    assert_int_equal(tell(w, 1, (Told){.first = 10, .n = 5, .count = 1, .phys = PHYS_I32}),
                     WEIR_ERR_MISUSE);
    assert_int_equal(weir_engine_generation(w->engine), before);
    check_view(w, "v", "rows", NULL);
    sync_by_name(w);
    check_view(w, "v", "rows", NULL);
}

static void a_row_removed_that_was_never_there_breaks_the_view_until_a_sync(void **state)
{
    World *w = *state;
    world_create(w, "v", "rows");
    ASSERT_OK(tell(w, -1, (Told){.first = 77, .n = 5, .count = 1}), &w->err);
    check_broken(w, "v", WEIR_ERR_NEGATIVE);
    sync_by_name(w);
    check_view(w, "v", "rows", NULL);
}

static void a_table_that_is_not_fed_by_hand_takes_no_rows(void **state)
{
    World *w = *state;
    uint64_t row_count = 0;
    ASSERT_OK(weir_engine_track(w->engine, &(TrackSpec){.name = "t"}, &row_count, &w->err),
              &w->err);
    assert_int_equal(tell(w, 1, (Told){.first = 10, .n = 5, .count = 1}), WEIR_ERR_MISUSE);
}

/* Each pair leaves nothing behind, so neither may the memory of it. */
static void rows_that_come_and_go_are_forgotten(void **state)
{
    World *w = *state;
    size_t used = 0;
    weir_engine_set_feed_limit(w->engine, 1 << 16);
    world_create(w, "v", "rows");
    for (int32_t i = 0; i < 20000; i++) {
        ASSERT_OK(tell(w, 1, (Told){.first = 10 + i, .n = 5, .count = 1}), &w->err);
        ASSERT_OK(tell(w, -1, (Told){.first = 10 + i, .n = 5, .count = 1}), &w->err);
        if (i == 8000) {
            used = weir_mem_used(w->mem);
        }
    }
    assert_in_range(weir_mem_used(w->mem), 0, used + (1 << 20));
    check_view(w, "v", "rows", NULL);
}

static void a_manual_table_that_is_gone_is_followed_anew_on_request(void **state)
{
    World *w = *state;
    uint64_t row_count = 0;
    fake_table(&w->fake, "t")->is_gone = true;
    ASSERT_OK(weir_engine_sync(w->engine, "t", NULL, &w->err), &w->err);
    assert_int_equal(tell(w, 1, (Told){.first = 10, .n = 5, .count = 1}), WEIR_ERR_SOURCE_CHANGED);
    fake_table(&w->fake, "t")->is_gone = false;
    fake_insert(&w->fake, "t", 20, 6);
    ASSERT_OK(weir_engine_track(w->engine, &(TrackSpec){.name = "t", .is_manual = true}, &row_count,
                                &w->err),
              &w->err);
    assert_int_equal(row_count, 5);
    assert_int_equal(w->fake.open_tables, 1);
    world_create(w, "v", "rows");
    ASSERT_OK(tell(w, 1, (Told){.first = 10, .n = 5, .count = 1}), &w->err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_told_are_one_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sync_without_the_name_leaves_the_table_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_sync_by_name_takes_back_what_is_not_there, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_view_made_after_rows_were_told_has_them, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_that_cannot_be_told_whole_are_not_told, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_row_removed_that_was_never_there_breaks_the_view_until_a_sync, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_that_is_not_fed_by_hand_takes_no_rows, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(rows_that_come_and_go_are_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(a_manual_table_that_is_gone_is_followed_anew_on_request,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
