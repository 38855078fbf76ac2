/* engine_memory.c: bytes of state, as the operators account for them. Packed = the values alone,
 * next to each other, without header, index or gaps. */
#include "world.h"

#include <stdio.h>

static void put_bytes(const char *label, size_t bytes, size_t rows, double packed, Target target)
{
    char text[96];
    (void)snprintf(text, sizeof text, "%s (packed %.0f)", label, packed);
    report_value(text, (double)bytes / (double)rows, "B/row", target);
}

static size_t op_bytes(const Op *op)
{
    return op->type->state_bytes(op);
}

/* Groups of (INTEGER) with sum HUGEINT and count: 4 + 16 + 8 bytes. Returns the state's bytes. */
static size_t memory_of_groups(World *world, size_t group_count, size_t row_count)
{
    static const TypeId types[] = {TYPE_INTEGER, TYPE_BIGINT};
    const GroupSpec spec = {.key = 0, .value = 1, .sum = TYPE_HUGEINT};
    Circuit *circuit = world_circuit(world);
    Op *const source = world_source(world, circuit, world_schema(world, types, 2));
    Op *const groups = world_group(world, circuit, source, &spec);
    Table table;
    table_init(&table, &world->random, row_count, group_count);
    FloorDelta all = table_floor(&table);
    step_delta(circuit, source, &all);
    const size_t bytes = op_bytes(groups);
    table_deinit(&table);
    weir_circuit_free(circuit);
    return bytes;
}

static void memory_of_join(World *world, size_t row_count)
{
    static const TypeId types[] = {TYPE_INTEGER, TYPE_BIGINT};
    const Schema *const schema = world_schema(world, types, 2);
    Circuit *circuit = world_circuit(world);
    Op *const left = world_source(world, circuit, schema);
    Op *const right = world_source(world, circuit, schema);
    Op *const join = world_join(world, circuit, left, right);
    const size_t fixed = op_bytes(join);
    Table table;
    for (size_t per_key = 1; per_key <= 4; per_key *= 4) {
        char label[64];
        table_init(&table, &world->random, row_count, row_count / per_key);
        FloorDelta all = table_floor(&table);
        step_delta(circuit, per_key == 1 ? left : right, &all);
        static size_t before;
        before = per_key == 1 ? fixed : before;
        const size_t bytes = op_bytes(join) - before;
        before = op_bytes(join);
        (void)snprintf(label, sizeof label, "row of a join side, %zu a key", per_key);
        put_bytes(label, bytes, row_count, 12, NO_TARGET);
        table_deinit(&table);
    }
    weir_circuit_free(circuit);
}

static void memory_of_contents(World *world, size_t row_count)
{
    static const TypeId types[] = {TYPE_INTEGER, TYPE_BIGINT};
    Circuit *circuit = world_circuit(world);
    Op *const source = world_source(world, circuit, world_schema(world, types, 2));
    Op *const sink = world_sink(circuit, source);
    Table table;
    table_init(&table, &world->random, row_count, row_count);
    FloorDelta all = table_floor(&table);
    step_delta(circuit, source, &all);
    put_bytes("row of a view's contents", op_bytes(sink), row_count, 12, NO_TARGET);
    table_deinit(&table);
    weir_circuit_free(circuit);
}

void bench_memory(World *world)
{
    const size_t rows = world->is_quick ? 1000000 : 4000000;
    const size_t small = memory_of_groups(world, 1000, rows / 4);
    const size_t small_of_more = memory_of_groups(world, 1000, rows);
    const size_t large = memory_of_groups(world, rows / 4, 4 * rows);
    put_bytes("group row, 1000 groups", small, 1000, 28, NO_TARGET);
    put_bytes("group row, a quarter of the rows groups", large, rows / 4, 28, NO_TARGET);
    report_value("1000 groups: state of 4 times the rows / state",
                 (double)small_of_more / (double)small, "x", AT_MOST(1.01));
    memory_of_join(world, rows / 4);
    memory_of_contents(world, rows / 4);
}
