/* op_join_matched.c: joins with a residual whose answer depends on whether a row has a match.
 *
 * SQL: LEFT, FULL, SEMI, ANTI and MARK joins ON a.k = b.k AND residual.
 * Every left row (of FULL: every row) carries in its state what its pairs of equal keys give: T, the
 * weight of partners for which the residual is TRUE, and, for MARK, N, of those for which a part of
 * it is NULL. Its answer is
 *
 *   LEFT, FULL   shown with NULLs if T = 0; beside it stand the matching pairs
 *   SEMI, ANTI   shown if T > 0, if T = 0
 *   MARK         TRUE if T > 0; else NULL if N > 0; else FALSE
 *
 * A row that a step touches is listed with its weight and counts before the step; at the end of the
 * flush each listed row gives the difference of its answers.
 *
 * Evaluating the residual can fail. Only pairs that are there before or after the step may be
 * looked at: not those of a row that comes and goes within it, nor of a left row that goes with a
 * right one that comes. So both deltas wait, summed by row, and the flush goes
 *
 *   1. removals of left rows, with the old right rows
 *   2. the right delta, with the left rows that stay
 *   3. additions of left rows, with the new right rows
 *
 * Rows with a NULL in a key that is not null safe have no pairs: they pass at push, if their answer
 * shows them, and are never stored.
 * State: an arrangement of each side by key, with the counts.
 * Cost of a step: O(delta + pairs of the delta). */
#include "op/op_join_matched_priv.h"

/* --- the delta of the step ------------------------------------------------------------------------ */

/* Adds rows to the pending delta of a side, where equal rows are one. */
static Status add_pending(MatchedJoin *self, size_t port, const JoinBatch *delta, Arena *arena,
                          Error *err)
{
    const JoinSide *side = &self->join.sides[port];
    const size_t payload_count = side->column_count - side->key_count;
    Vector *payload = weir_arena_calloc(arena, payload_count, sizeof *payload, err);
    const Vector **columns =
        weir_arena_calloc(arena, side->column_count, sizeof(const Vector *), err);
    Row **rows = weir_arena_alloc(arena, delta->count * sizeof(Row *), err);
    if (payload == NULL || columns == NULL || rows == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < side->column_count; c++) {
        columns[c] = delta->columns[c];
        if (c >= side->key_count) {
            payload[c - side->key_count] = *delta->columns[c];
        }
    }
    const Batch raw = {.count = delta->count, .column_count = payload_count, .columns = payload};
    const Vector *const *raw_keys = NULL;
    WEIR_TRY(weir_op_raw_keys(&raw, arena, &raw_keys, err));
    for (size_t c = 0; c < payload_count; c++) {
        columns[side->key_count + c] = raw_keys[c];
    }
    WEIR_TRY(weir_row_table_upsert(&self->pending[port], columns, delta->count, rows, NULL, err));
    for (size_t i = 0; i < delta->count; i++) {
        int64_t weight = 0;
        WEIR_TRY(weir_join_add(weir_row_weight(rows[i]), delta->weights[i], &weight, err));
        weir_row_set_weight(rows[i], weight);
    }
    return WEIR_OK;
}

/* Rows with a NULL key go straight to the output if the join shows rows without a match. */
static Status pass_others(MatchedJoin *self, size_t port, const JoinBatch *others, Step *step,
                          Error *err)
{
    const JoinKind kind = self->join.kind;
    const bool is_shown =
        kind == JOIN_FULL || (port == 0 && (kind == JOIN_LEFT || kind == JOIN_ANTI));
    if (!is_shown) {
        return WEIR_OK;
    }
    JoinHalf halves[2] = {{0}, {0}};
    halves[port] = (JoinHalf){.batch = others};
    return weir_join_emit(&self->join, halves, NULL, others->weights, others->count, step, err);
}

static Status matched_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    MatchedJoin *self = WEIR_DOWNCAST(MatchedJoin, op);
    JoinBatch all = {0};
    JoinBatch delta = {0};
    JoinBatch others = {0};
    WEIR_TRY(weir_join_load(&self->join, port, batch, &step->scratch, &all, err));
    WEIR_TRY(weir_join_split(&self->join, port, &all, &step->scratch, &delta, &others, err));
    WEIR_TRY(pass_others(self, port, &others, step, err));
    return delta.count == 0 ? WEIR_OK : add_pending(self, port, &delta, &step->scratch, err);
}

/* --- applying it ------------------------------------------------------------------------------------ */

/* Which pending rows a part of the flush is about. */
typedef enum DeltaPart { DELTA_REMOVALS, DELTA_ADDITIONS, DELTA_ALL } DeltaPart;

static bool is_in_part(DeltaPart part, int64_t weight)
{
    switch (part) {
    case DELTA_REMOVALS: return weight < 0;
    case DELTA_ADDITIONS: return weight > 0;
    case DELTA_ALL: return weight != 0;
    }
    return false;
}

/* Adds the batch to its side, and lists its rows as they were before. counts: T and N of new rows. */
static Status apply_batch(MatchedJoin *self, const Matching *counts, Step *step, Error *err)
{
    const size_t port = counts->port;
    const JoinBatch *batch = counts->batch;
    Row **rows = weir_arena_alloc(&step->scratch, batch->count * sizeof(Row *), err);
    if (rows == NULL) {
        return err->code;
    }
    WEIR_TRY(weir_arrangement_apply_rows(self->traces[port].arrangement, batch->columns, NULL,
                                         batch->weights, batch->count, rows, err));
    for (size_t i = 0; i < batch->count; i++) {
        const int64_t weight = weir_row_weight(rows[i]);
        if (weight < 0) {
            return weir_join_negative(&self->join, port, err);
        }
        if (!matched_is_counted(self, port)) {
            continue;
        }
        const int64_t old_weight = weight - batch->weights[i];
        WEIR_TRY(weir_matched_list(self, port, rows[i], old_weight, err));
        if (old_weight == 0) {
            const MatchState state = {
                .trues = counts->trues[i], .nulls = counts->nulls[i], .is_listed = 1};
            weir_matched_store(self, port, rows[i], &state);
        }
    }
    return WEIR_OK;
}

/* A batch of pending rows: its pairs, then its rows. */
static Status flush_batch(MatchedJoin *self, size_t port, DeltaPart part, const JoinBatch *batch,
                          Step *step, Error *err)
{
    Matching matching;
    WEIR_TRY(weir_matching_init(&matching, port, batch, &step->scratch, err));
    /* Left rows that go take their counts along; only pairs that are shown must be found. */
    if (part != DELTA_REMOVALS || matched_shows_pairs(self)) {
        WEIR_TRY(weir_matching_run(self, &matching, step, err));
    }
    return apply_batch(self, &matching, step, err);
}

static Status flush_part(MatchedJoin *self, size_t port, DeltaPart part, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    RowTable *pending = &self->pending[port];
    Row **rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    int64_t *weights = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *weights, err);
    if (rows == NULL || weights == NULL) {
        return err->code;
    }
    uint64_t cursor = 0;
    for (;;) {
        const ArenaMark start = weir_arena_mark(arena);
        const size_t count = weir_row_table_scan(pending, &cursor, rows, BATCH_CAPACITY);
        if (count == 0) {
            return WEIR_OK;
        }
        JoinBatch batch = {.weights = weights};
        for (size_t i = 0; i < count; i++) {
            rows[batch.count] = rows[i];
            weights[batch.count] = weir_row_weight(rows[i]);
            batch.count += is_in_part(part, weights[batch.count]) ? 1 : 0;
        }
        if (batch.count > 0) {
            WEIR_TRY(weir_join_unpack(&pending->layout, rows, batch.count,
                                      pending->layout.column_count, arena, &batch.columns, err));
            WEIR_TRY(flush_batch(self, port, part, &batch, step, err));
        }
        weir_arena_release(arena, start);
    }
}

/* --- answers ------------------------------------------------------------------------------------------ */

/* Rows of one side to be emitted; arrays of BATCH_CAPACITY. */
typedef struct Answers {
    size_t port;
    size_t count;
    Row **rows;
    int64_t *weights;
    uint8_t *marks;
} Answers;

static Status emit_answers(MatchedJoin *self, Answers *answers, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    const ArenaMark start = weir_arena_mark(arena);
    Vector mark = {0};
    JoinHalf halves[2] = {{0}, {0}};
    halves[answers->port] = (JoinHalf){
        .rows = answers->rows,
        .layout = weir_arrangement_layout(self->traces[answers->port].arrangement),
    };
    const bool has_mark = self->join.kind == JOIN_MARK;
    if (has_mark) {
        WEIR_TRY(weir_join_mark_vector(answers->marks, answers->count, arena, &mark, err));
    }
    WEIR_TRY(weir_join_emit(&self->join, halves, has_mark ? &mark : NULL, answers->weights,
                            answers->count, step, err));
    weir_arena_release(arena, start);
    answers->count = 0;
    return WEIR_OK;
}

static void add_answer(Answers *answers, Row *row, int64_t weight, Mark mark)
{
    answers->rows[answers->count] = row;
    answers->weights[answers->count] = weight;
    answers->marks[answers->count] = (uint8_t)mark;
    answers->count += weight != 0 ? 1 : 0;
}

static Mark mark_of(int64_t trues, int64_t nulls)
{
    if (trues != 0) {
        return MARK_TRUE;
    }
    return nulls != 0 ? MARK_NULL : MARK_FALSE;
}

/* The difference of a row's answers: at most a retraction and an insertion. */
static void add_difference(const MatchedJoin *self, Answers *answers, const MatchEntry *entry)
{
    const MatchState state = weir_matched_load(self, answers->port, entry->row);
    const int64_t weight = weir_row_weight(entry->row);
    const Mark old_mark = mark_of(entry->trues, entry->nulls);
    const Mark new_mark = mark_of(state.trues, state.nulls);
    const JoinKind kind = self->join.kind;
    if (kind == JOIN_MARK && old_mark != new_mark) {
        add_answer(answers, entry->row, -entry->weight, old_mark);
        add_answer(answers, entry->row, weight, new_mark);
    } else if (kind == JOIN_MARK) {
        add_answer(answers, entry->row, weight - entry->weight, new_mark);
    } else {
        const Mark shown = kind == JOIN_SEMI ? MARK_TRUE : MARK_FALSE;
        const int64_t before = old_mark == shown ? entry->weight : 0;
        const int64_t now = new_mark == shown ? weight : 0;
        add_answer(answers, entry->row, now - before, shown);
    }
}

static Status answer(MatchedJoin *self, size_t port, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    Answers answers = {.port = port};
    answers.rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    answers.weights = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *answers.weights, err);
    answers.marks = weir_arena_alloc(arena, BATCH_CAPACITY, err);
    if (answers.rows == NULL || answers.weights == NULL || answers.marks == NULL) {
        return err->code;
    }
    size_t available = 0;
    for (size_t i = 0; i < self->touched[port].count; i += available) {
        const MatchEntry *entries = weir_touched_run(&self->touched[port], i, &available);
        for (size_t k = 0; k < available; k++) {
            if (answers.count > BATCH_CAPACITY - 2) {
                WEIR_TRY(emit_answers(self, &answers, step, err));
            }
            add_difference(self, &answers, &entries[k]);
        }
    }
    return emit_answers(self, &answers, step, err);
}

static Status matched_flush(Op *op, Step *step, Error *err)
{
    MatchedJoin *self = WEIR_DOWNCAST(MatchedJoin, op);
    WEIR_TRY(flush_part(self, 0, DELTA_REMOVALS, step, err));
    WEIR_TRY(flush_part(self, 1, DELTA_ALL, step, err));
    WEIR_TRY(flush_part(self, 0, DELTA_ADDITIONS, step, err));
    for (size_t s = 0; s < 2; s++) {
        if (matched_is_counted(self, s)) {
            WEIR_TRY(answer(self, s, step, err));
        }
    }
    return WEIR_OK;
}

static void matched_end_step(Op *op)
{
    MatchedJoin *self = WEIR_DOWNCAST(MatchedJoin, op);
    for (size_t s = 0; s < 2; s++) {
        size_t available = 0;
        for (size_t i = 0; i < self->touched[s].count; i += available) {
            const MatchEntry *entries = weir_touched_run(&self->touched[s], i, &available);
            for (size_t k = 0; k < available; k++) {
                MatchState state = weir_matched_load(self, s, entries[k].row);
                state.is_listed = 0;
                weir_matched_store(self, s, entries[k].row, &state);
            }
        }
        weir_touched_clear(&self->touched[s]);
        if (self->pending[s].row_count > 0) {
            weir_row_table_clear(&self->pending[s]);
        }
        weir_arrangement_end_step(self->traces[s].arrangement);
    }
}

/* --- account, free, constructor ----------------------------------------------------------------------- */

static size_t matched_state_bytes(const Op *op)
{
    const MatchedJoin *self = OP_CONST(MatchedJoin, op);
    size_t bytes = 0;
    for (size_t s = 0; s < 2; s++) {
        bytes += weir_arrangement_bytes(self->traces[s].arrangement) +
                 weir_row_table_bytes(&self->pending[s]) + weir_touched_bytes(&self->touched[s]);
    }
    return bytes;
}

static size_t matched_state_rows(const Op *op)
{
    const MatchedJoin *self = OP_CONST(MatchedJoin, op);
    return weir_arrangement_row_count(self->traces[0].arrangement) +
           weir_arrangement_row_count(self->traces[1].arrangement);
}

static void matched_free(Op *op)
{
    MatchedJoin *self = WEIR_DOWNCAST(MatchedJoin, op);
    Mem *mem = op->env->mem;
    for (size_t s = 0; s < 2; s++) {
        weir_join_trace_deinit(&self->traces[s]);
        if (self->has_pending[s]) {
            weir_row_table_deinit(&self->pending[s]);
            weir_touched_deinit(&self->touched[s]);
        }
    }
    weir_join_deinit(&self->join);
    weir_mem_free(mem, self);
}

static const OpType matched_type = {
    .name = "matched join",
    .cost = "O(delta + pairs)",
    .push = matched_push,
    .flush = matched_flush,
    .end_step = matched_end_step,
    .state_bytes = matched_state_bytes,
    .state_rows = matched_state_rows,
    .describe = weir_join_describe,
    .free = matched_free,
};

static Status matched_init(JoinOp *join, const Circuit *circuit, const JoinPlan *plan, Error *err)
{
    MatchedJoin *self = WEIR_DOWNCAST(MatchedJoin, join);
    WEIR_TRY(weir_join_init(join, &matched_type, circuit, plan, err));
    const CircuitEnv *env = join->op.env;
    for (size_t s = 0; s < 2; s++) {
        const JoinSide *side = &join->sides[s];
        RowLayoutSpec rows = join_layout_spec(side);
        rows.state_bytes = matched_is_counted(self, s) ? sizeof(MatchState) : 0;
        const RowLayoutSpec delta = {.key = side->phys, .key_count = side->column_count};
        WEIR_TRY(weir_join_trace_init(&self->traces[s], join, &rows, err));
        WEIR_TRY(weir_row_table_init(&self->pending[s], env->mem, env->pool, &delta, err));
        weir_touched_init(&self->touched[s], env->mem, env->pool, sizeof(MatchEntry));
        self->has_pending[s] = true;
    }
    return WEIR_OK;
}

Status weir_join_matched_new(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
{
    return weir_join_new(circuit, plan, sizeof(MatchedJoin), matched_init, out, err);
}
