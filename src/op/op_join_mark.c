/* op_join_mark.c: MARK joins on keys alone.
 *
 * SQL: a.x IN (SELECT b.y ...), with three values. Null-safe keys are the correlation: they divide b
 * into groups. The other keys are the conditions. The mark of a left row is
 *
 *   FALSE  if its group has no rows
 *   TRUE   if a row of b has its key, without a NULL in a condition
 *   NULL   if the left row, or any right row of the group, has a NULL in a condition
 *   FALSE  otherwise
 *
 * A group is EMPTY, PLAIN or, with a row that has a NULL, UNSURE. Without conditions (EXISTS) the
 * key is the group, and the mark says whether it has rows.
 *
 * Delta rule: with m(l) the mark of left row l,
 *
 *   out = (a, m(a));   delta = (a old, m new) - (a old, m old)  +  (da, m new)
 *
 * The first part is made of left rows whose key gained its first or lost its last right row, and of
 * left rows of groups whose class changed. The left delta waits for the flush.
 * State: an arrangement of the left rows by key; right rows counted by key and by group; if there
 * are both kinds of keys, the left keys by group.
 * Cost of a step: O(delta + left rows that change); a group whose class changes is read whole. */
#include "op/op_join_priv.h"

typedef enum GroupClass { GROUP_EMPTY, GROUP_PLAIN, GROUP_UNSURE } GroupClass;

/* Marks of rows before and after the step; arrays of Mark. */
typedef struct Marks {
    uint8_t *old;
    uint8_t *now;
} Marks;

typedef struct MarkJoin {
    JoinOp join;
    JoinTrace left;      /* all left rows by key */
    JoinTrace keys;      /* distinct left keys by group: key = group columns, payload = the
                             conditions, weight = number of rows; only with both kinds of keys */
    JoinPending pending; /* the left delta */
    JoinCounts right;    /* rows by key; none with a NULL in a condition */
    JoinCounts groups;   /* rows by group; only if there are conditions */
    size_t group_count;  /* null-safe keys */
    size_t *key_columns; /* group columns, then conditions: columns of the key */
} MarkJoin;

static bool has_conditions(const MarkJoin *self)
{
    return self->group_count < self->join.sides[0].key_count;
}

/* --- marks ------------------------------------------------------------------------------------ */

static GroupClass class_of(int64_t rows, int64_t nulls)
{
    if (rows == 0) {
        return GROUP_EMPTY;
    }
    return nulls != 0 ? GROUP_UNSURE : GROUP_PLAIN;
}

static Mark mark_of(GroupClass group, bool is_matched, bool has_null)
{
    if (group == GROUP_EMPTY) {
        return MARK_FALSE;
    }
    if (is_matched) {
        return MARK_TRUE;
    }
    return has_null || group == GROUP_UNSURE ? MARK_NULL : MARK_FALSE;
}

static bool class_changed(const CountPair *group)
{
    return class_of(group->old_rows, group->old_nulls) != class_of(group->rows, group->nulls);
}

/* has_null[i]: row i has a NULL in a condition. */
static void find_nulls(const MarkJoin *self, const Vector *const *keys, size_t count,
                       bool *has_null)
{
    memset(has_null, false, count);
    for (size_t k = 0; k < self->join.sides[0].key_count; k++) {
        const uint64_t *validity = keys[k]->validity;
        if (validity == NULL || self->join.is_null_safe[k]) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            has_null[i] = has_null[i] || !weir_validity_get(validity, i);
        }
    }
}

/* The group columns of keys. */
static Status group_columns(const MarkJoin *self, const Vector *const *keys, Arena *arena,
                            const Vector ***out, Error *err)
{
    *out = weir_arena_calloc(arena, self->group_count, sizeof(const Vector *), err);
    if (*out == NULL) {
        return err->code;
    }
    for (size_t g = 0; g < self->group_count; g++) {
        (*out)[g] = keys[self->key_columns[g]];
    }
    return WEIR_OK;
}

/* groups[i] = the numbers of the group of key i. */
static Status find_groups(MarkJoin *self, const Vector *const *keys, size_t count, Arena *arena,
                          CountPair *groups, Error *err)
{
    const Vector **columns = NULL;
    Row **rows = weir_arena_alloc(arena, count * sizeof(Row *), err);
    if (rows == NULL) {
        return err->code;
    }
    WEIR_TRY(group_columns(self, keys, arena, &columns, err));
    weir_row_table_find(&self->groups.table, columns, count, rows);
    for (size_t i = 0; i < count; i++) {
        groups[i] = weir_join_counts_read(&self->groups, rows[i]);
    }
    return WEIR_OK;
}

/* The marks of rows with the given keys. */
static Status find_marks(MarkJoin *self, const Vector *const *keys, size_t count, Arena *arena,
                         Marks *out, Error *err)
{
    Row **rows = weir_arena_alloc(arena, count * sizeof(Row *), err);
    bool *has_null = weir_arena_alloc(arena, count * sizeof *has_null, err);
    CountPair *groups = weir_arena_alloc(arena, count * sizeof *groups, err);
    out->old = weir_arena_alloc(arena, count, err);
    out->now = weir_arena_alloc(arena, count, err);
    if (rows == NULL || has_null == NULL || groups == NULL || out->old == NULL ||
        out->now == NULL) {
        return err->code;
    }
    weir_row_table_find(&self->right.table, keys, count, rows);
    find_nulls(self, keys, count, has_null);
    if (has_conditions(self)) {
        WEIR_TRY(find_groups(self, keys, count, arena, groups, err));
    }
    for (size_t i = 0; i < count; i++) {
        const CountPair key = weir_join_counts_read(&self->right, rows[i]);
        const CountPair *group = has_conditions(self) ? &groups[i] : &key;
        const GroupClass old_class = class_of(group->old_rows, group->old_nulls);
        const GroupClass new_class = class_of(group->rows, group->nulls);
        out->old[i] = (uint8_t)mark_of(old_class, key.old_rows != 0, has_null[i]);
        out->now[i] = (uint8_t)mark_of(new_class, key.rows != 0, has_null[i]);
    }
    return WEIR_OK;
}

/* --- output ----------------------------------------------------------------------------------- */

/* Emits count left rows with their marks. */
static Status emit_marked(MarkJoin *self, const JoinHalf *left, const uint8_t *marks,
                          const int64_t *weights, size_t count, Step *step, Error *err)
{
    Vector vector = {0};
    const JoinHalf halves[2] = {*left, {0}};
    WEIR_TRY(weir_join_mark_vector(marks, count, &step->scratch, &vector, err));
    return weir_join_emit(&self->join, halves, &vector, weights, count, step, err);
}

/* Left rows, and of each the place of its marks. */
typedef struct MarkedRows {
    Row **rows;
    const uint16_t *places; /* NULL = row i has the marks i */
    size_t count;
} MarkedRows;

/* Replaces the mark of those rows of which it differs. */
static Status remark_rows(MarkJoin *self, const MarkedRows *marked, const Marks *marks, Step *step,
                          Error *err)
{
    Arena *arena = &step->scratch;
    const ArenaMark start = weir_arena_mark(arena);
    Row **rows = weir_arena_alloc(arena, marked->count * sizeof(Row *), err);
    uint8_t *old = weir_arena_alloc(arena, marked->count, err);
    uint8_t *now = weir_arena_alloc(arena, marked->count, err);
    int64_t *weights = weir_arena_alloc(arena, marked->count * sizeof *weights, err);
    if (rows == NULL || old == NULL || now == NULL || weights == NULL) {
        return err->code;
    }
    size_t count = 0;
    for (size_t i = 0; i < marked->count; i++) {
        const size_t place = marked->places == NULL ? i : marked->places[i];
        rows[count] = marked->rows[i];
        old[count] = marks->old[place];
        now[count] = marks->now[place];
        WEIR_TRY(weir_join_multiply(-1, weir_row_weight(marked->rows[i]), &weights[count], err));
        count += marks->old[place] != marks->now[place] ? 1 : 0;
    }
    const JoinHalf left = {
        .rows = rows,
        .layout = weir_arrangement_layout(self->left.arrangement),
    };
    WEIR_TRY(emit_marked(self, &left, old, weights, count, step, err));
    for (size_t i = 0; i < count; i++) {
        weights[i] = weir_row_weight(rows[i]);
    }
    WEIR_TRY(emit_marked(self, &left, now, weights, count, step, err));
    weir_arena_release(arena, start);
    return WEIR_OK;
}

/* Replaces the mark of the left rows with these keys, whose marks differ. */
static Status remark_keys(MarkJoin *self, const Vector *const *keys, size_t key_count,
                          const Marks *marks, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    uint16_t *selection = weir_arena_alloc(arena, key_count * sizeof *selection, err);
    uint16_t *places = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *places, err);
    Row **rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    if (selection == NULL || places == NULL || rows == NULL) {
        return err->code;
    }
    size_t selected = 0;
    for (size_t i = 0; i < key_count; i++) {
        selection[selected] = (uint16_t)i;
        selected += marks->old[i] != marks->now[i] ? 1 : 0;
    }
    if (selected == 0) {
        return WEIR_OK;
    }
    Arrangement *left = self->left.arrangement;
    weir_arrangement_probe_start(left, &self->left.probe, keys, selection, selected);
    for (;;) {
        const size_t count =
            weir_arrangement_probe_next(left, &self->left.probe, places, rows, BATCH_CAPACITY);
        if (count == 0) {
            return WEIR_OK;
        }
        const MarkedRows marked = {.rows = rows, .places = places, .count = count};
        WEIR_TRY(remark_rows(self, &marked, marks, step, err));
    }
}

/* --- groups whose class changed ----------------------------------------------------------------- */

/* There is one group, that of all rows: looks at every left row. */
static Status revise_all(MarkJoin *self, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    Arrangement *left = self->left.arrangement;
    Row **rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    if (rows == NULL) {
        return err->code;
    }
    uint64_t cursor = 0;
    for (;;) {
        const ArenaMark start = weir_arena_mark(arena);
        const size_t count = weir_arrangement_scan(left, &cursor, rows, BATCH_CAPACITY);
        if (count == 0) {
            return WEIR_OK;
        }
        const Vector **keys = NULL;
        Marks marks = {0};
        WEIR_TRY(weir_join_unpack(weir_arrangement_layout(left), rows, count,
                                  self->join.sides[0].key_count, arena, &keys, err));
        WEIR_TRY(find_marks(self, keys, count, arena, &marks, err));
        const MarkedRows marked = {.rows = rows, .count = count};
        WEIR_TRY(remark_rows(self, &marked, &marks, step, err));
        weir_arena_release(arena, start);
    }
}

/* The left keys held by packed rows of self->keys, in the order of the key. */
static Status unpack_keys(MarkJoin *self, Row *const *rows, size_t count, Arena *arena,
                          const Vector ***out, Error *err)
{
    const size_t key_count = self->join.sides[0].key_count;
    const Vector **columns = NULL;
    *out = weir_arena_calloc(arena, key_count, sizeof(const Vector *), err);
    if (*out == NULL) {
        return err->code;
    }
    WEIR_TRY(weir_join_unpack(weir_arrangement_layout(self->keys.arrangement), rows, count,
                              key_count, arena, &columns, err));
    for (size_t k = 0; k < key_count; k++) {
        (*out)[self->key_columns[k]] = columns[k];
    }
    return WEIR_OK;
}

/* Looks at the left rows of the given groups. */
static Status revise_members(MarkJoin *self, const Vector *const *groups, size_t group_count,
                             Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    uint16_t *places = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *places, err);
    Row **rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    if (places == NULL || rows == NULL) {
        return err->code;
    }
    weir_arrangement_probe_start(self->keys.arrangement, &self->keys.probe, groups, NULL,
                                 group_count);
    for (;;) {
        const ArenaMark start = weir_arena_mark(arena);
        const size_t count = weir_arrangement_probe_next(self->keys.arrangement, &self->keys.probe,
                                                         places, rows, BATCH_CAPACITY);
        if (count == 0) {
            return WEIR_OK;
        }
        const Vector **keys = NULL;
        Marks marks = {0};
        WEIR_TRY(unpack_keys(self, rows, count, arena, &keys, err));
        WEIR_TRY(find_marks(self, keys, count, arena, &marks, err));
        WEIR_TRY(remark_keys(self, keys, count, &marks, step, err));
        weir_arena_release(arena, start);
    }
}

static Status revise_groups(MarkJoin *self, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    Row **rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    if (rows == NULL) {
        return err->code;
    }
    size_t index = 0;
    for (;;) {
        const ArenaMark start = weir_arena_mark(arena);
        const size_t count = weir_join_counts_touched(&self->groups, &index, rows, BATCH_CAPACITY);
        if (count == 0) {
            return WEIR_OK;
        }
        size_t changed = 0;
        for (size_t i = 0; i < count; i++) {
            const CountPair pair = weir_join_counts_read(&self->groups, rows[i]);
            rows[changed] = rows[i];
            changed += class_changed(&pair) ? 1 : 0;
        }
        if (changed > 0 && self->group_count == 0) {
            WEIR_TRY(revise_all(self, step, err));
        } else if (changed > 0) {
            const Vector **groups = NULL;
            WEIR_TRY(weir_join_unpack(&self->groups.table.layout, rows, changed, self->group_count,
                                      arena, &groups, err));
            WEIR_TRY(revise_members(self, groups, changed, step, err));
        }
        weir_arena_release(arena, start);
    }
}

/* --- keys whose rows changed -------------------------------------------------------------------- */

/* Keys of groups whose class changed are done: their marks are made to look unchanged. */
static Status hide_done(MarkJoin *self, const Vector *const *keys, size_t count, const Marks *marks,
                        Arena *arena, Error *err)
{
    CountPair *groups = weir_arena_alloc(arena, count * sizeof *groups, err);
    if (groups == NULL) {
        return err->code;
    }
    WEIR_TRY(find_groups(self, keys, count, arena, groups, err));
    for (size_t i = 0; i < count; i++) {
        if (class_changed(&groups[i])) {
            marks->old[i] = marks->now[i];
        }
    }
    return WEIR_OK;
}

static Status revise_keys(MarkJoin *self, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    Row **rows = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof(Row *), err);
    if (rows == NULL) {
        return err->code;
    }
    size_t index = 0;
    for (;;) {
        const ArenaMark start = weir_arena_mark(arena);
        const size_t count = weir_join_counts_touched(&self->right, &index, rows, BATCH_CAPACITY);
        if (count == 0) {
            return WEIR_OK;
        }
        const Vector **keys = NULL;
        Marks marks = {0};
        WEIR_TRY(weir_join_unpack(&self->right.table.layout, rows, count,
                                  self->join.sides[1].key_count, arena, &keys, err));
        WEIR_TRY(find_marks(self, keys, count, arena, &marks, err));
        if (has_conditions(self)) {
            WEIR_TRY(hide_done(self, keys, count, &marks, arena, err));
        }
        WEIR_TRY(remark_keys(self, keys, count, &marks, step, err));
        weir_arena_release(arena, start);
    }
}

/* --- step --------------------------------------------------------------------------------------- */

static Status push_right(MarkJoin *self, const JoinBatch *all, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    JoinBatch matchable = {0};
    JoinBatch others = {0};
    if (has_conditions(self)) {
        bool *has_null = weir_arena_alloc(arena, all->count * sizeof *has_null, err);
        JoinBatch members = {.count = all->count, .weights = all->weights};
        if (has_null == NULL) {
            return err->code;
        }
        find_nulls(self, all->columns, all->count, has_null);
        WEIR_TRY(group_columns(self, all->columns, arena, &members.columns, err));
        WEIR_TRY(weir_join_counts_add(&self->groups, &members, has_null, arena, err));
    }
    WEIR_TRY(weir_join_split(&self->join, 1, all, arena, &matchable, &others, err));
    return weir_join_counts_add(&self->right, &matchable, NULL, arena, err);
}

static Status mark_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    MarkJoin *self = WEIR_DOWNCAST(MarkJoin, op);
    JoinBatch delta = {0};
    WEIR_TRY(weir_join_load(&self->join, port, batch, &step->scratch, &delta, err));
    return port == 1 ? push_right(self, &delta, step, err)
                     : weir_join_pending_add(&self->pending, &self->join.sides[0], &delta, err);
}

/* Emits a left delta with the marks of now, and adds it to the state. */
static Status add_left(MarkJoin *self, const JoinBatch *delta, Step *step, Error *err)
{
    Arena *arena = &step->scratch;
    const size_t key_count = self->join.sides[0].key_count;
    Marks marks = {0};
    WEIR_TRY(find_marks(self, delta->columns, delta->count, arena, &marks, err));
    const JoinHalf left = {.batch = delta};
    WEIR_TRY(emit_marked(self, &left, marks.now, delta->weights, delta->count, step, err));
    WEIR_TRY(weir_join_trace_add(&self->left, delta, step, err));
    if (self->keys.arrangement == NULL) {
        return WEIR_OK;
    }
    const Vector **columns = weir_arena_calloc(arena, key_count, sizeof(const Vector *), err);
    if (columns == NULL) {
        return err->code;
    }
    for (size_t k = 0; k < key_count; k++) {
        columns[k] = delta->columns[self->key_columns[k]];
    }
    const JoinBatch keys = {.count = delta->count, .columns = columns, .weights = delta->weights};
    return weir_join_trace_add(&self->keys, &keys, step, err);
}

static Status mark_flush(Op *op, Step *step, Error *err)
{
    MarkJoin *self = WEIR_DOWNCAST(MarkJoin, op);
    if (!weir_join_counts_verify(&self->right) ||
        (has_conditions(self) && !weir_join_counts_verify(&self->groups))) {
        return weir_join_negative(&self->join, 1, err);
    }
    if (weir_arrangement_row_count(self->left.arrangement) > 0) {
        if (has_conditions(self)) {
            WEIR_TRY(revise_groups(self, step, err));
        }
        WEIR_TRY(revise_keys(self, step, err));
    }
    for (const PendingBatch *at = self->pending.first; at != NULL; at = at->next) {
        const ArenaMark start = weir_arena_mark(&step->scratch);
        WEIR_TRY(add_left(self, &at->batch, step, err));
        weir_arena_release(&step->scratch, start);
    }
    WEIR_TRY(weir_join_trace_settle(&self->left, err));
    return self->keys.arrangement == NULL ? WEIR_OK : weir_join_trace_settle(&self->keys, err);
}

static void mark_end_step(Op *op)
{
    MarkJoin *self = WEIR_DOWNCAST(MarkJoin, op);
    weir_arrangement_end_step(self->left.arrangement);
    if (self->keys.arrangement != NULL) {
        weir_arrangement_end_step(self->keys.arrangement);
    }
    weir_join_pending_clear(&self->pending);
    weir_join_counts_end_step(&self->right);
    if (has_conditions(self)) {
        weir_join_counts_end_step(&self->groups);
    }
}

/* --- account, free, constructor ------------------------------------------------------------------ */

static size_t mark_state_bytes(const Op *op)
{
    const MarkJoin *self = OP_CONST(MarkJoin, op);
    size_t bytes =
        weir_arrangement_bytes(self->left.arrangement) + weir_join_counts_bytes(&self->right);
    if (self->keys.arrangement != NULL) {
        bytes += weir_arrangement_bytes(self->keys.arrangement);
    }
    if (has_conditions(self)) {
        bytes += weir_join_counts_bytes(&self->groups);
    }
    return bytes;
}

static size_t mark_state_rows(const Op *op)
{
    const MarkJoin *self = OP_CONST(MarkJoin, op);
    return weir_arrangement_row_count(self->left.arrangement) + self->right.table.row_count;
}

static void mark_free(Op *op)
{
    MarkJoin *self = WEIR_DOWNCAST(MarkJoin, op);
    Mem *mem = op->env->mem;
    weir_join_trace_deinit(&self->left);
    weir_join_trace_deinit(&self->keys);
    weir_join_pending_deinit(&self->pending);
    weir_join_counts_deinit(&self->right);
    weir_join_counts_deinit(&self->groups);
    weir_join_deinit(&self->join);
    weir_mem_free(mem, self);
}

static const OpType mark_type = {
    .name = "mark join",
    .cost = "O(delta + left rows that change)",
    .push = mark_push,
    .flush = mark_flush,
    .end_step = mark_end_step,
    .state_bytes = mark_state_bytes,
    .state_rows = mark_state_rows,
    .describe = weir_join_describe,
    .free = mark_free,
};

/* Puts the group columns before the conditions; phys: their types in that order. */
static Status order_keys(MarkJoin *self, PhysType **phys, Error *err)
{
    const JoinSide *left = &self->join.sides[0];
    Arena *arena = &self->join.arena;
    self->key_columns = weir_arena_calloc(arena, left->key_count, sizeof *self->key_columns, err);
    *phys = weir_arena_calloc(arena, left->key_count, sizeof **phys, err);
    if (self->key_columns == NULL || *phys == NULL) {
        return err->code;
    }
    size_t filled = 0;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < left->key_count; k++) {
            if (self->join.is_null_safe[k] == (pass == 0)) {
                self->key_columns[filled] = k;
                (*phys)[filled] = left->phys[k];
                filled += 1;
                self->group_count += pass == 0 ? 1 : 0;
            }
        }
    }
    return WEIR_OK;
}

static Status mark_init(JoinOp *join, const Circuit *circuit, const JoinPlan *plan, Error *err)
{
    MarkJoin *self = WEIR_DOWNCAST(MarkJoin, join);
    PhysType *phys = NULL;
    WEIR_TRY(weir_join_init(join, &mark_type, circuit, plan, err));
    WEIR_TRY(order_keys(self, &phys, err));
    const JoinSide *left = &join->sides[0];
    const RowLayoutSpec rows = join_layout_spec(left);
    weir_join_pending_init(&self->pending, join->op.env->mem);
    WEIR_TRY(weir_join_trace_init(&self->left, join, &rows, err));
    WEIR_TRY(weir_join_counts_init(&self->right, join, left->phys, left->key_count, err));
    if (!has_conditions(self)) {
        return WEIR_OK;
    }
    self->groups.counts_nulls = true;
    WEIR_TRY(weir_join_counts_init(&self->groups, join, phys, self->group_count, err));
    if (self->group_count == 0) {
        return WEIR_OK;
    }
    const RowLayoutSpec keys = {
        .key = phys,
        .key_count = self->group_count,
        .payload = phys + self->group_count,
        .payload_count = left->key_count - self->group_count,
    };
    return weir_join_trace_init(&self->keys, join, &keys, err);
}

Status weir_join_mark_new(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
{
    return weir_join_new(circuit, plan, sizeof(MarkJoin), mark_init, out, err);
}
