/* op_join_priv.h: what the kinds of joins share. This folder only.
 *
 * A side of a join has one row form: the key columns, normalised, then the payload: those columns of
 * the input that are shown or that the residual reads and that the key does not give. Pushed batches
 * are loaded into that form, arrangements hold it packed, output columns are taken from it. */
#ifndef WEIR_OP_OP_JOIN_PRIV_H
#define WEIR_OP_OP_JOIN_PRIV_H

#include "op/op_priv.h"
#include "trace/arrangement.h"
#include "trace/row_table.h"
#include "trace/touched.h"

/* The row form of one side. Arrays live in the join's arena. */
typedef struct JoinSide {
    size_t key_count;
    size_t column_count;       /* keys, then payload */
    size_t *inputs;            /* per column: the input's column */
    const LogicalType **types; /* per column */
    PhysType *phys;            /* per column */
    size_t *outputs;           /* the column of each output column */
    size_t output_count;
    size_t *operands; /* the column of each operand of the residual */
    size_t operand_count;
} JoinSide;

/* The residual, split at its ANDs. Input columns: the left operands, then the right ones. */
typedef struct JoinResidual {
    Evaluator *evaluator; /* owned; NULL = no residual */
    size_t part_count;
    Schema schema;
} JoinResidual;

/* The head of every join. */
typedef struct JoinOp {
    Op op;
    JoinKind kind;
    Arena arena;              /* what lives as long as the operator */
    const bool *is_null_safe; /* per key; borrowed */
    JoinSide sides[2];
    JoinResidual residual;
} JoinOp;

static inline RowLayoutSpec join_layout_spec(const JoinSide *side)
{
    return (RowLayoutSpec){
        .key = side->phys,
        .key_count = side->key_count,
        .payload = side->phys + side->key_count,
        .payload_count = side->column_count - side->key_count,
    };
}

/* SQL's three values, as kept in bytes. */
typedef enum Mark { MARK_FALSE, MARK_TRUE, MARK_NULL } Mark;

/* A delta in the row form of a side. */
typedef struct JoinBatch {
    size_t count;
    const Vector **columns;
    const int64_t *weights; /* never NULL */
} JoinBatch;

/* Half of the output rows: places of a batch, packed rows, or (all zero) NULLs. */
typedef struct JoinHalf {
    const JoinBatch *batch;
    const uint16_t *places; /* NULL = rows 0, 1, ... of the batch */
    Row *const *rows;
    const RowLayout *layout;
} JoinHalf;

/* An arrangement of the rows of a side, with a probe of its own. */
typedef struct JoinTrace {
    Arrangement *arrangement; /* owned; NULL = none */
    ArrangementProbe probe;   /* owned */
    bool has_probe;
} JoinTrace;

/* What a join is made from. */
typedef struct JoinPlan {
    Op *const *inputs;    /* left, right */
    const JoinSpec *spec; /* what weir_op_join_new was given, or its equivalent */
    Arena *arena;         /* holds what the spec borrows; moves into the join */
} JoinPlan;

/* --- op_join_head.c: what every join has ------------------------------------------------------ */

/* Fills the head of a new (zeroed) join; also after a failure weir_join_deinit is needed. */
Status weir_join_init(JoinOp *join, const OpType *type, const Circuit *circuit,
                      const JoinPlan *plan, Error *err) WEIR_MUST_CHECK;
void weir_join_deinit(JoinOp *join);

/* Calls weir_join_init first. After a failure the join's type frees it. */
typedef Status (*JoinInit)(JoinOp *join, const Circuit *circuit, const JoinPlan *plan, Error *err);

/* A join of so many bytes, of which JoinOp is the head, in the circuit. */
Status weir_join_new(Circuit *circuit, const JoinPlan *plan, size_t size, JoinInit init, Op **out,
                     Error *err) WEIR_MUST_CHECK;
void weir_join_describe(const Op *op, Buf *out);

/* --- constructors of the kinds ---------------------------------------------------------------- */

Status weir_join_inner_new(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
    WEIR_MUST_CHECK;
Status weir_join_outer_new(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
    WEIR_MUST_CHECK;
Status weir_join_semi_new(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
    WEIR_MUST_CHECK;
Status weir_join_mark_new(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
    WEIR_MUST_CHECK;

/* LEFT, FULL, SEMI, ANTI and MARK with a residual. MARK: all keys must be null safe. */
Status weir_join_matched_new(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
    WEIR_MUST_CHECK;

/* --- op_join_rows.c: batches, traces, output -------------------------------------------------- */

/* The batch in the row form of side `port`; memory from the arena or borrowed from the batch. */
Status weir_join_load(const JoinOp *join, size_t port, const Batch *in, Arena *arena,
                      JoinBatch *out, Error *err) WEIR_MUST_CHECK;

/* Rows that can match, and the others: those with NULL in a key that is not null safe. */
Status weir_join_split(const JoinOp *join, size_t port, const JoinBatch *batch, Arena *arena,
                       JoinBatch *matchable, JoinBatch *others, Error *err) WEIR_MUST_CHECK;

/* out = the selected rows of a side's batch. */
Status weir_join_gather(const JoinSide *side, const JoinBatch *batch, const uint16_t *selection,
                        size_t count, Arena *arena, JoinBatch *out, Error *err) WEIR_MUST_CHECK;

/* out = the first column_count columns of the packed rows. */
Status weir_join_unpack(const RowLayout *layout, Row *const *rows, size_t count,
                        size_t column_count, Arena *arena, const Vector ***out, Error *err)
    WEIR_MUST_CHECK;

Status weir_join_trace_init(JoinTrace *trace, const JoinOp *join, const RowLayoutSpec *spec,
                            Error *err) WEIR_MUST_CHECK;
void weir_join_trace_deinit(JoinTrace *trace);

/* Adds the batch. In a first step it is loaded: the trace must be settled before it is read, and at
 * the end of the step. */
Status weir_join_trace_add(JoinTrace *trace, const JoinBatch *batch, const Step *step, Error *err)
    WEIR_MUST_CHECK;
Status weir_join_trace_settle(JoinTrace *trace, Error *err) WEIR_MUST_CHECK;

/* What weir_join_emit_pairs pairs. */
typedef struct JoinPairs {
    size_t port;            /* the batch's side */
    const JoinBatch *batch; /* its key columns are always read */
    JoinTrace *partner;     /* rows of the other side */
    bool is_partner_only;   /* shows the partner's columns alone, the batch's as NULL */
    bool *is_matched;       /* per row of the batch: set if it has a pair; may be NULL */
} JoinPairs;

/* Emits every pair of equal keys for which the residual is TRUE, with the product of weights. */
Status weir_join_emit_pairs(JoinOp *join, const JoinPairs *pairs, Step *step, Error *err)
    WEIR_MUST_CHECK;

/* Emits count rows made of a left and a right half. mark: the last column; NULL if there is none. */
Status weir_join_emit(JoinOp *join, const JoinHalf halves[2], const Vector *mark,
                      const int64_t *weights, size_t count, Step *step, Error *err) WEIR_MUST_CHECK;

/* marks[i] (a Mark) as a BOOLEAN vector. */
Status weir_join_mark_vector(const uint8_t *marks, size_t count, Arena *arena, Vector *out,
                             Error *err) WEIR_MUST_CHECK;

/* The columns that the residual reads, for count pairs. */
Status weir_join_operands(const JoinOp *join, const JoinHalf halves[2], size_t count, Arena *arena,
                          Batch *out, Error *err) WEIR_MUST_CHECK;

/* *out = a * b; a product out of range is WEIR_ERR_WEIGHT. */
Status weir_join_multiply(int64_t a, int64_t b, int64_t *out, Error *err) WEIR_MUST_CHECK;
Status weir_join_add(int64_t a, int64_t b, int64_t *out, Error *err) WEIR_MUST_CHECK;

/* The failure of a side that would hold a row a negative number of times. */
Status weir_join_negative(const JoinOp *join, size_t port, Error *err);

/* --- op_join_pending.c: deltas that wait for the end of the step ------------------------------- */

typedef struct PendingBatch PendingBatch;

struct PendingBatch {
    PendingBatch *next;
    JoinBatch batch;
};

typedef struct JoinPending {
    Arena arena; /* of the batches and their strings */
    PendingBatch *first;
    PendingBatch *last;
    size_t row_count;
} JoinPending;

void weir_join_pending_init(JoinPending *pending, Mem *mem);
void weir_join_pending_deinit(JoinPending *pending);

/* Keeps a copy of the batch until weir_join_pending_clear. */
Status weir_join_pending_add(JoinPending *pending, const JoinSide *side, const JoinBatch *batch,
                             Error *err) WEIR_MUST_CHECK;
void weir_join_pending_clear(JoinPending *pending);

/* --- op_join_counts.c: how many right rows a key has ------------------------------------------- */

/* Summed weights by key, and what they were before the step. */
typedef struct JoinCounts {
    RowTable table; /* the weight is the number of rows; link 1 = listed in touched */
    TouchedList touched;
    bool counts_nulls; /* also the number of rows with a NULL in another column */
    bool has_table;
} JoinCounts;

/* The state of a row of the table. */
typedef struct CountState {
    int64_t old_rows; /* before the step; of a touched row */
    int64_t old_nulls;
    int64_t nulls;
} CountState;

Status weir_join_counts_init(JoinCounts *counts, const JoinOp *join, const PhysType *key,
                             size_t key_count, Error *err) WEIR_MUST_CHECK;
void weir_join_counts_deinit(JoinCounts *counts);

/* Adds rows with the given keys. nulls: per row whether it counts as one with a NULL; may be NULL. */
Status weir_join_counts_add(JoinCounts *counts, const JoinBatch *batch, const bool *nulls,
                            Arena *arena, Error *err) WEIR_MUST_CHECK;

/* The numbers of a row of the table, before and after; a NULL row has none. */
typedef struct CountPair {
    int64_t old_rows;
    int64_t rows;
    int64_t old_nulls;
    int64_t nulls;
} CountPair;

CountPair weir_join_counts_read(const JoinCounts *counts, Row *row);

/* The next up to `capacity` touched rows from *index on, which moves; 0 at the end. */
size_t weir_join_counts_touched(const JoinCounts *counts, size_t *index, Row **rows,
                                size_t capacity);

/* False if a touched key has a negative number. */
bool weir_join_counts_verify(const JoinCounts *counts);

/* At the end of a step: forgets the old numbers, and keys without rows. */
void weir_join_counts_end_step(JoinCounts *counts);
size_t weir_join_counts_bytes(const JoinCounts *counts);

#endif
