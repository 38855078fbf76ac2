/* test_hash.c: equal rows have equal hashes however their columns are stored, and unequal ones are
 * spread: also sequences, multiples and pairs of small numbers. */
#include "types_test.h"

#include "types/row.h"

static void check_same_hashes(const uint32_t *a, const uint32_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(a[i], b[i]);
    }
}

static void constant_columns_hash_like_flat_ones(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    static const char text[] = "a text of more than twelve bytes";
    for (size_t round = 0; round < 200; round++) {
        Vector constants[3];
        Vector flats[3];
        const Vector *constant_pointers[3];
        const Vector *flat_pointers[3];
        const size_t column_count = 1 + round % 3;
        for (size_t c = 0; c < column_count; c++) {
            Vector v = {0};
            const PhysType phys = (PhysType)random_below(&random, PHYS_COUNT);
            assert_int_equal(weir_vector_init(&v, phys, 1, &world.arena, &world.err), WEIR_OK);
            v.is_constant = true;
            if (phys == PHYS_STRING) {
                *(String *)v.data = weir_string_make(text, random_below(&random, sizeof text));
            } else {
                const uint64_t words[2] = {random_next(&random), random_next(&random)};
                memcpy(v.data, words, weir_phys_width(phys));
            }
            if (random_below(&random, 4) == 0) {
                assert_int_equal(weir_vector_add_validity(&v, 1, &world.arena, &world.err),
                                 WEIR_OK);
                weir_validity_set_null(v.validity, 0);
            }
            constants[c] = v;
            constant_pointers[c] = &constants[c];
            assert_int_equal(weir_vector_flatten(&v, 100, &world.arena, &flats[c], &world.err),
                             WEIR_OK);
            flat_pointers[c] = &flats[c];
        }
        uint32_t a[100];
        uint32_t b[100];
        weir_hash_columns(constant_pointers, column_count, 100, a);
        weir_hash_columns(flat_pointers, column_count, 100, b);
        check_same_hashes(a, b, 100);
        constant_pointers[0] = &flats[0];
        weir_hash_columns(constant_pointers, column_count, 100, a);
        check_same_hashes(a, b, 100);
    }
    world_deinit(&world);
}

static void a_mask_without_nulls_changes_no_hash(void **state)
{
    (void)state;
    int64_t numbers[64];
    String texts[64];
    uint64_t validity[1] = {UINT64_MAX};
    for (size_t i = 0; i < 64; i++) {
        numbers[i] = (int64_t)(i * i);
        texts[i] = weir_string_make("some letters, many letters", i % 26);
    }
    Vector columns[2] = {{.phys = PHYS_I64, .data = numbers}, {.phys = PHYS_STRING, .data = texts}};
    const Vector *const pointers[2] = {&columns[0], &columns[1]};
    for (size_t n = 0; n <= 2; n++) {
        uint32_t a[64];
        uint32_t b[64];
        columns[0].validity = NULL;
        columns[1].validity = NULL;
        weir_hash_columns(pointers, n, 64, a);
        columns[0].validity = validity;
        columns[1].validity = validity;
        weir_hash_columns(pointers, n, 64, b);
        check_same_hashes(a, b, 64);
    }
}

static void garbage_under_null_changes_no_hash(void **state)
{
    (void)state;
    int32_t numbers[2] = {1, 2};
    String texts[2] = {string_of("x"), {.words = {UINT64_MAX, 1}}};
    uint64_t validity[1] = {0};
    const Vector columns[2] = {{.phys = PHYS_I32, .data = numbers, .validity = validity},
                               {.phys = PHYS_STRING, .data = texts, .validity = validity}};
    const Vector *const pointers[2] = {&columns[0], &columns[1]};
    for (size_t n = 1; n <= 2; n++) {
        uint32_t hashes[2];
        weir_hash_columns(pointers, n, 2, hashes);
        assert_int_equal(hashes[0], hashes[1]);
    }
}

static void equal_strings_hash_alike_wherever_they_are(void **state)
{
    (void)state;
    const char a[] = "a text of more than twelve bytes";
    char b[sizeof a];
    memcpy(b, a, sizeof a);
    String texts[2 * sizeof a];
    for (size_t n = 0; n < sizeof a; n++) {
        texts[2 * n] = weir_string_make(a, n);
        texts[2 * n + 1] = weir_string_make(b, n);
    }
    const Vector column = {.phys = PHYS_STRING, .data = texts};
    const Vector *const pointer = &column;
    uint32_t hashes[2 * sizeof a];
    weir_hash_columns(&pointer, 1, 2 * sizeof a, hashes);
    for (size_t n = 0; n < sizeof a; n++) {
        assert_int_equal(hashes[2 * n], hashes[2 * n + 1]);
        assert_true(n == 0 || hashes[2 * n] != hashes[2 * n - 2]);
    }
}

/* --- quality ------------------------------------------------------------------------------------ */

enum { KEYS = 1 << 16, SLOT_BITS = 17 };

/* Average slots looked at per insert at load 0.5 with linear probing on the top bits: 1.5 if the
 * hash is ideal. */
static double probe_length(const uint32_t *hashes)
{
    static uint8_t used[1 << SLOT_BITS];
    memset(used, 0, sizeof used);
    size_t looks = 0;
    for (size_t i = 0; i < KEYS; i++) {
        size_t slot = hashes[i] >> (32 - SLOT_BITS);
        looks++;
        while (used[slot] != 0) {
            slot = (slot + 1) % (1 << SLOT_BITS);
            looks++;
        }
        used[slot] = 1;
    }
    return (double)looks / KEYS;
}

/* Keys of one family, as the columns of a hash. */
typedef void KeyFamily(size_t key, int64_t *x, int64_t *y);

static void sequence_up(size_t key, int64_t *x, int64_t *y)
{
    *x = (int64_t)key;
    *y = 7;
}

static void sequence_down(size_t key, int64_t *x, int64_t *y)
{
    *x = -(int64_t)key;
    *y = -7;
}

static void thousands(size_t key, int64_t *x, int64_t *y)
{
    *x = (int64_t)key * 1000;
    *y = (int64_t)key % 3;
}

static void high_bits(size_t key, int64_t *x, int64_t *y)
{
    *x = (int64_t)key << 40;
    *y = (int64_t)key << 20;
}

static void doubles(size_t key, int64_t *x, int64_t *y)
{
    const double value = (double)key;
    memcpy(x, &value, sizeof value);
    memcpy(y, &value, sizeof value);
}

static void small_pairs(size_t key, int64_t *x, int64_t *y)
{
    *x = (int64_t)key % 256;
    *y = (int64_t)key / 256;
}

static void shifted_pairs(size_t key, int64_t *x, int64_t *y)
{
    *x = (int64_t)(key % 256) << 32;
    *y = (int64_t)(key / 256) << 32;
}

static void regular_keys_are_spread_like_random_ones(void **state)
{
    (void)state;
    KeyFamily *const families[] = {sequence_up, sequence_down, thousands,    high_bits,
                                   doubles,     small_pairs,   shifted_pairs};
    for (size_t f = 0; f < WEIR_ARRAY_COUNT(families); f++) {
        const bool is_pair = families[f] == small_pairs || families[f] == shifted_pairs;
        static uint32_t hashes[3][KEYS];
        for (size_t begin = 0; begin < KEYS; begin += VECTOR_CAPACITY) {
            int64_t x[VECTOR_CAPACITY];
            int64_t y[VECTOR_CAPACITY];
            int64_t wide[VECTOR_CAPACITY][2];
            for (size_t i = 0; i < VECTOR_CAPACITY; i++) {
                families[f](begin + i, &x[i], &y[i]);
                wide[i][0] = x[i];
                wide[i][1] = y[i];
            }
            const Vector columns[3] = {{.phys = PHYS_I64, .data = x},
                                       {.phys = PHYS_I64, .data = y},
                                       {.phys = PHYS_I128, .data = wide}};
            const Vector *const pointers[3] = {&columns[0], &columns[1], &columns[2]};
            weir_hash_columns(pointers, is_pair ? 2 : 1, VECTOR_CAPACITY, hashes[0] + begin);
            weir_hash_columns(pointers, 2, VECTOR_CAPACITY, hashes[1] + begin);
            weir_hash_columns(pointers + 2, 1, VECTOR_CAPACITY, hashes[2] + begin);
        }
        for (size_t h = 0; h < 3; h++) {
            const double length = probe_length(hashes[h]);
            assert_true(length < 1.53);
        }
    }
}

static void short_numbers_in_texts_are_spread_like_random_keys(void **state)
{
    (void)state;
    static uint32_t hashes[2][KEYS];
    for (size_t begin = 0; begin < KEYS; begin += VECTOR_CAPACITY) {
        static char texts[VECTOR_CAPACITY][32];
        String shorts[VECTOR_CAPACITY];
        String longs[VECTOR_CAPACITY];
        for (size_t i = 0; i < VECTOR_CAPACITY; i++) {
            const int size = snprintf(texts[i], sizeof texts[i], "%zu-a-long-text", begin + i);
            shorts[i] = weir_string_make(texts[i], (size_t)size - 12);
            longs[i] = weir_string_make(texts[i], (size_t)size);
        }
        const Vector columns[2] = {{.phys = PHYS_STRING, .data = shorts},
                                   {.phys = PHYS_STRING, .data = longs}};
        const Vector *const pointers[2] = {&columns[0], &columns[1]};
        weir_hash_columns(pointers, 1, VECTOR_CAPACITY, hashes[0] + begin);
        weir_hash_columns(pointers + 1, 1, VECTOR_CAPACITY, hashes[1] + begin);
    }
    assert_true(probe_length(hashes[0]) < 1.53);
    assert_true(probe_length(hashes[1]) < 1.53);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_columns_hash_like_flat_ones),
        cmocka_unit_test(a_mask_without_nulls_changes_no_hash),
        cmocka_unit_test(garbage_under_null_changes_no_hash),
        cmocka_unit_test(equal_strings_hash_alike_wherever_they_are),
        cmocka_unit_test(regular_keys_are_spread_like_random_ones),
        cmocka_unit_test(short_numbers_in_texts_are_spread_like_random_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
