/* interval.c: the average of intervals, with DuckDB's own arithmetic.
 *
 * Months, days and microseconds are summed apart; the division passes the remainder of the months on
 * to the days and that of the days to the microseconds. (The remainder of the microseconds is added
 * undivided: that is what DuckDB does.) */
#include "agg/aggregate_priv.h"

#include "base/checked.h"

enum { DAYS_PER_MONTH = 30 };

#define MICROS_PER_DAY INT64_C(86400000000)

static bool interval_add(IntervalSumState *state, const Interval *value, int64_t weight)
{
    int64_t months = 0;
    int64_t days = 0;
    i128 micros = (i128)(((u128)(uint64_t)state->micros_high << 64) | state->micros_low);
    bool is_over = weir_mul_i64(value->months, weight, &months);
    is_over |= weir_mul_i64(value->days, weight, &days);
    is_over |= weir_add_i64(state->months, months, &state->months);
    is_over |= weir_add_i64(state->days, days, &state->days);
    is_over |= weir_add_i128(micros, (i128)value->micros * weight, &micros);
    is_over |= weir_add_i64(state->count, weight, &state->count);
    state->micros_low = (uint64_t)micros;
    state->micros_high = (int64_t)(micros >> 64);
    return is_over;
}

static Status interval_update(Accumulator *self, const AccumulatorInput *in, Error *err)
{
    const Interval *values = in->arg->data;
    bool is_over = false;
    for (size_t i = 0; i < in->count; i++) {
        const size_t place = in->selection == NULL ? i : in->selection[i];
        is_over |= interval_add(state_at(in->rows[place], self->shown), &values[place],
                                in->weights[place]);
    }
    return is_over ? weir_aggregate_overflow(err) : WEIR_OK;
}

static Status interval_open(Accumulator *self, Error *err)
{
    WEIR_UNUSED(err);
    self->update = interval_update;
    return WEIR_OK;
}

static Status interval_divide(const IntervalSumState *state, Interval *out, Error *err)
{
    const i128 sum = (i128)(((u128)(uint64_t)state->micros_high << 64) | state->micros_low);
    const int64_t micros = (int64_t)sum;
    if (state->months != (int32_t)state->months || state->days != (int32_t)state->days ||
        sum != micros) {
        return weir_error_set(err, WEIR_ERR_EVALUATION, "Overflow in INTERVAL addition");
    }
    const int64_t count = state->count;
    const int64_t month_rest = state->months % count * DAYS_PER_MONTH;
    const int64_t day_rest = (state->days % count + month_rest % count) * MICROS_PER_DAY;
    const int64_t micro_rest = micros % count + day_rest / count;
    out->months = (int32_t)(state->months / count);
    out->days = (int32_t)(state->days / count + month_rest / count);
    out->micros = micros / count + micro_rest;
    return WEIR_OK;
}

Status weir_finish_avg_interval(const AggregateFinish *of, Error *err)
{
    WEIR_ASSERT(of->out->phys == PHYS_INTERVAL);
    Interval *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const IntervalSumState *state = finish_state(of, i);
        out[i] = (Interval){0};
        if (state->count <= 0) {
            finish_null(of, i);
        } else {
            WEIR_TRY(interval_divide(state, &out[i], err));
        }
    }
    return WEIR_OK;
}

const AccumulatorType weir_accumulator_sum_interval = {
    .name = "sum_interval",
    .shown_bytes = sizeof(IntervalSumState),
    .open = interval_open,
};
