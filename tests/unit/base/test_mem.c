/* test_mem.c: counting, budget, planned failures, and the counters under threads. */
#include "base_test.h"

#include <pthread.h>

static void mem_counts_what_is_allocated(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    assert_int_equal(weir_mem_used(mem), 0);
    char *a = weir_mem_alloc(mem, 100, &err);
    assert_int_equal((uintptr_t)a % 16, 0);
    const size_t used = weir_mem_used(mem);
    assert_true(used >= 100);
    char *b = weir_mem_zalloc(mem, 1000, &err);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(b[i], 0);
    }
    assert_true(weir_mem_used(mem) >= used + 1000);
    assert_int_equal(weir_mem_allocation_count(mem), 2);
    const size_t peak = weir_mem_peak(mem);
    assert_int_equal(peak, weir_mem_used(mem));
    weir_mem_free(mem, b);
    assert_int_equal(weir_mem_used(mem), used);
    weir_mem_free(mem, a);
    weir_mem_free(mem, NULL);
    assert_int_equal(weir_mem_used(mem), 0);
    assert_int_equal(weir_mem_peak(mem), peak);
    weir_mem_free_allocator(mem);
    weir_mem_free_allocator(NULL);
}

static void mem_gives_unique_pointers_for_nothing(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    void *a = weir_mem_alloc(mem, 0, &err);
    void *b = weir_mem_calloc(mem, 0, 8, &err);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    weir_mem_free(mem, a);
    weir_mem_free(mem, b);
    weir_mem_free_allocator(mem);
}

static void mem_realloc_keeps_the_bytes_and_the_count(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    char *a = weir_mem_realloc(mem, NULL, 10, &err);
    memcpy(a, "123456789", 10);
    a = weir_mem_realloc(mem, a, 100000, &err);
    assert_string_equal(a, "123456789");
    const size_t large = weir_mem_used(mem);
    a = weir_mem_realloc(mem, a, 10, &err);
    assert_string_equal(a, "123456789");
    assert_int_equal(large - weir_mem_used(mem), 100000 - 10);
    char *copy = weir_mem_strdup(mem, a, &err);
    assert_string_equal(copy, a);
    weir_mem_free(mem, copy);
    weir_mem_free(mem, a);
    assert_int_equal(weir_mem_used(mem), 0);
    weir_mem_free_allocator(mem);
}

static void mem_refuses_what_exceeds_the_budget(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(1000);
    void *a = weir_mem_alloc(mem, 500, &err);
    assert_non_null(a);
    const size_t used = weir_mem_used(mem);
    assert_null(weir_mem_alloc(mem, 600, &err));
    assert_int_equal(err.code, WEIR_ERR_NOMEM);
    assert_non_null(strstr(err.message, "1000"));
    assert_null(weir_mem_realloc(mem, a, 2000, &err));
    assert_int_equal(weir_mem_reserve(mem, 600, &err), WEIR_ERR_NOMEM);
    assert_int_equal(weir_mem_used(mem), used);
    assert_int_equal(weir_mem_reserve(mem, 400, &err), WEIR_OK);
    assert_null(weir_mem_alloc(mem, 100, &err));
    weir_mem_unreserve(mem, 400);
    weir_mem_free(mem, a);
    assert_int_equal(weir_mem_used(mem), 0);
    weir_mem_free_allocator(mem);
}

static void mem_refuses_sizes_that_overflow(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    assert_null(weir_mem_alloc(mem, SIZE_MAX, &err));
    assert_int_equal(err.code, WEIR_ERR_NOMEM);
    weir_error_clear(&err);
    assert_null(weir_mem_calloc(mem, SIZE_MAX / 2, 3, &err));
    assert_int_equal(err.code, WEIR_ERR_NOMEM);
    assert_int_equal(weir_mem_used(mem), 0);
    weir_mem_free_allocator(mem);
}

static void mem_fails_the_nth_allocation_once(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    weir_mem_fail_after(mem, 3, false);
    void *a = weir_mem_alloc(mem, 1, &err);
    void *b = weir_mem_alloc(mem, 1, &err);
    assert_non_null(b);
    assert_null(weir_mem_realloc(mem, a, 10, &err));
    assert_int_equal(err.code, WEIR_ERR_NOMEM);
    a = weir_mem_realloc(mem, a, 10, &err);
    assert_non_null(a);
    weir_mem_fail_after(mem, 1, false);
    assert_int_equal(weir_mem_reserve(mem, 10, &err), WEIR_ERR_NOMEM);
    assert_int_equal(weir_mem_reserve(mem, 10, &err), WEIR_OK);
    weir_mem_unreserve(mem, 10);
    weir_mem_free(mem, a);
    weir_mem_free(mem, b);
    weir_mem_free_allocator(mem);
}

static void mem_fails_every_later_allocation_if_sticky(void **state)
{
    (void)state;
    Error err = {0};
    Mem *mem = weir_mem_new(0);
    weir_mem_fail_after(mem, 2, true);
    void *a = weir_mem_alloc(mem, 1, &err);
    assert_non_null(a);
    for (size_t i = 0; i < 5; i++) {
        assert_null(weir_mem_alloc(mem, 1, &err));
    }
    weir_mem_fail_after(mem, 0, false);
    void *b = weir_mem_alloc(mem, 1, &err);
    assert_non_null(b);
    weir_mem_free(mem, a);
    weir_mem_free(mem, b);
    weir_mem_free_allocator(mem);
}

static void *churn(void *argument)
{
    Mem *mem = argument;
    Error err = {0};
    for (size_t i = 0; i < 5000; i++) {
        char *block = weir_mem_alloc(mem, i % 300, &err);
        block = weir_mem_realloc(mem, block, (i * 7) % 500, &err);
        weir_mem_free(mem, block);
    }
    return NULL;
}

static void mem_counts_right_from_several_threads(void **state)
{
    (void)state;
    Mem *mem = weir_mem_new(0);
    pthread_t threads[4];
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, mem), 0);
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(weir_mem_used(mem), 0);
    assert_int_equal(weir_mem_allocation_count(mem), 4 * 5000 * 2);
    weir_mem_free_allocator(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mem_counts_what_is_allocated),
        cmocka_unit_test(mem_gives_unique_pointers_for_nothing),
        cmocka_unit_test(mem_realloc_keeps_the_bytes_and_the_count),
        cmocka_unit_test(mem_refuses_what_exceeds_the_budget),
        cmocka_unit_test(mem_refuses_sizes_that_overflow),
        cmocka_unit_test(mem_fails_the_nth_allocation_once),
        cmocka_unit_test(mem_fails_every_later_allocation_if_sticky),
        cmocka_unit_test(mem_counts_right_from_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
