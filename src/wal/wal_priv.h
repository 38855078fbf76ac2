/* wal_priv.h: the parts of a Wal. */
#ifndef WEIR_WAL_WAL_PRIV_H
#define WEIR_WAL_WAL_PRIV_H

#include "wal/chunk.h"
#include "wal/log.h"
#include "wal/wal.h"

enum { WAL_REASON_BYTES = 256, WAL_PATH_DEPTH_MAX = 64 };

struct Wal {
    Mem *mem;       /* borrowed */
    char *path;     /* owned: the database file */
    char *log_path; /* owned */
    Log log;
    int descriptor;           /* borrowed: of the database file; -1 = not found yet */
    bool descriptor_is_given; /* by weir_wal_use_descriptor */
    int mark;                 /* of the descriptor; 0 = none yet */
    uint64_t session;         /* see WalPosition */
    bool has_logged;          /* a log has been seen */
    uint64_t log_inode;       /* of the last log that was DuckDB's; 0 = none yet */
    uint64_t log_iteration;   /* of the database file then */
    int64_t absent_since;     /* no log was there, nor can one have been since the directory changed
                                 then, in nanoseconds; 0 = not known */
    bool is_reading;
    bool is_lost;               /* WAL_LOST was said: nothing more is read */
    WalPosition position;       /* behind the last commit that was read; tail not kept up */
    uint64_t offset;            /* of the next entry */
    uint64_t transaction_bytes; /* from offset to behind the FLUSH; 0 = not looked for yet */
    Buf schema;                 /* of the last USE_TABLE of the transaction */
    Buf table;
    bool has_table;
    Arena arena; /* of one change */
    Chunk chunk; /* of the change, if it has values */
    char reason[WAL_REASON_BYTES];
};

/* What the two headers of the database file say. */
typedef struct FileState {
    uint64_t device;
    uint64_t inode;
    uint64_t iteration;
} FileState;

/* False: the reason is set. */
bool weir_wal_read_header(Wal *wal, FileState *out);

/* After read_header: is the descriptor the one that was marked last? */
bool weir_wal_is_marked(const Wal *wal);

/* Marks it; false: that cannot be done, and the reason is set. */
bool weir_wal_mark_descriptor(Wal *wal);

/* After read_header: does DuckDB write the log at its path, or none? False: the reason is set. */
bool weir_wal_owns_log(Wal *wal, const FileState *file);

/* A descriptor of this process that passes the test; -1 if there is none. */
typedef bool (*DescriptorTest)(int descriptor, const void *user);
int weir_wal_find_descriptor(DescriptorTest test, const void *user);

/* Sets the reason; gives WAL_UNKNOWN. */
WalState weir_wal_say(Wal *wal, const char *format, ...) WEIR_PRINTF(2, 3);

/* The bytes of the next complete commit, its FLUSH included; 0 if there is none. LOG_DAMAGED: what
 * is there will never be one; the reason is set. */
LogResult weir_wal_find_commit(Wal *wal, uint64_t offset, uint64_t *bytes, bool *is_checkpoint);

#endif
