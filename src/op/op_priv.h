/* op_priv.h: what the operators of this folder share. */
#ifndef WEIR_OP_OP_PRIV_H
#define WEIR_OP_OP_PRIV_H

#include "op/op.h"

/* WEIR_DOWNCAST for operators that are only read. */
#define OP_CONST(type, head) ((const type *)(const void *)(head))

/* Fills the head of a new operator. */
static inline void op_init(Op *op, const OpType *type, const Circuit *circuit, const Schema *schema)
{
    op->type = type;
    op->env = weir_circuit_env(circuit);
    op->schema = *schema;
}

/* The batch's columns as keys whose bytes are their identity: -0.0 differs from 0.0, 30 days from a
 * month. Only what SQL cannot see is made equal: values under NULL, the padding of strings.
 * *out: batch->column_count pointers from the arena. */
Status weir_op_raw_keys(const Batch *batch, Arena *arena, const Vector *const **out, Error *err)
    WEIR_MUST_CHECK;

/* The physical types of a schema, from mem (weir_mem_free). */
PhysType *weir_op_phys_types(const Schema *schema, Mem *mem, Error *err) WEIR_MUST_CHECK;

/* The batch's weights; an array of ones if it has none. */
const int64_t *weir_op_weights(const Batch *batch);

#endif
