/* connection.h: connections to one database, opened on demand.
 *
 * A connection that stays open keeps the database's file locked and its log unmerged after the user
 * has closed it. So nothing keeps one: a Connector only knows how to connect, which costs
 * microseconds. It holds no reference to the database and notices when it is destroyed. */
#ifndef WEIR_DUCKDB_CONNECTION_H
#define WEIR_DUCKDB_CONNECTION_H

#include "duckdb/batch_function.h"
#include "view/host.h"

typedef struct Connector Connector;

/* handle: in libweir what duckdb_open gave, borrowed until duckdb_close; in the extension what
 * access->get_database gave, valid only during LOAD: what it says is copied and proven to work.
 * connection: used to register Weir's internal functions, which hold references to the Connector.
 * Once per database. The Connector has one reference for the caller. */
Status weir_connector_new(duckdb_database handle, duckdb_connection connection, Connector **out,
                          Error *err) WEIR_MUST_CHECK;
Connector *weir_connector_ref(Connector *connector);

/* As a destructor callback of DuckDB for functions that must not outlive the database: every later
 * connect is refused; then as unref. */
void weir_connector_close(void *connector);

/* The batches that internal statements may read. */
BatchRegistry *weir_connector_batches(Connector *connector);

/* As a destructor callback of DuckDB: takes a Connector, NULL is allowed. */
void weir_connector_unref(void *connector);

/* WEIR_ERR_CLOSED after the database was destroyed. Any thread. */
Status weir_connector_check(Connector *connector, Error *err) WEIR_MUST_CHECK;

/* A new connection, closed by the caller with duckdb_disconnect. After the database was destroyed:
 * WEIR_ERR_CLOSED. Any thread. */
Status weir_connector_connect(Connector *connector, duckdb_connection *out, Error *err)
    WEIR_MUST_CHECK;

/* The same, in a session with these settings (NULL = the defaults). A setting that DuckDB does not
 * take: WEIR_ERR_SETTING. */
Status weir_connector_connect_session(Connector *connector, const ViewSettings *settings,
                                      duckdb_connection *out, Error *err) WEIR_MUST_CHECK;

#endif
