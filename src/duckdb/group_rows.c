/* group_rows.c: see group_rows.h. */
#include "duckdb/group_rows.h"

Status weir_group_rows_init(GroupRows *group, const Schema *schema, Arena *arena, Error *err)
{
    *group = (GroupRows){0};
    weir_arena_init(&group->strings, arena->mem, 0);
    WEIR_TRY(weir_batch_new(arena, schema, &group->batch, err));
    group->batch->weights = NULL;
    group->rows.batch = group->batch;
    group->validity = weir_arena_calloc(arena, schema->count, sizeof(uint64_t *), err);
    if (group->validity == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < schema->count; c++) {
        group->validity[c] = weir_arena_calloc(arena, VECTOR_VALIDITY_WORDS, sizeof(uint64_t), err);
        if (group->validity[c] == NULL) {
            return err->code;
        }
    }
    return WEIR_OK;
}

void weir_group_rows_deinit(GroupRows *group)
{
    if (group->strings.mem != NULL) {
        weir_arena_deinit(&group->strings);
    }
    *group = (GroupRows){0};
}

void weir_group_rows_clear(GroupRows *group)
{
    weir_arena_reset(&group->strings);
    group->batch->count = 0;
    for (size_t c = 0; c < group->batch->column_count; c++) {
        group->batch->columns[c].validity = NULL;
    }
}

/* The NULLs among the rows, which go to rows [at, at + count). */
static void add_nulls(Vector *column, uint64_t *validity, const Vector *from, size_t first,
                      size_t at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (weir_validity_get(from->validity, first + i)) {
            continue;
        }
        if (column->validity == NULL) {
            memset(validity, 0xFF, VECTOR_VALIDITY_WORDS * sizeof *validity);
            column->validity = validity;
        }
        weir_validity_set_null(validity, at + i);
    }
}

/* The rows [at, at + count) are copies of slots: their bytes must be ours. */
static Status own_strings(Vector *column, size_t at, size_t count, Arena *arena, Error *err)
{
    String *const strings = column->data;
    for (size_t i = at; i < at + count; i++) {
        if (!weir_validity_get(column->validity, i)) {
            strings[i] = (String){.words = {0, 0}};
        } else if (!weir_string_is_inline(&strings[i])) {
            char *bytes = weir_arena_alloc(arena, weir_string_size(&strings[i]), err);
            if (bytes == NULL) {
                return err->code;
            }
            memcpy(bytes, strings[i].remote.pointer, weir_string_size(&strings[i]));
            strings[i].remote.pointer = bytes;
        }
    }
    return WEIR_OK;
}

Status weir_group_rows_add(GroupRows *group, const Batch *batch, size_t first, size_t count,
                           const uint16_t *places, Error *err)
{
    const size_t at = group->batch->count;
    WEIR_ASSERT(at + count <= BASELINE_GROUP_ROWS);
    WEIR_ASSERT(at == 0 || group->rows.places[at - 1] < places[0]);
    memcpy(group->rows.places + at, places, count * sizeof *places);
    for (size_t c = 0; c < batch->column_count; c++) {
        Vector *const column = &group->batch->columns[c];
        const Vector *const from = &batch->columns[c];
        const size_t width = weir_phys_width(column->phys);
        memcpy((char *)column->data + at * width, (const char *)from->data + first * width,
               count * width);
        if (from->validity != NULL) {
            add_nulls(column, group->validity[c], from, first, at, count);
        }
        if (column->phys == PHYS_STRING) {
            WEIR_TRY(own_strings(column, at, count, &group->strings, err));
        }
    }
    group->batch->count = at + count;
    return WEIR_OK;
}
