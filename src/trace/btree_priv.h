/* btree_priv.h: the node of a counted B+tree. See btree.c. */
#ifndef WEIR_TRACE_BTREE_PRIV_H
#define WEIR_TRACE_BTREE_PRIV_H

#include "trace/btree.h"

enum { BTREE_NODE_BYTES = 1024, BTREE_HEAD_BYTES = 24 };

typedef struct BTreeNode {
    uint16_t count;
    uint16_t is_leaf;
    uint32_t unused[5];
    uint64_t keys[(BTREE_NODE_BYTES - BTREE_HEAD_BYTES) / 8]; /* and counts and refs */
} BTreeNode;

_Static_assert(sizeof(BTreeNode) == BTREE_NODE_BYTES, "size of a node");
_Static_assert(offsetof(BTreeNode, keys) == BTREE_HEAD_BYTES, "keys begin behind the head");

static inline BTreeNode *weir_btree_node(const BTreeSpace *space, RowRef ref)
{
    return (BTreeNode *)(void *)weir_row_at(&space->nodes, ref);
}

static inline int64_t *weir_btree_counts(const BTreeSpace *space, BTreeNode *node)
{
    return (int64_t *)(void *)(node->keys + (size_t)space->capacity * space->key_words);
}

static inline uint32_t *weir_btree_refs(const BTreeSpace *space, BTreeNode *node)
{
    return (uint32_t *)(void *)(weir_btree_counts(space, node) + space->capacity);
}

/* Keys have one word or two: tests instead of calls of memcpy and memcmp. */
static inline void weir_btree_read_key(const BTreeSpace *space, const BTreeNode *node,
                                       uint32_t place, uint64_t *words)
{
    const uint64_t *key = node->keys + (size_t)place * space->key_words;
    words[0] = key[0];
    words[1] = space->key_words == 2 ? key[1] : 0;
}

static inline void weir_btree_write_key(const BTreeSpace *space, BTreeNode *node, uint32_t place,
                                        const uint64_t *words)
{
    uint64_t *key = node->keys + (size_t)place * space->key_words;
    key[0] = words[0];
    if (space->key_words == 2) {
        key[1] = words[1];
    }
}

/* Weights of inner nodes wrap: sums of parts may leave the range within a step, the whole does not,
 * and with positive weights no part does. */
static inline void weir_btree_count_add(int64_t *count, int64_t weight)
{
    *count = (int64_t)((uint64_t)*count + (uint64_t)weight);
}

static inline void weir_btree_node_free(BTreeSpace *space, RowRef ref)
{
    weir_row_store_cancel(&space->nodes, ref, BTREE_NODE_BYTES);
}

/* From the root to the place of the key; the tree is not empty. */
void weir_btree_descend(const BTreeSpace *space, const BTree *tree, const BTreeKey *key,
                        BTreeCursor *cursor);

#endif
