/* op.h: the constructors of all operators. A constructor adds the operator to the circuit.
 *
 * Arrays and expressions of a spec are borrowed from the plan's arena and must live as long as the
 * circuit. Column numbers count the columns of the input concerned. `types` are those of the output
 * unless said otherwise. */
#ifndef WEIR_OP_OP_H
#define WEIR_OP_OP_H

#include "circuit/circuit.h"

/* Where deltas of a table or view enter. */
Status weir_op_source_new(Circuit *circuit, const Schema *schema, const char *label, Op **out,
                          Error *err) WEIR_MUST_CHECK;

/* Rows that are always there: emitted in the first step. rows: row_count * schema.count constants,
 * row by row. */
typedef struct ConstantSpec {
    Schema schema;
    const Value *values;
    size_t row_count;
} ConstantSpec;

Status weir_op_constant_new(Circuit *circuit, const ConstantSpec *spec, Op **out, Error *err)
    WEIR_MUST_CHECK;

/* Filter and projection in one: rows for which all predicates are TRUE, then the expressions over
 * them. A row on which an expression fails is held back until the end of the step: only if it is
 * still there then (its weights do not cancel) the step fails with WEIR_ERR_EVALUATION. */
typedef struct MapSpec {
    const Expr *const *predicates;
    size_t predicate_count;
    const Expr *const *exprs; /* NULL = the input's columns unchanged */
    Schema schema;            /* of the output */
} MapSpec;

Status weir_op_map_new(Circuit *circuit, Op *input, const MapSpec *spec, Op **out, Error *err)
    WEIR_MUST_CHECK;

/* UNION ALL: all inputs have the same physical types. */
Status weir_op_union_new(Circuit *circuit, Op *const *inputs, size_t input_count,
                         const Schema *schema, Op **out, Error *err) WEIR_MUST_CHECK;

enum { OP_NO_COLUMN = -1 };

typedef struct AggregateCall {
    const char *name;            /* as in the plan: count_star, count, sum, avg, min, max, ... */
    ptrdiff_t args[3];           /* columns of the input; OP_NO_COLUMN = absent */
    const LogicalType *arg_type; /* of args[0]; NULL if absent */
    ptrdiff_t filter;            /* BOOLEAN column; OP_NO_COLUMN = none */
    bool is_distinct;
    const LogicalType *type; /* of the result */
} AggregateCall;

/* GROUP BY group_columns; output = the group columns, then the results. No group columns:
 * is_global makes it the aggregate over all rows (always one row). No calls: DISTINCT. */
typedef struct AggregateSpec {
    const size_t *group_columns;
    size_t group_count;
    const AggregateCall *calls;
    size_t call_count;
    bool is_global;
    Schema schema;
} AggregateSpec;

Status weir_op_aggregate_new(Circuit *circuit, Op *input, const AggregateSpec *spec, Op **out,
                             Error *err) WEIR_MUST_CHECK;

/* True if the aggregate has an own implementation for that call (name, argument type, DISTINCT). */
bool weir_op_aggregate_supports(const AggregateCall *call);

typedef enum JoinKind {
    JOIN_INNER,
    JOIN_LEFT,
    JOIN_FULL,
    JOIN_SEMI,
    JOIN_ANTI,
    JOIN_MARK
} JoinKind;

/* Joins of left (port 0) and right (port 1) on equal keys and a residual condition.
 * Output: INNER, LEFT, FULL: left_output then right_output columns; SEMI, ANTI: left_output; MARK:
 * left_output, then one BOOLEAN: x = ANY (right) with SQL's three values.
 *
 * The keys of a MARK that are not null safe, and the parts of its residual, are its conditions. As
 * in DuckDB, a NULL in any condition makes a row with a right row of its group unknown unless some
 * pair fulfils all of them: (2, 2) IN ((1, NULL)) is NULL. Keys alone cost O(change); a residual is
 * evaluated for every pair of a group. */
typedef struct JoinSpec {
    JoinKind kind;
    const size_t *left_keys; /* key columns, pairwise of one type; may be none: cross product */
    const size_t *right_keys;
    const bool *is_null_safe; /* per key: IS NOT DISTINCT FROM; MARK: correlation, groups the
                                     right rows and never makes the mark NULL */
    size_t key_count;
    const Expr *residual;      /* over left ++ right columns (all of them); NULL = none */
    const size_t *left_output; /* columns shown */
    size_t left_output_count;
    const size_t *right_output;
    size_t right_output_count;
    Schema schema;
} JoinSpec;

Status weir_op_join_new(Circuit *circuit, Op *left, Op *right, const JoinSpec *spec, Op **out,
                        Error *err) WEIR_MUST_CHECK;

/* The contents of a view and what the last step changed in it. */
Status weir_op_sink_new(Circuit *circuit, Op *input, Op **out, Error *err) WEIR_MUST_CHECK;

#endif
