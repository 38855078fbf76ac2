/* op_sink.c: the contents of a view and the net change of a step.
 *
 * SQL: the view itself.
 * Delta rule: contents' = contents + in; out = contents' - contents, consolidated.
 * State: a RowTable with all columns as its key, by their raw bytes: -0.0 and 0.0 are two rows here,
 * since a reader sees which of them is there. A row's weight is its header's; link 1 = listed as
 * touched in this step together with the weight it had before. In the circuit's first step every row
 * is new and the table itself is the change: only rows whose weight was 0 or less are listed.
 * Cost of a step: O(delta). */
#include "op/sink.h"

#include "base/checked.h"
#include "op/op_priv.h"
#include "trace/touched.h"

enum { SINK_SCAN_ROWS = 64 }; /* rows of one look into the table */

typedef struct SinkEntry {
    Row *row;       /* borrowed from the table */
    int64_t before; /* its weight before the step */
} SinkEntry;

typedef struct SinkOp {
    Op op;
    RowTable table;
    TouchedList touched;
    Arena arena;               /* of visits */
    size_t change_count;       /* touched rows whose weight differs from before */
    uint64_t row_count;        /* summed weights */
    uint64_t row_count_before; /* that of the last step's end */
    i128 filled_count;         /* summed weights of the first step */
    bool is_filling;           /* the first step is under way */
    bool has_table;
} SinkOp;

/* --- step ------------------------------------------------------------------------------------ */

static Status sink_touch(SinkOp *self, Row *row, int64_t before, Error *err)
{
    SinkEntry *entry = weir_touched_add(&self->touched, err);
    if (entry == NULL) {
        return err->code;
    }
    *entry = (SinkEntry){.row = row, .before = before};
    weir_row_set_link(row, 1);
    return WEIR_OK;
}

static Status sink_weight_error(Error *err)
{
    return weir_error_set(err, WEIR_ERR_WEIGHT, "a row of the view stands too often in it");
}

/* Adds the weights of the first step. */
static Status sink_fill(SinkOp *self, Row *const *rows, const int64_t *weights, size_t count,
                        Error *err)
{
    for (size_t i = 0; i < count; i++) {
        int64_t weight = 0;
        if (weir_add_i64(weir_row_weight(rows[i]), weights[i], &weight)) {
            return sink_weight_error(err);
        }
        self->filled_count += weights[i];
        weir_row_set_weight(rows[i], weight);
        if (weight <= 0 && weir_row_link(rows[i]) == 0) {
            WEIR_TRY(sink_touch(self, rows[i], 0, err));
        }
    }
    return WEIR_OK;
}

static Status sink_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    WEIR_UNUSED(port);
    SinkOp *self = WEIR_DOWNCAST(SinkOp, op);
    const Vector *const *keys = NULL;
    Row *rows[BATCH_CAPACITY];
    WEIR_TRY(weir_op_raw_keys(batch, &step->scratch, &keys, err));
    WEIR_TRY(weir_row_table_upsert(&self->table, keys, batch->count, rows, NULL, err));
    const int64_t *weights = weir_op_weights(batch);
    self->is_filling = step->is_first;
    if (self->is_filling) {
        return sink_fill(self, rows, weights, batch->count, err);
    }
    for (size_t i = 0; i < batch->count; i++) {
        const int64_t before = weir_row_weight(rows[i]);
        if (weir_row_link(rows[i]) == 0) {
            WEIR_TRY(sink_touch(self, rows[i], before, err));
        }
        int64_t weight = 0;
        if (weir_add_i64(before, weights[i], &weight)) {
            return sink_weight_error(err);
        }
        weir_row_set_weight(rows[i], weight);
    }
    return WEIR_OK;
}

static Status sink_count_error(Error *err)
{
    return weir_error_set(err, WEIR_ERR_WEIGHT, "too many rows in the view");
}

/* One row whose weight went from `before` to `now`. */
static Status sink_account(SinkOp *self, int64_t before, int64_t now, Error *err)
{
    if (now < 0) {
        return weir_error_set(err, WEIR_ERR_NEGATIVE,
                              "the view would hold a row %lld times: more were removed than added",
                              (long long)now);
    }
    self->change_count += before == now ? 0 : 1;
    const uint64_t rest = self->row_count - (uint64_t)before;
    return __builtin_add_overflow(rest, (uint64_t)now, &self->row_count) ? sink_count_error(err)
                                                                         : WEIR_OK;
}

static Status sink_flush(Op *op, Step *step, Error *err)
{
    WEIR_UNUSED(step);
    SinkOp *self = WEIR_DOWNCAST(SinkOp, op);
    size_t gone_count = 0;
    size_t available = 0;
    for (size_t i = 0; i < self->touched.count; i += available) {
        const SinkEntry *entries = weir_touched_run(&self->touched, i, &available);
        for (size_t k = 0; k < available; k++) {
            const int64_t now = weir_row_weight(entries[k].row);
            WEIR_TRY(sink_account(self, entries[k].before, now, err));
            gone_count += now == 0;
        }
    }
    if (self->is_filling) {
        WEIR_ASSERT(self->filled_count >= 0);
        self->change_count = self->table.row_count - gone_count;
        self->row_count = (uint64_t)self->filled_count;
        return self->filled_count > UINT64_MAX ? sink_count_error(err) : WEIR_OK;
    }
    return WEIR_OK;
}

static void sink_end_step(Op *op)
{
    SinkOp *self = WEIR_DOWNCAST(SinkOp, op);
    size_t available = 0;
    for (size_t i = 0; i < self->touched.count; i += available) {
        const SinkEntry *entries = weir_touched_run(&self->touched, i, &available);
        for (size_t k = 0; k < available; k++) {
            Row *row = entries[k].row;
            weir_row_set_link(row, 0);
            if (weir_row_weight(row) == 0) {
                weir_row_table_remove(&self->table, row);
            }
        }
    }
    weir_touched_clear(&self->touched);
    weir_row_table_end_step(&self->table);
    weir_arena_reset(&self->arena);
    self->change_count = 0;
    self->row_count_before = self->row_count;
    self->filled_count = 0;
    self->is_filling = false;
}

void weir_sink_rollback(Op *sink)
{
    SinkOp *self = WEIR_DOWNCAST(SinkOp, sink);
    if (self->is_filling) {
        weir_touched_clear(&self->touched);
        weir_row_table_clear(&self->table);
    }
    size_t available = 0;
    for (size_t i = 0; i < self->touched.count; i += available) {
        const SinkEntry *entries = weir_touched_run(&self->touched, i, &available);
        for (size_t k = 0; k < available; k++) {
            weir_row_set_weight(entries[k].row, entries[k].before);
        }
    }
    self->row_count = self->row_count_before;
    self->change_count = 0;
}

/* --- the net change -------------------------------------------------------------------------- */

/* A visit in progress: changed rows are collected and shown a batch at a time. */
typedef struct SinkShow {
    SinkOp *sink;
    Batch *batch; /* its columns are filled from rows */
    size_t count;
    Row *rows[BATCH_CAPACITY];
    int64_t weights[BATCH_CAPACITY];
    uint64_t *validity; /* VECTOR_VALIDITY_WORDS words a column */
    SinkVisit visit;
    void *user;
} SinkShow;

static Status show_batch(SinkShow *show, Error *err)
{
    if (show->count == 0) {
        return WEIR_OK;
    }
    Batch *batch = show->batch;
    const RowLayout *layout = &show->sink->table.layout;
    for (size_t column = 0; column < batch->column_count; column++) {
        weir_row_unpack(layout, show->rows, show->count, column, &batch->columns[column],
                        show->validity + column * VECTOR_VALIDITY_WORDS);
    }
    batch->weights = show->weights;
    batch->count = show->count;
    show->count = 0;
    return show->visit(show->user, batch, err);
}

/* Shows the contents after the first step. */
static Status show_contents(SinkShow *show, Error *err)
{
    const RowTable *table = &show->sink->table;
    uint64_t cursor = 0;
    Row *rows[SINK_SCAN_ROWS];
    for (;;) {
        const size_t found = weir_row_table_scan(table, &cursor, rows, WEIR_ARRAY_COUNT(rows));
        if (found == 0) {
            return show_batch(show, err);
        }
        for (size_t i = 0; i < found; i++) {
            show->rows[show->count] = rows[i];
            show->weights[show->count] = weir_row_weight(rows[i]);
            show->count += show->weights[show->count] != 0;
        }
        if (show->count > BATCH_CAPACITY - WEIR_ARRAY_COUNT(rows)) {
            WEIR_TRY(show_batch(show, err));
        }
    }
}

/* Shows the changes of one sign. */
static Status show_changes(SinkShow *show, bool of_removals, Error *err)
{
    const TouchedList *touched = &show->sink->touched;
    size_t available = 0;
    for (size_t i = 0; i < touched->count; i += available) {
        const SinkEntry *entries = weir_touched_run(touched, i, &available);
        for (size_t k = 0; k < available; k++) {
            const int64_t change = weir_row_weight(entries[k].row) - entries[k].before;
            if (change == 0 || (change < 0) != of_removals) {
                continue;
            }
            show->rows[show->count] = entries[k].row;
            show->weights[show->count] = change;
            show->count += 1;
            if (show->count == BATCH_CAPACITY) {
                WEIR_TRY(show_batch(show, err));
            }
        }
    }
    return show_batch(show, err);
}

Status weir_sink_visit_delta(Op *sink, SinkVisit visit, void *user, Error *err)
{
    SinkOp *self = WEIR_DOWNCAST(SinkOp, sink);
    if (self->change_count == 0) {
        return WEIR_OK;
    }
    Status status = WEIR_OK;
    const ArenaMark mark = weir_arena_mark(&self->arena);
    SinkShow *show = weir_arena_zalloc(&self->arena, sizeof *show, err);
    if (show == NULL) {
        return err->code;
    }
    show->sink = self;
    show->visit = visit;
    show->user = user;
    WEIR_CHECK(weir_batch_new(&self->arena, &sink->schema, &show->batch, err));
    show->validity = weir_arena_calloc(&self->arena, sink->schema.count,
                                       VECTOR_VALIDITY_WORDS * sizeof(uint64_t), err);
    if (show->validity == NULL) {
        status = err->code;
        goto done;
    }
    if (self->is_filling) {
        WEIR_CHECK(show_contents(show, err));
        goto done;
    }
    WEIR_CHECK(show_changes(show, true, err));
    WEIR_CHECK(show_changes(show, false, err));
done:
    weir_arena_release(&self->arena, mark);
    return status;
}

size_t weir_sink_delta_row_count(const Op *sink)
{
    return OP_CONST(SinkOp, sink)->change_count;
}

RowTable *weir_sink_table(Op *sink)
{
    return &WEIR_DOWNCAST(SinkOp, sink)->table;
}

uint64_t weir_sink_row_count(const Op *sink)
{
    return OP_CONST(SinkOp, sink)->row_count;
}

/* --- account, free, constructor -------------------------------------------------------------- */

static size_t sink_state_bytes(const Op *op)
{
    const SinkOp *self = OP_CONST(SinkOp, op);
    return weir_row_table_bytes(&self->table) + weir_touched_bytes(&self->touched);
}

static size_t sink_state_rows(const Op *op)
{
    return OP_CONST(SinkOp, op)->table.row_count;
}

static void sink_free(Op *op)
{
    SinkOp *self = WEIR_DOWNCAST(SinkOp, op);
    weir_touched_deinit(&self->touched);
    if (self->has_table) {
        weir_row_table_deinit(&self->table);
    }
    weir_arena_deinit(&self->arena);
    weir_mem_free(op->env->mem, self);
}

static const OpType sink_type = {
    .name = "sink",
    .cost = "O(delta)",
    .push = sink_push,
    .flush = sink_flush,
    .end_step = sink_end_step,
    .state_bytes = sink_state_bytes,
    .state_rows = sink_state_rows,
    .free = sink_free,
};

static Status sink_open_table(SinkOp *self, Error *err)
{
    const CircuitEnv *env = self->op.env;
    PhysType *types = weir_op_phys_types(&self->op.schema, env->mem, err);
    if (types == NULL) {
        return err->code;
    }
    const RowLayoutSpec spec = {.key = types, .key_count = self->op.schema.count};
    const Status status = weir_row_table_init(&self->table, env->mem, env->pool, &spec, err);
    self->has_table = status == WEIR_OK;
    weir_mem_free(env->mem, types);
    return status;
}

Status weir_op_sink_new(Circuit *circuit, Op *input, Op **out, Error *err)
{
    *out = NULL;
    const CircuitEnv *env = weir_circuit_env(circuit);
    SinkOp *self = weir_mem_zalloc(env->mem, sizeof *self, err);
    if (self == NULL) {
        return err->code;
    }
    op_init(&self->op, &sink_type, circuit, &input->schema);
    weir_touched_init(&self->touched, env->mem, env->pool, sizeof(SinkEntry));
    weir_arena_init(&self->arena, env->mem, 0);
    const Status status = sink_open_table(self, err);
    if (status != WEIR_OK) {
        sink_free(&self->op);
        return status;
    }
    WEIR_TRY(weir_circuit_add(circuit, &self->op, &input, 1, err));
    *out = &self->op;
    return WEIR_OK;
}
