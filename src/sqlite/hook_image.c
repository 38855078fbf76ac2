/* hook_image.c: images: records in SQLite's format that hold all stored columns of a table as it is now.
 *
 * They differ from what the table's b-tree stores in three places: the rowid's column has its value,
 * not NULL; a REAL column has a double, not an integer to save space; columns that were added after the row was
 * written have their default. */
#include "sqlite/capture.h"

/* --- records of values --- */

static void put_double(u8 *out, double value)
{
    i64 bits;
    memcpy(&bits, &value, sizeof bits);
    weir_integer_put(out, bits, 8);
}

/* Serial type and body size of a value. */
static u32 value_serial(const Mem *value, u64 *size)
{
    *size = 0;
    if ((value->flags & MEM_Null) != 0) {
        return 0;
    }
    if ((value->flags & (MEM_Real | MEM_IntReal)) != 0) {
        *size = 8;
        return 7;
    }
    if ((value->flags & MEM_Int) != 0) {
        u32 integer_size;
        const u32 serial = weir_integer_serial(value->u.i, &integer_size);
        *size = integer_size;
        return serial;
    }
    *size = (u64)value->n + ((value->flags & MEM_Zero) != 0 ? (u64)value->u.nZero : 0);
    return (u32)(*size * 2 + ((value->flags & MEM_Str) != 0 ? 13 : 12));
}

static void put_value(u8 *out, const Mem *value, u64 size)
{
    if (size == 0) {
        return;
    }
    if ((value->flags & MEM_IntReal) != 0) {
        put_double(out, (double)value->u.i);
    } else if ((value->flags & MEM_Real) != 0) {
        put_double(out, value->u.r);
    } else if ((value->flags & MEM_Int) != 0) {
        weir_integer_put(out, value->u.i, (u32)size);
    } else {
        if (value->n > 0) {
            memcpy(out, value->z, (size_t)value->n);
        }
        memset(out + value->n, 0, size - (u64)value->n);
    }
}

/* The size of a header with `size` bytes of serial types: it counts its own length too. */
static u64 header_size_of(u64 size)
{
    u64 total = size + 1;
    if (total < 0x80) {
        return total;
    }
    while (total != size + (u64)sqlite3VarintLen(total)) {
        total++;
    }
    return total;
}

static int record_of_values(const Mem *const *values, int count, bool with_flags, Bytes *out)
{
    u64 types = with_flags ? (u64)count * 2 : (u64)count;
    u64 body = 0;
    for (int i = 0; i < count; i++) {
        if (values[i] != NULL) {
            u64 size;
            const u32 serial = value_serial(values[i], &size);
            types += serial < 0x80 ? 0 : (u64)sqlite3VarintLen(serial) - 1;
            body += size;
        }
    }
    const u64 header = header_size_of(types);
    const int rc = weir_bytes_reserve(out, header + body);
    if (rc != SQLITE_OK) {
        return rc;
    }
    u8 *type_at = out->data + putVarint32(out->data, (u32)header);
    u8 *body_at = out->data + header;
    for (int i = 0; with_flags && i < count; i++) {
        *type_at++ = values[i] == NULL ? 8 : 9;
    }
    for (int i = 0; i < count; i++) {
        u64 size;
        if (values[i] == NULL) {
            *type_at++ = 0;
            continue;
        }
        type_at += putVarint32(type_at, value_serial(values[i], &size));
        put_value(body_at, values[i], size);
        body_at += size;
    }
    assert(type_at == out->data + header);
    out->size = header + body;
    return SQLITE_OK;
}

int weir_image_of_updates(const Mem *const *values, int count, Bytes *out)
{
    return record_of_values(values, count, true, out);
}

int weir_image_field(sqlite3 *db, Span image, int index, Mem *out)
{
    Reader reader = {0};
    int rc = weir_reader_init(&reader, image);
    if (rc != SQLITE_OK) {
        return rc;
    }
    for (int i = 0; i <= index; i++) {
        rc = weir_reader_next(&reader);
        if (rc != SQLITE_ROW) {
            return rc == SQLITE_DONE ? SQLITE_CORRUPT_BKPT : rc;
        }
    }
    weir_reader_get(&reader, db, out);
    return SQLITE_OK;
}

/* --- images of stored records --- */

/* The default of a column, as the table would show it; *out is owned by the caller, NULL for NULL. */
static int default_of_column(sqlite3 *db, Table *table, Column *column, sqlite3_value **out)
{
    *out = NULL;
    Expr *const expression = sqlite3ColumnExpr(table, column);
    if (expression == NULL) {
        return SQLITE_OK;
    }
    const int rc = sqlite3ValueFromExpr(db, expression, SQLITE_UTF8, (u8)column->affinity, out);
    if (rc == SQLITE_OK && *out != NULL && column->affinity == SQLITE_AFF_REAL &&
        ((*out)->flags & MEM_Int) != 0) {
        sqlite3VdbeMemSetDouble(*out, (double)(*out)->u.i);
    }
    return rc;
}

/* The image of a record that ends before the table's last stored column. */
static int image_with_defaults(sqlite3 *db, Table *table, Span record, int present, Bytes *out)
{
    const int count = table->nNVCol;
    const u64 room = (u64)count * (sizeof(Mem) + sizeof(Mem *) + sizeof(sqlite3_value *));
    Mem *const fields = sqlite3MallocZero(room);
    if (fields == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    const Mem **const values = (const Mem **)(fields + count);
    sqlite3_value **const defaults = (sqlite3_value **)(void *)(values + count);
    Reader reader = {0};
    int rc = weir_reader_init(&reader, record);
    int stored = 0;
    for (int i = 0; rc == SQLITE_OK && i < table->nCol; i++) {
        if ((table->aCol[i].colFlags & COLFLAG_VIRTUAL) != 0) {
            continue;
        }
        if (stored < present) {
            rc = weir_reader_next(&reader) == SQLITE_ROW ? SQLITE_OK : SQLITE_CORRUPT_BKPT;
            if (rc == SQLITE_OK) {
                weir_reader_get(&reader, db, &fields[stored]);
                values[stored] = &fields[stored];
            }
        } else {
            rc = default_of_column(db, table, &table->aCol[i], &defaults[stored]);
            values[stored] = defaults[stored];
        }
        stored++;
    }
    if (rc == SQLITE_OK) {
        rc = record_of_values(values, count, false, out);
    }
    for (int i = 0; i < count; i++) {
        sqlite3ValueFree(defaults[i]);
    }
    sqlite3_free(fields);
    return rc;
}

/* What an image makes of a stored column. */
typedef enum ColumnKind {
    COLUMN_PLAIN, /* as it is */
    COLUMN_ROWID, /* stored as NULL */
    COLUMN_REAL,  /* may be stored as an integer */
} ColumnKind;

/* Fills capture->kinds with a ColumnKind for each stored column, unless they are those of the table. */
static int plan_image(sqlite3 *db, const Table *table)
{
    Capture *const capture = db->weir;
    weir_log_mind_schema(db);
    if (capture->planned == table) {
        return SQLITE_OK;
    }
    const int rc = weir_bytes_reserve(&capture->kinds, (u64)table->nCol);
    if (rc != SQLITE_OK) {
        return rc;
    }
    u8 *kind = capture->kinds.data;
    capture->is_rewritten = false;
    for (int i = 0; i < table->nCol; i++) {
        const Column *const column = &table->aCol[i];
        if ((column->colFlags & COLFLAG_VIRTUAL) == 0) {
            *kind = column->affinity == SQLITE_AFF_REAL ? COLUMN_REAL : COLUMN_PLAIN;
            if (i == table->iPKey) {
                *kind = COLUMN_ROWID;
            }
            capture->is_rewritten = capture->is_rewritten || *kind != COLUMN_PLAIN;
            kind++;
        }
    }
    capture->kinds.size = (u64)(kind - capture->kinds.data);
    assert(capture->kinds.size == (u64)table->nNVCol);
    capture->planned = table;
    return SQLITE_OK;
}

static i64 read_integer(const u8 *data, u32 serial, u64 size)
{
    if (serial >= 8) {
        return (i64)serial - 8;
    }
    u64 value = (data[0] & 0x80) != 0 ? ~(u64)0 : 0;
    for (u64 i = 0; i < size; i++) {
        value = value << 8 | data[i];
    }
    return (i64)value;
}

/* The image of a record: what stays is copied in runs, what differs is put between them. Every replaced column
 * has a serial type of one byte, before and after: the header keeps its size. If nothing can differ, the
 * image is the record itself. *present is the number of columns that the record has. */
static int rewrite_record(const Capture *capture, Span record, i64 rowid, Bytes *scratch, Span *out,
                          u64 *present)
{
    const u64 count = capture->kinds.size;
    Reader reader = {0};
    int rc = weir_reader_init(&reader, record);
    if (rc == SQLITE_OK && capture->is_rewritten) {
        rc = weir_bytes_reserve(scratch, record.size + 8 * count);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    u64 run = reader.offset; /* where in the record the next run starts */
    u8 *body = scratch->data;
    if (capture->is_rewritten) {
        memcpy(body, record.data, run);
        body += run;
    }
    u64 i = 0;
    for (; i < count; i++) {
        rc = weir_reader_next(&reader);
        if (rc != SQLITE_ROW) {
            break;
        }
        const u32 serial = reader.serial;
        const u8 kind = capture->kinds.data[i];
        if (kind == COLUMN_PLAIN ||
            (kind == COLUMN_REAL && (serial == 0 || serial == 7 || serial > 9))) {
            continue;
        }
        if (serial >= 0x80) {
            return SQLITE_CORRUPT_BKPT;
        }
        const u64 run_size = reader.field_offset - run;
        memcpy(body, record.data + run, run_size);
        body += run_size;
        run = reader.offset;
        u8 *const type = scratch->data + (reader.type - record.data) - 1;
        u32 size = 8;
        if (kind == COLUMN_ROWID) {
            /* Mostly NULL; SQLite leaves a reserved type there too. What counts is that it is one byte. */
            *type = (u8)weir_integer_serial(rowid, &size);
            weir_integer_put(body, rowid, size);
        } else {
            const u8 *const field = record.data + reader.field_offset;
            *type = 7;
            put_double(body, (double)read_integer(field, serial, reader.field_size));
        }
        body += size;
    }
    if ((rc != SQLITE_ROW && rc != SQLITE_DONE) || reader.type < reader.end) {
        return SQLITE_CORRUPT_BKPT;
    }
    *present = i;
    *out = record;
    if (capture->is_rewritten) {
        memcpy(body, record.data + run, reader.offset - run);
        body += reader.offset - run;
        *out = (Span){.data = scratch->data, .size = (u64)(body - scratch->data)};
    }
    return SQLITE_OK;
}

int weir_image_of_record(sqlite3 *db, Table *table, Span record, i64 rowid, Bytes *scratch,
                         Span *out)
{
    Capture *const capture = db->weir;
    u64 present = 0;
    int rc = plan_image(db, table);
    if (rc == SQLITE_OK) {
        rc = rewrite_record(capture, record, rowid, scratch, out, &present);
    }
    if (rc != SQLITE_OK || present == capture->kinds.size) {
        return rc;
    }
    Bytes complete = {0};
    rc = image_with_defaults(db, table, *out, (int)present, &complete);
    if (rc == SQLITE_OK) {
        sqlite3_free(scratch->data);
        *scratch = complete;
        *out = weir_bytes_span(scratch);
    } else {
        weir_bytes_free(&complete);
    }
    return rc;
}
