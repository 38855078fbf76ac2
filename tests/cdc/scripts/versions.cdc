# v1 logs, and what enabling makes of what it finds.

case v1_log_full
sql CREATE TABLE turso_cdc(change_id INTEGER PRIMARY KEY AUTOINCREMENT, change_time INTEGER, change_type INTEGER, table_name TEXT, id, before BLOB, after BLOB, updates BLOB)
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('full');
rows PRAGMA capture_data_changes_conn
  full|turso_cdc|v1
sql INSERT INTO t VALUES (1,1); UPDATE t SET y=5; BEGIN; DELETE FROM t; COMMIT; UPDATE t SET y=7 WHERE 0
log
  1 1 t 1 | - | [1,1] | -
  2 0 t 1 | [1,1] | [1,5] | [0,1,NULL,5]
  3 -1 t 1 | [1,5] | - | -
rows SELECT * FROM turso_cdc_version
  turso_cdc|v1
sql DELETE FROM turso_cdc; INSERT INTO t VALUES (1,1)
log
  4 1 t 1 | - | [1,1] | -

case v1_log_in_the_other_modes
sql CREATE TABLE turso_cdc(change_id INTEGER PRIMARY KEY AUTOINCREMENT, change_time INTEGER, change_type INTEGER, table_name TEXT, id, before BLOB, after BLOB, updates BLOB)
sql CREATE TABLE turso_cdc_version(table_name TEXT PRIMARY KEY, version TEXT NOT NULL); INSERT INTO turso_cdc_version VALUES ('turso_cdc','v1')
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (1,1),(2,2); UPDATE t SET y=5 WHERE x=1;
sql PRAGMA capture_data_changes_conn('before'); UPDATE t SET y=6 WHERE x=1; PRAGMA capture_data_changes_conn('after'); UPDATE t SET y=7 WHERE x=1; DELETE FROM t WHERE x=1
log
  1 1 t 1 | - | - | -
  2 1 t 2 | - | - | -
  3 0 t 1 | - | - | -
  4 0 t 1 | [1,5] | - | -
  5 0 t 1 | - | [1,7] | -
  6 -1 t 1 | - | - | -

case version_row_lost
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('full'); PRAGMA capture_data_changes_conn('off'); DELETE FROM turso_cdc_version; PRAGMA capture_data_changes_conn('full');
rows PRAGMA capture_data_changes_conn
  full|turso_cdc|v2
rows SELECT * FROM turso_cdc_version
  turso_cdc|v2

case row_says_v1_table_missing
sql CREATE TABLE turso_cdc_version(table_name TEXT PRIMARY KEY, version TEXT NOT NULL); INSERT INTO turso_cdc_version VALUES ('Turso_CDC','v1'); PRAGMA capture_data_changes_conn('full');
rows PRAGMA capture_data_changes_conn
  full|turso_cdc|v2
rows SELECT * FROM turso_cdc_version
  Turso_CDC|v2

case row_says_v2_table_is_v1
sql CREATE TABLE turso_cdc(change_id INTEGER PRIMARY KEY, change_time, change_type, table_name, id, before, after, updates)
sql CREATE TABLE turso_cdc_version(table_name TEXT PRIMARY KEY, version TEXT NOT NULL); INSERT INTO turso_cdc_version VALUES ('turso_cdc','v2')
fail has the columns of version v1, but turso_cdc_version says v2 :: PRAGMA capture_data_changes_conn('full')

case unknown_versions
sql PRAGMA capture_data_changes_conn('full'); PRAGMA capture_data_changes_conn('off'); UPDATE turso_cdc_version SET version='v0'
fail unexpected CDC version: v0 :: PRAGMA capture_data_changes_conn('full')
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL
sql DROP TABLE turso_cdc_version; CREATE TABLE turso_cdc_version(table_name PRIMARY KEY, version); INSERT INTO turso_cdc_version VALUES ('turso_cdc', 2)
fail unexpected CDC version: 2 :: PRAGMA capture_data_changes_conn('full')

case the_default_name_is_taken
sql CREATE VIEW turso_cdc AS SELECT 1
fail not a change log :: PRAGMA capture_data_changes_conn('full')
sql DROP VIEW turso_cdc; CREATE TABLE turso_cdc(a, b)
fail turso_cdc exists and is not a change log :: PRAGMA capture_data_changes_conn('full')
sql DROP TABLE turso_cdc; CREATE TABLE u(a); CREATE INDEX turso_cdc ON u(a)
fail index named turso_cdc :: PRAGMA capture_data_changes_conn('full')
rows SELECT name FROM sqlite_schema ORDER BY 1
  turso_cdc
  u

case dropping_the_log_cleans_its_version
sql PRAGMA capture_data_changes_conn('full'); CREATE TABLE t(x); DROP TABLE turso_cdc; PRAGMA capture_data_changes_conn('off');
rows SELECT count(*) FROM turso_cdc_version
  0
sql PRAGMA capture_data_changes_conn('full')
rows SELECT * FROM turso_cdc_version
  turso_cdc|v2
