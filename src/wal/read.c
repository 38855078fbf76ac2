/* read.c: from entries to changes, commit by commit.
 *
 * A commit is read twice: first up to its FLUSH, every checksum compared; then entry by entry. What
 * has no FLUSH yet, or breaks off, is not touched: a commit that is being written, or one that was
 * not finished when its process died. An entry that is all there but has another checksum was not
 * written by DuckDB as it is: then nothing behind it is believed. */
#include "wal/entry.h"
#include "base/codec.h"
#include "wal/kinds.h"

enum {
    ENTRY_BYTES_MAX = 256 << 20, /* what is taken into memory at once */
    NAMES_BYTES_MAX = 64 << 10,  /* of entries of which only the names matter */
};

LogResult weir_wal_find_commit(Wal *wal, uint64_t offset, uint64_t *bytes, bool *is_checkpoint)
{
    *bytes = 0;
    *is_checkpoint = false;
    uint64_t kind = 0;
    uint64_t at = offset;
    while (kind != WAL_ENTRY_FLUSH) {
        uint64_t size = 0;
        LogResult result = weir_log_check_entry(&wal->log, at, &size);
        if (result == LOG_SHORT) {
            return LOG_OK;
        }
        result = result == LOG_OK ? weir_log_get_kind(&wal->log, at, &kind) : result;
        if (result != LOG_OK) {
            (void)weir_wal_say(wal, "the log is damaged at byte %llu", (unsigned long long)at);
            return result;
        }
        *is_checkpoint = *is_checkpoint || kind == WAL_ENTRY_CHECKPOINT;
        at += LOG_ENTRY_HEAD_BYTES + size;
    }
    *bytes = at - offset;
    return LOG_OK;
}

static void put_lost(Wal *wal, WalChange *out)
{
    *out = (WalChange){.kind = WAL_LOST, .reason = wal->reason};
    wal->is_lost = true;
}

/* Makes sure that a complete commit lies at the offset. *go_on: it does. */
static Status begin_commit(Wal *wal, WalChange *out, bool *go_on, Error *err)
{
    *go_on = false;
    if (wal->offset == 0) {
        return WEIR_OK; /* not even the version is there */
    }
    bool is_checkpoint = false;
    const LogResult result =
        weir_wal_find_commit(wal, wal->offset, &wal->transaction_bytes, &is_checkpoint);
    if (result == LOG_NO_MEMORY) {
        weir_wal_end(wal);
        return weir_error_set(err, WEIR_ERR_NOMEM, "no memory to read the log %s", wal->log_path);
    }
    if (result != LOG_OK) {
        put_lost(wal, out);
    } else if (is_checkpoint) {
        (void)weir_wal_say(wal, "a checkpoint was begun");
        put_lost(wal, out);
    }
    *go_on = result == LOG_OK && !is_checkpoint && wal->transaction_bytes > 0;
    wal->has_table = false;
    return WEIR_OK;
}

/* Entries of catalog objects that are no tables. */
static bool is_harmless(uint64_t kind)
{
    switch (kind) {
    case WAL_ENTRY_CREATE_SCHEMA:
    case WAL_ENTRY_CREATE_VIEW:
    case WAL_ENTRY_DROP_VIEW:
    case WAL_ENTRY_CREATE_SEQUENCE:
    case WAL_ENTRY_DROP_SEQUENCE:
    case WAL_ENTRY_SEQUENCE_VALUE:
    case WAL_ENTRY_CREATE_MACRO:
    case WAL_ENTRY_DROP_MACRO:
    case WAL_ENTRY_CREATE_TYPE:
    case WAL_ENTRY_DROP_TYPE:
    case WAL_ENTRY_CREATE_TABLE_MACRO:
    case WAL_ENTRY_DROP_TABLE_MACRO:
    case WAL_ENTRY_CREATE_INDEX:
    case WAL_ENTRY_DROP_INDEX: return true;
    default: return false;
    }
}

static bool is_data(uint64_t kind)
{
    return kind >= WAL_ENTRY_INSERT && kind <= WAL_ENTRY_ROW_GROUP;
}

static Status read_data(Wal *wal, uint64_t kind, Cursor *c, WalChange *out, Error *err)
{
    if (!wal->has_table) {
        weir_cursor_fail(c, "data of no table");
        return WEIR_OK;
    }
    switch (kind) {
    case WAL_ENTRY_INSERT: WEIR_TRY(weir_entry_insert(wal, c, out, err)); break;
    case WAL_ENTRY_DELETE: WEIR_TRY(weir_entry_delete(wal, c, out, err)); break;
    case WAL_ENTRY_UPDATE: WEIR_TRY(weir_entry_update(wal, c, out, err)); break;
    default: out->kind = WAL_BULK; break;
    }
    if (c->fault != NULL) {
        *out = (WalChange){.kind = WAL_UNREADABLE, .reason = c->fault};
        c->fault = NULL;
    }
    out->schema = wal->schema.data;
    out->table = wal->table.data;
    return WEIR_OK;
}

/* The entry's payload, or as much of it as matters. */
static LogResult get_payload(Wal *wal, uint64_t kind, uint64_t size, Cursor *out)
{
    const size_t most = is_data(kind) ? (size_t)ENTRY_BYTES_MAX : (size_t)NAMES_BYTES_MAX;
    const size_t part = kind == WAL_ENTRY_ROW_GROUP ? 0 : (size_t)WEIR_MIN(size, (uint64_t)most);
    const uint8_t *bytes = NULL;
    const LogResult result =
        weir_log_get(&wal->log, wal->offset + LOG_ENTRY_HEAD_BYTES, part, &bytes);
    *out = (Cursor){.at = bytes, .end = bytes + (result == LOG_OK ? part : 0)};
    return result;
}

/* Reads one entry, which is not FLUSH. out->kind stays WAL_END if it says nothing of a table. */
static Status read_entry(Wal *wal, uint64_t kind, uint64_t size, WalChange *out, Error *err)
{
    Cursor c = {0};
    const LogResult result = get_payload(wal, kind, size, &c);
    if (result == LOG_NO_MEMORY) {
        return weir_error_set(err, WEIR_ERR_NOMEM, "no memory for an entry of the log %s",
                              wal->log_path);
    }
    if (result != LOG_OK) {
        (void)weir_wal_say(wal, "the log was cut while it was read");
        put_lost(wal, out);
        return WEIR_OK;
    }
    if (kind != WAL_ENTRY_ROW_GROUP) {
        weir_cursor_expect(&c, WAL_PROPERTY_KIND);
        (void)weir_cursor_u64(&c);
    }
    Status status = WEIR_OK;
    if (kind == WAL_ENTRY_USE_TABLE) {
        status = weir_entry_use_table(wal, &c, err);
    } else if (is_data(kind)) {
        status = read_data(wal, kind, &c, out, err);
    } else {
        status = weir_entry_shape(wal, kind, &c, out, err);
        if (c.fault != NULL && kind == WAL_ENTRY_CREATE_TABLE) {
            *out = (WalChange){.kind = WAL_END}; /* a new table touches no old one */
            c.fault = NULL;
        }
    }
    if (status == WEIR_OK && c.fault != NULL) {
        (void)weir_wal_say(wal, "an entry of kind %llu is not understood: %s",
                           (unsigned long long)kind, c.fault);
        put_lost(wal, out);
    }
    return status;
}

static void end_commit(Wal *wal, WalChange *out)
{
    *out = (WalChange){.kind = WAL_COMMIT};
    wal->transaction_bytes = 0;
    wal->position.offset = wal->offset;
    wal->position.log_inode = wal->log.inode;
}

/* One entry further. */
static Status step(Wal *wal, WalChange *out, Error *err)
{
    uint64_t kind = 0;
    const uint8_t *head = NULL;
    if (weir_log_get_kind(&wal->log, wal->offset, &kind) != LOG_OK ||
        weir_log_get(&wal->log, wal->offset, LOG_ENTRY_HEAD_BYTES, &head) != LOG_OK) {
        (void)weir_wal_say(wal, "the log was cut while it was read");
        put_lost(wal, out);
        return WEIR_OK;
    }
    const uint64_t size = weir_load_u64(head);
    const uint64_t bytes = LOG_ENTRY_HEAD_BYTES + size;
    if (bytes > wal->transaction_bytes) {
        (void)weir_wal_say(wal, "the log was rewritten while it was read");
        put_lost(wal, out);
        return WEIR_OK;
    }
    const bool is_known = kind == WAL_ENTRY_FLUSH || kind == WAL_ENTRY_USE_TABLE || is_data(kind) ||
                          is_harmless(kind) || kind == WAL_ENTRY_CREATE_TABLE ||
                          kind == WAL_ENTRY_DROP_TABLE || kind == WAL_ENTRY_DROP_SCHEMA ||
                          kind == WAL_ENTRY_ALTER;
    if (!is_known) {
        (void)weir_wal_say(wal, "an entry has a kind that is not known: %llu",
                           (unsigned long long)kind);
        put_lost(wal, out);
        return WEIR_OK;
    }
    Status status = WEIR_OK;
    if (kind != WAL_ENTRY_FLUSH && !is_harmless(kind)) {
        status = read_entry(wal, kind, size, out, err);
    }
    wal->offset += bytes;
    wal->transaction_bytes -= bytes;
    if (kind == WAL_ENTRY_FLUSH) {
        end_commit(wal, out);
    }
    return status;
}

Status weir_wal_next(Wal *wal, WalChange *out, Error *err)
{
    *out = (WalChange){.kind = WAL_END};
    while (out->kind == WAL_END && wal->is_reading && !wal->is_lost && wal->log.descriptor >= 0) {
        wal->chunk = (Chunk){0};
        weir_arena_reset(&wal->arena);
        if (wal->transaction_bytes == 0) {
            bool go_on = false;
            WEIR_TRY(begin_commit(wal, out, &go_on, err));
            if (!go_on) {
                return WEIR_OK;
            }
        }
        const Status status = step(wal, out, err);
        if (status != WEIR_OK) {
            weir_wal_end(wal);
            return status;
        }
    }
    return WEIR_OK;
}

Status weir_wal_values(Wal *wal, Batch *out, const char **reason, Error *err)
{
    const Chunk *const chunk = &wal->chunk;
    *out = (Batch){.count = chunk->row_count};
    *reason = NULL;
    const size_t count = chunk->value_count;
    Vector *columns = weir_arena_calloc(&wal->arena, count, sizeof *columns, err);
    if (columns == NULL) {
        return err->code;
    }
    size_t nested_bytes_left = chunk->nested_bytes_max;
    for (size_t i = 0; i < count; i++) {
        WEIR_TRY(weir_wal_make_vector(&chunk->columns[i], &nested_bytes_left, &wal->arena,
                                      &columns[i], reason, err));
        if (*reason != NULL) {
            *out = (Batch){0};
            return WEIR_OK;
        }
    }
    out->column_count = count;
    out->columns = columns;
    return WEIR_OK;
}
