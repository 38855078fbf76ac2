/* group_table.c: finding, touching and showing group rows. */
#include "op/group_table.h"

#include "base/checked.h"
#include "op/op_priv.h"

enum { GROUP_PREFETCH_ROWS = 16 };

static const LogicalType *group_type(const GroupTable *groups, size_t column)
{
    return groups->spec.input->types[groups->spec.group_columns[column]];
}

/* --- making ---------------------------------------------------------------------------------- */

/* types = those of the key, then of the payload; sets display. Returns the payload's count. */
static size_t group_columns_place(GroupTable *groups, PhysType *types)
{
    const size_t group_count = groups->spec.group_count;
    size_t payload_count = 0;
    for (size_t i = 0; i < group_count; i++) {
        const LogicalType *type = group_type(groups, i);
        types[i] = type->phys;
        groups->display[i] = i;
        if (weir_type_is_lossy(type)) {
            types[group_count + payload_count] = type->phys;
            groups->display[i] = group_count + payload_count;
            payload_count++;
        }
    }
    return payload_count;
}

static Status group_table_open(GroupTable *groups, PagePool *pool, PhysType *types, Error *err)
{
    const GroupTableSpec *spec = &groups->spec;
    const size_t payload_count = group_columns_place(groups, types);
    const RowLayoutSpec layout = {
        .key = types,
        .key_count = spec->group_count,
        .payload = types + spec->group_count,
        .payload_count = payload_count,
        .state_bytes = spec->state_bytes,
    };
    WEIR_TRY(weir_row_table_init(&groups->table, groups->mem, pool, &layout, err));
    if (spec->group_count == 0) {
        groups->lone = weir_mem_zalloc(groups->mem, groups->table.layout.fixed_bytes, err);
        if (groups->lone == NULL) {
            return err->code;
        }
    }
    return WEIR_OK;
}

Status weir_group_table_init(GroupTable *groups, const CircuitEnv *env, const GroupTableSpec *spec,
                             Error *err)
{
    WEIR_ASSERT(spec->shown_bytes % 8 == 0 && spec->shown_bytes <= spec->state_bytes);
    *groups = (GroupTable){.spec = *spec, .mem = env->mem};
    const size_t entry_bytes = sizeof(GroupEntry) + spec->shown_bytes;
    weir_touched_init(&groups->touched, env->mem, env->pool, entry_bytes);
    groups->display = weir_mem_calloc(env->mem, spec->group_count, sizeof(size_t), err);
    PhysType *types = weir_mem_calloc(env->mem, 2 * spec->group_count, sizeof *types, err);
    Status status = groups->display == NULL || types == NULL ? WEIR_ERR_NOMEM : WEIR_OK;
    if (status == WEIR_OK) {
        status = group_table_open(groups, env->pool, types, err);
    }
    weir_mem_free(env->mem, types);
    if (status != WEIR_OK) {
        weir_group_table_deinit(groups);
    }
    return status;
}

void weir_group_table_deinit(GroupTable *groups)
{
    if (groups->mem != NULL) {
        weir_touched_deinit(&groups->touched);
        weir_row_table_deinit(&groups->table);
        weir_mem_free(groups->mem, groups->lone);
        weir_mem_free(groups->mem, groups->display);
    }
    *groups = (GroupTable){0};
}

/* --- a batch --------------------------------------------------------------------------------- */

/* The batch's group columns, normalised, then the originals of the lossy ones. */
static Status group_key_columns(const GroupTable *groups, const Batch *batch, Arena *arena,
                                const Vector *const **out, Error *err)
{
    const size_t group_count = groups->spec.group_count;
    const size_t column_count = groups->table.layout.column_count;
    Vector *columns = weir_arena_calloc(arena, column_count, sizeof *columns, err);
    const Vector **pointers =
        columns == NULL ? NULL
                        : weir_arena_calloc(arena, column_count, sizeof(const Vector *), err);
    if (pointers == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < group_count; i++) {
        const Vector *original = &batch->columns[groups->spec.group_columns[i]];
        WEIR_TRY(weir_vector_normalise(original, group_type(groups, i), batch->count, arena,
                                       &columns[i], err));
        columns[groups->display[i]] = groups->display[i] == i ? columns[i] : *original;
    }
    for (size_t i = 0; i < column_count; i++) {
        pointers[i] = &columns[i];
    }
    *out = pointers;
    return WEIR_OK;
}

/* Lists a row that is not listed yet. */
static Status group_touch(GroupTable *groups, Row *row, Error *err)
{
    GroupEntry *entry = weir_touched_add(&groups->touched, err);
    if (entry == NULL) {
        return err->code;
    }
    entry->row = row;
    entry->weight = weir_row_weight(row);
    const char *state = weir_row_state(&groups->table.layout, row);
    memcpy(entry->shown, state, groups->spec.shown_bytes);
    weir_row_set_link(row, 1);
    return WEIR_OK;
}

static Status group_weight_error(Error *err)
{
    return weir_error_set(err, WEIR_ERR_WEIGHT, "too many rows in a group");
}

/* All rows of the batch belong to the one group. */
static Status group_apply_lone(GroupTable *groups, const Batch *batch, Row **rows, Error *err)
{
    WEIR_TRY(weir_group_table_touch_lone(groups, err));
    int64_t weight = weir_row_weight(groups->lone);
    for (size_t i = 0; i < batch->count; i++) {
        rows[i] = groups->lone;
        if (weir_add_i64(weight, weir_batch_weight(batch, i), &weight)) {
            return group_weight_error(err);
        }
    }
    weir_row_set_weight(groups->lone, weight);
    return WEIR_OK;
}

Status weir_group_table_apply(GroupTable *groups, const Batch *batch, Arena *arena, Row **rows,
                              Error *err)
{
    if (groups->lone != NULL) {
        return group_apply_lone(groups, batch, rows, err);
    }
    const Vector *const *columns = NULL;
    WEIR_TRY(group_key_columns(groups, batch, arena, &columns, err));
    WEIR_TRY(weir_row_table_upsert(&groups->table, columns, batch->count, rows, NULL, err));
    const int64_t *weights = weir_op_weights(batch);
    bool is_over = false;
    for (size_t i = 0; i < batch->count; i++) {
        Row *row = rows[i];
        if (weir_row_link(row) == 0) {
            WEIR_TRY(group_touch(groups, row, err));
        }
        int64_t weight = 0;
        is_over |= weir_add_i64(weir_row_weight(row), weights[i], &weight);
        weir_row_set_weight(row, weight);
    }
    return is_over ? group_weight_error(err) : WEIR_OK;
}

Status weir_group_table_touch_lone(GroupTable *groups, Error *err)
{
    WEIR_ASSERT(groups->lone != NULL);
    return weir_row_link(groups->lone) == 0 ? group_touch(groups, groups->lone, err) : WEIR_OK;
}

/* --- the end of a step ----------------------------------------------------------------------- */

void weir_group_table_unpack(const GroupTable *groups, Row *const *rows, size_t count,
                             size_t column, Vector *out, uint64_t *validity)
{
    weir_row_unpack(&groups->table.layout, rows, count, groups->display[column], out, validity);
}

void weir_group_table_release(GroupTable *groups, Row *row)
{
    weir_row_set_link(row, 0);
    if (weir_row_weight(row) == 0 && row != groups->lone) {
        weir_row_table_remove(&groups->table, row);
    }
}

void weir_group_table_end_step(GroupTable *groups)
{
    weir_touched_clear(&groups->touched);
    weir_row_table_end_step(&groups->table);
}

size_t weir_group_table_row_count(const GroupTable *groups)
{
    return groups->table.row_count + (groups->lone != NULL);
}

size_t weir_group_table_bytes(const GroupTable *groups)
{
    return weir_row_table_bytes(&groups->table) + weir_touched_bytes(&groups->touched);
}
