/* group_diff.c: a merge by places, then the pairs are compared column by column. */
#include "duckdb/group_diff.h"

/* Rows at the same place. */
typedef struct RowPairs {
    size_t count;
    uint16_t before[BASELINE_GROUP_ROWS];
    uint16_t after[BASELINE_GROUP_ROWS];
    uint8_t is_different[BASELINE_GROUP_ROWS];
} RowPairs;

typedef struct Bytes16 {
    uint64_t words[2];
} Bytes16;

#define COMPARE(ctype, condition)                             \
    do {                                                      \
        const ctype *const before = old_column->data;         \
        const ctype *const after = new_column->data;          \
        for (size_t i = 0; i < pairs->count; i++) {           \
            const ctype *const a = &before[pairs->before[i]]; \
            const ctype *const b = &after[pairs->after[i]];   \
            pairs->is_different[i] |= (uint8_t)(condition);   \
        }                                                     \
    } while (0)

static void compare_values(RowPairs *pairs, const Vector *old_column, const Vector *new_column)
{
    switch (weir_phys_width(old_column->phys)) {
    case 1: COMPARE(uint8_t, *a != *b); break;
    case 2: COMPARE(uint16_t, *a != *b); break;
    case 4: COMPARE(uint32_t, *a != *b); break;
    case 8: COMPARE(uint64_t, *a != *b); break;
    default:
        if (old_column->phys == PHYS_STRING) {
            COMPARE(String, !weir_string_equal(a, b));
        } else {
            COMPARE(Bytes16, a->words[0] != b->words[0] || a->words[1] != b->words[1]);
        }
        break;
    }
}
#undef COMPARE

/* With NULLs on a side: what stands under them is not looked at. */
static void compare_with_nulls(RowPairs *pairs, const Vector *old_column, const Vector *new_column)
{
    RowPairs valid;
    uint16_t members[BASELINE_GROUP_ROWS] = {0}; /* the valid ones among the pairs */
    valid.count = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        const bool was_null = weir_vector_is_null(old_column, pairs->before[i]);
        const bool is_null = weir_vector_is_null(new_column, pairs->after[i]);
        pairs->is_different[i] |= was_null != is_null;
        valid.before[valid.count] = pairs->before[i];
        valid.after[valid.count] = pairs->after[i];
        valid.is_different[valid.count] = 0;
        members[valid.count] = (uint16_t)i;
        valid.count += !was_null && !is_null;
    }
    const size_t count = valid.count;
    compare_values(&valid, old_column, new_column);
    for (size_t i = 0; i < count; i++) {
        pairs->is_different[members[i]] |= valid.is_different[i];
    }
}

static void compare_pairs(RowPairs *pairs, const Batch *old_batch, const Batch *new_batch)
{
    memset(pairs->is_different, 0, pairs->count);
    for (size_t c = 0; c < old_batch->column_count; c++) {
        const Vector *const old_column = &old_batch->columns[c];
        const Vector *const new_column = &new_batch->columns[c];
        if (old_column->validity != NULL || new_column->validity != NULL) {
            compare_with_nulls(pairs, old_column, new_column);
        } else {
            compare_values(pairs, old_column, new_column);
        }
    }
}

void weir_group_diff(const PlacedRows *old_rows, const PlacedRows *new_rows, GroupDiff *out)
{
    RowPairs pairs;
    pairs.count = 0;
    out->removed_count = 0;
    out->added_count = 0;
    const size_t old_count = old_rows->batch->count;
    const size_t new_count = new_rows->batch->count;
    size_t a = 0;
    size_t b = 0;
    while (a < old_count || b < new_count) {
        const uint32_t place_a = a < old_count ? old_rows->places[a] : UINT32_MAX;
        const uint32_t place_b = b < new_count ? new_rows->places[b] : UINT32_MAX;
        if (place_a == place_b) {
            pairs.before[pairs.count] = (uint16_t)a++;
            pairs.after[pairs.count] = (uint16_t)b++;
            pairs.count++;
        } else if (place_a < place_b) {
            out->removed[out->removed_count++] = (uint16_t)a++;
        } else {
            out->added[out->added_count++] = (uint16_t)b++;
        }
    }
    compare_pairs(&pairs, old_rows->batch, new_rows->batch);
    for (size_t i = 0; i < pairs.count; i++) {
        if (pairs.is_different[i] != 0) {
            out->removed[out->removed_count++] = pairs.before[i];
            out->added[out->added_count++] = pairs.after[i];
        }
    }
}
