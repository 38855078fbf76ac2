/* engine_group.c: GROUP BY key: sum(value), count(*), with the delta that it puts out. */
#include "world.h"

#include <stdio.h>

enum { GROUP_STEPS = 10 };

typedef enum GroupSide { SIDE_OURS, SIDE_PLAIN, SIDE_PREFETCH, SIDE_STEP, SIDE_COUNT } GroupSide;

typedef struct GroupBench {
    Circuit *circuit;
    Op *source;
    Op *tap;
    FloorGroups *floors[SIDE_COUNT];
    uint64_t floor_rows;
    Samples samples[SIDE_COUNT];
    Table table;
    Delta deltas[GROUP_STEPS];
} GroupBench;

static void count_rows(void *user, const FloorGroupBatch *batch)
{
    uint64_t *const rows = user;
    *rows += batch->count;
}

static void group_apply(GroupBench *bench, GroupSide side, const FloorDelta *delta)
{
    switch (side) {
    case SIDE_OURS: step_delta(bench->circuit, bench->source, delta); break;
    case SIDE_PLAIN: floor_groups_plain(bench->floors[side], delta); break;
    case SIDE_PREFETCH: floor_groups_prefetch(bench->floors[side], delta); break;
    case SIDE_STEP:
        floor_groups_step(bench->floors[side], delta, count_rows, &bench->floor_rows);
        break;
    case SIDE_COUNT: break;
    }
}

static void group_run(GroupBench *bench, World *world)
{
    for (size_t i = 0; i < GROUP_STEPS; i++) {
        delta_make(&bench->deltas[i], &bench->table, &world->random);
    }
    for (GroupSide side = SIDE_OURS; side < SIDE_COUNT; side++) {
        const double start = bench_cpu_ms();
        for (size_t i = 0; i < GROUP_STEPS; i++) {
            const FloorDelta delta = delta_floor(&bench->deltas[i]);
            group_apply(bench, side, &delta);
        }
        samples_add(&bench->samples[side],
                    (bench_cpu_ms() - start) * 1e6 / (GROUP_STEPS * (double)DELTA_ROWS));
    }
}

static void group_init(GroupBench *bench, World *world, size_t group_count)
{
    static const TypeId types[] = {TYPE_INTEGER, TYPE_BIGINT};
    const size_t rows = WEIR_MAX(4 * group_count, (size_t)1000000);
    const GroupSpec spec = {.key = 0, .value = 1, .sum = TYPE_HUGEINT};
    bench->circuit = world_circuit(world);
    bench->source = world_source(world, bench->circuit, world_schema(world, types, 2));
    bench->tap =
        world_tap(bench->circuit, world_group(world, bench->circuit, bench->source, &spec));
    table_init(&bench->table, &world->random, rows, group_count);
    const FloorDelta all = table_floor(&bench->table);
    for (GroupSide side = SIDE_OURS; side < SIDE_COUNT; side++) {
        bench->floors[side] = side == SIDE_OURS ? NULL : floor_groups_new(group_count);
        group_apply(bench, side, &all);
    }
    for (size_t i = 0; i < GROUP_STEPS; i++) {
        delta_init(&bench->deltas[i], DELTA_ROWS);
    }
}

static void group_deinit(GroupBench *bench)
{
    weir_circuit_free(bench->circuit);
    for (GroupSide side = SIDE_PLAIN; side < SIDE_COUNT; side++) {
        floor_groups_free(bench->floors[side]);
    }
    for (size_t i = 0; i < GROUP_STEPS; i++) {
        delta_deinit(&bench->deltas[i]);
    }
    table_deinit(&bench->table);
}

void bench_group(World *world, size_t group_count)
{
    static const char *const names[SIDE_COUNT] = {NULL, "plain loop, no output",
                                                  "prefetching, no output", "prefetching + output"};
    char label[64];
    GroupBench bench = {0};
    group_init(&bench, world, group_count);
    group_run(&bench, world); /* warms up */
    for (GroupSide side = SIDE_OURS; side < SIDE_COUNT; side++) {
        bench.samples[side].count = 0;
    }
    for (size_t run = 0; run < world->runs; run++) {
        group_run(&bench, world);
    }
    if (bench.tap->rows_out != bench.floor_rows) {
        bench_fail("groups: %llu rows against %llu", (unsigned long long)bench.tap->rows_out,
                   (unsigned long long)bench.floor_rows);
    }
    (void)snprintf(label, sizeof label, "GROUP BY sum, count; %zu groups", group_count);
    for (GroupSide side = SIDE_PLAIN; side < SIDE_COUNT; side++) {
        report_comparison(&(Comparison){
            .label = label,
            .unit = "ns/row",
            .what = names[side],
            .ours = &bench.samples[SIDE_OURS],
            .theirs = &bench.samples[side],
            .target = side == SIDE_STEP ? AT_MOST(2) : NO_TARGET,
        });
    }
    group_deinit(&bench);
}
