/* record.c: SQLite's record format, read. */
#include "cdc/record.h"

#include <stdint.h>
#include <string.h>

#include "cdc/database.h"

enum { SERIAL_REAL = 7, SERIAL_ZERO = 8, SERIAL_ONE = 9, SERIAL_BLOB = 12 };

/* Reads a varint that ends before end. Returns how long it is, 0 if it does not. */
static size_t read_varint(const unsigned char *at, const unsigned char *end, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < 9 && at + i < end; i++) {
        if (i == 8) {
            *out = value << 8 | at[i];
            return 9;
        }
        value = value << 7 | (at[i] & 0x7F);
        if (at[i] < 0x80) {
            *out = value;
            return i + 1;
        }
    }
    return 0;
}

/* Bytes of the body; SIZE_MAX for a serial type that is none. */
static uint64_t body_size(uint64_t serial)
{
    static const uint64_t SIZES[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, SIZE_MAX, SIZE_MAX};
    return serial < SERIAL_BLOB ? SIZES[serial] : (serial - SERIAL_BLOB) / 2;
}

static uint64_t read_big_endian(const unsigned char *data, uint64_t size)
{
    uint64_t value = size > 0 && (data[0] & 0x80) != 0 ? UINT64_MAX : 0;
    for (uint64_t i = 0; i < size; i++) {
        value = value << 8 | data[i];
    }
    return value;
}

static CdcField read_field(uint64_t serial, const unsigned char *data, uint64_t size)
{
    CdcField field = {.type = SQLITE_NULL};
    if (serial >= SERIAL_BLOB) {
        field.type = serial % 2 == 0 ? SQLITE_BLOB : SQLITE_TEXT;
        field.data = data;
        field.size = (size_t)size;
    } else if (serial == SERIAL_REAL) {
        const uint64_t bits = read_big_endian(data, size);
        field.type = SQLITE_FLOAT;
        memcpy(&field.real, &bits, sizeof field.real);
        memcpy(&field.integer, &bits, sizeof field.integer);
    } else if (serial == SERIAL_ZERO || serial == SERIAL_ONE) {
        field.type = SQLITE_INTEGER;
        field.integer = serial == SERIAL_ONE;
    } else if (serial > 0) {
        const uint64_t bits = read_big_endian(data, size);
        field.type = SQLITE_INTEGER;
        memcpy(&field.integer, &bits, sizeof field.integer);
    }
    return field;
}

static bool add_field(CdcRecord *record, CdcField field)
{
    if (record->count == record->capacity) {
        const size_t capacity = record->capacity == 0 ? 16 : 2 * record->capacity;
        CdcField *const fields = sqlite3_realloc64(record->fields, capacity * sizeof *fields);
        if (fields == NULL) {
            return false;
        }
        record->fields = fields;
        record->capacity = capacity;
    }
    record->fields[record->count++] = field;
    return true;
}

static WeirStatus not_a_record(WeirError *err)
{
    return weir_cdc_fail(err, WEIR_ERR_HOST, "the log is damaged: an image is no record");
}

WeirStatus weir_cdc_record_read(CdcRecord *record, CdcBytes bytes, WeirError *err)
{
    const unsigned char *const end = bytes.data + bytes.size;
    uint64_t header_size = 0;
    record->count = 0;
    size_t used = read_varint(bytes.data, end, &header_size);
    if (used == 0 || header_size < used || header_size > bytes.size) {
        return not_a_record(err);
    }
    const unsigned char *at = bytes.data + used;
    const unsigned char *const header_end = bytes.data + header_size;
    const unsigned char *body = header_end;
    while (at < header_end) {
        uint64_t serial = 0;
        used = read_varint(at, header_end, &serial);
        const uint64_t size = body_size(serial);
        if (used == 0 || size > (uint64_t)(end - body)) {
            return not_a_record(err);
        }
        if (!add_field(record, read_field(serial, body, size))) {
            return weir_cdc_out_of_memory(err);
        }
        at += used;
        body += size;
    }
    return WEIR_OK;
}

void weir_cdc_record_deinit(CdcRecord *record)
{
    sqlite3_free(record->fields);
    *record = (CdcRecord){0};
}

const CdcField *weir_cdc_field_text(const CdcRecord *record, size_t field)
{
    return field < record->count && record->fields[field].type == SQLITE_TEXT
               ? &record->fields[field]
               : NULL;
}

bool weir_cdc_field_is_equal(const CdcField *a, const CdcField *b)
{
    return a->type == b->type && a->size == b->size && a->integer == b->integer &&
           (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}
