/* float_sum.c: moving the window, the wide form, rounding. */
#include "types/float_sum.h"

enum { DOUBLE_FRACTION_BITS = 52, LIMB_BITS = 64 };

#define BITS_INFINITY UINT64_C(0x7FF0000000000000)
#define BITS_NAN UINT64_C(0x7FF8000000000000)
#define BITS_SIGN (UINT64_C(1) << 63)

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t sign_of(uint64_t limb)
{
    return (limb & BITS_SIGN) != 0 ? UINT64_MAX : 0;
}

/* Moves the window up, dropping zero limbs below, or down, dropping limbs of pure sign above. */
static bool move_window(FloatSum *sum, int new_base)
{
    uint64_t *limbs = sum->data.limbs;
    const uint64_t sign = sign_of(limbs[FLOAT_SUM_LIMBS - 1]);
    uint64_t moved[FLOAT_SUM_LIMBS];
    const int distance = new_base - sum->base;
    for (int i = 0; i < FLOAT_SUM_LIMBS; i++) {
        const int from = i + distance;
        const bool is_below = from < 0;
        moved[i] = is_below ? 0 : sign;
        if (!is_below && from < FLOAT_SUM_LIMBS) {
            moved[i] = limbs[from];
        }
        const int to = i - distance; /* where limb i goes */
        if (to < 0 && limbs[i] != 0) {
            return false;
        }
        if (to >= FLOAT_SUM_LIMBS && limbs[i] != sign) {
            return false;
        }
    }
    if (sign_of(moved[FLOAT_SUM_LIMBS - 1]) != sign) {
        return false;
    }
    memcpy(limbs, moved, sizeof moved);
    sum->base = (int16_t)new_base;
    return true;
}

/* True if the limb, as a signed number, keeps its two highest bits free. */
static bool is_low(uint64_t limb)
{
    return limb + (UINT64_C(1) << 61) < UINT64_C(1) << 62;
}

/* How many limbs the term needs, so that adding it to a low top limb cannot overflow: 2 or 3. */
static int words_needed(const FloatSumTerm *term)
{
    const bool is_short = term->words[2] == term->sign && sign_of(term->words[1]) == term->sign;
    return is_short && is_low(term->words[1]) ? 2 : 3;
}

static bool is_zero(const uint64_t *limbs)
{
    uint64_t all = 0;
    for (size_t i = 0; i < FLOAT_SUM_LIMBS; i++) {
        all |= limbs[i];
    }
    return all == 0;
}

/* Makes the window hold the term's place, with two free bits at the top. */
static bool fit_window(FloatSum *sum, const FloatSumTerm *term)
{
    if (sum->form == FLOAT_SUM_EMPTY || is_zero(sum->data.limbs)) {
        const int base = term->limb > 0 ? term->limb - 1 : 0;
        *sum = (FloatSum){.base = (int16_t)base, .form = FLOAT_SUM_WINDOW};
        return true;
    }
    if (!is_low(sum->data.limbs[FLOAT_SUM_LIMBS - 1]) && !move_window(sum, sum->base + 1)) {
        return false;
    }
    const int highest_base = term->limb;
    const int lowest_base = term->limb + words_needed(term) - FLOAT_SUM_LIMBS;
    if (sum->base > highest_base) {
        return move_window(sum, highest_base);
    }
    return sum->base >= lowest_base || move_window(sum, lowest_base);
}

/* The sum goes to a block. */
static Status widen(FloatSum *sum, Mem *mem, Error *err)
{
    FloatSumBlock *block = weir_mem_zalloc(mem, sizeof *block, err);
    if (block == NULL) {
        return WEIR_ERR_NOMEM;
    }
    if (sum->form == FLOAT_SUM_WINDOW) {
        const uint64_t *limbs = sum->data.limbs;
        const uint64_t sign = sign_of(limbs[FLOAT_SUM_LIMBS - 1]);
        for (int i = 0; i < FLOAT_SUM_BLOCK_LIMBS; i++) {
            const int from = i - sum->base;
            uint64_t limb = from < 0 ? 0 : sign;
            if (from >= 0 && from < FLOAT_SUM_LIMBS) {
                limb = limbs[from];
            }
            block->limbs[i] = limb;
        }
    }
    *sum = (FloatSum){.form = FLOAT_SUM_BLOCK, .data = {.block = block}};
    return WEIR_OK;
}

static void count_special(FloatSumBlock *block, uint64_t bits, int64_t weight)
{
    if ((bits & ~BITS_SIGN) != BITS_INFINITY) {
        block->nan_count += weight;
    } else if ((bits & BITS_SIGN) != 0) {
        block->negative_infinity_count += weight;
    } else {
        block->infinity_count += weight;
    }
}

/* Adds a term whose third word may stick out of the window; it is sign only, then. */
static void add_at_top(uint64_t *limbs, size_t first, const FloatSumTerm *term)
{
    uint64_t wide[FLOAT_SUM_LIMBS + 1];
    memcpy(wide, limbs, FLOAT_SUM_LIMBS * sizeof *limbs);
    wide[FLOAT_SUM_LIMBS] = sign_of(limbs[FLOAT_SUM_LIMBS - 1]);
    weir_float_sum_add_term(wide, FLOAT_SUM_LIMBS + 1, first, term);
    memcpy(limbs, wide, FLOAT_SUM_LIMBS * sizeof *limbs);
}

Status weir_float_sum_add_slow(FloatSum *sum, Mem *mem, double value, int64_t weight, Error *err)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const bool is_finite = (bits & BITS_INFINITY) != BITS_INFINITY;
    if (weight == 0 || (bits & ~BITS_SIGN) == 0) {
        return WEIR_OK;
    }
    const FloatSumTerm term = is_finite ? weir_float_sum_term(bits, weight) : (FloatSumTerm){0};
    if (sum->form != FLOAT_SUM_BLOCK) {
        if (is_finite && fit_window(sum, &term)) {
            add_at_top(sum->data.limbs, (size_t)(term.limb - sum->base), &term);
            return WEIR_OK;
        }
        WEIR_TRY(widen(sum, mem, err));
    }
    if (is_finite) {
        weir_float_sum_add_term(sum->data.block->limbs, FLOAT_SUM_BLOCK_LIMBS, (size_t)term.limb,
                                &term);
    } else {
        count_special(sum->data.block, bits, weight);
    }
    return WEIR_OK;
}

/* limbs = -limbs */
static void negate(uint64_t *limbs, size_t count)
{
    uint64_t carry = 1;
    for (size_t i = 0; i < count; i++) {
        limbs[i] = ~limbs[i] + carry;
        carry = carry != 0 && limbs[i] == 0 ? 1 : 0;
    }
}

/* True if one of the bits below `end` is set. */
static bool has_bits_below(const uint64_t *limbs, size_t end)
{
    uint64_t all = 0;
    for (size_t i = 0; i < end / LIMB_BITS; i++) {
        all |= limbs[i];
    }
    const size_t rest = end % LIMB_BITS;
    if (rest > 0) {
        all |= limbs[end / LIMB_BITS] & ((UINT64_C(1) << rest) - 1);
    }
    return all != 0;
}

/* The 64 bits from `begin` on; what lies above the limbs is zero. */
static uint64_t bits_from(const uint64_t *limbs, size_t count, size_t begin)
{
    const size_t limb = begin / LIMB_BITS;
    const size_t shift = begin % LIMB_BITS;
    uint64_t bits = limbs[limb] >> shift;
    if (shift > 0 && limb + 1 < count) {
        bits |= limbs[limb + 1] << (LIMB_BITS - shift);
    }
    return bits;
}

/* Rounds the integer in the limbs, in units of 2^(64 * base - 1074). Destroys the limbs. */
static double round_limbs(uint64_t *limbs, size_t count, size_t base)
{
    const uint64_t sign = limbs[count - 1] & BITS_SIGN;
    if (sign != 0) {
        negate(limbs, count);
    }
    size_t top = count;
    while (top > 0 && limbs[top - 1] == 0) {
        top--;
    }
    if (top == 0) {
        return 0.0;
    }
    const size_t highest =
        top * LIMB_BITS - 1 - (size_t)__builtin_clzll(limbs[top - 1]); /* bit, in the limbs */
    if (base * LIMB_BITS + highest <= DOUBLE_FRACTION_BITS) {
        /* Fits the fraction: the pattern of a subnormal, or of the smallest normals, is its count. */
        WEIR_ASSERT(base == 0);
        return double_of(sign | limbs[0]);
    }
    /* lowest: the last bit that stays. If it lies below the window, the missing bits are zero. */
    uint64_t significand = 0;
    bool round_up = false;
    if (highest >= DOUBLE_FRACTION_BITS) {
        const size_t lowest = highest - DOUBLE_FRACTION_BITS;
        significand = bits_from(limbs, count, lowest) & ((UINT64_C(1) << 53) - 1);
        if (lowest > 0) {
            const bool half = (bits_from(limbs, count, lowest - 1) & 1u) != 0;
            const bool is_odd = (significand & 1u) != 0;
            round_up = half && (is_odd || has_bits_below(limbs, lowest - 1));
        }
    } else {
        significand = limbs[0] << (DOUBLE_FRACTION_BITS - highest);
    }
    const uint64_t exponent = base * LIMB_BITS + highest - DOUBLE_FRACTION_BITS + 1;
    /* A carry out of the fraction goes to the exponent, as it should. */
    const uint64_t bits =
        (exponent << 52) + (significand & ((UINT64_C(1) << 52) - 1)) + (round_up ? 1 : 0);
    if (exponent >= 0x7FF || bits >= BITS_INFINITY) {
        return double_of(sign | BITS_INFINITY);
    }
    return double_of(sign | bits);
}

double weir_float_sum_value(const FloatSum *sum)
{
    if (sum->form == FLOAT_SUM_EMPTY) {
        return 0.0;
    }
    if (sum->form == FLOAT_SUM_WINDOW) {
        uint64_t limbs[FLOAT_SUM_LIMBS];
        memcpy(limbs, sum->data.limbs, sizeof limbs);
        return round_limbs(limbs, FLOAT_SUM_LIMBS, (size_t)sum->base);
    }
    const FloatSumBlock *block = sum->data.block;
    const bool has_infinity = block->infinity_count > 0;
    const bool has_negative_infinity = block->negative_infinity_count > 0;
    if (block->nan_count > 0 || (has_infinity && has_negative_infinity)) {
        return double_of(BITS_NAN);
    }
    if (has_infinity || has_negative_infinity) {
        return double_of(BITS_INFINITY | (has_negative_infinity ? BITS_SIGN : 0));
    }
    uint64_t limbs[FLOAT_SUM_BLOCK_LIMBS];
    memcpy(limbs, block->limbs, sizeof limbs);
    return round_limbs(limbs, FLOAT_SUM_BLOCK_LIMBS, 0);
}

Status weir_float_sum_copy(const FloatSum *sum, Mem *mem, FloatSum *out, Error *err)
{
    FloatSum copy = *sum;
    if (sum->form == FLOAT_SUM_BLOCK) {
        copy.data.block = weir_mem_alloc(mem, sizeof *copy.data.block, err);
        if (copy.data.block == NULL) {
            return WEIR_ERR_NOMEM;
        }
        memcpy(copy.data.block, sum->data.block, sizeof *copy.data.block);
    }
    *out = copy;
    return WEIR_OK;
}

void weir_float_sum_deinit(FloatSum *sum, Mem *mem)
{
    if (sum->form == FLOAT_SUM_BLOCK) {
        weir_mem_free(mem, sum->data.block);
    }
    *sum = (FloatSum){0};
}
