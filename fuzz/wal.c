/* wal.c: libFuzzer on the log: an entry of any content, or a log of any bytes.
 *
 * Build and run: fuzz/run wal. An input that begins like a log is one; any other is the payload of an
 * entry, and gets a table, its checksum and the end of a commit around it. Whatever it is must be
 * read, decoded or refused; what is decoded is looked at whole. */
#include "wal/checksum.h"
#include "wal/wal.h"

#include "base/codec.h"
#include "types/nested.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUDGET_BYTES = 512 << 20, HEADER_BYTES = 4096, DATABASE_BYTES = 3 * HEADER_BYTES };

static const uint8_t VERSION[] = {100, 0, 98, 101, 0, 2, 0xff, 0xff};
static const uint8_t USE_TABLE[] = {100, 0, 25, 101, 0, 1, 'm', 102, 0, 1, 't', 0xff, 0xff};
static const uint8_t FLUSH[] = {100, 0, 100, 0xff, 0xff};

static char database_path[] = "/tmp/fuzz_wal_XXXXXX";
static char log_path[sizeof database_path + 4];
static int database;

/* A database file with iteration 0. */
static void make_database(void)
{
    uint8_t bytes[DATABASE_BYTES] = {0};
    weir_store_u64(bytes + HEADER_BYTES,
                   weir_wal_checksum(bytes + HEADER_BYTES + 8, HEADER_BYTES - 8));
    database = mkstemp(database_path);
    if (database < 0 || pwrite(database, bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        __builtin_trap();
    }
    (void)snprintf(log_path, sizeof log_path, "%s.wal", database_path);
}

static void put(int log, const void *bytes, size_t size)
{
    if (write(log, bytes, size) != (ssize_t)size) {
        __builtin_trap();
    }
}

static void put_entry(int log, const uint8_t *payload, size_t size)
{
    uint8_t head[16];
    weir_store_u64(head, size);
    weir_store_u64(head + 8, weir_wal_checksum(payload, size));
    put(log, head, sizeof head);
    put(log, payload, size);
}

static void write_log(const uint8_t *data, size_t size)
{
    const int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0) {
        __builtin_trap();
    }
    if (size >= 3 && memcmp(data, VERSION, 3) == 0) {
        put(log, data, size);
    } else {
        put(log, VERSION, sizeof VERSION);
        put_entry(log, USE_TABLE, sizeof USE_TABLE);
        put_entry(log, data, size);
        put_entry(log, FLUSH, sizeof FLUSH);
    }
    close(log);
}

/* Reads every byte of the values, so that a sanitizer sees what is not there. */
static void look_at(const Batch *batch, const WalChange *change)
{
    volatile unsigned char sink = 0;
    for (size_t c = 0; c < batch->column_count; c++) {
        const Vector *const vector = &batch->columns[c];
        const LogicalType *const type = change->types[c];
        for (size_t i = 0; i < batch->count; i++) {
            if (weir_vector_is_null(vector, i)) {
                continue;
            }
            const size_t place = weir_vector_place(vector, i);
            const size_t width = weir_phys_width(vector->phys);
            const char *bytes = (const char *)vector->data + place * width;
            size_t size = width;
            if (vector->phys == PHYS_STRING) {
                const String *const string = (const String *)(const void *)bytes;
                bytes = weir_string_data(string);
                size = weir_string_size(string);
            }
            for (size_t b = 0; b < size; b++) {
                sink = (unsigned char)(sink + (unsigned char)bytes[b]);
            }
            if (weir_type_is_nested(type) && weir_nested_size(type, bytes) != size) {
                __builtin_trap(); /* not canonical */
            }
        }
    }
}

static void read_changes(Wal *wal)
{
    Error err = {0};
    WalChange change = {.kind = WAL_COMMIT};
    while (change.kind != WAL_END && change.kind != WAL_LOST) {
        if (weir_wal_next(wal, &change, &err) != WEIR_OK) {
            return;
        }
        for (size_t i = 0; change.row_ids != NULL && i < change.row_count; i++) {
            if (change.row_ids[i] < 0) {
                __builtin_trap();
            }
        }
        Batch batch = {0};
        const char *reason = NULL;
        const bool has_values =
            (change.kind == WAL_INSERT || change.kind == WAL_UPDATE) && change.reason == NULL;
        if (has_values && weir_wal_values(wal, &batch, &reason, &err) == WEIR_OK &&
            reason == NULL) {
            look_at(&batch, &change);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (log_path[0] == '\0') {
        make_database();
    }
    (void)unlink(log_path);
    Mem *mem = weir_mem_new(BUDGET_BYTES);
    Error err = {0};
    Wal *wal = NULL;
    WalPosition position;
    if (mem == NULL || weir_wal_open(mem, database_path, &wal, &err) != WEIR_OK) {
        return 0;
    }
    weir_wal_use_descriptor(wal, database);
    if (weir_wal_mark(wal, &position) != WAL_NEW) {
        __builtin_trap();
    }
    write_log(data, size);
    if (weir_wal_begin(wal, &position) == WAL_NEW) {
        read_changes(wal);
    }
    weir_wal_end(wal);
    (void)weir_wal_mark(wal, &position);
    weir_wal_close(wal);
    if (weir_mem_used(mem) != 0) {
        __builtin_trap();
    }
    weir_mem_free_allocator(mem);
    return 0;
}
