/* law.h: comparing native evaluation with DuckDB's.
 *
 * A Law holds a DuckDB connection and everything a comparison needs. Failures are printed and
 * counted; nothing aborts but a broken test environment. */
#ifndef WEIR_TESTS_LAW_H
#define WEIR_TESTS_LAW_H

#include <duckdb.h>

#include "expr/evaluator.h"
#include "expr/function.h"

enum { LAW_COLUMNS_MAX = 8, LAW_TYPES_MAX = 64 };

typedef struct Law {
    Mem *mem;
    Arena plan; /* types and expressions of one case */
    Arena step; /* batches and results of one case */
    Error err;
    duckdb_database database;
    duckdb_connection connection;
    ExprHost host;
    uint64_t random;
    uint64_t seed;
    size_t rounds; /* batches a case */
    size_t cases;
    size_t batches;
    size_t failures;
    size_t host_rows; /* evaluated by the host */
    bool has_optimizer;
    const char *filter; /* only cases whose name contains it */
    size_t type_count;
    const LogicalType *types[LAW_TYPES_MAX]; /* of every kind, in the Arena `kept` */
    Arena kept;
} Law;

void law_open(Law *law, int argc, char **argv);
int law_close(Law *law); /* the exit code */

/* Prints and exits: the test environment is broken. */
void law_die(const char *what, const char *message) __attribute__((noreturn));

uint64_t law_random(Law *law);
size_t law_below(Law *law, size_t bound); /* [0, bound) */
bool law_one_in(Law *law, size_t n);

/* The classes of functions.def as types; returns how many. */
size_t law_types_of(const Law *law, char letter, const LogicalType **out);

/* What random strings are for, so that they are likely to mean something. */
typedef enum LawText {
    LAW_TEXT_ANY,
    LAW_TEXT_NUMBER,
    LAW_TEXT_PATTERN,
    LAW_TEXT_DATE_PART,
    LAW_TEXT_SHORT,
    LAW_TEXT_TIME,
} LawText;

/* How values of a column are drawn. */
typedef struct LawColumn {
    const LogicalType *type;
    LawText text;
    bool is_small; /* integers that count something: near 0 */
    bool is_dense; /* few different values */
    bool is_plain; /* texts of numbers and times: only plain forms */
} LawColumn;

/* One random value; strings from the arena step. */
Value law_value(Law *law, const LawColumn *column);

/* A random batch; under NULL there is garbage. */
Batch law_batch(Law *law, const LawColumn *columns, size_t column_count, size_t count);

/* --- DuckDB -------------------------------------------------------------------------------------- */

/* Makes the table of the batch's columns c0, c1, .... */
void law_load(Law *law, const char *table, const Schema *schema, const Batch *batch);

/* SELECT sql[0], ... FROM table, which has so many rows. */
typedef struct LawQuery {
    const char *table;
    const char *const *sql;
    size_t count;
    size_t rows;
} LawQuery;

/* Its columns as vectors from the arena. A failure: WEIR_ERR_EVALUATION with its message. */
Status law_query(Law *law, const LawQuery *query, Arena *arena, Vector *out, Error *err)
    WEIR_MUST_CHECK;

/* The host of evaluators: uses the table h. */
ExprHost law_host(Law *law);

/* The type that DuckDB gives the expression over b; NULL if it does not bind or has a type that
 * tests do not know. */
const LogicalType *law_type_of(Law *law, const char *sql);

/* --- checks -------------------------------------------------------------------------------------- */

/* The expression's SQL, in the arena plan; NULL if it has none. */
const char *law_sql(Law *law, const Expr *expr);

/* Compares the expression over the batch, which is loaded: values where it does not fail, failure or
 * not, and the message of a few rows that fail. */
void law_check(Law *law, const char *name, const Expr *expr, const Schema *schema,
               const Batch *batch);

/* True if the values of two vectors are the same, bit by bit but for NaNs; prints the first
 * difference. */
bool law_same(const LogicalType *type, const Vector *a, const Vector *b, size_t count, size_t *row);

void law_print_value(const LogicalType *type, const Vector *v, size_t row);

#endif
