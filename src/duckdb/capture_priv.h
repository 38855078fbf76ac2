/* capture_priv.h: what the files of capture share. */
#ifndef WEIR_DUCKDB_CAPTURE_PRIV_H
#define WEIR_DUCKDB_CAPTURE_PRIV_H

#include "base/sql_lexer.h"
#include "duckdb/capture.h"
#include "duckdb/told_function.h"
#include "duckdb/write_shape.h"
#include "trace/page_pool.h"
#include "view/bag.h"
#include "view/names.h"

enum { CAPTURE_KNOWN_TARGETS = 8, CAPTURE_KNOWN_PREPARED = 64 };

/* A name as statements spell it, and the table that it means. */
typedef struct CaptureTarget {
    Arena arena;
    const char *text; /* NULL = unused */
    TableName name;
    CaptureShape shape;
    const char *columns; /* "a", "b": the followed ones; 1 if there is none */
    uint64_t name_epoch; /* of the database, when it was resolved */
    const char *const
        *replaced_columns; /* weir_capture_replaced_columns; NULL = not asked for yet */
    bool is_special;       /* it has generated columns, or one that is called rowid */
} CaptureTarget;

/* What the transaction has changed in a table. */
typedef struct CapturedTable {
    struct CapturedTable *next;
    Arena arena;
    TableName name;
    Schema schema;
    uint64_t follow_id;
    RowTable rows;     /* all columns are key */
    bool has_rows;     /* the bag exists */
    bool is_known;     /* and is the whole change */
    uint64_t rewrites; /* the kind of its updates and deletes */
} CapturedTable;

/* A statement that the user has prepared. */
typedef struct CapturePrepared {
    char *name;          /* owned, as it was written; NULL = unused */
    char *sql;           /* owned */
    char *captured;      /* owned: what is prepared beside it; NULL = nothing yet */
    uint64_t name_epoch; /* of the database, when it was prepared */
} CapturePrepared;

/* A view that DROP ... CASCADE takes away with what it reads. */
typedef struct DroppedView {
    struct DroppedView *next;
    TableName name;
} DroppedView;

struct Capture {
    WeirDatabase *database; /* borrowed */
    Mem *mem;
    duckdb_connection connection; /* borrowed */
    PagePool *pool;
    uint64_t told_handle; /* where its statements tell */
    CaptureTarget targets[CAPTURE_KNOWN_TARGETS];
    size_t next_target;
    CapturePrepared prepared[CAPTURE_KNOWN_PREPARED];
    bool is_in_transaction; /* the user's */
    uint64_t since;         /* weir_engine_commits before the transaction */
    CapturedTable *tables;  /* of the transaction */
    DroppedView *dropped;   /* when it is committed */
    Arena dropped_arena;
    bool is_unknown; /* the transaction may have changed any table */
    bool has_definitions;
    bool has_failed;                   /* a statement of the transaction */
    bool is_doomed;                    /* the transaction took something from under a view */
    bool has_new_names;                /* names may mean other tables since the transaction began */
    bool brings_views;                 /* the transaction, by a database or by data */
    const char *const *volatile_names; /* functions; in the arena; NULL = not loaded */
    uint64_t volatile_epoch;
    Arena arena;
};

/* A statement that changes rows of a followed table. */
typedef struct CaptureRun {
    Capture *capture;
    const char *sql;
    const WriteShape *shape;
    CaptureTarget *target;     /* NULL = nothing that can be followed */
    CapturePrepared *prepared; /* if it is run by EXECUTE; NULL = directly */
    const char *call;          /* EXECUTE, as the user has written it */
    const char *arguments;     /* of EXECUTE */
    duckdb_appender appender;  /* is flushed instead of running sql; NULL = none */
    uint64_t appended_count;   /* its rows */
    CapturedTable *table;      /* in weir_capture_run */
    bool was_touched;          /* the transaction has changed the table before */
} CaptureRun;

/* ---- capture_target.c ------------------------------------------------------------------------- */

/* NULL if the name means nothing that can be followed. Valid until the next call. */
CaptureTarget *weir_capture_target(Capture *capture, SqlSpan name);

/* The columns of a table that INSERT OR REPLACE assigns where it meets a row: all but those of its only
 * key. NULL-terminated, as long as the target is known; none if it is not so simple.
 * NULL: not known. */
const char *const *weir_capture_replaced_columns(Capture *capture, CaptureTarget *target);

/* The name that the span writes, without quotes; NULL: it is no single name, or there is no memory. */
const char *weir_capture_name_of(SqlSpan span, Arena *arena);

/* False if the rows that a SELECT gives may be others when it is run again in the transaction. */
bool weir_capture_is_repeatable(Capture *capture, const char *select);

/* ---- capture.c -------------------------------------------------------------------------------- */

/* Ends a transaction around one statement: commits and tells, or rolls back if status is a failure.
 * Returns the failure. */
Status weir_capture_end_alone(Capture *capture, Status status, CapturedResult *out, Error *err)
    WEIR_MUST_CHECK;

/* ---- capture_define.c ------------------------------------------------------------------------- */

/* True if a view may have this name, in whatever schema. */
bool weir_capture_is_view_name(const Capture *capture, SqlSpan name);

/* Drops the views that went with what the committed transaction dropped. */
void weir_capture_drop_views(const Capture *capture);

/* Refuses to take away a database that views read or are kept in. */
Status weir_capture_check_detach(Capture *capture, SqlSpan database, Error *err) WEIR_MUST_CHECK;

/* Runs a statement that may alter or drop tables, or take the name of a view. */
Status weir_capture_define(Capture *capture, const char *sql, const WriteShape *shape,
                           CapturedResult *out, Error *err) WEIR_MUST_CHECK;

/* ---- capture_rows.c --------------------------------------------------------------------------- */

/* The transaction's change of the target's table, empty at first. NULL: no memory. */
CapturedTable *weir_capture_table(Capture *capture, const CaptureTarget *target);
CapturedTable *weir_capture_find_table(const Capture *capture, const TableName *name);

/* The transaction has changed rows in that way too. */
void weir_capture_note_rewrites(CapturedTable *table, uint64_t kind);

/* Ends all changes, told or not. */
void weir_capture_forget(Capture *capture);

/* Runs the statement inside a transaction and gathers what it changes in the target. */
Status weir_capture_run(CaptureRun run, CapturedResult *out, Error *err) WEIR_MUST_CHECK;

/* The span behind `before`, and a newline: it may end in a comment. Nothing if it is not there. */
void weir_capture_put_span(Buf *buf, const char *before, SqlSpan span);

/* The rows that a statement has changed; those it returns are kept for the user. False: no memory. */
bool weir_capture_count(Capture *capture, const WriteShape *shape, CapturedResult *out,
                        uint64_t *count);

/* Runs the statement as the user has written it. */
Status weir_capture_run_unchanged(const CaptureRun *run, CapturedResult *out, Error *err)
    WEIR_MUST_CHECK;

/* Runs what we have made of it. If that is refused for its text, the user's own is run, for its own
 * message; after any failure the table is not known. */
Status weir_capture_run_changed(const CaptureRun *run, const char *sql, CapturedResult *out,
                                Error *err) WEIR_MUST_CHECK;

/* Takes from DuckDB's message the lines of a text that is ours. */
void weir_capture_cut_quotation(Error *err);

/* A statement that is to return the followed columns of the rows that it changes. */
typedef struct Returning {
    const char *sql;  /* without our clause */
    int64_t sign;     /* of the rows in the table's change */
    bool has_actions; /* of MERGE, which says what it did: rows that it deletes are left out */
    uint64_t rewritten_count; /* out: rows that MERGE updated or deleted */
} Returning;

/* As weir_capture_run_changed: what is returned becomes part of the table's change, and the user gets
 * what he asked for. */
Status weir_capture_run_returning(const CaptureRun *run, Returning *returning, CapturedResult *out,
                                  Error *err) WEIR_MUST_CHECK;

/* ---- capture_told.c --------------------------------------------------------------------------- */

enum { TOLD_VALUE = 1, TOLD_FIRST = 2 }; /* arguments */

/* What one statement tells while it runs. The arguments of the call: the handle, a value, the row id
 * if row_id_argument, the old values of the followed columns, and then new ones. */
typedef struct Telling {
    const CaptureRun *run;
    size_t row_id_argument; /* 0 = every row is told once */
    size_t old_argument;
    const size_t
        *new_arguments;  /* of the followed columns, 0 = the old value; NULL: none is told */
    bool is_conditional; /* the value is whether the row changes */
    bool has_failed;     /* something told could not be kept */
    uint64_t changed_count;
    int64_t *row_ids; /* owned: of the rows that change, if they are told */
    size_t row_id_count;
    size_t row_id_capacity;
    Arena arena;
} Telling;

void weir_telling_init(Telling *telling, const CaptureRun *run);
void weir_telling_deinit(Telling *telling);

/* What is told from begin to end becomes part of the table's change. */
void weir_telling_begin(Telling *telling);
void weir_telling_end(Telling *telling);

/* weir_capture_run_changed between the two. */
Status weir_telling_run(Telling *telling, const char *sql, CapturedResult *out, Error *err)
    WEIR_MUST_CHECK;

/* True if as many rows were told to change, each of them once. */
bool weir_telling_is_whole(Telling *telling, uint64_t changed_count);

/* Appends the call as far as the value, which the caller is to write; then the rest without the
 * bracket: the caller may write new values. They are the arguments from *next on. */
void weir_telling_put_call(const Telling *telling, Buf *sql);
void weir_telling_put_old_values(Telling *telling, bool has_row_id, Buf *sql, size_t *next);

/* ---- capture_prepared.c ----------------------------------------------------------------------- */

/* NULL if it is not known. */
CapturePrepared *weir_capture_find_prepared(Capture *capture, SqlSpan name);

/* The statement goes to the end of its text. One that cannot be kept is not known. */
void weir_capture_remember(Capture *capture, SqlSpan name, SqlSpan statement);
void weir_capture_forget_prepared(Capture *capture, SqlSpan name); /* start NULL = all */

/* Runs what was made of a prepared statement, with the user's arguments. */
Status weir_capture_run_prepared(const CaptureRun *run, const char *sql, CapturedResult *out,
                                 Error *err) WEIR_MUST_CHECK;

/* ---- capture_upsert.c ------------------------------------------------------------------------- */

Status weir_capture_upsert(const CaptureRun *run, CapturedResult *out, Error *err) WEIR_MUST_CHECK;

/* ---- capture_update.c ------------------------------------------------------------------------- */

Status weir_capture_update(const CaptureRun *run, CapturedResult *out, Error *err) WEIR_MUST_CHECK;

/* A statement as it is. A failure has DuckDB's message. */
Status weir_capture_plain(Capture *capture, const char *sql, CapturedResult *out, Error *err)
    WEIR_MUST_CHECK;

#endif
