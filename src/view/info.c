/* info.c: what is there: shapes, lists of views, tables and dependencies, explain. */
#include "view/engine_priv.h"

static NameMatch look_up(Engine *engine, const char *name)
{
    View *view = NULL;
    weir_lock_acquire(&engine->catalog_lock);
    NameMatch match = weir_engine_match_view(engine, name, &view);
    if (match == NAME_UNKNOWN && weir_engine_match_lost(engine, name) != NULL) {
        match = NAME_FOUND; /* reading it tells why it is not there */
    }
    weir_lock_release(&engine->catalog_lock);
    return match;
}

NameMatch weir_engine_look_up(Engine *engine, const char *name)
{
    weir_engine_restore(engine);
    const NameMatch match = look_up(engine, name);
    return match == NAME_UNKNOWN && weir_engine_try_restore_new(engine) ? look_up(engine, name)
                                                                        : match;
}

bool weir_engine_is_misread(Engine *engine, const char *name, size_t size, const char *last)
{
    char text[512];
    const size_t last_size = size - (size_t)(last - name);
    const View *found = NULL;
    size_t count = 0;
    weir_lock_acquire(&engine->catalog_lock);
    for (size_t i = 0; i < engine->view_count; i++) {
        if (weir_name_is_written(last, last_size, engine->views[i]->name.name)) {
            found = engine->views[i];
            count++;
        }
    }
    bool is_misread = count > 0;
    if (count == 1 && size < sizeof text) {
        memcpy(text, name, size);
        text[size] = '\0';
        is_misread = !weir_name_matches(&found->name, text);
    }
    weir_lock_release(&engine->catalog_lock);
    return is_misread;
}

/* ---- shape ---------------------------------------------------------------------------------- */

static Status copy_text(Arena *arena, const char *text, const char **out, Error *err)
{
    *out = text == NULL ? NULL : weir_arena_strdup(arena, text, err);
    return text != NULL && *out == NULL ? err->code : WEIR_OK;
}

static Status shape_fill(const View *view, ViewShape *out, Error *err)
{
    Arena *const arena = &out->arena;
    const size_t count = view->schema.count;
    bool *rounded = weir_arena_calloc(arena, count, sizeof *rounded, err);
    if (rounded == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        rounded[i] = view->is_rounded[i];
    }
    WEIR_TRY(weir_schema_copy(arena, &view->schema, &out->schema, err));
    out->is_rounded = rounded;
    WEIR_TRY(weir_name_copy(arena, &view->name, &out->name, err));
    WEIR_TRY(copy_text(arena, view->sql, &out->sql, err));
    WEIR_TRY(copy_text(arena, view->settings.search_path, &out->settings.search_path, err));
    WEIR_TRY(copy_text(arena, view->settings.time_zone, &out->settings.time_zone, err));
    return copy_text(arena, view->settings.calendar, &out->settings.calendar, err);
}

static Status read_shape(Engine *engine, const char *name, ViewShape *out, Error *err)
{
    View *view = NULL;
    *out = (ViewShape){0};
    weir_arena_init(&out->arena, engine->mem, 0);
    weir_lock_acquire(&engine->catalog_lock);
    Status status = weir_engine_get_view(engine, name, &view, err);
    if (status == WEIR_OK) {
        status = shape_fill(view, out, err);
    }
    weir_lock_release(&engine->catalog_lock);
    if (status != WEIR_OK) {
        weir_view_shape_deinit(out);
    }
    return status;
}

/* A definition that could not be brought back before may be one that can now. */
Status weir_engine_shape(Engine *engine, const char *name, ViewShape *out, Error *err)
{
    weir_engine_restore(engine);
    const Status status = read_shape(engine, name, out, err);
    if (status == WEIR_OK || status == WEIR_ERR_NOMEM || !weir_engine_try_restore_new(engine)) {
        return status;
    }
    weir_error_clear(err);
    return read_shape(engine, name, out, err);
}

void weir_view_shape_deinit(ViewShape *shape)
{
    weir_arena_deinit(&shape->arena);
    *shape = (ViewShape){0};
}

/* ---- lists ---------------------------------------------------------------------------------- */

static Status view_info(const View *view, Arena *arena, ViewInfo *out, Error *err)
{
    const View *culprit = NULL;
    const Error *const failure = weir_view_failure(view, &culprit);
    *out = (ViewInfo){
        .state = failure == NULL ? "live" : "broken",
        .row_count = weir_sink_row_count(view->sink),
        .generation = view->generation,
        .step_count = view->step_count,
        .changed_rows = view->feed.row_total,
        .state_bytes = weir_circuit_state_bytes(view->circuit),
        .feed_bytes = view->feed.bytes,
        .populate_ms = view->populate_ms,
        .last_step_ms = view->last_step_ms,
    };
    WEIR_TRY(weir_name_copy(arena, &view->name, &out->name, err));
    WEIR_TRY(copy_text(arena, view->sql, &out->sql, err));
    if (failure != NULL) {
        out->reason = weir_arena_printf(arena, err, "DBSP-E%03d: view %s: %s", failure->code,
                                        culprit->name.name, failure->message);
        return out->reason == NULL ? err->code : WEIR_OK;
    }
    return WEIR_OK;
}

static Status views_locked(Engine *engine, Arena *arena, ViewInfo **out, size_t *count, Error *err)
{
    ViewInfo *infos = weir_arena_calloc(arena, engine->view_count, sizeof *infos, err);
    if (infos == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < engine->view_count; i++) {
        WEIR_TRY(view_info(engine->views[i], arena, &infos[i], err));
    }
    *out = infos;
    *count = engine->view_count;
    return WEIR_OK;
}

Status weir_engine_views(Engine *engine, Arena *arena, ViewInfo **out, size_t *count, Error *err)
{
    weir_engine_enter(engine);
    if (!engine->host.is_capturing) {
        weir_engine_restore_new_locked(engine);
    }
    const Status status = views_locked(engine, arena, out, count, err);
    weir_lock_release(&engine->lock);
    return status;
}

static const char *table_method(const Engine *engine, const TrackedTable *table)
{
    if (table->is_manual) {
        return "manual";
    }
    return table->host_table == NULL ? "none" : engine->host.table_method(table->host_table);
}

static void put_column_names(const TrackedTable *table, Buf *out)
{
    for (size_t i = 0; i < table->column_count; i++) {
        weir_buf_puts(out, i == 0 ? "" : ", ");
        weir_buf_puts(out, table->columns[i]);
    }
}

/* What put writes, in the arena; NULL if that is nothing. */
static Status table_text(const TrackedTable *table, void (*put)(const TrackedTable *, Buf *),
                         Buf *buf, Arena *arena, const char **out, Error *err)
{
    weir_buf_clear(buf);
    put(table, buf);
    WEIR_TRY(weir_buf_status(buf, err));
    return copy_text(arena, buf->size == 0 ? NULL : buf->data, out, err);
}

static Status table_info(Engine *engine, const TrackedTable *table, Arena *arena, TableInfo *out,
                         Error *err)
{
    static const char *const METHODS[] = {
        [SYNC_UNCHANGED] = "unchanged", [SYNC_LOGGED] = "logged",     [SYNC_APPENDED] = "appended",
        [SYNC_DIFFED] = "diffed",       [SYNC_CAPTURED] = "captured", [SYNC_RELOADED] = "reloaded"};
    Status status = WEIR_OK;
    Buf buf;
    *out = (TableInfo){
        .method = table_method(engine, table),
        .last_sync = table->sync_count == 0 ? "never" : METHODS[table->report.method],
        .row_count = weir_table_row_count(engine, table),
        .sync_count = table->sync_count,
        .diff_count = table->diff_count,
        .fall_back_count = table->fall_back_count,
        .generation = table->generation,
        .state_bytes = weir_table_promise_bytes(table),
        .last_sync_ms = table->last_sync_ms,
    };
    if (table->host_table != NULL) {
        out->state_bytes += engine->host.table_bytes(table->host_table);
    }
    weir_buf_init(&buf, engine->mem, 1 << 20);
    WEIR_CHECK(table_text(table, put_column_names, &buf, arena, &out->columns, err));
    out->columns = out->columns == NULL ? "" : out->columns;
    WEIR_CHECK(table_text(table, weir_table_put_promise, &buf, arena, &out->promise, err));
    WEIR_CHECK(
        table_text(table, weir_table_put_promise_error, &buf, arena, &out->promise_error, err));
    WEIR_CHECK(weir_name_copy(arena, &table->name, &out->name, err));
    if (table->error.code != WEIR_OK) {
        out->last_sync = weir_arena_printf(arena, err, "DBSP-E%03d: %s", table->error.code,
                                           table->error.message);
        status = out->last_sync == NULL ? err->code : WEIR_OK;
    }
done:
    weir_buf_deinit(&buf);
    return status;
}

static Status tables_locked(Engine *engine, Arena *arena, TableInfo **out, size_t *count,
                            Error *err)
{
    TableInfo *infos = weir_arena_calloc(arena, engine->table_count, sizeof *infos, err);
    if (infos == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < engine->table_count; i++) {
        WEIR_TRY(table_info(engine, engine->tables[i], arena, &infos[i], err));
    }
    *out = infos;
    *count = engine->table_count;
    return WEIR_OK;
}

Status weir_engine_tables(Engine *engine, Arena *arena, TableInfo **out, size_t *count, Error *err)
{
    weir_engine_enter(engine);
    const Status status = tables_locked(engine, arena, out, count, err);
    weir_lock_release(&engine->lock);
    return status;
}

/* ---- dependencies --------------------------------------------------------------------------- */

typedef struct DependencyList {
    DependencyInfo *items;
    size_t count;
    size_t capacity;
} DependencyList;

/* The shallowest depth counts if a name is reached in several ways. */
static Status dependency_add(DependencyList *list, const TableName *name, const char *kind,
                             size_t depth, Arena *arena, Error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        if (weir_name_equal(&list->items[i].name, name)) {
            list->items[i].depth = WEIR_MIN(list->items[i].depth, depth);
            return WEIR_OK;
        }
    }
    WEIR_ASSERT(list->count < list->capacity);
    DependencyInfo *const info = &list->items[list->count++];
    *info = (DependencyInfo){.kind = kind, .depth = depth};
    return weir_name_copy(arena, name, &info->name, err);
}

/* The depth at which the list has a view; 0 = it does not. */
static size_t dependency_depth(const DependencyList *list, const View *view)
{
    for (size_t i = 0; i < list->count; i++) {
        if (weir_name_equal(&list->items[i].name, &view->name)) {
            return list->items[i].depth;
        }
    }
    return 0;
}

/* From the view downwards: when a view's turn comes, all that read it had theirs. */
static Status dependencies_collect(Engine *engine, const View *top, DependencyList *list,
                                   Arena *arena, Error *err)
{
    for (size_t i = engine->view_count; i-- > 0;) {
        const View *const view = engine->views[i];
        const size_t depth = view == top ? 1 : dependency_depth(list, view) + 1;
        if (view != top && depth == 1) {
            continue;
        }
        for (size_t k = 0; k < view->input_count; k++) {
            const ViewInput *const input = &view->inputs[k];
            const bool is_table = input->table != NULL;
            WEIR_TRY(dependency_add(list, is_table ? &input->table->name : &input->view->name,
                                    is_table ? "table" : "view", depth, arena, err));
        }
    }
    return WEIR_OK;
}

static Status dependencies_locked(Engine *engine, const char *name, Arena *arena,
                                  DependencyList *list, Error *err)
{
    View *view = NULL;
    WEIR_TRY(weir_engine_get_view(engine, name, &view, err));
    list->capacity = engine->view_count + engine->table_count;
    list->items = weir_arena_calloc(arena, list->capacity, sizeof *list->items, err);
    if (list->items == NULL) {
        return err->code;
    }
    return dependencies_collect(engine, view, list, arena, err);
}

Status weir_engine_dependencies(Engine *engine, const char *name, Arena *arena,
                                DependencyInfo **out, size_t *count, Error *err)
{
    DependencyList list = {0};
    weir_engine_enter(engine);
    const Status status = dependencies_locked(engine, name, arena, &list, err);
    weir_lock_release(&engine->lock);
    *out = list.items;
    *count = list.count;
    return status;
}

/* ---- explain -------------------------------------------------------------------------------- */

/* A SELECT is planned and built, but neither bound to tables nor filled. */
static Status explain_sql(Engine *engine, const char *sql, const ViewSettings *settings, Buf *out,
                          Error *err)
{
    Status status = WEIR_OK;
    View *view = NULL;
    const TableName name = {"", "", "explain"};
    const CreateSpec spec = {.name = "explain", .sql = sql, .settings = *settings};
    WEIR_TRY(engine->host.begin(engine->host.context, err));
    WEIR_CHECK(weir_view_new(engine, &spec, &name, &view, err));
    view->sources =
        weir_arena_calloc(&view->arena, weir_plan_source_count(view->plan), sizeof(Op *), err);
    status = view->sources == NULL ? err->code : WEIR_OK;
    WEIR_CHECK(status);
    WEIR_CHECK(
        weir_plan_build(view->plan, &view->env, &view->circuit, view->sources, &view->sink, err));
    weir_plan_put_text(view->plan, out);
    weir_circuit_put_text(view->circuit, out);
done:
    weir_view_free(engine, view);
    engine->host.end(engine->host.context);
    return status;
}

Status weir_engine_explain(Engine *engine, const char *name_or_sql, const ViewSettings *settings,
                           Buf *out, Error *err)
{
    Status status = WEIR_OK;
    weir_engine_enter(engine);
    const View *const view = weir_engine_find_view(engine, name_or_sql);
    if (view == NULL) {
        WEIR_CHECK(explain_sql(engine, name_or_sql, settings, out, err));
    } else {
        weir_plan_put_text(view->plan, out);
        weir_circuit_put_text(view->circuit, out);
    }
    status = weir_buf_status(out, err);
done:
    weir_lock_release(&engine->lock);
    return status;
}
