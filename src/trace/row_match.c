/* row_match.c: column by column, one loop per value width over the whole group.
 *
 * Differences are collected as bits of a word, last row first, so that a row costs a load, a
 * compare and an add. A column without a validity mask needs the row's null bit clear: that is
 * checked for the section as a whole, and only if a row with a NULL was ever packed. Values under
 * NULL are not looked at. */
#include "trace/row_match.h"

#include "base/codec.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef struct MatchColumn {
    const Vector *vector;
    size_t place_mask;    /* 0 for a constant vector */
    uint32_t offset;      /* of the value in the row */
    uint32_t null_offset; /* of the byte with its null bit */
    uint8_t null_mask;
} MatchColumn;

/* Two 64-bit words in one value. */
typedef struct Wide {
    uint64_t low;
    uint64_t high;
} Wide;

ALWAYS_INLINE bool differ_u8(const uint8_t *a, const char *b)
{
    return *a != (uint8_t)*b;
}

ALWAYS_INLINE bool differ_u16(const uint16_t *a, const char *b)
{
    return memcmp(a, b, sizeof *a) != 0;
}

ALWAYS_INLINE bool differ_u32(const uint32_t *a, const char *b)
{
    return *a != weir_load_u32(b);
}

ALWAYS_INLINE bool differ_u64(const uint64_t *a, const char *b)
{
    return *a != weir_load_u64(b);
}

ALWAYS_INLINE bool differ_wide(const Wide *a, const char *b)
{
    return ((a->low ^ weir_load_u64(b)) | (a->high ^ weir_load_u64(b + 8))) != 0;
}

/* The row's slot has the offset of the bytes in the pointer's place. */
ALWAYS_INLINE bool differ_string(const String *string, const char *slot, const char *row)
{
    if (string->words[0] != weir_load_u64(slot)) {
        return true;
    }
    const uint64_t second = weir_load_u64(slot + 8);
    if (weir_string_is_inline(string)) {
        return string->words[1] != second;
    }
    return memcmp(string->remote.pointer, row + second, string->remote.length) != 0;
}

ALWAYS_INLINE size_t place_of(const MatchColumn *column, const RowMatch *match, size_t i,
                              bool is_placed)
{
    return (is_placed ? match->places[i] : match->first + i) & column->place_mask;
}

/* True if exactly one of the two is NULL; *both = both are. */
ALWAYS_INLINE bool differ_null(const MatchColumn *column, size_t place, const char *row, bool *both)
{
    const bool is_null = !weir_validity_get(column->vector->validity, place);
    const bool is_row_null = ((uint8_t)row[column->null_offset] & column->null_mask) != 0;
    *both = is_null && is_row_null;
    return is_null != is_row_null;
}

/* One loop, and its four forms: with places or a stretch, with or without a validity mask. */
#define X(name, type)                                                                     \
    ALWAYS_INLINE uint32_t loop_##name(const MatchColumn *column, const RowMatch *match,  \
                                       bool is_placed, bool is_nullable)                  \
    {                                                                                     \
        const type *values = column->vector->data;                                        \
        Row *const *rows = match->rows;                                                   \
        uint32_t differing = 0;                                                           \
        for (size_t i = match->count; i > 0; i--) {                                       \
            const char *row = (const char *)rows[i - 1];                                  \
            const size_t place = place_of(column, match, i - 1, is_placed);               \
            bool both_null = false;                                                       \
            bool differs = is_nullable && differ_null(column, place, row, &both_null);    \
            differs |= !both_null && differ_##name(values + place, row + column->offset); \
            differing = 2 * differing + differs;                                          \
        }                                                                                 \
        return differing;                                                                 \
    }                                                                                     \
    static uint32_t match_##name(const MatchColumn *column, const RowMatch *match)        \
    {                                                                                     \
        if (column->vector->validity != NULL) {                                           \
            return match->places != NULL ? loop_##name(column, match, true, true)         \
                                         : loop_##name(column, match, false, true);       \
        }                                                                                 \
        return match->places != NULL ? loop_##name(column, match, true, false)            \
                                     : loop_##name(column, match, false, false);          \
    }
X(u8, uint8_t)
X(u16, uint16_t)
X(u32, uint32_t)
X(u64, uint64_t)
X(wide, Wide)
#undef X

static uint32_t match_string(const MatchColumn *column, const RowMatch *match)
{
    const String *values = column->vector->data;
    uint32_t differing = 0;
    for (size_t i = match->count; i > 0; i--) {
        const char *row = (const char *)match->rows[i - 1];
        const size_t place = place_of(column, match, i - 1, match->places != NULL);
        bool both_null = false;
        bool differs =
            column->vector->validity != NULL && differ_null(column, place, row, &both_null);
        differs =
            differs || (!both_null && differ_string(&values[place], row + column->offset, row));
        differing = 2 * differing + differs;
    }
    return differing;
}

static uint32_t match_column(const MatchColumn *column, const RowMatch *match)
{
    switch (column->vector->phys) {
    case PHYS_I8:
    case PHYS_U8: return match_u8(column, match);
    case PHYS_I16:
    case PHYS_U16: return match_u16(column, match);
    case PHYS_I32:
    case PHYS_U32:
    case PHYS_F32: return match_u32(column, match);
    case PHYS_I64:
    case PHYS_U64:
    case PHYS_F64: return match_u64(column, match);
    case PHYS_I128:
    case PHYS_U128:
    case PHYS_INTERVAL: return match_wide(column, match);
    case PHYS_STRING: return match_string(column, match);
    case PHYS_COUNT: break;
    }
    return 0;
}

/* Bit i: row i has a null bit set in a byte of the section, for a column without validity mask. */
static uint32_t match_null_byte(const RowSection *section, const RowMatch *match, size_t byte)
{
    const size_t end = WEIR_MIN(8 * byte + 8, section->count);
    unsigned wanted = 0;
    for (size_t i = 8 * byte; i < end; i++) {
        if (match->columns[section->first + i]->validity == NULL) {
            wanted |= 1u << (i % 8);
        }
    }
    uint32_t differing = 0;
    for (size_t i = match->count; wanted != 0 && i > 0; i--) {
        const uint8_t null_byte =
            ((const uint8_t *)match->rows[i - 1])[section->null_offset + byte];
        differing = 2 * differing + ((null_byte & wanted) != 0);
    }
    return differing;
}

static uint32_t match_section(const RowSection *section, const RowMatch *match, bool has_nulls)
{
    uint32_t differing = 0;
    for (size_t byte = 0; has_nulls && byte < (section->count + 7) / 8; byte++) {
        differing |= match_null_byte(section, match, byte);
    }
    for (size_t i = 0; i < section->count; i++) {
        const Vector *vector = match->columns[section->first + i];
        const MatchColumn column = {
            .vector = vector,
            .place_mask = vector->is_constant ? 0 : SIZE_MAX,
            .offset = match->layout->columns[section->first + i].offset,
            .null_offset = section->null_offset + (uint32_t)(i / 8),
            .null_mask = (uint8_t)(1u << (i % 8)),
        };
        differing |= match_column(&column, match);
    }
    return differing;
}

uint32_t weir_row_match_key(const RowMatch *match)
{
    WEIR_ASSERT(match->count <= ROW_MATCH_MAX);
    return match_section(&match->layout->key, match, match->key_has_nulls);
}

uint32_t weir_row_match_all(const RowMatch *match)
{
    return weir_row_match_key(match) |
           match_section(&match->layout->payload, match, match->payload_has_nulls);
}

bool weir_rows_have_nulls(const RowSection *section, const Vector *const *columns, Row *const *rows,
                          size_t count)
{
    bool is_nullable = false;
    for (size_t i = 0; i < section->count; i++) {
        is_nullable |= columns[section->first + i]->validity != NULL;
    }
    uint8_t null_bits = 0;
    for (size_t i = 0; is_nullable && i < count; i++) {
        for (size_t byte = 0; byte < section->null_bytes; byte++) {
            null_bits |= ((const uint8_t *)rows[i])[section->null_offset + byte];
        }
    }
    return null_bits != 0;
}
