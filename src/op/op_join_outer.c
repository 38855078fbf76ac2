/* op_join_outer.c: LEFT and FULL joins on keys alone.
 *
 * SQL: a LEFT JOIN b ON a.k = b.k; a FULL JOIN b ON a.k = b.k.
 * A side is *kept* if its rows without a partner are shown, with NULLs on the other side: the left
 * one of LEFT, both of FULL. With Z(k) = 1 if the other side has no row with key k, else 0,
 *
 *   out = a |x| b + Z(a.k) * (a, NULL)  [+ Z(b.k) * (NULL, b)]
 *
 * Deltas of kept sides wait for the flush, so that no row is emitted that is taken back in the same
 * step. With old and new meaning before and after the step, the delta is the sum of
 *
 *   1. (Zb new - Zb old) * (a old, NULL)   for keys whose last partner went or first one came; and
 *      (Za new - Za old) * (NULL, b old)   the same for FULL
 *   2. a old |x| db                        (at push for LEFT), then b += db
 *   3. da |x| b new                        and rows of da without a pair: (da, NULL); then a += da
 *   4. Za new * (NULL, db)                 FULL
 *
 * Rows with a NULL in a key that is not null safe never have a partner: they pass at push, extended
 * if their side is kept, and are never stored.
 * State: an arrangement of each side by key. For the length of a step: the keys whose rows changed,
 * with their old number of rows and the change of it. In the first step no row is old: each side is
 * loaded, and settled when all of it is there.
 * Cost of a step: O(delta + pairs + rows that gain or lose their last partner). */
#include "op/op_join_priv.h"

#include "base/checked.h"

typedef struct OuterJoin {
    JoinOp join;
    JoinTrace traces[2];
    JoinPending pending[2]; /* of kept sides */
    RowTable changed[2];    /* keys of side i whose rows changed in this step: the weight is the
                               change, the state the old number of rows */
    bool has_changed[2];
} OuterJoin;

static bool is_kept(const OuterJoin *self, size_t port)
{
    return port == 0 || self->join.kind == JOIN_FULL;
}

/* --- keys whose rows changed ------------------------------------------------------------------ */

/* Remembers the old number of rows of keys that are seen for the first time in this step. */
static Status remember_old(OuterJoin *self, size_t port, const JoinBatch *delta, Row *const *rows,
                           const bool *is_new, Arena *arena, Error *err)
{
    uint16_t *places = weir_arena_alloc(arena, delta->count * sizeof *places, err);
    int64_t *weights = weir_arena_alloc(arena, delta->count * sizeof *weights, err);
    if (places == NULL || weights == NULL) {
        return err->code;
    }
    size_t count = 0;
    for (size_t i = 0; i < delta->count; i++) {
        places[count] = (uint16_t)i;
        count += is_new[i] ? 1 : 0;
    }
    weir_arrangement_key_weights(self->traces[port].arrangement, delta->columns, places, count,
                                 weights);
    const RowLayout *layout = &self->changed[port].layout;
    for (size_t i = 0; i < count; i++) {
        memcpy(weir_row_state(layout, rows[places[i]]), &weights[i], sizeof weights[i]);
    }
    return WEIR_OK;
}

/* Notes the keys of a delta of side `port`, before it is added to the trace. Needed only while the
 * other side is kept and has rows. */
static Status note_keys(OuterJoin *self, size_t port, const JoinBatch *delta, Step *step,
                        Error *err)
{
    Arena *arena = &step->scratch;
    if (delta->count == 0 || !is_kept(self, 1 - port) ||
        weir_arrangement_row_count(self->traces[1 - port].arrangement) == 0) {
        return WEIR_OK;
    }
    Row **rows = weir_arena_alloc(arena, delta->count * sizeof(Row *), err);
    bool *is_new = weir_arena_alloc(arena, delta->count * sizeof *is_new, err);
    if (rows == NULL || is_new == NULL) {
        return err->code;
    }
    WEIR_TRY(weir_row_table_upsert(&self->changed[port], delta->columns, delta->count, rows, is_new,
                                   err));
    WEIR_TRY(remember_old(self, port, delta, rows, is_new, arena, err));
    for (size_t i = 0; i < delta->count; i++) {
        int64_t change = 0;
        WEIR_TRY(weir_join_add(weir_row_weight(rows[i]), delta->weights[i], &change, err));
        weir_row_set_weight(rows[i], change);
    }
    return WEIR_OK;
}

/* Of `count` changed keys of side `port`, those that now have a first row or no row any more: moved
 * to the front; signs[i] = the change of Z. */
static Status select_turned(const OuterJoin *self, size_t port, Row **rows, size_t *count,
                            int64_t *signs, Error *err)
{
    const RowLayout *layout = &self->changed[port].layout;
    size_t turned = 0;
    for (size_t i = 0; i < *count; i++) {
        int64_t before = 0;
        int64_t now = 0;
        memcpy(&before, weir_row_state(layout, rows[i]), sizeof before);
        WEIR_TRY(weir_join_add(before, weir_row_weight(rows[i]), &now, err));
        if (now < 0) {
            return weir_join_negative(&self->join, port, err);
        }
        if ((before == 0) != (now == 0)) {
            rows[turned] = rows[i];
            signs[turned] = now == 0 ? 1 : -1;
            turned += 1;
        }
    }
    *count = turned;
    return WEIR_OK;
}

/* Part 1 of the delta: rows of kept side `port` whose partners' keys are among the changed ones. */
static Status revise_kept(OuterJoin *self, size_t port, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    const size_t other = 1 - port;
    uint64_t cursor = 0;
    Row **rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    int64_t *signs = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *signs, err);
    if (rows == NULL || signs == NULL) {
        return err->code;
    }
    for (;;) {
        const ArenaMark start = weir_arena_mark(arena);
        size_t count = weir_row_table_scan(&self->changed[other], &cursor, rows, BATCH_CAPACITY);
        if (count == 0) {
            return WEIR_OK;
        }
        WEIR_TRY(select_turned(self, other, rows, &count, signs, err));
        JoinBatch keys = {.count = count, .weights = signs};
        WEIR_TRY(weir_join_unpack(&self->changed[other].layout, rows, count,
                                  self->join.sides[other].key_count, arena, &keys.columns, err));
        const JoinPairs pairs = {
            .port = other,
            .batch = &keys,
            .partner = &self->traces[port],
            .is_partner_only = true,
        };
        WEIR_TRY(weir_join_emit_pairs(&self->join, &pairs, step, err));
        weir_arena_release(arena, start);
    }
}

/* --- deltas ----------------------------------------------------------------------------------- */

/* Emits rows of side `port`, all of the batch or the selected ones, with NULLs on the other. */
static Status emit_extended(OuterJoin *self, size_t port, const JoinBatch *batch, Step *step,
                            Error *err)
{
    JoinHalf halves[2] = {{0}, {0}};
    halves[port] = (JoinHalf){.batch = batch};
    return weir_join_emit(&self->join, halves, NULL, batch->weights, batch->count, step, err);
}

/* Emits the rows of the batch that are not marked. */
static Status emit_unmatched(OuterJoin *self, size_t port, const JoinBatch *batch,
                             const bool *is_matched, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    uint16_t *places = weir_arena_alloc(arena, batch->count * sizeof *places, err);
    if (places == NULL) {
        return err->code;
    }
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        places[count] = (uint16_t)i;
        count += is_matched[i] ? 0 : 1;
    }
    JoinBatch unmatched = *batch;
    if (count < batch->count) {
        WEIR_TRY(weir_join_gather(&self->join.sides[port], batch, places, count, arena, &unmatched,
                                  err));
    }
    return emit_extended(self, port, &unmatched, step, err);
}

/* Part 2: a delta of the right side meets the old left rows. */
static Status add_right(OuterJoin *self, const JoinBatch *delta, Step *step, Error *err)
{
    const JoinPairs pairs = {.port = 1, .batch = delta, .partner = &self->traces[0]};
    WEIR_TRY(weir_join_emit_pairs(&self->join, &pairs, step, err));
    return weir_join_trace_add(&self->traces[1], delta, step, err);
}

/* Part 3: a delta of the left side meets the new right rows. */
static Status add_left(OuterJoin *self, const JoinBatch *delta, Step *step, Error *err)
{
    bool *is_matched = weir_arena_calloc(&step->scratch, delta->count, sizeof *is_matched, err);
    if (is_matched == NULL) {
        return err->code;
    }
    const JoinPairs pairs = {
        .port = 0,
        .batch = delta,
        .partner = &self->traces[1],
        .is_matched = is_matched,
    };
    WEIR_TRY(weir_join_emit_pairs(&self->join, &pairs, step, err));
    WEIR_TRY(emit_unmatched(self, 0, delta, is_matched, step, err));
    return weir_join_trace_add(&self->traces[0], delta, step, err);
}

/* Part 4: rows of a right delta that have no left row at the end of the step. */
static Status extend_right(OuterJoin *self, const JoinBatch *delta, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    int64_t *weights = weir_arena_alloc(arena, delta->count * sizeof *weights, err);
    bool *is_matched = weir_arena_alloc(arena, delta->count * sizeof *is_matched, err);
    if (weights == NULL || is_matched == NULL) {
        return err->code;
    }
    weir_arrangement_key_weights(self->traces[0].arrangement, delta->columns, NULL, delta->count,
                                 weights);
    for (size_t i = 0; i < delta->count; i++) {
        is_matched[i] = weights[i] != 0;
    }
    return emit_unmatched(self, 1, delta, is_matched, step, err);
}

/* --- step ------------------------------------------------------------------------------------- */

static Status outer_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    OuterJoin *self = WEIR_DOWNCAST(OuterJoin, op);
    JoinBatch all = {0};
    JoinBatch delta = {0};
    JoinBatch others = {0};
    WEIR_TRY(weir_join_load(&self->join, port, batch, &step->scratch, &all, err));
    WEIR_TRY(weir_join_split(&self->join, port, &all, &step->scratch, &delta, &others, err));
    if (!is_kept(self, port)) {
        WEIR_TRY(note_keys(self, port, &delta, step, err));
        return add_right(self, &delta, step, err);
    }
    if (others.count > 0) {
        WEIR_TRY(emit_extended(self, port, &others, step, err));
    }
    return weir_join_pending_add(&self->pending[port], &self->join.sides[port], &delta, err);
}

typedef Status (*OuterVisit)(OuterJoin *self, const JoinBatch *delta, Step *step, Error *err);

/* Calls visit for each pending batch of a side. */
static Status visit_pending(OuterJoin *self, size_t port, OuterVisit visit, Step *step, Error *err)
{
    for (const PendingBatch *at = self->pending[port].first; at != NULL; at = at->next) {
        const ArenaMark start = weir_arena_mark(&step->scratch);
        WEIR_TRY(visit(self, &at->batch, step, err));
        weir_arena_release(&step->scratch, start);
    }
    return WEIR_OK;
}

static Status note_left(OuterJoin *self, const JoinBatch *delta, Step *step, Error *err)
{
    return note_keys(self, 0, delta, step, err);
}

static Status note_right(OuterJoin *self, const JoinBatch *delta, Step *step, Error *err)
{
    return note_keys(self, 1, delta, step, err);
}

static Status outer_flush(Op *op, Step *step, Error *err)
{
    OuterJoin *self = WEIR_DOWNCAST(OuterJoin, op);
    const bool is_full = self->join.kind == JOIN_FULL;
    if (is_full) {
        WEIR_TRY(visit_pending(self, 0, note_left, step, err));
        WEIR_TRY(visit_pending(self, 1, note_right, step, err));
        WEIR_TRY(revise_kept(self, 1, step, err));
    }
    WEIR_TRY(revise_kept(self, 0, step, err));
    if (is_full) {
        WEIR_TRY(visit_pending(self, 1, add_right, step, err));
    }
    WEIR_TRY(weir_join_trace_settle(&self->traces[1], err));
    WEIR_TRY(visit_pending(self, 0, add_left, step, err));
    WEIR_TRY(weir_join_trace_settle(&self->traces[0], err));
    if (is_full) {
        WEIR_TRY(visit_pending(self, 1, extend_right, step, err));
    }
    return WEIR_OK;
}

static void outer_end_step(Op *op)
{
    OuterJoin *self = WEIR_DOWNCAST(OuterJoin, op);
    for (size_t s = 0; s < 2; s++) {
        weir_arrangement_end_step(self->traces[s].arrangement);
        weir_join_pending_clear(&self->pending[s]);
        if (self->changed[s].row_count > 0) {
            weir_row_table_clear(&self->changed[s]);
        }
    }
}

static size_t outer_state_bytes(const Op *op)
{
    const OuterJoin *self = OP_CONST(OuterJoin, op);
    size_t bytes = 0;
    for (size_t s = 0; s < 2; s++) {
        bytes += weir_arrangement_bytes(self->traces[s].arrangement) +
                 weir_row_table_bytes(&self->changed[s]);
    }
    return bytes;
}

static size_t outer_state_rows(const Op *op)
{
    const OuterJoin *self = OP_CONST(OuterJoin, op);
    return weir_arrangement_row_count(self->traces[0].arrangement) +
           weir_arrangement_row_count(self->traces[1].arrangement);
}

static void outer_free(Op *op)
{
    OuterJoin *self = WEIR_DOWNCAST(OuterJoin, op);
    Mem *mem = op->env->mem;
    for (size_t s = 0; s < 2; s++) {
        weir_join_trace_deinit(&self->traces[s]);
        weir_join_pending_deinit(&self->pending[s]);
        if (self->has_changed[s]) {
            weir_row_table_deinit(&self->changed[s]);
        }
    }
    weir_join_deinit(&self->join);
    weir_mem_free(mem, self);
}

static const OpType outer_type = {
    .name = "outer join",
    .cost = "O(delta + pairs)",
    .push = outer_push,
    .flush = outer_flush,
    .end_step = outer_end_step,
    .state_bytes = outer_state_bytes,
    .state_rows = outer_state_rows,
    .describe = weir_join_describe,
    .free = outer_free,
};

static Status outer_init(JoinOp *join, const Circuit *circuit, const JoinPlan *plan, Error *err)
{
    OuterJoin *self = WEIR_DOWNCAST(OuterJoin, join);
    WEIR_TRY(weir_join_init(join, &outer_type, circuit, plan, err));
    const CircuitEnv *env = join->op.env;
    for (size_t s = 0; s < 2; s++) {
        const JoinSide *side = &join->sides[s];
        const RowLayoutSpec rows = join_layout_spec(side);
        const RowLayoutSpec keys = {
            .key = side->phys,
            .key_count = side->key_count,
            .state_bytes = sizeof(int64_t),
        };
        weir_join_pending_init(&self->pending[s], env->mem);
        WEIR_TRY(weir_join_trace_init(&self->traces[s], join, &rows, err));
        WEIR_TRY(weir_row_table_init(&self->changed[s], env->mem, env->pool, &keys, err));
        self->has_changed[s] = true;
    }
    return WEIR_OK;
}

Status weir_join_outer_new(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
{
    return weir_join_new(circuit, plan, sizeof(OuterJoin), outer_init, out, err);
}
