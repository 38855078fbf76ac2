/* engine_group.c: GROUP BY key: sum(value), count(*), with the delta that it puts out. */
#include "race.h"

#include <stdio.h>

enum { GROUP_STEPS = 10 };

typedef enum GroupSide { SIDE_OURS, SIDE_PLAIN, SIDE_PREFETCH, SIDE_STEP, SIDE_COUNT } GroupSide;

typedef struct GroupBench {
    Circuit *circuit;
    Op *source;
    Op *tap;
    FloorGroups *floors[SIDE_COUNT];
    uint64_t floor_rows;
    Table table;
    Race race;
} GroupBench;

static void count_rows(void *user, const FloorGroupBatch *batch)
{
    uint64_t *const rows = user;
    *rows += batch->count;
}

static void group_apply(void *user, size_t side, const FloorDelta *delta)
{
    GroupBench *const bench = user;
    switch ((GroupSide)side) {
    case SIDE_OURS: step_delta(bench->circuit, bench->source, delta); break;
    case SIDE_PLAIN: floor_groups_plain(bench->floors[side], delta); break;
    case SIDE_PREFETCH: floor_groups_prefetch(bench->floors[side], delta); break;
    case SIDE_STEP:
        floor_groups_step(bench->floors[side], delta, count_rows, &bench->floor_rows);
        break;
    case SIDE_COUNT: break;
    }
}

static void group_init(GroupBench *bench, World *world, size_t group_count)
{
    static const char *const names[SIDE_COUNT] = {NULL, "plain loop, no output",
                                                  "prefetching, no output", "prefetching + output"};
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
    bench->race = (Race){
        .side_count = SIDE_COUNT,
        .step_count = GROUP_STEPS,
        .names = names,
        .target_side = SIDE_STEP,
        .apply = group_apply,
        .user = bench,
        .table = &bench->table,
    };
}

static void group_deinit(GroupBench *bench)
{
    weir_circuit_free(bench->circuit);
    for (GroupSide side = SIDE_PLAIN; side < SIDE_COUNT; side++) {
        floor_groups_free(bench->floors[side]);
    }
    table_deinit(&bench->table);
}

void bench_group(World *world, size_t group_count)
{
    char label[64];
    GroupBench bench = {0};
    group_init(&bench, world, group_count);
    race_run(&bench.race, world);
    if (bench.tap->rows_out != bench.floor_rows) {
        bench_fail("groups: %llu rows against %llu", (unsigned long long)bench.tap->rows_out,
                   (unsigned long long)bench.floor_rows);
    }
    (void)snprintf(label, sizeof label, "GROUP BY sum, count; %zu groups", group_count);
    race_report(&bench.race, label);
    group_deinit(&bench);
}
