/* columns.h: the columns that a table had when a change was recorded.
 *
 * The log tells them itself: a change of a table is a record of sqlite_schema, whose images have the
 * statement that makes the table. For a change c of table t they are, of what is known,
 *
 *   1. what the last such record before c left;
 *   2. what the first such record after c found;
 *   3. what the table is now.
 *
 * A record of sqlite_schema without images (mode id) tells only which of its rows changed. If it is that of the
 * table, and lies between the change and what is known, that says nothing of the change. */
#ifndef WEIR_CDC_COLUMNS_H
#define WEIR_CDC_COLUMNS_H

#include "cdc/record.h"

/* The tables whose changes are changes of the schema. */
#define CDC_SCHEMA_TABLE "sqlite_schema"

enum { CDC_SCHEMA_TYPE, CDC_SCHEMA_NAME, CDC_SCHEMA_TABLE_NAME, CDC_SCHEMA_ROOT, CDC_SCHEMA_SQL };

typedef struct CdcColumns {
    char **names; /* owned, each; the stored ones first, as images have them */
    size_t stored_count;
    char *
        *all_names; /* borrowed from names, each: in the order of the table, as updates have them */
    size_t all_count;
    size_t *key; /* owned: the places of the primary key's columns in images, by rising place */
    size_t key_count;
} CdcColumns;

typedef struct CdcHistory CdcHistory;

/* Reads what the log says of tables. db and log are borrowed. */
WeirStatus weir_cdc_history_open(sqlite3 *db, const char *log, CdcHistory **out, WeirError *err);
void weir_cdc_history_close(CdcHistory *history); /* NULL is allowed */

/* Reads on, to the end of the log as the present transaction sees it. */
WeirStatus weir_cdc_history_refresh(CdcHistory *history, WeirError *err);

/* The columns of the table as of that change; *out is NULL if they are not known. Borrowed until the
 * history is closed. */
WeirStatus weir_cdc_history_find(CdcHistory *history, const char *table, sqlite3_int64 change_id,
                                 const CdcColumns **out, WeirError *err);

#endif
