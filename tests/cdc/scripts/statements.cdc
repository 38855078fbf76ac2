# Statement by statement: records in the order in which the changes took effect.

case insert_forms
sql CREATE TABLE t(a DEFAULT 'd', b INT DEFAULT 7); CREATE TABLE s(x,y); INSERT INTO s VALUES (1,2),(3,4); PRAGMA capture_data_changes_conn('full');
sql INSERT INTO t DEFAULT VALUES; INSERT INTO t(b) VALUES (8); INSERT INTO t SELECT x,y FROM s ORDER BY x DESC; INSERT INTO t VALUES (5,6) RETURNING rowid;
log
  1 1 1 t 1 | - | ['d',7] | -
  2 1 C
  3 3 1 t 2 | - | ['d',8] | -
  4 3 C
  5 5 1 t 3 | - | [3,4] | -
  6 5 1 t 4 | - | [1,2] | -
  7 5 C
  8 8 1 t 5 | - | [5,6] | -
  9 8 C

case replace
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE, z); INSERT INTO t VALUES (1,1,1),(2,2,2),(3,3,3); PRAGMA capture_data_changes_conn('full');
sql INSERT OR REPLACE INTO t VALUES (1,10,100); INSERT OR REPLACE INTO t VALUES (4,2,200); REPLACE INTO t VALUES (3,2,300);
log
  1 1 -1 t 1 | [1,1,1] | - | -
  2 1 1 t 1 | - | [1,10,100] | -
  3 1 C
  4 4 -1 t 2 | [2,2,2] | - | -
  5 4 1 t 4 | - | [4,2,200] | -
  6 4 C
  7 7 -1 t 3 | [3,3,3] | - | -
  8 7 -1 t 4 | [4,2,200] | - | -
  9 7 1 t 3 | - | [3,2,300] | -
  10 7 C

case replace_with_recursive_triggers
sql PRAGMA recursive_triggers=1; CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE, z); CREATE TABLE l(m); CREATE TRIGGER d AFTER DELETE ON t BEGIN INSERT INTO l VALUES (old.x); END; INSERT INTO t VALUES (1,10,'a'),(2,20,'b'); PRAGMA capture_data_changes_conn('full');
sql INSERT OR REPLACE INTO t VALUES (1,20,'z')
log
  1 1 -1 t 1 | [1,10,'a'] | - | -
  2 1 1 l 1 | - | [1] | -
  3 1 -1 t 2 | [2,20,'b'] | - | -
  4 1 1 l 2 | - | [2] | -
  5 1 1 t 1 | - | [1,20,'z'] | -
  6 1 C

case ignore_and_do_nothing
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE); INSERT INTO t VALUES (1,1); PRAGMA capture_data_changes_conn('id');
sql INSERT OR IGNORE INTO t VALUES (2,1),(3,3); INSERT INTO t VALUES (4,1) ON CONFLICT DO NOTHING;
log
  1 1 1 t 3 | - | - | -
  2 1 C
  3 -1 C

case upsert
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); INSERT INTO t VALUES (1,1); PRAGMA capture_data_changes_conn('full');
sql INSERT INTO t VALUES (1,5),(2,6),(1,7) ON CONFLICT DO UPDATE SET y=excluded.y; INSERT INTO t VALUES (1,5) ON CONFLICT DO UPDATE SET y=0 WHERE 0; INSERT INTO t VALUES (1,5) ON CONFLICT DO UPDATE SET x=x+10;
log
  1 1 0 t 1 | [1,1] | [1,5] | [0,1,NULL,5]
  2 1 1 t 2 | - | [2,6] | -
  3 1 0 t 1 | [1,5] | [1,7] | [0,1,NULL,7]
  4 1 C
  5 -1 C
  6 6 -1 t 1 | [1,7] | - | -
  7 6 1 t 11 | - | [11,7] | -
  8 6 C

case update_sets_are_flags_not_differences
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y, z); INSERT INTO t VALUES (1,1,1),(2,2,2); PRAGMA capture_data_changes_conn('full'); UPDATE t SET z=z; UPDATE t SET y=NULL WHERE x=2;
log
  1 1 0 t 1 | [1,1,1] | [1,1,1] | [0,0,1,NULL,NULL,1]
  2 1 0 t 2 | [2,2,2] | [2,2,2] | [0,0,1,NULL,NULL,2]
  3 1 C
  4 4 0 t 2 | [2,2,2] | [2,NULL,2] | [0,1,0,NULL,NULL,NULL]
  5 4 C

case update_of_the_rowid
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); INSERT INTO t VALUES (1,1),(2,2),(3,3); PRAGMA capture_data_changes_conn('full'); UPDATE t SET x=10 WHERE x=1; UPDATE t SET x=x+100,y='z' WHERE x IN (2,3);
log
  1 1 -1 t 1 | [1,1] | - | -
  2 1 1 t 10 | - | [10,1] | -
  3 1 C
  4 4 -1 t 2 | [2,2] | - | -
  5 4 1 t 102 | - | [102,'z'] | -
  6 4 -1 t 3 | [3,3] | - | -
  7 4 1 t 103 | - | [103,'z'] | -
  8 4 C

case update_of_a_hidden_rowid
sql CREATE TABLE t(a); INSERT INTO t VALUES ('q'); PRAGMA capture_data_changes_conn('full'); UPDATE t SET rowid=5; UPDATE t SET _rowid_=5, a='r'; UPDATE t SET oid=-3;
log
  1 1 -1 t 1 | ['q'] | - | -
  2 1 1 t 5 | - | ['q'] | -
  3 1 C
  4 4 0 t 5 | ['q'] | ['r'] | [1,'r']
  5 4 C
  6 6 -1 t 5 | ['r'] | - | -
  7 6 1 t -3 | - | ['r'] | -
  8 6 C

case update_or_replace
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE); INSERT INTO t VALUES (1,1),(2,2),(3,3); PRAGMA capture_data_changes_conn('full'); UPDATE OR REPLACE t SET y=2 WHERE x=3; UPDATE OR IGNORE t SET y=2;
log
  1 1 -1 t 2 | [2,2] | - | -
  2 1 0 t 3 | [3,3] | [3,2] | [0,1,NULL,2]
  3 1 C
  4 4 0 t 3 | [3,2] | [3,2] | [0,1,NULL,2]
  5 4 C
rows SELECT changes()
  1

case update_from_and_ctes
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); CREATE TABLE s(k, v); INSERT INTO t VALUES (1,1),(2,2); INSERT INTO s VALUES (2,'two'); PRAGMA capture_data_changes_conn('full');
sql UPDATE t SET y=v FROM s WHERE k=x; WITH d AS (SELECT 1 AS i) DELETE FROM t WHERE x IN (SELECT i FROM d); WITH d AS (SELECT 8 AS i) INSERT INTO t SELECT i,i FROM d;
log
  1 1 0 t 2 | [2,2] | [2,'two'] | [0,1,NULL,'two']
  2 1 C
  3 3 -1 t 1 | [1,1] | - | -
  4 3 C
  5 5 1 t 8 | - | [8,8] | -
  6 5 C

case delete_without_where
sql CREATE TABLE t(x INTEGER PRIMARY KEY); INSERT INTO t VALUES (3),(1),(2); PRAGMA capture_data_changes_conn('full'); DELETE FROM t;
log
  1 1 -1 t 1 | [1] | - | -
  2 1 -1 t 2 | [2] | - | -
  3 1 -1 t 3 | [3] | - | -
  4 1 C
rows SELECT changes()
  3

case update_and_delete_with_limit
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); INSERT INTO t VALUES (1,1),(2,2),(3,3); PRAGMA capture_data_changes_conn('full'); UPDATE t SET y=0 ORDER BY x DESC LIMIT 1; DELETE FROM t ORDER BY x LIMIT 1;
log
  1 1 0 t 3 | [3,3] | [3,0] | [0,1,NULL,0]
  2 1 C
  3 3 -1 t 1 | [1,1] | - | -
  4 3 C

case after_trigger
sql CREATE TABLE t(x INTEGER PRIMARY KEY,y); CREATE TABLE l(m); CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO l VALUES('ins '||new.x); UPDATE t SET y=y||'!' WHERE x=new.x; END; PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES(1,'a');
log
  1 1 1 t 1 | - | [1,'a'] | -
  2 1 1 l 1 | - | ['ins 1'] | -
  3 1 0 t 1 | [1,'a'] | [1,'a!'] | [0,1,NULL,'a!']
  4 1 C

case before_trigger
sql CREATE TABLE t(x INTEGER PRIMARY KEY,y); CREATE TABLE l(m); CREATE TRIGGER r BEFORE DELETE ON t BEGIN INSERT INTO l VALUES('del '||old.x); END; INSERT INTO t VALUES (1,1); PRAGMA capture_data_changes_conn('full'); DELETE FROM t;
log
  1 1 1 l 1 | - | ['del 1'] | -
  2 1 -1 t 1 | [1,1] | - | -
  3 1 C

case before_update_trigger_that_changes_the_row
sql CREATE TABLE t(x INTEGER PRIMARY KEY,y,z); CREATE TRIGGER r BEFORE UPDATE OF y ON t BEGIN UPDATE t SET z=z+1 WHERE x=old.x; END; INSERT INTO t VALUES (1,1,1); PRAGMA capture_data_changes_conn('full'); UPDATE t SET y=5;
log
  1 1 0 t 1 | [1,1,1] | [1,1,2] | [0,0,1,NULL,NULL,2]
  2 1 0 t 1 | [1,1,2] | [1,5,2] | [0,1,0,NULL,5,NULL]
  3 1 C

case trigger_that_fails
sql CREATE TABLE t(x INTEGER PRIMARY KEY); CREATE TABLE l(m); CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO l VALUES (new.x); SELECT raise(ABORT,'no') WHERE new.x=2; END; PRAGMA capture_data_changes_conn('id')
fail no :: INSERT INTO t VALUES (1),(2)
log
sql INSERT INTO t VALUES (1)
log
  1 1 1 t 1 | - | - | -
  2 1 1 l 1 | - | - | -
  3 1 C

case foreign_key_cascade
sql PRAGMA foreign_keys=1; CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE); INSERT INTO p VALUES (1),(2); INSERT INTO c VALUES (10,1),(11,1),(12,2); PRAGMA capture_data_changes_conn('full')
sql DELETE FROM p WHERE id=1; UPDATE p SET id=3 WHERE id=2
log
  1 1 -1 p 1 | [1] | - | -
  2 1 -1 c 10 | [10,1] | - | -
  3 1 -1 c 11 | [11,1] | - | -
  4 1 C
  5 5 -1 p 2 | [2] | - | -
  6 5 1 p 3 | - | [3] | -
  7 5 0 c 12 | [12,2] | [12,3] | [0,1,NULL,3]
  8 5 C

case foreign_key_set_null_and_default
sql PRAGMA foreign_keys=1; CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE n(id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE SET NULL); INSERT INTO p VALUES (1),(9); INSERT INTO n VALUES (20,1); PRAGMA capture_data_changes_conn('full')
sql DELETE FROM p WHERE id=1; CREATE TABLE d(id INTEGER PRIMARY KEY, p DEFAULT 5 REFERENCES p ON DELETE SET DEFAULT); INSERT INTO p VALUES (5); INSERT INTO d VALUES (30,9); DELETE FROM p WHERE id=9
rows SELECT change_type, table_name, id, bin_record_json_object(table_columns_json_array(table_name), after) FROM turso_cdc WHERE table_name IN ('n','d','p')
  -1|p|1|NULL
  0|n|20|{"id":20,"p":null}
  1|p|5|{"id":5}
  1|d|30|{"id":30,"p":9}
  -1|p|9|NULL
  0|d|30|{"id":30,"p":5}

case foreign_key_violation
sql PRAGMA foreign_keys=1; CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p); PRAGMA capture_data_changes_conn('id')
fail FOREIGN KEY :: INSERT INTO c VALUES (1)
log

case instead_of_trigger
sql CREATE TABLE t(x INTEGER PRIMARY KEY,y); CREATE VIEW v AS SELECT * FROM t; CREATE TRIGGER i INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES (new.x, new.y*2); END; CREATE TRIGGER u INSTEAD OF UPDATE ON v BEGIN UPDATE t SET y=new.y WHERE x=old.x; END; PRAGMA capture_data_changes_conn('full'); INSERT INTO v VALUES (1,2); UPDATE v SET y=9;
log
  1 1 1 t 1 | - | [1,4] | -
  2 1 C
  3 3 0 t 1 | [1,4] | [1,9] | [0,1,NULL,9]
  4 3 C

case which_columns_are_the_rowid
sql CREATE TABLE a(k TEXT PRIMARY KEY); CREATE TABLE b(k INT PRIMARY KEY); CREATE TABLE c(k INTEGER PRIMARY KEY DESC); CREATE TABLE d(v, k INTEGER, PRIMARY KEY(k)); CREATE TABLE e(x,y, PRIMARY KEY(y,x)); PRAGMA capture_data_changes_conn('full');
sql INSERT INTO a VALUES ('z'); INSERT INTO b VALUES (77); INSERT INTO c VALUES (78); INSERT INTO d VALUES ('v', 0); INSERT INTO d VALUES ('w', -5); INSERT INTO e VALUES (5,6); UPDATE a SET k='y';
rows SELECT table_name, id FROM turso_cdc WHERE change_type<2
  a|1
  b|1
  c|1
  d|0
  d|-5
  e|1
  a|1
rows SELECT bin_record_json_object('["v","k"]', after) FROM turso_cdc WHERE table_name='d'
  {"v":"v","k":0}
  {"v":"w","k":-5}

case without_rowid_needs_mode_full
sql CREATE TABLE t(a PRIMARY KEY, b) WITHOUT ROWID; INSERT INTO t VALUES (1,1); CREATE TABLE o(x); CREATE TRIGGER r AFTER INSERT ON o BEGIN DELETE FROM t; END; PRAGMA capture_data_changes_conn('id')
fail CDC on WITHOUT ROWID tables is not supported in mode 'id', only in 'full': t :: INSERT INTO t VALUES (2,2)
fail CDC on WITHOUT ROWID tables is not supported in mode 'id', only in 'full': t :: UPDATE t SET b=2
fail CDC on WITHOUT ROWID tables is not supported in mode 'id', only in 'full': t :: DELETE FROM t
fail CDC on WITHOUT ROWID tables is not supported in mode 'id', only in 'full': t :: INSERT INTO o VALUES (1)
sql PRAGMA capture_data_changes_conn('before')
fail CDC on WITHOUT ROWID tables is not supported in mode 'before', only in 'full': t :: INSERT INTO t VALUES (2,2)
sql PRAGMA capture_data_changes_conn('after')
fail CDC on WITHOUT ROWID tables is not supported in mode 'after', only in 'full': t :: DELETE FROM t
sql CREATE TABLE t2(a PRIMARY KEY, b) WITHOUT ROWID; DROP TABLE t
rows SELECT change_type, table_name FROM turso_cdc
  1|sqlite_schema
  2|NULL
  -1|sqlite_schema
  2|NULL
sql PRAGMA capture_data_changes_conn('off'); INSERT INTO t2 VALUES (2,2)

case without_rowid_composite_key
sql CREATE TABLE w(a TEXT, b INT, v, PRIMARY KEY(a,b)) WITHOUT ROWID; PRAGMA capture_data_changes_conn('full'); INSERT INTO w VALUES ('x',1,'p'),('x',2,'q')
sql UPDATE w SET v='r' WHERE b=2; UPDATE w SET b=3 WHERE b=1; UPDATE w SET b=3 WHERE b=3; DELETE FROM w WHERE b=2
log
  1 1 1 w - | - | ['x',1,'p'] | -
  2 1 1 w - | - | ['x',2,'q'] | -
  3 1 C
  4 4 0 w - | ['x',2,'q'] | ['x',2,'r'] | [0,0,1,NULL,NULL,'r']
  5 4 C
  6 6 -1 w - | ['x',1,'p'] | - | -
  7 6 1 w - | - | ['x',3,'p'] | -
  8 6 C
  9 9 0 w - | ['x',3,'p'] | ['x',3,'p'] | [0,1,0,NULL,3,NULL]
  10 9 C
  11 11 -1 w - | ['x',2,'r'] | - | -
  12 11 C

case without_rowid_key_is_not_first
sql CREATE TABLE w(v, r REAL, g AS (v||'!') VIRTUAL, k TEXT COLLATE nocase, s AS (k||'?') STORED, PRIMARY KEY(k DESC)) WITHOUT ROWID; INSERT INTO w(v,r,k) VALUES (1,1,'a'); ALTER TABLE w ADD COLUMN n REAL DEFAULT 4; PRAGMA capture_data_changes_conn('full')
sql UPDATE w SET r=2; UPDATE w SET k='A'; INSERT INTO w(v,r,k) VALUES (zeroblob(2),2.5,'b'); UPDATE w SET v=r WHERE k='b'; UPDATE w SET n=r, r=v WHERE k='a'
log
  1 1 0 w - | [1,1.0,'a','a?',4.0] | [1,2.0,'a','a?',4.0] | [0,1,0,0,0,0,NULL,2.0,NULL,NULL,NULL,NULL]
  2 1 C
  3 3 -1 w - | [1,2.0,'a','a?',4.0] | - | -
  4 3 1 w - | - | [1,2.0,'A','A?',4.0] | -
  5 3 C
  6 6 1 w - | - | [x'0000',2.5,'b','b?',4.0] | -
  7 6 C
  8 8 0 w - | [x'0000',2.5,'b','b?',4.0] | [2.5,2.5,'b','b?',4.0] | [1,0,1,0,0,0,2.5,NULL,'2.5!',NULL,NULL,NULL]
  9 8 C
  10 10 0 w - | [1,2.0,'A','A?',4.0] | [1,1.0,'A','A?',2.0] | [0,1,0,0,0,1,NULL,1.0,NULL,NULL,NULL,2.0]
  11 10 C

case without_rowid_replaced_upserted_copied
sql CREATE TABLE w(k PRIMARY KEY, u UNIQUE, v) WITHOUT ROWID; CREATE TABLE x(k PRIMARY KEY, u UNIQUE, v) WITHOUT ROWID; INSERT INTO w VALUES (1,1,1),(2,2,2),(3,3,3); PRAGMA capture_data_changes_conn('full')
sql REPLACE INTO w VALUES (1,2,'new'); INSERT INTO w VALUES (3,0,0) ON CONFLICT DO UPDATE SET v='up'; INSERT INTO x SELECT * FROM w; DELETE FROM x; UPDATE OR REPLACE w SET k=1 WHERE k=3; INSERT OR IGNORE INTO w VALUES (1,7,7)
log
  1 1 -1 w - | [2,2,2] | - | -
  2 1 -1 w - | [1,1,1] | - | -
  3 1 1 w - | - | [1,2,'new'] | -
  4 1 C
  5 5 0 w - | [3,3,3] | [3,3,'up'] | [0,0,1,NULL,NULL,'up']
  6 5 C
  7 7 1 x - | - | [1,2,'new'] | -
  8 7 1 x - | - | [3,3,'up'] | -
  9 7 C
  10 10 -1 x - | [1,2,'new'] | - | -
  11 10 -1 x - | [3,3,'up'] | - | -
  12 10 C
  13 13 -1 w - | [1,2,'new'] | - | -
  14 13 -1 w - | [3,3,'up'] | - | -
  15 13 1 w - | - | [1,3,'up'] | -
  16 13 C
  17 -1 C

case without_rowid_triggers_and_foreign_keys
sql PRAGMA foreign_keys=1; CREATE TABLE p(k PRIMARY KEY) WITHOUT ROWID; CREATE TABLE c(k PRIMARY KEY, p REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE) WITHOUT ROWID; CREATE TRIGGER g BEFORE UPDATE ON c BEGIN UPDATE c SET p=new.p WHERE k=new.k; END; INSERT INTO p VALUES (1),(2); INSERT INTO c VALUES ('a',1),('b',2); PRAGMA capture_data_changes_conn('full')
sql UPDATE p SET k=9 WHERE k=1; DELETE FROM p WHERE k=2
log
  1 1 -1 p - | [1] | - | -
  2 1 1 p - | - | [9] | -
  3 1 0 c - | ['a',1] | ['a',9] | [0,1,NULL,9]
  4 1 0 c - | ['a',9] | ['a',9] | [0,1,NULL,9]
  5 1 C
  6 6 -1 p - | [2] | - | -
  7 6 -1 c - | ['b',2] | - | -
  8 6 C

case without_rowid_on_overflow_pages
sql CREATE TABLE w(v, k PRIMARY KEY) WITHOUT ROWID; PRAGMA capture_data_changes_conn('full'); INSERT INTO w VALUES (zeroblob(20000),'end'); UPDATE w SET v=zeroblob(30000); DELETE FROM w;
rows SELECT change_type, length(before), length(after), substr(after,-3)=CAST('end' AS BLOB), length(updates) FROM turso_cdc WHERE change_type<2
  1|NULL|20008|1|NULL
  0|20008|30008|1|30007
  -1|30008|NULL|NULL|NULL

case table_name_is_that_of_the_schema
sql CREATE TABLE MyTable(x); PRAGMA capture_data_changes_conn('id'); INSERT INTO MYTABLE VALUES (1); UPDATE mytable SET x=2; DELETE FROM "myTABLE";
rows SELECT DISTINCT table_name FROM turso_cdc WHERE change_type<2
  MyTable

case attached_and_temp_are_not_captured
sql ATTACH ':memory:' AS aux; CREATE TABLE main.t(x INTEGER PRIMARY KEY); CREATE TABLE aux.t(x INTEGER PRIMARY KEY); CREATE TEMP TABLE tt(x); PRAGMA capture_data_changes_conn('id')
sql INSERT INTO aux.t VALUES (1); INSERT INTO tt VALUES (1); CREATE TABLE aux.u(a); CREATE TEMP TABLE v(a); DROP TABLE aux.u; CREATE TABLE aux.turso_cdc(a); INSERT INTO aux.turso_cdc VALUES (1)
log
sql BEGIN; SAVEPOINT s; INSERT INTO main.t VALUES (1); INSERT INTO aux.t VALUES (2); ROLLBACK TO s; INSERT INTO aux.t VALUES (3); COMMIT
log
sql CREATE TEMP TRIGGER tr AFTER INSERT ON tt BEGIN INSERT INTO main.t VALUES (new.x+100); END; INSERT INTO tt VALUES (5)
log
  1 1 1 t 105 | - | - | -
  2 1 C

case temp_table_hides_the_log_and_sqlite_sequence
sql CREATE TABLE t(x INTEGER PRIMARY KEY); CREATE TEMP TABLE q(x INTEGER PRIMARY KEY AUTOINCREMENT); CREATE TEMP TABLE turso_cdc(a); PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (1); INSERT INTO temp.turso_cdc VALUES (1);
rows SELECT change_id, change_type, id FROM main.turso_cdc
  1|1|1
  2|2|NULL
rows SELECT * FROM main.sqlite_sequence
  turso_cdc|2
rows SELECT * FROM temp.sqlite_sequence

case triggers_on_the_log_do_not_fire
sql CREATE TABLE t(x INTEGER PRIMARY KEY); CREATE TABLE l(m); PRAGMA capture_data_changes_conn('id'); CREATE TRIGGER r AFTER INSERT ON turso_cdc BEGIN INSERT INTO l VALUES (new.change_id); END; INSERT INTO t VALUES (1);
rows SELECT count(*) FROM l
  0
sql INSERT INTO turso_cdc(change_id) VALUES (100)
rows SELECT m FROM l
  100

case indexes_on_the_log_are_kept
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE); PRAGMA capture_data_changes_conn('full'); CREATE INDEX i1 ON turso_cdc(table_name, id); CREATE INDEX i2 ON turso_cdc(change_txn_id) WHERE change_type=1; CREATE INDEX i3 ON turso_cdc(length(after));
sql INSERT INTO t VALUES (1,1),(2,2); UPDATE t SET y=5 WHERE x=1; BEGIN; DELETE FROM t; COMMIT
rows SELECT change_id FROM turso_cdc INDEXED BY i1 WHERE table_name='t' AND id=1
  7
  10
  12
rows SELECT changes(), last_insert_rowid()
  2|2
fail UNIQUE :: INSERT INTO t VALUES (5,5),(6,5)
sql CREATE UNIQUE INDEX i4 ON turso_cdc(id) WHERE id=77; INSERT INTO t VALUES (77,77)
fail UNIQUE constraint failed :: UPDATE t SET y=78 WHERE x=77
rows SELECT * FROM t
  77|77

case insert_that_reads_the_log
sql CREATE TABLE t(x); CREATE TABLE w(change_id INTEGER PRIMARY KEY AUTOINCREMENT, change_time INTEGER, change_txn_id INTEGER, change_type INTEGER, table_name TEXT, id, before BLOB, after BLOB, updates BLOB); PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (1); INSERT INTO t SELECT change_id FROM turso_cdc; INSERT INTO w SELECT * FROM turso_cdc;
rows SELECT count(*) FROM t
  3
rows SELECT count(*) FROM w
  5
rows SELECT count(*) FROM turso_cdc
  11

case virtual_tables
sql PRAGMA capture_data_changes_conn('id'); CREATE VIRTUAL TABLE f USING fts5(a); CREATE VIRTUAL TABLE r USING rtree(id,x0,x1); INSERT INTO f VALUES ('hello'); INSERT INTO r VALUES (1,2,3); UPDATE f SET a='bye'; DELETE FROM r; DROP TABLE f; DROP TABLE r;
rows SELECT change_type, table_name FROM turso_cdc
  1|sqlite_schema
  2|NULL
  1|sqlite_schema
  2|NULL
  2|NULL
  2|NULL
  2|NULL
  2|NULL
  -1|sqlite_schema
  2|NULL
  -1|sqlite_schema
  2|NULL

case table_read_in_the_same_statement
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); INSERT INTO t VALUES (1,'a'),(2,'b'); PRAGMA capture_data_changes_conn('id'); INSERT INTO t SELECT x+10, y FROM t; INSERT INTO t(y) SELECT y FROM t WHERE x<3;
rows SELECT change_type, id FROM turso_cdc WHERE change_type<2
  1|11
  1|12
  1|13
  1|14

case vacuum_and_auto_vacuum
sql PRAGMA auto_vacuum=1; CREATE TABLE z(a); CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('id'); INSERT INTO t VALUES (1,zeroblob(9000)); DROP TABLE z; INSERT INTO t VALUES (2,2); VACUUM; INSERT INTO t VALUES (3,3)
rows SELECT count(*), max(change_id) FROM turso_cdc
  8|8

case returning_gives_the_users_rows
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE); PRAGMA capture_data_changes_conn('full')
rows INSERT INTO t VALUES (1,2),(3,4) RETURNING x, y
  1|2
  3|4
rows UPDATE t SET y=y+10 WHERE x=3 RETURNING y
  14
rows INSERT INTO t VALUES (5,14) ON CONFLICT DO UPDATE SET y=0 RETURNING x, y
  3|0
rows DELETE FROM t RETURNING x
  1
  3
log
  1 1 1 t 1 | - | [1,2] | -
  2 1 1 t 3 | - | [3,4] | -
  3 1 C
  4 4 0 t 3 | [3,4] | [3,14] | [0,1,NULL,14]
  5 4 C
  6 6 0 t 3 | [3,14] | [3,0] | [0,1,NULL,0]
  7 6 C
  8 8 -1 t 1 | [1,2] | - | -
  9 8 -1 t 3 | [3,0] | - | -
  10 8 C
rows SELECT seq FROM sqlite_sequence WHERE name='turso_cdc'
  10

case instead_of_delete
sql CREATE TABLE t(x INTEGER PRIMARY KEY); CREATE VIEW v AS SELECT * FROM t; CREATE TRIGGER d INSTEAD OF DELETE ON v BEGIN DELETE FROM t WHERE x=old.x; END; INSERT INTO t VALUES (1),(2)
sql PRAGMA capture_data_changes_conn('full'); DELETE FROM v WHERE x=2
log
  1 1 -1 t 2 | [2] | - | -
  2 1 C

case bookkeeping_of_sync_is_a_table_like_others
sql CREATE TABLE turso_sync_last_change_id(client_id TEXT PRIMARY KEY, pull_gen INTEGER, change_id INTEGER); PRAGMA capture_data_changes_conn('id'); INSERT INTO turso_sync_last_change_id VALUES ('c',1,2)
log
  1 1 1 turso_sync_last_change_id 1 | - | - | -
  2 1 C

case keys_that_are_not_the_rowid_are_columns
sql CREATE TABLE a(k TEXT PRIMARY KEY, v); CREATE TABLE b(x, y, v, PRIMARY KEY(y, x)); INSERT INTO a VALUES ('k',1); INSERT INTO b VALUES (1,2,3); PRAGMA capture_data_changes_conn('full'); UPDATE a SET k='l'; UPDATE b SET x=5, y=6; INSERT OR REPLACE INTO a VALUES ('l',2)
log
  1 1 0 a 1 | ['k',1] | ['l',1] | [1,0,'l',NULL]
  2 1 C
  3 3 0 b 1 | [1,2,3] | [5,6,3] | [1,1,0,5,6,NULL]
  4 3 C
  5 5 -1 a 1 | ['l',1] | - | -
  6 5 1 a 2 | - | ['l',2] | -
  7 5 C

case upsert_with_several_clauses
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE, z UNIQUE); INSERT INTO t VALUES (1,1,1),(2,2,2); PRAGMA capture_data_changes_conn('full');
sql INSERT INTO t VALUES (1,9,9),(8,2,8),(7,7,1),(5,5,5) ON CONFLICT(x) DO UPDATE SET y=100 ON CONFLICT(y) DO UPDATE SET z=200 ON CONFLICT DO NOTHING; INSERT INTO t VALUES (1,5,6) ON CONFLICT(y) DO UPDATE SET x=excluded.x+50, z='q' ON CONFLICT(x) DO NOTHING
log
  1 1 0 t 1 | [1,1,1] | [1,100,1] | [0,1,0,NULL,100,NULL]
  2 1 0 t 2 | [2,2,2] | [2,2,200] | [0,0,1,NULL,NULL,200]
  3 1 1 t 5 | - | [5,5,5] | -
  4 1 C
  5 5 -1 t 5 | [5,5,5] | - | -
  6 5 1 t 51 | - | [51,5,'q'] | -
  7 5 C

case returning_that_fails_in_the_middle
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); INSERT INTO t VALUES (1,1),(2,2),(3,3); PRAGMA capture_data_changes_conn('full')
fail malformed JSON :: UPDATE t SET y=10 RETURNING json(CASE WHEN x=2 THEN '{' ELSE '1' END)
log
sql BEGIN; INSERT INTO t VALUES (9,9)
fail malformed JSON :: DELETE FROM t RETURNING json(CASE WHEN x=2 THEN '{' ELSE '1' END)
sql COMMIT
log
  1 1 1 t 9 | - | [9,9] | -
  2 1 C

case strict_tables_that_refuse
sql CREATE TABLE t(x INTEGER PRIMARY KEY, i INT, a ANY) STRICT; PRAGMA capture_data_changes_conn('full')
fail cannot store TEXT :: INSERT INTO t VALUES (1,1,1),(2,'a',1)
log
fail cannot store TEXT :: INSERT OR IGNORE INTO t VALUES (3,3,x''),(4,'b',1)
sql INSERT INTO t VALUES (3,'3',x'')
log
  1 1 1 t 3 | - | [3,3,x''] | -
  2 1 C

case shadow_tables_written_by_hand
sql PRAGMA capture_data_changes_conn('full'); CREATE VIRTUAL TABLE f USING fts5(a); INSERT INTO f_config VALUES ('mine',1); DELETE FROM f_config WHERE k='mine'; CREATE TABLE f_mine(x); INSERT INTO f_mine VALUES (1)
rows SELECT change_type, table_name FROM turso_cdc
  1|sqlite_schema
  2|NULL
  1|sqlite_schema
  2|NULL
  1|f_mine
  2|NULL

case without_rowid_is_refused_in_every_way_it_may_be_written
sql PRAGMA foreign_keys=1; CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(k PRIMARY KEY, p REFERENCES p ON DELETE CASCADE) WITHOUT ROWID; INSERT INTO p VALUES (1); INSERT INTO c VALUES ('a',1); PRAGMA capture_data_changes_conn('id')
fail CDC on WITHOUT ROWID tables is not supported :: DELETE FROM p
fail CDC on WITHOUT ROWID tables is not supported :: REPLACE INTO p VALUES (1)
fail CDC on WITHOUT ROWID tables is not supported :: INSERT INTO c SELECT 'b', 1 WHERE 0
fail CDC on WITHOUT ROWID tables is not supported :: INSERT INTO c VALUES ('a',1) ON CONFLICT DO UPDATE SET p=2
log
sql INSERT INTO p SELECT p+1 FROM c; CREATE TABLE copy AS SELECT * FROM c; ALTER TABLE c ADD COLUMN z DEFAULT 4; ALTER TABLE c DROP COLUMN z; DROP TABLE c; DELETE FROM p
rows SELECT change_type, table_name, id FROM turso_cdc WHERE change_type<2 AND table_name<>'sqlite_schema'
  1|p|2
  1|copy|1
  -1|p|1
  -1|p|2

case a_replace_that_fails_keeps_the_row_that_it_would_replace
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y INT) STRICT; INSERT INTO t VALUES (1,1),(2,2); PRAGMA capture_data_changes_conn('full'); BEGIN; INSERT INTO t VALUES (3,3)
fail cannot store :: REPLACE INTO t VALUES (1,x'')
fail cannot store :: UPDATE OR REPLACE t SET x=2, y='a' WHERE x=1
sql REPLACE INTO t VALUES (2,20); UPDATE OR REPLACE t SET x=2, y=21 WHERE x=1; COMMIT
fail cannot store :: REPLACE INTO t VALUES (2,0),(3,'a')
log
  1 1 1 t 3 | - | [3,3] | -
  2 1 -1 t 2 | [2,2] | - | -
  3 1 1 t 2 | - | [2,20] | -
  4 1 -1 t 2 | [2,20] | - | -
  5 1 -1 t 1 | [1,1] | - | -
  6 1 1 t 2 | - | [2,21] | -
  7 1 C
rows SELECT * FROM t
  2|21
  3|3
