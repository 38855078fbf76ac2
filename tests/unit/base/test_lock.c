/* test_lock.c: locks exclude, and their ranks are watched in debug builds. */
#include "base_test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"

typedef struct Counter {
    Lock lock;
    size_t value; /* protected by lock */
} Counter;

static void *count_up(void *argument)
{
    Counter *counter = argument;
    for (size_t i = 0; i < 10000; i++) {
        weir_lock_acquire(&counter->lock);
        counter->value++;
        weir_lock_release(&counter->lock);
    }
    return NULL;
}

static void lock_excludes_other_threads(void **state)
{
    (void)state;
    Error err = {0};
    Counter counter = {0};
    assert_int_equal(weir_lock_init(&counter.lock, LOCK_RANK_LEAF, &err), WEIR_OK);
    pthread_t threads[4];
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &counter), 0);
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(counter.value, 40000);
    weir_lock_deinit(&counter.lock);
}

static void *try_once(void *argument)
{
    Lock *lock = argument;
    if (!weir_lock_try(lock)) {
        return NULL;
    }
    weir_lock_release(lock);
    return lock;
}

static void lock_that_is_held_cannot_be_tried(void **state)
{
    static const LockRank RANKS[] = {LOCK_RANK_ENGINE, LOCK_RANK_LEAF};
    (void)state;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(RANKS); i++) {
        Error err = {0};
        Lock lock;
        pthread_t thread;
        void *taken = NULL;
        assert_int_equal(weir_lock_init(&lock, RANKS[i], &err), WEIR_OK);
        assert_ptr_equal(try_once(&lock), &lock);
        weir_lock_acquire(&lock);
        assert_null(try_once(&lock));
        assert_int_equal(pthread_create(&thread, NULL, try_once, &lock), 0);
        assert_int_equal(pthread_join(thread, &taken), 0);
        assert_null(taken);
        weir_lock_release(&lock);
        assert_ptr_equal(try_once(&lock), &lock);
        weir_lock_deinit(&lock);
    }
}

static void locks_are_taken_in_rising_rank_and_released_in_any_order(void **state)
{
    (void)state;
    Error err = {0};
    Lock engine;
    Lock host;
    assert_int_equal(weir_lock_init(&engine, LOCK_RANK_ENGINE, &err), WEIR_OK);
    assert_int_equal(weir_lock_init(&host, LOCK_RANK_HOST, &err), WEIR_OK);
    weir_lock_acquire(&engine);
    weir_lock_acquire(&host);
    weir_lock_release(&engine);
    weir_lock_release(&host);
    weir_lock_acquire(&engine);
    weir_lock_release(&engine);
    weir_lock_deinit(&engine);
    weir_lock_deinit(&host);
}

static void debug_builds_stop_at_a_falling_rank(void **state)
{
    (void)state;
#ifdef WEIR_DEBUG
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        Error err = {0};
        Lock engine;
        Lock host;
        if (weir_lock_init(&engine, LOCK_RANK_ENGINE, &err) == WEIR_OK &&
            weir_lock_init(&host, LOCK_RANK_HOST, &err) == WEIR_OK) {
            weir_lock_acquire(&host);
            weir_lock_acquire(&engine);
        }
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_excludes_other_threads),
        cmocka_unit_test(lock_that_is_held_cannot_be_tried),
        cmocka_unit_test(locks_are_taken_in_rising_rank_and_released_in_any_order),
        cmocka_unit_test(debug_builds_stop_at_a_falling_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
