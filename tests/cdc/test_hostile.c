/* test_hostile.c: what a program may do to a connection that captures, and what a database may hold, to make
 * capture write where it must not, or read what is no longer there.
 *
 *     cdc_hostile [TEST]    runs all, or one */
#include "decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char DATABASE[] = "hostile.db";

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

static sqlite3 *open_with(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    run(db, sql);
    return db;
}

/* A database file that holds what the statements make. */
static void make_file(const char *sql)
{
    (void)unlink(DATABASE);
    assert_int_equal(sqlite3_close(open_with(DATABASE, sql)), SQLITE_OK);
}

static void assert_fails(sqlite3 *db, const char *sql, const char *message)
{
    assert_int_not_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    if (strstr(sqlite3_errmsg(db), message) == NULL) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
}

static void assert_value(sqlite3 *db, const char *sql, const char *expected)
{
    sqlite3_stmt *row = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(row, 0), expected);
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
}

static void assert_log(sqlite3 *db, const char *expected)
{
    Text text = {0};
    text_add_log(&text, db, "turso_cdc", 0);
    assert_string_equal(text_get(&text), expected);
    text_free(&text);
}

static void close_whole(sqlite3 *db)
{
    assert_value(db, "PRAGMA integrity_check", "ok");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- the schema changes beneath --- */

static void a_blob_outlives_the_shape_of_its_table(void **state)
{
    sqlite3_blob *blob = NULL;
    (void)state;
    sqlite3 *const db = open_with(":memory:", "CREATE TABLE t(x INTEGER PRIMARY KEY, b BLOB);"
                                              "INSERT INTO t VALUES (1, x'0011');"
                                              "PRAGMA capture_data_changes_conn('full')");
    assert_int_equal(sqlite3_blob_open(db, "main", "t", "b", 1, 1, &blob), SQLITE_OK);
    run(db, "ALTER TABLE t ADD COLUMN c DEFAULT 5");
    run(db, "ALTER TABLE t RENAME TO u");
    assert_int_equal(sqlite3_blob_write(blob, "\xaa", 1, 0), SQLITE_OK);
    assert_int_equal(sqlite3_blob_close(blob), SQLITE_OK);
    assert_value(db,
                 "SELECT group_concat(table_name || ' ' || hex(after), ',') FROM turso_cdc "
                 "WHERE change_type=0 AND table_name<>'sqlite_schema'",
                 "u 04091001AA1105");
    close_whole(db);
}

static void a_wish_is_read_while_the_schema_is_old(void **state)
{
    (void)state;
    make_file("CREATE TABLE t(x); INSERT INTO t VALUES (1);"
              "PRAGMA capture_data_changes_default('full')");
    sqlite3 *const b = open_with(DATABASE, "SELECT * FROM t");
    sqlite3 *const a = open_with(DATABASE, "CREATE TABLE u(x); ALTER TABLE t ADD COLUMN y");
    run(b, "UPDATE t SET x=2");
    assert_value(b, "SELECT count(*) FROM turso_cdc WHERE table_name='t' AND after IS NOT NULL",
                 "1");
    assert_int_equal(sqlite3_close(a), SQLITE_OK);
    close_whole(b);
}

/* ALTER TABLE reads the schema anew before it fails; what it leaves is not that of the transaction. COMMIT, a blob that
 * is written and the pragma do not look, as statements do; the record is written by one. */
static void a_failed_alter_leaves_an_old_schema(void **state)
{
    static const char *const ENDS[] = {"COMMIT", "PRAGMA capture_data_changes_conn('off'); COMMIT"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        sqlite3_blob *blob = NULL;
        sqlite3 *const db = open_with(
            ":memory:", "CREATE TABLE t(a, b); CREATE TABLE u(x INTEGER PRIMARY KEY, y);"
                        "CREATE VIEW v AS SELECT b FROM t; INSERT INTO u VALUES (1, 'abc');"
                        "PRAGMA capture_data_changes_conn('full')");
        if (i % 2 == 1) {
            run(db, "CREATE INDEX log_index ON turso_cdc(id); DELETE FROM turso_cdc");
        }
        run(db, "BEGIN; INSERT INTO u VALUES (2, 2); ALTER TABLE t ADD COLUMN c");
        assert_int_equal(sqlite3_blob_open(db, "main", "u", "y", 1, 1, &blob), SQLITE_OK);
        assert_fails(db, "ALTER TABLE t DROP COLUMN b", "error in view v");
        assert_int_equal(sqlite3_blob_write(blob, "Z", 1, 0), SQLITE_OK);
        assert_int_equal(sqlite3_blob_close(blob), SQLITE_OK);
        assert_fails(db, "ALTER TABLE t DROP COLUMN b", "error in view v");
        run(db, ENDS[i / 2]);
        assert_value(db,
                     "SELECT group_concat(change_type || coalesce(table_name || id, '')) "
                     "FROM turso_cdc",
                     "1u2,0sqlite_schema1,0u1,2");
        close_whole(db);
    }
}

/* SQLite lets a database be replaced unless a transaction has read or written it. */
static void a_written_database_is_not_replaced(void **state)
{
    sqlite3_int64 size = 0;
    (void)state;
    sqlite3 *const db = open_with(":memory:", "CREATE TABLE t(x); CREATE TABLE u(x);"
                                              "PRAGMA capture_data_changes_conn('full')");
    unsigned char *const image = sqlite3_serialize(db, "main", &size, 0);
    assert_non_null(image);
    run(db, "BEGIN; INSERT INTO t VALUES (1)");
    assert_int_equal(
        sqlite3_deserialize(db, "main", image, size, size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
        SQLITE_BUSY);
    run(db, "INSERT INTO u VALUES (2); COMMIT");
    assert_log(db, "1 1 1 t 1 | - | [1] | -\n2 1 1 u 1 | - | [2] | -\n3 1 C\n");
    close_whole(db);
}

/* --- a database that lies --- */

static void a_wish_that_names_no_log_writes_nothing_there(void **state)
{
    (void)state;
    make_file("CREATE TABLE t(x INTEGER PRIMARY KEY); CREATE TABLE victim(a INTEGER PRIMARY KEY);"
              "PRAGMA capture_data_changes_default('full');"
              "UPDATE turso_cdc_version SET version='full,victim' WHERE table_name='*'");
    sqlite3 *const db = open_with(DATABASE, "SELECT 1");
    assert_fails(db, "INSERT INTO t VALUES (1)", "victim is not a change log");
    assert_value(db, "SELECT count(*) FROM victim", "0");
    close_whole(db);
}

static void a_wish_of_an_utf16_database_is_refused(void **state)
{
    (void)state;
    make_file("PRAGMA encoding='UTF-16le'; CREATE TABLE t(x); CREATE TABLE turso_cdc(change_id "
              "INTEGER PRIMARY KEY AUTOINCREMENT, change_time, change_txn_id, change_type, "
              "table_name, id, before, after, updates);"
              "CREATE TABLE turso_cdc_version(table_name TEXT PRIMARY KEY, version TEXT NOT NULL);"
              "INSERT INTO turso_cdc_version VALUES ('turso_cdc','v2'),('*','full')");
    sqlite3 *const db = open_with(DATABASE, "SELECT 1");
    assert_fails(db, "INSERT INTO t VALUES (1)", "UTF-8");
    assert_value(db, "SELECT count(*) FROM t", "0");
    close_whole(db);
}

static void an_utf16_database_that_takes_the_place_is_refused(void **state)
{
    (void)state;
    sqlite3 *const db =
        open_with(":memory:", "CREATE TABLE t(x); PRAGMA capture_data_changes_conn('full')");
    sqlite3 *const other =
        open_with(":memory:",
                  "PRAGMA encoding='UTF-16le'; CREATE TABLE t(x); CREATE TABLE turso_cdc(change_id "
                  "INTEGER PRIMARY KEY AUTOINCREMENT, change_time, change_txn_id, change_type, "
                  "table_name, id, before, after, updates)");
    sqlite3_backup *const backup = sqlite3_backup_init(db, "main", other, "main");
    assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
    assert_fails(db, "INSERT INTO t VALUES ('a')", "text encoding");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    close_whole(other);
}

static void a_log_keeps_the_columns_that_follow_from_others(void **state)
{
    (void)state;
    sqlite3 *const db = open_with(
        ":memory:",
        "CREATE TABLE turso_cdc(change_id INTEGER PRIMARY KEY AUTOINCREMENT, "
        "change_time INTEGER, change_txn_id INTEGER, change_type INTEGER, table_name "
        "TEXT, id, before BLOB, after BLOB, updates BLOB, what TEXT AS (table_name || id) "
        "STORED, CHECK (id IS NOT 2)); CREATE TABLE t(x INTEGER PRIMARY KEY);"
        "PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (1)");
    assert_log(db, "1 1 1 t 1 | - | [1] | -\n2 1 C\n");
    assert_value(db, "SELECT what FROM turso_cdc WHERE change_id=1", "t1");
    assert_fails(db, "INSERT INTO t VALUES (5),(2)", "CHECK constraint failed");
    assert_value(db, "SELECT group_concat(x) FROM t", "1");
    close_whole(db);
}

/* --- records that cannot be written --- */

static void a_blob_whose_record_is_refused_takes_the_transaction_along(void **state)
{
    sqlite3_blob *blob = NULL;
    (void)state;
    sqlite3 *const db =
        open_with(":memory:", "CREATE TABLE t(b); INSERT INTO t VALUES (x'0011');"
                              "PRAGMA capture_data_changes_conn('full');"
                              "CREATE UNIQUE INDEX one ON turso_cdc(id) WHERE change_type=0;"
                              "BEGIN");
    assert_int_equal(sqlite3_blob_open(db, "main", "t", "b", 1, 1, &blob), SQLITE_OK);
    assert_int_equal(sqlite3_blob_write(blob, "\xaa", 1, 0), SQLITE_OK);
    assert_int_not_equal(sqlite3_blob_write(blob, "\xbb", 1, 0), SQLITE_OK);
    (void)sqlite3_blob_close(blob);
    assert_int_equal(sqlite3_get_autocommit(db), 1);
    assert_value(db, "SELECT hex(b) FROM t", "0011");
    close_whole(db);
}

static void a_record_that_is_too_long_undoes_its_statement(void **state)
{
    (void)state;
    sqlite3 *const db = open_with(":memory:", "CREATE TABLE t(x INTEGER PRIMARY KEY, b);"
                                              "PRAGMA capture_data_changes_conn('full');"
                                              "INSERT INTO t VALUES (1, zeroblob(600))");
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1000);
    assert_fails(db, "INSERT INTO t VALUES (2, 'short'); UPDATE t SET b=zeroblob(601)", "full");
    assert_value(db, "SELECT group_concat(x || length(b)) FROM t ORDER BY x", "1600,25");
    close_whole(db);
}

/* Each image is shorter than a row may be, the record of both is not. With an index on the log every statement has a
 * journal; without one, a statement that changes a single row has none, and the transaction goes. */
static void images_that_are_too_long_together_undo_their_statement(void **state)
{
    (void)state;
    for (int is_indexed = 0; is_indexed < 2; is_indexed++) {
        sqlite3 *const db = open_with(
            ":memory:", "CREATE TABLE t(x INTEGER PRIMARY KEY, b, u UNIQUE);"
                        "PRAGMA capture_data_changes_conn('full');"
                        "INSERT INTO t VALUES (1, zeroblob(450), 'a'), (2, 'short', 'b')");
        if (is_indexed) {
            run(db, "CREATE INDEX log_index ON turso_cdc(table_name, id, after)");
        }
        run(db, "DELETE FROM turso_cdc");
        (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1000);
        assert_fails(db, "UPDATE t SET b=zeroblob(450), u=u || x", "database or disk is full");
        assert_int_equal(sqlite3_extended_errcode(db), SQLITE_FULL);
        assert_fails(db, "INSERT INTO t VALUES (3, 0, 'c'), (4, zeroblob(985), 'd')", "full");
        assert_value(db, "SELECT group_concat(x || length(b) || u) FROM t", "1450a,25b");
        run(db, "BEGIN; INSERT INTO t VALUES (5, 0, 'e')");
        assert_fails(db, "UPDATE t SET b=zeroblob(460) WHERE x=1", "full");
        assert_int_equal(sqlite3_get_autocommit(db), !is_indexed);
        run(db, is_indexed ? "COMMIT" : "INSERT INTO t VALUES (5, 0, 'e')");
        assert_value(db, "SELECT group_concat(x || length(b) || u) FROM t", "1450a,25b,51e");
        assert_value(db,
                     "SELECT group_concat(change_type || coalesce(id, '')) FROM turso_cdc "
                     "WHERE table_name IS NOT 'sqlite_schema'",
                     "15,2");
        close_whole(db);
    }
}

/* SQLite finds that the new row is too long when it has already marked the old one for REPLACE. */
static void a_row_that_is_too_long_replaces_nothing(void **state)
{
    (void)state;
    sqlite3 *const db = open_with(":memory:", "CREATE TABLE t(x INTEGER PRIMARY KEY, a, b);"
                                              "PRAGMA capture_data_changes_conn('full');"
                                              "INSERT INTO t VALUES (1, 'a', 'b');"
                                              "DELETE FROM turso_cdc; BEGIN");
    const int limit = sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1000);
    assert_fails(db, "REPLACE INTO t VALUES (1, zeroblob(600), zeroblob(600))", "too big");
    run(db, "INSERT INTO t VALUES (2, 'c', 'd')");
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, limit);
    run(db, "COMMIT");
    assert_log(db, "3 3 1 t 2 | - | [2,'c','d'] | -\n4 3 C\n");
    assert_value(db, "SELECT group_concat(x || a || b) FROM t", "1ab,2cd");
    close_whole(db);
}

static void a_blob_whose_record_is_too_long_takes_the_transaction_along(void **state)
{
    (void)state;
    for (int is_indexed = 0; is_indexed < 2; is_indexed++) {
        sqlite3_blob *blob = NULL;
        sqlite3 *const db =
            open_with(":memory:", "CREATE TABLE t(b); INSERT INTO t VALUES (zeroblob(600));"
                                  "PRAGMA capture_data_changes_conn('full')");
        run(db, is_indexed ? "CREATE INDEX log_index ON turso_cdc(id)" : "SELECT 1");
        (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1000);
        run(db, "BEGIN; INSERT INTO t VALUES (2)");
        assert_int_equal(sqlite3_blob_open(db, "main", "t", "b", 1, 1, &blob), SQLITE_OK);
        assert_int_equal(sqlite3_blob_write(blob, "\xaa", 1, 0), SQLITE_ABORT);
        assert_int_equal(sqlite3_blob_write(blob, "\xaa", 1, 0), SQLITE_ABORT);
        (void)sqlite3_blob_close(blob);
        assert_int_equal(sqlite3_get_autocommit(db), 1);
        assert_value(db, "SELECT group_concat(length(b) || (b=zeroblob(600))) FROM t", "6001");
        close_whole(db);
    }
}

static void texts_are_kept_byte_by_byte(void **state)
{
    (void)state;
    sqlite3 *const db = open_with(":memory:", "CREATE TABLE t(x INTEGER PRIMARY KEY, s TEXT);"
                                              "PRAGMA capture_data_changes_conn('full');"
                                              "INSERT INTO t VALUES (1, CAST(x'610062' AS TEXT)),"
                                              "(2, CAST(x'ff80fe' AS TEXT)), (3, '')");
    assert_value(db, "SELECT group_concat(hex(after)) FROM turso_cdc WHERE change_type=1",
                 "030913610062,03011302FF80FE,03010D03");
    assert_value(db,
                 "SELECT bin_record_json_object('[\"x\",\"s\"]', after) FROM turso_cdc WHERE "
                 "change_id=1",
                 "{\"x\":1,\"s\":\"a\\u0000b\"}");
    assert_fails(db,
                 "SELECT bin_record_json_object('[\"x\",\"s\"]', after) FROM turso_cdc WHERE "
                 "change_id=2",
                 "not valid UTF-8");
    close_whole(db);
}

/* --- databases that cannot be written --- */

static void a_database_that_is_read_only_cannot_be_captured(void **state)
{
    sqlite3 *db = NULL;
    (void)state;
    make_file("CREATE TABLE t(x); PRAGMA capture_data_changes_default('full')");
    assert_int_equal(sqlite3_open_v2(DATABASE, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_fails(db, "PRAGMA capture_data_changes_conn('full,other')", "readonly");
    assert_fails(db, "INSERT INTO t VALUES (1)", "readonly");
    assert_value(db, "SELECT count(*) FROM pragma_capture_data_changes_gaps", "0");
    run(db, "PRAGMA capture_data_changes_conn('off')");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    db = open_with(DATABASE, "PRAGMA query_only=1");
    assert_fails(db, "PRAGMA capture_data_changes_conn('full,other')", "readonly");
    assert_fails(db, "INSERT INTO t VALUES (1)", "readonly");
    run(db, "PRAGMA query_only=0; INSERT INTO t VALUES (1)");
    assert_log(db, "1 1 1 t 1 | - | [1] | -\n2 1 C\n");
    close_whole(db);
}

static void a_locked_database_changes_nothing(void **state)
{
    (void)state;
    make_file("CREATE TABLE t(x)");
    sqlite3 *const a = open_with(DATABASE, "BEGIN IMMEDIATE");
    sqlite3 *const b = open_with(DATABASE, "SELECT * FROM t");
    assert_fails(b, "PRAGMA capture_data_changes_conn('full')", "locked");
    assert_value(b, "SELECT mode FROM pragma_capture_data_changes_conn", "off");
    run(a, "COMMIT");
    run(b, "PRAGMA capture_data_changes_conn('full')");
    run(a, "BEGIN; SELECT * FROM t");
    run(b, "BEGIN; INSERT INTO t VALUES (1)");
    assert_fails(b, "COMMIT", "locked");
    assert_fails(b, "COMMIT", "locked");
    run(a, "COMMIT");
    run(b, "COMMIT");
    assert_log(b, "1 1 1 t 1 | - | [1] | -\n2 1 C\n");
    assert_int_equal(sqlite3_close(a), SQLITE_OK);
    close_whole(b);
}

/* --- functions --- */

static void the_columns_of_a_table_are_known_to_a_new_connection(void **state)
{
    (void)state;
    make_file("CREATE TABLE t(x)");
    sqlite3 *const a = open_with(DATABASE, "SELECT 1");
    assert_value(a, "SELECT table_columns_json_array('t')", "[\"x\"]");
    sqlite3 *const b = open_with(DATABASE, "ALTER TABLE t ADD COLUMN y");
    assert_value(a, "SELECT table_columns_json_array('t')", "[\"x\",\"y\"]");
    close_whole(a);
    close_whole(b);
}

int main(int argument_count, char **arguments)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(a_blob_outlives_the_shape_of_its_table),
        cmocka_unit_test(a_wish_is_read_while_the_schema_is_old),
        cmocka_unit_test(a_failed_alter_leaves_an_old_schema),
        cmocka_unit_test(a_written_database_is_not_replaced),
        cmocka_unit_test(a_wish_that_names_no_log_writes_nothing_there),
        cmocka_unit_test(a_wish_of_an_utf16_database_is_refused),
        cmocka_unit_test(an_utf16_database_that_takes_the_place_is_refused),
        cmocka_unit_test(a_log_keeps_the_columns_that_follow_from_others),
        cmocka_unit_test(a_blob_whose_record_is_refused_takes_the_transaction_along),
        cmocka_unit_test(a_record_that_is_too_long_undoes_its_statement),
        cmocka_unit_test(images_that_are_too_long_together_undo_their_statement),
        cmocka_unit_test(a_row_that_is_too_long_replaces_nothing),
        cmocka_unit_test(a_blob_whose_record_is_too_long_takes_the_transaction_along),
        cmocka_unit_test(texts_are_kept_byte_by_byte),
        cmocka_unit_test(a_database_that_is_read_only_cannot_be_captured),
        cmocka_unit_test(a_locked_database_changes_nothing),
        cmocka_unit_test(the_columns_of_a_table_are_known_to_a_new_connection),
    };
    if (argument_count > 1) {
        cmocka_set_test_filter(arguments[1]);
    }
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
