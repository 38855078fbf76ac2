/* aggregate.h: aggregate functions by what retraction needs.
 *
 * A call such as avg(x) is an accumulator and a finish. The accumulator keeps, in every group row,
 * what can be changed by a weighted row: sums and counts are linear, minima need the values. Its
 * state has two parts:
 *
 *   shown    what the result is computed from; an operator copies it before the first change of a
 *            step, to know what it has shown before
 *   hidden   what is only needed to keep the shown part right (the set behind a minimum)
 *
 * update changes shown, or only hidden; then settle brings shown up to date, once per touched row
 * at the end of the step. finish computes result columns from shown parts, old or new. Calls whose
 * accumulator and input are the same share it.
 *
 * All zero is the state of a group without rows, for both parts. Weights are any int64; within a
 * step counts may be negative. */
#ifndef WEIR_AGG_AGGREGATE_H
#define WEIR_AGG_AGGREGATE_H

#include "trace/page_pool.h"
#include "types/row.h"

/* What of a call decides the implementation. */
typedef struct AggregateSignature {
    const char *name;        /* as in the plan */
    const LogicalType *arg;  /* NULL = no argument */
    const LogicalType *type; /* of the result */
    bool is_distinct;
} AggregateSignature;

/* Rows of a batch for one accumulator. */
typedef struct AccumulatorInput {
    const Vector *arg;         /* flat, all selected rows valid; NULL without an argument */
    const uint16_t *selection; /* places of the rows; NULL = 0 .. count - 1 */
    size_t count;
    const int64_t *weights; /* by place */
    Row *const *rows;       /* by place: the group row */
    Row *lone;              /* not NULL: all rows are this one */
    bool is_first;          /* in the first step: what settle brings up to date may wait for it */
} AccumulatorInput;

typedef struct Accumulator Accumulator;
typedef Status (*AccumulatorUpdate)(Accumulator *accumulator, const AccumulatorInput *in,
                                    Error *err);

typedef struct AccumulatorType {
    const char *name;
    uint32_t shown_bytes;  /* multiple of 8 */
    uint32_t hidden_bytes; /* multiple of 8; may be changed by open */

    /* Fills what depends on the argument's type: update, hidden_bytes, space. */
    Status (*open)(Accumulator *accumulator, Error *err);

    /* Frees the space, and with it what states own. NULL = there is none: a type with forget and
     * without close wants every row forgotten before. */
    void (*close)(Accumulator *accumulator);

    /* Brings the shown part of each row up to date. NULL = it always is. */
    Status (*settle)(Accumulator *accumulator, Row *const *rows, size_t count, Error *err);

    /* Gives back what the state of a row owns; zeroes it. NULL = it owns nothing. */
    void (*forget)(Accumulator *accumulator, Row *row);

    void (*end_step)(Accumulator *accumulator);      /* NULL = nothing */
    size_t (*bytes)(const Accumulator *accumulator); /* besides the rows; NULL = 0 */
} AccumulatorType;

struct Accumulator {
    const AccumulatorType *type;
    const LogicalType *arg; /* borrowed; NULL = none */
    Mem *mem;               /* borrowed */
    PagePool *pool;         /* borrowed */
    AccumulatorUpdate update;
    uint32_t hidden_bytes;
    uint32_t shown; /* offsets from the row's start, set by the owner of the rows */
    uint32_t hidden;
    void *space; /* owned by the type: what all states share */
};

/* Result values to be computed. */
typedef struct AggregateFinish {
    const LogicalType *arg;
    const char *const *shown; /* one pointer a value; the accumulator's part is at `offset` */
    uint32_t offset;
    size_t count;
    Vector *out;        /* data for count values; validity NULL */
    uint64_t *validity; /* count bits, all set: becomes out->validity at the first NULL */
} AggregateFinish;

enum {
    AGGREGATE_SHOWS_STATE = 1,  /* other shown bytes mean another result */
    AGGREGATE_DISTINCT = 2,     /* DISTINCT is possible */
    AGGREGATE_DISTINCT_MOOT = 4 /* DISTINCT changes nothing */
};

typedef struct AggregateDef {
    const char *name;
    const AccumulatorType *accumulator;
    Status (*finish)(const AggregateFinish *finish, Error *err);
    uint32_t flags;
} AggregateDef;

/* NULL if there is no implementation of exactly this call. */
const AggregateDef *weir_aggregate_find(const AggregateSignature *call);

/* Counts the rows of a group, whatever is in them: for count(*) without FILTER. */
extern const AccumulatorType weir_accumulator_rows;

/* mem and pool are borrowed; arg is borrowed. close also after a failed open. */
Status weir_accumulator_open(Accumulator *accumulator, const AccumulatorType *type,
                             const LogicalType *arg, Mem *mem, PagePool *pool, Error *err)
    WEIR_MUST_CHECK;
void weir_accumulator_close(Accumulator *accumulator);

#endif
