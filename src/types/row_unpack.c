/* row_unpack.c: packed rows to columns. */
#include "types/row.h"

#include "base/codec.h"

typedef struct Bytes16 {
    uint64_t words[2];
} Bytes16;

#define DEFINE_UNPACK(name, ctype)                                              \
    static void name(char *const *restrict rows, size_t count, uint32_t offset, \
                     ctype *restrict out)                                       \
    {                                                                           \
        for (size_t i = 0; i < count; i++) {                                    \
            memcpy(&out[i], rows[i] + offset, sizeof out[i]);                   \
        }                                                                       \
    }

DEFINE_UNPACK(unpack_8, uint8_t)
DEFINE_UNPACK(unpack_16, uint16_t)
DEFINE_UNPACK(unpack_32, uint32_t)
DEFINE_UNPACK(unpack_64, uint64_t)
DEFINE_UNPACK(unpack_128, Bytes16)
#undef DEFINE_UNPACK

/* The offset of a long string becomes its address. */
static void unpack_strings(char *const *restrict rows, size_t count, uint32_t offset,
                           Bytes16 *restrict out)
{
    for (size_t i = 0; i < count; i++) {
        Bytes16 value;
        memcpy(&value, rows[i] + offset, sizeof value);
        const bool is_long = (uint32_t)value.words[0] > STRING_INLINE_BYTES;
        value.words[1] += is_long ? (uint64_t)(uintptr_t)rows[i] : 0;
        out[i] = value;
    }
}

/* Fills the mask and returns true if a row has the null bit; otherwise the mask is untouched. */
static bool unpack_nulls(char *const *restrict rows, size_t count, uint32_t byte, unsigned bit,
                         uint64_t *restrict validity)
{
    unsigned any = 0;
    for (size_t i = 0; i < count; i++) {
        any |= (unsigned char)rows[i][byte];
    }
    if ((any >> bit & 1u) == 0) {
        return false;
    }
    for (size_t begin = 0; begin < count; begin += 64) {
        const size_t here = WEIR_MIN(count - begin, (size_t)64);
        uint64_t nulls = 0;
        for (size_t i = 0; i < here; i++) {
            const uint64_t bits = (unsigned char)rows[begin + i][byte];
            nulls |= (bits >> bit & 1u) << i;
        }
        validity[begin / 64] = ~nulls;
    }
    return true;
}

void weir_row_unpack(const RowLayout *layout, Row *const *rows, size_t count, size_t column,
                     Vector *out, uint64_t *validity_buffer)
{
    WEIR_ASSERT(count <= VECTOR_CAPACITY);
    WEIR_ASSERT(column < layout->column_count);
    char *places[VECTOR_CAPACITY];
    for (size_t i = 0; i < count; i++) {
        places[i] = (char *)rows[i];
    }
    const RowColumn *from = &layout->columns[column];
    switch (weir_phys_width(from->phys)) {
    case 1: unpack_8(places, count, from->offset, out->data); break;
    case 2: unpack_16(places, count, from->offset, out->data); break;
    case 4: unpack_32(places, count, from->offset, out->data); break;
    case 8: unpack_64(places, count, from->offset, out->data); break;
    default:
        if (from->phys == PHYS_STRING) {
            unpack_strings(places, count, from->offset, out->data);
        } else {
            unpack_128(places, count, from->offset, out->data);
        }
        break;
    }
    const RowSection *section = column < layout->key.count ? &layout->key : &layout->payload;
    const size_t bit = column - section->first;
    const bool has_nulls = unpack_nulls(places, count, section->null_offset + (uint32_t)(bit / 8),
                                        (unsigned)(bit % 8), validity_buffer);
    out->phys = from->phys;
    out->is_constant = false;
    out->validity = has_nulls ? validity_buffer : NULL;
}
