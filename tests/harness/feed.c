/* feed.c: the replay of a view's changes; the functions feed_* of verify.h.
 *
 * The copy holds the view's columns c0, c1, ..., the weight w, the generation g and the step s that
 * added the row: the first content with weight 1 in step 0, then every row of the change feed as
 * it came. Rows whose weights add up to 0 have left the view again. */
#include "verify.h"

#include <inttypes.h>
#include <stdlib.h>

bool feed_attach(duckdb_connection connection, Text *error)
{
    return db_run(connection, "ATTACH IF NOT EXISTS ':memory:' AS shadow", error);
}

static size_t feed_column_count(duckdb_connection connection, const char *content, Text *error)
{
    Rows rows = {0};
    char *sql = text_format("DESCRIBE SELECT * FROM %s", content);
    const bool is_good = db_fetch(connection, sql, &rows, error);
    const size_t count = is_good ? rows.row_count : 0;
    rows_free(&rows);
    test_free(sql);
    return count;
}

/* Adds "AS x(c0, c1, ..., w, g)"; without the last two if `is_plain`. */
static void add_column_names(Text *sql, size_t column_count, bool is_plain)
{
    text_add(sql, " AS x(");
    for (size_t i = 0; i < column_count; i++) {
        text_addf(sql, "%sc%zu", i > 0 ? ", " : "", i);
    }
    text_add(sql, is_plain ? ")" : ", w, g)");
}

static void add_columns(Text *sql, size_t column_count)
{
    for (size_t i = 0; i < column_count; i++) {
        text_addf(sql, "%sc%zu", i > 0 ? ", " : "", i);
    }
}

bool feed_open(Feed *feed, duckdb_connection connection, const ViewTarget *target, int64_t start,
               Text *report)
{
    feed_free(feed);
    Text name = {0};
    text_add(&name, "shadow.");
    char *table = text_format("feed_%s", target->name);
    text_add_identifier(&name, table);
    test_free(table);
    Text sql = {0};
    Text error = {0};
    *feed = (Feed){.table = text_take(&name),
                   .column_count = feed_column_count(connection, target->content, &error),
                   .start = start,
                   .last = start};
    text_addf(&sql,
              "CREATE OR REPLACE TABLE %s AS SELECT *, CAST(1 AS BIGINT) AS w, "
              "CAST(%" PRId64 " AS BIGINT) AS g, CAST(0 AS BIGINT) AS s FROM (SELECT * FROM %s)",
              feed->table, start, target->content);
    add_column_names(&sql, feed->column_count, true);
    const bool is_good = db_run(connection, sql.data, &error);
    if (!is_good) {
        text_addf(report, "the content of %s cannot be copied: %s\n", target->name,
                  text_get(&error));
    }
    text_free(&sql);
    text_free(&error);
    return is_good;
}

/* Adds "SELECT count(*) FROM (...)": how many rows the sum of the copy and of minus the content
 * has left. */
static void add_difference(Text *sql, const Feed *feed, const ViewTarget *target)
{
    text_add(sql, "SELECT count(*) FROM (SELECT sum(w) FROM (SELECT ");
    add_columns(sql, feed->column_count);
    text_addf(sql, ", w FROM %s UNION ALL SELECT *, -1 FROM %s) GROUP BY ", feed->table,
              target->content);
    add_columns(sql, feed->column_count);
    text_add(sql, " HAVING sum(w) <> 0)");
}

static int64_t number_of(const Rows *rows, size_t column)
{
    const char *cell = rows_cell(rows, 0, column);
    return cell == NULL ? 0 : strtoll(cell, NULL, 10);
}

/* Judges what the last step has added. */
static bool check_step(Feed *feed, duckdb_connection connection, const ViewTarget *target,
                       Text *report)
{
    Text sql = {0};
    Text error = {0};
    Rows rows = {0};
    text_addf(&sql,
              "SELECT (SELECT count(*) FROM %s WHERE s = %" PRId64
              " AND (w = 0 OR w IS NULL OR g IS NULL OR g <= %" PRId64 ")), "
              "(SELECT max(g) FROM %s), (",
              feed->table, feed->step_count, feed->last, feed->table);
    add_difference(&sql, feed, target);
    text_add(&sql, ")");
    bool is_good = db_fetch(connection, sql.data, &rows, &error);
    if (!is_good) {
        text_addf(report, "the changes of %s cannot be compared: %s\n", target->name,
                  text_get(&error));
    } else if (number_of(&rows, 0) != 0) {
        is_good = false;
        text_addf(report, "%" PRId64 " changes of %s have weight 0 or a generation read before\n",
                  number_of(&rows, 0), target->name);
    } else if (number_of(&rows, 2) != 0) {
        is_good = false;
        text_addf(report, "the changes of %s do not add up to its content: %" PRId64 " rows\n",
                  target->name, number_of(&rows, 2));
    }
    feed->last = number_of(&rows, 1) > feed->last ? number_of(&rows, 1) : feed->last;
    rows_free(&rows);
    text_free(&sql);
    text_free(&error);
    return is_good;
}

bool feed_step(Feed *feed, duckdb_connection connection, const ViewTarget *target,
               const char *changes, Text *report)
{
    Text sql = {0};
    Text error = {0};
    feed->step_count++;
    text_addf(&sql, "INSERT INTO %s SELECT *, %" PRId64 " FROM %s", feed->table, feed->step_count,
              changes);
    const bool is_good = db_run(connection, sql.data, &error);
    if (!is_good) {
        text_addf(report, "the changes of %s cannot be read: %s\n", target->name, text_get(&error));
    }
    text_free(&sql);
    text_free(&error);
    return is_good && check_step(feed, connection, target, report);
}

bool feed_finish(Feed *feed, duckdb_connection connection, const ViewTarget *target,
                 const char *all, Text *report)
{
    Text sql = {0};
    Text error = {0};
    int64_t count = 0;
    text_add(&sql, "SELECT count(*) FROM (SELECT sum(w) FROM (SELECT ");
    add_columns(&sql, feed->column_count);
    text_addf(&sql, ", g, w FROM %s WHERE s > 0 UNION ALL SELECT ", feed->table);
    add_columns(&sql, feed->column_count);
    text_addf(&sql, ", g, -w FROM (SELECT * FROM %s)", all);
    add_column_names(&sql, feed->column_count, false);
    text_add(&sql, ") GROUP BY ");
    add_columns(&sql, feed->column_count);
    text_add(&sql, ", g HAVING sum(w) <> 0)");
    const bool runs = db_number(connection, sql.data, &count, &error);
    if (!runs || count != 0) {
        text_addf(report,
                  "the changes of %s read at once differ from those read step by step: %" PRId64
                  " rows %s\n",
                  target->name, count, text_get(&error));
    }
    text_free(&sql);
    text_free(&error);
    return runs && count == 0;
}

void feed_free(Feed *feed)
{
    test_free(feed->table);
    *feed = (Feed){0};
}
