# DDL, in every mode.

case create_alter_drop
sql PRAGMA capture_data_changes_conn('full'); CREATE TABLE t(x INTEGER PRIMARY KEY,y UNIQUE); CREATE INDEX ix ON t(y); ALTER TABLE t ADD COLUMN w TEXT; DROP INDEX ix; DROP TABLE t;
log
  1 1 1 sqlite_schema 5 | - | ['table','t','t',6,'CREATE TABLE t(x INTEGER PRIMARY KEY,y UNIQUE)'] | -
  2 1 C
  3 3 1 sqlite_schema 7 | - | ['index','ix','t',8,'CREATE INDEX ix ON t(y)'] | -
  4 3 C
  5 5 0 sqlite_schema 5 | ['table','t','t',6,'CREATE TABLE t(x INTEGER PRIMARY KEY,y UNIQUE)'] | ['table','t','t',6,'CREATE TABLE t(x INTEGER PRIMARY KEY,y UNIQUE, w TEXT)'] | [0,0,0,0,1,NULL,NULL,NULL,NULL,'ALTER TABLE t ADD COLUMN w TEXT']
  6 5 C
  7 7 -1 sqlite_schema 7 | ['index','ix','t',8,'CREATE INDEX ix ON t(y)'] | - | -
  8 7 C
  9 9 -1 sqlite_schema 5 | ['table','t','t',6,'CREATE TABLE t(x INTEGER PRIMARY KEY,y UNIQUE, w TEXT)'] | - | -
  10 9 C

case modes
sql PRAGMA capture_data_changes_conn('id'); CREATE TABLE t(x); ALTER TABLE t ADD COLUMN y; PRAGMA capture_data_changes_conn('before'); ALTER TABLE t ADD COLUMN z; PRAGMA capture_data_changes_conn('after'); ALTER TABLE t ADD COLUMN w; DROP TABLE t;
log
  1 1 1 sqlite_schema 5 | - | - | -
  2 1 C
  3 3 0 sqlite_schema 5 | - | - | -
  4 3 C
  5 5 0 sqlite_schema 5 | ['table','t','t',6,'CREATE TABLE t(x, y)'] | - | -
  6 5 C
  7 7 0 sqlite_schema 5 | - | ['table','t','t',6,'CREATE TABLE t(x, y, z, w)'] | -
  8 7 C
  9 9 -1 sqlite_schema 5 | - | - | -
  10 9 C

case renames
sql CREATE TABLE t(x, y); CREATE INDEX i ON t(x); CREATE VIEW v AS SELECT x FROM t; CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END; CREATE TABLE c(p REFERENCES t(x)); PRAGMA capture_data_changes_conn('full'); ALTER TABLE t RENAME COLUMN x TO z; ALTER TABLE t RENAME TO u; -- done
log
  1 1 0 sqlite_schema 1 | ['table','t','t',2,'CREATE TABLE t(x, y)'] | ['table','t','t',2,'CREATE TABLE t(z, y)'] | [0,0,0,0,1,NULL,NULL,NULL,NULL,'ALTER TABLE t RENAME COLUMN x TO z']
  2 1 C
  3 3 0 sqlite_schema 1 | ['table','t','t',2,'CREATE TABLE t(z, y)'] | ['table','u','u',2,'CREATE TABLE "u"(z, y)'] | [0,0,0,0,1,NULL,NULL,NULL,NULL,'ALTER TABLE t RENAME TO u']
  4 3 C

case drop_column_and_constraints
sql CREATE TABLE t(x, y, z); INSERT INTO t VALUES (1,2,3); PRAGMA capture_data_changes_conn('full'); /* why */ ALTER TABLE t DROP COLUMN y ; UPDATE t SET z=4;
log
  1 1 0 sqlite_schema 1 | ['table','t','t',2,'CREATE TABLE t(x, y, z)'] | ['table','t','t',2,'CREATE TABLE t(x, z)'] | [0,0,0,0,1,NULL,NULL,NULL,NULL,'ALTER TABLE t DROP COLUMN y']
  2 1 C
  3 3 0 t 1 | [1,3] | [1,4] | [0,1,NULL,4]
  4 3 C

case views_and_triggers_leave_nothing
sql CREATE TABLE t(x); PRAGMA capture_data_changes_conn('full'); CREATE VIEW v AS SELECT 1; CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END; DROP TRIGGER g; DROP VIEW v;
log

case ddl_that_does_nothing
sql CREATE TABLE t(x); CREATE INDEX i ON t(x); PRAGMA capture_data_changes_conn('full'); CREATE TABLE IF NOT EXISTS t(x); DROP TABLE IF EXISTS nope; CREATE INDEX IF NOT EXISTS i ON t(x); DROP INDEX IF EXISTS nope;
log

case create_table_as
sql CREATE TABLE s(a INTEGER PRIMARY KEY, b); INSERT INTO s VALUES (1,'x'),(2,'y'); PRAGMA capture_data_changes_conn('full'); CREATE TABLE t AS SELECT * FROM s;
log
  1 1 1 sqlite_schema 6 | - | ['table','t','t',7,'CREATE TABLE t(a INT,b)'] | -
  2 1 1 t 1 | - | [1,'x'] | -
  3 1 1 t 2 | - | [2,'y'] | -
  4 1 C

case dropping_a_table_drops_its_objects_silently
sql CREATE TABLE t(x UNIQUE, y); CREATE INDEX i ON t(y); CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END; INSERT INTO t VALUES (1,1); PRAGMA capture_data_changes_conn('id'); DROP TABLE t;
log
  1 1 -1 sqlite_schema 1 | - | - | -
  2 1 C

case a_dropped_parent_leaves_no_rows_after_others_in_the_transaction
sql PRAGMA foreign_keys=1; CREATE TABLE p(x INTEGER PRIMARY KEY); CREATE TABLE c(y REFERENCES p); PRAGMA capture_data_changes_conn('full')
sql BEGIN; INSERT INTO p VALUES (1),(2); DROP TABLE p; COMMIT
log
  1 1 1 p 1 | - | [1] | -
  2 1 1 p 2 | - | [2] | -
  3 1 -1 sqlite_schema 1 | ['table','p','p',2,'CREATE TABLE p(x INTEGER PRIMARY KEY)'] | - | -
  4 1 C

case dropping_a_parent_records_what_happens_to_children
sql PRAGMA foreign_keys=1; CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p ON DELETE CASCADE); INSERT INTO p VALUES (1); INSERT INTO c VALUES (1); PRAGMA capture_data_changes_conn('id'); DROP TABLE p;
log
  1 1 -1 c 1 | - | - | -
  2 1 -1 sqlite_schema 1 | - | - | -
  3 1 C

case ddl_on_the_log_and_the_version_table
sql PRAGMA capture_data_changes_conn('id'); CREATE INDEX i ON turso_cdc(id); ALTER TABLE turso_cdc ADD COLUMN note; DROP INDEX i; DROP TABLE turso_cdc_version;
rows SELECT change_type, table_name FROM turso_cdc
  1|sqlite_schema
  2|NULL
  0|sqlite_schema
  2|NULL
  -1|sqlite_schema
  2|NULL
  -1|sqlite_schema
  2|NULL

case failing_ddl_leaves_nothing
sql CREATE TABLE t(x); INSERT INTO t VALUES (1),(1); PRAGMA capture_data_changes_conn('id')
fail UNIQUE :: CREATE UNIQUE INDEX i ON t(x)
fail already exists :: CREATE TABLE t(x)
fail NOT NULL :: ALTER TABLE t ADD COLUMN n NOT NULL
log
sql BEGIN
fail UNIQUE :: CREATE UNIQUE INDEX i ON t(x)
sql CREATE TABLE u(a); COMMIT
log
  1 1 1 sqlite_schema 6 | - | - | -
  2 1 C

case writable_schema_edits_are_not_recorded
sql CREATE TABLE t(x); PRAGMA capture_data_changes_conn('id'); PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql='CREATE TABLE t(y)' WHERE name='t'; PRAGMA writable_schema=RESET;
log

case rename_of_a_virtual_table
sql PRAGMA capture_data_changes_conn('full'); CREATE VIRTUAL TABLE f USING fts5(a); ALTER TABLE f RENAME TO g;
rows SELECT change_type, bin_record_json_object('["t","n"]', before), bin_record_json_object('["t","n"]', after) FROM turso_cdc WHERE change_type<2
  1|NULL|{"t":"table","n":"f"}
  0|{"t":"table","n":"f"}|{"t":"table","n":"g"}

case unique_index
sql CREATE TABLE t(x, y); PRAGMA capture_data_changes_conn('full'); CREATE UNIQUE INDEX i ON t(x, y DESC) WHERE x>0; CREATE INDEX IF NOT EXISTS j ON t(x+1); DROP INDEX IF EXISTS j
log
  1 1 1 sqlite_schema 6 | - | ['index','i','t',7,'CREATE UNIQUE INDEX i ON t(x, y DESC) WHERE x>0'] | -
  2 1 C
  3 3 1 sqlite_schema 7 | - | ['index','j','t',8,'CREATE INDEX j ON t(x+1)'] | -
  4 3 C
  5 5 -1 sqlite_schema 7 | ['index','j','t',8,'CREATE INDEX j ON t(x+1)'] | - | -
  6 5 C

case a_checkpoint_leaves_nothing
sql PRAGMA journal_mode=WAL; CREATE TABLE t(x); PRAGMA capture_data_changes_conn('id'); PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_checkpoint(PASSIVE); PRAGMA optimize; PRAGMA incremental_vacuum; PRAGMA application_id=7
log
