/* count.c: count(*) and count(x).
 *
 * Two accumulators: `count` adds the weights of the rows it is given; `rows` does nothing until the
 * end of the step, when it reads the weight of the group row. */
#include "agg/aggregate_priv.h"

#include "base/checked.h"

static Status count_update(Accumulator *self, const AccumulatorInput *in, Error *err)
{
    const uint32_t offset = self->shown;
    const int64_t *weights = in->weights;
    const uint16_t *selection = in->selection;
    Row *const *rows = in->rows;
    const size_t count = in->count;
    bool is_over = false;
    if (in->lone != NULL) {
        CountState *state = state_at(in->lone, offset);
        int64_t sum = state->count;
        for (size_t i = 0; i < count; i++) {
            is_over |= weir_add_i64(sum, weights[selection == NULL ? i : selection[i]], &sum);
        }
        state->count = sum;
    } else if (selection == NULL) {
        for (size_t i = 0; i < count; i++) {
            CountState *state = state_at(rows[i], offset);
            is_over |= weir_add_i64(state->count, weights[i], &state->count);
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            const size_t place = selection[i];
            CountState *state = state_at(rows[place], offset);
            is_over |= weir_add_i64(state->count, weights[place], &state->count);
        }
    }
    return is_over ? weir_aggregate_overflow(err) : WEIR_OK;
}

static Status count_open(Accumulator *self, Error *err)
{
    WEIR_UNUSED(err);
    self->update = count_update;
    return WEIR_OK;
}

static Status rows_update(Accumulator *self, const AccumulatorInput *in, Error *err)
{
    WEIR_UNUSED(self);
    WEIR_UNUSED(in);
    WEIR_UNUSED(err);
    return WEIR_OK;
}

static Status rows_open(Accumulator *self, Error *err)
{
    WEIR_UNUSED(err);
    self->update = rows_update;
    return WEIR_OK;
}

static Status rows_settle(Accumulator *self, Row *const *rows, size_t count, Error *err)
{
    WEIR_UNUSED(err);
    for (size_t i = 0; i < count; i++) {
        CountState *state = state_at(rows[i], self->shown);
        state->count = weir_row_weight(rows[i]);
    }
    return WEIR_OK;
}

Status weir_finish_count(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    WEIR_ASSERT(of->out->phys == PHYS_I64);
    int64_t *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const CountState *state = finish_state(of, i);
        out[i] = state->count;
    }
    return WEIR_OK;
}

const AccumulatorType weir_accumulator_count = {
    .name = "count",
    .shown_bytes = sizeof(CountState),
    .open = count_open,
};

const AccumulatorType weir_accumulator_rows = {
    .name = "rows",
    .shown_bytes = sizeof(CountState),
    .open = rows_open,
    .settle = rows_settle,
};
