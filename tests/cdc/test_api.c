/* test_api.c: capture through the C interface: blobs, hooks, prepared statements, counters, copies. */
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include "decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static sqlite3 *open_captured(const char *schema)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, schema, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA capture_data_changes_conn('full')", NULL, NULL, NULL),
                     SQLITE_OK);
    return db;
}

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    return statement;
}

static void assert_log(sqlite3 *db, const char *expected)
{
    Text text = {0};
    text_add_log(&text, db, "turso_cdc", 0);
    assert_string_equal(text_get(&text), expected);
    text_free(&text);
}

static void close_captured(sqlite3 *db)
{
    sqlite3_stmt *const check = prepare(db, "PRAGMA integrity_check");
    assert_int_equal(sqlite3_step(check), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(check, 0), "ok");
    sqlite3_finalize(check);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- incremental blobs --- */

static void a_blob_write_is_an_update(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(x INTEGER PRIMARY KEY, b BLOB, r REAL);"
                                      "INSERT INTO t VALUES (7, x'00112233', 1)");
    sqlite3_blob *blob = NULL;
    assert_int_equal(sqlite3_blob_open(db, "main", "t", "b", 7, 1, &blob), SQLITE_OK);
    assert_int_equal(sqlite3_blob_write(blob, "\xaa\xbb", 2, 1), SQLITE_OK);
    assert_int_equal(sqlite3_blob_write(blob, "\xcc", 1, 3), SQLITE_OK);
    assert_int_equal(sqlite3_blob_write(blob, "\xcc", 1, 4), SQLITE_ERROR);
    assert_int_equal(sqlite3_blob_close(blob), SQLITE_OK);
    assert_log(db, "1 1 0 t 7 | [7,x'00112233',1.0] | [7,x'00aabb33',1.0] | "
                   "[0,1,0,NULL,x'00aabb33',NULL]\n"
                   "2 1 0 t 7 | [7,x'00aabb33',1.0] | [7,x'00aabbcc',1.0] | "
                   "[0,1,0,NULL,x'00aabbcc',NULL]\n"
                   "3 1 C\n");
    close_captured(db);
}

static void reading_a_blob_leaves_nothing(void **state)
{
    (void)state;
    char bytes[2];
    sqlite3 *const db = open_captured("CREATE TABLE t(b); INSERT INTO t VALUES (x'0011')");
    sqlite3_blob *blob = NULL;
    assert_int_equal(sqlite3_blob_open(db, "main", "t", "b", 1, 1, &blob), SQLITE_OK);
    assert_int_equal(sqlite3_blob_read(blob, bytes, 2, 0), SQLITE_OK);
    assert_int_equal(sqlite3_blob_close(blob), SQLITE_OK);
    assert_log(db, "");
    close_captured(db);
}

static void a_large_blob_is_captured_in_a_transaction(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(b); INSERT INTO t VALUES (zeroblob(100000))");
    sqlite3_blob *blob = NULL;
    run(db, "BEGIN");
    assert_int_equal(sqlite3_blob_open(db, "main", "t", "b", 1, 1, &blob), SQLITE_OK);
    assert_int_equal(sqlite3_blob_write(blob, "end", 3, 99997), SQLITE_OK);
    assert_int_equal(sqlite3_blob_close(blob), SQLITE_OK);
    run(db, "COMMIT");
    sqlite3_stmt *const row =
        prepare(db, "SELECT length(before), length(after), substr(after,-3)=CAST('end' AS BLOB), "
                    "length(updates) FROM turso_cdc WHERE change_id=1");
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(row, 0), 100004);
    assert_int_equal(sqlite3_column_int(row, 1), 100004);
    assert_int_equal(sqlite3_column_int(row, 2), 1);
    assert_int_equal(sqlite3_column_int(row, 3), 100005);
    sqlite3_finalize(row);
    close_captured(db);
}

static void a_blob_of_an_attached_database_is_not_captured(void **state)
{
    (void)state;
    sqlite3 *const db =
        open_captured("CREATE TABLE t(b); ATTACH ':memory:' AS aux; CREATE TABLE aux.t(b);"
                      "INSERT INTO aux.t VALUES (x'0011')");
    sqlite3_blob *blob = NULL;
    assert_int_equal(sqlite3_blob_open(db, "aux", "t", "b", 1, 1, &blob), SQLITE_OK);
    assert_int_equal(sqlite3_blob_write(blob, "x", 1, 0), SQLITE_OK);
    assert_int_equal(sqlite3_blob_close(blob), SQLITE_OK);
    assert_log(db, "");
    close_captured(db);
}

/* --- prepared statements --- */

static void a_statement_obeys_the_setting_when_it_runs(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    run(db, "CREATE TABLE t(x)");
    sqlite3_stmt *const insert = prepare(db, "INSERT INTO t VALUES (?1)");
    for (int i = 0; i < 4; i++) {
        static const char *const SETTINGS[] = {"off", "full", "id", "off"};
        char *const pragma = sqlite3_mprintf("PRAGMA capture_data_changes_conn('%s')", SETTINGS[i]);
        run(db, pragma);
        sqlite3_free(pragma);
        sqlite3_bind_int(insert, 1, i);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        assert_int_equal(sqlite3_reset(insert), SQLITE_OK);
    }
    sqlite3_finalize(insert);
    assert_log(db, "1 1 1 t 2 | - | [1] | -\n2 1 C\n3 3 1 t 3 | - | - | -\n4 3 C\n");
    close_captured(db);
}

static void a_bad_mode_is_told_at_once_and_a_bad_table_when_it_runs(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(x)");
    sqlite3_stmt *set = NULL;
    assert_int_equal(
        sqlite3_prepare_v2(db, "PRAGMA capture_data_changes_conn('all')", -1, &set, NULL),
        SQLITE_ERROR);
    assert_null(set);
    set = prepare(db, "PRAGMA capture_data_changes_conn('id,t')");
    assert_int_equal(sqlite3_column_count(set), 0);
    assert_int_equal(sqlite3_step(set), SQLITE_ERROR);
    assert_string_equal(sqlite3_errmsg(db), "t exists and is not a change log");
    assert_int_equal(sqlite3_finalize(set), SQLITE_ERROR);
    sqlite3_stmt *const get = prepare(db, "PRAGMA capture_data_changes_conn");
    assert_int_equal(sqlite3_column_count(get), 3);
    assert_string_equal(sqlite3_column_name(get, 0), "mode");
    assert_string_equal(sqlite3_column_name(get, 1), "table");
    assert_string_equal(sqlite3_column_name(get, 2), "version");
    assert_int_equal(sqlite3_step(get), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(get, 0), "full");
    assert_int_equal(sqlite3_step(get), SQLITE_DONE);
    sqlite3_finalize(get);
    close_captured(db);
}

static void a_running_statement_ends_as_it_began(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(x)");
    sqlite3_stmt *const insert = prepare(db, "INSERT INTO t VALUES (1),(2) RETURNING x");
    assert_int_equal(sqlite3_step(insert), SQLITE_ROW);
    run(db, "PRAGMA capture_data_changes_conn('off')");
    assert_int_equal(sqlite3_step(insert), SQLITE_ROW);
    assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_finalize(insert);
    assert_log(db, "1 1 1 t 1 | - | [1] | -\n2 1 1 t 2 | - | [2] | -\n3 1 C\n");
    close_captured(db);
}

static void two_writers_make_one_transaction(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(x)");
    sqlite3_stmt *const insert = prepare(db, "INSERT INTO t VALUES (1) RETURNING x");
    assert_int_equal(sqlite3_step(insert), SQLITE_ROW);
    run(db, "INSERT INTO t VALUES (2)");
    assert_log(db, "1 1 1 t 1 | - | [1] | -\n2 1 1 t 2 | - | [2] | -\n");
    sqlite3_finalize(insert);
    assert_log(db, "1 1 1 t 1 | - | [1] | -\n2 1 1 t 2 | - | [2] | -\n3 1 C\n");
    close_captured(db);
}

static void an_open_reader_does_not_hold_up_the_commit_record(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(x); INSERT INTO t VALUES (1),(2)");
    sqlite3_stmt *const reader = prepare(db, "SELECT x FROM t");
    assert_int_equal(sqlite3_step(reader), SQLITE_ROW);
    run(db, "INSERT INTO t VALUES (3)");
    run(db, "BEGIN; INSERT INTO t VALUES (4); COMMIT");
    assert_log(db, "1 1 1 t 3 | - | [3] | -\n2 1 C\n3 3 1 t 4 | - | [4] | -\n4 3 C\n");
    sqlite3_finalize(reader);
    close_captured(db);
}

static void nested_statement(sqlite3_context *context, int count, sqlite3_value **arguments)
{
    (void)count;
    char *const sql = sqlite3_mprintf("INSERT INTO t VALUES (%d)", sqlite3_value_int(arguments[0]));
    (void)sqlite3_exec(sqlite3_context_db_handle(context), sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    sqlite3_result_int(context, 1);
}

static void statements_in_functions_join_the_transaction(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(x); CREATE TABLE u(x)");
    sqlite3_create_function(db, "nested", 1, SQLITE_UTF8, NULL, nested_statement, NULL, NULL);
    run(db, "INSERT INTO u SELECT nested(value) FROM json_each('[7,8]')");
    assert_log(db, "1 1 1 t 1 | - | [7] | -\n2 1 1 u 1 | - | [1] | -\n3 1 1 t 2 | - | [8] | -\n"
                   "4 1 1 u 2 | - | [1] | -\n5 1 C\n");
    run(db, "SELECT nested(9)");
    close_captured(db);
}

static void the_log_index_does_not_keep_a_statement_open(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(x)");
    run(db, "CREATE INDEX i ON turso_cdc(id); INSERT INTO t VALUES (1)");
    assert_null(sqlite3_next_stmt(db, NULL));
    close_captured(db);
}

/* --- hooks of the application --- */

typedef struct Seen {
    Text text;
    int denies;
} Seen;

static void on_update(void *user, int op, const char *database, const char *table,
                      sqlite3_int64 rowid)
{
    Seen *const seen = user;
    (void)database;
    text_add(&seen->text, "%d %s %lld;", op, table, rowid);
}

static void on_preupdate(void *user, sqlite3 *db, int op, const char *database, const char *table,
                         sqlite3_int64 old_rowid, sqlite3_int64 new_rowid)
{
    (void)db;
    (void)new_rowid;
    on_update(user, op + 100, database, table, old_rowid);
}

static int on_authorize(void *user, int action, const char *a, const char *b, const char *c,
                        const char *d)
{
    Seen *const seen = user;
    (void)b;
    (void)c;
    (void)d;
    if (a != NULL && strstr(a, "turso_cdc") != NULL) {
        text_add(&seen->text, "%d %s;", action, a);
        return SQLITE_DENY;
    }
    return SQLITE_OK;
}

static int on_trace(unsigned kind, void *user, void *statement, void *text)
{
    Seen *const seen = user;
    (void)statement;
    if (kind == SQLITE_TRACE_STMT) {
        text_add(&seen->text, "%s;", (const char *)text);
    }
    return 0;
}

static int on_commit(void *user)
{
    return ((Seen *)user)->denies;
}

static void application_hooks_see_only_the_users_rows(void **state)
{
    (void)state;
    Seen seen = {0};
    sqlite3 *const db = open_captured("CREATE TABLE t(x)");
    run(db, "CREATE INDEX i ON turso_cdc(id)");
    for (int indexed = 1; indexed >= 0; indexed--) {
        sqlite3_update_hook(db, on_update, &seen);
        sqlite3_preupdate_hook(db, on_preupdate, &seen);
        run(db, "INSERT INTO t VALUES (1)");
        assert_string_equal(text_get(&seen.text), indexed ? "118 t 1;18 t 1;" : "118 t 2;18 t 2;");
        text_clear(&seen.text);
        sqlite3_update_hook(db, NULL, NULL);
        sqlite3_preupdate_hook(db, NULL, NULL);
        sqlite3_set_authorizer(db, on_authorize, &seen);
        sqlite3_trace_v2(db, SQLITE_TRACE_STMT, on_trace, &seen);
        run(db, "UPDATE t SET x=2 WHERE rowid=1");
        assert_string_equal(text_get(&seen.text), "UPDATE t SET x=2 WHERE rowid=1;");
        sqlite3_set_authorizer(db, NULL, NULL);
        sqlite3_trace_v2(db, 0, NULL, NULL);
        text_clear(&seen.text);
        run(db, "DROP INDEX IF EXISTS i");
    }
    text_free(&seen.text);
    close_captured(db);
}

static void dropping_a_table_asks_the_authorizer_about_nothing_of_ours(void **state)
{
    (void)state;
    Seen seen = {0};
    sqlite3 *const db = open_captured("CREATE TABLE t(x)");
    sqlite3_set_authorizer(db, on_authorize, &seen);
    run(db, "DROP TABLE t");
    assert_string_equal(text_get(&seen.text), "");
    assert_int_equal(sqlite3_exec(db, "DROP TABLE turso_cdc", NULL, NULL, NULL), SQLITE_AUTH);
    assert_string_equal(text_get(&seen.text), "11 turso_cdc;");
    sqlite3_set_authorizer(db, NULL, NULL);
    run(db, "DROP TABLE turso_cdc");
    text_free(&seen.text);
    close_captured(db);
}

static void a_commit_hook_that_refuses_takes_the_records_along(void **state)
{
    (void)state;
    Seen seen = {.denies = 1};
    sqlite3 *const db = open_captured("CREATE TABLE t(x)");
    sqlite3_commit_hook(db, on_commit, &seen);
    assert_int_equal(sqlite3_exec(db, "INSERT INTO t VALUES (1)", NULL, NULL, NULL),
                     SQLITE_CONSTRAINT);
    run(db, "BEGIN; INSERT INTO t VALUES (1)");
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_CONSTRAINT);
    assert_int_equal(sqlite3_get_autocommit(db), 1);
    seen.denies = 0;
    run(db, "INSERT INTO t VALUES (2)");
    assert_log(db, "1 1 1 t 1 | - | [2] | -\n2 1 C\n");
    close_captured(db);
}

static void a_session_sees_only_the_users_rows(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(x INTEGER PRIMARY KEY, y)");
    sqlite3_session *session = NULL;
    assert_int_equal(sqlite3session_create(db, "main", &session), SQLITE_OK);
    assert_int_equal(sqlite3session_attach(session, NULL), SQLITE_OK);
    run(db, "INSERT INTO t VALUES (1,2); UPDATE t SET y=3");
    int size = 0;
    void *changes = NULL;
    assert_int_equal(sqlite3session_changeset(session, &size, &changes), SQLITE_OK);
    sqlite3_changeset_iter *iterator = NULL;
    assert_int_equal(sqlite3changeset_start(&iterator, size, changes), SQLITE_OK);
    int count = 0;
    while (sqlite3changeset_next(iterator) == SQLITE_ROW) {
        const char *table = NULL;
        int columns;
        int op;
        int is_indirect;
        assert_int_equal(sqlite3changeset_op(iterator, &table, &columns, &op, &is_indirect),
                         SQLITE_OK);
        assert_string_equal(table, "t");
        count++;
    }
    assert_int_equal(count, 1);
    assert_int_equal(sqlite3changeset_finalize(iterator), SQLITE_OK);
    sqlite3_free(changes);
    sqlite3session_delete(session);
    close_captured(db);
}

/* --- the database below is replaced --- */

static void a_deserialized_database_is_captured(void **state)
{
    (void)state;
    sqlite3_int64 size = 0;
    sqlite3 *const source = open_captured("CREATE TABLE t(x)");
    run(source, "INSERT INTO t VALUES (1)");
    unsigned char *const image = sqlite3_serialize(source, "main", &size, 0);
    assert_non_null(image);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_deserialize(db, "main", image, size, size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
        SQLITE_OK);
    run(db, "PRAGMA capture_data_changes_conn('full'); INSERT INTO t VALUES (2)");
    assert_log(db, "1 1 1 t 1 | - | [1] | -\n2 1 C\n3 3 1 t 2 | - | [2] | -\n4 3 C\n");
    close_captured(db);
    close_captured(source);
}

static void a_database_replaced_by_one_without_a_log_says_so(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(x)");
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(":memory:", &other), SQLITE_OK);
    run(other, "CREATE TABLE t(x)");
    sqlite3_backup *const backup = sqlite3_backup_init(db, "main", other, "main");
    assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "INSERT INTO t VALUES (1)", NULL, NULL, NULL), SQLITE_ERROR);
    assert_string_equal(sqlite3_errmsg(db), "no such table: turso_cdc");
    run(db, "PRAGMA capture_data_changes_conn('off'); PRAGMA capture_data_changes_conn('full');"
            "INSERT INTO t VALUES (1)");
    assert_log(db, "1 1 1 t 1 | - | [1] | -\n2 1 C\n");
    close_captured(db);
    close_captured(other);
}

static void connections_with_a_shared_cache_capture(void **state)
{
    (void)state;
    sqlite3 *a = NULL;
    sqlite3 *b = NULL;
    assert_int_equal(sqlite3_open("file:cdc_shared?mode=memory&cache=shared", &a), SQLITE_OK);
    assert_int_equal(sqlite3_open("file:cdc_shared?mode=memory&cache=shared", &b), SQLITE_OK);
    run(a, "CREATE TABLE t(x); PRAGMA capture_data_changes_conn('full')");
    run(b, "PRAGMA capture_data_changes_conn('id')");
    run(a, "BEGIN; INSERT INTO t VALUES (1)");
    assert_int_equal(sqlite3_exec(b, "INSERT INTO t VALUES (2)", NULL, NULL, NULL), SQLITE_LOCKED);
    run(a, "COMMIT");
    run(b, "INSERT INTO t VALUES (2)");
    assert_log(a, "1 1 1 t 1 | - | [1] | -\n2 1 C\n3 3 1 t 2 | - | - | -\n4 3 C\n");
    assert_int_equal(sqlite3_close(b), SQLITE_OK);
    close_captured(a);
}

static int stop_after(void *user)
{
    int *const left = user;
    return --*left <= 0;
}

static void an_interrupted_insert_leaves_nothing(void **state)
{
    (void)state;
    int left = 20;
    sqlite3 *const db = open_captured("CREATE TABLE t(x)");
    sqlite3_progress_handler(db, 100, stop_after, &left);
    assert_int_equal(
        sqlite3_exec(db,
                     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 9999) "
                     "INSERT INTO t SELECT i FROM n",
                     NULL, NULL, NULL),
        SQLITE_INTERRUPT);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    assert_log(db, "");
    run(db, "INSERT INTO t VALUES (1)");
    assert_log(db, "1 1 1 t 1 | - | [1] | -\n2 1 C\n");
    close_captured(db);
}

static void open_zombies_are_freed(void **state)
{
    (void)state;
    sqlite3 *const db = open_captured("CREATE TABLE t(x)");
    sqlite3_stmt *const insert = prepare(db, "INSERT INTO t VALUES (1) RETURNING x");
    assert_int_equal(sqlite3_step(insert), SQLITE_ROW);
    assert_int_equal(sqlite3_close(db), SQLITE_BUSY);
    assert_int_equal(sqlite3_close_v2(db), SQLITE_OK);
    assert_int_equal(sqlite3_finalize(insert), SQLITE_OK);
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(a_blob_write_is_an_update),
        cmocka_unit_test(reading_a_blob_leaves_nothing),
        cmocka_unit_test(a_large_blob_is_captured_in_a_transaction),
        cmocka_unit_test(a_blob_of_an_attached_database_is_not_captured),
        cmocka_unit_test(a_statement_obeys_the_setting_when_it_runs),
        cmocka_unit_test(a_bad_mode_is_told_at_once_and_a_bad_table_when_it_runs),
        cmocka_unit_test(a_running_statement_ends_as_it_began),
        cmocka_unit_test(two_writers_make_one_transaction),
        cmocka_unit_test(an_open_reader_does_not_hold_up_the_commit_record),
        cmocka_unit_test(statements_in_functions_join_the_transaction),
        cmocka_unit_test(the_log_index_does_not_keep_a_statement_open),
        cmocka_unit_test(application_hooks_see_only_the_users_rows),
        cmocka_unit_test(dropping_a_table_asks_the_authorizer_about_nothing_of_ours),
        cmocka_unit_test(a_commit_hook_that_refuses_takes_the_records_along),
        cmocka_unit_test(a_session_sees_only_the_users_rows),
        cmocka_unit_test(a_deserialized_database_is_captured),
        cmocka_unit_test(a_database_replaced_by_one_without_a_log_says_so),
        cmocka_unit_test(connections_with_a_shared_cache_capture),
        cmocka_unit_test(an_interrupted_insert_leaves_nothing),
        cmocka_unit_test(open_zombies_are_freed),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
