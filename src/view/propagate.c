/* propagate.c: one pass: the changes of all tables, through all views, in topological order.
 *
 *   tables: host finds the difference to its baseline, consolidated per table
 *   views:  by rising depth, one step each with the deltas of all its inputs
 *   then the generation rises, and the deltas are forgotten
 *
 * A view whose step fails is broken: its circuit is given up, its last good contents are kept, and
 * it is rebuilt by the first pass in which something it reads changed. The difference between the
 * two contents is then its change, so views above it and change feeds go on without a gap. */
#include "view/engine_priv.h"

/* A view cannot follow a table that is no longer the one it was planned for. */
static void break_views_of(Engine *engine, const TrackedTable *table)
{
    for (size_t i = 0; i < engine->view_count; i++) {
        View *const view = engine->views[i];
        for (size_t k = 0; k < view->input_count; k++) {
            if (view->inputs[k].table == table && !view->is_broken) {
                weir_view_break(engine, view, &table->error);
            }
        }
    }
}

/* Whatever one table's failure is, the changes found in the others must reach the views: their
 * baselines have moved on. The first failure is returned. */
static Status tables_sync(Engine *engine, TrackedTable *only, uint64_t *changed_rows, Error *err)
{
    Status status = WEIR_OK;
    for (size_t i = 0; i < engine->table_count; i++) {
        TrackedTable *const table = engine->tables[i];
        if (only == NULL ? table->is_manual : table != only) {
            continue;
        }
        Error table_err = {0};
        uint64_t changed = 0;
        const Status table_status = weir_table_sync(engine, table, &changed, &table_err);
        *changed_rows += changed;
        if (table_status == WEIR_ERR_SOURCE_CHANGED) {
            break_views_of(engine, table);
        } else if (table_status != WEIR_OK && status == WEIR_OK) {
            *err = table_err;
            status = table_status;
        }
    }
    return status;
}

/* True if nothing but the view's own failure keeps it from being rebuilt. */
static bool view_can_rebuild(const View *view)
{
    for (size_t i = 0; i < view->input_count; i++) {
        const ViewInput *const input = &view->inputs[i];
        if (input->table != NULL && input->table->error.code == WEIR_ERR_SOURCE_CHANGED) {
            return false;
        }
    }
    return view->reason.code == WEIR_ERR_SOURCE_CHANGED || weir_view_has_changed_input(view);
}

static void view_advance(Engine *engine, View *view)
{
    Error err = {0};
    Status status = WEIR_OK;
    if (view->must_rebuild) {
        if (!view_can_rebuild(view)) {
            return;
        }
        status = weir_view_populate(engine, view, &err);
    } else if (weir_view_has_changed_input(view)) {
        status = weir_view_step(engine, view, &err);
    }
    if (status != WEIR_OK) {
        weir_view_break(engine, view, &err);
    }
}

void weir_engine_advance_views(Engine *engine)
{
    bool is_new_generation = false;
    for (size_t i = 0; i < engine->table_count; i++) {
        if (engine->tables[i]->has_changed) {
            engine->tables[i]->generation = engine->generation + 1;
            is_new_generation = true;
        }
    }
    for (size_t i = 0; i < engine->view_count; i++) {
        engine->views[i]->last_step_ms = 0;
        view_advance(engine, engine->views[i]);
        is_new_generation = is_new_generation || engine->views[i]->has_changed;
    }
    engine->generation += is_new_generation;
    for (size_t i = 0; i < engine->view_count; i++) {
        weir_view_end_step(engine->views[i]);
    }
    for (size_t i = 0; i < engine->table_count; i++) {
        weir_table_end_sync(engine->tables[i]);
    }
    weir_page_pool_trim(engine->pool, ENGINE_SPARE_PAGE_BYTES);
}

Status weir_engine_propagate(Engine *engine, TrackedTable *only, uint64_t *changed_rows, Error *err)
{
    const Status status = tables_sync(engine, only, changed_rows, err);
    weir_engine_advance_views(engine);
    return status;
}
