/* row_pack.c: columns to packed rows.
 *
 * Blocks of 128 rows, so that a block's rows stay in the first-level cache while one pass per column
 * goes over them. Each pass is a simple loop of its width, in four forms (with and without NULLs,
 * with and without a selection) made from one template. Null bits are collected in an array of
 * words, one per row, and written with the header. Long strings are written last: first all slots go
 * in as they are, without a branch, and only if one of them was long do the tails follow. */
#include "types/row.h"

#include "base/codec.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { PACK_BLOCK = 128 };
_Static_assert(PACK_BLOCK % 64 == 0, "a block begins at a word of the validity masks");

typedef struct Bytes16 {
    uint64_t words[2];
} Bytes16;

/* Rows [begin, begin + count) of a call. */
typedef struct PackBlock {
    size_t begin;
    size_t count;
    const uint16_t *selection; /* of the block; NULL = row i comes from place begin + i */
    Row *const *rows;          /* of the block */
} PackBlock;

ALWAYS_INLINE char *row_place(Row *const *rows, size_t i, uint32_t offset)
{
    return (char *)rows[i] + offset;
}

ALWAYS_INLINE uint64_t valid_mask(const uint64_t *validity, size_t place)
{
    return 0 - ((validity[place / 64] >> (place % 64)) & 1u);
}

/* The dispatching functions make four loops of each template: with validity NULL and not, with and
 * without a selection. */
#define DEFINE_PACK(name, ctype)                                                         \
    ALWAYS_INLINE void name##_loop(const PackBlock *block, const ctype *restrict values, \
                                   const uint64_t *restrict validity, uint32_t offset,   \
                                   bool is_selected)                                     \
    {                                                                                    \
        const uint16_t *restrict selection = block->selection;                           \
        Row *const *restrict rows = block->rows;                                         \
        const size_t count = block->count;                                               \
        for (size_t i = 0; i < count; i++) {                                             \
            const size_t place = is_selected ? selection[i] : i;                         \
            ctype value = values[place];                                                 \
            if (validity != NULL) {                                                      \
                value = (ctype)(value & (ctype)valid_mask(validity, place));             \
            }                                                                            \
            memcpy(row_place(rows, i, offset), &value, sizeof value);                    \
        }                                                                                \
    }                                                                                    \
                                                                                         \
    static void name(const PackBlock *block, const Vector *column, uint32_t offset)      \
    {                                                                                    \
        const ctype *values = column->data;                                              \
        const uint64_t *validity = column->validity;                                     \
        const size_t begin = block->begin;                                               \
        if (block->selection != NULL && validity != NULL) {                              \
            name##_loop(block, values, validity, offset, true);                          \
        } else if (block->selection != NULL) {                                           \
            name##_loop(block, values, NULL, offset, true);                              \
        } else if (validity != NULL) {                                                   \
            name##_loop(block, values + begin, validity + begin / 64, offset, false);    \
        } else {                                                                         \
            name##_loop(block, values + begin, NULL, offset, false);                     \
        }                                                                                \
    }

DEFINE_PACK(pack_8, uint8_t)
DEFINE_PACK(pack_16, uint16_t)
DEFINE_PACK(pack_32, uint32_t)
DEFINE_PACK(pack_64, uint64_t)
#undef DEFINE_PACK

/* The 16-byte form; returns the largest first half of a word, which for strings is the length. */
ALWAYS_INLINE uint32_t pack_128_loop(const PackBlock *block, const Bytes16 *restrict values,
                                     const uint64_t *restrict validity, uint32_t offset,
                                     bool is_selected)
{
    const uint16_t *restrict selection = block->selection;
    Row *const *restrict rows = block->rows;
    const size_t count = block->count;
    uint32_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t place = is_selected ? selection[i] : i;
        Bytes16 value = values[place];
        if (validity != NULL) {
            const uint64_t mask = valid_mask(validity, place);
            value.words[0] &= mask;
            value.words[1] &= mask;
        }
        const uint32_t length = (uint32_t)value.words[0];
        longest = length > longest ? length : longest;
        memcpy(row_place(rows, i, offset), &value, sizeof value);
    }
    return longest;
}

static uint32_t pack_128(const PackBlock *block, const Vector *column, uint32_t offset)
{
    const Bytes16 *values = column->data;
    const uint64_t *validity = column->validity;
    const size_t begin = block->begin;
    if (block->selection != NULL && validity != NULL) {
        return pack_128_loop(block, values, validity, offset, true);
    }
    if (block->selection != NULL) {
        return pack_128_loop(block, values, NULL, offset, true);
    }
    if (validity != NULL) {
        return pack_128_loop(block, values + begin, validity + begin / 64, offset, false);
    }
    return pack_128_loop(block, values + begin, NULL, offset, false);
}

/* One value for all rows, zero if it is NULL; returns its length if it is a string. */
static uint32_t pack_constant(const PackBlock *block, const Vector *column, uint32_t offset)
{
    const size_t width = weir_phys_width(column->phys);
    Bytes16 value = {.words = {0, 0}};
    if (!weir_vector_is_null(column, 0)) {
        memcpy(&value, column->data, width);
    }
    for (size_t i = 0; i < block->count; i++) {
        memcpy(row_place(block->rows, i, offset), &value, width);
    }
    return (uint32_t)value.words[0];
}

/* Returns true if a string of the column is long. */
static bool pack_column(const PackBlock *block, const Vector *column, uint32_t offset)
{
    uint32_t longest = 0;
    if (column->is_constant) {
        longest = pack_constant(block, column, offset);
    } else {
        switch (weir_phys_width(column->phys)) {
        case 1: pack_8(block, column, offset); break;
        case 2: pack_16(block, column, offset); break;
        case 4: pack_32(block, column, offset); break;
        case 8: pack_64(block, column, offset); break;
        default: longest = pack_128(block, column, offset); break;
        }
    }
    return column->phys == PHYS_STRING && longest > STRING_INLINE_BYTES;
}

/* Sets bit `bit` of the words of the rows that are NULL. */
static void add_null_bits(const PackBlock *block, const Vector *column, unsigned bit,
                          uint64_t *restrict words)
{
    const uint64_t flag = UINT64_C(1) << bit;
    const uint64_t *restrict validity = column->validity;
    if (column->is_constant) {
        for (size_t i = 0; weir_vector_is_null(column, 0) && i < block->count; i++) {
            words[i] |= flag;
        }
        return;
    }
    if (block->selection != NULL) {
        for (size_t i = 0; i < block->count; i++) {
            words[i] |= ~valid_mask(validity, block->selection[i]) & flag;
        }
        return;
    }
    validity += block->begin / 64;
    for (size_t begin = 0; begin < block->count; begin += 64) {
        const size_t rows = WEIR_MIN(block->count - begin, (size_t)64);
        if (validity[begin / 64] == UINT64_MAX) {
            continue;
        }
        uint64_t nulls = ~validity[begin / 64];
        for (size_t i = 0; i < rows; i++) {
            words[begin + i] |= (nulls & 1u) << bit;
            nulls >>= 1;
        }
    }
}

/* Collects the null bits of up to 64 columns of a section, from its column `first` on. */
static void collect_null_words(const PackBlock *block, const RowSection *section, size_t first,
                               const Vector *const *columns, uint64_t *words)
{
    memset(words, 0, block->count * sizeof words[0]);
    const size_t end = WEIR_MIN(first + 64, section->count);
    for (size_t c = first; c < end; c++) {
        const Vector *column = columns[section->first + c];
        if (column->validity != NULL) {
            add_null_bits(block, column, (unsigned)(c - first), words);
        }
    }
}

static bool has_masks(const RowSection *section, const Vector *const *columns)
{
    for (size_t c = 0; c < section->count; c++) {
        if (columns[section->first + c]->validity != NULL) {
            return true;
        }
    }
    return false;
}

/* True if the null bits lie in the last 8 bytes of the section, as they do in all small ones: then
 * they and the padding behind them are one word. */
static bool nulls_are_last(const RowSection *section)
{
    return section->null_bytes <= 8 && section->null_offset + 8 >= section->end;
}

/* Writes the ends of a section where the null bits are elsewhere. */
static void pack_nulls_apart(const PackBlock *block, const RowSection *section,
                             const Vector *const *columns)
{
    uint64_t words[PACK_BLOCK];
    for (size_t i = 0; i < block->count; i++) {
        weir_store_u64(row_place(block->rows, i, section->end - 8), 0);
    }
    const size_t width = WEIR_MIN(section->null_bytes, 8u);
    for (size_t first = 0; first < section->count; first += 64) {
        collect_null_words(block, section, first, columns, words);
        const uint32_t offset = section->null_offset + (uint32_t)(first / 8);
        for (size_t i = 0; i < block->count; i++) {
            memcpy(row_place(block->rows, i, offset), &words[i], width); /* the low bytes */
        }
    }
}

/* The last word of a section for each row: null bits and padding. */
static void collect_last_words(const PackBlock *block, const RowSection *section,
                               const Vector *const *columns, uint64_t *words)
{
    const uint32_t shift = (section->null_offset + 8 - section->end) * 8;
    collect_null_words(block, section, 0, columns, words);
    for (size_t i = 0; i < block->count; i++) {
        words[i] <<= shift;
    }
}

/* Header and the last word of each section: null bits and padding. Columns that share this word are
 * written later. */
static void pack_frame(const RowLayout *layout, const PackBlock *block,
                       const Vector *const *columns, const uint32_t *restrict hashes)
{
    uint64_t words[PACK_BLOCK];
    Row *const *restrict rows = block->rows;
    const size_t count = block->count;
    for (size_t i = 0; i < count; i++) {
        const uint64_t header[2] = {0, hashes == NULL ? 0 : hashes[i]};
        memcpy(row_place(rows, i, 0), header, sizeof header);
    }
    const RowSection *const sections[2] = {&layout->key, &layout->payload};
    for (size_t s = 0; s < WEIR_ARRAY_COUNT(sections); s++) {
        const RowSection *section = sections[s];
        if (section->count == 0) {
            continue;
        }
        if (!nulls_are_last(section)) {
            pack_nulls_apart(block, section, columns);
            continue;
        }
        const uint32_t last = section->end - 8;
        if (!has_masks(section, columns)) {
            for (size_t i = 0; i < count; i++) {
                weir_store_u64(row_place(rows, i, last), 0);
            }
            continue;
        }
        collect_last_words(block, section, columns, words);
        for (size_t i = 0; i < count; i++) {
            weir_store_u64(row_place(rows, i, last), words[i]);
        }
    }
    const uint32_t rest = layout->fixed_bytes - layout->payload.end;
    for (size_t i = 0; rest > 0 && i < count; i++) {
        memset(row_place(rows, i, layout->payload.end), 0, rest);
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
static void pack_tails(const RowLayout *layout, const PackBlock *block, const uint32_t *sizes)
{
    uint32_t ends[PACK_BLOCK]; /* of the tail written so far */
    for (size_t i = 0; i < block->count; i++) {
        ends[i] = layout->fixed_bytes;
    }
    for (size_t s = 0; s < layout->string_count; s++) {
        const uint32_t offset = layout->string_offsets[s];
        for (size_t i = 0; i < block->count; i++) {
            char *slot = row_place(block->rows, i, offset);
            const uint32_t length = weir_load_u32(slot);
            if (length > STRING_INLINE_BYTES) {
                String value;
                memcpy(&value, slot, sizeof value);
                copy_long(row_place(block->rows, i, ends[i]), value.remote.pointer, length);
                weir_store_u64(slot + 8, ends[i]);
                ends[i] += length;
            }
        }
    }
    for (size_t i = 0; i < block->count; i++) {
        while (ends[i] % 8 != 0) {
            *row_place(block->rows, i, ends[i]++) = '\0';
        }
        WEIR_ASSERT(sizes == NULL || ends[i] == sizes[block->begin + i]);
    }
    WEIR_UNUSED(sizes);
}

void weir_row_pack(const RowLayout *layout, const Vector *const *columns, const uint16_t *selection,
                   size_t count, const uint32_t *hashes, const uint32_t *sizes, Row **rows)
{
    WEIR_ASSERT(count <= VECTOR_CAPACITY);
    for (size_t begin = 0; begin < count; begin += PACK_BLOCK) {
        const PackBlock block = {
            .begin = begin,
            .count = WEIR_MIN(count - begin, (size_t)PACK_BLOCK),
            .selection = selection == NULL ? NULL : selection + begin,
            .rows = rows + begin,
        };
        pack_frame(layout, &block, columns, hashes == NULL ? NULL : hashes + begin);
        bool has_tails = false;
        for (size_t c = 0; c < layout->column_count; c++) {
            WEIR_ASSERT(columns[c]->phys == layout->columns[c].phys);
            const bool is_long = pack_column(&block, columns[c], layout->columns[c].offset);
            has_tails = has_tails || is_long;
        }
        if (has_tails) {
            pack_tails(layout, &block, sizes);
        }
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
