/* ext.c: see ext.h. */
#include "ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

void verifies(Db *db, const char *view)
{
    char *sql = text_format("CALL dbsp_verify('%s')", view);
    gives(db, sql, "ok|NULL\n");
    test_free(sql);
}
