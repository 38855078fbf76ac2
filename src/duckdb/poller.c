/* poller.c: the thread's life.
 *
 *   IDLE ── start ──► RUNNING ── stop, close ──► STOPPING ── joined ──► IDLE
 *
 * Who ends it waits for it, with one exception: if the connections of a look are the last ones, the
 * database is destroyed on this very thread, when they are closed. Then nobody waits; the thread's
 * reference keeps what it still uses, and giving that back is the last thing it does. */
#include "duckdb/poller.h"

#include <errno.h>
#include <signal.h>

#include "base/lock.h"
#include "duckdb/database.h"

typedef enum PollerPhase { POLLER_IDLE, POLLER_RUNNING, POLLER_STOPPING } PollerPhase;

struct Poller {
    WeirDatabase *database; /* borrowed; one reference while it runs */
    Lock lock;              /* protects what follows; rank LEAF */
    pthread_cond_t change;  /* of phase or interval */
    PollerPhase phase;
    bool is_closed; /* the database is being destroyed */
    pthread_t thread;
    PollerState state;
};

Status weir_poller_new(WeirDatabase *database, Poller **out, Error *err)
{
    Poller *poller = weir_mem_zalloc(database->mem, sizeof *poller, err);
    if (poller == NULL) {
        return err->code;
    }
    poller->database = database;
    Status status = weir_lock_init(&poller->lock, LOCK_RANK_LEAF, err);
    if (status == WEIR_OK) {
        status = weir_cond_init(&poller->change, err);
        if (status != WEIR_OK) {
            weir_lock_deinit(&poller->lock);
        }
    }
    if (status != WEIR_OK) {
        weir_mem_free(database->mem, poller);
        return status;
    }
    *out = poller;
    return WEIR_OK;
}

void weir_poller_free(Poller *poller)
{
    if (poller == NULL) {
        return;
    }
    WEIR_ASSERT(poller->phase != POLLER_RUNNING);
    (void)pthread_cond_destroy(&poller->change);
    weir_lock_deinit(&poller->lock);
    weir_mem_free(poller->database->mem, poller);
}

/* ---- the thread ------------------------------------------------------------------------------- */

/* Waits for the time of the next look; false if there is none. A new interval begins anew. */
static bool wait_for_turn(Poller *poller)
{
    weir_lock_acquire(&poller->lock);
    uint64_t every_ms = poller->state.every_ms;
    struct timespec deadline = weir_deadline_after((int64_t)every_ms);
    int result = 0;
    while (poller->phase == POLLER_RUNNING && result != ETIMEDOUT) {
        result = pthread_cond_timedwait(&poller->change, &poller->lock.mutex, &deadline);
        if (every_ms != poller->state.every_ms) {
            every_ms = poller->state.every_ms;
            deadline = weir_deadline_after((int64_t)every_ms);
            result = 0;
        }
    }
    const bool is_running = poller->phase == POLLER_RUNNING;
    weir_lock_release(&poller->lock);
    return is_running;
}

/* failure: NULL = it went well. What a look says that ends because the poller ends is no news. */
static void note_look(Poller *poller, bool has_stepped, const Error *failure)
{
    weir_lock_acquire(&poller->lock);
    if (poller->phase == POLLER_RUNNING) {
        poller->state.look_count++;
        poller->state.step_count += has_stepped;
        poller->state.failure_count += failure != NULL;
        if (failure == NULL) {
            weir_error_clear(&poller->state.error);
        } else {
            poller->state.error = *failure;
        }
    }
    weir_lock_release(&poller->lock);
}

static void *poller_run(void *argument)
{
    Poller *const poller = argument;
    WeirDatabase *const database = poller->database;
    while (wait_for_turn(poller)) {
        Error err = {0};
        bool has_stepped = false;
        const Status status = weir_engine_poll(database->engine, &has_stepped, &err);
        note_look(poller, has_stepped, status == WEIR_OK ? NULL : &err);
    }
    weir_database_unref(database); /* may free the poller */
    return NULL;
}

/* ---- starting and ending ---------------------------------------------------------------------- */

/* A thread that takes none of the process's signals. */
static int create_thread(Poller *poller)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    int failure = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (failure == 0) {
        failure = pthread_create(&poller->thread, NULL, poller_run, poller);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return failure;
}

static Status start_locked(Poller *poller, uint64_t every_ms, Error *err)
{
    while (poller->phase == POLLER_STOPPING && !poller->is_closed) {
        (void)pthread_cond_wait(&poller->change, &poller->lock.mutex);
    }
    if (poller->is_closed) {
        return weir_error_set(err, WEIR_ERR_CLOSED, "the database is closed");
    }
    if (poller->phase == POLLER_RUNNING) {
        poller->state.every_ms = every_ms;
        (void)pthread_cond_broadcast(&poller->change);
        return WEIR_OK;
    }
    poller->state = (PollerState){.every_ms = every_ms};
    poller->phase = POLLER_RUNNING;
    (void)weir_database_ref(poller->database); /* the thread's */
    const int failure = create_thread(poller);
    if (failure != 0) {
        poller->phase = POLLER_IDLE;
        poller->state.every_ms = 0;
        weir_database_unref(poller->database); /* not the last: the caller has one */
        return weir_error_set(err, WEIR_ERR_NOMEM, "cannot make a thread (error %d)", failure);
    }
    return WEIR_OK;
}

Status weir_poller_start(Poller *poller, uint64_t every_ms, Error *err)
{
    weir_lock_acquire(&poller->lock);
    const Status status = start_locked(poller, every_ms, err);
    weir_lock_release(&poller->lock);
    return status;
}

/* The lock is held before and after, not meanwhile. */
static void end_locked(Poller *poller)
{
    const pthread_t thread = poller->thread;
    poller->phase = POLLER_STOPPING;
    poller->state.every_ms = 0;
    (void)pthread_cond_broadcast(&poller->change);
    if (pthread_equal(thread, pthread_self()) != 0) {
        (void)pthread_detach(thread);
        return;
    }
    weir_lock_release(&poller->lock);
    if (poller->is_closed) {
        weir_duck_host_interrupt(poller->database->host); /* nobody else is in the engine */
    }
    (void)pthread_join(thread, NULL);
    weir_lock_acquire(&poller->lock);
    poller->phase = POLLER_IDLE;
    (void)pthread_cond_broadcast(&poller->change);
}

void weir_poller_stop(Poller *poller)
{
    weir_lock_acquire(&poller->lock);
    while (poller->phase == POLLER_STOPPING && !poller->is_closed) {
        (void)pthread_cond_wait(&poller->change, &poller->lock.mutex);
    }
    if (poller->phase == POLLER_RUNNING) {
        end_locked(poller);
    }
    weir_lock_release(&poller->lock);
}

void weir_poller_close(Poller *poller)
{
    weir_lock_acquire(&poller->lock);
    poller->is_closed = true;
    if (poller->phase == POLLER_RUNNING) {
        end_locked(poller);
    }
    weir_lock_release(&poller->lock);
}

void weir_poller_state(Poller *poller, PollerState *out)
{
    weir_lock_acquire(&poller->lock);
    *out = poller->state;
    weir_lock_release(&poller->lock);
}
