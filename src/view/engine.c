/* engine.c: the engine's life, syncing, tracking and sources fed by hand. */
#include "view/engine_priv.h"

Status weir_engine_new(Mem *mem, const Host *host, Engine **out, Error *err)
{
    Status status = WEIR_OK;
    Engine *engine = weir_mem_zalloc(mem, sizeof *engine, err);
    if (engine == NULL) {
        return err->code;
    }
    engine->mem = mem;
    engine->host = *host;
    engine->auto_sync = true;
    engine->feed_limit_bytes = ENGINE_FEED_LIMIT_BYTES;
    WEIR_CHECK(weir_lock_init(&engine->lock, LOCK_RANK_ENGINE, err));
    status = weir_lock_init(&engine->catalog_lock, LOCK_RANK_LEAF, err);
    if (status != WEIR_OK) {
        weir_lock_deinit(&engine->lock);
        goto done;
    }
    engine->has_locks = true;
    WEIR_CHECK(weir_news_init(&engine->news, err));
    engine->pool = weir_page_pool_new(mem, err);
    status = engine->pool == NULL ? err->code : WEIR_OK;
done:
    if (status != WEIR_OK) {
        weir_engine_free(engine);
        return status;
    }
    *out = engine;
    return WEIR_OK;
}

void weir_engine_free(Engine *engine)
{
    if (engine == NULL) {
        return;
    }
    while (engine->view_count > 0) { /* deepest first: views above go before what they read */
        engine->view_count--;
        weir_view_free(engine, engine->views[engine->view_count]);
    }
    while (engine->table_count > 0) { /* those that are tracked by request */
        engine->table_count--;
        weir_table_free(engine, engine->tables[engine->table_count]);
    }
    if (engine->has_locks) {
        weir_engine_forget_lost(engine, NULL);
    }
    weir_mem_free(engine->mem, engine->views);
    weir_mem_free(engine->mem, engine->tables);
    weir_page_pool_free(engine->pool);
    weir_news_deinit(&engine->news);
    if (engine->has_locks) {
        weir_lock_deinit(&engine->lock);
        weir_lock_deinit(&engine->catalog_lock);
    }
    weir_mem_free(engine->mem, engine);
}

Status weir_engine_grow(Engine *engine, void *array_pointer, size_t count, size_t *capacity,
                        Error *err)
{
    if (count < *capacity) {
        return WEIR_OK;
    }
    void **old = NULL;
    const size_t wanted = *capacity == 0 ? 8 : *capacity * 2;
    memcpy(&old, array_pointer, sizeof old);
    void **array = weir_mem_realloc(engine->mem, old, wanted * sizeof *array, err);
    if (array == NULL) {
        return err->code;
    }
    memcpy(array_pointer, &array, sizeof array);
    *capacity = wanted;
    return WEIR_OK;
}

/* ---- syncing -------------------------------------------------------------------------------- */

/* The table that the name means: one in schema main before others, one that is there before one that
 * was altered or dropped. NULL if there is none, or if several are meant. */
static TrackedTable *find_table(const Engine *engine, const char *name, bool *is_ambiguous)
{
    TrackedTable *found = NULL;
    int found_rank = -1;
    for (size_t i = 0; i < engine->table_count; i++) {
        TrackedTable *const table = engine->tables[i];
        if (!weir_name_matches(&table->name, name)) {
            continue;
        }
        const int rank = 2 * (table->error.code != WEIR_ERR_SOURCE_CHANGED) +
                         weir_name_part_equal(table->name.schema, "main");
        if (rank >= found_rank) {
            *is_ambiguous = rank == found_rank && !weir_name_equal(&found->name, &table->name);
            found = table;
            found_rank = rank;
        }
    }
    return *is_ambiguous ? NULL : found;
}

static Status get_table(Engine *engine, const char *name, TrackedTable **out, Error *err)
{
    bool is_ambiguous = false;
    *out = find_table(engine, name, &is_ambiguous);
    if (*out != NULL) {
        return WEIR_OK;
    }
    if (is_ambiguous) {
        weir_error_set(err, WEIR_ERR_UNKNOWN_SOURCE, "tables of several schemas are called %s",
                       name);
        weir_error_hint(err, "qualify the name, as FROM dbsp_tables() has it");
    } else {
        weir_error_set(err, WEIR_ERR_UNKNOWN_SOURCE, "table %s is not followed", name);
        weir_error_hint(err, "no view reads it; CALL dbsp_track('%s') follows it all the same",
                        name);
    }
    return err->code;
}

/* Views that the pass has stopped, or whose definitions mean something else now, go on if they can.
 * status, err: what the pass came to. */
static Status end_pass(Engine *engine, Status status, Error *err)
{
    Error failure = {0};
    weir_engine_bind_again(engine);
    if (weir_engine_plan_again(engine, &failure) != WEIR_OK && status == WEIR_OK) {
        *err = failure;
        status = failure.code;
    }
    engine->host.end(engine->host.context);
    return status;
}

/* A pass of its own. only = NULL: over all tables that are not synced by hand. */
static Status run_pass(Engine *engine, TrackedTable *only, uint64_t *changed_rows, Error *err)
{
    WEIR_TRY(engine->host.begin(engine->host.context, err));
    weir_engine_make_plans_due(engine, NULL);
    return end_pass(engine, weir_engine_propagate(engine, only, changed_rows, err), err);
}

static Status sync_locked(Engine *engine, const char *table_name, uint64_t *changed_rows,
                          Error *err)
{
    TrackedTable *table = NULL;
    if (table_name != NULL) {
        WEIR_TRY(get_table(engine, table_name, &table, err));
    }
    if (engine->table_count == 0 && engine->view_count == 0) {
        return WEIR_OK;
    }
    weir_table_believe(engine, table, false); /* by its name, it is compared as a whole */
    const Status status = run_pass(engine, table, changed_rows, err);
    weir_table_believe(engine, table, true);
    return status;
}

/* A table that a pass had to give up, or a view or the check of a key that was interrupted. */
static bool has_unfinished(const Engine *engine)
{
    for (size_t i = 0; i < engine->table_count; i++) {
        const TrackedTable *const table = engine->tables[i];
        if (table->host_table == NULL || weir_table_is_uncounted(table)) {
            return true;
        }
    }
    for (size_t i = 0; i < engine->view_count; i++) {
        if (engine->views[i]->is_broken && engine->views[i]->reason.code == WEIR_ERR_INTERRUPTED) {
            return true;
        }
    }
    return false;
}

/* A view that failed, and that a pass would try to rebuild. */
static bool has_due_view(const Engine *engine)
{
    for (size_t i = 0; i < engine->view_count; i++) {
        if (engine->views[i]->is_broken && engine->views[i]->is_due) {
            return true;
        }
    }
    return false;
}

/* Whether a pass may find something. */
static bool needs_pass(Engine *engine)
{
    if (!engine->auto_sync || engine->table_count == 0) {
        return false;
    }
    if (has_unfinished(engine)) {
        return true;
    }
    return !engine->host.is_capturing &&
           (has_due_view(engine) || !weir_table_are_unchanged(engine));
}

/* Whether a definition may mean something else than when it was planned: that of `top` or of a view that
 * it reads (NULL = of any). Where every statement passes through us, that is known already. */
static bool needs_plans(Engine *engine, const View *top)
{
    if (!engine->auto_sync) {
        return false;
    }
    if (!engine->host.is_capturing) {
        weir_engine_make_plans_due(engine, top);
    }
    return weir_engine_is_plan_due(engine);
}

Status weir_engine_freshen(Engine *engine, const char *name, Error *err)
{
    const View *const view = name == NULL ? NULL : weir_engine_find_view(engine, name);
    const bool is_planning = view != NULL && needs_plans(engine, view);
    const bool is_pass = needs_pass(engine);
    if (!is_planning && !is_pass) {
        return WEIR_OK;
    }
    WEIR_TRY(engine->host.begin(engine->host.context, err));
    const Status status = is_pass ? weir_engine_catch_up(engine, err) : WEIR_OK;
    return end_pass(engine, status, err);
}

static Status poll_locked(Engine *engine, Error *err)
{
    uint64_t changed = 0;
    const bool is_planning = needs_plans(engine, NULL);
    const bool is_pass = needs_pass(engine);
    if (!is_planning && !is_pass) {
        return WEIR_OK;
    }
    WEIR_TRY(engine->host.begin(engine->host.context, err));
    const Status status = is_pass ? weir_engine_propagate(engine, NULL, &changed, err) : WEIR_OK;
    return end_pass(engine, status, err);
}

Status weir_engine_poll(Engine *engine, bool *has_stepped, Error *err)
{
    weir_engine_enter(engine);
    const uint64_t before = engine->generation;
    const Status status = poll_locked(engine, err);
    *has_stepped = engine->generation != before;
    weir_lock_release(&engine->lock);
    return status;
}

Status weir_engine_sync(Engine *engine, const char *table, uint64_t *changed_rows, Error *err)
{
    uint64_t ignored = 0;
    uint64_t *const changed = changed_rows == NULL ? &ignored : changed_rows;
    *changed = 0;
    weir_engine_enter(engine);
    const Status status = sync_locked(engine, table, changed, err);
    weir_lock_release(&engine->lock);
    return status;
}

void weir_engine_set_auto_sync(Engine *engine, bool on)
{
    weir_lock_acquire(&engine->lock);
    engine->auto_sync = on;
    weir_lock_release(&engine->lock);
}

bool weir_engine_auto_sync(Engine *engine)
{
    weir_lock_acquire(&engine->lock);
    const bool on = engine->auto_sync;
    weir_lock_release(&engine->lock);
    return on;
}

void weir_engine_set_progress(Engine *engine, EngineProgress progress, void *user)
{
    weir_lock_acquire(&engine->lock);
    engine->progress = progress;
    engine->progress_user = user;
    weir_lock_release(&engine->lock);
}

void weir_engine_set_feed_limit(Engine *engine, size_t bytes)
{
    weir_lock_acquire(&engine->lock);
    engine->feed_limit_bytes = bytes;
    weir_lock_release(&engine->lock);
}

bool weir_engine_take_notice(Engine *engine, Error *out)
{
    weir_lock_acquire(&engine->lock);
    const bool has_notice = engine->notice.code != WEIR_OK;
    if (has_notice) {
        *out = engine->notice;
        weir_error_clear(&engine->notice);
    }
    weir_lock_release(&engine->lock);
    return has_notice;
}

uint64_t weir_engine_generation(Engine *engine)
{
    weir_lock_acquire(&engine->lock);
    const uint64_t generation = engine->generation;
    weir_lock_release(&engine->lock);
    return generation;
}

/* ---- tables followed by request ------------------------------------------------------------- */

/* Brings a table that is about to follow more columns to the host's snapshot. One that is fed by
 * hand is compared with it now: its new columns can only be read from there. */
Status weir_engine_prepare_table(Engine *engine, const TableName *name, const char *const *columns,
                                 size_t count, Error *err)
{
    uint64_t changed = 0;
    TrackedTable *const table = weir_engine_find_table(engine, name);
    if (table == NULL || !table->is_manual || !weir_table_lacks(table, columns, count)) {
        return WEIR_OK;
    }
    return weir_engine_propagate(engine, table, &changed, err);
}

/* A table of that name that was altered or dropped, and that no view reads any more. */
static void release_orphans(Engine *engine, const TrackedTable *successor)
{
    for (size_t i = engine->table_count; i-- > 0;) {
        TrackedTable *const table = engine->tables[i];
        if (table != successor && weir_name_equal(&table->name, &successor->name)) {
            table->is_tracked = false;
            weir_table_release(engine, table);
        }
    }
}

/* Follows all columns of the table, in its own order. */
static Status follow_all(Engine *engine, const TableName *name, const Schema *schema,
                         TrackedTable **out, Error *err)
{
    WEIR_TRY(weir_engine_catch_up(engine, err));
    WEIR_TRY(weir_engine_prepare_table(engine, name, schema->names, schema->count, err));
    return weir_table_acquire(engine, name, schema->names, schema->types, schema->count, out, err);
}

/* A table that is going to follow more columns cannot go back to those it has: what may be refused is
 * asked before. */
static Status check_key(Engine *engine, const TableName *name, const Schema *schema,
                        const KeyColumns *key, Error *err)
{
    const TrackedTable *const table = weir_engine_find_table(engine, name);
    return key->count > 0 && table != NULL && weir_table_lacks(table, schema->names, schema->count)
               ? weir_table_try_key(engine, name, schema, key, err)
               : WEIR_OK;
}

static Status track_locked(Engine *engine, const TrackSpec *spec, uint64_t *row_count, Error *err)
{
    Status status = WEIR_OK;
    TableName name = {0};
    Schema schema = {0};
    KeyColumns key = {0};
    TrackedTable *table = NULL;
    Arena scratch;
    const ViewSettings defaults = {0};
    weir_arena_init(&scratch, engine->mem, 0);
    WEIR_CHECK(engine->host.resolve_name(engine->host.context, &defaults, spec->name, &scratch,
                                         &name, err));
    WEIR_CHECK(engine->host.table_schema(engine->host.context, &name, &scratch, &schema, err));
    if (spec->key != NULL) {
        WEIR_CHECK(weir_key_columns_parse(spec->key, &schema, &scratch, &key, err));
    }
    WEIR_CHECK(check_key(engine, &name, &schema, &key, err));
    WEIR_CHECK(follow_all(engine, &name, &schema, &table, err));
    status = weir_table_promise(engine, table, spec->is_append_only, &key, err);
    if (status != WEIR_OK) {
        weir_table_release(engine, table);
        goto done;
    }
    release_orphans(engine, table);
    table->is_tracked = true;
    table->is_manual = spec->is_manual;
    *row_count = weir_table_row_count(engine, table);
done:
    weir_arena_deinit(&scratch);
    return status;
}

Status weir_engine_track(Engine *engine, const TrackSpec *spec, uint64_t *row_count, Error *err)
{
    weir_engine_enter(engine);
    atomic_fetch_add(&engine->epoch, 1);
    Status status = engine->host.begin(engine->host.context, err);
    if (status == WEIR_OK) {
        status = track_locked(engine, spec, row_count, err);
        engine->host.end(engine->host.context);
    }
    weir_lock_release(&engine->lock);
    return status;
}

static Status followed_locked(Engine *engine, const char *table_name, Arena *arena, Schema *out,
                              Error *err)
{
    TrackedTable *table = NULL;
    WEIR_TRY(get_table(engine, table_name, &table, err));
    const Schema schema = weir_table_schema(table);
    return weir_schema_copy(arena, &schema, out, err);
}

Status weir_engine_followed(Engine *engine, const char *table, Arena *arena, Schema *out,
                            Error *err)
{
    weir_engine_enter(engine);
    const Status status = followed_locked(engine, table, arena, out, err);
    weir_lock_release(&engine->lock);
    return status;
}

static Status notify_locked(Engine *engine, const char *table_name, int64_t sign,
                            const RowSource *rows, Error *err)
{
    TrackedTable *table = NULL;
    WEIR_TRY(get_table(engine, table_name, &table, err));
    if (!table->is_manual) {
        weir_error_set(err, WEIR_ERR_MISUSE, "table %s is compared with the database itself",
                       table_name);
        weir_error_hint(err,
                        "CALL dbsp_track('%s', manual := true) makes it a table whose changes are "
                        "told by hand",
                        table_name);
        return err->code;
    }
    if (table->error.code != WEIR_OK) {
        *err = table->error;
        return err->code;
    }
    WEIR_TRY(engine->host.begin(engine->host.context, err));
    const Status status = weir_table_notify(engine, table, sign, rows, err);
    if (table->host_table == NULL) {
        weir_engine_break_views_of(engine, table);
    }
    weir_engine_advance_views(engine);
    engine->host.end(engine->host.context);
    return status;
}

Status weir_engine_notify(Engine *engine, const char *table, int64_t sign, const RowSource *rows,
                          Error *err)
{
    weir_engine_enter(engine);
    const Status status = notify_locked(engine, table, sign, rows, err);
    weir_lock_release(&engine->lock);
    return status;
}
