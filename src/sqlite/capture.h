/* capture.h: the capture state of a connection, and what the files of this folder do for each other.
 *
 * A change becomes a row of the log in three steps: weir_log_start makes room for what comes before the images;
 * images, which are records with all stored columns of a table as it is now (hook_image.c), are put behind it one
 * after another; weir_log_append puts the rest before them and writes the row (hook_log.c). */
#ifndef WEIR_SQLITE_CAPTURE_H
#define WEIR_SQLITE_CAPTURE_H

#include "sqlite/record.h"

#define WEIR_LOG_DEFAULT "turso_cdc"
#define WEIR_VERSION_TABLE "turso_cdc_version"
#define WEIR_DEFAULT_NAME "*" /* the row of the version table with the database's wish */
#define WEIR_NEEDS_UTF8 \
    "change capture needs a database with PRAGMA encoding 'UTF-8'; this one is UTF-16"

/* In SQL: the row of the version table keeps a gap of the log with that name, used four times. */
#define WEIR_IS_GAP_OF(log)                                                       \
    "substr(table_name,1,length(" log ")+5)='gap:'||" log "||':' COLLATE nocase " \
    "AND substr(table_name,length(" log ")+6) NOT GLOB '*[^0-9]*'"

typedef enum ChangeType {
    CHANGE_DELETE = -1,
    CHANGE_UPDATE = 0,
    CHANGE_INSERT = 1,
    CHANGE_COMMIT = 2,
} ChangeType;

typedef enum CaptureMode {
    CAPTURE_OFF,
    CAPTURE_ID,
    CAPTURE_BEFORE,
    CAPTURE_AFTER,
    CAPTURE_FULL,
} CaptureMode;

/* Vdbe.weirFlags */
enum {
    STATEMENT_WRITES = 1, /* DML on main: in autocommit it leaves a COMMIT record, changes or not */
    STATEMENT_ALTERS = 2, /* ALTER TABLE of the table with root page Vdbe.weirRoot */
    STATEMENT_DROPS = 4,  /* DROP TABLE of that table: its own rows go unrecorded */
};

typedef struct Setting {
    u8 mode;          /* CaptureMode */
    u8 version;       /* 1 or 2: the shape of the log table */
    char *table_name; /* owned; kept when mode is off, until the transaction ends */
} Setting;

/* A row of sqlite_schema that a statement changed, first image to last. */
typedef struct SchemaChange {
    struct SchemaChange *next; /* in order of the first change */
    Vdbe *vm;                  /* the statement it belongs to */
    i64 rowid;
    Bytes before; /* empty: the row is new */
    Bytes after;  /* empty: the row is gone */
} SchemaChange;

/* What a table's rows mean to the running statement. */
typedef enum TableClass {
    TABLE_CAPTURED,
    TABLE_LOG,     /* the log itself: not captured, but its ids are minded */
    TABLE_SKIPPED, /* bookkeeping, system and shadow tables */
} TableClass;

enum { WEIR_MARK_SIZE = 42 };

/* The log's row of sqlite_sequence. */
typedef struct Sequence {
    i64 rowid; /* 0: there is none */
    i64 highest_rowid;
    i64 value;
    Pgno page; /* that it is on */
    bool has_mark;
    u8 mark[WEIR_MARK_SIZE];
} Sequence;

/* A row that REPLACE will write over: told when something follows, for the statement may yet fail. */
typedef struct Replaced {
    const Vdbe *vm; /* the statement, NULL for none */
    const Table *table;
    i64 rowid;
    Bytes image; /* empty: the mode does not want it */
} Replaced;

struct WeirCapture {
    Setting setting;
    Setting saved;         /* what a rollback of the enabling returns to, if has_saved */
    bool has_saved;        /* capture was enabled in the open transaction */
    bool recheck;          /* something was rolled back since */
    bool is_set;           /* by a pragma of this connection */
    bool may_have_default; /* the database may hold a wish that was not looked at */
    int suspend_count;     /* our own SQL is running */

    /* The open transaction. */
    i64 first_id;             /* id of its first record, 0 for none */
    i64 last_id;              /* of the record written last */
    i64 sequence;             /* what sqlite_sequence said, if has_sequence */
    i64 floor;                /* largest id that was deleted from the log */
    const char *found_reason; /* if has_looked: the gap before it, NULL for none; a constant */
    i64 found_after;          /* the record that it is behind */
    bool has_looked;
    bool has_sequence;
    bool verify; /* records may have been rolled back: see whether the first is still there */
    bool has_uncaptured;   /* something was written before capture was enabled */
    bool was_switched_off; /* when the total of changes and the schema were as the next two say */
    i64 off_change_count;
    int off_cookie;

    /* The log's mark was made or found right when PRAGMA data_version was this. */
    bool is_trusted;
    u32 trusted_version;

    /* The open log: as long as the schema is that of the two numbers, at most for a transaction. */
    int schema_generation;
    int schema_cookie;
    BtCursor *cursor; /* owned memory; on the log, if is_open */
    bool is_open;
    bool is_at_last;    /* the cursor was left on the record last_id */
    bool is_ruled;      /* the open log is written by statements: weir_log_is_ruled */
    bool may_rest;      /* the next statement may find it open */
    const Table *log;   /* borrowed from the schema, valid while is_open */
    const Table *known; /* the table that was classified last */
    TableClass known_class;
    const Table *planned; /* the table that `kinds` is about */
    Bytes kinds;          /* of its stored columns */

    /* The running statement. */
    sqlite3_stmt *insert; /* owned; writes the log if the log has indexes */
    Table *updating;      /* OP_Delete of an UPDATE of it has run, OP_Insert has not; or NULL */
    const char *updating_columns; /* '1' for each column that is set; NULL if that is not known */
    i64 old_rowid;
    u64 before_size; /* of the old row's image, in `record`; 0 for none */
    Replaced replaced;

    /* The table that weir_log_find has looked at, and when. */
    const Table *checked;
    int checked_generation;
    int checked_cookie;
    int checked_shape;

    /* Reused buffers. */
    Bytes record;  /* of a change: room, then its images */
    u64 room;      /* in it */
    Bytes payload; /* of a row on overflow pages */
    Bytes values;  /* an array of ColumnValue */

    SchemaChange *schema_changes;
};
typedef struct WeirCapture Capture;

/* A change to record. Its images are in Capture.record in this order; size 0 stands for NULL. */
typedef struct Change {
    ChangeType type;
    const char *table_name; /* NULL for COMMIT */
    bool has_id;
    i64 id;
    u64 before_size;
    u64 after_size;
    u64 updates_size;
} Change;

/* --- hook_state.c --- */

/* What is switched off while our own SQL runs, and comes back after it. */
typedef struct Suspended {
    i64 last_rowid;
    i64 change_count;
    i64 total_change_count;
    u64 flags;
    sqlite3_xauth authorizer;
    void (*on_update)(void *, int, const char *, const char *, sqlite_int64);
    void (*on_preupdate)(void *, sqlite3 *, int, const char *, const char *, sqlite3_int64,
                         sqlite3_int64);
    u8 trace;
} Suspended;

/* The state of the connection, made if there is none; NULL without memory. */
Capture *weir_capture_get(sqlite3 *db);
/* Capture's mode for what is compiled now: off while our own SQL runs. */
CaptureMode weir_capture_mode(const sqlite3 *db);
void weir_capture_suspend(sqlite3 *db, Suspended *saved);
void weir_capture_resume(sqlite3 *db, const Suspended *saved);
/* After a rollback: gives up a setting whose log table went with it. */
void weir_capture_recheck(sqlite3 *db);
/* Frees what *to had and leaves *from empty. */
void weir_setting_move(Setting *to, Setting *from);
/* Reads the schema of main again unless it is that of the open transaction. COMMIT and writing a blob do not look at it,
 * as other statements do, and what was rolled back leaves none or an old one. */
int weir_schema_refresh(sqlite3 *db);
/* The table of main with that name, or NULL. */
Table *weir_find_table(const sqlite3 *db, const char *name);
/* Whether rows of this table of main are captured. */
TableClass weir_classify(const Capture *capture, const Table *table);

/* --- hook_image.c --- */

/* The value of a column. */
typedef struct ColumnValue {
    int column;
    bool is_real_column; /* it makes reals of integers */
    const Mem *value;    /* borrowed */
} ColumnValue;

static inline bool weir_is_real_column(const Table *table, int column)
{
    return table->aCol[column].affinity == SQLITE_AFF_REAL;
}

/* Appends the image of a stored record. SQLITE_FULL if that makes more than a row can be, as for those below. */
int weir_image_of_record(sqlite3 *db, Table *table, Span record, i64 rowid, Bytes *out);
/* The same for a WITHOUT ROWID table, whose records have the columns of the key first. */
int weir_image_of_keyed_record(sqlite3 *db, Table *table, Span record, Bytes *out);
/* Appends the image of a row that is still in registers, one for each stored column. */
int weir_image_of_registers(sqlite3 *db, Table *table, const Mem *registers, Bytes *out);
/* Appends the record that says which columns an UPDATE set: a flag for each column, then the new value of each, NULL
 * for those that were not set. The updates are in the order of their columns. */
int weir_image_of_updates(const sqlite3 *db, const ColumnValue *updates, int count,
                          int column_count, Bytes *out);
/* Appends an image that is there. */
int weir_image_copy(const sqlite3 *db, Span image, Bytes *out);
/* Field `index` of a record as a Mem that points into it. */
int weir_image_field(sqlite3 *db, Span image, int index, Mem *out);

/* --- hook_log.c --- */

/* The name of column `index` of a log with that many columns (8 or 9). */
const char *weir_log_column(int column_count, int index);
/* 1 or 2 for a table with the columns of a log of that version, else 0. */
int weir_log_shape(const Table *table);
/* Whether the log has what only a statement keeps right: indexes, constraints, stored generated columns. */
bool weir_log_is_ruled(const Table *log);
/* The log's table as the schema has it now, or NULL if it is not there, or is no log. */
Table *weir_log_find(const sqlite3 *db);
/* Empties Capture.record, for a change of the table with that name. */
int weir_log_start(sqlite3 *db, const char *table_name);
/* Writes a change whose images are in Capture.record. The record is used up. */
int weir_log_append(Vdbe *vm, const Change *change);
/* Opens the log if need be and goes to its last row. */
int weir_log_last(sqlite3 *db, i64 *id, int *is_empty);
/* Ends what is held of the log. */
void weir_log_close(sqlite3 *db);
/* A statement ends well: closes the log unless the next one of the transaction may find it as it is, which
 * needs that no root page moves and no other connection shares the cache. */
void weir_log_rest(sqlite3 *db);
/* Closes the log if the schema has changed since it was opened. */
void weir_log_mind_schema(sqlite3 *db);
/* Opens the cursor on a table of main. */
int weir_log_open_root(sqlite3 *db, Pgno root, bool is_writing);

/* --- hook_commit.c --- */

/* Opens sqlite_sequence, if the log is AUTOINCREMENT, and goes to its row. */
int weir_sequence_find(sqlite3 *db, const Table *log, bool is_writing, Sequence *out);
/* Puts the largest id into sqlite_sequence, and a mark if asked for. */
int weir_sequence_write(sqlite3 *db, const Table *log, i64 last, bool is_marking);
/* Before the transaction writes much: reads what it needs of sqlite_sequence, and looks for a gap before it. Once its
 * own pages are in the write-ahead log, that may have been begun anew over those of others. */
int weir_sequence_look(sqlite3 *db, const Table *log);
void weir_transaction_reset(sqlite3 *db);
/* Whether the transaction wrote nothing since capture was switched off in it. */
bool weir_is_all_captured(const sqlite3 *db);

/* --- hook_mark.c --- */

/* Whether other connections can write the database at all. */
bool weir_mark_is_possible(const sqlite3 *db);
/* Whether the open transaction has written anything. */
bool weir_mark_has_writes(const sqlite3 *db);
/* The mark of the open transaction. */
void weir_mark_make(const sqlite3 *db, i64 last_id, u8 *out);
i64 weir_mark_last_id(const u8 *mark);
/* *reason says by what it shows that others wrote after the mark's transaction, NULL if nothing does. The mark
 * is on that page. */
int weir_mark_check(const sqlite3 *db, const u8 *mark, Pgno page, const char **reason);

/* --- hook_gap.c --- */

/* Whether changes are missing before the open transaction: *reason, NULL if none are known to. */
int weir_gap_check(const sqlite3 *db, const Sequence *sequence, const char **reason);
/* Keeps a gap behind record `after`, before the open transaction. */
int weir_gap_keep(sqlite3 *db, const char *log_name, i64 after, const char *reason, bool *is_kept);
/* The transaction's mark says how the database is, until another connection writes it. */
void weir_gap_trust(sqlite3 *db);
/* Codes PRAGMA capture_data_changes_gaps for a log, NULL for the connection's. */
void weir_pragma_gaps(Parse *parse, Vdbe *vm, const char *log_name);

/* --- hook_schema.c --- */

int weir_schema_insert(Vdbe *vm, Span record, i64 rowid);
int weir_schema_delete(Vdbe *vm, VdbeCursor *cursor, bool is_update);
/* Writes what the statement did to the schema into the log. */
int weir_schema_flush(Vdbe *vm);
void weir_schema_forget(sqlite3 *db, const Vdbe *vm);

/* --- hook_row.c --- */

/* The record under a cursor. */
int weir_row_payload(BtCursor *cursor, Bytes *scratch, Span *out);
/* Records all rows of a table as new. */
int weir_row_record_all(Vdbe *vm, Table *table);

/* --- hook_pragma.c --- */

const char *weir_mode_name(CaptureMode mode);
/* Splits '<mode>[,<table>]'; false if that is no setting. Without a table *table_name is the default one. */
bool weir_setting_parse(const char *value, CaptureMode *mode, const char **table_name);

/* --- hook_default.c --- */

/* Sets capture as the database wishes, if that is still to be done. *message is owned by the caller. */
int weir_default_adopt(sqlite3 *db, char **message);

/* --- hook_setup.c --- */

/* Enables capture into a table, which is made if it is missing. On failure the setting is unchanged and
 * *message is owned by the caller. */
int weir_setup_enable(sqlite3 *db, CaptureMode mode, const char *table_name, char **message);
/* Keeps '<mode>,<table>' in the database as the wish for all connections, and enables; mode off takes the
 * wish back and leaves the setting alone. */
int weir_setup_default(sqlite3 *db, CaptureMode mode, const char *table_name, char **message);

#endif
