/* plan_priv.h: the steps from the IR to operators, and the plan itself. */
#ifndef WEIR_PLAN_PLAN_PRIV_H
#define WEIR_PLAN_PLAN_PRIV_H

#include "plan/ir.h"

typedef enum PlanOpKind {
    PLAN_OP_SOURCE,
    PLAN_OP_CONSTANT,
    PLAN_OP_MAP,
    PLAN_OP_UNION,
    PLAN_OP_AGGREGATE,
    PLAN_OP_JOIN,
} PlanOpKind;

/* An operator to be made. */
typedef struct PlanOp {
    PlanOpKind kind;
    size_t inputs[2];          /* operators before this one */
    const size_t *more_inputs; /* UNION: all inputs */
    size_t more_input_count;
    Schema schema; /* of the output */
    union {
        const char *label; /* SOURCE */
        ConstantSpec constant;
        MapSpec map;
        AggregateSpec aggregate;
        JoinSpec join;
    } spec;
} PlanOp;

/* Operators in the order in which they are made; the first source_count are the sources, the last one
 * feeds the sink. */
typedef struct PlanProgram {
    size_t op_count;
    size_t op_capacity;
    PlanOp *ops;
    size_t source_count;
    PlanSource *sources;
    size_t result; /* the operator that the sink reads */
} PlanProgram;

struct Plan {
    Mem *mem;    /* borrowed */
    Arena arena; /* holds everything below */
    Ir ir;
    const IrNode *root;
    IrText text;
    Schema schema;
    const bool *is_rounded; /* by result column */
    PlanProgram program;
};

/* columns.c: makes operands of aggregates and joins plain columns. */
Status weir_plan_split_columns(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
    WEIR_MUST_CHECK;

typedef enum PlanPhase { PLAN_PHASE_EARLY, PLAN_PHASE_LATE } PlanPhase;

/* rules.c: makes the plan cheaper. */
Status weir_plan_apply_rules(Ir *ir, PlanPhase phase, const PlanEnv *env, const IrNode **root,
                             Error *err) WEIR_MUST_CHECK;

/* rounded.c: is_rounded of plan.h, for all columns. */
Status weir_plan_find_rounded(const Ir *ir, const IrNode *root, const bool **out, Error *err)
    WEIR_MUST_CHECK;

/* lower.c: the operators of a plan whose operands are plain columns. */
Status weir_plan_lower(Ir *ir, const IrNode *root, PlanProgram *out, Error *err) WEIR_MUST_CHECK;

/* ir_check.c: a fault of a rule is found here, not in a view. */
Status weir_ir_check(const Ir *ir, const IrNode *root, const char *after, Error *err)
    WEIR_MUST_CHECK;

#endif
