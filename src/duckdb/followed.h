/* followed.h: a followed table, as the files of the host share it. */
#ifndef WEIR_DUCKDB_FOLLOWED_H
#define WEIR_DUCKDB_FOLLOWED_H

#include "duckdb/host_priv.h"
#include "duckdb/log_table.h"

struct HostTable {
    DuckHost *host; /* borrowed */
    Arena arena;    /* the name */
    TableName name;
    int64_t oid;       /* when it was last seen; tells a renamed table from a dropped one */
    Baseline baseline; /* of a host that captures: only its schema is used */
    bool is_followed;
    uint64_t row_count; /* of a host that captures: when it was last read */
    char *facts;        /* owned: the definition that the baseline stands on */
    LogFile *file;      /* one user; NULL = its database is not a file, or not known */
    LogTable log;
    uint64_t prepared_epoch; /* of the host, when the log was last read for it */
    bool was_logged;         /* the log was to tell what changed since the last sync */
    bool is_append_only;     /* believed to be: old rows are looked at in samples */
    size_t next_sample;      /* the group that is looked at next */
    Error failure;           /* of applying the log: the next sync reads the table anew */
};

#endif
