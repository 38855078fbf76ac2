/* net.h: what changed between two points of a log, taken together. */
#ifndef WEIR_CDC_NET_H
#define WEIR_CDC_NET_H

#include "cdc/log.h"

/* A row that is another one, or there or gone, at the end: an insert, update or delete with images and
 * columns; its change_id is that of the last change of the row. False ends it. */
typedef bool (*CdcNetVisit)(void *user, const CdcChange *change);

/* Visits what the changes behind `from`, up to and with `to`, amount to: tables and indexes first, then
 * rows by table and rowid, or in some order of their keys. A dropped table stands for its rows. Fails if a change lacks an image, or
 * if the log does not have all of these changes. */
WeirStatus weir_cdc_net(sqlite3 *db, CdcLog *log, sqlite3_int64 from, sqlite3_int64 to,
                        CdcNetVisit visit, void *user, WeirError *err);

#endif
