/* definitions.c: all definitions at once: read out, and made into views. */
#include "view/engine_priv.h"

static Status copy_definition(Arena *arena, const View *view, ViewDefinition *out, Error *err)
{
    WEIR_TRY(weir_name_copy(arena, &view->name, &out->name, err));
    WEIR_TRY(weir_view_settings_copy(arena, &view->settings, &out->settings, err));
    WEIR_TRY(weir_schema_copy(arena, &view->schema, &out->schema, err));
    out->sql = weir_arena_strdup(arena, view->sql, err);
    return out->sql == NULL ? err->code : WEIR_OK;
}

static Status definitions_locked(Engine *engine, Arena *arena, ViewDefinition **out, size_t *count,
                                 Error *err)
{
    if (engine->lost != NULL) {
        return weir_lost_view_error(engine->lost, err);
    }
    *out = weir_arena_calloc(arena, engine->view_count, sizeof **out, err);
    if (*out == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < engine->view_count; i++) {
        WEIR_TRY(copy_definition(arena, engine->views[i], &(*out)[i], err));
    }
    *count = engine->view_count;
    return WEIR_OK;
}

Status weir_engine_definitions(Engine *engine, Arena *arena, ViewDefinition **out, size_t *count,
                               Error *err)
{
    weir_engine_enter(engine);
    const Status status = definitions_locked(engine, arena, out, count, err);
    weir_lock_release(&engine->lock);
    return status;
}

/* ---- creating --------------------------------------------------------------------------------- */

/* The views made so far, in the order in which they were made. */
typedef struct Creation {
    Engine *engine;
    View **views;
    size_t count;
} Creation;

/* Creates one. Its name is found out first: what was made must not be lost sight of. */
static Status create_next(Creation *made, const CreateSpec *spec, Error *err)
{
    Engine *const engine = made->engine;
    CreateSpec own = *spec;
    CreateResult ignored = {0};
    TableName name = {0};
    Arena scratch;
    own.mode = CREATE_NEW;
    own.is_saved_later = true;
    weir_arena_init(&scratch, engine->mem, 0);
    Status status = engine->host.resolve_name(engine->host.context, &spec->settings, spec->name,
                                              &scratch, &name, err);
    if (status == WEIR_OK) {
        status = weir_engine_create_locked(engine, &own, &ignored, err);
    }
    if (status == WEIR_OK) {
        made->views[made->count] = weir_engine_find_view_exact(engine, &name);
        WEIR_ASSERT(made->views[made->count] != NULL);
        made->count++;
    }
    weir_arena_deinit(&scratch);
    return status == WEIR_OK ? WEIR_OK : weir_error_wrap(err, "view %s", spec->name);
}

static Status create_each(Creation *made, const CreateSpec *specs, size_t count, Error *err)
{
    for (size_t i = 0; i < count; i++) {
        WEIR_TRY(create_next(made, &specs[i], err));
    }
    for (size_t i = 0; i < count; i++) {
        WEIR_TRY(weir_engine_save(made->engine, made->views[i], err));
    }
    return weir_engine_commit_saving(made->engine, err);
}

static void take_back(Creation *made)
{
    Engine *const engine = made->engine;
    weir_engine_abort_saving(engine);
    while (made->count > 0) {
        weir_engine_drop_one(engine, made->views[--made->count]);
        engine->has_dropped = true;
    }
    engine->generation++; /* a view of one of these names made now is another one */
    weir_news_announce(&engine->news);
}

static Status create_all_locked(Engine *engine, const CreateSpec *specs, size_t count, Error *err)
{
    Creation made = {.engine = engine};
    made.views = weir_mem_calloc(engine->mem, count, sizeof(View *), err);
    if (made.views == NULL) {
        return err->code;
    }
    const Status status = create_each(&made, specs, count, err);
    if (status != WEIR_OK) {
        take_back(&made);
    }
    weir_mem_free(engine->mem, made.views);
    return status;
}

Status weir_engine_create_all(Engine *engine, const CreateSpec *specs, size_t count, Error *err)
{
    if (count == 0) {
        return WEIR_OK;
    }
    weir_engine_enter(engine);
    atomic_fetch_add(&engine->epoch, 1);
    Status status = engine->host.begin(engine->host.context, err);
    if (status == WEIR_OK) {
        status = create_all_locked(engine, specs, count, err);
        engine->host.end(engine->host.context);
    }
    weir_lock_release(&engine->lock);
    return status;
}
