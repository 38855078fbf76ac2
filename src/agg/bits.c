/* bits.c: bit_and, bit_or, bit_xor of integers.
 *
 * For and and or the hidden part counts, for each bit, the values that have it: and has the bits of
 * all values, or those of any. xor is its own inverse: the parity of the weight decides. */
#include "agg/aggregate_priv.h"

#include "base/checked.h"

/* The bits of the value at a place, as two words. */
static void read_bits(const Vector *values, size_t place, uint64_t words[2])
{
    const size_t width = weir_phys_width(values->phys);
    words[0] = 0;
    words[1] = 0;
    memcpy(words, (const char *)values->data + place * width, width);
}

/* --- xor ------------------------------------------------------------------------------------- */

static Status xor_update(Accumulator *self, const AccumulatorInput *in, Error *err)
{
    bool is_over = false;
    for (size_t i = 0; i < in->count; i++) {
        const size_t place = in->selection == NULL ? i : in->selection[i];
        ValueState *state = state_at(in->rows[place], self->shown);
        const int64_t weight = in->weights[place];
        const uint64_t mask = 0 - ((uint64_t)weight & 1u);
        uint64_t words[2];
        read_bits(in->arg, place, words);
        state->words[0] ^= words[0] & mask;
        state->words[1] ^= words[1] & mask;
        is_over |= weir_add_i64(state->count, weight, &state->count);
    }
    return is_over ? weir_aggregate_overflow(err) : WEIR_OK;
}

static Status xor_open(Accumulator *self, Error *err)
{
    WEIR_UNUSED(err);
    self->update = xor_update;
    return WEIR_OK;
}

/* --- and, or --------------------------------------------------------------------------------- */

static bool count_bits(int64_t *counts, uint64_t word, int64_t weight)
{
    bool is_over = false;
    for (; word != 0; word &= word - 1) {
        int64_t *count = &counts[__builtin_ctzll(word)];
        is_over |= weir_add_i64(*count, weight, count);
    }
    return is_over;
}

static Status bits_update(Accumulator *self, const AccumulatorInput *in, Error *err)
{
    bool is_over = false;
    for (size_t i = 0; i < in->count; i++) {
        const size_t place = in->selection == NULL ? i : in->selection[i];
        ValueState *state = state_at(in->rows[place], self->shown);
        int64_t *counts = state_at(in->rows[place], self->hidden);
        const int64_t weight = in->weights[place];
        uint64_t words[2];
        read_bits(in->arg, place, words);
        is_over |= count_bits(counts, words[0], weight);
        if (words[1] != 0) {
            is_over |= count_bits(counts + 64, words[1], weight);
        }
        is_over |= weir_add_i64(state->count, weight, &state->count);
    }
    return is_over ? weir_aggregate_overflow(err) : WEIR_OK;
}

static Status bits_open(Accumulator *self, Error *err)
{
    WEIR_UNUSED(err);
    self->update = bits_update;
    self->hidden_bytes = (uint32_t)(weir_phys_width(self->arg->phys) * 8 * sizeof(int64_t));
    return WEIR_OK;
}

/* The bits that at least `least` values have. */
static uint64_t bits_counted(const int64_t *counts, size_t bit_count, int64_t least)
{
    uint64_t word = 0;
    for (size_t bit = 0; bit < bit_count; bit++) {
        word |= (uint64_t)(counts[bit] >= least) << bit;
    }
    return word;
}

static void bits_show(const Accumulator *self, Row *row, bool of_all)
{
    ValueState *state = state_at(row, self->shown);
    const int64_t *counts = state_at(row, self->hidden);
    const size_t bit_count = weir_phys_width(self->arg->phys) * 8;
    const int64_t least = of_all ? WEIR_MAX(state->count, (int64_t)1) : 1;
    state->words[0] = bits_counted(counts, WEIR_MIN(bit_count, (size_t)64), least);
    state->words[1] = bit_count > 64 ? bits_counted(counts + 64, 64, least) : 0;
}

static Status and_settle(Accumulator *self, Row *const *rows, size_t count, Error *err)
{
    WEIR_UNUSED(err);
    for (size_t i = 0; i < count; i++) {
        bits_show(self, rows[i], true);
    }
    return WEIR_OK;
}

static Status or_settle(Accumulator *self, Row *const *rows, size_t count, Error *err)
{
    WEIR_UNUSED(err);
    for (size_t i = 0; i < count; i++) {
        bits_show(self, rows[i], false);
    }
    return WEIR_OK;
}

Status weir_finish_bits(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    const size_t width = weir_phys_width(of->out->phys);
    char *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const ValueState *state = finish_state(of, i);
        memcpy(out + i * width, state->words, width);
        if (state->count <= 0) {
            finish_null(of, i);
        }
    }
    return WEIR_OK;
}

const AccumulatorType weir_accumulator_bit_xor = {
    .name = "bit_xor",
    .shown_bytes = sizeof(ValueState),
    .open = xor_open,
};

const AccumulatorType weir_accumulator_bit_and = {
    .name = "bit_and",
    .shown_bytes = sizeof(ValueState),
    .open = bits_open,
    .settle = and_settle,
};

const AccumulatorType weir_accumulator_bit_or = {
    .name = "bit_or",
    .shown_bytes = sizeof(ValueState),
    .open = bits_open,
    .settle = or_settle,
};
