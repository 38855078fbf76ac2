/* ordered_read.c: what an ordered set tells: ends, n-th value, sizes; and clearing it. */
#include "trace/ordered_priv.h"

/* The value of an entry of a block. */
static const void *block_value(const OrderedSpace *space, const OrderedBlock *block, uint32_t place)
{
    return space->kind == ORDERED_REF
               ? (const void *)weir_row_at(&space->store, block->refs[place])
               : (const void *)(block->keys + (size_t)place * space->key_words);
}

static const void *inline_value(const OrderedSpace *space, const OrderedSet *set)
{
    return space->kind == ORDERED_REF
               ? (const void *)weir_row_at(&space->store, (uint32_t)set->words[1])
               : (const void *)set->words;
}

/* The value of an entry of a tree; `use` chooses where it is kept for the caller. */
static const void *tree_value(const OrderedSpace *space, OrderedTree *tree, const BTreeEntry *entry,
                              size_t use)
{
    if (space->kind == ORDERED_REF) {
        return weir_row_at(&space->store, entry->ref);
    }
    weir_ordered_key_decode(space, entry->words, tree->shown[use]);
    return tree->shown[use];
}

static const void *tree_end(const OrderedSpace *space, OrderedTree *tree, bool at_last)
{
    BTreeCursor cursor;
    BTreeEntry entry;
    weir_btree_seek_end(&space->trees, &tree->tree, at_last, &cursor);
    while (at_last ? weir_btree_previous(&space->trees, &cursor, &entry)
                   : weir_btree_next(&space->trees, &cursor, &entry)) {
        if (entry.weight > 0) {
            return tree_value(space, tree, &entry, at_last ? 1 : 0);
        }
    }
    return NULL;
}

static const void *block_end(const OrderedSpace *space, const OrderedSet *set, bool at_last)
{
    const OrderedBlock block = weir_ordered_block(space, set);
    for (uint32_t i = 0; i < block.count; i++) {
        const uint32_t place = at_last ? block.count - 1 - i : i;
        if (block.weights[place] > 0) {
            return block_value(space, &block, place);
        }
    }
    return NULL;
}

static const void *set_end(const OrderedSpace *space, const OrderedSet *set, bool at_last)
{
    switch (weir_ordered_state(set)) {
    case ORDERED_EMPTY: break;
    case ORDERED_INLINE: return weir_ordered_weight(set) > 0 ? inline_value(space, set) : NULL;
    case ORDERED_BLOCK: return block_end(space, set, at_last);
    case ORDERED_TREE: return tree_end(space, weir_ordered_tree(space, set), at_last);
    }
    return NULL;
}

const void *weir_ordered_set_min(OrderedSpace *space, const OrderedSet *set)
{
    return set_end(space, set, false);
}

const void *weir_ordered_set_max(OrderedSpace *space, const OrderedSet *set)
{
    return set_end(space, set, true);
}

int64_t weir_ordered_set_weight(const OrderedSpace *space, const OrderedSet *set)
{
    int64_t sum = 0;
    switch (weir_ordered_state(set)) {
    case ORDERED_EMPTY: break;
    case ORDERED_INLINE: return weir_ordered_weight(set);
    case ORDERED_BLOCK: {
        const OrderedBlock block = weir_ordered_block(space, set);
        for (uint32_t i = 0; i < block.count; i++) {
            sum += block.weights[i];
        }
        break;
    }
    case ORDERED_TREE: return weir_ordered_tree(space, set)->tree.weight;
    }
    return sum;
}

const void *weir_ordered_set_select(OrderedSpace *space, const OrderedSet *set, int64_t offset)
{
    if (offset < 0 || offset >= weir_ordered_set_weight(space, set)) {
        return NULL;
    }
    if (weir_ordered_state(set) == ORDERED_INLINE) {
        return inline_value(space, set);
    }
    if (weir_ordered_state(set) == ORDERED_BLOCK) {
        const OrderedBlock block = weir_ordered_block(space, set);
        uint32_t place = 0;
        while (offset >= block.weights[place]) {
            offset -= block.weights[place];
            place++;
        }
        WEIR_ASSERT(place < block.count);
        return block_value(space, &block, place);
    }
    OrderedTree *tree = weir_ordered_tree(space, set);
    BTreeEntry entry;
    const bool is_there = weir_btree_select(&space->trees, &tree->tree, offset, &entry);
    WEIR_ASSERT(is_there);
    return is_there ? tree_value(space, tree, &entry, 2) : NULL;
}

Status weir_ordered_set_verify(const OrderedSpace *space, const OrderedSet *set, Error *err)
{
    bool is_negative = false;
    switch (weir_ordered_state(set)) {
    case ORDERED_EMPTY: break;
    case ORDERED_INLINE: is_negative = weir_ordered_weight(set) < 0; break;
    case ORDERED_BLOCK: {
        const OrderedBlock block = weir_ordered_block(space, set);
        for (uint32_t i = 0; i < block.count; i++) {
            is_negative |= block.weights[i] < 0;
        }
        break;
    }
    case ORDERED_TREE: is_negative = weir_ordered_tree(space, set)->negative_count > 0; break;
    }
    if (is_negative) {
        return weir_error_set(err, WEIR_ERR_NEGATIVE, "a value was removed that was never there");
    }
    return WEIR_OK;
}

size_t weir_ordered_set_count(const OrderedSpace *space, const OrderedSet *set)
{
    switch (weir_ordered_state(set)) {
    case ORDERED_EMPTY: break;
    case ORDERED_INLINE: return 1;
    case ORDERED_BLOCK: return weir_ordered_block_count(set);
    case ORDERED_TREE: return weir_ordered_tree(space, set)->tree.count;
    }
    return 0;
}

static void free_tree_copies(OrderedSpace *space, const OrderedTree *tree)
{
    BTreeCursor cursor;
    BTreeEntry entry;
    weir_btree_seek_end(&space->trees, &tree->tree, false, &cursor);
    while (weir_btree_next(&space->trees, &cursor, &entry)) {
        weir_ordered_copy_free(space, entry.ref, false);
    }
}

void weir_ordered_set_clear(OrderedSpace *space, OrderedSet *set)
{
    const bool has_copies = space->kind == ORDERED_REF;
    switch (weir_ordered_state(set)) {
    case ORDERED_EMPTY: break;
    case ORDERED_INLINE:
        weir_ordered_copy_free(space, has_copies ? (uint32_t)set->words[1] : 0, false);
        break;
    case ORDERED_BLOCK: {
        const OrderedBlock block = weir_ordered_block(space, set);
        for (uint32_t i = 0; has_copies && i < block.count; i++) {
            weir_ordered_copy_free(space, block.refs[i], false);
        }
        weir_ordered_block_free(space, set);
        break;
    }
    case ORDERED_TREE: {
        OrderedTree *tree = weir_ordered_tree(space, set);
        if (has_copies) {
            free_tree_copies(space, tree);
        }
        weir_btree_clear(&space->trees, &tree->tree);
        weir_row_store_cancel(&space->store, weir_ordered_ref(set), sizeof *tree);
        break;
    }
    }
    *set = (OrderedSet){0};
}
