/* test_page_pool.c: pages are aligned, distinct, counted and recycled. */
#include "trace_test.h"

static void page_pool_hands_out_aligned_distinct_pages(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    enum { COUNT = 100 };
    char *pages[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        pages[i] = weir_page_take(world.pool, 1, &world.err);
        assert_non_null(pages[i]);
        assert_int_equal((uintptr_t)pages[i] % PAGE_BYTES, 0);
        memset(pages[i], (int)i, PAGE_BYTES);
    }
    assert_int_equal(weir_page_pool_used_bytes(world.pool), (size_t)COUNT * PAGE_BYTES);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal((unsigned char)pages[i][0], i);
        assert_int_equal((unsigned char)pages[i][PAGE_BYTES - 1], i);
        weir_page_give(world.pool, pages[i], 1);
    }
    assert_int_equal(weir_page_pool_used_bytes(world.pool), 0);
    world_deinit(&world);
}

static void page_pool_recycles_what_is_given_back(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    void *first = weir_page_take(world.pool, 2, &world.err);
    assert_non_null(first);
    weir_page_give(world.pool, first, 2);
    void *second = weir_page_take(world.pool, 2, &world.err);
    assert_ptr_equal(first, second);
    weir_page_give(world.pool, second, 2);
    world_deinit(&world);
}

typedef struct Run {
    char *pages;
    size_t page_count;
    char mark;
} Run;

static void page_pool_survives_random_runs(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    enum { RUNS = 200 };
    Run runs[RUNS] = {{0}};
    size_t used = 0;
    for (size_t step = 0; step < 5000; step++) {
        Run *run = &runs[random_below(&random, RUNS)];
        if (run->pages != NULL) {
            const size_t last = run->page_count * PAGE_BYTES - 1;
            assert_int_equal(run->pages[0], run->mark);
            assert_int_equal(run->pages[last], run->mark);
            weir_page_give(world.pool, run->pages, run->page_count);
            used -= run->page_count * PAGE_BYTES;
            run->pages = NULL;
        } else {
            run->page_count = 1 + random_below(&random, random_below(&random, 10) == 0 ? 70 : 4);
            run->pages = weir_page_take(world.pool, run->page_count, &world.err);
            assert_non_null(run->pages);
            run->mark = (char)random_below(&random, 100);
            run->pages[0] = run->mark;
            run->pages[run->page_count * PAGE_BYTES - 1] = run->mark;
            used += run->page_count * PAGE_BYTES;
        }
        assert_int_equal(weir_page_pool_used_bytes(world.pool), used);
        if (step % 500 == 0) {
            weir_page_pool_trim(world.pool, random_below(&random, 2) * 4 * 1024 * 1024);
        }
    }
    for (size_t i = 0; i < RUNS; i++) {
        weir_page_give(world.pool, runs[i].pages, runs[i].page_count);
    }
    weir_page_pool_trim(world.pool, 0);
    world_deinit(&world);
}

static void page_pool_respects_the_budget_and_planned_failures(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    for (size_t nth = 1; nth <= 2; nth++) { /* the reservation, the array of blocks */
        weir_mem_fail_after(world.mem, nth, false);
        assert_null(weir_page_take(world.pool, 1, &world.err));
        assert_int_equal(world.err.code, WEIR_ERR_NOMEM);
    }
    weir_mem_fail_after(world.mem, 0, false);
    assert_null(weir_page_take(world.pool, SIZE_MAX / 2, &world.err));
    world_deinit(&world);

    Mem *mem = weir_mem_new((size_t)4 * PAGE_BYTES);
    PagePool *pool = weir_page_pool_new(mem, &world.err);
    void *pages = weir_page_take(pool, 3, &world.err);
    assert_non_null(pages);
    assert_null(weir_page_take(pool, 1, &world.err));
    assert_int_equal(world.err.code, WEIR_ERR_NOMEM);
    weir_page_give(pool, pages, 3);
    weir_page_pool_free(pool);
    weir_mem_free_allocator(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_pool_hands_out_aligned_distinct_pages),
        cmocka_unit_test(page_pool_recycles_what_is_given_back),
        cmocka_unit_test(page_pool_survives_random_runs),
        cmocka_unit_test(page_pool_respects_the_budget_and_planned_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
