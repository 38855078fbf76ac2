/* cast_time.c: casts between DATE, TIME and the timestamps that do not depend on a time zone.
 *
 * TIMESTAMP is rounded to the coarser ones; what does not fit in the finer ones, and what comes from
 * TIMESTAMP_NS, is left to the host. */
#include "expr/date_part.h"

/* Units a day. */
static int64_t units_per_day(TypeId id)
{
    switch (id) {
    case TYPE_TIMESTAMP_S: return 86400;
    case TYPE_TIMESTAMP_MS: return INT64_C(86400000);
    case TYPE_TIMESTAMP_NS: return INT64_C(86400000000000);
    default: return TIME_MICROS_PER_DAY;
    }
}

static bool is_finite(int64_t timestamp)
{
    return timestamp != TIMESTAMP_INFINITY && timestamp != TIMESTAMP_NEGATIVE_INFINITY;
}

Status weir_kernel_cast_date_to_timestamp(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const int64_t units = units_per_day(call->expr->type->id);
    int64_t *out = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const Moment m = weir_moment_at(call, 0, row);
        if (!m.is_finite) {
            out[row] = m.days < 0 ? TIMESTAMP_NEGATIVE_INFINITY : TIMESTAMP_INFINITY;
        } else if (__builtin_mul_overflow((int64_t)m.days, units, &out[row])) {
            return KERNEL_DECLINES;
        }
    }
    return WEIR_OK;
}

/* Coarser timestamps become dates by way of microseconds. */
Status weir_kernel_cast_timestamp_to_date(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const int64_t *from = call->args[0].data;
    const int64_t factor = TIME_MICROS_PER_DAY / units_per_day(call->expr->args[0]->type->id);
    int32_t *out = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        int64_t micros;
        if (__builtin_mul_overflow(from[row], factor, &micros) ||
            (!is_finite(from[row]) && factor > 1)) {
            return KERNEL_DECLINES;
        }
        out[row] = weir_timestamp_date(micros, TIME_MICROS_PER_DAY);
        if (!is_finite(from[row])) {
            out[row] = from[row] < 0 ? DATE_NEGATIVE_INFINITY : DATE_INFINITY;
        }
    }
    return WEIR_OK;
}

Status weir_kernel_cast_timestamp_to_time(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const int64_t *from = call->args[0].data;
    int64_t *out = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (weir_kernel_is_valid(call, row)) {
            if (!is_finite(from[row])) {
                return KERNEL_DECLINES;
            }
            out[row] = weir_timestamp_time(from[row], TIME_MICROS_PER_DAY);
        }
    }
    return WEIR_OK;
}

/* Half away from 1970. */
static int64_t round_away(int64_t value, int64_t divisor)
{
    const int64_t halves = value / (divisor / 2);
    return (halves < 0 ? halves - 1 : halves + 1) / 2;
}

Status weir_kernel_cast_timestamp(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const int64_t *from = call->args[0].data;
    const int64_t from_units = units_per_day(call->expr->args[0]->type->id);
    const int64_t to_units = units_per_day(call->expr->type->id);
    int64_t *out = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        int64_t micros = 0; /* finer timestamps go by way of microseconds */
        if (!is_finite(from[row])) {
            out[row] = from[row];
        } else if (to_units < from_units) {
            out[row] = round_away(from[row], from_units / to_units);
        } else if (__builtin_mul_overflow(from[row], to_units / from_units, &out[row]) ||
                   __builtin_mul_overflow(from[row], TIME_MICROS_PER_DAY / from_units, &micros) ||
                   !is_finite(out[row]) || !is_finite(micros)) {
            return KERNEL_DECLINES;
        }
    }
    return WEIR_OK;
}
