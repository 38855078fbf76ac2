/* boolean.c: bool_and, bool_or, count_if and sum of BOOLEAN: all from two counts. */
#include "agg/aggregate_priv.h"

#include "base/checked.h"

static Status boolean_update(Accumulator *self, const AccumulatorInput *in, Error *err)
{
    const uint8_t *values = in->arg->data;
    bool is_over = false;
    for (size_t i = 0; i < in->count; i++) {
        const size_t place = in->selection == NULL ? i : in->selection[i];
        BooleanState *state = state_at(in->rows[place], self->shown);
        int64_t *count = values[place] != 0 ? &state->true_count : &state->false_count;
        is_over |= weir_add_i64(*count, in->weights[place], count);
    }
    return is_over ? weir_aggregate_overflow(err) : WEIR_OK;
}

static Status boolean_open(Accumulator *self, Error *err)
{
    WEIR_UNUSED(err);
    self->update = boolean_update;
    return WEIR_OK;
}

static bool has_values(const BooleanState *state)
{
    return state->true_count > 0 || state->false_count > 0;
}

Status weir_finish_bool_and(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    WEIR_ASSERT(of->out->phys == PHYS_U8);
    uint8_t *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const BooleanState *state = finish_state(of, i);
        out[i] = has_values(state) && state->false_count <= 0;
        if (!has_values(state)) {
            finish_null(of, i);
        }
    }
    return WEIR_OK;
}

Status weir_finish_bool_or(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    WEIR_ASSERT(of->out->phys == PHYS_U8);
    uint8_t *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const BooleanState *state = finish_state(of, i);
        out[i] = state->true_count > 0;
        if (!has_values(state)) {
            finish_null(of, i);
        }
    }
    return WEIR_OK;
}

/* Also count_if, which is NULL, not 0, without a value. */
Status weir_finish_sum_boolean(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    WEIR_ASSERT(of->out->phys == PHYS_I128);
    i128 *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const BooleanState *state = finish_state(of, i);
        out[i] = state->true_count;
        if (!has_values(state)) {
            finish_null(of, i);
        }
    }
    return WEIR_OK;
}

const AccumulatorType weir_accumulator_boolean = {
    .name = "boolean",
    .shown_bytes = sizeof(BooleanState),
    .open = boolean_open,
};
