/* sum_double.c: sum and avg of DOUBLE, exact.
 *
 * The hidden part is the exact sum (types/float_sum.h), the shown part its rounded value: at the end
 * of a step each touched group is rounded once. So the result is a function of the rows that are
 * there, whatever came and went before. */
#include "agg/aggregate_priv.h"

#include "base/checked.h"
#include "types/float_sum.h"

enum { DOUBLE_PREFETCH = 16 }; /* rows ahead */

static Status double_update(Accumulator *self, const AccumulatorInput *in, Error *err)
{
    const double *values = in->arg->data;
    const int64_t *weights = in->weights;
    const uint16_t *selection = in->selection;
    Row *const *rows = in->rows;
    const size_t count = in->count;
    const uint32_t shown = self->shown;
    const uint32_t hidden = self->hidden;
    bool is_over = false;
    for (size_t i = 0; i < count; i++) {
        const size_t place = selection == NULL ? i : selection[i];
        if (i + DOUBLE_PREFETCH < count) {
            const size_t next =
                selection == NULL ? i + DOUBLE_PREFETCH : selection[i + DOUBLE_PREFETCH];
            __builtin_prefetch(state_at(rows[next], hidden), 1);
        }
        DoubleSumState *state = state_at(rows[place], shown);
        FloatSum *sum = state_at(rows[place], hidden);
        WEIR_TRY(weir_float_sum_add(sum, self->mem, values[place], weights[place], err));
        is_over |= weir_add_i64(state->count, weights[place], &state->count);
    }
    return is_over ? weir_aggregate_overflow(err) : WEIR_OK;
}

static Status double_open(Accumulator *self, Error *err)
{
    WEIR_UNUSED(err);
    self->update = double_update;
    return WEIR_OK;
}

static Status double_settle(Accumulator *self, Row *const *rows, size_t count, Error *err)
{
    WEIR_UNUSED(err);
    for (size_t i = 0; i < count; i++) {
        DoubleSumState *state = state_at(rows[i], self->shown);
        state->sum = weir_float_sum_value(state_at(rows[i], self->hidden));
    }
    return WEIR_OK;
}

static void double_forget(Accumulator *self, Row *row)
{
    weir_float_sum_deinit(state_at(row, self->hidden), self->mem);
}

Status weir_finish_sum_double(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    WEIR_ASSERT(of->out->phys == PHYS_F64);
    double *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const DoubleSumState *state = finish_state(of, i);
        out[i] = state->sum;
        if (state->count <= 0) {
            finish_null(of, i);
        }
    }
    return WEIR_OK;
}

Status weir_finish_avg_double(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    WEIR_ASSERT(of->out->phys == PHYS_F64);
    double *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const DoubleSumState *state = finish_state(of, i);
        out[i] = 0;
        if (state->count <= 0) {
            finish_null(of, i);
        } else {
            out[i] = state->sum / (double)state->count;
        }
    }
    return WEIR_OK;
}

const AccumulatorType weir_accumulator_sum_double = {
    .name = "sum_double",
    .shown_bytes = sizeof(DoubleSumState),
    .hidden_bytes = sizeof(FloatSum),
    .open = double_open,
    .settle = double_settle,
    .forget = double_forget,
};
