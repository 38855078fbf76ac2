/* setting.h: what the database asks of its connections, and what its log holds. */
#ifndef WEIR_CDC_SETTING_H
#define WEIR_CDC_SETTING_H

#include <sqlite3.h>
#include <stdbool.h>

#include "weir.h"

enum { CDC_NAME_BYTES = 512 };

typedef struct CdcSetting {
    char mode[16];              /* that is kept in the database; "off" if none is */
    char table[CDC_NAME_BYTES]; /* the log */
    int version;                /* of the log; 0 = there is no such table */
    bool is_log;                /* the table has a log's columns */
} CdcSetting;

typedef struct CdcStatus {
    sqlite3_int64 change_count; /* COMMIT records not counted */
    sqlite3_int64 transaction_count;
    sqlite3_int64 first_id; /* 0 = the log is empty */
    sqlite3_int64 first_time;
    sqlite3_int64 last_id;
    sqlite3_int64 last_time;
    sqlite3_int64 size_bytes; /* pages of the log, without indexes of the user's */
} CdcStatus;

typedef enum CdcPruneKind { CDC_PRUNE_BEFORE, CDC_PRUNE_KEEP, CDC_PRUNE_OLDER } CdcPruneKind;

/* table: the log; NULL = the one that the database asks for, or turso_cdc. */
WeirStatus weir_cdc_setting_read(sqlite3 *db, const char *table, CdcSetting *out, WeirError *err);

/* Fails, with what to do, if there is no log. */
WeirStatus weir_cdc_setting_check(const CdcSetting *setting, WeirError *err);

/* Keeps the mode in the database, for every connection that comes. */
WeirStatus weir_cdc_setting_write(sqlite3 *db, const char *mode, const char *table, WeirError *err);

WeirStatus weir_cdc_status_read(sqlite3 *db, const CdcSetting *setting, CdcStatus *out,
                                WeirError *err);

/* A place where the log lacks changes: behind `after`, and before `before`; 0 = no record has followed.
 * False ends it. */
typedef bool (*CdcGapVisit)(void *user, sqlite3_int64 after, sqlite3_int64 before,
                            const char *reason);
WeirStatus weir_cdc_gaps(sqlite3 *db, const CdcSetting *setting, CdcGapVisit visit, void *user,
                         WeirError *err);

/* Removes the oldest transactions, each as a whole:
 *   BEFORE  those that were complete before the change with the id `value`
 *   KEEP    those without which `value` changes are left
 *   OLDER   those complete before anything that was recorded at the time `value` or later
 * *removed and *kept count changes. The ids of what is removed are not given out again. */
WeirStatus weir_cdc_prune(sqlite3 *db, const CdcSetting *setting, CdcPruneKind kind,
                          sqlite3_int64 value, sqlite3_int64 *removed, sqlite3_int64 *kept,
                          WeirError *err);

#endif
