/* avg.c: averages of exact sums, with DuckDB's own arithmetic.
 *
 * The sum is exact; then one division, whose steps are DuckDB's, so that the result has its bits:
 *
 *   16-bit arguments     double(sum) / (double(count) * scale)
 *   wider arguments      long double: cast(sum) / (count * scale), then double
 *   instants             the quotient towards zero, plus 1 if the remainder exceeds count / 2
 *
 * where scale is 10^s for DECIMAL(w, s), and cast is DuckDB's conversion of a HUGEINT, which takes
 * the upper half times 2^64 - 1. */
#include "agg/aggregate_priv.h"

#include "base/checked.h"

/* DuckDB's conversion to a floating type; real_t is double or long double. */
#define DEFINE_HUGEINT_CAST(name, real_t)                          \
    static real_t name(i128 value)                                 \
    {                                                              \
        const uint64_t lower = (uint64_t)value;                    \
        const int64_t upper = (int64_t)(value >> 64);              \
        if (upper == -1) {                                         \
            return -(real_t)(UINT64_MAX - lower) - 1;              \
        }                                                          \
        return (real_t)lower + (real_t)upper * (real_t)UINT64_MAX; \
    }

DEFINE_HUGEINT_CAST(cast_double, double)
DEFINE_HUGEINT_CAST(cast_long_double, long double)
#undef DEFINE_HUGEINT_CAST

/* 10^scale of a decimal; 1 for integers. */
static double scale_of(const LogicalType *type)
{
    i128 power = 1;
    for (int i = 0; type->id == TYPE_DECIMAL && i < type->scale; i++) {
        power *= 10;
    }
    return cast_double(power);
}

static double divide(i128 sum, int64_t count, double scale)
{
    long double divisor = (long double)(uint64_t)count;
    divisor *= (long double)scale;
    return (double)(cast_long_double(sum) / divisor);
}

static double divide_small(i128 sum, int64_t count, double scale)
{
    return (double)sum / ((double)count * scale);
}

typedef double (*Divide)(i128 sum, int64_t count, double scale);

static inline Status finish_sums(const AggregateFinish *of, Divide quotient)
{
    WEIR_ASSERT(of->out->phys == PHYS_F64);
    double *out = of->out->data;
    const double scale = scale_of(of->arg);
    for (size_t i = 0; i < of->count; i++) {
        const SumState *state = finish_state(of, i);
        out[i] = 0;
        if (state->count <= 0) {
            finish_null(of, i);
        } else {
            out[i] = quotient(sum_state_value(state), state->count, scale);
        }
    }
    return WEIR_OK;
}

Status weir_finish_avg(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    return finish_sums(of, divide);
}

Status weir_finish_avg_small(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    return finish_sums(of, divide_small);
}

Status weir_finish_avg_wide(const AggregateFinish *of, Error *err)
{
    WEIR_ASSERT(of->out->phys == PHYS_F64);
    double *out = of->out->data;
    const double scale = scale_of(of->arg);
    for (size_t i = 0; i < of->count; i++) {
        const WideSumState *state = finish_state(of, i);
        out[i] = 0;
        if (state->count <= 0) {
            finish_null(of, i);
        } else {
            i128 sum = 0;
            WEIR_TRY(weir_wide_sum_value(state, &sum, err));
            out[i] = divide(sum, state->count, scale);
        }
    }
    return WEIR_OK;
}

Status weir_finish_avg_instant(const AggregateFinish *of, Error *err)
{
    WEIR_UNUSED(err);
    WEIR_ASSERT(of->out->phys == PHYS_I64);
    int64_t *out = of->out->data;
    for (size_t i = 0; i < of->count; i++) {
        const SumState *state = finish_state(of, i);
        out[i] = 0;
        if (state->count <= 0) {
            finish_null(of, i);
            continue;
        }
        const i128 sum = sum_state_value(state);
        const i128 quotient = sum / state->count;
        const i128 remainder = sum % state->count;
        out[i] = (int64_t)(quotient + (remainder > state->count / 2 ? 1 : 0));
    }
    return WEIR_OK;
}
