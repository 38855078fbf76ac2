/* gen.h: makes rounds of the oracle from random numbers. */
#ifndef WEIR_TESTS_ORACLE_GEN_H
#define WEIR_TESTS_ORACLE_GEN_H

#include "model.h"
#include "rng.h"

enum { SCOPE_MAX = 64 };

typedef struct GenOptions {
    int level;        /* 1: what must work everywhere; 2: rarer types, functions, subqueries */
    bool has_errors;  /* views that fail on some rows */
    bool has_files;   /* some databases are files */
    bool has_reopens; /* files are closed and opened between transactions */
} GenOptions;

/* A column that an expression may name. */
typedef struct ScopeColumn {
    char ref[24];
    TypeId type;
    ColumnMode mode;
    FloatKind kind;
    bool is_tame;
} ScopeColumn;

typedef struct Scope {
    ScopeColumn items[SCOPE_MAX];
    size_t count;
} Scope;

typedef struct Expr {
    char *sql; /* owned */
    TypeId type;
    ColumnMode mode;
    FloatKind kind;
} Expr;

/* A query and what is known of its columns, which are named x0, x1, ... */
typedef struct Query {
    char *sql; /* owned */
    ViewColumn columns[COLUMNS_MAX];
    size_t column_count;
    unsigned weight; /* see View */
    unsigned views;  /* see View */
} Query;

typedef struct Gen {
    Rng rng;
    GenOptions options;
    Case *test;         /* being made */
    size_t alias_count; /* for names that are used once */
    bool is_bulk;       /* a table becomes large: nothing is multiplied */
} Gen;

/* A literal of that type, with its type: CAST(1 AS TINYINT). The caller owns strings. */
char *gen_literal(Gen *gen, TypeId type, bool is_tame);
/* A value for a column, as it stands in VALUES. */
char *gen_value(Gen *gen, const Column *column);

void scope_add(Scope *scope, const char *relation, const char *column, TypeId type, ColumnMode mode,
               FloatKind kind, bool is_tame);
/* A random column of the scope whose mode is at most `worst`, of that type unless it is TYPE_ANY;
 * NULL if there is none. */
const ScopeColumn *scope_pick(Gen *gen, const Scope *scope, TypeId type, ColumnMode worst);

/* An expression of that type; its arguments, and so its value, are at most of mode `worst`. */
Expr gen_expr(Gen *gen, const Scope *scope, TypeId type, ColumnMode worst, int depth);
/* A condition. */
char *gen_condition(Gen *gen, const Scope *scope, int depth);
/* An expression of any type. */
Expr gen_any(Gen *gen, const Scope *scope, ColumnMode worst, int depth);

/* FROM ... of a query; adds what it offers to `scope` and to the views and weight of `query`. */
void gen_source(Gen *gen, Query *query, Scope *scope, Text *sql, int depth);
/* The name of a table or view, and its columns; used inside conditions. */
void gen_relation_simple(Gen *gen, Query *query, Scope *scope, Text *sql);
/* A condition with a subquery, or an empty string. */
void gen_subquery_condition(Gen *gen, Query *query, const Scope *scope, Text *sql);
/* A SELECT. */
void gen_query(Gen *gen, Query *query, int depth);

void gen_tables(Gen *gen);
void gen_views(Gen *gen);
void gen_groups(Gen *gen);

/* A whole round; the caller owns it. */
Case *gen_case(uint64_t seed, uint64_t round, const GenOptions *options);

#endif
