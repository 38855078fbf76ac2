/* world.c: see world.h. */
#include "world.h"

#include <string.h>

void must(Status status, const Error *err)
{
    if (status != WEIR_OK) {
        bench_fail("failed with %d: %s", status, err->message);
    }
}

static void *need(void *pointer)
{
    if (pointer == NULL) {
        bench_fail("out of memory");
    }
    return pointer;
}

void world_init(World *world, const BenchOptions *options)
{
    Error err = {0};
    *world = (World){
        .mem = need(weir_mem_new(0)),
        .random = {.state = 1},
        .runs = options->is_quick ? 5 : 11,
        .is_quick = options->is_quick,
    };
    world->pool = need(weir_page_pool_new(world->mem, &err));
    weir_arena_init(&world->plan, world->mem, 0);
    world->env = (CircuitEnv){.mem = world->mem, .pool = world->pool};
}

void world_deinit(World *world)
{
    weir_arena_deinit(&world->plan);
    weir_page_pool_free(world->pool);
    if (weir_mem_used(world->mem) != 0) {
        bench_fail("%zu bytes were not freed", weir_mem_used(world->mem));
    }
    weir_mem_free_allocator(world->mem);
}

/* --- building circuits ------------------------------------------------------------------------ */

const Schema *world_schema(World *world, const TypeId *types, size_t count)
{
    Error err = {0};
    Schema *schema = need(weir_arena_zalloc(&world->plan, sizeof *schema, &err));
    const LogicalType **list =
        need(weir_arena_calloc(&world->plan, count, sizeof(const LogicalType *), &err));
    for (size_t i = 0; i < count; i++) {
        list[i] = weir_type_simple(types[i]);
    }
    *schema = (Schema){.count = count, .types = list};
    return schema;
}

const Expr *world_column(World *world, const Schema *schema, size_t column)
{
    Error err = {0};
    const Expr *expr = weir_expr_column(&world->plan, column, schema->types[column], &err);
    must(expr == NULL ? err.code : WEIR_OK, &err);
    return expr;
}

const Expr *world_number(World *world, TypeId type, int64_t number)
{
    Error err = {0};
    Value value = {.type = weir_type_simple(type)};
    memcpy(value.data.bytes, &number, sizeof number); /* little endian */
    const Expr *expr = weir_expr_constant(&world->plan, &value, &err);
    must(expr == NULL ? err.code : WEIR_OK, &err);
    return expr;
}

const Expr *world_pair(World *world, const Expr *init, const Expr *a, const Expr *b)
{
    Error err = {0};
    Expr *expr = need(weir_arena_alloc(&world->plan, sizeof *expr, &err));
    const Expr **args = need(weir_arena_calloc(&world->plan, 2, sizeof(const Expr *), &err));
    args[0] = a;
    args[1] = b;
    *expr = *init;
    expr->args = args;
    expr->arg_count = 2;
    return expr;
}

const Expr *world_less(World *world, const Expr *a, const Expr *b)
{
    const Expr init = {
        .kind = EXPR_COMPARE, .compare = COMPARE_LT, .type = weir_type_simple(TYPE_BOOLEAN)};
    return world_pair(world, &init, a, b);
}

const Expr *world_call(World *world, const char *name, const Expr *a, const Expr *b)
{
    const Expr init = {.kind = EXPR_CALL, .name = name, .is_operator = true, .type = a->type};
    return world_pair(world, &init, a, b);
}

Circuit *world_circuit(World *world)
{
    Error err = {0};
    Circuit *circuit = NULL;
    must(weir_circuit_new(&world->env, &circuit, &err), &err);
    return circuit;
}

Op *world_source(World *world, Circuit *circuit, const Schema *schema)
{
    Error err = {0};
    Op *op = NULL;
    WEIR_UNUSED(world);
    must(weir_op_source_new(circuit, schema, "t", &op, &err), &err);
    return op;
}

Op *world_map(Circuit *circuit, Op *input, const MapSpec *spec)
{
    Error err = {0};
    Op *op = NULL;
    must(weir_op_map_new(circuit, input, spec, &op, &err), &err);
    return op;
}

Op *world_sink(Circuit *circuit, Op *input)
{
    Error err = {0};
    Op *op = NULL;
    must(weir_op_sink_new(circuit, input, &op, &err), &err);
    return op;
}

Op *world_group(World *world, Circuit *circuit, Op *input, const GroupSpec *spec)
{
    Error err = {0};
    Op *op = NULL;
    AggregateCall *calls = need(weir_arena_calloc(&world->plan, 2, sizeof *calls, &err));
    size_t *columns = need(weir_arena_calloc(&world->plan, 1, sizeof *columns, &err));
    const TypeId types[] = {input->schema.types[spec->key]->id, spec->sum, TYPE_BIGINT};
    columns[0] = spec->key;
    calls[0] = (AggregateCall){
        .name = "sum",
        .args = {(ptrdiff_t)spec->value, OP_NO_COLUMN, OP_NO_COLUMN},
        .arg_type = input->schema.types[spec->value],
        .filter = OP_NO_COLUMN,
        .type = weir_type_simple(spec->sum),
    };
    calls[1] = (AggregateCall){
        .name = "count_star",
        .args = {OP_NO_COLUMN, OP_NO_COLUMN, OP_NO_COLUMN},
        .filter = OP_NO_COLUMN,
        .type = weir_type_simple(TYPE_BIGINT),
    };
    const AggregateSpec aggregate = {
        .group_columns = columns,
        .group_count = 1,
        .calls = calls,
        .call_count = 2,
        .schema = *world_schema(world, types, WEIR_ARRAY_COUNT(types)),
    };
    must(weir_op_aggregate_new(circuit, input, &aggregate, &op, &err), &err);
    return op;
}

Op *world_join(World *world, Circuit *circuit, Op *left, Op *right)
{
    static const size_t keys[] = {0};
    static const bool null_safe[] = {false};
    static const size_t left_output[] = {0, 1};
    static const size_t right_output[] = {1};
    const TypeId types[] = {TYPE_INTEGER, TYPE_BIGINT, TYPE_BIGINT};
    Error err = {0};
    Op *op = NULL;
    const JoinSpec spec = {
        .kind = JOIN_INNER,
        .left_keys = keys,
        .right_keys = keys,
        .is_null_safe = null_safe,
        .key_count = 1,
        .left_output = left_output,
        .left_output_count = 2,
        .right_output = right_output,
        .right_output_count = 1,
        .schema = *world_schema(world, types, WEIR_ARRAY_COUNT(types)),
    };
    must(weir_op_join_new(circuit, left, right, &spec, &op, &err), &err);
    return op;
}

/* --- the tap ---------------------------------------------------------------------------------- */

static Status tap_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    WEIR_UNUSED(port);
    WEIR_UNUSED(step);
    WEIR_UNUSED(err);
    op->rows_out += batch->count;
    return WEIR_OK;
}

static void tap_free(Op *op)
{
    weir_mem_free(op->env->mem, op);
}

static const OpType tap_type = {.name = "tap", .push = tap_push, .free = tap_free};

Op *world_tap(Circuit *circuit, Op *input)
{
    Error err = {0};
    const CircuitEnv *env = weir_circuit_env(circuit);
    Op *op = need(weir_mem_zalloc(env->mem, sizeof *op, &err));
    op->type = &tap_type;
    op->env = env;
    op->schema = input->schema;
    must(weir_circuit_add(circuit, op, &input, 1, &err), &err);
    return op;
}

/* --- tables and deltas ------------------------------------------------------------------------ */

static void random_row(Random *random, uint64_t key_count, int32_t *key, int64_t *value)
{
    *key = (int32_t)random_below(random, key_count);
    *value = (int64_t)random_below(random, 1000000);
}

void table_init(Table *table, Random *random, size_t count, uint64_t key_count)
{
    *table = (Table){
        .count = count,
        .keys = bench_alloc(count, sizeof *table->keys),
        .values = bench_alloc(count, sizeof *table->values),
        .key_count = key_count,
    };
    for (size_t i = 0; i < count; i++) {
        random_row(random, key_count, &table->keys[i], &table->values[i]);
    }
}

void table_deinit(Table *table)
{
    bench_free(table->keys);
    bench_free(table->values);
}

void delta_init(Delta *delta, size_t count)
{
    *delta = (Delta){
        .count = count,
        .keys = bench_alloc(count, sizeof *delta->keys),
        .values = bench_alloc(count, sizeof *delta->values),
        .weights = bench_alloc(count, sizeof *delta->weights),
    };
}

void delta_deinit(Delta *delta)
{
    bench_free(delta->keys);
    bench_free(delta->values);
    bench_free(delta->weights);
}

void delta_make(Delta *delta, Table *table, Random *random)
{
    for (size_t i = 0; i + 1 < delta->count; i += 2) {
        const size_t row = (size_t)random_below(random, table->count);
        delta->keys[i] = table->keys[row];
        delta->values[i] = table->values[row];
        delta->weights[i] = -1;
        random_row(random, table->key_count, &table->keys[row], &table->values[row]);
        delta->keys[i + 1] = table->keys[row];
        delta->values[i + 1] = table->values[row];
        delta->weights[i + 1] = 1;
    }
}

FloorDelta delta_floor(const Delta *delta)
{
    return (FloorDelta){.count = delta->count,
                        .keys = delta->keys,
                        .values = delta->values,
                        .weights = delta->weights};
}

FloorDelta table_floor(const Table *table)
{
    static int64_t *ones = NULL;
    static size_t one_count = 0;
    if (one_count < table->count) {
        bench_free(ones);
        ones = bench_alloc(table->count, sizeof *ones);
        one_count = table->count;
        for (size_t i = 0; i < one_count; i++) {
            ones[i] = 1;
        }
    }
    return (FloorDelta){
        .count = table->count, .keys = table->keys, .values = table->values, .weights = ones};
}

/* A column that is only read, as a vector. */
static Vector column_of(PhysType phys, const void *data)
{
    Vector vector = {.phys = phys};
    memcpy(&vector.data, &data, sizeof data);
    return vector;
}

void push_delta(Circuit *circuit, Op *source, const FloorDelta *delta)
{
    Error err = {0};
    for (size_t first = 0; first < delta->count; first += BATCH_CAPACITY) {
        Vector columns[2] = {
            column_of(PHYS_I32, delta->keys + first),
            column_of(PHYS_I64, delta->values + first),
        };
        const Batch batch = {
            .count = WEIR_MIN(delta->count - first, (size_t)BATCH_CAPACITY),
            .column_count = 2,
            .columns = columns,
            .weights = delta->weights + first,
        };
        must(weir_circuit_push(circuit, source, &batch, &err), &err);
    }
}

void step_delta(Circuit *circuit, Op *source, const FloorDelta *delta)
{
    Error err = {0};
    must(weir_circuit_begin_step(circuit, &err), &err);
    push_delta(circuit, source, delta);
    must(weir_circuit_finish_step(circuit, &err), &err);
    weir_circuit_end_step(circuit);
}
