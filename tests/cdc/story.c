/* story.c: statements of every kind, which may fail, and what must be true afterwards. */
#include "story.h"

#include "replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const char STORY_SCHEMA[] =
    "PRAGMA foreign_keys=1; PRAGMA recursive_triggers=1;"
    "CREATE TABLE t(x INTEGER PRIMARY KEY, y UNIQUE, z REAL);"
    "CREATE TABLE c(p REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE, v);"
    "CREATE TABLE l(m); CREATE TABLE k(a, v REAL, b, PRIMARY KEY(b, a)) WITHOUT ROWID;"
    "CREATE TRIGGER g AFTER UPDATE ON t BEGIN INSERT INTO l VALUES (old.y); END;"
    "INSERT INTO t VALUES (1,1,1),(2,2,2),(3,3,3); INSERT INTO c VALUES (1,'a'),(2,'b');"
    "INSERT INTO k VALUES (1,1,'x'),(2,2,'y'); ALTER TABLE k ADD COLUMN w DEFAULT 7;"
    "ALTER TABLE t ADD COLUMN w DEFAULT 'new';";

static const char SHOW_RECORDS[] =
    "SELECT count(bin_record_json_object_full(table_columns_json_array(table_name), after)) "
    "FROM turso_cdc WHERE table_name<>'sqlite_schema'";

static const char *const STATEMENTS[] = {
    "INSERT INTO t VALUES (4,4,4,zeroblob(2000)),(5,5,5,'five')",
    "UPDATE t SET z=z+1, y=y+10 WHERE x>1",
    "INSERT OR REPLACE INTO t VALUES (1,12,0,'r')",
    "BEGIN",
    "INSERT INTO t(y) VALUES (50) ON CONFLICT DO UPDATE SET z=0",
    "SAVEPOINT s",
    "DELETE FROM t WHERE x=3",
    "ROLLBACK TO s",
    "UPDATE t SET x=x+100 WHERE x=2",
    "COMMIT",
    "INSERT INTO k VALUES (3,3,'z',0); UPDATE k SET v=v+1, w=a; UPDATE k SET b='zz' WHERE a=1",
    "CREATE TABLE n AS SELECT x, w FROM t",
    "ALTER TABLE n ADD COLUMN extra DEFAULT 3",
    "DELETE FROM n",
    "ALTER TABLE n RENAME COLUMN x TO xx",
    "CREATE INDEX ni ON n(w)",
    "DROP TABLE n",
    "PRAGMA capture_data_changes_conn('full')",
    SHOW_RECORDS,
    "DELETE FROM t",
};

void story_run(sqlite3 *db)
{
    for (size_t i = 0; i < sizeof STATEMENTS / sizeof STATEMENTS[0]; i++) {
        (void)sqlite3_exec(db, STATEMENTS[i], NULL, NULL, NULL);
    }
    sqlite3_blob *blob = NULL;
    if (sqlite3_blob_open(db, "main", "c", "v", 1, 1, &blob) == SQLITE_OK) {
        (void)sqlite3_blob_write(blob, "z", 1, 0);
    }
    (void)sqlite3_blob_close(blob);
}

void story_check(sqlite3 *db, sqlite3 *first, long point)
{
    Text problem = {0};
    sqlite3_stmt *integrity = NULL;
    if (!sqlite3_get_autocommit(db)) {
        assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    }
    (void)sqlite3_exec(
        first, "DROP TRIGGER g; PRAGMA foreign_keys=0; PRAGMA capture_data_changes_conn('off')",
        NULL, NULL, NULL);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &integrity, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(integrity), SQLITE_ROW);
    if (strcmp((const char *)sqlite3_column_text(integrity, 0), "ok") != 0) {
        fail_msg("point %ld: %s", point, sqlite3_column_text(integrity, 0));
    }
    sqlite3_finalize(integrity);
    if (replay_check_rules(db, "turso_cdc", &problem) ||
        replay_forward(first, db, "turso_cdc", &problem)) {
        text_add(&problem, "\n");
        text_add_log(&problem, db, "turso_cdc", 0);
        fail_msg("point %ld: %s", point, text_get(&problem));
    }
    Text x = {0};
    Text y = {0};
    replay_dump(db, &x);
    replay_dump(first, &y);
    assert_string_equal(text_get(&x), text_get(&y));
    text_free(&x);
    text_free(&y);
}

/* --- a gap --- */

static sqlite3_int64 query(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    const sqlite3_int64 value = sqlite3_column_int64(row, 0);
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
    return value;
}

sqlite3_int64 story_make_gap(const char *path, const char *journal)
{
    static const char *const SUFFIXES[] = {"", "-wal", "-shm", "-journal"};
    sqlite3 *db = NULL;
    for (int i = 0; i < 4; i++) {
        char *const name = sqlite3_mprintf("%s%s", path, SUFFIXES[i]);
        (void)unlink(name);
        sqlite3_free(name);
    }
    char *const sql = sqlite3_mprintf(
        "PRAGMA journal_mode=%s; PRAGMA synchronous=OFF; %s"
        "PRAGMA capture_data_changes_conn('full'); UPDATE t SET z=7;"
        "PRAGMA capture_data_changes_conn('off'); UPDATE t SET z=8; CREATE TABLE made_others(x)",
        journal, STORY_SCHEMA);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    const sqlite3_int64 after = query(db, "SELECT max(change_id) FROM turso_cdc");
    sqlite3_free(sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return after;
}

void story_check_gap(const char *path, sqlite3_int64 after, long point)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (query(db, "SELECT count(*) FROM pragma_capture_data_changes_gaps") != 1 ||
        query(db, "SELECT after_id FROM pragma_capture_data_changes_gaps") != after) {
        fail_msg("point %ld: the gap is lost", point);
    }
    assert_int_equal(query(db, "SELECT integrity_check='ok' FROM pragma_integrity_check"), 1);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}
