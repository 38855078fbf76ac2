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

/* The match in schema main if there are several: a bare name does not say more. */
View *weir_engine_find_view(Engine *engine, const char *name, Arena *scratch)
{
    const char *parts[NAME_MAX_PARTS];
    size_t part_count = 0;
    Error ignored = {0};
    if (weir_name_split(scratch, name, parts, &part_count, &ignored) != WEIR_OK) {
        return NULL;
    }
    View *found = NULL;
    size_t found_count = 0;
    View *in_main = NULL;
    for (size_t i = 0; i < engine->view_count; i++) {
        View *const view = engine->views[i];
        if (weir_name_matches(&view->name, parts, part_count)) {
            found = view;
            found_count++;
            if (weir_name_part_equal(view->name.schema, "main")) {
                in_main = in_main == NULL ? view : in_main;
            }
        }
    }
    return found_count <= 1 ? found : in_main;
}

Status weir_engine_get_view(Engine *engine, const char *name, View **out, Error *err)
{
    Arena scratch;
    weir_arena_init(&scratch, engine->mem, 0);
    *out = weir_engine_find_view(engine, name, &scratch);
    weir_arena_deinit(&scratch);
    if (*out != NULL) {
        return WEIR_OK;
    }
    weir_error_set(err, WEIR_ERR_UNKNOWN_VIEW, "there is no view %s", name);
    if (engine->view_count == 0) {
        weir_error_hint(err, "no view has been created in this database");
    } else {
        weir_error_hint(err,
                        "dbsp_views() lists the %zu there are; a name that several schemas "
                        "have must be qualified",
                        engine->view_count);
    }
    return err->code;
}

bool weir_view_depends_on(const View *view, const View *other)
{
    for (size_t i = 0; i < view->input_count; i++) {
        const View *const input = view->inputs[i].view;
        if (input != NULL && (input == other || weir_view_depends_on(input, other))) {
            return true;
        }
    }
    return false;
}

static size_t view_compute_depth(const View *view)
{
    size_t depth = 1;
    for (size_t i = 0; i < view->input_count; i++) {
        if (view->inputs[i].view != NULL) {
            depth = WEIR_MAX(depth, view_compute_depth(view->inputs[i].view) + 1);
        }
    }
    return depth;
}

/* Stable, by insertion: the list is short and nearly sorted. */
void weir_engine_sort_views(Engine *engine)
{
    for (size_t i = 0; i < engine->view_count; i++) {
        engine->views[i]->depth = view_compute_depth(engine->views[i]);
    }
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
