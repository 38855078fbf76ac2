/* op_union.c: the sum of several streams.
 *
 * SQL: UNION ALL.  Delta rule: out += in of every port.  State: none.  Cost of a step: O(delta). */
#include "op/op_priv.h"

static Status union_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    WEIR_UNUSED(port);
    return weir_op_emit(op, batch, step, err);
}

static void union_free(Op *op)
{
    weir_mem_free(op->env->mem, op);
}

static const OpType union_type = {
    .name = "union",
    .cost = "O(delta)",
    .push = union_push,
    .free = union_free,
};

Status weir_op_union_new(Circuit *circuit, Op *const *inputs, size_t input_count,
                         const Schema *schema, Op **out, Error *err)
{
    *out = NULL;
    Op *self = weir_mem_zalloc(weir_circuit_env(circuit)->mem, sizeof *self, err);
    if (self == NULL) {
        return err->code;
    }
    op_init(self, &union_type, circuit, schema);
    for (size_t i = 0; i < input_count; i++) {
        WEIR_ASSERT(inputs[i]->schema.count == schema->count);
    }
    WEIR_TRY(weir_circuit_add(circuit, self, inputs, input_count, err));
    *out = self;
    return WEIR_OK;
}
