/* aggregate_priv.h: states, accumulators and finishes of this folder. */
#ifndef WEIR_AGG_AGGREGATE_PRIV_H
#define WEIR_AGG_AGGREGATE_PRIV_H

#include "agg/aggregate.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Shown parts. */

typedef struct CountState {
    int64_t count;
} CountState;

/* A 128-bit sum in two's complement, in words so that a state is 24 bytes. */
typedef struct SumState {
    uint64_t low;
    int64_t high;
    int64_t count; /* values in it */
} SumState;

/* A 192-bit sum, for addends of 128 bits: only the result must fit into 128. */
typedef struct WideSumState {
    uint64_t words[2];
    int64_t high;
    int64_t count;
} WideSumState;

typedef struct DoubleSumState {
    double sum; /* the exact sum, rounded */
    int64_t count;
} DoubleSumState;

typedef struct IntervalSumState {
    int64_t months;
    int64_t days;
    uint64_t micros_low;
    int64_t micros_high;
    int64_t count;
} IntervalSumState;

typedef struct BooleanState {
    int64_t true_count;
    int64_t false_count;
} BooleanState;

/* One value as in a vector, zero padded. */
typedef struct ValueState {
    uint64_t words[2];
    int64_t count; /* 0 = there is no value; bits: values in it; extremes: 1 */
} ValueState;

ALWAYS_INLINE void *state_at(Row *row, uint32_t offset)
{
    return (char *)row + offset;
}

ALWAYS_INLINE i128 sum_state_value(const SumState *state)
{
    return (i128)(((u128)(uint64_t)state->high << 64) | state->low);
}

/* The state of value i, old or new. */
ALWAYS_INLINE const void *finish_state(const AggregateFinish *finish, size_t i)
{
    return finish->shown[i] + finish->offset;
}

ALWAYS_INLINE void finish_null(const AggregateFinish *finish, size_t i)
{
    finish->out->validity = finish->validity;
    weir_validity_set_null(finish->validity, i);
}

/* The 192-bit sum as 128 bits; fails if it does not fit. */
Status weir_wide_sum_value(const WideSumState *state, i128 *out, Error *err) WEIR_MUST_CHECK;

/* A count left 64 bits, or a sum the bits it is kept in. */
Status weir_aggregate_overflow(Error *err);

extern const AccumulatorType weir_accumulator_count;
extern const AccumulatorType weir_accumulator_sum;
extern const AccumulatorType weir_accumulator_sum_wide;
extern const AccumulatorType weir_accumulator_sum_double;
extern const AccumulatorType weir_accumulator_sum_interval;
extern const AccumulatorType weir_accumulator_boolean;
extern const AccumulatorType weir_accumulator_minimum;
extern const AccumulatorType weir_accumulator_maximum;
extern const AccumulatorType weir_accumulator_first;
extern const AccumulatorType weir_accumulator_bit_and;
extern const AccumulatorType weir_accumulator_bit_or;
extern const AccumulatorType weir_accumulator_bit_xor;

Status weir_finish_count(const AggregateFinish *of, Error *err);
Status weir_finish_sum(const AggregateFinish *of, Error *err);
Status weir_finish_sum_wide(const AggregateFinish *of, Error *err);
Status weir_finish_sum_double(const AggregateFinish *of, Error *err);
Status weir_finish_sum_boolean(const AggregateFinish *of, Error *err);
Status weir_finish_avg(const AggregateFinish *of, Error *err);
Status weir_finish_avg_small(const AggregateFinish *of, Error *err);
Status weir_finish_avg_wide(const AggregateFinish *of, Error *err);
Status weir_finish_avg_double(const AggregateFinish *of, Error *err);
Status weir_finish_avg_instant(const AggregateFinish *of, Error *err);
Status weir_finish_avg_interval(const AggregateFinish *of, Error *err);
Status weir_finish_extreme(const AggregateFinish *of, Error *err);
Status weir_finish_bool_and(const AggregateFinish *of, Error *err);
Status weir_finish_bool_or(const AggregateFinish *of, Error *err);
Status weir_finish_bits(const AggregateFinish *of, Error *err);

#endif
