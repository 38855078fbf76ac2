/* op_constant.c: rows that are always there.
 *
 * SQL: VALUES, a SELECT without FROM, an empty result.  Delta rule: the rows in the first step, then
 * nothing.  State: none.  Cost of a step: the rows in the first one, then O(1). */
#include "op/op_priv.h"

typedef struct ConstantOp {
    Op op;
    const Value *values; /* borrowed from the plan */
    size_t row_count;
} ConstantOp;

static Status constant_fill(const ConstantOp *self, size_t first, size_t column, Batch *batch,
                            Arena *arena, Error *err)
{
    const size_t column_count = self->op.schema.count;
    Vector *out = &batch->columns[column];
    const size_t width = weir_phys_width(out->phys);
    out->validity = NULL;
    for (size_t i = 0; i < batch->count; i++) {
        const Value *value = &self->values[(first + i) * column_count + column];
        char *slot = (char *)out->data + i * width;
        if (value->is_null) {
            WEIR_TRY(weir_vector_add_validity(out, BATCH_CAPACITY, arena, err));
            weir_validity_set_null(out->validity, i);
            memset(slot, 0, width);
        } else {
            WEIR_ASSERT(value->type->phys == out->phys);
            memcpy(slot, value->data.bytes, width);
        }
    }
    return WEIR_OK;
}

static Status constant_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    WEIR_UNUSED(op);
    WEIR_UNUSED(port);
    WEIR_UNUSED(batch);
    WEIR_UNUSED(step);
    return weir_error_set(err, WEIR_ERR_INTERNAL, "a constant has no input");
}

static Status constant_flush(Op *op, Step *step, Error *err)
{
    const ConstantOp *self = OP_CONST(ConstantOp, op);
    if (!step->is_first || self->row_count == 0) {
        return WEIR_OK;
    }
    Batch *batch = NULL;
    WEIR_TRY(weir_batch_new(&step->scratch, &op->schema, &batch, err));
    batch->weights = NULL;
    for (size_t first = 0; first < self->row_count; first += batch->count) {
        const ArenaMark mark = weir_arena_mark(&step->scratch);
        batch->count = WEIR_MIN(self->row_count - first, (size_t)BATCH_CAPACITY);
        for (size_t column = 0; column < op->schema.count; column++) {
            WEIR_TRY(constant_fill(self, first, column, batch, &step->scratch, err));
        }
        WEIR_TRY(weir_op_emit(op, batch, step, err));
        weir_arena_release(&step->scratch, mark);
    }
    return WEIR_OK;
}

static void constant_describe(const Op *op, Buf *out)
{
    const ConstantOp *self = OP_CONST(ConstantOp, op);
    weir_buf_printf(out, "%zu %s", self->row_count, self->row_count == 1 ? "row" : "rows");
}

static void constant_free(Op *op)
{
    weir_mem_free(op->env->mem, op);
}

static const OpType constant_type = {
    .name = "constant",
    .cost = "O(1)",
    .push = constant_push,
    .flush = constant_flush,
    .describe = constant_describe,
    .free = constant_free,
};

Status weir_op_constant_new(Circuit *circuit, const ConstantSpec *spec, Op **out, Error *err)
{
    *out = NULL;
    ConstantOp *self = weir_mem_zalloc(weir_circuit_env(circuit)->mem, sizeof *self, err);
    if (self == NULL) {
        return err->code;
    }
    op_init(&self->op, &constant_type, circuit, &spec->schema);
    self->values = spec->values;
    self->row_count = spec->row_count;
    WEIR_TRY(weir_circuit_add(circuit, &self->op, NULL, 0, err));
    *out = &self->op;
    return WEIR_OK;
}
