/* op_join_rows.c: batches in row form, traces, pairs and output.
 *
 * Probing: the keys of a batch against the arrangement of the other side, up to 2048 pairs a round.
 * Of a round, columns of the batch are gathered by place, columns of the partner are scattered from
 * its packed rows, weights are multiplied; the round is emitted as one batch. */
#include "op/op_join_priv.h"

#include "base/checked.h"

/* --- weights --------------------------------------------------------------------------------- */

Status weir_join_multiply(int64_t a, int64_t b, int64_t *out, Error *err)
{
    if (WEIR_UNLIKELY(weir_mul_i64(a, b, out))) {
        return weir_error_set(err, WEIR_ERR_WEIGHT,
                              "a join makes a row too often (%lld times %lld)", (long long)a,
                              (long long)b);
    }
    return WEIR_OK;
}

Status weir_join_add(int64_t a, int64_t b, int64_t *out, Error *err)
{
    if (WEIR_UNLIKELY(weir_add_i64(a, b, out))) {
        return weir_error_set(err, WEIR_ERR_WEIGHT, "too many rows of a join have one key");
    }
    return WEIR_OK;
}

Status weir_join_negative(const JoinOp *join, size_t port, Error *err)
{
    return weir_error_set(err, WEIR_ERR_NEGATIVE,
                          "more rows were removed than added on the %s side of a %s",
                          port == 0 ? "left" : "right", join->op.type->name);
}

/* --- batches --------------------------------------------------------------------------------- */

static const Vector **new_columns(Arena *arena, size_t count, Vector **vectors, Error *err)
{
    *vectors = weir_arena_calloc(arena, count, sizeof **vectors, err);
    if (*vectors == NULL) {
        return NULL;
    }
    const Vector **columns = weir_arena_calloc(arena, count, sizeof(const Vector *), err);
    for (size_t c = 0; columns != NULL && c < count; c++) {
        columns[c] = &(*vectors)[c];
    }
    return columns;
}

Status weir_join_load(const JoinOp *join, size_t port, const Batch *in, Arena *arena,
                      JoinBatch *out, Error *err)
{
    const JoinSide *side = &join->sides[port];
    Vector *vectors = NULL;
    const Vector **columns = new_columns(arena, side->column_count, &vectors, err);
    if (columns == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < side->column_count; c++) {
        const Vector *column = &in->columns[side->inputs[c]];
        vectors[c] = *column;
        if (c < side->key_count) {
            Vector normal = {0};
            WEIR_TRY(weir_vector_normalise(column, side->types[c], in->count, arena, &normal, err));
            WEIR_TRY(weir_vector_flatten(&normal, in->count, arena, &vectors[c], err));
        }
    }
    *out = (JoinBatch){
        .count = in->count,
        .columns = columns,
        .weights = weir_op_weights(in),
    };
    return WEIR_OK;
}

Status weir_join_gather(const JoinSide *side, const JoinBatch *batch, const uint16_t *selection,
                        size_t count, Arena *arena, JoinBatch *out, Error *err)
{
    Vector *vectors = NULL;
    const Vector **columns = new_columns(arena, side->column_count, &vectors, err);
    int64_t *weights = weir_arena_alloc(arena, count * sizeof *weights, err);
    if (columns == NULL || weights == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < side->column_count; c++) {
        WEIR_TRY(weir_vector_gather(batch->columns[c], selection, count, arena, &vectors[c], err));
    }
    for (size_t i = 0; i < count; i++) {
        weights[i] = batch->weights[selection[i]];
    }
    *out = (JoinBatch){.count = count, .columns = columns, .weights = weights};
    return WEIR_OK;
}

/* Fills the mask: bit set = no NULL in a key that is not null safe. False: there is no NULL. */
static bool find_null_keys(const JoinOp *join, size_t port, const JoinBatch *batch,
                           uint64_t valid[VECTOR_VALIDITY_WORDS])
{
    bool has_masks = false;
    const size_t word_count = (batch->count + 63) / 64;
    memset(valid, 0xFF, word_count * sizeof valid[0]);
    for (size_t k = 0; k < join->sides[port].key_count; k++) {
        const uint64_t *validity = batch->columns[k]->validity;
        if (validity == NULL || join->is_null_safe[k]) {
            continue;
        }
        has_masks = true;
        for (size_t w = 0; w < word_count; w++) {
            valid[w] &= validity[w];
        }
    }
    uint64_t all = UINT64_MAX;
    for (size_t w = 0; has_masks && w < word_count; w++) {
        const size_t rest = batch->count - w * 64;
        all &= rest >= 64 ? valid[w] : valid[w] | ~((UINT64_C(1) << rest) - 1);
    }
    return all != UINT64_MAX;
}

Status weir_join_split(const JoinOp *join, size_t port, const JoinBatch *batch, Arena *arena,
                       JoinBatch *matchable, JoinBatch *others, Error *err)
{
    uint64_t valid[VECTOR_VALIDITY_WORDS];
    *others = (JoinBatch){0};
    *matchable = *batch;
    if (!find_null_keys(join, port, batch, valid)) {
        return WEIR_OK;
    }
    uint16_t *places = weir_arena_calloc(arena, 2, BATCH_CAPACITY * sizeof *places, err);
    if (places == NULL) {
        return err->code;
    }
    uint16_t *null_places = places + BATCH_CAPACITY;
    size_t count = 0;
    size_t null_count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const bool is_valid = weir_validity_get(valid, i);
        places[count] = (uint16_t)i;
        null_places[null_count] = (uint16_t)i;
        count += is_valid ? 1 : 0;
        null_count += is_valid ? 0 : 1;
    }
    const JoinSide *side = &join->sides[port];
    WEIR_TRY(weir_join_gather(side, batch, places, count, arena, matchable, err));
    return weir_join_gather(side, batch, null_places, null_count, arena, others, err);
}

Status weir_join_unpack(const RowLayout *layout, Row *const *rows, size_t count,
                        size_t column_count, Arena *arena, const Vector ***out, Error *err)
{
    Vector *vectors = NULL;
    const Vector **columns = new_columns(arena, column_count, &vectors, err);
    uint64_t *validity =
        weir_arena_calloc(arena, column_count, VECTOR_VALIDITY_WORDS * sizeof *validity, err);
    if (columns == NULL || validity == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < column_count; c++) {
        const PhysType phys = layout->columns[c].phys;
        WEIR_TRY(weir_vector_init(&vectors[c], phys, count, arena, err));
        weir_row_unpack(layout, rows, count, c, &vectors[c], validity + c * VECTOR_VALIDITY_WORDS);
    }
    *out = columns;
    return WEIR_OK;
}

/* --- traces ---------------------------------------------------------------------------------- */

Status weir_join_trace_init(JoinTrace *trace, const JoinOp *join, const RowLayoutSpec *spec,
                            Error *err)
{
    const CircuitEnv *env = join->op.env;
    WEIR_TRY(weir_arrangement_new(env->mem, env->pool, spec, &trace->arrangement, err));
    WEIR_TRY(weir_arrangement_probe_new(trace->arrangement, &trace->probe, err));
    trace->has_probe = true;
    return WEIR_OK;
}

void weir_join_trace_deinit(JoinTrace *trace)
{
    if (trace->has_probe) {
        weir_arrangement_probe_free(trace->arrangement, &trace->probe);
    }
    weir_arrangement_free(trace->arrangement);
    *trace = (JoinTrace){0};
}

Status weir_join_trace_add(JoinTrace *trace, const JoinBatch *batch, const Step *step, Error *err)
{
    if (batch->count == 0) {
        return WEIR_OK;
    }
    if (step->is_first) {
        return weir_arrangement_load(trace->arrangement, batch->columns, batch->weights,
                                     batch->count, err);
    }
    return weir_arrangement_apply(trace->arrangement, batch->columns, NULL, batch->weights,
                                  batch->count, err);
}

Status weir_join_trace_settle(JoinTrace *trace, Error *err)
{
    return weir_arrangement_settle(trace->arrangement, err);
}

/* --- output ---------------------------------------------------------------------------------- */

/* A constant NULL. */
static Status null_vector(PhysType phys, Arena *arena, Vector *out, Error *err)
{
    char *memory = weir_arena_zalloc(arena, 32, err);
    if (memory == NULL) {
        return err->code;
    }
    *out = (Vector){
        .phys = phys,
        .is_constant = true,
        .data = memory,
        .validity = (uint64_t *)(void *)(memory + 16),
    };
    return WEIR_OK;
}

/* Column `column` of a half of count rows. */
static Status half_column(const JoinSide *side, const JoinHalf *half, size_t column, size_t count,
                          Arena *arena, Vector *out, Error *err)
{
    if (half->rows != NULL) {
        uint64_t *validity = weir_arena_alloc(arena, VECTOR_VALIDITY_WORDS * sizeof *validity, err);
        if (validity == NULL) {
            return err->code;
        }
        WEIR_TRY(weir_vector_init(out, side->phys[column], count, arena, err));
        weir_row_unpack(half->layout, half->rows, count, column, out, validity);
        return WEIR_OK;
    }
    if (half->batch == NULL) {
        return null_vector(side->phys[column], arena, out, err);
    }
    if (half->places == NULL) {
        *out = *half->batch->columns[column];
        return WEIR_OK;
    }
    return weir_vector_gather(half->batch->columns[column], half->places, count, arena, out, err);
}

Status weir_join_emit(JoinOp *join, const JoinHalf halves[2], const Vector *mark,
                      const int64_t *weights, size_t count, Step *step, Error *err)
{
    if (count == 0) {
        return WEIR_OK;
    }
    Arena *arena = &step->scratch;
    const ArenaMark start = weir_arena_mark(arena);
    const size_t column_count = join->op.schema.count;
    Vector *columns = weir_arena_calloc(arena, column_count, sizeof *columns, err);
    if (columns == NULL) {
        return err->code;
    }
    size_t filled = 0;
    for (size_t s = 0; s < 2; s++) {
        const JoinSide *side = &join->sides[s];
        for (size_t o = 0; o < side->output_count; o++) {
            WEIR_TRY(half_column(side, &halves[s], side->outputs[o], count, arena, &columns[filled],
                                 err));
            filled += 1;
        }
    }
    if (mark != NULL) {
        columns[filled] = *mark;
        filled += 1;
    }
    WEIR_ASSERT(filled == column_count);
    const Batch batch = {
        .count = count,
        .column_count = column_count,
        .columns = columns,
        .weights = weights,
    };
    const Status status = weir_op_emit(&join->op, &batch, step, err);
    weir_arena_release(arena, start);
    return status;
}

Status weir_join_mark_vector(const uint8_t *marks, size_t count, Arena *arena, Vector *out,
                             Error *err)
{
    Vector vector = {0};
    WEIR_TRY(weir_vector_init(&vector, PHYS_U8, count, arena, err));
    uint8_t *values = vector.data;
    uint8_t has_null = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] = marks[i] == MARK_TRUE;
        has_null |= marks[i] == MARK_NULL;
    }
    if (has_null != 0) {
        WEIR_TRY(weir_vector_add_validity(&vector, count, arena, err));
        for (size_t i = 0; i < count; i++) {
            if (marks[i] == MARK_NULL) {
                weir_validity_set_null(vector.validity, i);
            }
        }
    }
    *out = vector;
    return WEIR_OK;
}

Status weir_join_operands(const JoinOp *join, const JoinHalf halves[2], size_t count, Arena *arena,
                          Batch *out, Error *err)
{
    const size_t column_count = join->residual.schema.count;
    Vector *columns = weir_arena_calloc(arena, column_count, sizeof *columns, err);
    if (columns == NULL) {
        return err->code;
    }
    size_t filled = 0;
    for (size_t s = 0; s < 2; s++) {
        const JoinSide *side = &join->sides[s];
        for (size_t i = 0; i < side->operand_count; i++) {
            WEIR_TRY(half_column(side, &halves[s], side->operands[i], count, arena,
                                 &columns[filled], err));
            filled += 1;
        }
    }
    WEIR_ASSERT(filled == column_count);
    *out = (Batch){.count = count, .column_count = column_count, .columns = columns};
    return WEIR_OK;
}

/* --- pairs ----------------------------------------------------------------------------------- */

/* A round of pairs; arrays of BATCH_CAPACITY. */
typedef struct PairRound {
    uint16_t *places;
    Row **rows;
    int64_t *weights;
    uint16_t *selection;
} PairRound;

static Status init_round(PairRound *round, Arena *arena, Error *err)
{
    round->places = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *round->places, err);
    round->selection = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *round->selection, err);
    round->rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    round->weights = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *round->weights, err);
    const bool is_complete = round->places != NULL && round->selection != NULL &&
                             round->rows != NULL && round->weights != NULL;
    return is_complete ? WEIR_OK : err->code;
}

/* True if the pairs are of the rows 0, 1, ... of the batch: the columns need no gathering. */
static bool is_sequence(const uint16_t *places, size_t count)
{
    unsigned difference = 0;
    for (size_t i = 0; i < count; i++) {
        difference |= places[i] ^ (unsigned)i;
    }
    return difference == 0;
}

/* Halves of the output: the batch on side `port`, packed rows on the other. */
static void set_halves(const JoinPairs *pairs, const PairRound *round, size_t count,
                       JoinHalf halves[2])
{
    halves[pairs->port] = (JoinHalf){
        .batch = pairs->batch,
        .places = is_sequence(round->places, count) ? NULL : round->places,
    };
    halves[1 - pairs->port] = (JoinHalf){
        .rows = round->rows,
        .layout = weir_arrangement_layout(pairs->partner->arrangement),
    };
}

/* Keeps the pairs of the round for which the residual is TRUE. */
static Status filter_round(const JoinOp *join, const JoinPairs *pairs, PairRound *round,
                           size_t *count, Arena *arena, Error *err)
{
    if (join->residual.evaluator == NULL) {
        return WEIR_OK;
    }
    JoinHalf halves[2];
    Batch operands = {0};
    size_t kept = 0;
    const ArenaMark start = weir_arena_mark(arena);
    set_halves(pairs, round, *count, halves);
    WEIR_TRY(weir_join_operands(join, halves, *count, arena, &operands, err));
    WEIR_TRY(weir_evaluator_select(join->residual.evaluator, &operands, arena, round->selection,
                                   &kept, err));
    weir_arena_release(arena, start);
    if (kept == *count) {
        return WEIR_OK;
    }
    for (size_t i = 0; i < kept; i++) {
        round->places[i] = round->places[round->selection[i]];
        round->rows[i] = round->rows[round->selection[i]];
    }
    *count = kept;
    return WEIR_OK;
}

static Status multiply_round(const JoinPairs *pairs, const PairRound *round, size_t count,
                             Error *err)
{
    const int64_t *batch_weights = pairs->batch->weights;
    bool has_overflow = false;
    for (size_t i = 0; i < count; i++) {
        has_overflow |= weir_mul_i64(batch_weights[round->places[i]],
                                     weir_row_weight(round->rows[i]), &round->weights[i]);
    }
    for (size_t i = 0; has_overflow && i < count; i++) {
        WEIR_TRY(weir_join_multiply(batch_weights[round->places[i]],
                                    weir_row_weight(round->rows[i]), &round->weights[i], err));
    }
    return WEIR_OK;
}

Status weir_join_emit_pairs(JoinOp *join, const JoinPairs *pairs, Step *step, Error *err)
{
    Arrangement *arrangement = pairs->partner->arrangement;
    ArrangementProbe *probe = &pairs->partner->probe;
    if (pairs->batch->count == 0 || weir_arrangement_row_count(arrangement) == 0) {
        return WEIR_OK;
    }
    PairRound round = {0};
    WEIR_TRY(init_round(&round, &step->scratch, err));
    weir_arrangement_probe_start(arrangement, probe, pairs->batch->columns, NULL,
                                 pairs->batch->count);
    for (;;) {
        size_t count = weir_arrangement_probe_next(arrangement, probe, round.places, round.rows,
                                                   BATCH_CAPACITY);
        if (count == 0) {
            return WEIR_OK;
        }
        WEIR_TRY(filter_round(join, pairs, &round, &count, &step->scratch, err));
        WEIR_TRY(multiply_round(pairs, &round, count, err));
        for (size_t i = 0; pairs->is_matched != NULL && i < count; i++) {
            pairs->is_matched[round.places[i]] = true;
        }
        JoinHalf halves[2];
        set_halves(pairs, &round, count, halves);
        if (pairs->is_partner_only) {
            halves[pairs->port] = (JoinHalf){0};
        }
        WEIR_TRY(weir_join_emit(join, halves, NULL, round.weights, count, step, err));
    }
}
