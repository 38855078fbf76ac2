/* op_join_pending.c: deltas that wait for the end of the step, as copies by column.
 *
 * A pushed batch is only borrowed; the copy owns its strings. Copying by column costs a few percent
 * of what the arrangement will do with the rows. */
#include "op/op_join_priv.h"

enum { PENDING_KEPT_ROWS = 64 * 1024 }; /* memory of larger steps is given back at their end */

void weir_join_pending_init(JoinPending *pending, Mem *mem)
{
    *pending = (JoinPending){0};
    weir_arena_init(&pending->arena, mem, 0);
}

void weir_join_pending_deinit(JoinPending *pending)
{
    weir_arena_deinit(&pending->arena);
    *pending = (JoinPending){0};
}

void weir_join_pending_clear(JoinPending *pending)
{
    Mem *mem = pending->arena.mem;
    if (pending->row_count > PENDING_KEPT_ROWS) {
        weir_arena_deinit(&pending->arena);
        weir_arena_init(&pending->arena, mem, 0);
    }
    weir_arena_reset(&pending->arena);
    pending->first = NULL;
    pending->last = NULL;
    pending->row_count = 0;
}

static Status copy_column(const Vector *from, size_t count, Arena *arena, Vector *out, Error *err)
{
    if (from->is_constant) {
        WEIR_TRY(weir_vector_flatten(from, count, arena, out, err));
        return weir_vector_own_strings(out, count, arena, err);
    }
    Vector copy = {0};
    WEIR_TRY(weir_vector_init(&copy, from->phys, count, arena, err));
    memcpy(copy.data, from->data, count * weir_phys_width(from->phys));
    if (from->validity != NULL) {
        const size_t size = (count + 63) / 64 * sizeof(uint64_t);
        copy.validity = weir_arena_alloc(arena, size, err);
        if (copy.validity == NULL) {
            return err->code;
        }
        memcpy(copy.validity, from->validity, size);
    }
    WEIR_TRY(weir_vector_own_strings(&copy, count, arena, err));
    *out = copy;
    return WEIR_OK;
}

Status weir_join_pending_add(JoinPending *pending, const JoinSide *side, const JoinBatch *batch,
                             Error *err)
{
    if (batch->count == 0) {
        return WEIR_OK;
    }
    Arena *arena = &pending->arena;
    PendingBatch *added = weir_arena_zalloc(arena, sizeof *added, err);
    Vector *vectors = weir_arena_calloc(arena, side->column_count, sizeof *vectors, err);
    const Vector **columns =
        weir_arena_calloc(arena, side->column_count, sizeof(const Vector *), err);
    int64_t *weights = weir_arena_alloc(arena, batch->count * sizeof *weights, err);
    if (added == NULL || vectors == NULL || columns == NULL || weights == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < side->column_count; c++) {
        WEIR_TRY(copy_column(batch->columns[c], batch->count, arena, &vectors[c], err));
        columns[c] = &vectors[c];
    }
    memcpy(weights, batch->weights, batch->count * sizeof *weights);
    added->batch = (JoinBatch){.count = batch->count, .columns = columns, .weights = weights};
    if (pending->last == NULL) {
        pending->first = added;
    } else {
        pending->last->next = added;
    }
    pending->last = added;
    pending->row_count += batch->count;
    return WEIR_OK;
}
