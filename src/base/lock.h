/* lock.h: a mutex with a rank; debug builds check that ranks are taken in rising order per thread.
 */
#ifndef WEIR_BASE_LOCK_H
#define WEIR_BASE_LOCK_H

#include <pthread.h>
#include <time.h>

#include "base/base.h"

/* Ranks in the order in which locks may be taken while holding another. */
typedef enum LockRank {
    LOCK_RANK_ENGINE = 1, /* the catalog, the circuits, the generation */
    LOCK_RANK_HOST = 2,   /* the host's cached connection and statements */
    LOCK_RANK_TOLD = 3,   /* rows that a statement tells, while they are kept */
    LOCK_RANK_LEAF = 9,   /* taken and given back without calling anything */
} LockRank;

/* The engine's lock is fair: who has just given it back does not get it again before one who waits. */
typedef struct Lock {
    pthread_mutex_t mutex;
    pthread_mutex_t gate; /* of the engine's: held while waiting for the mutex */
    LockRank rank;
} Lock;

Status weir_lock_init(Lock *lock, LockRank rank, Error *err) WEIR_MUST_CHECK;
void weir_lock_deinit(Lock *lock);
void weir_lock_acquire(Lock *lock);
bool weir_lock_try(Lock *lock); /* false: somebody has it, or waits for it */
void weir_lock_release(Lock *lock);

/* A condition variable whose deadlines are times of CLOCK_MONOTONIC. */
Status weir_cond_init(pthread_cond_t *cond, Error *err) WEIR_MUST_CHECK;

/* So many milliseconds from now. */
struct timespec weir_deadline_after(int64_t milliseconds);

#endif
