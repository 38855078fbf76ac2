/* script.h: random statements on a few tables, over several connections. */
#ifndef WEIR_TESTS_WAL_SCRIPT_H
#define WEIR_TESTS_WAL_SCRIPT_H

#include "db.h"
#include "rng.h"

enum { SCRIPT_TABLES = 3, SCRIPT_COLUMNS_MAX = 12, SCRIPT_CONNECTIONS = 3 };

typedef struct ScriptColumn {
    size_t type;   /* index in the list of types */
    size_t number; /* its name: c<number> */
} ScriptColumn;

typedef struct ScriptTable {
    char name[16];
    bool has_key; /* a first column k BIGINT PRIMARY KEY */
    size_t column_count;
    ScriptColumn columns[SCRIPT_COLUMNS_MAX];
    size_t columns_made;
} ScriptTable;

typedef struct Script {
    Rng rng;
    Db *db;
    bool is_printing;
    bool has_checkpoints; /* CHECKPOINT is among the statements */
    bool has_bulk;
    bool has_shapes;
    ScriptTable tables[SCRIPT_TABLES]; /* t0, t1, t2; beside them app(a INTEGER, b VARCHAR) */
    size_t next_key;
    size_t names_made;
    size_t statements;
    size_t refused; /* statements that DuckDB refused */
    size_t shapes;  /* statements that change a table's shape */
    size_t bulk;    /* inserts large enough to go past the log */
    size_t checkpoints;
} Script;

/* Makes the tables. False: `error` says why. */
bool script_start(Script *script, Text *error);
/* One or more statements, all transactions ended. */
void script_step(Script *script);

#endif
