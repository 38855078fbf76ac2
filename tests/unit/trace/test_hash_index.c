/* test_hash_index.c: the index against a plain list of entries, with well and badly spread hashes. */
#include "trace_test.h"

#include "trace/hash_index_inline.h"

typedef struct Entry {
    uint32_t hash;
    uint32_t value;
} Entry;

static int compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool index_has(const HashIndex *index, uint32_t hash, uint32_t value)
{
    HashPlace place = weir_hash_home(index, hash);
    for (;;) {
        const uint32_t found = weir_hash_seek(&place, hash);
        if (found == value || found == 0) {
            return found == value;
        }
        weir_hash_step(&place);
    }
}

/* A walk returns each value of the entries exactly once. */
static void check_scan(const HashIndex *index, const Entry *entries, size_t count)
{
    uint32_t *seen = malloc((count + 1) * sizeof *seen);
    uint32_t *wanted = malloc((count + 1) * sizeof *wanted);
    uint64_t cursor = 0;
    size_t seen_count = 0;
    for (;;) {
        uint32_t values[100];
        const size_t n = weir_hash_index_scan(index, &cursor, values, 100);
        if (n == 0) {
            break;
        }
        assert_true(seen_count + n <= count);
        memcpy(seen + seen_count, values, n * sizeof *values);
        seen_count += n;
    }
    assert_int_equal(seen_count, count);
    for (size_t i = 0; i < count; i++) {
        wanted[i] = entries[i].value;
    }
    qsort(seen, count, sizeof *seen, compare_u32);
    qsort(wanted, count, sizeof *wanted, compare_u32);
    assert_memory_equal(seen, wanted, count * sizeof *seen);
    free(seen);
    free(wanted);
}

/* Hashes whose bits in `mask` are random; the rest comes from a few prefixes. */
static uint32_t random_hash(Random *random, uint32_t mask)
{
    const uint32_t prefix = (uint32_t)random_below(random, 3) * UINT32_C(0x50505050);
    return ((uint32_t)random_next(random) & mask) | (prefix & ~mask);
}

static void churn(uint32_t mask, size_t most)
{
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    HashIndex index;
    assert_int_equal(weir_hash_index_init(&index, world.mem, world.pool, &world.err), WEIR_OK);
    Entry *entries = calloc(most, sizeof *entries);
    size_t count = 0;
    uint32_t next_value = 1;
    bool grows = true;
    for (size_t step = 0; step < 6 * most; step++) {
        grows = count == 0 || (count < most && (grows || count < most / 10));
        const bool insert = count < most && random_below(&random, 10) < (grows ? 8 : 2);
        if (insert || count == 0) {
            entries[count] = (Entry){.hash = random_hash(&random, mask), .value = next_value++};
            assert_int_equal(weir_hash_index_insert(&index, entries[count].hash,
                                                    entries[count].value, &world.err),
                             WEIR_OK);
            count++;
        } else {
            const size_t victim = random_below(&random, count);
            if (random_below(&random, 4) == 0) {
                weir_hash_index_replace(&index, entries[victim].hash, entries[victim].value,
                                        next_value);
                entries[victim].value = next_value++;
            } else {
                weir_hash_index_remove(&index, entries[victim].hash, entries[victim].value);
                assert_false(index_has(&index, entries[victim].hash, entries[victim].value));
                count--;
                entries[victim] = entries[count];
            }
        }
        assert_int_equal(index.count, count);
        if (step % (2 * most) == most) {
            for (size_t i = 0; i < count; i++) {
                assert_true(index_has(&index, entries[i].hash, entries[i].value));
            }
            check_scan(&index, entries, count);
        }
    }
    check_scan(&index, entries, count);
    weir_hash_index_clear(&index);
    check_scan(&index, entries, 0);
    assert_int_equal(index.count, 0);
    weir_hash_index_deinit(&index);
    free(entries);
    world_deinit(&world);
}

static void hash_index_agrees_with_a_list(void **state)
{
    (void)state;
    churn(UINT32_MAX, 100);
    churn(UINT32_MAX, 60000);
}

static void hash_index_bears_hashes_that_share_their_top_bits(void **state)
{
    (void)state;
    churn(UINT32_C(0x0000ffff), 20000);
    churn(UINT32_C(0x000001ff), 13000);
    churn(UINT32_C(0xffffc000), 1500);
    churn(UINT32_C(0xfffff000), 9000);
}

static void hash_index_bears_equal_hashes(void **state)
{
    (void)state;
    churn(0, 1500);
}

static void hash_index_walk_survives_removal_of_what_it_returned(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    enum { COUNT = 30000 };
    for (size_t round = 0; round < 4; round++) {
        HashIndex index;
        assert_int_equal(weir_hash_index_init(&index, world.mem, world.pool, &world.err), WEIR_OK);
        uint32_t *hashes = malloc((COUNT + 1) * sizeof *hashes);
        for (uint32_t value = 1; value <= COUNT; value++) {
            hashes[value] = random_hash(&random, round < 2 ? UINT32_MAX : UINT32_C(0xfff));
            assert_int_equal(weir_hash_index_insert(&index, hashes[value], value, &world.err),
                             WEIR_OK);
        }
        bool *seen = calloc(COUNT + 1, sizeof *seen);
        size_t total = 0;
        uint64_t cursor = 0;
        for (;;) {
            uint32_t values[77];
            const size_t n = weir_hash_index_scan(&index, &cursor, values, 77);
            if (n == 0) {
                break;
            }
            for (size_t i = 0; i < n; i++) {
                assert_false(seen[values[i]]);
                seen[values[i]] = true;
                if (round % 2 == 0 || random_below(&random, 3) > 0) {
                    weir_hash_index_remove(&index, hashes[values[i]], values[i]);
                }
            }
            total += n;
        }
        assert_int_equal(total, COUNT);
        free(seen);
        free(hashes);
        weir_hash_index_deinit(&index);
    }
    world_deinit(&world);
}

static void hash_index_does_not_grow_within_its_reservation(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    for (size_t count = 10; count <= 1000000; count *= 10) {
        for (size_t before = 0; before <= 20000; before += 20000) {
            HashIndex index;
            assert_int_equal(weir_hash_index_init(&index, world.mem, world.pool, &world.err),
                             WEIR_OK);
            for (uint32_t i = 0; i < before; i++) {
                assert_int_equal(weir_hash_index_insert(&index, (uint32_t)random_next(&random),
                                                        i + 1, &world.err),
                                 WEIR_OK);
            }
            assert_int_equal(weir_hash_index_reserve(&index, before + count, &world.err), WEIR_OK);
            const uint32_t epoch = index.epoch;
            for (uint32_t i = 0; i < count; i++) {
                assert_int_equal(weir_hash_index_insert(&index, (uint32_t)random_next(&random),
                                                        i + 1, &world.err),
                                 WEIR_OK);
            }
            assert_int_equal(index.epoch, epoch);
            assert_int_equal(weir_hash_index_reserve(&index, 10, &world.err), WEIR_OK);
            assert_int_equal(index.epoch, epoch);
            weir_hash_index_deinit(&index);
        }
    }
    world_deinit(&world);
}

static void hash_index_stays_whole_when_an_allocation_fails(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    for (size_t nth = 1; nth < 60; nth++) {
        Random random = {.state = 7};
        HashIndex index;
        weir_mem_fail_after(world.mem, nth, false);
        if (weir_hash_index_init(&index, world.mem, world.pool, &world.err) != WEIR_OK) {
            assert_int_equal(world.err.code, WEIR_ERR_NOMEM);
            continue;
        }
        uint32_t *hashes = malloc(60000 * sizeof *hashes);
        uint32_t count = 0;
        while (count < 60000) {
            hashes[count] = (uint32_t)random_next(&random);
            if (weir_hash_index_insert(&index, hashes[count], count + 1, &world.err) == WEIR_OK) {
                count++;
            } else {
                assert_int_equal(world.err.code, WEIR_ERR_NOMEM);
            }
            if (count == 30000) {
                (void)!weir_hash_index_reserve(&index, 200000, &world.err);
            }
        }
        weir_mem_fail_after(world.mem, 0, false);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(index_has(&index, hashes[i], i + 1));
        }
        free(hashes);
        weir_hash_index_deinit(&index);
    }
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_index_agrees_with_a_list),
        cmocka_unit_test(hash_index_bears_hashes_that_share_their_top_bits),
        cmocka_unit_test(hash_index_bears_equal_hashes),
        cmocka_unit_test(hash_index_walk_survives_removal_of_what_it_returned),
        cmocka_unit_test(hash_index_does_not_grow_within_its_reservation),
        cmocka_unit_test(hash_index_stays_whole_when_an_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
