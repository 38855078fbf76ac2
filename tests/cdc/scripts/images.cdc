# Records, to the byte.

case worked_example
sql CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, score REAL, data BLOB); PRAGMA capture_data_changes_conn('full');
sql INSERT INTO t VALUES (1,'ann',1.5,x'0102'); UPDATE t SET name='bob'; UPDATE t SET score=NULL, data=x'ff'; ALTER TABLE t ADD COLUMN w;
hex after 1
  0509130710616e6e3ff80000000000000102
hex before 3
  0509130710616e6e3ff80000000000000102
hex after 3
  0509130710626f623ff80000000000000102
hex updates 3
  090809080800130000626f62
hex after 5
  050913000e626f62ff
hex updates 5
  09080809090000000eff
rows SELECT substr(lower(hex(updates)),1,22), length(updates) FROM turso_cdc WHERE change_id=7
  0b08080808090000000041|37

case small_integers
sql CREATE TABLE t2(id INTEGER PRIMARY KEY, n); PRAGMA capture_data_changes_conn('full'); INSERT INTO t2 VALUES (300,70000); INSERT INTO t2 VALUES (-1,-1); INSERT INTO t2 VALUES (0,1);
hex after 1
  030203012c011170
hex after 3
  030101ffff
hex after 5
  030809

case type_sweep
sql CREATE TABLE s(x INTEGER PRIMARY KEY, i INTEGER, r REAL, s TEXT, b BLOB, n NUMERIC, u); PRAGMA capture_data_changes_conn('full'); BEGIN
sql INSERT INTO s(x) VALUES (1); INSERT INTO s VALUES (2,0,0,0,0,0,0); INSERT INTO s VALUES (3,1,1,1,1,1,1); INSERT INTO s VALUES (4,127,128.5,'é',x'00ff','12',x'')
sql INSERT INTO s VALUES (-6,-9223372036854775808,0.0,'123',zeroblob(3),'abc',1.0); INSERT INTO s VALUES (8,32768,8388608,2147483648,140737488355328,-129,255); COMMIT
hex after 1
  0809000000000000
hex after 2
  080108070f08080802000000000000000030
hex after 3
  080109070f090909033ff000000000000031
hex after 4
  080101071110010c047f4060100000000000c3a900ff0c
hex after 5
  0801060713121307fa800000000000000000000000000000003132330000006162633ff0000000000000
hex after 6
  0801030721060202080080004160000000000000323134373438333634380000800000000000ff7f00ff

case affinity
sql CREATE TABLE t(i INTEGER, n NUMERIC, s TEXT, r REAL); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES ('42','1.0',4.5,1); UPDATE t SET i='7', r=2; INSERT INTO t(r) VALUES (9e999);
log
  1 1 1 t 1 | - | [42,1,'4.5',1.0] | -
  2 1 C
  3 3 0 t 1 | [42,1,'4.5',1.0] | [7,1,'4.5',2.0] | [1,0,0,1,7,NULL,NULL,2.0]
  4 3 C
  5 5 1 t 2 | - | [NULL,NULL,NULL,Inf] | -
  6 5 C

case large_reals_stay_reals
sql CREATE TABLE t(r REAL); INSERT INTO t VALUES (5),(-70000),(1e15),(4503599627370497),(1e300); PRAGMA capture_data_changes_conn('full'); UPDATE t SET r=r+1;
log
  1 1 0 t 1 | [5.0] | [6.0] | [1,6.0]
  2 1 0 t 2 | [-70000.0] | [-69999.0] | [1,-69999.0]
  3 1 0 t 3 | [1000000000000000.0] | [1000000000000001.0] | [1,1000000000000001.0]
  4 1 0 t 4 | [4503599627370497.0] | [4503599627370498.0] | [1,4503599627370498.0]
  5 1 0 t 5 | [1.0e+300] | [1.0e+300] | [1,1.0e+300]
  6 1 C

case a_real_that_is_stored_as_an_integer
sql CREATE TABLE t(x INTEGER PRIMARY KEY, a, r REAL, g REAL AS (x*2) VIRTUAL); INSERT INTO t(x) VALUES (1);
sql PRAGMA capture_data_changes_conn('full'); UPDATE t SET a=g, r=g
rows SELECT typeof(a), typeof(r) FROM t
  integer|real
log
  1 1 0 t 1 | [1,NULL,NULL] | [1,2,2.0] | [0,1,1,0,NULL,2,2.0,NULL]
  2 1 C

case virtual_generated_columns
sql CREATE TABLE t(a, v AS (a*2), b); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES(5,6); UPDATE t SET a=7; UPDATE t SET b=8; DELETE FROM t;
log
  1 1 1 t 1 | - | [5,6] | -
  2 1 C
  3 3 0 t 1 | [5,6] | [7,6] | [1,1,0,7,14,NULL]
  4 3 C
  5 5 0 t 1 | [7,6] | [7,8] | [0,0,1,NULL,NULL,8]
  6 5 C
  7 7 -1 t 1 | [7,8] | - | -
  8 7 C

case stored_generated_columns
sql CREATE TABLE t(v AS (a*2) STORED, a, b REAL, w AS (b+1)); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES(5,6); UPDATE t SET a=7;
log
  1 1 1 t 1 | - | [10,5,6.0] | -
  2 1 C
  3 3 0 t 1 | [10,5,6.0] | [14,7,6.0] | [1,1,0,0,14,7,NULL,NULL]
  4 3 C

case columns_added_later
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y REAL); INSERT INTO t VALUES (1,1),(2,2),(3,3); ALTER TABLE t ADD COLUMN a DEFAULT 'dflt'; ALTER TABLE t ADD COLUMN b REAL DEFAULT 5; ALTER TABLE t ADD COLUMN c INT; ALTER TABLE t ADD COLUMN d TEXT DEFAULT 12; ALTER TABLE t ADD COLUMN g AS (x+1); PRAGMA capture_data_changes_conn('full');
sql UPDATE t SET c=1 WHERE x=1; DELETE FROM t WHERE x=2; UPDATE t SET x=9 WHERE x=3;
log
  1 1 0 t 1 | [1,1.0,'dflt',5.0,NULL,'12'] | [1,1.0,'dflt',5.0,1,'12'] | [0,0,0,0,1,0,0,NULL,NULL,NULL,NULL,1,NULL,NULL]
  2 1 C
  3 3 -1 t 2 | [2,2.0,'dflt',5.0,NULL,'12'] | - | -
  4 3 C
  5 5 -1 t 3 | [3,3.0,'dflt',5.0,NULL,'12'] | - | -
  6 5 1 t 9 | - | [9,3.0,'dflt',5.0,NULL,'12'] | -
  7 5 C

case rowid_column_in_the_middle
sql CREATE TABLE t(a, k INTEGER PRIMARY KEY, b); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES ('a', NULL, 'b'); INSERT INTO t VALUES ('a', 9000000000, 'b'); UPDATE t SET a='c' WHERE k=1;
log
  1 1 1 t 1 | - | ['a',1,'b'] | -
  2 1 C
  3 3 1 t 9000000000 | - | ['a',9000000000,'b'] | -
  4 3 C
  5 5 0 t 1 | ['a',1,'b'] | ['c',1,'b'] | [1,0,0,'c',NULL,NULL]
  6 5 C

case rows_on_overflow_pages
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y BLOB, z); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (1,zeroblob(20000),'end'); UPDATE t SET z='END'; DELETE FROM t;
rows SELECT change_type, length(before), length(after), substr(after,-3)=CAST('END' AS BLOB), length(updates) FROM turso_cdc WHERE change_type<2
  1|NULL|20009|0|NULL
  0|20009|20009|1|10
  -1|20009|NULL|NULL|NULL

case strict_tables
sql CREATE TABLE t(i INT, r REAL, a ANY) STRICT; PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (1,1,'1'); UPDATE t SET r=3;
log
  1 1 1 t 1 | - | [1,1.0,'1'] | -
  2 1 C
  3 3 0 t 1 | [1,1.0,'1'] | [1,3.0,'1'] | [0,1,0,NULL,3.0,NULL]
  4 3 C

case headers_of_more_than_127_bytes
sql CREATE TABLE t(c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,c10,c11,c12,c13,c14,c15,c16,c17,c18,c19,c20,c21,c22,c23,c24,c25,c26,c27,c28,c29,c30,c31,c32,c33,c34,c35,c36,c37,c38,c39,c40,c41,c42,c43,c44,c45,c46,c47,c48,c49,c50,c51,c52,c53,c54,c55,c56,c57,c58,c59,c60,c61,c62,c63,c64,c65,c66,c67,c68,c69,c70,c71,c72,c73,c74,c75,c76,c77,c78,c79,c80,c81,c82,c83,c84,c85,c86,c87,c88,c89,c90,c91,c92,c93,c94,c95,c96,c97,c98,c99,c100,c101,c102,c103,c104,c105,c106,c107,c108,c109,c110,c111,c112,c113,c114,c115,c116,c117,c118,c119,c120,c121,c122,c123,c124,c125,c126,c127,c128,c129,c130,c131,c132,c133,c134,c135,c136,c137,c138,c139); PRAGMA capture_data_changes_conn('full'); INSERT INTO t(c0) VALUES (NULL); UPDATE t SET c139=1
rows SELECT lower(hex(substr(after,1,4))), length(after), lower(hex(substr(updates,1,4))), length(updates) FROM turso_cdc WHERE change_type<2
  810e0000|142||NULL
  810e0000|142|821a0808|282
rows SELECT lower(hex(substr(updates,140,4))), lower(hex(substr(updates,-2))) FROM turso_cdc WHERE change_type=0
  08080900|0009

case not_a_number_and_minus_zero
sql CREATE TABLE t(x INTEGER PRIMARY KEY, r REAL, u); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (1, 9e999-9e999, -9e999); UPDATE t SET r=-0.0, u=9e999-9e999
log
  1 1 1 t 1 | - | [1,NULL,-Inf] | -
  2 1 C
  3 3 0 t 1 | [1,NULL,-Inf] | [1,0.0,NULL] | [0,1,1,NULL,0.0,NULL]
  4 3 C

case rowids_at_both_ends
sql CREATE TABLE t(x INTEGER PRIMARY KEY, y); CREATE TABLE n(a INTEGER PRIMARY KEY AUTOINCREMENT, b); PRAGMA capture_data_changes_conn('after'); INSERT INTO t VALUES (9223372036854775807,1),(-9223372036854775808,2); UPDATE t SET x=-x WHERE y=1; INSERT INTO n VALUES (9223372036854775806, 1); INSERT INTO n(b) VALUES (2)
fail full :: INSERT INTO n(b) VALUES (3)
log
  1 1 1 t 9223372036854775807 | - | [9223372036854775807,1] | -
  2 1 1 t -9223372036854775808 | - | [-9223372036854775808,2] | -
  3 1 C
  4 4 -1 t 9223372036854775807 | - | - | -
  5 4 1 t -9223372036854775807 | - | [-9223372036854775807,1] | -
  6 4 C
  7 7 1 n 9223372036854775806 | - | [9223372036854775806,1] | -
  8 7 C
  9 9 1 n 9223372036854775807 | - | [9223372036854775807,2] | -
  10 9 C
