/* engine_join.c: inner join on one key. The right side holds every key once; the left side changes,
 * and is an arrangement itself. */
#include "race.h"

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
    Table table;
    Table keys; /* the right side */
    Race race;
} JoinBench;

static void join_apply(void *user, size_t side, const FloorDelta *delta)
{
    JoinBench *const bench = user;
    switch ((JoinSide)side) {
    case SIDE_OURS: step_delta(bench->circuit, bench->left, delta); break;
    case SIDE_PLAIN: floor_join_plain(bench->floors[side], bench->partner, delta); break;
    case SIDE_PREFETCH:
        bench->floor_rows += floor_join_prefetch(bench->floors[side], bench->partner, delta);
        break;
    case SIDE_COUNT: break;
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
    static const char *const names[SIDE_COUNT] = {NULL, "plain loop", "prefetching"};
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
    bench->race = (Race){
        .side_count = SIDE_COUNT,
        .step_count = JOIN_STEPS,
        .names = names,
        .target_side = SIDE_PREFETCH,
        .apply = join_apply,
        .user = bench,
        .table = &bench->table,
    };
}

static void join_deinit(JoinBench *bench)
{
    weir_circuit_free(bench->circuit);
    for (JoinSide side = SIDE_PLAIN; side < SIDE_COUNT; side++) {
        floor_rows_free(bench->floors[side]);
    }
    floor_rows_free(bench->partner);
    table_deinit(&bench->table);
    table_deinit(&bench->keys);
}

void bench_join(World *world, size_t row_count)
{
    char label[64];
    JoinBench bench = {0};
    join_init(&bench, world, row_count);
    race_run(&bench.race, world);
    if (bench.tap->rows_out != bench.floor_rows) {
        bench_fail("join: %llu rows against %llu", (unsigned long long)bench.tap->rows_out,
                   (unsigned long long)bench.floor_rows);
    }
    (void)snprintf(label, sizeof label, "inner join, index of %zu rows", row_count);
    race_report(&bench.race, label);
    join_deinit(&bench);
}
