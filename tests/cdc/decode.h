/* decode.h: records of the change log as text. */
#ifndef CDC_DECODE_H
#define CDC_DECODE_H

#include <sqlite3.h>
#include <stddef.h>

/* Text that grows; the tests stop when memory runs out. */
typedef struct Text {
    char *data; /* owned, terminated once something is in it */
    size_t size;
    size_t capacity;
} Text;

void text_add(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(Text *text);
void text_free(Text *text);
/* The text, never NULL. */
const char *text_get(const Text *text);

/* Appends a value: NULL, 7, 1.5, 'text', x'00ff'. */
void text_add_column(Text *text, sqlite3_stmt *row, int column);
/* Appends a record as [1,'a',NULL], or - for NULL. What is no record is shown as corrupt. */
void text_add_record(Text *text, const unsigned char *record, int size);

/* A field of a record: an SQLite type code and its value. */
typedef struct Field {
    int type;                  /* SQLITE_INTEGER, ... */
    int size;                  /* of data */
    const unsigned char *data; /* text and blobs: inside the record */
    sqlite3_int64 integer;
    double real;
} Field;

/* Reads a record into fields; returns how many there are, or -1 if it is no record or has more than `max`. */
int record_read(const unsigned char *record, int size, Field *fields, int max);

/* Appends the rows of a log after id `after`, a line each:
 *
 *     id txn type table rowid | before | after | updates
 *     id txn C
 *
 * Without txn if the log is v1. */
void text_add_log(Text *text, sqlite3 *db, const char *table, sqlite3_int64 after);

#endif
