/* op_law.h: laws that hold for every operator: steps sum up, and every failed allocation is survived.
 */
#ifndef WEIR_TESTS_OP_LAW_H
#define WEIR_TESTS_OP_LAW_H

#include "op_fixture.h"

enum { MAX_SOURCES = 4 };

/* Makes a circuit: sources of the given schemas in front, a sink at the end. */
typedef struct Shape {
    Status (*build)(const struct Shape *shape, Fixture *f, Circuit *circuit, Op *const *sources,
                    Op **last);
    const void *spec;
    const Schema *inputs[MAX_SOURCES];
    size_t input_count;
} Shape;

typedef struct Machine {
    Circuit *circuit;
    Op *sources[MAX_SOURCES];
    Op *sink;
} Machine;

static inline Status try_machine(Fixture *f, const Shape *shape, Machine *out)
{
    *out = (Machine){0};
    WEIR_TRY(weir_circuit_new(&f->env, &out->circuit, &f->err));
    for (size_t i = 0; i < shape->input_count; i++) {
        WEIR_TRY(
            weir_op_source_new(out->circuit, shape->inputs[i], "t", &out->sources[i], &f->err));
    }
    Op *last = out->sources[0];
    if (shape->build != NULL) {
        WEIR_TRY(shape->build(shape, f, out->circuit, out->sources, &last));
    }
    return weir_op_sink_new(out->circuit, last, &out->sink, &f->err);
}

static inline Machine new_machine(Fixture *f, const Shape *shape)
{
    Machine machine;
    must(f, try_machine(f, shape, &machine));
    return machine;
}

/* One step with a Z-set for each source (NULL = nothing); end_step is left to the caller. */
static inline Status run_step(Fixture *f, const Machine *machine, ZSet *const *deltas)
{
    WEIR_TRY(weir_circuit_begin_step(machine->circuit, &f->err));
    for (size_t i = 0; i < MAX_SOURCES && machine->sources[i] != NULL; i++) {
        if (deltas[i] != NULL) {
            WEIR_TRY(zset_push(f, deltas[i], machine->circuit, machine->sources[i]));
        }
    }
    return weir_circuit_finish_step(machine->circuit, &f->err);
}

/* The contents after one step of a fresh circuit over the whole input. */
static inline const char *contents_from_scratch(Fixture *f, const Shape *shape, ZSet *const *inputs)
{
    Machine machine = new_machine(f, shape);
    must(f, run_step(f, &machine, inputs));
    weir_circuit_end_step(machine.circuit);
    const char *text = contents(f, machine.sink);
    weir_circuit_free(machine.circuit);
    return text;
}

/* Checks a batch of the sink's delta and passes it on to a mirror. */
typedef struct Mirror {
    Machine machine;
    bool has_insertion;
    size_t rows;
} Mirror;

static inline Status mirror_visit(void *user, const Batch *batch, Error *err)
{
    Mirror *mirror = user;
    for (size_t i = 0; i < batch->count; i++) {
        const int64_t weight = weir_batch_weight(batch, i);
        assert_true(weight != 0);
        assert_false(weight < 0 && mirror->has_insertion);
        mirror->has_insertion = mirror->has_insertion || weight > 0;
    }
    mirror->rows += batch->count;
    return weir_circuit_push(mirror->machine.circuit, mirror->machine.sources[0], batch, err);
}

/* Applies the delta of the running step of `sink` to the mirror, as a step of its own. */
static inline void mirror_follow(Fixture *f, Mirror *mirror, Op *sink)
{
    mirror->has_insertion = false;
    mirror->rows = 0;
    must(f, weir_circuit_begin_step(mirror->machine.circuit, &f->err));
    must(f, weir_sink_visit_delta(sink, mirror_visit, mirror, &f->err));
    must(f, weir_circuit_finish_step(mirror->machine.circuit, &f->err));
    weir_circuit_end_step(mirror->machine.circuit);
    assert_int_equal(mirror->rows, weir_sink_delta_row_count(sink));
}

/* A random change of `present`: insertions, removals of what is there, and rows that come and go
 * within the step, in random order. present is brought up to date. */
static inline ZSet *random_delta(Fixture *f, ZSet *present, size_t insertions, size_t removals)
{
    ZSet *delta = zset_new(f, present->schema);
    for (size_t i = 0; i < removals && present->count > 0; i++) {
        const size_t victim = below(f, present->count);
        zset_add_row(f, delta, zset_row(present, victim), -present->weights[victim]);
        present->count--;
        present->weights[victim] = present->weights[present->count];
        for (size_t c = 0; c < present->schema->count; c++) {
            zset_row(present, victim)[c] = zset_row(present, present->count)[c];
        }
    }
    for (size_t i = 0; i < insertions; i++) {
        const int64_t weight = below(f, 4) == 0 ? 1 + (int64_t)below(f, 3) : 1;
        zset_add_random(f, delta, weight);
        const Cell *row = zset_row(delta, delta->count - 1);
        zset_add_row(f, present, row, weight);
        if (below(f, 4) == 0) { /* its opposite in two parts: comes and goes */
            zset_add_row(f, delta, row, -2);
            zset_add_row(f, delta, row, 2);
            Cell *passing = zset_add_random(f, delta, 1);
            zset_add_row(f, delta, passing, -1);
        }
    }
    zset_shuffle(f, delta);
    return delta;
}

/* The law: many random steps give the contents of one step over the summed input, and the deltas
 * that the sink shows sum to its contents. */
static inline void check_law(Fixture *f, const Shape *shape, uint64_t seed, size_t steps)
{
    f->random = seed;
    Machine machine = new_machine(f, shape);
    const Shape identity = {.inputs = {&machine.sink->schema}, .input_count = 1};
    Mirror mirror = {.machine = new_machine(f, &identity)};
    ZSet *present[MAX_SOURCES] = {0};
    for (size_t i = 0; i < shape->input_count; i++) {
        present[i] = zset_new(f, shape->inputs[i]);
    }
    for (size_t step = 0; step < steps; step++) {
        ZSet *deltas[MAX_SOURCES] = {0};
        for (size_t i = 0; i < shape->input_count; i++) {
            const size_t size = below(f, 5) == 0 ? 600 : 12;
            const bool is_purge = below(f, 12) == 0;
            deltas[i] = random_delta(f, present[i], is_purge ? 0 : below(f, size),
                                     is_purge ? present[i]->count : below(f, size));
        }
        must(f, run_step(f, &machine, deltas));
        mirror_follow(f, &mirror, machine.sink);
        weir_circuit_end_step(machine.circuit);
        const char *incremental = contents(f, machine.sink);
        const char *expected = contents_from_scratch(f, shape, present);
        if (strcmp(incremental, expected) != 0) {
            fail_msg("seed %llu, step %zu:\n--- incremental\n%s--- from scratch\n%s",
                     (unsigned long long)seed, step, incremental, expected);
        }
        assert_string_equal(contents(f, mirror.machine.sink), incremental);
    }
    weir_circuit_free(mirror.machine.circuit);
    weir_circuit_free(machine.circuit);
}

/* Fails every allocation once in building and two steps: the right code, no leak, and what is left
 * can be freed. */
static inline void check_faults(Fixture *f, const Shape *shape, uint64_t seed)
{
    f->random = seed;
    ZSet *first[MAX_SOURCES] = {0};
    ZSet *second[MAX_SOURCES] = {0};
    for (size_t i = 0; i < shape->input_count; i++) {
        ZSet *present = zset_new(f, shape->inputs[i]);
        first[i] = random_delta(f, present, 60, 0);
        second[i] = random_delta(f, present, 30, 30);
    }
    bool is_complete = false;
    for (size_t nth = 0; !is_complete; nth++) { /* the first time without a fault */
        const size_t before = weir_mem_used(f->mem);
        Machine machine;
        weir_mem_fail_after(f->mem, nth, nth % 2 == 0);
        Status status = try_machine(f, shape, &machine);
        for (int step = 0; step < 2 && status == WEIR_OK; step++) {
            status = run_step(f, &machine, step == 0 ? first : second);
            weir_circuit_end_step(machine.circuit);
        }
        weir_mem_fail_after(f->mem, 0, false);
        is_complete = status == WEIR_OK && nth > 0;
        if (status != WEIR_OK && status != WEIR_ERR_NOMEM) {
            fail_msg("allocation %zu: %d %s", nth, status, f->err.message);
        }
        weir_circuit_free(machine.circuit);
        weir_page_pool_trim(f->pool, 0);
        weir_arena_deinit(&f->step);
        weir_arena_init(&f->step, f->mem, 0);
        if (nth > 0 && weir_mem_used(f->mem) != before) {
            fail_msg("allocation %zu leaks %zd bytes", nth,
                     (ssize_t)(weir_mem_used(f->mem) - before));
        }
    }
}

#endif
