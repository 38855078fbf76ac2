/* trace_test.h: what the tests of src/trace share: an engine's memory, random numbers, vectors. */
#ifndef WEIR_TESTS_UNIT_TRACE_TEST_H
#define WEIR_TESTS_UNIT_TRACE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "trace/page_pool.h"
#include "types/row.h"

/* Memory and pages of one test. */
typedef struct World {
    Mem *mem;
    PagePool *pool;
    Error err;
} World;

static inline void world_init(World *world)
{
    *world = (World){.mem = weir_mem_new(0)};
    assert_non_null(world->mem);
    world->pool = weir_page_pool_new(world->mem, &world->err);
    assert_non_null(world->pool);
}

/* Everything must have been given back. */
static inline void world_deinit(World *world)
{
    assert_int_equal(weir_page_pool_used_bytes(world->pool), 0);
    weir_page_pool_free(world->pool);
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

static inline uint64_t random_below(Random *random, uint64_t limit)
{
    return random_next(random) % limit;
}

/* The seed of a random test: fixed, or from the environment; printed either way. */
static inline uint64_t test_seed(void)
{
    const char *text = getenv("WEIR_TEST_SEED");
    const uint64_t seed = text == NULL ? 1 : strtoull(text, NULL, 10);
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

static inline Vector vector_of(PhysType phys, void *data)
{
    return (Vector){.phys = phys, .data = data};
}

#endif
