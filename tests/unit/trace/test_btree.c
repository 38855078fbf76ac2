/* test_btree.c: the tree against a sorted array. */
#include "trace_test.h"

#include "trace/btree.h"

enum { MOST = 9000 };

typedef struct Item {
    uint64_t words[2];
    uint32_t ref; /* the tie break, if there is one */
    int64_t weight;
} Item;

typedef struct Fixture {
    World world;
    BTreeSpace space;
    BTree tree;
    bool has_ties; /* the words are coarse; the callback compares references themselves */
    Item items[MOST];
    size_t count;
} Fixture;

/* In these tests the value of a key is a reference. */
static int compare_refs(const void *context, const void *value, uint32_t ref)
{
    (void)context;
    const uint32_t mine = *(const uint32_t *)value;
    return (mine > ref) - (mine < ref);
}

static int item_compare(const Fixture *f, const Item *a, const Item *b)
{
    for (size_t i = 0; i < 2; i++) {
        if (a->words[i] != b->words[i]) {
            return a->words[i] < b->words[i] ? -1 : 1;
        }
    }
    return f->has_ties ? (a->ref > b->ref) - (a->ref < b->ref) : 0;
}

/* The first item that is not smaller. */
static size_t item_place(const Fixture *f, const Item *item)
{
    size_t low = 0;
    size_t high = f->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (item_compare(f, &f->items[middle], item) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static Fixture *fixture_new(uint32_t key_words, bool has_ties)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    world_init(&f->world);
    f->has_ties = has_ties;
    assert_int_equal(
        weir_btree_space_init(&f->space, f->world.mem, f->world.pool, key_words, &f->world.err),
        WEIR_OK);
    f->space.compare = has_ties ? compare_refs : NULL;
    return f;
}

static void fixture_free(Fixture *f)
{
    weir_btree_clear(&f->space, &f->tree);
    weir_btree_space_deinit(&f->space);
    world_deinit(&f->world);
    free(f);
}

static BTreeKey key_of(const Item *item)
{
    return (BTreeKey){.words = {item->words[0], item->words[1]}, .value = &item->ref};
}

/* Adds to tree and model; true if it worked. */
static bool add(Fixture *f, const Item *item)
{
    const size_t place = item_place(f, item);
    const bool is_there = place < f->count && item_compare(f, &f->items[place], item) == 0;
    const BTreeKey key = key_of(item);
    BTreeChange change;
    const Status status =
        weir_btree_add(&f->space, &f->tree, &key, item->ref, item->weight, &change, &f->world.err);
    if (status != WEIR_OK) {
        assert_int_equal(status, WEIR_ERR_NOMEM);
        return false;
    }
    assert_int_equal(change.before, is_there ? f->items[place].weight : 0);
    assert_int_equal(change.after, change.before + item->weight);
    assert_int_equal(change.ref, is_there ? f->items[place].ref : item->ref);
    if (is_there && change.after != 0) {
        f->items[place].weight = change.after;
    } else if (is_there) {
        f->count--;
        memmove(f->items + place, f->items + place + 1, (f->count - place) * sizeof *f->items);
    } else {
        assert_true(f->count < MOST);
        memmove(f->items + place + 1, f->items + place, (f->count - place) * sizeof *f->items);
        f->items[place] = *item;
        f->count++;
    }
    return true;
}

static void check_entry(const Fixture *f, const BTreeEntry *entry, const Item *item)
{
    assert_int_equal(entry->words[0], item->words[0]);
    assert_int_equal(entry->words[1], f->space.key_words == 2 ? item->words[1] : 0);
    assert_int_equal(entry->ref, item->ref);
    assert_int_equal(entry->weight, item->weight);
}

static void check_all(Fixture *f)
{
    BTreeCursor cursor;
    BTreeEntry entry;
    int64_t sum = 0;
    bool is_positive = true;
    assert_int_equal(f->tree.count, f->count);
    weir_btree_seek_end(&f->space, &f->tree, false, &cursor);
    for (size_t i = 0; i < f->count; i++) {
        assert_true(weir_btree_next(&f->space, &cursor, &entry));
        check_entry(f, &entry, &f->items[i]);
        const BTreeKey key = key_of(&f->items[i]);
        assert_int_equal(weir_btree_rank(&f->space, &f->tree, &key), sum);
        sum += f->items[i].weight;
        is_positive = is_positive && f->items[i].weight > 0;
    }
    assert_false(weir_btree_next(&f->space, &cursor, &entry));
    assert_int_equal(f->tree.weight, sum);
    weir_btree_seek_end(&f->space, &f->tree, true, &cursor);
    for (size_t i = f->count; i > 0; i--) {
        assert_true(weir_btree_previous(&f->space, &cursor, &entry));
        check_entry(f, &entry, &f->items[i - 1]);
    }
    assert_false(weir_btree_previous(&f->space, &cursor, &entry));
    int64_t offset = 0;
    for (size_t i = 0; is_positive && i < f->count; i++) {
        assert_true(weir_btree_select(&f->space, &f->tree, offset, &entry));
        check_entry(f, &entry, &f->items[i]);
        offset += f->items[i].weight;
        assert_true(weir_btree_select(&f->space, &f->tree, offset - 1, &entry));
        check_entry(f, &entry, &f->items[i]);
    }
    assert_false(weir_btree_select(&f->space, &f->tree, f->tree.weight, &entry));
    assert_false(weir_btree_select(&f->space, &f->tree, -1, &entry));
}

static Item random_item(const Fixture *f, Random *random, uint64_t range)
{
    const uint64_t number = random_below(random, range);
    Item item = {.ref = (uint32_t)random_next(random), .weight = 1};
    if (f->has_ties) {
        item.words[0] = number / (number < 30000 ? 10000 : 40); /* agrees with the callback */
        item.ref = (uint32_t)number;
    } else if (f->space.key_words == 2) {
        item.words[0] = number / 50 * UINT64_C(0x0123456789abcdef);
        item.words[1] = number * UINT64_C(0x9E3779B97F4A7C15);
    } else {
        item.words[0] = number * UINT64_C(0x9E3779B97F4A7C15);
    }
    if (number == 0 && !f->has_ties) {
        item.words[0] = UINT64_MAX;
    }
    return item;
}

static void churn(Fixture *f, uint64_t range)
{
    Random random = {.state = test_seed()};
    for (size_t round = 0; round < 3; round++) {
        for (size_t step = 0; step < 12000 && f->count < MOST; step++) {
            Item item = random_item(f, &random, range);
            item.weight = 1 + (int64_t)random_below(&random, 3);
            if (f->count > 0 && random_below(&random, 4) == 0) {
                item = f->items[random_below(&random, f->count)];
                item.weight = -item.weight;
            } else if (random_below(&random, 10) == 0) {
                item.weight = -1;
            }
            assert_true(add(f, &item));
            if (step % 3000 == 0) {
                check_all(f);
            }
        }
        check_all(f);
        const size_t left = round == 1 ? 0 : 300;
        while (f->count > left) {
            Item item = f->items[random_below(&random, f->count)];
            item.weight = -item.weight;
            assert_true(add(f, &item));
            if (f->count % 1000 == 0) {
                check_all(f);
            }
        }
        check_all(f);
    }
}

static void btree_agrees_with_a_sorted_array(void **state)
{
    (void)state;
    for (uint32_t key_words = 1; key_words <= 2; key_words++) {
        Fixture *f = fixture_new(key_words, false);
        churn(f, 100000);
        fixture_free(f);
    }
}

static void btree_breaks_ties_by_the_callback(void **state)
{
    (void)state;
    Fixture *f = fixture_new(1, true);
    churn(f, 100000);
    fixture_free(f);
}

static void btree_takes_sorted_input(void **state)
{
    (void)state;
    for (size_t falling = 0; falling < 2; falling++) {
        Fixture *f = fixture_new(1, false);
        for (uint64_t i = 0; i < 8000; i++) {
            const Item item = {.words = {falling != 0 ? 100000 - i : i}, .weight = 1};
            assert_true(add(f, &item));
        }
        check_all(f);
        if (falling == 0) { /* nodes are left 7/8 full */
            assert_true(weir_btree_space_bytes(&f->space) < 8000 * 26 + 2 * PAGE_BYTES);
        }
        while (f->count > 0) {
            Item item = f->items[falling != 0 ? 0 : f->count - 1];
            item.weight = -item.weight;
            assert_true(add(f, &item));
        }
        check_all(f);
        fixture_free(f);
    }
}

/* Appends up to 200 entries with keys above *last, which moves. */
static void append_some(Fixture *f, Random *random, uint64_t *last)
{
    BTreeEntry entries[200];
    const size_t count = random_below(random, WEIR_ARRAY_COUNT(entries));
    for (size_t i = 0; i < count; i++) {
        *last += 1 + random_below(random, 3);
        Item item = {.words = {*last}, .ref = (uint32_t)*last};
        item.words[f->space.key_words - 1] = *last;
        item.weight = 1 + (int64_t)random_below(random, 3);
        f->items[f->count] = item;
        f->count++;
        entries[i] = (BTreeEntry){
            .words = {item.words[0], item.words[1]}, .ref = item.ref, .weight = item.weight};
    }
    assert_int_equal(weir_btree_append(&f->space, &f->tree, entries, count, &f->world.err),
                     WEIR_OK);
}

static void btree_takes_entries_at_its_end(void **state)
{
    (void)state;
    Random random = {.state = test_seed()};
    for (uint32_t key_words = 1; key_words <= 2; key_words++) {
        Fixture *f = fixture_new(key_words, false);
        uint64_t last = 0;
        while (f->count < MOST - 200) {
            append_some(f, &random, &last);
            if (random_below(&random, 10) == 0) {
                check_all(f);
            }
        }
        check_all(f);
        assert_true(weir_btree_space_bytes(&f->space) < MOST * 34 + 2 * PAGE_BYTES);
        while (f->count > 0) {
            Item item = f->items[random_below(&random, f->count)];
            item.weight = -item.weight;
            assert_true(add(f, &item));
        }
        check_all(f);
        fixture_free(f);
    }
}

static void btree_refuses_weights_out_of_range(void **state)
{
    (void)state;
    Fixture *f = fixture_new(1, false);
    Item item = {.words = {5}, .weight = INT64_MAX};
    assert_true(add(f, &item));
    BTreeChange change;
    BTreeKey key = key_of(&item);
    assert_int_equal(weir_btree_add(&f->space, &f->tree, &key, 0, 1, &change, &f->world.err),
                     WEIR_ERR_WEIGHT);
    key.words[0] = 6;
    assert_int_equal(weir_btree_add(&f->space, &f->tree, &key, 0, 1, &change, &f->world.err),
                     WEIR_ERR_WEIGHT);
    const BTreeEntry entry = {.words = {6}, .weight = 1};
    assert_int_equal(weir_btree_append(&f->space, &f->tree, &entry, 1, &f->world.err),
                     WEIR_ERR_WEIGHT);
    check_all(f);
    fixture_free(f);
}

static void btree_is_unchanged_when_an_allocation_fails(void **state)
{
    (void)state;
    Fixture *f = fixture_new(2, false);
    Random random = {.state = test_seed()};
    size_t failures = 0;
    for (size_t step = 0; step < 8000; step++) {
        const Item item = random_item(f, &random, 100000);
        weir_mem_fail_after(f->world.mem, 1, false);
        if (!add(f, &item)) {
            failures++;
            weir_mem_fail_after(f->world.mem, 0, false);
            if (failures % 3 == 0) {
                check_all(f);
            }
            assert_true(add(f, &item));
        }
    }
    weir_mem_fail_after(f->world.mem, 0, false);
    assert_true(failures > 5);
    check_all(f);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(btree_agrees_with_a_sorted_array),
        cmocka_unit_test(btree_breaks_ties_by_the_callback),
        cmocka_unit_test(btree_takes_sorted_input),
        cmocka_unit_test(btree_takes_entries_at_its_end),
        cmocka_unit_test(btree_refuses_weights_out_of_range),
        cmocka_unit_test(btree_is_unchanged_when_an_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
