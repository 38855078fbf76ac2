/* saved.c: definitions that the databases keep: brought back at first use, kept as views come and go.
 *
 * Views are filled when something first asks for a view, or for what there is. A write does not: a
 * view that is filled later reads what is there then. A definition that cannot be brought back is not
 * forgotten: its name answers with the reason until it is replaced or dropped. */
#include "view/engine_priv.h"

#include <time.h>

enum { RESTORE_NOT_YET, RESTORE_UNDER_WAY, RESTORE_DONE };

/* ---- failed definitions ----------------------------------------------------------------------- */

LostView *weir_engine_find_lost(Engine *engine, const TableName *name)
{
    LostView *lost = engine->lost;
    while (lost != NULL && !weir_name_equal(&lost->name, name)) {
        lost = lost->next;
    }
    return lost;
}

LostView *weir_engine_match_lost(Engine *engine, const char *name)
{
    LostView *lost = engine->lost;
    while (lost != NULL && !weir_name_matches(&lost->name, name)) {
        lost = lost->next;
    }
    return lost;
}

void weir_engine_forget_lost(Engine *engine, const TableName *name)
{
    LostView *forgotten = NULL;
    LostView **place = &engine->lost;
    weir_lock_acquire(&engine->catalog_lock);
    while (*place != NULL) {
        LostView *const lost = *place;
        if (name == NULL || weir_name_equal(&lost->name, name)) {
            *place = lost->next;
            lost->next = forgotten;
            forgotten = lost;
        } else {
            place = &lost->next;
        }
    }
    weir_lock_release(&engine->catalog_lock);
    while (forgotten != NULL) {
        LostView *const lost = forgotten;
        forgotten = lost->next;
        weir_arena_deinit(&lost->arena);
        weir_mem_free(engine->mem, lost);
    }
}

static void lose(Engine *engine, const SavedView *saved, const Error *reason)
{
    Error ignored = {0};
    LostView *lost = weir_mem_zalloc(engine->mem, sizeof *lost, &ignored);
    engine->notice = *reason;
    weir_error_wrap(&engine->notice, "view %s cannot be brought back", saved->name.name);
    if (lost == NULL) {
        return;
    }
    weir_arena_init(&lost->arena, engine->mem, 0);
    lost->reason = *reason;
    lost->sql = weir_arena_strdup(&lost->arena, saved->sql, &ignored);
    if (lost->sql == NULL ||
        weir_name_copy(&lost->arena, &saved->name, &lost->name, &ignored) != WEIR_OK) {
        weir_arena_deinit(&lost->arena);
        weir_mem_free(engine->mem, lost);
        return;
    }
    weir_lock_acquire(&engine->catalog_lock);
    lost->next = engine->lost;
    engine->lost = lost;
    weir_lock_release(&engine->catalog_lock);
}

Status weir_lost_view_error(const LostView *lost, Error *err)
{
    *err = lost->reason;
    weir_error_wrap(err, "view %s cannot be brought back", lost->name.name);
    err->code = WEIR_ERR_BROKEN;
    weir_error_hint(err,
                    "undo the change that broke it and reopen the database, or replace or drop "
                    "the view");
    return err->code;
}

/* ---- bringing back ---------------------------------------------------------------------------- */

static Status restore_one(Engine *engine, const SavedView *saved, Error *err)
{
    Buf name;
    CreateResult ignored = {0};
    weir_buf_init(&name, engine->mem, SIZE_MAX);
    weir_name_put_sql(&name, &saved->name);
    Status status = weir_buf_status(&name, err);
    if (status == WEIR_OK) {
        const CreateSpec spec = {.name = name.data,
                                 .sql = saved->sql,
                                 .settings = saved->settings,
                                 .mode = CREATE_IF_MISSING,
                                 .is_saved = true};
        status = weir_engine_create_locked(engine, &spec, &ignored, err);
    }
    weir_buf_deinit(&name);
    return status;
}

/* A view that was replaced may read views made after it: rounds, as long as they bring something. */
static void restore_all(Engine *engine, SavedView *saved, size_t count)
{
    size_t left = count;
    bool is_progress = true;
    while (left > 0 && is_progress) {
        is_progress = false;
        size_t kept = 0;
        for (size_t i = 0; i < left; i++) {
            Error err = {0};
            if (restore_one(engine, &saved[i], &err) == WEIR_OK) {
                is_progress = true;
            } else {
                saved[kept++] = saved[i];
            }
        }
        left = kept;
    }
    for (size_t i = 0; i < left; i++) {
        Error err = {0};
        if (restore_one(engine, &saved[i], &err) != WEIR_OK &&
            weir_engine_find_lost(engine, &saved[i].name) == NULL) {
            lose(engine, &saved[i], &err);
        }
    }
}

/* Generations of a database that was open before go on behind those of its earlier openings, which no
 * clock has reached: a commit takes more than a microsecond. */
static void skip_earlier_generations(Engine *engine)
{
    struct timespec now = {0};
    if (clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec > 0) {
        const uint64_t micros = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
        engine->generation = WEIR_MAX(engine->generation, micros);
    }
}

/* Leaves out the views that are there. */
static size_t leave_out_known(Engine *engine, SavedView *saved, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (weir_engine_find_view_exact(engine, &saved[i].name) == NULL) {
            saved[kept++] = saved[i];
        }
    }
    return kept;
}

static Status restore(Engine *engine, Error *err)
{
    SavedView *saved = NULL;
    size_t count = 0;
    Arena arena;
    WEIR_TRY(engine->host.begin(engine->host.context, err));
    weir_arena_init(&arena, engine->mem, 0);
    const Status status =
        engine->host.load_views(engine->host.context, &arena, &saved, &count, err);
    count = leave_out_known(engine, saved, count);
    if (count > 0) {
        atomic_fetch_add(&engine->epoch, 1);
        skip_earlier_generations(engine);
    }
    if (status == WEIR_OK) {
        restore_all(engine, saved, count);
    }
    weir_arena_deinit(&arena);
    engine->host.end(engine->host.context);
    return status;
}

static void restore_all_databases(Engine *engine)
{
    Error err = {0};
    if (engine->host.load_views != NULL && restore(engine, &err) != WEIR_OK) {
        engine->notice = err;
        weir_error_wrap(&engine->notice, "saved views cannot be read");
    }
}

static void restore_locked(Engine *engine)
{
    if (atomic_load(&engine->restore_state) == RESTORE_NOT_YET) {
        atomic_store(&engine->restore_state, RESTORE_UNDER_WAY);
        restore_all_databases(engine);
        atomic_store(&engine->restore_state, RESTORE_DONE);
    }
}

void weir_engine_enter(Engine *engine)
{
    weir_lock_acquire(&engine->lock);
    restore_locked(engine);
}

/* Does not wait for one that is under way: what is looked up now may be looked up by it, from any of
 * DuckDB's threads. */
void weir_engine_restore(Engine *engine)
{
    if (atomic_load(&engine->restore_state) == RESTORE_NOT_YET) {
        weir_engine_enter(engine);
        weir_lock_release(&engine->lock);
    }
}

void weir_engine_restore_new_locked(Engine *engine)
{
    if (atomic_load(&engine->restore_state) == RESTORE_DONE) {
        restore_all_databases(engine);
    }
}

void weir_engine_restore_new(Engine *engine)
{
    weir_lock_acquire(&engine->lock);
    weir_engine_restore_new_locked(engine);
    weir_lock_release(&engine->lock);
}

bool weir_engine_try_restore_new(Engine *engine)
{
    const bool is_tried = !engine->host.is_capturing && weir_lock_try(&engine->lock);
    if (is_tried) {
        weir_engine_restore_new_locked(engine);
        weir_lock_release(&engine->lock);
    }
    return is_tried;
}

/* ---- keeping ---------------------------------------------------------------------------------- */

static bool reads_database(const View *view, const char *catalog)
{
    for (size_t i = 0; i < weir_plan_source_count(view->plan); i++) {
        const char *const own = weir_plan_source(view->plan, i)->catalog;
        if (own != NULL && weir_name_part_equal(own, catalog)) {
            return true;
        }
    }
    return false;
}

/* A definition is kept with its session's search path. The default one means the database that keeps the view:
 * where it was another, and that is read, it is written down. */
static Status settings_to_keep(Engine *engine, const View *view, Arena *arena, ViewSettings *out,
                               Error *err)
{
    TableName here = {0};
    *out = view->settings;
    if (view->settings.search_path != NULL) {
        return WEIR_OK;
    }
    WEIR_TRY(
        engine->host.resolve_name(engine->host.context, &view->settings, "t", arena, &here, err));
    if (weir_name_part_equal(here.catalog, view->name.catalog) ||
        !reads_database(view, here.catalog)) {
        return WEIR_OK;
    }
    Buf path;
    weir_buf_init(&path, engine->mem, SIZE_MAX);
    weir_buf_put_sql_name(&path, here.catalog);
    weir_buf_putc(&path, '.');
    weir_buf_put_sql_name(&path, here.schema);
    const Status status = weir_buf_status(&path, err);
    out->search_path = status == WEIR_OK ? weir_arena_strdup(arena, path.data, err) : NULL;
    weir_buf_deinit(&path);
    return out->search_path == NULL ? err->code : WEIR_OK;
}

Status weir_engine_save(Engine *engine, const View *view, Error *err)
{
    SavedView saved = {.name = view->name, .sql = view->sql};
    Arena scratch;
    if (engine->host.save_view == NULL) {
        return WEIR_OK;
    }
    weir_arena_init(&scratch, engine->mem, 0);
    Status status = settings_to_keep(engine, view, &scratch, &saved.settings, err);
    if (status == WEIR_OK) {
        status = engine->host.save_view(engine->host.context, &saved, err);
    }
    weir_arena_deinit(&scratch);
    return status;
}

Status weir_engine_unsave(Engine *engine, const TableName *name, Error *err)
{
    if (engine->host.save_view == NULL) {
        return WEIR_OK;
    }
    const SavedView saved = {.name = *name};
    return engine->host.save_view(engine->host.context, &saved, err);
}

Status weir_engine_commit_saving(Engine *engine, Error *err)
{
    return engine->host.end_saving == NULL
               ? WEIR_OK
               : engine->host.end_saving(engine->host.context, true, err);
}

void weir_engine_abort_saving(Engine *engine)
{
    Error ignored = {0};
    if (engine->host.end_saving != NULL &&
        engine->host.end_saving(engine->host.context, false, &ignored) != WEIR_OK) {
        engine->notice = ignored;
    }
}
