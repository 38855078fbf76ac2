# change_id, change_txn_id, COMMIT records.

case autocommit_and_empty_statements
sql CREATE TABLE t(x INTEGER PRIMARY KEY,y); PRAGMA capture_data_changes_conn('full');
sql BEGIN; COMMIT; BEGIN; UPDATE t SET y=1 WHERE x=5; COMMIT;
log
sql BEGIN; INSERT INTO t VALUES (1,1); UPDATE t SET y=2; DELETE FROM t; COMMIT;
log
  1 1 1 t 1 | - | [1,1] | -
  2 1 0 t 1 | [1,1] | [1,2] | [0,1,NULL,2]
  3 1 -1 t 1 | [1,2] | - | -
  4 1 C
sql BEGIN; INSERT INTO t VALUES (2,1); ROLLBACK; INSERT INTO t VALUES (3,1);
sql UPDATE t SET y=4 WHERE x=99; DELETE FROM t WHERE x=99; INSERT INTO t SELECT * FROM t WHERE 0;
rows SELECT change_id, change_txn_id, change_type, id FROM turso_cdc WHERE change_id>4
  5|5|1|3
  6|5|2|NULL
  7|-1|2|NULL
  8|-1|2|NULL
  9|-1|2|NULL

case savepoints_inside_a_transaction
sql CREATE TABLE t(x INTEGER PRIMARY KEY,y); PRAGMA capture_data_changes_conn('id');
sql BEGIN; INSERT INTO t VALUES (1,1); SAVEPOINT a; INSERT INTO t VALUES (2,2); ROLLBACK TO a; INSERT INTO t VALUES (3,3); RELEASE a; COMMIT;
sql BEGIN; SAVEPOINT a; INSERT INTO t VALUES (4,4); ROLLBACK TO a; INSERT INTO t VALUES (5,5); RELEASE a; COMMIT;
sql BEGIN; SAVEPOINT a; INSERT INTO t VALUES (6,6); ROLLBACK TO a; COMMIT;
log
  1 1 1 t 1 | - | - | -
  2 1 1 t 3 | - | - | -
  3 1 C
  4 4 1 t 5 | - | - | -
  5 4 C

case outermost_savepoints_are_transactions
sql CREATE TABLE t(x INTEGER PRIMARY KEY,y); PRAGMA capture_data_changes_conn('id');
sql SAVEPOINT a; INSERT INTO t VALUES (1,1); INSERT INTO t VALUES (2,2); RELEASE a;
sql SAVEPOINT b; INSERT INTO t VALUES (5,5); COMMIT;
sql SAVEPOINT c; SAVEPOINT d; INSERT INTO t VALUES (6,6); RELEASE d; RELEASE c;
sql SAVEPOINT e; INSERT INTO t VALUES (7,7); ROLLBACK TO e; RELEASE e;
log
  1 1 1 t 1 | - | - | -
  2 1 1 t 2 | - | - | -
  3 1 C
  4 4 1 t 5 | - | - | -
  5 4 C
  6 6 1 t 6 | - | - | -
  7 6 C

case failing_statement_in_a_transaction
sql CREATE TABLE t(x INTEGER PRIMARY KEY,y); PRAGMA capture_data_changes_conn('id');
sql BEGIN; INSERT INTO t VALUES (1,1)
fail UNIQUE :: INSERT INTO t VALUES (2,2),(3,3),(1,1)
sql INSERT INTO t VALUES (4,4); COMMIT
log
  1 1 1 t 1 | - | - | -
  2 1 1 t 4 | - | - | -
  3 1 C

case transaction_whose_only_statement_fails
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE); INSERT INTO t VALUES (1,1); PRAGMA capture_data_changes_conn('id'); BEGIN
fail UNIQUE :: INSERT INTO t VALUES (2,2),(3,1)
sql COMMIT
log
sql INSERT INTO t VALUES (5,5)
log
  1 1 1 t 5 | - | - | -
  2 1 C

case conflict_clauses
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE); INSERT INTO t VALUES (1,1); PRAGMA capture_data_changes_conn('id')
fail UNIQUE :: INSERT INTO t VALUES (2,2),(3,1)
fail UNIQUE :: INSERT OR ABORT INTO t VALUES (2,2),(3,1)
fail UNIQUE :: INSERT OR ROLLBACK INTO t VALUES (2,2),(3,1)
log
fail UNIQUE :: INSERT OR FAIL INTO t VALUES (2,2),(3,2),(4,4)
log
  1 1 1 t 2 | - | - | -
  2 1 C
fail UNIQUE :: INSERT OR FAIL INTO t VALUES (3,2),(4,4)
sql INSERT INTO t VALUES (9,9)
log
  1 1 1 t 2 | - | - | -
  2 1 C
  3 3 1 t 9 | - | - | -
  4 3 C
sql BEGIN; INSERT INTO t VALUES (10,10)
fail UNIQUE :: INSERT OR ROLLBACK INTO t VALUES (11,10)
fail no transaction is active :: COMMIT
sql INSERT OR IGNORE INTO t VALUES (11,9),(12,12),(13,12)
fail UNIQUE :: UPDATE OR FAIL t SET y=x+3 WHERE x>=9
rows SELECT change_id, change_txn_id, change_type, id FROM turso_cdc WHERE change_id>4
  5|5|1|12
  6|5|2|NULL

case deferred_foreign_keys
sql PRAGMA foreign_keys=1; CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p DEFERRABLE INITIALLY DEFERRED); PRAGMA capture_data_changes_conn('id');
fail FOREIGN KEY :: INSERT INTO c VALUES (1,1)
log
sql BEGIN; INSERT INTO c VALUES (1,1)
fail FOREIGN KEY :: COMMIT
sql INSERT INTO p VALUES (1); COMMIT
sql SAVEPOINT s; INSERT INTO c VALUES (2,2)
fail FOREIGN KEY :: RELEASE s
sql INSERT INTO p VALUES (2); RELEASE s
log
  1 1 1 c 1 | - | - | -
  2 1 1 p 1 | - | - | -
  3 1 C
  4 4 1 c 2 | - | - | -
  5 4 1 p 2 | - | - | -
  6 4 C

case commit_that_is_busy
sql PRAGMA journal_mode=DELETE; CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (1)
on b
sql BEGIN; SELECT * FROM t
on a
sql BEGIN; INSERT INTO t VALUES (2)
fail locked :: COMMIT
fail locked :: COMMIT
on b
sql COMMIT
on a
sql INSERT INTO t VALUES (3); COMMIT
log
  1 1 1 t 1 | - | - | -
  2 1 C
  3 3 1 t 2 | - | - | -
  4 3 1 t 3 | - | - | -
  5 3 C

case commit_and_rollback_without_a_transaction
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id')
fail no transaction :: COMMIT
fail no transaction :: ROLLBACK
log

case records_are_visible_inside_the_transaction
sql PRAGMA journal_mode=WAL; CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); BEGIN; INSERT INTO t VALUES (1)
rows SELECT count(*) FROM turso_cdc
  1
on b
rows SELECT count(*) FROM turso_cdc
  0
on a
sql COMMIT
on b
rows SELECT count(*) FROM turso_cdc
  2

case pruned_ids_do_not_come_again
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (1); DELETE FROM turso_cdc; INSERT INTO t VALUES (2)
log
  3 3 1 t 2 | - | - | -
  4 3 C
sql BEGIN; INSERT INTO t VALUES (3); DELETE FROM turso_cdc; INSERT INTO t VALUES (4); COMMIT
log
  6 5 1 t 4 | - | - | -
  7 5 C
sql BEGIN; INSERT INTO t VALUES (5); DELETE FROM turso_cdc; COMMIT; INSERT INTO t VALUES (6)
rows SELECT min(change_id)>=9 FROM turso_cdc
  1
rows SELECT seq = (SELECT max(change_id) FROM turso_cdc) FROM sqlite_sequence WHERE name='turso_cdc'
  1

case pruned_with_capture_off
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); BEGIN; INSERT INTO t VALUES (1),(2); PRAGMA capture_data_changes_conn('off'); DELETE FROM turso_cdc; COMMIT; PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (3)
rows SELECT min(change_id)>2 FROM turso_cdc
  1

case ids_of_two_connections
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (1)
on b
sql PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (2)
on a
sql BEGIN; INSERT INTO t VALUES (3); COMMIT
log
  1 1 1 t 1 | - | - | -
  2 1 C
  3 3 1 t 2 | - | - | -
  4 3 C
  5 5 1 t 3 | - | - | -
  6 5 C

case ids_run_out
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); INSERT INTO turso_cdc(change_id) VALUES (9223372036854775806); 
fail full :: INSERT INTO t VALUES (1)
rows SELECT count(*) FROM t
  0

case switched_off_before_commit
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); BEGIN; INSERT INTO t VALUES (1); PRAGMA capture_data_changes_conn('off'); INSERT INTO t VALUES (2); COMMIT;
log
  1 1 1 t 1 | - | - | -
  2 1 C

case schema_rolled_back_then_committed
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); BEGIN; INSERT INTO t VALUES (1); SAVEPOINT s; CREATE TABLE u(a); ROLLBACK TO s; COMMIT;
log
  1 1 1 t 1 | - | - | -
  2 1 C

case ddl_and_dml_in_one_transaction
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); BEGIN; CREATE TABLE u(a); INSERT INTO t VALUES (1); INSERT INTO u VALUES (2); COMMIT;
rows SELECT change_id, change_txn_id, change_type, table_name FROM turso_cdc
  1|1|1|sqlite_schema
  2|1|1|t
  3|1|1|u
  4|1|2|NULL

case every_kind_of_transaction
sql CREATE TABLE t(x INTEGER PRIMARY KEY); PRAGMA capture_data_changes_conn('id'); BEGIN IMMEDIATE; INSERT INTO t VALUES (1); END; BEGIN EXCLUSIVE; INSERT INTO t VALUES (2); END TRANSACTION; BEGIN IMMEDIATE; END; BEGIN EXCLUSIVE; ROLLBACK
log
  1 1 1 t 1 | - | - | -
  2 1 C
  3 3 1 t 2 | - | - | -
  4 3 C
