/* record.h: SQLite's record format, read: the images of a change log.
 *
 * A record is a varint with the size of the header, itself counted; a varint with the serial type of
 * each field; the bodies of the fields in the same order. */
#ifndef WEIR_CDC_RECORD_H
#define WEIR_CDC_RECORD_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "weir.h"

/* Bytes of someone else; data is NULL for SQL's NULL. */
typedef struct CdcBytes {
    const unsigned char *data;
    size_t size;
} CdcBytes;

typedef struct CdcField {
    int type;                  /* SQLITE_INTEGER, ... */
    sqlite3_int64 integer;     /* SQLITE_INTEGER; the bits of SQLITE_FLOAT */
    double real;               /* SQLITE_FLOAT */
    const unsigned char *data; /* SQLITE_TEXT, SQLITE_BLOB: inside the record */
    size_t size;
} CdcField;

/* {0} is empty, and may be read into again and again. */
typedef struct CdcRecord {
    CdcField *fields; /* owned */
    size_t count;
    size_t capacity;
} CdcRecord;

/* The fields point into the bytes. Fails on bytes that are no record. */
WeirStatus weir_cdc_record_read(CdcRecord *record, CdcBytes bytes, WeirError *err);
void weir_cdc_record_deinit(CdcRecord *record);

/* The record's field of that number, if it is a text; otherwise NULL. */
const CdcField *weir_cdc_field_text(const CdcRecord *record, size_t field);

bool weir_cdc_field_is_equal(const CdcField *a, const CdcField *b);

#endif
