/* logic_verify.c: see logic_verify.h. */
#include "logic_verify.h"

#include <inttypes.h>
#include <string.h>

static void known_free(KnownView *view)
{
    test_free(view->name);
    test_free(view->sql);
    feed_free(&view->feed);
    *view = (KnownView){0};
}

void logic_verify_reset(LogicVerifier *verifier)
{
    for (size_t i = 0; i < verifier->view_count; i++) {
        known_free(&verifier->views[i]);
    }
    verifier->view_count = 0;
}

void logic_verify_free(LogicVerifier *verifier)
{
    logic_verify_reset(verifier);
    text_list_free(&verifier->near);
}

/* The view as it is known, made new if it has another definition; NULL if there are too many. */
static KnownView *find_known(LogicVerifier *verifier, const char *name, const char *sql)
{
    KnownView *view = NULL;
    for (size_t i = 0; i < verifier->view_count && view == NULL; i++) {
        if (strcmp(verifier->views[i].name, name) == 0) {
            view = &verifier->views[i];
        }
    }
    if (view != NULL && strcmp(view->sql, sql) == 0) {
        return view;
    }
    if (view != NULL) {
        known_free(view);
    } else if (verifier->view_count == LOGIC_VIEWS_MAX) {
        return NULL;
    } else {
        view = &verifier->views[verifier->view_count];
        verifier->view_count++;
    }
    *view = (KnownView){.name = test_copy(name), .sql = test_copy(sql)};
    return view;
}

/* Fills the modes of the columns; NULL if all are compared for equality. */
static const ColumnMode *find_modes(const LogicVerifier *verifier, const char *name,
                                    ColumnMode *modes)
{
    bool has_near = false;
    for (size_t i = 0; i < LOGIC_COLUMNS_MAX; i++) {
        char *key = text_format("%s %zu", name, i);
        modes[i] = text_list_has(&verifier->near, key) ? COLUMN_NEAR : COLUMN_EQUAL;
        has_near = has_near || modes[i] == COLUMN_NEAR;
        test_free(key);
    }
    return has_near ? modes : NULL;
}

static bool verify_changes(KnownView *view, duckdb_connection connection, const ViewTarget *target,
                           Text *report)
{
    if (view->feed.table == NULL) {
        int64_t generation = 0;
        return db_number(connection, "SELECT generation FROM dbsp_sync()", &generation, report) &&
               feed_open(&view->feed, connection, target, generation, report);
    }
    char *changes =
        text_format("dbsp_changes('%s', since := %" PRId64 ")", view->name, view->feed.last);
    const bool is_good = feed_step(&view->feed, connection, target, changes, report);
    test_free(changes);
    return is_good;
}

/* Forgets views that are not there any more: another of the same name is another view. */
static void forget_dropped(LogicVerifier *verifier, const Rows *rows)
{
    for (size_t i = verifier->view_count; i > 0; i--) {
        KnownView *view = &verifier->views[i - 1];
        bool is_there = false;
        for (size_t row = 0; row < rows->row_count && !is_there; row++) {
            is_there = strcmp(view->name, rows_cell(rows, row, 0)) == 0;
        }
        if (!is_there) {
            known_free(view);
            verifier->view_count--;
            *view = verifier->views[verifier->view_count];
            verifier->views[verifier->view_count] = (KnownView){0};
        }
    }
}

/* Is the view reported as broken, and by right: its definition fails too, or its table is not the
 * one that it was made for? */
static bool is_rightly_broken(duckdb_connection connection, const char *content,
                              VerifyResult result)
{
    Text error = {0};
    char *sql = text_format("SELECT * FROM %s", content);
    const bool runs = db_run(connection, sql, &error);
    const char *code = result == VERIFY_BOTH_FAILED ? "DBSP-E3" : "DBSP-E304";
    const bool is_right = !runs && strstr(text_get(&error), code) != NULL;
    test_free(sql);
    text_free(&error);
    return is_right;
}

/* `row` of dbsp_views(): view, sql. */
static bool verify_row(LogicVerifier *verifier, duckdb_connection connection, const Rows *rows,
                       size_t row, Text *report)
{
    const char *name = rows_cell(rows, row, 0);
    const char *sql = rows_cell(rows, row, 1);
    KnownView *view = find_known(verifier, name, sql);
    if (view == NULL) {
        text_add(report, "too many views\n");
        return false;
    }
    ColumnMode modes[LOGIC_COLUMNS_MAX];
    int64_t row_count = 0;
    Text content = {0};
    text_add_identifier(&content, name);
    ViewTarget target = {.name = name,
                         .content = content.data,
                         .definition = sql,
                         .modes = find_modes(verifier, name, modes)};
    const VerifyResult result = verify_view(connection, &target, &row_count, report);
    bool is_good = result == VERIFY_SAME;
    if (is_good) {
        is_good = verify_changes(view, connection, &target, report);
    } else if (is_rightly_broken(connection, content.data, result)) {
        /* Its changes end here. */
        feed_free(&view->feed);
        text_clear(report);
        is_good = true;
    }
    text_free(&content);
    return is_good;
}

bool logic_verify(LogicVerifier *verifier, duckdb_connection connection, Text *report)
{
    Text error = {0};
    Rows rows = {0};
    bool is_good =
        feed_attach(connection, &error) &&
        db_fetch(connection, "SELECT view, sql FROM dbsp_views() ORDER BY 1", &rows, &error);
    if (!is_good) {
        text_addf(report, "the views cannot be listed: %s\n", text_get(&error));
    }
    forget_dropped(verifier, &rows);
    for (size_t i = 0; i < rows.row_count && is_good; i++) {
        is_good = verify_row(verifier, connection, &rows, i, report);
    }
    rows_free(&rows);
    text_free(&error);
    return is_good;
}
