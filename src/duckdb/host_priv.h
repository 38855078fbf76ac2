/* host_priv.h: what the files of the host share. */
#ifndef WEIR_DUCKDB_HOST_PRIV_H
#define WEIR_DUCKDB_HOST_PRIV_H

#include "base/cancel.h"
#include "base/lock.h"
#include "duckdb/host.h"
#include "trace/page_pool.h"

/* A connection with settings, kept until end. */
typedef struct Session {
    struct Session *next;
    ViewSettings settings; /* in the host's arena */
    bool is_planning;      /* with the optimizer off */
    duckdb_connection connection;
} Session;

/* A name of the catalog. */
typedef struct CatalogName {
    struct CatalogName *next;
    const char *name;
    FunctionStability stability; /* of a scalar function; otherwise STABILITY_UNKNOWN */
    bool is_users;               /* a view, type or macro, and not one of DuckDB's own */
} CatalogName;

/* In the host's arena. */
typedef struct CatalogList {
    CatalogName *first;
    bool is_loaded;
} CatalogList;

/* log_file.h */
typedef struct LogFile LogFile;

struct DuckHost {
    Mem *mem;                 /* borrowed */
    Connector *connector;     /* one reference */
    Engine *engine;           /* borrowed; NULL = not known */
    PagePool *pool;           /* owned: the baselines' pages */
    Arena arena;              /* from begin to end */
    bool is_open;             /* between begin and end */
    uint64_t epoch;           /* counts the begins */
    duckdb_connection scan;   /* its transaction is the snapshot; NULL until needed */
    uint64_t snapshot_serial; /* counts the snapshots */
    bool is_snapshot_used;    /* rows were read from it: it must stay the same until end */
    LogFile *files;           /* of followed tables */
    uint64_t look_serial;     /* counts the looks at them */
    duckdb_prepared_statement plan_statement; /* of scan; NULL until needed */
    duckdb_connection saver; /* its transaction keeps definitions; NULL = none under way */
    Session *sessions;
    CatalogList functions; /* scalar functions, and macros of the user's */
    CatalogList names;     /* views and types of the user's */
    HostProgram *programs; /* those with a prepared statement */
    Lock lock;             /* protects scan and sessions against interrupt */
    Cancel cancel;         /* since begin */
    bool is_capturing;     /* see view/host.h */
    uint32_t group_rows;   /* of a baseline group; smaller in tests */
};

/* Opens the scan connection and begins its transaction, unless that was done. */
Status weir_duck_host_open_snapshot(DuckHost *host, Error *err) WEIR_MUST_CHECK;

/* Begins another one, of later data, while none of its rows were read. */
Status weir_duck_host_restart_snapshot(DuckHost *host, Error *err) WEIR_MUST_CHECK;

/* The session with these settings, opened at first use. */
Status weir_duck_host_session(DuckHost *host, const ViewSettings *settings, bool is_planning,
                              duckdb_connection *out, Error *err) WEIR_MUST_CHECK;

/* NULL = the defaults. */
Status weir_duck_settings_copy(Arena *arena, const ViewSettings *settings, ViewSettings *out,
                               Error *err) WEIR_MUST_CHECK;

/* Whether the definition may read DuckDB's own views or types or call macros, so that its plan may
 * change without its text. True too often costs time. */
Status weir_duck_host_reads_others(DuckHost *host, const char *sql, bool *out, Error *err)
    WEIR_MUST_CHECK;

/* ---- host_plan.c, host_functions.c, host_names.c: functions of the vtable --------------------- */

Status weir_duck_host_plan(void *context, const ViewSettings *settings, const char *sql,
                           Arena *arena, HostPlan *out, Error *err) WEIR_MUST_CHECK;
Status weir_duck_host_plan_digest(void *context, const ViewSettings *settings, const char *sql,
                                  uint64_t *out, Error *err) WEIR_MUST_CHECK;
Status weir_duck_host_stability(void *context, const char *function, FunctionStability *out,
                                Error *err) WEIR_MUST_CHECK;
Status weir_duck_host_resolve_name(void *context, const ViewSettings *settings, const char *name,
                                   Arena *arena, TableName *out, Error *err) WEIR_MUST_CHECK;
Status weir_duck_host_name_exists(void *context, const TableName *name, bool *out, Error *err)
    WEIR_MUST_CHECK;

/* ---- host_table.c ---------------------------------------------------------------------------- */

Status weir_duck_host_table_schema(void *context, const TableName *name, Arena *arena, Schema *out,
                                   Error *err) WEIR_MUST_CHECK;
Status weir_duck_host_table_open(void *context, const TableName *name, HostTable **out, Error *err)
    WEIR_MUST_CHECK;
void weir_duck_host_table_close(void *context, HostTable *table);
Status weir_duck_host_table_follow(void *context, HostTable *table, const char *const *columns,
                                   const LogicalType *const *types, size_t count, Error *err)
    WEIR_MUST_CHECK;
Status weir_duck_host_table_sync(void *context, HostTable *table, HostVisit visit, void *user,
                                 SyncReport *report, Error *err) WEIR_MUST_CHECK;
void weir_duck_host_prepare_sync(void *context, HostTable *const *tables, size_t count);
void weir_duck_host_look(void *context);
bool weir_duck_host_table_is_unchanged(void *context, const HostTable *table);
void weir_duck_host_table_believe_append_only(HostTable *table, bool is_believed);
const char *weir_duck_host_table_method(const HostTable *table);
Status weir_duck_host_table_scan(void *context, HostTable *table, HostVisit visit, void *user,
                                 Error *err) WEIR_MUST_CHECK;
uint64_t weir_duck_host_table_row_count(const HostTable *table);
size_t weir_duck_host_table_bytes(const HostTable *table);

/* ---- host_saved.c ---------------------------------------------------------------------------- */

Status weir_duck_host_load_views(void *context, Arena *arena, SavedView **out, size_t *count,
                                 Error *err) WEIR_MUST_CHECK;
Status weir_duck_host_save_view(void *context, const SavedView *view, Error *err) WEIR_MUST_CHECK;
Status weir_duck_host_end_saving(void *context, bool is_commit, Error *err) WEIR_MUST_CHECK;

/* ---- eval.c ----------------------------------------------------------------------------------- */

Status weir_duck_host_expr_open(void *context, const ViewSettings *settings, ExprHost *out,
                                Error *err) WEIR_MUST_CHECK;
void weir_duck_host_expr_close(void *context, ExprHost *expr);

/* Destroys the prepared statements of all programs: each would keep the database alive. */
void weir_duck_host_forget_statements(DuckHost *host);

#endif
