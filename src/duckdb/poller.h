/* poller.h: a thread that brings the views up to date every so many milliseconds, for those who wait for
 * changes and do not read.
 *
 * It does what reading does first (weir_engine_poll), holds nothing between two looks, and ends with
 * the database. */
#ifndef WEIR_DUCKDB_POLLER_H
#define WEIR_DUCKDB_POLLER_H

#include "view/engine.h"

typedef struct WeirDatabase WeirDatabase; /* database.h */
typedef struct Poller Poller;

enum { POLLER_EVERY_MS_MAX = 24 * 60 * 60 * 1000 };

typedef struct PollerState {
    uint64_t every_ms;      /* 0 = not running */
    uint64_t look_count;    /* since it was started */
    uint64_t step_count;    /* looks that found a change */
    uint64_t failure_count; /* looks that failed */
    Error error;            /* of the last look; code 0 = it went well */
} PollerState;

/* Not running. The database is borrowed; a running poller holds a reference to it. */
Status weir_poller_new(WeirDatabase *database, Poller **out, Error *err) WEIR_MUST_CHECK;
void weir_poller_free(Poller *poller); /* NULL is allowed; not while it is running */

/* One that is running goes on with the new interval. */
Status weir_poller_start(Poller *poller, uint64_t every_ms, Error *err) WEIR_MUST_CHECK;

/* When this returns it does not run: a look under way has ended. */
void weir_poller_stop(Poller *poller);

/* The database is being destroyed, by any thread, the poller's own too: its last connection may be the
 * last one of all. May be called several times. */
void weir_poller_close(Poller *poller);

/* Of the run under way, or of the last one. */
void weir_poller_state(Poller *poller, PollerState *out);

#endif
