/* float_sum.h: the exact sum of doubles, from which values can be taken out again.
 *
 * The sum is an integer in units of 2^-1074, the smallest double, kept in two's complement. State of
 * 48 bytes: a window of five 64-bit limbs that lies where the values are, so that values up to 2^64
 * times smaller or larger than the first and 2^60 of them fit. What does not fit (a wider range,
 * infinities, NaN) moves the state to a block of 36 limbs that holds any sum of doubles.
 *
 * weir_float_sum_value() costs a few ns and reads only: an operator that must know the sum before a
 * step remembers the double, and need not copy the state.
 *
 * A state may be moved as bytes. Copying it as bytes shares the block: use weir_float_sum_copy. All
 * zero is the empty sum. Adding the same values in any order, and adding and taking out, gives the
 * same value; the states need not have the same bytes. */
#ifndef WEIR_TYPES_FLOAT_SUM_H
#define WEIR_TYPES_FLOAT_SUM_H

#include "base/mem.h"

enum { FLOAT_SUM_LIMBS = 5, FLOAT_SUM_BLOCK_LIMBS = 36 };

typedef enum FloatSumForm {
    FLOAT_SUM_EMPTY = 0,
    FLOAT_SUM_WINDOW = 1,
    FLOAT_SUM_BLOCK = 2,
} FloatSumForm;

/* The wide form. Net counts of the values that are not numbers. */
typedef struct FloatSumBlock {
    uint64_t limbs[FLOAT_SUM_BLOCK_LIMBS]; /* bit 0 counts 2^-1074 */
    int64_t nan_count;
    int64_t infinity_count;
    int64_t negative_infinity_count;
} FloatSumBlock;

typedef struct FloatSum {
    int16_t base;      /* WINDOW: bit 0 of limbs[0] counts 2^(64 * base - 1074) */
    uint8_t form;      /* FloatSumForm */
    uint8_t unused[5]; /* zero */
    union {
        uint64_t limbs[FLOAT_SUM_LIMBS];
        FloatSumBlock *block; /* owned, from the Mem of the calls */
    } data;
} FloatSum;

_Static_assert(sizeof(FloatSum) == 48, "the state of a sum");
_Static_assert(sizeof(FloatSumBlock) == 312, "the wide state of a sum");

/* An addend: the 192-bit product of significand and weight, shifted to its limb. */
typedef struct FloatSumTerm {
    uint64_t words[3];
    uint64_t sign; /* 0 or all ones: the words above */
    int limb;      /* of words[0] */
} FloatSumTerm;

/* bits: of a finite double. */
static inline FloatSumTerm weir_float_sum_term(uint64_t bits, int64_t weight)
{
    const unsigned exponent = (unsigned)(bits >> 52) & 0x7FFu;
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const uint64_t significand = fraction | (uint64_t)(exponent != 0) << 52;
    const unsigned place = exponent == 0 ? 0 : exponent - 1; /* of the significand's bit 0 */
    const unsigned shift = place & 63;
    const int64_t number = (bits >> 63) != 0 ? -(int64_t)significand : (int64_t)significand;
    const i128 product = (i128)number * weight; /* below 2^116 */
    const u128 low = (u128)product << shift;
    const uint64_t high = (uint64_t)(product >> 64);
    const uint64_t sign = product < 0 ? UINT64_MAX : 0;
    return (FloatSumTerm){
        .words = {(uint64_t)low, (uint64_t)(low >> 64),
                  (high >> (63 - shift) >> 1) | (sign << shift)}, /* shift may be 0 */
        .sign = sign,
        .limb = (int)(place >> 6),
    };
}

/* Adds the term to limbs[0 .. limb_count), its words[0] to limbs[first]. */
static inline void weir_float_sum_add_term(uint64_t *limbs, size_t limb_count, size_t first,
                                           const FloatSumTerm *term)
{
    u128 low;
    const u128 term_low = (u128)term->words[1] << 64 | term->words[0];
    memcpy(&low, &limbs[first], sizeof low);
    low += term_low;
    memcpy(&limbs[first], &low, sizeof low);
    const u128 sum = (u128)limbs[first + 2] + term->words[2] + (low < term_low ? 1 : 0);
    limbs[first + 2] = (uint64_t)sum;
    uint64_t carry = (uint64_t)(sum >> 64);
    /* The sign's ones and the carry cancel out, or there is nothing to add. */
    for (size_t i = first + 3; i < limb_count && term->sign + carry != 0; i++) {
        const u128 next = (u128)limbs[i] + term->sign + carry;
        limbs[i] = (uint64_t)next;
        carry = (uint64_t)(next >> 64);
    }
}

/* Everything that the inline path leaves out. */
Status weir_float_sum_add_slow(FloatSum *sum, Mem *mem, double value, int64_t weight, Error *err)
    WEIR_MUST_CHECK;

/* Adds value * weight, exactly. Fails only for want of memory; the state is unchanged then. */
static inline WEIR_MUST_CHECK Status weir_float_sum_add(FloatSum *sum, Mem *mem, double value,
                                                        int64_t weight, Error *err)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const bool is_finite = ((bits >> 52) & 0x7FFu) != 0x7FFu;
    if (WEIR_LIKELY(sum->form == FLOAT_SUM_WINDOW && is_finite)) {
        const FloatSumTerm term = weir_float_sum_term(bits, weight);
        const size_t first = (size_t)(term.limb - sum->base); /* huge if it lies below */
        /* The top limb keeps two bits free, so that one more term cannot overflow it. */
        const uint64_t top = sum->data.limbs[FLOAT_SUM_LIMBS - 1] + (UINT64_C(1) << 61);
        if (WEIR_LIKELY(first <= FLOAT_SUM_LIMBS - 3 && top < UINT64_C(1) << 62)) {
            weir_float_sum_add_term(sum->data.limbs, FLOAT_SUM_LIMBS, first, &term);
            return WEIR_OK;
        }
    }
    return weir_float_sum_add_slow(sum, mem, value, weight, err);
}

/* The double nearest to the exact sum (ties to even); infinity beyond the range; NaN if a NaN or both
 * infinities are in it; 0.0 for the empty sum. */
double weir_float_sum_value(const FloatSum *sum);

/* out: overwritten, not freed. */
Status weir_float_sum_copy(const FloatSum *sum, Mem *mem, FloatSum *out, Error *err)
    WEIR_MUST_CHECK;

/* Frees the block, if there is one; leaves the empty sum. */
void weir_float_sum_deinit(FloatSum *sum, Mem *mem);

#endif
