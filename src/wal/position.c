/* position.c: a Wal, and where its log is: mark, look, begin.
 *
 * The log is opened, or found absent, before the iteration is read. If the iteration is the
 * position's, the log that was found belongs to it: a younger one appears only after the file's
 * header has been written. And what a commit wrote before it returned is in that log or has raised
 * the iteration. So "same iteration, same log, nothing behind the position" proves that no commit had
 * returned when the look began.
 *
 * The log is opened and closed each time. That drops DuckDB's lock on the log, which protects
 * nothing: who may write the log is decided by the lock on the database file. */
#include "wal/wal_priv.h"

#include "wal/kinds.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum { NAME_BYTES_MAX = 64 << 10, ARENA_BLOCK_BYTES = 64 << 10 };

Status weir_wal_open(Mem *mem, const char *database, Wal **out, Error *err)
{
    Wal *wal = weir_mem_zalloc(mem, sizeof *wal, err);
    if (wal == NULL) {
        return err->code;
    }
    Status status = WEIR_OK;
    wal->mem = mem;
    wal->descriptor = -1;
    wal->log = (Log){.mem = mem, .descriptor = -1};
    weir_arena_init(&wal->arena, mem, ARENA_BLOCK_BYTES);
    weir_buf_init(&wal->schema, mem, NAME_BYTES_MAX);
    weir_buf_init(&wal->table, mem, NAME_BYTES_MAX);
    Buf log_path;
    weir_buf_init(&log_path, mem, SIZE_MAX / 2);
    /* Where DuckDB puts it: in front of a question mark. */
    const size_t stem = strcspn(database, "?");
    weir_buf_append(&log_path, database, stem);
    weir_buf_puts(&log_path, ".wal");
    weir_buf_puts(&log_path, database + stem);
    wal->log_path = weir_buf_take(&log_path, err);
    weir_buf_deinit(&log_path);
    wal->path = wal->log_path == NULL ? NULL : weir_mem_strdup(mem, database, err);
    if (wal->path == NULL) {
        status = err->code;
        weir_wal_close(wal);
        wal = NULL;
    }
    *out = wal;
    return status;
}

void weir_wal_close(Wal *wal)
{
    if (wal == NULL) {
        return;
    }
    weir_wal_end(wal);
    weir_log_free_window(&wal->log);
    weir_buf_deinit(&wal->schema);
    weir_buf_deinit(&wal->table);
    weir_arena_deinit(&wal->arena);
    weir_mem_free(wal->mem, wal->path);
    weir_mem_free(wal->mem, wal->log_path);
    weir_mem_free(wal->mem, wal);
}

void weir_wal_use_descriptor(Wal *wal, int descriptor)
{
    wal->descriptor = descriptor;
    wal->descriptor_is_given = true;
}

bool weir_wal_has_logged(const Wal *wal)
{
    return wal->has_logged;
}

const char *weir_wal_reason(const Wal *wal)
{
    return wal->reason;
}

WalState weir_wal_say(Wal *wal, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (vsnprintf(wal->reason, sizeof wal->reason, format, args) < 0) {
        wal->reason[0] = '\0';
    }
    va_end(args);
    return WAL_UNKNOWN;
}

/* Opens the log, if there is one, then reads the header. */
static bool open_log(Wal *wal, FileState *file)
{
    weir_wal_end(wal);
    const LogResult result = weir_log_open(&wal->log, wal->log_path);
    if (result == LOG_DAMAGED) {
        (void)weir_wal_say(wal, "the log cannot be opened (errno %d)", errno);
        return false;
    }
    if (result == LOG_SHORT) {
        wal->log.inode = 0;
        wal->log.size = 0;
    }
    wal->has_logged = wal->has_logged || wal->log.size > 0;
    return weir_wal_read_header(wal, file);
}

/* The version in front of the entries; *offset = where they begin, 0 if it is not there yet. */
static bool read_version(Wal *wal, uint64_t iteration, uint64_t *offset)
{
    LogVersion version = {0};
    *offset = 0;
    const LogResult result =
        wal->log.size == 0 ? LOG_SHORT : weir_log_get_version(&wal->log, &version);
    if (result == LOG_SHORT) {
        return true;
    }
    if (result != LOG_OK) {
        (void)weir_wal_say(wal, "the log's beginning is not understood");
        return false;
    }
    if (version.version != WAL_VERSION_PLAIN) {
        (void)weir_wal_say(wal, version.version == WAL_VERSION_ENCRYPTED
                                    ? "the log is encrypted"
                                    : "the log has a version that is not known");
        return false;
    }
    if (version.has_iteration && version.iteration != iteration) {
        (void)weir_wal_say(wal, "the log belongs to another checkpoint than the database file");
        return false;
    }
    *offset = version.size;
    return true;
}

static WalState mark_end(Wal *wal, const FileState *file, WalPosition *out)
{
    uint64_t offset = 0;
    if (!read_version(wal, file->iteration, &offset)) {
        return WAL_UNKNOWN;
    }
    *out = (WalPosition){
        .device = file->device,
        .inode = file->inode,
        .session = wal->session,
        .iteration = file->iteration,
    };
    bool is_checkpoint = false;
    for (uint64_t bytes = offset == 0 ? 0 : 1; bytes > 0;) {
        bool is_next_checkpoint = false;
        const LogResult result = weir_wal_find_commit(wal, offset, &bytes, &is_next_checkpoint);
        if (result == LOG_NO_MEMORY) {
            return weir_wal_say(wal, "there is no memory to read the log");
        }
        if (result != LOG_OK) {
            return WAL_UNKNOWN;
        }
        is_checkpoint = bytes > 0 ? is_next_checkpoint : is_checkpoint;
        offset += bytes;
    }
    if (is_checkpoint) {
        return weir_wal_say(wal, "a checkpoint is running");
    }
    if (offset > 0) {
        out->offset = offset;
        out->log_inode = wal->log.inode;
        if (weir_log_get_tail(&wal->log, offset, &out->tail) != LOG_OK) {
            return weir_wal_say(wal, "the log was cut while it was read");
        }
    }
    return WAL_NEW;
}

WalState weir_wal_mark(Wal *wal, WalPosition *out)
{
    FileState file;
    const bool is_open =
        open_log(wal, &file) && weir_wal_mark_descriptor(wal) && weir_wal_owns_log(wal, &file);
    const WalState state = is_open ? mark_end(wal, &file, out) : WAL_UNKNOWN;
    weir_log_close(&wal->log);
    return state;
}

static WalState compare(Wal *wal, const WalPosition *position, const FileState *file)
{
    if (file->device != position->device || file->inode != position->inode) {
        return weir_wal_say(wal, "the database file is another one");
    }
    if (file->iteration != position->iteration) {
        return weir_wal_say(wal, "there was a checkpoint");
    }
    if (!weir_wal_is_marked(wal) || wal->session != position->session) {
        return weir_wal_say(wal, "the database file was opened anew");
    }
    if (position->offset == 0) {
        if (!weir_wal_owns_log(wal, file)) {
            return WAL_UNKNOWN;
        }
        return wal->log.size == 0 ? WAL_NOTHING_NEW : WAL_NEW;
    }
    if (wal->log.inode != position->log_inode || wal->log.size < position->offset) {
        return weir_wal_say(wal, "the log was replaced or cut");
    }
    uint64_t tail = 0;
    if (weir_log_get_tail(&wal->log, position->offset, &tail) != LOG_OK || tail != position->tail) {
        return weir_wal_say(wal, "the log was rewritten");
    }
    return wal->log.size == position->offset ? WAL_NOTHING_NEW : WAL_NEW;
}

static WalState look(Wal *wal, const WalPosition *position)
{
    FileState file;
    return open_log(wal, &file) ? compare(wal, position, &file) : WAL_UNKNOWN;
}

WalState weir_wal_look(Wal *wal, const WalPosition *position)
{
    const WalState state = look(wal, position);
    weir_log_close(&wal->log);
    return state;
}

WalState weir_wal_begin(Wal *wal, const WalPosition *position)
{
    WalState state = look(wal, position);
    wal->position = *position;
    wal->offset = position->offset;
    wal->transaction_bytes = 0;
    wal->has_table = false;
    wal->is_lost = false;
    if (state == WAL_NEW && position->offset == 0 &&
        !read_version(wal, position->iteration, &wal->offset)) {
        state = WAL_UNKNOWN;
    }
    wal->is_reading = state != WAL_UNKNOWN;
    if (state != WAL_NEW) {
        weir_log_close(&wal->log);
    }
    return state;
}

void weir_wal_end(Wal *wal)
{
    weir_log_close(&wal->log);
    wal->is_reading = false;
    wal->chunk = (Chunk){0};
    weir_arena_deinit(&wal->arena); /* an entry may have been large */
    weir_arena_init(&wal->arena, wal->mem, ARENA_BLOCK_BYTES);
}

uint64_t weir_wal_offset(const Wal *wal)
{
    return wal->position.offset;
}

bool weir_wal_position(Wal *wal, WalPosition *out)
{
    WEIR_ASSERT(wal->is_reading);
    *out = wal->position;
    if (out->offset == 0 || wal->log.descriptor < 0) {
        return true;
    }
    return weir_log_get_tail(&wal->log, out->offset, &out->tail) == LOG_OK;
}
