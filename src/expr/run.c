/* run.c: running blocks: host parts, then steps in order. */
#include "expr/program_priv.h"

#include "expr/mask.h"

/* --- kernels ------------------------------------------------------------------------------------- */

/* out->validity = the AND of the arguments' validities, shared if only one has any. */
static Status merge_validity(const Step *step, size_t count, Arena *arena, Vector *out, Error *err)
{
    bool is_shared = true;
    for (size_t k = 0; k < step->arg_count; k++) {
        const Vector *arg = &step->values[k];
        if (arg->validity == NULL || arg->is_constant || arg->validity == out->validity) {
            continue; /* a constant that gets here is not NULL */
        }
        if (out->validity == NULL) {
            out->validity = arg->validity;
            continue;
        }
        const size_t words = weir_mask_words(count);
        if (is_shared) {
            uint64_t *own = weir_arena_alloc(arena, words * sizeof *own, err);
            if (own == NULL) {
                return err->code;
            }
            memcpy(own, out->validity, words * sizeof *own);
            out->validity = own;
            is_shared = false;
        }
        for (size_t w = 0; w < words; w++) {
            out->validity[w] &= arg->validity[w];
        }
    }
    return WEIR_OK;
}

static Status constant_null(PhysType phys, Arena *arena, Vector *out, Error *err)
{
    WEIR_TRY(weir_vector_init(out, phys, 1, arena, err));
    memset(out->data, 0, weir_phys_width(phys));
    out->is_constant = true;
    WEIR_TRY(weir_vector_add_validity(out, 1, arena, err));
    weir_validity_set_null(out->validity, 0);
    return WEIR_OK;
}

Status weir_step_run_kernel(const Step *step, size_t count, Arena *arena, Vector *out, Error *err)
{
    const PhysType phys = step->expr->type->phys;
    const bool owns_nulls = (step->def->flags & FUNCTION_OWN_NULLS) != 0;
    bool is_constant = step->arg_count > 0;
    for (size_t k = 0; k < step->arg_count; k++) {
        const Vector *arg = &step->values[k];
        if (!owns_nulls && arg->is_constant && weir_vector_is_null(arg, 0)) {
            return constant_null(phys, arena, out, err);
        }
        is_constant = is_constant && arg->is_constant;
    }
    WEIR_TRY(weir_vector_init(out, phys, is_constant ? 1 : count, arena, err));
    out->is_constant = is_constant;
    if (!owns_nulls && !is_constant) {
        WEIR_TRY(merge_validity(step, count, arena, out, err));
    }
    const KernelCall call = {
        .expr = step->expr,
        .args = step->values,
        .arg_count = step->arg_count,
        .count = count,
        .arena = arena,
        .state = step->state,
        .out = out,
    };
    return step->def->kernel(&call, err);
}

/* --- blocks -------------------------------------------------------------------------------------- */

Status weir_block_run(Evaluator *ev, Block *block, size_t count, Arena *arena, Error *err)
{
    WEIR_ASSERT(count > 0);
    if (block->host.count > 0) {
        WEIR_TRY(weir_host_run(ev, block, count, arena, err));
    }
    for (Step *step = block->first; step != NULL; step = step->next) {
        if (step->kind != STEP_KERNEL) {
            WEIR_TRY(weir_step_run_lazy(ev, block, step, count, arena, err));
            continue;
        }
        for (size_t k = 0; k < step->arg_count; k++) {
            step->values[k] = block->values[step->args[k]];
        }
        Vector *out = &block->values[step->out];
        Status status = weir_step_run_kernel(step, count, arena, out, err);
        if (status == KERNEL_DECLINES) {
            status = weir_host_run_call(ev, step, count, arena, out, err);
        }
        WEIR_TRY(status);
    }
    return WEIR_OK;
}

Status weir_branch_run(Evaluator *ev, const Block *block, const Branch *branch, RowSet set,
                       Arena *arena, BranchValue *out, Error *err)
{
    Block *inner = branch->block;
    if (inner == NULL) {
        *out = (BranchValue){.vector = block->values[branch->slot], .is_by_row = set.rows != NULL};
        return WEIR_OK;
    }
    for (size_t i = 0; i < inner->import_count; i++) {
        const Vector *from = &block->values[inner->imports[i].outer];
        Vector *to = &inner->values[inner->imports[i].slot];
        if (set.rows == NULL) {
            *to = *from;
        } else {
            WEIR_TRY(weir_vector_gather(from, set.rows, set.count, arena, to, err));
        }
    }
    WEIR_TRY(weir_block_run(ev, inner, set.count, arena, err));
    *out = (BranchValue){.vector = inner->values[branch->slot]};
    return WEIR_OK;
}
