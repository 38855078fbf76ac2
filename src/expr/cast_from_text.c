/* cast_from_text.c: casts from VARCHAR of texts in their plain form.
 *
 * DuckDB reads many more forms (spaces, underscores, exponents, hexadecimal, time zones, ...): a batch
 * with a text that is not plain, or that does not fit, is left to the host.
 *   integers  [-]digits, up to 18
 *   decimals  [-]digits[.digits], not more than fit, so that nothing is rounded
 *   DOUBLE    the same up to 15 digits in all: one exact division gives the nearest double
 *   BOOLEAN   true, false, t, f, 1, 0 in lower case
 *   DATE      YYYY-MM-DD
 *   TIMESTAMP YYYY-MM-DD HH:MM:SS[.ffffff] */
#include "expr/date_part.h"
#include "expr/text_value.h"

enum { PLAIN_DIGITS_MAX = 18, EXACT_DIGITS_MAX = 15 };

/* A plain number: value / 10^scale. */
typedef struct PlainNumber {
    int64_t value;
    size_t digits; /* without leading zeros */
    size_t scale;
    bool is_negative;
} PlainNumber;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool parse_number(const String *s, PlainNumber *out)
{
    const char *p = weir_string_data(s);
    const char *end = p + weir_string_size(s);
    *out = (PlainNumber){0};
    if (p < end && *p == '-') {
        out->is_negative = true;
        p++;
    }
    const char *begin = p;
    bool has_point = false;
    for (; p < end; p++) {
        if (*p == '.' && !has_point && p > begin && p + 1 < end) {
            has_point = true;
            continue;
        }
        if (!is_digit(*p) || out->digits == PLAIN_DIGITS_MAX) {
            return false;
        }
        out->value = out->value * 10 + (*p - '0');
        out->digits += out->value != 0;
        out->scale += has_point;
    }
    return p > begin && out->scale <= PLAIN_DIGITS_MAX;
}

/* --- numbers ------------------------------------------------------------------------------------- */

static void store(const KernelCall *call, size_t row, int64_t value)
{
    const i128 wide = value;
    const size_t width = weir_phys_width(call->out->phys);
    memcpy((char *)call->out->data + row * width, &wide, width);
}

Status weir_kernel_cast_text_to_integer(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const TextArg texts = weir_text_arg(call, 0);
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        PlainNumber n;
        if (!parse_number(weir_text_at(&texts, row), &n) || n.scale > 0) {
            return KERNEL_DECLINES;
        }
        const int64_t value = n.is_negative ? -n.value : n.value;
        if (weir_integer_is_outside(value, call->out->phys)) {
            return KERNEL_DECLINES;
        }
        store(call, row, value);
    }
    return WEIR_OK;
}

Status weir_kernel_cast_text_to_decimal(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const LogicalType *type = call->expr->type;
    const TextArg texts = weir_text_arg(call, 0);
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        PlainNumber n;
        if (!parse_number(weir_text_at(&texts, row), &n) || n.scale > type->scale) {
            return KERNEL_DECLINES;
        }
        const size_t shift = type->scale - n.scale;
        if (n.digits + shift > WEIR_MIN((size_t)type->width, (size_t)PLAIN_DIGITS_MAX)) {
            return KERNEL_DECLINES;
        }
        for (size_t i = 0; i < shift && n.value != 0; i++) {
            n.value *= 10;
        }
        store(call, row, n.is_negative ? -n.value : n.value);
    }
    return WEIR_OK;
}

Status weir_kernel_cast_text_to_double(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    _Static_assert(WEIR_ARRAY_COUNT(powers) == PLAIN_DIGITS_MAX + 1, "one for each scale");
    double *out = call->out->data;
    const TextArg texts = weir_text_arg(call, 0);
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        PlainNumber n;
        if (!parse_number(weir_text_at(&texts, row), &n) || n.digits > EXACT_DIGITS_MAX) {
            return KERNEL_DECLINES;
        }
        const double magnitude = (double)n.value / powers[n.scale];
        out[row] = n.is_negative ? -magnitude : magnitude;
    }
    return WEIR_OK;
}

Status weir_kernel_cast_text_to_boolean(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    static const struct {
        const char *text;
        uint8_t value;
    } words[] = {{"true", 1}, {"false", 0}, {"t", 1}, {"f", 0}, {"1", 1}, {"0", 0}};
    uint8_t *out = call->out->data;
    const TextArg texts = weir_text_arg(call, 0);
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *s = weir_text_at(&texts, row);
        size_t w = 0;
        while (w < WEIR_ARRAY_COUNT(words) &&
               (strlen(words[w].text) != weir_string_size(s) ||
                memcmp(words[w].text, weir_string_data(s), weir_string_size(s)) != 0)) {
            w++;
        }
        if (w == WEIR_ARRAY_COUNT(words)) {
            return KERNEL_DECLINES;
        }
        out[row] = words[w].value;
    }
    return WEIR_OK;
}

/* --- dates and timestamps ------------------------------------------------------------------------ */

/* Exactly `count` digits. */
static bool parse_digits(const char *text, size_t count, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_digit(text[i])) {
            return false;
        }
        *out = *out * 10 + (text[i] - '0');
    }
    return true;
}

enum { DATE_CHARACTERS = 10, TIME_CHARACTERS = 8 };

static bool parse_date(const char *text, int32_t *days)
{
    int64_t year;
    int64_t month;
    int64_t day;
    return parse_digits(text, 4, &year) && text[4] == '-' && parse_digits(text + 5, 2, &month) &&
           text[7] == '-' && parse_digits(text + 8, 2, &day) && year > 0 &&
           weir_date_make(year, month, day, days);
}

/* HH:MM:SS[.f...], at most six digits behind the point. */
static bool parse_time(const char *text, size_t size, int64_t *micros)
{
    int64_t hour;
    int64_t minute;
    int64_t second;
    if (size < TIME_CHARACTERS || !parse_digits(text, 2, &hour) || text[2] != ':' ||
        !parse_digits(text + 3, 2, &minute) || text[5] != ':' ||
        !parse_digits(text + 6, 2, &second) || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    *micros = ((hour * 60 + minute) * 60 + second) * TIME_MICROS_PER_SECOND;
    if (size == TIME_CHARACTERS) {
        return true;
    }
    const size_t digits = size - TIME_CHARACTERS - 1;
    int64_t fraction;
    if (text[TIME_CHARACTERS] != '.' || digits == 0 || digits > 6 ||
        !parse_digits(text + TIME_CHARACTERS + 1, digits, &fraction)) {
        return false;
    }
    for (size_t i = digits; i < 6; i++) {
        fraction *= 10;
    }
    *micros += fraction;
    return true;
}

Status weir_kernel_cast_text_to_date(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    int32_t *out = call->out->data;
    const TextArg texts = weir_text_arg(call, 0);
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *s = weir_text_at(&texts, row);
        if (weir_string_size(s) != DATE_CHARACTERS || !parse_date(weir_string_data(s), &out[row])) {
            return KERNEL_DECLINES;
        }
    }
    return WEIR_OK;
}

Status weir_kernel_cast_text_to_timestamp(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    int64_t *out = call->out->data;
    const TextArg texts = weir_text_arg(call, 0);
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *s = weir_text_at(&texts, row);
        const char *text = weir_string_data(s);
        int32_t days;
        int64_t micros;
        if (weir_string_size(s) <= DATE_CHARACTERS || !parse_date(text, &days) ||
            text[DATE_CHARACTERS] != ' ' ||
            !parse_time(text + DATE_CHARACTERS + 1, weir_string_size(s) - DATE_CHARACTERS - 1,
                        &micros) ||
            !weir_timestamp_make(days, micros, &out[row])) {
            return KERNEL_DECLINES;
        }
    }
    return WEIR_OK;
}
