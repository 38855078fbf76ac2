/* btree.h: counted B+trees: entries in order, each with a weight; rank and select in O(log n).
 *
 * A key is one or two 64-bit words, compared as unsigned integers, most significant first; entries
 * with equal words may be told apart by a callback on their references. Nodes are 1 KB, shared by
 * all trees of a space. Inner nodes keep the summed weight of each child. */
#ifndef WEIR_TRACE_BTREE_H
#define WEIR_TRACE_BTREE_H

#include "trace/row_store.h"

enum { BTREE_WORDS_MAX = 2, BTREE_HEIGHT_MAX = 12 };

typedef struct BTreeKey {
    uint64_t words[BTREE_WORDS_MAX];
    const void *value; /* for the callback; borrowed */
} BTreeKey;

typedef struct BTreeEntry {
    uint64_t words[BTREE_WORDS_MAX];
    uint32_t ref;
    int64_t weight;
} BTreeEntry;

/* <0, 0, >0: the value of a key against the value behind a reference. Its order must be that of the
 * words where they differ. */
typedef int (*BTreeCompare)(const void *context, const void *value, uint32_t ref);

typedef struct BTreeSpace {
    RowStore nodes;
    uint32_t key_words;   /* 1 or 2 */
    uint32_t capacity;    /* entries of a node */
    BTreeCompare compare; /* NULL: words are the whole key */
    const void *context;  /* of compare; borrowed */
} BTreeSpace;

/* All zero is an empty tree. */
typedef struct BTree {
    RowRef root;
    uint32_t height; /* levels above the leaves */
    size_t count;    /* entries */
    int64_t weight;  /* sum */
} BTree;

Status weir_btree_space_init(BTreeSpace *space, Mem *mem, PagePool *pool, uint32_t key_words,
                             Error *err) WEIR_MUST_CHECK;
void weir_btree_space_deinit(BTreeSpace *space); /* and every tree in it */
size_t weir_btree_space_bytes(const BTreeSpace *space);

/* What an add did: before and after are the entry's weight, 0 = it was, is not there. ref is that of
 * the entry, which is not the given one if the entry was there. */
typedef struct BTreeChange {
    int64_t before;
    int64_t after;
    uint32_t ref;
} BTreeChange;

/* Adds weight (not 0) to the entry of the key, made with the given ref if it is missing, removed if
 * its weight becomes 0. On failure nothing has changed. WEIR_ERR_WEIGHT: a sum leaves its range. */
Status weir_btree_add(BTreeSpace *space, BTree *tree, const BTreeKey *key, uint32_t ref,
                      int64_t weight, BTreeChange *change, Error *err) WEIR_MUST_CHECK;

/* Adds entries, of weights that are not 0, behind all others: their keys rise, and are larger than
 * those that are there. Fails as weir_btree_add does, with a part of them added. */
Status weir_btree_append(BTreeSpace *space, BTree *tree, const BTreeEntry *entries, size_t count,
                         Error *err) WEIR_MUST_CHECK;

/* Summed weight of the entries before the key. */
int64_t weir_btree_rank(const BTreeSpace *space, const BTree *tree, const BTreeKey *key);

/* The first entry such that it and those before it weigh more than `offset`; all weights must be
 * positive. False if the whole tree weighs no more. */
bool weir_btree_select(const BTreeSpace *space, const BTree *tree, int64_t offset,
                       BTreeEntry *entry);

/* A place between entries; valid until the tree changes. */
typedef struct BTreeCursor {
    uint32_t height;
    RowRef nodes[BTREE_HEIGHT_MAX]; /* by level, leaf first */
    uint32_t places[BTREE_HEIGHT_MAX];
} BTreeCursor;

/* Before the first entry, or behind the last one. */
void weir_btree_seek_end(const BTreeSpace *space, const BTree *tree, bool at_last,
                         BTreeCursor *cursor);

/* Reads the entry behind the cursor and steps over it; the previous one if backwards. False at the
 * end. */
bool weir_btree_next(const BTreeSpace *space, BTreeCursor *cursor, BTreeEntry *entry);
bool weir_btree_previous(const BTreeSpace *space, BTreeCursor *cursor, BTreeEntry *entry);

/* Gives back all nodes. */
void weir_btree_clear(BTreeSpace *space, BTree *tree);

#endif
