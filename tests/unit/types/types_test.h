/* types_test.h: what the tests of src/types share. */
#ifndef WEIR_TESTS_UNIT_TYPES_TEST_H
#define WEIR_TESTS_UNIT_TYPES_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "types/batch.h"

/* Memory of one test. */
typedef struct World {
    Mem *mem;
    Arena arena;
    Error err;
} World;

static inline void world_init(World *world)
{
    *world = (World){.mem = weir_mem_new(0)};
    assert_non_null(world->mem);
    weir_arena_init(&world->arena, world->mem, 0);
}

/* Everything must have been given back. */
static inline void world_deinit(World *world)
{
    weir_arena_deinit(&world->arena);
    assert_int_equal(weir_mem_used(world->mem), 0);
    weir_mem_free_allocator(world->mem);
}

/* A repeatable sequence (splitmix64). */
typedef struct Random {
    uint64_t state;
} Random;

static inline uint64_t random_next(Random *random)
{
    random->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline size_t random_below(Random *random, size_t limit)
{
    return (size_t)(random_next(random) % limit);
}

/* The seed of a random test: fixed, or from the environment; printed either way. */
static inline uint64_t test_seed(void)
{
    const char *text = getenv("WEIR_TEST_SEED");
    const uint64_t seed = text == NULL ? 1 : strtoull(text, NULL, 10);
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

static inline String string_of(const char *text)
{
    return weir_string_make(text, strlen(text));
}

#endif
