/* aggregate_calls.c: building accumulators from calls, and feeding them a batch at a time. */
#include "op/aggregate_calls.h"

#include "op/op_priv.h"

static AggregateSignature signature_of(const AggregateCall *call)
{
    return (AggregateSignature){
        .name = call->name,
        .arg = call->args[0] == OP_NO_COLUMN ? NULL : call->arg_type,
        .type = call->type,
        .is_distinct = call->is_distinct,
    };
}

static const AggregateDef *find_def(const AggregateCall *call)
{
    if (call->args[1] != OP_NO_COLUMN || call->args[2] != OP_NO_COLUMN) {
        return NULL;
    }
    const AggregateSignature signature = signature_of(call);
    return weir_aggregate_find(&signature);
}

bool weir_op_aggregate_supports(const AggregateCall *call)
{
    return find_def(call) != NULL;
}

/* --- building -------------------------------------------------------------------------------- */

/* Finds or makes the input of a call. */
static Status add_input(AggregateCalls *self, const AggregateCall *call, bool is_distinct,
                        size_t *out, Error *err)
{
    for (size_t i = 0; i < self->input_count; i++) {
        const CallInput *input = &self->inputs[i];
        if (input->arg == call->args[0] && input->filter == call->filter &&
            input->is_distinct == is_distinct) {
            *out = i;
            return WEIR_OK;
        }
    }
    CallInput *input = &self->inputs[self->input_count];
    *input = (CallInput){
        .arg = call->args[0],
        .filter = call->filter,
        .is_distinct = is_distinct,
    };
    self->input_count++;
    *out = self->input_count - 1;
    if (!is_distinct) {
        return WEIR_OK;
    }
    self->has_numbers = true;
    return weir_distinct_set_init(&input->distinct, self->mem, self->pool, call->arg_type, err);
}

/* Finds or makes an accumulator of an input. */
static Status add_accumulator(const AggregateCalls *self, CallInput *input,
                              const AccumulatorType *type, const LogicalType *arg, size_t *out,
                              Error *err)
{
    for (size_t i = 0; i < input->accumulator_count; i++) {
        if (input->accumulators[i].type == type) {
            *out = i;
            return WEIR_OK;
        }
    }
    const size_t count = input->accumulator_count + 1;
    Accumulator *accumulators =
        weir_mem_realloc(self->mem, input->accumulators, count * sizeof *accumulators, err);
    if (accumulators == NULL) {
        return err->code;
    }
    input->accumulators = accumulators;
    Accumulator *accumulator = &accumulators[count - 1];
    const Status status = weir_accumulator_open(accumulator, type, arg, self->mem, self->pool, err);
    if (status != WEIR_OK) {
        weir_accumulator_close(accumulator);
        return status;
    }
    input->accumulator_count = count;
    *out = count - 1;
    return WEIR_OK;
}

static Status add_call(AggregateCalls *self, size_t index, Error *err)
{
    const AggregateCall *call = &self->calls[index];
    const AggregateDef *def = find_def(call);
    if (def == NULL) {
        return weir_error_set(err, WEIR_ERR_OPERATOR,
                              "the aggregate function %s%s is not supported", call->name,
                              call->is_distinct ? " with DISTINCT" : "");
    }
    const bool is_distinct = call->is_distinct && (def->flags & AGGREGATE_DISTINCT_MOOT) == 0;
    const bool is_of_rows = call->args[0] == OP_NO_COLUMN && call->filter == OP_NO_COLUMN;
    const AccumulatorType *type = is_of_rows ? &weir_accumulator_rows : def->accumulator;
    CallResult *result = &self->results[index];
    result->def = def;
    self->shows_states = self->shows_states && (def->flags & AGGREGATE_SHOWS_STATE) != 0;
    WEIR_TRY(add_input(self, call, is_distinct, &result->input, err));
    const LogicalType *arg = call->args[0] == OP_NO_COLUMN ? NULL : call->arg_type;
    return add_accumulator(self, &self->inputs[result->input], type, arg, &result->accumulator,
                           err);
}

/* Gives every accumulator its place in the state. */
static void lay_out_state(AggregateCalls *self)
{
    size_t offset = 0;
    for (size_t i = 0; i < self->input_count; i++) {
        CallInput *input = &self->inputs[i];
        for (size_t k = 0; k < input->accumulator_count; k++) {
            input->accumulators[k].shown = (uint32_t)offset;
            offset += input->accumulators[k].type->shown_bytes;
        }
    }
    self->shown_bytes = offset;
    for (size_t i = 0; i < self->input_count; i++) {
        CallInput *input = &self->inputs[i];
        for (size_t k = 0; k < input->accumulator_count; k++) {
            input->accumulators[k].hidden = (uint32_t)offset;
            offset += input->accumulators[k].hidden_bytes;
        }
    }
    self->number_offset = offset;
    self->state_bytes = offset + (self->has_numbers ? sizeof(uint64_t) : 0);
}

Status weir_aggregate_calls_init(AggregateCalls *self, const CircuitEnv *env,
                                 const AggregateCall *calls, size_t count, Error *err)
{
    *self = (AggregateCalls){
        .mem = env->mem,
        .pool = env->pool,
        .calls = calls,
        .count = count,
        .shows_states = true,
    };
    self->results = weir_mem_calloc(env->mem, count, sizeof *self->results, err);
    self->inputs = weir_mem_calloc(env->mem, count, sizeof *self->inputs, err);
    Status status = self->results == NULL || self->inputs == NULL ? WEIR_ERR_NOMEM : WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = add_call(self, i, err);
    }
    if (status != WEIR_OK) {
        weir_aggregate_calls_deinit(self);
        return status;
    }
    lay_out_state(self);
    return WEIR_OK;
}

void weir_aggregate_calls_deinit(AggregateCalls *self)
{
    if (self->mem == NULL) {
        return;
    }
    for (size_t i = 0; self->inputs != NULL && i < self->input_count; i++) {
        CallInput *input = &self->inputs[i];
        for (size_t k = 0; k < input->accumulator_count; k++) {
            weir_accumulator_close(&input->accumulators[k]);
        }
        weir_mem_free(self->mem, input->accumulators);
        weir_distinct_set_deinit(&input->distinct);
    }
    weir_mem_free(self->mem, self->inputs);
    weir_mem_free(self->mem, self->results);
    *self = (AggregateCalls){0};
}

void weir_aggregate_calls_place(AggregateCalls *self, size_t state_offset)
{
    WEIR_ASSERT(self->state_offset == 0);
    self->state_offset = state_offset;
    self->number_offset += state_offset;
    for (size_t i = 0; i < self->input_count; i++) {
        CallInput *input = &self->inputs[i];
        for (size_t k = 0; k < input->accumulator_count; k++) {
            input->accumulators[k].shown += (uint32_t)state_offset;
            input->accumulators[k].hidden += (uint32_t)state_offset;
        }
    }
}

/* --- a batch --------------------------------------------------------------------------------- */

/* What a batch contributes to one input. */
typedef struct CallRows {
    Vector arg;                /* flat */
    const uint16_t *selection; /* NULL = all rows */
    size_t count;
    const int64_t *weights; /* by place */
} CallRows;

/* Rows whose filter is TRUE and whose argument is not NULL; either may be absent. */
static size_t select_rows(const Vector *filter, const Vector *arg, size_t count,
                          uint16_t *selection)
{
    const uint8_t *passes = filter == NULL ? NULL : filter->data;
    const uint64_t *pass_validity = filter == NULL ? NULL : filter->validity;
    const uint64_t *arg_validity = arg == NULL ? NULL : arg->validity;
    size_t selected = 0;
    for (size_t i = 0; i < count; i++) {
        selection[selected] = (uint16_t)i;
        selected += (passes == NULL || passes[i] != 0) && weir_validity_get(pass_validity, i) &&
                    weir_validity_get(arg_validity, i);
    }
    return selected;
}

/* Argument and filter of an input; selection NULL if all rows take part. */
static Status find_rows(const CallInput *input, const Batch *batch, Arena *arena, CallRows *out,
                        Error *err)
{
    *out = (CallRows){.count = batch->count, .weights = weir_op_weights(batch)};
    const Vector *arg = NULL;
    if (input->arg != OP_NO_COLUMN) {
        const Vector *column = &batch->columns[input->arg];
        WEIR_TRY(weir_vector_flatten(column, batch->count, arena, &out->arg, err));
        arg = &out->arg;
    }
    Vector filter = {0};
    if (input->filter != OP_NO_COLUMN) {
        const Vector *column = &batch->columns[input->filter];
        WEIR_TRY(weir_vector_flatten(column, batch->count, arena, &filter, err));
    }
    const bool has_filter = input->filter != OP_NO_COLUMN;
    if (!has_filter && (arg == NULL || arg->validity == NULL)) {
        return WEIR_OK;
    }
    uint16_t *selection = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *selection, err);
    if (selection == NULL) {
        return err->code;
    }
    out->count = select_rows(has_filter ? &filter : NULL, arg, batch->count, selection);
    out->selection = out->count == batch->count ? NULL : selection;
    return WEIR_OK;
}

/* The numbers of the groups of the selected rows; new groups get one. */
static Status number_groups(AggregateCalls *self, const CallRows *in, Row *const *rows,
                            Arena *arena, const uint64_t **out, Error *err)
{
    uint64_t *numbers = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *numbers, err);
    if (numbers == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < in->count; i++) {
        Row *row = rows[in->selection == NULL ? i : in->selection[i]];
        uint64_t *number = (uint64_t *)(void *)((char *)row + self->number_offset);
        if (*number == 0) {
            self->last_number++;
            *number = self->last_number;
        }
        numbers[i] = *number;
    }
    *out = numbers;
    return WEIR_OK;
}

/* Replaces the rows by those that make a value enter or leave its group. */
static Status keep_changes(AggregateCalls *self, CallInput *input, Row *const *rows, Arena *arena,
                           CallRows *inout, Error *err)
{
    const uint64_t *numbers = NULL;
    WEIR_TRY(number_groups(self, inout, rows, arena, &numbers, err));
    DistinctOutput out = {
        .selection = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(uint16_t), err),
        .weights = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(int64_t), err),
    };
    if (out.selection == NULL || out.weights == NULL) {
        return err->code;
    }
    const DistinctInput in = {
        .arg = &inout->arg,
        .groups = numbers,
        .selection = inout->selection,
        .count = inout->count,
        .weights = inout->weights,
    };
    WEIR_TRY(weir_distinct_set_apply(&input->distinct, &in, arena, &out, err));
    inout->selection = out.selection;
    inout->count = out.count;
    inout->weights = out.weights;
    return WEIR_OK;
}

static Status update_input(AggregateCalls *self, CallInput *input, const Batch *batch,
                           Row *const *rows, Row *lone, Step *step, Error *err)
{
    Arena *const arena = &step->scratch;
    CallRows taking = {0};
    WEIR_TRY(find_rows(input, batch, arena, &taking, err));
    if (input->is_distinct && taking.count > 0) {
        WEIR_TRY(keep_changes(self, input, rows, arena, &taking, err));
    }
    if (taking.count == 0) {
        return WEIR_OK;
    }
    const AccumulatorInput in = {
        .arg = input->arg == OP_NO_COLUMN ? NULL : &taking.arg,
        .selection = taking.selection,
        .count = taking.count,
        .weights = taking.weights,
        .rows = rows,
        .lone = lone,
        .is_first = step->is_first,
    };
    for (size_t i = 0; i < input->accumulator_count; i++) {
        Accumulator *accumulator = &input->accumulators[i];
        WEIR_TRY(accumulator->update(accumulator, &in, err));
    }
    return WEIR_OK;
}

Status weir_aggregate_calls_update(AggregateCalls *self, const Batch *batch, Row *const *rows,
                                   Row *lone, Step *step, Error *err)
{
    for (size_t i = 0; i < self->input_count; i++) {
        const ArenaMark mark = weir_arena_mark(&step->scratch);
        WEIR_TRY(update_input(self, &self->inputs[i], batch, rows, lone, step, err));
        weir_arena_release(&step->scratch, mark);
    }
    return WEIR_OK;
}

/* --- the end of a step ----------------------------------------------------------------------- */

Status weir_aggregate_calls_check(const AggregateCalls *self, Error *err)
{
    for (size_t i = 0; i < self->input_count; i++) {
        if (self->inputs[i].is_distinct) {
            WEIR_TRY(weir_distinct_set_check(&self->inputs[i].distinct, err));
        }
    }
    return WEIR_OK;
}

Status weir_aggregate_calls_settle(AggregateCalls *self, Row *const *rows, size_t count, Error *err)
{
    for (size_t i = 0; i < self->input_count; i++) {
        CallInput *input = &self->inputs[i];
        for (size_t k = 0; k < input->accumulator_count; k++) {
            Accumulator *accumulator = &input->accumulators[k];
            if (accumulator->type->settle != NULL) {
                WEIR_TRY(accumulator->type->settle(accumulator, rows, count, err));
            }
        }
    }
    return WEIR_OK;
}

Status weir_aggregate_calls_finish(const AggregateCalls *self, size_t call,
                                   const char *const *shown, size_t count, Vector *out,
                                   uint64_t *validity, Error *err)
{
    WEIR_ASSERT(self->state_offset > 0);
    const CallResult *result = &self->results[call];
    const Accumulator *accumulator = &self->inputs[result->input].accumulators[result->accumulator];
    const AggregateFinish finish = {
        .arg = accumulator->arg,
        .shown = shown,
        .offset = accumulator->shown - (uint32_t)self->state_offset,
        .count = count,
        .out = out,
        .validity = validity,
    };
    memset(validity, 0xFF, VECTOR_VALIDITY_WORDS * sizeof *validity);
    out->validity = NULL;
    return result->def->finish(&finish, err);
}

void weir_aggregate_calls_forget(AggregateCalls *self, Row *row)
{
    for (size_t i = 0; i < self->input_count; i++) {
        CallInput *input = &self->inputs[i];
        for (size_t k = 0; k < input->accumulator_count; k++) {
            Accumulator *accumulator = &input->accumulators[k];
            if (accumulator->type->forget != NULL) {
                accumulator->type->forget(accumulator, row);
            }
        }
    }
}

bool weir_aggregate_calls_must_forget(const AggregateCalls *self)
{
    for (size_t i = 0; i < self->input_count; i++) {
        const CallInput *input = &self->inputs[i];
        for (size_t k = 0; k < input->accumulator_count; k++) {
            const AccumulatorType *type = input->accumulators[k].type;
            if (type->forget != NULL && type->close == NULL) {
                return true;
            }
        }
    }
    return false;
}

void weir_aggregate_calls_end_step(AggregateCalls *self)
{
    for (size_t i = 0; i < self->input_count; i++) {
        CallInput *input = &self->inputs[i];
        if (input->is_distinct) {
            weir_distinct_set_end_step(&input->distinct);
        }
        for (size_t k = 0; k < input->accumulator_count; k++) {
            Accumulator *accumulator = &input->accumulators[k];
            if (accumulator->type->end_step != NULL) {
                accumulator->type->end_step(accumulator);
            }
        }
    }
}

size_t weir_aggregate_calls_bytes(const AggregateCalls *self)
{
    size_t bytes = 0;
    for (size_t i = 0; i < self->input_count; i++) {
        const CallInput *input = &self->inputs[i];
        bytes += input->is_distinct ? weir_distinct_set_bytes(&input->distinct) : 0;
        for (size_t k = 0; k < input->accumulator_count; k++) {
            const Accumulator *accumulator = &input->accumulators[k];
            bytes += accumulator->type->bytes == NULL ? 0 : accumulator->type->bytes(accumulator);
        }
    }
    return bytes;
}
