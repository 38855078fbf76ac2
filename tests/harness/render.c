/* render.c: see render.h. One function for each family of types, then the nested ones. */
#include "render.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

static void render_u128(Text *out, u128 value)
{
    char digits[48];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value > 0);
    text_add(out, digits + at);
}

static u128 render_magnitude(duckdb_hugeint value)
{
    u128 bits = ((u128)(uint64_t)value.upper << 64) | value.lower;
    return value.upper < 0 ? (u128)0 - bits : bits;
}

static void render_hugeint(Text *out, duckdb_hugeint value)
{
    if (value.upper < 0) {
        text_add_char(out, '-');
    }
    render_u128(out, render_magnitude(value));
}

/* The shortest digits that read back as the same number, laid out as DuckDB does. */
static void render_double(Text *out, double value, bool is_float)
{
    if (isnan(value)) {
        text_add(out, "nan");
        return;
    }
    if (isinf(value)) {
        text_add(out, value < 0 ? "-inf" : "inf");
        return;
    }
    char buffer[64];
    int digits = 0;
    for (; digits <= 17; digits++) {
        (void)snprintf(buffer, sizeof buffer, "%.*e", digits, value);
        const bool is_same =
            is_float ? (double)strtof(buffer, NULL) == value : strtod(buffer, NULL) == value;
        if (is_same) {
            break;
        }
    }
    const char *exponent_at = strchr(buffer, 'e');
    const long exponent = exponent_at == NULL ? 0 : strtol(exponent_at + 1, NULL, 10);
    if (exponent < -4 || exponent >= 16) {
        text_add(out, buffer);
        return;
    }
    const long decimals = digits - exponent;
    (void)snprintf(buffer, sizeof buffer, "%.*f", decimals < 1 ? 1 : (int)decimals, value);
    text_add(out, buffer);
}

static void render_decimal(Text *out, duckdb_vector vector, duckdb_logical_type type, idx_t row)
{
    const void *data = duckdb_vector_get_data(vector);
    duckdb_hugeint value = {0};
    int64_t small = 0;
    switch (duckdb_decimal_internal_type(type)) {
    case DUCKDB_TYPE_SMALLINT: small = ((const int16_t *)data)[row]; break;
    case DUCKDB_TYPE_INTEGER: small = ((const int32_t *)data)[row]; break;
    case DUCKDB_TYPE_BIGINT: small = ((const int64_t *)data)[row]; break;
    default: value = ((const duckdb_hugeint *)data)[row]; break;
    }
    if (duckdb_decimal_internal_type(type) != DUCKDB_TYPE_HUGEINT) {
        value = (duckdb_hugeint){.lower = (uint64_t)small, .upper = small < 0 ? -1 : 0};
    }
    Text digits = {0};
    render_u128(&digits, render_magnitude(value));
    const size_t scale = duckdb_decimal_scale(type);
    if (value.upper < 0) {
        text_add_char(out, '-');
    }
    const size_t whole = digits.len > scale ? digits.len - scale : 0;
    if (whole == 0 && duckdb_decimal_width(type) > scale) {
        text_add_char(out, '0');
    }
    text_add_len(out, digits.data, whole);
    if (scale > 0) {
        text_add_char(out, '.');
        for (size_t i = digits.len; i < scale; i++) {
            text_add_char(out, '0');
        }
        text_add(out, digits.data + whole);
    }
    text_free(&digits);
}

static void render_date(Text *out, int32_t days)
{
    if (days == INT32_MAX || days == -INT32_MAX) {
        text_add(out, days > 0 ? "infinity" : "-infinity");
        return;
    }
    const duckdb_date_struct date = duckdb_from_date((duckdb_date){.days = days});
    const bool is_bc = date.year <= 0;
    text_addf(out, "%04d-%02d-%02d%s", is_bc ? 1 - date.year : date.year, date.month, date.day,
              is_bc ? " (BC)" : "");
}

/* Time of day in units of 10^-`digits` seconds; trailing zeros of the fraction are dropped. */
static void render_time(Text *out, uint64_t units, int digits)
{
    uint64_t scale = 1;
    for (int i = 0; i < digits; i++) {
        scale *= 10;
    }
    const uint64_t seconds = units / scale;
    text_addf(out, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600, seconds / 60 % 60,
              seconds % 60);
    uint64_t fraction = units % scale;
    if (fraction == 0) {
        return;
    }
    while (fraction % 10 == 0) {
        fraction /= 10;
        digits--;
    }
    text_addf(out, ".%0*" PRIu64, digits, fraction);
}

static void render_timestamp(Text *out, int64_t units, int digits, const char *suffix)
{
    if (units == INT64_MAX || units == -INT64_MAX) {
        text_add(out, units > 0 ? "infinity" : "-infinity");
        return;
    }
    int64_t per_day = 86400;
    for (int i = 0; i < digits; i++) {
        per_day *= 10;
    }
    int64_t days = units / per_day;
    int64_t rest = units % per_day;
    if (rest < 0) {
        rest += per_day;
        days--;
    }
    render_date(out, (int32_t)days);
    text_add_char(out, ' ');
    render_time(out, (uint64_t)rest, digits);
    text_add(out, suffix);
}

static void render_interval_part(Text *out, int64_t count, const char *unit)
{
    if (count != 0) {
        text_addf(out, "%s%" PRId64 " %s%s", out->len > 0 ? " " : "", count, unit,
                  count == 1 || count == -1 ? "" : "s");
    }
}

static void render_interval(Text *out, duckdb_interval value)
{
    Text text = {0};
    render_interval_part(&text, value.months / 12, "year");
    render_interval_part(&text, value.months % 12, "month");
    render_interval_part(&text, value.days, "day");
    if (value.micros != 0 || text.len == 0) {
        if (text.len > 0) {
            text_add_char(&text, ' ');
        }
        if (value.micros < 0) {
            text_add_char(&text, '-');
        }
        const uint64_t micros =
            value.micros < 0 ? 0 - (uint64_t)value.micros : (uint64_t)value.micros;
        render_time(&text, micros, 6);
    }
    text_add(out, text_get(&text));
    text_free(&text);
}

static void render_uuid(Text *out, duckdb_hugeint value)
{
    const uint64_t high = (uint64_t)value.upper ^ (UINT64_C(1) << 63);
    text_addf(out, "%08x-%04x-%04x-%04x-%012" PRIx64, (unsigned)(high >> 32),
              (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xffff),
              (unsigned)(value.lower >> 48), value.lower & UINT64_C(0xffffffffffff));
}

static void render_blob(Text *out, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const unsigned char byte = (unsigned char)data[i];
        if (byte >= 32 && byte < 127 && byte != '\\' && byte != '\'' && byte != '"') {
            text_add_char(out, data[i]);
        } else {
            text_addf(out, "\\x%02X", byte);
        }
    }
}

/* A BIT value: the first byte counts the unused leading bits of the second. */
static void render_bit(Text *out, const char *data, size_t len)
{
    for (size_t bit = (size_t)(unsigned char)data[0]; bit < (len - 1) * 8; bit++) {
        const unsigned char byte = (unsigned char)data[1 + bit / 8];
        text_add_char(out, (byte >> (7 - bit % 8) & 1) != 0 ? '1' : '0');
    }
}

static void render_enum(Text *out, duckdb_vector vector, duckdb_logical_type type, idx_t row)
{
    const void *data = duckdb_vector_get_data(vector);
    idx_t index = 0;
    switch (duckdb_enum_internal_type(type)) {
    case DUCKDB_TYPE_UTINYINT: index = ((const uint8_t *)data)[row]; break;
    case DUCKDB_TYPE_USMALLINT: index = ((const uint16_t *)data)[row]; break;
    default: index = ((const uint32_t *)data)[row]; break;
    }
    char *name = duckdb_enum_dictionary_value(type, index);
    text_add(out, name);
    duckdb_free(name);
}

/* A member of a nested value: strings are quoted where they would be ambiguous. */
static void render_member(Text *out, duckdb_vector vector, duckdb_logical_type type, idx_t row)
{
    Text member = {0};
    if (!render_value(&member, vector, type, row)) {
        text_add(out, "NULL");
    } else if (duckdb_get_type_id(type) == DUCKDB_TYPE_VARCHAR &&
               (member.len == 0 || strpbrk(member.data, ",[]{}'\"():=\\") != NULL ||
                member.data[0] == ' ' || member.data[member.len - 1] == ' ' ||
                strcasecmp(member.data, "null") == 0)) {
        text_add_literal(out, text_get(&member));
    } else {
        text_add(out, text_get(&member));
    }
    text_free(&member);
}

static void render_list(Text *out, duckdb_vector child, duckdb_logical_type child_type, idx_t from,
                        idx_t count)
{
    text_add_char(out, '[');
    for (idx_t i = 0; i < count; i++) {
        text_add(out, i > 0 ? ", " : "");
        render_member(out, child, child_type, from + i);
    }
    text_add_char(out, ']');
}

static void render_map(Text *out, duckdb_vector entries, duckdb_logical_type type,
                       duckdb_list_entry entry)
{
    duckdb_logical_type key_type = duckdb_map_type_key_type(type);
    duckdb_logical_type value_type = duckdb_map_type_value_type(type);
    text_add_char(out, '{');
    for (idx_t i = 0; i < entry.length; i++) {
        text_add(out, i > 0 ? ", " : "");
        render_member(out, duckdb_struct_vector_get_child(entries, 0), key_type, entry.offset + i);
        text_add_char(out, '=');
        render_member(out, duckdb_struct_vector_get_child(entries, 1), value_type,
                      entry.offset + i);
    }
    text_add_char(out, '}');
    duckdb_destroy_logical_type(&key_type);
    duckdb_destroy_logical_type(&value_type);
}

static void render_struct(Text *out, duckdb_vector vector, duckdb_logical_type type, idx_t row)
{
    text_add_char(out, '{');
    for (idx_t i = 0; i < duckdb_struct_type_child_count(type); i++) {
        char *name = duckdb_struct_type_child_name(type, i);
        duckdb_logical_type child_type = duckdb_struct_type_child_type(type, i);
        text_addf(out, "%s'%s': ", i > 0 ? ", " : "", name);
        render_member(out, duckdb_struct_vector_get_child(vector, i), child_type, row);
        duckdb_destroy_logical_type(&child_type);
        duckdb_free(name);
    }
    text_add_char(out, '}');
}

static void render_nested(Text *out, duckdb_vector vector, duckdb_logical_type type, idx_t row)
{
    const duckdb_type id = duckdb_get_type_id(type);
    if (id == DUCKDB_TYPE_STRUCT) {
        render_struct(out, vector, type, row);
    } else if (id == DUCKDB_TYPE_ARRAY) {
        duckdb_logical_type child_type = duckdb_array_type_child_type(type);
        const idx_t size = duckdb_array_type_array_size(type);
        render_list(out, duckdb_array_vector_get_child(vector), child_type, row * size, size);
        duckdb_destroy_logical_type(&child_type);
    } else {
        const duckdb_list_entry entry =
            ((const duckdb_list_entry *)duckdb_vector_get_data(vector))[row];
        duckdb_vector child = duckdb_list_vector_get_child(vector);
        if (id == DUCKDB_TYPE_MAP) {
            render_map(out, child, type, entry);
        } else {
            duckdb_logical_type child_type = duckdb_list_type_child_type(type);
            render_list(out, child, child_type, entry.offset, entry.length);
            duckdb_destroy_logical_type(&child_type);
        }
    }
}

static void render_bytes(Text *out, duckdb_type id, const void *data, idx_t row)
{
    duckdb_string_t string = ((const duckdb_string_t *)data)[row];
    const size_t len = duckdb_string_t_length(string);
    const char *bytes = duckdb_string_t_data(&string);
    if (id == DUCKDB_TYPE_VARCHAR) {
        text_add_len(out, bytes, len);
    } else if (id == DUCKDB_TYPE_BIT) {
        render_bit(out, bytes, len);
    } else {
        render_blob(out, bytes, len);
    }
}

static void render_time_tz(Text *out, uint64_t bits)
{
    const duckdb_time_tz_struct time = duckdb_from_time_tz((duckdb_time_tz){.bits = bits});
    const int64_t seconds = ((int64_t)time.time.hour * 60 + time.time.min) * 60 + time.time.sec;
    render_time(out, (uint64_t)(seconds * 1000000 + time.time.micros), 6);
    const int32_t offset = time.offset < 0 ? -time.offset : time.offset;
    text_addf(out, "%c%02d", time.offset < 0 ? '-' : '+', offset / 3600);
    if (offset % 3600 != 0) {
        text_addf(out, ":%02d", offset / 60 % 60);
    }
}

bool render_value(Text *out, duckdb_vector vector, duckdb_logical_type type, idx_t row)
{
    uint64_t *validity = duckdb_vector_get_validity(vector);
    if (validity != NULL && !duckdb_validity_row_is_valid(validity, row)) {
        return false;
    }
    const void *data = duckdb_vector_get_data(vector);
    const duckdb_type id = duckdb_get_type_id(type);
    switch (id) {
    case DUCKDB_TYPE_BOOLEAN: text_add(out, ((const bool *)data)[row] ? "true" : "false"); break;
    case DUCKDB_TYPE_TINYINT: text_addf(out, "%d", ((const int8_t *)data)[row]); break;
    case DUCKDB_TYPE_SMALLINT: text_addf(out, "%d", ((const int16_t *)data)[row]); break;
    case DUCKDB_TYPE_INTEGER: text_addf(out, "%d", ((const int32_t *)data)[row]); break;
    case DUCKDB_TYPE_BIGINT: text_addf(out, "%" PRId64, ((const int64_t *)data)[row]); break;
    case DUCKDB_TYPE_UTINYINT: text_addf(out, "%u", ((const uint8_t *)data)[row]); break;
    case DUCKDB_TYPE_USMALLINT: text_addf(out, "%u", ((const uint16_t *)data)[row]); break;
    case DUCKDB_TYPE_UINTEGER: text_addf(out, "%u", ((const uint32_t *)data)[row]); break;
    case DUCKDB_TYPE_UBIGINT: text_addf(out, "%" PRIu64, ((const uint64_t *)data)[row]); break;
    case DUCKDB_TYPE_HUGEINT: render_hugeint(out, ((const duckdb_hugeint *)data)[row]); break;
    case DUCKDB_TYPE_UHUGEINT: {
        const duckdb_uhugeint value = ((const duckdb_uhugeint *)data)[row];
        render_u128(out, ((u128)value.upper << 64) | value.lower);
        break;
    }
    case DUCKDB_TYPE_FLOAT: render_double(out, (double)((const float *)data)[row], true); break;
    case DUCKDB_TYPE_DOUBLE: render_double(out, ((const double *)data)[row], false); break;
    case DUCKDB_TYPE_DECIMAL: render_decimal(out, vector, type, row); break;
    case DUCKDB_TYPE_DATE: render_date(out, ((const int32_t *)data)[row]); break;
    case DUCKDB_TYPE_TIME: render_time(out, ((const uint64_t *)data)[row], 6); break;
    case DUCKDB_TYPE_TIME_TZ: render_time_tz(out, ((const uint64_t *)data)[row]); break;
    case DUCKDB_TYPE_TIMESTAMP: render_timestamp(out, ((const int64_t *)data)[row], 6, ""); break;
    case DUCKDB_TYPE_TIMESTAMP_S: render_timestamp(out, ((const int64_t *)data)[row], 0, ""); break;
    case DUCKDB_TYPE_TIMESTAMP_MS:
        render_timestamp(out, ((const int64_t *)data)[row], 3, "");
        break;
    case DUCKDB_TYPE_TIMESTAMP_NS:
        render_timestamp(out, ((const int64_t *)data)[row], 9, "");
        break;
    case DUCKDB_TYPE_TIMESTAMP_TZ:
        render_timestamp(out, ((const int64_t *)data)[row], 6, "+00");
        break;
    case DUCKDB_TYPE_INTERVAL: render_interval(out, ((const duckdb_interval *)data)[row]); break;
    case DUCKDB_TYPE_UUID: render_uuid(out, ((const duckdb_hugeint *)data)[row]); break;
    case DUCKDB_TYPE_ENUM: render_enum(out, vector, type, row); break;
    case DUCKDB_TYPE_VARCHAR:
    case DUCKDB_TYPE_BLOB:
    case DUCKDB_TYPE_BIT: render_bytes(out, id, data, row); break;
    case DUCKDB_TYPE_LIST:
    case DUCKDB_TYPE_MAP:
    case DUCKDB_TYPE_STRUCT:
    case DUCKDB_TYPE_ARRAY: render_nested(out, vector, type, row); break;
    default: text_addf(out, "<type %d>", (int)id); break;
    }
    return true;
}
