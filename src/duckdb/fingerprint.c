/* fingerprint.c: the scalar function dbsp_internal_hash(rowid, column, ...) -> UBIGINT.
 *
 *   h = SEED;  for each word x of each argument:  h = mix((h ^ x) * M1);  finish(h)
 *   mix(h) = h ^ (h >> 32)
 *
 * Every round is a bijection of h for fixed x and of x for fixed h: two rows that differ in one word
 * never have the same hash. The words of a value: the value itself, zero-extended, up to 8 bytes; two
 * words for 16 bytes and for a string of up to 12 bytes (its slot, length included); the length and
 * XXH3 of a longer one; one constant for NULL, with a multiplier of its own.
 *
 * The parts of a nested vector need not be flat inside a scan, so that a nested value is given as its
 * text, which shows everything but the tag of a union, and as DuckDB's hash, which sees the tag. */
#include "duckdb/fingerprint.h"

#include "base/codec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FUNCTION_NAME "dbsp_internal_hash"

#define HASH_SEED UINT64_C(0x9E3779B97F4A7C15)
#define HASH_NULL UINT64_C(0xC2B2AE3D27D4EB4F)
#define HASH_M1 UINT64_C(0xD6E8FEB86659FD93)
#define HASH_M2 UINT64_C(0xA0761D6478BD642F)

static inline uint64_t mix(uint64_t h)
{
    return h ^ (h >> 32);
}

static inline uint64_t add_word(uint64_t h, uint64_t word)
{
    return mix((h ^ word) * HASH_M1);
}

static inline uint64_t finish(uint64_t h)
{
    return mix(mix(h * HASH_M2) * HASH_M1);
}

static inline uint64_t add_string(uint64_t h, const String *string)
{
    if (weir_string_is_inline(string)) {
        return add_word(add_word(h, string->words[0]), string->words[1]);
    }
    const size_t size = weir_string_size(string);
    return add_word(add_word(h, size), XXH3_64bits(weir_string_data(string), size));
}

/* One loop for each way to read a value; what stands under a NULL is not looked at. */
#define HASH_LOOP(next)                  \
    for (size_t i = 0; i < count; i++) { \
        h[i] = (next);                   \
    }                                    \
    break

static void hash_values(const void *data, PhysType phys, size_t count, uint64_t *restrict h)
{
    switch (weir_phys_width(phys)) {
    case 1: HASH_LOOP(add_word(h[i], ((const uint8_t *)data)[i]));
    case 2: HASH_LOOP(add_word(h[i], ((const uint16_t *)data)[i]));
    case 4: HASH_LOOP(add_word(h[i], ((const uint32_t *)data)[i]));
    case 8: HASH_LOOP(add_word(h[i], ((const uint64_t *)data)[i]));
    default:
        if (phys == PHYS_STRING) {
            HASH_LOOP(add_string(h[i], &((const String *)data)[i]));
        }
        HASH_LOOP(add_word(add_word(h[i], ((const uint64_t *)data)[2 * i]),
                           ((const uint64_t *)data)[2 * i + 1]));
    }
}
#undef HASH_LOOP

static void hash_value(const void *data, PhysType phys, size_t row, uint64_t *h)
{
    hash_values((const char *)data + row * weir_phys_width(phys), phys, 1, h);
}

/* The layout of a vector by its type; PHYS_COUNT for what cannot be hashed. */
static PhysType vector_phys(duckdb_vector vector)
{
    duckdb_logical_type type = duckdb_vector_get_column_type(vector);
    duckdb_type id = duckdb_get_type_id(type);
    if (id == DUCKDB_TYPE_DECIMAL) {
        id = duckdb_decimal_internal_type(type);
    } else if (id == DUCKDB_TYPE_ENUM) {
        id = duckdb_enum_internal_type(type);
    }
    duckdb_destroy_logical_type(&type);
    switch (id) {
    case DUCKDB_TYPE_BOOLEAN:
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_UTINYINT: return PHYS_U8;
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_USMALLINT: return PHYS_U16;
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DATE: return PHYS_U32;
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_DOUBLE:
    case DUCKDB_TYPE_TIME:
    case DUCKDB_TYPE_TIME_NS:
    case DUCKDB_TYPE_TIME_TZ:
    case DUCKDB_TYPE_TIMESTAMP:
    case DUCKDB_TYPE_TIMESTAMP_S:
    case DUCKDB_TYPE_TIMESTAMP_MS:
    case DUCKDB_TYPE_TIMESTAMP_NS:
    case DUCKDB_TYPE_TIMESTAMP_TZ: return PHYS_U64;
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_UHUGEINT:
    case DUCKDB_TYPE_UUID:
    case DUCKDB_TYPE_INTERVAL: return PHYS_U128;
    case DUCKDB_TYPE_VARCHAR:
    case DUCKDB_TYPE_BLOB:
    case DUCKDB_TYPE_BIT:
    case DUCKDB_TYPE_BIGNUM: return PHYS_STRING;
    default: return PHYS_COUNT;
    }
}

static bool hash_column(duckdb_vector vector, size_t count, uint64_t *h)
{
    const PhysType phys = vector_phys(vector);
    if (phys == PHYS_COUNT) {
        return false;
    }
    const void *const data = duckdb_vector_get_data(vector);
    const uint64_t *const validity = duckdb_vector_get_validity(vector);
    if (validity == NULL) {
        hash_values(data, phys, count, h);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (weir_validity_get(validity, i)) {
            hash_value(data, phys, i, &h[i]);
        } else {
            h[i] = mix((h[i] ^ HASH_NULL) * HASH_M2);
        }
    }
    return true;
}

static void hash_chunk(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
    const size_t count = duckdb_data_chunk_get_size(input);
    uint64_t *const h = duckdb_vector_get_data(output);
    for (size_t i = 0; i < count; i++) {
        h[i] = HASH_SEED;
    }
    const size_t columns = duckdb_data_chunk_get_column_count(input);
    for (size_t c = 0; c < columns; c++) {
        if (!hash_column(duckdb_data_chunk_get_vector(input, c), count, h)) {
            duckdb_scalar_function_set_error(info, FUNCTION_NAME ": a type is not supported");
            return;
        }
    }
    for (size_t i = 0; i < count; i++) {
        h[i] = finish(h[i]);
    }
}

Status weir_fingerprint_register(duckdb_connection connection, Error *err)
{
    duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
    duckdb_logical_type ubigint = duckdb_create_logical_type(DUCKDB_TYPE_UBIGINT);
    duckdb_scalar_function function = duckdb_create_scalar_function();
    duckdb_scalar_function_set_name(function, FUNCTION_NAME);
    duckdb_scalar_function_set_varargs(function, any);
    duckdb_scalar_function_set_return_type(function, ubigint);
    duckdb_scalar_function_set_special_handling(function); /* NULLs are hashed too */
    duckdb_scalar_function_set_function(function, hash_chunk);
    const duckdb_state state = duckdb_register_scalar_function(connection, function);
    duckdb_destroy_scalar_function(&function);
    duckdb_destroy_logical_type(&ubigint);
    duckdb_destroy_logical_type(&any);
    if (state != DuckDBSuccess) {
        return weir_error_set(err, WEIR_ERR_HOST, "cannot register the function " FUNCTION_NAME);
    }
    return WEIR_OK;
}

void weir_fingerprint_put_sql(Buf *buf, const Schema *schema)
{
    weir_buf_puts(buf, "system.main." FUNCTION_NAME "(rowid");
    for (size_t c = 0; c < schema->count; c++) {
        if (weir_type_is_nested(schema->types[c])) {
            weir_buf_puts(buf, ", CAST(");
            weir_buf_put_sql_name(buf, schema->names[c]);
            weir_buf_puts(buf, " AS VARCHAR), system.main.hash(");
            weir_buf_put_sql_name(buf, schema->names[c]);
            weir_buf_puts(buf, ")");
        } else {
            weir_buf_puts(buf, ", ");
            weir_buf_put_sql_name(buf, schema->names[c]);
        }
    }
    weir_buf_puts(buf, ")");
}
