/* create.c: creating, replacing and dropping views. */
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

static const View *find_dependent(Engine *engine, const View *view)
{
    weir_engine_mark_dependents(engine, view);
    for (size_t i = 0; i < engine->view_count; i++) {
        if (engine->views[i]->is_marked) {
            return engine->views[i];
        }
    }
    return NULL;
}

static Status refuse_dependents(const View *view, const View *dependent, Error *err)
{
    weir_error_set(err, WEIR_ERR_HAS_DEPENDENTS, "view %s is read by view %s", view->name.name,
                   dependent->name.name);
    weir_error_hint(err,
                    "drop %s first, or all at once: DROP MATERIALIZED VIEW ... CASCADE or "
                    "dbsp_drop_cascade",
                    dependent->name.name);
    return err->code;
}

/* Before the plan is bound, what it reads is brought to the snapshot: tables that were altered since
 * are noticed, and columns that nobody followed yet join the others at the same point. */
static Status catch_up_for(Engine *engine, const View *view, Error *err)
{
    WEIR_TRY(weir_engine_catch_up(engine, err));
    for (size_t i = 0; i < weir_plan_source_count(view->plan); i++) {
        const PlanSource *const source = weir_plan_source(view->plan, i);
        if (source->kind == PLAN_SOURCE_TABLE) {
            const TableName name = {source->catalog, source->schema, source->name};
            WEIR_TRY(weir_engine_prepare_table(engine, &name, source->columns, source->column_count,
                                               err));
        }
    }
    return WEIR_OK;
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

/* Another shape, or nothing there before: a feed of its own, from the next generation on, so that
 * no generation of an earlier view of that name continues in it. */
static Status begin_anew(Engine *engine, const CreateSpec *spec, View *view, View *old, Error *err)
{
    const View *const dependent = old == NULL ? NULL : find_dependent(engine, old);
    if (dependent != NULL) {
        return refuse_dependents(old, dependent, err);
    }
    WEIR_TRY(weir_feed_init(&view->feed, engine->mem, &view->schema, engine->feed_limit_bytes,
                            engine->generation + 1, err));
    /* Generations before it may be those of a view that is gone, or of an earlier opening. */
    view->feed.has_forgotten = old != NULL || engine->has_dropped || spec->is_saved;
    WEIR_TRY(weir_view_populate(engine, view, err));
    view->generation = engine->generation + 1;
    return old == NULL ? WEIR_OK : weir_view_detach_readers(old, err);
}

static Status publish(Engine *engine, const CreateSpec *spec, View *view, View *old, Error *err)
{
    const bool is_same_shape = old != NULL && schema_equal(&view->schema, &old->schema);
    WEIR_TRY(is_same_shape ? inherit(engine, view, old, err)
                           : begin_anew(engine, spec, view, old, err));
    weir_lock_acquire(&engine->catalog_lock);
    Status status = WEIR_OK;
    if (old != NULL) {
        take_place(engine, view, old);
    } else {
        status = weir_engine_grow(engine, &engine->views, engine->view_count,
                                  &engine->view_capacity, err);
    }
    if (status == WEIR_OK && old == NULL) {
        engine->views[engine->view_count++] = view;
    }
    if (status == WEIR_OK) {
        weir_engine_sort_views(engine);
    }
    weir_lock_release(&engine->catalog_lock);
    WEIR_TRY(status);
    engine->has_new_view = !is_same_shape;
    weir_engine_advance_views(engine);
    weir_view_free(engine, old); /* last: the circuit it gave away evaluates with what it holds */
    return WEIR_OK;
}

/* The name must be free, or that of the view to be replaced. */
static Status check_name(Engine *engine, const CreateSpec *spec, const TableName *name,
                         const View *old, Error *err)
{
    bool is_taken = false;
    const LostView *const lost = weir_engine_find_lost(engine, name);
    if (lost != NULL && spec->mode == CREATE_NEW) {
        return weir_lost_view_error(lost, err);
    }
    if (old != NULL && spec->mode == CREATE_NEW) {
        weir_error_set(err, WEIR_ERR_NAME_CLASH, "there is a view %s already", name->name);
        weir_error_hint(err, "CREATE OR REPLACE MATERIALIZED VIEW or dbsp_replace_view gives it a "
                             "new definition; DROP MATERIALIZED VIEW or dbsp_drop removes it");
        return err->code;
    }
    WEIR_TRY(engine->host.name_exists(engine->host.context, name, &is_taken, err));
    if (is_taken) {
        weir_error_set(err, WEIR_ERR_NAME_CLASH, "there is a table or view %s in schema %s",
                       name->name, name->schema);
        weir_error_hint(err, "choose another name");
        return err->code;
    }
    return WEIR_OK;
}

static bool source_equal(const PlanSource *a, const PlanSource *b)
{
    bool is_equal = a->kind == b->kind && a->column_count == b->column_count &&
                    weir_name_part_equal(a->name, b->name);
    for (size_t i = 0; is_equal && i < a->column_count; i++) {
        is_equal = weir_name_part_equal(a->columns[i], b->columns[i]) &&
                   weir_type_equal(a->types[i], b->types[i]);
    }
    return is_equal;
}

/* The new plan must read what the old one did, and give the same columns. */
static Status check_sources(const View *view, const View *old, Error *err)
{
    const size_t count = weir_plan_source_count(view->plan);
    bool is_equal = old != NULL && weir_plan_source_count(old->plan) == count &&
                    schema_equal(&view->schema, &old->schema);
    for (size_t i = 0; is_equal && i < count; i++) {
        is_equal = source_equal(weir_plan_source(view->plan, i), weir_plan_source(old->plan, i));
    }
    return is_equal ? WEIR_OK
                    : weir_error_set(err, WEIR_ERR_SOURCE_CHANGED,
                                     "view %s would not read the same columns any more",
                                     view->name.name);
}

void weir_engine_drop_one(Engine *engine, View *view)
{
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
}

Status weir_engine_create_locked(Engine *engine, const CreateSpec *spec, CreateResult *result,
                                 Error *err)
{
    Status status = WEIR_OK;
    View *view = NULL;
    View *published = NULL;
    bool was_there = false;
    TableName name = {0};
    Arena scratch;
    weir_arena_init(&scratch, engine->mem, 0);
    WEIR_CHECK(engine->host.resolve_name(engine->host.context, &spec->settings, spec->name,
                                         &scratch, &name, err));
    View *const old = weir_engine_find_view_exact(engine, &name);
    was_there = old != NULL;
    if (old != NULL && spec->mode == CREATE_IF_MISSING) {
        result->row_count = weir_sink_row_count(old->sink);
        goto done;
    }
    WEIR_CHECK(check_name(engine, spec, &name, old, err));
    status = weir_view_new(engine, spec, &name, &view, err);
    if (status != WEIR_OK) {
        explain_self_reference(&name, err);
        status = err->code;
        goto done;
    }
    if (spec->keeps_sources) {
        WEIR_CHECK(check_sources(view, old, err));
    }
    WEIR_CHECK(catch_up_for(engine, view, err));
    WEIR_CHECK(weir_view_bind(engine, view, old, err));
    if (!spec->is_saved && !spec->is_saved_later) {
        WEIR_CHECK(weir_engine_save(engine, view, err));
    }
    WEIR_CHECK(publish(engine, spec, view, old, err));
    published = view;
    view = NULL;
    WEIR_CHECK(weir_engine_commit_saving(engine, err));
    *result =
        (CreateResult){.was_created = true, .row_count = weir_sink_row_count(published->sink)};
    weir_engine_forget_lost(engine, &name);
done:
    if (status != WEIR_OK) {
        weir_engine_abort_saving(engine);
        if (published != NULL && !was_there) {
            weir_engine_drop_one(engine, published);
        }
    }
    weir_view_free(engine, view);
    weir_arena_deinit(&scratch);
    return status;
}

Status weir_engine_create(Engine *engine, const CreateSpec *spec, CreateResult *result, Error *err)
{
    CreateResult ignored = {0};
    CreateResult *const made = result == NULL ? &ignored : result;
    *made = (CreateResult){0};
    weir_engine_enter(engine);
    atomic_fetch_add(&engine->epoch, 1);
    Status status = engine->host.begin(engine->host.context, err);
    if (status == WEIR_OK) {
        status = weir_engine_create_locked(engine, spec, made, err);
        engine->host.end(engine->host.context);
    }
    weir_lock_release(&engine->lock);
    return status;
}

/* ---- dropping ------------------------------------------------------------------------------- */

/* All or none: what can fail comes first. */
static Status unsave_marked(Engine *engine, const View *view, Error *err)
{
    WEIR_TRY(weir_engine_unsave(engine, &view->name, err));
    for (size_t i = 0; i < engine->view_count; i++) {
        if (engine->views[i]->is_marked) {
            WEIR_TRY(weir_engine_unsave(engine, &engine->views[i]->name, err));
        }
    }
    return weir_engine_commit_saving(engine, err);
}

/* A definition that could not be brought back. */
static Status drop_lost(Engine *engine, const TableName *name, size_t *dropped, Error *err)
{
    WEIR_TRY(weir_engine_unsave(engine, name, err));
    WEIR_TRY(weir_engine_commit_saving(engine, err));
    weir_engine_forget_lost(engine, name);
    *dropped = 1;
    return WEIR_OK;
}

static Status drop_locked(Engine *engine, const char *name, bool cascade, size_t *dropped,
                          Error *err)
{
    View *view = NULL;
    const LostView *const lost = weir_engine_match_lost(engine, name);
    if (lost != NULL) {
        return drop_lost(engine, &lost->name, dropped, err);
    }
    WEIR_TRY(weir_engine_get_view(engine, name, &view, err));
    const View *const dependent = find_dependent(engine, view);
    if (dependent != NULL && !cascade) {
        return refuse_dependents(view, dependent, err);
    }
    WEIR_TRY(weir_view_detach_readers(view, err));
    for (size_t i = 0; i < engine->view_count; i++) {
        if (engine->views[i]->is_marked) {
            WEIR_TRY(weir_view_detach_readers(engine->views[i], err));
        }
    }
    WEIR_TRY(unsave_marked(engine, view, err));
    for (size_t i = engine->view_count; i-- > 0;) { /* deepest first */
        if (engine->views[i]->is_marked) {
            weir_engine_drop_one(engine, engine->views[i]);
            (*dropped)++;
        }
    }
    weir_engine_drop_one(engine, view);
    (*dropped)++;
    engine->has_dropped = true;
    engine->generation++; /* a view of that name made now is another one */
    weir_news_announce(&engine->news);
    return WEIR_OK;
}

Status weir_engine_drop(Engine *engine, const char *name, bool cascade, size_t *dropped, Error *err)
{
    size_t ignored = 0;
    size_t *const count = dropped == NULL ? &ignored : dropped;
    *count = 0;
    weir_engine_enter(engine);
    Status status = engine->host.begin(engine->host.context, err);
    if (status == WEIR_OK) {
        status = drop_locked(engine, name, cascade, count, err);
        weir_engine_abort_saving(engine);
        engine->host.end(engine->host.context);
    }
    weir_lock_release(&engine->lock);
    return status;
}
