/* law_values.c: random values: mostly ordinary, often at a border, and garbage under NULL. */
#include "law.h"

#include <math.h>
#include <stdio.h>

#include "types/time.h"

static u128 random_wide(Law *law)
{
    const uint64_t high = law_random(law);
    return ((u128)high << 64) | law_random(law);
}

/* A magnitude of any number of bits, or of decimal digits, or near a power. */
static u128 random_magnitude(Law *law, size_t bits)
{
    const size_t used = law_below(law, bits + 1);
    const u128 mask = used == 128 ? ~(u128)0 : (((u128)1 << used) - 1);
    switch (law_below(law, 4)) {
    case 0: return law_below(law, 12);
    case 1: return random_wide(law) & mask;
    case 2: {
        u128 power = 1;
        for (size_t n = law_below(law, 39); n > 0; n--) {
            power *= 10;
        }
        return power + law_below(law, 3) - 1;
    }
    default: return mask + law_below(law, 3) - 1;
    }
}

static void put_integer(void *to, PhysType phys, i128 value)
{
    memcpy(to, &value, weir_phys_width(phys));
}

static void random_integer(Law *law, const LawColumn *column, void *to)
{
    const size_t width = weir_phys_width(column->type->phys);
    i128 value = (i128)random_magnitude(law, width * 8);
    if (column->is_small || (column->is_dense && !law_one_in(law, 20))) {
        value = (i128)law_below(law, column->is_dense ? 4 : 12);
    }
    put_integer(to, column->type->phys, law_one_in(law, 2) ? value : (i128)(0 - (u128)value));
}

static void random_decimal(Law *law, const LogicalType *type, void *to)
{
    i128 limit = 1;
    for (size_t i = 0; i < type->width; i++) {
        limit *= 10;
    }
    i128 value = (i128)(random_magnitude(law, 126) % (u128)limit);
    i128 unit = 1;
    for (size_t i = 0; i < type->scale; i++) {
        unit *= 10;
    }
    if (law_one_in(law, 4)) {
        value = (i128)law_below(law, 8) * (unit / 2);
    } else if (law_one_in(law, 10)) {
        value = limit - 1 - (i128)law_below(law, 2);
    }
    value %= limit;
    put_integer(to, type->phys, law_one_in(law, 2) ? value : -value);
}

static double random_double(Law *law, bool is_small)
{
    static const double special[] = {
        0.0,
        -0.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        1.0,
        -1.0,
        127.5,
        128.0,
        255.5,
        256.0,
        32767.5,
        2147483647.0,
        2147483647.5,
        2147483648.0,
        -2147483648.5,
        4294967295.5,
        9223372036854775807.0,
        9.3e18,
        1.8446744073709552e19,
        1e16,
        1e15,
        123456789012345678.0,
        1e-5,
        1e-4,
        0.1,
        0.3,
        1e38,
        3.5e38,
        1.7e38,
        3.4e38,
        1e300,
        5e-324,
        (double)INFINITY,
        -(double)INFINITY,
        (double)NAN,
    };
    switch (law_below(law, is_small ? 2 : 6)) {
    case 4: return ldexp(1.0, (int)law_below(law, 2098) - 1074);
    case 5: return ldexp((double)law_below(law, 1000), (int)law_below(law, 60) - 1074);
    case 0: return special[law_below(law, WEIR_ARRAY_COUNT(special))];
    case 1: return (double)(int64_t)law_below(law, 200001) / 100.0 - 1000.0;
    case 2: {
        const uint64_t bits = law_random(law);
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    default: return (double)(int64_t)random_magnitude(law, 64) * (law_one_in(law, 2) ? 0.5 : -1.0);
    }
}

/* --- strings ------------------------------------------------------------------------------------- */

static const char *const pieces[] = {
    "a",
    "b",
    "A",
    "Z",
    "abc",
    "hello",
    "World",
    "x",
    "0",
    "7",
    " ",
    "  ",
    "-",
    "_",
    "%",
    "\\",
    "\xC3\xA9",
    "\xC3\x9F",
    "\xC4\xB0",
    "\xE2\x82\xAC",
    "\xF0\x9F\xA6\x86",
    "e\xCC\x81",
    "\xC3\x84",
    "\t",
    "'",
    "\xE3\x81\x82",
    ",",
    ".",
    "\xC2\xA0",
};
enum { ASCII_PIECES = 16 };

static const char *const number_texts[] = {
    "",
    " ",
    "1",
    " 12 ",
    "-5",
    "+7",
    "1.5",
    "2.5",
    "-2.5",
    "0.5",
    "1e3",
    "1E-2",
    "-1.5e2",
    "abc",
    "127",
    "128",
    "-128",
    "-129",
    "255",
    "256",
    "2147483647",
    "2147483648",
    "-2147483649",
    "1_000",
    "9223372036854775807",
    "9223372036854775808",
    "0x1F",
    "0b11",
    "1.",
    ".5",
    "-",
    "e5",
    "1e",
    "1e400",
    "true",
    "false",
    "t",
    "f",
    "TRUE",
    "yes",
    "no",
    "0",
    "1.9999",
    "99.999",
    "12345678901234567890",
    "170141183460469231731687303715884105727",
    "nan",
    "inf",
    "-inf",
    "1 2",
    "007",
    "-0",
    "1,5",
};

static const char *const date_parts[] = {
    "year",        "month",       "day",      "decade",    "century", "millennium",
    "quarter",     "week",        "yearweek", "hour",      "minute",  "second",
    "millisecond", "microsecond", "dow",      "isodow",    "doy",     "isoyear",
    "epoch",       "era",         "YEAR",     "days",      "mon",     "seconds",
    "julian",      "timezone",    "weekday",  "dayofyear", "h",       "s",
    "ms",          "us",          "nonsense", "",
};

static const char *const time_texts[] = {
    "2020-01-01",
    "1999-12-31",
    "2020-02-29",
    "2021-02-29",
    "0001-01-01",
    "2020-1-1",
    "2020-01-01 10:11:12",
    "2020-01-01T10:11:12.123456",
    "infinity",
    "-infinity",
    "epoch",
    "10:11:12",
    "23:59:59.999999",
    "24:00:00",
    "2020-13-01",
    "2020-01-01 00:00:00+02",
    "44-03-15 (BC)",
    "290309-12-22 (BC)",
    "junk",
    "",
};

/* Forms that every cast understands. */
static size_t plain_text(Law *law, LawText text, char *out, size_t capacity)
{
    if (text == LAW_TEXT_TIME) {
        const unsigned parts[] = {
            1 + (unsigned)law_below(law, 9999), 1 + (unsigned)law_below(law, 12),
            1 + (unsigned)law_below(law, 28),   (unsigned)law_below(law, 24),
            (unsigned)law_below(law, 60),       (unsigned)law_below(law, 60)};
        const size_t size =
            (size_t)snprintf(out, capacity, "%04u-%02u-%02u %02u:%02u:%02u.25", parts[0], parts[1],
                             parts[2], parts[3], parts[4], parts[5]);
        static const size_t ends[] = {10, 19, 22};
        return WEIR_MIN(size, ends[law_below(law, WEIR_ARRAY_COUNT(ends))]);
    }
    const long long whole = (long long)law_below(law, law_one_in(law, 2) ? 120 : 100000);
    const char *sign = law_one_in(law, 3) ? "-" : "";
    return law_one_in(law, 2) ? (size_t)snprintf(out, capacity, "%s%lld", sign, whole)
                              : (size_t)snprintf(out, capacity, "%s%lld.%u", sign, whole,
                                                 (unsigned)law_below(law, 1000));
}

static size_t random_text(Law *law, const LawColumn *column, char *out, size_t capacity)
{
    const char *const *list = NULL;
    size_t list_count = 0;
    if (column->is_plain) {
        return plain_text(law, column->text, out, capacity);
    }
    switch (column->text) {
    case LAW_TEXT_NUMBER:
        list = number_texts;
        list_count = WEIR_ARRAY_COUNT(number_texts);
        break;
    case LAW_TEXT_DATE_PART:
        list = date_parts;
        list_count = WEIR_ARRAY_COUNT(date_parts);
        break;
    case LAW_TEXT_TIME:
        list = time_texts;
        list_count = WEIR_ARRAY_COUNT(time_texts);
        break;
    case LAW_TEXT_ANY:
    case LAW_TEXT_PATTERN:
    case LAW_TEXT_SHORT: break;
    }
    if (list != NULL && !law_one_in(law, 8)) {
        return (size_t)snprintf(out, capacity, "%s", list[law_below(law, list_count)]);
    }
    if (column->text == LAW_TEXT_NUMBER) {
        return (size_t)snprintf(out, capacity, "%s%lld%s%u%s", law_one_in(law, 4) ? " " : "",
                                (long long)random_magnitude(law, 66), law_one_in(law, 2) ? "." : "",
                                (unsigned)law_below(law, 100000), law_one_in(law, 8) ? "e2" : "");
    }
    const size_t pool = law_one_in(law, 3) ? WEIR_ARRAY_COUNT(pieces) : ASCII_PIECES;
    const size_t wanted = column->text == LAW_TEXT_ANY ? law_below(law, 12) : law_below(law, 4);
    size_t size = 0;
    for (size_t i = 0; i < wanted; i++) {
        const bool is_wildcard = column->text == LAW_TEXT_PATTERN && law_one_in(law, 2);
        const char *piece =
            is_wildcard ? (law_one_in(law, 2) ? "%" : "_") : pieces[law_below(law, pool)];
        size += (size_t)snprintf(out + size, capacity - size, "%s", piece);
    }
    return size;
}

static void random_string(Law *law, const LawColumn *column, void *to)
{
    char text[256];
    size_t size;
    if (column->type->id == TYPE_BLOB) {
        size = law_below(law, 20);
        for (size_t i = 0; i < size; i++) {
            text[i] = (char)law_random(law);
        }
    } else {
        size = random_text(law, column, text, sizeof text);
    }
    char *bytes = weir_arena_strndup(&law->step, text, size, &law->err);
    if (bytes == NULL) {
        law_die("memory", law->err.message);
    }
    const String s = weir_string_make(bytes, size);
    memcpy(to, &s, sizeof s);
}

/* --- dates and times ----------------------------------------------------------------------------- */

static int32_t random_date(Law *law)
{
    switch (law_below(law, 8)) {
    case 0: return (int32_t)law_below(law, 3) - 1;
    case 1: return law_one_in(law, 2) ? DATE_INFINITY : DATE_NEGATIVE_INFINITY;
    case 2: return (int32_t)((int64_t)law_below(law, 200000000) - 100000000);
    case 3: return law_one_in(law, 2) ? 106751991 : -106751991;
    case 4: return (int32_t)((int64_t)law_below(law, 1461) - 719528);
    default: return (int32_t)law_below(law, 40000) - 10000;
    }
}

static int64_t random_time(Law *law)
{
    static const int64_t special[] = {
        0, 1, 999999, 1000000, TIME_MICROS_PER_DAY - 1, TIME_MICROS_PER_DAY, 43200000000};
    if (law_one_in(law, 3)) {
        return special[law_below(law, WEIR_ARRAY_COUNT(special))];
    }
    return (int64_t)(law_random(law) % (uint64_t)TIME_MICROS_PER_DAY);
}

static int64_t random_timestamp(Law *law, int64_t per_second)
{
    if (law_one_in(law, 12)) {
        return law_one_in(law, 2) ? TIMESTAMP_INFINITY : TIMESTAMP_NEGATIVE_INFINITY;
    }
    const int64_t day = (int64_t)law_below(law, law_one_in(law, 4) ? 200000 : 30000) -
                        (law_one_in(law, 4) ? 100000 : 5000);
    const int64_t micros = random_time(law) % TIME_MICROS_PER_DAY;
    if (per_second == 1000000000) {
        return day % 100000 * 86400000000000 + micros * 1000 + (int64_t)law_below(law, 1000);
    }
    return (day * TIME_MICROS_PER_DAY + micros) / (1000000 / per_second);
}

static void random_interval(Law *law, void *to)
{
    Interval v = {0};
    if (law_one_in(law, 2)) {
        v.months = (int32_t)law_below(law, 60) - 30;
    }
    if (law_one_in(law, 2)) {
        v.days = (int32_t)law_below(law, 120) - 60;
    }
    if (law_one_in(law, 2)) {
        v.micros = (int64_t)(law_random(law) % 400000000000u) - 200000000000;
    }
    if (law_one_in(law, 30)) {
        v.months = INT32_MAX - (int32_t)law_below(law, 2);
    }
    if (law_one_in(law, 30)) {
        v.days = INT32_MIN + (int32_t)law_below(law, 2);
    }
    if (law_one_in(law, 30)) {
        v.micros = INT64_MAX - (int64_t)law_below(law, 2);
    }
    memcpy(to, &v, sizeof v);
}

static void random_moment(Law *law, const LogicalType *type, void *to)
{
    int64_t value = 0;
    switch (type->id) {
    case TYPE_DATE: value = random_date(law); break;
    case TYPE_TIME: value = random_time(law); break;
    case TYPE_TIMESTAMP_S: value = random_timestamp(law, 1); break;
    case TYPE_TIMESTAMP_MS: value = random_timestamp(law, 1000); break;
    case TYPE_TIMESTAMP_NS: value = random_timestamp(law, 1000000000); break;
    case TYPE_TIME_TZ:
        value = (int64_t)weir_time_tz_make(
            random_time(law), (int32_t)(law_below(law, (size_t)2 * 57599) - 57599) / 900 * 900);
        break;
    default: value = random_timestamp(law, 1000000); break;
    }
    memcpy(to, &value, weir_phys_width(type->phys));
}

static void random_value(Law *law, const LawColumn *column, void *to)
{
    const LogicalType *type = column->type;
    if (weir_type_is_integer(type)) {
        random_integer(law, column, to);
    } else if (type->id == TYPE_BOOLEAN) {
        *(uint8_t *)to = law_one_in(law, 2);
    } else if (type->id == TYPE_DECIMAL) {
        random_decimal(law, type, to);
    } else if (type->id == TYPE_DOUBLE) {
        const double value = random_double(law, column->is_small);
        memcpy(to, &value, sizeof value);
    } else if (type->id == TYPE_FLOAT) {
        float value = (float)random_double(law, column->is_small);
        if (law_one_in(law, 4)) {
            uint32_t bits = (uint32_t)law_random(law);
            bits = law_one_in(law, 3) ? bits & 0xFF800000 : bits;
            bits = law_one_in(law, 3) ? bits & 0x000000FF : bits;
            memcpy(&value, &bits, sizeof value);
        }
        memcpy(to, &value, sizeof value);
    } else if (type->id == TYPE_ENUM) {
        *(uint8_t *)to = (uint8_t)law_below(law, type->name_count);
    } else if (type->id == TYPE_UUID) {
        put_integer(to, PHYS_I128, (i128)random_wide(law));
    } else if (type->id == TYPE_INTERVAL) {
        random_interval(law, to);
    } else if (type->phys == PHYS_STRING) {
        random_string(law, column, to);
    } else {
        random_moment(law, type, to);
    }
}

Value law_value(Law *law, const LawColumn *column)
{
    Value value = {.type = column->type, .is_null = law_one_in(law, 12)};
    if (!value.is_null) {
        random_value(law, column, value.data.bytes);
    }
    return value;
}

static void random_vector(Law *law, const LawColumn *column, size_t count, Vector *v)
{
    const size_t width = weir_phys_width(column->type->phys);
    const size_t nulls = law_below(law, 4); /* none, a few, half, all */
    if (weir_vector_init(v, column->type->phys, count, &law->step, &law->err) != WEIR_OK ||
        (nulls > 0 && weir_vector_add_validity(v, count, &law->step, &law->err) != WEIR_OK)) {
        law_die("memory", law->err.message);
    }
    for (size_t i = 0; i < count; i++) {
        unsigned char *to = (unsigned char *)v->data + i * width;
        const bool is_null = (nulls == 1 && law_one_in(law, 10)) ||
                             (nulls == 2 && law_one_in(law, 2)) ||
                             (nulls == 3 && !law_one_in(law, 50));
        if (is_null) {
            const u128 garbage = random_wide(law);
            memcpy(to, &garbage, width);
            if (column->type->id == TYPE_BOOLEAN) {
                *to = 1;
            }
            weir_validity_set_null(v->validity, i);
        } else {
            random_value(law, column, to);
        }
    }
}

Batch law_batch(Law *law, const LawColumn *columns, size_t column_count, size_t count)
{
    Vector *vectors = weir_arena_calloc(&law->step, column_count + 1, sizeof *vectors, &law->err);
    if (vectors == NULL) {
        law_die("memory", law->err.message);
    }
    for (size_t c = 0; c < column_count; c++) {
        random_vector(law, &columns[c], count, &vectors[c]);
    }
    return (Batch){.count = count, .column_count = column_count, .columns = vectors};
}
