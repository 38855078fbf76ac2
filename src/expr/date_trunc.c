/* date_trunc.c: date_trunc, last_day, date_diff and time_bucket.
 *
 * What leaves the range of dates is left to the host, which knows the error. */
#include "expr/date_part.h"
#include "types/interval.h"

/* --- date_trunc ---------------------------------------------------------------------------------- */

bool weir_accepts_date_trunc(const Expr *call)
{
    const DatePart part = weir_date_part_of(call);
    const TypeId id = call->type->id;
    return part != DATE_PART_COUNT && part != DATE_PART_ERA &&
           (id == TYPE_DATE || id == TYPE_TIMESTAMP);
}

/* The first day of the part's period; not for parts of the day. */
static int64_t first_day(DatePart part, int32_t days)
{
    const CivilDate date = weir_civil_from_days(days);
    switch (part) {
    case DATE_PART_MILLENNIUM: return weir_days_from_civil((int64_t)date.year / 1000 * 1000, 1, 1);
    case DATE_PART_CENTURY: return weir_days_from_civil((int64_t)date.year / 100 * 100, 1, 1);
    case DATE_PART_DECADE: return weir_days_from_civil((int64_t)date.year / 10 * 10, 1, 1);
    case DATE_PART_YEAR: return weir_days_from_civil(date.year, 1, 1);
    case DATE_PART_QUARTER: return weir_days_from_civil(date.year, (date.month - 1) / 3 * 3 + 1, 1);
    case DATE_PART_MONTH: return (int64_t)days - (date.day - 1);
    case DATE_PART_WEEK:
    case DATE_PART_YEAR_WEEK: return weir_monday_of(days);
    case DATE_PART_ISO_YEAR: return weir_iso_year_begin(days);
    default: return days;
    }
}

/* Microseconds of the part's period; 0 = whole days. */
static int64_t period_micros(DatePart part)
{
    switch (part) {
    case DATE_PART_HOUR: return TIME_MICROS_PER_HOUR;
    case DATE_PART_MINUTE: return TIME_MICROS_PER_MINUTE;
    case DATE_PART_SECOND:
    case DATE_PART_EPOCH: return TIME_MICROS_PER_SECOND;
    case DATE_PART_MILLISECOND: return 1000;
    case DATE_PART_MICROSECOND: return 1;
    default: return 0;
    }
}

Status weir_kernel_date_trunc(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const DatePart part = weir_date_part_of(call->expr);
    const int64_t period = period_micros(part);
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const Moment m = weir_moment_at(call, 1, row);
        if (!m.is_finite) {
            weir_moment_store_infinite(call, row, m.days < 0);
            continue;
        }
        const int64_t days = period > 0 ? m.days : first_day(part, m.days);
        const int64_t micros = period > 0 ? m.micros - m.micros % period : 0;
        if (!weir_moment_store(call, row, days, micros)) {
            return KERNEL_DECLINES;
        }
    }
    return WEIR_OK;
}

Status weir_kernel_last_day(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const Moment m = weir_moment_at(call, 0, row);
        const CivilDate date = weir_civil_from_days(m.days);
        const int64_t days = (int64_t)m.days + weir_month_days(date.year, date.month) - date.day;
        if (!m.is_finite || !weir_moment_store(call, row, days, 0)) {
            return KERNEL_DECLINES;
        }
    }
    return WEIR_OK;
}

/* --- date_diff ----------------------------------------------------------------------------------- */

/* Weeks are counted in different ways by different versions. */
bool weir_accepts_date_diff(const Expr *call)
{
    const DatePart part = weir_date_part_of(call);
    return part != DATE_PART_COUNT && part != DATE_PART_ERA && part != DATE_PART_WEEK &&
           part != DATE_PART_YEAR_WEEK;
}

static int64_t months_of(CivilDate date)
{
    return (int64_t)date.year * 12 + date.month - 1;
}

/* Borders of the part's periods between two finite moments. */
static int64_t day_difference(DatePart part, int32_t from, int32_t to)
{
    const CivilDate a = weir_civil_from_days(from);
    const CivilDate b = weir_civil_from_days(to);
    switch (part) {
    case DATE_PART_MILLENNIUM: return b.year / 1000 - a.year / 1000;
    case DATE_PART_CENTURY: return b.year / 100 - a.year / 100;
    case DATE_PART_DECADE: return b.year / 10 - a.year / 10;
    case DATE_PART_YEAR: return (int64_t)b.year - a.year;
    case DATE_PART_QUARTER: return months_of(b) / 3 - months_of(a) / 3;
    case DATE_PART_MONTH: return months_of(b) - months_of(a);
    case DATE_PART_ISO_YEAR: return (int64_t)weir_iso_week(to).year - weir_iso_week(from).year;
    default: return (int64_t)to - from;
    }
}

/* Timestamps count borders rounded down, dates rounded to zero. */
static bool time_difference(int64_t period, Moment from, Moment to, bool is_date, int64_t *out)
{
    int64_t a;
    int64_t b;
    if (!weir_timestamp_make(from.days, from.micros, &a) ||
        !weir_timestamp_make(to.days, to.micros, &b)) {
        return false;
    }
    if (period == 1) {
        return !__builtin_sub_overflow(b, a, out);
    }
    *out =
        is_date ? b / period - a / period : weir_floor_div(b, period) - weir_floor_div(a, period);
    return true;
}

Status weir_kernel_date_diff(const KernelCall *call, Error *err)
{
    const DatePart part = weir_date_part_of(call->expr);
    const int64_t period = period_micros(part);
    const bool is_date = call->expr->args[1]->type->id == TYPE_DATE;
    int64_t *out = call->out->data;
    WEIR_TRY(weir_kernel_own_validity(call, err));
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const Moment from = weir_moment_at(call, 1, row);
        const Moment to = weir_moment_at(call, 2, row);
        if (!from.is_finite || !to.is_finite) {
            weir_validity_set_null(call->out->validity, row);
        } else if (period == 0) {
            out[row] = day_difference(part, from.days, to.days);
        } else if (!time_difference(period, from, to, is_date, &out[row])) {
            return KERNEL_DECLINES;
        }
    }
    return WEIR_OK;
}

/* --- time_bucket --------------------------------------------------------------------------------- */

#define BUCKET_ORIGIN_DAYS 10959 /* 2000-01-03, a Monday */
#define BUCKET_ORIGIN_MONTHS 360 /* 2000-01 since 1970 */

static bool is_valid_width(Interval width, bool *is_months)
{
    *is_months = width.months != 0;
    if (*is_months) {
        return width.months > 0 && width.days == 0 && width.micros == 0;
    }
    int64_t micros;
    return !__builtin_mul_overflow((int64_t)width.days, TIME_MICROS_PER_DAY, &micros) &&
           !__builtin_add_overflow(micros, width.micros, &micros) && micros > 0;
}

static bool bucket_micros(const KernelCall *call, size_t row, Interval width, Moment m,
                          Moment origin)
{
    const int64_t size = width.days * TIME_MICROS_PER_DAY + width.micros;
    int64_t at;
    int64_t begin;
    if (!weir_timestamp_make(m.days, m.micros, &at) ||
        !weir_timestamp_make(origin.days, origin.micros, &begin)) {
        return false;
    }
    begin %= size;
    int64_t offset;
    if (__builtin_sub_overflow(at, begin, &offset) || offset < INT64_MIN + size) {
        return false;
    }
    const int64_t result = weir_floor_div(offset, size) * size + begin;
    const Moment out = weir_moment_of_timestamp(result);
    return out.is_finite && weir_moment_store(call, row, out.days, out.micros);
}

static int64_t epoch_months(Moment m)
{
    return months_of(weir_civil_from_days(m.days)) - INT64_C(1970) * 12;
}

static bool bucket_months(const KernelCall *call, size_t row, Interval width, Moment m,
                          int64_t origin_months)
{
    const int64_t begin = origin_months % width.months;
    const int64_t offset = epoch_months(m) - begin;
    const int64_t months = weir_floor_div(offset, width.months) * width.months + begin;
    int32_t days;
    return weir_date_make(1970 + weir_floor_div(months, 12), weir_floor_mod(months, 12) + 1, 1,
                          &days) &&
           weir_moment_store(call, row, days, 0);
}

static Interval interval_at(const KernelCall *call, size_t index, size_t row)
{
    const Vector *v = &call->args[index];
    Interval value;
    memcpy(&value, (const Interval *)v->data + weir_vector_place(v, row), sizeof value);
    return value;
}

Status weir_kernel_time_bucket(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const bool has_origin = call->arg_count == 3;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const Interval width = interval_at(call, 0, row);
        const Moment m = weir_moment_at(call, 1, row);
        const Moment origin =
            has_origin ? weir_moment_at(call, 2, row) : weir_moment_of_date(BUCKET_ORIGIN_DAYS);
        bool is_months;
        if (!is_valid_width(width, &is_months) || !m.is_finite || !origin.is_finite) {
            return KERNEL_DECLINES;
        }
        const int64_t months = has_origin ? epoch_months(origin) : BUCKET_ORIGIN_MONTHS;
        const bool is_stored = is_months ? bucket_months(call, row, width, m, months)
                                         : bucket_micros(call, row, width, m, origin);
        if (!is_stored) {
            return KERNEL_DECLINES;
        }
    }
    return WEIR_OK;
}
