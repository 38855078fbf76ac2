/* mask.c: between bytes, bits and selections, eight rows at a time. */
#include "expr/mask.h"

#include "base/codec.h"

/* Byte i of the result is bit i of the low byte. */
static inline uint64_t spread_bits(uint64_t bits)
{
    const uint64_t copies = (bits & 0xFF) * UINT64_C(0x0101010101010101);
    const uint64_t picked = copies & UINT64_C(0x8040201008040201);
    return ((picked + UINT64_C(0x7F7F7F7F7F7F7F7F)) >> 7) & UINT64_C(0x0101010101010101);
}

/* Bit i of the result is byte i (0 or 1). */
static inline uint64_t gather_bytes(uint64_t bytes)
{
    return (bytes * UINT64_C(0x0102040810204080)) >> 56;
}

void weir_mask_unpack(const uint64_t *bits, size_t count, uint8_t *bytes)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        weir_store_u64(bytes + i, spread_bits(bits[i / 64] >> (i % 64)));
    }
    for (; i < count; i++) {
        bytes[i] = (uint8_t)((bits[i / 64] >> (i % 64)) & 1u);
    }
}

void weir_mask_pack(const uint8_t *bytes, size_t count, uint64_t *bits)
{
    for (size_t word = 0; word < weir_mask_words(count); word++) {
        const size_t begin = word * 64;
        const size_t rows = WEIR_MIN(count - begin, (size_t)64);
        uint64_t packed = rows == 64 ? 0 : UINT64_MAX << rows;
        size_t i = 0;
        for (; i + 8 <= rows; i += 8) {
            packed |= gather_bytes(weir_load_u64(bytes + begin + i)) << i;
        }
        for (; i < rows; i++) {
            packed |= (uint64_t)bytes[begin + i] << i;
        }
        bits[word] = packed;
    }
}

const uint8_t *weir_mask_true(const Vector *v, size_t count, Arena *arena, Error *err)
{
    const uint8_t *values = v->data;
    if (!v->is_constant && v->validity == NULL) {
        return values;
    }
    uint8_t *bytes = weir_arena_alloc(arena, count, err);
    if (bytes == NULL) {
        return NULL;
    }
    if (v->is_constant) {
        memset(bytes, !weir_vector_is_null(v, 0) && values[0] != 0, count);
        return bytes;
    }
    weir_mask_unpack(v->validity, count, bytes);
    for (size_t i = 0; i < count; i++) {
        bytes[i] &= values[i];
    }
    return bytes;
}

size_t weir_mask_select(const uint8_t *bytes, size_t count, uint16_t *selection)
{
    size_t selected = 0;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        if (weir_load_u64(bytes + i) == 0) {
            continue;
        }
        for (size_t j = i; j < i + 8; j++) {
            selection[selected] = (uint16_t)j;
            selected += bytes[j];
        }
    }
    for (; i < count; i++) {
        selection[selected] = (uint16_t)i;
        selected += bytes[i];
    }
    return selected;
}
