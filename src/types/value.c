/* value.c: constants as SQL.
 *
 * Every value is a quoted text inside a CAST to its type: the one form that DuckDB binds to exactly
 * this value, whatever its type (a bare 5 would become an INTEGER, a bare 1e300 a DOUBLE ...). */
#include "types/value.h"

#include "base/codec.h"
#include "types/interval.h"
#include "types/time.h"

#define NANOS_PER_SECOND INT64_C(1000000000)

static void put_u128(Buf *buf, u128 value)
{
    char digits[40];
    size_t begin = sizeof digits;
    do {
        digits[--begin] = (char)('0' + (char)(value % 10));
        value /= 10;
    } while (value != 0);
    weir_buf_append(buf, digits + begin, sizeof digits - begin);
}

/* point: digits behind the decimal point. */
static void put_i128(Buf *buf, i128 value, unsigned point)
{
    u128 magnitude = value < 0 ? 0 - (u128)value : (u128)value;
    if (value < 0) {
        weir_buf_putc(buf, '-');
    }
    char fraction[40];
    for (unsigned i = point; i > 0; i--) {
        fraction[i - 1] = (char)('0' + (char)(magnitude % 10));
        magnitude /= 10;
    }
    put_u128(buf, magnitude);
    if (point > 0) {
        weir_buf_putc(buf, '.');
        weir_buf_append(buf, fraction, point);
    }
}

/* The value of an integer type, widened. */
static i128 load_integer(PhysType phys, const void *bytes)
{
    const uint64_t raw = weir_load_u64(bytes);
    switch (phys) {
    case PHYS_I8: return (int8_t)raw;
    case PHYS_I16: return (int16_t)raw;
    case PHYS_I32: return (int32_t)raw;
    case PHYS_I64: return (int64_t)raw;
    case PHYS_U8: return (uint8_t)raw;
    case PHYS_U16: return (uint16_t)raw;
    case PHYS_U32: return (uint32_t)raw;
    case PHYS_U64: return raw;
    case PHYS_I128:
    case PHYS_U128: {
        i128 wide;
        memcpy(&wide, bytes, sizeof wide);
        return wide;
    }
    case PHYS_F32:
    case PHYS_F64:
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: break;
    }
    WEIR_ASSERT(false);
    return 0;
}

static void put_double(Buf *buf, double value, int digits)
{
    if (value != value) {
        weir_buf_puts(buf, "nan");
    } else if (value > 1.7976931348623157e308) {
        weir_buf_puts(buf, "inf");
    } else if (value < -1.7976931348623157e308) {
        weir_buf_puts(buf, "-inf");
    } else {
        weir_buf_printf(buf, "%.*g", digits, value);
    }
}

/* Returns true if the year is before Christ: " (BC)" follows the time. */
static bool put_civil(Buf *buf, int32_t days)
{
    const CivilDate date = weir_civil_from_days(days);
    const bool is_bc = date.year <= 0;
    weir_buf_printf(buf, "%04d-%02d-%02d", is_bc ? 1 - date.year : date.year, date.month, date.day);
    return is_bc;
}

static void put_date(Buf *buf, int32_t days)
{
    if (days == DATE_INFINITY || days == DATE_NEGATIVE_INFINITY) {
        weir_buf_puts(buf, days > 0 ? "infinity" : "-infinity");
        return;
    }
    if (put_civil(buf, days)) {
        weir_buf_puts(buf, " (BC)");
    }
}

/* The time of the day in units of 1/units_per_second seconds, with all its digits. */
static void put_clock(Buf *buf, int64_t time, int64_t units_per_second)
{
    const int64_t seconds = time / units_per_second;
    weir_buf_printf(buf, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60),
                    (int)(seconds % 60));
    int digits = 0;
    for (int64_t unit = 1; unit < units_per_second; unit *= 10) {
        digits++;
    }
    if (digits > 0) {
        weir_buf_printf(buf, ".%0*lld", digits, (long long)(time % units_per_second));
    }
}

/* has_zone: the time is UTC and says so. */
static void put_timestamp(Buf *buf, int64_t timestamp, int64_t units_per_second, bool has_zone)
{
    if (timestamp == TIMESTAMP_INFINITY || timestamp == TIMESTAMP_NEGATIVE_INFINITY) {
        weir_buf_puts(buf, timestamp > 0 ? "infinity" : "-infinity");
        return;
    }
    const int64_t units_per_day = INT64_C(24) * 60 * 60 * units_per_second;
    const bool is_bc = put_civil(buf, weir_timestamp_date(timestamp, units_per_day));
    weir_buf_puts(buf, is_bc ? " (BC) " : " ");
    put_clock(buf, weir_timestamp_time(timestamp, units_per_day), units_per_second);
    if (has_zone) {
        weir_buf_puts(buf, "+00");
    }
}

static void put_time_tz(Buf *buf, uint64_t bits)
{
    const int32_t offset = weir_time_tz_offset(bits);
    const int32_t seconds = offset < 0 ? -offset : offset;
    put_clock(buf, weir_time_tz_micros(bits), TIME_MICROS_PER_SECOND);
    weir_buf_printf(buf, "%c%02d:%02d:%02d", offset < 0 ? '-' : '+', seconds / 3600,
                    seconds / 60 % 60, seconds % 60);
}

static void put_interval(Buf *buf, Interval v)
{
    weir_buf_printf(buf, "%d months %d days ", v.months, v.days);
    if (v.micros == INT64_MIN) {
        /* DuckDB reads the digits before the sign. */
        weir_buf_puts(buf, "-9223372036854775807 microseconds -1 microseconds");
        return;
    }
    weir_buf_printf(buf, "%lld microseconds", (long long)v.micros);
}

static void put_uuid(Buf *buf, i128 stored)
{
    const u128 value = (u128)stored ^ ((u128)1 << 127);
    const uint64_t high = (uint64_t)(value >> 64);
    const uint64_t low = (uint64_t)value;
    weir_buf_printf(buf, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(high >> 32),
                    (unsigned)(high >> 16) & 0xFFFFu, (unsigned)high & 0xFFFFu,
                    (unsigned)(low >> 48), (unsigned long long)(low & 0xFFFFFFFFFFFF));
}

static void put_blob(Buf *buf, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        weir_buf_printf(buf, "\\x%02X", (unsigned)(unsigned char)bytes[i]);
    }
}

/* First byte: number of padding bits at the front of the second. */
static void put_bit(Buf *buf, const char *bytes, size_t size)
{
    const size_t padding = size == 0 ? 0 : (unsigned char)bytes[0];
    for (size_t i = 8 + padding; i < size * 8; i++) {
        const unsigned byte = (unsigned char)bytes[i / 8];
        weir_buf_putc(buf, (byte >> (7 - i % 8) & 1u) != 0 ? '1' : '0');
    }
}

/* Divides the big-endian number by 10^9 in place; returns the remainder. */
static uint32_t divide_by_billion(unsigned char *digits, size_t size)
{
    uint64_t rest = 0;
    for (size_t i = 0; i < size; i++) {
        rest = rest << 8 | digits[i];
        digits[i] = (unsigned char)(rest / 1000000000);
        rest %= 1000000000;
    }
    return (uint32_t)rest;
}

/* BIGNUM: 3 bytes of head (its top bit set = not negative), the magnitude big endian; all bytes of a
 * negative number are inverted. */
static void put_bignum(Buf *buf, const char *bytes, size_t size)
{
    enum { HEAD_BYTES = 3 };
    if (size <= HEAD_BYTES) {
        weir_buf_putc(buf, '0');
        return;
    }
    const bool is_negative = ((unsigned char)bytes[0] & 0x80u) == 0;
    const size_t count = size - HEAD_BYTES;
    Error err;
    unsigned char *magnitude = weir_mem_alloc(buf->mem, count, &err);
    uint32_t *groups = magnitude == NULL ? NULL
                                         : weir_mem_calloc(buf->mem, count / 3 + 1, sizeof *groups,
                                                           &err); /* 9 digits each */
    if (groups == NULL) {
        buf->status = buf->status == WEIR_OK ? err.code : buf->status;
        buf->err = err;
        weir_mem_free(buf->mem, magnitude);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const unsigned byte = (unsigned char)bytes[HEAD_BYTES + i];
        magnitude[i] = (unsigned char)(is_negative ? ~byte : byte);
    }
    size_t group_count = 0;
    size_t begin = 0;
    do {
        groups[group_count++] = divide_by_billion(magnitude + begin, count - begin);
        while (begin < count && magnitude[begin] == 0) {
            begin++;
        }
    } while (begin < count);
    weir_buf_printf(buf, "%s%u", is_negative ? "-" : "", groups[group_count - 1]);
    for (size_t i = group_count - 1; i > 0; i--) {
        weir_buf_printf(buf, "%09u", groups[i - 1]);
    }
    weir_mem_free(buf->mem, groups);
    weir_mem_free(buf->mem, magnitude);
}

/* The text between the quotes, for types whose texts contain no quotes. */
static void put_text(Buf *buf, const Value *value)
{
    const void *bytes = value->data.bytes;
    String string;
    memcpy(&string, bytes, sizeof string);
    const PhysType phys = value->type->phys;
    switch (value->type->id) {
    case TYPE_BOOLEAN: weir_buf_puts(buf, value->data.bytes[0] != 0 ? "true" : "false"); break;
    case TYPE_TINYINT:
    case TYPE_SMALLINT:
    case TYPE_INTEGER:
    case TYPE_BIGINT:
    case TYPE_HUGEINT:
    case TYPE_UTINYINT:
    case TYPE_USMALLINT:
    case TYPE_UINTEGER:
    case TYPE_UBIGINT:
    case TYPE_SQLNULL: put_i128(buf, load_integer(phys, bytes), 0); break;
    case TYPE_UHUGEINT: put_u128(buf, (u128)load_integer(phys, bytes)); break;
    case TYPE_DECIMAL: put_i128(buf, load_integer(phys, bytes), value->type->scale); break;
    case TYPE_FLOAT: {
        float number;
        memcpy(&number, bytes, sizeof number);
        put_double(buf, (double)number, 9);
        break;
    }
    case TYPE_DOUBLE: {
        double number;
        memcpy(&number, bytes, sizeof number);
        put_double(buf, number, 17);
        break;
    }
    case TYPE_DATE: put_date(buf, (int32_t)load_integer(phys, bytes)); break;
    case TYPE_TIME: put_clock(buf, (int64_t)weir_load_u64(bytes), TIME_MICROS_PER_SECOND); break;
    case TYPE_TIME_NS: put_clock(buf, (int64_t)weir_load_u64(bytes), NANOS_PER_SECOND); break;
    case TYPE_TIME_TZ: put_time_tz(buf, weir_load_u64(bytes)); break;
    case TYPE_TIMESTAMP:
        put_timestamp(buf, (int64_t)weir_load_u64(bytes), TIME_MICROS_PER_SECOND, false);
        break;
    case TYPE_TIMESTAMP_S: put_timestamp(buf, (int64_t)weir_load_u64(bytes), 1, false); break;
    case TYPE_TIMESTAMP_MS: put_timestamp(buf, (int64_t)weir_load_u64(bytes), 1000, false); break;
    case TYPE_TIMESTAMP_NS:
        put_timestamp(buf, (int64_t)weir_load_u64(bytes), NANOS_PER_SECOND, false);
        break;
    case TYPE_TIMESTAMP_TZ:
        put_timestamp(buf, (int64_t)weir_load_u64(bytes), TIME_MICROS_PER_SECOND, true);
        break;
    case TYPE_INTERVAL: {
        Interval interval;
        memcpy(&interval, bytes, sizeof interval);
        put_interval(buf, interval);
        break;
    }
    case TYPE_UUID: put_uuid(buf, load_integer(phys, bytes)); break;
    case TYPE_BLOB: put_blob(buf, weir_string_data(&string), weir_string_size(&string)); break;
    case TYPE_BIT: put_bit(buf, weir_string_data(&string), weir_string_size(&string)); break;
    case TYPE_BIGNUM: put_bignum(buf, weir_string_data(&string), weir_string_size(&string)); break;
    case TYPE_VARCHAR:
    case TYPE_ENUM:
    case TYPE_LIST:
    case TYPE_ARRAY:
    case TYPE_STRUCT:
    case TYPE_MAP:
    case TYPE_UNION:
    case TYPE_COUNT:
        WEIR_ASSERT(false); /* the caller's, or no constants */
        break;
    }
}

void weir_value_put_sql(Buf *buf, const Value *value)
{
    const LogicalType *type = value->type;
    if (type->id == TYPE_SQLNULL) {
        weir_buf_puts(buf, "NULL");
        return;
    }
    weir_buf_puts(buf, "CAST(");
    if (value->is_null) {
        weir_buf_puts(buf, "NULL");
    } else if (type->id == TYPE_VARCHAR) {
        String string;
        memcpy(&string, value->data.bytes, sizeof string);
        weir_buf_put_sql_string(buf, weir_string_data(&string), weir_string_size(&string));
    } else if (type->id == TYPE_ENUM) {
        const size_t index = (size_t)load_integer(type->phys, value->data.bytes);
        WEIR_ASSERT(index < type->name_count);
        weir_buf_put_sql_string(buf, type->names[index], strlen(type->names[index]));
    } else {
        weir_buf_putc(buf, '\'');
        put_text(buf, value);
        weir_buf_putc(buf, '\'');
    }
    weir_buf_puts(buf, " AS ");
    weir_type_put_sql(buf, type);
    weir_buf_putc(buf, ')');
}
