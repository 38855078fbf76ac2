/* write_shape.h: what a statement may change, told from its text.
 *
 * Only the clauses at the top level are found, by DuckDB's reserved words: what stands in them is
 * DuckDB's to parse. A text that this reading does not fit is "unknown", never guessed. */
#ifndef WEIR_DUCKDB_WRITE_SHAPE_H
#define WEIR_DUCKDB_WRITE_SHAPE_H

#include "base/base.h"

typedef enum WriteKind {
    WRITE_NONE,       /* changes no table */
    WRITE_INSERT,     /* adds rows to the target; rows in conflict are left out or are an error */
    WRITE_UPDATE,     /* of the target */
    WRITE_DELETE,     /* from the target */
    WRITE_TRUNCATE,   /* all rows of the target */
    WRITE_COPY,       /* adds the rows of a file to the target */
    WRITE_UPSERT,     /* adds rows to the target, or updates those in conflict */
    WRITE_MERGE,      /* adds, updates and deletes rows of the target */
    WRITE_ROWS,       /* changes rows of the target otherwise */
    WRITE_PREPARE,    /* keeps a statement, relation, under the name target */
    WRITE_EXECUTE,    /* runs the statement of the name target, with the arguments behind it */
    WRITE_DEALLOCATE, /* forgets it; no target: all of them */
    WRITE_SESSION,    /* changes what names mean, and no table: SET, USE */
    WRITE_ATTACH, /* the same, by a database that may keep views; OR REPLACE takes the target away */
    WRITE_CREATE, /* makes the target: CREATE TABLE */
    /* May take tables away, alter them, or change what a definition means: DROP, ALTER, CREATE OR
     * REPLACE, CREATE VIEW, CREATE MACRO; DETACH, whose target is the database. */
    WRITE_DEFINITION,
    WRITE_BEGIN,
    WRITE_COMMIT,
    WRITE_ROLLBACK,
    WRITE_UNKNOWN, /* anything */
} WriteKind;

/* Part of the statement's text. */
typedef struct SqlSpan {
    const char *start; /* NULL = not there */
    size_t size;
} SqlSpan;

/* Where a condition decides which rows of the target change. */
typedef struct ConditionPlace {
    SqlSpan condition;   /* size 0 = all do: one may be put there, */
    const char *keyword; /* behind this */
} ConditionPlace;

enum { WRITE_MAX_PLACES = 8 };

typedef struct WriteShape {
    WriteKind kind;
    SqlSpan with;                            /* WITH ..., before the verb */
    SqlSpan target;                          /* the table's name as written */
    SqlSpan relation;                        /* UPDATE, DELETE: the name and its alias */
    SqlSpan alias;                           /* what the row is called: the alias, or the name */
    SqlSpan set;                             /* UPDATE: what follows SET */
    SqlSpan others;                          /* UPDATE ... FROM, DELETE ... USING: what follows */
    SqlSpan condition;                       /* what follows WHERE */
    ConditionPlace places[WRITE_MAX_PLACES]; /* UPSERT, MERGE: in the order of the text */
    size_t place_count;
    SqlSpan replace;    /* UPSERT: OR REPLACE, if that is how it says it */
    SqlSpan columns;    /* UPSERT that says so: the columns in brackets */
    bool is_cascade;    /* DROP ... CASCADE */
    bool has_returning; /* the last clause is RETURNING */
    bool is_plain;      /* others and condition are */
    /* Takes no time worth speaking of: INSERT of values; UPDATE and DELETE of rows with a certain value
     * that name nothing but the target's columns and call nothing. */
    bool is_simple;
} WriteShape;

/* Calls no function and holds no query: gives the same whenever it is evaluated. NULL is plain. */
bool weir_sql_span_is_plain(SqlSpan span);

/* The shape points into sql: one statement without its semicolon. */
WriteShape weir_write_shape(const char *sql);

#endif
