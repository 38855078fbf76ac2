/* batch.c: making and gathering batches. */
#include "types/batch.h"

Status weir_schema_copy(Arena *arena, const Schema *from, Schema *out, Error *err)
{
    const size_t count = from->count;
    const bool has_names = from->names != NULL;
    const LogicalType **types = weir_arena_calloc(arena, count, sizeof(const LogicalType *), err);
    const char **names = types == NULL ? NULL : weir_arena_calloc(arena, count, sizeof *names, err);
    if (names == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < count; c++) {
        types[c] = weir_type_copy(arena, from->types[c], err);
        if (types[c] == NULL) {
            return err->code;
        }
        names[c] = has_names ? weir_arena_strdup(arena, from->names[c], err) : NULL;
        if (has_names && names[c] == NULL) {
            return err->code;
        }
    }
    *out = (Schema){.count = count, .types = types, .names = has_names ? names : NULL};
    return WEIR_OK;
}

Status weir_batch_new(Arena *arena, const Schema *schema, Batch **out, Error *err)
{
    Batch *batch = weir_arena_zalloc(arena, sizeof *batch, err);
    if (batch == NULL) {
        return WEIR_ERR_NOMEM;
    }
    batch->columns = weir_arena_calloc(arena, schema->count, sizeof *batch->columns, err);
    if (batch->columns == NULL) {
        return WEIR_ERR_NOMEM;
    }
    for (size_t c = 0; c < schema->count; c++) {
        WEIR_TRY(weir_vector_init(&batch->columns[c], schema->types[c]->phys, BATCH_CAPACITY, arena,
                                  err));
    }
    int64_t *weights = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *weights, err);
    if (weights == NULL) {
        return WEIR_ERR_NOMEM;
    }
    for (size_t i = 0; i < BATCH_CAPACITY; i++) {
        weights[i] = 1;
    }
    batch->weights = weights;
    batch->column_count = schema->count;
    *out = batch;
    return WEIR_OK;
}

Status weir_batch_gather(const Batch *in, const uint16_t *selection, size_t count, Arena *arena,
                         Batch *out, Error *err)
{
    WEIR_ASSERT(count <= BATCH_CAPACITY);
    Vector *columns = weir_arena_calloc(arena, in->column_count, sizeof *columns, err);
    if (columns == NULL) {
        return WEIR_ERR_NOMEM;
    }
    for (size_t c = 0; c < in->column_count; c++) {
        Vector gathered = {0};
        WEIR_TRY(weir_vector_gather(&in->columns[c], selection, count, arena, &gathered, err));
        WEIR_TRY(weir_vector_flatten(&gathered, count, arena, &columns[c], err));
    }
    int64_t *weights = NULL;
    if (in->weights != NULL) {
        weights = weir_arena_alloc(arena, count * sizeof *weights, err);
        if (weights == NULL) {
            return WEIR_ERR_NOMEM;
        }
        for (size_t i = 0; i < count; i++) {
            weights[i] = in->weights[selection[i]];
        }
    }
    *out = (Batch){
        .count = count,
        .column_count = in->column_count,
        .columns = columns,
        .weights = weights,
    };
    return WEIR_OK;
}
