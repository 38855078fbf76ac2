/* baseline.c: groups of rows by column. */
#include "duckdb/baseline.h"

Status weir_baseline_init(Baseline *baseline, Mem *mem, PagePool *pool, const Schema *schema,
                          uint32_t group_rows, Error *err)
{
    WEIR_ASSERT(group_rows > 0 && group_rows <= BASELINE_GROUP_ROWS);
    Status status = WEIR_OK;
    *baseline = (Baseline){.mem = mem, .group_rows = group_rows};
    weir_arena_init(&baseline->arena, mem, 4096);
    WEIR_CHECK(weir_schema_copy(&baseline->arena, schema, &baseline->schema, err));
    WEIR_CHECK(weir_row_store_init(&baseline->store, mem, pool, err));
    baseline->has_store = true;
done:
    if (status != WEIR_OK) {
        weir_baseline_deinit(baseline);
    }
    return status;
}

/* What a group holds outside of the store. */
static void group_deinit(const Baseline *baseline, const BaselineGroup *group)
{
    weir_mem_free(baseline->mem, group->block.pieces);
    weir_mem_free(baseline->mem, group->places);
}

void weir_baseline_deinit(Baseline *baseline)
{
    if (baseline->mem == NULL) {
        return;
    }
    for (size_t i = 0; i < baseline->group_count; i++) {
        group_deinit(baseline, &baseline->groups[i]);
    }
    weir_mem_free(baseline->mem, baseline->groups);
    if (baseline->has_overlay) {
        weir_row_table_deinit(&baseline->overlay);
    }
    if (baseline->has_store) {
        weir_row_store_deinit(&baseline->store);
    }
    weir_arena_deinit(&baseline->arena);
    *baseline = (Baseline){0};
}

/* --- groups ----------------------------------------------------------------------------------- */

/* The place of the first group with at least this id. */
static size_t lower_bound(const Baseline *baseline, uint64_t id)
{
    size_t low = 0;
    size_t high = baseline->group_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (baseline->groups[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const BaselineGroup *weir_baseline_find(const Baseline *baseline, uint64_t id)
{
    const size_t place = lower_bound(baseline, id);
    const bool is_found = place < baseline->group_count && baseline->groups[place].id == id;
    return is_found ? &baseline->groups[place] : NULL;
}

static size_t group_bytes(const Baseline *baseline, const BaselineGroup *group)
{
    const size_t place_bytes = group->places == NULL ? 0 : BASELINE_PLACE_WORDS * sizeof(uint64_t);
    return place_bytes + weir_column_block_bytes(baseline->schema.count);
}

void weir_baseline_read(const Baseline *baseline, const BaselineGroup *group, ColumnReader *reader,
                        PlacedRows *out)
{
    out->batch = weir_column_block_read(reader, &baseline->store, &group->block);
    size_t count = 0;
    if (group->places == NULL) {
        for (; count < group->sum.row_count; count++) {
            out->places[count] = (uint16_t)count;
        }
        return;
    }
    for (size_t word = 0; word < BASELINE_PLACE_WORDS; word++) {
        for (uint64_t bits = group->places[word]; bits != 0; bits &= bits - 1) {
            out->places[count] = (uint16_t)(word * 64 + (size_t)__builtin_ctzll(bits));
            count++;
        }
    }
    WEIR_ASSERT(count == group->sum.row_count);
}

static Status reserve_group(Baseline *baseline, Error *err)
{
    if (baseline->group_count < baseline->group_capacity) {
        return WEIR_OK;
    }
    const size_t capacity = WEIR_MAX(2 * baseline->group_capacity, (size_t)8);
    BaselineGroup *groups =
        weir_mem_realloc(baseline->mem, baseline->groups, capacity * sizeof *groups, err);
    if (groups == NULL) {
        return err->code;
    }
    baseline->groups = groups;
    baseline->group_capacity = capacity;
    return WEIR_OK;
}

static Status make_group(Baseline *baseline, BaselineGroup *group, const PlacedRows *rows,
                         Error *err)
{
    const size_t count = rows->batch->count;
    WEIR_ASSERT(count == group->sum.row_count && count <= baseline->group_rows);
    if (rows->places[count - 1] != count - 1) {
        group->places =
            weir_mem_calloc(baseline->mem, BASELINE_PLACE_WORDS, sizeof *group->places, err);
        if (group->places == NULL) {
            return err->code;
        }
        for (size_t i = 0; i < count; i++) {
            group->places[rows->places[i] / 64] |= UINT64_C(1) << (rows->places[i] % 64);
        }
    }
    const Status status = weir_column_block_pack(&baseline->store, rows->batch, &group->block, err);
    if (status != WEIR_OK) {
        weir_mem_free(baseline->mem, group->places);
    }
    return status;
}

static void remove_group(Baseline *baseline, size_t place)
{
    BaselineGroup *const group = &baseline->groups[place];
    baseline->row_count -= group->sum.row_count;
    baseline->block_bytes -= group_bytes(baseline, group);
    weir_column_block_free(&baseline->store, &group->block, baseline->schema.count);
    group_deinit(baseline, group);
    memmove(group, group + 1, (baseline->group_count - place - 1) * sizeof *group);
    baseline->group_count--;
}

Status weir_baseline_put(Baseline *baseline, uint64_t id, const PlacedRows *rows, const RowSum *sum,
                         Error *err)
{
    BaselineGroup made = {.id = id, .sum = *sum};
    if (sum->row_count > 0) {
        WEIR_TRY(reserve_group(baseline, err));
        WEIR_TRY(make_group(baseline, &made, rows, err));
    }
    const size_t place = lower_bound(baseline, id);
    if (place < baseline->group_count && baseline->groups[place].id == id) {
        remove_group(baseline, place);
    }
    if (sum->row_count > 0) {
        BaselineGroup *const group = &baseline->groups[place];
        memmove(group + 1, group, (baseline->group_count - place) * sizeof *group);
        *group = made;
        baseline->group_count++;
        baseline->row_count += made.sum.row_count;
        baseline->block_bytes += group_bytes(baseline, &made);
    }
    return WEIR_OK;
}

void weir_baseline_mark_unsummed(Baseline *baseline, uint64_t id)
{
    BaselineGroup *const group = &baseline->groups[lower_bound(baseline, id)];
    WEIR_ASSERT(group->id == id);
    group->is_unsummed = true;
}

void weir_baseline_set_sum(Baseline *baseline, uint64_t id, const RowSum *sum)
{
    BaselineGroup *const group = &baseline->groups[lower_bound(baseline, id)];
    WEIR_ASSERT(group->id == id && group->sum.row_count == sum->row_count);
    group->sum = *sum;
    group->is_unsummed = false;
}

int64_t weir_baseline_last_row_id(const Baseline *baseline)
{
    if (baseline->group_count == 0) {
        return -1;
    }
    const BaselineGroup *const last = &baseline->groups[baseline->group_count - 1];
    uint64_t span = last->sum.row_count;
    for (size_t word = BASELINE_PLACE_WORDS; last->places != NULL && word > 0; word--) {
        const uint64_t bits = last->places[word - 1];
        if (bits != 0) {
            span = word * 64 - (uint64_t)__builtin_clzll(bits);
            break;
        }
    }
    return (int64_t)(last->id * baseline->group_rows + span) - 1;
}

size_t weir_baseline_bytes(const Baseline *baseline)
{
    return baseline->group_capacity * sizeof *baseline->groups + baseline->block_bytes +
           (baseline->has_store ? weir_row_store_bytes(&baseline->store) : 0) +
           (baseline->has_overlay ? weir_row_table_bytes(&baseline->overlay) : 0);
}

/* --- reading ---------------------------------------------------------------------------------- */

Status weir_baseline_scan(const Baseline *baseline, HostVisit visit, void *user, Error *err)
{
    Arena arena;
    ColumnReader reader;
    Status status = WEIR_OK;
    weir_arena_init(&arena, baseline->mem, 0);
    WEIR_CHECK(weir_column_reader_init(&reader, &baseline->schema, &arena, err));
    for (size_t i = 0; i < baseline->group_count; i++) {
        const Batch *const batch =
            weir_column_block_read(&reader, &baseline->store, &baseline->groups[i].block);
        WEIR_CHECK(visit(user, batch, err));
    }
done:
    weir_arena_deinit(&arena);
    return status;
}
