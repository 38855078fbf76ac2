/* statement.h: cutting SQL text into statements, and recognising those that Weir adds. */
#ifndef WEIR_API_STATEMENT_H
#define WEIR_API_STATEMENT_H

#include "base/arena.h"
#include "view/engine.h"

typedef enum StatementKind {
    STATEMENT_EMPTY,   /* nothing but blanks and comments */
    STATEMENT_DUCKDB,  /* anything else: DuckDB's */
    STATEMENT_CREATE,  /* CREATE [OR REPLACE] MATERIALIZED VIEW */
    STATEMENT_DROP,    /* DROP MATERIALIZED VIEW */
    STATEMENT_REFRESH, /* REFRESH MATERIALIZED VIEW */
    STATEMENT_EXPLAIN, /* EXPLAIN MATERIALIZED VIEW */
} StatementKind;

typedef struct Statement {
    StatementKind kind;
    const char *text;  /* from the arena: the statement without its semicolon */
    const char *name;  /* of the view, as written */
    const char *query; /* STATEMENT_CREATE: the SELECT, columns renamed if a list was given;
                          STATEMENT_EXPLAIN: the query that answers it */
    CreateMode mode;   /* STATEMENT_CREATE */
    bool is_if_exists; /* STATEMENT_DROP */
    bool is_cascade;   /* STATEMENT_DROP */
} Statement;

/* Reads the first statement of sql; *tail is set behind its semicolon (or to the final NUL). */
Status weir_statement_read(Arena *arena, const char *sql, const char **tail, Statement *out,
                           Error *err) WEIR_MUST_CHECK;

/* Behind the blanks and comments that sql begins with; NULL if it ends in a comment. */
const char *weir_statement_start(const char *sql);

/* True if sql holds a complete statement: a semicolon outside of quotes and comments. */
bool weir_statement_is_complete(const char *sql);

#endif
