/* test_threads.c: readers, writers, and makers of views at once. Writers only move amounts between
 * rows of t, so every whole generation has the same total; a reader that sees another total has seen
 * half of one. Run under the thread sanitizer it also finds what locks do not cover. */
#include "view_test.h"

#include <stdatomic.h>
#include <time.h>

enum { ROWS = 3000, TOTAL = 3000, SECONDS = 2 };

typedef struct Shared {
    World world;
    atomic_bool is_over;
    atomic_size_t failures; /* cmocka's assertions are for the main thread */
    atomic_size_t reads;
} Shared;

static void check(Shared *shared, bool condition, const char *what)
{
    if (!condition) {
        atomic_fetch_add(&shared->failures, 1);
        printf("FAILED: %s\n", what);
    }
}

/* One transaction: an amount goes from one row to another. */
static void move_amount(FakeHost *fake, size_t from, size_t to)
{
    pthread_mutex_lock(&fake->mutex);
    FakeRow *const rows = fake->tables[0].committed.items;
    rows[from].n--;
    rows[to].n++;
    pthread_mutex_unlock(&fake->mutex);
}

static void *run_writer(void *user)
{
    Shared *const shared = user;
    World *const w = &shared->world;
    for (size_t i = 0; !atomic_load(&shared->is_over); i++) {
        Error err = {0};
        move_amount(&w->fake, i % ROWS, (i * 7 + 1) % ROWS);
        check(shared, weir_engine_sync(w->engine, NULL, NULL, &err) == WEIR_OK, err.message);
    }
    return NULL;
}

/* The sum of column 1 of what is left in the reader. */
static int64_t read_total(Shared *shared, ViewReader *reader)
{
    int64_t total = 0;
    Arena arena;
    weir_arena_init(&arena, shared->world.mem, 0);
    for (;;) {
        Error err = {0};
        Batch batch = {0};
        weir_arena_reset(&arena);
        const Status status = weir_view_reader_next(reader, &arena, &batch, &err);
        check(shared, status == WEIR_OK, err.message);
        if (status != WEIR_OK || batch.count == 0) {
            break;
        }
        for (size_t i = 0; i < batch.count; i++) {
            total += (int64_t)cell_wide(&batch.columns[1], i);
        }
    }
    weir_arena_deinit(&arena);
    return total;
}

/* Two threads on one reader. */
typedef struct Half {
    Shared *shared;
    ViewReader *reader;
    int64_t total;
} Half;

static void *run_half(void *user)
{
    Half *const half = user;
    half->total = read_total(half->shared, half->reader);
    return NULL;
}

static void read_view(Shared *shared, const char *view)
{
    Error err = {0};
    pthread_t thread;
    Half half = {.shared = shared};
    if (weir_engine_read(shared->world.engine, view, &half.reader, &err) != WEIR_OK) {
        check(shared, false, err.message);
        return;
    }
    pthread_create(&thread, NULL, run_half, &half);
    const int64_t total = read_total(shared, half.reader);
    pthread_join(thread, NULL);
    weir_view_reader_free(half.reader);
    check(shared, total + half.total == TOTAL, "a reader saw half a generation");
    atomic_fetch_add(&shared->reads, 1);
}

static void *run_reader(void *user)
{
    Shared *const shared = user;
    for (size_t i = 0; !atomic_load(&shared->is_over); i++) {
        read_view(shared, i % 2 == 0 ? "base" : "over");
    }
    return NULL;
}

/* Opens readers and leaves them before the end, while others copy them. */
static void *run_leaver(void *user)
{
    Shared *const shared = user;
    while (!atomic_load(&shared->is_over)) {
        Error err = {0};
        ViewReader *readers[4] = {0};
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(readers); i++) {
            const Status status = weir_engine_read(shared->world.engine,
                                                   i % 2 == 0 ? "base" : "own", &readers[i], &err);
            check(shared, status == WEIR_OK || status == WEIR_ERR_UNKNOWN_VIEW, err.message);
        }
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(readers); i++) {
            weir_view_reader_free(readers[i]);
        }
    }
    return NULL;
}

/* The changes since a generation must not change the total. */
static void *run_follower(void *user)
{
    Shared *const shared = user;
    Engine *const engine = shared->world.engine;
    while (!atomic_load(&shared->is_over)) {
        Error err = {0};
        ViewReader *reader = NULL;
        if (weir_engine_read_changes(engine, "over", 0, &reader, &err) == WEIR_OK) {
            (void)read_total(shared, reader);
        } else {
            check(shared, err.code == WEIR_ERR_TOO_OLD, err.message);
        }
        weir_view_reader_free(reader);
    }
    return NULL;
}

/* What a statement does while it is bound: must not wait for a step. */
static void *run_binder(void *user)
{
    Shared *const shared = user;
    Engine *const engine = shared->world.engine;
    while (!atomic_load(&shared->is_over)) {
        Error err = {0};
        ViewShape shape;
        (void)weir_engine_look_up(engine, "own");
        check(shared, weir_engine_look_up(engine, "over") == NAME_FOUND, "over is there");
        if (weir_engine_shape(engine, "base", &shape, &err) == WEIR_OK) {
            weir_view_shape_deinit(&shape);
        }
    }
    return NULL;
}

static void *run_maker(void *user)
{
    Shared *const shared = user;
    Engine *const engine = shared->world.engine;
    for (size_t i = 0; !atomic_load(&shared->is_over); i++) {
        Error err = {0};
        const CreateSpec own = {.name = "own", .sql = i % 2 == 0 ? "sum" : "rows"};
        const CreateSpec base = {
            .name = "base", .sql = i % 2 == 0 ? "sum" : "rows", .mode = CREATE_OR_REPLACE};
        check(shared, weir_engine_create(engine, &own, NULL, &err) == WEIR_OK, err.message);
        check(shared, weir_engine_create(engine, &base, NULL, &err) == WEIR_OK, err.message);
        check(shared, weir_engine_refresh(engine, "over", NULL, &err) == WEIR_OK, err.message);
        check(shared, weir_engine_drop(engine, "own", false, NULL, &err) == WEIR_OK, err.message);
    }
    return NULL;
}

static void whole_generations_from_many_threads(void **state)
{
    static void *(*const RUNS[])(void *) = {run_writer, run_reader, run_reader,   run_leaver,
                                            run_binder, run_maker,  run_follower, run_leaver};
    WEIR_UNUSED(state);
    pthread_t threads[WEIR_ARRAY_COUNT(RUNS)] = {0};
    Shared *const shared = calloc(1, sizeof *shared);
    assert_non_null(shared);
    world_open(&shared->world);
    weir_engine_set_feed_limit(shared->world.engine, 1 << 16);
    for (int32_t i = 0; i < ROWS; i++) {
        fake_insert(&shared->world.fake, "t", i, TOTAL / ROWS);
    }
    world_create(&shared->world, "base", "sum");
    world_create(&shared->world, "over", "over");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(RUNS); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, RUNS[i], shared), 0);
    }
    const struct timespec pause = {.tv_sec = SECONDS};
    nanosleep(&pause, NULL);
    atomic_store(&shared->is_over, true);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(RUNS); i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%zu reads\n", atomic_load(&shared->reads));
    assert_int_equal(atomic_load(&shared->failures), 0);
    assert_true(atomic_load(&shared->reads) > 0);
    world_close(&shared->world);
    free(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_generations_from_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
