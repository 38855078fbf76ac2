/* function.h: native kernels and their registry, functions.def.
 *
 * A kernel computes one result vector from argument vectors. The evaluator resolves a call by name
 * and argument types; a call without a kernel goes to the host. */
#ifndef WEIR_EXPR_FUNCTION_H
#define WEIR_EXPR_FUNCTION_H

#include "expr/expr.h"

typedef struct KernelCall {
    const Expr *expr;   /* the call, cast, ...: types of arguments and result */
    const Vector *args; /* flat or constant */
    size_t arg_count;
    size_t count;      /* rows */
    Arena *arena;      /* for the result and its strings */
    const void *state; /* what was prepared for the kernel when compiling; NULL = nothing */
    Vector *out;       /* data allocated for `count` rows (1 if is_constant: all arguments are);
                           validity is the AND of the arguments', perhaps shared with one of them;
                           with FUNCTION_OWN_NULLS it is NULL */
} KernelCall;

/* What a FUNCTION_PARTIAL kernel returns for a batch that it does not understand; err is untouched. */
enum { KERNEL_DECLINES = -1 };

/* Fails with WEIR_ERR_EVALUATION and DuckDB's message for the first failing valid row. Rows that are
 * NULL in out->validity may hold anything in the arguments, and must not fail. */
typedef Status (*KernelFn)(const KernelCall *call, Error *err);

enum {
    FUNCTION_OWN_NULLS = 1, /* the kernel decides about NULL itself */
    FUNCTION_CAN_FAIL = 2,
    FUNCTION_PARTIAL = 4, /* the kernel may decline: the host computes the batch instead */
};

typedef struct FunctionDef {
    const char *name;      /* as in the plan */
    const char *arguments; /* type classes, one letter each: see functions.def */
    const char *result;    /* the same for the result type */
    KernelFn kernel;
    uint32_t flags;
    bool (*accepts)(const Expr *call); /* a further condition; NULL = none */
} FunctionDef;

/* NULL if there is no native kernel for exactly this call / this cast. */
const FunctionDef *weir_function_find(const Expr *call);
const FunctionDef *weir_cast_find(const Expr *cast);

/* For law tests: the whole registries. */
const FunctionDef *weir_function_list(size_t *count);
const FunctionDef *weir_cast_list(size_t *count);

/* True if the type belongs to the class (functions.def lists the letters). */
bool weir_type_class_has(char letter, const LogicalType *type);

/* The kernel of an expression of any kind, given its arguments; NULL = none. EXPR_IN: of the lookup
 * in a set (expr/in_set.h). */
const FunctionDef *weir_kernel_of_kind(const Expr *expr);

#endif
