/* date_part.h: the parts of a date or time that date_part, date_trunc and others name, and rows of
 * dates and timestamps taken apart. */
#ifndef WEIR_EXPR_DATE_PART_H
#define WEIR_EXPR_DATE_PART_H

#include "expr/kernel.h"
#include "types/time.h"

typedef enum DatePart {
    DATE_PART_MILLENNIUM,
    DATE_PART_CENTURY,
    DATE_PART_DECADE,
    DATE_PART_YEAR,
    DATE_PART_QUARTER,
    DATE_PART_MONTH,
    DATE_PART_WEEK,
    DATE_PART_ISO_YEAR,
    DATE_PART_DAY,
    DATE_PART_HOUR,
    DATE_PART_MINUTE,
    DATE_PART_SECOND,
    DATE_PART_MILLISECOND,
    DATE_PART_MICROSECOND,
    DATE_PART_DAY_OF_WEEK,
    DATE_PART_ISO_DAY_OF_WEEK,
    DATE_PART_DAY_OF_YEAR,
    DATE_PART_YEAR_WEEK,
    DATE_PART_ERA,
    DATE_PART_EPOCH,
    DATE_PART_COUNT
} DatePart;

/* By DuckDB's name in any case; DATE_PART_COUNT if it is none, or one that has no kernel. */
DatePart weir_date_part_find(const char *name, size_t size);

/* The part that argument 0, a constant, names; DATE_PART_COUNT if it is no constant. */
DatePart weir_date_part_of(const Expr *call);

/* A DATE or TIMESTAMP; infinities are ordinary. */
typedef struct Moment {
    int32_t days;
    int64_t micros; /* of the day */
    bool is_finite;
} Moment;

static inline Moment weir_moment_of_date(int32_t days)
{
    return (Moment){.days = days, .is_finite = days != DATE_INFINITY && days != -DATE_INFINITY};
}

static inline Moment weir_moment_of_timestamp(int64_t micros)
{
    return (Moment){
        .days = weir_timestamp_date(micros, TIME_MICROS_PER_DAY),
        .micros = weir_timestamp_time(micros, TIME_MICROS_PER_DAY),
        .is_finite = micros != TIMESTAMP_INFINITY && micros != TIMESTAMP_NEGATIVE_INFINITY,
    };
}

/* Argument `index` (DATE or TIMESTAMP) of a row. */
static inline Moment weir_moment_at(const KernelCall *call, size_t index, size_t row)
{
    const Vector *v = &call->args[index];
    const size_t place = weir_vector_place(v, row);
    return v->phys == PHYS_I32 ? weir_moment_of_date(((const int32_t *)v->data)[place])
                               : weir_moment_of_timestamp(((const int64_t *)v->data)[place]);
}

/* False if the timestamp does not exist. */
static inline bool weir_timestamp_make(int64_t days, int64_t micros, int64_t *out)
{
    return !__builtin_mul_overflow(days, TIME_MICROS_PER_DAY, out) &&
           !__builtin_add_overflow(*out, micros, out) && *out != TIMESTAMP_INFINITY &&
           *out > TIMESTAMP_NEGATIVE_INFINITY;
}

/* Stores a date as the call's result type, DATE or TIMESTAMP; false if it does not exist. */
static inline bool weir_moment_store(const KernelCall *call, size_t row, int64_t days,
                                     int64_t micros)
{
    if (call->out->phys == PHYS_I32) {
        ((int32_t *)call->out->data)[row] = (int32_t)days;
        return days >= DATE_MIN && days <= DATE_MAX;
    }
    return weir_timestamp_make(days, micros, &((int64_t *)call->out->data)[row]);
}

/* Stores the infinity that an infinite argument is. */
static inline void weir_moment_store_infinite(const KernelCall *call, size_t row, bool is_negative)
{
    if (call->out->phys == PHYS_I32) {
        ((int32_t *)call->out->data)[row] = is_negative ? DATE_NEGATIVE_INFINITY : DATE_INFINITY;
    } else {
        ((int64_t *)call->out->data)[row] =
            is_negative ? TIMESTAMP_NEGATIVE_INFINITY : TIMESTAMP_INFINITY;
    }
}

#endif
