/* evaluator.c: the public face of compiled expressions. */
#include "expr/program_priv.h"

#include "expr/mask.h"

static bool are_conditions(const Expr *const *exprs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (exprs[i]->type->id != TYPE_BOOLEAN) {
            return false;
        }
    }
    return count > 0;
}

/* Expressions that are all BOOLEAN are most likely conditions; their values are compiled when first
 * asked for. */
Status weir_evaluator_new(Mem *mem, const ExprHost *host, const Expr *const *exprs,
                          size_t expr_count, const Schema *input, Evaluator **out, Error *err)
{
    Evaluator *ev = weir_mem_zalloc(mem, sizeof *ev, err);
    if (ev == NULL) {
        return err->code;
    }
    ev->mem = mem;
    ev->host = host;
    ev->input = input;
    ev->exprs = exprs;
    ev->expr_count = expr_count;
    weir_arena_init(&ev->arena, mem, 4096);
    const Status status = are_conditions(exprs, expr_count)
                              ? weir_program_compile_conditions(ev, err)
                              : weir_program_compile_values(ev, err);
    if (status != WEIR_OK) {
        weir_evaluator_free(ev);
        return status;
    }
    *out = ev;
    return WEIR_OK;
}

void weir_evaluator_free(Evaluator *ev)
{
    if (ev == NULL) {
        return;
    }
    for (HostPart *part = ev->host_parts; part != NULL; part = part->next) {
        ev->host->release(ev->host->context, part->program);
    }
    Mem *mem = ev->mem;
    weir_arena_deinit(&ev->arena);
    weir_mem_free(mem, ev);
}

size_t weir_evaluator_host_count(const Evaluator *ev)
{
    return ev->conditions.top != NULL ? ev->conditions.host_count : ev->values.host_count;
}

static Status run_top(Evaluator *ev, Block *top, const Batch *in, Arena *arena, Error *err)
{
    for (size_t i = 0; i < top->import_count; i++) {
        WEIR_ASSERT(top->imports[i].outer < in->column_count);
        top->values[top->imports[i].slot] = in->columns[top->imports[i].outer];
    }
    return weir_block_run(ev, top, in->count, arena, err);
}

Status weir_evaluator_run(Evaluator *ev, const Batch *in, Arena *arena, Vector *out, Error *err)
{
    if (in->count == 0) {
        for (size_t i = 0; i < ev->expr_count; i++) {
            WEIR_TRY(weir_vector_init(&out[i], ev->exprs[i]->type->phys, 1, arena, err));
        }
        return WEIR_OK;
    }
    if (ev->values.top == NULL) {
        WEIR_TRY(weir_program_compile_values(ev, err));
    }
    WEIR_TRY(run_top(ev, ev->values.top, in, arena, err));
    for (size_t i = 0; i < ev->expr_count; i++) {
        out[i] = ev->values.top->values[ev->values.outputs[i].slot];
    }
    return WEIR_OK;
}

/* --- select -------------------------------------------------------------------------------------- */

/* Narrows the rows by a condition that is known for them. rows: the list set.rows points to, or
 * room for it. */
static RowSet narrow(const uint8_t *mask, bool is_by_row, RowSet set, uint16_t *rows)
{
    if (set.rows == NULL) {
        const size_t count = weir_mask_select(mask, set.count, rows);
        return count == set.count ? set : (RowSet){.rows = rows, .count = count};
    }
    size_t left = 0;
    for (size_t k = 0; k < set.count; k++) {
        const uint16_t row = set.rows[k];
        rows[left] = row;
        left += mask[is_by_row ? row : k];
    }
    return (RowSet){.rows = rows, .count = left};
}

/* *mask = *mask AND the condition; *mask is NULL at first. */
static Status conjoin(const uint8_t **mask, const Vector *condition, size_t count, Arena *arena,
                      Error *err)
{
    const uint8_t *bytes = weir_mask_true(condition, count, arena, err);
    if (bytes == NULL) {
        return err->code;
    }
    if (*mask == NULL) {
        *mask = bytes;
        return WEIR_OK;
    }
    uint8_t *both = weir_arena_alloc(arena, count, err);
    if (both == NULL) {
        return err->code;
    }
    const uint8_t *left = *mask;
    for (size_t i = 0; i < count; i++) {
        both[i] = left[i] & bytes[i];
    }
    *mask = both;
    return WEIR_OK;
}

/* The conditions computed for all rows, at once. */
static Status select_eager(Evaluator *ev, size_t count, Arena *arena, uint16_t *rows, RowSet *set,
                           Error *err)
{
    const uint8_t *mask = NULL;
    for (size_t i = 0; i < ev->expr_count; i++) {
        if (ev->conditions.outputs[i].block == NULL) {
            WEIR_TRY(conjoin(&mask, &ev->conditions.top->values[ev->conditions.outputs[i].slot],
                             count, arena, err));
        }
    }
    if (mask != NULL) {
        *set = narrow(mask, true, *set, rows);
    }
    return WEIR_OK;
}

Status weir_evaluator_select(Evaluator *ev, const Batch *in, Arena *arena, uint16_t *selection,
                             size_t *count, Error *err)
{
    WEIR_ASSERT(ev->conditions.top != NULL);
    WEIR_ASSERT(selection != NULL);
    *count = 0;
    if (in->count == 0) {
        return WEIR_OK;
    }
    WEIR_TRY(run_top(ev, ev->conditions.top, in, arena, err));
    RowSet set = {.count = in->count};
    WEIR_TRY(select_eager(ev, in->count, arena, selection, &set, err));
    for (size_t i = 0; i < ev->expr_count && set.count > 0; i++) {
        if (ev->conditions.outputs[i].block == NULL) {
            continue;
        }
        BranchValue value;
        WEIR_TRY(weir_branch_run(ev, ev->conditions.top, &ev->conditions.outputs[i], set, arena,
                                 &value, err));
        const uint8_t *mask = weir_mask_true(&value.vector, set.count, arena, err);
        if (mask == NULL) {
            return err->code;
        }
        set = narrow(mask, false, set, selection);
    }
    for (size_t k = 0; set.rows == NULL && k < set.count; k++) {
        selection[k] = (uint16_t)k;
    }
    *count = set.count;
    return WEIR_OK;
}
