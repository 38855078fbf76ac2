/* hash.c: hashes of rows, column by column.
 *
 * One fixed column of up to 8 bytes: the murmur finaliser of its value. Everything else: a chain of
 * multiply-folds, fold(a, b) = high xor low half of the 128-bit product:
 *
 *   h = SEED;  for each column with words x, y:  h = fold(x ^ C1, h ^ y ^ C2);  fold(h ^ C3, C4)
 *
 * A string of up to 12 bytes enters as its two words, a longer one as XXH3 of its bytes and its
 * length: the length decides, so equal strings have equal hashes. NULL enters as a constant. One
 * fold alone is no hash of sequential integers: hence the finish. The hash may be stored: a change
 * of this file is a change of format. */
#include "types/row.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define HASH_SEED UINT64_C(0x9E3779B97F4A7C15)
#define HASH_C1 UINT64_C(0xA0761D6478BD642F)
#define HASH_C2 UINT64_C(0xE7037ED1A0B428DB)
#define HASH_C3 UINT64_C(0x8EBC6AF09C88C6E3)
#define HASH_C4 UINT64_C(0x589965CC75374CC3)
#define HASH_NULL UINT64_C(0xC2B2AE3D27D4EB4F)

/* What a value is to the chain. */
typedef struct HashWords {
    uint64_t x;
    uint64_t y;
} HashWords;

ALWAYS_INLINE uint64_t fold(uint64_t a, uint64_t b)
{
    const u128 product = (u128)a * b;
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

ALWAYS_INLINE uint64_t murmur(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    x ^= x >> 32;
    return x;
}

ALWAYS_INLINE bool is_valid(const uint64_t *validity, size_t row)
{
    return ((validity[row / 64] >> (row % 64)) & 1u) != 0;
}

/* --- loops, one template for each way to read a value -------------------------------------------- */

#define READ_FIXED(ctype)                               \
    (HashWords)                                         \
    {                                                   \
        .x = ((const ctype *)column->data)[row], .y = 0 \
    }

ALWAYS_INLINE HashWords read_words(const Vector *column, size_t row)
{
    HashWords words;
    memcpy(&words, (const char *)column->data + row * sizeof words, sizeof words);
    return words;
}

ALWAYS_INLINE HashWords read_string(const Vector *column, size_t row)
{
    String value;
    memcpy(&value, (const char *)column->data + row * sizeof value, sizeof value);
    HashWords words = {.x = value.words[0], .y = value.words[1]};
    if (WEIR_UNLIKELY(value.inlined.length > STRING_INLINE_BYTES)) {
        words.x = XXH3_64bits(value.remote.pointer, value.remote.length);
        words.y = value.remote.length;
    }
    return words;
}

#define DEFINE_CHAIN(name, READ)                                                       \
    static void chain_##name(const Vector *column, size_t count, uint64_t *restrict h) \
    {                                                                                  \
        const uint64_t *validity = column->validity;                                   \
        if (validity == NULL) {                                                        \
            for (size_t row = 0; row < count; row++) {                                 \
                const HashWords words = READ;                                          \
                h[row] = fold(words.x ^ HASH_C1, h[row] ^ words.y ^ HASH_C2);          \
            }                                                                          \
            return;                                                                    \
        }                                                                              \
        for (size_t row = 0; row < count; row++) {                                     \
            HashWords words = {.x = HASH_NULL, .y = 0};                                \
            if (is_valid(validity, row)) {                                             \
                words = READ;                                                          \
            }                                                                          \
            h[row] = fold(words.x ^ HASH_C1, h[row] ^ words.y ^ HASH_C2);              \
        }                                                                              \
    }

DEFINE_CHAIN(8, READ_FIXED(uint8_t))
DEFINE_CHAIN(16, READ_FIXED(uint16_t))
DEFINE_CHAIN(32, READ_FIXED(uint32_t))
DEFINE_CHAIN(64, READ_FIXED(uint64_t))
DEFINE_CHAIN(128, read_words(column, row))
DEFINE_CHAIN(string, read_string(column, row))
#undef DEFINE_CHAIN

#define DEFINE_SINGLE(name, ctype)                                                        \
    static void single_##name(const Vector *column, size_t count, uint32_t *restrict out) \
    {                                                                                     \
        const ctype *values = column->data;                                               \
        const uint64_t *validity = column->validity;                                      \
        if (validity == NULL) {                                                           \
            for (size_t row = 0; row < count; row++) {                                    \
                out[row] = (uint32_t)(murmur(values[row]) >> 32);                         \
            }                                                                             \
            return;                                                                       \
        }                                                                                 \
        for (size_t row = 0; row < count; row++) {                                        \
            const uint64_t x = is_valid(validity, row) ? values[row] : HASH_NULL;         \
            out[row] = (uint32_t)(murmur(x) >> 32);                                       \
        }                                                                                 \
    }

DEFINE_SINGLE(8, uint8_t)
DEFINE_SINGLE(16, uint16_t)
DEFINE_SINGLE(32, uint32_t)
DEFINE_SINGLE(64, uint64_t)
#undef DEFINE_SINGLE
#undef READ_FIXED

static void hash_single(const Vector *column, size_t count, uint32_t *out)
{
    switch (weir_phys_width(column->phys)) {
    case 1: single_8(column, count, out); break;
    case 2: single_16(column, count, out); break;
    case 4: single_32(column, count, out); break;
    default:
        WEIR_ASSERT(weir_phys_width(column->phys) == 8);
        single_64(column, count, out);
        break;
    }
}

static void chain_flat(const Vector *column, size_t count, uint64_t *h)
{
    switch (weir_phys_width(column->phys)) {
    case 1: chain_8(column, count, h); break;
    case 2: chain_16(column, count, h); break;
    case 4: chain_32(column, count, h); break;
    case 8: chain_64(column, count, h); break;
    default:
        if (column->phys == PHYS_STRING) {
            chain_string(column, count, h);
        } else {
            chain_128(column, count, h);
        }
        break;
    }
}

/* What the one value of a constant column is to the chain, found by reading it as a string or as
 * words. */
static HashWords constant_words(const Vector *column)
{
    if (weir_vector_is_null(column, 0)) {
        return (HashWords){.x = HASH_NULL, .y = 0};
    }
    if (column->phys == PHYS_STRING) {
        return read_string(column, 0);
    }
    HashWords words = {.x = 0, .y = 0};
    memcpy(&words, column->data, weir_phys_width(column->phys));
    return words;
}

static void chain_column(const Vector *column, size_t count, uint64_t *restrict h)
{
    if (!column->is_constant) {
        chain_flat(column, count, h);
        return;
    }
    const HashWords words = constant_words(column);
    for (size_t row = 0; row < count; row++) {
        h[row] = fold(words.x ^ HASH_C1, h[row] ^ words.y ^ HASH_C2);
    }
}

void weir_hash_columns(const Vector *const *columns, size_t column_count, size_t count,
                       uint32_t *out)
{
    WEIR_ASSERT(count <= VECTOR_CAPACITY);
    if (column_count == 1 && weir_phys_width(columns[0]->phys) <= 8) {
        if (!columns[0]->is_constant) {
            hash_single(columns[0], count, out);
            return;
        }
        const uint64_t hash = murmur(constant_words(columns[0]).x);
        for (size_t row = 0; row < count; row++) {
            out[row] = (uint32_t)(hash >> 32);
        }
        return;
    }
    uint64_t h[VECTOR_CAPACITY];
    for (size_t row = 0; row < count; row++) {
        h[row] = HASH_SEED;
    }
    for (size_t c = 0; c < column_count; c++) {
        chain_column(columns[c], count, h);
    }
    for (size_t row = 0; row < count; row++) {
        out[row] = (uint32_t)(fold(h[row] ^ HASH_C3, HASH_C4) >> 32);
    }
}
