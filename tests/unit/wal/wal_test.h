/* wal_test.h: database files and logs made by the tests, and the reader's changes as text. */
#ifndef WEIR_TESTS_WAL_TEST_H
#define WEIR_TESTS_WAL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/codec.h"
#include "wal/checksum.h"
#include "wal/wal.h"

enum { DATABASE_BYTES = 3 * 4096, HEADER_OFFSET = 4096, HEADER_SIZE = 4096 };

/* A database file of which only the headers are there, and its log. */
typedef struct Files {
    Mem *mem;
    char database[64];
    char log[80];
    int descriptor;
    Wal *wal;
} Files;

static inline void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Header `which` (0 or 1) as a checkpoint writes it. */
static inline void write_header(const Files *files, size_t which, uint64_t iteration)
{
    uint8_t header[HEADER_SIZE] = {0};
    weir_store_u64(header + 8, iteration);
    weir_store_u64(header, weir_wal_checksum(header + 8, sizeof header - 8));
    assert_int_equal(pwrite(files->descriptor, header, sizeof header,
                            (off_t)(HEADER_OFFSET + which * HEADER_SIZE)),
                     sizeof header);
}

/* A database file with iteration 0 and no log. */
static inline void files_open(Files *files, const char *name)
{
    static const uint8_t nothing[DATABASE_BYTES];
    Error err = {0};
    files->mem = weir_mem_new(0);
    assert_non_null(files->mem);
    (void)snprintf(files->database, sizeof files->database, "%s_%ld.db", name, (long)getpid());
    (void)snprintf(files->log, sizeof files->log, "%s.wal", files->database);
    (void)unlink(files->log);
    write_file(files->database, nothing, sizeof nothing);
    files->descriptor = open(files->database, O_RDWR | O_CLOEXEC);
    assert_true(files->descriptor >= 0);
    write_header(files, 0, 0);
    assert_int_equal(weir_wal_open(files->mem, files->database, &files->wal, &err), WEIR_OK);
    weir_wal_use_descriptor(files->wal, files->descriptor);
}

static inline void files_close(Files *files)
{
    weir_wal_close(files->wal);
    close(files->descriptor);
    (void)unlink(files->database);
    (void)unlink(files->log);
    assert_int_equal(weir_mem_used(files->mem), 0);
    weir_mem_free_allocator(files->mem);
}

/* --- bytes of a log ---------------------------------------------------------------------------- */

typedef struct Bytes {
    uint8_t data[1 << 17];
    size_t size;
} Bytes;

static inline void put(Bytes *b, const void *bytes, size_t size)
{
    assert_true(size <= sizeof b->data - b->size);
    memcpy(b->data + b->size, bytes, size);
    b->size += size;
}

static inline void put_number(Bytes *b, uint64_t value)
{
    do {
        const uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put(b, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

/* A property's id; 0xffff ends an object. */
static inline void put_id(Bytes *b, unsigned id)
{
    const uint8_t bytes[2] = {(uint8_t)id, (uint8_t)(id >> 8)};
    put(b, bytes, sizeof bytes);
}

static inline void put_end(Bytes *b)
{
    put_id(b, 0xffff);
}

static inline void put_property(Bytes *b, unsigned id, uint64_t value)
{
    put_id(b, id);
    put_number(b, value);
}

static inline void put_blob(Bytes *b, unsigned id, const void *bytes, size_t size)
{
    put_id(b, id);
    put_number(b, size);
    put(b, bytes, size);
}

static inline void put_version(Bytes *b)
{
    put_property(b, 100, 98);
    put_property(b, 101, 2);
    put_end(b);
}

/* An entry of the payload. */
static inline void put_entry(Bytes *log, const Bytes *payload)
{
    uint8_t head[16];
    weir_store_u64(head, payload->size);
    weir_store_u64(head + 8, weir_wal_checksum(payload->data, payload->size));
    put(log, head, sizeof head);
    put(log, payload->data, payload->size);
}

static inline void put_simple_entry(Bytes *log, uint64_t kind)
{
    static Bytes payload;
    payload.size = 0;
    put_property(&payload, 100, kind);
    put_end(&payload);
    put_entry(log, &payload);
}

static inline void put_flush(Bytes *log)
{
    put_simple_entry(log, 100);
}

static inline void put_use_table(Bytes *log, const char *table)
{
    static Bytes payload;
    payload.size = 0;
    put_property(&payload, 100, 25);
    put_blob(&payload, 101, "main", 4);
    put_blob(&payload, 102, table, strlen(table));
    put_end(&payload);
    put_entry(log, &payload);
}

/* A DELETE of one row, as an entry. */
static inline void put_delete(Bytes *log, int64_t row_id)
{
    static Bytes payload;
    payload.size = 0;
    put_property(&payload, 100, 27);
    put_id(&payload, 101);
    put_property(&payload, 100, 1);
    put_property(&payload, 101, 1);
    put_property(&payload, 100, 14); /* BIGINT */
    put_end(&payload);
    put_property(&payload, 102, 1);
    put_property(&payload, 100, 0); /* no NULLs */
    put_blob(&payload, 102, &row_id, sizeof row_id);
    put_end(&payload);
    put_end(&payload);
    put_end(&payload);
    put_entry(log, &payload);
}

static inline void write_log(const Files *files, const Bytes *log)
{
    write_file(files->log, log->data, log->size);
}

/* --- changes as text --------------------------------------------------------------------------- */

static inline void print_value(const Vector *vector, size_t row, Buf *out)
{
    const size_t place = weir_vector_place(vector, row);
    const char *bytes = (const char *)vector->data + place * weir_phys_width(vector->phys);
    size_t size = weir_phys_width(vector->phys);
    if (weir_vector_is_null(vector, row)) {
        weir_buf_puts(out, "NULL");
        return;
    }
    if (vector->phys == PHYS_STRING) {
        const String *const string = &((const String *)vector->data)[place];
        bytes = weir_string_data(string);
        size = weir_string_size(string);
        weir_buf_putc(out, '"');
    }
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if (vector->phys == PHYS_STRING && c >= ' ' && c < 0x7f && c != '\\' && c != '"') {
            weir_buf_putc(out, (char)c);
        } else {
            weir_buf_printf(out, vector->phys == PHYS_STRING ? "\\%02x" : "%02x", c);
        }
    }
    if (vector->phys == PHYS_STRING) {
        weir_buf_putc(out, '"');
    }
}

static inline void print_values(Wal *wal, const WalChange *change, Buf *out)
{
    Error err = {0};
    Batch batch;
    const char *reason = NULL;
    assert_int_equal(weir_wal_values(wal, &batch, &reason, &err), WEIR_OK);
    if (reason != NULL) {
        weir_buf_printf(out, "  undecodable: %s\n", reason);
        return;
    }
    assert_int_equal(batch.count, change->row_count);
    assert_int_equal(batch.column_count, change->column_count);
    for (size_t i = 0; i < batch.count; i++) {
        weir_buf_puts(out, "  (");
        for (size_t c = 0; c < batch.column_count; c++) {
            weir_buf_puts(out, c == 0 ? "" : ", ");
            print_value(&batch.columns[c], i, out);
        }
        weir_buf_puts(out, ")\n");
    }
}

static inline void print_change(Wal *wal, const WalChange *change, Buf *out)
{
    static const char *const names[] = {"end",  "commit", "insert",     "delete", "update",
                                        "bulk", "shape",  "unreadable", "lost"};
    weir_buf_puts(out, names[change->kind]);
    if (change->schema != NULL) {
        weir_buf_printf(out, " %s.%s", change->schema, change->table == NULL ? "*" : change->table);
    }
    for (size_t i = 0; i < change->path_length; i++) {
        weir_buf_printf(out, "%s%llu", i == 0 ? " column " : ".",
                        (unsigned long long)change->path[i]);
    }
    for (size_t i = 0; change->row_ids != NULL && i < change->row_count; i++) {
        weir_buf_printf(out, "%s%lld", i == 0 ? " rows " : " ", (long long)change->row_ids[i]);
    }
    for (size_t i = 0; i < change->column_count; i++) {
        weir_buf_puts(out, i == 0 ? " of " : ", ");
        weir_type_put_sql(out, change->types[i]);
    }
    if (change->reason != NULL) {
        weir_buf_printf(out, " (%s)", change->reason);
    }
    weir_buf_putc(out, '\n');
    if ((change->kind == WAL_INSERT && change->reason == NULL) || change->kind == WAL_UPDATE) {
        print_values(wal, change, out);
    }
}

/* All changes since the position, which moves on; out is cleared first. The number of commits. */
static inline size_t print_changes(Files *files, WalPosition *position, Buf *out)
{
    Error err = {0};
    size_t commits = 0;
    weir_buf_clear(out);
    weir_buf_puts(out, "");
    if (weir_wal_begin(files->wal, position) == WAL_UNKNOWN) {
        weir_buf_printf(out, "unknown: %s\n", weir_wal_reason(files->wal));
        return 0;
    }
    WalChange change = {.kind = WAL_COMMIT};
    while (change.kind != WAL_END && change.kind != WAL_LOST) {
        assert_int_equal(weir_wal_next(files->wal, &change, &err), WEIR_OK);
        if (change.kind != WAL_END) {
            print_change(files->wal, &change, out);
        }
        commits += change.kind == WAL_COMMIT ? 1 : 0;
    }
    assert_true(weir_wal_position(files->wal, position));
    weir_wal_end(files->wal);
    return commits;
}

#endif
