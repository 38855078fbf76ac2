/* log.c: see log.h. Reads are of at least WINDOW_BYTES, so that a small change is one read. */
#include "wal/log.h"

#include "base/codec.h"
#include "wal/checksum.h"
#include "wal/cursor.h"
#include "wal/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_BYTES = 256 << 10, VERSION_BYTES_MAX = 256 };

LogResult weir_log_open(Log *log, const char *path)
{
    WEIR_ASSERT(log->descriptor < 0);
    log->filled = 0;
    log->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (log->descriptor < 0) {
        return errno == ENOENT ? LOG_SHORT : LOG_DAMAGED;
    }
    struct stat info;
    if (fstat(log->descriptor, &info) != 0) {
        return LOG_DAMAGED;
    }
    log->inode = (uint64_t)info.st_ino;
    log->size = info.st_size > 0 ? (uint64_t)info.st_size : 0;
    return LOG_OK;
}

void weir_log_close(Log *log)
{
    if (log->descriptor >= 0) {
        close(log->descriptor);
    }
    log->descriptor = -1;
    log->filled = 0;
    if (log->window_bytes > WINDOW_BYTES) {
        weir_log_free_window(log);
    }
}

void weir_log_free_window(Log *log)
{
    weir_mem_free(log->mem, log->window);
    log->window = NULL;
    log->window_bytes = 0;
    log->filled = 0;
}

/* Room for so many bytes, what is in the window given up. */
static bool make_room(Log *log, size_t size)
{
    if (size <= log->window_bytes) {
        return true;
    }
    Error err = {0};
    weir_log_free_window(log);
    log->window = weir_mem_alloc(log->mem, size, &err);
    if (log->window == NULL) {
        return false;
    }
    log->window_bytes = size;
    return true;
}

/* Reads until the window is full or the file ends. */
static void fill(Log *log, uint64_t offset)
{
    log->start = offset;
    log->filled = 0;
    while (log->filled < log->window_bytes) {
        const ssize_t count = pread(log->descriptor, log->window + log->filled,
                                    log->window_bytes - log->filled, (off_t)(offset + log->filled));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return;
        }
        log->filled += (size_t)count;
        if (offset + log->filled >= log->size) {
            return;
        }
    }
}

LogResult weir_log_get(Log *log, uint64_t offset, size_t size, const uint8_t **out)
{
    if (offset > log->size || size > log->size - offset) {
        return LOG_SHORT;
    }
    if (offset < log->start || offset - log->start > log->filled ||
        size > log->filled - (size_t)(offset - log->start)) {
        if (!make_room(log, WEIR_MAX(size, (size_t)WINDOW_BYTES))) {
            return LOG_NO_MEMORY;
        }
        fill(log, offset);
        if (size > log->filled) {
            return LOG_SHORT; /* cut since */
        }
    }
    *out = log->window + (size_t)(offset - log->start);
    return LOG_OK;
}

LogResult weir_log_check_entry(Log *log, uint64_t offset, uint64_t *payload_bytes)
{
    const uint8_t *bytes = NULL;
    LogResult result = weir_log_get(log, offset, LOG_ENTRY_HEAD_BYTES, &bytes);
    if (result != LOG_OK) {
        return result;
    }
    const uint64_t size = weir_load_u64(bytes);
    const uint64_t expected = weir_load_u64(bytes + sizeof(uint64_t));
    const uint64_t start = offset + LOG_ENTRY_HEAD_BYTES;
    if (size == 0) {
        return LOG_DAMAGED;
    }
    if (size > log->size - start) {
        return LOG_SHORT;
    }
    uint64_t checksum = WAL_CHECKSUM_START;
    for (uint64_t at = 0; at < size;) {
        const size_t part = (size_t)WEIR_MIN(size - at, (uint64_t)WINDOW_BYTES);
        result = weir_log_get(log, start + at, part, &bytes);
        if (result != LOG_OK) {
            return result;
        }
        checksum = weir_wal_checksum_more(checksum, bytes, part);
        at += part;
    }
    *payload_bytes = size;
    return checksum == expected ? LOG_OK : LOG_DAMAGED;
}

LogResult weir_log_get_kind(Log *log, uint64_t offset, uint64_t *kind)
{
    const size_t least = 5; /* id, one byte of kind, id */
    const uint8_t *bytes = NULL;
    const LogResult result = weir_log_get(log, offset, LOG_ENTRY_HEAD_BYTES + least, &bytes);
    if (result != LOG_OK) {
        return result == LOG_SHORT ? LOG_DAMAGED : result;
    }
    Cursor cursor = {.at = bytes + LOG_ENTRY_HEAD_BYTES,
                     .end = bytes + LOG_ENTRY_HEAD_BYTES + least};
    weir_cursor_expect(&cursor, WAL_PROPERTY_KIND);
    *kind = weir_cursor_u64(&cursor);
    return cursor.fault == NULL ? LOG_OK : LOG_DAMAGED;
}

LogResult weir_log_get_tail(const Log *log, uint64_t offset, uint64_t *checksum)
{
    uint8_t bytes[LOG_TAIL_BYTES];
    const size_t size = (size_t)WEIR_MIN(offset, (uint64_t)sizeof bytes);
    if (pread(log->descriptor, bytes, size, (off_t)(offset - size)) != (ssize_t)size) {
        return LOG_SHORT;
    }
    *checksum = weir_wal_checksum(bytes, size);
    return LOG_OK;
}

LogResult weir_log_get_version(Log *log, LogVersion *out)
{
    const size_t size = (size_t)WEIR_MIN(log->size, (uint64_t)VERSION_BYTES_MAX);
    const uint8_t *bytes = NULL;
    const LogResult result = weir_log_get(log, 0, size, &bytes);
    if (result != LOG_OK) {
        return result;
    }
    *out = (LogVersion){0};
    Cursor cursor = {.at = bytes, .end = bytes + size};
    weir_cursor_expect(&cursor, WAL_PROPERTY_KIND);
    if (weir_cursor_u64(&cursor) != WAL_ENTRY_VERSION) {
        weir_cursor_fail(&cursor, "the log does not begin with its version");
    }
    weir_cursor_expect(&cursor, 101);
    out->version = weir_cursor_u64(&cursor);
    if (weir_cursor_has(&cursor, 102)) {
        const size_t count = weir_cursor_count(&cursor, 1);
        for (size_t i = 0; i < count && cursor.fault == NULL; i++) {
            (void)weir_cursor_u64(&cursor);
        }
    }
    if (weir_cursor_has(&cursor, 103)) {
        out->has_iteration = true;
        out->iteration = weir_cursor_u64(&cursor);
    }
    weir_cursor_expect(&cursor, WAL_OBJECT_END);
    out->size = (uint64_t)(cursor.at - bytes);
    if (cursor.fault == NULL) {
        return LOG_OK;
    }
    return size < VERSION_BYTES_MAX ? LOG_SHORT : LOG_DAMAGED;
}
