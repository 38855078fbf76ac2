/* sql_function.h: how the functions of sql_functions.def are called.
 *
 * A call has two lives. The bind (SqlCall) knows arguments and columns and does nothing else: DuckDB
 * binds for EXPLAIN, DESCRIBE, PREPARE and for plans that never run. The run (SqlRun) does the work,
 * once per execution, and holds the rows. */
#ifndef WEIR_DUCKDB_SQL_FUNCTION_H
#define WEIR_DUCKDB_SQL_FUNCTION_H

#include "duckdb/database.h"
#include "duckdb/grid.h"

enum { SQL_MAX_PARAMETERS = 8 };

typedef enum SqlParameterType { SQL_TEXT, SQL_INTEGER, SQL_BOOLEAN, SQL_ANY } SqlParameterType;

typedef struct SqlFunction SqlFunction;

typedef struct SqlArgument {
    bool is_set;        /* given, and not NULL */
    const char *text;   /* SQL_TEXT */
    int64_t integer;    /* SQL_INTEGER */
    bool flag;          /* SQL_BOOLEAN */
    duckdb_value value; /* SQL_ANY: owned by the call */
} SqlArgument;

typedef struct SqlCall {
    const SqlFunction *function;
    WeirDatabase *database; /* one reference */
    Arena arena;
    SqlArgument arguments[SQL_MAX_PARAMETERS]; /* in the order of the definition */
    Schema schema;
    ViewShape shape; /* of the view named first, if the columns are the view's */
    bool has_shape;
} SqlCall;

typedef struct SqlRun {
    ViewReader *reader; /* rows of a view; NULL = the grid's */
    Grid grid;
} SqlRun;

struct SqlFunction {
    const char *name;
    const char *parameters; /* "name VARCHAR, [since BIGINT]": in brackets = named, optional */
    const char *columns;    /* "view VARCHAR, n UBIGINT"; NULL = decided by bind */
    Status (*bind)(SqlCall *call, Error *err); /* NULL = nothing but the columns */
    Status (*run)(const SqlCall *call, SqlRun *run, Error *err);
    uint64_t max_threads;
    const char *doc;
};

/* Registers every function of the list on the connection's database. */
Status weir_sql_functions_register(WeirDatabase *database, duckdb_connection connection, Error *err)
    WEIR_MUST_CHECK;

/* The argument of a parameter of the call; asserts that the function has it. */
const SqlArgument *weir_sql_argument(const SqlCall *call, const char *name);
const char *weir_sql_text(const SqlCall *call, const char *name); /* NULL if not given */

/* Settings from the named parameters search_path and time_zone. */
ViewSettings weir_sql_settings(const SqlCall *call);

#endif
