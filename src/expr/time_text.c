/* time_text.c: "2020-01-31 10:11:12.5"; years before 1 end in " (BC)". */
#include "expr/time_text.h"

#include "types/time.h"

/* At least `count` digits. */
static char *put_number(char *to, int64_t value, size_t count)
{
    char digits[24];
    size_t size = 0;
    for (; value > 0 || size < count; value /= 10) {
        digits[size++] = (char)('0' + value % 10);
    }
    while (size > 0) {
        *to++ = digits[--size];
    }
    return to;
}

static char *put_text(char *to, const char *text)
{
    for (; *text != '\0'; text++) {
        *to++ = *text;
    }
    return to;
}

static char *put_date(char *to, int32_t days)
{
    const CivilDate date = weir_civil_from_days(days);
    to = put_number(to, date.year > 0 ? date.year : 1 - (int64_t)date.year, 4);
    *to++ = '-';
    to = put_number(to, date.month, 2);
    *to++ = '-';
    to = put_number(to, date.day, 2);
    return date.year > 0 ? to : put_text(to, " (BC)");
}

/* The digits behind the point without the zeros at the end. */
static char *put_fraction(char *to, int64_t fraction, size_t digits)
{
    if (fraction == 0) {
        return to;
    }
    while (fraction % 10 == 0) {
        fraction /= 10;
        digits--;
    }
    *to++ = '.';
    return put_number(to, fraction, digits);
}

static char *put_time(char *to, int64_t seconds)
{
    to = put_number(to, seconds / 3600, 2);
    *to++ = ':';
    to = put_number(to, seconds / 60 % 60, 2);
    *to++ = ':';
    return put_number(to, seconds % 60, 2);
}

size_t weir_date_text(int32_t days, char out[TIME_TEXT_SIZE])
{
    if (days == DATE_INFINITY || days == DATE_NEGATIVE_INFINITY) {
        return (size_t)(put_text(out, days < 0 ? "-infinity" : "infinity") - out);
    }
    return (size_t)(put_date(out, days) - out);
}

size_t weir_time_text(int64_t micros, char out[TIME_TEXT_SIZE])
{
    char *to = put_time(out, micros / TIME_MICROS_PER_SECOND);
    return (size_t)(put_fraction(to, micros % TIME_MICROS_PER_SECOND, 6) - out);
}

size_t weir_timestamp_text(int64_t timestamp, int64_t units_per_second, char out[TIME_TEXT_SIZE])
{
    if (timestamp == TIMESTAMP_INFINITY || timestamp == TIMESTAMP_NEGATIVE_INFINITY) {
        return (size_t)(put_text(out, timestamp < 0 ? "-infinity" : "infinity") - out);
    }
    size_t digits = 0;
    for (int64_t units = units_per_second; units > 1; units /= 10) {
        digits++;
    }
    const int64_t seconds = weir_floor_div(timestamp, units_per_second);
    char *to = put_date(out, (int32_t)weir_floor_div(seconds, 86400));
    *to++ = ' ';
    to = put_time(to, weir_floor_mod(seconds, 86400));
    to = put_fraction(to, weir_floor_mod(timestamp, units_per_second), digits);
    return (size_t)(to - out);
}
