/* ext.c: see ext.h. */
#include "ext.h"

#include "verify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *ext_path;

bool ext_take_path(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s EXTENSION\n", argv[0]);
        return false;
    }
    ext_path = argv[1];
    return true;
}

bool ext_take_run(int argc, char **argv, const char *what, long *count, uint64_t *seed)
{
    if (argc < 2 || argc > 4) {
        (void)fprintf(stderr, "usage: %s EXTENSION [%s [SEED]]\n", argv[0], what);
        return false;
    }
    ext_path = argv[1];
    *count = argc > 2 ? strtol(argv[2], NULL, 10) : *count;
    *seed = argc > 3 ? strtoull(argv[3], NULL, 10) : *seed;
    return true;
}

void ext_open(Db *db, const char *path)
{
    Text error = {0};
    const DbOptions options = {.path = path, .extension = ext_path};
    if (!db_open(db, &options, &error)) {
        fail_msg("%s", text_get(&error));
    }
    text_free(&error);
}

int ext_setup(void **state)
{
    Db *db = test_alloc(sizeof *db);
    ext_open(db, NULL);
    *state = db;
    return 0;
}

int ext_teardown(void **state)
{
    db_close(*state);
    test_free(*state);
    return 0;
}

char *ext_new_path(const char *name)
{
    char *path = text_format("ext_%s_%ld.db", name, (long)getpid());
    db_remove_file(path);
    return path;
}

void run_on(Db *db, size_t index, const char *sql)
{
    Text error = {0};
    if (!db_run(db_connection(db, index), sql, &error)) {
        fail_msg("%s\n%s", sql, text_get(&error));
    }
    text_free(&error);
}

void run(Db *db, const char *sql)
{
    run_on(db, 0, sql);
}

void gives_on(Db *db, size_t index, const char *sql, const char *expected)
{
    Text error = {0};
    Text found = {0};
    Rows rows = {0};
    if (!db_fetch(db_connection(db, index), sql, &rows, &error)) {
        fail_msg("%s\n%s", sql, text_get(&error));
    }
    rows_print(&rows, &found);
    rows_free(&rows);
    if (strcmp(text_get(&found), expected) != 0) {
        fail_msg("%s\ngives\n%sinstead of\n%s", sql, text_get(&found), expected);
    }
    text_free(&found);
    text_free(&error);
}

void gives(Db *db, const char *sql, const char *expected)
{
    gives_on(db, 0, sql, expected);
}

void fails_on(Db *db, size_t index, const char *sql, const char *part)
{
    Text error = {0};
    if (db_run(db_connection(db, index), sql, &error)) {
        fail_msg("%s\ndoes not fail", sql);
    }
    if (strstr(text_get(&error), part) == NULL) {
        fail_msg("%s\nfails with\n%s\nwithout \"%s\"", sql, text_get(&error), part);
    }
    text_free(&error);
}

void fails(Db *db, const char *sql, const char *part)
{
    fails_on(db, 0, sql, part);
}

int64_t number(Db *db, const char *sql)
{
    Text error = {0};
    int64_t value = 0;
    if (!db_number(db_connection(db, 0), sql, &value, &error)) {
        fail_msg("%s\n%s", sql, text_get(&error));
    }
    text_free(&error);
    return value;
}

void make_t(Db *db, const char *rows)
{
    char *sql = text_format("CREATE TABLE t (a INTEGER, b VARCHAR); INSERT INTO t VALUES %s", rows);
    run(db, sql);
    test_free(sql);
}

void create_view(Db *db, const char *view, const char *definition)
{
    Text call = {0};
    text_add(&call, "CALL dbsp_create_view(");
    text_add_literal(&call, view);
    text_add(&call, ", ");
    text_add_literal(&call, definition);
    text_add(&call, ")");
    run(db, call.data);
    text_free(&call);
}

/* The definition of the view that the last part of the name calls; the caller frees it. */
static char *definition_of(Db *db, const char *view)
{
    Text error = {0};
    Text sql = {0};
    Rows rows = {0};
    const char *const dot = strrchr(view, '.');
    text_add(&sql, "SELECT sql FROM dbsp_views() WHERE view = ");
    text_add_literal(&sql, dot == NULL ? view : dot + 1);
    if (!db_fetch(db_connection(db, 0), sql.data, &rows, &error) || rows.row_count != 1) {
        fail_msg("the definition of %s: %zu rows %s", view, rows.row_count, text_get(&error));
    }
    char *definition = test_copy(rows_cell(&rows, 0, 0));
    rows_free(&rows);
    text_free(&sql);
    text_free(&error);
    return definition;
}

void says_ok(Db *db, const char *view)
{
    char *sql = text_format("CALL dbsp_verify('%s')", view);
    gives(db, sql, "ok|NULL\n");
    test_free(sql);
}

void verifies(Db *db, const char *view)
{
    Text report = {0};
    int64_t row_count = 0;
    says_ok(db, view);
    char *content = text_format("dbsp_query('%s')", view);
    char *definition = definition_of(db, view);
    ViewTarget target = {.name = view, .content = content, .definition = definition};
    if (verify_view(db_connection(db, 0), &target, &row_count, &report) != VERIFY_SAME) {
        fail_msg("%s", text_get(&report));
    }
    test_free(content);
    test_free(definition);
    text_free(&report);
}

void adds_up(Db *db, const char *view, const char *columns, int64_t since)
{
    char *sql = text_format(
        "WITH rows AS (SELECT %s, 1 AS weight FROM copy_%s "
        "UNION ALL SELECT %s, weight FROM dbsp_changes('%s', since := %lld) "
        "UNION ALL SELECT %s, -1 FROM %s) "
        "SELECT count(*) FROM (SELECT %s, sum(weight) AS w FROM rows GROUP BY ALL HAVING w <> 0)",
        columns, view, columns, view, (long long)since, columns, view, columns);
    gives(db, sql, "0\n");
    test_free(sql);
}

bool ext_is_free(const char *path)
{
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int file = open(path, O_RDWR);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        _exit(file >= 0 && fcntl(file, F_SETLK, &lock) == 0 ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
