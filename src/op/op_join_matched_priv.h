/* op_join_matched_priv.h: what op_join_matched.c and op_join_matching.c share. */
#ifndef WEIR_OP_OP_JOIN_MATCHED_PRIV_H
#define WEIR_OP_OP_JOIN_MATCHED_PRIV_H

#include "op/op_join_priv.h"

/* The state of a counted row. */
typedef struct MatchState {
    int64_t trues;
    int64_t nulls;
    uint64_t is_listed;
} MatchState;

/* A touched row, as it was before the step. */
typedef struct MatchEntry {
    Row *row;
    int64_t weight;
    int64_t trues;
    int64_t nulls;
} MatchEntry;

typedef struct MatchedJoin {
    JoinOp join;
    JoinTrace traces[2];
    RowTable pending[2]; /* the delta of the step: all columns are the key */
    bool has_pending[2];
    TouchedList touched[2];
} MatchedJoin;

/* Pairs of a batch being matched; arrays of BATCH_CAPACITY. */
typedef struct Matching {
    size_t port; /* the batch's side */
    const JoinBatch *batch;
    int64_t *trues; /* per row of the batch: T and N of its pairs */
    int64_t *nulls;
    uint16_t *places; /* per pair */
    Row **rows;
    uint8_t *values; /* Mark */
    int64_t *weights;
} Matching;

/* Rows of the side carry counts. */
static inline bool matched_is_counted(const MatchedJoin *self, size_t port)
{
    return port == 0 || self->join.kind == JOIN_FULL;
}

static inline bool matched_shows_pairs(const MatchedJoin *self)
{
    return self->join.kind == JOIN_LEFT || self->join.kind == JOIN_FULL;
}

MatchState weir_matched_load(const MatchedJoin *self, size_t port, Row *row);
void weir_matched_store(const MatchedJoin *self, size_t port, Row *row, const MatchState *state);

/* Lists a row that had `weight` before the step, unless it is listed. */
Status weir_matched_list(MatchedJoin *self, size_t port, Row *row, int64_t weight, Error *err)
    WEIR_MUST_CHECK;

/* A matching of no pairs yet, for a batch of side `port`. */
Status weir_matching_init(Matching *matching, size_t port, const JoinBatch *batch, Arena *arena,
                          Error *err) WEIR_MUST_CHECK;

/* Pairs the batch with the rows of the other side: counts, and emits the pairs if the join shows
 * them. */
Status weir_matching_run(MatchedJoin *self, Matching *matching, Step *step, Error *err)
    WEIR_MUST_CHECK;

#endif
