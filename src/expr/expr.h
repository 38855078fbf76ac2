/* expr.h: bound scalar expressions, as DuckDB bound them: every node knows its type, casts are
 * explicit, functions are overload-resolved.
 *
 * Trees are immutable and live in the arena of their plan. Column references count the input's
 * columns. Aggregates and window calls are not expressions: see plan/ir.h. */
#ifndef WEIR_EXPR_EXPR_H
#define WEIR_EXPR_EXPR_H

#include "types/batch.h"
#include "types/value.h"

typedef enum ExprKind {
    EXPR_COLUMN,   /* input column `column` */
    EXPR_CONSTANT, /* `value` */
    EXPR_CAST,     /* args[0] to `type`; is_try: NULL instead of an error */
    EXPR_COMPARE,  /* `compare` of args[0], args[1] (same type) */
    EXPR_AND,      /* n-ary, three-valued */
    EXPR_OR,
    EXPR_NOT,
    EXPR_IS_NULL,
    EXPR_IS_NOT_NULL,
    EXPR_COALESCE,  /* n-ary, lazy */
    EXPR_IN,        /* args[0] IN (args[1..]); three-valued; is_negated: NOT IN */
    EXPR_CASE,      /* args = when1, then1, when2, then2, ..., else; lazy */
    EXPR_TRY,       /* args[0], NULL where it fails */
    EXPR_CALL,      /* function `name` of args */
    EXPR_PARAMETER, /* inside a lambda body: parameter `column` counted from the outermost */
} ExprKind;

typedef enum CompareOp {
    COMPARE_EQ,
    COMPARE_NE,
    COMPARE_LT,
    COMPARE_LE,
    COMPARE_GT,
    COMPARE_GE,
    COMPARE_DISTINCT,
    COMPARE_NOT_DISTINCT
} CompareOp;

typedef struct Expr Expr;

/* What a call carries besides its arguments: only what changes its meaning or its SQL spelling. */
typedef struct CallExtra {
    const char *const *arg_names;  /* struct_pack("a" := ..); NULL = none; entries may be "" */
    const Expr *lambda;            /* body of list_transform and friends; NULL = none */
    size_t lambda_parameter_count; /* declared parameters, index included */
    bool lambda_has_initial;
    const char *list_aggregate;   /* list_aggr: name of the aggregate */
    const Expr *const *more_args; /* trailing constant arguments that binding removed */
    size_t more_arg_count;
    bool wrap_in_cast; /* the SQL spelling must be CAST(... AS type) */
} CallExtra;

struct Expr {
    ExprKind kind;
    const LogicalType *type;
    const Expr *const *args;
    size_t arg_count;
    size_t column;          /* EXPR_COLUMN, EXPR_PARAMETER */
    CompareOp compare;      /* EXPR_COMPARE */
    bool is_try;            /* EXPR_CAST */
    bool is_negated;        /* EXPR_IN */
    bool is_operator;       /* EXPR_CALL: infix or prefix spelling */
    const char *name;       /* EXPR_CALL: as in the plan ("+", "lower", ...) */
    const CallExtra *extra; /* EXPR_CALL; NULL = nothing */
    Value value;            /* EXPR_CONSTANT */
};

/* Builders for rules and tests; args are borrowed, nodes come from the arena. */
const Expr *weir_expr_column(Arena *arena, size_t column, const LogicalType *type, Error *err)
    WEIR_MUST_CHECK;
const Expr *weir_expr_constant(Arena *arena, const Value *value, Error *err) WEIR_MUST_CHECK;
const Expr *weir_expr_call(Arena *arena, const char *name, const LogicalType *type,
                           const Expr *const *args, size_t arg_count, Error *err) WEIR_MUST_CHECK;
const Expr *weir_expr_and(Arena *arena, const Expr *const *args, size_t arg_count, Error *err)
    WEIR_MUST_CHECK;

bool weir_expr_equal(const Expr *a, const Expr *b);

/* Marks used[i] for every column the expression reads. */
void weir_expr_collect_columns(const Expr *expr, bool *used);

/* A copy whose column i is map[i] of the old; fails if a column maps to SIZE_MAX. */
const Expr *weir_expr_remap(Arena *arena, const Expr *expr, const size_t *map, Error *err)
    WEIR_MUST_CHECK;

/* A copy with column i replaced by the expression columns[i] (composition of projections). */
const Expr *weir_expr_substitute(Arena *arena, const Expr *expr, const Expr *const *columns,
                                 Error *err) WEIR_MUST_CHECK;

/* True if evaluating it can fail on some row (overflow, cast, error()). */
bool weir_expr_can_fail(const Expr *expr);

/* The expression as DuckDB SQL over columns named c0, c1, ...; sticky error WEIR_ERR_FUNCTION for
 * what has no spelling. Binds back to the same tree (modulo casts of constants). */
void weir_expr_put_sql(Buf *buf, const Expr *expr);

/* A short readable form for explain and error messages; never fails. names may be NULL. */
void weir_expr_put_text(Buf *buf, const Expr *expr, const char *const *names);

#endif
