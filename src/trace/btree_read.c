/* btree_read.c: rank, select and walking of counted B+trees. */
#include "trace/btree_priv.h"

int64_t weir_btree_rank(const BTreeSpace *space, const BTree *tree, const BTreeKey *key)
{
    if (tree->root == 0) {
        return 0;
    }
    BTreeCursor cursor;
    weir_btree_descend(space, tree, key, &cursor);
    int64_t rank = 0;
    for (uint32_t level = 0; level <= cursor.height; level++) {
        const int64_t *counts =
            weir_btree_counts(space, weir_btree_node(space, cursor.nodes[level]));
        for (uint32_t i = 0; i < cursor.places[level]; i++) {
            weir_btree_count_add(&rank, counts[i]);
        }
    }
    return rank;
}

static void read_entry(const BTreeSpace *space, BTreeNode *leaf, uint32_t place, BTreeEntry *entry)
{
    *entry = (BTreeEntry){
        .ref = weir_btree_refs(space, leaf)[place],
        .weight = weir_btree_counts(space, leaf)[place],
    };
    weir_btree_read_key(space, leaf, place, entry->words);
}

bool weir_btree_select(const BTreeSpace *space, const BTree *tree, int64_t offset,
                       BTreeEntry *entry)
{
    if (offset < 0 || offset >= tree->weight) {
        return false;
    }
    BTreeNode *node = weir_btree_node(space, tree->root);
    for (;;) {
        const int64_t *counts = weir_btree_counts(space, node);
        uint32_t place = 0;
        while (place + 1 < node->count && offset >= counts[place]) {
            offset -= counts[place];
            place++;
        }
        if (node->is_leaf) {
            read_entry(space, node, place, entry);
            return true;
        }
        node = weir_btree_node(space, weir_btree_refs(space, node)[place]);
    }
}

/* Fills the levels below `level` with the first, or last, way down. */
static void cursor_descend(const BTreeSpace *space, BTreeCursor *cursor, uint32_t level,
                           bool at_last)
{
    for (uint32_t below = level; below > 0; below--) {
        BTreeNode *node = weir_btree_node(space, cursor->nodes[below]);
        const RowRef child = weir_btree_refs(space, node)[cursor->places[below]];
        const uint32_t count = weir_btree_node(space, child)->count;
        cursor->nodes[below - 1] = child;
        cursor->places[below - 1] = at_last ? count - (below > 1 ? 1 : 0) : 0;
    }
}

void weir_btree_seek_end(const BTreeSpace *space, const BTree *tree, bool at_last,
                         BTreeCursor *cursor)
{
    *cursor = (BTreeCursor){.height = tree->height};
    cursor->nodes[tree->height] = tree->root;
    if (tree->root == 0) {
        return;
    }
    if (at_last) {
        const uint32_t count = weir_btree_node(space, tree->root)->count;
        cursor->places[tree->height] = count - (tree->height > 0 ? 1 : 0);
    }
    cursor_descend(space, cursor, tree->height, at_last);
}

bool weir_btree_next(const BTreeSpace *space, BTreeCursor *cursor, BTreeEntry *entry)
{
    if (cursor->nodes[0] == 0) {
        return false;
    }
    if (cursor->places[0] == weir_btree_node(space, cursor->nodes[0])->count) {
        uint32_t level = 1;
        while (level <= cursor->height &&
               cursor->places[level] + 1 == weir_btree_node(space, cursor->nodes[level])->count) {
            level++;
        }
        if (level > cursor->height) {
            return false;
        }
        cursor->places[level]++;
        cursor_descend(space, cursor, level, false);
    }
    read_entry(space, weir_btree_node(space, cursor->nodes[0]), cursor->places[0], entry);
    cursor->places[0]++;
    return true;
}

bool weir_btree_previous(const BTreeSpace *space, BTreeCursor *cursor, BTreeEntry *entry)
{
    if (cursor->nodes[0] == 0) {
        return false;
    }
    if (cursor->places[0] == 0) {
        uint32_t level = 1;
        while (level <= cursor->height && cursor->places[level] == 0) {
            level++;
        }
        if (level > cursor->height) {
            return false;
        }
        cursor->places[level]--;
        cursor_descend(space, cursor, level, true);
    }
    cursor->places[0]--;
    read_entry(space, weir_btree_node(space, cursor->nodes[0]), cursor->places[0], entry);
    return true;
}

void weir_btree_clear(BTreeSpace *space, BTree *tree)
{
    /* Depth first; a node is freed when the walk leaves it. */
    BTreeCursor walk = {.height = tree->height};
    uint32_t level = tree->height;
    walk.nodes[level] = tree->root;
    while (tree->root != 0) {
        BTreeNode *node = weir_btree_node(space, walk.nodes[level]);
        if (level > 0 && walk.places[level] < node->count) {
            const RowRef child = weir_btree_refs(space, node)[walk.places[level]];
            walk.places[level]++;
            level--;
            walk.nodes[level] = child;
            walk.places[level] = 0;
            continue;
        }
        weir_btree_node_free(space, walk.nodes[level]);
        if (level == tree->height) {
            break;
        }
        level++;
    }
    *tree = (BTree){0};
}
