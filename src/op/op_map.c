/* op_map.c: filter and projection in one.
 *
 * SQL: SELECT exprs FROM in WHERE predicates.
 * Delta rule: out += map(in), row by row with its weight.
 * State: none, but for rows on which an expression failed (map_failed.h): they are kept until the
 * end of the step, and fail it only if they are still there then.
 * Cost of a step: O(delta).
 *
 * Filters yield a selection; the columns that the projection reads are gathered once, before any
 * expression that can fail sees a row that the filter excludes. If all rows pass, nothing is
 * copied. Failing rows of a batch are found by halving it. Sparse output goes on as it is: filtering
 * a hundred rows costs more than a fuller batch would save the next operator on the one that is left.
 */
#include "op/map_failed.h"
#include "op/op_priv.h"

typedef struct MapOp {
    Op op;
    Schema input;
    MapSpec spec;
    Evaluator *filter;     /* owned; NULL = no predicates */
    Evaluator *projection; /* owned; NULL = the input's columns */
    bool *is_projected;    /* owned: the input columns that the output reads */
    size_t *read_columns;  /* owned: the input columns that any expression reads */
    MapFailed failed;
    uint64_t nothing[2]; /* value and validity of a column that nobody reads: NULL */
    uint64_t nothing_valid;
} MapOp;

/* --- step ------------------------------------------------------------------------------------ */

static Status map_gather_weights(const Batch *in, const uint16_t *selection, size_t count,
                                 Arena *arena, const int64_t **out, Error *err)
{
    *out = NULL;
    if (in->weights == NULL) {
        return WEIR_OK;
    }
    int64_t *weights = weir_arena_alloc(arena, count * sizeof *weights, err);
    if (weights == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        weights[i] = in->weights[selection[i]];
    }
    *out = weights;
    return WEIR_OK;
}

/* The selected rows, with the columns that the output reads. */
static Status map_compact(MapOp *self, const Batch *in, const uint16_t *selection, size_t count,
                          Arena *arena, Batch *out, Error *err)
{
    Vector *columns = weir_arena_calloc(arena, in->column_count, sizeof *columns, err);
    if (columns == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < in->column_count; i++) {
        if (self->is_projected[i]) {
            WEIR_TRY(
                weir_vector_gather(&in->columns[i], selection, count, arena, &columns[i], err));
        } else {
            columns[i] = (Vector){
                .phys = in->columns[i].phys,
                .is_constant = true,
                .data = self->nothing,
                .validity = &self->nothing_valid,
            };
        }
    }
    *out = (Batch){.count = count, .column_count = in->column_count, .columns = columns};
    return map_gather_weights(in, selection, count, arena, &out->weights, err);
}

static Status map_filter(MapOp *self, const Batch *in, Arena *arena, Batch *out, Error *err)
{
    *out = *in;
    if (self->filter == NULL) {
        return WEIR_OK;
    }
    uint16_t selection[BATCH_CAPACITY];
    size_t count = 0;
    WEIR_TRY(weir_evaluator_select(self->filter, in, arena, selection, &count, err));
    WEIR_ASSERT(count <= in->count);
    if (count == in->count) {
        return WEIR_OK;
    }
    if (count == 0) {
        *out = (Batch){0};
        return WEIR_OK;
    }
    return map_compact(self, in, selection, count, arena, out, err);
}

static Status map_compute(MapOp *self, const Batch *in, Arena *arena, Batch *out, Error *err)
{
    WEIR_TRY(map_filter(self, in, arena, out, err));
    if (self->projection == NULL || out->count == 0) {
        return WEIR_OK;
    }
    const size_t count = self->op.schema.count;
    Vector *columns = weir_arena_calloc(arena, count, sizeof *columns, err);
    if (columns == NULL) {
        return err->code;
    }
    WEIR_TRY(weir_evaluator_run(self->projection, out, arena, columns, err));
    out->columns = columns;
    out->column_count = count;
    return WEIR_OK;
}

/* Fills places first..first+count-1. */
static void fill_range(uint16_t *selection, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        selection[i] = (uint16_t)(first + i);
    }
}

static Status map_push_rows(MapOp *self, const Batch *in, Step *step, Error *err);

/* Some row of the batch fails. */
static Status map_push_halves(MapOp *self, const Batch *in, Step *step, Error *err)
{
    if (in->count == 1) {
        return weir_map_failed_add(&self->failed, in, &step->scratch, err);
    }
    const size_t half = in->count / 2;
    const size_t firsts[] = {0, half};
    const size_t counts[] = {half, in->count - half};
    for (size_t i = 0; i < 2; i++) {
        const ArenaMark mark = weir_arena_mark(&step->scratch);
        uint16_t selection[BATCH_CAPACITY];
        fill_range(selection, firsts[i], counts[i]);
        Batch part = {0};
        WEIR_TRY(weir_batch_gather(in, selection, counts[i], &step->scratch, &part, err));
        WEIR_TRY(map_push_rows(self, &part, step, err));
        weir_arena_release(&step->scratch, mark);
    }
    return WEIR_OK;
}

/* Recursion: halves of at most BATCH_CAPACITY rows, so to a depth of 11. */
static Status map_push_rows(MapOp *self, const Batch *in, Step *step, Error *err)
{
    Batch out = {0};
    const Status status = map_compute(self, in, &step->scratch, &out, err);
    if (WEIR_UNLIKELY(status == WEIR_ERR_EVALUATION)) {
        weir_error_clear(err);
        return map_push_halves(self, in, step, err);
    }
    WEIR_TRY(status);
    return weir_op_emit(&self->op, &out, step, err);
}

static Status map_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    WEIR_UNUSED(port);
    return map_push_rows(WEIR_DOWNCAST(MapOp, op), batch, step, err);
}

static Status map_flush(Op *op, Step *step, Error *err)
{
    return weir_map_failed_check(&WEIR_DOWNCAST(MapOp, op)->failed, &step->scratch, err);
}

/* --- account, free, constructor -------------------------------------------------------------- */

static void put_list(Buf *out, const Expr *const *exprs, size_t count, const char *separator,
                     const Schema *input)
{
    for (size_t i = 0; i < count; i++) {
        weir_buf_puts(out, i == 0 ? "" : separator);
        weir_expr_put_text(out, exprs[i], input->names);
    }
}

static void map_describe(const Op *op, Buf *out)
{
    const MapOp *self = OP_CONST(MapOp, op);
    if (self->spec.exprs == NULL) {
        weir_buf_putc(out, '*');
    } else {
        put_list(out, self->spec.exprs, op->schema.count, ", ", &self->input);
    }
    if (self->filter != NULL) {
        weir_buf_puts(out, " where ");
        put_list(out, self->spec.predicates, self->spec.predicate_count, " and ", &self->input);
    }
}

static void map_free(Op *op)
{
    MapOp *self = WEIR_DOWNCAST(MapOp, op);
    Mem *mem = op->env->mem;
    weir_map_failed_deinit(&self->failed);
    weir_evaluator_free(self->filter);
    weir_evaluator_free(self->projection);
    weir_mem_free(mem, self->is_projected);
    weir_mem_free(mem, self->read_columns);
    weir_mem_free(mem, self);
}

static const OpType map_type = {
    .name = "map",
    .cost = "O(delta)",
    .push = map_push,
    .flush = map_flush,
    .describe = map_describe,
    .free = map_free,
};

/* Finds out which input columns are read, and by whom. */
static Status map_collect_columns(MapOp *self, Error *err)
{
    const size_t count = self->input.count;
    Mem *mem = self->op.env->mem;
    self->is_projected = weir_mem_calloc(mem, count, sizeof *self->is_projected, err);
    self->read_columns = weir_mem_calloc(mem, count, sizeof *self->read_columns, err);
    bool *is_read = weir_mem_calloc(mem, count, sizeof *is_read, err);
    if (self->is_projected == NULL || self->read_columns == NULL || is_read == NULL) {
        weir_mem_free(mem, is_read);
        return err->code;
    }
    for (size_t i = 0; i < self->spec.predicate_count; i++) {
        weir_expr_collect_columns(self->spec.predicates[i], is_read);
    }
    for (size_t i = 0; self->spec.exprs != NULL && i < self->op.schema.count; i++) {
        weir_expr_collect_columns(self->spec.exprs[i], is_read);
        weir_expr_collect_columns(self->spec.exprs[i], self->is_projected);
    }
    for (size_t i = 0; i < count; i++) {
        self->is_projected[i] = self->is_projected[i] || self->spec.exprs == NULL;
        if (is_read[i]) {
            self->read_columns[self->failed.read_count++] = i;
        }
    }
    weir_mem_free(mem, is_read);
    return WEIR_OK;
}

static Status map_open(MapOp *self, Error *err)
{
    const CircuitEnv *env = self->op.env;
    const MapSpec *spec = &self->spec;
    WEIR_TRY(map_collect_columns(self, err));
    self->failed.env = env;
    self->failed.input = &self->input;
    self->failed.spec = spec;
    self->failed.read_columns = self->read_columns;
    if (spec->predicate_count > 0) {
        WEIR_TRY(weir_evaluator_new(env->mem, env->host, spec->predicates, spec->predicate_count,
                                    &self->input, &self->filter, err));
    }
    if (spec->exprs != NULL) {
        WEIR_TRY(weir_evaluator_new(env->mem, env->host, spec->exprs, spec->schema.count,
                                    &self->input, &self->projection, err));
    }
    return WEIR_OK;
}

Status weir_op_map_new(Circuit *circuit, Op *input, const MapSpec *spec, Op **out, Error *err)
{
    *out = NULL;
    MapOp *self = weir_mem_zalloc(weir_circuit_env(circuit)->mem, sizeof *self, err);
    if (self == NULL) {
        return err->code;
    }
    op_init(&self->op, &map_type, circuit, &spec->schema);
    self->input = input->schema;
    self->spec = *spec;
    const Status status = map_open(self, err);
    if (status != WEIR_OK) {
        map_free(&self->op);
        return status;
    }
    WEIR_TRY(weir_circuit_add(circuit, &self->op, &input, 1, err));
    *out = &self->op;
    return WEIR_OK;
}
