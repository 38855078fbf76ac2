/* key_space.h: numbered keys as columns: a test's model needs only the numbers.
 *
 * Number -> (int64, string, nullable double, nullable string): pairwise different, with NULLs, empty,
 * short and long strings. A narrow space has the int64 column only, taken from a list if there is
 * one (keys with equal hashes). */
#ifndef WEIR_TESTS_UNIT_KEY_SPACE_H
#define WEIR_TESTS_UNIT_KEY_SPACE_H

#include "trace_test.h"

enum { KEY_SPACE_COLUMNS = 4 };

static const PhysType key_space_types[KEY_SPACE_COLUMNS] = {PHYS_I64, PHYS_STRING, PHYS_F64,
                                                            PHYS_STRING};

typedef struct KeyColumns {
    int64_t numbers[BATCH_CAPACITY];
    String names[BATCH_CAPACITY];
    double reals[BATCH_CAPACITY];
    String notes[BATCH_CAPACITY];
    char bytes[BATCH_CAPACITY][2][64];
    uint64_t real_validity[VECTOR_VALIDITY_WORDS];
    uint64_t note_validity[VECTOR_VALIDITY_WORDS];
    Vector vectors[KEY_SPACE_COLUMNS];
    const Vector *columns[KEY_SPACE_COLUMNS];
} KeyColumns;

static inline String key_space_string(char *buffer, const char *prefix, uint64_t number,
                                      size_t style)
{
    /* style 0: empty, 1: short, 2: long, 3: longer */
    size_t size = 0;
    if (style > 0) {
        size = (size_t)snprintf(buffer, 64, "%s%llu%s", prefix, (unsigned long long)number,
                                style == 1 ? "" : "-and-some-more-bytes");
    }
    if (style == 3) {
        memset(buffer + size, 'x', 20);
        size += 20;
    }
    String s = {.words = {0, 0}};
    s.inlined.length = (uint32_t)size;
    memcpy(s.inlined.bytes, buffer, size <= STRING_INLINE_BYTES ? size : 4);
    if (size > STRING_INLINE_BYTES) {
        s.remote.pointer = buffer;
    }
    return s;
}

/* Puts the key of number into row i. Parts repeat between numbers; the whole does not. */
static inline void key_columns_set(KeyColumns *keys, size_t i, uint64_t number)
{
    const uint64_t low = number % 7;
    const uint64_t high = number / 7;
    keys->numbers[i] = (int64_t)(high / 5) - 3;
    keys->names[i] = key_space_string(keys->bytes[i][0], "n", high % 5 * 11,
                                      high % 5 == 0 ? 0 : 1 + high % 5 % 3);
    keys->reals[i] = (double)low / 2.0;
    keys->notes[i] = key_space_string(keys->bytes[i][1], "note", low / 3, low % 3 + 1);
    /* number % 7: 5 = NULL real, 6 = NULL note */
    keys->real_validity[i / 64] |= UINT64_C(1) << (i % 64);
    keys->note_validity[i / 64] |= UINT64_C(1) << (i % 64);
    if (low == 5) {
        keys->reals[i] = 0.0;
        weir_validity_set_null(keys->real_validity, i);
    }
    if (low == 6) {
        keys->notes[i] = (String){.words = {0, 0}};
        weir_validity_set_null(keys->note_validity, i);
    }
}

static inline void key_columns_init(KeyColumns *keys)
{
    void *data[KEY_SPACE_COLUMNS] = {keys->numbers, keys->names, keys->reals, keys->notes};
    memset(keys, 0, sizeof *keys);
    for (size_t c = 0; c < KEY_SPACE_COLUMNS; c++) {
        keys->vectors[c] = vector_of(key_space_types[c], data[c]);
        keys->columns[c] = &keys->vectors[c];
    }
    keys->vectors[2].validity = keys->real_validity;
    keys->vectors[3].validity = keys->note_validity;
}

typedef struct HashedKey {
    uint32_t hash;
    int64_t key;
} HashedKey;

static inline int hashed_key_compare(const void *a, const void *b)
{
    const HashedKey *x = a;
    const HashedKey *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Up to `most` integers, each of which shares its hash with another. */
static inline size_t colliding_keys(int64_t *out, size_t most)
{
    enum { TRIED = 2048 * 600 };
    HashedKey *keys = malloc(TRIED * sizeof *keys);
    assert_non_null(keys);
    for (size_t first = 0; first < TRIED; first += BATCH_CAPACITY) {
        static int64_t values[BATCH_CAPACITY];
        static uint32_t hashes[BATCH_CAPACITY];
        for (size_t i = 0; i < BATCH_CAPACITY; i++) {
            values[i] = (int64_t)(first + i);
        }
        const Vector vector = vector_of(PHYS_I64, values);
        const Vector *column = &vector;
        weir_hash_columns(&column, 1, BATCH_CAPACITY, hashes);
        for (size_t i = 0; i < BATCH_CAPACITY; i++) {
            keys[first + i] = (HashedKey){.hash = hashes[i], .key = values[i]};
        }
    }
    qsort(keys, TRIED, sizeof *keys, hashed_key_compare);
    size_t count = 0;
    for (size_t i = 1; i < TRIED && count + 2 <= most; i++) {
        if (keys[i].hash == keys[i - 1].hash) {
            out[count++] = keys[i - 1].key;
            out[count++] = keys[i].key;
        }
    }
    free(keys);
    return count;
}

#endif
