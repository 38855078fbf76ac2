/* record.h: bytes, and SQLite's record format.
 *
 * A record is a varint with the size of the header, itself counted; a varint with the serial type of each
 * field; the bodies of the fields in the same order. */
#ifndef WEIR_SQLITE_RECORD_H
#define WEIR_SQLITE_RECORD_H

#include "sqlite/internals.h"

/* Bytes that grow. */
typedef struct Bytes {
    u8 *data; /* owned */
    u64 size;
    u64 capacity;
} Bytes;

/* Bytes of someone else; data is NULL for the SQL value NULL. */
typedef struct Span {
    const u8 *data;
    u64 size;
} Span;

int weir_bytes_reserve(Bytes *bytes, u64 capacity);
int weir_bytes_set(Bytes *bytes, Span span);
void weir_bytes_free(Bytes *bytes);
Span weir_bytes_span(const Bytes *bytes);

/* Serial type of an integer, and size of its body. */
static inline u32 weir_integer_serial(i64 value, u32 *size)
{
    const u64 magnitude = value < 0 ? ~(u64)value : (u64)value;
    if (magnitude <= 127) {
        const bool is_small = (value & ~(i64)1) == 0;
        *size = is_small ? 0 : 1;
        return is_small ? 8 + (u32)value : 1;
    }
    if (magnitude <= 0x7fff) {
        *size = 2;
        return 2;
    }
    if (magnitude <= 0x7fffff) {
        *size = 3;
        return 3;
    }
    if (magnitude <= 0x7fffffff) {
        *size = 4;
        return 4;
    }
    if (magnitude <= 0x7fffffffffff) {
        *size = 6;
        return 5;
    }
    *size = 8;
    return 6;
}

/* 8 bytes, most significant first. */
static inline void weir_word_put(u8 *out, u64 bits)
{
    const u64 word = SQLITE_LITTLEENDIAN ? __builtin_bswap64(bits) : bits;
    memcpy(out, &word, sizeof word);
}

enum { WEIR_WORD_SIZE = 8 };

/* The body of an integer. Writes a whole word: what is behind the body must be written later, or be free. */
static inline void weir_integer_put(u8 *out, i64 value, u32 size)
{
    weir_word_put(out, (u64)value << ((WEIR_WORD_SIZE - size) * 8 & 63));
}

/* Reads a record field by field. Only the header is read; whether it is well formed and the bodies lie within the
 * record is asked of weir_reader_is_sound. */
typedef struct Reader {
    const u8 *type; /* next serial type */
    const u8 *end;  /* of the header */
    Span record;
    u64 offset; /* of the next body */
    u64 size;   /* of the body of the field read last, which ends there */
    u32 serial; /* its type */
} Reader;

/* A varint that must end before `end`; returns its length, 0 if it does not. */
u32 weir_varint_read(const u8 *at, const u8 *end, u32 *value);

static inline int weir_reader_init(Reader *reader, Span record)
{
    u32 header = 0;
    u32 used = 1;
    if (record.size > 0 && record.data[0] < 0x80) {
        header = record.data[0];
    } else {
        used = weir_varint_read(record.data, record.data + record.size, &header);
    }
    if (used == 0 || header < used || header > record.size) {
        return SQLITE_CORRUPT_BKPT;
    }
    *reader = (Reader){
        .type = record.data + used,
        .end = record.data + header,
        .offset = header,
        .record = record,
    };
    return SQLITE_OK;
}

/* Goes to the next field; false if there is none that can be read. */
static inline bool weir_reader_next(Reader *reader)
{
    if (reader->type >= reader->end) {
        return false;
    }
    reader->serial = *reader->type;
    if (reader->serial < 0x80) {
        reader->type++;
        reader->size = sqlite3SmallTypeSizes[reader->serial];
    } else {
        u32 serial = 0; /* apart, so that the reader may live in registers */
        const u32 used = weir_varint_read(reader->type, reader->end, &serial);
        if (used == 0) {
            reader->type = reader->end;
            reader->offset = (u64)LARGEST_INT64;
            return false;
        }
        reader->serial = serial;
        reader->type += used;
        reader->size = sqlite3VdbeSerialTypeLen(serial);
    }
    reader->offset += reader->size;
    return true;
}

/* Whether the header is well formed as far as it was read, and the bodies lie within the record. */
static inline bool weir_reader_is_sound(const Reader *reader)
{
    return reader->offset <= reader->record.size;
}

/* The field read last, as a value that points into the record. */
void weir_reader_get(const Reader *reader, sqlite3 *db, Mem *out);

#endif
