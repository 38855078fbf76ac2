/* lock.c: ranked mutexes.
 *
 * Debug builds keep the ranks that a thread holds as bits of a thread-local word: a lock may be
 * taken only if no bit of its rank or a higher one is set. */
#include "base/lock.h"

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

Status weir_lock_init(Lock *lock, LockRank rank, Error *err)
{
    const int failure = pthread_mutex_init(&lock->mutex, NULL);
    if (failure != 0) {
        return weir_error_set(err, WEIR_ERR_NOMEM, "cannot make a mutex (error %d)", failure);
    }
    lock->rank = rank;
    return WEIR_OK;
}

void weir_lock_deinit(Lock *lock)
{
    const int failure = pthread_mutex_destroy(&lock->mutex);
    WEIR_ASSERT(failure == 0);
    WEIR_UNUSED(failure);
}

void weir_lock_acquire(Lock *lock)
{
    note_acquired(lock->rank); /* before: a wrong order is reported even if it would deadlock */
    const int failure = pthread_mutex_lock(&lock->mutex);
    WEIR_ASSERT(failure == 0);
    WEIR_UNUSED(failure);
}

void weir_lock_release(Lock *lock)
{
    const int failure = pthread_mutex_unlock(&lock->mutex);
    WEIR_ASSERT(failure == 0);
    WEIR_UNUSED(failure);
    note_released(lock->rank);
}
