/* sum.c: sums of integers and decimals, exact.
 *
 * Addends of at most 64 bits go into 128 bits; addends of 128 bits into 192, so that only the final
 * value must fit, whatever order the rows came and went in. As in DuckDB the sum of decimals is not
 * checked against 38 digits. */
#include "agg/aggregate_priv.h"

#include "base/checked.h"

/* Adds value * weight; true on overflow. */
ALWAYS_INLINE bool sum_add(SumState *state, i128 value, int64_t weight)
{
    i128 sum = 0;
    const bool is_over = weir_add_i128(sum_state_value(state), value * weight, &sum);
    state->low = (uint64_t)sum;
    state->high = (int64_t)(sum >> 64);
    return weir_add_i64(state->count, weight, &state->count) || is_over;
}

#define DEFINE_SUM(name, ctype)                                                                   \
    static Status name(Accumulator *self, const AccumulatorInput *in, Error *err)                 \
    {                                                                                             \
        const ctype *values = in->arg->data;                                                      \
        const int64_t *weights = in->weights;                                                     \
        const uint16_t *selection = in->selection;                                                \
        Row *const *rows = in->rows;                                                              \
        const size_t count = in->count;                                                           \
        const uint32_t offset = self->shown;                                                      \
        bool is_over = false;                                                                     \
        if (in->lone != NULL) {                                                                   \
            SumState state;                                                                       \
            memcpy(&state, state_at(in->lone, offset), sizeof state);                             \
            for (size_t i = 0; i < count; i++) {                                                  \
                const size_t place = selection == NULL ? i : selection[i];                        \
                is_over |= sum_add(&state, values[place], weights[place]);                        \
            }                                                                                     \
            memcpy(state_at(in->lone, offset), &state, sizeof state);                             \
        } else if (selection == NULL) {                                                           \
            for (size_t i = 0; i < count; i++) {                                                  \
                is_over |= sum_add(state_at(rows[i], offset), values[i], weights[i]);             \
            }                                                                                     \
        } else {                                                                                  \
            for (size_t i = 0; i < count; i++) {                                                  \
                const size_t place = selection[i];                                                \
                is_over |= sum_add(state_at(rows[place], offset), values[place], weights[place]); \
            }                                                                                     \
        }                                                                                         \
        return is_over ? weir_aggregate_overflow(err) : WEIR_OK;                                  \
    }

DEFINE_SUM(sum_i8, int8_t)
DEFINE_SUM(sum_i16, int16_t)
DEFINE_SUM(sum_i32, int32_t)
DEFINE_SUM(sum_i64, int64_t)
DEFINE_SUM(sum_u8, uint8_t)
DEFINE_SUM(sum_u16, uint16_t)
DEFINE_SUM(sum_u32, uint32_t)
DEFINE_SUM(sum_u64, uint64_t)
#undef DEFINE_SUM

static Status sum_open(Accumulator *self, Error *err)
{
    static const AccumulatorUpdate updates[PHYS_COUNT] = {
        [PHYS_I8] = sum_i8, [PHYS_I16] = sum_i16, [PHYS_I32] = sum_i32, [PHYS_I64] = sum_i64,
        [PHYS_U8] = sum_u8, [PHYS_U16] = sum_u16, [PHYS_U32] = sum_u32, [PHYS_U64] = sum_u64,
    };
    self->update = updates[self->arg->phys];
    WEIR_VERIFY(self->update != NULL, err);
    return WEIR_OK;
}

/* --- 128-bit addends ------------------------------------------------------------------------- */

/* The 192-bit product of value and weight: words[0], words[1], *high. */
static void wide_product(i128 value, int64_t weight, uint64_t words[2], int64_t *high)
{
    const u128 low = (u128)(uint64_t)value * (uint64_t)weight; /* as if weight were unsigned */
    const i128 middle = (value >> 64) * weight;                /* fits: 64 x 64 bits, signed */
    const i128 correction = weight < 0 ? (i128)(uint64_t)value : 0;
    const i128 upper = middle + (i128)(uint64_t)(low >> 64) - correction;
    words[0] = (uint64_t)low;
    words[1] = (uint64_t)upper;
    *high = (int64_t)(upper >> 64);
}

static bool wide_add(WideSumState *state, i128 value, int64_t weight)
{
    uint64_t words[2];
    int64_t high = 0;
    wide_product(value, weight, words, &high);
    const u128 low = (u128)state->words[0] + words[0];
    const u128 middle = (u128)state->words[1] + words[1] + (uint64_t)(low >> 64);
    state->words[0] = (uint64_t)low;
    state->words[1] = (uint64_t)middle;
    int64_t sum = 0;
    bool is_over = weir_add_i64(high, (int64_t)(middle >> 64), &sum);
    is_over |= weir_add_i64(state->high, sum, &state->high);
    is_over |= weir_add_i64(state->count, weight, &state->count);
    return is_over;
}

static Status wide_update(Accumulator *self, const AccumulatorInput *in, Error *err)
{
    const i128 *values = in->arg->data;
    bool is_over = false;
    for (size_t i = 0; i < in->count; i++) {
        const size_t place = in->selection == NULL ? i : in->selection[i];
        is_over |=
            wide_add(state_at(in->rows[place], self->shown), values[place], in->weights[place]);
    }
    return is_over ? weir_aggregate_overflow(err) : WEIR_OK;
}

static Status wide_open(Accumulator *self, Error *err)
{
    WEIR_UNUSED(err);
    self->update = wide_update;
    return WEIR_OK;
}

Status weir_wide_sum_value(const WideSumState *state, i128 *out, Error *err)
{
    const int64_t middle = (int64_t)state->words[1];
    if (state->high != (middle < 0 ? -1 : 0)) {
        return weir_error_set(err, WEIR_ERR_EVALUATION, "Overflow in HUGEINT addition");
    }
    *out = (i128)(((u128)state->words[1] << 64) | state->words[0]);
    return WEIR_OK;
}

/* --- results --------------------------------------------------------------------------------- */

Status weir_finish_sum(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    WEIR_ASSERT(of->out->phys == PHYS_I128);
    i128 *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const SumState *state = finish_state(of, i);
        out[i] = sum_state_value(state);
        if (WEIR_UNLIKELY(state->count <= 0)) {
            finish_null(of, i);
        }
    }
    return WEIR_OK;
}

Status weir_finish_sum_wide(const AggregateFinish *of, Error *err)
{
    WEIR_ASSERT(of->out->phys == PHYS_I128);
    i128 *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const WideSumState *state = finish_state(of, i);
        out[i] = 0;
        if (state->count <= 0) {
            finish_null(of, i);
        } else {
            WEIR_TRY(weir_wide_sum_value(state, &out[i], err));
        }
    }
    return WEIR_OK;
}

const AccumulatorType weir_accumulator_sum = {
    .name = "sum",
    .shown_bytes = sizeof(SumState),
    .open = sum_open,
};

const AccumulatorType weir_accumulator_sum_wide = {
    .name = "sum_wide",
    .shown_bytes = sizeof(WideSumState),
    .open = wide_open,
};
