/* plan.h: from DuckDB's bound plan (JSON) to a circuit.
 *
 * JSON -> IR (checked) -> rules -> circuit. A Plan owns the IR in its arena and outlives every
 * circuit built from it. */
#ifndef WEIR_PLAN_PLAN_H
#define WEIR_PLAN_PLAN_H

#include "op/op.h"

typedef enum PlanSourceKind { PLAN_SOURCE_TABLE, PLAN_SOURCE_VIEW } PlanSourceKind;

/* A table or view that the definition reads, with the columns it uses. Each appears once, however
 * often the definition reads it. */
typedef struct PlanSource {
    PlanSourceKind kind;
    const char *catalog; /* NULL for views */
    const char *schema;  /* NULL for views */
    const char *name;    /* views: as passed to dbsp_query */
    size_t column_count; /* may be 0: count(*) */
    const char *const *columns;
    const LogicalType *const *types;
} PlanSource;

typedef enum FunctionStability {
    STABILITY_UNKNOWN, /* not a known function */
    STABILITY_CONSISTENT,
    STABILITY_WITHIN_QUERY,
    STABILITY_VOLATILE
} FunctionStability;

typedef struct PlanEnv {
    Mem *mem; /* borrowed */
    /* Looks up a scalar function's stability in the database; may be NULL. */
    Status (*stability)(void *context, const char *function, FunctionStability *out, Error *err);
    void *context;
    bool rules_off;           /* only the translation, for law tests */
    uint32_t rules_without;   /* bit i: without rule i of rules.def, for law tests */
    size_t arena_block_bytes; /* 0 = the usual; small for fault tests */
} PlanEnv;

typedef struct Plan Plan;

/* json: the result of json_serialize_plan with the optimizer off. Refuses (WEIR_ERR_PLAN,
 * _NOT_A_SELECT, _VOLATILE, _OPERATOR, _FUNCTION, _TYPE) what cannot be maintained. */
Status weir_plan_new(const PlanEnv *env, const char *json, size_t json_size, Plan **out, Error *err)
    WEIR_MUST_CHECK;
void weir_plan_free(Plan *plan); /* every circuit built from it must be gone */

size_t weir_plan_source_count(const Plan *plan);
const PlanSource *weir_plan_source(const Plan *plan, size_t index);
const Schema *weir_plan_schema(const Plan *plan); /* of the result, without names */

/* True if result column `column` is, or is computed from, a SUM or AVG over FLOAT or DOUBLE: re-runs
 * of the definition may differ from it by DuckDB's own rounding. */
bool weir_plan_is_rounded(const Plan *plan, size_t column);

/* sources: array of weir_plan_source_count operators, in order. */
Status weir_plan_build(const Plan *plan, const CircuitEnv *env, Circuit **out, Op **sources,
                       Op **sink, Error *err) WEIR_MUST_CHECK;

/* The IR after the rules, one node a line, indented. */
void weir_plan_put_text(const Plan *plan, Buf *out);

#endif
