/* floor.c: see floor.h. */
#include "floor.h"

#include "bench.h"

#include <string.h>

static inline uint64_t hash_key(int32_t key)
{
    uint64_t h = (uint32_t)key;
    h ^= h >> 16;
    h *= UINT64_C(0xD6E8FEB86659FD93);
    return h ^ (h >> 32);
}

/* A power of two with a load of at most one half. */
static size_t slot_count_for(size_t count)
{
    size_t slots = 64;
    while (slots < 2 * count) {
        slots *= 2;
    }
    return slots;
}

/* --- filter and projection -------------------------------------------------------------------- */

size_t floor_map(const FloorColumns *c, size_t count)
{
    const int64_t *restrict const in_a = c->in[0];
    const int64_t *restrict const in_b = c->in[1];
    const int64_t *restrict const in_c = c->in[2];
    const int64_t *restrict const in_d = c->in[3];
    const int64_t *restrict const in_e = c->in[4];
    int64_t *restrict const first = c->out[0];
    int64_t *restrict const second = c->out[1];
    int64_t *restrict const third = c->out[2];
    int64_t *restrict const weights = c->out_weights;
    size_t passed = 0;
    bool is_over = false;
    for (size_t i = 0; i < count; i++) {
        int64_t sum = 0;
        is_over |= __builtin_add_overflow(in_a[i], in_b[i], &sum);
        first[passed] = sum;
        is_over |= __builtin_add_overflow(in_c[i], in_d[i], &sum);
        second[passed] = sum;
        third[passed] = in_e[i];
        weights[passed] = c->weights[i];
        passed += (size_t)(in_a[i] < in_b[i]) & (size_t)(in_c[i] < in_d[i]);
    }
    return is_over ? 0 : passed;
}

/* --- groups ----------------------------------------------------------------------------------- */

typedef struct GroupSlot {
    int32_t key;
    uint32_t stamp; /* the step that touched it last; 0 = the slot is free */
    int64_t count;
    i128 sum;
} GroupSlot;

_Static_assert(sizeof(GroupSlot) == 32, "two slots a cache line");

typedef struct GroupBefore {
    size_t slot;
    int64_t count;
    i128 sum;
} GroupBefore;

struct FloorGroups {
    GroupSlot *slots;
    size_t mask;
    uint32_t step;
    GroupBefore *touched;
    FloorGroupBatch out;
};

FloorGroups *floor_groups_new(size_t group_count)
{
    FloorGroups *groups = bench_alloc(1, sizeof *groups);
    const size_t slot_count = slot_count_for(group_count);
    groups->slots = bench_alloc(slot_count, sizeof *groups->slots);
    groups->mask = slot_count - 1;
    groups->step = 1;
    groups->touched = bench_alloc(slot_count, sizeof *groups->touched);
    return groups;
}

void floor_groups_free(FloorGroups *groups)
{
    bench_free(groups->slots);
    bench_free(groups->touched);
    bench_free(groups);
}

static inline size_t group_place(FloorGroups *groups, int32_t key, size_t place)
{
    while (groups->slots[place].stamp != 0 && groups->slots[place].key != key) {
        place = (place + 1) & groups->mask;
    }
    return place;
}

static inline void group_add(FloorGroups *groups, const FloorDelta *delta, size_t i, size_t place)
{
    GroupSlot *const slot = &groups->slots[group_place(groups, delta->keys[i], place)];
    slot->key = delta->keys[i];
    slot->stamp = groups->step;
    slot->count += delta->weights[i];
    slot->sum += (i128)delta->values[i] * delta->weights[i];
}

void floor_groups_plain(FloorGroups *groups, const FloorDelta *delta)
{
    for (size_t i = 0; i < delta->count; i++) {
        group_add(groups, delta, i, hash_key(delta->keys[i]) & groups->mask);
    }
}

void floor_groups_prefetch(FloorGroups *groups, const FloorDelta *delta)
{
    size_t places[FLOOR_GROUP];
    for (size_t first = 0; first < delta->count; first += FLOOR_GROUP) {
        const size_t count = WEIR_MIN(delta->count - first, (size_t)FLOOR_GROUP);
        for (size_t i = 0; i < count; i++) {
            places[i] = hash_key(delta->keys[first + i]) & groups->mask;
            __builtin_prefetch(&groups->slots[places[i]], 1);
        }
        for (size_t i = 0; i < count; i++) {
            group_add(groups, delta, first + i, places[i]);
        }
    }
}

/* Adds the delta and notes what each group was before; returns how many were touched. */
static size_t groups_touch(FloorGroups *groups, const FloorDelta *delta)
{
    size_t places[FLOOR_GROUP];
    size_t touched = 0;
    for (size_t first = 0; first < delta->count; first += FLOOR_GROUP) {
        const size_t count = WEIR_MIN(delta->count - first, (size_t)FLOOR_GROUP);
        for (size_t i = 0; i < count; i++) {
            places[i] = hash_key(delta->keys[first + i]) & groups->mask;
            __builtin_prefetch(&groups->slots[places[i]], 1);
        }
        for (size_t i = 0; i < count; i++) {
            const size_t place = group_place(groups, delta->keys[first + i], places[i]);
            const GroupSlot *const slot = &groups->slots[place];
            groups->touched[touched] =
                (GroupBefore){.slot = place, .count = slot->count, .sum = slot->sum};
            touched += slot->stamp != groups->step;
            group_add(groups, delta, first + i, place);
        }
    }
    return touched;
}

static void groups_put(FloorGroups *groups, const GroupBefore *state, int32_t key, int64_t weight)
{
    FloorGroupBatch *const out = &groups->out;
    out->keys[out->count] = key;
    out->sums[out->count] = state->sum;
    out->counts[out->count] = state->count;
    out->weights[out->count] = weight;
    out->count++;
}

void floor_groups_step(FloorGroups *groups, const FloorDelta *delta, FloorGroupVisit visit,
                       void *user)
{
    enum { AHEAD = 16 };
    groups->step++;
    groups->out.count = 0;
    const size_t touched = groups_touch(groups, delta);
    for (size_t i = 0; i < touched; i++) {
        const GroupBefore *const before = &groups->touched[i];
        const GroupSlot *const slot = &groups->slots[before->slot];
        if (i + AHEAD < touched) {
            __builtin_prefetch(&groups->slots[groups->touched[i + AHEAD].slot]);
        }
        const GroupBefore now = {.count = slot->count, .sum = slot->sum};
        if (before->count == now.count && before->sum == now.sum) {
            continue;
        }
        if (before->count > 0) {
            groups_put(groups, before, slot->key, -1);
        }
        if (now.count > 0) {
            groups_put(groups, &now, slot->key, 1);
        }
        if (groups->out.count > FLOOR_OUTPUT - 2) {
            visit(user, &groups->out);
            groups->out.count = 0;
        }
    }
    visit(user, &groups->out);
}

/* --- rows ------------------------------------------------------------------------------------- */

typedef struct RowSlot {
    int64_t value;
    int32_t key;
    int32_t weight; /* 0 = the slot is free */
} RowSlot;

struct FloorRows {
    RowSlot *slots;
    size_t mask;
    struct {
        int32_t keys[FLOOR_OUTPUT];
        int64_t left[FLOOR_OUTPUT];
        int64_t right[FLOOR_OUTPUT];
        int64_t weights[FLOOR_OUTPUT];
    } out;
};

FloorRows *floor_rows_new(size_t row_count)
{
    FloorRows *rows = bench_alloc(1, sizeof *rows);
    const size_t slot_count = slot_count_for(row_count);
    rows->slots = bench_alloc(slot_count, sizeof *rows->slots);
    rows->mask = slot_count - 1;
    return rows;
}

void floor_rows_free(FloorRows *rows)
{
    bench_free(rows->slots);
    bench_free(rows);
}

/* Closes the gap at a place: later slots of the run move up. */
static void rows_remove(FloorRows *rows, size_t place)
{
    size_t next = place;
    for (;;) {
        next = (next + 1) & rows->mask;
        if (rows->slots[next].weight == 0) {
            break;
        }
        const size_t home = hash_key(rows->slots[next].key) & rows->mask;
        if (((next - home) & rows->mask) >= ((next - place) & rows->mask)) {
            rows->slots[place] = rows->slots[next];
            place = next;
        }
    }
    rows->slots[place] = (RowSlot){0};
}

static inline void rows_add(FloorRows *rows, const FloorDelta *delta, size_t i, size_t place)
{
    const int32_t key = delta->keys[i];
    const int64_t value = delta->values[i];
    RowSlot *slot = &rows->slots[place];
    while (slot->weight != 0 && (slot->key != key || slot->value != value)) {
        place = (place + 1) & rows->mask;
        slot = &rows->slots[place];
    }
    slot->key = key;
    slot->value = value;
    slot->weight += (int32_t)delta->weights[i];
    if (slot->weight == 0) {
        rows_remove(rows, place);
    }
}

void floor_rows_plain(FloorRows *rows, const FloorDelta *delta)
{
    for (size_t i = 0; i < delta->count; i++) {
        rows_add(rows, delta, i, hash_key(delta->keys[i]) & rows->mask);
    }
}

void floor_rows_prefetch(FloorRows *rows, const FloorDelta *delta)
{
    size_t places[FLOOR_GROUP];
    for (size_t first = 0; first < delta->count; first += FLOOR_GROUP) {
        const size_t count = WEIR_MIN(delta->count - first, (size_t)FLOOR_GROUP);
        for (size_t i = 0; i < count; i++) {
            places[i] = hash_key(delta->keys[first + i]) & rows->mask;
            __builtin_prefetch(&rows->slots[places[i]], 1);
        }
        for (size_t i = 0; i < count; i++) {
            rows_add(rows, delta, first + i, places[i]);
        }
    }
}

/* --- join ------------------------------------------------------------------------------------- */

/* The pairs of row i; returns the place in the output. */
static inline size_t join_row(FloorRows *rows, const FloorRows *others, const FloorDelta *delta,
                              size_t i, size_t place, size_t out)
{
    const int32_t key = delta->keys[i];
    for (; others->slots[place].weight != 0; place = (place + 1) & others->mask) {
        const RowSlot *const slot = &others->slots[place];
        if (slot->key == key) {
            const size_t at = out % FLOOR_OUTPUT;
            rows->out.keys[at] = key;
            rows->out.left[at] = delta->values[i];
            rows->out.right[at] = slot->value;
            rows->out.weights[at] = slot->weight * delta->weights[i];
            out++;
        }
    }
    return out;
}

size_t floor_join_plain(FloorRows *rows, const FloorRows *others, const FloorDelta *delta)
{
    size_t out = 0;
    for (size_t i = 0; i < delta->count; i++) {
        const uint64_t hash = hash_key(delta->keys[i]);
        out = join_row(rows, others, delta, i, hash & others->mask, out);
        rows_add(rows, delta, i, hash & rows->mask);
    }
    return out;
}

size_t floor_join_prefetch(FloorRows *rows, const FloorRows *others, const FloorDelta *delta)
{
    uint64_t hashes[FLOOR_GROUP];
    size_t out = 0;
    for (size_t first = 0; first < delta->count; first += FLOOR_GROUP) {
        const size_t count = WEIR_MIN(delta->count - first, (size_t)FLOOR_GROUP);
        for (size_t i = 0; i < count; i++) {
            hashes[i] = hash_key(delta->keys[first + i]);
            __builtin_prefetch(&others->slots[hashes[i] & others->mask]);
            __builtin_prefetch(&rows->slots[hashes[i] & rows->mask], 1);
        }
        for (size_t i = 0; i < count; i++) {
            out = join_row(rows, others, delta, first + i, hashes[i] & others->mask, out);
        }
        for (size_t i = 0; i < count; i++) {
            rows_add(rows, delta, first + i, hashes[i] & rows->mask);
        }
    }
    return out;
}
