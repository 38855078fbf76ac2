/* commit.c: commits that a writer tells of, with the rows that it changed.
 *
 *   the writer reads the shape of a table before it changes it, and gathers the rows in that shape
 *   under the engine's lock: the database commits, then one pass takes all views to that commit
 *
 * With a host that keeps baselines, what was told is remembered beside them (TrackedTable.notified):
 *
 *   what the views have of a table = its baseline + what was told since the last sync
 *
 * so that a sync, which finds the writer's rows as it finds everybody's, takes the difference of the two.
 * It does not matter in which order the database has committed and the rows were found.
 *
 * DuckDB lets two transactions that overlap change one row, if one deletes and the other updates it, or
 * they update different columns of it: what the later one says of the row before is not what the row
 * is. So of two that overlap and rewrite rows of a table in different ways, the later one's rows are
 * not believed.
 *
 * A table that began to be followed, or to be followed by other columns, after the writer had read
 * its shape may or may not have been filled with the writer's rows: it is read anew. So is a table
 * of which the writer does not know how it changed it. */
#include "view/engine_priv.h"

uint64_t weir_engine_epoch(const Engine *engine)
{
    return atomic_load(&engine->epoch);
}

uint64_t weir_engine_commits(const Engine *engine)
{
    return atomic_load(&engine->commits);
}

Status weir_engine_capture_shape(Engine *engine, const TableName *name, Arena *arena,
                                 CaptureShape *out, Error *err)
{
    Status status = WEIR_OK;
    weir_lock_acquire(&engine->lock);
    *out = (CaptureShape){.epoch = atomic_load(&engine->epoch)};
    const TrackedTable *const table = weir_engine_find_table(engine, name);
    if (table != NULL && !table->is_manual) {
        const Schema schema = weir_table_schema(table);
        out->is_followed = true;
        out->follow_id = table->follow_id;
        status = weir_schema_copy(arena, &schema, &out->schema, err);
    }
    weir_lock_release(&engine->lock);
    return status;
}

static bool reads(const View *view, const TrackedTable *table)
{
    for (size_t i = 0; i < view->input_count; i++) {
        if (view->inputs[i].table == table) {
            return true;
        }
    }
    return false;
}

Status weir_engine_visit_followed(Engine *engine,
                                  Status (*visit)(void *user, const FollowedTable *table,
                                                  Error *err),
                                  void *user, Error *err)
{
    Status status = WEIR_OK;
    weir_lock_acquire(&engine->lock);
    for (size_t i = 0; i < engine->table_count; i++) {
        const TrackedTable *const table = engine->tables[i];
        const Schema columns = weir_table_schema(table);
        for (size_t k = 0; k < engine->view_count && status == WEIR_OK; k++) {
            const FollowedTable followed = {
                .name = &table->name, .columns = &columns, .view = &engine->views[k]->name};
            if (table->error.code == WEIR_OK && reads(engine->views[k], table)) {
                status = visit(user, &followed, err);
            }
        }
    }
    weir_lock_release(&engine->lock);
    return status;
}

static const TableChange *find_change(const EngineCommit *commit, const TableName *name)
{
    for (size_t i = 0; i < commit->change_count; i++) {
        if (weir_name_equal(&commit->changes[i].name, name)) {
            return &commit->changes[i];
        }
    }
    return NULL;
}

/* Reads the definition anew, and the rows if they are not known. */
static void table_check(Engine *engine, TrackedTable *table)
{
    Error err = {0};
    uint64_t changed = 0;
    const Status status = weir_table_sync(engine, table, &changed, &err);
    if (status == WEIR_ERR_SOURCE_CHANGED || table->host_table == NULL) {
        weir_engine_break_views_of(engine, table);
    }
}

/* Whether rewrites of another kind were committed since: of its own kind DuckDB would not have let
 * both of them change one row. */
static bool has_clashed(const TrackedTable *table, uint64_t kind, uint64_t since)
{
    if (table->last_rewrite <= since) {
        return false;
    }
    return kind == REWRITES_MIXED || kind != table->last_kind || table->last_other > since;
}

/* Whether the rows that were told, or that none were, are what happened to the table. */
static bool is_believed(const TrackedTable *table, const EngineCommit *commit,
                        const TableChange *change)
{
    if (table->host_table == NULL || commit->is_unknown) {
        return false;
    }
    return change == NULL || (change->rows != NULL && change->follow_id == table->follow_id &&
                              (change->rewrites == REWRITES_NONE ||
                               !has_clashed(table, change->rewrites, commit->since)));
}

static void table_apply(Engine *engine, TrackedTable *table, const EngineCommit *commit)
{
    const TableChange *const change = find_change(commit, &table->name);
    const bool is_known = is_believed(table, commit, change);
    if (!commit->has_definitions &&
        (table->is_manual || table->error.code == WEIR_ERR_SOURCE_CHANGED)) {
        return;
    }
    if (!is_known || commit->has_definitions) {
        table_check(engine, table);
    }
    if (table->error.code != WEIR_OK || table->is_fresh || table->is_manual) {
        return;
    }
    if (!is_known) {
        table->report.method = SYNC_RELOADED;
        table->diff_count++;
        table->is_fresh = true;
    } else if (change != NULL) {
        weir_table_take_captured(table, change);
    }
}

/* True if the followed tables that have changed can take what was told of them. */
static bool is_all_told(const Engine *engine, const EngineCommit *commit)
{
    bool is_told = !commit->is_unknown && !commit->has_definitions;
    for (size_t i = 0; i < engine->table_count && is_told; i++) {
        const TrackedTable *const table = engine->tables[i];
        const TableChange *const change = find_change(commit, &table->name);
        is_told = change == NULL || table->is_manual ||
                  (table->error.code == WEIR_OK && is_believed(table, commit, change));
    }
    return is_told;
}

static void table_take_told(Engine *engine, TrackedTable *table, const EngineCommit *commit)
{
    Error err = {0};
    const TableChange *const change = find_change(commit, &table->name);
    if (change != NULL && !table->is_manual &&
        weir_table_take_told(engine, table, change, &err) != WEIR_OK) {
        weir_engine_break_views_of(engine, table);
    }
}

/* What is not known in full is found by a sync: of all tables, so that they are at one commit. A table
 * that cannot be synced says so itself. */
static void apply_beside_baselines(Engine *engine, const EngineCommit *commit)
{
    Error ignored = {0};
    uint64_t changed = 0;
    if (!is_all_told(engine, commit)) {
        if (weir_engine_propagate(engine, NULL, &changed, &ignored) != WEIR_OK) {
            engine->notice = ignored;
        }
        weir_engine_bind_again(engine);
        return;
    }
    for (size_t i = 0; i < engine->table_count; i++) {
        table_take_told(engine, engine->tables[i], commit);
    }
    weir_engine_advance_views(engine);
}

/* What cannot be looked at now is looked at when it is read. */
static void plan_all_again(Engine *engine)
{
    Error failure = {0};
    weir_engine_make_plans_due(engine, NULL);
    if (weir_engine_plan_again(engine, &failure) != WEIR_OK) {
        engine->notice = failure;
    }
}

static Status apply(Engine *engine, const EngineCommit *commit, Error *err)
{
    if ((engine->table_count == 0 && engine->view_count == 0) ||
        (commit->change_count == 0 && !commit->is_unknown && !commit->has_definitions)) {
        return WEIR_OK;
    }
    WEIR_TRY(engine->host.begin(engine->host.context, err));
    if (engine->host.is_capturing) {
        for (size_t i = 0; i < engine->table_count; i++) {
            table_apply(engine, engine->tables[i], commit);
        }
        weir_engine_advance_views(engine);
    } else {
        apply_beside_baselines(engine, commit);
    }
    if (commit->has_definitions) {
        plan_all_again(engine);
    }
    engine->host.end(engine->host.context);
    return WEIR_OK;
}

Status weir_engine_prepare_commit(Engine *engine, Error *err)
{
    weir_engine_enter(engine);
    const Status status = weir_engine_freshen(engine, NULL, err);
    weir_lock_release(&engine->lock);
    return status;
}

/* The database has committed what the views were not told: their tables are read anew when that is
 * possible again. */
static void give_up(Engine *engine, const Error *reason)
{
    for (size_t i = 0; i < engine->table_count; i++) {
        TrackedTable *const table = engine->tables[i];
        if (table->error.code == WEIR_OK) {
            weir_table_give_up(engine, table, reason);
            weir_engine_break_views_of(engine, table);
        }
    }
    weir_engine_find_culprits(engine);
    weir_news_announce(&engine->news);
}

Status weir_engine_commit(Engine *engine, EngineCommit *commit, Error *err)
{
    Error failure = {0};
    weir_lock_acquire(&engine->lock);
    const Status status = commit->run(commit->context, commit, err);
    if (status == WEIR_OK && apply(engine, commit, &failure) != WEIR_OK) {
        give_up(engine, &failure);
    }
    weir_lock_release(&engine->lock);
    return status;
}
