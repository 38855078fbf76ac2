# Which columns each mode fills, and the basic shape of the log.

case base_example_full
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('full');
sql INSERT INTO t VALUES (1,2),(3,4); UPDATE t SET y=3 WHERE x=1; DELETE FROM t WHERE x=3; DELETE FROM t WHERE x=1;
log
  1 1 1 t 1 | - | [1,2] | -
  2 1 1 t 3 | - | [3,4] | -
  3 1 C
  4 4 0 t 1 | [1,2] | [1,3] | [0,1,NULL,3]
  5 4 C
  6 6 -1 t 3 | [3,4] | - | -
  7 6 C
  8 8 -1 t 1 | [1,3] | - | -
  9 8 C

case mode_id
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('id');
sql INSERT INTO t VALUES (1,2),(3,4); UPDATE t SET y=3 WHERE x=1; DELETE FROM t WHERE x=3;
log
  1 1 1 t 1 | - | - | -
  2 1 1 t 3 | - | - | -
  3 1 C
  4 4 0 t 1 | - | - | -
  5 4 C
  6 6 -1 t 3 | - | - | -
  7 6 C

case mode_before
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('before');
sql INSERT INTO t VALUES (1,2),(3,4); UPDATE t SET y=3 WHERE x=1; DELETE FROM t WHERE x=3;
log
  1 1 1 t 1 | - | - | -
  2 1 1 t 3 | - | - | -
  3 1 C
  4 4 0 t 1 | [1,2] | - | -
  5 4 C
  6 6 -1 t 3 | [3,4] | - | -
  7 6 C

case mode_after
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('after');
sql INSERT INTO t VALUES (1,2),(3,4); UPDATE t SET y=3 WHERE x=1; DELETE FROM t WHERE x=3;
log
  1 1 1 t 1 | - | [1,2] | -
  2 1 1 t 3 | - | [3,4] | -
  3 1 C
  4 4 0 t 1 | - | [1,3] | -
  5 4 C
  6 6 -1 t 3 | - | - | -
  7 6 C

case crud_in_id_mode
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('id');
sql INSERT INTO t VALUES (20,20),(10,10),(5,1); UPDATE t SET y=100 WHERE x=5; DELETE FROM t WHERE x>5; INSERT INTO t VALUES (1,1); UPDATE t SET x=2 WHERE x=1;
log
  1 1 1 t 20 | - | - | -
  2 1 1 t 10 | - | - | -
  3 1 1 t 5 | - | - | -
  4 1 C
  5 5 0 t 5 | - | - | -
  6 5 C
  7 7 -1 t 10 | - | - | -
  8 7 -1 t 20 | - | - | -
  9 7 C
  10 10 1 t 1 | - | - | -
  11 10 C
  12 12 -1 t 1 | - | - | -
  13 12 1 t 2 | - | - | -
  14 12 C

case commit_record_has_only_id_time_txn_and_type
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (1);
rows SELECT change_id, change_time BETWEEN unixepoch()-5 AND unixepoch(), change_txn_id, change_type, table_name, id, before, after, updates FROM turso_cdc WHERE change_type=2
  2|1|1|2|NULL|NULL|NULL|NULL|NULL

case log_has_nine_columns_in_order
sql PRAGMA capture_data_changes_conn('full')
rows SELECT name, type FROM pragma_table_info('turso_cdc')
  change_id|INTEGER
  change_time|INTEGER
  change_txn_id|INTEGER
  change_type|INTEGER
  table_name|TEXT
  id|
  before|BLOB
  after|BLOB
  updates|BLOB
rows SELECT * FROM turso_cdc_version
  turso_cdc|v2
rows SELECT sql LIKE '%PRIMARY KEY AUTOINCREMENT%' FROM sqlite_schema WHERE name='turso_cdc'
  1

case counters_see_only_the_users_rows
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (77, 1);
rows SELECT changes(), last_insert_rowid()
  1|77
sql INSERT INTO t VALUES (78, 1), (79, 2)
rows SELECT changes(), last_insert_rowid()
  2|79
sql UPDATE t SET y=0
rows SELECT changes(), last_insert_rowid(), total_changes()
  3|79|6
sql PRAGMA capture_data_changes_conn('off'); PRAGMA capture_data_changes_conn('full,other')
rows SELECT changes(), last_insert_rowid(), total_changes()
  3|79|6

case a_table_of_another_name
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('full,custom_cdc'); INSERT INTO t VALUES (1,'a');
log custom_cdc
  1 1 1 t 1 | - | [1,'a'] | -
  2 1 C
rows SELECT * FROM turso_cdc_version
  custom_cdc|v2
rows SELECT count(*) FROM sqlite_schema WHERE name='turso_cdc'
  0

case names_that_need_quotes
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('full,a "b''s, select')
sql INSERT INTO t VALUES (1,'a'); DELETE FROM "A ""B's, SELECT";
rows PRAGMA capture_data_changes_conn
  full|a "b's, select|v2
log a "b's, select
sql INSERT INTO t VALUES (2,'b')
log a "b's, select
  3 3 1 t 2 | - | [2,'b'] | -
  4 3 C

case own_log_is_not_captured_in_any_case
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('full,MyCdc'); INSERT INTO t VALUES (1,1),(2,2);
sql DELETE FROM mycdc WHERE change_id=1; UPDATE MYCDC SET change_time=0; INSERT INTO mYcDc(change_id, change_type) VALUES (40, 1);
sql UPDATE turso_cdc_version SET version='v2'; INSERT INTO t VALUES (3,3);
log mycdc
  2 1 1 t 2 | - | [2,2] | -
  3 1 C
  40 0 1  - | - | - | -
  41 41 1 t 3 | - | [3,3] | -
  42 41 C

case connections_are_independent
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('full,c1');
on b
sql INSERT INTO t VALUES (1)
on a
sql INSERT INTO t VALUES (2)
on b
sql PRAGMA capture_data_changes_conn('id,c2'); INSERT INTO t VALUES (3);
log c1
  1 1 1 t 2 | - | [2] | -
  2 1 C
log c2
  1 1 1 t 3 | - | - | -
  2 1 C
on a
sql DELETE FROM c2 WHERE change_id=2
rows SELECT change_id, change_txn_id, change_type, table_name, id, length(before)>11 FROM c1 WHERE change_id>2
  3|3|-1|c2|2|1
  4|3|2|NULL|NULL|NULL

case the_other_log_is_dropped
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id,c1');
on b
sql PRAGMA capture_data_changes_conn('id,c2'); INSERT INTO t VALUES (3);
on a
sql DROP TABLE c2
rows SELECT change_id, change_type, table_name FROM c1
  1|-1|sqlite_schema
  2|2|NULL
on b
fail no such table: c2 :: INSERT INTO t VALUES (4)
fail no such table: c2 :: DELETE FROM t
fail no such table: c2 :: CREATE TABLE u(a)
sql PRAGMA capture_data_changes_conn('off'); INSERT INTO t VALUES (4);
rows SELECT count(*) FROM t
  2

case nothing_of_bookkeeping_is_recorded
sql CREATE TABLE t(x INTEGER PRIMARY KEY AUTOINCREMENT, y UNIQUE); CREATE INDEX i ON t(y); PRAGMA capture_data_changes_conn('full');
sql INSERT INTO t(y) VALUES (5); ANALYZE; UPDATE sqlite_sequence SET seq=50 WHERE name='t'; INSERT INTO t(y) VALUES (6); REINDEX; VACUUM; PRAGMA user_version=3; DELETE FROM sqlite_stat1;
log
  1 1 1 t 1 | - | [1,5] | -
  2 1 C
  3 3 1 t 51 | - | [51,6] | -
  4 3 C
