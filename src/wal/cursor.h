/* cursor.h: reading DuckDB's binary serialisation within bounds.
 *
 *   integer    LEB128, the signed ones in the signed form      boolean    one byte, 0 or 1
 *   string     integer size, bytes                             blob       the same
 *   list       integer count, elements                         nullable   boolean, the value if 1
 *   object     { u16 id, value }*, u16 0xffff                  absent properties are defaults
 *
 * The first fault sticks: every later read gives zero or nothing and moves no further. So a reader
 * may read on and look once at the end, as long as no loop depends on a value that was read: loops
 * look at the fault. */
#ifndef WEIR_WAL_CURSOR_H
#define WEIR_WAL_CURSOR_H

#include "base/arena.h"

enum { WAL_OBJECT_END = 0xffff };

typedef struct Cursor {
    const uint8_t *at;
    const uint8_t *end;
    const char *fault; /* NULL while all is well; a phrase of static life */
} Cursor;

static inline size_t weir_cursor_left(const Cursor *c)
{
    return (size_t)(c->end - c->at);
}

static inline void weir_cursor_fail(Cursor *c, const char *fault)
{
    if (c->fault == NULL) {
        c->fault = fault;
    }
    c->at = c->end;
}

/* NULL, and a fault, if so many bytes are not left. */
static inline const uint8_t *weir_cursor_bytes(Cursor *c, uint64_t size)
{
    if (WEIR_UNLIKELY(size > weir_cursor_left(c))) {
        weir_cursor_fail(c, "an entry ends within a value");
        return NULL;
    }
    const uint8_t *const bytes = c->at;
    c->at += size;
    return bytes;
}

static inline uint64_t weir_cursor_u64(Cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (WEIR_UNLIKELY(c->at == c->end)) {
            weir_cursor_fail(c, "an entry ends within a number");
            return 0;
        }
        const uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    weir_cursor_fail(c, "a number has more than 64 bits");
    return 0;
}

static inline int64_t weir_cursor_i64(Cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        if (WEIR_UNLIKELY(c->at == c->end)) {
            weir_cursor_fail(c, "an entry ends within a number");
            return 0;
        }
        const uint8_t byte = *c->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if ((byte & 0x80) == 0) {
            if (shift < 64 && (byte & 0x40) != 0) {
                value |= ~UINT64_C(0) << shift;
            }
            return (int64_t)value;
        }
    }
    weir_cursor_fail(c, "a number has more than 64 bits");
    return 0;
}

static inline bool weir_cursor_bool(Cursor *c)
{
    const uint8_t *const byte = weir_cursor_bytes(c, 1);
    if (byte != NULL && *byte > 1) {
        weir_cursor_fail(c, "a truth value is neither 0 nor 1");
        return false;
    }
    return byte != NULL && *byte == 1;
}

/* A number of things of which each takes at least `least` bytes of what is left. */
static inline size_t weir_cursor_count(Cursor *c, size_t least)
{
    const uint64_t count = weir_cursor_u64(c);
    if (count > weir_cursor_left(c) / least) {
        weir_cursor_fail(c, "a list is longer than its entry");
        return 0;
    }
    return (size_t)count;
}

static inline const uint8_t *weir_cursor_blob(Cursor *c, size_t *size)
{
    const uint64_t length = weir_cursor_u64(c);
    const uint8_t *const bytes = weir_cursor_bytes(c, length);
    *size = bytes == NULL ? 0 : (size_t)length;
    return bytes;
}

static inline uint16_t weir_cursor_u16(Cursor *c)
{
    const uint8_t *const bytes = weir_cursor_bytes(c, 2);
    return bytes == NULL ? 0 : (uint16_t)(bytes[0] | (unsigned)bytes[1] << 8);
}

/* Takes the property's id if it comes next. */
static inline bool weir_cursor_has(Cursor *c, uint16_t id)
{
    if (weir_cursor_left(c) < 2 || (c->at[0] | (unsigned)c->at[1] << 8) != id) {
        return false;
    }
    c->at += 2;
    return true;
}

/* The property must come next; so must an object's end. */
static inline void weir_cursor_expect(Cursor *c, uint16_t id)
{
    if (!weir_cursor_has(c, id)) {
        weir_cursor_fail(c, id == WAL_OBJECT_END ? "an object has properties that are not known"
                                                 : "a property is missing");
    }
}

/* A name as a C string in the arena; what cannot be one is a fault. NULL then, or with err set. */
static inline const char *weir_cursor_name(Cursor *c, Arena *arena, Error *err)
{
    size_t size = 0;
    const uint8_t *const bytes = weir_cursor_blob(c, &size);
    if (bytes == NULL) {
        return NULL;
    }
    if (memchr(bytes, 0, size) != NULL) {
        weir_cursor_fail(c, "a name contains a zero byte");
        return NULL;
    }
    return weir_arena_strndup(arena, (const char *)bytes, size, err);
}

#endif
