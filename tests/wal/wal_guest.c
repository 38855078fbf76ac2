/* wal_guest.c: the reader of the log as a guest in a process that has the database open: the locks
 * stay, commits of other threads are seen, what cannot be decoded is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "follower.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#undef test_free
#undef test_realloc

static const char *self; /* the path of this program */

typedef struct Guest {
    char *path;
    Db db;
    Mem *mem;
    Wal *wal;
    WalPosition position;
} Guest;

static void run(Guest *g, size_t connection, const char *sql)
{
    Text error = {0};
    if (!db_run(db_connection(&g->db, connection), sql, &error)) {
        fail_msg("%s\n%s", sql, text_get(&error));
    }
    text_free(&error);
}

static bool can_run(Guest *g, const char *sql)
{
    Text error = {0};
    const bool is_done = db_run(db_connection(&g->db, 0), sql, &error);
    text_free(&error);
    return is_done;
}

static void open_path(Guest *g, const char *path)
{
    Text error = {0};
    Error err = {0};
    *g = (Guest){.path = text_format("%s_%ld.db", path, (long)getpid()), .mem = weir_mem_new(0)};
    db_remove_file(g->path);
    const DbOptions options = {.path = g->path};
    if (!db_open(&g->db, &options, &error)) {
        fail_msg("%s", text_get(&error));
    }
    text_free(&error);
    assert_int_equal(weir_wal_open(g->mem, g->path, &g->wal, &err), WEIR_OK);
}

static int setup(void **state)
{
    Guest *g = test_alloc(sizeof *g);
    open_path(g, "wal_guest");
    run(g, 0, "CREATE TABLE t(a INTEGER, b VARCHAR)");
    assert_int_equal(weir_wal_mark(g->wal, &g->position), WAL_NEW);
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    Guest *const g = *state;
    weir_wal_close(g->wal);
    weir_mem_free_allocator(g->mem);
    db_close(&g->db);
    db_remove_file(g->path);
    test_free(g->path);
    test_free(g);
    return 0;
}

/* Reads to the end; the number of commits. The last change but WAL_COMMIT is left in `last`, whose
 * pointers are no more. */
static size_t read_all(Guest *g, WalChange *last)
{
    Error err = {0};
    size_t commits = 0;
    WalChange change = {.kind = WAL_COMMIT};
    assert_int_not_equal(weir_wal_begin(g->wal, &g->position), WAL_UNKNOWN);
    while (change.kind != WAL_END) {
        assert_int_equal(weir_wal_next(g->wal, &change, &err), WEIR_OK);
        assert_int_not_equal(change.kind, WAL_LOST);
        commits += change.kind == WAL_COMMIT ? 1 : 0;
        if (last != NULL && change.kind != WAL_COMMIT && change.kind != WAL_END) {
            *last = change;
        }
    }
    assert_true(weir_wal_position(g->wal, &g->position));
    weir_wal_end(g->wal);
    return commits;
}

/* Another process opens the database for reading and writing. */
static bool another_process_can_open(const char *path)
{
    const pid_t child = fork();
    if (child == 0) {
        (void)execl(self, self, "--open", path, (char *)NULL);
        _exit(9);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_in_range(WEXITSTATUS(status), 0, 1);
    return WEXITSTATUS(status) == 0;
}

static void the_database_stays_locked_while_its_log_is_read(void **state)
{
    Guest *const g = *state;
    assert_false(another_process_can_open(g->path));
    for (int i = 0; i < 100; i++) {
        WalPosition end;
        run(g, 0, "INSERT INTO t VALUES (1, 'x')");
        assert_int_equal(weir_wal_mark(g->wal, &end), WAL_NEW);
        assert_int_equal(weir_wal_look(g->wal, &g->position), WAL_NEW);
        assert_int_equal(read_all(g, NULL), 1);
        assert_int_equal(weir_wal_look(g->wal, &g->position), WAL_NOTHING_NEW);
        assert_memory_equal(&end, &g->position, sizeof end);
    }
    assert_false(another_process_can_open(g->path));
    run(g, 0, "CHECKPOINT; INSERT INTO t VALUES (2, 'y')");
    assert_int_equal(weir_wal_look(g->wal, &g->position), WAL_UNKNOWN);
    assert_int_equal(weir_wal_mark(g->wal, &g->position), WAL_NEW);
    weir_wal_close(g->wal);
    g->wal = NULL;
    assert_false(another_process_can_open(g->path));
}

/* The trap that the reader avoids is there: the test before can fail. */
static void the_database_is_unlocked_by_closing_any_descriptor_of_it(void **state)
{
    Guest *const g = *state;
    assert_false(another_process_can_open(g->path));
    const int descriptor = open(g->path, O_RDONLY | O_CLOEXEC);
    assert_true(descriptor >= 0);
    close(descriptor);
    assert_true(another_process_can_open(g->path));
}

static void a_database_that_is_not_open_here_is_unknown(void **state)
{
    Guest *const g = *state;
    db_close(&g->db);
    assert_int_equal(weir_wal_look(g->wal, &g->position), WAL_UNKNOWN);
    assert_string_equal(weir_wal_reason(g->wal),
                        "this process does not have the database file open");
}

static void a_database_that_was_closed_and_opened_is_found_again(void **state)
{
    Guest *const g = *state;
    Text error = {0};
    db_close(&g->db);
    const DbOptions options = {.path = g->path};
    assert_true(db_open(&g->db, &options, &error));
    text_free(&error);
    assert_int_equal(weir_wal_look(g->wal, &g->position), WAL_UNKNOWN);
    assert_string_equal(weir_wal_reason(g->wal), "there was a checkpoint");
    assert_int_equal(weir_wal_mark(g->wal, &g->position), WAL_NEW);
    assert_int_equal(weir_wal_look(g->wal, &g->position), WAL_NOTHING_NEW);
    run(g, 0, "INSERT INTO t VALUES (3, 'z')");
    assert_int_equal(read_all(g, NULL), 1);
}

/* --- other threads ----------------------------------------------------------------------------- */

enum { WRITER_COMMITS = 300 };

static void *write_commits(void *argument)
{
    Guest *const g = argument;
    for (int i = 0; i < WRITER_COMMITS; i++) {
        run(g, 1,
            i % 3 == 2 ? "INSERT INTO t SELECT range, 'many' FROM range(2000)"
                       : "INSERT INTO t VALUES (1, 'one')");
    }
    return NULL;
}

/* What the log has told, a transaction that begins afterwards sees. */
static void a_commit_that_was_read_is_visible(void **state)
{
    Guest *const g = *state;
    run(g, 0, "SET wal_autocheckpoint = '1TB'");
    (void)db_connection(&g->db, 1);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_commits, g), 0);
    int64_t rows = 0;
    size_t commits = 0;
    while (commits < WRITER_COMMITS) {
        Error err = {0};
        WalChange change = {.kind = WAL_COMMIT};
        assert_int_not_equal(weir_wal_begin(g->wal, &g->position), WAL_UNKNOWN);
        while (change.kind != WAL_END) {
            assert_int_equal(weir_wal_next(g->wal, &change, &err), WEIR_OK);
            commits += change.kind == WAL_COMMIT ? 1 : 0;
            rows += change.kind == WAL_INSERT ? (int64_t)change.row_count : 0;
        }
        assert_true(weir_wal_position(g->wal, &g->position));
        weir_wal_end(g->wal);
        Text error = {0};
        int64_t seen = 0;
        assert_true(db_number(db_connection(&g->db, 0), "SELECT count(*) FROM t", &seen, &error));
        assert_true(seen >= rows);
        text_free(&error);
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_equal(weir_wal_look(g->wal, &g->position), WAL_NOTHING_NEW);
}

/* Reading what is being updated may end DuckDB 1.4 ("Unaligned fetch in validity and main column data for
 * update"), with us or without; updates of one connection are replayed and drawn at random elsewhere. */
static bool can_update_beside_readers(void)
{
    return strncmp(duckdb_library_version(), "v1.4.", 5) != 0;
}

/* Two writers, a log that is emptied all the time, and a follower beside them: what it has in the end
 * is what the tables have. */
static void *write_anything(void *argument)
{
    static const char *const statements[] = {
        "INSERT INTO t SELECT range, 'rows' FROM range(500)",
        "INSERT INTO t VALUES (1, 'one')",
        "UPDATE t SET b = b || '.' WHERE rowid % 7 = 0",
        "UPDATE t SET a = NULL WHERE rowid % 11 = 0",
        "DELETE FROM t WHERE rowid % 5 = 0",
        "BEGIN; INSERT INTO t VALUES (2, 'never'); ROLLBACK",
    };
    duckdb_connection connection = argument;
    for (size_t i = 0; i < WRITER_COMMITS; i++) {
        const char *const sql = statements[i % (sizeof statements / sizeof *statements)];
        Text error = {0};
        if (strncmp(sql, "UPDATE", 6) != 0 || can_update_beside_readers()) {
            (void)db_run(connection, sql, &error);
        }
        text_free(&error); /* they conflict at times */
    }
    return NULL;
}

static void follow_writers(Guest *g, const char *threshold)
{
    Follower f;
    pthread_t writers[2];
    run(g, 0, threshold);
    assert_true(follower_init(&f, db_connection(&g->db, 0), g->path));
    follower_add(&f, "t");
    assert_true(follower_catch_up(&f));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            pthread_create(&writers[i], NULL, write_anything, db_connection(&g->db, 1 + i)), 0);
    }
    for (int i = 0; i < 20; i++) {
        if (!follower_catch_up(&f)) {
            fail_msg("%s", text_get(&f.complaint));
        }
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(writers[i], NULL), 0);
    }
    if (!follower_catch_up(&f) || !follower_check(&f)) {
        fail_msg("%s", text_get(&f.complaint));
    }
    assert_int_equal(f.counts.unknown, 0);
    follower_deinit(&f);
}

static void a_follower_beside_writers_ends_right(void **state)
{
    follow_writers(*state, "SET wal_autocheckpoint = '1TB'");
}

static void a_follower_beside_writers_and_checkpoints_ends_right(void **state)
{
    follow_writers(*state, "SET wal_autocheckpoint = '50KB'");
}

/* --- what is not decodable --------------------------------------------------------------------- */

static void rows_of_an_unsupported_type_are_counted_and_deleted(void **state)
{
    Guest *const g = *state;
    if (!can_run(g, "ATTACH 'wal_guest_variant.db' AS y (STORAGE_VERSION 'latest'); "
                    "CREATE TABLE y.v(a VARIANT); CREATE TABLE y.g(a GEOMETRY)")) {
        (void)can_run(g, "DETACH y"); /* 1.4 has neither type for tables */
        db_remove_file("wal_guest_variant.db");
        skip();
    }
    Error err = {0};
    WalChange change = {0};
    Guest y = {.db = g->db, .mem = g->mem};
    assert_int_equal(weir_wal_open(g->mem, "wal_guest_variant.db", &y.wal, &err), WEIR_OK);
    assert_int_equal(weir_wal_mark(y.wal, &y.position), WAL_NEW);
    run(g, 0, "INSERT INTO y.v SELECT range FROM range(3)");
    assert_int_equal(read_all(&y, &change), 1);
    assert_int_equal(change.kind, WAL_INSERT);
    assert_int_equal(change.row_count, 3);
    assert_string_equal(change.reason, "the type of a column is not supported");
    run(g, 0, "DELETE FROM y.v WHERE rowid = 1");
    assert_int_equal(read_all(&y, &change), 1);
    assert_int_equal(change.kind, WAL_DELETE);
    assert_int_equal(change.row_count, 1);
    run(g, 0, "INSERT INTO y.g VALUES ('POINT(1 2)')");
    assert_int_equal(read_all(&y, &change), 1);
    assert_int_equal(change.kind, WAL_INSERT);
    assert_non_null(change.reason);
    weir_wal_close(y.wal);
    run(g, 0, "DETACH y");
    db_remove_file("wal_guest_variant.db");
}

static void an_encrypted_database_is_unknown(void **state)
{
    Guest *const g = *state;
    if (!can_run(g, "SET force_mbedtls_unsafe = true; "
                    "ATTACH 'wal_guest_secret.db' AS z (ENCRYPTION_KEY 'key'); "
                    "CREATE TABLE z.t(a INTEGER)")) {
        db_remove_file("wal_guest_secret.db");
        skip();
    }
    Error err = {0};
    WalPosition position;
    Wal *wal = NULL;
    assert_int_equal(weir_wal_open(g->mem, "wal_guest_secret.db", &wal, &err), WEIR_OK);
    assert_int_equal(weir_wal_mark(wal, &position), WAL_UNKNOWN);
    weir_wal_close(wal);
    run(g, 0, "DETACH z");
    db_remove_file("wal_guest_secret.db");
}

static void the_log_is_where_duckdb_puts_it(void **state)
{
    Guest *const g = *state;
    static const char *const paths[] = {"wal_guest_a.db", "wal_guest_b?c.db", "./wal_guest_d"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        Error err = {0};
        Rows rows;
        Text text = {0};
        db_remove_file(paths[i]);
        text_addf(&text, "ATTACH '%s' AS p; CREATE TABLE p.t(a INTEGER)", paths[i]);
        run(g, 0, text_get(&text));
        Guest p = {.db = g->db, .mem = g->mem};
        assert_true(db_fetch(db_connection(&g->db, 0),
                             "SELECT path FROM duckdb_databases() WHERE database_name = 'p'", &rows,
                             &text));
        assert_int_equal(weir_wal_open(g->mem, rows_cell(&rows, 0, 0), &p.wal, &err), WEIR_OK);
        assert_int_equal(weir_wal_mark(p.wal, &p.position), WAL_NEW);
        assert_true(weir_wal_has_logged(p.wal));
        run(g, 0, "INSERT INTO p.t VALUES (1)");
        assert_int_equal(read_all(&p, NULL), 1);
        weir_wal_close(p.wal);
        run(g, 0, "DETACH p");
        rows_free(&rows);
        text_free(&text);
        db_remove_file(paths[i]);
    }
}

/* The one thing that the reader cannot know, and how a caller can tell: no log was ever seen. */
static void a_database_without_a_log_looks_unchanged(void **state)
{
    Guest *const g = *state;
    if (!can_run(g, "ATTACH 'wal_guest_silent.db' AS w (RECOVERY_MODE no_wal_writes); "
                    "CREATE TABLE w.t(a INTEGER)")) {
        skip(); /* 1.4 always writes a log */
    }
    Error err = {0};
    WalPosition position;
    Wal *wal = NULL;
    assert_int_equal(weir_wal_open(g->mem, "wal_guest_silent.db", &wal, &err), WEIR_OK);
    assert_int_equal(weir_wal_mark(wal, &position), WAL_NEW);
    run(g, 0, "INSERT INTO w.t VALUES (1)");
    assert_int_equal(weir_wal_look(wal, &position), WAL_NOTHING_NEW);
    assert_false(weir_wal_has_logged(wal));
    assert_true(weir_wal_has_logged(g->wal));
    weir_wal_close(wal);
    run(g, 0, "DETACH w");
    db_remove_file("wal_guest_silent.db");
}

static int open_database(const char *path)
{
    Db db;
    Text error = {0};
    const DbOptions options = {.path = path};
    const bool is_open = db_open(&db, &options, &error);
    text_free(&error);
    if (is_open) {
        db_close(&db);
    }
    return is_open ? 0 : 1;
}

int main(int argc, char **argv)
{
    self = argv[0];
    if (argc == 3 && strcmp(argv[1], "--open") == 0) {
        return open_database(argv[2]);
    }
#define GUEST_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        GUEST_TEST(the_database_stays_locked_while_its_log_is_read),
        GUEST_TEST(the_database_is_unlocked_by_closing_any_descriptor_of_it),
        GUEST_TEST(a_database_that_is_not_open_here_is_unknown),
        GUEST_TEST(a_database_that_was_closed_and_opened_is_found_again),
        GUEST_TEST(a_commit_that_was_read_is_visible),
        GUEST_TEST(a_follower_beside_writers_ends_right),
        GUEST_TEST(a_follower_beside_writers_and_checkpoints_ends_right),
        GUEST_TEST(rows_of_an_unsupported_type_are_counted_and_deleted),
        GUEST_TEST(an_encrypted_database_is_unknown),
        GUEST_TEST(the_log_is_where_duckdb_puts_it),
        GUEST_TEST(a_database_without_a_log_looks_unchanged),
    };
#undef GUEST_TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
