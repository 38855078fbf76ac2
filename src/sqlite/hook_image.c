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
    Reader reader;
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
    Reader reader;
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

/* Writes an image beside a record: what stays is copied in runs, what differs is put between them. */
typedef struct Rewriter {
    const u8 *record;
    u64 run;  /* where in the record the next run starts */
    u8 *body; /* where it goes */
    bool has_change;
} Rewriter;

static void rewriter_replace(Rewriter *rewriter, const Reader *reader)
{
    const u64 size = reader->field_offset - rewriter->run;
    memcpy(rewriter->body, rewriter->record + rewriter->run, size);
    rewriter->body += size;
    rewriter->run = reader->offset;
    rewriter->has_change = true;
}

static i64 read_integer(const Reader *reader)
{
    if (reader->serial >= 8) {
        return (i64)reader->serial - 8;
    }
    const u8 *const data = reader->record.data + reader->field_offset;
    u64 value = (data[0] & 0x80) != 0 ? ~(u64)0 : 0;
    for (u64 i = 0; i < reader->field_size; i++) {
        value = value << 8 | data[i];
    }
    return (i64)value;
}

int weir_image_of_record(sqlite3 *db, Table *table, Span record, i64 rowid, Bytes *scratch,
                         Span *out)
{
    Reader reader;
    int rc = weir_reader_init(&reader, record);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* Every replaced field has a serial type of one byte, before and after: the header keeps its size. */
    const u64 header = reader.offset;
    rc = weir_bytes_reserve(scratch, record.size + 8 * (u64)table->nNVCol);
    if (rc != SQLITE_OK) {
        return rc;
    }
    memcpy(scratch->data, record.data, header);
    Rewriter rewriter = {.record = record.data, .run = header, .body = scratch->data + header};
    int present = 0;
    for (int i = 0; i < table->nCol; i++) {
        const Column *const column = &table->aCol[i];
        if ((column->colFlags & COLFLAG_VIRTUAL) != 0) {
            continue;
        }
        rc = weir_reader_next(&reader);
        if (rc != SQLITE_ROW) {
            break;
        }
        present++;
        u8 *const type = scratch->data + (reader.type - record.data) - 1;
        if (i == table->iPKey) {
            /* Mostly NULL; SQLite leaves a reserved type there too. What counts is that it is one byte. */
            if (reader.serial >= 0x80) {
                return SQLITE_CORRUPT_BKPT;
            }
            u32 size;
            rewriter_replace(&rewriter, &reader);
            *type = (u8)weir_integer_serial(rowid, &size);
            weir_integer_put(rewriter.body, rowid, size);
            rewriter.body += size;
        } else if (column->affinity == SQLITE_AFF_REAL && reader.serial >= 1 &&
                   reader.serial <= 9 && reader.serial != 7) {
            rewriter_replace(&rewriter, &reader);
            *type = 7;
            put_double(rewriter.body, (double)read_integer(&reader));
            rewriter.body += 8;
        }
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        return rc;
    }
    if (rewriter.has_change) {
        reader.field_offset = reader.offset;
        rewriter_replace(&rewriter, &reader);
        *out = (Span){.data = scratch->data, .size = (u64)(rewriter.body - scratch->data)};
    } else {
        *out = record;
    }
    if (present == table->nNVCol) {
        return SQLITE_OK;
    }
    Bytes complete = {0};
    rc = image_with_defaults(db, table, *out, present, &complete);
    if (rc == SQLITE_OK) {
        sqlite3_free(scratch->data);
        *scratch = complete;
        *out = weir_bytes_span(scratch);
    } else {
        weir_bytes_free(&complete);
    }
    return rc;
}
