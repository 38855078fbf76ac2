/* ext_log_fate.c: what can happen to a database file and its log from outside: the end torn off, the log
 * removed, another process in between, no log at all. Whatever it is, views are their definitions. */
#include "ext.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *self_path;

/* A database file with t (id, a, s), and views of it that are kept in the file. */
typedef struct World {
    Db db;
    char *path;
    char *log;
} World;

static void world_make(World *w, const char *name)
{
    *w = (World){.path = ext_new_path(name)};
    w->log = text_format("%s.wal", w->path);
    ext_open(&w->db, w->path);
    run(&w->db, "PRAGMA disable_checkpoint_on_shutdown");
    run(&w->db, "CREATE TABLE t (id BIGINT, a INTEGER, s VARCHAR); INSERT INTO t SELECT i, i % 10, "
                "'text ' || i FROM range(3000) r(i)");
    create_view(&w->db, "v",
                "SELECT a, count(*) AS n, min(s) AS m, sum(id) AS i FROM t GROUP BY a");
    create_view(&w->db, "w", "SELECT id, s FROM t WHERE a = 3");
    run(&w->db, "INSERT INTO t VALUES (-1, 3, NULL); SELECT count(*) FROM v");
}

static void world_reopen(World *w)
{
    ext_open(&w->db, w->path);
    run(&w->db, "PRAGMA disable_checkpoint_on_shutdown");
}

static void world_free(World *w)
{
    db_close(&w->db);
    db_remove_file(w->path);
    test_free(w->log);
    test_free(w->path);
}

static void is_right(World *w)
{
    verifies(&w->db, "v");
    verifies(&w->db, "w");
}

/* Right after statements, and known from the log. */
static void follows_log(World *w)
{
    run(&w->db, "SELECT count(*) FROM v; INSERT INTO t VALUES (-2, 3, 'a first log entry')");
    run(&w->db, "SELECT count(*) FROM v");
    run(&w->db,
        "UPDATE t SET a = (a + 1) % 10 WHERE id % 100 = 1; DELETE FROM t WHERE id % 100 = 2");
    run(&w->db, "SELECT count(*) FROM v");
    gives(&w->db, "SELECT last_sync, method FROM dbsp_tables() WHERE \"table\" = 't'",
          "logged|wal\n");
    is_right(w);
}

static off_t size_of(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 ? facts.st_size : -1;
}

/* SQL in a process of its own, without the extension; the file is closed at the end. */
static void in_another_process(const World *w, const char *sql)
{
    char *const arguments[] = {test_copy(self_path), test_copy("--child"), test_copy(w->path),
                               test_copy(sql), NULL};
    pid_t child = 0;
    assert_int_equal(posix_spawn(&child, self_path, NULL, NULL, arguments, environ), 0);
    for (size_t i = 0; arguments[i] != NULL; i++) {
        test_free(arguments[i]);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int run_child(const char *path, const char *sql)
{
    Db db;
    Text error = {0};
    const DbOptions options = {.path = path};
    bool is_good = db_open(&db, &options, &error);
    if (is_good) {
        is_good = db_run(db_connection(&db, 0), sql, &error);
        db_close(&db);
    }
    if (!is_good) {
        (void)fprintf(stderr, "%s: %s\n", sql, text_get(&error));
    }
    text_free(&error);
    return is_good ? 0 : 1;
}

/* --- between two openings ----------------------------------------------------------------------- */

static void a_torn_end_is_as_if_never_written(void **state)
{
    (void)state;
    for (off_t torn = 1; torn < 60; torn += 7) {
        World w;
        world_make(&w, "torn");
        run(&w.db, "UPDATE t SET a = 5 WHERE id < 50");
        is_right(&w);
        db_close(&w.db);
        const off_t size = size_of(w.log);
        assert_true(size > torn);
        assert_int_equal(truncate(w.log, size - torn), 0);
        world_reopen(&w);
        is_right(&w);
        follows_log(&w);
        world_free(&w);
    }
}

static void a_log_may_be_gone_at_the_next_opening(void **state)
{
    (void)state;
    World w;
    world_make(&w, "lost");
    run(&w.db, "CHECKPOINT");
    run(&w.db, "DELETE FROM t WHERE id > 100");
    is_right(&w);
    db_close(&w.db);
    assert_int_equal(unlink(w.log), 0);
    world_reopen(&w);
    is_right(&w);
    gives(&w.db, "SELECT count(*) FROM t", "3001\n");
    follows_log(&w);
    world_free(&w);
}

static void another_process_may_write_in_between(void **state)
{
    (void)state;
    const char *const writes[] = {
        "INSERT INTO t VALUES (9000, 3, 'child')",
        "PRAGMA disable_checkpoint_on_shutdown; DELETE FROM t WHERE a = 4",
        "UPDATE t SET a = 3, s = 'same' WHERE id < 10; CHECKPOINT",
        "DELETE FROM t WHERE id = 11; INSERT INTO t VALUES (11, 3, 'text 11')",
        ("CREATE TABLE new_t AS SELECT id + 1 AS id, a, s FROM t; DROP TABLE t; ALTER TABLE new_t "
         "RENAME TO t"),
        "TRUNCATE t; INSERT INTO t SELECT i, 1, 'reload' FROM range(3000) r(i)",
    };
    World w;
    world_make(&w, "processes");
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        run(&w.db, i % 2 == 0 ? "CHECKPOINT" : "SELECT 1");
        db_close(&w.db);
        in_another_process(&w, writes[i]);
        world_reopen(&w);
        is_right(&w);
        follows_log(&w);
    }
    world_free(&w);
}

static void a_checkpoint_at_close_is_an_end(void **state)
{
    (void)state;
    World w;
    world_make(&w, "close");
    for (int i = 0; i < 3; i++) {
        run(&w.db, "PRAGMA enable_checkpoint_on_shutdown; DELETE FROM t WHERE id % 7 = 3; INSERT "
                   "INTO t SELECT id + 10000, a, s FROM t WHERE id < 100");
        is_right(&w);
        db_close(&w.db);
        assert_int_equal(size_of(w.log), -1);
        world_reopen(&w);
        is_right(&w);
        follows_log(&w);
    }
    world_free(&w);
}

/* --- while it is open --------------------------------------------------------------------------- */

/* DuckDB writes on into a file that is not at its path. */
static void writes_unseen(World *w)
{
    is_right(w);
    for (int i = 0; i < 4; i++) {
        char *sql = text_format("UPDATE t SET a = %d WHERE id %% 50 = %d; INSERT INTO t VALUES "
                                "(%d, 3, 'unseen')",
                                i, i, 9000 + i);
        run(&w->db, sql);
        is_right(w);
        test_free(sql);
    }
    run(&w->db, "CHECKPOINT");
    is_right(w);
    follows_log(w);
}

static void a_log_that_is_removed_is_not_trusted(void **state)
{
    (void)state;
    World w;
    world_make(&w, "removed");
    assert_int_equal(unlink(w.log), 0);
    writes_unseen(&w);
    run(&w.db, "CHECKPOINT; SELECT count(*) FROM v; SELECT count(*) FROM v; INSERT INTO t VALUES "
               "(5, 5, 'five')");
    assert_int_equal(unlink(w.log), 0); /* it came and went between two looks */
    writes_unseen(&w);
    world_free(&w);
}

static void a_log_that_is_renamed_is_not_trusted(void **state)
{
    (void)state;
    World w;
    world_make(&w, "renamed");
    char *other = text_format("%s.other", w.path);
    assert_int_equal(rename(w.log, other), 0);
    writes_unseen(&w);
    assert_int_equal(unlink(other), 0);
    test_free(other);
    world_free(&w);
}

static void another_file_in_the_logs_place_is_not_trusted(void **state)
{
    (void)state;
    World w;
    world_make(&w, "replaced");
    char *copy =
        text_format("cp %s %s.copy && rm %s && mv %s.copy %s", w.log, w.log, w.log, w.log, w.log);
    run(&w.db, "SELECT count(*) FROM v");
    assert_int_equal(system(copy), 0); /* NOLINT(cert-env33-c): of our own names */
    run(&w.db, "UPDATE t SET a = 8 WHERE id < 70");
    is_right(&w);
    run(&w.db, "DELETE FROM t WHERE id < 7");
    is_right(&w);
    test_free(copy);
    world_free(&w);
}

static void append_rows(Db *db, int64_t first, int64_t count)
{
    duckdb_appender appender = NULL;
    assert_int_equal(duckdb_appender_create(db_connection(db, 1), NULL, "t", &appender),
                     DuckDBSuccess);
    for (int64_t i = first; i < first + count; i++) {
        assert_int_equal(duckdb_append_int64(appender, i), DuckDBSuccess);
        assert_int_equal(duckdb_append_int32(appender, (int32_t)(i % 10)), DuckDBSuccess);
        assert_int_equal(i % 3 == 0 ? duckdb_append_null(appender)
                                    : duckdb_append_varchar(appender, "appended"),
                         DuckDBSuccess);
        assert_int_equal(duckdb_appender_end_row(appender), DuckDBSuccess);
    }
    assert_int_equal(duckdb_appender_destroy(&appender), DuckDBSuccess);
}

static void an_appender_is_followed(void **state)
{
    (void)state;
    World w;
    world_make(&w, "appender");
    run(&w.db, "SELECT count(*) FROM v");
    append_rows(&w.db, 20000, 5);
    run(&w.db, "SELECT count(*) FROM v");
    gives(&w.db, "SELECT last_sync FROM dbsp_tables() WHERE \"table\" = 't'", "logged\n");
    is_right(&w);
    append_rows(&w.db, 30000, 300000); /* past the log */
    is_right(&w);
    append_rows(&w.db, 400000, 5);
    is_right(&w);
    follows_log(&w);
    world_free(&w);
}

/* --- databases without a log that can be read --------------------------------------------------- */

/* Writes to x.t, which views follow. */
static void follows_attached(World *w, const char *attach)
{
    run(&w->db, attach);
    run(&w->db, "CREATE TABLE x.t (id BIGINT, a INTEGER); INSERT INTO x.t SELECT i, i % 5 FROM "
                "range(3000) r(i)");
    create_view(&w->db, "xv", "SELECT a, count(*) AS n, sum(id) AS i FROM x.t GROUP BY a");
    for (int i = 0; i < 5; i++) {
        char *sql = text_format("UPDATE x.t SET a = %d WHERE id %% 40 = %d; DELETE FROM x.t WHERE "
                                "id = %d; INSERT INTO x.t VALUES (%d, %d)",
                                i, i, i * 9, i * 9, i + 1);
        run(&w->db, sql);
        verifies(&w->db, "xv");
        if (i == 2) {
            run(&w->db, "CHECKPOINT x");
            verifies(&w->db, "xv");
        }
        test_free(sql);
    }
    run(&w->db, "SELECT * FROM xv; BEGIN; DELETE FROM x.t; ROLLBACK");
    verifies(&w->db, "xv");
    run(&w->db, "CALL dbsp_drop_view('xv')");
    run(&w->db, "DETACH x");
}

static void an_encrypted_database_is_compared(void **state)
{
    (void)state;
    World w;
    world_make(&w, "beside");
    char *path = ext_new_path("encrypted");
    char *attach = text_format("ATTACH '%s' AS x (ENCRYPTION_KEY 'a key')", path);
    Text error = {0};
    (void)db_run(db_connection(&w.db, 0), "SET force_mbedtls_unsafe = 'true'", &error); /* 1.5 */
    if (db_run(db_connection(&w.db, 0), attach, &error)) {
        run(&w.db, "DETACH x");
        db_remove_file(path);
        follows_attached(&w, attach);
    } else { /* 1.4 does not encrypt without an extension of its own */
        assert_non_null(strstr(text_get(&error), "read-only crypto module"));
    }
    text_free(&error);
    db_remove_file(path);
    test_free(attach);
    test_free(path);
    world_free(&w);
}

static void a_database_that_writes_no_log_is_compared(void **state)
{
    (void)state;
    World w;
    world_make(&w, "beside");
    char *path = ext_new_path("unlogged");
    char *attach = text_format("ATTACH '%s' AS x (RECOVERY_MODE no_wal_writes)", path);
    Text error = {0};
    if (db_run(db_connection(&w.db, 0), attach, &error)) {
        run(&w.db, "DETACH x");
        db_remove_file(path);
        follows_attached(&w, attach);
    } else { /* 1.4 has no such mode */
        assert_non_null(strstr(text_get(&error), "recovery_mode"));
    }
    text_free(&error);
    db_remove_file(path);
    test_free(attach);
    test_free(path);
    world_free(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_torn_end_is_as_if_never_written),
    cmocka_unit_test(a_log_may_be_gone_at_the_next_opening),
    cmocka_unit_test(another_process_may_write_in_between),
    cmocka_unit_test(a_checkpoint_at_close_is_an_end),
    cmocka_unit_test(a_log_that_is_removed_is_not_trusted),
    cmocka_unit_test(a_log_that_is_renamed_is_not_trusted),
    cmocka_unit_test(another_file_in_the_logs_place_is_not_trusted),
    cmocka_unit_test(an_appender_is_followed),
    cmocka_unit_test(an_encrypted_database_is_compared),
    cmocka_unit_test(a_database_that_writes_no_log_is_compared),
};

int main(int argc, char **argv)
{
    self_path = argv[0];
    if (argc == 4 && strcmp(argv[1], "--child") == 0) {
        return run_child(argv[2], argv[3]);
    }
    return ext_take_path(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
