/* test_promise.c: a promised key is compared with what the table holds, however that was found: by
 * syncs, by hand, after the table was given up, after counting it failed. */
#include "view_test.h"

static int setup(void **state)
{
    World *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world_open(world);
    for (int32_t i = 0; i < 8; i++) {
        fake_insert(&world->fake, "t", i, INT64_C(10) * i);
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

static Status track(World *w, TrackSpec spec)
{
    uint64_t row_count = 0;
    spec.name = "t";
    weir_error_clear(&w->err);
    return weir_engine_track(w->engine, &spec, &row_count, &w->err);
}

/* What is promised of t, and what became of it, as they are told: NULL = nothing. */
typedef struct Told {
    char promise[64];
    char error[256];
    size_t bytes;
} Told;

static Told promise_of_t(World *w)
{
    Arena arena;
    TableInfo *infos = NULL;
    size_t count = 0;
    Told told = {0};
    weir_arena_init(&arena, w->mem, 0);
    ASSERT_OK(weir_engine_tables(w->engine, &arena, &infos, &count, &w->err), &w->err);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(infos[i].name.name, "t") == 0) {
            const char *const promise = infos[i].promise == NULL ? "" : infos[i].promise;
            const char *const error = infos[i].promise_error == NULL ? "" : infos[i].promise_error;
            (void)snprintf(told.promise, sizeof told.promise, "%s", promise);
            (void)snprintf(told.error, sizeof told.error, "%s", error);
            told.bytes = infos[i].state_bytes;
        }
    }
    weir_arena_deinit(&arena);
    return told;
}

static void assert_kept(World *w)
{
    const Told told = promise_of_t(w);
    assert_string_equal(told.error, "");
    assert_string_not_equal(told.promise, "");
}

static void assert_error(World *w, const char *part)
{
    const Told told = promise_of_t(w);
    if (strstr(told.error, part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, told.error);
    }
}

/* The pass may fail: the table then is opened again by the next one. */
static void lose_the_table(World *w)
{
    fake_insert(&w->fake, "t", 100, 1000);
    fake_fail(&w->fake, FAKE_SYNC_LATE, WEIR_ERR_IO);
    assert_int_equal(world_sync(w), WEIR_ERR_IO);
}

static void a_table_given_up_is_counted_again(void **state)
{
    World *w = *state;
    world_create(w, "v", "rows");
    ASSERT_OK(track(w, (TrackSpec){.key = "a"}), &w->err);
    const size_t bytes = promise_of_t(w).bytes;
    lose_the_table(w);
    assert_true(promise_of_t(w).bytes < bytes);
    check_view(w, "v", "rows", NULL);
    assert_kept(w);
    fake_delete(&w->fake, "t", 100, 1000);
    fake_insert(&w->fake, "t", 100, 7);
    ASSERT_OK(world_sync(w), &w->err);
    assert_kept(w);
    lose_the_table(w); /* and what came meanwhile is an offence */
    check_view(w, "v", "rows", NULL);
    assert_error(w, "DBSP-E305: table t has 2 rows with (a) = (100)");
}

static void counting_that_fails_ends_the_check(void **state)
{
    World *w = *state;
    world_create(w, "v", "rows");
    ASSERT_OK(track(w, (TrackSpec){.key = "a"}), &w->err);
    lose_the_table(w);
    fake_fail(&w->fake, FAKE_SCAN, WEIR_ERR_IO);
    ASSERT_OK(world_sync(w), &w->err);
    check_view(w, "v", "rows", NULL);
    assert_error(w, "DBSP-E003: the key of table t is not checked any more: planned failure");
    fake_insert(&w->fake, "t", 100, 7);
    ASSERT_OK(world_sync(w), &w->err);
    assert_error(w, "DBSP-E003");
    assert_int_equal(track(w, (TrackSpec){.key = "a"}), WEIR_ERR_PROMISE);
    fake_delete(&w->fake, "t", 100, 7);
    ASSERT_OK(world_sync(w), &w->err);
    ASSERT_OK(track(w, (TrackSpec){.key = "a"}), &w->err);
    assert_kept(w);
}

static void interrupted_counting_is_taken_up_by_the_next_pass(void **state)
{
    World *w = *state;
    Bag bag;
    world_create(w, "v", "rows");
    ASSERT_OK(track(w, (TrackSpec){.key = "a"}), &w->err);
    fake_insert(&w->fake, "t", 1, 1);
    lose_the_table(w);
    fake_fail(&w->fake, FAKE_SCAN, WEIR_ERR_INTERRUPTED);
    ASSERT_OK(world_sync(w), &w->err);
    assert_kept(w);
    ASSERT_OK(bag_read(w, "v", &bag), &w->err);
    assert_error(w, "DBSP-E305: table t has 2 rows with (a) = (1)");
}

static void counting_that_is_interrupted_makes_no_promise(void **state)
{
    World *w = *state;
    fake_fail(&w->fake, FAKE_SCAN, WEIR_ERR_INTERRUPTED);
    assert_int_equal(track(w, (TrackSpec){.key = "a"}), WEIR_ERR_INTERRUPTED);
    assert_string_equal(promise_of_t(w).promise, "");
    assert_int_equal(w->fake.open_tables, 0);
}

/* It is not looked at while it is gone, and looked at whole when it is back. */
static void a_table_that_is_gone_is_not_counted(void **state)
{
    World *w = *state;
    ASSERT_OK(track(w, (TrackSpec){.key = "n, a"}), &w->err);
    const size_t bytes = promise_of_t(w).bytes;
    fake_table(&w->fake, "t")->is_gone = true;
    fake_insert(&w->fake, "t", 1, 10);
    ASSERT_OK(world_sync(w), &w->err);
    assert_kept(w);
    assert_true(promise_of_t(w).bytes < bytes);
    fake_table(&w->fake, "t")->is_gone = false;
    ASSERT_OK(world_sync(w), &w->err);
    assert_error(w, "DBSP-E305: table t has 2 rows with (n, a) = (10, 1)");
}

/* ---- random changes ---------------------------------------------------------------------------- */

/* Rows come and go, found by syncs or told by hand. `rows` are those that the views are to have: the
 * host's, or what was told of. */
typedef struct Drive {
    World *world;
    uint64_t seed;
    bool is_manual;
    FakeRows told;
    FakeRows *rows;
    size_t step;
} Drive;

static unsigned pick(Drive *drive, unsigned limit)
{
    drive->seed = drive->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(drive->seed >> 33) % limit;
}

static bool has_twins(const FakeRows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        for (size_t k = i + 1; k < rows->count; k++) {
            if (rows->items[i].a == rows->items[k].a) {
                return true;
            }
        }
    }
    return false;
}

static Status tell_row(void *context, HostVisit visit, void *user, Error *err)
{
    FakeRow row = *(const FakeRow *)context;
    Vector columns[2] = {{.phys = PHYS_I32, .data = &row.a}, {.phys = PHYS_I64, .data = &row.n}};
    const Batch batch = {.count = 1, .column_count = 2, .columns = columns};
    return visit(user, &batch, err);
}

static void change_row(Drive *drive)
{
    const bool is_insert = drive->rows->count == 0 || pick(drive, 100) < 55;
    FakeRow row = {.a = (int32_t)pick(drive, 60), .n = (int64_t)drive->step};
    if (is_insert) {
        rows_add(drive->rows, row);
    } else {
        row = drive->rows->items[pick(drive, (unsigned)drive->rows->count)];
        assert_true(rows_remove(drive->rows, row));
    }
    if (drive->is_manual) {
        World *const w = drive->world;
        const RowSource source = {.context = &row, .visit_rows = tell_row};
        ASSERT_OK(weir_engine_notify(w->engine, "t", is_insert ? 1 : -1, &source, &w->err),
                  &w->err);
    }
}

/* One commit, or a few that are told; true if the promise must be broken then. */
static bool drive_step(Drive *drive)
{
    World *const w = drive->world;
    bool is_broken = false;
    for (unsigned changes = 1 + pick(drive, 4); changes > 0; changes--) {
        change_row(drive);
        is_broken = is_broken || (drive->is_manual && has_twins(drive->rows));
    }
    if (drive->is_manual && pick(drive, 5) == 0) { /* takes back what was told */
        ASSERT_OK(weir_engine_sync(w->engine, "t", NULL, &w->err), &w->err);
        rows_copy(&drive->told, &fake_table(&w->fake, "t")->committed);
    } else if (!drive->is_manual && pick(drive, 7) == 0) {
        fake_fail(&w->fake, FAKE_SYNC_LATE, WEIR_ERR_IO);
        (void)world_sync(w);
        w->fake.fail_call = FAKE_NOTHING;
    }
    ASSERT_OK(world_sync(w), &w->err);
    return is_broken || has_twins(drive->rows);
}

/* Twelve steps, or until the promise is broken: then true. */
static bool drive_round(Drive *drive)
{
    World *const w = drive->world;
    FakeRows *const rows = &fake_table(&w->fake, "t")->committed;
    bool is_broken = false;
    while (has_twins(rows)) {
        rows->count--;
    }
    ASSERT_OK(world_sync(w), &w->err);
    drive->is_manual = pick(drive, 10) < 3;
    ASSERT_OK(track(w, (TrackSpec){.key = "a", .is_manual = drive->is_manual}), &w->err);
    rows_copy(&drive->told, rows);
    drive->rows = drive->is_manual ? &drive->told : rows;
    for (drive->step = 0; drive->step < 12 && !is_broken; drive->step++) {
        is_broken = drive_step(drive);
        if (is_broken) {
            assert_error(w, "DBSP-E305: table t has ");
        } else {
            assert_kept(w);
        }
    }
    ASSERT_OK(weir_engine_sync(w->engine, "t", NULL, &w->err), &w->err);
    ASSERT_OK(track(w, (TrackSpec){0}), &w->err);
    check_view(w, "v", "rows", NULL);
    return is_broken;
}

static void the_promise_is_broken_when_two_rows_have_a_key(void **state)
{
    World *w = *state;
    Drive drive = {.world = w, .seed = 20};
    size_t breaks = 0;
    world_create(w, "v", "rows");
    for (size_t round = 0; round < 400; round++) {
        breaks += drive_round(&drive);
    }
    printf("seed 20: %zu of 400 promises broken\n", breaks);
    assert_true(breaks > 100 && breaks < 390);
    free(drive.told.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_table_given_up_is_counted_again, setup, teardown),
        cmocka_unit_test_setup_teardown(counting_that_fails_ends_the_check, setup, teardown),
        cmocka_unit_test_setup_teardown(interrupted_counting_is_taken_up_by_the_next_pass, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(counting_that_is_interrupted_makes_no_promise, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_table_that_is_gone_is_not_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(the_promise_is_broken_when_two_rows_have_a_key, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
