/* aggregate_calls.h: the calls of an aggregate operator: their accumulators and their inputs.
 *
 * Calls with the same accumulator over the same input share it: count(x), sum(x) and avg(x) are one
 * sum. An input is an argument column with its filter and DISTINCT; what a batch contributes to it
 * is found once for all of its accumulators.
 *
 * State of a group row: the shown parts of all accumulators, then the hidden parts, then the number
 * of the group if a call is DISTINCT. */
#ifndef WEIR_OP_AGGREGATE_CALLS_H
#define WEIR_OP_AGGREGATE_CALLS_H

#include "agg/aggregate.h"
#include "circuit/circuit.h"
#include "agg/distinct_set.h"
#include "op/op.h"

typedef struct CallInput {
    ptrdiff_t arg;
    ptrdiff_t filter;
    bool is_distinct;
    DistinctSet distinct;      /* if is_distinct */
    Accumulator *accumulators; /* owned */
    size_t accumulator_count;
} CallInput;

/* Where a call's result comes from. */
typedef struct CallResult {
    const AggregateDef *def;
    size_t input;
    size_t accumulator; /* of that input */
} CallResult;

typedef struct AggregateCalls {
    Mem *mem;                   /* borrowed */
    PagePool *pool;             /* borrowed */
    const AggregateCall *calls; /* borrowed */
    CallResult *results;        /* owned, one a call */
    size_t count;
    CallInput *inputs; /* owned */
    size_t input_count;
    size_t shown_bytes;
    size_t state_bytes;
    bool has_numbers;     /* groups are numbered */
    bool shows_states;    /* different shown parts mean different results */
    size_t number_offset; /* of the group's number, from the state's start; then from the row's */
    uint64_t last_number; /* given to a group */
    size_t state_offset;  /* of the state, from the row's start; set by place */
} AggregateCalls;

/* calls are borrowed. A call without an implementation is WEIR_ERR_OPERATOR. */
Status weir_aggregate_calls_init(AggregateCalls *self, const CircuitEnv *env,
                                 const AggregateCall *calls, size_t count, Error *err)
    WEIR_MUST_CHECK;
void weir_aggregate_calls_deinit(AggregateCalls *self); /* also of the zeroed struct */

/* Tells where the state of shown_bytes and state_bytes lies in a row. */
void weir_aggregate_calls_place(AggregateCalls *self, size_t state_offset);

/* Adds a batch to the states of its group rows. lone: not NULL = the row of all of them. */
Status weir_aggregate_calls_update(AggregateCalls *self, const Batch *batch, Row *const *rows,
                                   Row *lone, Step *step, Error *err) WEIR_MUST_CHECK;

/* The end of a step's input: checks, and brings the shown parts of touched rows up to date. */
Status weir_aggregate_calls_check(const AggregateCalls *self, Error *err) WEIR_MUST_CHECK;
Status weir_aggregate_calls_settle(AggregateCalls *self, Row *const *rows, size_t count, Error *err)
    WEIR_MUST_CHECK;

/* Result column of call `call` from shown parts. out: data for count values, no validity;
 * validity: VECTOR_VALIDITY_WORDS words, set up and used if there is a NULL. */
Status weir_aggregate_calls_finish(const AggregateCalls *self, size_t call,
                                   const char *const *shown, size_t count, Vector *out,
                                   uint64_t *validity, Error *err) WEIR_MUST_CHECK;

/* A group that leaves: gives back what its state owns. */
void weir_aggregate_calls_forget(AggregateCalls *self, Row *row);

/* True if every row must be forgotten before deinit. */
bool weir_aggregate_calls_must_forget(const AggregateCalls *self);
void weir_aggregate_calls_end_step(AggregateCalls *self);
size_t weir_aggregate_calls_bytes(const AggregateCalls *self);

#endif
