/* propagate.c: one pass: the changes of all tables, through all views, in topological order.
 *
 *   tables: host finds the difference to its baseline, consolidated per table
 *   views:  by rising depth, one step each with the deltas of all its inputs
 *   then the generation rises, and the deltas are forgotten
 *
 * A view whose step fails is broken: its circuit is given up, its last good contents are kept, and
 * it is rebuilt by the first pass in which something it reads changed. The difference between the
 * two contents is then its change, so views above it and change feeds go on without a gap.
 *
 * A table whose sync fails makes its views unreadable until a sync succeeds. If it fails when its
 * baseline has moved already, the delta is lost: then its views are broken as well, and rebuilt when
 * the table has been read anew.
 *
 * With a host that captures, a pass begins with what a writer told (commit.c). A table of which it is
 * only known that it changed is fresh: its views are rebuilt, and again the difference is told. */
#include "view/engine_priv.h"

void weir_engine_break_views_of(Engine *engine, const TrackedTable *table)
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
 * baselines have moved on. A table that was altered or dropped is no failure of the sync. */
static Status tables_sync(Engine *engine, TrackedTable *only, uint64_t *changed_rows, Error *err)
{
    Status status = WEIR_OK;
    weir_table_prepare_syncs(engine, only);
    for (size_t i = 0; i < engine->table_count; i++) {
        TrackedTable *const table = engine->tables[i];
        const bool is_told = table->is_manual && table->host_table != NULL;
        if (only == NULL ? is_told : table != only) {
            continue;
        }
        Error table_err = {0};
        uint64_t changed = 0;
        const Status table_status = weir_table_sync(engine, table, &changed, &table_err);
        *changed_rows += changed;
        if (table_status == WEIR_ERR_SOURCE_CHANGED || table->host_table == NULL) {
            weir_engine_break_views_of(engine, table);
        }
        if (table_status != WEIR_OK && table_status != WEIR_ERR_SOURCE_CHANGED &&
            status == WEIR_OK) {
            *err = table_err;
            status = table_status;
        }
    }
    return status;
}

/* A broken view is due when something it reads has changed, and can be rebuilt when all tables it
 * reads are there. */
static bool view_can_rebuild(View *view)
{
    bool is_complete = !view->has_lost_others;
    view->is_due = view->is_due || weir_view_has_changed_input(view);
    for (size_t i = 0; i < view->input_count; i++) {
        const TrackedTable *const table = view->inputs[i].table;
        if (table != NULL) {
            view->is_due = view->is_due || table->is_fresh;
            is_complete = is_complete && table->error.code == WEIR_OK;
        }
    }
    return is_complete && view->is_due;
}

static bool view_reads_fresh_table(const View *view)
{
    for (size_t i = 0; i < view->input_count; i++) {
        const TrackedTable *const table = view->inputs[i].table;
        if (table != NULL && table->is_fresh && table->error.code == WEIR_OK) {
            return true;
        }
    }
    return false;
}

static void view_advance(Engine *engine, View *view)
{
    Error err = {0};
    Status status = WEIR_OK;
    if (view->is_broken) {
        if (!view_can_rebuild(view)) {
            return;
        }
        status = weir_view_populate(engine, view, &err);
    } else if (view_reads_fresh_table(view)) {
        status = weir_view_populate(engine, view, &err);
    } else if (weir_view_has_changed_input(view)) {
        status = weir_view_step(engine, view, &err);
    }
    if (status != WEIR_OK) {
        weir_view_break(engine, view, &err);
    }
}

static void note_rewrite(TrackedTable *table, uint64_t kind, uint64_t commit)
{
    if (kind != table->last_kind) {
        table->last_other = table->last_rewrite;
    }
    table->last_kind = kind;
    table->last_rewrite = commit;
}

/* How rows of the table were rewritten in this pass. */
static uint64_t rewrites_of(const TrackedTable *table)
{
    const bool is_told = table->rewrites != REWRITES_NONE && !table->is_fresh;
    return is_told                                 ? table->rewrites
           : table->has_removed || table->is_fresh ? REWRITES_MIXED
                                                   : REWRITES_NONE;
}

/* True if a table has changed. */
static bool mark_tables(Engine *engine)
{
    bool has_changed = false;
    const uint64_t commit = atomic_fetch_add(&engine->commits, 1) + 1;
    for (size_t i = 0; i < engine->table_count; i++) {
        TrackedTable *const table = engine->tables[i];
        const uint64_t rewrites = rewrites_of(table);
        if (table->has_changed || table->is_fresh) {
            table->generation = engine->generation + 1;
            has_changed = true;
        }
        if (rewrites != REWRITES_NONE) {
            note_rewrite(table, rewrites, commit);
        }
    }
    return has_changed;
}

void weir_engine_advance_views(Engine *engine)
{
    for (size_t i = 0; i < engine->table_count; i++) {
        weir_table_check_promises(engine, engine->tables[i]);
    }
    const bool has_changed_table = mark_tables(engine);
    bool is_new_generation = engine->has_new_view || has_changed_table;
    engine->has_new_view = false;
    for (size_t i = 0; i < engine->view_count; i++) {
        engine->views[i]->last_step_ms = 0;
        view_advance(engine, engine->views[i]);
        is_new_generation = is_new_generation || engine->views[i]->has_changed;
    }
    engine->generation += is_new_generation;
    weir_engine_find_culprits(engine);
    for (size_t i = 0; i < engine->view_count; i++) {
        weir_view_end_step(engine->views[i]);
    }
    for (size_t i = 0; i < engine->table_count; i++) {
        weir_table_end_sync(engine->tables[i]);
    }
    weir_page_pool_trim(engine->pool, ENGINE_SPARE_PAGE_BYTES);
    weir_news_announce(&engine->news);
}

Status weir_engine_propagate(Engine *engine, TrackedTable *only, uint64_t *changed_rows, Error *err)
{
    const Status status = tables_sync(engine, only, changed_rows, err);
    weir_engine_advance_views(engine);
    return status;
}

Status weir_engine_catch_up(Engine *engine, Error *err)
{
    uint64_t changed = 0;
    const Status status = weir_engine_propagate(engine, NULL, &changed, err);
    if (status != WEIR_OK && status != WEIR_ERR_INTERRUPTED) {
        weir_error_clear(err);
        return WEIR_OK;
    }
    return status;
}
