/* ordered_load.c: filling ordered sets.
 *
 * Values loaded into a tree are only listed, in pieces. Settling sorts the list, adds up equal
 * values and builds the tree from its left end. Equal values take room until then: a list that has
 * doubled since it was sorted last is sorted, and keeps one of each.
 *
 * Sorting is by the words of the keys, a byte at a time, of those bytes that differ at all; strings
 * whose words are equal then by the word behind what they have in common; and what is left is merged
 * by comparing values. */
#include "base/codec.h"
#include "trace/ordered_priv.h"

enum {
    PIECE_VALUES = 63,   /* with the head nearly 1 KB */
    LOADED_CHECK = 4096, /* values at which equal ones are first looked for */
    TREE_LOADED = 256,   /* entries of a tree that is still worth loading */
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    LOAD_GROUP = 32,
    BUILD_ENTRIES = 64,
};

/* Values of a list: the key's words as a tree has them, then reference and weight. */
typedef struct LoadedPiece {
    RowRef before; /* 0 = none */
    uint32_t count;
    uint64_t words[];
} LoadedPiece;

/* Words of a listed value. */
static uint32_t stride_of(const OrderedSpace *space)
{
    return space->key_words + 1;
}

static size_t piece_bytes(const OrderedSpace *space)
{
    return sizeof(LoadedPiece) + (size_t)PIECE_VALUES * stride_of(space) * sizeof(uint64_t);
}

static LoadedPiece *piece_at(const OrderedSpace *space, RowRef ref)
{
    return (LoadedPiece *)(void *)weir_row_at(&space->store, ref);
}

static uint64_t last_word(uint32_t ref, int64_t weight)
{
    return (uint64_t)ref << 32 | (uint32_t)(int32_t)weight;
}

static uint32_t value_ref(uint64_t last)
{
    return (uint32_t)(last >> 32);
}

static int64_t value_weight(uint64_t last)
{
    return (int32_t)(uint32_t)last;
}

static Status list_value(OrderedSpace *space, OrderedTree *tree, const uint64_t *words,
                         uint64_t last, Error *err)
{
    LoadedPiece *piece = tree->loaded == 0 ? NULL : piece_at(space, tree->loaded);
    if (piece == NULL || piece->count == PIECE_VALUES) {
        RowRef ref = 0;
        Row *row = NULL;
        WEIR_TRY(weir_row_store_alloc(&space->store, NULL, piece_bytes(space), 1, &ref, &row, err));
        piece = (LoadedPiece *)(void *)row;
        piece->before = tree->loaded;
        piece->count = 0;
        tree->loaded = ref;
    }
    uint64_t *value = piece->words + (size_t)piece->count * stride_of(space);
    value[0] = words[0];
    if (space->key_words == 2) {
        value[1] = words[1];
    }
    value[space->key_words] = last;
    piece->count++;
    tree->loaded_count++;
    return WEIR_OK;
}

/* --- sorting ------------------------------------------------------------------------------------ */

/* The values of a list in one piece, and as much room again. */
typedef struct Sorting {
    uint64_t *values; /* owned; in `room` or in its second half */
    uint64_t *other;
    uint64_t *room;
    size_t count;
} Sorting;

static void swap_halves(Sorting *sorting)
{
    uint64_t *const values = sorting->values;
    sorting->values = sorting->other;
    sorting->other = values;
}

static void copy_value(uint64_t *to, const uint64_t *from, uint32_t stride)
{
    to[0] = from[0];
    to[1] = from[1];
    if (stride == 3) {
        to[2] = from[2];
    }
}

/* Takes the list out of the tree. */
static Status take_list(OrderedSpace *space, OrderedTree *tree, Sorting *sorting, Error *err)
{
    const uint32_t stride = stride_of(space);
    sorting->room =
        weir_mem_calloc(space->mem, 2 * tree->loaded_count, stride * sizeof(uint64_t), err);
    if (sorting->room == NULL) {
        return err->code;
    }
    sorting->values = sorting->room;
    sorting->other = sorting->room + tree->loaded_count * stride;
    while (tree->loaded != 0) {
        const RowRef ref = tree->loaded;
        const LoadedPiece *piece = piece_at(space, ref);
        memcpy(sorting->values + sorting->count * stride, piece->words,
               (size_t)piece->count * stride * sizeof(uint64_t));
        sorting->count += piece->count;
        tree->loaded = piece->before;
        weir_row_store_cancel(&space->store, ref, piece_bytes(space));
    }
    WEIR_ASSERT(sorting->count == tree->loaded_count);
    tree->loaded_count = 0;
    return WEIR_OK;
}

/* By one byte of one word; equal ones stay in order. */
static void sort_by_digit(Sorting *sorting, uint32_t stride, uint32_t word, uint32_t shift)
{
    size_t ends[DIGITS] = {0};
    for (size_t i = 0; i < sorting->count; i++) {
        ends[(sorting->values[i * stride + word] >> shift) % DIGITS]++;
    }
    size_t begin = 0;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        const size_t count = ends[digit];
        ends[digit] = begin;
        begin += count;
    }
    for (size_t i = 0; i < sorting->count; i++) {
        const uint64_t *value = sorting->values + i * stride;
        size_t *const next = &ends[(value[word] >> shift) % DIGITS];
        copy_value(sorting->other + *next * stride, value, stride);
        ++*next;
    }
    swap_halves(sorting);
}

static void sort_by_words(Sorting *sorting, uint32_t stride)
{
    for (uint32_t word = stride - 1; word > 0; word--) {
        uint64_t difference = 0;
        for (size_t i = 0; i < sorting->count; i++) {
            difference |= sorting->values[i * stride + word - 1] ^ sorting->values[word - 1];
        }
        for (uint32_t shift = 0; shift < 64; shift += DIGIT_BITS) {
            if ((difference >> shift) % DIGITS != 0) {
                sort_by_digit(sorting, stride, word - 1, shift);
            }
        }
    }
}

static int compare_values(const OrderedSpace *space, const uint64_t *a, const uint64_t *b)
{
    return weir_ordered_compare(space, weir_row_at(&space->store, value_ref(a[1])),
                                value_ref(b[1]));
}

/* Merges neighbouring runs of `length` values from `values` to `other`. */
static void merge_runs(const OrderedSpace *space, const Sorting *sorting, size_t length)
{
    const uint64_t *const values = sorting->values;
    for (size_t first = 0; first < sorting->count; first += 2 * length) {
        const size_t middle = WEIR_MIN(first + length, sorting->count);
        const size_t end = WEIR_MIN(first + 2 * length, sorting->count);
        size_t left = first;
        size_t right = middle;
        for (size_t i = first; i < end; i++) {
            const bool takes_left =
                right == end || (left < middle &&
                                 compare_values(space, values + 2 * left, values + 2 * right) <= 0);
            size_t *const from = takes_left ? &left : &right;
            copy_value(sorting->other + 2 * i, values + 2 * *from, 2);
            ++*from;
        }
    }
}

static void sort_by_value(const OrderedSpace *space, Sorting *sorting)
{
    for (size_t length = 1; length < sorting->count; length *= 2) {
        merge_runs(space, sorting, length);
        swap_halves(sorting);
    }
}

/* Sorts each part of equal words, of referenced values. */
static void sort_ties(const OrderedSpace *space, const Sorting *sorting,
                      void (*sort)(const OrderedSpace *space, Sorting *part))
{
    size_t first = 0;
    while (first < sorting->count) {
        uint64_t *const values = sorting->values + 2 * first;
        size_t count = 1;
        while (first + count < sorting->count && values[2 * count] == values[0]) {
            count++;
        }
        if (count > 1) {
            Sorting part = {.values = values, .other = sorting->other + 2 * first, .count = count};
            sort(space, &part);
            if (part.values != values) {
                memcpy(values, part.values, 2 * count * sizeof *values);
            }
        }
        first += count;
    }
}

static String string_of(const OrderedSpace *space, const uint64_t *value)
{
    String string;
    memcpy(&string, weir_row_at(&space->store, value_ref(value[1])), sizeof string);
    return string;
}

/* How many bytes all of the strings begin with. */
static size_t common_prefix(const OrderedSpace *space, const Sorting *sorting)
{
    const String first = string_of(space, sorting->values);
    const char *const bytes = weir_string_data(&first);
    size_t size = weir_string_size(&first);
    for (size_t i = 1; i < sorting->count; i++) {
        const String other = string_of(space, sorting->values + 2 * i);
        const char *const other_bytes = weir_string_data(&other);
        size = WEIR_MIN(size, (size_t)weir_string_size(&other));
        if (memcmp(bytes, other_bytes, size) != 0) {
            size_t same = 0;
            while (bytes[same] == other_bytes[same]) {
                same++;
            }
            size = same;
        }
    }
    return size;
}

/* Up to eight bytes from `start` on, as a word in the order of strings. */
static uint64_t word_from(const String *string, size_t start)
{
    char bytes[8] = {0};
    const size_t rest = weir_string_size(string) - start;
    memcpy(bytes, weir_string_data(string) + start, WEIR_MIN(rest, sizeof bytes));
    return __builtin_bswap64(weir_load_u64(bytes));
}

/* Strings that begin alike, in the first word at least: first by the word behind that. */
static void sort_strings(const OrderedSpace *space, Sorting *sorting)
{
    const uint64_t word = sorting->values[0];
    const size_t start = common_prefix(space, sorting);
    for (size_t i = 0; i < sorting->count; i++) {
        const String string = string_of(space, sorting->values + 2 * i);
        sorting->values[2 * i] = word_from(&string, start);
    }
    sort_by_words(sorting, 2);
    sort_ties(space, sorting, sort_by_value);
    for (size_t i = 0; i < sorting->count; i++) {
        sorting->values[2 * i] = word;
    }
}

static void sort_values(const OrderedSpace *space, Sorting *sorting)
{
    const bool is_string = space->type->phys == PHYS_STRING && !weir_type_is_nested(space->type);
    sort_by_words(sorting, stride_of(space));
    if (space->kind == ORDERED_REF) {
        sort_ties(space, sorting, is_string ? sort_strings : sort_by_value);
    }
}

/* --- settling ----------------------------------------------------------------------------------- */

static bool is_same_value(const OrderedSpace *space, const uint64_t *a, const uint64_t *b)
{
    return a[0] == b[0] && (space->key_words == 1 || a[1] == b[1]) &&
           (space->kind != ORDERED_REF || compare_values(space, a, b) == 0);
}

/* Makes one of equal values, none if nothing is left of them. The sums fit: see loaded_weight. */
static void add_up_equal(OrderedSpace *space, Sorting *sorting)
{
    const uint32_t stride = stride_of(space);
    const uint32_t last = space->key_words;
    size_t kept = 0;
    for (size_t place = 0; place < sorting->count;) {
        uint64_t *const value = sorting->values + kept * stride;
        copy_value(value, sorting->values + place * stride, stride);
        int64_t weight = value_weight(value[last]);
        for (place++; place < sorting->count; place++) {
            const uint64_t *const next = sorting->values + place * stride;
            if (!is_same_value(space, value, next)) {
                break;
            }
            weight += value_weight(next[last]);
            weir_ordered_copy_free(space, value_ref(next[last]), true);
        }
        value[last] = last_word(value_ref(value[last]), weight);
        if (weight == 0) {
            weir_ordered_copy_free(space, value_ref(value[last]), true);
        }
        kept += weight != 0;
    }
    sorting->count = kept;
}

static BTreeEntry entry_of(const OrderedSpace *space, const uint64_t *value)
{
    const uint64_t last = value[space->key_words];
    BTreeEntry entry = {.ref = value_ref(last), .weight = value_weight(last)};
    entry.words[0] = value[0];
    entry.words[1] = space->key_words == 2 ? value[1] : 0;
    return entry;
}

static Status list_entry(OrderedSpace *space, OrderedTree *tree, const BTreeEntry *entry,
                         Error *err)
{
    return list_value(space, tree, entry->words, last_word(entry->ref, entry->weight), err);
}

static Status list_again(OrderedSpace *space, OrderedTree *tree, const Sorting *sorting, Error *err)
{
    for (size_t i = 0; i < sorting->count; i++) {
        const BTreeEntry entry = entry_of(space, sorting->values + i * stride_of(space));
        WEIR_TRY(list_entry(space, tree, &entry, err));
    }
    return WEIR_OK;
}

/* Makes the tree, which is empty. */
static Status build_tree(OrderedSpace *space, OrderedTree *tree, const Sorting *sorting, Error *err)
{
    BTreeEntry entries[BUILD_ENTRIES];
    for (size_t first = 0; first < sorting->count; first += BUILD_ENTRIES) {
        const size_t count = WEIR_MIN(sorting->count - first, (size_t)BUILD_ENTRIES);
        for (size_t i = 0; i < count; i++) {
            entries[i] = entry_of(space, sorting->values + (first + i) * stride_of(space));
            tree->negative_count += entries[i].weight < 0;
        }
        WEIR_TRY(weir_btree_append(&space->trees, &tree->tree, entries, count, err));
    }
    return WEIR_OK;
}

/* Gives the listed values, in order and each once, to `take`. */
static Status sort_list(OrderedSpace *space, OrderedTree *tree,
                        Status (*take)(OrderedSpace *space, OrderedTree *tree,
                                       const Sorting *sorting, Error *err),
                        Error *err)
{
    Sorting sorting = {0};
    WEIR_TRY(take_list(space, tree, &sorting, err));
    sort_values(space, &sorting);
    add_up_equal(space, &sorting);
    const Status status = take(space, tree, &sorting, err);
    weir_mem_free(space->mem, sorting.room);
    return status;
}

Status weir_ordered_set_settle(OrderedSpace *space, OrderedSet *set, Error *err)
{
    if (weir_ordered_state(set) != ORDERED_TREE) {
        return WEIR_OK;
    }
    OrderedTree *const tree = weir_ordered_tree(space, set);
    if (tree->loaded == 0 && tree->tree.count > 0) {
        return WEIR_OK;
    }
    tree->loaded_weight = 0;
    if (tree->loaded != 0) {
        WEIR_TRY(sort_list(space, tree, build_tree, err));
    }
    weir_ordered_tree_shrink(space, set); /* perhaps nothing is left of the list */
    return WEIR_OK;
}

/* --- loading ------------------------------------------------------------------------------------ */

static uint64_t magnitude(int64_t weight)
{
    return weight < 0 ? -(uint64_t)weight : (uint64_t)weight;
}

/* True if the weight can be added to the list, such that no sum of listed weights has more than 32
 * bits. */
static bool make_room(OrderedTree *tree, int64_t weight)
{
    const uint64_t added = magnitude(weight);
    if (added > INT32_MAX - tree->loaded_weight) {
        return false;
    }
    tree->loaded_weight += added;
    return true;
}

/* Moves the entries of a small tree to its list. False if it is not worth it, or their weights are
 * too large. */
static Status begin_list(OrderedSpace *space, OrderedTree *tree, bool *has_list, Error *err)
{
    BTreeCursor cursor;
    BTreeEntry entry;
    *has_list = tree->tree.count <= TREE_LOADED;
    weir_btree_seek_end(&space->trees, &tree->tree, false, &cursor);
    while (*has_list && weir_btree_next(&space->trees, &cursor, &entry)) {
        *has_list = make_room(tree, entry.weight);
    }
    if (!*has_list) {
        tree->loaded_weight = 0;
        return WEIR_OK;
    }
    weir_btree_seek_end(&space->trees, &tree->tree, false, &cursor);
    while (weir_btree_next(&space->trees, &cursor, &entry)) {
        WEIR_TRY(list_entry(space, tree, &entry, err));
    }
    weir_btree_clear(&space->trees, &tree->tree);
    tree->negative_count = 0;
    tree->next_check = LOADED_CHECK;
    return WEIR_OK;
}

/* Sorts a list that has become long. */
static Status check_list(OrderedSpace *space, OrderedTree *tree, Error *err)
{
    if (tree->loaded_count < tree->next_check) {
        return WEIR_OK;
    }
    WEIR_TRY(sort_list(space, tree, list_again, err));
    tree->next_check = WEIR_MAX(2 * tree->loaded_count, (size_t)LOADED_CHECK);
    return WEIR_OK;
}

static Status load_value(OrderedSpace *space, OrderedSet *set, const void *value, int64_t weight,
                         Error *err)
{
    if (weir_ordered_state(set) != ORDERED_TREE) {
        return weir_ordered_set_add(space, set, value, weight, err);
    }
    OrderedTree *const tree = weir_ordered_tree(space, set);
    bool has_list = tree->loaded != 0;
    if (!has_list) {
        WEIR_TRY(begin_list(space, tree, &has_list, err));
    }
    if (!has_list || !make_room(tree, weight)) {
        WEIR_TRY(weir_ordered_set_settle(space, set, err));
        return weir_ordered_set_add(space, set, value, weight, err);
    }
    OrderedKey key;
    uint32_t copy = 0;
    weir_ordered_key_load(space, value, &key);
    WEIR_TRY(weir_ordered_copy_new(space, value, &copy, err));
    WEIR_TRY(list_value(space, tree, key.order.words, last_word(copy, weight), err));
    return check_list(space, tree, err);
}

/* Fetches where the next value will be listed. Inlined: see arrangement_load.c. */
static inline __attribute__((always_inline)) void prefetch_list(const OrderedSpace *space,
                                                                const OrderedSet *set)
{
    if (weir_ordered_state(set) == ORDERED_TREE) {
        const OrderedTree *const tree = weir_ordered_tree(space, set);
        const size_t place = tree->loaded_count % PIECE_VALUES;
        const uint64_t *const words = piece_at(space, tree->loaded)->words;
        __builtin_prefetch(words + place * stride_of(space), 1);
    }
}

Status weir_ordered_set_load_batch(OrderedSpace *space, OrderedSet *const *sets,
                                   const Vector *values, const uint16_t *selection,
                                   const int64_t *weights, size_t count, Error *err)
{
    const size_t width = weir_phys_width(values->phys);
    const char *data = values->data;
    for (size_t first = 0; first < count; first += LOAD_GROUP) {
        const size_t end = WEIR_MIN(first + LOAD_GROUP, count);
        for (size_t i = first; i < end; i++) {
            __builtin_prefetch(sets[selection == NULL ? i : selection[i]], 1);
        }
        for (size_t i = first; i < end; i++) {
            weir_ordered_set_prefetch(space, sets[selection == NULL ? i : selection[i]]);
        }
        for (size_t i = first; i < end; i++) {
            prefetch_list(space, sets[selection == NULL ? i : selection[i]]);
        }
        for (size_t i = first; i < end; i++) {
            const size_t place = selection == NULL ? i : selection[i];
            if (weights[place] != 0) {
                WEIR_TRY(load_value(space, sets[place], data + place * width, weights[place], err));
            }
        }
    }
    return WEIR_OK;
}
