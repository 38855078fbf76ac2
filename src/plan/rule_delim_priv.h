/* rule_delim_priv.h: the two parts of the rule for correlated subqueries. */
#ifndef WEIR_PLAN_RULE_DELIM_PRIV_H
#define WEIR_PLAN_RULE_DELIM_PRIV_H

#include "plan/rule_priv.h"

/* The distinct values of the correlated columns of a join's left side. */
typedef struct Delim {
    Ir *ir;
    const size_t *parent_counts;
    const IrNode *node;       /* D: DISTINCT over a projection of base */
    const IrNode *base;       /* the left side, without filters above it */
    size_t count;             /* columns of D */
    const Expr *const *exprs; /* over base */
} Delim;

/* A node without D. */
typedef struct Freed {
    const IrNode *node; /* NULL: it cannot be made */
    size_t *columns;    /* where D's columns are */
} Freed;

/* --- rule_free.c --- */

/* Tries to free the node, whose columns keep their places. */
Status weir_rule_free(const Delim *d, const IrNode *node, Freed *out, Error *err) WEIR_MUST_CHECK;

#endif
