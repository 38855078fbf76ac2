/* view.c: one view: its plan, its circuit, populating and stepping it. */
#include "view/engine_priv.h"

#include <time.h>

double weir_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

Status weir_view_settings_copy(Arena *arena, const ViewSettings *from, ViewSettings *to, Error *err)
{
    const char *const texts[3] = {from->search_path, from->time_zone, from->calendar};
    const char **const places[3] = {&to->search_path, &to->time_zone, &to->calendar};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        *places[i] = NULL;
        if (texts[i] != NULL) {
            *places[i] = weir_arena_strdup(arena, texts[i], err);
            if (*places[i] == NULL) {
                return err->code;
            }
        }
    }
    return WEIR_OK;
}

/* The view's result columns: the plan's types, the host's names. */
static Status view_set_schema(View *view, const HostPlan *host_plan, Error *err)
{
    const Schema *const schema = weir_plan_schema(view->plan);
    WEIR_VERIFY(schema->count == host_plan->column_count, err);
    bool *rounded = weir_arena_calloc(&view->arena, schema->count, sizeof *rounded, err);
    if (rounded == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < schema->count; i++) {
        rounded[i] = weir_plan_is_rounded(view->plan, i);
    }
    view->is_rounded = rounded;
    view->schema =
        (Schema){.count = schema->count, .types = schema->types, .names = host_plan->column_names};
    return WEIR_OK;
}

static Status view_plan(Engine *engine, View *view, Error *err)
{
    HostPlan host_plan = {0};
    WEIR_TRY(engine->host.plan(engine->host.context, &view->settings, view->sql, &view->arena,
                               &host_plan, err));
    const PlanEnv env = {
        .mem = engine->mem, .stability = engine->host.stability, .context = engine->host.context};
    view->reads_others = host_plan.reads_others;
    view->plan_digest = host_plan.digest;
    WEIR_TRY(weir_plan_new(&env, host_plan.json, host_plan.json_size, &view->plan, err));
    return view_set_schema(view, &host_plan, err);
}

Status weir_view_new(Engine *engine, const CreateSpec *spec, const TableName *name, View **out,
                     Error *err)
{
    Status status = WEIR_OK;
    View *view = weir_mem_zalloc(engine->mem, sizeof *view, err);
    if (view == NULL) {
        return err->code;
    }
    view->engine = engine;
    view->mem = engine->mem;
    weir_arena_init(&view->arena, engine->mem, 0);
    view->has_content_lock = pthread_rwlock_init(&view->content_lock, NULL) == 0;
    if (!view->has_content_lock) {
        status = weir_error_set(err, WEIR_ERR_NOMEM, "cannot make a lock");
        goto done;
    }
    WEIR_CHECK(weir_name_copy(&view->arena, name, &view->name, err));
    view->sql = weir_arena_strdup(&view->arena, spec->sql, err);
    status = view->sql == NULL ? err->code : WEIR_OK;
    WEIR_CHECK(status);
    WEIR_CHECK(weir_view_settings_copy(&view->arena, &spec->settings, &view->settings, err));
    WEIR_CHECK(view_plan(engine, view, err));
    WEIR_CHECK(engine->host.expr_open(engine->host.context, &view->settings, &view->expr, err));
    view->has_expr = true;
    view->env = (CircuitEnv){
        .mem = engine->mem,
        .pool = engine->pool,
        .host = &view->expr,
        .cancel = engine->host.cancel,
    };
    *out = view;
done:
    if (status != WEIR_OK) {
        weir_view_free(engine, view);
    }
    return status;
}

void weir_view_free(Engine *engine, View *view)
{
    if (view == NULL) {
        return;
    }
    weir_view_unbind(engine, view);
    weir_circuit_free(view->circuit);
    weir_plan_free(view->plan);
    weir_feed_deinit(&view->feed);
    if (view->has_expr) {
        engine->host.expr_close(engine->host.context, &view->expr);
    }
    if (view->has_content_lock) {
        pthread_rwlock_destroy(&view->content_lock);
    }
    weir_arena_deinit(&view->arena);
    weir_mem_free(engine->mem, view);
}

void weir_view_break(Engine *engine, View *view, const Error *reason)
{
    view->is_broken = true;
    view->is_due = reason->code == WEIR_ERR_SOURCE_CHANGED || reason->code == WEIR_ERR_INTERRUPTED;
    view->reason = *reason;
    engine->notice = *reason;
    weir_error_wrap(&engine->notice, "view %s is broken", view->name.name);
}

const Error *weir_view_failure(const View *view, const View **culprit)
{
    *culprit = view->culprit;
    if (view->culprit == NULL) {
        return NULL;
    }
    if (view->culprit->is_broken) {
        return &view->culprit->reason;
    }
    for (size_t i = 0; i < view->culprit->input_count; i++) {
        const TrackedTable *const table = view->culprit->inputs[i].table;
        if (table != NULL && table->error.code != WEIR_OK) {
            return &table->error;
        }
    }
    return NULL;
}

/* ---- inputs --------------------------------------------------------------------------------- */

/* Places of the source's columns among those that there are, which must have the types that the
 * plan was made for. */
static Status input_map_columns(View *view, ViewInput *input, const PlanSource *source,
                                const Schema *there, Error *err)
{
    input->column_count = source->column_count;
    input->columns =
        weir_arena_calloc(&view->arena, source->column_count, sizeof *input->columns, err);
    if (input->columns == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < source->column_count; i++) {
        size_t place = 0;
        while (place < there->count &&
               !weir_name_part_equal(there->names[place], source->columns[i])) {
            place++;
        }
        if (place == there->count) {
            return weir_error_set(err, WEIR_ERR_SOURCE_CHANGED, "%s has no column %s any more",
                                  source->name, source->columns[i]);
        }
        if (!weir_type_equal(there->types[place], source->types[i])) {
            return weir_error_set(err, WEIR_ERR_SOURCE_CHANGED,
                                  "column %s of %s has another type now", source->columns[i],
                                  source->name);
        }
        input->columns[i] = place;
    }
    return WEIR_OK;
}

static Status input_bind_view(Engine *engine, View *view, const View *old, ViewInput *input,
                              const PlanSource *source, Error *err)
{
    View *other = NULL;
    WEIR_TRY(weir_engine_get_view(engine, source->name, &other, err));
    weir_engine_mark_dependents(engine, old);
    if (other == old || other->is_marked) {
        return weir_error_set(err, WEIR_ERR_CYCLE, "view %s would depend on itself through %s",
                              view->name.name, other->name.name);
    }
    const View *culprit = NULL;
    const Error *const failure = weir_view_failure(other, &culprit);
    if (failure != NULL) {
        weir_error_set(err, WEIR_ERR_BROKEN, "view %s, which this definition reads, is broken: %s",
                       culprit->name.name, failure->message);
        weir_error_hint(err, "undo the change that broke it, or give it a definition that works "
                             "with CREATE OR REPLACE MATERIALIZED VIEW or dbsp_replace_view");
        return err->code;
    }
    input->view = other;
    view->depth = WEIR_MAX(view->depth, other->depth + 1);
    return input_map_columns(view, input, source, &other->schema, err);
}

static Status input_bind_table(Engine *engine, View *view, ViewInput *input,
                               const PlanSource *source, Error *err)
{
    const TableName name = {source->catalog, source->schema, source->name};
    TrackedTable *table = NULL;
    WEIR_TRY(weir_table_acquire(engine, &name, source->columns, source->types, source->column_count,
                                &table, err));
    table->user_count++;
    input->table = table;
    const Schema there = {
        .count = table->column_count, .types = table->types, .names = table->columns};
    return input_map_columns(view, input, source, &there, err);
}

Status weir_view_bind(Engine *engine, View *view, const View *old, Error *err)
{
    const size_t count = weir_plan_source_count(view->plan);
    view->inputs = weir_arena_calloc(&view->arena, count, sizeof *view->inputs, err);
    view->sources = weir_arena_calloc(&view->arena, count, sizeof(Op *), err);
    if (view->inputs == NULL || view->sources == NULL) {
        return err->code;
    }
    view->depth = 1;
    for (size_t i = 0; i < count; i++) {
        const PlanSource *const source = weir_plan_source(view->plan, i);
        view->input_count = i + 1;
        WEIR_TRY(source->kind == PLAN_SOURCE_VIEW
                     ? input_bind_view(engine, view, old, &view->inputs[i], source, err)
                     : input_bind_table(engine, view, &view->inputs[i], source, err));
    }
    return WEIR_OK;
}

void weir_view_unbind(Engine *engine, View *view)
{
    for (size_t i = 0; i < view->input_count; i++) {
        TrackedTable *const table = view->inputs[i].table;
        if (table != NULL) {
            table->user_count--;
            view->inputs[i].table = NULL;
            weir_table_release(engine, table);
        }
    }
    view->input_count = 0;
}

/* ---- feeding the circuit -------------------------------------------------------------------- */

typedef struct PushTarget {
    View *view;
    size_t input;
    bool is_mapped; /* the batch has all columns of the input: pick the source's */
} PushTarget;

static Status push_visit(void *user, const Batch *batch, Error *err)
{
    const PushTarget *const target = user;
    const ViewInput *const input = &target->view->inputs[target->input];
    Op *const source = target->view->sources[target->input];
    if (!target->is_mapped) {
        return weir_circuit_push(target->view->circuit, source, batch, err);
    }
    Vector columns[ROW_MAX_COLUMNS];
    WEIR_ASSERT(input->column_count <= ROW_MAX_COLUMNS);
    for (size_t i = 0; i < input->column_count; i++) {
        columns[i] = batch->columns[input->columns[i]];
    }
    const Batch mapped = {.count = batch->count,
                          .column_count = input->column_count,
                          .columns = columns,
                          .weights = batch->weights};
    return weir_circuit_push(target->view->circuit, source, &mapped, err);
}

/* A view that is being filled from all of its inputs. */
typedef struct Fill {
    PushTarget target;
    Engine *engine;
    uint64_t rows_done;
    uint64_t rows_expected;
} Fill;

/* As far as it is known before the rows are read. */
static uint64_t count_rows_to_fill(const Engine *engine, const View *view)
{
    uint64_t count = 0;
    for (size_t i = 0; i < view->input_count; i++) {
        const ViewInput *const input = &view->inputs[i];
        count += input->table != NULL ? weir_table_row_count(engine, input->table)
                                      : weir_sink_row_count(input->view->sink);
    }
    return count;
}

static Status fill_visit(void *user, const Batch *batch, Error *err)
{
    Fill *const fill = user;
    const Engine *const engine = fill->engine;
    WEIR_TRY(push_visit(&fill->target, batch, err));
    fill->rows_done += batch->count;
    fill->rows_expected = WEIR_MAX(fill->rows_expected, fill->rows_done);
    if (engine->progress != NULL) {
        engine->progress(engine->progress_user, fill->target.view->name.name, fill->rows_done,
                         fill->rows_expected);
    }
    return WEIR_OK;
}

/* Everything an input holds now. */
static Status view_push_contents(Fill *fill, size_t index, Error *err)
{
    View *const view = fill->target.view;
    const ViewInput *const input = &view->inputs[index];
    fill->target.input = index;
    fill->target.is_mapped = input->table != NULL;
    if (input->table != NULL) {
        return weir_table_visit_contents(fill->engine, input->table, fill_visit, fill, err);
    }
    return weir_bag_visit(weir_sink_table(input->view->sink), input->columns, input->column_count,
                          view->mem, fill_visit, fill, err);
}

/* What changed in an input in this pass. */
static Status view_push_delta(View *view, size_t index, Error *err)
{
    const ViewInput *const input = &view->inputs[index];
    PushTarget target = {.view = view, .input = index};
    if (input->table != NULL) {
        if (!input->table->has_changed) {
            return WEIR_OK;
        }
        return weir_table_visit_delta(input->table, input->columns, input->column_count, push_visit,
                                      &target, err);
    }
    if (!input->view->has_changed) {
        return WEIR_OK;
    }
    target.is_mapped = true;
    return weir_view_visit_change(input->view, push_visit, &target, err);
}

bool weir_view_has_changed_input(const View *view)
{
    for (size_t i = 0; i < view->input_count; i++) {
        const ViewInput *const input = &view->inputs[i];
        if (input->table != NULL ? input->table->has_changed : input->view->has_changed) {
            return true;
        }
    }
    return false;
}

/* ---- steps ---------------------------------------------------------------------------------- */

typedef struct RecordTarget {
    Feed *feed;
    size_t row_count;
} RecordTarget;

static Status record_visit(void *user, const Batch *batch, Error *err)
{
    RecordTarget *const target = user;
    target->row_count += batch->count;
    return weir_feed_add(target->feed, batch, err);
}

/* Writes the change of this pass, the next generation's, into the feed. */
static Status view_record_change(Engine *engine, View *view, Error *err)
{
    Status status = WEIR_OK;
    RecordTarget target = {.feed = &view->feed};
    WEIR_CHECK(weir_feed_begin(&view->feed, engine->generation + 1, err));
    WEIR_CHECK(weir_view_visit_change(view, record_visit, &target, err));
    WEIR_CHECK(weir_feed_commit(&view->feed, err));
    view->has_changed = target.row_count > 0;
    if (view->has_changed) {
        view->generation = engine->generation + 1;
    }
done:
    if (status != WEIR_OK) {
        weir_feed_abort(&view->feed);
    }
    return status;
}

Status weir_view_visit_change(View *view, HostVisit visit, void *user, Error *err)
{
    if (view->old_sink == NULL) {
        return weir_sink_visit_delta(view->sink, visit, user, err);
    }
    return weir_bag_visit_difference(weir_sink_table(view->old_sink), weir_sink_table(view->sink),
                                     view->mem, visit, user, err);
}

Status weir_view_step(Engine *engine, View *view, Error *err)
{
    const double start = weir_now_ms();
    Status status = WEIR_OK;
    WEIR_TRY(weir_view_detach_readers(view, err));
    pthread_rwlock_wrlock(&view->content_lock);
    WEIR_CHECK(weir_circuit_begin_step(view->circuit, err));
    for (size_t i = 0; i < view->input_count; i++) {
        WEIR_CHECK(view_push_delta(view, i, err));
    }
    WEIR_CHECK(weir_circuit_finish_step(view->circuit, err));
    if (weir_sink_delta_row_count(view->sink) > 0) {
        WEIR_CHECK(view_record_change(engine, view, err));
    }
done:
    if (status != WEIR_OK) {
        weir_sink_rollback(view->sink);
    }
    view->step_count++;
    view->last_step_ms = weir_now_ms() - start;
    pthread_rwlock_unlock(&view->content_lock);
    return status;
}

void weir_view_end_step(View *view)
{
    if (view->circuit != NULL) {
        weir_circuit_end_step(view->circuit);
    }
    weir_circuit_free(view->old_circuit);
    view->old_circuit = NULL;
    view->old_sink = NULL;
    view->has_changed = false;
}

/* A new circuit from the plan, filled with the inputs' contents. */
static Status view_build(Engine *engine, View *view, Error *err)
{
    WEIR_TRY(
        weir_plan_build(view->plan, &view->env, &view->circuit, view->sources, &view->sink, err));
    WEIR_TRY(weir_circuit_begin_step(view->circuit, err));
    Fill fill = {.target = {.view = view},
                 .engine = engine,
                 .rows_expected = count_rows_to_fill(engine, view)};
    for (size_t i = 0; i < view->input_count; i++) {
        WEIR_TRY(view_push_contents(&fill, i, err));
    }
    return weir_circuit_finish_step(view->circuit, err);
}

Status weir_view_populate(Engine *engine, View *view, Error *err)
{
    const double start = weir_now_ms();
    Status status = WEIR_OK;
    WEIR_TRY(weir_view_detach_readers(view, err));
    pthread_rwlock_wrlock(&view->content_lock);
    WEIR_ASSERT(view->old_circuit == NULL);
    view->old_circuit = view->circuit;
    view->old_sink = view->sink;
    view->circuit = NULL;
    view->sink = NULL;
    WEIR_CHECK(view_build(engine, view, err));
    if (view->old_sink != NULL) {
        WEIR_CHECK(view_record_change(engine, view, err));
    }
    view->is_broken = false;
    view->step_count++;
    view->populate_ms = weir_now_ms() - start;
done:
    if (status != WEIR_OK) {
        /* The last good contents stay, for the change to be told when it works again. */
        weir_circuit_free(view->circuit);
        view->circuit = view->old_circuit;
        view->sink = view->old_sink;
        view->old_circuit = NULL;
        view->old_sink = NULL;
    }
    pthread_rwlock_unlock(&view->content_lock);
    return status;
}
