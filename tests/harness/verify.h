/* verify.h: is a view equal to its definition, and do its changes add up to its content?
 *
 * Rows are compared as bags, both ways. How a column is compared depends on what its value is a
 * function of:
 *   COLUMN_EXACT   the rows of the tables decide the value down to its spelling (-0.0 or 0.0,
 *                  30 days or 1 month): compared as text.
 *   COLUMN_EQUAL   they decide it up to DuckDB's own equality (the key of a group, whose spelling
 *                  is that of the first row seen): compared with DuckDB's equality.
 *   COLUMN_NEAR    a sum of doubles of no special form. DuckDB adds in an order of its own, so
 *                  its own answer is only right within (n - 1) roundings. Rows are matched by
 *                  the other columns, and these within a relative bound. That is sound only if
 *                  all summands have one sign (then the relative error of any order of addition
 *                  is below n * 2^-53); whoever chooses this mode guarantees it. */
#ifndef WEIR_TESTS_HARNESS_VERIFY_H
#define WEIR_TESTS_HARNESS_VERIFY_H

#include "db.h"

typedef enum ColumnMode { COLUMN_EXACT, COLUMN_EQUAL, COLUMN_NEAR } ColumnMode;

typedef struct ViewTarget {
    const char *name;        /* for messages */
    const char *content;     /* what to put after FROM to read the view */
    const char *definition;  /* a SELECT */
    const ColumnMode *modes; /* one a column; NULL: all COLUMN_EQUAL */
    size_t column_count;     /* 0: names and types of the columns are compared too */
} ViewTarget;

typedef enum VerifyResult {
    VERIFY_SAME,
    VERIFY_DIFFERENT,         /* other rows */
    VERIFY_SCHEMA,            /* other columns */
    VERIFY_VIEW_FAILED,       /* reading the view fails, the definition runs */
    VERIFY_DEFINITION_FAILED, /* the definition fails, the view can be read */
    VERIFY_BOTH_FAILED,
} VerifyResult;

/* Compares the columns (then target->column_count is set: once is enough), then the rows; `report`
 * says what differs. Sets the count of the view's rows (with near columns: of their groups). */
VerifyResult verify_view(duckdb_connection connection, ViewTarget *target, int64_t *row_count,
                         Text *report);
/* The short name of a result. */
const char *verify_result_name(VerifyResult result);

/* The replay of a view's changes: a copy of its first content to which every change is added.
 * It lives in the attached database `shadow`. */
typedef struct Feed {
    char *table;         /* owned, quoted name of the copy */
    size_t column_count; /* of the view */
    int64_t start;       /* generation of the copy's first rows */
    int64_t last;        /* generation that has been added last */
    int64_t step_count;  /* how often changes have been added */
} Feed;

/* Attaches the in-memory database `shadow`. */
bool feed_attach(duckdb_connection connection, Text *error);
/* Copies the content, which has been read at generation `start`. */
bool feed_open(Feed *feed, duckdb_connection connection, const ViewTarget *target, int64_t start,
               Text *report);
/* Adds the rows of `changes` (what to put after FROM to read the changes since feed->last: the
 * view's columns, weight, generation) and compares the sum with the content. */
bool feed_step(Feed *feed, duckdb_connection connection, const ViewTarget *target,
               const char *changes, Text *report);
/* Compares `all` (the changes since feed->start) with what has been added step by step. */
bool feed_finish(Feed *feed, duckdb_connection connection, const ViewTarget *target,
                 const char *all, Text *report);
void feed_free(Feed *feed);

#endif
