/* verify.c: see verify.h.
 *
 * One query compares both bags: it reads the view and the definition once each, with columns
 * renamed by position, and counts the rows of each and of their EXCEPT ALL. If the last is 0, all
 * of the view is in the definition, and with as many rows that has nothing else. Both directions
 * are run for the report. */
#include "verify.h"

#include "near.h"

#include <stdlib.h>
#include <string.h>

static bool has_near(const ViewTarget *target, size_t column_count)
{
    for (size_t i = 0; target->modes != NULL && i < column_count; i++) {
        if (target->modes[i] == COLUMN_NEAR) {
            return true;
        }
    }
    return false;
}

static ColumnMode mode_of(const ViewTarget *target, size_t column)
{
    return target->modes == NULL ? COLUMN_EQUAL : target->modes[column];
}

/* Adds "name AS MATERIALIZED (SELECT <columns> FROM (<query>) AS x(c0, c1, ...))". */
static void add_side(Text *sql, const char *name, const char *query, const ViewTarget *target,
                     size_t column_count)
{
    text_addf(sql, "%s AS MATERIALIZED (SELECT ", name);
    for (size_t i = 0; i < column_count; i++) {
        text_add(sql, i > 0 ? ", " : "");
        if (mode_of(target, i) == COLUMN_EXACT) {
            text_addf(sql, "CAST(c%zu AS VARCHAR) AS c%zu", i, i);
        } else {
            text_addf(sql, "c%zu", i);
        }
    }
    text_addf(sql, " FROM (%s) AS x(", query);
    for (size_t i = 0; i < column_count; i++) {
        text_addf(sql, "%sc%zu", i > 0 ? ", " : "", i);
    }
    text_add(sql, "))");
}

/* The common start of every comparison: WITH left_ AS (view), right_ AS (definition). */
static void add_sides(Text *sql, const ViewTarget *target, size_t column_count)
{
    char *content = text_format("SELECT * FROM %s", target->content);
    text_add(sql, "WITH ");
    add_side(sql, "left_", content, target, column_count);
    text_add(sql, ", ");
    add_side(sql, "right_", target->definition, target, column_count);
    text_add_char(sql, ' ');
    test_free(content);
}

static void report_side(duckdb_connection connection, const ViewTarget *target, size_t column_count,
                        const char *query, const char *title, Text *report)
{
    Text sql = {0};
    Text error = {0};
    Rows rows = {0};
    add_sides(&sql, target, column_count);
    text_addf(&sql, "SELECT * FROM (%s) ORDER BY ALL LIMIT 12", query);
    text_addf(report, "%s:\n", title);
    if (db_fetch(connection, sql.data, &rows, &error)) {
        rows_print(&rows, report);
    } else {
        text_addf(report, "(%s)\n", text_get(&error));
    }
    rows_free(&rows);
    text_free(&sql);
    text_free(&error);
}

static void report_rows(duckdb_connection connection, const ViewTarget *target, size_t column_count,
                        Text *report)
{
    report_side(connection, target, column_count, "FROM left_ EXCEPT ALL FROM right_",
                "  rows of the view that its definition does not give", report);
    report_side(connection, target, column_count, "FROM right_ EXCEPT ALL FROM left_",
                "  rows of the definition that the view does not have", report);
}

/* Which of the two sides fails, after a comparison failed with `error`. */
static VerifyResult find_failure(duckdb_connection connection, const ViewTarget *target,
                                 Text *error, Text *report)
{
    Text definition_error = {0};
    Text view_error = {0};
    char *content = text_format("SELECT * FROM %s", target->content);
    const bool definition_runs = db_run(connection, target->definition, &definition_error);
    const bool view_runs = db_run(connection, content, &view_error);
    VerifyResult result = VERIFY_BOTH_FAILED;
    if (definition_runs) {
        result = VERIFY_VIEW_FAILED;
        text_addf(report, "view %s cannot be read: %s\n", target->name,
                  view_runs ? text_get(error) : text_get(&view_error));
    } else if (view_runs) {
        result = VERIFY_DEFINITION_FAILED;
        text_addf(report, "view %s can be read, but its definition fails: %s\n", target->name,
                  text_get(&definition_error));
    } else {
        text_addf(report, "%s", text_get(&view_error));
    }
    test_free(content);
    text_free(&definition_error);
    text_free(&view_error);
    return result;
}

/* Names and types of the columns of both sides; sets the count of columns. */
static VerifyResult compare_columns(duckdb_connection connection, const ViewTarget *target,
                                    size_t *column_count, Text *report)
{
    Text error = {0};
    Rows view = {0};
    Rows definition = {0};
    char *view_sql = text_format("DESCRIBE SELECT * FROM %s", target->content);
    char *definition_sql = text_format("DESCRIBE SELECT * FROM (%s)", target->definition);
    VerifyResult result = VERIFY_SAME;
    if (!db_fetch(connection, definition_sql, &definition, &error) ||
        !db_fetch(connection, view_sql, &view, &error)) {
        result = find_failure(connection, target, &error, report);
    } else {
        bool is_same = view.row_count == definition.row_count;
        for (size_t i = 0; is_same && i < view.row_count; i++) {
            is_same = strcmp(rows_cell(&view, i, 0), rows_cell(&definition, i, 0)) == 0 &&
                      strcmp(rows_cell(&view, i, 1), rows_cell(&definition, i, 1)) == 0;
        }
        if (!is_same) {
            result = VERIFY_SCHEMA;
            text_addf(report, "view %s has other columns than its definition\n  view:\n",
                      target->name);
            rows_print(&view, report);
            text_add(report, "  definition:\n");
            rows_print(&definition, report);
        }
        *column_count = definition.row_count;
    }
    rows_free(&view);
    rows_free(&definition);
    test_free(view_sql);
    test_free(definition_sql);
    text_free(&error);
    return result;
}

static VerifyResult compare_bags(duckdb_connection connection, const ViewTarget *target,
                                 size_t column_count, int64_t *row_count, Text *report)
{
    Text sql = {0};
    Text error = {0};
    Rows rows = {0};
    VerifyResult result = VERIFY_SAME;
    add_sides(&sql, target, column_count);
    text_add(&sql, "SELECT (SELECT count(*) FROM left_), (SELECT count(*) FROM right_), "
                   "(SELECT count(*) FROM (FROM left_ EXCEPT ALL FROM right_))");
    if (!db_fetch(connection, sql.data, &rows, &error)) {
        result = find_failure(connection, target, &error, report);
        rows_free(&rows);
    }
    const char *view_count = rows_cell(&rows, 0, 0);
    *row_count = view_count == NULL ? 0 : strtoll(view_count, NULL, 10);
    if (view_count != NULL && (strcmp(rows_cell(&rows, 0, 0), rows_cell(&rows, 0, 1)) != 0 ||
                               strcmp(rows_cell(&rows, 0, 2), "0") != 0)) {
        result = VERIFY_DIFFERENT;
        text_addf(report, "view %s has %s rows, its definition %s\n", target->name,
                  rows_cell(&rows, 0, 0), rows_cell(&rows, 0, 1));
        report_rows(connection, target, column_count, report);
    }
    rows_free(&rows);
    text_free(&sql);
    text_free(&error);
    return result;
}

/* Groups the rows of both sides by the columns that are not near, each group one row whose last
 * column holds "side number number ...;..." for near_match. */
static void add_near_query(Text *sql, const ViewTarget *target, size_t column_count)
{
    add_sides(sql, target, column_count);
    text_add(sql, "SELECT string_agg(s");
    for (size_t i = 0; i < column_count; i++) {
        if (mode_of(target, i) == COLUMN_NEAR) {
            text_addf(sql, " || ' ' || coalesce(CAST(CAST(c%zu AS DOUBLE) AS VARCHAR), '-')", i);
        }
    }
    text_add(sql, ", ';') FROM (SELECT 'l' AS s, * FROM left_ UNION ALL "
                  "SELECT 'r' AS s, * FROM right_)");
    const char *separator = " GROUP BY ";
    for (size_t i = 0; i < column_count; i++) {
        if (mode_of(target, i) != COLUMN_NEAR) {
            text_addf(sql, "%sc%zu", separator, i);
            separator = ", ";
        }
    }
}

static VerifyResult compare_near(duckdb_connection connection, const ViewTarget *target,
                                 size_t column_count, int64_t *row_count, Text *report)
{
    Text sql = {0};
    Text error = {0};
    Rows rows = {0};
    VerifyResult result = VERIFY_SAME;
    add_near_query(&sql, target, column_count);
    if (!db_fetch(connection, sql.data, &rows, &error)) {
        result = find_failure(connection, target, &error, report);
    }
    *row_count = (int64_t)rows.row_count;
    for (size_t i = 0; i < rows.row_count && result == VERIFY_SAME; i++) {
        const char *group = rows_cell(&rows, i, 0);
        if (group != NULL && !near_match(group)) {
            result = VERIFY_DIFFERENT;
            text_addf(report, "view %s has rows that are not near those of its definition: %s\n",
                      target->name, group);
            report_rows(connection, target, column_count, report);
        }
    }
    rows_free(&rows);
    text_free(&sql);
    text_free(&error);
    return result;
}

VerifyResult verify_view(duckdb_connection connection, ViewTarget *target, int64_t *row_count,
                         Text *report)
{
    *row_count = 0;
    if (target->column_count == 0) {
        const VerifyResult result =
            compare_columns(connection, target, &target->column_count, report);
        if (result != VERIFY_SAME) {
            return result;
        }
    }
    const size_t column_count = target->column_count;
    if (has_near(target, column_count)) {
        return compare_near(connection, target, column_count, row_count, report);
    }
    return compare_bags(connection, target, column_count, row_count, report);
}

const char *verify_result_name(VerifyResult result)
{
    switch (result) {
    case VERIFY_SAME: return "same";
    case VERIFY_DIFFERENT: return "different";
    case VERIFY_SCHEMA: return "schema";
    case VERIFY_VIEW_FAILED: return "view failed";
    case VERIFY_DEFINITION_FAILED: return "definition failed";
    case VERIFY_BOTH_FAILED: return "both failed";
    }
    return "?";
}
