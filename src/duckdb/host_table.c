/* host_table.c: followed tables. */
#include "duckdb/detect.h"
#include "duckdb/log_file.h"
#include "duckdb/table_facts.h"
#include "duckdb/table_scan.h"
#include "view/names.h"

Status weir_duck_host_table_schema(void *context, const TableName *name, Arena *arena, Schema *out,
                                   Error *err)
{
    int64_t oid = -1;
    Error ignored = {0};
    WEIR_TRY(weir_duck_host_open_snapshot(context, err));
    const Status status =
        weir_table_columns(context, name, WEIR_ERR_UNKNOWN_TABLE, arena, out, err);
    if (status == WEIR_ERR_UNKNOWN_TABLE && strstr(err->message, "does not exist") == NULL &&
        weir_table_oid(context, name, &oid, &ignored) == WEIR_OK && oid < 0) {
        weir_error_set(err, status, "%s is not a table", name->name);
        weir_error_hint(err, "only tables are followed; what a view reads is followed for it");
    }
    return status;
}

Status weir_duck_host_table_open(void *context, const TableName *name, HostTable **out, Error *err)
{
    DuckHost *const host = context;
    HostTable *table = weir_mem_zalloc(host->mem, sizeof *table, err);
    if (table == NULL) {
        return err->code;
    }
    Status status = WEIR_OK;
    const char *facts = NULL;
    const Schema none = {0};
    table->host = host;
    weir_arena_init(&table->arena, host->mem, 256);
    weir_log_table_init(&table->log, host->mem, &table->name, &table->baseline);
    WEIR_CHECK(weir_duck_host_open_snapshot(host, err));
    WEIR_CHECK(weir_name_copy(&table->arena, name, &table->name, err));
    WEIR_CHECK(
        weir_table_facts(host, name, &none, WEIR_ERR_UNKNOWN_TABLE, &host->arena, &facts, err));
    WEIR_CHECK(weir_table_oid(host, name, &table->oid, err));
    if (!host->is_capturing) {
        WEIR_CHECK(weir_log_file_attach(table, err));
    }
    *out = table;
done:
    if (status != WEIR_OK) {
        weir_duck_host_table_close(host, table);
    }
    return status;
}

void weir_duck_host_table_close(void *context, HostTable *table)
{
    DuckHost *const host = context;
    if (table == NULL) {
        return;
    }
    weir_log_file_detach(table);
    weir_log_table_deinit(&table->log);
    weir_baseline_deinit(&table->baseline);
    weir_mem_free(host->mem, table->facts);
    weir_arena_deinit(&table->arena);
    weir_mem_free(host->mem, table);
}

/* Makes a new baseline beside the old one. */
static Status load_baseline(HostTable *table, const Schema *schema, Baseline *fresh, Error *err)
{
    DuckHost *const host = table->host;
    SyncReport report = {0};
    host->is_snapshot_used = true;
    WEIR_TRY(weir_baseline_init(fresh, host->mem, host->pool, schema, host->group_rows, err));
    const DetectJob job = {
        .host = host, .name = &table->name, .baseline = fresh, .report = &report};
    const Status status = host->is_capturing
                              ? weir_table_count_rows(host, &table->name, &table->row_count, err)
                              : weir_detect_load(&job, err);
    if (status != WEIR_OK) {
        weir_baseline_deinit(fresh);
    }
    return status;
}

/* The new baseline takes the old one's place, and its place in the log. */
static void take_baseline(HostTable *table, const Baseline *fresh, char *facts, size_t *places,
                          size_t stored_count)
{
    DuckHost *const host = table->host;
    weir_baseline_deinit(&table->baseline);
    weir_mem_free(host->mem, table->facts);
    table->baseline = *fresh;
    table->facts = facts;
    table->is_followed = true;
    weir_log_table_restart(&table->log, places, stored_count);
    weir_log_file_confirm(table);
}

Status weir_duck_host_table_follow(void *context, HostTable *table, const char *const *columns,
                                   const LogicalType *const *types, size_t count, Error *err)
{
    DuckHost *const host = context;
    const Schema schema = {.count = count, .types = types, .names = columns};
    const char *facts = NULL;
    char *own_facts = NULL;
    size_t *places = NULL;
    size_t stored_count = 0;
    Baseline fresh = {0};
    Status status = WEIR_OK;
    WEIR_CHECK(weir_log_file_ensure_snapshot(table, err));
    WEIR_CHECK(weir_table_facts(host, &table->name, &schema, WEIR_ERR_SOURCE_CHANGED, &host->arena,
                                &facts, err));
    WEIR_CHECK(weir_table_check_columns(host, &table->name, &schema, err));
    if (table->file != NULL) {
        WEIR_CHECK(weir_table_places(host, &table->name, &schema, &places, &stored_count, err));
    }
    own_facts = weir_mem_strdup(host->mem, facts, err);
    status = own_facts == NULL ? err->code : WEIR_OK;
    WEIR_CHECK(status);
    WEIR_CHECK(load_baseline(table, &schema, &fresh, err));
    take_baseline(table, &fresh, own_facts, places, stored_count);
    return WEIR_OK;
done:
    weir_mem_free(host->mem, own_facts);
    weir_mem_free(host->mem, places);
    return status;
}

/* Nothing is compared: the writers tell what they change. A table that was made anew is another one,
 * and its rows were not told. */
static Status capture_sync(HostTable *table, SyncReport *report, Error *err)
{
    DuckHost *const host = table->host;
    int64_t oid = 0;
    WEIR_TRY(weir_table_oid(host, &table->name, &oid, err));
    WEIR_TRY(weir_table_count_rows(host, &table->name, &table->row_count, err));
    report->method = oid == table->oid ? SYNC_UNCHANGED : SYNC_RELOADED;
    table->oid = oid;
    return WEIR_OK;
}

/* The definition must still be the one that the views were planned on. */
static Status check_definition(HostTable *table, Error *err)
{
    DuckHost *const host = table->host;
    const Schema *const schema = &table->baseline.schema;
    const char *facts = NULL;
    const Status status = weir_table_facts(host, &table->name, schema, WEIR_ERR_SOURCE_CHANGED,
                                           &host->arena, &facts, err);
    if (status != WEIR_OK && status != WEIR_ERR_SOURCE_CHANGED) {
        return status;
    }
    if (status == WEIR_OK && strcmp(facts, table->facts) == 0) {
        return WEIR_OK;
    }
    return weir_table_explain_change(host, &table->name, table->oid, schema, err);
}

void weir_duck_host_prepare_sync(void *context, HostTable *const *tables, size_t count)
{
    DuckHost *const host = context;
    if (!host->is_capturing) {
        weir_log_file_prepare(host, tables, count);
    }
}

/* Old rows are looked at only as far as is cheap; *is_done = false: that does not do. */
static Status compare_appended(HostTable *table, const DetectJob *job, bool *is_done, Error *err)
{
    *is_done = false;
    if (!table->is_append_only || job->baseline->row_count == 0) {
        return WEIR_OK;
    }
    const size_t sample = table->next_sample++;
    return weir_detect_appended(job, sample, is_done, err);
}

/* Compares the table with the snapshot. */
static Status compare(HostTable *table, HostVisit visit, void *user, SyncReport *report, Error *err)
{
    DuckHost *const host = table->host;
    const DetectJob job = {
        .host = host,
        .name = &table->name,
        .baseline = &table->baseline,
        .visit = visit,
        .user = user,
        .report = report,
    };
    WEIR_TRY(weir_log_file_ensure_snapshot(table, err));
    WEIR_TRY(check_definition(table, err));
    WEIR_TRY(weir_log_file_attach(table, err)); /* the name may be another database's now */
    host->is_snapshot_used = true;
    WEIR_TRY(weir_overlay_settle(&table->baseline, err));
    bool is_done = false;
    WEIR_TRY(compare_appended(table, &job, &is_done, err));
    if (!is_done) {
        WEIR_TRY(weir_detect_sync(&job, err));
    }
    weir_log_file_confirm(table);
    return WEIR_OK;
}

/* What was read of the log was applied in part: baseline and what was kept do not belong together. */
static Status reload(HostTable *table, SyncReport *report, Error *err)
{
    const Schema *const schema = &table->baseline.schema;
    report->is_lost = true;
    WEIR_TRY(check_definition(table, err));
    WEIR_TRY(weir_duck_host_table_follow(table->host, table, schema->names, schema->types,
                                         schema->count, err));
    report->is_lost = false;
    report->method = SYNC_RELOADED;
    weir_error_clear(&table->failure);
    return WEIR_OK;
}

Status weir_duck_host_table_sync(void *context, HostTable *table, HostVisit visit, void *user,
                                 SyncReport *report, Error *err)
{
    DuckHost *const host = context;
    uint64_t logged = 0;
    WEIR_ASSERT(table->is_followed);
    *report = (SyncReport){.method = SYNC_UNCHANGED};
    if (host->is_capturing) {
        WEIR_TRY(weir_duck_host_open_snapshot(host, err));
        WEIR_TRY(check_definition(table, err));
        return capture_sync(table, report, err);
    }
    if (table->prepared_epoch != host->epoch) {
        weir_log_file_prepare(host, &table, 1);
    }
    if (table->failure.code != WEIR_OK) {
        return reload(table, report, err);
    }
    WEIR_TRY(weir_log_table_drain(&table->log, visit, user, &logged, err));
    report->rows_read = logged;
    report->method = logged > 0 ? SYNC_LOGGED : SYNC_UNCHANGED;
    if (table->log.is_known) {
        return WEIR_OK;
    }
    report->is_fall_back = table->was_logged;
    return compare(table, visit, user, report, err);
}

void weir_duck_host_look(void *context)
{
    weir_log_file_begin_look(context);
}

bool weir_duck_host_table_is_unchanged(void *context, const HostTable *table)
{
    const DuckHost *const host = context;
    return !host->is_capturing && weir_log_file_is_unchanged(table);
}

void weir_duck_host_table_believe_append_only(HostTable *table, bool is_believed)
{
    table->is_append_only = is_believed;
}

const char *weir_duck_host_table_method(const HostTable *table)
{
    if (table->host->is_capturing) {
        return "capture";
    }
    return table->log.is_known ? "wal" : "fingerprint";
}

Status weir_duck_host_table_scan(void *context, HostTable *table, HostVisit visit, void *user,
                                 Error *err)
{
    DuckHost *const host = context;
    if (!table->is_followed) {
        return WEIR_OK;
    }
    if (host->is_capturing) {
        WEIR_TRY(weir_duck_host_open_snapshot(host, err));
        return weir_table_scan(host, &table->name, &table->baseline.schema, visit, user, err);
    }
    WEIR_TRY(weir_overlay_settle(&table->baseline, err));
    return weir_baseline_scan(&table->baseline, visit, user, err);
}

uint64_t weir_duck_host_table_row_count(const HostTable *table)
{
    return table->host->is_capturing ? table->row_count : weir_overlay_row_count(&table->baseline);
}

size_t weir_duck_host_table_bytes(const HostTable *table)
{
    return weir_baseline_bytes(&table->baseline);
}
