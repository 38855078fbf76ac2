# SQL functions that show what is in the log.

case table_columns
sql CREATE TABLE t(a,"b c","q""x"); CREATE TABLE "é'"(ü, "tab	x", "back\slash"); CREATE VIEW v AS SELECT 1 AS c; CREATE INDEX i ON t(a); CREATE TEMP TABLE tt(a); ATTACH ':memory:' AS aux; CREATE TABLE aux.ax(a); CREATE TABLE g(a, v AS (a*2), s AS (a) STORED)
rows SELECT table_columns_json_array('t')
  ["a","b c","q\"x"]
rows SELECT table_columns_json_array('T')
  ["a","b c","q\"x"]
rows SELECT table_columns_json_array('é''')
  ["ü","tab\tx","back\\slash"]
rows SELECT table_columns_json_array('sqlite_schema'), table_columns_json_array('sqlite_master')
  ["type","name","tbl_name","rootpage","sql"]|["type","name","tbl_name","rootpage","sql"]
rows SELECT table_columns_json_array('g')
  ["a","v","s"]
rows SELECT json_array(table_columns_json_array('t'))
  [["a","b c","q\"x"]]
fail table_columns_json_array: table nope doesn't exists :: SELECT table_columns_json_array('nope')
fail table_columns_json_array: table v doesn't exists :: SELECT table_columns_json_array('v')
fail table_columns_json_array: table i doesn't exists :: SELECT table_columns_json_array('i')
fail table_columns_json_array: table tt doesn't exists :: SELECT table_columns_json_array('tt')
fail table_columns_json_array: table ax doesn't exists :: SELECT table_columns_json_array('ax')
fail table_columns_json_array: table main.t doesn't exists :: SELECT table_columns_json_array('main.t')
fail table_columns_json_array: table  doesn't exists :: SELECT table_columns_json_array('')
fail table_columns_json_array: function argument must be of type TEXT :: SELECT table_columns_json_array(NULL)
fail table_columns_json_array: function argument must be of type TEXT :: SELECT table_columns_json_array(1)
fail table_columns_json_array: function argument must be of type TEXT :: SELECT table_columns_json_array(x'61')
fail table_columns_json_array() function must have exactly 1 argument :: SELECT table_columns_json_array()
fail table_columns_json_array() function must have exactly 1 argument :: SELECT table_columns_json_array('t','t')
sql ALTER TABLE t DROP COLUMN "b c"
rows SELECT table_columns_json_array('t')
  ["a","q\"x"]

case table_columns_in_a_fresh_connection
sql CREATE TABLE t(a,b)
on b
rows SELECT table_columns_json_array('t')
  ["a","b"]

case records_as_json
sql PRAGMA capture_data_changes_conn('full')
sql CREATE TABLE t(a,b,c,d); INSERT INTO t VALUES (NULL,1,1.61803,'hello')
rows SELECT bin_record_json_object('["a","b","c","d"]', after) FROM turso_cdc WHERE table_name='t'
  {"a":null,"b":1,"c":1.61803,"d":"hello"}
rows SELECT bin_record_json_object('["a"]', x'0201ff'), bin_record_json_object('["a"]', x'02067fffffffffffffff')
  {"a":-1}|{"a":9223372036854775807}
rows SELECT bin_record_json_object('["a"]', x'02073ff8000000000000'), bin_record_json_object('["a"]', x'02073ff0000000000000'), bin_record_json_object('["a"]', x'02073fb999999999999a')
  {"a":1.5}|{"a":1.0}|{"a":0.1}
rows SELECT bin_record_json_object('["a"]', x'02077e37e43c8800759c'), bin_record_json_object('["a"]', x'02078000000000000000')
  {"a":1.0e+300}|{"a":-0.0}
rows SELECT bin_record_json_object('["a"]', x'02077ff0000000000000'), bin_record_json_object('["a"]', x'0207fff0000000000000'), bin_record_json_object('["a"]', x'02077ff8000000000000')
  {"a":9.0e+999}|{"a":-9.0e+999}|{"a":null}
rows SELECT bin_record_json_object('["a","b","c","d","e"]', x'060f0f0f110d220a01c3a9')
  {"a":"\"","b":"\n","c":"\u0001","d":"é","e":""}
fail bin_record_json_object: formatting of BLOB values stored in binary record is not supported :: SELECT bin_record_json_object('["a"]', x'020c')
rows SELECT bin_record_json_object('["a"]', x'030909')
  {"a":1}
fail bin_record_json_object: binary record has fewer columns than specified in the columns argument :: SELECT bin_record_json_object('["a","b","c"]', x'030909')
rows SELECT bin_record_json_object('[]', x'030909')
  {}
rows SELECT bin_record_json_object('["a","a"]', x'030908')
  {"a":1,"a":0}
rows SELECT bin_record_json_object('["\u00e9"]', x'0209')
  {"\u00e9":1}
rows SELECT bin_record_json_object('["a"]', NULL)
  NULL
fail bin_record_json_object: function arguments must be of type TEXT and BLOB correspondingly :: SELECT bin_record_json_object(NULL, x'0209')
fail bin_record_json_object: function arguments must be of type TEXT and BLOB correspondingly :: SELECT bin_record_json_object(1, x'0209')
fail bin_record_json_object: function arguments must be of type TEXT and BLOB correspondingly :: SELECT bin_record_json_object('["a"]', 'text')
fail bin_record_json_object: function arguments must be of type TEXT and BLOB correspondingly :: SELECT bin_record_json_object('["a"]', 5)
fail malformed JSON :: SELECT bin_record_json_object('nope', x'0209')
rows SELECT bin_record_json_object('{"a":1}', x'0209')
  {}
fail malformed JSON :: SELECT bin_record_json_object('["a",1]', x'030909')
fail corrupt :: SELECT bin_record_json_object('["a"]', x'')
fail corrupt :: SELECT bin_record_json_object('["a"]', x'05')
fail corrupt :: SELECT bin_record_json_object('["a"]', x'020600')
fail corrupt :: SELECT bin_record_json_object('["a"]', x'020a')
fail corrupt :: SELECT bin_record_json_object('["a"]', x'020b')
fail corrupt :: SELECT bin_record_json_object('["a"]', x'0280')
rows SELECT bin_record_json_object('["a"]', x'0209ffff')
  {"a":1}
fail UTF-8 :: SELECT bin_record_json_object('["a"]', x'020fff')
fail UTF-8 :: SELECT bin_record_json_object('["a"]', x'0213eda080')
fail UTF-8 :: SELECT bin_record_json_object('["a"]', x'0211c080')
fail bin_record_json_object() function must have exactly 2 arguments :: SELECT bin_record_json_object('[]')
rows SELECT json_array(bin_record_json_object('["a"]', x'0209'))
  [{"a":1}]

case full_records
sql CREATE TABLE t(x INTEGER PRIMARY KEY, s, b); PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (1,'a',x'00ff10'); UPDATE t SET b=x'', s=NULL; UPDATE t SET s='z';
rows SELECT bin_record_json_object_full(table_columns_json_array('t'), after), bin_record_json_object_full(table_columns_json_array('t'), updates) FROM turso_cdc WHERE change_type<2
  {"x":1,"s":"a","b":{"base64":"AP8Q"}}|NULL
  {"x":1,"s":null,"b":{"base64":""}}|{"s":null,"b":{"base64":""}}
  {"x":1,"s":"z","b":{"base64":""}}|{"s":"z"}
rows SELECT bin_record_json_object_full('["a","b","c"]', x'040e101266666f666f6f')
  {"a":{"base64":"Zg=="},"b":{"base64":"Zm8="},"c":{"base64":"Zm9v"}}

case functions_may_be_used_in_a_schema_that_is_not_trusted
sql PRAGMA trusted_schema=0; CREATE TABLE t(x INTEGER PRIMARY KEY, y); PRAGMA capture_data_changes_conn('after'); CREATE VIEW v AS SELECT bin_record_json_object(table_columns_json_array(table_name), after) AS j, bin_record_json_object_full('["x","y"]', after) AS k FROM turso_cdc WHERE change_type=1 AND table_name='t'; CREATE INDEX i ON turso_cdc(bin_record_json_object('["x"]', after)) WHERE table_name='t'; INSERT INTO t VALUES (1,'a')
rows SELECT * FROM v
  {"x":1,"y":"a"}|{"x":1,"y":"a"}
rows SELECT id FROM turso_cdc INDEXED BY i WHERE bin_record_json_object('["x"]', after)='{"x":1}' AND table_name='t'
  1
