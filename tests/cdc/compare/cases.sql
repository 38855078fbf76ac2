-- Cases for compare_turso.py: each is a name and statements, one a line, run from an empty database with the mode of the heading.
-- What Turso records wrongly is left out: triggers, foreign keys that act, upserts, changed rowids, UPDATE OR REPLACE,
-- the end of an outermost savepoint, transactions whose records were all undone, views, renames, CREATE TABLE AS.

-- case insert_update_delete full
CREATE TABLE t(x INTEGER PRIMARY KEY, y)
!on
INSERT INTO t VALUES (1,2),(3,4)
UPDATE t SET y=3 WHERE x=1
DELETE FROM t WHERE x=3
DELETE FROM t WHERE x=1

-- case insert_update_delete_id id
CREATE TABLE t(x INTEGER PRIMARY KEY, y)
!on
INSERT INTO t VALUES (1,2),(3,4)
UPDATE t SET y=3 WHERE x=1
DELETE FROM t

-- case insert_update_delete_before before
CREATE TABLE t(x INTEGER PRIMARY KEY, y)
!on
INSERT INTO t VALUES (1,2),(3,4)
UPDATE t SET y=3 WHERE x=1
DELETE FROM t

-- case insert_update_delete_after after
CREATE TABLE t(x INTEGER PRIMARY KEY, y)
!on
INSERT INTO t VALUES (1,2),(3,4)
UPDATE t SET y=3 WHERE x=1
DELETE FROM t

-- case integers full
CREATE TABLE t(a, b INTEGER)
!on
INSERT INTO t VALUES (0,1),(-1,127),(128,-128),(-129,32767),(32768,-32769),(8388607,8388608)
INSERT INTO t VALUES (2147483647,2147483648),(-2147483649,140737488355327),(140737488355328,9223372036854775807)
INSERT INTO t VALUES (-9223372036854775808,NULL)
UPDATE t SET a=a, b=b

-- case values full
CREATE TABLE t(i INTEGER, r REAL, n NUMERIC, t TEXT, b BLOB, o)
!on
INSERT INTO t VALUES ('42','1.5','7.0',4.5,x'00ff',NULL)
INSERT INTO t VALUES (1.0,1,1.0,1,1,1)
INSERT INTO t VALUES ('text','text','text','','',x'')
INSERT INTO t VALUES (1e300,-2.5,1e20,'日本',x'',9e999)
UPDATE t SET r=r+1, t='grün' WHERE rowid=2
DELETE FROM t WHERE rowid=3

-- case no_change full
CREATE TABLE t(x INTEGER PRIMARY KEY, y)
!on
UPDATE t SET y=1
DELETE FROM t
INSERT INTO t SELECT 1, 2 WHERE 0
INSERT INTO t VALUES (1,1)
UPDATE t SET y=y

-- case transactions full
CREATE TABLE t(x INTEGER PRIMARY KEY, y)
CREATE TABLE u(z)
!on
BEGIN
INSERT INTO t VALUES (1,1),(2,2)
INSERT INTO u VALUES ('a')
UPDATE t SET y=5 WHERE x=2
COMMIT
BEGIN
INSERT INTO t VALUES (3,3)
ROLLBACK
INSERT INTO u VALUES ('b')
BEGIN
INSERT INTO u VALUES ('c')
SAVEPOINT s
INSERT INTO u VALUES ('d')
ROLLBACK TO s
INSERT INTO u VALUES ('e')
COMMIT

-- case failing full
CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE)
!on
INSERT INTO t VALUES (1,1)
INSERT INTO t VALUES (2,2),(3,1)
INSERT INTO t VALUES (4,4)

-- case replace full
CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE)
!on
INSERT INTO t VALUES (1,1),(2,2)
REPLACE INTO t VALUES (1,9)
REPLACE INTO t VALUES (3,2)

-- case added_columns full
CREATE TABLE t(x INTEGER PRIMARY KEY, y)
INSERT INTO t VALUES (1,1),(2,2)
ALTER TABLE t ADD COLUMN z DEFAULT 'new'
ALTER TABLE t ADD COLUMN w
!on
UPDATE t SET y=5 WHERE x=1
DELETE FROM t WHERE x=2

-- case table_name full,my_log
CREATE TABLE t(x INTEGER PRIMARY KEY, y)
!on
INSERT INTO t VALUES (1,1)
DELETE FROM my_log WHERE 0
UPDATE t SET y=2

-- case schema full
!on
CREATE TABLE t(x INTEGER PRIMARY KEY, y)
CREATE INDEX i ON t(y)
INSERT INTO t VALUES (1,1)
ALTER TABLE t ADD COLUMN z
INSERT INTO t VALUES (2,2,3)
DROP INDEX i
DROP TABLE t

-- case long_records full
CREATE TABLE t(x INTEGER PRIMARY KEY, y BLOB)
!on
INSERT INTO t VALUES (1,zeroblob(100)),(2,zeroblob(10000))
UPDATE t SET y=zeroblob(5000) WHERE x=2
DELETE FROM t WHERE x=2
