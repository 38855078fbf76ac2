/* again.c: the definition of a view made into a view again: asked for, or because a table was altered, or
 * a definition of the database's that it reads was replaced.
 *
 * DuckDB puts the text of its views and macros in their places before it plans, and does not tell when they
 * change. So a view that reads some is planned again whenever it is read, and compared by the digest of
 * its plan; where every statement passes through us, only after those that define something. */
#include "view/engine_priv.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static Status make_again(Engine *engine, const View *view, bool keeps_sources, CreateResult *result,
                         Error *err)
{
    Status status = WEIR_OK;
    Buf full_name;
    Arena scratch;
    weir_buf_init(&full_name, engine->mem, 1 << 16);
    weir_arena_init(&scratch, engine->mem, 0);
    weir_name_put_sql(&full_name, &view->name);
    WEIR_CHECK(weir_buf_status(&full_name, err));
    CreateSpec spec = {.name = full_name.data,
                       .sql = weir_arena_strdup(&scratch, view->sql, err),
                       .settings = view->settings,
                       .mode = CREATE_OR_REPLACE,
                       .is_saved = true,
                       .keeps_sources = keeps_sources};
    status = spec.sql == NULL ? err->code : WEIR_OK;
    WEIR_CHECK(status);
    WEIR_CHECK(weir_engine_create_locked(engine, &spec, result, err));
done:
    weir_buf_deinit(&full_name);
    weir_arena_deinit(&scratch);
    return status;
}

/* ---- refreshing ------------------------------------------------------------------------------- */

static Status refresh_locked(Engine *engine, const char *name, CreateResult *result, Error *err)
{
    View *view = NULL;
    WEIR_TRY(weir_engine_get_view(engine, name, &view, err));
    return make_again(engine, view, false, result, err);
}

Status weir_engine_refresh(Engine *engine, const char *name, uint64_t *row_count, Error *err)
{
    CreateResult result = {0};
    weir_engine_enter(engine);
    atomic_fetch_add(&engine->epoch, 1);
    Status status = engine->host.begin(engine->host.context, err);
    if (status == WEIR_OK) {
        status = refresh_locked(engine, name, &result, err);
        engine->host.end(engine->host.context);
    }
    weir_lock_release(&engine->lock);
    if (row_count != NULL) {
        *row_count = result.row_count;
    }
    return status;
}

/* ---- altered tables --------------------------------------------------------------------------- */

/* What is wrong with the tables that the view reads, as a number; 0 = nothing. */
static uint64_t hash_table_errors(const View *view)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < view->input_count; i++) {
        const TrackedTable *const table = view->inputs[i].table;
        if (table != NULL && table->error.code == WEIR_ERR_SOURCE_CHANGED) {
            hash = hash * 31 + XXH3_64bits(table->error.message, strlen(table->error.message));
        }
    }
    return hash;
}

static View *find_view_to_bind(Engine *engine)
{
    for (size_t i = 0; i < engine->view_count; i++) {
        View *const view = engine->views[i];
        const uint64_t errors = view->is_broken ? hash_table_errors(view) : 0;
        if (errors != 0 && errors != view->bound_against) {
            view->bound_against = errors;
            return view;
        }
    }
    return NULL;
}

void weir_engine_bind_again(Engine *engine)
{
    for (View *view = find_view_to_bind(engine); view != NULL; view = find_view_to_bind(engine)) {
        Error err = {0};
        CreateResult ignored = {0};
        atomic_fetch_add(&engine->epoch, 1);
        if (make_again(engine, view, true, &ignored, &err) == WEIR_ERR_INTERRUPTED) {
            view->bound_against = 0;
            return;
        }
    }
}

/* ---- definitions of the database's ------------------------------------------------------------- */

void weir_engine_make_plans_due(Engine *engine, const View *top)
{
    weir_engine_mark_sources(engine, top);
    for (size_t i = 0; i < engine->view_count; i++) {
        View *const view = engine->views[i];
        view->is_plan_due = view->is_plan_due || (view->is_marked && view->reads_others);
    }
}

static View *find_view_to_plan(Engine *engine)
{
    for (size_t i = 0; i < engine->view_count; i++) {
        if (engine->views[i]->is_plan_due) {
            return engine->views[i];
        }
    }
    return NULL;
}

bool weir_engine_is_plan_due(Engine *engine)
{
    return find_view_to_plan(engine) != NULL;
}

static Status plan_view(Engine *engine, View *view, Error *err)
{
    uint64_t digest = 0;
    CreateResult ignored = {0};
    WEIR_TRY(
        engine->host.plan_digest(engine->host.context, &view->settings, view->sql, &digest, err));
    if (digest == view->plan_digest && !view->has_lost_others) {
        view->is_plan_due = false;
        return WEIR_OK;
    }
    atomic_fetch_add(&engine->epoch, 1);
    return make_again(engine, view, false, &ignored, err); /* the view is gone if it succeeds */
}

static void lose_others(Engine *engine, View *view, const Error *reason)
{
    view->is_plan_due = false;
    if (view->is_broken && hash_table_errors(view) != 0) {
        return; /* what has become of its tables says more */
    }
    if (view->has_lost_others) {
        view->reason = *reason;
        return;
    }
    weir_view_break(engine, view, reason);
    view->has_lost_others = true;
    weir_engine_find_culprits(engine);
}

Status weir_engine_plan_again(Engine *engine, Error *err)
{
    for (View *view = find_view_to_plan(engine); view != NULL; view = find_view_to_plan(engine)) {
        Error why = {0};
        const Status status = plan_view(engine, view, &why);
        if (status == WEIR_ERR_INTERRUPTED || status == WEIR_ERR_NOMEM) {
            *err = why;
            return status;
        }
        if (status != WEIR_OK) {
            lose_others(engine, view, &why);
        }
    }
    return WEIR_OK;
}
