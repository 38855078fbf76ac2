/* follower.h: tables kept up to date by the log alone: a client of src/wal as simple as one can be.
 *
 * Rows are kept by row id, values as bytes. Where the log says that it does not know, the table is
 * read anew and the reason counted; whatever it does say is believed. follower_check compares. */
#ifndef WEIR_TESTS_WAL_FOLLOWER_H
#define WEIR_TESTS_WAL_FOLLOWER_H

#include "db.h"

#include "wal/wal.h"

enum { FOLLOWED_TABLES_MAX = 8 };

typedef struct Cell {
    bool is_null;
    bool is_stale; /* part of a nested value was updated: read it by row id */
    uint32_t size;
    char *bytes; /* owned */
} Cell;

typedef struct FollowedRow {
    bool is_live;
    Cell *cells; /* owned, one a column */
} FollowedRow;

typedef struct FollowedTable {
    char *name;        /* owned */
    bool is_known;     /* its rows are those of the position */
    bool is_end_known; /* row_count is the next row id */
    size_t column_count;
    bool *is_nested;  /* owned, one a column */
    size_t row_count; /* rows that were, as far as is known */
    size_t capacity;
    FollowedRow *rows; /* owned; by row id */
} FollowedTable;

/* What was applied, and how often something was not known. */
typedef struct FollowerCounts {
    size_t looks;
    size_t nothing_new;
    size_t commits;
    size_t rows_inserted;
    size_t rows_deleted;
    size_t cells_updated;
    size_t cells_nested; /* updated inside a nested value */
    size_t updates_of_absent;
    size_t ends;        /* inserts whose row ids were not known: the table was read */
    size_t checkpoints; /* the whole log unknown: there was a checkpoint */
    size_t unknown;     /* the whole log unknown for any other reason */
    size_t bulk;
    size_t shape;
    size_t unreadable;
} FollowerCounts;

typedef struct Follower {
    duckdb_connection connection; /* borrowed */
    Mem *mem;
    Wal *wal;
    WalPosition position;
    bool has_position;
    bool is_alone; /* nobody commits meanwhile: the tables' ends can be asked for */
    FollowedTable tables[FOLLOWED_TABLES_MAX];
    size_t table_count;
    FollowerCounts counts;
    Text complaint; /* what went wrong; the follower is of no use then */
} Follower;

/* Follows the tables of the database file at `path`, which `connection` uses. */
bool follower_init(Follower *f, duckdb_connection connection, const char *path);
void follower_deinit(Follower *f);
void follower_add(Follower *f, const char *table);

/* Reads what is new. False: complaint. */
bool follower_catch_up(Follower *f);

/* All tables equal the database's. False: complaint. */
bool follower_check(Follower *f);

#endif
