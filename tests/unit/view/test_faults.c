/* test_faults.c: every allocation of a script fails once. What fails says so; afterwards each view
 * equals its definition, or is broken with a reason and equal again after a refresh. */
#include "view_test.h"

typedef struct Made {
    const char *name;
    const char *definition;
} Made;

/* In the order in which they are made. */
static const Made VIEWS[] = {
    {"base", "sum"},  {"joined", "joined"}, {"distinct", "distinct"},
    {"over", "over"}, {"top", "top"},       {"diamond", "diamond"},
};

static void world_fill(World *w)
{
    for (int32_t i = 0; i < 10; i++) {
        fake_insert(&w->fake, "t", i % 4, i);
        fake_insert(&w->fake, "u", i % 3, INT64_C(10) * i);
    }
}

/* The only failures that running out of memory may lead to. */
static void check_status(const World *w, Status status)
{
    const bool is_expected = status == WEIR_OK || status == WEIR_ERR_NOMEM ||
                             status == WEIR_ERR_BROKEN || status == WEIR_ERR_UNKNOWN_VIEW;
    if (!is_expected) {
        fail_msg("%s (error %d)", w->err.message, (int)status);
    }
    if (status == WEIR_ERR_BROKEN && strstr(w->err.message, "out of memory") == NULL) {
        fail_msg("broken for another reason: %s", w->err.message);
    }
}

static Status tell_row(void *context, HostVisit visit, void *user, Error *err)
{
    int32_t a = *(const int32_t *)context;
    int64_t n = 1;
    Vector columns[2] = {{.phys = PHYS_I32, .data = &a}, {.phys = PHYS_I64, .data = &n}};
    const Batch batch = {.count = 1, .column_count = 2, .columns = columns};
    return visit(user, &batch, err);
}

/* u is fed by hand for a while. */
static void run_manual(World *w)
{
    uint64_t row_count = 0;
    int32_t told = 2;
    const RowSource rows = {.context = &told, .visit_rows = tell_row};
    const Status status = weir_engine_track(w->engine, &(TrackSpec){.name = "u", .is_manual = true},
                                            &row_count, &w->err);
    check_status(w, status);
    if (status != WEIR_OK) {
        return;
    }
    check_status(w, weir_engine_notify(w->engine, "u", 1, &rows, &w->err));
    check_status(w, weir_engine_sync(w->engine, "u", NULL, &w->err));
    check_status(w, weir_engine_track(w->engine, &(TrackSpec){.name = "u"}, &row_count, &w->err));
}

/* A key that t has all the time. */
static const TrackSpec KEYED = {.name = "t", .key = "a, n"};

static void run_key(World *w)
{
    uint64_t row_count = 0;
    check_status(w, weir_engine_track(w->engine, &KEYED, &row_count, &w->err));
}

static void run_reads(World *w)
{
    Bag *bag = calloc(1, sizeof *bag);
    assert_non_null(bag);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(VIEWS); i++) {
        ViewReader *reader = NULL;
        const Status status = weir_engine_read(w->engine, VIEWS[i].name, &reader, &w->err);
        check_status(w, status);
        if (status == WEIR_OK) {
            Arena arena;
            Batch batch = {0};
            weir_arena_init(&arena, w->mem, 0);
            check_status(w, weir_view_reader_next(reader, &arena, &batch, &w->err));
            weir_arena_deinit(&arena);
            weir_view_reader_free(reader);
        }
        reader = NULL;
        check_status(w, weir_engine_read_changes(w->engine, VIEWS[i].name, -1, &reader, &w->err));
        weir_view_reader_free(reader);
    }
    free(bag);
}

static void run_script(World *w)
{
    run_key(w);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(VIEWS); i++) {
        check_status(w, world_try(w, VIEWS[i].name, VIEWS[i].definition, CREATE_NEW));
    }
    for (int32_t i = 0; i < 4; i++) {
        fake_insert(&w->fake, "t", i, 100 + i);
        fake_delete(&w->fake, "t", i, i);
        fake_insert(&w->fake, "u", i, 7);
    }
    check_status(w, world_sync(w));
    run_reads(w);
    run_manual(w);
    run_key(w);
    check_status(w, world_try(w, "base", "rows", CREATE_OR_REPLACE));
    fake_insert(&w->fake, "t", 9, 9);
    check_status(w, world_sync(w));
    check_status(w, world_try(w, "base", "sum", CREATE_OR_REPLACE));
    check_status(w, weir_engine_drop(w->engine, "top", false, NULL, &w->err));
    check_status(w, weir_engine_refresh(w->engine, "over", NULL, &w->err));
}

/* base may have been left with its other definition. */
static const char *definition_of(World *w, const char *name, const char *definition)
{
    ViewShape shape;
    ASSERT_OK(weir_engine_shape(w->engine, name, &shape, &w->err), &w->err);
    const char *const found = strcmp(shape.sql, "rows") == 0 ? "rows" : definition;
    weir_view_shape_deinit(&shape);
    return found;
}

/* Whether t has an entry with a promise, and what became of it. */
static bool has_promise(World *w, char *error, size_t size)
{
    Arena arena;
    TableInfo *infos = NULL;
    size_t count = 0;
    bool found = false;
    error[0] = '\0';
    weir_arena_init(&arena, w->mem, 0);
    ASSERT_OK(weir_engine_tables(w->engine, &arena, &infos, &count, &w->err), &w->err);
    for (size_t i = 0; i < count; i++) {
        if (infos[i].promise != NULL) {
            const char *const told = infos[i].promise_error;
            (void)snprintf(error, size, "%s", told == NULL ? "" : told);
            found = true;
        }
    }
    weir_arena_deinit(&arena);
    return found;
}

/* A promise that was made is still checked, or says that it is not for want of memory. */
static void check_promise(World *w)
{
    char error[256];
    ASSERT_OK(world_sync(w), &w->err);
    const bool is_promised = has_promise(w, error, sizeof error);
    if (error[0] != '\0') {
        assert_non_null(strstr(error, "DBSP-E001: the key of table t is not checked any more"));
        return;
    }
    fake_insert(&w->fake, "t", 1, 1000);
    ASSERT_OK(world_sync(w), &w->err);
    assert_int_equal(has_promise(w, error, sizeof error), is_promised);
    assert_string_equal(error, "");
    fake_insert(&w->fake, "t", 1, 1000);
    ASSERT_OK(world_sync(w), &w->err);
    assert_int_equal(has_promise(w, error, sizeof error), is_promised);
    assert_int_equal(strstr(error, "DBSP-E305: table t has 2 rows") != NULL, is_promised);
}

/* With memory again. */
static void check_views(World *w)
{
    uint64_t row_count = 0;
    Bag *const bags = calloc(2, sizeof *bags);
    assert_non_null(bags);
    ASSERT_OK(weir_engine_track(w->engine, &(TrackSpec){.name = "u"}, &row_count, &w->err),
              &w->err);
    Bag *const base = &bags[0];
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(VIEWS); i++) {
        const char *const name = VIEWS[i].name;
        if (weir_engine_look_up(w->engine, name) == NAME_UNKNOWN) {
            continue;
        }
        const Status status = bag_read(w, name, &bags[1]);
        check_status(w, status);
        if (status == WEIR_ERR_BROKEN) {
            ASSERT_OK(weir_engine_refresh(w->engine, name, NULL, &w->err), &w->err);
        }
        const char *const definition = definition_of(w, name, VIEWS[i].definition);
        check_view(w, name, definition, base);
        if (i == 0) {
            define(w, definition, NULL, base);
        }
    }
    free(bags);
}

/* Runs the script with the nth allocation failing; false if it has fewer. */
static bool run_with_fault(size_t nth, bool sticky)
{
    World *const w = calloc(1, sizeof *w);
    assert_non_null(w);
    world_open(w);
    world_fill(w);
    const size_t before = weir_mem_allocation_count(w->mem);
    weir_mem_fail_after(w->mem, nth, sticky);
    run_script(w);
    weir_mem_fail_after(w->mem, 0, false);
    const bool was_hit = weir_mem_allocation_count(w->mem) - before >= nth - 1;
    check_views(w);
    fake_insert(&w->fake, "t", 5, 5);
    fake_insert(&w->fake, "u", 5, 5);
    check_views(w);
    check_promise(w);
    world_close(w);
    free(w);
    return was_hit;
}

static void every_allocation_may_fail(void **state)
{
    WEIR_UNUSED(state);
    size_t nth = 1;
    while (run_with_fault(nth, false)) {
        nth++;
    }
    printf("%zu allocations\n", nth - 1);
}

static void memory_may_stay_away(void **state)
{
    WEIR_UNUSED(state);
    for (size_t nth = 1; run_with_fault(nth, true); nth += 7) {
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(memory_may_stay_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
