/* fingerprint.c: two scalar functions.
 *
 * dbsp_internal_hash(rowid, column, ...) -> UBIGINT:
 *
 *   h = SEED;  for each word x of each argument:  h = mix((h ^ x) * M1);  finish(h)
 *   mix(h) = h ^ (h >> 32)
 *
 * Every round is a bijection of h for fixed x and of x for fixed h: two rows that differ in one word
 * never have the same hash. The words of a value: the value itself, zero-extended, up to 8 bytes; two
 * words for 16 bytes and for a string of up to 12 bytes (its slot, length included); the length and
 * XXH3 of a longer one; one constant for NULL, with a multiplier of its own.
 *
 * dbsp_internal_parts(last_row, group_rows, rowid, column, ...) -> UHUGEINT: NULL but for the last row
 * of every run of rows in a vector that belong to one part of the table; there
 *
 *   lower word: the exclusive or of the run's hashes
 *   upper word: group << 30 | place of the last row << 13 | is_new << 12 | row_count
 *
 * It is called volatile, so that DuckDB computes it once a row, below the filter that drops the NULLs.
 *
 * The parts of a nested vector need not be flat inside a scan, so that a nested value is given as its
 * text, which shows everything but the tag of a union, and as DuckDB's hash, which sees the tag. */
#include "duckdb/fingerprint.h"

#include "base/codec.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HASH_FUNCTION "dbsp_internal_hash"
#define PARTS_FUNCTION "dbsp_internal_parts"

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

/* Takes the values of a column into the hashes. */
static void hash_vector(const void *data, PhysType phys, const uint64_t *validity, size_t count,
                        uint64_t *h)
{
    if (validity == NULL) {
        hash_values(data, phys, count, h);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (weir_validity_get(validity, i)) {
            hash_value(data, phys, i, &h[i]);
        } else {
            h[i] = mix((h[i] ^ HASH_NULL) * HASH_M2);
        }
    }
}

static bool hash_column(duckdb_vector vector, size_t count, uint64_t *h)
{
    const PhysType phys = vector_phys(vector);
    if (phys == PHYS_COUNT) {
        return false;
    }
    hash_vector(duckdb_vector_get_data(vector), phys, duckdb_vector_get_validity(vector), count, h);
    return true;
}

void weir_fingerprint_rows(const Batch *batch, const int64_t *row_ids, uint64_t *out)
{
    for (size_t i = 0; i < batch->count; i++) {
        out[i] = HASH_SEED;
    }
    hash_vector(row_ids, PHYS_I64, NULL, batch->count, out);
    for (size_t c = 0; c < batch->column_count; c++) {
        const Vector *const column = &batch->columns[c];
        WEIR_ASSERT(!column->is_constant);
        hash_vector(column->data, column->phys, column->validity, batch->count, out);
    }
    for (size_t i = 0; i < batch->count; i++) {
        out[i] = finish(out[i]);
    }
}

/* The hashes of the rows over the columns from `first` on. */
static bool hash_rows(duckdb_data_chunk input, size_t first, size_t count, uint64_t *h)
{
    for (size_t i = 0; i < count; i++) {
        h[i] = HASH_SEED;
    }
    const size_t columns = duckdb_data_chunk_get_column_count(input);
    for (size_t c = first; c < columns; c++) {
        if (!hash_column(duckdb_data_chunk_get_vector(input, c), count, h)) {
            return false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        h[i] = finish(h[i]);
    }
    return true;
}

static void run_hash(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
    if (!hash_rows(input, 0, duckdb_data_chunk_get_size(input), duckdb_vector_get_data(output))) {
        duckdb_scalar_function_set_error(info, HASH_FUNCTION ": a type is not supported");
    }
}

/* --- parts ------------------------------------------------------------------------------------ */

enum {
    PARTS_LAST_ROW = 0, /* arguments */
    PARTS_GROUP_ROWS = 1,
    PARTS_ROW_ID = 2,
    PART_NEW_SHIFT = 12, /* the upper word */
    PART_PLACE_SHIFT = 13,
    PART_GROUP_SHIFT = 30,
    PART_GROUP_BITS = 64 - PART_GROUP_SHIFT,
};

typedef struct PartWords {
    uint64_t lower;
    uint64_t upper;
} PartWords;

_Static_assert(FINGERPRINT_MAX_GROUP_ROWS == 1 << (PART_GROUP_SHIFT - PART_PLACE_SHIFT), "place");
_Static_assert(VECTOR_CAPACITY < 1 << PART_NEW_SHIFT, "row_count");

/* The rows of the chunk's parts. */
typedef struct PartsInput {
    const uint64_t *row_ids;
    const uint64_t *hashes;
    size_t count;
    uint64_t group_rows;
    uint64_t new_row; /* the first row id that is new */
} PartsInput;

/* Writes the part that begins at `row`, and returns the row behind it; 0 if the row id is too large.
 */
static size_t put_part(const PartsInput *in, size_t row, PartWords *out, uint64_t *validity)
{
    const uint64_t first = in->row_ids[row];
    const uint64_t group = first / in->group_rows;
    if (group >> PART_GROUP_BITS != 0) {
        return 0;
    }
    const bool is_new = first >= in->new_row;
    const uint64_t begin = WEIR_MAX(group * in->group_rows, is_new ? in->new_row : 0);
    const uint64_t end = (group + 1) * in->group_rows;
    const uint64_t limit = is_new || in->new_row > end ? end : in->new_row;
    uint64_t fingerprint = 0;
    uint64_t last = first;
    size_t next = row;
    while (next < in->count && in->row_ids[next] >= begin && in->row_ids[next] < limit) {
        fingerprint ^= in->hashes[next];
        last = WEIR_MAX(last, in->row_ids[next]);
        next++;
    }
    WEIR_ASSERT(next > row);
    out[next - 1] = (PartWords){
        .lower = fingerprint,
        .upper = group << PART_GROUP_SHIFT | (last - group * in->group_rows) << PART_PLACE_SHIFT |
                 (uint64_t)is_new << PART_NEW_SHIFT | (next - row),
    };
    validity[(next - 1) / 64] |= UINT64_C(1) << ((next - 1) % 64);
    return next;
}

/* A BIGINT argument without NULLs; NULL if it is something else. */
static const void *bigint_argument(duckdb_data_chunk input, size_t column)
{
    const duckdb_vector vector = duckdb_data_chunk_get_vector(input, column);
    const uint64_t *const validity = duckdb_vector_get_validity(vector);
    bool is_valid = vector_phys(vector) == PHYS_U64;
    for (size_t i = 0; is_valid && validity != NULL && i < duckdb_data_chunk_get_size(input); i++) {
        is_valid = weir_validity_get(validity, i);
    }
    return is_valid ? duckdb_vector_get_data(vector) : NULL;
}

static bool read_parts_input(duckdb_data_chunk input, PartsInput *out)
{
    if (duckdb_data_chunk_get_column_count(input) <= PARTS_ROW_ID || out->count > VECTOR_CAPACITY) {
        return false;
    }
    const int64_t *const last_row = bigint_argument(input, PARTS_LAST_ROW);
    const uint64_t *const group_rows = bigint_argument(input, PARTS_GROUP_ROWS);
    out->row_ids = bigint_argument(input, PARTS_ROW_ID);
    if (last_row == NULL || group_rows == NULL || out->row_ids == NULL) {
        return false;
    }
    out->new_row = (uint64_t)last_row[0] + 1;
    out->group_rows = group_rows[0];
    return out->group_rows > 0 && out->group_rows <= FINGERPRINT_MAX_GROUP_ROWS;
}

static void run_parts(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
    uint64_t hashes[VECTOR_CAPACITY];
    PartsInput in = {.hashes = hashes, .count = duckdb_data_chunk_get_size(input)};
    if (in.count == 0) {
        return;
    }
    bool is_good = read_parts_input(input, &in) && hash_rows(input, PARTS_ROW_ID, in.count, hashes);
    duckdb_vector_ensure_validity_writable(output);
    uint64_t *const validity = duckdb_vector_get_validity(output);
    memset(validity, 0, (in.count + 63) / 64 * sizeof *validity);
    for (size_t row = 0; is_good && row < in.count;) {
        row = put_part(&in, row, duckdb_vector_get_data(output), validity);
        is_good = row > 0;
    }
    if (!is_good) {
        duckdb_scalar_function_set_error(info, PARTS_FUNCTION ": an argument is not supported");
    }
}

PartSum weir_fingerprint_read_part(duckdb_vector parts, size_t row)
{
    const PartWords words = ((const PartWords *)duckdb_vector_get_data(parts))[row];
    return (PartSum){
        .group = words.upper >> PART_GROUP_SHIFT,
        .is_new = (words.upper >> PART_NEW_SHIFT & 1u) != 0,
        .last_place =
            (uint32_t)(words.upper >> PART_PLACE_SHIFT) & (FINGERPRINT_MAX_GROUP_ROWS - 1),
        .sum =
            {
                .row_count = words.upper & ((1u << PART_NEW_SHIFT) - 1),
                .fingerprint = words.lower,
            },
    };
}

/* --- registration and use --------------------------------------------------------------------- */

static Status register_function(duckdb_connection connection, const char *name, duckdb_type result,
                                duckdb_scalar_function_t run, Error *err)
{
    duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
    duckdb_logical_type result_type = duckdb_create_logical_type(result);
    duckdb_scalar_function function = duckdb_create_scalar_function();
    duckdb_scalar_function_set_name(function, name);
    duckdb_scalar_function_set_varargs(function, any);
    duckdb_scalar_function_set_return_type(function, result_type);
    duckdb_scalar_function_set_special_handling(function); /* NULLs are hashed too */
    duckdb_scalar_function_set_volatile(function);
    duckdb_scalar_function_set_function(function, run);
    const duckdb_state state = duckdb_register_scalar_function(connection, function);
    duckdb_destroy_scalar_function(&function);
    duckdb_destroy_logical_type(&result_type);
    duckdb_destroy_logical_type(&any);
    if (state != DuckDBSuccess) {
        return weir_error_set(err, WEIR_ERR_HOST, "cannot register the function %s", name);
    }
    return WEIR_OK;
}

Status weir_fingerprint_register(duckdb_connection connection, Error *err)
{
    WEIR_TRY(register_function(connection, HASH_FUNCTION, DUCKDB_TYPE_UBIGINT, run_hash, err));
    return register_function(connection, PARTS_FUNCTION, DUCKDB_TYPE_UHUGEINT, run_parts, err);
}

static void put_arguments(Buf *buf, const Schema *schema)
{
    weir_buf_puts(buf, "rowid");
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

void weir_fingerprint_put_sql(Buf *buf, const Schema *schema)
{
    weir_buf_puts(buf, "system.main." HASH_FUNCTION "(");
    put_arguments(buf, schema);
}

void weir_fingerprint_put_parts_sql(Buf *buf, const Schema *schema, const PartSpec *spec,
                                    const char *table)
{
    WEIR_ASSERT(spec->group_rows <= FINGERPRINT_MAX_GROUP_ROWS);
    weir_buf_printf(
        buf, "SELECT part FROM (SELECT system.main." PARTS_FUNCTION "(%lld::BIGINT, %u::BIGINT, ",
        (long long)spec->last_row, spec->group_rows);
    put_arguments(buf, schema);
    weir_buf_printf(buf, " AS part FROM %s) WHERE part IS NOT NULL", table);
}
