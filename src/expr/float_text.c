/* float_text.c: the shortest decimal that reads back, in DuckDB's layout: plain if the exponent is in
 * [-4, 16), else d.ddde+XX. Numbers with few decimals are found by scaling; the others by trying more
 * and more digits. */
#include "expr/float_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Significant digits (no point) and the exponent of the first one. */
typedef struct Decimal {
    char digits[24];
    int count;
    int exponent;
} Decimal;

static void trim_zeros(Decimal *d)
{
    while (d->count > 1 && d->digits[d->count - 1] == '0') {
        d->count--;
    }
}

/* From printf's %e. */
static void parse_scientific(const char *text, Decimal *out)
{
    *out = (Decimal){0};
    const char *p = text;
    for (; *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9') { /* the point depends on the locale */
            out->digits[out->count++] = *p;
        }
    }
    out->exponent = (int)strtol(p + 1, NULL, 10);
}

static size_t put_plain(const Decimal *d, const char *sign, char *out, size_t size)
{
    if (d->exponent < 0) {
        return (size_t)snprintf(out, size, "%s0.%.*s%.*s", sign, -d->exponent - 1, "0000", d->count,
                                d->digits);
    }
    const int whole = d->exponent + 1;
    if (d->count <= whole) {
        return (size_t)snprintf(out, size, "%s%.*s%.*s.0", sign, d->count, d->digits,
                                whole - d->count, "0000000000000000");
    }
    return (size_t)snprintf(out, size, "%s%.*s.%.*s", sign, whole, d->digits, d->count - whole,
                            d->digits + whole);
}

static size_t put_decimal(const Decimal *d, const char *sign, char *out, size_t size)
{
    if (d->exponent >= -4 && d->exponent < 16) {
        return put_plain(d, sign, out, size);
    }
    const char exponent_sign = d->exponent < 0 ? '-' : '+';
    const int magnitude = abs(d->exponent);
    if (d->count == 1) {
        return (size_t)snprintf(out, size, "%s%ce%c%02d", sign, d->digits[0], exponent_sign,
                                magnitude);
    }
    return (size_t)snprintf(out, size, "%s%c.%.*se%c%02d", sign, d->digits[0], d->count - 1,
                            d->digits + 1, exponent_sign, magnitude);
}

/* The shortest digits of a finite magnitude, tried from `digits` on. A FLOAT only has to read back as
 * a FLOAT. */
static void shortest(double value, bool is_single, Decimal *d)
{
    const bool is_normal = value >= (is_single ? 0x1p-126 : 0x1p-1022);
    const int certain = is_single ? 6 : 15; /* so many digits always read back */
    for (int digits = is_normal ? certain : 1; digits <= 17; digits++) {
        char text[40];
        const int size = snprintf(text, sizeof text, "%.*e", digits - 1, value);
        WEIR_ASSERT(size > 0 && (size_t)size < sizeof text);
        WEIR_UNUSED(size);
        const double again = is_single ? (double)strtof(text, NULL) : strtod(text, NULL);
        if (again == value || digits == 17) {
            parse_scientific(text, d);
            trim_zeros(d);
            return;
        }
    }
}

/* Few decimals: r / 10^k is exact to the last bit, so that the digits of r are the shortest. */
static bool is_short(double value, Decimal *d)
{
    double power = 1;
    for (int k = 0; k <= 8; k++) {
        const double r = nearbyint(value * power);
        if (r >= 1e15) {
            return false;
        }
        if (r / power == value) {
            const int size = snprintf(d->digits, sizeof d->digits, "%lld", (long long)r);
            d->count = size;
            d->exponent = size - 1 - k;
            trim_zeros(d);
            return true;
        }
        power *= 10;
    }
    return false;
}

static size_t put_special(double value, char *out, size_t size)
{
    if (isnan(value)) {
        return (size_t)snprintf(out, size, signbit(value) ? "-nan" : "nan");
    }
    return (size_t)snprintf(out, size, value < 0 ? "-inf" : "inf");
}

bool weir_double_is_odd(double value)
{
    int exponent;
    Decimal unused;
    return isfinite(value) && frexp(fabs(value), &exponent) == 0.5 &&
           !is_short(fabs(value), &unused);
}

static size_t put_float(double value, bool is_single, char *out, size_t size)
{
    if (!isfinite(value)) {
        return put_special(value, out, size);
    }
    const double magnitude = fabs(value);
    Decimal d = {0};
    if (is_single || !is_short(magnitude, &d)) {
        shortest(magnitude, is_single, &d);
    }
    return put_decimal(&d, signbit(value) ? "-" : "", out, size);
}

size_t weir_double_text(double value, char *out, size_t size)
{
    return put_float(value, false, out, size);
}

size_t weir_float_text(float value, char *out, size_t size)
{
    return put_float((double)value, true, out, size);
}
