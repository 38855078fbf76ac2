/* columns.c: the columns that a table had when a change was recorded.
 *
 * A CREATE TABLE of the log is run in a database in memory, which then is asked for the columns. It is
 * text of the file, so it may do nothing but create a table there. */
#include "cdc/columns.h"

#include <stdint.h>
#include <string.h>

#include "cdc/database.h"

enum { XINFO_VIRTUAL = 2 }; /* hidden, of a generated column that is not stored */

/* A record of sqlite_schema that is about a table. NULL = there is no such table, or no image. */
typedef struct Version {
    sqlite3_int64 change_id;
    sqlite3_int64 row; /* of sqlite_schema */
    bool is_blind;     /* it has no images */
    char *before_name; /* owned, like the others */
    char *before_sql;
    char *after_name;
    char *after_sql;
} Version;

/* The columns of a statement. */
typedef struct Parsed {
    char *sql;           /* owned */
    CdcColumns *columns; /* owned; NULL = the statement does not run */
} Parsed;

/* What was found for a table: holds while the same versions are around the change. */
typedef struct Found {
    char *table; /* owned */
    size_t next; /* the first version behind the change */
    const CdcColumns *columns;
} Found;

struct CdcHistory {
    sqlite3 *db;       /* borrowed */
    const char *log;   /* borrowed */
    sqlite3 *scratch;  /* owned; in memory */
    Version *versions; /* owned; by rising change_id */
    size_t version_count;
    Parsed *parsed; /* owned */
    size_t parsed_count;
    Found *found; /* owned; since the last refresh */
    size_t found_count;
    sqlite3_int64 read_to; /* the last change that was looked at */
};

static bool is_name(const char *name, const char *other)
{
    return name != NULL && sqlite3_stricmp(name, other) == 0;
}

/* ---- what the log says of tables ------------------------------------------------------------ */

/* Name and statement, if the image is that of a table. */
static WeirStatus read_image(CdcBytes image, char **name, char **sql, WeirError *err)
{
    CdcRecord record = {0};
    WeirStatus status = WEIR_OK;
    *name = NULL;
    *sql = NULL;
    if (image.data != NULL) {
        status = weir_cdc_record_read(&record, image, err);
    }
    if (status == WEIR_OK && record.count > CDC_SCHEMA_SQL &&
        record.fields[CDC_SCHEMA_SQL].type == SQLITE_TEXT) {
        const CdcField *const type = &record.fields[CDC_SCHEMA_TYPE];
        const CdcField *const names = &record.fields[CDC_SCHEMA_NAME];
        const CdcField *const text = &record.fields[CDC_SCHEMA_SQL];
        if (type->size == strlen("table") && memcmp(type->data, "table", type->size) == 0) {
            *name = sqlite3_mprintf("%.*s", (int)names->size, (const char *)names->data);
            *sql = sqlite3_mprintf("%.*s", (int)text->size, (const char *)text->data);
            status = *name == NULL || *sql == NULL ? weir_cdc_out_of_memory(err) : WEIR_OK;
        }
    }
    weir_cdc_record_deinit(&record);
    return status;
}

static void version_deinit(Version *version)
{
    sqlite3_free(version->before_name);
    sqlite3_free(version->before_sql);
    sqlite3_free(version->after_name);
    sqlite3_free(version->after_sql);
}

static CdcBytes column_bytes(sqlite3_stmt *row, int column)
{
    const void *const data = sqlite3_column_blob(row, column);
    const bool is_null = sqlite3_column_type(row, column) == SQLITE_NULL;
    return (CdcBytes){.data = is_null ? NULL : data,
                      .size = (size_t)sqlite3_column_bytes(row, column)};
}

static WeirStatus add_version(CdcHistory *history, sqlite3_stmt *row, WeirError *err)
{
    Version version = {
        .change_id = sqlite3_column_int64(row, 0),
        .row = sqlite3_column_int64(row, 3),
        .is_blind = sqlite3_column_type(row, 1) == SQLITE_NULL &&
                    sqlite3_column_type(row, 2) == SQLITE_NULL,
    };
    WeirStatus status =
        read_image(column_bytes(row, 1), &version.before_name, &version.before_sql, err);
    if (status == WEIR_OK) {
        status = read_image(column_bytes(row, 2), &version.after_name, &version.after_sql, err);
    }
    Version *const versions =
        status != WEIR_OK
            ? NULL
            : sqlite3_realloc64(history->versions, (history->version_count + 1) * sizeof *versions);
    if (versions == NULL) {
        version_deinit(&version);
        return status != WEIR_OK ? status : weir_cdc_out_of_memory(err);
    }
    versions[history->version_count++] = version;
    history->versions = versions;
    return WEIR_OK;
}

static void forget_found(CdcHistory *history)
{
    for (size_t i = 0; i < history->found_count; i++) {
        sqlite3_free(history->found[i].table);
    }
    history->found_count = 0;
}

WeirStatus weir_cdc_history_refresh(CdcHistory *history, WeirError *err)
{
    sqlite3_stmt *rows = NULL;
    bool has_row = true;
    WeirStatus status = weir_cdc_prepare(
        history->db, &rows, err,
        "SELECT change_id, before, after, id FROM main.\"%w\" WHERE change_id > %lld "
        "AND table_name = '" CDC_SCHEMA_TABLE "' ORDER BY change_id",
        history->log, history->read_to);
    while (status == WEIR_OK && has_row) {
        status = weir_cdc_step(rows, &has_row, err);
        if (status == WEIR_OK && has_row) {
            history->read_to = sqlite3_column_int64(rows, 0);
            status = add_version(history, rows, err);
        }
    }
    sqlite3_finalize(rows);
    if (status != WEIR_OK) {
        return status;
    }
    status = weir_cdc_prepare(history->db, &rows, err, "SELECT max(change_id) FROM main.\"%w\"",
                              history->log);
    if (status == WEIR_OK) {
        status = weir_cdc_step(rows, &has_row, err);
        if (status == WEIR_OK && has_row && sqlite3_column_type(rows, 0) != SQLITE_NULL) {
            history->read_to = sqlite3_column_int64(rows, 0);
        }
    }
    sqlite3_finalize(rows);
    return status;
}

/* ---- the columns of a statement ------------------------------------------------------------- */

static int allow_table(void *unused, int action, const char *a, const char *b, const char *c,
                       const char *d)
{
    (void)unused;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    switch (action) {
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_INDEX:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_READ:
    case SQLITE_SELECT:
    case SQLITE_FUNCTION: return SQLITE_OK;
    default: return SQLITE_DENY;
    }
}

static void columns_free(CdcColumns *columns)
{
    for (size_t i = 0; columns != NULL && i < columns->all_count; i++) {
        sqlite3_free(columns->names[i]);
    }
    if (columns != NULL) {
        sqlite3_free(columns->names);
        sqlite3_free(columns->all_names);
        sqlite3_free(columns->key);
        sqlite3_free(columns);
    }
}

/* Appends a column's name. The stored ones come first, in their order; those of the key are stored. */
static WeirStatus add_column(CdcColumns *columns, const char *text, bool is_stored, bool is_key,
                             WeirError *err)
{
    const size_t size = (columns->all_count + 1) * sizeof(char *);
    size_t *const key = sqlite3_realloc64(columns->key, (columns->key_count + 1) * sizeof *key);
    columns->key = key == NULL ? columns->key : key;
    char **const names = sqlite3_realloc64(columns->names, size);
    columns->names = names == NULL ? columns->names : names;
    char **const all_names = sqlite3_realloc64(columns->all_names, size);
    columns->all_names = all_names == NULL ? columns->all_names : all_names;
    char *const name = sqlite3_mprintf("%s", text);
    if (key == NULL || names == NULL || all_names == NULL || name == NULL) {
        sqlite3_free(name);
        return weir_cdc_out_of_memory(err);
    }
    const size_t place = is_stored ? columns->stored_count : columns->all_count;
    memmove(&names[place + 1], &names[place], (columns->all_count - place) * sizeof(char *));
    names[place] = name;
    columns->stored_count += is_stored;
    key[columns->key_count] = place;
    columns->key_count += is_key;
    all_names[columns->all_count++] = name;
    return WEIR_OK;
}

static WeirStatus read_columns(sqlite3 *scratch, const char *table, CdcColumns *columns,
                               WeirError *err)
{
    sqlite3_stmt *rows = NULL;
    bool has_row = true;
    WeirStatus status =
        weir_cdc_prepare(scratch, &rows, err,
                         "SELECT name, hidden, pk FROM pragma_table_xinfo(%Q) ORDER BY cid", table);
    while (status == WEIR_OK && has_row) {
        status = weir_cdc_step(rows, &has_row, err);
        const char *name = NULL;
        if (status == WEIR_OK && has_row) {
            status = weir_cdc_text(rows, 0, &name, err);
        }
        if (name != NULL) {
            status = add_column(columns, name, sqlite3_column_int(rows, 1) != XINFO_VIRTUAL,
                                sqlite3_column_int(rows, 2) > 0, err);
        }
    }
    sqlite3_finalize(rows);
    return status;
}

/* Creates the table in the scratch database. *is_made is false if the statement does not run there. */
static WeirStatus create_table(sqlite3 *scratch, const char *sql, bool *is_made, WeirError *err)
{
    sqlite3_stmt *stmt = NULL;
    (void)sqlite3_set_authorizer(scratch, allow_table, NULL);
    int rc = sqlite3_prepare_v2(scratch, sql, -1, &stmt, NULL);
    if (rc == SQLITE_OK) {
        rc = stmt == NULL ? SQLITE_ERROR : sqlite3_step(stmt);
    }
    sqlite3_finalize(stmt);
    (void)sqlite3_set_authorizer(scratch, NULL, NULL);
    *is_made = rc == SQLITE_DONE;
    return rc == SQLITE_NOMEM ? weir_cdc_out_of_memory(err) : WEIR_OK;
}

static WeirStatus parse(sqlite3 *scratch, const char *table, const char *sql, CdcColumns **out,
                        WeirError *err)
{
    CdcColumns *const columns = sqlite3_malloc64(sizeof *columns);
    *out = NULL;
    if (columns == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    *columns = (CdcColumns){0};
    WeirStatus status = weir_cdc_run(scratch, err, "BEGIN");
    if (status == WEIR_OK) {
        bool is_made = false;
        status = create_table(scratch, sql, &is_made, err);
        if (status == WEIR_OK && is_made) {
            status = read_columns(scratch, table, columns, err);
        }
        WeirError ignored;
        (void)weir_cdc_run(scratch, &ignored, "ROLLBACK");
    }
    if (status == WEIR_OK && columns->all_count > 0) {
        *out = columns;
    } else {
        columns_free(columns);
    }
    return status;
}

/* The columns of a statement, parsed once. */
static WeirStatus find_parsed(CdcHistory *history, const char *table, const char *sql,
                              const CdcColumns **out, WeirError *err)
{
    for (size_t i = 0; i < history->parsed_count; i++) {
        if (strcmp(history->parsed[i].sql, sql) == 0) {
            *out = history->parsed[i].columns;
            return WEIR_OK;
        }
    }
    Parsed *const parsed =
        sqlite3_realloc64(history->parsed, (history->parsed_count + 1) * sizeof *parsed);
    if (parsed == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    history->parsed = parsed;
    Parsed made = {.sql = sqlite3_mprintf("%s", sql)};
    if (made.sql == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    const WeirStatus status = parse(history->scratch, table, sql, &made.columns, err);
    if (status != WEIR_OK) {
        sqlite3_free(made.sql);
        return status;
    }
    parsed[history->parsed_count++] = made;
    *out = made.columns;
    return WEIR_OK;
}

/* ---- finding -------------------------------------------------------------------------------- */

/* The first version behind the change. */
static size_t find_next_version(const CdcHistory *history, sqlite3_int64 change_id)
{
    size_t low = 0;
    size_t high = history->version_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (history->versions[middle].change_id > change_id) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Whether one of the versions from `first` to `end` is about that row of sqlite_schema, and does not say what. */
static bool has_blind(const CdcHistory *history, sqlite3_int64 row, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (history->versions[i].is_blind && history->versions[i].row == row) {
            return true;
        }
    }
    return false;
}

/* The statement that the log knows; NULL if it does not say. Borrowed from the history. */
static const char *find_recorded(const CdcHistory *history, const char *table, size_t next)
{
    for (size_t i = next; i-- > 0;) {
        const Version *const version = &history->versions[i];
        if (is_name(version->after_name, table)) {
            if (!has_blind(history, version->row, i + 1, next)) {
                return version->after_sql;
            }
            break;
        }
        if (is_name(version->before_name, table)) {
            break;
        }
    }
    for (size_t i = next; i < history->version_count; i++) {
        const Version *const version = &history->versions[i];
        if (is_name(version->before_name, table)) {
            return has_blind(history, version->row, next, i) ? NULL : version->before_sql;
        }
        if (is_name(version->after_name, table)) {
            break;
        }
    }
    return NULL;
}

/* The statement of the table as it is and was since the versions from `next`; *out, owned by the caller, is NULL if
 * there is none. */
static WeirStatus read_current(const CdcHistory *history, const char *table, size_t next,
                               char **out, WeirError *err)
{
    sqlite3_stmt *row = NULL;
    bool has_row = false;
    *out = NULL;
    WeirStatus status = weir_cdc_prepare(history->db, &row, err,
                                         "SELECT sql, rowid FROM main.sqlite_schema WHERE type = "
                                         "'table' AND name = %Q COLLATE nocase",
                                         table);
    if (status == WEIR_OK) {
        status = weir_cdc_step(row, &has_row, err);
    }
    const char *sql = NULL;
    if (status == WEIR_OK && has_row) {
        status = weir_cdc_text(row, 0, &sql, err);
    }
    if (sql != NULL &&
        !has_blind(history, sqlite3_column_int64(row, 1), next, history->version_count)) {
        *out = sqlite3_mprintf("%s", sql);
        status = *out == NULL ? weir_cdc_out_of_memory(err) : WEIR_OK;
    }
    sqlite3_finalize(row);
    return status;
}

static WeirStatus find_columns(CdcHistory *history, const char *table, size_t next,
                               const CdcColumns **out, WeirError *err)
{
    const char *const recorded = find_recorded(history, table, next);
    char *current = NULL;
    *out = NULL;
    if (recorded != NULL) {
        return find_parsed(history, table, recorded, out, err);
    }
    WeirStatus status = read_current(history, table, next, &current, err);
    if (status == WEIR_OK && current != NULL) {
        status = find_parsed(history, table, current, out, err);
    }
    sqlite3_free(current);
    return status;
}

/* The place for what is found for the table; NULL if there is no memory. */
static Found *find_place(CdcHistory *history, const char *table)
{
    for (size_t i = 0; i < history->found_count; i++) {
        if (strcmp(history->found[i].table, table) == 0) {
            return &history->found[i];
        }
    }
    Found *const found =
        sqlite3_realloc64(history->found, (history->found_count + 1) * sizeof *found);
    if (found == NULL) {
        return NULL;
    }
    history->found = found;
    found[history->found_count] = (Found){.table = sqlite3_mprintf("%s", table), .next = SIZE_MAX};
    return found[history->found_count].table == NULL ? NULL : &found[history->found_count++];
}

WeirStatus weir_cdc_history_find(CdcHistory *history, const char *table, sqlite3_int64 change_id,
                                 const CdcColumns **out, WeirError *err)
{
    static const char SCHEMA_SQL[] = "CREATE TABLE s(type, name, tbl_name, rootpage, sql)";
    *out = NULL;
    if (strcmp(table, CDC_SCHEMA_TABLE) == 0) {
        return find_parsed(history, "s", SCHEMA_SQL, out, err);
    }
    Found *const found = find_place(history, table);
    if (found == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    const size_t next = find_next_version(history, change_id);
    if (found->next != next) {
        found->next = SIZE_MAX;
        WEIR_CDC_TRY(find_columns(history, table, next, &found->columns, err));
        found->next = next;
    }
    *out = found->columns;
    return WEIR_OK;
}

/* ---- lifetime ------------------------------------------------------------------------------- */

WeirStatus weir_cdc_history_open(sqlite3 *db, const char *log, CdcHistory **out, WeirError *err)
{
    CdcHistory *const history = sqlite3_malloc64(sizeof *history);
    *out = NULL;
    if (history == NULL) {
        return weir_cdc_out_of_memory(err);
    }
    *history = (CdcHistory){.db = db, .log = log, .read_to = -1};
    const WeirStatus status = weir_cdc_open(NULL, CDC_OPEN_CREATE, &history->scratch, err);
    if (status != WEIR_OK) {
        weir_cdc_history_close(history);
        return status;
    }
    *out = history;
    return WEIR_OK;
}

void weir_cdc_history_close(CdcHistory *history)
{
    if (history == NULL) {
        return;
    }
    for (size_t i = 0; i < history->version_count; i++) {
        version_deinit(&history->versions[i]);
    }
    for (size_t i = 0; i < history->parsed_count; i++) {
        sqlite3_free(history->parsed[i].sql);
        columns_free(history->parsed[i].columns);
    }
    forget_found(history);
    sqlite3_free(history->found);
    sqlite3_free(history->versions);
    sqlite3_free(history->parsed);
    sqlite3_close_v2(history->scratch);
    sqlite3_free(history);
}
