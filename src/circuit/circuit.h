/* circuit.h: operators, streams and the step.
 *
 * A circuit is a directed acyclic graph of operators; streams carry Z-set deltas as batches. A step
 * is one transaction: the owner pushes the delta of each source (in any order), then calls
 * weir_circuit_finish_step. Operators are pushed batch by batch; an operator may answer at once
 * (filter, map, inner join) or at its flush, when all of its inputs have flushed (aggregate, outer
 * join, sink). Since every operator treats each pushed batch as a change on top of the one before,
 * any interleaving of pushes of one step gives the same sum.
 *
 * A pushed batch, and everything it points to, is borrowed until push returns. Row pages stay
 * readable until end_step. What a push or flush allocates from the step's scratch arena is released
 * when it returns; an operator that loops inside takes marks of its own. */
#ifndef WEIR_CIRCUIT_CIRCUIT_H
#define WEIR_CIRCUIT_CIRCUIT_H

#include "base/cancel.h"
#include "expr/evaluator.h"
#include "trace/page_pool.h"
#include "types/batch.h"

typedef struct Circuit Circuit;
typedef struct Op Op;

/* What operators need from their surroundings. */
typedef struct CircuitEnv {
    Mem *mem;             /* borrowed */
    PagePool *pool;       /* borrowed */
    const ExprHost *host; /* borrowed; may be NULL */
    const Cancel *cancel; /* borrowed: steps fail when it is wanted; NULL = never */
} CircuitEnv;

typedef struct Step {
    Arena scratch;         /* stack discipline: mark, use, release */
    uint32_t number;       /* 1, 2, ...: the circuit's steps; 0 never */
    bool is_first;         /* constants and empty global aggregates speak in the first step */
    bool is_profiled;      /* operators' own time is counted */
    uint64_t nested_nanos; /* private: time of the operators called by the running one */
} Step;

typedef struct OpType {
    const char *name; /* "map", "join", ... */
    const char *cost; /* of a step, as printed by explain: "O(delta)", ... */

    /* A batch on input `port`. */
    Status (*push)(Op *op, size_t port, const Batch *batch, Step *step, Error *err);

    /* Every input has delivered its part of the step. NULL = nothing to do. */
    Status (*flush)(Op *op, Step *step, Error *err);

    /* After the step, also a failed one: give back what only the step needed. NULL = nothing. */
    void (*end_step)(Op *op);

    size_t (*state_bytes)(const Op *op);      /* NULL = no state */
    size_t (*state_rows)(const Op *op);       /* NULL = no state */
    void (*describe)(const Op *op, Buf *out); /* details for explain; NULL = none */
    void (*free)(Op *op);                     /* deinit and free of the whole operator */
} OpType;

typedef struct OpEdge {
    Op *consumer;
    size_t port;
} OpEdge;

/* The head of every operator: first member of its struct. */
struct Op {
    const OpType *type;
    const CircuitEnv *env; /* borrowed from the circuit */
    Schema schema;         /* of the output; types borrowed from the plan's arena */
    OpEdge *consumers;     /* owned by the circuit */
    size_t consumer_count;
    size_t input_count;
    size_t id;        /* place in topological order */
    uint64_t rows_in; /* counters since the circuit was built */
    uint64_t rows_out;
    uint64_t batches_in;
    uint64_t nanos; /* own time, counted only while profiling is on */
};

Status weir_circuit_new(const CircuitEnv *env, Circuit **out, Error *err) WEIR_MUST_CHECK;
void weir_circuit_free(Circuit *circuit); /* and all operators */
const CircuitEnv *weir_circuit_env(const Circuit *circuit);

/* Takes ownership of op (also on failure: it is freed) and connects its inputs, in port order.
 * Inputs must have been added before: that order is the topological one. */
Status weir_circuit_add(Circuit *circuit, Op *op, Op *const *inputs, size_t input_count, Error *err)
    WEIR_MUST_CHECK;

size_t weir_circuit_op_count(const Circuit *circuit);
Op *weir_circuit_op(const Circuit *circuit, size_t index);

/* Hands a batch to all consumers; empty batches are dropped. Called by operators. */
Status weir_op_emit(Op *op, const Batch *batch, Step *step, Error *err) WEIR_MUST_CHECK;

/* begin, then any number of pushes into source operators, then finish: flushes in topological
 * order. After a failure of push or finish the circuit's state is broken: abort the step, then free
 * the circuit. */
Status weir_circuit_begin_step(Circuit *circuit, Error *err) WEIR_MUST_CHECK;
Status weir_circuit_push(Circuit *circuit, Op *source, const Batch *batch, Error *err)
    WEIR_MUST_CHECK;
Status weir_circuit_finish_step(Circuit *circuit, Error *err) WEIR_MUST_CHECK;

/* The sink's result stays readable between finish and end. Always called, also after a failure; without a
 * step it does nothing. */
void weir_circuit_end_step(Circuit *circuit);

size_t weir_circuit_state_bytes(const Circuit *circuit);

/* Counts the operators' own time from the next step on. */
void weir_circuit_set_profiled(Circuit *circuit, bool is_profiled);

/* One line per operator: name, inputs, cost class, counters, state; or Graphviz. */
void weir_circuit_put_text(const Circuit *circuit, Buf *out);
void weir_circuit_put_dot(const Circuit *circuit, Buf *out);

#endif
