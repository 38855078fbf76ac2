/* lock.c: ranked mutexes, and waiting.
 *
 * Debug builds keep the ranks that a thread holds as bits of a thread-local word: a lock may be
 * taken only if no bit of its rank or a higher one is set. */
#include "base/lock.h"

#include <errno.h>

#ifdef WEIR_DEBUG
static _Thread_local uint32_t held_ranks;

static void note_acquired(LockRank rank)
{
    WEIR_ASSERT((uint32_t)rank < 32);
    WEIR_ASSERT((held_ranks >> (uint32_t)rank) == 0);
    held_ranks |= UINT32_C(1) << (uint32_t)rank;
}

static void note_released(LockRank rank)
{
    WEIR_ASSERT(((held_ranks >> (uint32_t)rank) & 1u) != 0);
    held_ranks &= ~(UINT32_C(1) << (uint32_t)rank);
}
#else
static void note_acquired(LockRank rank)
{
    WEIR_UNUSED(rank);
}

static void note_released(LockRank rank)
{
    WEIR_UNUSED(rank);
}
#endif

static Status mutex_init(pthread_mutex_t *mutex, Error *err)
{
    const int failure = pthread_mutex_init(mutex, NULL);
    return failure == 0
               ? WEIR_OK
               : weir_error_set(err, WEIR_ERR_NOMEM, "cannot make a mutex (error %d)", failure);
}

static void mutex_lock(pthread_mutex_t *mutex)
{
    const int failure = pthread_mutex_lock(mutex);
    WEIR_ASSERT(failure == 0);
    WEIR_UNUSED(failure);
}

static bool mutex_try(pthread_mutex_t *mutex)
{
    const int failure = pthread_mutex_trylock(mutex);
    WEIR_ASSERT(failure == 0 || failure == EBUSY);
    return failure == 0;
}

static void mutex_unlock(pthread_mutex_t *mutex)
{
    const int failure = pthread_mutex_unlock(mutex);
    WEIR_ASSERT(failure == 0);
    WEIR_UNUSED(failure);
}

static void mutex_destroy(pthread_mutex_t *mutex)
{
    const int failure = pthread_mutex_destroy(mutex);
    WEIR_ASSERT(failure == 0);
    WEIR_UNUSED(failure);
}

Status weir_lock_init(Lock *lock, LockRank rank, Error *err)
{
    WEIR_TRY(mutex_init(&lock->mutex, err));
    if (mutex_init(&lock->gate, err) != WEIR_OK) {
        mutex_destroy(&lock->mutex);
        return err->code;
    }
    lock->rank = rank;
    return WEIR_OK;
}

void weir_lock_deinit(Lock *lock)
{
    mutex_destroy(&lock->gate);
    mutex_destroy(&lock->mutex);
}

void weir_lock_acquire(Lock *lock)
{
    note_acquired(lock->rank); /* before: a wrong order is reported even if it would deadlock */
    if (lock->rank == LOCK_RANK_ENGINE) {
        mutex_lock(&lock->gate);
    }
    mutex_lock(&lock->mutex);
    if (lock->rank == LOCK_RANK_ENGINE) {
        mutex_unlock(&lock->gate);
    }
}

bool weir_lock_try(Lock *lock)
{
    const bool has_gate = lock->rank == LOCK_RANK_ENGINE;
    if (has_gate && !mutex_try(&lock->gate)) {
        return false;
    }
    const bool is_taken = mutex_try(&lock->mutex);
    if (has_gate) {
        mutex_unlock(&lock->gate);
    }
    if (is_taken) {
        note_acquired(lock->rank);
    }
    return is_taken;
}

void weir_lock_release(Lock *lock)
{
    mutex_unlock(&lock->mutex);
    note_released(lock->rank);
}

Status weir_cond_init(pthread_cond_t *cond, Error *err)
{
    pthread_condattr_t attributes;
    int failure = pthread_condattr_init(&attributes);
    if (failure == 0) {
        failure = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        if (failure == 0) {
            failure = pthread_cond_init(cond, &attributes);
        }
        (void)pthread_condattr_destroy(&attributes);
    }
    return failure == 0 ? WEIR_OK
                        : weir_error_set(err, WEIR_ERR_NOMEM,
                                         "cannot make a condition variable (error %d)", failure);
}

struct timespec weir_deadline_after(int64_t milliseconds)
{
    enum { NANOSECONDS = 1000000000 };
    struct timespec deadline = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += (time_t)(milliseconds / 1000);
    deadline.tv_nsec += (long)(milliseconds % 1000) * (NANOSECONDS / 1000);
    if (deadline.tv_nsec >= NANOSECONDS) {
        deadline.tv_sec++;
        deadline.tv_nsec -= NANOSECONDS;
    }
    return deadline;
}
