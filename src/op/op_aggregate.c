/* op_aggregate.c: groups and their aggregates.
 *
 * SQL: SELECT groups, calls FROM in GROUP BY groups; without calls SELECT DISTINCT groups.
 * Delta rule: out = result(contents + in) - result(contents), for the groups that in touches.
 * State: a group row for every group with input (group_table.h), with what its aggregates need
 * (aggregate_calls.h); values behind minima and DISTINCT beside it.
 * Cost of a step: O(delta).
 *
 * A push adds the rows to their groups; the first touch of a group in a step copies what it shows.
 * The flush walks the touched groups in parts, and emits for each the old row with weight -1 and the
 * new one with weight 1, retractions first; nothing for a group whose row is the same as before. A
 * group is there while its weight is above 0; the group of a global aggregate always. */
#include "op/aggregate_calls.h"
#include "op/group_table.h"
#include "op/op_priv.h"

enum {
    AGGREGATE_PART = BATCH_CAPACITY / 2, /* groups of one output batch */
    AGGREGATE_PREFETCH = 16,
};

typedef struct AggregateOp {
    Op op;
    Schema input;
    AggregateSpec spec;
    AggregateCalls calls;
    GroupTable groups;
    bool has_spoken; /* a global aggregate's row was emitted */
} AggregateOp;

/* The touched groups of one part, and the rows they make: first retractions, then insertions. */
typedef struct AggregatePart {
    Row *touched[AGGREGATE_PART];
    Row *rows[BATCH_CAPACITY];         /* of output row i, for its group columns */
    const char *shown[BATCH_CAPACITY]; /* of output row i, for its results */
    int64_t weights[BATCH_CAPACITY];
    uint16_t pairs[AGGREGATE_PART][2]; /* output rows of a group that was and is there */
    size_t pair_count;
    size_t removal_count;
    size_t count; /* output rows */
} AggregatePart;

/* --- step ------------------------------------------------------------------------------------ */

static Status aggregate_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    WEIR_UNUSED(port);
    AggregateOp *self = WEIR_DOWNCAST(AggregateOp, op);
    Row *rows[BATCH_CAPACITY];
    WEIR_TRY(weir_group_table_apply(&self->groups, batch, &step->scratch, rows, err));
    return weir_aggregate_calls_update(&self->calls, batch, rows, self->groups.lone, step, err);
}

static bool is_there(const AggregateOp *self, int64_t weight)
{
    return weight > 0 || self->spec.is_global;
}

static bool was_there(const AggregateOp *self, const GroupEntry *entry)
{
    return self->spec.is_global ? self->has_spoken : entry->weight > 0;
}

static GroupEntry *entry_at(const AggregateOp *self, void *entries, size_t i)
{
    return (GroupEntry *)(void *)((char *)entries + i * self->groups.touched.entry_bytes);
}

/* Fetches the state of a group that a later turn of a loop reads. */
static void prefetch_group(const AggregateOp *self, const GroupEntry *entry)
{
    const RowLayout *layout = weir_group_table_layout(&self->groups);
    const char *row = (const char *)entry->row;
    for (uint32_t at = 0; at < layout->fixed_bytes; at += 64) {
        __builtin_prefetch(row + at, 1);
    }
    __builtin_prefetch(row + layout->fixed_bytes - 1, 1);
}

/* Collects the rows of the entries and brings their shown parts up to date. */
static Status part_settle(AggregateOp *self, AggregatePart *part, void *entries, size_t count,
                          Error *err)
{
    for (size_t i = 0; i < count; i++) {
        part->touched[i] = entry_at(self, entries, i)->row;
        if (i + AGGREGATE_PREFETCH < count) {
            prefetch_group(self, entry_at(self, entries, i + AGGREGATE_PREFETCH));
        }
        if (weir_row_weight(part->touched[i]) < 0) {
            return weir_error_set(err, WEIR_ERR_NEGATIVE,
                                  "a group would hold %lld rows: more were removed than added",
                                  (long long)weir_row_weight(part->touched[i]));
        }
    }
    return weir_aggregate_calls_settle(&self->calls, part->touched, count, err);
}

/* Decides which output rows the entries make. */
static void part_decide(const AggregateOp *self, AggregatePart *part, void *entries, size_t count)
{
    const size_t shown_bytes = self->groups.spec.shown_bytes;
    const RowLayout *layout = weir_group_table_layout(&self->groups);
    Row *inserted[AGGREGATE_PART];
    size_t insertion_count = 0;
    part->pair_count = 0;
    part->removal_count = 0;
    for (size_t i = 0; i < count; i++) {
        const GroupEntry *entry = entry_at(self, entries, i);
        Row *row = part->touched[i];
        const bool was = was_there(self, entry);
        const bool is = is_there(self, weir_row_weight(row));
        if (was && is && memcmp(entry->shown, weir_row_state(layout, row), shown_bytes) == 0) {
            continue;
        }
        if (was && is) {
            part->pairs[part->pair_count][0] = (uint16_t)part->removal_count;
            part->pairs[part->pair_count][1] = (uint16_t)insertion_count;
            part->pair_count++;
        }
        if (was) {
            part->rows[part->removal_count] = row;
            part->shown[part->removal_count] = entry->shown;
            part->removal_count++;
        }
        inserted[insertion_count] = row;
        insertion_count += is;
    }
    part->count = part->removal_count + insertion_count;
    for (size_t i = 0; i < part->removal_count; i++) {
        part->weights[i] = -1;
    }
    for (size_t i = 0; i < insertion_count; i++) {
        part->rows[part->removal_count + i] = inserted[i];
        part->shown[part->removal_count + i] = weir_row_state(layout, inserted[i]);
        part->weights[part->removal_count + i] = 1;
    }
}

static Status part_fill(const AggregateOp *self, const AggregatePart *part, Batch *out,
                        Arena *arena, Error *err)
{
    const size_t group_count = self->spec.group_count;
    const Schema *schema = &self->op.schema;
    out->columns = weir_arena_calloc(arena, schema->count, sizeof *out->columns, err);
    uint64_t *validity =
        weir_arena_calloc(arena, schema->count, VECTOR_VALIDITY_WORDS * sizeof(uint64_t), err);
    if (out->columns == NULL || validity == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < schema->count; i++) {
        WEIR_TRY(
            weir_vector_init(&out->columns[i], schema->types[i]->phys, part->count, arena, err));
    }
    for (size_t i = 0; i < group_count; i++) {
        weir_group_table_unpack(&self->groups, part->rows, part->count, i, &out->columns[i],
                                validity + i * VECTOR_VALIDITY_WORDS);
    }
    for (size_t i = 0; i < self->spec.call_count; i++) {
        const size_t column = group_count + i;
        WEIR_TRY(weir_aggregate_calls_finish(&self->calls, i, part->shown, part->count,
                                             &out->columns[column],
                                             validity + column * VECTOR_VALIDITY_WORDS, err));
    }
    out->count = part->count;
    out->column_count = schema->count;
    out->weights = part->weights;
    return WEIR_OK;
}

static bool values_equal(const Vector *column, size_t a, size_t b)
{
    if (weir_vector_is_null(column, a) || weir_vector_is_null(column, b)) {
        return weir_vector_is_null(column, a) && weir_vector_is_null(column, b);
    }
    if (column->phys == PHYS_STRING) {
        const String *values = column->data;
        return weir_string_equal(&values[a], &values[b]);
    }
    const size_t width = weir_phys_width(column->phys);
    const char *data = column->data;
    return memcmp(data + a * width, data + b * width, width) == 0;
}

/* Drops the pairs of rows that are the same: other states can have the same result. */
static Status part_drop_equal(const AggregateOp *self, const AggregatePart *part, Batch *out,
                              Arena *arena, Error *err)
{
    bool is_dropped[BATCH_CAPACITY];
    size_t dropped = 0;
    memset(is_dropped, false, out->count);
    for (size_t i = 0; i < part->pair_count; i++) {
        const size_t old = part->pairs[i][0];
        const size_t new = part->removal_count + part->pairs[i][1];
        bool is_same = true;
        for (size_t k = self->spec.group_count; k < out->column_count && is_same; k++) {
            is_same = values_equal(&out->columns[k], old, new);
        }
        is_dropped[old] = is_same;
        is_dropped[new] = is_same;
        dropped += is_same ? 2 : 0;
    }
    if (dropped == 0) {
        return WEIR_OK;
    }
    uint16_t selection[BATCH_CAPACITY];
    size_t count = 0;
    for (size_t i = 0; i < out->count; i++) {
        selection[count] = (uint16_t)i;
        count += !is_dropped[i];
    }
    const Batch all = *out;
    return weir_batch_gather(&all, selection, count, arena, out, err);
}

/* The entries no longer count as touched; groups without rows leave. */
static void part_release(AggregateOp *self, const AggregatePart *part, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Row *row = part->touched[i];
        if (weir_row_weight(row) == 0 && row != self->groups.lone) {
            weir_aggregate_calls_forget(&self->calls, row);
        }
        weir_group_table_release(&self->groups, row);
    }
}

static Status part_flush(AggregateOp *self, AggregatePart *part, void *entries, size_t count,
                         Step *step, Error *err)
{
    WEIR_TRY(part_settle(self, part, entries, count, err));
    part_decide(self, part, entries, count);
    if (part->count > 0) {
        Batch batch = {0};
        WEIR_TRY(part_fill(self, part, &batch, &step->scratch, err));
        if (part->pair_count > 0 && !self->calls.shows_states) {
            WEIR_TRY(part_drop_equal(self, part, &batch, &step->scratch, err));
        }
        WEIR_TRY(weir_op_emit(&self->op, &batch, step, err));
    }
    part_release(self, part, count);
    return WEIR_OK;
}

static Status aggregate_flush(Op *op, Step *step, Error *err)
{
    AggregateOp *self = WEIR_DOWNCAST(AggregateOp, op);
    const TouchedList *touched = &self->groups.touched;
    if (self->spec.is_global && !self->has_spoken) {
        WEIR_TRY(weir_group_table_touch_lone(&self->groups, err));
    }
    if (touched->count == 0) {
        return WEIR_OK;
    }
    WEIR_TRY(weir_aggregate_calls_check(&self->calls, err));
    AggregatePart *part = weir_arena_alloc(&step->scratch, sizeof *part, err);
    if (part == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < touched->count;) {
        const ArenaMark mark = weir_arena_mark(&step->scratch);
        size_t count = 0;
        void *entries = weir_touched_run(touched, i, &count);
        count = WEIR_MIN(count, (size_t)AGGREGATE_PART);
        WEIR_TRY(part_flush(self, part, entries, count, step, err));
        weir_arena_release(&step->scratch, mark);
        i += count;
    }
    self->has_spoken = true;
    return WEIR_OK;
}

static void aggregate_end_step(Op *op)
{
    AggregateOp *self = WEIR_DOWNCAST(AggregateOp, op);
    weir_aggregate_calls_end_step(&self->calls);
    weir_group_table_end_step(&self->groups);
}

/* --- account, free, constructor -------------------------------------------------------------- */

static size_t aggregate_state_bytes(const Op *op)
{
    const AggregateOp *self = OP_CONST(AggregateOp, op);
    return weir_group_table_bytes(&self->groups) + weir_aggregate_calls_bytes(&self->calls);
}

static size_t aggregate_state_rows(const Op *op)
{
    return weir_group_table_row_count(&OP_CONST(AggregateOp, op)->groups);
}

static void put_column(Buf *out, const Schema *input, size_t column)
{
    if (input->names != NULL && input->names[column] != NULL) {
        weir_buf_puts(out, input->names[column]);
    } else {
        weir_buf_printf(out, "c%zu", column);
    }
}

static void put_call(Buf *out, const Schema *input, const AggregateCall *call)
{
    weir_buf_printf(out, "%s(%s", call->name, call->is_distinct ? "distinct " : "");
    if (call->args[0] != OP_NO_COLUMN) {
        put_column(out, input, (size_t)call->args[0]);
    }
    weir_buf_putc(out, ')');
    if (call->filter != OP_NO_COLUMN) {
        weir_buf_puts(out, " filter ");
        put_column(out, input, (size_t)call->filter);
    }
}

static void aggregate_describe(const Op *op, Buf *out)
{
    const AggregateOp *self = OP_CONST(AggregateOp, op);
    for (size_t i = 0; i < self->spec.call_count; i++) {
        weir_buf_puts(out, i == 0 ? "" : ", ");
        put_call(out, &self->input, &self->spec.calls[i]);
    }
    if (self->spec.call_count == 0) {
        weir_buf_puts(out, "distinct");
    }
    for (size_t i = 0; i < self->spec.group_count; i++) {
        weir_buf_puts(out, i == 0 ? " by " : ", ");
        put_column(out, &self->input, self->spec.group_columns[i]);
    }
}

/* Some states own memory outside of the table and the spaces. */
static void aggregate_forget_all(AggregateOp *self)
{
    if (self->groups.lone != NULL) {
        weir_aggregate_calls_forget(&self->calls, self->groups.lone);
        return;
    }
    uint64_t cursor = 0;
    Row *row = NULL;
    while (weir_row_table_scan(&self->groups.table, &cursor, &row, 1) > 0) {
        weir_aggregate_calls_forget(&self->calls, row);
    }
}

static void aggregate_free(Op *op)
{
    AggregateOp *self = WEIR_DOWNCAST(AggregateOp, op);
    if (self->groups.mem != NULL && weir_aggregate_calls_must_forget(&self->calls)) {
        aggregate_forget_all(self);
    }
    weir_group_table_deinit(&self->groups);
    weir_aggregate_calls_deinit(&self->calls);
    weir_mem_free(op->env->mem, self);
}

static const OpType aggregate_type = {
    .name = "aggregate",
    .cost = "O(delta)",
    .push = aggregate_push,
    .flush = aggregate_flush,
    .end_step = aggregate_end_step,
    .state_bytes = aggregate_state_bytes,
    .state_rows = aggregate_state_rows,
    .describe = aggregate_describe,
    .free = aggregate_free,
};

static Status aggregate_open(AggregateOp *self, Error *err)
{
    const CircuitEnv *env = self->op.env;
    const AggregateSpec *spec = &self->spec;
    WEIR_TRY(weir_aggregate_calls_init(&self->calls, env, spec->calls, spec->call_count, err));
    const GroupTableSpec groups = {
        .input = &self->input,
        .group_columns = spec->group_columns,
        .group_count = spec->group_count,
        .shown_bytes = self->calls.shown_bytes,
        .state_bytes = self->calls.state_bytes,
    };
    WEIR_TRY(weir_group_table_init(&self->groups, env, &groups, err));
    weir_aggregate_calls_place(&self->calls, weir_group_table_layout(&self->groups)->state_offset);
    return WEIR_OK;
}

Status weir_op_aggregate_new(Circuit *circuit, Op *input, const AggregateSpec *spec, Op **out,
                             Error *err)
{
    WEIR_ASSERT(!spec->is_global || spec->group_count == 0);
    WEIR_ASSERT(spec->schema.count == spec->group_count + spec->call_count);
    *out = NULL;
    AggregateOp *self = weir_mem_zalloc(weir_circuit_env(circuit)->mem, sizeof *self, err);
    if (self == NULL) {
        return err->code;
    }
    op_init(&self->op, &aggregate_type, circuit, &spec->schema);
    self->input = input->schema;
    self->spec = *spec;
    const Status status = aggregate_open(self, err);
    if (status != WEIR_OK) {
        aggregate_free(&self->op);
        return status;
    }
    WEIR_TRY(weir_circuit_add(circuit, &self->op, &input, 1, err));
    *out = &self->op;
    return WEIR_OK;
}
