/* rng.h: a small generator of random numbers (splitmix64) whose sequence is fixed by its seed. */
#ifndef WEIR_TESTS_HARNESS_RNG_H
#define WEIR_TESTS_HARNESS_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Rng {
    uint64_t state;
} Rng;

static inline uint64_t rng_next(Rng *rng)
{
    rng->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = rng->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A number below `bound`; 0 if there is none. */
static inline size_t rng_below(Rng *rng, size_t bound)
{
    return bound == 0 ? 0 : (size_t)(rng_next(rng) % bound);
}

/* A number from `low` to `high`, both included. */
static inline size_t rng_between(Rng *rng, size_t low, size_t high)
{
    return low + rng_below(rng, high - low + 1);
}

/* True in `percent` of 100 cases. */
static inline bool rng_chance(Rng *rng, unsigned percent)
{
    return rng_below(rng, 100) < percent;
}

/* A generator for a part (a round, a table) of a seed. */
static inline Rng rng_derive(uint64_t seed, uint64_t part)
{
    Rng rng = {.state = seed * UINT64_C(0xD1342543DE82EF95) + part};
    rng_next(&rng);
    return rng;
}

#endif
