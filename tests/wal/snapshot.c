/* snapshot.c: see snapshot.h. */
#include "snapshot.h"

#include "duckdb/chunk.h"
#include "duckdb/type_map.h"

const char *snapshot_value(const Vector *vector, size_t row, size_t *size)
{
    const size_t place = weir_vector_place(vector, row);
    if (vector->phys == PHYS_STRING) {
        const String *const string = &((const String *)vector->data)[place];
        *size = weir_string_size(string);
        return weir_string_data(string);
    }
    *size = weir_phys_width(vector->phys);
    return (const char *)vector->data + place * *size;
}

static bool take_types(Snapshot *s, Text *error)
{
    Error err = {0};
    s->column_count = (size_t)duckdb_column_count(&s->result) - 1;
    s->column_types =
        weir_arena_calloc(&s->types, s->column_count + 1, sizeof(const LogicalType *), &err);
    for (size_t i = 0; i <= s->column_count; i++) {
        duckdb_logical_type type = duckdb_column_logical_type(&s->result, i);
        s->column_types[i] = weir_type_from_duckdb(&s->types, type, &err);
        duckdb_destroy_logical_type(&type);
        if (s->column_types[i] == NULL) {
            text_addf(error, "%s\n", err.message);
            return false;
        }
    }
    return true;
}

bool snapshot_end(duckdb_connection connection, const char *table, size_t *end, Text *error)
{
    Text sql = {0};
    int64_t number = 0;
    text_addf(&sql,
              "SELECT estimated_size FROM duckdb_tables() WHERE table_name = '%s' "
              "AND database_name = current_database()",
              table);
    const bool is_read = db_number(connection, text_get(&sql), &number, error);
    *end = (size_t)number;
    text_free(&sql);
    return is_read;
}

bool snapshot_open(Snapshot *snapshot, duckdb_connection connection, const char *table, Text *error)
{
    *snapshot = (Snapshot){.mem = weir_mem_new(0)};
    weir_arena_init(&snapshot->types, snapshot->mem, 0);
    weir_arena_init(&snapshot->arena, snapshot->mem, 0);
    Text sql = {0};
    text_addf(&sql, "SELECT rowid, * FROM %s ORDER BY rowid", table);
    bool is_open = duckdb_query(connection, text_get(&sql), &snapshot->result) == DuckDBSuccess;
    if (!is_open) {
        const char *const why = duckdb_result_error(&snapshot->result);
        text_addf(error, "%s: %s\n", text_get(&sql), why == NULL ? "" : why);
    }
    is_open = is_open && take_types(snapshot, error);
    if (!is_open) {
        snapshot_close(snapshot);
    }
    text_free(&sql);
    return is_open;
}

bool snapshot_next(Snapshot *snapshot)
{
    Error err = {0};
    if (snapshot->chunk != NULL) {
        duckdb_destroy_data_chunk(&snapshot->chunk);
    }
    weir_arena_reset(&snapshot->arena);
    snapshot->chunk = duckdb_fetch_chunk(snapshot->result);
    if (snapshot->chunk == NULL) {
        return false;
    }
    snapshot->row_ids = duckdb_vector_get_data(duckdb_data_chunk_get_vector(snapshot->chunk, 0));
    const Schema schema = {.count = snapshot->column_count, .types = snapshot->column_types + 1};
    return weir_chunk_read(snapshot->chunk, 1, &schema, &snapshot->arena, &snapshot->batch, &err) ==
           WEIR_OK;
}

void snapshot_close(Snapshot *snapshot)
{
    if (snapshot->chunk != NULL) {
        duckdb_destroy_data_chunk(&snapshot->chunk);
    }
    duckdb_destroy_result(&snapshot->result);
    weir_arena_deinit(&snapshot->arena);
    weir_arena_deinit(&snapshot->types);
    weir_mem_free_allocator(snapshot->mem);
}
