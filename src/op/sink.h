/* sink.h: reading the sink of a circuit: the view's contents and the net change of the last step. */
#ifndef WEIR_OP_SINK_H
#define WEIR_OP_SINK_H

#include "op/op.h"
#include "trace/row_table.h"

/* The net change of the step, valid between finish_step and end_step: consolidated, retractions
 * before insertions. Calls visit for each batch; stops at its first failure. */
typedef Status (*SinkVisit)(void *user, const Batch *batch, Error *err);
Status weir_sink_visit_delta(Op *sink, SinkVisit visit, void *user, Error *err) WEIR_MUST_CHECK;
size_t weir_sink_delta_row_count(const Op *sink); /* changed distinct rows; 0 = nothing changed */

/* Takes a failed step back: the contents are those before it. Before end_step. */
void weir_sink_rollback(Op *sink);

/* The contents: rows with positive weights, all columns are keys of the table's layout in column
 * order. Between steps only. A negative weight at the end of a step fails finish_step with
 * WEIR_ERR_NEGATIVE. */
RowTable *weir_sink_table(Op *sink);
uint64_t weir_sink_row_count(const Op *sink); /* summed weights */

#endif
