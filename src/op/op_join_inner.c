/* op_join_inner.c: rows of both sides with equal keys.
 *
 * SQL: a JOIN b ON a.k = b.k AND residual.
 * Delta rule: a pushed batch of one side is paired with the other side as it is at that moment, then
 * added to its own: (a + da) |x| (b + db) - a |x| b = da |x| b + (a + da) |x| db, in any order of
 * pushes; both ports may be fed by one stream.
 * State: an arrangement of each side by key. Rows with a NULL in a key that is not null safe are
 * dropped: they never match. In the first step a side is loaded, and settled when the other side
 * wants to see it or the step ends: it is indexed as a whole.
 * Cost of a step: O(delta + pairs). */
#include "op/op_join_priv.h"

typedef struct InnerJoin {
    JoinOp join;
    JoinTrace traces[2];
} InnerJoin;

static Status inner_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    InnerJoin *self = WEIR_DOWNCAST(InnerJoin, op);
    JoinBatch all = {0};
    JoinBatch delta = {0};
    JoinBatch others = {0};
    WEIR_TRY(weir_join_load(&self->join, port, batch, &step->scratch, &all, err));
    WEIR_TRY(weir_join_split(&self->join, port, &all, &step->scratch, &delta, &others, err));
    JoinTrace *partner = &self->traces[1 - port];
    const JoinPairs pairs = {.port = port, .batch = &delta, .partner = partner};
    WEIR_TRY(weir_join_trace_settle(partner, err));
    WEIR_TRY(weir_join_emit_pairs(&self->join, &pairs, step, err));
    return weir_join_trace_add(&self->traces[port], &delta, step, err);
}

static Status inner_flush(Op *op, Step *step, Error *err)
{
    WEIR_UNUSED(step);
    InnerJoin *self = WEIR_DOWNCAST(InnerJoin, op);
    WEIR_TRY(weir_join_trace_settle(&self->traces[0], err));
    return weir_join_trace_settle(&self->traces[1], err);
}

static void inner_end_step(Op *op)
{
    InnerJoin *self = WEIR_DOWNCAST(InnerJoin, op);
    weir_arrangement_end_step(self->traces[0].arrangement);
    weir_arrangement_end_step(self->traces[1].arrangement);
}

static size_t inner_state_bytes(const Op *op)
{
    const InnerJoin *self = OP_CONST(InnerJoin, op);
    return weir_arrangement_bytes(self->traces[0].arrangement) +
           weir_arrangement_bytes(self->traces[1].arrangement);
}

static size_t inner_state_rows(const Op *op)
{
    const InnerJoin *self = OP_CONST(InnerJoin, op);
    return weir_arrangement_row_count(self->traces[0].arrangement) +
           weir_arrangement_row_count(self->traces[1].arrangement);
}

static void inner_free(Op *op)
{
    InnerJoin *self = WEIR_DOWNCAST(InnerJoin, op);
    Mem *mem = op->env->mem;
    weir_join_trace_deinit(&self->traces[0]);
    weir_join_trace_deinit(&self->traces[1]);
    weir_join_deinit(&self->join);
    weir_mem_free(mem, self);
}

static const OpType inner_type = {
    .name = "join",
    .cost = "O(delta + pairs)",
    .push = inner_push,
    .flush = inner_flush,
    .end_step = inner_end_step,
    .state_bytes = inner_state_bytes,
    .state_rows = inner_state_rows,
    .describe = weir_join_describe,
    .free = inner_free,
};

static Status inner_init(JoinOp *join, const Circuit *circuit, const JoinPlan *plan, Error *err)
{
    InnerJoin *self = WEIR_DOWNCAST(InnerJoin, join);
    WEIR_TRY(weir_join_init(join, &inner_type, circuit, plan, err));
    for (size_t s = 0; s < 2; s++) {
        const RowLayoutSpec spec = join_layout_spec(&join->sides[s]);
        WEIR_TRY(weir_join_trace_init(&self->traces[s], join, &spec, err));
    }
    return WEIR_OK;
}

Status weir_join_inner_new(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
{
    return weir_join_new(circuit, plan, sizeof(InnerJoin), inner_init, out, err);
}
