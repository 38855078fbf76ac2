/* op_join_matching.c: the pairs of a batch with the rows of the other side, for op_join_matched.c:
 * evaluated, counted for both of their rows, and emitted if the join shows them. */
#include "op/op_join_matched_priv.h"

/* --- counts of rows --------------------------------------------------------------------------- */

MatchState weir_matched_load(const MatchedJoin *self, size_t port, Row *row)
{
    const RowLayout *layout = weir_arrangement_layout(self->traces[port].arrangement);
    MatchState state;
    memcpy(&state, weir_row_state(layout, row), sizeof state);
    return state;
}

void weir_matched_store(const MatchedJoin *self, size_t port, Row *row, const MatchState *state)
{
    const RowLayout *layout = weir_arrangement_layout(self->traces[port].arrangement);
    memcpy(weir_row_state(layout, row), state, sizeof *state);
}

Status weir_matched_list(MatchedJoin *self, size_t port, Row *row, int64_t weight, Error *err)
{
    MatchState state = weir_matched_load(self, port, row);
    if (state.is_listed != 0) {
        return WEIR_OK;
    }
    MatchEntry *entry = weir_touched_add(&self->touched[port], err);
    if (entry == NULL) {
        return err->code;
    }
    *entry = (MatchEntry){
        .row = row,
        .weight = weight,
        .trues = state.trues,
        .nulls = state.nulls,
    };
    state.is_listed = 1;
    weir_matched_store(self, port, row, &state);
    return WEIR_OK;
}

/* Adds a pair of the given value and partner's weight to a row's counts. */
static Status count_pair(MatchedJoin *self, size_t port, Row *row, Mark value, int64_t weight,
                         Error *err)
{
    WEIR_TRY(weir_matched_list(self, port, row, weir_row_weight(row), err));
    MatchState state = weir_matched_load(self, port, row);
    int64_t *count = value == MARK_TRUE ? &state.trues : &state.nulls;
    WEIR_TRY(weir_join_add(*count, weight, count, err));
    weir_matched_store(self, port, row, &state);
    return WEIR_OK;
}

/* --- matching --------------------------------------------------------------------------------- */

Status weir_matching_init(Matching *matching, size_t port, const JoinBatch *batch, Arena *arena,
                          Error *err)
{
    *matching = (Matching){.port = port, .batch = batch};
    matching->trues = weir_arena_calloc(arena, BATCH_CAPACITY, sizeof *matching->trues, err);
    matching->nulls = weir_arena_calloc(arena, BATCH_CAPACITY, sizeof *matching->nulls, err);
    matching->places = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *matching->places, err);
    matching->rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    matching->values = weir_arena_alloc(arena, BATCH_CAPACITY, err);
    matching->weights = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *matching->weights, err);
    const bool is_complete = matching->trues != NULL && matching->nulls != NULL &&
                             matching->places != NULL && matching->rows != NULL &&
                             matching->values != NULL && matching->weights != NULL;
    return is_complete ? WEIR_OK : err->code;
}

/* NULL as soon as a part is NULL, else TRUE if all are: what DuckDB's mark joins make of several
 * conditions. */
static void combine_part(const Vector *part, size_t count, uint8_t *values)
{
    const uint8_t *booleans = part->data;
    for (size_t i = 0; i < count; i++) {
        if (weir_vector_is_null(part, i)) {
            values[i] = MARK_NULL;
        } else if (booleans[weir_vector_place(part, i)] == 0 && values[i] == MARK_TRUE) {
            values[i] = MARK_FALSE;
        }
    }
}

/* values[i] = the residual of pair i. */
static Status evaluate_pairs(MatchedJoin *self, const Batch *operands, Arena *arena,
                             uint8_t *values, Error *err)
{
    const JoinResidual *residual = &self->join.residual;
    const size_t count = operands->count;
    if (self->join.kind == JOIN_MARK) {
        Vector *parts = weir_arena_calloc(arena, residual->part_count, sizeof *parts, err);
        if (parts == NULL) {
            return err->code;
        }
        WEIR_TRY(weir_evaluator_run(residual->evaluator, operands, arena, parts, err));
        memset(values, MARK_TRUE, count);
        for (size_t p = 0; p < residual->part_count; p++) {
            combine_part(&parts[p], count, values);
        }
        return WEIR_OK;
    }
    uint16_t *selection = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *selection, err);
    if (selection == NULL) {
        return err->code;
    }
    size_t selected = 0;
    WEIR_TRY(
        weir_evaluator_select(residual->evaluator, operands, arena, selection, &selected, err));
    memset(values, MARK_FALSE, count);
    for (size_t i = 0; i < selected; i++) {
        values[selection[i]] = MARK_TRUE;
    }
    return WEIR_OK;
}

/* Of the first count pairs, keeps those that are not FALSE. */
static Status evaluate_round(MatchedJoin *self, Matching *matching, size_t *count, Step *step,
                             Error *err)
{
    const size_t other = 1 - matching->port;
    Arena *arena = &step->scratch;
    const ArenaMark start = weir_arena_mark(arena);
    JoinHalf halves[2];
    halves[matching->port] = (JoinHalf){.batch = matching->batch, .places = matching->places};
    halves[other] = (JoinHalf){
        .rows = matching->rows,
        .layout = weir_arrangement_layout(self->traces[other].arrangement),
    };
    Batch operands = {0};
    WEIR_TRY(weir_join_operands(&self->join, halves, *count, arena, &operands, err));
    WEIR_TRY(evaluate_pairs(self, &operands, arena, matching->values, err));
    weir_arena_release(arena, start);
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        const uint8_t value = matching->values[i];
        matching->places[kept] = matching->places[i];
        matching->rows[kept] = matching->rows[i];
        matching->values[kept] = value;
        kept += value != MARK_FALSE ? 1 : 0;
    }
    *count = kept;
    return WEIR_OK;
}

/* Counts the pairs of a round for both of their rows. */
static Status count_round(MatchedJoin *self, Matching *matching, size_t count, Error *err)
{
    const size_t other = 1 - matching->port;
    for (size_t i = 0; i < count; i++) {
        const size_t place = matching->places[i];
        Row *row = matching->rows[i];
        const Mark value = (Mark)matching->values[i];
        int64_t *own = value == MARK_TRUE ? &matching->trues[place] : &matching->nulls[place];
        WEIR_TRY(weir_join_add(*own, weir_row_weight(row), own, err));
        if (matched_is_counted(self, other)) {
            WEIR_TRY(count_pair(self, other, row, value, matching->batch->weights[place], err));
        }
    }
    return WEIR_OK;
}

static Status emit_round(MatchedJoin *self, Matching *matching, size_t count, Step *step,
                         Error *err)
{
    const size_t other = 1 - matching->port;
    for (size_t i = 0; i < count; i++) {
        WEIR_TRY(weir_join_multiply(matching->batch->weights[matching->places[i]],
                                    weir_row_weight(matching->rows[i]), &matching->weights[i],
                                    err));
    }
    JoinHalf halves[2];
    halves[matching->port] = (JoinHalf){.batch = matching->batch, .places = matching->places};
    halves[other] = (JoinHalf){
        .rows = matching->rows,
        .layout = weir_arrangement_layout(self->traces[other].arrangement),
    };
    return weir_join_emit(&self->join, halves, NULL, matching->weights, count, step, err);
}

Status weir_matching_run(MatchedJoin *self, Matching *matching, Step *step, Error *err)
{
    JoinTrace *partner = &self->traces[1 - matching->port];
    const JoinBatch *batch = matching->batch;
    if (batch->count == 0 || weir_arrangement_row_count(partner->arrangement) == 0) {
        return WEIR_OK;
    }
    weir_arrangement_probe_start(partner->arrangement, &partner->probe, batch->columns, NULL,
                                 batch->count);
    for (;;) {
        size_t count =
            weir_arrangement_probe_next(partner->arrangement, &partner->probe, matching->places,
                                        matching->rows, BATCH_CAPACITY);
        if (count == 0) {
            return WEIR_OK;
        }
        WEIR_TRY(evaluate_round(self, matching, &count, step, err));
        WEIR_TRY(count_round(self, matching, count, err));
        if (matched_shows_pairs(self)) {
            WEIR_TRY(emit_round(self, matching, count, step, err));
        }
    }
}
