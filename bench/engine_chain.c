/* engine_chain.c: three views, each over the one before, each with its contents:
 *
 *   v1: SELECT key, value + value FROM t WHERE value < 750000
 *   v2: SELECT key, sum(value), count(*) FROM v1 GROUP BY key
 *   v3: SELECT key % 1000, sum(n), count(*) FROM v2 GROUP BY 1 */
#include "world.h"

enum { CHAIN_VIEWS = 3, CHAIN_STEPS = 5, CHAIN_ROWS = 1000000, CHAIN_KEYS = 100000 };

typedef struct ChainView {
    Circuit *circuit;
    Op *source;
    Op *sink;
    double ms; /* of its steps in this run */
} ChainView;

/* The same by hand: a Z-set of rows and two tables of groups. */
typedef struct ChainFloor {
    FloorRows *rows;
    FloorGroups *by_key;
    FloorGroups *by_rest;
    Delta passed;
    Delta changed; /* groups, as input of the next view */
} ChainFloor;

typedef struct ChainBench {
    ChainView views[CHAIN_VIEWS];
    ChainFloor floor;
    Table table;
    Delta deltas[CHAIN_STEPS];
    Samples ours;
    Samples theirs;
    Samples levels[CHAIN_VIEWS];
} ChainBench;

static void view_open(World *world, ChainView *view, const Schema *schema)
{
    view->circuit = world_circuit(world);
    view->source = world_source(world, view->circuit, schema);
}

static void build_first(World *world, ChainView *view)
{
    static const TypeId types[] = {TYPE_INTEGER, TYPE_BIGINT};
    static const Expr *predicate;
    static const Expr *exprs[2];
    const Schema *const schema = world_schema(world, types, 2);
    const Expr *const value = world_column(world, schema, 1);
    predicate = world_less(world, value, world_number(world, TYPE_BIGINT, 750000));
    exprs[0] = world_column(world, schema, 0);
    exprs[1] = world_call(world, "+", value, value);
    const MapSpec spec = {
        .predicates = &predicate, .predicate_count = 1, .exprs = exprs, .schema = *schema};
    view_open(world, view, schema);
    view->sink = world_sink(view->circuit, world_map(view->circuit, view->source, &spec));
}

static void build_second(World *world, ChainView *view, const ChainView *below)
{
    const GroupSpec spec = {.key = 0, .value = 1, .sum = TYPE_HUGEINT};
    view_open(world, view, &below->sink->schema);
    view->sink = world_sink(view->circuit, world_group(world, view->circuit, view->source, &spec));
}

static void build_third(World *world, ChainView *view, const ChainView *below)
{
    static const TypeId types[] = {TYPE_INTEGER, TYPE_BIGINT};
    static const Expr *exprs[2];
    const Schema *const schema = &below->sink->schema;
    const GroupSpec spec = {.key = 0, .value = 1, .sum = TYPE_HUGEINT};
    exprs[0] = world_call(world, "%", world_column(world, schema, 0),
                          world_number(world, TYPE_INTEGER, 1000));
    exprs[1] = world_column(world, schema, 2);
    const MapSpec map = {.exprs = exprs, .schema = *world_schema(world, types, 2)};
    view_open(world, view, schema);
    Op *const mapped = world_map(view->circuit, view->source, &map);
    view->sink = world_sink(view->circuit, world_group(world, view->circuit, mapped, &spec));
}

static Status push_up(void *user, const Batch *batch, Error *err)
{
    const ChainView *const above = user;
    return weir_circuit_push(above->circuit, above->source, batch, err);
}

/* The views' steps, in order. */
static void chain_step(ChainBench *bench, const FloorDelta *delta)
{
    Error err = {0};
    for (size_t i = 0; i < CHAIN_VIEWS; i++) {
        ChainView *const view = &bench->views[i];
        const double start = bench_cpu_ms();
        must(weir_circuit_begin_step(view->circuit, &err), &err);
        if (i == 0) {
            push_delta(view->circuit, view->source, delta);
        } else {
            must(weir_sink_visit_delta(bench->views[i - 1].sink, push_up, view, &err), &err);
        }
        must(weir_circuit_finish_step(view->circuit, &err), &err);
        view->ms += bench_cpu_ms() - start;
    }
    for (size_t i = 0; i < CHAIN_VIEWS; i++) {
        const double start = bench_cpu_ms();
        weir_circuit_end_step(bench->views[i].circuit);
        bench->views[i].ms += bench_cpu_ms() - start;
    }
}

static void append_groups(void *user, const FloorGroupBatch *batch)
{
    Delta *const changed = user;
    for (size_t i = 0; i < batch->count; i++) {
        changed->keys[changed->count] = batch->keys[i] % 1000;
        changed->values[changed->count] = batch->counts[i];
        changed->weights[changed->count] = batch->weights[i];
        changed->count++;
    }
}

static void drop_groups(void *user, const FloorGroupBatch *batch)
{
    WEIR_UNUSED(user);
    WEIR_UNUSED(batch);
}

static void chain_floor(ChainFloor *floor, const FloorDelta *delta)
{
    size_t passed = 0;
    for (size_t i = 0; i < delta->count; i++) {
        floor->passed.keys[passed] = delta->keys[i];
        floor->passed.values[passed] = 2 * delta->values[i];
        floor->passed.weights[passed] = delta->weights[i];
        passed += delta->values[i] < 750000;
    }
    floor->passed.count = passed;
    const FloorDelta first = delta_floor(&floor->passed);
    floor_rows_prefetch(floor->rows, &first);
    floor->changed.count = 0;
    floor_groups_step(floor->by_key, &first, append_groups, &floor->changed);
    const FloorDelta second = delta_floor(&floor->changed);
    floor_groups_step(floor->by_rest, &second, drop_groups, NULL);
}

static void chain_init(ChainBench *bench, World *world)
{
    build_first(world, &bench->views[0]);
    build_second(world, &bench->views[1], &bench->views[0]);
    build_third(world, &bench->views[2], &bench->views[1]);
    table_init(&bench->table, &world->random, CHAIN_ROWS, CHAIN_KEYS);
    bench->floor = (ChainFloor){
        .rows = floor_rows_new(CHAIN_ROWS),
        .by_key = floor_groups_new(CHAIN_KEYS),
        .by_rest = floor_groups_new(1000),
    };
    delta_init(&bench->floor.passed, CHAIN_ROWS);
    delta_init(&bench->floor.changed, 2 * (size_t)CHAIN_ROWS);
    for (size_t i = 0; i < CHAIN_STEPS; i++) {
        delta_init(&bench->deltas[i], DELTA_ROWS);
    }
    const FloorDelta all = table_floor(&bench->table);
    chain_step(bench, &all);
    chain_floor(&bench->floor, &all);
}

static void chain_deinit(ChainBench *bench)
{
    for (size_t i = 0; i < CHAIN_VIEWS; i++) {
        weir_circuit_free(bench->views[i].circuit);
    }
    for (size_t i = 0; i < CHAIN_STEPS; i++) {
        delta_deinit(&bench->deltas[i]);
    }
    floor_rows_free(bench->floor.rows);
    floor_groups_free(bench->floor.by_key);
    floor_groups_free(bench->floor.by_rest);
    delta_deinit(&bench->floor.passed);
    delta_deinit(&bench->floor.changed);
    table_deinit(&bench->table);
}

static void chain_run(ChainBench *bench, World *world)
{
    const double rows = CHAIN_STEPS * (double)DELTA_ROWS;
    for (size_t i = 0; i < CHAIN_STEPS; i++) {
        delta_make(&bench->deltas[i], &bench->table, &world->random);
    }
    for (size_t i = 0; i < CHAIN_VIEWS; i++) {
        bench->views[i].ms = 0;
    }
    double start = bench_cpu_ms();
    for (size_t i = 0; i < CHAIN_STEPS; i++) {
        const FloorDelta delta = delta_floor(&bench->deltas[i]);
        chain_step(bench, &delta);
    }
    samples_add(&bench->ours, (bench_cpu_ms() - start) * 1e6 / rows);
    start = bench_cpu_ms();
    for (size_t i = 0; i < CHAIN_STEPS; i++) {
        const FloorDelta delta = delta_floor(&bench->deltas[i]);
        chain_floor(&bench->floor, &delta);
    }
    samples_add(&bench->theirs, (bench_cpu_ms() - start) * 1e6 / rows);
    for (size_t i = 0; i < CHAIN_VIEWS; i++) {
        samples_add(&bench->levels[i], bench->views[i].ms * 1e6 / rows);
    }
}

void bench_chain(World *world)
{
    static const char *const names[CHAIN_VIEWS] = {
        "  of which v1: filter + project, 750k rows kept", "  of which v2: 100k groups",
        "  of which v3: 1000 groups"};
    ChainBench bench = {0};
    chain_init(&bench, world);
    for (size_t run = 0; run < world->runs; run++) {
        chain_run(&bench, world);
    }
    report_comparison(&(Comparison){
        .label = "three views, one over the other, with contents",
        .unit = "ns/row",
        .what = "by hand, prefetching",
        .ours = &bench.ours,
        .theirs = &bench.theirs,
    });
    report_value("  the same, a row of the base table", samples_median(&bench.ours) / 1e3, "us",
                 AT_MOST(0.5));
    for (size_t i = 0; i < CHAIN_VIEWS; i++) {
        report_value(names[i], samples_median(&bench.levels[i]), "ns/row", NO_TARGET);
    }
    chain_deinit(&bench);
}
