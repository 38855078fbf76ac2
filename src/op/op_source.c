/* op_source.c: where the deltas of a table or a view enter a circuit.
 *
 * SQL: a name in FROM.  Delta rule: out += in.  State: none.  Cost of a step: O(delta). */
#include "op/op_priv.h"

typedef struct SourceOp {
    Op op;
    char *label; /* owned */
} SourceOp;

static Status source_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    WEIR_UNUSED(port);
    return weir_op_emit(op, batch, step, err);
}

static void source_describe(const Op *op, Buf *out)
{
    weir_buf_puts(out, OP_CONST(SourceOp, op)->label);
}

static void source_free(Op *op)
{
    SourceOp *self = WEIR_DOWNCAST(SourceOp, op);
    Mem *mem = op->env->mem;
    weir_mem_free(mem, self->label);
    weir_mem_free(mem, self);
}

static const OpType source_type = {
    .name = "source",
    .cost = "O(delta)",
    .push = source_push,
    .describe = source_describe,
    .free = source_free,
};

Status weir_op_source_new(Circuit *circuit, const Schema *schema, const char *label, Op **out,
                          Error *err)
{
    *out = NULL;
    Mem *mem = weir_circuit_env(circuit)->mem;
    SourceOp *self = weir_mem_zalloc(mem, sizeof *self, err);
    if (self == NULL) {
        return err->code;
    }
    op_init(&self->op, &source_type, circuit, schema);
    self->label = weir_mem_strdup(mem, label, err);
    if (self->label == NULL) {
        source_free(&self->op);
        return err->code;
    }
    WEIR_TRY(weir_circuit_add(circuit, &self->op, NULL, 0, err));
    *out = &self->op;
    return WEIR_OK;
}
