/* entry.c: the payloads of entries, behind property 100, their kind.
 *
 *   USE_TABLE, DROP_TABLE  101 schema, 102 table          DROP_SCHEMA  101 schema
 *   INSERT  101 chunk     DELETE  101 chunk: one column, row ids
 *   UPDATE  101 path of the column, 102 chunk: values, row ids
 *   CREATE_TABLE  101 nullable { 100 kind, [101 catalog], [102 schema], [103 temporary],
 *                 [104 internal], 105 on conflict, [106 SQL], [107 comment], [108 tags],
 *                 [109 { 100 list of { 100 { 100 kind, [101 schema], [102 name] }, [101 catalog] } }],
 *                 200 table, ... }
 *   ALTER   101 nullable { 100 kind, 200 what, [201 catalog], [202 schema], [203 name], ... } */
#include "wal/entry.h"

#include "wal/kinds.h"

static Status take_table(Wal *wal, Cursor *c, const char **schema, const char **table, Error *err)
{
    weir_cursor_expect(c, 101);
    *schema = weir_cursor_name(c, &wal->arena, err);
    weir_cursor_expect(c, 102);
    *table = weir_cursor_name(c, &wal->arena, err);
    weir_cursor_expect(c, WAL_OBJECT_END);
    return c->fault == NULL && (*schema == NULL || *table == NULL) ? err->code : WEIR_OK;
}

Status weir_entry_use_table(Wal *wal, Cursor *c, Error *err)
{
    const char *schema = NULL;
    const char *table = NULL;
    WEIR_TRY(take_table(wal, c, &schema, &table, err));
    if (c->fault != NULL) {
        return WEIR_OK;
    }
    weir_buf_clear(&wal->schema);
    weir_buf_puts(&wal->schema, schema);
    weir_buf_clear(&wal->table);
    weir_buf_puts(&wal->table, table);
    const Status status = weir_buf_status(&wal->schema, err);
    const Status table_status = weir_buf_status(&wal->table, err);
    if (status == WEIR_ERR_LIMIT || table_status == WEIR_ERR_LIMIT) {
        weir_cursor_fail(c, "a table's name is too long");
        return WEIR_OK;
    }
    wal->has_table = true;
    return status == WEIR_OK ? table_status : status;
}

/* The column of row ids, of which none is NULL. */
static Status take_row_ids(Wal *wal, Cursor *c, const Part *part, const int64_t **out, Error *err)
{
    *out = NULL;
    if (part->type->id != TYPE_BIGINT || part->validity != NULL) {
        weir_cursor_fail(c, "row ids are not as expected");
        return WEIR_OK;
    }
    Vector vector = {0};
    const char *fault = NULL;
    size_t nested_bytes_left = 0;
    WEIR_TRY(weir_wal_make_vector(part, &nested_bytes_left, &wal->arena, &vector, &fault, err));
    WEIR_ASSERT(fault == NULL);
    const int64_t *const values = vector.data;
    int64_t *ids = weir_arena_calloc(&wal->arena, part->count, sizeof *ids, err);
    if (ids == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < part->count; i++) {
        ids[i] = values[weir_vector_place(&vector, i)];
        if (ids[i] < 0) {
            weir_cursor_fail(c, "a row id is negative");
        }
    }
    *out = ids;
    return WEIR_OK;
}

Status weir_entry_insert(Wal *wal, Cursor *c, WalChange *out, Error *err)
{
    Chunk *const chunk = &wal->chunk;
    weir_cursor_expect(c, 101);
    WEIR_TRY(weir_wal_take_chunk(c, &wal->arena, chunk, err));
    weir_cursor_expect(c, WAL_OBJECT_END);
    out->kind = WAL_INSERT;
    out->row_count = chunk->row_count;
    if (c->fault != NULL && chunk->row_count > 0) {
        out->reason = c->fault; /* how many rows is known all the same */
        c->fault = NULL;
        chunk->column_count = 0;
    }
    out->types = chunk->types;
    out->column_count = chunk->column_count;
    chunk->value_count = chunk->column_count;
    return WEIR_OK;
}

Status weir_entry_delete(Wal *wal, Cursor *c, WalChange *out, Error *err)
{
    Chunk *const chunk = &wal->chunk;
    weir_cursor_expect(c, 101);
    WEIR_TRY(weir_wal_take_chunk(c, &wal->arena, chunk, err));
    weir_cursor_expect(c, WAL_OBJECT_END);
    if (c->fault == NULL && chunk->column_count != 1) {
        weir_cursor_fail(c, "a DELETE has not exactly the row ids");
    }
    if (c->fault != NULL) {
        return WEIR_OK;
    }
    out->kind = WAL_DELETE;
    out->row_count = chunk->row_count;
    return take_row_ids(wal, c, &chunk->columns[0], &out->row_ids, err);
}

static Status take_path(Wal *wal, Cursor *c, WalChange *out, Error *err)
{
    weir_cursor_expect(c, 101);
    out->path_length = weir_cursor_count(c, 1);
    if (c->fault != NULL || out->path_length == 0 || out->path_length > WAL_PATH_DEPTH_MAX) {
        weir_cursor_fail(c, "an UPDATE's column is not understood");
        return WEIR_OK;
    }
    uint64_t *path = weir_arena_calloc(&wal->arena, out->path_length, sizeof *path, err);
    if (path == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < out->path_length; i++) {
        path[i] = weir_cursor_u64(c);
    }
    out->path = path;
    return WEIR_OK;
}

Status weir_entry_update(Wal *wal, Cursor *c, WalChange *out, Error *err)
{
    Chunk *const chunk = &wal->chunk;
    WEIR_TRY(take_path(wal, c, out, err));
    weir_cursor_expect(c, 102);
    WEIR_TRY(weir_wal_take_chunk(c, &wal->arena, chunk, err));
    weir_cursor_expect(c, WAL_OBJECT_END);
    if (c->fault == NULL && chunk->column_count != 2) {
        weir_cursor_fail(c, "an UPDATE has not exactly values and row ids");
    }
    if (c->fault != NULL) {
        return WEIR_OK;
    }
    out->kind = WAL_UPDATE;
    out->row_count = chunk->row_count;
    out->types = chunk->types;
    out->column_count = 1;
    chunk->value_count = 1;
    return take_row_ids(wal, c, &chunk->columns[1], &out->row_ids, err);
}

/* Skips a string that may be there. */
static void skip_string(Cursor *c, uint16_t id)
{
    if (weir_cursor_has(c, id)) {
        size_t size = 0;
        (void)weir_cursor_blob(c, &size);
    }
}

static const char *take_optional_name(Wal *wal, Cursor *c, uint16_t id, Error *err)
{
    if (weir_cursor_has(c, id)) {
        return weir_cursor_name(c, &wal->arena, err);
    }
    return weir_arena_strdup(&wal->arena, "", err);
}

/* What the table needs, as far as it has a name: types, sequences. */
static void skip_dependencies(Cursor *c)
{
    if (!weir_cursor_has(c, 109)) {
        return;
    }
    weir_cursor_expect(c, 100);
    const size_t count = weir_cursor_count(c, 8);
    for (size_t i = 0; i < count && c->fault == NULL; i++) {
        weir_cursor_expect(c, 100);
        weir_cursor_expect(c, 100);
        (void)weir_cursor_u64(c);
        skip_string(c, 101);
        skip_string(c, 102);
        weir_cursor_expect(c, WAL_OBJECT_END);
        skip_string(c, 101);
        weir_cursor_expect(c, WAL_OBJECT_END);
    }
    weir_cursor_expect(c, WAL_OBJECT_END);
}

static void take_create_table(Wal *wal, Cursor *c, WalChange *out, Error *err)
{
    skip_string(c, 101);
    out->schema = take_optional_name(wal, c, 102, err);
    for (uint16_t id = 103; id <= 104; id++) {
        if (weir_cursor_has(c, id)) {
            (void)weir_cursor_bool(c);
        }
    }
    weir_cursor_expect(c, 105);
    (void)weir_cursor_u64(c);
    skip_string(c, 106);
    skip_dependencies(c);
    weir_cursor_expect(c, 200);
    out->table = weir_cursor_name(c, &wal->arena, err);
}

static void take_alter(Wal *wal, Cursor *c, WalChange *out, Error *err)
{
    weir_cursor_expect(c, 200);
    (void)weir_cursor_u64(c);
    skip_string(c, 201);
    out->schema = take_optional_name(wal, c, 202, err);
    weir_cursor_expect(c, 203);
    out->table = weir_cursor_name(c, &wal->arena, err);
}

Status weir_entry_shape(Wal *wal, uint64_t kind, Cursor *c, WalChange *out, Error *err)
{
    out->kind = WAL_SHAPE;
    if (kind == WAL_ENTRY_DROP_TABLE) {
        return take_table(wal, c, &out->schema, &out->table, err);
    }
    weir_cursor_expect(c, 101);
    if (kind == WAL_ENTRY_DROP_SCHEMA) {
        out->schema = weir_cursor_name(c, &wal->arena, err);
        return c->fault == NULL && out->schema == NULL ? err->code : WEIR_OK;
    }
    if (!weir_cursor_bool(c)) {
        weir_cursor_fail(c, "an entry without content");
    }
    weir_cursor_expect(c, 100);
    (void)weir_cursor_u64(c);
    if (kind == WAL_ENTRY_CREATE_TABLE) {
        take_create_table(wal, c, out, err);
    } else {
        WEIR_ASSERT(kind == WAL_ENTRY_ALTER);
        take_alter(wal, c, out, err);
    }
    return c->fault == NULL && (out->schema == NULL || out->table == NULL) ? err->code : WEIR_OK;
}
