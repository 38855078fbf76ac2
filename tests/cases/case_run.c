/* case_run.c: see case_run.h.
 *
 * After every commit every view is compared with its definition; at each `expect` also with the
 * rows written there. Those were worked out by hand: they catch an error that a view and DuckDB's
 * re-run definition would share, such as a table that was not filled. */
#include "case_run.h"

#include "backend.h"
#include "verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef struct CaseRunner {
    const CaseFile *file;
    CaseWay way;
    const CaseOptions *options;
    Text *report;
    Db db;
    Backend backend;
    char *path; /* owned; NULL: in memory */
    bool is_live[CASE_VIEWS_MAX];
    Feed feeds[CASE_VIEWS_MAX];
    int64_t before[CASE_VIEWS_MAX]; /* generation of the feed before the last change */
} CaseRunner;

const char *case_way_name(CaseWay way)
{
    switch (way) {
#define X(id, name, meaning) \
    case WAY_##id: return (name);
        CASE_WAYS(X)
#undef X
    case WAY_COUNT: break;
    }
    return "?";
}

bool case_has_way(const CaseFile *file, CaseWay way, const CaseOptions *options)
{
    /* The model keeps nothing in the file. */
    if (way == WAY_REOPEN && options->extension == NULL) {
        return false;
    }
    return file->ways.count == 0 || text_list_has(&file->ways, case_way_name(way));
}

static bool complain(CaseRunner *runner, size_t line, const char *title, const char *detail)
{
    text_addf(runner->report, "%s:%zu (%s): %s\n%s\n", runner->file->path, line,
              case_way_name(runner->way), title, detail);
    return false;
}

static duckdb_connection writer(CaseRunner *runner)
{
    return db_connection(&runner->db, 1);
}

static duckdb_connection reader(CaseRunner *runner)
{
    return db_connection(&runner->db, 0);
}

static bool run_list(CaseRunner *runner, duckdb_connection connection, const TextList *statements,
                     size_t line)
{
    Text error = {0};
    bool is_good = true;
    for (size_t i = 0; i < statements->count && is_good; i++) {
        is_good = db_run(connection, statements->items[i], &error);
        if (!is_good) {
            complain(runner, line, statements->items[i], text_get(&error));
        }
    }
    text_free(&error);
    return is_good;
}

static bool open_database(CaseRunner *runner)
{
    Text error = {0};
    const bool is_model = runner->options->extension == NULL;
    const DbOptions options = {.path = runner->path, .extension = runner->options->extension};
    bool is_good = db_open(&runner->db, &options, &error) &&
                   backend_open(&runner->backend, is_model ? BACKEND_COPY : BACKEND_EXTENSION,
                                reader(runner), &error);
    if (!is_good) {
        complain(runner, 0, "cannot open the database", text_get(&error));
    }
    text_free(&error);
    return is_good && run_list(runner, reader(runner), &runner->file->settings, 0) &&
           run_list(runner, writer(runner), &runner->file->settings, 0);
}

static bool compare_view(CaseRunner *runner, size_t index, size_t line)
{
    const CaseView *view = &runner->file->views[index];
    ColumnMode modes[CASE_COLUMNS_MAX];
    for (size_t i = 0; i < CASE_COLUMNS_MAX; i++) {
        modes[i] = view->is_near[i] ? COLUMN_NEAR : COLUMN_EQUAL;
    }
    Text report = {0};
    int64_t row_count = 0;
    char *content = backend_content(&runner->backend, view->name);
    ViewTarget target = {
        .name = view->name, .content = content, .definition = view->sql, .modes = modes};
    bool is_good = verify_view(reader(runner), &target, &row_count, &report) == VERIFY_SAME;
    if (is_good && runner->feeds[index].table == NULL) {
        int64_t generation = 0;
        is_good = backend_generation(&runner->backend, &generation, &report) &&
                  feed_open(&runner->feeds[index], reader(runner), &target, generation, &report);
        runner->before[index] = generation;
    } else if (is_good) {
        Feed *feed = &runner->feeds[index];
        runner->before[index] = feed->last;
        char *changes = backend_changes(&runner->backend, view->name, feed->last);
        is_good = feed_step(feed, reader(runner), &target, changes, &report);
        test_free(changes);
    }
    if (!is_good) {
        complain(runner, line, "a view is not its definition after this", text_get(&report));
    }
    test_free(content);
    text_free(&report);
    return is_good;
}

static bool compare_views(CaseRunner *runner, size_t line)
{
    Text error = {0};
    bool is_good = true;
    if (runner->backend.kind == BACKEND_COPY && !backend_sync(&runner->backend, &error)) {
        is_good = complain(runner, line, "sync fails", text_get(&error));
    }
    for (size_t i = 0; i < runner->file->view_count && is_good; i++) {
        is_good = !runner->is_live[i] || compare_view(runner, i, line);
    }
    text_free(&error);
    return is_good;
}

static bool create_view(CaseRunner *runner, size_t index)
{
    const CaseView *view = &runner->file->views[index];
    const bool must_fail = view->refusal != NULL && runner->options->extension != NULL;
    Text error = {0};
    const bool is_made = backend_create(&runner->backend, view->name, view->sql, view->sql, &error);
    bool is_good = is_made != must_fail;
    if (!is_good) {
        complain(runner, 0, view->name,
                 is_made ? "should be refused and is not" : text_get(&error));
    } else if (must_fail && (strstr(text_get(&error), view->refusal) == NULL ||
                             strcasestr(text_get(&error), view->reason) == NULL)) {
        is_good = complain(runner, 0, "another refusal than expected", text_get(&error));
    }
    runner->is_live[index] = is_made;
    text_free(&error);
    return is_good;
}

static bool create_views(CaseRunner *runner)
{
    bool is_good = true;
    for (size_t i = 0; i < runner->file->view_count && is_good; i++) {
        is_good = create_view(runner, i);
    }
    return is_good && compare_views(runner, 0);
}

/* The rows of the view as the file writes them, sorted. */
static bool expect_rows(CaseRunner *runner, const CaseStep *step)
{
    if (!runner->is_live[step->view]) {
        return true;
    }
    Text error = {0};
    Text printed = {0};
    Rows rows = {0};
    TextList found = {0};
    TextList expected = {0};
    char *content = backend_content(&runner->backend, runner->file->views[step->view].name);
    char *sql = text_format("SELECT * FROM %s", content);
    bool is_good = db_fetch(reader(runner), sql, &rows, &error);
    if (!is_good) {
        complain(runner, step->line, "the view cannot be read", text_get(&error));
    }
    rows_print(&rows, &printed);
    char *rest = printed.data;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (rest != NULL) {
            text_list_add(&found, line);
        }
    }
    for (size_t i = 0; i < step->lines.count; i++) {
        text_list_add(&expected, step->lines.items[i]);
    }
    text_list_sort(&found);
    text_list_sort(&expected);
    bool is_same = found.count == expected.count;
    for (size_t i = 0; is_same && i < found.count; i++) {
        is_same = strcmp(found.items[i], expected.items[i]) == 0;
    }
    if (is_good && !is_same) {
        Text detail = {0};
        text_addf(&detail, "view %s holds\n", runner->file->views[step->view].name);
        for (size_t i = 0; i < found.count; i++) {
            text_addf(&detail, "  %s\n", found.items[i]);
        }
        complain(runner, step->line, "other rows than expected", text_get(&detail));
        text_free(&detail);
    }
    test_free(content);
    test_free(sql);
    rows_free(&rows);
    text_free(&printed);
    text_free(&error);
    text_list_free(&found);
    text_list_free(&expected);
    return is_good && is_same;
}

static bool expect_unchanged(CaseRunner *runner, const CaseStep *step)
{
    if (!runner->is_live[step->view] ||
        runner->feeds[step->view].last == runner->before[step->view]) {
        return true;
    }
    return complain(runner, step->line, "the change feed is not empty", "");
}

/* Every table of the case as it is now, beside it as kept.NAME. */
static bool keep_tables(CaseRunner *runner)
{
    Text error = {0};
    Rows tables = {0};
    bool is_good = db_run(writer(runner), "ATTACH IF NOT EXISTS ':memory:' AS kept", &error) &&
                   db_fetch(writer(runner),
                            "SELECT table_name FROM duckdb_tables() WHERE database_name = "
                            "current_database() AND NOT internal AND NOT temporary",
                            &tables, &error);
    for (size_t i = 0; i < tables.row_count && is_good; i++) {
        const char *name = rows_cell(&tables, i, 0);
        char *sql =
            text_format("CREATE OR REPLACE TABLE kept.\"%s\" AS SELECT * FROM \"%s\"", name, name);
        is_good = db_run(writer(runner), sql, &error);
        test_free(sql);
    }
    if (!is_good) {
        complain(runner, 0, "the tables cannot be kept", text_get(&error));
    }
    rows_free(&tables);
    text_free(&error);
    return is_good;
}

/* BEGIN, all tables as they were kept, ROLLBACK. The insert may be refused (a key that the
 * transaction itself has deleted, a generated column); the rollback is what matters. */
static bool undo_and_roll_back(CaseRunner *runner)
{
    Text error = {0};
    Rows tables = {0};
    bool is_good = db_fetch(writer(runner),
                            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'kept'",
                            &tables, &error) &&
                   db_run(writer(runner), "BEGIN", &error);
    for (size_t i = 0; i < tables.row_count && is_good; i++) {
        const char *name = rows_cell(&tables, i, 0);
        char *sql = text_format("DELETE FROM \"%s\"; INSERT INTO \"%s\" SELECT * FROM kept.\"%s\"",
                                name, name, name);
        if (!db_run(writer(runner), sql, &error)) {
            test_free(sql);
            break;
        }
        test_free(sql);
    }
    is_good = is_good && db_run(writer(runner), "ROLLBACK", &error);
    if (!is_good) {
        complain(runner, 0, "BEGIN ... ROLLBACK fails", text_get(&error));
    }
    rows_free(&tables);
    text_free(&error);
    return is_good;
}

static bool reopen(CaseRunner *runner)
{
    for (size_t i = 0; i < CASE_VIEWS_MAX; i++) {
        feed_free(&runner->feeds[i]);
    }
    backend_close(&runner->backend);
    db_close(&runner->db);
    Text error = {0};
    bool is_good = open_database(runner);
    for (size_t i = 0; i < runner->file->view_count && is_good; i++) {
        const CaseView *view = &runner->file->views[i];
        /* Weir keeps its views in memory: those that are gone with the database are made again. */
        if (runner->is_live[i] && !backend_has(&runner->backend, view->name, &error) &&
            !backend_create(&runner->backend, view->name, view->sql, view->sql, &error)) {
            is_good = complain(runner, 0, "a view cannot be made again", text_get(&error));
        }
    }
    text_free(&error);
    return is_good;
}

static bool has_word(const TextList *statements, const char *word)
{
    for (size_t i = 0; i < statements->count; i++) {
        if (strncasecmp(statements->items[i], word, strlen(word)) == 0) {
            return true;
        }
    }
    return false;
}

/* In way once: the statements without BEGIN and COMMIT; none if they are rolled back. */
static bool run_inside(CaseRunner *runner, const CaseStep *step)
{
    if (step->kind == STEP_ALONE || has_word(&step->lines, "ROLLBACK")) {
        return true;
    }
    TextList kept = {0};
    for (size_t i = 0; i < step->lines.count; i++) {
        const char *sql = step->lines.items[i];
        if (strncasecmp(sql, "BEGIN", 5) != 0 && strncasecmp(sql, "COMMIT", 6) != 0) {
            text_list_add(&kept, sql);
        }
    }
    const bool is_good = run_list(runner, writer(runner), &kept, step->line);
    text_list_free(&kept);
    return is_good;
}

static bool run_change(CaseRunner *runner, const CaseStep *step)
{
    bool is_good = runner->way != WAY_UNDO || keep_tables(runner);
    is_good = is_good && run_list(runner, writer(runner), &step->lines, step->line) &&
              compare_views(runner, step->line);
    if (is_good && runner->way == WAY_UNDO) {
        /* Inside the feed nothing may have happened, but `unchanged` asks for the change itself. */
        int64_t before[CASE_VIEWS_MAX];
        memcpy(before, runner->before, sizeof before);
        is_good = undo_and_roll_back(runner) && compare_views(runner, step->line);
        memcpy(runner->before, before, sizeof before);
    }
    if (is_good && runner->way == WAY_REOPEN) {
        is_good = reopen(runner) && compare_views(runner, step->line);
    }
    return is_good;
}

static bool is_last_expect(const CaseFile *file, size_t index)
{
    for (size_t i = index + 1; i < file->step_count; i++) {
        if (file->steps[i].kind == STEP_CHANGE) {
            return false;
        }
    }
    return true;
}

static bool run_steps(CaseRunner *runner)
{
    const CaseFile *file = runner->file;
    const bool is_once = runner->way == WAY_ONCE;
    const TextList begin = {.items = (char *[]){(char[]){"BEGIN"}}, .count = 1};
    const TextList commit = {.items = (char *[]){(char[]){"COMMIT"}}, .count = 1};
    bool is_good = !is_once || run_list(runner, writer(runner), &begin, 0);
    for (size_t i = 0; i < file->step_count && is_good; i++) {
        const CaseStep *step = &file->steps[i];
        const bool is_change = step->kind == STEP_CHANGE || step->kind == STEP_ALONE;
        if (is_once && is_change) {
            is_good = run_inside(runner, step);
        } else if (is_change) {
            is_good = run_change(runner, step);
        } else if (!is_once) {
            is_good = step->kind == STEP_EXPECT ? expect_rows(runner, step)
                                                : expect_unchanged(runner, step);
        }
    }
    if (!is_once || !is_good) {
        return is_good;
    }
    is_good = run_list(runner, writer(runner), &commit, 0) && compare_views(runner, 0);
    for (size_t i = 0; i < file->step_count && is_good; i++) {
        if (file->steps[i].kind == STEP_EXPECT && is_last_expect(file, i)) {
            is_good = expect_rows(runner, &file->steps[i]);
        }
    }
    return is_good;
}

bool case_run(const CaseFile *file, CaseWay way, const CaseOptions *options, Text *report)
{
    CaseRunner runner = {.file = file, .way = way, .options = options, .report = report};
    if (way == WAY_REOPEN) {
        runner.path = text_format("%s/case_%ld.duckdb", options->directory, (long)getpid());
        db_remove_file(runner.path);
    }
    bool is_good = open_database(&runner) && run_list(&runner, writer(&runner), &file->tables, 0);
    const bool is_late = way == WAY_LATE;
    is_good = is_good && (is_late || create_views(&runner)) &&
              run_list(&runner, writer(&runner), &file->rows, 0);
    is_good = is_good && (is_late ? create_views(&runner) : compare_views(&runner, 0));
    is_good = is_good && run_steps(&runner);
    for (size_t i = 0; i < CASE_VIEWS_MAX; i++) {
        feed_free(&runner.feeds[i]);
    }
    backend_close(&runner.backend);
    db_close(&runner.db);
    if (runner.path != NULL) {
        db_remove_file(runner.path);
        test_free(runner.path);
    }
    return is_good;
}
