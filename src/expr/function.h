/* function.h: native kernels and their registry, functions.def.
 *
 * A kernel computes one result vector from argument vectors. The evaluator resolves a call by name
 * and argument types; a call without a kernel goes to the host. */
#ifndef WEIR_EXPR_FUNCTION_H
#define WEIR_EXPR_FUNCTION_H

#include "expr/expr.h"

typedef struct KernelCall {
    const Expr *expr;   /* the call or cast: types of arguments and result, constants */
    const Vector *args; /* flat or constant; all constant only if arg_count > 0 */
    size_t arg_count;
    size_t count;       /* rows */
    Arena *arena;       /* for the result and its strings */
    Vector *out;        /* data allocated for `count` rows (1 if is_constant), validity set to the
                           AND of the arguments' unless FUNCTION_OWN_NULLS */
} KernelCall;

/* Fails with WEIR_ERR_EVALUATION and DuckDB's message for the first failing valid row. Rows that are
 * NULL in out->validity may hold anything in the arguments, and must not fail. */
typedef Status (*KernelFn)(const KernelCall *call, Error *err);

enum {
    FUNCTION_OWN_NULLS = 1, /* the kernel decides about NULL itself (validity is all valid mask) */
    FUNCTION_CAN_FAIL = 2,
};

typedef struct FunctionDef {
    const char *name;      /* as in the plan */
    const char *arguments; /* type classes, one letter each: see functions.def */
    const char *result;    /* the same for the result type */
    KernelFn kernel;
    uint32_t flags;
} FunctionDef;

/* NULL if there is no native kernel for exactly this call. */
const FunctionDef *weir_function_find(const Expr *call);

/* For law tests: the whole registry. */
const FunctionDef *weir_function_list(size_t *count);

#endif
