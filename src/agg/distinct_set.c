/* distinct_set.c: a RowTable of (group number, normalised value) with counts as weights. */
#include "agg/distinct_set.h"

#include "base/checked.h"

Status weir_distinct_set_init(DistinctSet *set, Mem *mem, PagePool *pool, const LogicalType *arg,
                              Error *err)
{
    *set = (DistinctSet){.arg = arg};
    const PhysType key[] = {PHYS_U64, arg->phys};
    const RowLayoutSpec spec = {.key = key, .key_count = WEIR_ARRAY_COUNT(key)};
    const Status status = weir_row_table_init(&set->table, mem, pool, &spec, err);
    if (status == WEIR_OK) {
        weir_touched_init(&set->touched, mem, pool, sizeof(Row *));
    } else {
        *set = (DistinctSet){0};
    }
    return status;
}

void weir_distinct_set_deinit(DistinctSet *set)
{
    if (set->arg != NULL) {
        weir_touched_deinit(&set->touched);
        weir_row_table_deinit(&set->table);
    }
    *set = (DistinctSet){0};
}

/* rows[i] = the row of the i-th selected pair. */
static Status distinct_find(DistinctSet *set, const DistinctInput *in, Arena *arena, Row **rows,
                            Error *err)
{
    Vector values = *in->arg;
    if (in->selection != NULL) {
        WEIR_TRY(weir_vector_gather(in->arg, in->selection, in->count, arena, &values, err));
    }
    values.validity = NULL;
    Vector keys = {0};
    WEIR_TRY(weir_vector_normalise(&values, set->arg, in->count, arena, &keys, err));
    Vector groups = {0};
    WEIR_TRY(weir_vector_init(&groups, PHYS_U64, in->count, arena, err));
    memcpy(groups.data, in->groups, in->count * sizeof *in->groups);
    const Vector *const columns[] = {&groups, &keys};
    return weir_row_table_upsert(&set->table, columns, in->count, rows, NULL, err);
}

/* Adds to the count of a pair; *change = 1 if the value enters, -1 if it leaves, else 0. */
static Status distinct_count(DistinctSet *set, Row *row, int64_t weight, int64_t *change,
                             Error *err)
{
    if (weir_row_link(row) == 0) {
        Row **entry = weir_touched_add(&set->touched, err);
        if (entry == NULL) {
            return err->code;
        }
        *entry = row;
        weir_row_set_link(row, 1);
    }
    const int64_t before = weir_row_weight(row);
    int64_t after = 0;
    if (weir_add_i64(before, weight, &after)) {
        return weir_error_set(err, WEIR_ERR_WEIGHT, "a value stands too often in a group");
    }
    weir_row_set_weight(row, after);
    *change = (int64_t)(after > 0) - (int64_t)(before > 0);
    return WEIR_OK;
}

Status weir_distinct_set_apply(DistinctSet *set, const DistinctInput *in, Arena *arena,
                               DistinctOutput *out, Error *err)
{
    WEIR_ASSERT(in->count <= BATCH_CAPACITY);
    Row *rows[BATCH_CAPACITY];
    WEIR_TRY(distinct_find(set, in, arena, rows, err));
    out->count = 0;
    for (size_t i = 0; i < in->count; i++) {
        const uint16_t place = in->selection == NULL ? (uint16_t)i : in->selection[i];
        int64_t change = 0;
        WEIR_TRY(distinct_count(set, rows[i], in->weights[place], &change, err));
        out->selection[out->count] = place;
        out->weights[place] = change;
        out->count += change != 0;
    }
    return WEIR_OK;
}

Status weir_distinct_set_check(const DistinctSet *set, Error *err)
{
    size_t available = 0;
    for (size_t i = 0; i < set->touched.count; i += available) {
        Row *const *rows = weir_touched_run(&set->touched, i, &available);
        for (size_t k = 0; k < available; k++) {
            if (weir_row_weight(rows[k]) < 0) {
                return weir_error_set(err, WEIR_ERR_NEGATIVE,
                                      "a value was removed from a group more often than added");
            }
        }
    }
    return WEIR_OK;
}

void weir_distinct_set_end_step(DistinctSet *set)
{
    size_t available = 0;
    for (size_t i = 0; i < set->touched.count; i += available) {
        Row *const *rows = weir_touched_run(&set->touched, i, &available);
        for (size_t k = 0; k < available; k++) {
            weir_row_set_link(rows[k], 0);
            if (weir_row_weight(rows[k]) == 0) {
                weir_row_table_remove(&set->table, rows[k]);
            }
        }
    }
    weir_touched_clear(&set->touched);
    weir_row_table_end_step(&set->table);
}

size_t weir_distinct_set_bytes(const DistinctSet *set)
{
    return weir_row_table_bytes(&set->table) + weir_touched_bytes(&set->touched);
}
