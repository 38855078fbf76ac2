/* record.c: SQLite's record format: a header of serial types, then the values. */
#include "sqlite/record.h"

/* --- bytes --- */

int weir_bytes_reserve(Bytes *bytes, u64 capacity)
{
    if (capacity <= bytes->capacity) {
        return SQLITE_OK;
    }
    const u64 wanted = capacity + capacity / 2 + 64;
    u8 *const data = sqlite3_realloc64(bytes->data, wanted);
    if (data == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    bytes->data = data;
    bytes->capacity = wanted;
    return SQLITE_OK;
}

int weir_bytes_set(Bytes *bytes, Span span)
{
    const int rc = weir_bytes_reserve(bytes, span.size);
    if (rc == SQLITE_OK) {
        if (span.size > 0) {
            memcpy(bytes->data, span.data, span.size);
        }
        bytes->size = span.size;
    }
    return rc;
}

void weir_bytes_free(Bytes *bytes)
{
    sqlite3_free(bytes->data);
    *bytes = (Bytes){0};
}

Span weir_bytes_span(const Bytes *bytes)
{
    return (Span){.data = bytes->data, .size = bytes->size};
}

/* --- reading records --- */

u32 weir_varint_read(const u8 *at, const u8 *end, u32 *value)
{
    if (at < end && at[0] < 0x80) {
        *value = at[0];
        return 1;
    }
    u64 result = 0;
    for (u32 i = 0; i < 9 && at + i < end; i++) {
        result = i == 8 ? result << 8 | at[i] : result << 7 | (at[i] & 0x7f);
        if (i == 8 || at[i] < 0x80) {
            *value = (u32)result;
            return result > 0xffffffff ? 0 : i + 1;
        }
    }
    return 0;
}

void weir_reader_get(const Reader *reader, sqlite3 *db, Mem *out)
{
    sqlite3VdbeMemInit(out, db, MEM_Null);
    out->enc = SQLITE_UTF8;
    if (reader->serial == 10 || reader->serial == 11) {
        return;
    }
    u8 padded[8] = {0};
    const u8 *data = reader->record.data + reader->offset - reader->size;
    if (reader->serial < 12) {
        memcpy(padded, data, reader->size);
        data = padded;
    }
    sqlite3VdbeSerialGet(data, reader->serial, out);
}
