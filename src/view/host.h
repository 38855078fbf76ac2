/* host.h: what a database that embeds the engine must provide.
 *
 * The engine calls the host only inside begin .. end, with the engine's lock held, one call at a
 * time. Between end and the next begin the host holds no connection and no transaction. */
#ifndef WEIR_VIEW_HOST_H
#define WEIR_VIEW_HOST_H

#include "base/cancel.h"
#include "expr/evaluator.h"
#include "plan/plan.h"

/* Settings of the session that created a view; all NULL = the database's defaults. They are used
 * whenever the definition is planned, evaluated or re-run. */
typedef struct ViewSettings {
    const char *search_path; /* as SET search_path takes it */
    const char *time_zone;
    const char *calendar;
} ViewSettings;

typedef struct TableName {
    const char *catalog;
    const char *schema;
    const char *name;
} TableName;

/* A definition as a database keeps it. */
typedef struct SavedView {
    TableName name;
    const char *sql;
    ViewSettings settings;
} SavedView;

/* A planned definition. Everything lives in the arena given to plan. */
typedef struct HostPlan {
    const char *json;
    size_t json_size;
    size_t column_count;
    const char *const *column_names; /* as CREATE VIEW would name them */
    uint64_t digest;                 /* see plan_digest */
    bool reads_others; /* views, macros or types of the database, which can be replaced */
} HostPlan;

/* A followed table: the host keeps what it needs to find changes (a baseline, unless it captures). */
typedef struct HostTable HostTable;

/* How a sync found its answer. */
typedef enum SyncMethod {
    SYNC_UNCHANGED, /* proven unchanged */
    SYNC_LOGGED,    /* the database's log told of every row */
    SYNC_APPENDED,  /* only rows behind the last row id */
    SYNC_DIFFED,    /* row groups compared row by row */
    SYNC_CAPTURED,  /* the writer told of every row */
    SYNC_RELOADED,  /* what has changed is not known: read anew */
} SyncMethod;

typedef struct SyncReport {
    SyncMethod method;
    uint64_t rows_read; /* rows fetched from the table */
    uint64_t groups_diffed;
    bool is_fall_back; /* the log was to tell, but could not */
    bool is_lost;      /* the sync failed, and the table can only be opened again */
} SyncReport;

typedef Status (*HostVisit)(void *user, const Batch *batch, Error *err);

typedef struct Host {
    void *context;        /* borrowed */
    const Cancel *cancel; /* borrowed: what runs between begin and end fails when it is wanted, with
                             WEIR_ERR_INTERRUPTED; NULL = never */

    /* Every change of a followed table comes with weir_engine_commit: a sync has nothing to find but
     * altered definitions, and tables are read from the snapshot instead of from a baseline. */
    bool is_capturing;

    /* The following calls see one snapshot of the committed data, fixed when it is first needed. */
    Status (*begin)(void *context, Error *err);
    void (*end)(void *context);

    /* Plans a definition. Refused with WEIR_ERR_PLAN, _UNKNOWN_TABLE, _NOT_A_SELECT, ... */
    Status (*plan)(void *context, const ViewSettings *settings, const char *sql, Arena *arena,
                   HostPlan *out, Error *err);

    /* A digest of what plan would give now: the same as that plan's, or something else is planned. A
     * definition that cannot be planned has one too. */
    Status (*plan_digest)(void *context, const ViewSettings *settings, const char *sql,
                          uint64_t *out, Error *err);
    Status (*stability)(void *context, const char *function, FunctionStability *out, Error *err);

    /* Completes a possibly qualified, possibly quoted view name with the session's catalog and
     * schema; the parts come from the arena, unquoted. */
    Status (*resolve_name)(void *context, const ViewSettings *settings, const char *name,
                           Arena *arena, TableName *out, Error *err);

    /* True if a table or view of the database has that name. */
    Status (*name_exists)(void *context, const TableName *name, bool *out, Error *err);

    /* The columns of a table that can be followed, in their order; generated ones included. */
    Status (*table_schema)(void *context, const TableName *name, Arena *arena, Schema *out,
                           Error *err);

    /* Starts to follow a table. A relation that cannot be followed: WEIR_ERR_UNKNOWN_TABLE. */
    Status (*table_open)(void *context, const TableName *name, HostTable **out, Error *err);
    void (*table_close)(void *context, HostTable *table); /* allowed outside begin .. end */

    /* Follows exactly these columns (names as in the table, types as in the plan) from now on, in
     * this order, and builds the baseline anew from the snapshot: earlier ones stay in front, so a
     * caller only ever appends. All or nothing: on failure the old baseline stays. */
    Status (*table_follow)(void *context, HostTable *table, const char *const *columns,
                           const LogicalType *const *types, size_t count, Error *err);

    /* The tables that are going to be synced: so that they are synced to the same commit. May be NULL,
     * and need not be called. */
    void (*prepare_sync)(void *context, HostTable *const *tables, size_t count);

    /* The difference between baseline and snapshot as batches of the followed columns with weights;
     * the baseline becomes the snapshot. A dropped or altered table: WEIR_ERR_SOURCE_CHANGED, and
     * the baseline stays. After any other failure the table must be closed, unless no row was told and
     * the report does not say is_lost. SYNC_RELOADED: the difference is not known, and nothing was
     * told; a host that captures reports this, or SYNC_UNCHANGED. */
    Status (*table_sync)(void *context, HostTable *table, HostVisit visit, void *user,
                         SyncReport *report, Error *err);

    /* A look that costs next to nothing, allowed outside begin .. end: look begins it, then for each
     * table true = nothing was committed to it between its last sync and that look; false = not known.
     * May be NULL. */
    void (*look)(void *context);
    bool (*table_is_unchanged)(void *context, const HostTable *table);

    /* Rows are only added to the table, it is said: a sync may look at what is old in samples. May be
     * NULL: nothing is saved by it. */
    void (*table_believe_append_only)(HostTable *table, bool is_believed);

    /* How changes of the table are found: "wal", "fingerprint", "capture". */
    const char *(*table_method)(const HostTable *table);

    /* Every row of the baseline, or of the snapshot if the host captures. */
    Status (*table_scan)(void *context, HostTable *table, HostVisit visit, void *user, Error *err);
    uint64_t (*table_row_count)(const HostTable *table);
    size_t (*table_bytes)(const HostTable *table);

    /* Definitions that databases keep, in the order in which they were made; from the arena. The three
     * may be NULL: nothing is kept. */
    Status (*load_views)(void *context, Arena *arena, SavedView **out, size_t *count, Error *err);

    /* Begins a transaction that keeps the definition, in the place of the one of that name if there is
     * one, or (sql NULL) no longer keeps it. Databases that are in memory or read-only keep nothing.
     * May be called several times; end_saving ends the transaction. */
    Status (*save_view)(void *context, const SavedView *view, Error *err);
    Status (*end_saving)(void *context, bool is_commit, Error *err);

    /* Evaluates expressions in a session with these settings. Freed with expr_close. */
    Status (*expr_open)(void *context, const ViewSettings *settings, ExprHost *out, Error *err);
    void (*expr_close)(void *context, ExprHost *expr);
} Host;

#endif
