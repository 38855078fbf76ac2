/* engine_join.c: inner join on one key. The right side holds every key once; the left side changes,
 * and is an arrangement itself. */
#include "world.h"

#include <stdio.h>

enum { JOIN_STEPS = 5 };

typedef enum JoinSide { SIDE_OURS, SIDE_PLAIN, SIDE_PREFETCH, SIDE_COUNT } JoinSide;

typedef struct JoinBench {
    Circuit *circuit;
    Op *left;
    Op *right;
    Op *tap;
    FloorRows *floors[SIDE_COUNT];
    FloorRows *partner; /* the right side of the floors */
    uint64_t floor_rows;
    Samples samples[SIDE_COUNT];
    Table table;
    Table keys; /* the right side */
    Delta deltas[JOIN_STEPS];
} JoinBench;

static void join_apply(JoinBench *bench, JoinSide side, const FloorDelta *delta)
{
    switch (side) {
    case SIDE_OURS: step_delta(bench->circuit, bench->left, delta); break;
    case SIDE_PLAIN: floor_join_plain(bench->floors[side], bench->partner, delta); break;
    case SIDE_PREFETCH:
        bench->floor_rows += floor_join_prefetch(bench->floors[side], bench->partner, delta);
        break;
    case SIDE_COUNT: break;
    }
}

static void join_run(JoinBench *bench, World *world)
{
    for (size_t i = 0; i < JOIN_STEPS; i++) {
        delta_make(&bench->deltas[i], &bench->table, &world->random);
    }
    for (JoinSide side = SIDE_OURS; side < SIDE_COUNT; side++) {
        const double start = bench_cpu_ms();
        for (size_t i = 0; i < JOIN_STEPS; i++) {
            const FloorDelta delta = delta_floor(&bench->deltas[i]);
            join_apply(bench, side, &delta);
        }
        samples_add(&bench->samples[side],
                    (bench_cpu_ms() - start) * 1e6 / (JOIN_STEPS * (double)DELTA_ROWS));
    }
}

/* Every key once, in random order. */
static void keys_init(Table *keys, Random *random, size_t count)
{
    table_init(keys, random, count, count);
    for (size_t i = 0; i < count; i++) {
        keys->keys[i] = (int32_t)i;
    }
    for (size_t i = count; i > 1; i--) {
        const size_t k = (size_t)random_below(random, i);
        const int32_t swapped = keys->keys[i - 1];
        keys->keys[i - 1] = keys->keys[k];
        keys->keys[k] = swapped;
    }
}

static void join_init(JoinBench *bench, World *world, size_t row_count)
{
    static const TypeId types[] = {TYPE_INTEGER, TYPE_BIGINT};
    const Schema *const schema = world_schema(world, types, 2);
    bench->circuit = world_circuit(world);
    bench->left = world_source(world, bench->circuit, schema);
    bench->right = world_source(world, bench->circuit, schema);
    bench->tap =
        world_tap(bench->circuit, world_join(world, bench->circuit, bench->left, bench->right));
    table_init(&bench->table, &world->random, row_count, row_count);
    keys_init(&bench->keys, &world->random, row_count);
    const FloorDelta right = table_floor(&bench->keys);
    bench->partner = floor_rows_new(row_count);
    floor_rows_plain(bench->partner, &right);
    step_delta(bench->circuit, bench->right, &right);
    const FloorDelta left = table_floor(&bench->table);
    for (JoinSide side = SIDE_OURS; side < SIDE_COUNT; side++) {
        bench->floors[side] = side == SIDE_OURS ? NULL : floor_rows_new(row_count);
        join_apply(bench, side, &left);
    }
    for (size_t i = 0; i < JOIN_STEPS; i++) {
        delta_init(&bench->deltas[i], DELTA_ROWS);
    }
}

static void join_deinit(JoinBench *bench)
{
    weir_circuit_free(bench->circuit);
    for (JoinSide side = SIDE_PLAIN; side < SIDE_COUNT; side++) {
        floor_rows_free(bench->floors[side]);
    }
    floor_rows_free(bench->partner);
    for (size_t i = 0; i < JOIN_STEPS; i++) {
        delta_deinit(&bench->deltas[i]);
    }
    table_deinit(&bench->table);
    table_deinit(&bench->keys);
}

void bench_join(World *world, size_t row_count)
{
    static const char *const names[SIDE_COUNT] = {NULL, "plain loop", "prefetching"};
    char label[64];
    JoinBench bench = {0};
    join_init(&bench, world, row_count);
    join_run(&bench, world); /* warms up */
    for (JoinSide side = SIDE_OURS; side < SIDE_COUNT; side++) {
        bench.samples[side].count = 0;
    }
    for (size_t run = 0; run < world->runs; run++) {
        join_run(&bench, world);
    }
    if (bench.tap->rows_out != bench.floor_rows) {
        bench_fail("join: %llu rows against %llu", (unsigned long long)bench.tap->rows_out,
                   (unsigned long long)bench.floor_rows);
    }
    (void)snprintf(label, sizeof label, "inner join, index of %zu rows", row_count);
    for (JoinSide side = SIDE_PLAIN; side < SIDE_COUNT; side++) {
        report_comparison(&(Comparison){
            .label = label,
            .unit = "ns/row",
            .what = names[side],
            .ours = &bench.samples[SIDE_OURS],
            .theirs = &bench.samples[side],
            .target = side == SIDE_PREFETCH ? AT_MOST(2) : NO_TARGET,
        });
    }
    join_deinit(&bench);
}
