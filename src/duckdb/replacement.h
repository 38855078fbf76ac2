/* replacement.h: views as names in FROM. */
#ifndef WEIR_DUCKDB_REPLACEMENT_H
#define WEIR_DUCKDB_REPLACEMENT_H

#include "duckdb/database.h"

/* From now on a name in FROM that is a view and no table reads the view. */
void weir_replacement_scan_add(WeirDatabase *database, duckdb_database handle);

#endif
