/* log_file.h: the logs of the database files that followed tables are in.
 *
 *   weir_log_file_attach    finds the file of a table's database
 *   weir_log_file_prepare   reads the logs for the tables that are going to be synced
 *   weir_log_file_confirm   a table was compared with the snapshot: does the log go on from there?
 *
 * What belongs together: the snapshot S that tables are read from, and the log's end E that the other
 * tables of the file are brought to. E is read first, then the snapshot's transaction begins, so that S
 * has all of E; if the log has nothing behind E then, S is E. Otherwise both are read again. */
#ifndef WEIR_DUCKDB_LOG_FILE_H
#define WEIR_DUCKDB_LOG_FILE_H

#include "duckdb/followed.h"

/* Gives the table the file of its database, if it has one. Inside begin .. end. */
Status weir_log_file_attach(HostTable *table, Error *err) WEIR_MUST_CHECK;
void weir_log_file_detach(HostTable *table);

/* Brings those of the tables that are known to the ends of their logs. If some are not, begins a
 * snapshot that belongs to these ends, as far as that can be had. */
void weir_log_file_prepare(DuckHost *host, HostTable *const *tables, size_t count);

/* Before the table is read from the snapshot. */
Status weir_log_file_ensure_snapshot(HostTable *table, Error *err) WEIR_MUST_CHECK;

/* The baseline is now the snapshot: the table is known, if the snapshot belongs to the log's end. */
void weir_log_file_confirm(HostTable *table);

/* Each look asks the system anew. True: nothing was committed to the table since its last sync. */
void weir_log_file_begin_look(DuckHost *host);
bool weir_log_file_is_unchanged(const HostTable *table);

#endif
