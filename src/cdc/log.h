/* log.h: the changes of a log, in their order. */
#ifndef WEIR_CDC_LOG_H
#define WEIR_CDC_LOG_H

#include "cdc/columns.h"

typedef enum CdcChangeType {
    CDC_DELETE = -1,
    CDC_UPDATE = 0,
    CDC_INSERT = 1,
    CDC_COMMIT = 2,
} CdcChangeType;

typedef struct CdcChange {
    sqlite3_int64 change_id;
    sqlite3_int64 time;           /* seconds since 1970 */
    sqlite3_int64 transaction_id; /* 0 in a log of version 1 */
    CdcChangeType type;
    const char *table; /* "" of a COMMIT */
    bool has_id;       /* false for a row of a WITHOUT ROWID table, which its images tell */
    sqlite3_int64 id;  /* the rowid; 0 without one */
    CdcBytes before;   /* no data = not recorded, as the mode has it */
    CdcBytes after;
    CdcBytes updates;
    const CdcColumns *columns;        /* NULL = not known */
    const CdcColumns *before_columns; /* those of before, if the change spans others */
    void *memory;                     /* owned: what the members point into */
} CdcChange;

typedef struct CdcLog CdcLog;

/* Opens the log of that name, or, for NULL, the one that the database asks for, or turso_cdc. It is
 * read from its beginning. db is borrowed. */
WeirStatus weir_cdc_log_open(sqlite3 *db, const char *table, CdcLog **out, WeirError *err);
void weir_cdc_log_close(CdcLog *log); /* NULL is allowed */

const char *weir_cdc_log_table(const CdcLog *log);
int weir_cdc_log_version(const CdcLog *log);
CdcHistory *weir_cdc_log_history(CdcLog *log);

/* Goes on behind that change. */
void weir_cdc_log_seek(CdcLog *log, sqlite3_int64 after);

/* The next change, borrowed until the next call; *out is NULL if there is none now. No transaction of
 * ours is open between two calls. */
WeirStatus weir_cdc_log_next(CdcLog *log, const CdcChange **out, WeirError *err);

/* True if another connection has committed since the last call: it costs a look at the file, not at
 * the log. */
WeirStatus weir_cdc_log_is_changed(CdcLog *log, bool *is_changed, WeirError *err);

#endif
