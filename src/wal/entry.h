/* entry.h: what the payloads of the log's entries say. */
#ifndef WEIR_WAL_ENTRY_H
#define WEIR_WAL_ENTRY_H

#include "wal/wal_priv.h"

/* Each takes the cursor behind the entry's kind. What cannot be read is the cursor's fault. */

/* USE_TABLE: the table of the data that follows. */
Status weir_entry_use_table(Wal *wal, Cursor *c, Error *err) WEIR_MUST_CHECK;

/* INSERT, DELETE, UPDATE: the change without schema and table. The entry's chunk is the Wal's. */
Status weir_entry_insert(Wal *wal, Cursor *c, WalChange *out, Error *err) WEIR_MUST_CHECK;
Status weir_entry_delete(Wal *wal, Cursor *c, WalChange *out, Error *err) WEIR_MUST_CHECK;
Status weir_entry_update(Wal *wal, Cursor *c, WalChange *out, Error *err) WEIR_MUST_CHECK;

/* CREATE_TABLE, DROP_TABLE, DROP_SCHEMA, ALTER: the names. */
Status weir_entry_shape(Wal *wal, uint64_t kind, Cursor *c, WalChange *out, Error *err)
    WEIR_MUST_CHECK;

#endif
