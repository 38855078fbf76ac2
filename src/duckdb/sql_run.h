/* sql_run.h: the bind and run functions named in sql_functions.def. */
#ifndef WEIR_DUCKDB_SQL_RUN_H
#define WEIR_DUCKDB_SQL_RUN_H

#include "duckdb/sql_function.h"

Status sql_create_view(const SqlCall *call, SqlRun *run, Error *err);
Status sql_replace_view(const SqlCall *call, SqlRun *run, Error *err);
Status sql_refresh(const SqlCall *call, SqlRun *run, Error *err);
Status sql_drop(const SqlCall *call, SqlRun *run, Error *err);
Status sql_drop_cascade(const SqlCall *call, SqlRun *run, Error *err);

Status sql_bind_query(SqlCall *call, Error *err);
Status sql_query(const SqlCall *call, SqlRun *run, Error *err);
Status sql_bind_changes(SqlCall *call, Error *err);
Status sql_changes(const SqlCall *call, SqlRun *run, Error *err);

Status sql_views(const SqlCall *call, SqlRun *run, Error *err);
Status sql_view_state(const SqlCall *call, SqlRun *run, Error *err);
Status sql_tables(const SqlCall *call, SqlRun *run, Error *err);
Status sql_table_state(const SqlCall *call, SqlRun *run, Error *err);
Status sql_deps(const SqlCall *call, SqlRun *run, Error *err);
Status sql_explain(const SqlCall *call, SqlRun *run, Error *err);

Status sql_exec(const SqlCall *call, SqlRun *run, Error *err);

Status sql_save(const SqlCall *call, SqlRun *run, Error *err);
Status sql_load(const SqlCall *call, SqlRun *run, Error *err);

Status sql_verify(const SqlCall *call, SqlRun *run, Error *err);

Status sql_track(const SqlCall *call, SqlRun *run, Error *err);
Status sql_sync(const SqlCall *call, SqlRun *run, Error *err);
Status sql_notify_insert(const SqlCall *call, SqlRun *run, Error *err);
Status sql_notify_delete(const SqlCall *call, SqlRun *run, Error *err);
Status sql_auto_sync(const SqlCall *call, SqlRun *run, Error *err);
Status sql_auto_sync_state(const SqlCall *call, SqlRun *run, Error *err);

#endif
