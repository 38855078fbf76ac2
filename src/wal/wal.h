/* wal.h: what was committed to a DuckDB database file since a position in its write-ahead log.
 *
 * DuckDB appends every commit of every connection to DATABASE.wal before the commit returns, and a
 * checkpoint empties the log and raises a counter in the database file. So, for one Wal:
 *
 *   weir_wal_mark       where the log ends now: a position to remember
 *   weir_wal_look       was anything committed since the position?  Microseconds.
 *   weir_wal_begin      starts reading at the position
 *   weir_wal_next       the next change, in commit order, only of complete commits
 *   weir_wal_values     the values of an INSERT or UPDATE change, as vectors
 *   weir_wal_position   behind the last commit that was read: the position to remember
 *   weir_wal_end        stops reading
 *
 * Whatever cannot be proved or decoded is reported as such, with a reason, for the log or for one
 * table: nothing is guessed. README.md says what a caller may conclude from what. */
#ifndef WEIR_WAL_WAL_H
#define WEIR_WAL_WAL_H

#include "types/batch.h"

typedef struct Wal Wal;

/* Behind a commit. A plain value: copy it, compare nothing in it. */
typedef struct WalPosition {
    uint64_t device; /* of the database file */
    uint64_t inode;
    uint64_t session;   /* counts how often this Wal found the database file opened anew */
    uint64_t iteration; /* checkpoints of the database file so far */
    uint64_t log_inode; /* 0 if there was no log */
    uint64_t offset;    /* bytes of the log read; 0 if there was no log */
    uint64_t tail;      /* checksum of the last bytes in front of offset */
} WalPosition;

typedef enum WalState {
    WAL_NOTHING_NEW, /* no commit since the position that had returned before the look */
    WAL_NEW,         /* the log grew since the position, and what was there still is */
    WAL_UNKNOWN,     /* not provable: weir_wal_reason says why */
} WalState;

typedef enum WalKind {
    WAL_END,        /* no further complete commit */
    WAL_COMMIT,     /* the changes since the last WAL_COMMIT are one transaction */
    WAL_INSERT,     /* row_count rows at the table's end */
    WAL_DELETE,     /* of row_ids */
    WAL_UPDATE,     /* of one column, or part of a nested one, of row_ids */
    WAL_BULK,       /* rows at the table's end that went past the log: read them by row id */
    WAL_SHAPE,      /* the table was created, dropped or altered; table NULL: any of the schema */
    WAL_UNREADABLE, /* a change of the table that cannot be decoded: reason */
    WAL_LOST,       /* nothing can be said of what follows, for any table: reason; ends reading */
} WalKind;

/* Pointers are valid until the next call of weir_wal_next or weir_wal_end. */
typedef struct WalChange {
    WalKind kind;
    const char *schema; /* of all kinds but WAL_END, WAL_COMMIT and WAL_LOST */
    const char *table;
    size_t row_count;       /* INSERT, DELETE, UPDATE */
    const int64_t *row_ids; /* DELETE, UPDATE */
    const uint64_t *path;   /* UPDATE: the stored column, then places in it (README.md) */
    size_t path_length;
    const LogicalType *const *types; /* of the values: INSERT, a stored column each; UPDATE, one */
    size_t column_count;
    const char *reason; /* UNREADABLE, LOST; INSERT: why the values cannot be had, or NULL */
} WalChange;

/* A value's place in a path: of a struct 0 is the validity, n its n-th field, counted from 1; of
 * any other type 0 is the validity and nothing else occurs. */
enum { WAL_PATH_VALIDITY = 0 };

/* `database` is the path as duckdb_databases() shows it: the log's path is made from it, and another
 * path to the same file (a link) would lead to no log. Nothing is opened. The Wal is the caller's. */
Status weir_wal_open(Mem *mem, const char *database, Wal **out, Error *err) WEIR_MUST_CHECK;
void weir_wal_close(Wal *wal);

/* Reads the database file through this descriptor, which stays the caller's, instead of looking for
 * one that the process has open already. Only for a process that holds no lock on the file. */
void weir_wal_use_descriptor(Wal *wal, int descriptor);

/* Never WAL_NOTHING_NEW. WAL_NEW: `out` is the end of the log's last complete commit. */
WalState weir_wal_mark(Wal *wal, WalPosition *out);
WalState weir_wal_look(Wal *wal, const WalPosition *position);

/* Looks, and unless the result is WAL_UNKNOWN starts reading at the position. */
WalState weir_wal_begin(Wal *wal, const WalPosition *position);

/* Fails only for want of memory; then reading has ended. WAL_END: no more complete commits were in
 * the log when reading began. */
Status weir_wal_next(Wal *wal, WalChange *out, Error *err) WEIR_MUST_CHECK;

/* The values of the change that weir_wal_next gave last, an INSERT or UPDATE without a reason, as
 * `column_count` columns of `row_count` rows. They live until the next call of weir_wal_next. What
 * proves undecodable only here is *reason, with `out` empty. */
Status weir_wal_values(Wal *wal, Batch *out, const char **reason, Error *err) WEIR_MUST_CHECK;

/* While reading: the bytes of the log in front of the commit in hand, or behind the last one. */
uint64_t weir_wal_offset(const Wal *wal);

/* While reading: behind the last WAL_COMMIT, or where reading began. False: the log was cut
 * meanwhile, and the position is of no use. */
bool weir_wal_position(Wal *wal, WalPosition *out);
void weir_wal_end(Wal *wal);

/* True once a log of the file has been seen. Until then "nothing new" supposes that the database
 * writes one: DuckDB 1.5 can be told not to, by ATTACH ... (RECOVERY_MODE no_wal_writes), and no query
 * tells. */
bool weir_wal_has_logged(const Wal *wal);

/* Why the last WAL_UNKNOWN, or WAL_LOST. */
const char *weir_wal_reason(const Wal *wal);

#endif
