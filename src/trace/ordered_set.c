/* ordered_set.c: one value inline, few in a sorted block, many in a tree.
 *
 *   empty <-> inline <-> block <-> tree
 *
 * Handles and blocks keep weights in 32 bits; a set with a larger one is a tree, whatever its size.
 * A tree becomes a block again at half of the block's limit. A failed change of form leaves the set
 * as it was. */
#include "trace/ordered_priv.h"

enum {
    TREE_LEAST = ORDERED_BLOCK_MAX / 2, /* entries at which a tree becomes a block again */
    TREE_LEAST_STEP = 16,               /* and it is tried again every so many entries below */
    BATCH_GROUP = 32,
};

Status weir_ordered_space_new(Mem *mem, PagePool *pool, const LogicalType *type, OrderedSpace **out,
                              Error *err)
{
    *out = NULL;
    OrderedSpace *space = weir_mem_zalloc(mem, sizeof *space, err);
    if (space == NULL) {
        return err->code;
    }
    space->mem = mem;
    space->type = type;
    weir_ordered_space_shape(space);
    Status status = WEIR_OK;
    WEIR_CHECK(weir_row_store_init(&space->store, mem, pool, err));
    WEIR_CHECK(weir_btree_space_init(&space->trees, mem, pool, space->key_words, err));
    if (space->kind == ORDERED_REF) {
        space->trees.compare = weir_ordered_compare;
        space->trees.context = space;
    }
    *out = space;
done:
    if (status != WEIR_OK) {
        weir_ordered_space_free(space);
    }
    return status;
}

void weir_ordered_space_free(OrderedSpace *space)
{
    if (space == NULL) {
        return;
    }
    weir_btree_space_deinit(&space->trees);
    weir_row_store_deinit(&space->store);
    weir_mem_free(space->mem, space);
}

void weir_ordered_space_end_step(OrderedSpace *space)
{
    weir_row_store_end_step(&space->store);
}

size_t weir_ordered_space_bytes(const OrderedSpace *space)
{
    return sizeof *space + weir_row_store_bytes(&space->store) +
           weir_btree_space_bytes(&space->trees);
}

/* --- entries of any form ------------------------------------------------------------------------ */

static bool fits_block(int64_t weight)
{
    return weight >= INT32_MIN && weight <= INT32_MAX;
}

static uint32_t inline_ref(const OrderedSpace *space, const OrderedSet *set)
{
    return space->kind == ORDERED_REF ? (uint32_t)set->words[1] : 0;
}

static OrderedSet inline_set(const BTreeEntry *raw_entry)
{
    const uint64_t weight = (uint32_t)(int32_t)raw_entry->weight;
    OrderedSet set = {.words = {raw_entry->words[0], raw_entry->words[1]}};
    set.words[2] = weight << 32 | ORDERED_INLINE;
    return set;
}

/* Entry `place` of a block or of an inline set, key raw; the reference also stands in the second
 * word, where an inline set keeps it. */
static BTreeEntry entry_at(const OrderedSpace *space, const OrderedSet *set, uint32_t place)
{
    BTreeEntry entry = {.words = {set->words[0], set->words[1]}};
    if (weir_ordered_state(set) == ORDERED_INLINE) {
        entry.ref = inline_ref(space, set);
        entry.weight = weir_ordered_weight(set);
        return entry;
    }
    const OrderedBlock block = weir_ordered_block(space, set);
    entry.words[0] = block.keys[(size_t)place * space->key_words];
    entry.weight = block.weights[place];
    if (space->kind == ORDERED_WIDE) {
        entry.words[1] = block.keys[2 * (size_t)place + 1];
    } else if (space->kind == ORDERED_REF) {
        entry.ref = block.refs[place];
        entry.words[1] = entry.ref;
    }
    return entry;
}

/* Entries of a set that is not a tree. */
static uint32_t small_count(const OrderedSet *set)
{
    switch (weir_ordered_state(set)) {
    case ORDERED_EMPTY: return 0;
    case ORDERED_INLINE: return 1;
    case ORDERED_BLOCK: return weir_ordered_block_count(set);
    case ORDERED_TREE: break;
    }
    WEIR_ASSERT(false);
    return 0;
}

/* The key of an entry as a tree wants it. */
static OrderedKey entry_key(const OrderedSpace *space, const BTreeEntry *entry)
{
    OrderedKey key;
    const void *value = space->kind == ORDERED_REF
                            ? (const void *)weir_row_at(&space->store, entry->ref)
                            : (const void *)entry->words;
    weir_ordered_key_load(space, value, &key);
    return key;
}

/* --- trees -------------------------------------------------------------------------------------- */

static Status tree_add(OrderedSpace *space, OrderedTree *tree, const OrderedKey *key, uint32_t ref,
                       int64_t weight, BTreeChange *change, Error *err)
{
    WEIR_TRY(weir_btree_add(&space->trees, &tree->tree, &key->order, ref, weight, change, err));
    tree->negative_count += change->after < 0;
    tree->negative_count -= change->before < 0;
    return WEIR_OK;
}

static void tree_free(OrderedSpace *space, OrderedSet *set)
{
    OrderedTree *tree = weir_ordered_tree(space, set);
    WEIR_ASSERT(tree->loaded == 0);
    weir_btree_clear(&space->trees, &tree->tree);
    weir_row_store_cancel(&space->store, weir_ordered_ref(set), sizeof *tree);
    *set = (OrderedSet){0};
}

/* Makes a tree of the entries of the set. */
static Status to_tree(OrderedSpace *space, OrderedSet *set, Error *err)
{
    RowRef ref = 0;
    Row *row = NULL;
    WEIR_TRY(weir_row_store_alloc(&space->store, NULL, sizeof(OrderedTree), 1, &ref, &row, err));
    OrderedTree *tree = (OrderedTree *)(void *)row;
    *tree = (OrderedTree){0};
    OrderedSet made = {.words = {0, 0, (uint64_t)ref << 32 | ORDERED_TREE}};
    const uint32_t count = small_count(set);
    for (uint32_t i = 0; i < count; i++) {
        const BTreeEntry entry = entry_at(space, set, i);
        const OrderedKey key = entry_key(space, &entry);
        BTreeChange change;
        const Status status = tree_add(space, tree, &key, entry.ref, entry.weight, &change, err);
        if (status != WEIR_OK) {
            tree_free(space, &made);
            return status;
        }
    }
    if (weir_ordered_state(set) == ORDERED_BLOCK) {
        weir_ordered_block_free(space, set);
    }
    *set = made;
    return WEIR_OK;
}

/* Makes a block of a tree that has become small, if its weights fit and there is memory. */
static void try_to_block(OrderedSpace *space, OrderedSet *set)
{
    const OrderedTree *tree = weir_ordered_tree(space, set);
    if (tree->tree.count > TREE_LEAST || tree->tree.count % TREE_LEAST_STEP != 0) {
        return;
    }
    Error err;
    OrderedSet block;
    const uint32_t class = weir_ordered_class_for(space, tree->tree.count + 1);
    if (weir_ordered_block_new(space, class, &block, &err) != WEIR_OK) {
        return;
    }
    BTreeCursor cursor;
    BTreeEntry entry;
    weir_btree_seek_end(&space->trees, &tree->tree, false, &cursor);
    for (uint32_t i = 0; weir_btree_next(&space->trees, &cursor, &entry); i++) {
        uint64_t raw[BTREE_WORDS_MAX] = {0};
        weir_ordered_key_decode(space, entry.words, raw);
        memcpy(entry.words, raw, sizeof raw);
        if (!fits_block(entry.weight) ||
            weir_ordered_block_insert(space, &block, i, &entry, &err) != WEIR_OK) {
            weir_ordered_block_free(space, &block);
            return;
        }
    }
    tree_free(space, set);
    *set = block;
}

void weir_ordered_tree_shrink(OrderedSpace *space, OrderedSet *set)
{
    if (weir_ordered_tree(space, set)->tree.count == 0) {
        tree_free(space, set);
    } else {
        try_to_block(space, set);
    }
}

static Status add_to_tree(OrderedSpace *space, OrderedSet *set, const OrderedKey *key,
                          int64_t weight, Error *err)
{
    OrderedTree *tree = weir_ordered_tree(space, set);
    uint32_t copy = 0;
    WEIR_TRY(weir_ordered_copy_new(space, key->order.value, &copy, err));
    BTreeChange change = {0};
    const Status status = tree_add(space, tree, key, copy, weight, &change, err);
    if (status != WEIR_OK || change.ref != copy) {
        weir_ordered_copy_free(space, copy, true);
    }
    if (status == WEIR_OK && change.after == 0) {
        weir_ordered_copy_free(space, change.ref, false);
        weir_ordered_tree_shrink(space, set);
    }
    return status;
}

/* --- adding ------------------------------------------------------------------------------------- */

/* Changes the form to a tree, then adds. */
static Status add_as_tree(OrderedSpace *space, OrderedSet *set, const OrderedKey *key,
                          int64_t weight, Error *err)
{
    const bool was_empty = weir_ordered_state(set) == ORDERED_EMPTY;
    WEIR_TRY(to_tree(space, set, err));
    const Status status = add_to_tree(space, set, key, weight, err);
    if (status != WEIR_OK && was_empty) {
        tree_free(space, set);
    }
    return status;
}

/* An entry for a value that is not in the set yet. */
static Status entry_new(OrderedSpace *space, const OrderedKey *key, int64_t weight,
                        BTreeEntry *entry, Error *err)
{
    *entry = (BTreeEntry){.words = {key->raw[0], key->raw[1]}, .weight = weight};
    WEIR_TRY(weir_ordered_copy_new(space, key->order.value, &entry->ref, err));
    if (space->kind == ORDERED_REF) {
        entry->words[1] = entry->ref;
    }
    return WEIR_OK;
}

static Status add_to_empty(OrderedSpace *space, OrderedSet *set, const OrderedKey *key,
                           int64_t weight, Error *err)
{
    BTreeEntry entry;
    WEIR_TRY(entry_new(space, key, weight, &entry, err));
    *set = inline_set(&entry);
    return WEIR_OK;
}

/* A second value makes a block of an inline set. */
static Status inline_to_block(OrderedSpace *space, OrderedSet *set, bool is_before,
                              const BTreeEntry *entry, Error *err)
{
    OrderedSet block;
    WEIR_TRY(weir_ordered_block_new(space, space->first_class, &block, err));
    const BTreeEntry first = entry_at(space, set, 0);
    Status status = weir_ordered_block_insert(space, &block, 0, &first, err);
    if (status == WEIR_OK) {
        status = weir_ordered_block_insert(space, &block, is_before ? 0 : 1, entry, err);
    }
    WEIR_ASSERT(status == WEIR_OK); /* there is room for two */
    *set = block;
    return status;
}

static Status add_to_inline(OrderedSpace *space, OrderedSet *set, const OrderedKey *key,
                            int64_t weight, Error *err)
{
    const BTreeEntry old = entry_at(space, set, 0);
    const OrderedKey old_key = entry_key(space, &old);
    int order = 0;
    for (uint32_t i = 0; i < space->key_words && order == 0; i++) {
        const uint64_t a = key->order.words[i];
        const uint64_t b = old_key.order.words[i];
        order = (a > b) - (a < b);
    }
    if (order == 0 && space->kind == ORDERED_REF) {
        order = weir_ordered_compare(space, key->order.value, old.ref);
    }
    if (order != 0) {
        BTreeEntry entry;
        WEIR_TRY(entry_new(space, key, weight, &entry, err));
        const Status status = inline_to_block(space, set, order < 0, &entry, err);
        if (status != WEIR_OK) {
            weir_ordered_copy_free(space, entry.ref, true);
        }
        return status;
    }
    const int64_t sum = old.weight + weight; /* two numbers of 32 bits */
    if (!fits_block(sum)) {
        return add_as_tree(space, set, key, weight, err);
    }
    if (sum == 0) {
        weir_ordered_copy_free(space, old.ref, false);
        *set = (OrderedSet){0};
    } else {
        BTreeEntry changed = old;
        changed.weight = sum;
        *set = inline_set(&changed);
    }
    return WEIR_OK;
}

/* A block with one entry left becomes an inline set. */
static void remove_from_block(OrderedSpace *space, OrderedSet *set, uint32_t place)
{
    weir_ordered_copy_free(space, entry_at(space, set, place).ref, false);
    if (weir_ordered_block_count(set) > 2) {
        weir_ordered_block_remove(space, set, place);
        return;
    }
    const BTreeEntry left = entry_at(space, set, 1 - place);
    weir_ordered_block_free(space, set);
    *set = inline_set(&left);
}

static Status add_to_block(OrderedSpace *space, OrderedSet *set, const OrderedKey *key,
                           int64_t weight, Error *err)
{
    const OrderedBlock block = weir_ordered_block(space, set);
    bool is_there = false;
    const uint32_t place = weir_ordered_block_find(space, &block, key, &is_there);
    if (is_there) {
        const int64_t sum = block.weights[place] + weight; /* two numbers of 32 bits */
        if (!fits_block(sum)) {
            return add_as_tree(space, set, key, weight, err);
        }
        block.weights[place] = (int32_t)sum;
        if (sum == 0) {
            remove_from_block(space, set, place);
        }
        return WEIR_OK;
    }
    if (block.count == ORDERED_BLOCK_MAX) {
        return add_as_tree(space, set, key, weight, err);
    }
    BTreeEntry entry;
    WEIR_TRY(entry_new(space, key, weight, &entry, err));
    const Status status = weir_ordered_block_insert(space, set, place, &entry, err);
    if (status != WEIR_OK) {
        weir_ordered_copy_free(space, entry.ref, true);
    }
    return status;
}

Status weir_ordered_set_add(OrderedSpace *space, OrderedSet *set, const void *value, int64_t weight,
                            Error *err)
{
    if (weight == 0) {
        return WEIR_OK;
    }
    OrderedKey key;
    weir_ordered_key_load(space, value, &key);
    const OrderedState state = weir_ordered_state(set);
    if (state == ORDERED_TREE) {
        return add_to_tree(space, set, &key, weight, err);
    }
    if (!fits_block(weight)) {
        return add_as_tree(space, set, &key, weight, err);
    }
    if (state == ORDERED_BLOCK) {
        return add_to_block(space, set, &key, weight, err);
    }
    return state == ORDERED_INLINE ? add_to_inline(space, set, &key, weight, err)
                                   : add_to_empty(space, set, &key, weight, err);
}

void weir_ordered_set_prefetch(const OrderedSpace *space, const OrderedSet *set)
{
    const OrderedState state = weir_ordered_state(set);
    if (state == ORDERED_BLOCK || state == ORDERED_TREE) {
        const char *row = (const char *)weir_row_at(&space->store, weir_ordered_ref(set));
        __builtin_prefetch(row, 1);
        __builtin_prefetch(row + 64, 1);
    }
}

Status weir_ordered_set_add_batch(OrderedSpace *space, OrderedSet *const *sets,
                                  const Vector *values, const uint16_t *selection,
                                  const int64_t *weights, size_t count, Error *err)
{
    const size_t width = weir_phys_width(values->phys);
    const char *data = values->data;
    for (size_t first = 0; first < count; first += BATCH_GROUP) {
        const size_t end = WEIR_MIN(first + BATCH_GROUP, count);
        for (size_t i = first; i < end; i++) {
            __builtin_prefetch(sets[selection == NULL ? i : selection[i]], 1);
        }
        for (size_t i = first; i < end; i++) {
            weir_ordered_set_prefetch(space, sets[selection == NULL ? i : selection[i]]);
        }
        for (size_t i = first; i < end; i++) {
            const size_t place = selection == NULL ? i : selection[i];
            WEIR_TRY(weir_ordered_set_add(space, sets[place], data + place * width, weights[place],
                                          err));
        }
    }
    return WEIR_OK;
}
