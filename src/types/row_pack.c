/* row_pack.c: columns to packed rows.
 *
 * One pass per column over all rows; each pass is a simple loop of its width, in four forms (with
 * and without NULLs, with and without a selection) made from one template. Null bits are collected
 * in an array of words, one per row, and written once. Long strings are written last: first all
 * slots go in as they are, without a branch, and only if one of them was long do the tails follow. */
#include "types/row.h"

#include "base/codec.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef struct Bytes16 {
    uint64_t words[2];
} Bytes16;

/* What a column pass needs besides the column. */
typedef struct PackTarget {
    const uint16_t *selection; /* NULL = row i comes from place i */
    size_t count;
    char *const *rows;
} PackTarget;

ALWAYS_INLINE uint64_t valid_mask(const uint64_t *validity, size_t place)
{
    return 0 - ((validity[place / 64] >> (place % 64)) & 1u);
}

#define DEFINE_PACK(name, ctype)                                                       \
    ALWAYS_INLINE void name##_loop(const PackTarget *t, const ctype *restrict values,  \
                                   const uint64_t *restrict validity, uint32_t offset, \
                                   bool is_selected, bool is_nullable)                 \
    {                                                                                  \
        for (size_t i = 0; i < t->count; i++) {                                        \
            const size_t place = is_selected ? t->selection[i] : i;                    \
            ctype value = values[place];                                               \
            if (is_nullable) {                                                         \
                value = (ctype)(value & (ctype)valid_mask(validity, place));           \
            }                                                                          \
            memcpy(t->rows[i] + offset, &value, sizeof value);                         \
        }                                                                              \
    }                                                                                  \
                                                                                       \
    static void name(const PackTarget *t, const Vector *column, uint32_t offset)       \
    {                                                                                  \
        const ctype *values = column->data;                                            \
        const uint64_t *validity = column->validity;                                   \
        if (t->selection == NULL && validity == NULL) {                                \
            name##_loop(t, values, NULL, offset, false, false);                        \
        } else if (t->selection == NULL) {                                             \
            name##_loop(t, values, validity, offset, false, true);                     \
        } else if (validity == NULL) {                                                 \
            name##_loop(t, values, NULL, offset, true, false);                         \
        } else {                                                                       \
            name##_loop(t, values, validity, offset, true, true);                      \
        }                                                                              \
    }

DEFINE_PACK(pack_8, uint8_t)
DEFINE_PACK(pack_16, uint16_t)
DEFINE_PACK(pack_32, uint32_t)
DEFINE_PACK(pack_64, uint64_t)
#undef DEFINE_PACK

/* The 16-byte form; returns the largest first half of a word, which for strings is the length. */
ALWAYS_INLINE uint32_t pack_128_loop(const PackTarget *t, const Bytes16 *restrict values,
                                     const uint64_t *restrict validity, uint32_t offset,
                                     bool is_selected, bool is_nullable)
{
    uint32_t longest = 0;
    for (size_t i = 0; i < t->count; i++) {
        const size_t place = is_selected ? t->selection[i] : i;
        Bytes16 value = values[place];
        if (is_nullable) {
            const uint64_t mask = valid_mask(validity, place);
            value.words[0] &= mask;
            value.words[1] &= mask;
        }
        const uint32_t length = (uint32_t)value.words[0];
        longest = length > longest ? length : longest;
        memcpy(t->rows[i] + offset, &value, sizeof value);
    }
    return longest;
}

static uint32_t pack_128(const PackTarget *t, const Vector *column, uint32_t offset)
{
    const Bytes16 *values = column->data;
    const uint64_t *validity = column->validity;
    if (t->selection == NULL && validity == NULL) {
        return pack_128_loop(t, values, NULL, offset, false, false);
    }
    if (t->selection == NULL) {
        return pack_128_loop(t, values, validity, offset, false, true);
    }
    if (validity == NULL) {
        return pack_128_loop(t, values, NULL, offset, true, false);
    }
    return pack_128_loop(t, values, validity, offset, true, true);
}

/* One value for all rows, zero if it is NULL; returns its length if it is a string. */
static uint32_t pack_constant(const PackTarget *t, const Vector *column, uint32_t offset)
{
    const size_t width = weir_phys_width(column->phys);
    Bytes16 value = {.words = {0, 0}};
    if (!weir_vector_is_null(column, 0)) {
        memcpy(&value, column->data, width);
    }
    for (size_t i = 0; i < t->count; i++) {
        memcpy(t->rows[i] + offset, &value, width);
    }
    return (uint32_t)value.words[0];
}

/* Returns true if a string of the column is long. */
static bool pack_column(const PackTarget *t, const Vector *column, uint32_t offset)
{
    uint32_t longest = 0;
    if (column->is_constant) {
        longest = pack_constant(t, column, offset);
    } else {
        switch (weir_phys_width(column->phys)) {
        case 1: pack_8(t, column, offset); break;
        case 2: pack_16(t, column, offset); break;
        case 4: pack_32(t, column, offset); break;
        case 8: pack_64(t, column, offset); break;
        default: longest = pack_128(t, column, offset); break;
        }
    }
    return column->phys == PHYS_STRING && longest > STRING_INLINE_BYTES;
}

/* Sets bit `bit` of the words of the rows that are NULL. */
static void add_null_bits(const PackTarget *t, const Vector *column, unsigned bit, uint64_t *words)
{
    const uint64_t flag = UINT64_C(1) << bit;
    if (column->is_constant) {
        if (weir_vector_is_null(column, 0)) {
            for (size_t i = 0; i < t->count; i++) {
                words[i] |= flag;
            }
        }
        return;
    }
    if (t->selection != NULL) {
        for (size_t i = 0; i < t->count; i++) {
            words[i] |= ~valid_mask(column->validity, t->selection[i]) & flag;
        }
        return;
    }
    for (size_t begin = 0; begin < t->count; begin += 64) {
        const size_t rows = WEIR_MIN(t->count - begin, (size_t)64);
        uint64_t nulls = ~column->validity[begin / 64];
        if (rows < 64) {
            nulls &= (UINT64_C(1) << rows) - 1;
        }
        while (nulls != 0) {
            words[begin + (size_t)__builtin_ctzll(nulls)] |= flag;
            nulls &= nulls - 1;
        }
    }
}

ALWAYS_INLINE void store_words(const PackTarget *t, const uint64_t *words, uint32_t offset,
                               size_t width)
{
    for (size_t i = 0; i < t->count; i++) {
        memcpy(t->rows[i] + offset, &words[i], width); /* little endian: the low bytes */
    }
}

static void store_null_words(const PackTarget *t, const uint64_t *words, uint32_t offset,
                             size_t width)
{
    switch (width) {
    case 1: store_words(t, words, offset, 1); break;
    case 2: store_words(t, words, offset, 2); break;
    case 4: store_words(t, words, offset, 4); break;
    default: store_words(t, words, offset, 8); break;
    }
}

/* Writes the null bits of a section, 64 columns at a time. The end of the section was zeroed. */
static void pack_nulls(const PackTarget *t, const RowSection *section, const Vector *const *columns)
{
    uint64_t words[VECTOR_CAPACITY];
    memset(words, 0, t->count * sizeof words[0]);
    for (size_t begin = 0; begin < section->count; begin += 64) {
        const size_t end = WEIR_MIN(begin + 64, section->count);
        bool has_nulls = false;
        for (size_t c = begin; c < end; c++) {
            const Vector *column = columns[section->first + c];
            if (column->validity != NULL) {
                add_null_bits(t, column, (unsigned)(c - begin), words);
                has_nulls = true;
            }
        }
        store_null_words(t, words, section->null_offset + (uint32_t)(begin / 8),
                         WEIR_MIN(section->null_bytes, 8u));
        if (has_nulls && end < section->count) {
            memset(words, 0, t->count * sizeof words[0]);
        }
    }
}

/* Header, zeroed section ends (they may hold padding), zeroed state. */
static void pack_frame(const RowLayout *layout, const PackTarget *t, const uint32_t *hashes)
{
    for (size_t i = 0; i < t->count; i++) {
        weir_store_u64(t->rows[i], 0);
        weir_store_u64(t->rows[i] + 8, hashes == NULL ? 0 : hashes[i]);
    }
    if (layout->key.count > 0) {
        for (size_t i = 0; i < t->count; i++) {
            weir_store_u64(t->rows[i] + layout->key.end - 8, 0);
        }
    }
    if (layout->payload.count > 0) {
        for (size_t i = 0; i < t->count; i++) {
            weir_store_u64(t->rows[i] + layout->payload.end - 8, 0);
        }
    }
    const uint32_t rest = layout->fixed_bytes - layout->payload.end;
    if (rest > 0) {
        for (size_t i = 0; i < t->count; i++) {
            memset(t->rows[i] + layout->payload.end, 0, rest);
        }
    }
}

/* Copies 13 bytes or more. */
ALWAYS_INLINE void copy_long(char *restrict to, const char *restrict from, size_t size)
{
    if (size <= 16) {
        memcpy(to, from, 8);
        memcpy(to + size - 8, from + size - 8, 8);
    } else if (size <= 32) {
        memcpy(to, from, 16);
        memcpy(to + size - 16, from + size - 16, 16);
    } else {
        memcpy(to, from, size);
    }
}

/* Appends the long strings to the rows, and puts their offsets into the slots. */
static void pack_tails(const RowLayout *layout, const PackTarget *t, const uint32_t *sizes)
{
    uint32_t ends[VECTOR_CAPACITY]; /* of the tail written so far */
    for (size_t i = 0; i < t->count; i++) {
        ends[i] = layout->fixed_bytes;
    }
    for (size_t s = 0; s < layout->string_count; s++) {
        const uint32_t offset = layout->string_offsets[s];
        for (size_t i = 0; i < t->count; i++) {
            char *slot = t->rows[i] + offset;
            const uint32_t length = weir_load_u32(slot);
            if (length > STRING_INLINE_BYTES) {
                String value;
                memcpy(&value, slot, sizeof value);
                copy_long(t->rows[i] + ends[i], value.remote.pointer, length);
                weir_store_u64(slot + 8, ends[i]);
                ends[i] += length;
            }
        }
    }
    for (size_t i = 0; i < t->count; i++) {
        while (ends[i] % 8 != 0) {
            t->rows[i][ends[i]++] = '\0';
        }
        WEIR_ASSERT(sizes == NULL || ends[i] == sizes[i]);
    }
    WEIR_UNUSED(sizes);
}

void weir_row_pack(const RowLayout *layout, const Vector *const *columns, const uint16_t *selection,
                   size_t count, const uint32_t *hashes, const uint32_t *sizes, Row **rows)
{
    WEIR_ASSERT(count <= VECTOR_CAPACITY);
    char *places[VECTOR_CAPACITY];
    for (size_t i = 0; i < count; i++) {
        places[i] = (char *)rows[i];
    }
    const PackTarget target = {.selection = selection, .count = count, .rows = places};
    pack_frame(layout, &target, hashes);
    if (layout->key.count > 0) {
        pack_nulls(&target, &layout->key, columns);
    }
    if (layout->payload.count > 0) {
        pack_nulls(&target, &layout->payload, columns);
    }
    bool has_tails = false;
    for (size_t c = 0; c < layout->column_count; c++) {
        WEIR_ASSERT(columns[c]->phys == layout->columns[c].phys);
        const bool is_long = pack_column(&target, columns[c], layout->columns[c].offset);
        has_tails = has_tails || is_long;
    }
    if (has_tails) {
        pack_tails(layout, &target, sizes);
    }
}

/* Adds the lengths of the column's long strings to the sizes. */
static void add_long_sizes(const Vector *column, size_t count, uint64_t *totals)
{
    const String *values = column->data;
    if (column->is_constant) {
        const uint32_t length = weir_vector_is_null(column, 0) ? 0 : values[0].inlined.length;
        for (size_t i = 0; length > STRING_INLINE_BYTES && i < count; i++) {
            totals[i] += length;
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t length = values[i].inlined.length;
        totals[i] += length > STRING_INLINE_BYTES ? length : 0;
    }
    for (size_t i = 0; column->validity != NULL && i < count; i++) {
        const uint64_t length = values[i].inlined.length;
        const bool is_null = !weir_validity_get(column->validity, i);
        totals[i] -= is_null && length > STRING_INLINE_BYTES ? length : 0;
    }
}

void weir_row_sizes(const RowLayout *layout, const Vector *const *columns, size_t count,
                    uint32_t *sizes)
{
    WEIR_ASSERT(count <= VECTOR_CAPACITY);
    uint64_t totals[VECTOR_CAPACITY];
    for (size_t i = 0; i < count; i++) {
        totals[i] = layout->fixed_bytes;
    }
    for (size_t c = 0; layout->has_strings && c < layout->column_count; c++) {
        if (columns[c]->phys == PHYS_STRING) {
            add_long_sizes(columns[c], count, totals);
        }
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t padded = (totals[i] + 7) & ~UINT64_C(7);
        sizes[i] = padded > UINT32_MAX ? UINT32_MAX : (uint32_t)padded;
    }
}
