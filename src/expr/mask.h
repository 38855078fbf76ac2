/* mask.h: rows as bytes 0 or 1 while computing, as validity bits, and as selections. */
#ifndef WEIR_EXPR_MASK_H
#define WEIR_EXPR_MASK_H

#include "types/batch.h"

static inline size_t weir_mask_words(size_t count)
{
    return (count + 63) / 64;
}

/* Byte i = 1 where the BOOLEAN vector is TRUE, 0 where it is FALSE or NULL. The vector's own bytes
 * if they serve; NULL with err filled when out of memory. */
const uint8_t *weir_mask_true(const Vector *v, size_t count, Arena *arena, Error *err)
    WEIR_MUST_CHECK;

/* bytes[i] = bit i. */
void weir_mask_unpack(const uint64_t *bits, size_t count, uint8_t *bytes);

/* Bit i = bytes[i] (0 or 1); bits behind count are 1. */
void weir_mask_pack(const uint8_t *bytes, size_t count, uint64_t *bits);

/* The rows whose byte is 1; selection has room for count entries. Returns how many. */
size_t weir_mask_select(const uint8_t *bytes, size_t count, uint16_t *selection);

#endif
