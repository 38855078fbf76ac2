/* decode.c: see decode.h. */
#include "decode.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 512 };

/* --- text --- */

void text_add(Text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *const piece = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    const size_t size = piece == NULL ? 0 : strlen(piece);
    if (text->capacity < text->size + size + 1) {
        text->capacity = 2 * (text->size + size + 1);
        text->data = realloc(text->data, text->capacity);
        if (text->data == NULL) {
            (void)fprintf(stderr, "out of memory\n");
            exit(2);
        }
    }
    if (size > 0) {
        memcpy(text->data + text->size, piece, size);
    }
    text->size += size;
    text->data[text->size] = 0;
    sqlite3_free(piece);
}

void text_clear(Text *text)
{
    text->size = 0;
    if (text->data != NULL) {
        text->data[0] = 0;
    }
}

void text_free(Text *text)
{
    free(text->data);
    *text = (Text){0};
}

const char *text_get(const Text *text)
{
    return text->data == NULL ? "" : text->data;
}

/* --- values --- */

static void add_blob(Text *text, const unsigned char *data, size_t size)
{
    text_add(text, "x'");
    for (size_t i = 0; i < size; i++) {
        text_add(text, "%02x", data[i]);
    }
    text_add(text, "'");
}

static void add_double(Text *text, double value)
{
    char digits[64];
    sqlite3_snprintf((int)sizeof digits, digits, "%!.17g", value);
    text_add(text, "%s", digits);
}

void text_add_column(Text *text, sqlite3_stmt *row, int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER: text_add(text, "%lld", sqlite3_column_int64(row, column)); break;
    case SQLITE_FLOAT: add_double(text, sqlite3_column_double(row, column)); break;
    case SQLITE_TEXT: text_add(text, "'%s'", (const char *)sqlite3_column_text(row, column)); break;
    case SQLITE_BLOB:
        add_blob(text, sqlite3_column_blob(row, column), (size_t)sqlite3_column_bytes(row, column));
        break;
    default: text_add(text, "NULL"); break;
    }
}

/* --- records --- */

typedef struct Reader {
    const unsigned char *data;
    uint64_t size;
    uint64_t at;
} Reader;

static uint64_t read_varint(Reader *reader)
{
    uint64_t value = 0;
    for (int i = 0; i < 9 && reader->at < reader->size; i++) {
        const unsigned char byte = reader->data[reader->at++];
        if (i == 8) {
            return value << 8 | byte;
        }
        value = value << 7 | (byte & 0x7f);
        if (byte < 0x80) {
            return value;
        }
    }
    return value;
}

static uint64_t read_integer(const unsigned char *data, uint64_t size)
{
    uint64_t value = size > 0 && (data[0] & 0x80) != 0 ? UINT64_MAX : 0;
    for (uint64_t i = 0; i < size; i++) {
        value = value << 8 | data[i];
    }
    return value;
}

static uint64_t size_of_serial(uint64_t serial)
{
    static const uint64_t SIZES[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return serial < 12 ? SIZES[serial] : (serial - 12) / 2;
}

static Field read_field(uint64_t serial, const unsigned char *data)
{
    Field field = {.type = SQLITE_NULL};
    if (serial == 7) {
        const uint64_t bits = read_integer(data, 8);
        memcpy(&field.real, &bits, sizeof field.real);
        field.type = SQLITE_FLOAT;
    } else if (serial == 8 || serial == 9) {
        field.type = SQLITE_INTEGER;
        field.integer = (sqlite3_int64)serial - 8;
    } else if (serial > 0 && serial < 8) {
        field.type = SQLITE_INTEGER;
        field.integer = (sqlite3_int64)read_integer(data, size_of_serial(serial));
    } else if (serial >= 12) {
        field.type = serial % 2 == 0 ? SQLITE_BLOB : SQLITE_TEXT;
        field.data = data;
        field.size = (int)size_of_serial(serial);
    }
    return field;
}

int record_read(const unsigned char *record, int size, Field *fields, int max)
{
    Reader header = {.data = record, .size = (uint64_t)size};
    uint64_t body = read_varint(&header);
    int count = 0;
    if (body > header.size) {
        return -1;
    }
    header.size = body;
    while (header.at < header.size) {
        const uint64_t serial = read_varint(&header);
        if (serial == 10 || serial == 11 || count == max ||
            body + size_of_serial(serial) > (uint64_t)size) {
            return -1;
        }
        fields[count++] = read_field(serial, record + body);
        body += size_of_serial(serial);
    }
    return body == (uint64_t)size ? count : -1;
}

static void add_field(Text *text, const Field *field)
{
    switch (field->type) {
    case SQLITE_INTEGER: text_add(text, "%lld", field->integer); break;
    case SQLITE_FLOAT: add_double(text, field->real); break;
    case SQLITE_TEXT: text_add(text, "'%.*s'", field->size, (const char *)field->data); break;
    case SQLITE_BLOB: add_blob(text, field->data, (size_t)field->size); break;
    default: text_add(text, "NULL"); break;
    }
}

void text_add_record(Text *text, const unsigned char *record, int size)
{
    Field fields[FIELDS_MAX];
    if (record == NULL) {
        text_add(text, "-");
        return;
    }
    const int count = record_read(record, size, fields, FIELDS_MAX);
    if (count < 0) {
        text_add(text, "corrupt");
        return;
    }
    for (int i = 0; i < count; i++) {
        text_add(text, "%s", i == 0 ? "[" : ",");
        add_field(text, &fields[i]);
    }
    text_add(text, "]");
}

static void add_row(Text *text, sqlite3_stmt *row, int with_transaction)
{
    const int type = with_transaction ? 3 : 2;
    text_add(text, "%lld", sqlite3_column_int64(row, 0));
    if (with_transaction) {
        text_add(text, " %lld", sqlite3_column_int64(row, 2));
    }
    if (sqlite3_column_int(row, type) == 2) {
        text_add(text, " C");
        for (int i = type + 1; i < sqlite3_column_count(row); i++) {
            if (sqlite3_column_type(row, i) != SQLITE_NULL) {
                text_add(text, " with column %d", i);
            }
        }
        text_add(text, "\n");
        return;
    }
    text_add(text, " %d %s ", sqlite3_column_int(row, type),
             (const char *)sqlite3_column_text(row, type + 1));
    if (sqlite3_column_type(row, type + 2) == SQLITE_NULL) {
        text_add(text, "-");
    } else {
        text_add(text, "%lld", sqlite3_column_int64(row, type + 2));
    }
    for (int i = type + 3; i < type + 6; i++) {
        text_add(text, " | ");
        text_add_record(text, sqlite3_column_blob(row, i), sqlite3_column_bytes(row, i));
    }
    text_add(text, "\n");
}

void text_add_log(Text *text, sqlite3 *db, const char *table, sqlite3_int64 after)
{
    sqlite3_stmt *rows = NULL;
    char *const sql = sqlite3_mprintf(
        "SELECT * FROM main.\"%w\" WHERE change_id>%lld ORDER BY change_id", table, after);
    if (sqlite3_prepare_v2(db, sql, -1, &rows, NULL) != SQLITE_OK) {
        text_add(text, "%s\n", sqlite3_errmsg(db));
    } else {
        const int with_transaction = strcmp(sqlite3_column_name(rows, 2), "change_txn_id") == 0;
        while (sqlite3_step(rows) == SQLITE_ROW) {
            add_row(text, rows, with_transaction);
        }
        if (sqlite3_errcode(db) != SQLITE_DONE) {
            text_add(text, "%s\n", sqlite3_errmsg(db));
        }
    }
    sqlite3_finalize(rows);
    sqlite3_free(sql);
}
