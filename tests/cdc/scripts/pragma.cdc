# The pragma: what it takes, what it refuses, what it shows.

case get_before_during_after
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL
rows PRAGMA unstable_capture_data_changes_conn
  off|NULL|NULL
sql PRAGMA capture_data_changes_conn('full')
rows PRAGMA capture_data_changes_conn
  full|turso_cdc|v2
rows SELECT mode, "table", version FROM pragma_capture_data_changes_conn
  full|turso_cdc|v2
rows SELECT * FROM pragma_unstable_capture_data_changes_conn
  full|turso_cdc|v2
sql PRAGMA unstable_capture_data_changes_conn='id,other'
rows PRAGMA CAPTURE_Data_Changes_CONN
  id|other|v2
sql PRAGMA capture_data_changes_conn = 'off'
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL

case setting_gives_no_rows
rows PRAGMA capture_data_changes_conn('before')
rows PRAGMA capture_data_changes_conn='after'
rows PRAGMA capture_data_changes_conn
  after|turso_cdc|v2

case prefixes
sql ATTACH ':memory:' AS aux; PRAGMA main.capture_data_changes_conn('full'); PRAGMA temp.capture_data_changes_conn('id'); PRAGMA aux.capture_data_changes_conn('after');
rows PRAGMA aux.capture_data_changes_conn
  after|turso_cdc|v2
rows SELECT count(*) FROM aux.sqlite_schema
  0
fail unknown database foo :: PRAGMA foo.capture_data_changes_conn('full')
fail unknown database foo :: PRAGMA foo.capture_data_changes_conn

case off_ignores_the_rest
sql PRAGMA capture_data_changes_conn('full')
sql PRAGMA capture_data_changes_conn('off,')
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL
sql PRAGMA capture_data_changes_conn('id'); PRAGMA capture_data_changes_conn('off,any thing'); PRAGMA capture_data_changes_conn('off')
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL
rows SELECT count(*) FROM sqlite_schema WHERE name LIKE '%thing%'
  0

case bad_modes
sql PRAGMA capture_data_changes_conn('id')
fail unexpected pragma value: expected '<mode>' or '<mode>,<cdc-table-name>' parameter where mode is one of off|id|before|after|full :: PRAGMA capture_data_changes_conn('FULL')
fail unexpected pragma value :: PRAGMA capture_data_changes_conn('Full')
fail unexpected pragma value :: PRAGMA capture_data_changes_conn(' full')
fail unexpected pragma value :: PRAGMA capture_data_changes_conn('full ')
fail unexpected pragma value :: PRAGMA capture_data_changes_conn('')
fail unexpected pragma value :: PRAGMA capture_data_changes_conn('bad')
fail unexpected pragma value :: PRAGMA capture_data_changes_conn(1)
fail unexpected pragma value :: PRAGMA capture_data_changes_conn(on)
fail syntax error :: PRAGMA capture_data_changes_conn(full,foo)
rows PRAGMA capture_data_changes_conn
  id|turso_cdc|v2

case bare_and_quoted_words
sql PRAGMA capture_data_changes_conn(full)
rows PRAGMA capture_data_changes_conn
  full|turso_cdc|v2
sql PRAGMA capture_data_changes_conn="id"
rows PRAGMA capture_data_changes_conn
  id|turso_cdc|v2
sql PRAGMA capture_data_changes_conn=off
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL

case bad_names
fail empty :: PRAGMA capture_data_changes_conn('full,')
fail reserved :: PRAGMA capture_data_changes_conn('full,turso_cdc_version')
fail reserved :: PRAGMA capture_data_changes_conn('full,TURSO_CDC_Version')
fail reserved :: PRAGMA capture_data_changes_conn('full,sqlite_foo')
sql CREATE TABLE u(a); CREATE INDEX ix ON u(a); CREATE VIEW vw AS SELECT 1; CREATE TRIGGER tg AFTER INSERT ON u BEGIN SELECT 1; END;
fail index named ix :: PRAGMA capture_data_changes_conn('full,ix')
fail trigger named tg :: PRAGMA capture_data_changes_conn('full,tg')
fail not a change log :: PRAGMA capture_data_changes_conn('full,vw')
fail not a change log :: PRAGMA capture_data_changes_conn('full,u')
fail not a change log :: PRAGMA capture_data_changes_conn('full,U')
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL
rows SELECT name FROM sqlite_schema ORDER BY name
  ix
  tg
  u
  vw

case names_are_taken_verbatim
sql PRAGMA capture_data_changes_conn('full,a,b'); CREATE TABLE t(x INTEGER PRIMARY KEY); INSERT INTO t VALUES(1)
rows PRAGMA capture_data_changes_conn
  full|a,b|v2
sql PRAGMA capture_data_changes_conn('full, t'); INSERT INTO t VALUES(2)
rows PRAGMA capture_data_changes_conn
  full| t|v2
sql PRAGMA capture_data_changes_conn('full,main.foo'); INSERT INTO t VALUES(3)
sql PRAGMA capture_data_changes_conn('full,foo(x)--'); INSERT INTO t VALUES(4)
sql PRAGMA capture_data_changes_conn('full,日本'); INSERT INTO t VALUES(5)
log 日本
  1 1 1 t 5 | - | [5] | -
  2 1 C
rows SELECT count(*) FROM sqlite_schema WHERE name IN ('a,b',' t','main.foo','foo(x)--','日本')
  5

case another_table_is_made_and_checked
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('full'); PRAGMA capture_data_changes_conn('full,other'); INSERT INTO t VALUES (1);
log
log other
  1 1 1 t 1 | - | [1] | -
  2 1 C
fail not a change log :: PRAGMA capture_data_changes_conn('full,t')
rows PRAGMA capture_data_changes_conn
  full|other|v2

case repeating_is_idempotent
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('full'); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (1);
sql PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (2); PRAGMA capture_data_changes_conn('full,TURSO_cdc'); INSERT INTO t VALUES (3);
log
  1 1 1 t 1 | - | [1] | -
  2 1 C
  3 3 1 t 2 | - | - | -
  4 3 C
  5 5 1 t 3 | - | [3] | -
  6 5 C
rows PRAGMA capture_data_changes_conn
  full|TURSO_cdc|v2
rows SELECT * FROM turso_cdc_version
  turso_cdc|v2

case off_and_on_keeps_one_version_row
sql PRAGMA capture_data_changes_conn('full'); PRAGMA capture_data_changes_conn('off'); PRAGMA capture_data_changes_conn('full');
rows SELECT * FROM turso_cdc_version
  turso_cdc|v2

case other_writer_blocks_only_what_writes
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('full')
on b
sql BEGIN IMMEDIATE
on a
sql PRAGMA capture_data_changes_conn('id'); PRAGMA capture_data_changes_conn('off')
fail database is locked :: PRAGMA capture_data_changes_conn('full,new')
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL
on b
sql ROLLBACK
on a
sql PRAGMA capture_data_changes_conn('full,new')
rows PRAGMA capture_data_changes_conn
  full|new|v2

case query_only
sql PRAGMA capture_data_changes_conn('full'); PRAGMA query_only=1; PRAGMA capture_data_changes_conn('id'); PRAGMA capture_data_changes_conn('off')
fail readonly :: PRAGMA capture_data_changes_conn('full,new')
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL

case utf16_is_refused
sql PRAGMA encoding='UTF-16'; CREATE TABLE t(a)
fail UTF-16 :: PRAGMA capture_data_changes_conn('full')
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL
rows SELECT name FROM sqlite_schema
  t

case enabling_inside_a_transaction_captures_from_there_on
sql CREATE TABLE t(x INTEGER PRIMARY KEY); BEGIN; INSERT INTO t VALUES (1); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (2); COMMIT;
log
  1 1 1 t 2 | - | [2] | -
  2 1 C

case rollback_takes_the_setting_with_the_table
sql CREATE TABLE t(x INTEGER PRIMARY KEY); BEGIN; PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (2); ROLLBACK;
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL
sql INSERT INTO t VALUES (3)
rows SELECT name FROM sqlite_schema
  t
rows SELECT x FROM t
  3

case rollback_returns_to_the_setting_at_begin
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id,first'); BEGIN; PRAGMA capture_data_changes_conn('full,second'); INSERT INTO t VALUES (2); ROLLBACK; INSERT INTO t VALUES (3);
rows PRAGMA capture_data_changes_conn
  id|first|v2
log first
  1 1 1 t 3 | - | - | -
  2 1 C

case rollback_to_before_the_enabling
sql CREATE TABLE t(x INTEGER PRIMARY KEY); BEGIN; SAVEPOINT a; PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (2); ROLLBACK TO a; INSERT INTO t VALUES (3); COMMIT;
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL
rows SELECT x FROM t
  3

case rollback_to_after_the_enabling
sql CREATE TABLE t(x INTEGER PRIMARY KEY); BEGIN; PRAGMA capture_data_changes_conn('full'); SAVEPOINT a; INSERT INTO t VALUES (2); ROLLBACK TO a; INSERT INTO t VALUES (3); COMMIT;
rows PRAGMA capture_data_changes_conn
  full|turso_cdc|v2
log
  1 1 1 t 3 | - | [3] | -
  2 1 C

case failing_enabling_leaves_the_transaction_usable
sql CREATE TABLE t(x INTEGER PRIMARY KEY); CREATE TABLE turso_cdc_version(wrong); BEGIN; INSERT INTO t VALUES (1)
fail no such column: version :: PRAGMA capture_data_changes_conn('full')
sql INSERT INTO t VALUES (2); COMMIT
rows SELECT x FROM t
  1
  2
rows SELECT name FROM sqlite_schema ORDER BY 1
  t
  turso_cdc_version
rows PRAGMA capture_data_changes_conn
  off|NULL|NULL

case mode_switch_inside_a_transaction
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('full');
sql BEGIN; INSERT INTO t VALUES (1,1); PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (2,2); PRAGMA capture_data_changes_conn('off'); INSERT INTO t VALUES (3,3); PRAGMA capture_data_changes_conn('before'); UPDATE t SET y=9 WHERE x=3; COMMIT
log
  1 1 1 t 1 | - | [1,1] | -
  2 1 1 t 2 | - | - | -
  3 1 0 t 3 | [3,3] | - | -
  4 1 C

case user_drops_the_log
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (1); DROP TABLE turso_cdc;
rows PRAGMA capture_data_changes_conn
  full|turso_cdc|v2
rows SELECT count(*) FROM turso_cdc_version
  0
fail no such table: turso_cdc :: INSERT INTO t VALUES (2)
fail no such table: turso_cdc :: DELETE FROM t
fail no such table: turso_cdc :: CREATE TABLE u(a)
fail no such table: turso_cdc :: DROP TABLE t
sql BEGIN; SELECT * FROM t; COMMIT; BEGIN; ROLLBACK
sql PRAGMA capture_data_changes_conn('off'); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (2)
log
  1 1 1 t 2 | - | [2] | -
  2 1 C

case log_dropped_in_a_transaction
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('full'); BEGIN; INSERT INTO t VALUES (1); DROP TABLE turso_cdc; COMMIT;
rows SELECT x FROM t
  1
fail no such table: turso_cdc :: INSERT INTO t VALUES (2)

case log_dropped_and_rolled_back
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('full'); BEGIN; INSERT INTO t VALUES (1); DROP TABLE turso_cdc; ROLLBACK; INSERT INTO t VALUES (2);
log
  1 1 1 t 2 | - | [2] | -
  2 1 C

case log_renamed_away
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('full'); ALTER TABLE turso_cdc RENAME TO old;
fail no such table: turso_cdc :: INSERT INTO t VALUES (2)
sql PRAGMA capture_data_changes_conn('off'); INSERT INTO t VALUES (2)

case version_table_dropped
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); DROP TABLE turso_cdc_version; INSERT INTO t VALUES (1);
rows SELECT change_type, table_name FROM turso_cdc
  -1|sqlite_schema
  2|NULL
  1|t
  2|NULL
sql PRAGMA capture_data_changes_conn('off'); PRAGMA capture_data_changes_conn('id');
rows SELECT * FROM turso_cdc_version
  turso_cdc|v2

case log_reshaped_by_the_user
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); ALTER TABLE turso_cdc ADD COLUMN note DEFAULT 'n'; INSERT INTO t VALUES (1)
rows SELECT change_type, note FROM turso_cdc
  0|n
  2|n
  1|n
  2|n
sql ALTER TABLE turso_cdc DROP COLUMN before
fail not a change log :: INSERT INTO t VALUES (2)

case null_and_true_are_no_modes
sql PRAGMA capture_data_changes_conn('id')
fail syntax error :: PRAGMA capture_data_changes_conn(NULL)
fail unexpected pragma value :: PRAGMA capture_data_changes_conn(true)
fail unexpected pragma value :: PRAGMA capture_data_changes_conn(-1)
sql PRAGMA capture_data_changes_conn([full]); PRAGMA capture_data_changes_conn(`before`)
rows PRAGMA capture_data_changes_conn
  before|turso_cdc|v2
