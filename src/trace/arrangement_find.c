/* arrangement_find.c: keys of a batch on their way through the key index.
 *
 *   1. position in the index, prefetch the slot
 *   2. first entry with the key's hash, prefetch its first row
 *   3. compare the keys, column by column
 *
 * Three groups are in flight: while one is at pass 3, the next is at 2 and the one behind at 1. */
#include "trace/arrangement_priv.h"

/* The group of the given age: 0 = the oldest. */
static KeyGroup *pipe_group(KeyPipe *pipe, size_t age)
{
    return &pipe->groups[(pipe->turn + age) % 3];
}

/* Pass 1 on the next group of the batch. */
static void pipe_enter(KeyPipe *pipe, KeyGroup *group)
{
    const HashIndex index = pipe->arrangement->keys; /* a copy: no store can change it */
    group->first = pipe->next;
    group->count = WEIR_MIN(pipe->count - pipe->next, (size_t)HASH_GROUP);
    pipe->next += group->count;
    for (size_t i = 0; i < group->count; i++) {
        const size_t k = group->first + i;
        const uint16_t place = pipe->selection == NULL ? (uint16_t)k : pipe->selection[k];
        group->places[i] = place;
        group->hashes[i] = pipe->hashes[place];
        group->at[i] = weir_hash_home(&index, group->hashes[i]);
        weir_hash_prefetch(&group->at[i]);
    }
}

/* Pass 2. */
static void group_seek(const Arrangement *arrangement, KeyGroup *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const uint32_t value = weir_hash_seek(&group->at[i], group->hashes[i]);
        group->values[i] = value;
        if (value != 0) {
            weir_arrangement_prefetch(arrangement, weir_key_first_row(arrangement, value));
        }
    }
    group->light_epoch = arrangement->light_epoch;
    group->epoch = arrangement->keys.epoch;
}

void weir_key_pipe_start(KeyPipe *pipe, const Arrangement *arrangement, const uint16_t *selection,
                         const uint32_t *hashes, size_t count)
{
    pipe->arrangement = arrangement;
    pipe->selection = selection;
    pipe->hashes = hashes;
    pipe->count = count;
    pipe->next = 0;
    pipe->turn = 0;
    pipe->epoch = arrangement->keys.epoch;
    pipe_enter(pipe, pipe_group(pipe, 0));
    pipe_enter(pipe, pipe_group(pipe, 1));
    group_seek(arrangement, pipe_group(pipe, 0));
}

KeyGroup *weir_key_pipe_next(KeyPipe *pipe)
{
    KeyGroup *oldest = pipe_group(pipe, 0);
    KeyGroup *middle = pipe_group(pipe, 1);
    if (oldest->count == 0) {
        return NULL;
    }
    if (WEIR_UNLIKELY(pipe->epoch != pipe->arrangement->keys.epoch)) { /* entries have moved */
        pipe->epoch = pipe->arrangement->keys.epoch;
        for (size_t i = 0; i < middle->count; i++) {
            middle->at[i] = weir_hash_home(&pipe->arrangement->keys, middle->hashes[i]);
        }
    }
    pipe_enter(pipe, pipe_group(pipe, 2));
    group_seek(pipe->arrangement, middle);
    pipe->turn = (pipe->turn + 1) % 3;
    return oldest;
}

void weir_key_group_seek_again(const Arrangement *arrangement, KeyGroup *group, size_t i)
{
    group->at[i] = weir_hash_home(&arrangement->keys, group->hashes[i]);
    group->values[i] = weir_hash_seek(&group->at[i], group->hashes[i]);
}

/* All entries with the hash, one by one. */
static uint32_t find_key(const Arrangement *arrangement, const Vector *const *columns,
                         uint16_t place, uint32_t hash)
{
    Row *row = NULL;
    const RowMatch match = weir_arrangement_match(arrangement, columns, &place, &row, 1);
    HashPlace at = weir_hash_home(&arrangement->keys, hash);
    for (;;) {
        const uint32_t value = weir_hash_seek(&at, hash);
        if (value == 0) {
            return 0;
        }
        row = weir_key_first_row(arrangement, value);
        if (weir_row_match_key(&match) == 0) {
            return value;
        }
        weir_hash_step(&at);
    }
}

void weir_key_group_confirm(const Arrangement *arrangement, const Vector *const *columns,
                            KeyGroup *group)
{
    uint16_t places[HASH_GROUP];
    uint8_t members[HASH_GROUP];
    Row *rows[HASH_GROUP];
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) {
        if (group->values[i] != 0) {
            rows[count] = weir_key_first_row(arrangement, group->values[i]);
            places[count] = group->places[i];
            members[count] = (uint8_t)i;
            count++;
        }
    }
    if (count == 0) {
        return;
    }
    const RowMatch match = weir_arrangement_match(arrangement, columns, places, rows, count);
    uint32_t different = weir_row_match_key(&match);
    while (WEIR_UNLIKELY(different != 0)) {
        const size_t i = members[__builtin_ctz(different)];
        group->values[i] = find_key(arrangement, columns, group->places[i], group->hashes[i]);
        different &= different - 1;
    }
}

/* --- rows, one by one --------------------------------------------------------------------------- */

static bool image_equals(const Arrangement *arrangement, const RowImage *image, Row *row)
{
    if (image->columns == NULL) {
        return weir_row_equal(&arrangement->layout, row, image->packed);
    }
    const RowMatch match =
        weir_arrangement_match(arrangement, image->columns, &image->place, &row, 1);
    return weir_row_match_all(&match) == 0;
}

RowFound weir_row_find(const Arrangement *arrangement, const RowImage *image, uint32_t value,
                       uint32_t row_hash)
{
    RowFound found = {.value = value};
    if (weir_key_is_heavy(value)) {
        HashPlace at = weir_hash_home(&arrangement->rows, row_hash);
        found.ref = weir_hash_seek(&at, row_hash);
        while (found.ref != 0 &&
               !image_equals(arrangement, image, weir_row_at(&arrangement->store, found.ref))) {
            weir_hash_step(&at);
            found.ref = weir_hash_seek(&at, row_hash);
        }
        return found;
    }
    found.ref = value;
    while (found.ref != 0) {
        Row *row = weir_row_at(&arrangement->store, found.ref);
        if (weir_row_hash(row) == row_hash && image_equals(arrangement, image, row)) {
            break;
        }
        found.previous = found.ref;
        found.ref = weir_row_link(row);
        found.length++;
    }
    return found;
}

RowFound weir_row_find_packed(const Arrangement *arrangement, const Row *packed, uint32_t key_hash,
                              uint32_t row_hash)
{
    HashPlace at = weir_hash_home(&arrangement->keys, key_hash);
    for (;;) {
        const uint32_t value = weir_hash_seek(&at, key_hash);
        if (value == 0) {
            return (RowFound){0};
        }
        if (weir_row_key_equal(&arrangement->layout, weir_key_first_row(arrangement, value),
                               packed)) {
            const RowImage image = {.packed = packed};
            return weir_row_find(arrangement, &image, value, row_hash);
        }
        weir_hash_step(&at);
    }
}
