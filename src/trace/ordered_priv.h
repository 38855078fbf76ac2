/* ordered_priv.h: spaces, keys and blocks of ordered sets, for ordered_*.c.
 *
 * The handle's third word:
 *   bits 0-1    state
 *   bits 8-15   block: size class
 *   bits 16-23  block: number of entries
 *   bits 32-63  inline: weight (i32); block, tree: reference in the store
 * Inline, the first two words are the raw key; for referenced values prefix and reference. */
#ifndef WEIR_TRACE_ORDERED_PRIV_H
#define WEIR_TRACE_ORDERED_PRIV_H

#include "trace/btree.h"
#include "trace/ordered_set.h"

typedef enum OrderedState {
    ORDERED_EMPTY,
    ORDERED_INLINE,
    ORDERED_BLOCK,
    ORDERED_TREE,
} OrderedState;

/* How the values of a space are kept. */
typedef enum OrderedKind {
    ORDERED_WORD, /* up to 8 bytes: extended to a word */
    ORDERED_WIDE, /* 16 bytes, low word first, or a word and its order */
    ORDERED_REF,  /* a word that orders roughly, and a copy in the store */
} OrderedKind;

enum {
    ORDERED_CLASS_COUNT = 14,
    ORDERED_BLOCK_MAX = 128, /* entries; more are a tree */
};

struct OrderedSpace {
    Mem *mem;                /* borrowed */
    const LogicalType *type; /* borrowed */
    OrderedKind kind;
    uint64_t flip; /* raw key -> order: see weir_ordered_order */
    uint64_t negative_mask;
    uint32_t key_words;                       /* of a block entry: 1, or 2 for wide ones */
    uint32_t first_class;                     /* the smallest that has room for two */
    uint16_t capacities[ORDERED_CLASS_COUNT]; /* entries of a block by class */
    RowStore store;                           /* blocks, copies of values, tree records */
    BTreeSpace trees;
};

/* A set that is a tree, in the store. */
typedef struct OrderedTree {
    BTree tree;
    size_t negative_count;              /* entries */
    uint64_t shown[3][BTREE_WORDS_MAX]; /* what min, max, select returned last, raw */
    RowRef loaded;                      /* the last piece of the list of loaded values; 0 = there is
                                           none, else the tree is empty */
    uint64_t loaded_weight;             /* of the list, without signs: at most INT32_MAX */
    size_t loaded_count;                /* values */
    size_t next_check;                  /* of them, at which the list is sorted */
} OrderedTree;

/* A value on its way into a set. */
typedef struct OrderedKey {
    BTreeKey order;
    uint64_t raw[BTREE_WORDS_MAX]; /* as kept in handles and blocks */
} OrderedKey;

/* A block's arrays. */
typedef struct OrderedBlock {
    uint64_t *keys;   /* key_words each, raw */
    uint32_t *refs;   /* of referenced values only */
    int32_t *weights; /* not 0 */
    uint32_t count;
    uint32_t capacity;
} OrderedBlock;

static inline OrderedState weir_ordered_state(const OrderedSet *set)
{
    return (OrderedState)(set->words[2] & 3);
}

static inline uint32_t weir_ordered_ref(const OrderedSet *set)
{
    return (uint32_t)(set->words[2] >> 32);
}

static inline int32_t weir_ordered_weight(const OrderedSet *set)
{
    return (int32_t)(uint32_t)(set->words[2] >> 32);
}

static inline uint32_t weir_ordered_class(const OrderedSet *set)
{
    return (uint32_t)(set->words[2] >> 8) & 0xff;
}

static inline uint32_t weir_ordered_block_count(const OrderedSet *set)
{
    return (uint32_t)(set->words[2] >> 16) & 0xff;
}

static inline uint64_t weir_ordered_block_word(uint32_t ref, uint32_t class, uint32_t count)
{
    return (uint64_t)ref << 32 | (uint64_t)count << 16 | (uint64_t) class << 8 | ORDERED_BLOCK;
}

static inline OrderedTree *weir_ordered_tree(const OrderedSpace *space, const OrderedSet *set)
{
    WEIR_ASSERT(weir_ordered_state(set) == ORDERED_TREE);
    return (OrderedTree *)(void *)weir_row_at(&space->store, weir_ordered_ref(set));
}

/* Raw word -> unsigned order. Signed integers: sign flipped; floats: all bits of negatives. */
static inline uint64_t weir_ordered_order(uint64_t raw, uint64_t flip, uint64_t negative_mask)
{
    return raw ^ ((0 - (raw >> 63)) & negative_mask) ^ flip;
}

static inline OrderedBlock weir_ordered_block(const OrderedSpace *space, const OrderedSet *set)
{
    OrderedBlock block = {
        .keys = (uint64_t *)(void *)weir_row_at(&space->store, weir_ordered_ref(set)),
        .count = weir_ordered_block_count(set),
        .capacity = space->capacities[weir_ordered_class(set)],
    };
    uint32_t *rest = (uint32_t *)(void *)(block.keys + (size_t)block.capacity * space->key_words);
    if (space->kind == ORDERED_REF) {
        block.refs = rest;
        rest += block.capacity;
    }
    block.weights = (int32_t *)(void *)rest;
    return block;
}

/* Changes the form of a tree that has few entries, or none. */
void weir_ordered_tree_shrink(OrderedSpace *space, OrderedSet *set);

/* Decides how values of the space's type are kept. */
void weir_ordered_space_shape(OrderedSpace *space);
void weir_ordered_key_load(const OrderedSpace *space, const void *value, OrderedKey *key);

/* The raw key of an entry of a tree. */
void weir_ordered_key_decode(const OrderedSpace *space, const uint64_t *order, uint64_t *raw);

/* <0, 0, >0: a value against a copy; 0 only if their bytes are equal. A BTreeCompare on the space. */
int weir_ordered_compare(const void *space, const void *value, uint32_t ref);

/* Copies a referenced value into the store; *ref = 0 for other kinds. */
Status weir_ordered_copy_new(OrderedSpace *space, const void *value, uint32_t *ref, Error *err)
    WEIR_MUST_CHECK;

/* Forgets a copy at the end of the step, or at once if nobody has seen it. 0 is allowed. */
void weir_ordered_copy_free(OrderedSpace *space, uint32_t ref, bool at_once);

/* Place of the key in the block; *is_there = an entry with this key is at it. */
uint32_t weir_ordered_block_find(const OrderedSpace *space, const OrderedBlock *block,
                                 const OrderedKey *key, bool *is_there);

/* The smallest class with room for count entries. */
uint32_t weir_ordered_class_for(const OrderedSpace *space, size_t count);

/* Makes the set an empty block of the class; the handle's old content is the caller's. */
Status weir_ordered_block_new(OrderedSpace *space, uint32_t class, OrderedSet *out, Error *err)
    WEIR_MUST_CHECK;
void weir_ordered_block_free(OrderedSpace *space, const OrderedSet *set);

/* Inserts an entry at a place; the block grows if it has to. On failure nothing has changed. */
Status weir_ordered_block_insert(OrderedSpace *space, OrderedSet *set, uint32_t place,
                                 const BTreeEntry *raw_entry, Error *err) WEIR_MUST_CHECK;

/* Removes the entry; the block shrinks if it is much too large and memory allows. */
void weir_ordered_block_remove(OrderedSpace *space, OrderedSet *set, uint32_t place);

#endif
