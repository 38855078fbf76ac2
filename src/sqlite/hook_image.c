/* hook_image.c: images: records in SQLite's format that hold all stored columns of a table as it is now.
 *
 * They differ from what the table's b-tree stores in three places: the rowid's column has its value,
 * not NULL; a REAL column has a double, not an integer to save space; columns that were added after the row was
 * written have their default. */
#include "sqlite/capture.h"

/* --- records of values --- */

static void put_double(u8 *out, double value)
{
    u64 bits;
    memcpy(&bits, &value, sizeof bits);
    weir_word_put(out, bits);
}

/* Room for so many bytes behind what there is, and for some that may not be needed. An image that is too long for any
 * row of the log is not begun. */
static int reserve_room(const sqlite3 *db, Bytes *out, u64 size, u64 spare)
{
    if (size > (u64)db->aLimit[SQLITE_LIMIT_LENGTH]) {
        return SQLITE_FULL;
    }
    return weir_bytes_reserve(out, out->size + size + spare + WEIR_WORD_SIZE);
}

static bool is_bytes(const Mem *value)
{
    return (value->flags & (MEM_Null | MEM_Int | MEM_Real | MEM_IntReal)) == 0;
}

static u64 size_of_bytes(const Mem *value)
{
    return (u64)value->n + ((value->flags & MEM_Zero) != 0 ? (u64)value->u.nZero : 0);
}

static u64 serial_of_bytes(const Mem *value)
{
    return size_of_bytes(value) * 2 + ((value->flags & MEM_Str) != 0 ? 13 : 12);
}

/* Puts a value that is text or a blob; returns its size. */
static u64 put_bytes(u8 *out, const Mem *value)
{
    const u64 size = size_of_bytes(value);
    if (value->n > 0) {
        memcpy(out, value->z, (size_t)value->n);
    }
    memset(out + value->n, 0, size - (u64)value->n);
    return size;
}

/* Puts any other value, of which *serial becomes the type. A real kept as an integer is put as one, unless it is
 * for a column that makes it real again. */
static u32 put_number(u8 *out, const Mem *value, bool is_real_column, u8 *serial)
{
    u32 size = 8;
    *serial = 7;
    if ((value->flags & MEM_Null) != 0) {
        *serial = 0;
        size = 0;
    } else if ((value->flags & MEM_IntReal) != 0 && is_real_column) {
        put_double(out, (double)value->u.i);
    } else if ((value->flags & MEM_Real) != 0) {
        put_double(out, value->u.r);
    } else {
        *serial = (u8)weir_integer_serial(value->u.i, &size);
        weir_integer_put(out, value->u.i, size);
    }
    return size;
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

/* Puts a value and its type; returns the size of the value. */
static u64 put_value(u8 *out, const ColumnValue *value, u8 **type_at)
{
    if (is_bytes(value->value)) {
        *type_at += sqlite3PutVarint(*type_at, serial_of_bytes(value->value));
        return put_bytes(out, value->value);
    }
    return put_number(out, value->value, value->is_real_column, (*type_at)++);
}

/* What values take, but for the bodies of numbers. */
typedef struct Extent {
    u64 types; /* that of a number takes one byte, whatever it is */
    u64 bodies;
} Extent;

static inline void extend(Extent *extent, const Mem *value)
{
    if (is_bytes(value)) {
        extent->types += (u64)sqlite3VarintLen(serial_of_bytes(value));
        extent->bodies += size_of_bytes(value);
    } else {
        extent->types++;
    }
}

/* Appends a record of the values of all stored columns. */
static int record_of_values(const sqlite3 *db, const ColumnValue *values, int count, Bytes *out)
{
    Extent extent = {0};
    for (int i = 0; i < count; i++) {
        extend(&extent, values[i].value);
    }
    const u64 header = header_size_of(extent.types);
    const int rc = reserve_room(db, out, header + extent.bodies, (u64)count * WEIR_WORD_SIZE);
    if (rc != SQLITE_OK) {
        return rc;
    }
    u8 *const record = out->data + out->size;
    u8 *type_at = record + putVarint32(record, (u32)header);
    u8 *body_at = record + header;
    for (int i = 0; i < count; i++) {
        body_at += put_value(body_at, &values[i], &type_at);
    }
    assert(type_at == record + header);
    out->size = (u64)(body_at - out->data);
    return SQLITE_OK;
}

int weir_image_of_updates(const sqlite3 *db, const ColumnValue *updates, int count,
                          int column_count, Bytes *out)
{
    enum { IS_KEPT = 8, IS_SET = 9 }; /* the types of the integers 0 and 1 */
    Extent extent = {.types = 2 * (u64)column_count - (u64)count};
    for (int i = 0; i < count; i++) {
        extend(&extent, updates[i].value);
    }
    const u64 header = header_size_of(extent.types);
    const int rc = reserve_room(db, out, header + extent.bodies, (u64)count * WEIR_WORD_SIZE);
    if (rc != SQLITE_OK) {
        return rc;
    }
    u8 *const record = out->data + out->size;
    u8 *const flags = record + putVarint32(record, (u32)header);
    u8 *type_at = flags + column_count;
    u8 *body_at = record + header;
    int next = 0; /* the column that type_at is for */
    memset(flags, IS_KEPT, (size_t)column_count);
    memset(type_at, 0, (size_t)(body_at - type_at));
    for (int i = 0; i < count; i++) {
        const ColumnValue *const update = &updates[i];
        flags[update->column] = IS_SET;
        type_at += update->column - next;
        next = update->column + 1;
        body_at += put_value(body_at, update, &type_at);
    }
    assert(type_at + (column_count - next) == record + header);
    out->size = (u64)(body_at - out->data);
    return SQLITE_OK;
}

int weir_image_field(sqlite3 *db, Span image, int index, Mem *out)
{
    Reader reader = {0};
    int rc = weir_reader_init(&reader, image);
    if (rc != SQLITE_OK) {
        return rc;
    }
    for (int i = 0; i <= index; i++) {
        if (!weir_reader_next(&reader)) {
            return SQLITE_CORRUPT_BKPT;
        }
    }
    if (!weir_reader_is_sound(&reader)) {
        return SQLITE_CORRUPT_BKPT;
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

/* What image_of_fields needs of each stored column: its value, and what that points to. */
typedef struct FieldValue {
    Mem field;
    sqlite3_value *filled_in; /* owned: the default; NULL for none */
} FieldValue;

/* Reads the fields of a record: field i is that of column columns[i], or, without columns, of the stored column of
 * that number. Values of fields that there are not stay NULL pointers. */
static int read_fields(sqlite3 *db, Table *table, Span record, const i16 *columns, int count,
                       FieldValue *fields, ColumnValue *values)
{
    Reader reader = {0};
    const int rc = weir_reader_init(&reader, record);
    for (int i = 0; rc == SQLITE_OK && i < count && weir_reader_next(&reader); i++) {
        const int stored = columns == NULL ? i : sqlite3TableColumnToStorage(table, columns[i]);
        if (!weir_reader_is_sound(&reader)) {
            break;
        }
        Mem *const field = &fields[stored].field;
        weir_reader_get(&reader, db, field);
        values[stored].value = field;
    }
    return rc == SQLITE_OK && !weir_reader_is_sound(&reader) ? SQLITE_CORRUPT_BKPT : rc;
}

/* Appends the image made of a record's fields, and of defaults for the columns that it lacks. */
static int image_of_fields(sqlite3 *db, Table *table, Span record, const i16 *columns, int present,
                           Bytes *out)
{
    const int count = table->nNVCol;
    FieldValue *const fields =
        sqlite3MallocZero((u64)count * (sizeof(FieldValue) + sizeof(ColumnValue)));
    if (fields == NULL) {
        return SQLITE_NOMEM_BKPT;
    }
    ColumnValue *const values = (ColumnValue *)(void *)(fields + count);
    int rc = read_fields(db, table, record, columns, present, fields, values);
    int stored = 0;
    for (int i = 0; rc == SQLITE_OK && i < table->nCol; i++) {
        if ((table->aCol[i].colFlags & COLFLAG_VIRTUAL) != 0) {
            continue;
        }
        Mem *const field = &fields[stored].field;
        ColumnValue *const value = &values[stored];
        value->is_real_column = weir_is_real_column(table, i);
        if (value->value == NULL) {
            rc = default_of_column(db, table, &table->aCol[i], &fields[stored].filled_in);
            field->flags = MEM_Null;
            value->value = fields[stored].filled_in != NULL ? fields[stored].filled_in : field;
        } else if (value->is_real_column && (field->flags & MEM_Int) != 0) {
            field->flags = MEM_IntReal;
        }
        stored++;
    }
    if (rc == SQLITE_OK) {
        rc = record_of_values(db, values, count, out);
    }
    for (int i = 0; i < count; i++) {
        sqlite3ValueFree(fields[i].filled_in);
    }
    sqlite3_free(fields);
    return rc;
}

int weir_image_of_keyed_record(sqlite3 *db, Table *table, Span record, Bytes *out)
{
    const Index *const key = sqlite3PrimaryKeyIndex(table);
    return image_of_fields(db, table, record, key->aiColumn, key->nColumn, out);
}

int weir_image_of_registers(sqlite3 *db, Table *table, const Mem *registers, Bytes *out)
{
    Capture *const capture = db->weir;
    const int rc = weir_bytes_reserve(&capture->values, (u64)table->nNVCol * sizeof(ColumnValue));
    if (rc != SQLITE_OK) {
        return rc;
    }
    ColumnValue *const values = (ColumnValue *)(void *)capture->values.data;
    int count = 0;
    for (int i = 0; i < table->nCol; i++) {
        if ((table->aCol[i].colFlags & COLFLAG_VIRTUAL) == 0) {
            values[count] = (ColumnValue){
                .column = i,
                .is_real_column = weir_is_real_column(table, i),
                .value = &registers[count],
            };
            count++;
        }
    }
    return record_of_values(db, values, count, out);
}

/* What an image makes of a stored column. */
typedef enum ColumnKind {
    COLUMN_PLAIN, /* as it is */
    COLUMN_ROWID, /* stored as NULL */
    COLUMN_REAL,  /* may be stored as an integer */
} ColumnKind;

/* Fills capture->kinds with a ColumnKind for each stored column. */
static SQLITE_NOINLINE int plan_images(Capture *capture, const Table *table)
{
    const int rc = weir_bytes_reserve(&capture->kinds, (u64)table->nCol);
    if (rc != SQLITE_OK) {
        return rc;
    }
    u8 *kind = capture->kinds.data;
    for (int i = 0; i < table->nCol; i++) {
        const Column *const column = &table->aCol[i];
        if ((column->colFlags & COLFLAG_VIRTUAL) == 0) {
            *kind = weir_is_real_column(table, i) ? COLUMN_REAL : COLUMN_PLAIN;
            if (i == table->iPKey) {
                *kind = COLUMN_ROWID;
            }
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

/* Appends the image of a record: what stays is copied in runs, what differs is put between them. Every replaced
 * column has a serial type of one byte, before and after: the header keeps its size. *present is the number of
 * columns that the record has. */
static int rewrite_record(const sqlite3 *db, Span record, i64 rowid, Bytes *out, u64 *present)
{
    const Capture *const capture = db->weir;
    const u8 *const kinds = capture->kinds.data;
    const u64 count = capture->kinds.size;
    Reader reader = {0};
    int rc = weir_reader_init(&reader, record);
    if (rc == SQLITE_OK) {
        rc = reserve_room(db, out, record.size, count * WEIR_WORD_SIZE);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    u8 *const image = out->data + out->size;
    u64 run = reader.offset; /* where in the record the next run starts */
    u8 *body = image + run;
    memcpy(image, record.data, run);
    u64 i = 0;
    while (i < count && weir_reader_next(&reader)) {
        const u8 kind = kinds[i++];
        const u32 serial = reader.serial;
        if (kind == COLUMN_PLAIN ||
            (kind == COLUMN_REAL && (serial == 0 || serial == 7 || serial > 9))) {
            continue;
        }
        if (serial >= 0x80 || !weir_reader_is_sound(&reader)) {
            return SQLITE_CORRUPT_BKPT;
        }
        const u64 field_offset = reader.offset - reader.size;
        if (field_offset > run) {
            memcpy(body, record.data + run, field_offset - run);
            body += field_offset - run;
        }
        run = reader.offset;
        u8 *const type = image + (reader.type - record.data) - 1;
        u32 size = 8;
        if (kind == COLUMN_ROWID) {
            /* Mostly NULL; SQLite leaves a reserved type there too. What counts is that it is one byte. */
            *type = (u8)weir_integer_serial(rowid, &size);
            weir_integer_put(body, rowid, size);
        } else {
            *type = 7;
            put_double(body, (double)read_integer(record.data + field_offset, serial, reader.size));
        }
        body += size;
    }
    if (reader.type < reader.end || !weir_reader_is_sound(&reader)) {
        return SQLITE_CORRUPT_BKPT;
    }
    memcpy(body, record.data + run, reader.offset - run);
    body += reader.offset - run;
    *present = i;
    out->size = (u64)(body - out->data);
    return SQLITE_OK;
}

/* Adds the columns that the image at `start` lacks. */
static SQLITE_NOINLINE int complete_image(sqlite3 *db, Table *table, u64 start, int present,
                                          Bytes *out)
{
    const Span image = {.data = out->data + start, .size = out->size - start};
    Bytes complete = {0};
    int rc = image_of_fields(db, table, image, NULL, present, &complete);
    if (rc == SQLITE_OK) {
        out->size = start;
        rc = weir_image_copy(db, weir_bytes_span(&complete), out);
    }
    weir_bytes_free(&complete);
    return rc;
}

int weir_image_of_record(sqlite3 *db, Table *table, Span record, i64 rowid, Bytes *out)
{
    const u64 start = out->size;
    u64 present = 0;
    int rc = SQLITE_OK;
    weir_log_mind_schema(db);
    if (db->weir->planned != table) {
        rc = plan_images(db->weir, table);
    }
    if (rc == SQLITE_OK) {
        rc = rewrite_record(db, record, rowid, out, &present);
    }
    if (rc == SQLITE_OK && present != db->weir->kinds.size) {
        rc = complete_image(db, table, start, (int)present, out);
    }
    return rc;
}

int weir_image_copy(const sqlite3 *db, Span image, Bytes *out)
{
    const int rc = reserve_room(db, out, image.size, 0);
    if (rc == SQLITE_OK) {
        memcpy(out->data + out->size, image.data, image.size);
        out->size += image.size;
    }
    return rc;
}
