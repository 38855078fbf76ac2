/* log.h: the bytes of a log: a file, a window of it in memory, entries with their checksums.
 *
 *   0    the version: an object without size and checksum, properties 100 kind (98), 101 version,
 *        and if the storage version is 1.3 or later 102 database identifier, 103 iteration
 *   then entries: u64 size, u64 checksum of the payload, payload: an object, property 100 its kind */
#ifndef WEIR_WAL_LOG_H
#define WEIR_WAL_LOG_H

#include "base/mem.h"

enum { LOG_ENTRY_HEAD_BYTES = 16, LOG_TAIL_BYTES = 256 };

typedef struct Log {
    Mem *mem;       /* borrowed */
    int descriptor; /* owned; -1 = closed */
    uint64_t inode;
    uint64_t size;       /* bytes in the file when it was looked at last */
    uint8_t *window;     /* owned */
    size_t window_bytes; /* allocated */
    uint64_t start;      /* the file's offset of the window's first byte */
    size_t filled;       /* bytes of the file in the window */
} Log;

typedef enum LogResult {
    LOG_OK,
    LOG_SHORT,   /* the file does not reach so far (yet) */
    LOG_DAMAGED, /* what is there is not an entry */
    LOG_NO_MEMORY,
} LogResult;

/* LOG_SHORT: there is no such file. LOG_DAMAGED: it cannot be opened; errno is set. */
LogResult weir_log_open(Log *log, const char *path);

/* Keeps a window of the usual size for the next time; weir_log_free_window gives it back too. */
void weir_log_close(Log *log);
void weir_log_free_window(Log *log);

/* *out = the bytes of the file from offset on, valid until the next call. */
LogResult weir_log_get(Log *log, uint64_t offset, size_t size, const uint8_t **out);

/* Reads the entry's head and compares the payload with its checksum, whatever its size. */
LogResult weir_log_check_entry(Log *log, uint64_t offset, uint64_t *payload_bytes);

/* The kind of the entry at offset. */
LogResult weir_log_get_kind(Log *log, uint64_t offset, uint64_t *kind);

/* The checksum of the LOG_TAIL_BYTES in front of offset, or of all if there are fewer. */
LogResult weir_log_get_tail(const Log *log, uint64_t offset, uint64_t *checksum);

typedef struct LogVersion {
    uint64_t version;
    bool has_iteration;
    uint64_t iteration;
    uint64_t size; /* bytes it takes: where the entries begin */
} LogVersion;

LogResult weir_log_get_version(Log *log, LogVersion *out);

#endif
