/* race.c: see race.h. */
#include "race.h"

static void run_once(Race *race, World *world)
{
    for (size_t i = 0; i < race->step_count; i++) {
        delta_make(&race->deltas[i], race->table, &world->random);
    }
    for (size_t side = 0; side < race->side_count; side++) {
        const double start = bench_cpu_ms();
        for (size_t i = 0; i < race->step_count; i++) {
            const FloorDelta delta = delta_floor(&race->deltas[i]);
            race->apply(race->user, side, &delta);
        }
        const double rows = (double)race->step_count * (double)DELTA_ROWS;
        samples_add(&race->samples[side], (bench_cpu_ms() - start) * 1e6 / rows);
    }
}

void race_run(Race *race, World *world)
{
    for (size_t i = 0; i < race->step_count; i++) {
        delta_init(&race->deltas[i], DELTA_ROWS);
    }
    run_once(race, world); /* warms up */
    for (size_t side = 0; side < race->side_count; side++) {
        race->samples[side].count = 0;
    }
    for (size_t run = 0; run < world->runs; run++) {
        run_once(race, world);
    }
    for (size_t i = 0; i < race->step_count; i++) {
        delta_deinit(&race->deltas[i]);
    }
}

void race_report(const Race *race, const char *label)
{
    for (size_t side = 1; side < race->side_count; side++) {
        report_comparison(&(Comparison){
            .label = label,
            .unit = "ns/row",
            .what = race->names[side],
            .ours = &race->samples[0],
            .theirs = &race->samples[side],
            .target = side == race->target_side ? AT_MOST(2) : NO_TARGET,
        });
    }
}
