/* backend.h: what is under test, behind the few calls that the test programs need.
 *
 * BACKEND_EXTENSION is Weir. BACKEND_COPY is a model of it: each view is a table that is filled
 * anew from its definition at every sync. It proves that generators, runners and comparisons work,
 * and with a fault switched on, that they see the fault. */
#ifndef WEIR_TESTS_HARNESS_BACKEND_H
#define WEIR_TESTS_HARNESS_BACKEND_H

#include "db.h"

typedef enum BackendKind { BACKEND_EXTENSION, BACKEND_COPY } BackendKind;

/* Faults of the model, each of which a test must report. */
typedef enum Fault {
    FAULT_NONE,
    FAULT_STALE, /* a sync is left out */
    FAULT_LOST,  /* a row is lost */
    FAULT_TWICE, /* a row comes twice */
    FAULT_NEAR,  /* a double is off by one part in a million */
    FAULT_ZERO,  /* -0.0 becomes 0.0 */
    FAULT_FEED,  /* a change is left out of the feed */
    FAULT_CRASH, /* the process dies */
    FAULT_COUNT
} Fault;

typedef struct Backend {
    BackendKind kind;
    duckdb_connection connection; /* borrowed */
    Fault fault;
    int64_t generation; /* of the model */
    TextList names;     /* of the model's views */
    TextList queries;   /* their definitions */
} Backend;

/* The fault of that name; FAULT_COUNT if there is none. */
Fault fault_find(const char *name);

bool backend_open(Backend *backend, BackendKind kind, duckdb_connection connection, Text *error);
/* `sql` may name other views; `expanded` is the same with those replaced by their definitions. */
bool backend_create(Backend *backend, const char *name, const char *sql, const char *expanded,
                    Text *error);
bool backend_drop(Backend *backend, const char *name, Text *error);
/* Brings every view up to date. */
bool backend_sync(Backend *backend, Text *error);
/* What to put after FROM to read a view, and its changes after generation `since`; the caller
 * owns the string. */
char *backend_content(const Backend *backend, const char *name);
char *backend_changes(const Backend *backend, const char *name, int64_t since);
/* The generation up to which the content of all views goes. */
bool backend_generation(Backend *backend, int64_t *generation, Text *error);
/* Is the view there? (After the database has been opened again.) */
bool backend_has(Backend *backend, const char *name, Text *error);
void backend_close(Backend *backend);

#endif
