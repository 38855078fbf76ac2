/* view_refs.h: names of views with their schema, in the text of a statement. */
#ifndef WEIR_DUCKDB_VIEW_REFS_H
#define WEIR_DUCKDB_VIEW_REFS_H

#include "duckdb/api.h"
#include "view/engine.h"

/* engine NULL: there is no view. Otherwise the text with dbsp_query('schema.view') for each schema.view that a replacement scan would take for
 * another view; the text itself if there is none, or it cannot be told. The connection parses it. */
const char *weir_view_refs_write(Engine *engine, duckdb_connection connection, const char *sql,
                                 Arena *arena);

#endif
