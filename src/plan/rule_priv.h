/* rule_priv.h: what the rules share.
 *
 * A rule gives a graph with the same rows and columns. It must not let an expression that can fail
 * see rows that it did not see before; it may let it see fewer, as DuckDB's optimizer does. */
#ifndef WEIR_PLAN_RULE_PRIV_H
#define WEIR_PLAN_RULE_PRIV_H

#include "plan/plan_priv.h"

typedef Status (*PlanRule)(Ir *ir, const IrNode *root, const IrNode **out, Error *err);

#define X(name, phase, summary)                                                         \
    Status weir_rule_##name(Ir *ir, const IrNode *root, const IrNode **out, Error *err) \
        WEIR_MUST_CHECK;
#include "plan/rules.def"
#undef X

/* A list of expressions in the arena of the plan, with room for a known number. */
typedef struct ExprList {
    size_t count;
    size_t capacity;
    const Expr **items;
} ExprList;

Status weir_rule_list_init(Ir *ir, ExprList *list, size_t capacity, Error *err) WEIR_MUST_CHECK;
void weir_rule_list_add(ExprList *list, const Expr *expr);

/* The number of parts of a condition: an AND in an AND counts as its parts. */
size_t weir_rule_count_parts(const Expr *condition);

/* Adds the parts, in order. */
void weir_rule_add_parts(ExprList *list, const Expr *condition);

/* The parts of all conditions of a filter, in order. */
Status weir_rule_split(Ir *ir, const Expr *const *conditions, size_t count, ExprList *out,
                       Error *err) WEIR_MUST_CHECK;

enum { RULE_LEFT = 1, RULE_RIGHT = 2 };

/* Which sides the expression over left ++ right reads: a sum of RULE_LEFT and RULE_RIGHT. */
unsigned weir_rule_sides(const Expr *expr, size_t left_count);

/* True if the expression reads the column. */
bool weir_rule_reads(const Expr *expr, size_t column);

/* How much computing it takes: 0 for columns and constants; large if the host must do it. */
size_t weir_rule_cost(const Expr *expr);

/* node, or a filter above it. */
const IrNode *weir_rule_filter(Ir *ir, const IrNode *node, const ExprList *predicates, Error *err)
    WEIR_MUST_CHECK;

/* The expression with column i of the second side, counted from left_count on, as column i. */
const Expr *weir_rule_shift_left(Ir *ir, const Expr *expr, size_t left_count, size_t right_count,
                                 Error *err) WEIR_MUST_CHECK;

/* A column expression for each column of the node: exprs[0 .. column_count). */
Status weir_rule_columns(Ir *ir, const IrNode *node, const Expr **exprs, Error *err)
    WEIR_MUST_CHECK;

/* --- rule_filter.c pushes, rule_join.c is its part for joins --- */

typedef struct FilterPusher {
    Ir *ir;
    size_t *parent_counts; /* of the graph before */
    const IrNode **done;   /* shared nodes: by id; NULL = not yet */
} FilterPusher;

/* The node below a filter of these predicates, over the node's columns and in order. */
Status weir_rule_push(FilterPusher *pusher, const IrNode *node, const ExprList *predicates,
                      const IrNode **out, Error *err) WEIR_MUST_CHECK;
Status weir_rule_push_join(FilterPusher *pusher, const IrNode *node, const ExprList *predicates,
                           const IrNode **out, Error *err) WEIR_MUST_CHECK;

#endif
