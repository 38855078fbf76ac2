/* create.c: creating, replacing, refreshing and dropping views. */
#include "view/engine_priv.h"

/* A definition that names the view being made is told so, instead of "does not exist". */
static void explain_self_reference(const TableName *name, Error *err)
{
    char quoted[256];
    const size_t size = strlen(name->name);
    if (err->code != WEIR_ERR_UNKNOWN_TABLE || size + 2 >= sizeof quoted) {
        return;
    }
    memcpy(quoted, name->name, size + 1);
    const char *const found = strstr(err->message, "Table with name ");
    if (found != NULL && strncmp(found + strlen("Table with name "), quoted, size) == 0 &&
        found[strlen("Table with name ") + size] == ' ') {
        weir_error_set(err, WEIR_ERR_CYCLE, "view %s would read itself", name->name);
        weir_error_hint(err, "a view cannot depend on itself; give it another name");
    }
}

static bool schema_equal(const Schema *a, const Schema *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!weir_type_equal(a->types[i], b->types[i]) ||
            !weir_name_part_equal(a->names[i], b->names[i])) {
            return false;
        }
    }
    return true;
}

static const View *find_dependent(const Engine *engine, const View *view)
{
    for (size_t i = 0; i < engine->view_count; i++) {
        if (weir_view_depends_on(engine->views[i], view)) {
            return engine->views[i];
        }
    }
    return NULL;
}

static Status refuse_dependents(const View *view, const View *dependent, Error *err)
{
    weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS, "view %s is read by view %s", view->name.name,
                   dependent->name.name);
    weir_error_hint(err, "drop %s first, or use dbsp_drop_cascade", dependent->name.name);
    return err->code;
}

/* Something has to be followed anew: then everything must be brought to the same snapshot first. */
static bool needs_new_columns(Engine *engine, const View *view)
{
    for (size_t i = 0; i < weir_plan_source_count(view->plan); i++) {
        const PlanSource *const source = weir_plan_source(view->plan, i);
        if (source->kind != PLAN_SOURCE_TABLE) {
            continue;
        }
        const TableName name = {source->catalog, source->schema, source->name};
        const TrackedTable *const table = weir_engine_find_table(engine, &name);
        if (table == NULL) {
            return true;
        }
        for (size_t k = 0; k < source->column_count; k++) {
            size_t place = 0;
            while (place < table->column_count &&
                   !weir_name_part_equal(table->columns[place], source->columns[k])) {
                place++;
            }
            if (place == table->column_count) {
                return true;
            }
        }
    }
    return false;
}

/* The new view takes the old one's place: whoever reads the old one reads the new one. */
static void take_place(Engine *engine, View *view, View *old)
{
    for (size_t i = 0; i < engine->view_count; i++) {
        View *const other = engine->views[i];
        for (size_t k = 0; k < other->input_count; k++) {
            if (other->inputs[k].view == old) {
                other->inputs[k].view = view;
            }
        }
        if (other == old) {
            engine->views[i] = view;
        }
    }
}

/* Same columns: the feed goes on, with the difference as one change, and dependents step on it. */
static Status inherit(Engine *engine, View *view, View *old, Error *err)
{
    WEIR_TRY(weir_view_detach_readers(old, err));
    view->feed = old->feed;
    old->feed = (Feed){0};
    view->circuit = old->circuit;
    view->sink = old->sink;
    old->circuit = NULL;
    old->sink = NULL;
    const Status status = weir_view_populate(engine, view, err);
    if (status != WEIR_OK) {
        old->feed = view->feed;
        view->feed = (Feed){0};
        old->circuit = view->circuit;
        old->sink = view->sink;
        view->circuit = NULL;
        view->sink = NULL;
    }
    return status;
}

static Status publish(Engine *engine, View *view, View *old, Error *err)
{
    const bool is_same_shape = old != NULL && schema_equal(&view->schema, &old->schema);
    if (old != NULL && !is_same_shape) {
        const View *const dependent = find_dependent(engine, old);
        if (dependent != NULL) {
            return refuse_dependents(old, dependent, err);
        }
    }
    if (is_same_shape) {
        WEIR_TRY(inherit(engine, view, old, err));
    } else {
        WEIR_TRY(weir_engine_grow(engine, &engine->views, engine->view_count,
                                  &engine->view_capacity, err));
        WEIR_TRY(weir_feed_init(&view->feed, engine->mem, &view->schema, engine->feed_limit_bytes,
                                engine->generation, err));
        WEIR_TRY(weir_view_populate(engine, view, err));
        if (old != NULL) {
            WEIR_TRY(weir_view_detach_readers(old, err));
        }
    }
    view->created_generation = engine->generation;
    weir_lock_acquire(&engine->catalog_lock);
    if (old != NULL) {
        take_place(engine, view, old);
    } else {
        engine->views[engine->view_count++] = view;
    }
    weir_engine_sort_views(engine);
    weir_lock_release(&engine->catalog_lock);
    if (old != NULL) {
        weir_view_free(engine, old);
    }
    weir_engine_advance_views(engine);
    return WEIR_OK;
}

static Status create_locked(Engine *engine, const CreateSpec *spec, bool *was_created, Error *err)
{
    Status status = WEIR_OK;
    View *view = NULL;
    uint64_t changed_rows = 0;
    bool name_is_taken = false;
    TableName name = {0};
    Arena scratch;
    weir_arena_init(&scratch, engine->mem, 0);
    WEIR_CHECK(engine->host.resolve_name(engine->host.context, &spec->settings, spec->name,
                                         &scratch, &name, err));
    View *const old = weir_engine_find_view_exact(engine, &name);
    if (old != NULL && spec->mode == CREATE_IF_MISSING) {
        goto done;
    }
    if (old != NULL && spec->mode == CREATE_NEW) {
        status = weir_error_set(err, WEIR_ERR_NAME_CLASH, "there is a view %s already", name.name);
        weir_error_hint(err, "use dbsp_replace_view to give it a new definition, or dbsp_drop");
        goto done;
    }
    WEIR_CHECK(engine->host.name_exists(engine->host.context, &name, &name_is_taken, err));
    if (name_is_taken) {
        status = weir_error_set(err, WEIR_ERR_NAME_CLASH,
                                "there is a table or view %s in schema %s", name.name, name.schema);
        weir_error_hint(err, "choose another name");
        goto done;
    }
    status = weir_view_new(engine, spec, &name, &view, err);
    if (status != WEIR_OK) {
        explain_self_reference(&name, err);
        status = err->code;
        goto done;
    }
    if (needs_new_columns(engine, view)) {
        WEIR_CHECK(weir_engine_propagate(engine, NULL, &changed_rows, err));
    }
    WEIR_CHECK(weir_view_bind(engine, view, err));
    WEIR_CHECK(publish(engine, view, old, err));
    *was_created = true;
    view = NULL;
done:
    weir_view_free(engine, view);
    weir_arena_deinit(&scratch);
    return status;
}

Status weir_engine_create(Engine *engine, const CreateSpec *spec, bool *was_created, Error *err)
{
    bool ignored = false;
    bool *const created = was_created == NULL ? &ignored : was_created;
    *created = false;
    weir_lock_acquire(&engine->lock);
    Status status = engine->host.begin(engine->host.context, err);
    if (status == WEIR_OK) {
        status = create_locked(engine, spec, created, err);
        engine->host.end(engine->host.context);
    }
    weir_lock_release(&engine->lock);
    return status;
}

static Status refresh_locked(Engine *engine, const char *name, Error *err)
{
    Status status = WEIR_OK;
    Buf full_name;
    Arena scratch;
    View *view = NULL;
    bool was_created = false;
    weir_buf_init(&full_name, engine->mem, 1 << 16);
    weir_arena_init(&scratch, engine->mem, 0);
    WEIR_CHECK(weir_engine_get_view(engine, name, &view, err));
    weir_name_put_sql(&full_name, &view->name);
    WEIR_CHECK(weir_buf_status(&full_name, err));
    CreateSpec spec = {.name = full_name.data,
                       .sql = weir_arena_strdup(&scratch, view->sql, err),
                       .settings = view->settings,
                       .mode = CREATE_OR_REPLACE};
    status = spec.sql == NULL ? err->code : WEIR_OK;
    WEIR_CHECK(status);
    WEIR_CHECK(create_locked(engine, &spec, &was_created, err));
done:
    weir_buf_deinit(&full_name);
    weir_arena_deinit(&scratch);
    return status;
}

Status weir_engine_refresh(Engine *engine, const char *name, Error *err)
{
    weir_lock_acquire(&engine->lock);
    Status status = engine->host.begin(engine->host.context, err);
    if (status == WEIR_OK) {
        status = refresh_locked(engine, name, err);
        engine->host.end(engine->host.context);
    }
    weir_lock_release(&engine->lock);
    return status;
}

/* ---- dropping ------------------------------------------------------------------------------- */

static Status drop_one(Engine *engine, View *view, Error *err)
{
    WEIR_TRY(weir_view_detach_readers(view, err));
    weir_lock_acquire(&engine->catalog_lock);
    for (size_t i = 0; i < engine->view_count; i++) {
        if (engine->views[i] == view) {
            memmove(engine->views + i, engine->views + i + 1,
                    (engine->view_count - i - 1) * sizeof(View *));
            engine->view_count--;
            break;
        }
    }
    weir_lock_release(&engine->catalog_lock);
    weir_view_free(engine, view);
    return WEIR_OK;
}

static Status drop_locked(Engine *engine, const char *name, bool cascade, size_t *dropped,
                          Error *err)
{
    View *view = NULL;
    WEIR_TRY(weir_engine_get_view(engine, name, &view, err));
    const View *const dependent = find_dependent(engine, view);
    if (dependent != NULL && !cascade) {
        return refuse_dependents(view, dependent, err);
    }
    for (size_t i = engine->view_count; i-- > 0;) { /* deepest first */
        if (weir_view_depends_on(engine->views[i], view)) {
            WEIR_TRY(drop_one(engine, engine->views[i], err));
            (*dropped)++;
        }
    }
    WEIR_TRY(drop_one(engine, view, err));
    (*dropped)++;
    return WEIR_OK;
}

Status weir_engine_drop(Engine *engine, const char *name, bool cascade, size_t *dropped, Error *err)
{
    size_t ignored = 0;
    size_t *const count = dropped == NULL ? &ignored : dropped;
    *count = 0;
    weir_lock_acquire(&engine->lock);
    const Status status = drop_locked(engine, name, cascade, count, err);
    weir_lock_release(&engine->lock);
    return status;
}
