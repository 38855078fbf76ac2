/* date_part.c: date_part(part, x) and the functions named like a part: year(x), hour(x), ...
 *
 * Infinite dates have no parts: NULL. */
#include "expr/date_part.h"

#include <strings.h>

#include "expr/text_value.h"

typedef struct PartName {
    const char *name;
    DatePart part;
} PartName;

static const PartName part_names[] = {
    {"year", DATE_PART_YEAR},
    {"yr", DATE_PART_YEAR},
    {"y", DATE_PART_YEAR},
    {"years", DATE_PART_YEAR},
    {"yrs", DATE_PART_YEAR},
    {"month", DATE_PART_MONTH},
    {"mon", DATE_PART_MONTH},
    {"months", DATE_PART_MONTH},
    {"mons", DATE_PART_MONTH},
    {"day", DATE_PART_DAY},
    {"days", DATE_PART_DAY},
    {"d", DATE_PART_DAY},
    {"dayofmonth", DATE_PART_DAY},
    {"decade", DATE_PART_DECADE},
    {"dec", DATE_PART_DECADE},
    {"decades", DATE_PART_DECADE},
    {"decs", DATE_PART_DECADE},
    {"century", DATE_PART_CENTURY},
    {"cent", DATE_PART_CENTURY},
    {"centuries", DATE_PART_CENTURY},
    {"c", DATE_PART_CENTURY},
    {"millennium", DATE_PART_MILLENNIUM},
    {"mil", DATE_PART_MILLENNIUM},
    {"millenniums", DATE_PART_MILLENNIUM},
    {"millennia", DATE_PART_MILLENNIUM},
    {"mils", DATE_PART_MILLENNIUM},
    {"millenium", DATE_PART_MILLENNIUM},
    {"microseconds", DATE_PART_MICROSECOND},
    {"microsecond", DATE_PART_MICROSECOND},
    {"us", DATE_PART_MICROSECOND},
    {"usec", DATE_PART_MICROSECOND},
    {"usecs", DATE_PART_MICROSECOND},
    {"usecond", DATE_PART_MICROSECOND},
    {"useconds", DATE_PART_MICROSECOND},
    {"milliseconds", DATE_PART_MILLISECOND},
    {"millisecond", DATE_PART_MILLISECOND},
    {"ms", DATE_PART_MILLISECOND},
    {"msec", DATE_PART_MILLISECOND},
    {"msecs", DATE_PART_MILLISECOND},
    {"msecond", DATE_PART_MILLISECOND},
    {"mseconds", DATE_PART_MILLISECOND},
    {"second", DATE_PART_SECOND},
    {"sec", DATE_PART_SECOND},
    {"seconds", DATE_PART_SECOND},
    {"secs", DATE_PART_SECOND},
    {"s", DATE_PART_SECOND},
    {"minute", DATE_PART_MINUTE},
    {"min", DATE_PART_MINUTE},
    {"minutes", DATE_PART_MINUTE},
    {"mins", DATE_PART_MINUTE},
    {"m", DATE_PART_MINUTE},
    {"hour", DATE_PART_HOUR},
    {"hr", DATE_PART_HOUR},
    {"hours", DATE_PART_HOUR},
    {"hrs", DATE_PART_HOUR},
    {"h", DATE_PART_HOUR},
    {"epoch", DATE_PART_EPOCH},
    {"dow", DATE_PART_DAY_OF_WEEK},
    {"dayofweek", DATE_PART_DAY_OF_WEEK},
    {"weekday", DATE_PART_DAY_OF_WEEK},
    {"isodow", DATE_PART_ISO_DAY_OF_WEEK},
    {"week", DATE_PART_WEEK},
    {"weeks", DATE_PART_WEEK},
    {"w", DATE_PART_WEEK},
    {"weekofyear", DATE_PART_WEEK},
    {"doy", DATE_PART_DAY_OF_YEAR},
    {"dayofyear", DATE_PART_DAY_OF_YEAR},
    {"quarter", DATE_PART_QUARTER},
    {"quarters", DATE_PART_QUARTER},
    {"yearweek", DATE_PART_YEAR_WEEK},
    {"isoyear", DATE_PART_ISO_YEAR},
    {"era", DATE_PART_ERA},
};

DatePart weir_date_part_find(const char *name, size_t size)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(part_names); i++) {
        if (strlen(part_names[i].name) == size &&
            strncasecmp(part_names[i].name, name, size) == 0) {
            return part_names[i].part;
        }
    }
    return DATE_PART_COUNT;
}

DatePart weir_date_part_of(const Expr *call)
{
    const Expr *arg = call->args[0];
    if (arg->kind != EXPR_CONSTANT || arg->value.is_null || arg->type->phys != PHYS_STRING) {
        return DATE_PART_COUNT;
    }
    String name;
    memcpy(&name, arg->value.data.bytes, sizeof name);
    return weir_date_part_find(weir_string_data(&name), weir_string_size(&name));
}

/* The part that a call extracts: by its first argument or by its name. */
static DatePart extracted_part(const Expr *call)
{
    return call->arg_count == 2 ? weir_date_part_of(call)
                                : weir_date_part_find(call->name, strlen(call->name));
}

bool weir_accepts_date_part(const Expr *call)
{
    const DatePart part = extracted_part(call);
    if (part == DATE_PART_COUNT) {
        return false;
    }
    return call->type->id == (part == DATE_PART_EPOCH ? TYPE_DOUBLE : TYPE_BIGINT);
}

/* --- parts --------------------------------------------------------------------------------------- */

static int64_t century_of(int64_t year, int64_t length)
{
    return year > 0 ? (year - 1) / length + 1 : year / length - 1;
}

static int64_t civil_part(DatePart part, CivilDate date)
{
    switch (part) {
    case DATE_PART_MILLENNIUM: return century_of(date.year, 1000);
    case DATE_PART_CENTURY: return century_of(date.year, 100);
    case DATE_PART_DECADE: return date.year / 10;
    case DATE_PART_YEAR: return date.year;
    case DATE_PART_QUARTER: return (date.month - 1) / 3 + 1;
    case DATE_PART_MONTH: return date.month;
    case DATE_PART_DAY: return date.day;
    default: WEIR_ASSERT(part == DATE_PART_ERA); return date.year > 0 ? 1 : 0;
    }
}

static int64_t year_week(int32_t days)
{
    const IsoWeek week = weir_iso_week(days);
    return (int64_t)week.year * 100 + (week.year > 0 ? week.week : -week.week);
}

static int64_t part_of(DatePart part, Moment m)
{
    switch (part) {
    case DATE_PART_MILLENNIUM:
    case DATE_PART_CENTURY:
    case DATE_PART_DECADE:
    case DATE_PART_YEAR:
    case DATE_PART_QUARTER:
    case DATE_PART_MONTH:
    case DATE_PART_DAY:
    case DATE_PART_ERA: return civil_part(part, weir_civil_from_days(m.days));
    case DATE_PART_WEEK: return weir_iso_week(m.days).week;
    case DATE_PART_ISO_YEAR: return weir_iso_week(m.days).year;
    case DATE_PART_YEAR_WEEK: return year_week(m.days);
    case DATE_PART_DAY_OF_WEEK: return weir_iso_day_of_week(m.days) % 7;
    case DATE_PART_ISO_DAY_OF_WEEK: return weir_iso_day_of_week(m.days);
    case DATE_PART_DAY_OF_YEAR: return weir_day_of_year(m.days);
    case DATE_PART_HOUR: return m.micros / TIME_MICROS_PER_HOUR;
    case DATE_PART_MINUTE: return m.micros / TIME_MICROS_PER_MINUTE % 60;
    case DATE_PART_SECOND: return m.micros / TIME_MICROS_PER_SECOND % 60;
    case DATE_PART_MILLISECOND: return m.micros % TIME_MICROS_PER_MINUTE / 1000;
    case DATE_PART_MICROSECOND: return m.micros % TIME_MICROS_PER_MINUTE;
    case DATE_PART_EPOCH:
    case DATE_PART_COUNT: break;
    }
    WEIR_ASSERT(false);
    return 0;
}

/* Seconds since 1970. */
static double epoch_of(const Vector *v, size_t row)
{
    const size_t place = weir_vector_place(v, row);
    if (v->phys == PHYS_I32) {
        return (double)((int64_t)((const int32_t *)v->data)[place] * 86400);
    }
    return (double)((const int64_t *)v->data)[place] / 1e6;
}

/* TIME has no days. */
static Moment argument_moment(const KernelCall *call, size_t index, size_t row, bool is_time)
{
    if (is_time) {
        return (Moment){.micros = weir_long_at(call, index, row), .is_finite = true};
    }
    return weir_moment_at(call, index, row);
}

Status weir_kernel_date_part(const KernelCall *call, Error *err)
{
    const DatePart part = extracted_part(call->expr);
    const size_t index = call->arg_count - 1;
    const bool is_time = call->expr->args[index]->type->id == TYPE_TIME;
    bool owns_validity = false;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const Moment m = argument_moment(call, index, row, is_time);
        if (!m.is_finite) {
            if (!owns_validity) {
                WEIR_TRY(weir_kernel_own_validity(call, err));
                owns_validity = true;
            }
            weir_validity_set_null(call->out->validity, row);
        } else if (part == DATE_PART_EPOCH) {
            ((double *)call->out->data)[row] = epoch_of(&call->args[index], row);
        } else {
            ((int64_t *)call->out->data)[row] = part_of(part, m);
        }
    }
    return WEIR_OK;
}

/* Of a TIME there are only parts of the day. */
bool weir_accepts_time_part(const Expr *call)
{
    const DatePart part = extracted_part(call);
    return part >= DATE_PART_HOUR && part <= DATE_PART_MICROSECOND && call->type->id == TYPE_BIGINT;
}
