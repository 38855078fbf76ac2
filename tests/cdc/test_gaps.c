/* test_gaps.c: writes without capture are told, and only those.
 *
 *     cdc_gaps WRITER    where WRITER DATABASE SQL... is another SQLite */
#include "decode.h"

#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MOVED "the change counter has moved\n"
#define FURTHER "the write-ahead log has further transactions\n"
#define SWITCHED "capture was switched within a transaction\n"
#define ANEW "the write-ahead log was begun anew\n"

static char *writer; /* borrowed from the arguments */
static char database[] = "gaps.db";

static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

static sqlite3 *open_plain(void)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
    return db;
}

static sqlite3 *open_captured(void)
{
    sqlite3 *const db = open_plain();
    run(db, "PRAGMA capture_data_changes_conn('full')");
    return db;
}

/* A new database with a table and two captured transactions, records 1 to 4. */
static void make_database(const char *journal)
{
    static const char *const SUFFIXES[] = {"", "-wal", "-shm", "-journal"};
    char *const setting = sqlite3_mprintf("PRAGMA journal_mode=%s", journal);
    for (int i = 0; i < 4; i++) {
        char *const name = sqlite3_mprintf("%s%s", database, SUFFIXES[i]);
        (void)unlink(name);
        sqlite3_free(name);
    }
    sqlite3 *const db = open_plain();
    run(db, setting);
    run(db, "CREATE TABLE t(x INTEGER PRIMARY KEY, y); INSERT INTO t(y) VALUES (0)");
    run(db, "PRAGMA capture_data_changes_conn('full')");
    run(db, "INSERT INTO t(y) VALUES (1); UPDATE t SET y=y+1 WHERE x=1");
    sqlite3_free(setting);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void write_elsewhere(char *sql)
{
    char *arguments[] = {writer, database, sql, NULL};
    pid_t child;
    int status = 0;
    assert_int_equal(posix_spawn(&child, writer, NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static char update[] = "UPDATE t SET y=y+1 WHERE x=1";

static void assert_gaps(sqlite3 *db, const char *expected)
{
    Text text = {0};
    sqlite3_stmt *row = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA capture_data_changes_gaps", -1, &row, NULL),
                     SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        const char *const before = (const char *)sqlite3_column_text(row, 1);
        text_add(&text, "%s %s %s\n", sqlite3_column_text(row, 0), before == NULL ? "-" : before,
                 sqlite3_column_text(row, 2));
    }
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
    assert_string_equal(text_get(&text), expected);
    text_free(&text);
}

/* The gaps as a new connection sees them, which does not capture. */
static void assert_gaps_anew(const char *expected)
{
    sqlite3 *const db = open_plain();
    assert_gaps(db, expected);
    sqlite3_stmt *check = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &check, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(check), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(check, 0), "ok");
    assert_int_equal(sqlite3_finalize(check), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static const char *const JOURNALS[] = {"DELETE", "TRUNCATE", "PERSIST", "WAL"};

/* --- no gap --- */

static void captured_transactions_leave_no_gap(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        make_database(JOURNALS[i]);
        assert_gaps_anew("");
        sqlite3 *const a = open_captured();
        sqlite3 *const b = open_captured();
        for (int k = 0; k < 5; k++) {
            run(a, "INSERT INTO t(y) VALUES (1)");
            run(b, "BEGIN; INSERT INTO t(y) VALUES (1),(zeroblob(20000)); COMMIT");
            run(b, "BEGIN; DELETE FROM t WHERE x=2; ROLLBACK");
            run(b, "BEGIN IMMEDIATE; COMMIT");
        }
        assert_gaps(a, "");
        assert_gaps(b, "");
        assert_int_equal(sqlite3_close(a), SQLITE_OK);
        run(b, update);
        assert_int_equal(sqlite3_close(b), SQLITE_OK);
        assert_gaps_anew("");
    }
}

static void what_leaves_no_record_leaves_no_gap(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        make_database(JOURNALS[i]);
        sqlite3 *const a = open_captured();
        sqlite3 *const b = open_captured();
        run(a, "CREATE VIEW v AS SELECT 1; CREATE TEMP TABLE k(z); INSERT INTO k VALUES (1)");
        run(b, "DELETE FROM turso_cdc WHERE change_id<3");
        run(a, "ANALYZE; PRAGMA user_version=7");
        run(b, "PRAGMA capture_data_changes_default('full')");
        run(a, "PRAGMA capture_data_changes_default('off')");
        run(b, "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END");
        assert_gaps(a, "");
        run(a, update);
        run(b, update);
        run(b, "VACUUM");
        run(b, update);
        assert_gaps(b, "");
        assert_int_equal(sqlite3_close(a), SQLITE_OK);
        assert_int_equal(sqlite3_close(b), SQLITE_OK);
        assert_gaps_anew("");
    }
}

static void checkpoints_leave_no_gap(void **state)
{
    (void)state;
    static const char *const CHECKPOINTS[] = {"PASSIVE", "FULL", "RESTART", "TRUNCATE"};
    make_database("WAL");
    sqlite3 *const a = open_captured();
    sqlite3 *const b = open_captured();
    for (int i = 0; i < 16; i++) {
        char *const checkpoint = sqlite3_mprintf("PRAGMA wal_checkpoint(%s)", CHECKPOINTS[i % 4]);
        run(i % 3 == 0 ? a : b, checkpoint);
        sqlite3_free(checkpoint);
        run(i % 2 == 0 ? a : b, "INSERT INTO t(y) VALUES (zeroblob(9000))");
        assert_gaps(a, "");
        assert_gaps(b, "");
    }
    run(a, "PRAGMA journal_mode");
    assert_int_equal(sqlite3_close(b), SQLITE_OK);
    run(a, "PRAGMA journal_mode=DELETE; INSERT INTO t(y) VALUES (1); PRAGMA journal_mode=WAL");
    run(a, "INSERT INTO t(y) VALUES (1)");
    assert_gaps(a, "");
    assert_int_equal(sqlite3_close(a), SQLITE_OK);
    assert_gaps_anew("");
}

static void a_log_in_exclusive_mode_has_no_gap(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        make_database(JOURNALS[i]);
        sqlite3 *const db = open_plain();
        run(db, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA capture_data_changes_conn('full')");
        run(db, "INSERT INTO t(y) VALUES (1)");
        run(db, update);
        run(db, update);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_gaps_anew("");
    }
}

/* --- gaps --- */

static void a_write_by_others_is_a_gap(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        make_database(JOURNALS[i]);
        write_elsewhere(update);
        assert_gaps_anew("4 - " MOVED);
        sqlite3 *const db = open_captured();
        run(db, "INSERT INTO t(y) VALUES (1)");
        assert_gaps(db, "4 5 " MOVED);
        run(db, update);
        write_elsewhere(update);
        assert_gaps(db, "4 5 " MOVED "8 - " MOVED);
        run(db, "BEGIN; INSERT INTO t(y) VALUES (1); ROLLBACK");
        run(db, update);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_gaps_anew("4 5 " MOVED "8 9 " MOVED);
    }
}

static void a_write_to_the_write_ahead_log_is_a_gap(void **state)
{
    (void)state;
    make_database("WAL");
    sqlite3 *const db = open_captured();
    run(db, update);
    write_elsewhere(update);
    assert_gaps(db, "6 - " FURTHER);
    run(db, update);
    assert_gaps(db, "6 7 " FURTHER);
    run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    write_elsewhere(update);
    assert_gaps(db, "6 7 " FURTHER "8 - " ANEW);
    run(db, update);
    run(db, "PRAGMA wal_checkpoint(RESTART)");
    write_elsewhere(update);
    run(db, update);
    assert_gaps(db, "6 7 " FURTHER "8 9 " ANEW "10 11 " FURTHER);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The pages of a large transaction go into the log before it ends, which may then be begun anew, over what others
 * wrote. */
static void a_large_transaction_does_not_cover_what_others_wrote(void **state)
{
    static char twice[] = "UPDATE t SET y=y+1 WHERE x=1; PRAGMA wal_checkpoint(RESTART);"
                          "UPDATE t SET y=y+1 WHERE x=1; PRAGMA wal_checkpoint(RESTART)";
    static const char *const LARGE[] = {
        "BEGIN; INSERT INTO t(y) VALUES (zeroblob(200000)),(zeroblob(200000)); COMMIT",
        "CREATE TABLE u AS SELECT y FROM t",
        "CREATE INDEX i ON t(y)",
    };
    static const char *const GAPS[] = {"6 7 " ANEW, "6 7 " ANEW "9 10 " ANEW,
                                       "6 7 " ANEW "9 10 " ANEW "15 16 " ANEW};
    (void)state;
    make_database("WAL");
    sqlite3 *const db = open_captured();
    run(db, update);
    run(db, "PRAGMA cache_size=5");
    for (int i = 0; i < 3; i++) {
        write_elsewhere(twice);
        run(db, LARGE[i]);
        assert_gaps(db, GAPS[i]);
        run(db, "PRAGMA wal_checkpoint(RESTART)");
    }
    for (int i = 0; i < 3; i++) {
        run(db, "BEGIN; INSERT INTO t(y) VALUES (randomblob(200000)),(zeroblob(200000)); COMMIT");
        run(db, "PRAGMA wal_checkpoint(RESTART)");
    }
    assert_gaps(db, GAPS[2]);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_gaps_anew(GAPS[2]);
}

/* When the last connection closes, the write-ahead log goes. What is in a new one is not ours. */
static void a_new_write_ahead_log_is_a_gap(void **state)
{
    (void)state;
    make_database("WAL");
    sqlite3 *const reader = open_plain();
    run(reader, "SELECT * FROM t");
    write_elsewhere(update);
    assert_gaps(reader, "4 - " ANEW);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
}

static void without_the_log_pages_tell(void **state)
{
    (void)state;
    static char grow[] = "INSERT INTO t(y) VALUES (zeroblob(20000))";
    make_database("WAL");
    write_elsewhere(grow);
    assert_gaps_anew("4 - " MOVED);
}

/* SQLite makes a copy, and a database of another page size, as a writer like any other. */
static void a_copy_is_a_gap(void **state)
{
    static const char *const HOWS[] = {"VACUUM INTO 'gaps_copy.db'", NULL};
    (void)state;
    for (size_t i = 0; i < sizeof HOWS / sizeof *HOWS; i++) {
        sqlite3 *copy = NULL;
        make_database("DELETE");
        (void)unlink("gaps_copy.db");
        sqlite3 *const db = open_plain();
        assert_int_equal(sqlite3_open("gaps_copy.db", &copy), SQLITE_OK);
        if (HOWS[i] != NULL) {
            run(db, HOWS[i]);
        } else {
            sqlite3_backup *const backup = sqlite3_backup_init(copy, "main", db, "main");
            assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
            assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
        }
        assert_gaps(db, "");
        assert_gaps(copy, "4 - " MOVED);
        assert_int_equal(sqlite3_close(copy), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
}

static void a_vacuum_is_a_gap_unless_the_connection_goes_on(void **state)
{
    (void)state;
    make_database("DELETE");
    sqlite3 *db = open_captured();
    run(db, update);
    run(db, "VACUUM");
    run(db, update);
    assert_gaps(db, "");
    run(db, "VACUUM");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    db = open_captured();
    run(db, update);
    assert_gaps(db, "8 9 " MOVED);
    run(db, "PRAGMA page_size=512; VACUUM");
    run(db, update);
    assert_gaps(db, "8 9 " MOVED "10 11 " MOVED);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void our_own_library_without_capture_makes_a_gap(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        make_database(JOURNALS[i]);
        sqlite3 *const db = open_captured();
        run(db, update);
        run(db, "PRAGMA capture_data_changes_conn('off')");
        assert_gaps(db, "");
        run(db, update);
        run(db, "PRAGMA capture_data_changes_conn('full')");
        run(db, update);
        assert_gaps(db, i < 3 ? "6 7 " MOVED : "6 7 " FURTHER);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
}

static void switching_within_a_transaction_is_a_gap_if_something_is_written(void **state)
{
    (void)state;
    make_database("DELETE");
    sqlite3 *const db = open_captured();
    run(db, "BEGIN; UPDATE t SET y=8; PRAGMA capture_data_changes_conn('off'); COMMIT");
    run(db, "PRAGMA capture_data_changes_conn('full'); UPDATE t SET y=9");
    run(db, "BEGIN; UPDATE t SET y=10; PRAGMA capture_data_changes_conn('off')");
    run(db, "PRAGMA capture_data_changes_conn('full'); UPDATE t SET y=11; COMMIT");
    assert_gaps(db, "");
    run(db, "PRAGMA capture_data_changes_conn('off'); BEGIN; UPDATE t SET y=12");
    run(db, "PRAGMA capture_data_changes_conn('full'); UPDATE t SET y=13; COMMIT");
    assert_gaps(db, "15 16 " SWITCHED);
    run(db, "BEGIN; UPDATE t SET y=14; PRAGMA capture_data_changes_conn('off'); UPDATE t SET y=1");
    run(db, "COMMIT");
    assert_gaps_anew("15 16 " SWITCHED "18 - " MOVED);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_gap_is_found_by_any_spelling_of_the_name(void **state)
{
    (void)state;
    make_database("DELETE");
    sqlite3 *db = open_captured();
    run(db, "PRAGMA capture_data_changes_conn('id,turso_cdc:1');"
            "INSERT INTO t(y) VALUES (3)");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    write_elsewhere(update);
    db = open_plain();
    run(db, "PRAGMA capture_data_changes_conn('full,TURSO_CDC'); INSERT INTO t(y) VALUES (4)");
    assert_gaps(db, "4 5 " MOVED);
    run(db, "PRAGMA capture_data_changes_conn('id,Turso_Cdc:1'); INSERT INTO t(y) VALUES (5)");
    assert_gaps(db, "2 3 " MOVED);
    run(db, "DROP TABLE turso_cdc");
    assert_gaps(db, "2 3 " MOVED);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_lost_mark_is_told(void **state)
{
    (void)state;
    static char insert[] = "INSERT INTO turso_cdc(change_type) VALUES (2)";
    make_database("DELETE");
    write_elsewhere(insert);
    assert_gaps_anew("5 - the log has no mark: another SQLite has written it\n");
}

static void a_gap_that_cannot_be_kept_stays_in_sight(void **state)
{
    (void)state;
    static char drop[] = "DROP TABLE turso_cdc_version";
    make_database("DELETE");
    sqlite3 *const db = open_captured();
    run(db, update);
    write_elsewhere(drop);
    run(db, update);
    run(db, update);
    assert_gaps_anew("6 - " MOVED);
    run(db, "PRAGMA capture_data_changes_conn('off'); PRAGMA capture_data_changes_conn('full')");
    assert_gaps(db, "6 7 " MOVED);
    run(db, "DROP TABLE turso_cdc");
    assert_gaps(db, "");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(int argument_count, char **arguments)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(captured_transactions_leave_no_gap),
        cmocka_unit_test(what_leaves_no_record_leaves_no_gap),
        cmocka_unit_test(checkpoints_leave_no_gap),
        cmocka_unit_test(a_log_in_exclusive_mode_has_no_gap),
        cmocka_unit_test(a_write_by_others_is_a_gap),
        cmocka_unit_test(a_write_to_the_write_ahead_log_is_a_gap),
        cmocka_unit_test(a_large_transaction_does_not_cover_what_others_wrote),
        cmocka_unit_test(a_new_write_ahead_log_is_a_gap),
        cmocka_unit_test(a_gap_is_found_by_any_spelling_of_the_name),
        cmocka_unit_test(without_the_log_pages_tell),
        cmocka_unit_test(a_copy_is_a_gap),
        cmocka_unit_test(a_vacuum_is_a_gap_unless_the_connection_goes_on),
        cmocka_unit_test(our_own_library_without_capture_makes_a_gap),
        cmocka_unit_test(switching_within_a_transaction_is_a_gap_if_something_is_written),
        cmocka_unit_test(a_lost_mark_is_told),
        cmocka_unit_test(a_gap_that_cannot_be_kept_stays_in_sight),
    };
    if (argument_count < 2) {
        return 2;
    }
    writer = arguments[1];
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
