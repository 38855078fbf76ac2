/* row_match.c: column by column, one loop per value width over the whole group.
 *
 * A column without NULLs needs the row's null bit clear: for a section without any validity mask
 * all its null bits are checked at once. Values under NULL are not looked at. */
#include "trace/row_match.h"

#include "base/codec.h"

typedef struct MatchColumn {
    const Vector *vector;
    size_t place_mask;    /* 0 for a constant vector */
    uint32_t offset;      /* of the value in the row */
    uint32_t null_offset; /* of the byte with its null bit */
    uint8_t null_mask;
} MatchColumn;

typedef struct MatchRows {
    const uint16_t *places;
    Row *const *rows;
    size_t count;
    bool *is_equal;
} MatchRows;

/* Two 64-bit words in one value. */
typedef struct Wide {
    uint64_t low;
    uint64_t high;
} Wide;

static inline bool equal_u8(const uint8_t *a, const char *b)
{
    return *a == (uint8_t)*b;
}

static inline bool equal_u16(const uint16_t *a, const char *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static inline bool equal_u32(const uint32_t *a, const char *b)
{
    return *a == weir_load_u32(b);
}

static inline bool equal_u64(const uint64_t *a, const char *b)
{
    return *a == weir_load_u64(b);
}

static inline bool equal_wide(const Wide *a, const char *b)
{
    return ((a->low ^ weir_load_u64(b)) | (a->high ^ weir_load_u64(b + 8))) == 0;
}

/* Instances of the two loops: without and with a validity mask. */
#define X(name, type)                                                                              \
    static void match_##name(const MatchColumn *column, const MatchRows *match)                    \
    {                                                                                              \
        const type *values = column->vector->data;                                                 \
        for (size_t i = 0; i < match->count; i++) {                                                \
            const char *row = (const char *)match->rows[i];                                        \
            match->is_equal[i] &= equal_##name(values + (match->places[i] & column->place_mask),   \
                                               row + column->offset);                              \
        }                                                                                          \
    }                                                                                              \
    static void match_nullable_##name(const MatchColumn *column, const MatchRows *match)           \
    {                                                                                              \
        const type *values = column->vector->data;                                                 \
        for (size_t i = 0; i < match->count; i++) {                                                \
            const size_t place = match->places[i] & column->place_mask;                            \
            const char *row = (const char *)match->rows[i];                                        \
            const bool is_null = !weir_validity_get(column->vector->validity, place);              \
            const bool is_row_null = ((uint8_t)row[column->null_offset] & column->null_mask) != 0; \
            match->is_equal[i] &= is_null == is_row_null &&                                        \
                                  (is_null || equal_##name(values + place, row + column->offset)); \
        }                                                                                          \
    }
X(u8, uint8_t)
X(u16, uint16_t)
X(u32, uint32_t)
X(u64, uint64_t)
X(wide, Wide)
#undef X

/* The row's slot has the offset of the bytes in the pointer's place. */
static bool string_equals(const String *string, const Row *row, uint32_t offset)
{
    const char *slot = (const char *)row + offset;
    if (string->words[0] != weir_load_u64(slot)) {
        return false;
    }
    if (weir_string_is_inline(string)) {
        return string->words[1] == weir_load_u64(slot + 8);
    }
    const char *bytes = (const char *)row + weir_load_u64(slot + 8);
    return memcmp(string->remote.pointer, bytes, string->remote.length) == 0;
}

static void match_string(const MatchColumn *column, const MatchRows *match)
{
    const String *values = column->vector->data;
    for (size_t i = 0; i < match->count; i++) {
        const size_t place = match->places[i] & column->place_mask;
        const Row *row = match->rows[i];
        const bool is_null = !weir_validity_get(column->vector->validity, place);
        const uint8_t null_byte = ((const uint8_t *)row)[column->null_offset];
        const bool is_row_null = (null_byte & column->null_mask) != 0;
        match->is_equal[i] = match->is_equal[i] && is_null == is_row_null &&
                             (is_null || string_equals(&values[place], row, column->offset));
    }
}

static void match_column(const MatchColumn *column, const MatchRows *match)
{
    const bool is_nullable = column->vector->validity != NULL;
    switch (column->vector->phys) {
    case PHYS_I8:
    case PHYS_U8: (is_nullable ? match_nullable_u8 : match_u8)(column, match); break;
    case PHYS_I16:
    case PHYS_U16: (is_nullable ? match_nullable_u16 : match_u16)(column, match); break;
    case PHYS_I32:
    case PHYS_U32:
    case PHYS_F32: (is_nullable ? match_nullable_u32 : match_u32)(column, match); break;
    case PHYS_I64:
    case PHYS_U64:
    case PHYS_F64: (is_nullable ? match_nullable_u64 : match_u64)(column, match); break;
    case PHYS_I128:
    case PHYS_U128:
    case PHYS_INTERVAL: (is_nullable ? match_nullable_wide : match_wide)(column, match); break;
    case PHYS_STRING: match_string(column, match); break;
    case PHYS_COUNT: break;
    }
}

/* Null bits of the row that must be clear, for columns without a validity mask. */
static void match_no_nulls(const RowSection *section, const Vector *const *columns,
                           const MatchRows *match)
{
    bool has_validity = false;
    for (size_t i = 0; i < section->count; i++) {
        has_validity |= columns[section->first + i]->validity != NULL;
    }
    const size_t byte_count = (section->count + 7) / 8;
    for (size_t byte = 0; byte < byte_count; byte++) {
        unsigned mask = 0xff;
        for (size_t i = 8 * byte; has_validity && i < WEIR_MIN(8 * byte + 8, section->count); i++) {
            if (columns[section->first + i]->validity != NULL) {
                mask &= ~(1u << (i % 8));
            }
        }
        for (size_t i = 0; i < match->count; i++) {
            const uint8_t null_byte =
                ((const uint8_t *)match->rows[i])[section->null_offset + byte];
            match->is_equal[i] &= (null_byte & mask) == 0;
        }
    }
}

static void match_section(const RowLayout *layout, const RowSection *section,
                          const Vector *const *columns, const MatchRows *match)
{
    match_no_nulls(section, columns, match);
    for (size_t i = 0; i < section->count; i++) {
        const Vector *vector = columns[section->first + i];
        const MatchColumn column = {
            .vector = vector,
            .place_mask = vector->is_constant ? 0 : SIZE_MAX,
            .offset = layout->columns[section->first + i].offset,
            .null_offset = section->null_offset + (uint32_t)(i / 8),
            .null_mask = (uint8_t)(1u << (i % 8)),
        };
        match_column(&column, match);
    }
}

void weir_row_match(const RowLayout *layout, const Vector *const *columns, size_t column_count,
                    const uint16_t *places, Row *const *rows, size_t count, bool *is_equal)
{
    memset(is_equal, true, count);
    const MatchRows match = {.places = places, .rows = rows, .count = count, .is_equal = is_equal};
    match_section(layout, &layout->key, columns, &match);
    if (column_count > layout->key.count) {
        WEIR_ASSERT(column_count == layout->column_count);
        match_section(layout, &layout->payload, columns, &match);
    }
}

bool weir_row_matches(const RowLayout *layout, const Vector *const *columns, size_t column_count,
                      uint16_t place, Row *row)
{
    bool is_equal = false;
    weir_row_match(layout, columns, column_count, &place, &row, 1, &is_equal);
    return is_equal;
}
