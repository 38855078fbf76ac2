/* ir.h: the plan as a graph of relational nodes, one struct a kind.
 *
 * Nodes are immutable and live in the arena of their plan; a node may have several parents (a common
 * table expression, a correlated subquery's left side): the graph is acyclic. Rules make new nodes.
 * Every node has the output columns types[0 .. column_count). Expressions count the columns of the
 * child; a join's residual counts those of left, then right. Rows are bags, NULLs in keys follow
 * the key's is_null_safe. */
#ifndef WEIR_PLAN_IR_H
#define WEIR_PLAN_IR_H

#include "op/op.h"
#include "plan/plan.h"

typedef enum IrKind {
    IR_SCAN,      /* a table or view */
    IR_VALUES,    /* constant rows */
    IR_FILTER,    /* rows for which all predicates are TRUE */
    IR_PROJECT,   /* one column an expression */
    IR_AGGREGATE, /* GROUP BY: groups, then calls */
    IR_DISTINCT,  /* each row once */
    IR_JOIN,      /* see JoinKind */
    IR_UNION,     /* UNION ALL */
} IrKind;

enum { IR_KIND_COUNT = IR_UNION + 1, IR_CALL_ARGS = 3 };

typedef struct IrNode IrNode;

/* The head of every node. */
struct IrNode {
    IrKind kind;
    size_t id; /* dense: below Ir.node_count; children have smaller ids than parents */
    size_t column_count;
    const LogicalType *const *types;
    size_t child_count;
    const IrNode *const *children;
};

/* A table or view as the database declares it. One object for each. */
typedef struct IrTable {
    PlanSourceKind kind;
    size_t index;        /* place in Ir.tables */
    const char *catalog; /* NULL for views */
    const char *schema;  /* NULL for views */
    const char *name;
    size_t column_count;
    const char *const *names;
    const LogicalType *const *types;
} IrTable;

typedef struct IrScan {
    IrNode head;
    const IrTable *table;
    const size_t *columns; /* output column -> column of the table */
} IrScan;

typedef struct IrValues {
    IrNode head;
    size_t row_count;
    const Value *values; /* row by row */
} IrValues;

typedef struct IrFilter {
    IrNode head;
    size_t predicate_count;
    const Expr *const *predicates; /* evaluated in order, each on the rows that passed */
} IrFilter;

typedef struct IrProject {
    IrNode head;
    const Expr *const *exprs; /* one an output column */
} IrProject;

typedef struct IrCall {
    const char *name;
    size_t arg_count;
    const Expr *args[IR_CALL_ARGS];
    const Expr *filter; /* NULL = none */
    bool is_distinct;
    const LogicalType *type;
} IrCall;

typedef struct IrAggregate {
    IrNode head;
    size_t group_count;
    const Expr *const *groups; /* none: the aggregate over all rows, always one row */
    size_t call_count;
    const IrCall *calls; /* not both none */
} IrAggregate;

typedef struct IrKey {
    const Expr *left; /* over the left child */
    const Expr *right;
    bool is_null_safe;
} IrKey;

/* Output: left_output columns of left; then INNER, LEFT, FULL: right_output columns of right; MARK:
 * one BOOLEAN. */
typedef struct IrJoin {
    IrNode head;
    JoinKind kind;
    size_t key_count;
    const IrKey *keys;
    const Expr *residual; /* NULL = none */
    size_t left_output_count;
    const size_t *left_output;
    size_t right_output_count; /* 0 for SEMI, ANTI, MARK */
    const size_t *right_output;
} IrJoin;

/* What the nodes of one plan share. */
typedef struct Ir {
    Arena *arena;      /* borrowed: nodes live there */
    size_t node_count; /* ids handed out */
    size_t table_count;
    size_t table_capacity;
    const IrTable **tables; /* in the arena */
} Ir;

/* The code of a failure that was reported to err: never WEIR_OK. */
static inline Status weir_ir_failure(const Error *err)
{
    WEIR_ASSERT(err->code != WEIR_OK);
    return err->code == WEIR_OK ? WEIR_ERR_INTERNAL : err->code;
}

/* The first child; a leaf gives itself. */
static inline const IrNode *weir_ir_first(const IrNode *node)
{
    return node->child_count == 0 ? node : node->children[0];
}

static inline const IrScan *weir_ir_as_scan(const IrNode *node)
{
    WEIR_ASSERT(node->kind == IR_SCAN);
    return (const IrScan *)(const void *)node;
}

static inline const IrValues *weir_ir_as_values(const IrNode *node)
{
    WEIR_ASSERT(node->kind == IR_VALUES);
    return (const IrValues *)(const void *)node;
}

static inline const IrFilter *weir_ir_as_filter(const IrNode *node)
{
    WEIR_ASSERT(node->kind == IR_FILTER);
    return (const IrFilter *)(const void *)node;
}

static inline const IrProject *weir_ir_as_project(const IrNode *node)
{
    WEIR_ASSERT(node->kind == IR_PROJECT);
    return (const IrProject *)(const void *)node;
}

static inline const IrAggregate *weir_ir_as_aggregate(const IrNode *node)
{
    WEIR_ASSERT(node->kind == IR_AGGREGATE);
    return (const IrAggregate *)(const void *)node;
}

static inline const IrJoin *weir_ir_as_join(const IrNode *node)
{
    WEIR_ASSERT(node->kind == IR_JOIN);
    return (const IrJoin *)(const void *)node;
}

/* True if the join shows columns of its right side. */
static inline bool weir_ir_join_shows_right(JoinKind kind)
{
    return kind == JOIN_INNER || kind == JOIN_LEFT || kind == JOIN_FULL;
}

typedef struct IrAggregateSpec {
    const Expr *const *groups;
    size_t group_count;
    const IrCall *calls;
    size_t call_count;
} IrAggregateSpec;

typedef struct IrJoinSpec {
    JoinKind kind;
    const IrKey *keys;
    size_t key_count;
    const Expr *residual;      /* NULL = none */
    const size_t *left_output; /* NULL = all columns, in order */
    size_t left_output_count;
    const size_t *right_output; /* NULL = all columns, in order; not read for SEMI, ANTI, MARK */
    size_t right_output_count;
} IrJoinSpec;

/* Constructors: arrays are borrowed and must live in the plan's arena. NULL with err filled when out
 * of memory. */
const IrNode *weir_ir_scan(Ir *ir, const IrTable *table, const size_t *columns, size_t count,
                           Error *err) WEIR_MUST_CHECK;
const IrNode *weir_ir_values(Ir *ir, const LogicalType *const *types, size_t column_count,
                             const Value *values, size_t row_count, Error *err) WEIR_MUST_CHECK;
const IrNode *weir_ir_filter(Ir *ir, const IrNode *child, const Expr *const *predicates,
                             size_t count, Error *err) WEIR_MUST_CHECK;
const IrNode *weir_ir_project(Ir *ir, const IrNode *child, const Expr *const *exprs, size_t count,
                              Error *err) WEIR_MUST_CHECK;
const IrNode *weir_ir_aggregate(Ir *ir, const IrNode *child, const IrAggregateSpec *spec,
                                Error *err) WEIR_MUST_CHECK;
const IrNode *weir_ir_distinct(Ir *ir, const IrNode *child, Error *err) WEIR_MUST_CHECK;
const IrNode *weir_ir_join(Ir *ir, const IrNode *left, const IrNode *right, const IrJoinSpec *spec,
                           Error *err) WEIR_MUST_CHECK;

/* The children have equal types; at least one. */
const IrNode *weir_ir_union(Ir *ir, const IrNode *const *children, size_t count, Error *err)
    WEIR_MUST_CHECK;

/* The same node over other children, whose columns are the same. */
const IrNode *weir_ir_with_children(Ir *ir, const IrNode *node, const IrNode *const *children,
                                    Error *err) WEIR_MUST_CHECK;

/* Finds the table, or adds it. Fails with WEIR_ERR_PLAN if it is known with other columns. */
Status weir_ir_add_table(Ir *ir, const IrTable *table, const IrTable **out, Error *err)
    WEIR_MUST_CHECK;

/* The spec that makes the same join again. */
IrJoinSpec weir_ir_join_spec(const IrJoin *join);

/* Where the join's output column i comes from: a column of left ++ right; SIZE_MAX for the mark. */
size_t weir_ir_join_source(const IrJoin *join, size_t i);

/* --- ir_rewrite.c --- */

/* Gives the node to stand for `node`, which is `old` over its rewritten children; may be `node`
 * itself. It must have the same columns. */
typedef Status (*IrRewrite)(Ir *ir, void *context, const IrNode *old, const IrNode *node,
                            const IrNode **out, Error *err);

/* Rewrites the graph bottom-up, each node once: what was shared stays shared. */
Status weir_ir_rewrite(Ir *ir, const IrNode *root, IrRewrite rewrite, void *context,
                       const IrNode **out, Error *err) WEIR_MUST_CHECK;

/* counts[id] = edges from parents that lead to the node; the root has one from outside. The array has
 * ir->node_count entries, in the arena. */
Status weir_ir_count_parents(const Ir *ir, const IrNode *root, size_t **counts, Error *err)
    WEIR_MUST_CHECK;

/* --- ir_text.c --- */

/* Readable names of all columns, for printing: (*names)[id][column]. */
typedef const char *const *const *IrNames;
Status weir_ir_name_columns(const Ir *ir, const IrNode *root, IrNames *names, Error *err)
    WEIR_MUST_CHECK;

/* One node a line, indented; a node with several parents is printed once, with a number. counts: of
 * weir_ir_count_parents. */
typedef struct IrText {
    const IrNode *root;
    IrNames names;
    size_t *counts;
} IrText;
void weir_ir_put_text(const IrText *text, Buf *out);

/* --- ir_facts.c --- */

/* True if the node is known to give exactly one row, whatever the tables hold. */
bool weir_ir_is_single_row(const IrNode *node);

/* True if the column is known to hold no NULL. */
bool weir_ir_is_never_null(const IrNode *node, size_t column);

/* *out = true if no two rows of the node are known to agree on the marked columns (NULLs agree). */
Status weir_ir_is_unique(Arena *arena, const IrNode *node, const bool *columns, bool *out,
                         Error *err) WEIR_MUST_CHECK;

/* Structural equality of types; names of user types and JSON do not count. */
bool weir_ir_type_matches(const LogicalType *a, const LogicalType *b);

#endif
