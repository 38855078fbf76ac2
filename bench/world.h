/* world.h: what every benchmark of the engine needs: memory, circuits, expressions, a base table
 * with random changes, and an operator that ends a circuit. */
#ifndef WEIR_BENCH_WORLD_H
#define WEIR_BENCH_WORLD_H

#include "bench.h"
#include "floor.h"
#include "op/op.h"
#include "op/sink.h"

enum { DELTA_ROWS = 100000 };

typedef struct World {
    Mem *mem;
    PagePool *pool;
    Arena plan; /* types, expressions, specs */
    CircuitEnv env;
    Random random;
    size_t runs;
    bool is_quick;
} World;

void world_init(World *world, const BenchOptions *options);
void world_deinit(World *world);

/* Ends the program if the status is a failure. */
void must(Status status, const Error *err);

/* --- building circuits ------------------------------------------------------------------------ */

const Schema *world_schema(World *world, const TypeId *types, size_t count);
const Expr *world_column(World *world, const Schema *schema, size_t column);
const Expr *world_number(World *world, TypeId type, int64_t number);

/* a COMPARE b, a CALL b; kind and op as in `init`. */
const Expr *world_pair(World *world, const Expr *init, const Expr *a, const Expr *b);
const Expr *world_less(World *world, const Expr *a, const Expr *b);
const Expr *world_call(World *world, const char *name, const Expr *a, const Expr *b);

Circuit *world_circuit(World *world);
Op *world_source(World *world, Circuit *circuit, const Schema *schema);
Op *world_map(Circuit *circuit, Op *input, const MapSpec *spec);
Op *world_sink(Circuit *circuit, Op *input);

/* SELECT key, sum(value), count(*) FROM input GROUP BY key; columns of the input. */
typedef struct GroupSpec {
    size_t key;
    size_t value;
    TypeId sum; /* the type of the sum */
} GroupSpec;

Op *world_group(World *world, Circuit *circuit, Op *input, const GroupSpec *spec);

/* SELECT left.*, right.(all but the key) on equality of the first columns. */
Op *world_join(World *world, Circuit *circuit, Op *left, Op *right);

/* An operator that counts what comes and keeps nothing. */
Op *world_tap(Circuit *circuit, Op *input);

/* --- a table of rows (key INTEGER, value BIGINT) that changes ---------------------------------- */

typedef struct Table {
    size_t count;
    int32_t *keys;
    int64_t *values;
    uint64_t key_count; /* keys are 0 .. key_count - 1, at random */
} Table;

void table_init(Table *table, Random *random, size_t count, uint64_t key_count);
void table_deinit(Table *table);

/* A delta of DELTA_ROWS rows: half of them retractions of rows that are there, half new ones, one
 * after the other, so that the table keeps its size. */
typedef struct Delta {
    size_t count;
    int32_t *keys;
    int64_t *values;
    int64_t *weights;
} Delta;

void delta_init(Delta *delta, size_t count);
void delta_deinit(Delta *delta);
void delta_make(Delta *delta, Table *table, Random *random);
FloorDelta delta_floor(const Delta *delta);

/* The whole table as one delta of insertions, borrowed. */
FloorDelta table_floor(const Table *table);

/* Pushes a delta in batches of BATCH_CAPACITY, columns by pointer. weights NULL = all 1. */
void push_delta(Circuit *circuit, Op *source, const FloorDelta *delta);

/* One step: the delta into the source. */
void step_delta(Circuit *circuit, Op *source, const FloorDelta *delta);

/* --- the benchmarks --------------------------------------------------------------------------- */

void bench_map(World *world);
void bench_group(World *world, size_t group_count);
void bench_join(World *world, size_t row_count);
void bench_chain(World *world);
void bench_memory(World *world);

#endif
