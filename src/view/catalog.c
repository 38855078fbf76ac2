/* catalog.c: finding views by name, their dependencies, and the order in which they are stepped. */
#include "view/engine_priv.h"

View *weir_engine_find_view_exact(Engine *engine, const TableName *name)
{
    for (size_t i = 0; i < engine->view_count; i++) {
        if (weir_name_equal(&engine->views[i]->name, name)) {
            return engine->views[i];
        }
    }
    return NULL;
}

NameMatch weir_engine_match_view(Engine *engine, const char *name, View **out)
{
    size_t found_count = 0;
    size_t main_count = 0;
    View *in_main = NULL;
    *out = NULL;
    for (size_t i = 0; i < engine->view_count; i++) {
        View *const view = engine->views[i];
        if (weir_name_matches(&view->name, name)) {
            *out = view;
            found_count++;
            if (weir_name_part_equal(view->name.schema, "main")) {
                in_main = view;
                main_count++;
            }
        }
    }
    if (found_count <= 1) {
        return found_count == 1 ? NAME_FOUND : NAME_UNKNOWN;
    }
    *out = main_count == 1 ? in_main : NULL;
    return NAME_AMBIGUOUS;
}

View *weir_engine_find_view(Engine *engine, const char *name)
{
    View *view = NULL;
    (void)weir_engine_match_view(engine, name, &view);
    return view;
}

Status weir_engine_get_view(Engine *engine, const char *name, View **out, Error *err)
{
    *out = weir_engine_find_view(engine, name);
    if (*out != NULL) {
        return WEIR_OK;
    }
    const LostView *const lost = weir_engine_match_lost(engine, name);
    if (lost != NULL) {
        return weir_lost_view_error(lost, err);
    }
    weir_error_set(err, WEIR_ERR_UNKNOWN_VIEW, "there is no view %s", name);
    if (engine->view_count == 0) {
        weir_error_hint(err, "no view has been created in this database");
    } else {
        weir_error_hint(err,
                        "FROM dbsp_views() lists the %zu there are; a name that several schemas "
                        "have must be qualified",
                        engine->view_count);
    }
    return err->code;
}

void weir_engine_mark_dependents(Engine *engine, const View *base)
{
    for (size_t i = 0; i < engine->view_count; i++) { /* what a view reads comes before it */
        View *const view = engine->views[i];
        view->is_marked = false;
        for (size_t k = 0; k < view->input_count; k++) {
            const View *const input = view->inputs[k].view;
            view->is_marked =
                view->is_marked || (input != NULL && (input == base || input->is_marked));
        }
    }
}

void weir_engine_mark_sources(Engine *engine, const View *top)
{
    for (size_t i = 0; i < engine->view_count; i++) {
        engine->views[i]->is_marked = top == NULL || engine->views[i] == top;
    }
    for (size_t i = engine->view_count; i-- > 0;) { /* what a view reads comes before it */
        const View *const view = engine->views[i];
        for (size_t k = 0; view->is_marked && k < view->input_count; k++) {
            if (view->inputs[k].view != NULL) {
                view->inputs[k].view->is_marked = true;
            }
        }
    }
}

/* The first of the view's own and its inputs' failures. */
static const View *view_find_culprit(const View *view)
{
    if (view->is_broken) {
        return view;
    }
    for (size_t i = 0; i < view->input_count; i++) {
        const ViewInput *const input = &view->inputs[i];
        if (input->table != NULL && input->table->error.code != WEIR_OK) {
            return view;
        }
        if (input->view != NULL && input->view->culprit != NULL) {
            return input->view->culprit;
        }
    }
    return NULL;
}

void weir_engine_find_culprits(Engine *engine)
{
    for (size_t i = 0; i < engine->view_count; i++) {
        engine->views[i]->culprit = view_find_culprit(engine->views[i]);
    }
}

static size_t view_compute_depth(const View *view)
{
    size_t depth = 1;
    for (size_t i = 0; i < view->input_count; i++) {
        if (view->inputs[i].view != NULL) {
            depth = WEIR_MAX(depth, view->inputs[i].view->depth + 1);
        }
    }
    return depth;
}

/* Depths, until they agree: one round more than the number of views that got another depth. */
static void views_compute_depths(Engine *engine)
{
    bool is_settled = false;
    while (!is_settled) {
        is_settled = true;
        for (size_t i = 0; i < engine->view_count; i++) {
            View *const view = engine->views[i];
            const size_t depth = view_compute_depth(view);
            is_settled = is_settled && depth == view->depth;
            view->depth = depth;
        }
    }
}

/* Stable, by insertion: the list is short and nearly sorted. */
void weir_engine_sort_views(Engine *engine)
{
    views_compute_depths(engine);
    for (size_t i = 1; i < engine->view_count; i++) {
        View *const view = engine->views[i];
        size_t place = i;
        while (place > 0 && engine->views[place - 1]->depth > view->depth) {
            engine->views[place] = engine->views[place - 1];
            place--;
        }
        engine->views[place] = view;
    }
}
