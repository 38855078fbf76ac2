/* database.h: what Weir keeps for one DuckDB database: reached through the extra_info of every
 * function it registered there, and through nothing else. */
#ifndef WEIR_DUCKDB_DATABASE_H
#define WEIR_DUCKDB_DATABASE_H

#include "duckdb/connection.h"
#include "duckdb/host.h"
#include "duckdb/told_function.h"
#include "view/engine.h"

#include <stdatomic.h>

typedef struct WeirDatabase WeirDatabase;
typedef struct Poller Poller; /* poller.h */

struct WeirDatabase {
    Mem *mem;                    /* owned */
    Connector *connector;        /* one reference */
    DuckHost *host;              /* owned: the engine's host */
    Engine *engine;              /* owned */
    Poller *poller;              /* owned */
    ToldRegistry *told;          /* owned */
    _Atomic uint64_t name_epoch; /* rises when names in statements may mean other tables */
    _Atomic size_t ref_count;
};

/* is_capturing: only captures write the database (capture.h). Sets up engine, host, functions and the replacement scan for the database that `handle` opens.
 * `connection` is only used to register. The result has one reference for the caller; every
 * registered function holds another. */
Status weir_database_attach(duckdb_database handle, duckdb_connection connection, bool is_capturing,
                            WeirDatabase **out, Error *err) WEIR_MUST_CHECK;

WeirDatabase *weir_database_ref(WeirDatabase *database);

/* As a destructor callback of DuckDB: takes the WeirDatabase. */
void weir_database_unref(void *database);

#endif
