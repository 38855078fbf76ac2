/* faults.c: every allocation of every statement fails once, in a real DuckDB.
 *
 * A story is a view of one kind and a view over it. Each act of a story, a statement, is run once to
 * count its allocations and then again and again, each time with another of them failing. After each
 * try must hold, with memory again:
 *   - the statement succeeded, or failed with a code of Weir and for want of memory, and a view that
 *     it makes or drops is there or not as it says;
 *   - each view equals its definition, or is broken, says why, and is right after dbsp_refresh or,
 *     every other time, after the next change of its tables;
 *   - a key that was promised is kept, or not checked any more for want of memory;
 * and at the end of the story the changes of both views add up to their contents, and nothing is
 * left of Weir's memory when the database is closed. */
#include "ext.h"

#include "fault_memory.h"
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool in_files;        /* all stories, not every other one */
static size_t tries_max = 3; /* of one act; the stories take different ones */

typedef struct Story {
    const char *name;
    const char *definition;
} Story;

/* The kinds of operators, alone and in pairs. */
static const Story STORIES[] = {
    {"filter", "SELECT a, upper(b) AS b, d * 2 AS d FROM t WHERE a % 2 = 1 OR b LIKE '%3%'"},
    {"host", "SELECT a, md5(b) AS m, format('{}', a) AS f FROM t"},
    {"group",
     "SELECT a, count(*) AS n, sum(d) AS s, avg(d) AS m FROM t GROUP BY a HAVING sum(a) > 0"},
    {"extremes", "SELECT a, min(b) AS x, max(b) AS y, count(DISTINCT b) AS n FROM t GROUP BY a"},
    {"global", "SELECT count(*) AS n, sum(a) AS s, min(d) AS d, max(b) AS b FROM t"},
    {"distinct", "SELECT DISTINCT a, b FROM t"},
    {"union", "SELECT a, d FROM t UNION ALL SELECT c, a FROM u"},
    {"inner", "SELECT t.a, b, c FROM t JOIN u ON t.a = u.a AND d > c"},
    {"left", "SELECT t.a, b, c FROM t LEFT JOIN u ON t.a = u.a"},
    {"full", "SELECT t.a, b, c FROM t FULL JOIN u ON t.a = u.a AND c > 2"},
    {"cross", "SELECT t.a, u.c FROM t, u WHERE t.a > u.a"},
    {"semi", "SELECT a, b FROM t WHERE a IN (SELECT a FROM u)"},
    {"anti", "SELECT a, b FROM t WHERE a NOT IN (SELECT a FROM u WHERE c > 0)"},
    {"exists", "SELECT a, b FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a)"},
    {"mark", "SELECT a, a IN (SELECT c FROM u) AS is_in FROM t"},
    {"scalar", "SELECT a, (SELECT max(c) FROM u WHERE u.a = t.a) AS c FROM t"},
    {"nested", "SELECT {'a': a, 'b': b} AS s, [a, NULL] AS l FROM t"},
    {"diamond", "WITH g AS (SELECT a, count(*) AS n FROM t GROUP BY a) "
                "SELECT x.a, x.n + y.n AS n FROM g x JOIN g y ON x.a = y.a"},
};

enum { STORY_COUNT = sizeof STORIES / sizeof STORIES[0] };

/* ---- acts --------------------------------------------------------------------------------------- */

enum {
    NEEDS_NOTHING = 0,
    NEEDS_V = 1,
    NEEDS_OVER = 2, /* and v */
    NEEDS_CHANGE = 4,
    IS_ALONE = 8 /* nothing reads v */
};

typedef struct Act {
    const char *name;
    unsigned needs;
    const char *statement; /* $ is the definition, quoted */
} Act;

/* The first and the last acts make and drop the views; between them the feeds must have no gap. */
static const Act MAKING[] = {
    {"create", NEEDS_NOTHING, "CALL dbsp_create_view('v', $)"},
    {"create over", NEEDS_V, "CALL dbsp_create_view('over', 'SELECT count(*) AS n FROM v')"},
};

static const Act LIVING[] = {
    {"sync", NEEDS_OVER | NEEDS_CHANGE, "CALL dbsp_sync()"},
    {"read", NEEDS_OVER | NEEDS_CHANGE, "SELECT * FROM v"},
    {"read over", NEEDS_OVER | NEEDS_CHANGE, "SELECT * FROM over"},
    {"feed", NEEDS_OVER | NEEDS_CHANGE, "SELECT * FROM dbsp_changes('v')"},
    {"verify", NEEDS_OVER | NEEDS_CHANGE, "CALL dbsp_verify('v')"},
    {"refresh", NEEDS_OVER | NEEDS_CHANGE, "CALL dbsp_refresh('v')"},
    {"replace", NEEDS_OVER | NEEDS_CHANGE, "CALL dbsp_replace_view('v', $)"},
    {"exec", NEEDS_OVER | NEEDS_CHANGE,
     "CALL dbsp_exec('INSERT INTO t VALUES (100, ''told'', 1); UPDATE u SET c = 9 WHERE c = 3')"},
};

static const Act ENDING[] = {
    {"drop", NEEDS_OVER, "CALL dbsp_drop_cascade('v')"},
    {"replace by another", NEEDS_V | NEEDS_CHANGE | IS_ALONE,
     "CALL dbsp_replace_view('v', 'SELECT a AS other FROM t')"},
};

/* What only tells, once. */
static const Act TELLING[] = {
    {"views", NEEDS_OVER | NEEDS_CHANGE, "SELECT * FROM dbsp_views()"},
    {"view state", NEEDS_OVER | NEEDS_CHANGE, "SELECT * FROM dbsp_view_state()"},
    {"tables", NEEDS_OVER | NEEDS_CHANGE, "SELECT * FROM dbsp_tables()"},
    {"table state", NEEDS_OVER | NEEDS_CHANGE, "SELECT * FROM dbsp_table_state()"},
    {"deps", NEEDS_OVER, "CALL dbsp_deps('over')"},
    {"explain", NEEDS_OVER, "CALL dbsp_explain('v')"},
    {"explain sql", NEEDS_OVER, "CALL dbsp_explain('SELECT a, max(c) FROM u GROUP BY a')"},
    {"track", NEEDS_V | NEEDS_CHANGE, "CALL dbsp_track('u')"},
    {"track a key", NEEDS_V | NEEDS_CHANGE, "CALL dbsp_track('k', key := 'a, b')"},
    {"save", NEEDS_OVER, "CALL dbsp_save('ext_faults.json')"},
    {"look", NEEDS_OVER, "CALL dbsp_auto_sync(true, every_ms := 3600000)"},
    {"look no more", NEEDS_OVER, "CALL dbsp_auto_sync(true)"},
};

#define ACTS(list) (list), sizeof(list) / sizeof(list)[0]

/* ---- one story ----------------------------------------------------------------------------------- */

typedef struct Play {
    Db db;
    char *path; /* of its file; NULL = in memory */
    const Story *story;
    size_t number;   /* of the story */
    const Act *act;  /* for messages */
    size_t nth;      /* the allocation that fails */
    size_t changes;  /* made so far */
    size_t failures; /* statements that failed */
    size_t broken;   /* views that were found broken */
    size_t given_up; /* keys that were not checked any more */
    size_t tries;
} Play;

/* Rows come and go, so that the tables stay small and each change is one. In a file the log tells of
 * them, but for a checkpoint now and then. */
static void change_tables(Play *play)
{
    if (play->path != NULL && play->changes % 9 == 8) {
        run(&play->db, "CHECKPOINT");
    }
    run(&play->db,
        play->changes++ % 2 == 0
            ? "INSERT INTO t SELECT 100 + i % 3, 'a text that is not inline ' || i, i / 2.0 "
              "FROM range(20) r(i);"
              "INSERT INTO t VALUES (1, NULL, NULL), (NULL, 'x', 1);"
              "INSERT INTO u VALUES (100, 1), (1, NULL), (NULL, 3), (2, 9);"
              "DELETE FROM t WHERE a = 2;"
              "INSERT INTO k SELECT i, 'a text that is not inline ' || i FROM range(60) r(i)"
            : "DELETE FROM t WHERE a >= 100 OR a IS NULL OR b IS NULL;"
              "DELETE FROM u WHERE a >= 100 OR a IS NULL OR c IS NULL OR c = 9;"
              "INSERT INTO t SELECT 2, 'b' || i % 5, i / 4.0 FROM range(6) r(i);"
              "DELETE FROM k WHERE a < 60");
}

static void fail_play(const Play *play, const char *message)
{
    fault_disarm();
    fail_msg("story %s, act %s, allocation %zu: %s", play->story->name, play->act->name, play->nth,
             message);
}

static bool has_view(Play *play, const char *view)
{
    char *sql = text_format("SELECT count(*) FROM dbsp_views() WHERE view = '%s'", view);
    const bool has = number(&play->db, sql) == 1;
    test_free(sql);
    return has;
}

static void set_the_scene(Play *play, const Act *act)
{
    const bool needs_over = (act->needs & NEEDS_OVER) != 0;
    if ((act->needs & (NEEDS_OVER | NEEDS_V)) == 0) {
        run(&play->db, "CALL dbsp_drop_cascade('v', if_exists := true)");
    } else if (!has_view(play, "v")) {
        create_view(&play->db, "v", play->story->definition);
    }
    if ((act->needs & IS_ALONE) != 0 && has_view(play, "v")) {
        run(&play->db, "CALL dbsp_drop_cascade('v')");
        create_view(&play->db, "v", play->story->definition);
    }
    if (needs_over && !has_view(play, "over")) {
        create_view(&play->db, "over", "SELECT count(*) AS n FROM v");
    } else if (!needs_over) {
        run(&play->db, "CALL dbsp_drop('over', if_exists := true)");
    }
    if ((act->needs & NEEDS_CHANGE) != 0) {
        change_tables(play);
    }
}

static char *statement_of(const Play *play, const Act *act)
{
    Text sql = {0};
    const char *const place = strchr(act->statement, '$');
    text_add_len(&sql, act->statement,
                 place == NULL ? strlen(act->statement) : (size_t)(place - act->statement));
    if (place != NULL) {
        text_add_literal(&sql, play->story->definition);
        text_add(&sql, place + 1);
    }
    return text_take(&sql);
}

static VerifyResult compare(Play *play, const Rows *views, size_t row, Text *report)
{
    int64_t row_count = 0;
    const char *const name = rows_cell(views, row, 0);
    const ViewTarget target = {
        .name = name, .content = name, .definition = rows_cell(views, row, 1)};
    ViewTarget copy = target;
    text_clear(report);
    return verify_view(db_connection(&play->db, 0), &copy, &row_count, report);
}

/* A view that cannot be read says so, and works again. */
static void mend(Play *play, const Rows *views, size_t row, Text *report)
{
    const char *const name = rows_cell(views, row, 0);
    play->broken++;
    char *sql =
        text_format("SELECT state, reason IS NOT NULL FROM dbsp_views() WHERE view = '%s'", name);
    if (strstr(text_get(report), "DBSP-E204") == NULL) {
        fail_play(play, text_get(report));
    }
    gives(&play->db, sql, "broken|true\n");
    test_free(sql);
    if (play->nth % 2 == 0) {
        sql = text_format("CALL dbsp_refresh('%s')", name);
        run(&play->db, sql);
        test_free(sql);
    } else {
        change_tables(play);
    }
    if (compare(play, views, row, report) != VERIFY_SAME) {
        fail_play(play, text_get(report));
    }
}

static void check_views(Play *play)
{
    Rows views = {0};
    Text report = {0};
    Text error = {0};
    if (!db_fetch(db_connection(&play->db, 0),
                  "SELECT view, sql FROM dbsp_views() ORDER BY view = 'over'", &views, &error)) {
        fail_play(play, text_get(&error));
    }
    for (size_t i = 0; i < views.row_count; i++) {
        switch (compare(play, &views, i, &report)) {
        case VERIFY_SAME: break;
        case VERIFY_VIEW_FAILED:
        case VERIFY_BOTH_FAILED: mend(play, &views, i, &report); break; /* over reads v */
        case VERIFY_DIFFERENT:
        case VERIFY_SCHEMA:
        case VERIFY_DEFINITION_FAILED: fail_play(play, text_get(&report));
        }
    }
    rows_free(&views);
    text_free(&report);
    text_free(&error);
}

static void check_promise(Play *play)
{
    Rows rows = {0};
    Text error = {0};
    if (!db_fetch(db_connection(&play->db, 0),
                  "SELECT promise_error FROM dbsp_tables() WHERE \"table\" = 'k'", &rows, &error)) {
        fail_play(play, text_get(&error));
    }
    const char *const told = rows.row_count == 1 ? rows_cell(&rows, 0, 0) : "there is no promise";
    if (told != NULL) {
        if (strstr(told, "DBSP-E001: the key of table k is not checked any more") == NULL) {
            fail_play(play, told);
        }
        play->given_up++;
        run(&play->db, "CALL dbsp_track('k', key := 'b, a')");
    }
    rows_free(&rows);
    text_free(&error);
}

static void try_act(Play *play, const Act *act, const char *sql)
{
    Text error = {0};
    set_the_scene(play, act);
    const bool had_v = has_view(play, "v");
    const bool had_over = has_view(play, "over");
    fault_arm(play->nth, play->tries % 3 == 0);
    const bool is_done = db_run(db_connection(&play->db, 0), sql, &error);
    fault_disarm();
    play->tries++;
    if (!is_done) {
        play->failures++;
        if (strstr(text_get(&error), "DBSP-E") == NULL ||
            strstr(text_get(&error), "out of memory") == NULL) {
            fail_play(play, text_get(&error));
        }
        if (has_view(play, "v") != had_v || has_view(play, "over") != had_over) {
            fail_play(play, "the statement failed, but made or dropped a view");
        }
    }
    check_views(play);
    check_promise(play);
    text_free(&error);
}

static void play_acts(Play *play, const Act *acts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        play->act = &acts[i];
        play->nth = 0;
        char *sql = statement_of(play, &acts[i]);
        set_the_scene(play, &acts[i]);
        fault_count_begin();
        run(&play->db, sql);
        const size_t total = fault_count_end();
        const size_t tries = total < tries_max ? total : tries_max;
        for (size_t k = 0; k < tries; k++) {
            play->nth = 1 + k * total / tries + play->number * (total / tries) / STORY_COUNT;
            try_act(play, &acts[i], sql);
        }
        test_free(sql);
    }
}

static char *columns_of(Play *play, const char *view)
{
    Text error = {0};
    Rows rows = {0};
    char *sql = text_format("SELECT string_agg(column_name, ', ') FROM (DESCRIBE %s)", view);
    if (!db_fetch(db_connection(&play->db, 0), sql, &rows, &error)) {
        fail_play(play, text_get(&error));
    }
    char *columns = test_copy(rows_cell(&rows, 0, 0));
    rows_free(&rows);
    text_free(&error);
    test_free(sql);
    return columns;
}

static void open_play(Play *play)
{
    Text error = {0};
    const DbOptions options = {.path = play->path};
    if (!db_open(&play->db, &options, &error) || !fault_attach(&play->db, &error)) {
        fail_msg("%s", text_get(&error));
    }
    text_free(&error);
    run(&play->db, "SET threads = 1; CREATE TABLE t (a INTEGER, b VARCHAR, d DOUBLE);"
                   "INSERT INTO t SELECT i % 7, 'b' || i % 5, i / 4.0 FROM range(40) r(i);"
                   "CREATE TABLE u (a INTEGER, c INTEGER);"
                   "INSERT INTO u SELECT i % 5, i % 4 FROM range(10) r(i);"
                   "CREATE TABLE k (a INTEGER, b VARCHAR); INSERT INTO k VALUES (100, 'b')");
}

static void close_play(Play *play)
{
    db_close(&play->db);
    if (play->path != NULL) {
        db_remove_file(play->path);
        test_free(play->path);
    }
    assert_int_equal(fault_leak_count(), 0);
}

static void every_allocation_of_a_story_fails(void **state)
{
    const size_t number_of_story = *(const size_t *)*state;
    const Story *const story = &STORIES[number_of_story];
    Play play = {.story = story, .number = number_of_story};
    play.path = in_files || number_of_story % 2 == 1 ? ext_new_path("faults") : NULL;
    open_play(&play);
    run(&play.db, "CALL dbsp_track('k', key := 'a, b')");
    play_acts(&play, ACTS(MAKING));
    set_the_scene(&play, &LIVING[0]);
    const int64_t since = number(&play.db, "SELECT generation FROM dbsp_sync()");
    run(&play.db, "CREATE TABLE copy_v AS FROM v; CREATE TABLE copy_over AS FROM over");
    play_acts(&play, ACTS(LIVING));
    char *columns = columns_of(&play, "v");
    adds_up(&play.db, "v", columns, since);
    adds_up(&play.db, "over", "n", since);
    test_free(columns);
    play_acts(&play, ACTS(ENDING));
    if (number_of_story == 0) {
        play_acts(&play, ACTS(TELLING));
    }
    run(&play.db, "INSERT INTO k VALUES (100, 'b'); CALL dbsp_sync()");
    gives(&play.db, "SELECT promise_error[:9] FROM dbsp_tables() WHERE \"table\" = 'k'",
          "DBSP-E305\n");
    printf("%-10s %s %6zu tries, %6zu failed, %6zu broken views mended, %zu keys given up\n",
           story->name, play.path == NULL ? "in memory" : "in a file", play.tries, play.failures,
           play.broken, play.given_up);
    close_play(&play);
    assert_true(play.failures > play.tries / 4); /* or the faults do not arrive */
}

/* ---- a reader that is open ----------------------------------------------------------------------- */

/* The number of rows, from `sum` rows on whose first column is added up. */
static void read_rest(duckdb_result result, int64_t *count, int64_t *sum)
{
    for (;;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
        if (chunk == NULL) {
            return;
        }
        const idx_t size = duckdb_data_chunk_get_size(chunk);
        const int32_t *const values =
            duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, 0));
        for (idx_t i = 0; i < size; i++) {
            *sum += values[i];
        }
        *count += (int64_t)size;
        duckdb_destroy_data_chunk(&chunk);
    }
}

/* Opens a reader, changes all that it has yet to read, and reads on. nth 0: no fault. */
static size_t read_across_a_change(Play *play, size_t nth)
{
    duckdb_prepared_statement statement = NULL;
    duckdb_result result;
    int64_t count = 0;
    int64_t sum = 0;
    duckdb_connection reader = db_connection(&play->db, 1);
    assert_int_equal(duckdb_prepare(reader, "SELECT a, b FROM v", &statement), DuckDBSuccess);
    assert_int_equal(duckdb_execute_prepared_streaming(statement, &result), DuckDBSuccess);
    assert_true(duckdb_result_is_streaming(result));
    const int64_t rows = number(&play->db, "SELECT count(*) FROM v");
    const int64_t total = number(&play->db, "SELECT sum(a) FROM v");
    run(&play->db, "UPDATE t SET a = (a + 1) % 7; DELETE FROM t WHERE b LIKE '%17%';"
                   "INSERT INTO t SELECT 5, 'more 17 ' || i, 0 FROM range(500) r(i)");
    play->nth = nth;
    fault_count_begin();
    if (nth > 0) {
        fault_arm(nth, false);
    }
    Text error = {0};
    const bool is_done = db_run(db_connection(&play->db, 0), "CALL dbsp_sync()", &error);
    fault_disarm();
    const size_t allocations = fault_count_end();
    assert_true(is_done || strstr(text_get(&error), "DBSP-E") != NULL);
    play->failures += !is_done;
    read_rest(result, &count, &sum);
    assert_null(duckdb_result_error(&result));
    assert_int_equal(count, rows);
    assert_int_equal(sum, total);
    duckdb_destroy_result(&result);
    duckdb_destroy_prepare(&statement);
    text_free(&error);
    check_views(play);
    return allocations;
}

static void an_open_reader_reads_on_whatever_fails(void **state)
{
    (void)state;
    static const Story STORY = {"reader", "SELECT coalesce(a, 0) AS a, b FROM t"};
    static const Act SYNC = {"sync", NEEDS_V, "CALL dbsp_sync()"};
    Play play = {.story = &STORY, .act = &SYNC};
    open_play(&play);
    run(&play.db, "SET streaming_buffer_size = '1KB';"
                  "INSERT INTO t SELECT i % 7, 'text ' || i, i FROM range(9000) r(i)");
    create_view(&play.db, "v", STORY.definition);
    size_t total = read_across_a_change(&play, 0);
    const size_t tries = total < tries_max ? total : tries_max;
    for (size_t k = 0; k < tries; k++) {
        (void)read_across_a_change(&play, 1 + k * total / tries);
    }
    printf("%zu tries, %zu broken views mended\n", tries, play.broken);
    close_play(&play);
}

/* ---- attaching ----------------------------------------------------------------------------------- */

/* False when it did not fail: then there is no such allocation. */
static bool attach_with_fault(size_t which, size_t nth)
{
    Db db;
    Text error = {0};
    const DbOptions options = {.path = NULL};
    assert_true(db_open(&db, &options, &error));
    fault_arm_new(which, nth);
    const bool is_attached = fault_attach(&db, &error);
    fault_disarm();
    if (!is_attached) {
        assert_non_null(strstr(text_get(&error), "DBSP-E001"));
        gives(&db, "SELECT 42", "42\n"); /* the host goes on */
    } else {
        gives(&db, "SELECT count(*) FROM dbsp_views()", "0\n");
    }
    db_close(&db);
    text_free(&error);
    assert_int_equal(fault_leak_count(), 0);
    return !is_attached;
}

static void attaching_fails_and_leaves_nothing(void **state)
{
    (void)state;
    enum { ALLOCATORS = 2 }; /* the database's and the connector's */
    for (size_t which = 1; which <= ALLOCATORS; which++) {
        size_t nth = 0;
        while (attach_with_fault(which, nth)) {
            nth++;
        }
        printf("allocator %zu: %zu allocations\n", which, nth - 1);
        assert_true(nth > 2);
    }
    assert_false(attach_with_fault(ALLOCATORS + 1, 0)); /* there is no third */
}

/* ---- main ---------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    enum { OTHERS = 2 };
    struct CMUnitTest tests[STORY_COUNT + OTHERS] = {
        cmocka_unit_test(attaching_fails_and_leaves_nothing),
        cmocka_unit_test(an_open_reader_reads_on_whatever_fails),
    };
    size_t numbers[STORY_COUNT];
    in_files = argc == 3 && strcmp(argv[2], "files") == 0;
    if (argc > 3 || (argc == 3 && !in_files)) {
        (void)fprintf(stderr, "usage: %s [TRIES [files]]\n", argv[0]);
        return 2;
    }
    tries_max = argc > 1 ? strtoul(argv[1], NULL, 10) : tries_max;
    for (size_t i = 0; i < STORY_COUNT; i++) {
        numbers[i] = i;
        tests[OTHERS + i] = (struct CMUnitTest){.name = STORIES[i].name,
                                                .test_func = every_allocation_of_a_story_fails,
                                                .initial_state = &numbers[i]};
    }
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
