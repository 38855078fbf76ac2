/* net.c: what changed between two points of a log, taken together.
 *
 * A temporary database, which SQLite moves to disk when it grows, has a row for every row that was
 * touched: its first image before and its last image after, with the table's names then. Every change
 * makes
 *
 *   (-, A)  if it is the first one and an insert       (B, -)  a delete
 *   (B, A)  an update                                  then A := what the next change leaves
 *
 * and what ends as (-, -) or (X, X) is no change. A row is told by its rowid, or, in a WITHOUT ROWID
 * table, by the values of its key. Rows of a table that is dropped are forgotten: most
 * of them left no record. The record of a dropped table is closed (its era is set), so that a table
 * of the same place in sqlite_schema begins a new one. */
#include "cdc/net.h"

#include "cdc/database.h"

static const char SETUP[] =
    "CREATE TABLE net(era INTEGER, name TEXT COLLATE nocase, id INTEGER, key BLOB, first_name "
    "TEXT, "
    "first_at INTEGER, before BLOB, last_name TEXT, last_at INTEGER, after BLOB, owner TEXT, "
    "PRIMARY KEY(era, name, id, key)) WITHOUT ROWID";

typedef struct Net {
    sqlite3 *scratch;       /* owned */
    sqlite3_stmt *put;      /* owned: a change of a row */
    CdcHistory *history;    /* borrowed */
    CdcRecord before_image; /* of a schema change */
    CdcRecord after_image;
    CdcRecord keyed_image; /* of a row without a rowid */
} Net;

/* ---- taking changes in ---------------------------------------------------------------------- */

static WeirStatus net_open(Net *net, CdcHistory *history, WeirError *err)
{
    *net = (Net){.history = history};
    if (sqlite3_open_v2("", &net->scratch, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
        SQLITE_OK) {
        return weir_cdc_error(net->scratch, err);
    }
    WEIR_CDC_TRY(weir_cdc_run(net->scratch, err, "%s", SETUP));
    WEIR_CDC_TRY(weir_cdc_run(net->scratch, err, "BEGIN"));
    return weir_cdc_prepare(
        net->scratch, &net->put, err,
        "INSERT INTO net VALUES (0, ?1, ?2, ?7, ?1, ?3, ?4, ?1, ?3, ?5, ?6) ON CONFLICT DO "
        "UPDATE SET last_name = excluded.name, last_at = excluded.last_at, after = excluded.after");
}

static void net_close(Net *net)
{
    sqlite3_finalize(net->put);
    sqlite3_close_v2(net->scratch);
    weir_cdc_record_deinit(&net->before_image);
    weir_cdc_record_deinit(&net->after_image);
    weir_cdc_record_deinit(&net->keyed_image);
}

static WeirStatus check_images(const CdcChange *change, WeirError *err)
{
    const bool needs_before = change->type != CDC_INSERT;
    const bool needs_after = change->type != CDC_DELETE;
    if ((needs_before && change->before.data == NULL) ||
        (needs_after && change->after.data == NULL)) {
        (void)weir_cdc_fail(err, WEIR_ERR_ARGUMENT,
                            "change %lld of %s was recorded without the row %s it",
                            change->change_id, change->table,
                            needs_before && change->before.data == NULL ? "before" : "after");
        return weir_cdc_hint(err, "only mode full records all that diff needs");
    }
    return WEIR_OK;
}

static void bind_image(sqlite3_stmt *stmt, int place, CdcBytes image)
{
    if (image.data == NULL) {
        (void)sqlite3_bind_null(stmt, place);
    } else {
        (void)sqlite3_bind_blob64(stmt, place, image.data, image.size, SQLITE_STATIC);
    }
}

/* Binds the key of a row without a rowid: of each field the type, the number or size, and the bytes. */
static WeirStatus bind_key(Net *net, const CdcChange *change, WeirError *err)
{
    const bool is_before = change->before.data != NULL;
    const CdcBytes image = is_before ? change->before : change->after;
    const CdcColumns *const columns = is_before ? change->before_columns : change->columns;
    WEIR_CDC_TRY(weir_cdc_record_read(&net->keyed_image, image, err));
    if (columns == NULL || columns->key_count == 0 ||
        columns->stored_count != net->keyed_image.count) {
        return weir_cdc_fail(err, WEIR_ERR_ARGUMENT,
                             "the key of %s as it was at change %lld is not known, and its rows "
                             "have no rowid",
                             change->table, change->change_id);
    }
    sqlite3_str *const key = sqlite3_str_new(NULL);
    for (size_t i = 0; i < columns->key_count; i++) {
        const CdcField *const field = &net->keyed_image.fields[columns->key[i]];
        const sqlite3_int64 head[] = {field->type, field->integer, (sqlite3_int64)field->size};
        sqlite3_str_append(key, (const char *)head, (int)sizeof head);
        sqlite3_str_append(key, (const char *)field->data, (int)field->size);
    }
    const int size = sqlite3_str_length(key);
    char *const bytes = sqlite3_str_finish(key);
    if (bytes == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    (void)sqlite3_bind_blob(net->put, 7, bytes, size, sqlite3_free);
    return WEIR_OK;
}

/* owner: the table of an index or table that is made; NULL for all else. */
static WeirStatus put_row(Net *net, const CdcChange *change, const CdcField *owner, WeirError *err)
{
    bool has_row = false;
    (void)sqlite3_bind_zeroblob(net->put, 7, 0);
    if (!change->has_id) {
        WEIR_CDC_TRY(bind_key(net, change, err));
    }
    (void)sqlite3_bind_text(net->put, 1, change->table, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(net->put, 2, change->id);
    (void)sqlite3_bind_int64(net->put, 3, change->change_id);
    bind_image(net->put, 4, change->before);
    bind_image(net->put, 5, change->after);
    if (owner != NULL) {
        (void)sqlite3_bind_text64(net->put, 6, (const char *)owner->data, owner->size,
                                  SQLITE_STATIC, SQLITE_UTF8);
    }
    const WeirStatus status = weir_cdc_step(net->put, &has_row, err);
    (void)sqlite3_reset(net->put);
    (void)sqlite3_clear_bindings(net->put);
    return status;
}

/* The name in an image of sqlite_schema, if it is that of a table; NULL if not. */
static const CdcField *table_name(const CdcRecord *image)
{
    static const char KIND[] = "table";
    const CdcField kind = {
        .type = SQLITE_TEXT, .data = (const unsigned char *)KIND, .size = sizeof KIND - 1};
    const CdcField *const found = weir_cdc_field_text(image, CDC_SCHEMA_TYPE);
    return found != NULL && weir_cdc_field_is_equal(found, &kind)
               ? weir_cdc_field_text(image, CDC_SCHEMA_NAME)
               : NULL;
}

/* What was made in between and went with the table: its rows, and indexes, which leave no record. */
static WeirStatus forget_table(Net *net, const CdcField *name, WeirError *err)
{
    const int size = (int)name->size;
    const char *const text = (const char *)name->data;
    WEIR_CDC_TRY(weir_cdc_run(net->scratch, err, "DELETE FROM net WHERE era = 0 AND name = '%.*q'",
                              size, text));
    return weir_cdc_run(net->scratch, err,
                        "DELETE FROM net WHERE era = 0 AND name = '" CDC_SCHEMA_TABLE
                        "' AND owner = '%.*q' COLLATE nocase AND before IS NULL",
                        size, text);
}

static WeirStatus rename_table(Net *net, const CdcField *from, const CdcField *to, WeirError *err)
{
    return weir_cdc_run(
        net->scratch, err,
        "UPDATE net SET name = iif(name = '%.*q', '%.*q', name), owner = iif(owner = '%.*q' "
        "COLLATE nocase, '%.*q', owner) WHERE era = 0 AND '%.*q' COLLATE nocase IN (name, owner)",
        (int)from->size, (const char *)from->data, (int)to->size, (const char *)to->data,
        (int)from->size, (const char *)from->data, (int)to->size, (const char *)to->data,
        (int)from->size, (const char *)from->data);
}

static WeirStatus put_schema(Net *net, const CdcChange *change, WeirError *err)
{
    net->before_image.count = 0;
    net->after_image.count = 0;
    if (change->before.data != NULL) {
        WEIR_CDC_TRY(weir_cdc_record_read(&net->before_image, change->before, err));
    }
    if (change->after.data != NULL) {
        WEIR_CDC_TRY(weir_cdc_record_read(&net->after_image, change->after, err));
    }
    WEIR_CDC_TRY(
        put_row(net, change, weir_cdc_field_text(&net->after_image, CDC_SCHEMA_TABLE_NAME), err));
    const CdcField *const before = table_name(&net->before_image);
    const CdcField *const after = table_name(&net->after_image);
    if (change->type == CDC_DELETE) {
        WEIR_CDC_TRY(weir_cdc_run(net->scratch, err,
                                  "UPDATE net SET era = %lld WHERE era = 0 AND name = "
                                  "'" CDC_SCHEMA_TABLE "' AND id = %lld",
                                  change->change_id, change->id));
        return before == NULL ? WEIR_OK : forget_table(net, before, err);
    }
    return before == NULL || after == NULL || weir_cdc_field_is_equal(before, after)
               ? WEIR_OK
               : rename_table(net, before, after, err);
}

static WeirStatus take_changes(Net *net, CdcLog *log, sqlite3_int64 to, WeirError *err)
{
    for (;;) {
        const CdcChange *change = NULL;
        WEIR_CDC_TRY(weir_cdc_log_next(log, &change, err));
        if (change == NULL || change->change_id > to) {
            return WEIR_OK;
        }
        if (change->type == CDC_COMMIT) {
            continue;
        }
        WEIR_CDC_TRY(check_images(change, err));
        WEIR_CDC_TRY(sqlite3_stricmp(change->table, CDC_SCHEMA_TABLE) == 0
                         ? put_schema(net, change, err)
                         : put_row(net, change, NULL, err));
    }
}

/* ---- giving them out ------------------------------------------------------------------------ */

/* Of the query in give_rows. */
enum {
    AT_NAME,
    AT_HAS_ID,
    AT_ROWID,
    AT_FIRST_NAME,
    AT_FIRST,
    AT_BEFORE,
    AT_LAST_NAME,
    AT_LAST,
    AT_AFTER
};

static CdcBytes column_image(sqlite3_stmt *row, int column)
{
    const void *const data = sqlite3_column_blob(row, column);
    const bool is_null = sqlite3_column_type(row, column) == SQLITE_NULL;
    return (CdcBytes){.data = is_null ? NULL : data,
                      .size = (size_t)sqlite3_column_bytes(row, column)};
}

static WeirStatus read_row(const Net *net, sqlite3_stmt *row, CdcChange *out, WeirError *err)
{
    const char *first_name = NULL;
    const char *last_name = NULL;
    *out = (CdcChange){
        .change_id = sqlite3_column_int64(row, AT_LAST),
        .type = CDC_UPDATE,
        .has_id = sqlite3_column_int(row, AT_HAS_ID) != 0,
        .id = sqlite3_column_int64(row, AT_ROWID),
        .before = column_image(row, AT_BEFORE),
        .after = column_image(row, AT_AFTER),
    };
    if (out->before.data == NULL) {
        out->type = CDC_INSERT;
    } else if (out->after.data == NULL) {
        out->type = CDC_DELETE;
    }
    WEIR_CDC_TRY(weir_cdc_text(row, AT_NAME, &out->table, err));
    WEIR_CDC_TRY(weir_cdc_text(row, AT_FIRST_NAME, &first_name, err));
    WEIR_CDC_TRY(weir_cdc_text(row, AT_LAST_NAME, &last_name, err));
    WEIR_CDC_TRY(weir_cdc_history_find(
        net->history, first_name, sqlite3_column_int64(row, AT_FIRST), &out->before_columns, err));
    return weir_cdc_history_find(net->history, last_name, out->change_id, &out->columns, err);
}

static WeirStatus give_rows(const Net *net, CdcNetVisit visit, void *user, WeirError *err)
{
    sqlite3_stmt *rows = NULL;
    bool has_row = true;
    WeirStatus status = weir_cdc_prepare(
        net->scratch, &rows, err,
        "SELECT name, key = x'', id, first_name, first_at, before, last_name, last_at, "
        "after FROM net WHERE before IS NOT after "
        "ORDER BY name <> '" CDC_SCHEMA_TABLE "', name, id, key, last_at");
    while (status == WEIR_OK && has_row) {
        status = weir_cdc_step(rows, &has_row, err);
        if (status == WEIR_OK && has_row) {
            CdcChange change;
            status = read_row(net, rows, &change, err);
            has_row = status == WEIR_OK && visit(user, &change);
        }
    }
    sqlite3_finalize(rows);
    return status;
}

/* ---- the points ----------------------------------------------------------------------------- */

static WeirStatus check_points(sqlite3 *db, const CdcLog *log, sqlite3_int64 from, sqlite3_int64 to,
                               WeirError *err)
{
    sqlite3_int64 first = 0;
    sqlite3_int64 last = 0;
    const char *const table = weir_cdc_log_table(log);
    WEIR_CDC_TRY(weir_cdc_query_integer(
        db, &first, err, "SELECT coalesce(min(change_id), 0) FROM main.\"%w\"", table));
    WEIR_CDC_TRY(weir_cdc_query_integer(
        db, &last, err, "SELECT coalesce(max(change_id), 0) FROM main.\"%w\"", table));
    if (from > to) {
        return weir_cdc_fail(err, WEIR_ERR_ARGUMENT, "%lld comes behind %lld", from, to);
    }
    if (to > last) {
        return weir_cdc_fail(err, WEIR_ERR_ARGUMENT,
                             "there is no change %lld: the last one of %s is %lld", to, table,
                             last);
    }
    if (from + 1 < first) {
        return weir_cdc_fail(err, WEIR_ERR_ARGUMENT,
                             "what came behind change %lld is no longer there: %s begins with %lld",
                             from, table, first);
    }
    return WEIR_OK;
}

WeirStatus weir_cdc_net(sqlite3 *db, CdcLog *log, sqlite3_int64 from, sqlite3_int64 to,
                        CdcNetVisit visit, void *user, WeirError *err)
{
    Net net;
    WEIR_CDC_TRY(check_points(db, log, from, to, err));
    weir_cdc_log_seek(log, from);
    WeirStatus status = net_open(&net, weir_cdc_log_history(log), err);
    if (status == WEIR_OK) {
        status = take_changes(&net, log, to, err);
    }
    if (status == WEIR_OK) {
        status = give_rows(&net, visit, user, err);
    }
    net_close(&net);
    return status;
}
