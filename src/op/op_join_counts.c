/* op_join_counts.c: how many right rows a key has, where the rows themselves are not needed. */
#include "op/op_join_priv.h"

enum { COUNTS_BLOCK = 256 }; /* rows read from the list at a time */

Status weir_join_counts_init(JoinCounts *counts, const JoinOp *join, const PhysType *key,
                             size_t key_count, Error *err)
{
    const CircuitEnv *env = join->op.env;
    const RowLayoutSpec spec = {
        .key = key,
        .key_count = key_count,
        .state_bytes = counts->counts_nulls ? sizeof(CountState) : sizeof(int64_t),
    };
    weir_touched_init(&counts->touched, env->mem, env->pool, sizeof(Row *));
    WEIR_TRY(weir_row_table_init(&counts->table, env->mem, env->pool, &spec, err));
    counts->has_table = true;
    return WEIR_OK;
}

void weir_join_counts_deinit(JoinCounts *counts)
{
    if (counts->has_table) {
        weir_touched_deinit(&counts->touched);
        weir_row_table_deinit(&counts->table);
    }
    *counts = (JoinCounts){0};
}

static CountState load_state(const JoinCounts *counts, Row *row)
{
    CountState state = {0};
    const void *bytes = weir_row_state(&counts->table.layout, row);
    if (counts->counts_nulls) {
        memcpy(&state, bytes, sizeof state);
    } else {
        memcpy(&state.old_rows, bytes, sizeof state.old_rows);
    }
    return state;
}

static void store_state(const JoinCounts *counts, Row *row, const CountState *state)
{
    void *bytes = weir_row_state(&counts->table.layout, row);
    if (counts->counts_nulls) {
        memcpy(bytes, state, sizeof *state);
    } else {
        memcpy(bytes, &state->old_rows, sizeof state->old_rows);
    }
}

/* Lists a row that this step has not seen, with its old numbers. */
static Status touch(JoinCounts *counts, Row *row, Error *err)
{
    if (weir_row_link(row) != 0) {
        return WEIR_OK;
    }
    void *entry = weir_touched_add(&counts->touched, err);
    if (entry == NULL) {
        return err->code;
    }
    memcpy(entry, &row, sizeof(Row *));
    weir_row_set_link(row, 1);
    CountState state = load_state(counts, row);
    state.old_rows = weir_row_weight(row);
    state.old_nulls = state.nulls;
    store_state(counts, row, &state);
    return WEIR_OK;
}

static Status add_null(JoinCounts *counts, Row *row, int64_t weight, Error *err)
{
    CountState state = load_state(counts, row);
    WEIR_TRY(weir_join_add(state.nulls, weight, &state.nulls, err));
    store_state(counts, row, &state);
    return WEIR_OK;
}

Status weir_join_counts_add(JoinCounts *counts, const JoinBatch *batch, const bool *nulls,
                            Arena *arena, Error *err)
{
    WEIR_ASSERT(nulls == NULL || counts->counts_nulls);
    if (batch->count == 0) {
        return WEIR_OK;
    }
    Row **rows = weir_arena_alloc(arena, batch->count * sizeof(Row *), err);
    if (rows == NULL) {
        return err->code;
    }
    WEIR_TRY(weir_row_table_upsert(&counts->table, batch->columns, batch->count, rows, NULL, err));
    for (size_t i = 0; i < batch->count; i++) {
        int64_t weight = 0;
        WEIR_TRY(touch(counts, rows[i], err));
        WEIR_TRY(weir_join_add(weir_row_weight(rows[i]), batch->weights[i], &weight, err));
        weir_row_set_weight(rows[i], weight);
        if (nulls != NULL && nulls[i]) {
            WEIR_TRY(add_null(counts, rows[i], batch->weights[i], err));
        }
    }
    return WEIR_OK;
}

CountPair weir_join_counts_read(const JoinCounts *counts, Row *row)
{
    if (row == NULL) {
        return (CountPair){0};
    }
    const CountState state = load_state(counts, row);
    const bool is_touched = weir_row_link(row) != 0;
    return (CountPair){
        .old_rows = is_touched ? state.old_rows : weir_row_weight(row),
        .rows = weir_row_weight(row),
        .old_nulls = is_touched ? state.old_nulls : state.nulls,
        .nulls = state.nulls,
    };
}

size_t weir_join_counts_touched(const JoinCounts *counts, size_t *index, Row **rows,
                                size_t capacity)
{
    size_t available = 0;
    const void *run = weir_touched_run(&counts->touched, *index, &available);
    const size_t count = WEIR_MIN(available, capacity);
    if (count > 0) {
        memcpy(rows, run, count * sizeof(Row *));
    }
    *index += count;
    return count;
}

bool weir_join_counts_verify(const JoinCounts *counts)
{
    bool is_negative = false;
    Row *rows[COUNTS_BLOCK];
    size_t index = 0;
    size_t count = 0;
    do {
        count = weir_join_counts_touched(counts, &index, rows, WEIR_ARRAY_COUNT(rows));
        for (size_t i = 0; i < count; i++) {
            const CountPair pair = weir_join_counts_read(counts, rows[i]);
            is_negative = is_negative || pair.rows < 0 || pair.nulls < 0;
        }
    } while (count > 0);
    return !is_negative;
}

void weir_join_counts_end_step(JoinCounts *counts)
{
    Row *rows[COUNTS_BLOCK];
    size_t index = 0;
    size_t count = 0;
    do {
        count = weir_join_counts_touched(counts, &index, rows, WEIR_ARRAY_COUNT(rows));
        for (size_t i = 0; i < count; i++) {
            weir_row_set_link(rows[i], 0);
            if (weir_row_weight(rows[i]) == 0) {
                weir_row_table_remove(&counts->table, rows[i]);
            }
        }
    } while (count > 0);
    weir_touched_clear(&counts->touched);
    weir_row_table_end_step(&counts->table);
}

size_t weir_join_counts_bytes(const JoinCounts *counts)
{
    return weir_row_table_bytes(&counts->table) + weir_touched_bytes(&counts->touched);
}
