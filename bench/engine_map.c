/* engine_map.c: filter and projection. a, b, c, d, e BIGINT; a quarter of the rows pass. */
#include "world.h"

enum { MAP_COLUMNS = 5, MAP_REPEATS = 20 };

typedef struct MapBench {
    Circuit *circuit;
    Op *source;
    int64_t *columns[MAP_COLUMNS];
    int64_t *weights;
    int64_t *out[4]; /* of the floor: one batch */
} MapBench;

static void map_build(World *world, MapBench *bench)
{
    static const TypeId types[] = {TYPE_BIGINT, TYPE_BIGINT, TYPE_BIGINT, TYPE_BIGINT, TYPE_BIGINT};
    static const Expr *predicates[2];
    static const Expr *exprs[3];
    const Schema *const schema = world_schema(world, types, MAP_COLUMNS);
    const Expr *column[MAP_COLUMNS];
    for (size_t i = 0; i < MAP_COLUMNS; i++) {
        column[i] = world_column(world, schema, i);
    }
    predicates[0] = world_less(world, column[0], column[1]);
    predicates[1] = world_less(world, column[2], column[3]);
    exprs[0] = world_call(world, "+", column[0], column[1]);
    exprs[1] = world_call(world, "+", column[2], column[3]);
    exprs[2] = column[4];
    const MapSpec spec = {
        .predicates = predicates,
        .predicate_count = 2,
        .exprs = exprs,
        .schema = *world_schema(world, types, 3),
    };
    bench->circuit = world_circuit(world);
    bench->source = world_source(world, bench->circuit, schema);
    world_tap(bench->circuit, world_map(bench->circuit, bench->source, &spec));
}

static void map_step(const MapBench *bench)
{
    Error err = {0};
    must(weir_circuit_begin_step(bench->circuit, &err), &err);
    for (size_t first = 0; first < DELTA_ROWS; first += BATCH_CAPACITY) {
        Vector columns[MAP_COLUMNS];
        for (size_t i = 0; i < MAP_COLUMNS; i++) {
            columns[i] = (Vector){.phys = PHYS_I64, .data = bench->columns[i] + first};
        }
        const Batch batch = {
            .count = WEIR_MIN((size_t)DELTA_ROWS - first, (size_t)BATCH_CAPACITY),
            .column_count = MAP_COLUMNS,
            .columns = columns,
            .weights = bench->weights + first,
        };
        must(weir_circuit_push(bench->circuit, bench->source, &batch, &err), &err);
    }
    must(weir_circuit_finish_step(bench->circuit, &err), &err);
    weir_circuit_end_step(bench->circuit);
}

static size_t map_floor(const MapBench *bench)
{
    size_t passed = 0;
    for (size_t first = 0; first < DELTA_ROWS; first += BATCH_CAPACITY) {
        FloorColumns columns = {
            .out = {bench->out[0], bench->out[1], bench->out[2]},
            .out_weights = bench->out[3],
            .weights = bench->weights + first,
        };
        for (size_t i = 0; i < MAP_COLUMNS; i++) {
            columns.in[i] = bench->columns[i] + first;
        }
        passed += floor_map(&columns, WEIR_MIN((size_t)DELTA_ROWS - first, (size_t)BATCH_CAPACITY));
    }
    return passed;
}

static void map_init(World *world, MapBench *bench)
{
    map_build(world, bench);
    bench->weights = bench_alloc(DELTA_ROWS, sizeof *bench->weights);
    for (size_t i = 0; i < MAP_COLUMNS; i++) {
        bench->columns[i] = bench_alloc(DELTA_ROWS, sizeof(int64_t));
        for (size_t k = 0; k < DELTA_ROWS; k++) {
            bench->columns[i][k] = (int64_t)random_below(&world->random, 1000000);
        }
    }
    for (size_t k = 0; k < DELTA_ROWS; k++) {
        bench->weights[k] = k % 2 == 0 ? 1 : -1;
    }
    for (size_t i = 0; i < 4; i++) {
        bench->out[i] = bench_alloc(BATCH_CAPACITY + 1, sizeof(int64_t));
    }
}

static void map_deinit(MapBench *bench)
{
    weir_circuit_free(bench->circuit);
    bench_free(bench->weights);
    for (size_t i = 0; i < MAP_COLUMNS; i++) {
        bench_free(bench->columns[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        bench_free(bench->out[i]);
    }
}

void bench_map(World *world)
{
    MapBench bench = {0};
    Samples ours = {0};
    Samples theirs = {0};
    size_t passed = 0;
    map_init(world, &bench);
    for (size_t run = 0; run < world->runs; run++) {
        double start = bench_cpu_ms();
        for (size_t i = 0; i < MAP_REPEATS; i++) {
            map_step(&bench);
        }
        samples_add(&ours, (bench_cpu_ms() - start) * 1e6 / (MAP_REPEATS * (double)DELTA_ROWS));
        start = bench_cpu_ms();
        for (size_t i = 0; i < MAP_REPEATS; i++) {
            passed += map_floor(&bench);
        }
        samples_add(&theirs, (bench_cpu_ms() - start) * 1e6 / (MAP_REPEATS * (double)DELTA_ROWS));
    }
    const Op *const tap = weir_circuit_op(bench.circuit, 2);
    if (tap->rows_out != passed) {
        bench_fail("filter: %llu rows against %zu", (unsigned long long)tap->rows_out, passed);
    }
    report_comparison(&(Comparison){
        .label = "filter + project, 5 columns, 1/4 pass",
        .unit = "ns/row",
        .what = "fused by hand",
        .ours = &ours,
        .theirs = &theirs,
    });
    report_value("  the same as rows a second", 1e3 / samples_median(&ours), "M/s", AT_LEAST(100));
    map_deinit(&bench);
}
