# Capture by default: the wish is in the database.

case every_connection_captures_from_its_first_write
sql CREATE TABLE t(x INTEGER PRIMARY KEY, b); PRAGMA capture_data_changes_default('full'); INSERT INTO t VALUES (1, 'one');
rows PRAGMA capture_data_changes_conn
  full|turso_cdc|v2
rows SELECT * FROM turso_cdc_version ORDER BY 1
  *|full,turso_cdc
  turso_cdc|v2
close
on b
sql UPDATE t SET b='two'
on c
rows PRAGMA capture_data_changes_conn
  full|turso_cdc|v2
sql DELETE FROM t
on d
sql ALTER TABLE t ADD COLUMN c
log
  1 1 1 t 1 | - | [1,'one'] | -
  2 1 C
  3 3 0 t 1 | [1,'one'] | [1,'two'] | [0,1,NULL,'two']
  4 3 C
  5 5 -1 t 1 | [1,'two'] | - | -
  6 5 C
  7 7 0 sqlite_schema 1 | ['table','t','t',2,'CREATE TABLE t(x INTEGER PRIMARY KEY, b)'] | ['table','t','t',2,'CREATE TABLE t(x INTEGER PRIMARY KEY, b, c)'] | [0,0,0,0,1,NULL,NULL,NULL,NULL,'ALTER TABLE t ADD COLUMN c']
  8 7 C

case a_connection_may_decide_otherwise
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_default('id,log')
on b
sql PRAGMA capture_data_changes_conn('off'); INSERT INTO t VALUES (1)
on c
sql PRAGMA capture_data_changes_conn('full,log'); INSERT INTO t VALUES (2)
log log
  1 1 1 t 2 | - | [2] | -
  2 1 C

case the_wish_is_taken_back
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_default('id'); PRAGMA capture_data_changes_default('off')
rows PRAGMA capture_data_changes_conn
  id|turso_cdc|v2
on b
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL
sql INSERT INTO t VALUES (1)
log

case a_wish_that_is_no_setting_stops_writes
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); INSERT INTO turso_cdc_version VALUES ('*','everything')
on b
fail which is no setting :: INSERT INTO t VALUES (1)
fail which is no setting :: CREATE TABLE u(a)
fail which is no setting :: PRAGMA capture_data_changes_conn
sql SELECT * FROM t; PRAGMA capture_data_changes_default('off')
sql INSERT INTO t VALUES (1)

case a_wish_without_its_log_stops_writes
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_default('id'); DROP TABLE turso_cdc;
on b
fail no such table: turso_cdc :: INSERT INTO t VALUES (1)
sql PRAGMA capture_data_changes_default('id'); INSERT INTO t VALUES (1)
log
  1 1 1 t 1 | - | - | -
  2 1 C

case the_name_of_the_wish_is_no_log
fail reserved :: PRAGMA capture_data_changes_conn('full,*')
