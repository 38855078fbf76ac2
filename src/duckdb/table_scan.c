/* table_scan.c: a result is materialised whole, so a table that is not small is read a range of row
 * ids at a time. A small one is read without: looking at every row id takes as long as reading two
 * columns. */
#include "duckdb/table_scan.h"

#include <stdio.h>

#include "duckdb/chunk.h"
#include "duckdb/query.h"
#include "view/names.h"

enum {
    SCAN_ROWS_MIN = 1 << 20,      /* of one query, or all that there are */
    SCAN_TARGET_BYTES = 64 << 20, /* if there are more rows, of columns of fixed width */
};

/* One row of up to two numbers: SELECT <what> FROM table <where>. */
static Status query_numbers_where(DuckHost *host, const char *what, const TableName *name,
                                  const char *where, int64_t *out, size_t count, Error *err)
{
    Buf sql;
    weir_buf_init(&sql, host->mem, SIZE_MAX);
    weir_buf_printf(&sql, "SELECT %s FROM ", what);
    weir_name_put_sql(&sql, name);
    weir_buf_puts(&sql, where);
    Status status = weir_buf_status(&sql, err);
    duckdb_result result = {0};
    if (status == WEIR_OK) {
        status = weir_query(host->scan, sql.data, WEIR_ERR_HOST, &result, err);
    }
    if (status == WEIR_OK) {
        Rows rows = weir_rows(&result);
        const bool has_row = weir_rows_next(&rows);
        for (size_t i = 0; i < count; i++) {
            out[i] = has_row ? weir_rows_i64(&rows, i) : 0;
        }
        weir_rows_deinit(&rows);
        duckdb_destroy_result(&result);
    }
    weir_buf_deinit(&sql);
    return status;
}

static Status query_numbers(DuckHost *host, const char *what, const TableName *name, int64_t *out,
                            size_t count, Error *err)
{
    return query_numbers_where(host, what, name, "", out, count, err);
}

Status weir_table_count_rows(DuckHost *host, const TableName *name, uint64_t *out, Error *err)
{
    int64_t count = 0;
    WEIR_TRY(query_numbers(host, "system.main.count(*)", name, &count, 1, err));
    *out = (uint64_t)count;
    return WEIR_OK;
}

Status weir_table_extent(DuckHost *host, const TableName *name, TableExtent *out, Error *err)
{
    int64_t numbers[2] = {0, -1};
    WEIR_TRY(query_numbers(host, "system.main.count(*), coalesce(system.main.max(rowid), -1)", name,
                           numbers, 2, err));
    *out = (TableExtent){.row_count = (uint64_t)numbers[0], .last_row = numbers[1]};
    return WEIR_OK;
}

Status weir_table_extent_behind(DuckHost *host, const TableName *name, int64_t last_row,
                                TableExtent *out, Error *err)
{
    char where[64];
    int64_t last = -1;
    (void)snprintf(where, sizeof where, " WHERE rowid > %lld", (long long)last_row);
    WEIR_TRY(weir_table_count_rows(host, name, &out->row_count, err));
    WEIR_TRY(query_numbers_where(host, "coalesce(system.main.max(rowid), -1)", name, where, &last,
                                 1, err));
    out->last_row = WEIR_MAX(last, last_row);
    return WEIR_OK;
}

/* SELECT columns FROM table. The row id stands in for no columns at all. */
static void put_select(Buf *sql, const TableName *name, const Schema *columns)
{
    weir_buf_puts(sql, columns->count == 0 ? "SELECT rowid" : "SELECT ");
    for (size_t c = 0; c < columns->count; c++) {
        weir_buf_puts(sql, c == 0 ? "" : ", ");
        weir_buf_put_sql_name(sql, columns->names[c]);
    }
    weir_buf_puts(sql, " FROM ");
    weir_name_put_sql(sql, name);
}

/* How many rows one query reads. */
static int64_t rows_of_query(const Schema *columns)
{
    size_t width = 0;
    for (size_t c = 0; c < columns->count; c++) {
        if (columns->types[c]->phys == PHYS_STRING) {
            return SCAN_ROWS_MIN;
        }
        width += weir_phys_width(columns->types[c]->phys);
    }
    return WEIR_MAX(SCAN_TARGET_BYTES / (int64_t)WEIR_MAX(width, sizeof(int64_t)),
                    (int64_t)SCAN_ROWS_MIN);
}

static Status visit_result(DuckHost *host, const char *sql, const Schema *columns, Arena *arena,
                           HostVisit visit, void *user, Error *err)
{
    duckdb_result result = {0};
    WEIR_TRY(weir_query(host->scan, sql, WEIR_ERR_HOST, &result, err));
    Status status = WEIR_OK;
    while (status == WEIR_OK) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
        if (chunk == NULL) {
            break;
        }
        Batch batch;
        weir_arena_reset(arena);
        status = weir_cancel_check(&host->cancel, err);
        if (status == WEIR_OK) {
            status = weir_chunk_read(chunk, 0, columns, arena, &batch, err);
        }
        if (status == WEIR_OK && batch.count > 0) {
            status = visit(user, &batch, err);
        }
        duckdb_destroy_data_chunk(&chunk);
    }
    duckdb_destroy_result(&result);
    return status;
}

Status weir_table_scan(DuckHost *host, const TableName *name, const Schema *columns,
                       HostVisit visit, void *user, Error *err)
{
    const int64_t query_rows = rows_of_query(columns);
    uint64_t row_count = 0;
    TableExtent extent = {0};
    Status status = WEIR_OK;
    Buf sql;
    Arena arena;
    WEIR_TRY(weir_table_count_rows(host, name, &row_count, err));
    weir_buf_init(&sql, host->mem, SIZE_MAX);
    weir_arena_init(&arena, host->mem, 0);
    put_select(&sql, name, columns);
    if (row_count <= (uint64_t)query_rows) {
        WEIR_CHECK(weir_buf_status(&sql, err));
        WEIR_CHECK(visit_result(host, sql.data, columns, &arena, visit, user, err));
        goto done;
    }
    WEIR_CHECK(weir_table_extent(host, name, &extent, err));
    for (int64_t first = 0; first <= extent.last_row; first += query_rows) {
        weir_buf_clear(&sql);
        put_select(&sql, name, columns);
        weir_buf_printf(&sql, " WHERE rowid BETWEEN %lld AND %lld", (long long)first,
                        (long long)(first + query_rows - 1));
        WEIR_CHECK(weir_buf_status(&sql, err));
        WEIR_CHECK(visit_result(host, sql.data, columns, &arena, visit, user, err));
    }
done:
    weir_arena_deinit(&arena);
    weir_buf_deinit(&sql);
    return status;
}
