/* date_arith.c: + - * of dates, times, timestamps and intervals; making them from numbers.
 *
 * Months move the date within its month's length; then days and time are added. What leaves the range
 * of dates or of an interval's fields is left to the host, which knows the error. */
#include "expr/date_part.h"
#include "types/interval.h"

/* Runs a block for every valid row. */
#define ROW_LOOP(call, ...)                                         \
    do {                                                            \
        for (size_t row = 0; row < weir_kernel_rows(call); row++) { \
            if (weir_kernel_is_valid(call, row)) {                  \
                __VA_ARGS__                                         \
            }                                                       \
        }                                                           \
    } while (0)

static Interval interval_at(const KernelCall *call, size_t index, size_t row)
{
    const Vector *v = &call->args[index];
    Interval value;
    memcpy(&value, (const Interval *)v->data + weir_vector_place(v, row), sizeof value);
    return value;
}

static bool invert(Interval *v)
{
    return !__builtin_sub_overflow(0, v->months, &v->months) &&
           !__builtin_sub_overflow(0, v->days, &v->days) &&
           !__builtin_sub_overflow(INT64_C(0), v->micros, &v->micros);
}

/* --- dates and timestamps ------------------------------------------------------------------------ */

static bool add_months(int32_t *days, int32_t months)
{
    const CivilDate date = weir_civil_from_days(*days);
    const int64_t total = (int64_t)date.year * 12 + (date.month - 1) + months;
    const int64_t year = weir_floor_div(total, 12);
    const int32_t month = (int32_t)weir_floor_mod(total, 12) + 1;
    const int32_t day = WEIR_MIN(date.day, weir_month_days(year, month));
    return weir_date_make(year, month, day, days);
}

static bool add_interval(Moment *m, Interval v)
{
    if (v.months != 0 && !add_months(&m->days, v.months)) {
        return false;
    }
    const int32_t whole_days = (int32_t)(v.micros / TIME_MICROS_PER_DAY);
    if (__builtin_add_overflow(m->days, v.days, &m->days) ||
        __builtin_add_overflow(m->days, whole_days, &m->days) ||
        !weir_moment_of_date(m->days).is_finite) {
        return false;
    }
    m->micros += v.micros % TIME_MICROS_PER_DAY;
    if (m->micros >= TIME_MICROS_PER_DAY) {
        m->micros -= TIME_MICROS_PER_DAY;
        return !__builtin_add_overflow(m->days, 1, &m->days);
    }
    if (m->micros < 0) {
        m->micros += TIME_MICROS_PER_DAY;
        return !__builtin_sub_overflow(m->days, 1, &m->days);
    }
    return true;
}

/* The moment is argument `at`, the interval the other one. */
static Status shift_rows(const KernelCall *call, size_t at, bool is_minus)
{
    ROW_LOOP(call, {
        Moment m = weir_moment_at(call, at, row);
        Interval v = interval_at(call, 1 - at, row);
        if (!m.is_finite) {
            weir_moment_store_infinite(call, row, m.days < 0);
            continue;
        }
        if ((is_minus && !invert(&v)) || !add_interval(&m, v) ||
            !weir_moment_store(call, row, m.days, m.micros)) {
            return KERNEL_DECLINES;
        }
    });
    return WEIR_OK;
}

Status weir_kernel_moment_plus_interval(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return shift_rows(call, 0, false);
}

Status weir_kernel_interval_plus_moment(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return shift_rows(call, 1, false);
}

Status weir_kernel_moment_minus_interval(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return shift_rows(call, 0, true);
}

static Status shift_days(const KernelCall *call, size_t at, int32_t sign)
{
    int32_t *out = call->out->data;
    ROW_LOOP(call, {
        const Moment m = weir_moment_at(call, at, row);
        const int64_t days = (int64_t)weir_kernel_integer(call, 1 - at, row) * sign;
        if (!m.is_finite) {
            out[row] = m.days;
        } else if (!weir_moment_store(call, row, m.days + days, 0)) {
            return KERNEL_DECLINES;
        }
    });
    return WEIR_OK;
}

Status weir_kernel_date_plus_days(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return shift_days(call, 0, 1);
}

Status weir_kernel_days_plus_date(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return shift_days(call, 1, 1);
}

Status weir_kernel_date_minus_days(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return shift_days(call, 0, -1);
}

Status weir_kernel_date_minus_date(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    int64_t *out = call->out->data;
    ROW_LOOP(call, {
        const Moment a = weir_moment_at(call, 0, row);
        const Moment b = weir_moment_at(call, 1, row);
        if (!a.is_finite || !b.is_finite) {
            return KERNEL_DECLINES;
        }
        out[row] = (int64_t)a.days - b.days;
    });
    return WEIR_OK;
}

Status weir_kernel_timestamp_minus_timestamp(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    Interval *out = call->out->data;
    ROW_LOOP(call, {
        const int64_t a = (int64_t)weir_kernel_integer(call, 0, row);
        const int64_t b = (int64_t)weir_kernel_integer(call, 1, row);
        int64_t micros;
        if (!weir_moment_of_timestamp(a).is_finite || !weir_moment_of_timestamp(b).is_finite ||
            __builtin_sub_overflow(a, b, &micros)) {
            return KERNEL_DECLINES;
        }
        out[row] = (Interval){
            .days = (int32_t)(micros / TIME_MICROS_PER_DAY),
            .micros = micros % TIME_MICROS_PER_DAY,
        };
    });
    return WEIR_OK;
}

/* DATE and TIME, in either order. */
Status weir_kernel_date_plus_time(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const size_t at = call->args[0].phys == PHYS_I32 ? 0 : 1;
    ROW_LOOP(call, {
        const Moment m = weir_moment_at(call, at, row);
        if (!m.is_finite) {
            weir_moment_store_infinite(call, row, m.days < 0);
        } else if (!weir_moment_store(call, row, m.days,
                                      (int64_t)weir_kernel_integer(call, 1 - at, row))) {
            return KERNEL_DECLINES;
        }
    });
    return WEIR_OK;
}

/* TIME and INTERVAL: around the clock. */
static Status shift_time(const KernelCall *call, size_t at, bool is_minus)
{
    int64_t *out = call->out->data;
    ROW_LOOP(call, {
        const int64_t shift = interval_at(call, 1 - at, row).micros % TIME_MICROS_PER_DAY;
        int64_t time = (int64_t)weir_kernel_integer(call, at, row) + (is_minus ? -shift : shift);
        if (time >= TIME_MICROS_PER_DAY) {
            time -= TIME_MICROS_PER_DAY;
        } else if (time < 0) {
            time += TIME_MICROS_PER_DAY;
        }
        out[row] = time;
    });
    return WEIR_OK;
}

Status weir_kernel_time_plus_interval(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return shift_time(call, call->args[0].phys == PHYS_INTERVAL ? 1 : 0, false);
}

Status weir_kernel_time_minus_interval(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return shift_time(call, 0, true);
}

/* --- intervals ----------------------------------------------------------------------------------- */

Status weir_kernel_interval_plus_interval(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    Interval *out = call->out->data;
    ROW_LOOP(call, {
        const Interval a = interval_at(call, 0, row);
        const Interval b = interval_at(call, 1, row);
        if (__builtin_add_overflow(a.months, b.months, &out[row].months) ||
            __builtin_add_overflow(a.days, b.days, &out[row].days) ||
            __builtin_add_overflow(a.micros, b.micros, &out[row].micros)) {
            return KERNEL_DECLINES;
        }
    });
    return WEIR_OK;
}

Status weir_kernel_interval_minus_interval(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    Interval *out = call->out->data;
    ROW_LOOP(call, {
        const Interval a = interval_at(call, 0, row);
        const Interval b = interval_at(call, 1, row);
        if (__builtin_sub_overflow(a.months, b.months, &out[row].months) ||
            __builtin_sub_overflow(a.days, b.days, &out[row].days) ||
            __builtin_sub_overflow(a.micros, b.micros, &out[row].micros)) {
            return KERNEL_DECLINES;
        }
    });
    return WEIR_OK;
}

Status weir_kernel_negate_interval(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    Interval *out = call->out->data;
    ROW_LOOP(call, {
        out[row] = interval_at(call, 0, row);
        if (!invert(&out[row])) {
            return KERNEL_DECLINES;
        }
    });
    return WEIR_OK;
}

/* INTERVAL and BIGINT, in either order. */
Status weir_kernel_multiply_interval(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const size_t at = call->args[0].phys == PHYS_INTERVAL ? 0 : 1;
    Interval *out = call->out->data;
    ROW_LOOP(call, {
        const Interval v = interval_at(call, at, row);
        const int64_t factor = (int64_t)weir_kernel_integer(call, 1 - at, row);
        if (factor < INT32_MIN || factor > INT32_MAX ||
            __builtin_mul_overflow(v.months, (int32_t)factor, &out[row].months) ||
            __builtin_mul_overflow(v.days, (int32_t)factor, &out[row].days) ||
            __builtin_mul_overflow(v.micros, factor, &out[row].micros)) {
            return KERNEL_DECLINES;
        }
    });
    return WEIR_OK;
}

/* --- to_days and the like ------------------------------------------------------------------------ */

typedef struct IntervalUnit {
    const char *name;
    int32_t months;
    int32_t days;
    int64_t micros;
} IntervalUnit;

static const IntervalUnit units[] = {
    {.name = "to_millennia", .months = 12000},
    {.name = "to_centuries", .months = 1200},
    {.name = "to_decades", .months = 120},
    {.name = "to_years", .months = 12},
    {.name = "to_quarters", .months = 3},
    {.name = "to_months", .months = 1},
    {.name = "to_weeks", .days = 7},
    {.name = "to_days", .days = 1},
    {.name = "to_hours", .micros = TIME_MICROS_PER_HOUR},
    {.name = "to_minutes", .micros = TIME_MICROS_PER_MINUTE},
    {.name = "to_microseconds", .micros = 1},
};

static const IntervalUnit *find_unit(const char *name)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(units); i++) {
        if (strcmp(units[i].name, name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

Status weir_kernel_to_interval(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const IntervalUnit *unit = find_unit(call->expr->name);
    WEIR_ASSERT(unit != NULL);
    Interval *out = call->out->data;
    ROW_LOOP(call, {
        const int64_t count = (int64_t)weir_kernel_integer(call, 0, row);
        int64_t months;
        int64_t days;
        Interval v = {0};
        if (__builtin_mul_overflow(count, (int64_t)unit->months, &months) ||
            __builtin_mul_overflow(count, (int64_t)unit->days, &days) ||
            __builtin_mul_overflow(count, unit->micros, &v.micros) || months != (int32_t)months ||
            days != (int32_t)days) {
            return KERNEL_DECLINES;
        }
        v.months = (int32_t)months;
        v.days = (int32_t)days;
        out[row] = v;
    });
    return WEIR_OK;
}

/* make_date(year, month, day) */
Status weir_kernel_make_date(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    int32_t *out = call->out->data;
    ROW_LOOP(call, {
        if (!weir_date_make((int64_t)weir_kernel_integer(call, 0, row),
                            (int64_t)weir_kernel_integer(call, 1, row),
                            (int64_t)weir_kernel_integer(call, 2, row), &out[row])) {
            return KERNEL_DECLINES;
        }
    });
    return WEIR_OK;
}

/* epoch_us, epoch_ms of a finite TIMESTAMP. */
static Status epoch_rows(const KernelCall *call, int64_t divisor)
{
    int64_t *out = call->out->data;
    ROW_LOOP(call, {
        const int64_t micros = (int64_t)weir_kernel_integer(call, 0, row);
        if (!weir_moment_of_timestamp(micros).is_finite) {
            return KERNEL_DECLINES;
        }
        out[row] = micros / divisor; /* rounded to zero */
    });
    return WEIR_OK;
}

Status weir_kernel_epoch_us(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return epoch_rows(call, 1);
}

Status weir_kernel_epoch_ms(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return epoch_rows(call, 1000);
}
