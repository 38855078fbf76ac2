/* row_unpack.c: packed rows to columns.
 *
 * Blocks of 128 rows, so that a block's rows stay in the first-level cache while one pass per column
 * goes over them. The null bits of a block are first OR'ed together: masks are made only for columns
 * with a NULL. */
#include "types/row.h"

#include "base/codec.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { UNPACK_BLOCK = 128, WORD_COLUMNS = 64 };
_Static_assert(UNPACK_BLOCK % 64 == 0, "a block begins at a word of the validity masks");

typedef struct Bytes16 {
    uint64_t words[2];
} Bytes16;

/* Rows [begin, begin + count) of a call. */
typedef struct UnpackBlock {
    size_t begin;
    size_t count;
    Row *const *rows; /* of the block */
} UnpackBlock;

/* Columns [first, end) of the layout, what they become, and their masks. */
typedef struct UnpackTarget {
    size_t first;
    size_t end;
    Vector *out;        /* of column `first`, and on */
    uint64_t *validity; /* VECTOR_VALIDITY_WORDS for each of them */
} UnpackTarget;

ALWAYS_INLINE const char *row_place(Row *const *rows, size_t i, uint32_t offset)
{
    return (const char *)rows[i] + offset;
}

#define DEFINE_UNPACK(name, ctype)                                                   \
    static void name(const UnpackBlock *block, uint32_t offset, void *restrict data) \
    {                                                                                \
        Row *const *restrict rows = block->rows;                                     \
        const size_t count = block->count;                                           \
        ctype *restrict out = (ctype *)data + block->begin;                          \
        for (size_t i = 0; i < count; i++) {                                         \
            memcpy(&out[i], row_place(rows, i, offset), sizeof out[i]);              \
        }                                                                            \
    }

DEFINE_UNPACK(unpack_8, uint8_t)
DEFINE_UNPACK(unpack_16, uint16_t)
DEFINE_UNPACK(unpack_32, uint32_t)
DEFINE_UNPACK(unpack_64, uint64_t)
DEFINE_UNPACK(unpack_128, Bytes16)
#undef DEFINE_UNPACK

/* The offset of a long string becomes its address. */
static void unpack_strings(const UnpackBlock *block, uint32_t offset, void *restrict data)
{
    Row *const *restrict rows = block->rows;
    const size_t count = block->count;
    Bytes16 *restrict out = (Bytes16 *)data + block->begin;
    for (size_t i = 0; i < count; i++) {
        Bytes16 value;
        memcpy(&value, row_place(rows, i, offset), sizeof value);
        const uint64_t is_long = (uint32_t)value.words[0] > STRING_INLINE_BYTES;
        value.words[1] += (0 - is_long) & (uint64_t)(uintptr_t)rows[i];
        out[i] = value;
    }
}

static void unpack_values(const UnpackBlock *block, const RowColumn *column, void *data)
{
    switch (weir_phys_width(column->phys)) {
    case 1: unpack_8(block, column->offset, data); break;
    case 2: unpack_16(block, column->offset, data); break;
    case 4: unpack_32(block, column->offset, data); break;
    case 8: unpack_64(block, column->offset, data); break;
    default:
        if (column->phys == PHYS_STRING) {
            unpack_strings(block, column->offset, data);
        } else {
            unpack_128(block, column->offset, data);
        }
        break;
    }
}

/* Reads a null word of every row; returns their OR. */
ALWAYS_INLINE uint64_t load_null_words(const UnpackBlock *block, uint32_t offset, size_t width,
                                       uint64_t *restrict words)
{
    Row *const *restrict rows = block->rows;
    const size_t count = block->count;
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = 0;
        memcpy(&word, row_place(rows, i, offset), width); /* little endian: the low bytes */
        words[i] = word;
        any |= word;
    }
    return any;
}

static uint64_t load_nulls(const UnpackBlock *block, uint32_t offset, size_t width, uint64_t *words)
{
    switch (width) {
    case 1: return load_null_words(block, offset, 1, words);
    case 2: return load_null_words(block, offset, 2, words);
    case 4: return load_null_words(block, offset, 4, words);
    default: return load_null_words(block, offset, 8, words);
    }
}

/* The block's part of a column's mask. The first block with a NULL makes the mask, and fills it for
 * the blocks before. */
static void unpack_mask(const UnpackBlock *block, const uint64_t *restrict words, unsigned bit,
                        Vector *out, uint64_t *restrict mask)
{
    if (out->validity == NULL) {
        memset(mask, 0xFF, block->begin / 8);
        out->validity = mask;
    }
    for (size_t begin = 0; begin < block->count; begin += 64) {
        const size_t rows = WEIR_MIN(block->count - begin, (size_t)64);
        uint64_t nulls = 0;
        for (size_t i = 0; i < rows; i++) {
            nulls |= (words[begin + i] >> bit & 1u) << i;
        }
        mask[(block->begin + begin) / 64] = ~nulls;
    }
}

/* The masks of the wanted columns of a section, 64 columns at a time. */
static void unpack_nulls(const UnpackBlock *block, const UnpackTarget *target,
                         const RowSection *section)
{
    const size_t section_end = section->first + section->count;
    size_t column = WEIR_MAX(target->first, section->first);
    const size_t end = WEIR_MIN(target->end, section_end);
    while (column < end) {
        uint64_t words[UNPACK_BLOCK];
        const size_t word = (column - section->first) / WORD_COLUMNS;
        const size_t word_first = section->first + word * WORD_COLUMNS;
        const size_t word_end = WEIR_MIN(word_first + WORD_COLUMNS, end);
        const uint64_t any = load_nulls(block, section->null_offset + (uint32_t)word * 8,
                                        WEIR_MIN(section->null_bytes, 8u), words);
        for (; column < word_end; column++) {
            const unsigned bit = (unsigned)(column - word_first);
            Vector *out = &target->out[column - target->first];
            if ((any >> bit & 1u) != 0 || out->validity != NULL) {
                unpack_mask(block, words, bit, out,
                            target->validity + (column - target->first) * VECTOR_VALIDITY_WORDS);
            }
        }
    }
}

void weir_row_unpack_columns(const RowLayout *layout, Row *const *rows, size_t count, size_t first,
                             size_t column_count, Vector *out, uint64_t *validity_buffers)
{
    WEIR_ASSERT(count <= VECTOR_CAPACITY);
    WEIR_ASSERT(first + column_count <= layout->column_count);
    UnpackTarget target = {.first = first, .end = first + column_count, .out = out};
    target.validity = validity_buffers;
    for (size_t c = 0; c < column_count; c++) {
        out[c].phys = layout->columns[first + c].phys;
        out[c].is_constant = false;
        out[c].validity = NULL;
    }
    for (size_t begin = 0; begin < count; begin += UNPACK_BLOCK) {
        const UnpackBlock block = {
            .begin = begin,
            .count = WEIR_MIN(count - begin, (size_t)UNPACK_BLOCK),
            .rows = rows + begin,
        };
        unpack_nulls(&block, &target, &layout->key);
        unpack_nulls(&block, &target, &layout->payload);
        for (size_t c = 0; c < column_count; c++) {
            unpack_values(&block, &layout->columns[first + c], out[c].data);
        }
    }
}

void weir_row_unpack(const RowLayout *layout, Row *const *rows, size_t count, size_t column,
                     Vector *out, uint64_t *validity_buffer)
{
    weir_row_unpack_columns(layout, rows, count, column, 1, out, validity_buffer);
}
