/* op_join_semi.c: SEMI and ANTI joins on keys alone.
 *
 * SQL: a WHERE [NOT] EXISTS (b WHERE a.k = b.k).
 * Delta rule: with S(k) = 1 if b has rows with key k (SEMI) or has none (ANTI), else 0,
 *
 *   out = S(a.k) * a;   delta = (S new - S old) * a old  +  S new * da
 *
 * The left delta waits for the flush, so that a step emits only what is true at its end. Left rows
 * with a NULL in a key that is not null safe pass an ANTI join at push; no others of either side
 * matter.
 * State: an arrangement of the left rows by key; the number of right rows of each key.
 * Cost of a step: O(delta + left rows whose key gains its first or loses its last right row). */
#include "op/op_join_priv.h"

typedef struct SemiJoin {
    JoinOp join;
    JoinTrace left;
    JoinPending pending; /* the left delta */
    JoinCounts right;
} SemiJoin;

static Status semi_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    SemiJoin *self = WEIR_DOWNCAST(SemiJoin, op);
    Arena *arena = &step->scratch;
    JoinBatch all = {0};
    JoinBatch delta = {0};
    JoinBatch others = {0};
    WEIR_TRY(weir_join_load(&self->join, port, batch, arena, &all, err));
    WEIR_TRY(weir_join_split(&self->join, port, &all, arena, &delta, &others, err));
    if (port == 1) {
        return weir_join_counts_add(&self->right, &delta, NULL, arena, err);
    }
    if (self->join.kind == JOIN_ANTI) {
        const JoinHalf halves[2] = {{.batch = &others}, {0}};
        WEIR_TRY(
            weir_join_emit(&self->join, halves, NULL, others.weights, others.count, step, err));
    }
    return weir_join_pending_add(&self->pending, &self->join.sides[0], &delta, err);
}

/* Left rows of keys that gained their first or lost their last right row. */
static Status revise_left(SemiJoin *self, Step *step, Error *err)
{
    if (weir_arrangement_row_count(self->left.arrangement) == 0) {
        return WEIR_OK;
    }
    Arena *arena = &step->scratch;
    Row **rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    int64_t *signs = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *signs, err);
    if (rows == NULL || signs == NULL) {
        return err->code;
    }
    const int64_t sign_of_gain = self->join.kind == JOIN_SEMI ? 1 : -1;
    size_t index = 0;
    for (;;) {
        const ArenaMark start = weir_arena_mark(arena);
        const size_t count = weir_join_counts_touched(&self->right, &index, rows, BATCH_CAPACITY);
        if (count == 0) {
            return WEIR_OK;
        }
        size_t turned = 0;
        for (size_t i = 0; i < count; i++) {
            const CountPair pair = weir_join_counts_read(&self->right, rows[i]);
            rows[turned] = rows[i];
            signs[turned] = pair.rows != 0 ? sign_of_gain : -sign_of_gain;
            turned += (pair.old_rows != 0) != (pair.rows != 0) ? 1 : 0;
        }
        JoinBatch keys = {.count = turned, .weights = signs};
        WEIR_TRY(weir_join_unpack(&self->right.table.layout, rows, turned,
                                  self->join.sides[1].key_count, arena, &keys.columns, err));
        const JoinPairs pairs = {
            .port = 1,
            .batch = &keys,
            .partner = &self->left,
            .is_partner_only = true,
        };
        WEIR_TRY(weir_join_emit_pairs(&self->join, &pairs, step, err));
        weir_arena_release(arena, start);
    }
}

/* Emits the rows of a left delta that are shown now, and adds the delta to the state. */
static Status add_left(SemiJoin *self, const JoinBatch *delta, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    Row **rows = weir_arena_alloc(arena, delta->count * sizeof(Row *), err);
    uint16_t *places = weir_arena_alloc(arena, delta->count * sizeof *places, err);
    if (rows == NULL || places == NULL) {
        return err->code;
    }
    weir_row_table_find(&self->right.table, delta->columns, delta->count, rows);
    const bool shows_matched = self->join.kind == JOIN_SEMI;
    size_t count = 0;
    for (size_t i = 0; i < delta->count; i++) {
        const bool is_matched = rows[i] != NULL && weir_row_weight(rows[i]) != 0;
        places[count] = (uint16_t)i;
        count += is_matched == shows_matched ? 1 : 0;
    }
    JoinBatch shown = *delta;
    if (count < delta->count) {
        WEIR_TRY(weir_join_gather(&self->join.sides[0], delta, places, count, arena, &shown, err));
    }
    const JoinHalf halves[2] = {{.batch = &shown}, {0}};
    WEIR_TRY(weir_join_emit(&self->join, halves, NULL, shown.weights, shown.count, step, err));
    return weir_join_trace_add(&self->left, delta, step, err);
}

static Status semi_flush(Op *op, Step *step, Error *err)
{
    SemiJoin *self = WEIR_DOWNCAST(SemiJoin, op);
    if (!weir_join_counts_verify(&self->right)) {
        return weir_join_negative(&self->join, 1, err);
    }
    WEIR_TRY(revise_left(self, step, err));
    for (const PendingBatch *at = self->pending.first; at != NULL; at = at->next) {
        const ArenaMark start = weir_arena_mark(&step->scratch);
        WEIR_TRY(add_left(self, &at->batch, step, err));
        weir_arena_release(&step->scratch, start);
    }
    return weir_join_trace_settle(&self->left, err);
}

static void semi_end_step(Op *op)
{
    SemiJoin *self = WEIR_DOWNCAST(SemiJoin, op);
    weir_arrangement_end_step(self->left.arrangement);
    weir_join_pending_clear(&self->pending);
    weir_join_counts_end_step(&self->right);
}

static size_t semi_state_bytes(const Op *op)
{
    const SemiJoin *self = OP_CONST(SemiJoin, op);
    return weir_arrangement_bytes(self->left.arrangement) + weir_join_counts_bytes(&self->right);
}

static size_t semi_state_rows(const Op *op)
{
    const SemiJoin *self = OP_CONST(SemiJoin, op);
    return weir_arrangement_row_count(self->left.arrangement) + self->right.table.row_count;
}

static void semi_free(Op *op)
{
    SemiJoin *self = WEIR_DOWNCAST(SemiJoin, op);
    Mem *mem = op->env->mem;
    weir_join_trace_deinit(&self->left);
    weir_join_pending_deinit(&self->pending);
    weir_join_counts_deinit(&self->right);
    weir_join_deinit(&self->join);
    weir_mem_free(mem, self);
}

static const OpType semi_type = {
    .name = "semi join",
    .cost = "O(delta + left rows that change)",
    .push = semi_push,
    .flush = semi_flush,
    .end_step = semi_end_step,
    .state_bytes = semi_state_bytes,
    .state_rows = semi_state_rows,
    .describe = weir_join_describe,
    .free = semi_free,
};

static Status semi_init(JoinOp *join, const Circuit *circuit, const JoinPlan *plan, Error *err)
{
    SemiJoin *self = WEIR_DOWNCAST(SemiJoin, join);
    WEIR_TRY(weir_join_init(join, &semi_type, circuit, plan, err));
    weir_join_pending_init(&self->pending, join->op.env->mem);
    const RowLayoutSpec left = join_layout_spec(&join->sides[0]);
    WEIR_TRY(weir_join_trace_init(&self->left, join, &left, err));
    const JoinSide *right = &join->sides[1];
    return weir_join_counts_init(&self->right, join, right->phys, right->key_count, err);
}

Status weir_join_semi_new(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
{
    return weir_join_new(circuit, plan, sizeof(SemiJoin), semi_init, out, err);
}
