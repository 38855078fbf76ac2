/* circuit.c: the graph of operators and the step.
 *
 * Operators are kept in the order of their adding, which is topological because inputs must exist
 * before. A push runs depth first: an operator hands its batches on from inside its own push, so
 * that no batch is ever queued or copied. finish_step then flushes in topological order; when an
 * operator flushes, everything in front of it has spoken, and what it emits reaches operators
 * behind it before their own flush. */
#include "circuit/circuit_priv.h"

#include <time.h>

#include "base/checked.h"

static uint64_t read_clock(void)
{
    struct timespec now = {0};
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        return 0;
    }
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* A push (batch given) or flush (batch NULL) whose time, without that of the operators it calls, is
 * added to the operator's. */
static Status run_profiled(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    const uint64_t outer_nested = step->nested_nanos;
    step->nested_nanos = 0;
    const uint64_t start = read_clock();
    const Status status =
        batch != NULL ? op->type->push(op, port, batch, step, err) : op->type->flush(op, step, err);
    const uint64_t total = read_clock() - start;
    op->nanos += total - WEIR_MIN(total, step->nested_nanos);
    step->nested_nanos = outer_nested + total;
    return status;
}

static Status deliver(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    WEIR_ASSERT(batch->count > 0 && batch->count <= BATCH_CAPACITY);
    op->rows_in += batch->count;
    op->batches_in += 1;
    const ArenaMark mark = weir_arena_mark(&step->scratch);
    const Status status = step->is_profiled ? run_profiled(op, port, batch, step, err)
                                            : op->type->push(op, port, batch, step, err);
    weir_arena_release(&step->scratch, mark);
    return status;
}

static Status flush(Op *op, Step *step, Error *err)
{
    if (op->type->flush == NULL) {
        return WEIR_OK;
    }
    const ArenaMark mark = weir_arena_mark(&step->scratch);
    const Status status =
        step->is_profiled ? run_profiled(op, 0, NULL, step, err) : op->type->flush(op, step, err);
    weir_arena_release(&step->scratch, mark);
    return status;
}

/* Room for `more` edges behind an operator's consumers. */
static Status reserve_consumers(const Circuit *circuit, Op *op, size_t more, Error *err)
{
    size_t count = 0;
    size_t bytes = 0;
    if (weir_add_size(op->consumer_count, more, &count) ||
        weir_mul_size(count, sizeof(OpEdge), &bytes)) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "too many operators");
    }
    OpEdge *consumers = weir_mem_realloc(circuit->env.mem, op->consumers, bytes, err);
    if (consumers == NULL) {
        return err->code;
    }
    op->consumers = consumers;
    return WEIR_OK;
}

static Status reserve_op(Circuit *circuit, Error *err)
{
    if (circuit->op_count < circuit->op_capacity) {
        return WEIR_OK;
    }
    const size_t capacity = circuit->op_capacity == 0 ? 16 : 2 * circuit->op_capacity;
    size_t bytes = 0;
    if (weir_mul_size(capacity, sizeof(Op *), &bytes)) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "too many operators");
    }
    Op **ops = weir_mem_realloc(circuit->env.mem, circuit->ops, bytes, err);
    if (ops == NULL) {
        return err->code;
    }
    circuit->ops = ops;
    circuit->op_capacity = capacity;
    return WEIR_OK;
}

static Status reserve_edges(Circuit *circuit, Op *const *inputs, size_t input_count, Error *err)
{
    WEIR_TRY(reserve_op(circuit, err));
    for (size_t i = 0; i < input_count; i++) {
        WEIR_ASSERT(inputs[i]->id < circuit->op_count);
        WEIR_ASSERT(circuit->ops[inputs[i]->id] == inputs[i]);
        WEIR_TRY(reserve_consumers(circuit, inputs[i], input_count, err));
    }
    return WEIR_OK;
}

Status weir_circuit_new(const CircuitEnv *env, Circuit **out, Error *err)
{
    WEIR_ASSERT(env->mem != NULL);
    *out = NULL;
    Circuit *circuit = weir_mem_zalloc(env->mem, sizeof *circuit, err);
    if (circuit == NULL) {
        return err->code;
    }
    circuit->env = *env;
    weir_arena_init(&circuit->step.scratch, env->mem, 0);
    *out = circuit;
    return WEIR_OK;
}

void weir_circuit_free(Circuit *circuit)
{
    if (circuit == NULL) {
        return;
    }
    Mem *mem = circuit->env.mem;
    for (size_t i = circuit->op_count; i > 0; i--) {
        Op *op = circuit->ops[i - 1];
        weir_mem_free(mem, op->consumers);
        op->type->free(op);
    }
    weir_mem_free(mem, circuit->ops);
    weir_arena_deinit(&circuit->step.scratch);
    weir_mem_free(mem, circuit);
}

const CircuitEnv *weir_circuit_env(const Circuit *circuit)
{
    return &circuit->env;
}

Status weir_circuit_add(Circuit *circuit, Op *op, Op *const *inputs, size_t input_count, Error *err)
{
    WEIR_ASSERT(op->consumers == NULL && op->consumer_count == 0);
    WEIR_ASSERT(!circuit->is_in_step);
    op->env = &circuit->env;
    const Status status = reserve_edges(circuit, inputs, input_count, err);
    if (status != WEIR_OK) {
        op->type->free(op);
        return status;
    }
    op->id = circuit->op_count;
    op->input_count = input_count;
    circuit->ops[circuit->op_count] = op;
    circuit->op_count += 1;
    for (size_t i = 0; i < input_count; i++) {
        Op *input = inputs[i];
        input->consumers[input->consumer_count] = (OpEdge){.consumer = op, .port = i};
        input->consumer_count += 1;
    }
    return WEIR_OK;
}

size_t weir_circuit_op_count(const Circuit *circuit)
{
    return circuit->op_count;
}

Op *weir_circuit_op(const Circuit *circuit, size_t index)
{
    WEIR_ASSERT(index < circuit->op_count);
    return circuit->ops[index];
}

Status weir_op_emit(Op *op, const Batch *batch, Step *step, Error *err)
{
    WEIR_TRY(weir_cancel_check(op->env->cancel, err));
    if (batch->count == 0) {
        return WEIR_OK;
    }
    WEIR_ASSERT(batch->column_count == op->schema.count);
    op->rows_out += batch->count;
    for (size_t i = 0; i < op->consumer_count; i++) {
        const OpEdge *edge = &op->consumers[i];
        WEIR_TRY(deliver(edge->consumer, edge->port, batch, step, err));
    }
    return WEIR_OK;
}

Status weir_circuit_begin_step(Circuit *circuit, Error *err)
{
    WEIR_VERIFY(!circuit->is_in_step, err);
    WEIR_VERIFY(!circuit->is_broken, err);
    Step *step = &circuit->step;
    step->is_first = step->number == 0;
    step->number = step->number == UINT32_MAX ? 1 : step->number + 1;
    step->is_profiled = circuit->is_profiled;
    step->nested_nanos = 0;
    circuit->is_in_step = true;
    return WEIR_OK;
}

Status weir_circuit_push(Circuit *circuit, Op *source, const Batch *batch, Error *err)
{
    WEIR_VERIFY(circuit->is_in_step && !circuit->is_broken, err);
    WEIR_ASSERT(source->input_count == 0);
    if (batch->count == 0) {
        return WEIR_OK;
    }
    const Status status = deliver(source, 0, batch, &circuit->step, err);
    circuit->is_broken = status != WEIR_OK;
    return status;
}

Status weir_circuit_finish_step(Circuit *circuit, Error *err)
{
    WEIR_VERIFY(circuit->is_in_step && !circuit->is_broken, err);
    for (size_t i = 0; i < circuit->op_count; i++) {
        const Status status = flush(circuit->ops[i], &circuit->step, err);
        if (status != WEIR_OK) {
            circuit->is_broken = true;
            return status;
        }
    }
    return WEIR_OK;
}

void weir_circuit_end_step(Circuit *circuit)
{
    if (!circuit->is_in_step) {
        return;
    }
    for (size_t i = 0; i < circuit->op_count; i++) {
        Op *op = circuit->ops[i];
        if (op->type->end_step != NULL) {
            op->type->end_step(op);
        }
    }
    weir_arena_reset(&circuit->step.scratch);
    circuit->is_in_step = false;
}

size_t weir_circuit_state_bytes(const Circuit *circuit)
{
    size_t bytes = 0;
    for (size_t i = 0; i < circuit->op_count; i++) {
        const Op *op = circuit->ops[i];
        bytes += op->type->state_bytes == NULL ? 0 : op->type->state_bytes(op);
    }
    return bytes;
}

void weir_circuit_set_profiled(Circuit *circuit, bool is_profiled)
{
    circuit->is_profiled = is_profiled;
}
