/* test_arena.c: alignment, marks, reuse of blocks, and failing allocations. */
#include "base_test.h"

#include "base/arena.h"

static void arena_gives_aligned_places_that_do_not_overlap(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    Arena arena;
    weir_arena_init(&arena, mem, 256);
    enum { COUNT = 200 };
    char *places[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        places[i] = weir_arena_alloc(&arena, i, &err);
        assert_non_null(places[i]);
        assert_int_equal((uintptr_t)places[i] % 16, 0);
        memset(places[i], (int)i, i);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_int_equal((unsigned char)places[i][k], i);
        }
    }
    weir_arena_deinit(&arena);
    assert_int_equal(weir_mem_used(mem), 0);
    weir_mem_free_allocator(mem);
}

static void arena_release_gives_back_what_came_after_the_mark(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    Arena arena;
    weir_arena_init(&arena, mem, 1024);
    const ArenaMark start = weir_arena_mark(&arena);
    char *kept = weir_arena_strdup(&arena, "kept", &err);
    const ArenaMark mark = weir_arena_mark(&arena);
    char *first = weir_arena_alloc(&arena, 10, &err);
    assert_non_null(weir_arena_alloc(&arena, 5000, &err));
    weir_arena_release(&arena, mark);
    assert_string_equal(kept, "kept");
    assert_ptr_equal(weir_arena_alloc(&arena, 10, &err), first);
    weir_arena_release(&arena, start);
    assert_ptr_equal(weir_arena_alloc(&arena, 10, &err), kept);
    weir_arena_deinit(&arena);
    weir_mem_free_allocator(mem);
}

static void arena_allocates_nothing_in_a_steady_state(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    Arena arena;
    weir_arena_init(&arena, mem, 512);
    size_t count = 0;
    for (size_t round = 0; round < 50; round++) {
        weir_arena_reset(&arena);
        for (size_t i = 0; i < 40; i++) {
            const size_t size = (i * 37 + round % 7 * 11) % 900;
            assert_non_null(weir_arena_alloc(&arena, size, &err));
        }
        if (round == 20) {
            count = weir_mem_allocation_count(mem);
        }
    }
    assert_int_equal(weir_mem_allocation_count(mem), count);
    weir_arena_deinit(&arena);
    weir_mem_free_allocator(mem);
}

static void arena_copies_and_prints_texts(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    Arena arena;
    weir_arena_init(&arena, mem, 0);
    assert_string_equal(weir_arena_strdup(&arena, "", &err), "");
    assert_string_equal(weir_arena_strndup(&arena, "abcdef", 3, &err), "abc");
    assert_string_equal(weir_arena_strndup(&arena, NULL, 0, &err), "");
    assert_string_equal(weir_arena_printf(&arena, &err, "%d-%s", 5, "x"), "5-x");
    char *large = weir_arena_printf(&arena, &err, "%100000d", 1);
    assert_int_equal(strlen(large), 100000);
    const char *zero = weir_arena_zalloc(&arena, 100, &err);
    const char *also_zero = weir_arena_calloc(&arena, 10, 10, &err);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(zero[i], 0);
        assert_int_equal(also_zero[i], 0);
    }
    weir_arena_deinit(&arena);
    weir_mem_free_allocator(mem);
}

static void arena_reports_sizes_that_overflow(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    Arena arena;
    weir_arena_init(&arena, mem, 0);
    assert_null(weir_arena_alloc(&arena, SIZE_MAX, &err));
    assert_int_equal(err.code, WEIR_ERR_NOMEM);
    assert_null(weir_arena_alloc(&arena, SIZE_MAX - 20, &err));
    assert_null(weir_arena_calloc(&arena, SIZE_MAX / 2, 4, &err));
    assert_non_null(weir_arena_alloc(&arena, 1, &err));
    weir_arena_deinit(&arena);
    weir_mem_free_allocator(mem);
}

static void arena_stays_whole_when_memory_runs_out(void **state)
{
    (void)state;
    for (size_t nth = 1;; nth++) {
        Error err = {0};
        Mem *mem = weir_mem_new(0);
        Arena arena;
        weir_arena_init(&arena, mem, 64);
        weir_mem_fail_after(mem, nth, false);
        size_t failures = 0;
        char *texts[20];
        for (size_t i = 0; i < 20; i++) {
            texts[i] = weir_arena_printf(&arena, &err, "text %zu of some length", i);
            failures += texts[i] == NULL ? 1 : 0;
        }
        for (size_t i = 0; i < 20; i++) {
            char wanted[40];
            (void)snprintf(wanted, sizeof wanted, "text %zu of some length", i);
            if (texts[i] != NULL) {
                assert_string_equal(texts[i], wanted);
            }
        }
        weir_arena_deinit(&arena);
        assert_int_equal(weir_mem_used(mem), 0);
        weir_mem_free_allocator(mem);
        if (failures == 0) {
            break;
        }
        assert_int_equal(failures, 1);
        assert_int_equal(err.code, WEIR_ERR_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gives_aligned_places_that_do_not_overlap),
        cmocka_unit_test(arena_release_gives_back_what_came_after_the_mark),
        cmocka_unit_test(arena_allocates_nothing_in_a_steady_state),
        cmocka_unit_test(arena_copies_and_prints_texts),
        cmocka_unit_test(arena_reports_sizes_that_overflow),
        cmocka_unit_test(arena_stays_whole_when_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
