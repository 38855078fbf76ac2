/* test_reader.c: a reader sees one generation, whatever happens to the view meanwhile. */
#include "view_test.h"

static int setup(void **state)
{
    World *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world_open(world);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    world_close(*state);
    free(*state);
    return 0;
}

/* More rows than fit in a batch, in a view that shows them as they are. */
static void fill(World *w, int32_t rows)
{
    for (int32_t i = 0; i < rows; i++) {
        fake_insert(&w->fake, "t", i, 1);
    }
    world_create(w, "v", "narrow");
}

static ViewReader *open_reader(World *w, const char *view)
{
    ViewReader *reader = NULL;
    ASSERT_OK(weir_engine_read(w->engine, view, &reader, &w->err), &w->err);
    return reader;
}

/* Counts the rest: rows, and the sum of column a. */
static size_t count_rest(World *w, ViewReader *reader, int64_t *sum)
{
    size_t count = 0;
    Arena arena;
    weir_arena_init(&arena, w->mem, 0);
    for (;;) {
        Batch batch = {0};
        weir_arena_reset(&arena);
        ASSERT_OK(weir_view_reader_next(reader, &arena, &batch, &w->err), &w->err);
        if (batch.count == 0) {
            break;
        }
        for (size_t i = 0; i < batch.count; i++) {
            *sum += cell_int(&batch.columns[0], i);
        }
        count += batch.count;
    }
    weir_arena_deinit(&arena);
    return count;
}

/* Takes one batch. */
static size_t take_batch(World *w, ViewReader *reader, int64_t *sum)
{
    Arena arena;
    Batch batch = {0};
    weir_arena_init(&arena, w->mem, 0);
    ASSERT_OK(weir_view_reader_next(reader, &arena, &batch, &w->err), &w->err);
    for (size_t i = 0; i < batch.count; i++) {
        *sum += cell_int(&batch.columns[0], i);
    }
    weir_arena_deinit(&arena);
    return batch.count;
}

enum { ROWS = 5000 };
static const int64_t ROWS_SUM = (int64_t)ROWS * (ROWS - 1) / 2;

/* Every call takes a hundred rows and adds as many others. */
static void change_rows(World *w)
{
    static int32_t calls = 0;
    const FakeRows *const rows = &fake_table(&w->fake, "t")->committed;
    for (int32_t i = 0; i < 100; i++) {
        const FakeRow row = rows->items[rows->count / 2];
        fake_delete(&w->fake, "t", row.a, row.n);
        fake_insert(&w->fake, "t", 100000 + 100 * calls + i, 1);
    }
    calls++;
}

static void a_reader_keeps_its_generation_when_the_view_changes(void **state)
{
    World *w = *state;
    int64_t sum = 0;
    fill(w, ROWS);
    ViewReader *reader = open_reader(w, "v");
    size_t count = take_batch(w, reader, &sum);
    assert_int_equal(count, BATCH_CAPACITY);
    change_rows(w);
    ASSERT_OK(world_sync(w), &w->err);
    count += take_batch(w, reader, &sum);
    change_rows(w);
    ASSERT_OK(world_sync(w), &w->err);
    count += count_rest(w, reader, &sum);
    assert_int_equal(count, ROWS);
    assert_int_equal(sum, ROWS_SUM);
    weir_view_reader_free(reader);
}

static void a_reader_outlives_drop_replace_and_the_views_end(void **state)
{
    World *w = *state;
    ViewReader *readers[3];
    int64_t sums[3] = {0};
    size_t counts[3];
    fill(w, ROWS);
    for (size_t i = 0; i < 3; i++) {
        readers[i] = open_reader(w, "v");
        counts[i] = i == 1 ? 0 : take_batch(w, readers[i], &sums[i]);
    }
    ASSERT_OK(world_try(w, "v", "counted", CREATE_OR_REPLACE), &w->err);
    ASSERT_OK(weir_engine_drop(w->engine, "v", false, NULL, &w->err), &w->err);
    assert_int_equal(w->fake.open_tables, 0);
    for (size_t i = 0; i < 3; i++) {
        counts[i] += count_rest(w, readers[i], &sums[i]);
        assert_int_equal(counts[i], ROWS);
        assert_int_equal(sums[i], ROWS_SUM);
        weir_view_reader_free(readers[i]);
    }
}

/* A row that stands 5000 times in the view spans batches; the reader is detached inside it. */
static void a_row_of_weight_n_comes_n_times(void **state)
{
    World *w = *state;
    int64_t sum = 0;
    for (int32_t i = 0; i < ROWS; i++) {
        fake_insert(&w->fake, "t", 7, i);
    }
    world_create(w, "v", "narrow");
    ViewReader *reader = open_reader(w, "v");
    size_t count = take_batch(w, reader, &sum);
    fake_delete(&w->fake, "t", 7, 0);
    ASSERT_OK(world_sync(w), &w->err);
    count += count_rest(w, reader, &sum);
    assert_int_equal(count, ROWS);
    assert_int_equal(sum, 7 * ROWS);
    weir_view_reader_free(reader);
    reader = open_reader(w, "v");
    assert_int_equal(count_rest(w, reader, &sum), ROWS - 1);
    weir_view_reader_free(reader);
}

/* Whichever allocation of a sync fails, a reader that is open gets what it would have got. */
static void a_reader_survives_a_sync_that_runs_out_of_memory(void **state)
{
    World *w = *state;
    bool was_hit = true;
    fill(w, ROWS);
    for (size_t nth = 1; was_hit; nth++) {
        int64_t sum = 0;
        int64_t expected = 0;
        ViewReader *const reader = open_reader(w, "v");
        ViewReader *const other = open_reader(w, "v");
        assert_int_equal(count_rest(w, other, &expected), ROWS);
        size_t count = take_batch(w, reader, &sum);
        change_rows(w);
        weir_mem_fail_after(w->mem, nth, false);
        was_hit = world_sync(w) != WEIR_OK;
        weir_mem_fail_after(w->mem, 0, false);
        Error notice = {0};
        was_hit |= weir_engine_take_notice(w->engine, &notice);
        count += count_rest(w, reader, &sum);
        assert_int_equal(count, ROWS);
        assert_int_equal(sum, expected);
        weir_view_reader_free(reader);
        weir_view_reader_free(other);
        ASSERT_OK(weir_engine_refresh(w->engine, "v", NULL, &w->err), &w->err);
    }
}

static void feed_readers_keep_what_the_feed_forgets(void **state)
{
    World *w = *state;
    Bag sum = {0};
    weir_engine_set_feed_limit(w->engine, 4096);
    world_create(w, "v", "rows");
    const int64_t start = (int64_t)weir_engine_generation(w->engine);
    fake_insert(&w->fake, "t", 1, 1);
    ViewReader *reader = NULL;
    ASSERT_OK(weir_engine_read_changes(w->engine, "v", start, &reader, &w->err), &w->err);
    for (int32_t i = 0; i < 200; i++) {
        fake_insert(&w->fake, "t", 2, i);
        ASSERT_OK(world_sync(w), &w->err);
    }
    Bag late = {0};
    assert_int_equal(bag_follow(w, "v", start, &late), WEIR_ERR_TOO_OLD);
    bag_drain(w, reader, 2, &sum);
    assert_int_equal(sum.count, 1);
    const int64_t recent = (int64_t)weir_engine_generation(w->engine) - 3;
    ASSERT_OK(bag_follow(w, "v", recent, &late), &w->err);
    assert_int_equal(late.count, 3);
}

static void a_change_larger_than_the_feed_is_a_gap(void **state)
{
    World *w = *state;
    Bag bag = {0};
    weir_engine_set_feed_limit(w->engine, 4096);
    world_create(w, "v", "rows");
    int64_t since = (int64_t)weir_engine_generation(w->engine);
    for (int32_t i = 0; i < 400; i++) {
        fake_insert(&w->fake, "t", i, i);
    }
    assert_int_equal(bag_follow(w, "v", since, &bag), WEIR_ERR_TOO_OLD);
    since = (int64_t)weir_engine_generation(w->engine);
    fake_insert(&w->fake, "t", 1, 1000);
    ASSERT_OK(bag_follow(w, "v", since, &bag), &w->err);
    assert_int_equal(bag.count, 1);
}

static void a_statement_that_was_bound_sees_the_shape_it_asked_for(void **state)
{
    World *w = *state;
    ViewShape shape;
    world_create(w, "v", "rows");
    ASSERT_OK(weir_engine_shape(w->engine, "V", &shape, &w->err), &w->err);
    assert_int_equal(shape.schema.count, 2);
    assert_string_equal(shape.schema.names[1], "s");
    assert_string_equal(shape.sql, "rows");
    weir_view_shape_deinit(&shape);
    assert_int_equal(weir_engine_shape(w->engine, "w", &shape, &w->err), WEIR_ERR_UNKNOWN_VIEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reader_keeps_its_generation_when_the_view_changes, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_reader_outlives_drop_replace_and_the_views_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_row_of_weight_n_comes_n_times, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reader_survives_a_sync_that_runs_out_of_memory, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(feed_readers_keep_what_the_feed_forgets, setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_larger_than_the_feed_is_a_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(a_statement_that_was_bound_sees_the_shape_it_asked_for,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
