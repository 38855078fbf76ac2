/* btree.c: counted B+trees.
 *
 * Node, 1 KB:
 *   0   u16 count, u16 is_leaf, zero up to 24
 *   24  keys    capacity * key_words u64
 *   ..  counts  capacity i64: weight of the entry, or summed weight of the child
 *   ..  refs    capacity u32: reference of the entry, or child node
 *
 * keys[j] of an inner node, j > 0: no entry of child j has smaller words, no entry of child j - 1
 * larger ones; keys[0] means nothing. If there is a callback, a tie of words is decided by the
 * first entry of child j itself: separators keep no references, so they cannot dangle.
 *
 * An insert reserves the nodes it will need before it changes anything. Nodes split in the middle,
 * or 7/8 when the tree grows at its right end; a node below 1/4 merges with a neighbour if both fit
 * into 3/4. */
#include "trace/btree_priv.h"

#include "base/checked.h"

Status weir_btree_space_init(BTreeSpace *space, Mem *mem, PagePool *pool, uint32_t key_words,
                             Error *err)
{
    WEIR_ASSERT(key_words >= 1 && key_words <= BTREE_WORDS_MAX);
    *space = (BTreeSpace){.key_words = key_words};
    space->capacity = (BTREE_NODE_BYTES - BTREE_HEAD_BYTES) / (8 * key_words + 8 + 4);
    return weir_row_store_init(&space->nodes, mem, pool, err);
}

void weir_btree_space_deinit(BTreeSpace *space)
{
    weir_row_store_deinit(&space->nodes);
}

size_t weir_btree_space_bytes(const BTreeSpace *space)
{
    return weir_row_store_bytes(&space->nodes);
}

/* --- searching ---------------------------------------------------------------------------------- */

/* How many of keys[0, count) are smaller than the words; or_equal counts equal ones as well. */
static uint32_t count_before(const BTreeSpace *space, const uint64_t *keys, uint32_t count,
                             const uint64_t *words, bool or_equal)
{
    uint32_t base = 0;
    uint32_t left = count;
    if (space->key_words == 1) {
        /* keys < key, or keys <= key; as one comparison unless the key is the largest */
        if (or_equal && words[0] == UINT64_MAX) {
            return count;
        }
        const uint64_t key = words[0] + (or_equal ? 1 : 0);
        while (left > 0) {
            const uint32_t half = (left + 1) / 2;
            base = keys[base + half - 1] < key ? base + half : base;
            left -= half;
        }
        return base;
    }
    const u128 key = (u128)words[0] << 64 | words[1];
    while (left > 0) {
        const uint32_t half = (left + 1) / 2;
        const uint64_t *at = keys + 2 * (size_t)(base + half - 1);
        const u128 probed = (u128)at[0] << 64 | at[1];
        base = (or_equal ? probed <= key : probed < key) ? base + half : base;
        left -= half;
    }
    return base;
}

/* The reference of the first entry below a node. */
static uint32_t first_ref(const BTreeSpace *space, RowRef ref)
{
    BTreeNode *node = weir_btree_node(space, ref);
    while (!node->is_leaf) {
        node = weir_btree_node(space, weir_btree_refs(space, node)[0]);
    }
    return weir_btree_refs(space, node)[0];
}

/* Narrows [low, high), entries with the key's words, to the first one whose value is >= (> if
 * or_equal) the key's. */
static uint32_t break_tie(const BTreeSpace *space, BTreeNode *node, const BTreeKey *key,
                          uint32_t low, uint32_t high, bool or_equal)
{
    const uint32_t *refs = weir_btree_refs(space, node);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const uint32_t ref = node->is_leaf ? refs[middle] : first_ref(space, refs[middle]);
        const int order = space->compare(space->context, key->value, ref);
        if (order > 0 || (or_equal && order == 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The child that the key belongs to. */
static uint32_t find_child(const BTreeSpace *space, BTreeNode *node, const BTreeKey *key)
{
    const uint64_t *keys = node->keys + space->key_words;
    const uint32_t count = node->count - 1u;
    const uint32_t high = count_before(space, keys, count, key->words, true);
    if (space->compare == NULL) {
        return high;
    }
    const uint32_t low = count_before(space, keys, count, key->words, false);
    return break_tie(space, node, key, low + 1, high + 1, true) - 1;
}

/* The place of the key in a leaf. */
static uint32_t find_place(const BTreeSpace *space, BTreeNode *leaf, const BTreeKey *key)
{
    const uint32_t low = count_before(space, leaf->keys, leaf->count, key->words, false);
    if (space->compare == NULL) {
        return low;
    }
    const uint32_t high = count_before(space, leaf->keys, leaf->count, key->words, true);
    return break_tie(space, leaf, key, low, high, false);
}

/* All lines with keys at once: a search that jumps without branches would wait for one after the
 * other. */
static void node_prefetch(const BTreeSpace *space, const BTreeNode *node)
{
    const size_t end = BTREE_HEAD_BYTES + sizeof(uint64_t) * space->capacity * space->key_words;
    for (size_t at = 0; at < end; at += 64) {
        __builtin_prefetch((const char *)node + at);
    }
}

void weir_btree_descend(const BTreeSpace *space, const BTree *tree, const BTreeKey *key,
                        BTreeCursor *cursor)
{
    RowRef ref = tree->root;
    cursor->height = tree->height;
    for (uint32_t level = tree->height; level > 0; level--) {
        BTreeNode *node = weir_btree_node(space, ref);
        const uint32_t place = find_child(space, node, key);
        cursor->nodes[level] = ref;
        cursor->places[level] = place;
        ref = weir_btree_refs(space, node)[place];
        node_prefetch(space, weir_btree_node(space, ref));
    }
    cursor->nodes[0] = ref;
    cursor->places[0] = find_place(space, weir_btree_node(space, ref), key);
}

/* True if the cursor, descended to by the key, stands on its entry. */
static bool is_at_key(const BTreeSpace *space, const BTreeCursor *cursor, const BTreeKey *key)
{
    BTreeNode *leaf = weir_btree_node(space, cursor->nodes[0]);
    const uint32_t place = cursor->places[0];
    if (place == leaf->count) {
        return false;
    }
    uint64_t words[BTREE_WORDS_MAX];
    weir_btree_read_key(space, leaf, place, words);
    return words[0] == key->words[0] && (space->key_words == 1 || words[1] == key->words[1]) &&
           (space->compare == NULL ||
            space->compare(space->context, key->value, weir_btree_refs(space, leaf)[place]) == 0);
}

/* --- moving entries ----------------------------------------------------------------------------- */

/* Copies count entries between nodes, or within one. */
static void node_move(const BTreeSpace *space, BTreeNode *to, uint32_t to_place, BTreeNode *from,
                      uint32_t from_place, uint32_t count)
{
    const size_t words = space->key_words;
    memmove(to->keys + to_place * words, from->keys + from_place * words,
            count * words * sizeof(uint64_t));
    memmove(weir_btree_counts(space, to) + to_place, weir_btree_counts(space, from) + from_place,
            count * sizeof(int64_t));
    memmove(weir_btree_refs(space, to) + to_place, weir_btree_refs(space, from) + from_place,
            count * sizeof(uint32_t));
}

static void node_insert(const BTreeSpace *space, BTreeNode *node, uint32_t place,
                        const BTreeEntry *entry)
{
    WEIR_ASSERT(node->count < space->capacity && place <= node->count);
    node_move(space, node, place + 1, node, place, node->count - place);
    weir_btree_write_key(space, node, place, entry->words);
    weir_btree_counts(space, node)[place] = entry->weight;
    weir_btree_refs(space, node)[place] = entry->ref;
    node->count++;
}

static void node_remove(const BTreeSpace *space, BTreeNode *node, uint32_t place)
{
    WEIR_ASSERT(place < node->count);
    node->count--;
    node_move(space, node, place, node, place + 1, node->count - place);
}

static int64_t node_weight(const BTreeSpace *space, BTreeNode *node)
{
    const int64_t *counts = weir_btree_counts(space, node);
    int64_t sum = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        weir_btree_count_add(&sum, counts[i]);
    }
    return sum;
}

/* --- inserting ---------------------------------------------------------------------------------- */

/* New nodes: one per full node of the path, one more if the root is full or there is none. */
static Status reserve_nodes(BTreeSpace *space, const BTree *tree, const BTreeCursor *cursor,
                            RowRef *spares, Error *err)
{
    Row *rows[BTREE_HEIGHT_MAX + 1];
    size_t count = 0;
    if (tree->root != 0) {
        while (count <= tree->height &&
               weir_btree_node(space, cursor->nodes[count])->count == space->capacity) {
            count++;
        }
    }
    if (tree->root == 0 || count > tree->height) {
        count++;
    }
    if (count > tree->height + 1u && tree->height + 1u >= BTREE_HEIGHT_MAX) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "an ordered index of more than %d levels",
                              BTREE_HEIGHT_MAX);
    }
    return weir_row_store_alloc(&space->nodes, NULL, BTREE_NODE_BYTES, count, spares, rows, err);
}

static BTreeNode *node_init(const BTreeSpace *space, RowRef ref, bool is_leaf)
{
    BTreeNode *node = weir_btree_node(space, ref);
    memset(node, 0, BTREE_NODE_BYTES);
    node->is_leaf = is_leaf;
    return node;
}

/* Splits a full node and puts the entry into one of the halves. promoted becomes the right half's
 * entry in the parent. */
static void split_and_insert(const BTreeSpace *space, RowRef left_ref, RowRef right_ref,
                             uint32_t place, const BTreeEntry *entry, BTreeEntry *promoted)
{
    BTreeNode *left = weir_btree_node(space, left_ref);
    BTreeNode *right = node_init(space, right_ref, left->is_leaf);
    const uint32_t capacity = space->capacity;
    const uint32_t middle = place == capacity ? capacity * 7 / 8 : capacity / 2;
    right->count = (uint16_t)(capacity - middle);
    node_move(space, right, 0, left, middle, right->count);
    left->count = (uint16_t)middle;
    if (place <= middle) {
        node_insert(space, left, place, entry);
    } else {
        node_insert(space, right, place - middle, entry);
    }
    *promoted = (BTreeEntry){.ref = right_ref, .weight = node_weight(space, right)};
    weir_btree_read_key(space, right, 0, promoted->words);
}

/* A root above the old one and its new neighbour. */
static void grow_root(const BTreeSpace *space, BTree *tree, RowRef ref, const BTreeEntry *promoted)
{
    BTreeNode *root = node_init(space, ref, false);
    const BTreeEntry old = {
        .ref = tree->root,
        .weight = node_weight(space, weir_btree_node(space, tree->root)),
    };
    node_insert(space, root, 0, &old);
    node_insert(space, root, 1, promoted);
    tree->root = ref;
    tree->height++;
}

/* Puts the entry at the cursor; the nodes are there. Weights of inner nodes are brought up to date
 * on the way. */
static void insert_at(const BTreeSpace *space, BTree *tree, const BTreeCursor *cursor,
                      const BTreeEntry *entry, const RowRef *spares)
{
    BTreeEntry pending = *entry;
    bool is_pending = true;
    size_t used = 0;
    for (uint32_t level = 0; level <= cursor->height; level++) {
        const RowRef ref = cursor->nodes[level];
        BTreeNode *node = weir_btree_node(space, ref);
        uint32_t place = cursor->places[level];
        if (level > 0) {
            BTreeNode *child = weir_btree_node(space, cursor->nodes[level - 1]);
            if (is_pending) { /* the child was split */
                weir_btree_counts(space, node)[place] = node_weight(space, child);
                place++;
            } else {
                weir_btree_count_add(&weir_btree_counts(space, node)[place], entry->weight);
            }
        }
        if (is_pending && node->count < space->capacity) {
            node_insert(space, node, place, &pending);
            is_pending = false;
        } else if (is_pending) {
            BTreeEntry promoted;
            split_and_insert(space, ref, spares[used], place, &pending, &promoted);
            used++;
            pending = promoted;
        }
    }
    if (is_pending) {
        grow_root(space, tree, spares[used], &pending);
    }
}

static Status insert_entry(BTreeSpace *space, BTree *tree, const BTreeCursor *cursor,
                           const BTreeEntry *entry, Error *err)
{
    RowRef spares[BTREE_HEIGHT_MAX + 1];
    WEIR_TRY(reserve_nodes(space, tree, cursor, spares, err));
    if (tree->root == 0) {
        tree->root = spares[0];
        node_insert(space, node_init(space, tree->root, true), 0, entry);
    } else {
        insert_at(space, tree, cursor, entry, spares);
    }
    tree->count++;
    return WEIR_OK;
}

/* --- removing ----------------------------------------------------------------------------------- */

/* Moves child `right` of the parent into the child before it. */
static void merge_children(BTreeSpace *space, BTreeNode *parent, uint32_t right)
{
    uint32_t *refs = weir_btree_refs(space, parent);
    int64_t *counts = weir_btree_counts(space, parent);
    BTreeNode *to = weir_btree_node(space, refs[right - 1]);
    BTreeNode *from = weir_btree_node(space, refs[right]);
    const size_t words = space->key_words;
    if (!from->is_leaf) { /* its first key meant nothing until now */
        memcpy(from->keys, parent->keys + right * words, words * sizeof(uint64_t));
    }
    node_move(space, to, to->count, from, 0, from->count);
    to->count = (uint16_t)(to->count + from->count);
    weir_btree_count_add(&counts[right - 1], counts[right]);
    weir_btree_node_free(space, refs[right]);
    node_remove(space, parent, right);
}

/* Merges child `place` with a neighbour if it has become small and both fit. */
static void mend_child(BTreeSpace *space, BTreeNode *parent, uint32_t place)
{
    const uint32_t *refs = weir_btree_refs(space, parent);
    const uint32_t count = weir_btree_node(space, refs[place])->count;
    if (count == 0) {
        weir_btree_node_free(space, refs[place]);
        node_remove(space, parent, place);
        return;
    }
    if (count >= space->capacity / 4) {
        return;
    }
    const uint32_t limit = space->capacity * 3 / 4;
    if (place > 0 && count + weir_btree_node(space, refs[place - 1])->count <= limit) {
        merge_children(space, parent, place);
    } else if (place + 1 < parent->count &&
               count + weir_btree_node(space, refs[place + 1])->count <= limit) {
        merge_children(space, parent, place + 1);
    }
}

static void remove_at(BTreeSpace *space, BTree *tree, const BTreeCursor *cursor)
{
    node_remove(space, weir_btree_node(space, cursor->nodes[0]), cursor->places[0]);
    for (uint32_t level = 1; level <= cursor->height; level++) {
        mend_child(space, weir_btree_node(space, cursor->nodes[level]), cursor->places[level]);
    }
    BTreeNode *root = weir_btree_node(space, tree->root);
    while (!root->is_leaf && root->count == 1) {
        const RowRef child = weir_btree_refs(space, root)[0];
        weir_btree_node_free(space, tree->root);
        tree->root = child;
        tree->height--;
        root = weir_btree_node(space, child);
    }
    tree->count--;
    if (root->count == 0) {
        WEIR_ASSERT(tree->count == 0);
        weir_btree_node_free(space, tree->root);
        *tree = (BTree){0};
    }
}

/* --- public ------------------------------------------------------------------------------------- */

/* Adds weight to the path of an entry that is there; removes it if nothing is left. */
static void change_entry(BTreeSpace *space, BTree *tree, const BTreeCursor *cursor, int64_t weight,
                         int64_t after)
{
    for (uint32_t level = 1; level <= cursor->height; level++) {
        BTreeNode *node = weir_btree_node(space, cursor->nodes[level]);
        weir_btree_count_add(&weir_btree_counts(space, node)[cursor->places[level]], weight);
    }
    weir_btree_counts(space, weir_btree_node(space, cursor->nodes[0]))[cursor->places[0]] = after;
    if (after == 0) {
        remove_at(space, tree, cursor);
    }
}

static Status weight_error(Error *err)
{
    return weir_error_set(err, WEIR_ERR_WEIGHT, "the values of a group weigh too much");
}

Status weir_btree_add(BTreeSpace *space, BTree *tree, const BTreeKey *key, uint32_t ref,
                      int64_t weight, BTreeChange *change, Error *err)
{
    WEIR_ASSERT(weight != 0);
    *change = (BTreeChange){.after = weight, .ref = ref};
    BTreeCursor cursor = {.height = tree->height};
    bool is_there = false;
    if (tree->root != 0) {
        weir_btree_descend(space, tree, key, &cursor);
        is_there = is_at_key(space, &cursor, key);
    }
    if (is_there) {
        BTreeNode *leaf = weir_btree_node(space, cursor.nodes[0]);
        change->ref = weir_btree_refs(space, leaf)[cursor.places[0]];
        change->before = weir_btree_counts(space, leaf)[cursor.places[0]];
    }
    int64_t total = 0;
    bool overflows = weir_add_i64(change->before, weight, &change->after);
    overflows |= weir_add_i64(tree->weight, weight, &total);
    if (overflows) {
        return weight_error(err);
    }
    if (is_there) {
        tree->weight = total;
        change_entry(space, tree, &cursor, weight, change->after);
        return WEIR_OK;
    }
    BTreeEntry entry = {.ref = ref, .weight = weight};
    memcpy(entry.words, key->words, sizeof entry.words);
    WEIR_TRY(insert_entry(space, tree, &cursor, &entry, err));
    tree->weight = total;
    return WEIR_OK;
}

/* Fills the leaf of a cursor that stands at its end. Returns how many entries it had room for. */
static size_t fill_leaf(const BTreeSpace *space, BTree *tree, const BTreeCursor *cursor,
                        const BTreeEntry *entries, size_t count)
{
    BTreeNode *leaf = weir_btree_node(space, cursor->nodes[0]);
    const size_t filled = WEIR_MIN(count, (size_t)(space->capacity - leaf->count));
    int64_t weight = 0;
    for (size_t i = 0; i < filled; i++) {
        weir_btree_write_key(space, leaf, leaf->count, entries[i].words);
        weir_btree_counts(space, leaf)[leaf->count] = entries[i].weight;
        weir_btree_refs(space, leaf)[leaf->count] = entries[i].ref;
        weir_btree_count_add(&weight, entries[i].weight);
        leaf->count++;
    }
    for (uint32_t level = 1; level <= cursor->height; level++) {
        BTreeNode *node = weir_btree_node(space, cursor->nodes[level]);
        weir_btree_count_add(&weir_btree_counts(space, node)[cursor->places[level]], weight);
    }
    tree->count += filled;
    return filled;
}

Status weir_btree_append(BTreeSpace *space, BTree *tree, const BTreeEntry *entries, size_t count,
                         Error *err)
{
    int64_t total = tree->weight;
    for (size_t i = 0; i < count; i++) {
        if (weir_add_i64(total, entries[i].weight, &total)) {
            return weight_error(err);
        }
    }
    for (size_t i = 0; i < count;) {
        BTreeCursor cursor;
        weir_btree_seek_end(space, tree, true, &cursor);
        const size_t filled =
            tree->root == 0 ? 0 : fill_leaf(space, tree, &cursor, entries + i, count - i);
        if (filled == 0) {
            WEIR_TRY(insert_entry(space, tree, &cursor, &entries[i], err));
        }
        i += WEIR_MAX(filled, (size_t)1);
    }
    tree->weight = total;
    return WEIR_OK;
}
