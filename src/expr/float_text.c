/* float_text.c: the shortest decimal that reads back, found by trying more and more digits, in
 * DuckDB's layout: plain if the exponent is in [-4, 16), else d.ddde+XX. */
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

static void parse_scientific(const char *text, Decimal *out)
{
    *out = (Decimal){0};
    const char *p = text;
    for (; *p != 'e'; p++) {
        if (*p != '.') {
            out->digits[out->count++] = *p;
        }
    }
    while (out->count > 1 && out->digits[out->count - 1] == '0') {
        out->count--;
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

static size_t put_special(double value, char *out, size_t size)
{
    if (isnan(value)) {
        return (size_t)snprintf(out, size, signbit(value) ? "-nan" : "nan");
    }
    return (size_t)snprintf(out, size, value < 0 ? "-inf" : "inf");
}

size_t weir_double_text(double value, char *out, size_t size)
{
    if (!isfinite(value)) {
        return put_special(value, out, size);
    }
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, fabs(value));
        if (strtod(text, NULL) == fabs(value)) {
            break;
        }
    }
    Decimal d;
    parse_scientific(text, &d);
    return put_decimal(&d, signbit(value) ? "-" : "", out, size);
}

size_t weir_float_text(float value, char *out, size_t size)
{
    if (!isfinite(value)) {
        return put_special((double)value, out, size);
    }
    char text[40];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, (double)fabsf(value));
        if (strtof(text, NULL) == fabsf(value)) {
            break;
        }
    }
    Decimal d;
    parse_scientific(text, &d);
    return put_decimal(&d, signbit(value) ? "-" : "", out, size);
}
