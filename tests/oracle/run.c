/* run.c: see run.h.
 *
 * Connection 0 is the checker's; the round's connections 0 and 1 are 1 and 2 of the database. */
#include "run.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WRITERS = 2, VIEW_ROWS_MAX = 30000 };

typedef struct Runner {
    const Case *test;
    const RunOptions *options;
    Outcome *outcome;
    Db db;
    Backend backend;
    char *path; /* owned; NULL: in memory */
    bool is_live[VIEWS_MAX];
    Feed feeds[VIEWS_MAX];
    size_t column_counts[VIEWS_MAX]; /* once the columns have been compared; see ViewTarget */
    char *definitions[VIEWS_MAX];    /* owned; see view_expand */
    char *contents[VIEWS_MAX];       /* owned; see backend_content */
    bool is_open[WRITERS];           /* in a transaction */
    bool is_dead[WRITERS];           /* in a transaction that has failed */
    size_t group;
    size_t check_count;
} Runner;

__attribute__((format(printf, 4, 5))) static void fail(Runner *runner, const char *kind,
                                                       const View *view, const char *format, ...)
{
    Outcome *outcome = runner->outcome;
    if (outcome->is_failure) {
        return;
    }
    char message[16384];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    outcome->is_failure = true;
    outcome->kind = test_copy(kind);
    outcome->message = test_copy(message);
    outcome->group = runner->group;
    (void)snprintf(outcome->view, sizeof outcome->view, "%s", view == NULL ? "" : view->name);
}

static bool is_failed(const Runner *runner)
{
    return runner->outcome->is_failure;
}

static bool open_database(Runner *runner)
{
    Text error = {0};
    const BackendKind kind = runner->options->extension == NULL ? BACKEND_COPY : BACKEND_EXTENSION;
    const DbOptions options = {.path = runner->path, .extension = runner->options->extension};
    bool is_good = db_open(&runner->db, &options, &error);
    if (is_good) {
        is_good = backend_open(&runner->backend, kind, db_connection(&runner->db, 0), &error);
        runner->backend.fault = runner->options->fault;
    }
    /* A thread is enough for such tables, and cheaper; some rounds keep the default. */
    if (is_good && runner->test->round % 4 != 0) {
        is_good = db_run(db_connection(&runner->db, 0), "SET threads = 1", &error);
    }
    if (!is_good) {
        fail(runner, "open", NULL, "%s", text_get(&error));
    }
    text_free(&error);
    return is_good;
}

/* A message that no right program of ours or DuckDB's gives. */
static bool is_alarming(const char *message)
{
    return strstr(message, "INTERNAL") != NULL || strstr(message, "DBSP-E0") != NULL ||
           strstr(message, "FATAL") != NULL || strstr(message, "Assertion") != NULL;
}

static ViewTarget view_target(const Runner *runner, size_t index, ColumnMode *modes)
{
    const View *view = &runner->test->views[index];
    for (size_t i = 0; i < view->column_count; i++) {
        modes[i] = view->columns[i].mode;
    }
    return (ViewTarget){.name = view->name,
                        .content = runner->contents[index],
                        .definition = runner->definitions[index],
                        .modes = view->column_count == 0 ? NULL : modes,
                        .column_count = runner->column_counts[index]};
}

/* The definition gives other rows: DuckDB's optimizer may be at fault. */
static bool is_disagreement(Runner *runner, ViewTarget *target)
{
    Text report = {0};
    Text error = {0};
    int64_t row_count = 0;
    duckdb_connection connection = db_connection(&runner->db, 0);
    db_run(connection, "PRAGMA disable_optimizer", &error);
    const bool is_same = verify_view(connection, target, &row_count, &report) == VERIFY_SAME;
    db_run(connection, "PRAGMA enable_optimizer", &error);
    text_free(&report);
    text_free(&error);
    return is_same;
}

/* A definition failed that the generator believes cannot: nothing can be compared. */
static void note_unstable(Runner *runner, const ViewTarget *target, const char *report)
{
    RunStats *stats = &runner->outcome->stats;
    stats->unstable++;
    if (stats->unstable == 1 && !runner->options->is_quiet) {
        (void)fprintf(stderr, "unstable definition: %s\n  %s\n", target->definition, report);
    }
}

static void judge(Runner *runner, const View *view, ViewTarget *target, VerifyResult result,
                  const char *report)
{
    RunStats *stats = &runner->outcome->stats;
    switch (result) {
    case VERIFY_SAME: break;
    case VERIFY_DIFFERENT:
    case VERIFY_SCHEMA:
        if (is_disagreement(runner, target)) {
            stats->disagreements++;
        } else {
            fail(runner, verify_result_name(result), view, "%s", report);
        }
        break;
    case VERIFY_VIEW_FAILED: fail(runner, "unreadable", view, "%s", report); break;
    case VERIFY_DEFINITION_FAILED:
        if (view->can_fail) {
            fail(runner, "silent", view, "%s", report);
        } else {
            note_unstable(runner, target, report);
        }
        break;
    case VERIFY_BOTH_FAILED:
        if (!view->can_fail) {
            note_unstable(runner, target, report);
        } else if (runner->backend.kind == BACKEND_EXTENSION && strstr(report, "DBSP-E3") == NULL) {
            fail(runner, "code", view, "a broken view is reported without DBSP-E3xx: %s", report);
        } else {
            stats->broken++;
        }
        break;
    }
}

static void check_feed(Runner *runner, size_t index, const ViewTarget *target)
{
    Feed *feed = &runner->feeds[index];
    const View *view = &runner->test->views[index];
    if (feed->table == NULL || view->can_fail) {
        return;
    }
    Text report = {0};
    char *changes = backend_changes(&runner->backend, view->name, feed->last);
    if (!feed_step(feed, db_connection(&runner->db, 0), target, changes, &report)) {
        fail(runner, "feed", view, "%s", text_get(&report));
    }
    runner->outcome->stats.replays++;
    test_free(changes);
    text_free(&report);
}

/* Weir's own comparison must agree with ours. */
static void check_verify(Runner *runner, const View *view)
{
    if (runner->backend.kind != BACKEND_EXTENSION) {
        return;
    }
    Text error = {0};
    Rows rows = {0};
    char *sql = text_format("SELECT * FROM dbsp_verify('%s')", view->name);
    if (!db_fetch(db_connection(&runner->db, 0), sql, &rows, &error)) {
        fail(runner, "verify", view, "%s", text_get(&error));
    } else if (rows_cell(&rows, 0, 0) == NULL || strcmp(rows_cell(&rows, 0, 0), "ok") != 0) {
        rows_print(&rows, &error);
        fail(runner, "verify", view, "dbsp_verify finds a difference where there is none:\n%s",
             text_get(&error));
    }
    rows_free(&rows);
    text_free(&error);
    test_free(sql);
}

static void check_view(Runner *runner, size_t index)
{
    const View *view = &runner->test->views[index];
    ColumnMode modes[COLUMNS_MAX];
    Text report = {0};
    int64_t row_count = 0;
    ViewTarget target = view_target(runner, index, modes);
    const VerifyResult result =
        verify_view(db_connection(&runner->db, 0), &target, &row_count, &report);
    runner->outcome->stats.compared++;
    runner->outcome->stats.filled += row_count > 0 ? 1 : 0;
    judge(runner, view, &target, result, text_get(&report));
    if (result == VERIFY_SAME) {
        runner->column_counts[index] = target.column_count;
        /* Every other time, so that the changes of several commits are read at once too. */
        if (runner->check_count % 2 == 0) {
            check_feed(runner, index, &target);
        }
        if (runner->check_count % 8 == 0) {
            check_verify(runner, view);
        }
    }
    text_free(&report);
}

static void check_all(Runner *runner)
{
    Text error = {0};
    runner->check_count++;
    /* Now and then the sync is asked for; else reading a view has to bring it up to date. */
    if (runner->backend.kind == BACKEND_COPY || runner->check_count % 4 == 0) {
        if (!backend_sync(&runner->backend, &error)) {
            fail(runner, "sync", NULL, "%s", text_get(&error));
        }
    }
    for (size_t i = 0; i < runner->test->view_count && !is_failed(runner); i++) {
        if (runner->is_live[i]) {
            check_view(runner, i);
        }
    }
    text_free(&error);
}

/* May the view be made now? Views above missing ones, failing ones and huge ones may not. */
static bool is_creatable(Runner *runner, size_t index)
{
    const View *view = &runner->test->views[index];
    RunStats *stats = &runner->outcome->stats;
    for (size_t i = 0; i < index; i++) {
        if ((view->views & (1U << i)) != 0 && !runner->is_live[i]) {
            stats->skipped++;
            return false;
        }
    }
    Text error = {0};
    Rows columns = {0};
    int64_t row_count = 0;
    duckdb_connection connection = db_connection(&runner->db, 0);
    char *describe = text_format("DESCRIBE SELECT * FROM (%s)", runner->definitions[index]);
    /* The hash keeps DuckDB from leaving out what a count does not need. */
    char *count = text_format("SELECT count(*) FROM (%s) AS x WHERE hash(x) IS NOT NULL",
                              runner->definitions[index]);
    bool is_good = db_fetch(connection, describe, &columns, &error) &&
                   (view->column_count == 0 || view->column_count == columns.row_count);
    if (!is_good) {
        stats->invalid++;
        if (stats->invalid == 1 && !runner->options->is_quiet) {
            (void)fprintf(stderr, "invalid definition: %s\n  %s\n", runner->definitions[index],
                          text_get(&error));
        }
    } else if (!db_number(connection, count, &row_count, &error) || row_count > VIEW_ROWS_MAX) {
        stats->skipped++;
        is_good = false;
    }
    test_free(describe);
    test_free(count);
    rows_free(&columns);
    text_free(&error);
    return is_good;
}

static void open_feed(Runner *runner, size_t index)
{
    const View *view = &runner->test->views[index];
    if (!runner->options->has_feed || view->can_fail) {
        return;
    }
    Text report = {0};
    int64_t generation = 0;
    ColumnMode modes[COLUMNS_MAX];
    ViewTarget target = view_target(runner, index, modes);
    if (!backend_generation(&runner->backend, &generation, &report) ||
        !feed_open(&runner->feeds[index], db_connection(&runner->db, 0), &target, generation,
                   &report)) {
        fail(runner, "feed", view, "%s", text_get(&report));
    }
    text_free(&report);
}

static void create_view(Runner *runner, size_t index)
{
    const View *view = &runner->test->views[index];
    Outcome *outcome = runner->outcome;
    if (!is_creatable(runner, index)) {
        return;
    }
    Text error = {0};
    if (backend_create(&runner->backend, view->name, view->sql, runner->definitions[index],
                       &error)) {
        runner->is_live[index] = true;
        outcome->stats.views++;
        check_view(runner, index);
        open_feed(runner, index);
    } else if (strstr(text_get(&error), "DBSP-E11") != NULL) {
        outcome->stats.refused++;
        text_addf(&error, " in: %s", view->sql);
        text_list_add(&outcome->refusals, text_get(&error));
    } else {
        fail(runner, "create", view, "%s\n%s", text_get(&error), view->sql);
    }
    text_free(&error);
}

static void create_views(Runner *runner)
{
    for (size_t i = 0; i < runner->test->view_count && !is_failed(runner); i++) {
        if (runner->test->views[i].create_at == runner->group) {
            create_view(runner, i);
        }
    }
}

static bool starts_with(const char *sql, const char *word)
{
    return strncmp(sql, word, strlen(word)) == 0;
}

/* Runs a statement; after an error inside a transaction that is rolled back and its rest left out. */
static void run_statement(Runner *runner, const Statement *statement)
{
    const size_t writer = statement->connection % WRITERS;
    char *sql = statement_sql(runner->test, statement);
    const bool is_end = starts_with(sql, "COMMIT") || starts_with(sql, "ROLLBACK");
    duckdb_connection connection = db_connection(&runner->db, writer + 1);
    Text error = {0};
    if (runner->is_dead[writer]) {
        runner->is_dead[writer] = !is_end;
    } else {
        runner->outcome->stats.statements++;
        const bool runs = db_run(connection, sql, &error);
        if (!runs && is_alarming(text_get(&error))) {
            fail(runner, "statement", NULL, "%s\n%s", sql, text_get(&error));
        }
        runner->outcome->stats.failed += runs ? 0 : 1;
        if (!runs && runner->is_open[writer]) {
            runner->is_dead[writer] = !is_end;
            runner->is_open[writer] = false;
            db_run(connection, "ROLLBACK", &error);
        } else {
            runner->is_open[writer] =
                (runner->is_open[writer] || starts_with(sql, "BEGIN")) && !is_end;
        }
    }
    test_free(sql);
    text_free(&error);
}

/* Weir keeps its views in memory: those that are gone with the database are made again. */
static void make_again(Runner *runner, size_t index)
{
    const View *view = &runner->test->views[index];
    Text error = {0};
    if (!backend_has(&runner->backend, view->name, &error) &&
        !backend_create(&runner->backend, view->name, view->sql, runner->definitions[index],
                        &error)) {
        if (view->can_fail) {
            runner->is_live[index] = false;
        } else {
            fail(runner, "create again", view, "%s", text_get(&error));
        }
    }
    text_free(&error);
}

/* Closes and opens the database. */
static void reopen(Runner *runner)
{
    for (size_t i = 0; i < VIEWS_MAX; i++) {
        feed_free(&runner->feeds[i]);
        runner->column_counts[i] = 0;
    }
    backend_close(&runner->backend);
    db_close(&runner->db);
    if (!open_database(runner)) {
        return;
    }
    for (size_t i = 0; i < runner->test->view_count && !is_failed(runner); i++) {
        if (runner->is_live[i]) {
            make_again(runner, i);
        }
    }
    check_all(runner);
    for (size_t i = 0; i < runner->test->view_count && !is_failed(runner); i++) {
        if (runner->is_live[i]) {
            open_feed(runner, i);
        }
    }
}

static void run_group(Runner *runner, const Group *group)
{
    const bool can_reopen =
        runner->options->has_reopens && runner->path != NULL && runner->options->extension != NULL;
    if (group->is_reopen && can_reopen) {
        reopen(runner);
    }
    create_views(runner);
    for (size_t i = 0; i < group->count && !is_failed(runner); i++) {
        run_statement(runner, &group->items[i]);
        if (!group->is_quiet && !runner->is_open[group->items[i].connection % WRITERS] &&
            !is_failed(runner)) {
            check_all(runner);
        }
    }
    for (size_t i = 0; i < WRITERS; i++) {
        if (runner->is_open[i]) {
            Text error = {0};
            db_run(db_connection(&runner->db, i + 1), "ROLLBACK", &error);
            text_free(&error);
        }
        runner->is_open[i] = false;
        runner->is_dead[i] = false;
    }
}

static void finish_feeds(Runner *runner)
{
    for (size_t i = 0; i < runner->test->view_count && !is_failed(runner); i++) {
        Feed *feed = &runner->feeds[i];
        const View *view = &runner->test->views[i];
        if (feed->table == NULL) {
            continue;
        }
        Text report = {0};
        ColumnMode modes[COLUMNS_MAX];
        const ViewTarget target = view_target(runner, i, modes);
        check_feed(runner, i, &target); /* the last check may have left it out */
        char *all = backend_changes(&runner->backend, view->name, feed->start);
        if (!is_failed(runner) &&
            !feed_finish(feed, db_connection(&runner->db, 0), &target, all, &report)) {
            fail(runner, "feed", view, "%s", text_get(&report));
        }
        test_free(all);
        text_free(&report);
    }
}

static bool has_live_dependents(const Runner *runner, size_t index)
{
    for (size_t i = index + 1; i < runner->test->view_count; i++) {
        if (runner->is_live[i] && (runner->test->views[i].views & (1U << index)) != 0) {
            return true;
        }
    }
    return false;
}

/* A view with views above it stays, unless they have been simplified so far that they do not read
 * it: then they must be right without it. From the top down all views can go. */
static void drop_views(Runner *runner)
{
    Text error = {0};
    for (size_t i = 0; i < runner->test->view_count && !is_failed(runner); i++) {
        const View *view = &runner->test->views[i];
        if (runner->backend.kind != BACKEND_EXTENSION || !runner->is_live[i] ||
            !has_live_dependents(runner, i)) {
            continue;
        }
        if (backend_drop(&runner->backend, view->name, &error)) {
            runner->is_live[i] = false;
            check_all(runner);
        } else if (strstr(text_get(&error), "DBSP-E202") == NULL) {
            fail(runner, "drop", view, "dropping a view with dependents: %s", text_get(&error));
        }
    }
    for (size_t i = runner->test->view_count; i > 0 && !is_failed(runner); i--) {
        const View *view = &runner->test->views[i - 1];
        if (runner->is_live[i - 1] && !view->can_fail &&
            !backend_drop(&runner->backend, view->name, &error)) {
            fail(runner, "drop", view, "%s", text_get(&error));
        }
    }
    text_free(&error);
}

static void run_all(Runner *runner)
{
    Text error = {0};
    TextList schema = {0};
    case_schema(runner->test, &schema);
    for (size_t i = 0; i < schema.count && !is_failed(runner); i++) {
        if (!db_run(db_connection(&runner->db, 0), schema.items[i], &error)) {
            fail(runner, "schema", NULL, "%s\n%s", schema.items[i], text_get(&error));
        }
    }
    for (; runner->group < runner->test->group_count && !is_failed(runner); runner->group++) {
        run_group(runner, &runner->test->groups[runner->group]);
    }
    if (!is_failed(runner)) {
        create_views(runner);
        check_all(runner);
        finish_feeds(runner);
        drop_views(runner);
    }
    text_list_free(&schema);
    text_free(&error);
}

void run_case(const Case *test, const RunOptions *options, Outcome *outcome)
{
    *outcome = (Outcome){.stats = {.rounds = 1}};
    Runner runner = {.test = test, .options = options, .outcome = outcome};
    if (test->is_file) {
        runner.path = text_format("%s/oracle_%ld.duckdb", options->directory, (long)getpid());
        db_remove_file(runner.path);
    }
    for (size_t i = 0; i < test->view_count; i++) {
        runner.definitions[i] = view_expand(test, i);
    }
    if (open_database(&runner)) {
        for (size_t i = 0; i < test->view_count; i++) {
            runner.contents[i] = backend_content(&runner.backend, test->views[i].name);
        }
        run_all(&runner);
        backend_close(&runner.backend);
        db_close(&runner.db);
    }
    if (runner.path != NULL) {
        db_remove_file(runner.path);
        test_free(runner.path);
    }
    for (size_t i = 0; i < VIEWS_MAX; i++) {
        feed_free(&runner.feeds[i]);
        test_free(runner.definitions[i]);
        test_free(runner.contents[i]);
    }
}
