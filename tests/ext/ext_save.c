/* ext_save.c: definitions in a file: what comes back, what is refused, and that it is all or nothing. */
#include "ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const char *text)
{
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Every test is in an empty directory of its own. */
static char *old_directory;
static char *directory;

static int enter(void **state)
{
    char name[] = "ext_save_XXXXXX";
    old_directory = getcwd(NULL, 0);
    directory = test_copy(mkdtemp(name));
    if (chdir(directory) != 0 || mkdir("sub", 0777) != 0) {
        return -1;
    }
    return ext_setup(state);
}

static int leave(void **state)
{
    char *remove = text_format("rm -r '%s'", directory);
    const int status = ext_teardown(state);
    const bool is_gone = chdir(old_directory) == 0 && system(remove) == 0;
    test_free(remove);
    test_free(directory);
    free(old_directory);
    return is_gone ? status : -1;
}

static void make_views(Db *db)
{
    run(db,
        "CREATE SCHEMA \"odd \"\" schema\"; CREATE TABLE t (a INTEGER, b VARCHAR, c TIMESTAMPTZ);"
        "INSERT INTO t VALUES (1, 'x', '2024-01-01 02:00:00+00'), (2, 'y', NULL)");
    create_view(db, "z_base", "SELECT a, b, 'it''s \"quoted\" \\ \t' AS c FROM t");
    create_view(db, "a_above", "SELECT count(*) AS n FROM z_base\n-- a comment\n");
    create_view(db, "\"odd \"\" schema\".\"Ünïcode\"", "SELECT b AS \"col \"\" x\" FROM t");
    run(db, "CALL dbsp_create_view('days', 'SELECT c::DATE AS d FROM t', time_zone := "
            "'America/New_York', search_path := 'main')");
}

static void what_was_saved_comes_back(void **state)
{
    Db *db = *state;
    Db other;
    make_views(db);
    gives(db, "CALL dbsp_save('sub/views.json')", "sub/views.json|4\n");
    gives(db, "SELECT format, version, len(views) FROM 'sub/views.json'", "weir views|1|4\n");
    char *path = ext_new_path("save");
    ext_open(&other, path); /* of another name than memory */
    run(&other, "CREATE SCHEMA \"odd \"\" schema\"; CREATE TABLE t AS SELECT 7 AS a, 'q' AS b, "
                "'2024-01-01 02:00:00+00'::TIMESTAMPTZ AS c");
    gives(&other, "CALL dbsp_load('sub/views.json')", "sub/views.json|4\n");
    gives(&other, "SELECT n FROM a_above", "1\n");
    gives(&other, "SELECT c FROM z_base", "it's \"quoted\" \\ \t\n");
    gives(&other, "SELECT d FROM days", "2023-12-31\n");
    gives(&other, "SELECT * FROM \"odd \"\" schema\".\"Ünïcode\"", "q\n");
    run(&other, "INSERT INTO t VALUES (8, 'r', NULL)");
    verifies(&other, "a_above");
    gives(&other, "SELECT count(*) FROM dbsp_changes('z_base', since := 0)", "1\n");
    run(&other, "CALL dbsp_save('again.json')");
    db_close(&other);
    ext_open(&other, path); /* and they are kept */
    gives(&other, "SELECT view FROM dbsp_views() ORDER BY 1", "a_above\ndays\nz_base\nÜnïcode\n");
    gives(&other, "SELECT n FROM a_above", "2\n");
    db_close(&other);
    gives(db,
          "SELECT count(*) FROM (SELECT content FROM read_text(['sub/views.json', 'again.json']) "
          "GROUP BY content)",
          "1\n");
    gives(db, "SELECT count(*) FROM glob('*') WHERE file LIKE '%.json%'", "1\n"); /* no rest */
    db_remove_file(path);
    test_free(path);
}

static void a_load_is_all_or_nothing(void **state)
{
    Db *db = *state;
    make_views(db);
    run(db, "CALL dbsp_save('views.json')");
    fails(db, "CALL dbsp_load('views.json')", "DBSP-E104"); /* they are there */
    gives(db, "SELECT count(*) FROM dbsp_views()", "4\n");
    run(db, "CALL dbsp_drop('days'); CALL dbsp_drop_cascade('z_base')");
    fails(db, "CALL dbsp_load('views.json')", "DBSP-E104"); /* one of them is */
    gives(db, "SELECT view FROM dbsp_views()", "Ünïcode\n");
    run(db, "CALL dbsp_drop('\"odd \"\" schema\".\"Ünïcode\"'); DROP TABLE t; "
            "CREATE TABLE t (a INTEGER, b VARCHAR)"); /* the last one does not fit any more */
    fails(db, "CALL dbsp_load('views.json')", "\"days\": ");
    gives(db, "SELECT count(*) FROM dbsp_views()", "0\n");
    gives(db, "SELECT count(*) FROM dbsp_tables()", "0\n");
    run(db, "ALTER TABLE t ADD COLUMN c TIMESTAMPTZ");
    run(db, "CALL dbsp_load('views.json')");
    verifies(db, "a_above");
    gives(db, "CALL dbsp_drop_cascade('z_base')", "2\n");
}

/* A failed load leaves no definitions in a file. */
static void a_failed_load_keeps_nothing(void **state)
{
    Db file;
    char *path = ext_new_path("load");
    (void)state;
    write_file("views.json",
               "{\"format\":\"weir views\",\"version\":1,\"views\":["
               "{\"schema\":\"main\",\"name\":\"v\",\"sql\":\"SELECT a FROM t\"},"
               "{\"schema\":\"main\",\"name\":\"w\",\"sql\":\"SELECT nosuch FROM v\"}]}");
    ext_open(&file, path);
    run(&file, "CREATE TABLE t (a INTEGER)");
    fails(&file, "CALL dbsp_load('views.json')", "DBSP-E100: view \"main\".\"w\"");
    db_close(&file);
    ext_open(&file, path);
    gives(&file, "SELECT count(*) FROM dbsp_views()", "0\n");
    db_close(&file);
    db_remove_file(path);
    test_free(path);
}

static void paths_that_leave_are_refused(void **state)
{
    static const char *const PATHS[] = {"/x.json",      "../x.json", "sub/../x.json", "./x.json",
                                        "sub//x.json",  "",          "sub/",          "..",
                                        "sub/./x.json", "/"};
    Db *db = *state;
    for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++) {
        for (int k = 0; k < 2; k++) {
            char *sql = text_format("CALL dbsp_%s('%s')", k == 0 ? "save" : "load", PATHS[i]);
            fails(db, sql, "DBSP-E501: path");
            test_free(sql);
        }
    }
    assert_int_equal(symlink("..", "link"), 0);
    assert_int_equal(symlink("sub", "inner"), 0);
    fails(db, "CALL dbsp_save('link/x.json')",
          "DBSP-E501: path \"link/x.json\" leads over a symbolic");
    fails(db, "CALL dbsp_save('inner/x.json')", "leads over a symbolic");
    run(db, "CALL dbsp_save('real.json')");
    assert_int_equal(symlink("real.json", "l.json"), 0);
    fails(db, "CALL dbsp_load('l.json')", "leads over a symbolic");
    write_file("outside.json", "kept");
    assert_int_equal(symlink("../outside.json", "sub/o.json"), 0);
    run(db, "CALL dbsp_save('sub/o.json')"); /* takes the place of the link */
    gives(db, "SELECT content FROM read_text('outside.json')", "kept\n");
    run(db, "CALL dbsp_load('sub/o.json')");
    assert_int_equal(mkfifo("pipe", 0666), 0);
    fails(db, "CALL dbsp_load('pipe')", "DBSP-E501: path \"pipe\" is no file");
    fails(db, "CALL dbsp_load('sub')", "DBSP-E501");
    fails(db, "CALL dbsp_save('sub')", "DBSP-E003");
    fails(db, "CALL dbsp_load('nosuch.json')", "DBSP-E003");
    fails(db, "CALL dbsp_save('nosuch/x.json')", "DBSP-E003");
    run(db, "SET enable_external_access = false");
    fails(db, "CALL dbsp_save('real.json')", "DBSP-E503");
    fails(db, "CALL dbsp_load('real.json')", "DBSP-E503");
}

static void texts_that_are_no_list_are_refused(void **state)
{
    static const char *const TEXTS[][2] = {
        {"", "it is empty"},
        {"{", "it is not JSON"},
        {"nonsense", "it is not JSON"},
        {"[]", "it is not an object"},
        {"{} trailing", "it is not JSON"},
        {"{}", "\"format\" is missing"},
        {"{\"format\": \"other\", \"version\": 1, \"views\": []}", "\"format\" is not"},
        {"{\"format\": \"weir views\", \"views\": []}", "\"version\" is missing"},
        {"{\"format\": \"weir views\", \"version\": 2, \"views\": []}", "has version 2"},
        {"{\"format\": \"weir views\", \"version\": 1}", "\"views\" is missing"},
        {"{\"format\": \"weir views\", \"version\": 1, \"views\": [1]}", "a view is not an object"},
        {"{\"format\": \"weir views\", \"version\": 1, \"views\": [{\"schema\": \"main\"}]}",
         "\"name\" is missing"},
        {"{\"format\": \"weir views\", \"version\": 1, \"views\": [{\"schema\": \"main\", "
         "\"name\": 7}]}",
         "\"name\" is not a text"},
        {"{\"format\": \"weir views\", \"version\": 1, \"views\": [{\"schema\": \"main\", "
         "\"name\": "
         "\"a\\u0000b\", \"sql\": \"SELECT 1\"}]}",
         "\"name\" is not a text"},
        {"{\"format\": \"weir views\", \"version\": 1, \"views\": [{\"schema\": \"main\", "
         "\"name\": "
         "\"v\", \"sql\": \"SELECT 1\", \"settings\": 3}]}",
         "\"settings\" is not an object"},
        {"[[[[[[[[[[[[1]]]]]]]]]]]]", "it is not JSON"},
        {"{\"format\": \"\xff\xfe\"}", "it is not JSON"},
    };
    Db *db = *state;
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        write_file("bad.json", TEXTS[i][0]);
        fails(db, "CALL dbsp_load('bad.json')", "DBSP-E501");
        fails(db, "CALL dbsp_load('bad.json')", TEXTS[i][1]);
    }
    run(db, "COPY (SELECT repeat('x', 17000000)) TO 'big.json' (FORMAT csv, HEADER false)");
    fails(db, "CALL dbsp_load('big.json')", "DBSP-E004");
    write_file("none.json", "{\"format\": \"weir views\", \"version\": 1, \"views\": []}");
    gives(db, "CALL dbsp_load('none.json')", "none.json|0\n");
    gives(db, "SELECT count(*) FROM dbsp_views()", "0\n");
}

#define SAVE_TEST(function) cmocka_unit_test_setup_teardown(function, enter, leave)

static const struct CMUnitTest tests[] = {
    SAVE_TEST(what_was_saved_comes_back),          SAVE_TEST(a_load_is_all_or_nothing),
    SAVE_TEST(a_failed_load_keeps_nothing),        SAVE_TEST(paths_that_leave_are_refused),
    SAVE_TEST(texts_that_are_no_list_are_refused),
};

EXT_MAIN(tests)
