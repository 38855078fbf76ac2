/* host_table.c: followed tables. */
#include "duckdb/detect.h"
#include "duckdb/table_facts.h"
#include "duckdb/table_scan.h"
#include "view/names.h"

struct HostTable {
    DuckHost *host; /* borrowed */
    Arena arena;    /* the name */
    TableName name;
    int64_t oid;       /* when it was last seen; tells a renamed table from a dropped one */
    Baseline baseline; /* of a host that captures: only its schema is used */
    bool is_followed;
    uint64_t row_count; /* of a host that captures: when it was last read */
    char *facts;        /* owned: the definition that the baseline stands on */
};

Status weir_duck_host_table_schema(void *context, const TableName *name, Arena *arena, Schema *out,
                                   Error *err)
{
    return weir_table_columns(context, name, WEIR_ERR_UNKNOWN_TABLE, arena, out, err);
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
    WEIR_CHECK(weir_name_copy(&table->arena, name, &table->name, err));
    WEIR_CHECK(
        weir_table_facts(host, name, &none, WEIR_ERR_UNKNOWN_TABLE, &host->arena, &facts, err));
    WEIR_CHECK(weir_table_oid(host, name, &table->oid, err));
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

Status weir_duck_host_table_follow(void *context, HostTable *table, const char *const *columns,
                                   const LogicalType *const *types, size_t count, Error *err)
{
    DuckHost *const host = context;
    const Schema schema = {.count = count, .types = types, .names = columns};
    const char *facts = NULL;
    Baseline fresh = {0};
    WEIR_TRY(weir_table_facts(host, &table->name, &schema, WEIR_ERR_SOURCE_CHANGED, &host->arena,
                              &facts, err));
    WEIR_TRY(weir_table_check_columns(host, &table->name, &schema, err));
    char *own_facts = weir_mem_strdup(host->mem, facts, err);
    if (own_facts == NULL) {
        return err->code;
    }
    const Status status = load_baseline(table, &schema, &fresh, err);
    if (status != WEIR_OK) {
        weir_mem_free(host->mem, own_facts);
        return status;
    }
    weir_baseline_deinit(&table->baseline);
    weir_mem_free(host->mem, table->facts);
    table->baseline = fresh;
    table->facts = own_facts;
    table->is_followed = true;
    return WEIR_OK;
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

Status weir_duck_host_table_sync(void *context, HostTable *table, HostVisit visit, void *user,
                                 SyncReport *report, Error *err)
{
    DuckHost *const host = context;
    WEIR_ASSERT(table->is_followed);
    *report = (SyncReport){.method = SYNC_UNCHANGED};
    WEIR_TRY(check_definition(table, err));
    if (host->is_capturing) {
        return capture_sync(table, report, err);
    }
    const DetectJob job = {
        .host = host,
        .name = &table->name,
        .baseline = &table->baseline,
        .visit = visit,
        .user = user,
        .report = report,
    };
    return weir_detect_sync(&job, err);
}

Status weir_duck_host_table_scan(void *context, HostTable *table, HostVisit visit, void *user,
                                 Error *err)
{
    DuckHost *const host = context;
    if (!table->is_followed) {
        return WEIR_OK;
    }
    return host->is_capturing
               ? weir_table_scan(host, &table->name, &table->baseline.schema, visit, user, err)
               : weir_baseline_scan(&table->baseline, visit, user, err);
}

uint64_t weir_duck_host_table_row_count(const HostTable *table)
{
    return table->host->is_capturing ? table->row_count : table->baseline.row_count;
}

size_t weir_duck_host_table_bytes(const HostTable *table)
{
    return weir_baseline_bytes(&table->baseline);
}
