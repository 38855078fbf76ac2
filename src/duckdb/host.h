/* host.h: DuckDB as the engine's host (the contract is view/host.h).
 *
 * Between end and begin it holds no connection, no statement and no result. Every session asked for
 * between begin and end is a connection of its own, kept until end. */
#ifndef WEIR_DUCKDB_HOST_H
#define WEIR_DUCKDB_HOST_H

#include "duckdb/connection.h"
#include "view/engine.h"

typedef struct DuckHost DuckHost;

/* Takes a reference to the connector; mem is borrowed. */
Status weir_duck_host_new(Mem *mem, Connector *connector, bool is_capturing, DuckHost **out,
                          Error *err) WEIR_MUST_CHECK;

/* Every table and every expression host must be closed; not between begin and end. The database may
 * be gone. NULL is allowed. */
void weir_duck_host_free(DuckHost *host);

/* The functions to give to an engine; valid as long as the host. */
Host weir_duck_host_functions(DuckHost *host);

/* The engine, borrowed, knows the names of views; without one, definitions are planned as they are. */
void weir_duck_host_set_engine(DuckHost *host, Engine *engine);

/* Makes what runs between begin and end fail with WEIR_ERR_INTERRUPTED as soon as it can. Any
 * thread. */
void weir_duck_host_interrupt(DuckHost *host);

#endif
