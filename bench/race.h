/* race.h: the engine against floors (floor.h) that do the same steps on the same table. */
#ifndef WEIR_BENCH_RACE_H
#define WEIR_BENCH_RACE_H

#include "world.h"

enum { RACE_MAX_SIDES = 4, RACE_MAX_STEPS = 10 };

/* Side 0 is the engine, the others are floors. */
typedef struct Race {
    size_t side_count;
    size_t step_count;        /* of a run */
    const char *const *names; /* of the sides; the first is not read */
    size_t target_side;       /* the engine may take twice its time */
    void (*apply)(void *user, size_t side, const FloorDelta *delta);
    void *user;
    Table *table;                    /* borrowed; it changes */
    Samples samples[RACE_MAX_SIDES]; /* ns a row */
    Delta deltas[RACE_MAX_STEPS];
} Race;

/* Runs once to warm up and then as often as the world says; each side does a run's steps in turn. */
void race_run(Race *race, World *world);

void race_report(const Race *race, const char *label);

#endif
