/* log_file.c: see log_file.h. */
#include "duckdb/log_file.h"

#include "duckdb/query.h"
#include "duckdb/table_facts.h"
#include "view/names.h"

enum { SNAPSHOT_ATTEMPTS = 16 };

struct LogFile {
    LogFile *next;
    char *path; /* owned */
    Wal *wal;   /* owned */
    size_t user_count;
    bool has_end;
    WalPosition end;     /* of the log, when it was last read */
    uint64_t epoch;      /* of the host then */
    uint64_t older_than; /* the serial number of the first snapshot that has all of `end` */
    uint64_t equals;     /* that of the snapshot that is `end`; 0 = none */
    bool needs_snapshot; /* in the attempt under way */
    uint64_t looked;     /* the look in which is_same was found */
    bool is_same;        /* nothing is behind `end` */
};

static bool position_equal(const WalPosition *a, const WalPosition *b)
{
    return a->device == b->device && a->inode == b->inode && a->session == b->session &&
           a->iteration == b->iteration && a->log_inode == b->log_inode && a->offset == b->offset;
}

/* --- files ------------------------------------------------------------------------------------ */

static void set_end(DuckHost *host, LogFile *file, const WalPosition *end)
{
    if (!file->has_end || !position_equal(&file->end, end)) {
        file->older_than = host->snapshot_serial + 1;
        file->equals = 0;
    }
    file->end = *end;
    file->has_end = true;
    file->epoch = host->epoch;
}

static void mark_end(DuckHost *host, LogFile *file)
{
    WalPosition end = {0};
    if (weir_wal_mark(file->wal, &end) == WAL_NEW) {
        set_end(host, file, &end);
    } else {
        file->has_end = false;
        file->equals = 0;
    }
}

static void file_free(DuckHost *host, LogFile *file)
{
    weir_wal_close(file->wal);
    weir_mem_free(host->mem, file->path);
    weir_mem_free(host->mem, file);
}

/* NULL with err filled on failure. */
static LogFile *file_new(DuckHost *host, const char *path, Error *err)
{
    LogFile *file = weir_mem_zalloc(host->mem, sizeof *file, err);
    if (file == NULL) {
        return NULL;
    }
    file->path = weir_mem_strdup(host->mem, path, err);
    if (file->path == NULL || weir_wal_open(host->mem, path, &file->wal, err) != WEIR_OK) {
        file_free(host, file);
        return NULL;
    }
    file->next = host->files;
    host->files = file;
    return file;
}

static LogFile *find_file(const DuckHost *host, const char *path)
{
    LogFile *file = host->files;
    while (file != NULL && strcmp(file->path, path) != 0) {
        file = file->next;
    }
    return file;
}

void weir_log_file_detach(HostTable *table)
{
    LogFile *const file = table->file;
    table->file = NULL;
    if (file == NULL || --file->user_count > 0) {
        return;
    }
    for (LogFile **place = &table->host->files; *place != NULL; place = &(*place)->next) {
        if (*place == file) {
            *place = file->next;
            break;
        }
    }
    file_free(table->host, file);
}

/* The path of the table's database; NULL if it is not a file of DuckDB's. */
static Status query_path(HostTable *table, const char **out, Error *err)
{
    static const char SQL[] =
        "SELECT path FROM system.main.duckdb_databases() WHERE system.main.lower(database_name) = "
        "system.main.lower($1) AND path IS NOT NULL AND type = 'duckdb'";
    DuckHost *const host = table->host;
    const char *const bound[] = {table->name.catalog};
    duckdb_result result = {0};
    WEIR_TRY(weir_query_bound(host->scan, SQL, bound, 1, WEIR_ERR_HOST, &result, err));
    Status status = WEIR_OK;
    Rows rows = weir_rows(&result);
    *out = NULL;
    if (weir_rows_next(&rows)) {
        *out = weir_rows_text(&rows, 0, &host->arena, err);
        status = *out == NULL ? err->code : WEIR_OK;
    }
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return status;
}

Status weir_log_file_attach(HostTable *table, Error *err)
{
    const char *path = NULL;
    LogFile *file = NULL;
    WEIR_TRY(weir_duck_host_open_snapshot(table->host, err));
    WEIR_TRY(query_path(table, &path, err));
    if (path != NULL) {
        file = find_file(table->host, path);
        file = file == NULL ? file_new(table->host, path, err) : file;
        if (file == NULL) {
            return err->code;
        }
        file->user_count++;
    }
    if (table->file != file) {
        weir_log_table_lose(&table->log);
    }
    weir_log_file_detach(table);
    table->file = file;
    return WEIR_OK;
}

/* --- the snapshot ----------------------------------------------------------------------------- */

static Status begin_snapshot(DuckHost *host, Error *err)
{
    if (host->scan != NULL) {
        WEIR_TRY(weir_duck_host_restart_snapshot(host, err));
    }
    WEIR_TRY(weir_duck_host_open_snapshot(host, err));
    return weir_query_touch_databases(host->scan, err);
}

/* Whether the snapshot is the end that was read. */
static bool snapshot_is_end(const DuckHost *host, LogFile *file)
{
    if (host->scan == NULL || !file->has_end || host->snapshot_serial < file->older_than) {
        return false;
    }
    if (file->equals != host->snapshot_serial &&
        weir_wal_look(file->wal, &file->end) == WAL_NOTHING_NEW) {
        file->equals = host->snapshot_serial;
    }
    return file->equals == host->snapshot_serial;
}

Status weir_log_file_ensure_snapshot(HostTable *table, Error *err)
{
    DuckHost *const host = table->host;
    LogFile *const file = table->file;
    WEIR_TRY(weir_duck_host_open_snapshot(host, err));
    if (file != NULL && !snapshot_is_end(host, file) && !host->is_snapshot_used) {
        if (!file->has_end || file->epoch != host->epoch) {
            mark_end(host, file);
        }
        WEIR_TRY(begin_snapshot(host, err));
    }
    return WEIR_OK;
}

/* The row id that the next row gets; false if it is not certain. */
static bool find_row_end(const HostTable *table, int64_t *out)
{
    static const char SQL[] = "SELECT estimated_size FROM system.main.duckdb_tables() WHERE "
                              "system.main.lower(database_name) = system.main.lower($1) AND "
                              "system.main.lower(schema_name) = system.main.lower($2) AND "
                              "system.main.lower(table_name) = system.main.lower($3)";
    const char *const bound[] = {table->name.catalog, table->name.schema, table->name.name};
    Error ignored = {0};
    duckdb_result result = {0};
    *out = weir_baseline_last_row_id(&table->baseline) + 1;
    if (weir_query_bound(table->host->scan, SQL, bound, 3, WEIR_ERR_HOST, &result, &ignored) !=
        WEIR_OK) {
        return false;
    }
    Rows rows = weir_rows(&result);
    const bool is_certain = weir_rows_next(&rows) && weir_rows_i64(&rows, 0) == *out;
    weir_rows_deinit(&rows);
    duckdb_destroy_result(&result);
    return is_certain;
}

void weir_log_file_confirm(HostTable *table)
{
    LogFile *const file = table->file;
    LogTable *const log = &table->log;
    weir_log_table_lose(log);
    if (file != NULL && snapshot_is_end(table->host, file)) {
        log->is_end_known = find_row_end(table, &log->end) &&
                            weir_wal_look(file->wal, &file->end) == WAL_NOTHING_NEW;
        log->position = file->end;
        log->is_known = true;
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The tables that one reading of a log is for. */
typedef struct Readers {
    HostTable *const *tables;
    size_t count;
    LogFile *file;
} Readers;

static bool reads(const Readers *readers, const HostTable *table)
{
    return table->file == readers->file && table->log.is_known;
}

static void lose_all(const Readers *readers)
{
    for (size_t i = 0; i < readers->count; i++) {
        if (readers->tables[i]->file == readers->file) {
            weir_log_table_lose(&readers->tables[i]->log);
        }
    }
}

/* The position of the table that is farthest behind; NULL if none is known. */
static const WalPosition *first_position(const Readers *readers)
{
    const WalPosition *first = NULL;
    for (size_t i = 0; i < readers->count; i++) {
        const HostTable *const table = readers->tables[i];
        const WalPosition *const position = &table->log.position;
        if (reads(readers, table) &&
            (first == NULL || position->iteration < first->iteration ||
             (position->iteration == first->iteration && position->offset < first->offset))) {
            first = position;
        }
    }
    return first;
}

/* A table that has the commit already passes it over. */
static bool is_behind(const Readers *readers, const HostTable *table, uint64_t offset)
{
    return reads(readers, table) && table->failure.code == WEIR_OK &&
           table->log.position.offset <= offset;
}

static void give(const Readers *readers, const WalChange *change, uint64_t offset)
{
    for (size_t i = 0; i < readers->count; i++) {
        HostTable *const table = readers->tables[i];
        if (!is_behind(readers, table, offset)) {
            continue;
        }
        const Status status =
            change->kind == WAL_COMMIT
                ? weir_log_table_commit(&table->log, &table->failure)
                : weir_log_table_apply(&table->log, readers->file->wal, change, &table->failure);
        if (status != WEIR_OK) {
            weir_log_table_lose(&table->log);
        }
    }
}

/* Reads to the log's end, or up to the file's end if that was read in this epoch. False: what is behind
 * the position is not known. */
static bool read_log(DuckHost *host, const Readers *readers, const WalPosition *from,
                     bool is_limited)
{
    LogFile *const file = readers->file;
    WalPosition end = *from;
    WalChange change = {.kind = WAL_COMMIT};
    WalState state = weir_wal_begin(file->wal, &end);
    bool is_good = state != WAL_UNKNOWN;
    uint64_t offset = weir_wal_offset(file->wal);
    while (is_good && state == WAL_NEW && change.kind != WAL_END &&
           !(is_limited && offset >= file->end.offset)) {
        Error err = {0};
        is_good = weir_wal_next(file->wal, &change, &err) == WEIR_OK && change.kind != WAL_LOST;
        if (is_good && change.kind != WAL_END) {
            give(readers, &change, offset);
            offset = weir_wal_offset(file->wal);
        }
    }
    is_good = is_good && weir_wal_position(file->wal, &end);
    weir_wal_end(file->wal);
    if (is_good && !is_limited) {
        set_end(host, file, &end);
    }
    return is_good;
}

/* Brings the tables of the file that are known to the log's end. */
static void read_file(DuckHost *host, const Readers *readers)
{
    LogFile *const file = readers->file;
    const bool is_limited = file->has_end && file->epoch == host->epoch && host->is_snapshot_used;
    const WalPosition *const first = first_position(readers);
    bool is_good = false;
    if (first != NULL) {
        const WalPosition from = *first;
        is_good = read_log(host, readers, &from, is_limited) && weir_wal_has_logged(file->wal);
    }
    if (!is_good) {
        lose_all(readers);
        if (!is_limited) {
            mark_end(host, file);
        }
    }
    for (size_t i = 0; i < readers->count; i++) {
        HostTable *const table = readers->tables[i];
        if (reads(readers, table)) {
            table->log.position = file->end;
        }
    }
}

/* Reads all logs. True: no table needs the snapshot. */
static bool read_files(DuckHost *host, HostTable *const *tables, size_t count)
{
    bool is_complete = true;
    for (LogFile *file = host->files; file != NULL; file = file->next) {
        file->needs_snapshot = false;
        bool is_used = false;
        for (size_t i = 0; i < count; i++) {
            is_used = is_used || tables[i]->file == file;
        }
        if (is_used) {
            const Readers readers = {.tables = tables, .count = count, .file = file};
            read_file(host, &readers);
        }
        for (size_t i = 0; i < count; i++) {
            if (tables[i]->file == file && !tables[i]->log.is_known) {
                file->needs_snapshot = true;
                is_complete = false;
            }
        }
    }
    return is_complete;
}

static bool snapshot_is_all_ends(DuckHost *host)
{
    bool is_all = true;
    for (LogFile *file = host->files; file != NULL; file = file->next) {
        is_all = is_all && (!file->needs_snapshot || !file->has_end || snapshot_is_end(host, file));
    }
    return is_all;
}

void weir_log_file_prepare(DuckHost *host, HostTable *const *tables, size_t count)
{
    Error err = {0};
    for (size_t i = 0; i < count; i++) {
        tables[i]->was_logged = tables[i]->log.is_known && tables[i]->file != NULL &&
                                weir_wal_has_logged(tables[i]->file->wal);
        tables[i]->prepared_epoch = host->epoch;
    }
    for (size_t i = 0; i < SNAPSHOT_ATTEMPTS; i++) {
        if (read_files(host, tables, count) || host->is_snapshot_used ||
            begin_snapshot(host, &err) != WEIR_OK || snapshot_is_all_ends(host)) {
            return;
        }
    }
    /* Commits come faster than that. All tables of such a file are compared with one snapshot. */
    for (size_t i = 0; i < count; i++) {
        if (tables[i]->file != NULL && tables[i]->file->needs_snapshot &&
            !snapshot_is_end(host, tables[i]->file)) {
            weir_log_table_lose(&tables[i]->log);
        }
    }
}

/* --- looking ---------------------------------------------------------------------------------- */

void weir_log_file_begin_look(DuckHost *host)
{
    host->look_serial++;
}

bool weir_log_file_is_unchanged(const HostTable *table)
{
    LogFile *const file = table->file;
    const LogTable *const log = &table->log;
    if (file == NULL || !log->is_known || log->kept != NULL || table->failure.code != WEIR_OK ||
        !file->has_end || !position_equal(&log->position, &file->end)) {
        return false;
    }
    if (file->looked != table->host->look_serial) {
        file->looked = table->host->look_serial;
        file->is_same = weir_wal_look(file->wal, &file->end) == WAL_NOTHING_NEW &&
                        weir_wal_has_logged(file->wal);
    }
    return file->is_same;
}
