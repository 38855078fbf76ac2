/* evaluator.h: compiled expressions, evaluated over batches.
 *
 * A list of expressions becomes a flat program of vectorised kernels. Parts without a native kernel
 * are rendered back to SQL and evaluated by the host (DuckDB) over the batch. CASE, COALESCE, AND
 * and OR evaluate a branch that can fail only on the rows that reach it. */
#ifndef WEIR_EXPR_EVALUATOR_H
#define WEIR_EXPR_EVALUATOR_H

#include "expr/expr.h"

typedef struct HostProgram HostProgram; /* the host's */

/* What evaluates expressions without a native kernel. All functions: one thread at a time. */
typedef struct ExprHost {
    void *context; /* borrowed */

    /* Prepares `count` SQL expressions over columns c0.. of the given types. */
    Status (*prepare)(void *context, const char *const *sql, size_t count, const Schema *input,
                      const Schema *output, HostProgram **out, Error *err);

    /* out[i]: flat vector of in->count rows from the arena. A failing row is WEIR_ERR_EVALUATION. */
    Status (*evaluate)(void *context, HostProgram *program, const Batch *in, Arena *arena,
                       Vector *out, Error *err);

    void (*release)(void *context, HostProgram *program); /* NULL is allowed */
} ExprHost;

typedef struct Evaluator Evaluator;

/* host may be NULL: then an expression without a native kernel is WEIR_ERR_FUNCTION. exprs and the
 * types of input are borrowed and must live as long as the evaluator. */
Status weir_evaluator_new(Mem *mem, const ExprHost *host, const Expr *const *exprs,
                          size_t expr_count, const Schema *input, Evaluator **out, Error *err)
    WEIR_MUST_CHECK;
void weir_evaluator_free(Evaluator *evaluator);

/* out[i] = expression i over the batch: data from the arena, or borrowed from the batch or from the
 * evaluator (constants, and the bytes of constant strings); may be constant. A failing row: WEIR_ERR_EVALUATION with DuckDB's message. */
Status weir_evaluator_run(Evaluator *evaluator, const Batch *in, Arena *arena, Vector *out,
                          Error *err) WEIR_MUST_CHECK;

/* The rows for which every expression (all BOOLEAN) is TRUE, evaluated left to right on the rows
 * still selected; selection holds BATCH_CAPACITY entries. */
Status weir_evaluator_select(Evaluator *evaluator, const Batch *in, Arena *arena,
                             uint16_t *selection, size_t *count, Error *err) WEIR_MUST_CHECK;

/* For explain: number of expressions (or parts) evaluated by the host. */
size_t weir_evaluator_host_count(const Evaluator *evaluator);

#endif
