/* view_test.h: an engine on the fake host, contents of views as bags of (a, s), and what the
 * definitions of tests/fixtures/view mean. */
#ifndef WEIR_TESTS_UNIT_VIEW_VIEW_TEST_H
#define WEIR_TESTS_UNIT_VIEW_VIEW_TEST_H

#include "fake_host.h"

enum { BAG_MAX = 512 };

/* Rows (a, s) with weights, sorted, equal ones added up. One-column views have s = 0. */
typedef struct BagRow {
    int32_t a;
    i128 s;
    int64_t weight;
} BagRow;

typedef struct Bag {
    BagRow rows[BAG_MAX];
    size_t count;
} Bag;

typedef struct World {
    FakeHost fake;
    Mem *mem;
    Engine *engine;
    Error err;
} World;

#define ASSERT_OK(status, err)                                           \
    do {                                                                 \
        if ((status) != WEIR_OK) {                                       \
            fail_msg("%s (error %d)", (err)->message, (int)(err)->code); \
        }                                                                \
    } while (0)

static inline void world_open(World *world)
{
    *world = (World){.mem = weir_mem_new(0)};
    assert_non_null(world->mem);
    fake_open(&world->fake);
    const Host host = fake_functions(&world->fake);
    ASSERT_OK(weir_engine_new(world->mem, &host, &world->engine, &world->err), &world->err);
}

/* Everything must have been given back. */
static inline void world_close(World *world)
{
    weir_engine_free(world->engine);
    fake_close(&world->fake);
    assert_int_equal(weir_mem_used(world->mem), 0);
    weir_mem_free_allocator(world->mem);
}

static inline Status world_try(World *world, const char *name, const char *definition,
                               CreateMode mode)
{
    const CreateSpec spec = {.name = name, .sql = definition, .mode = mode};
    weir_error_clear(&world->err);
    return weir_engine_create(world->engine, &spec, NULL, &world->err);
}

static inline void world_create(World *world, const char *name, const char *definition)
{
    ASSERT_OK(world_try(world, name, definition, CREATE_NEW), &world->err);
}

static inline Status world_sync(World *world)
{
    weir_error_clear(&world->err);
    return weir_engine_sync(world->engine, NULL, NULL, &world->err);
}

/* ---- bags ------------------------------------------------------------------------------------- */

static inline void bag_put(Bag *bag, int32_t a, i128 s, int64_t weight)
{
    size_t place = 0;
    while (place < bag->count &&
           (bag->rows[place].a < a || (bag->rows[place].a == a && bag->rows[place].s < s))) {
        place++;
    }
    if (place == bag->count || bag->rows[place].a != a || bag->rows[place].s != s) {
        assert_true(bag->count < BAG_MAX);
        memmove(bag->rows + place + 1, bag->rows + place, (bag->count - place) * sizeof *bag->rows);
        bag->rows[place] = (BagRow){.a = a, .s = s};
        bag->count++;
    }
    bag->rows[place].weight += weight;
    if (bag->rows[place].weight == 0) {
        bag->count--;
        memmove(bag->rows + place, bag->rows + place + 1, (bag->count - place) * sizeof *bag->rows);
    }
}

static inline bool bag_equal(const Bag *x, const Bag *y)
{
    bool is_equal = x->count == y->count;
    for (size_t i = 0; is_equal && i < x->count; i++) {
        is_equal = x->rows[i].a == y->rows[i].a && x->rows[i].s == y->rows[i].s &&
                   x->rows[i].weight == y->rows[i].weight;
    }
    return is_equal;
}

static inline void bag_print(const char *title, const Bag *bag)
{
    printf("%s:\n", title);
    for (size_t i = 0; i < bag->count; i++) {
        printf("  (%d, %lld) x %lld\n", (int)bag->rows[i].a, (long long)bag->rows[i].s,
               (long long)bag->rows[i].weight);
    }
}

static inline void bag_assert_equal(const Bag *found, const Bag *expected)
{
    if (!bag_equal(found, expected)) {
        bag_print("found", found);
        bag_print("expected", expected);
        fail_msg("the bags differ");
    }
}

static inline int32_t cell_int(const Vector *vector, size_t row)
{
    int32_t value = 0;
    memcpy(&value, (const char *)vector->data + row * sizeof value, sizeof value);
    return value;
}

static inline i128 cell_wide(const Vector *vector, size_t row)
{
    i128 wide = 0;
    int64_t narrow = 0;
    if (vector->phys == PHYS_I128) {
        memcpy(&wide, (const char *)vector->data + row * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, (const char *)vector->data + row * sizeof narrow, sizeof narrow);
    return narrow;
}

/* Adds every row that the reader still has; frees it. */
static inline void bag_drain(World *world, ViewReader *reader, size_t value_columns, Bag *bag)
{
    Arena arena;
    Error err = {0};
    weir_arena_init(&arena, world->mem, 0);
    for (;;) {
        Batch batch = {0};
        weir_arena_reset(&arena);
        ASSERT_OK(weir_view_reader_next(reader, &arena, &batch, &err), &err);
        if (batch.count == 0) {
            break;
        }
        const bool is_feed = batch.column_count > value_columns;
        for (size_t i = 0; i < batch.count; i++) {
            bag_put(bag, cell_int(&batch.columns[0], i),
                    value_columns > 1 ? cell_wide(&batch.columns[1], i) : 0,
                    is_feed ? (int64_t)cell_wide(&batch.columns[value_columns], i) : 1);
        }
    }
    weir_arena_deinit(&arena);
    weir_view_reader_free(reader);
}

static inline Status bag_read(World *world, const char *view, Bag *bag)
{
    ViewReader *reader = NULL;
    *bag = (Bag){0};
    weir_error_clear(&world->err);
    WEIR_TRY(weir_engine_read(world->engine, view, &reader, &world->err));
    bag_drain(world, reader, weir_view_reader_schema(reader)->count, bag);
    return WEIR_OK;
}

/* Adds the changes after the generation; returns the present one. */
static inline Status bag_follow(World *world, const char *view, int64_t since, Bag *bag)
{
    ViewReader *reader = NULL;
    weir_error_clear(&world->err);
    WEIR_TRY(weir_engine_read_changes(world->engine, view, since, &reader, &world->err));
    bag_drain(world, reader, weir_view_reader_schema(reader)->count - 2, bag);
    return WEIR_OK;
}

/* ---- what the definitions mean ----------------------------------------------------------------- */

static inline void define_sum(const Bag *rows, Bag *out)
{
    if (rows == NULL) {
        fail_msg("the definition reads the view base");
        return;
    }
    for (size_t i = 0; i < rows->count;) {
        const int32_t a = rows->rows[i].a;
        i128 sum = 0;
        for (; i < rows->count && rows->rows[i].a == a; i++) {
            sum += rows->rows[i].s * rows->rows[i].weight;
        }
        bag_put(out, a, sum, 1);
    }
}

static inline void define_join(const Bag *left, const Bag *right, Bag *out)
{
    if (left == NULL) {
        fail_msg("the definition reads the view base");
        return;
    }
    for (size_t i = 0; i < left->count; i++) {
        for (size_t k = 0; k < right->count; k++) {
            if (left->rows[i].a == right->rows[k].a) {
                bag_put(out, left->rows[i].a, left->rows[i].s + right->rows[k].s,
                        left->rows[i].weight * right->rows[k].weight);
            }
        }
    }
}

static inline void table_rows(World *world, const char *table, Bag *out)
{
    *out = (Bag){0};
    pthread_mutex_lock(&world->fake.mutex);
    const FakeRows *const rows = &fake_table(&world->fake, table)->committed;
    for (size_t i = 0; i < rows->count; i++) {
        bag_put(out, rows->items[i].a, rows->items[i].n, 1);
    }
    pthread_mutex_unlock(&world->fake.mutex);
}

/* The committed rows through the definition; base = what the view "base" holds by its own. */
static inline void define(World *world, const char *definition, const Bag *base, Bag *out)
{
    Bag *const t = calloc(2, sizeof *t);
    Bag *const u = t + 1;
    assert_non_null(t);
    table_rows(world, "t", t);
    table_rows(world, "u", u);
    *out = (Bag){0};
    if (strcmp(definition, "sum") == 0) {
        define_sum(t, out);
    } else if (strcmp(definition, "rows") == 0) {
        *out = *t;
    } else if (strcmp(definition, "joined") == 0) {
        define_join(t, u, out);
    } else if (strcmp(definition, "over") == 0 && base != NULL) {
        *out = *base;
    } else if (strcmp(definition, "top") == 0) {
        define_sum(base, out);
    } else if (strcmp(definition, "diamond") == 0) {
        define_join(base, t, out);
    } else if (strcmp(definition, "distinct") == 0) {
        for (size_t i = 0; i < u->count; i++) {
            if (i == 0 || u->rows[i].a != u->rows[i - 1].a) {
                bag_put(out, u->rows[i].a, 0, 1);
            }
        }
    } else {
        fail_msg("no meaning of %s", definition);
    }
    free(t);
}

/* The view holds what its definition says. */
static inline void check_view(World *world, const char *view, const char *definition,
                              const Bag *base)
{
    Bag *const found = calloc(2, sizeof *found);
    Bag *const expected = found + 1;
    assert_non_null(found);
    ASSERT_OK(bag_read(world, view, found), &world->err);
    define(world, definition, base, expected);
    bag_assert_equal(found, expected);
    free(found);
}

/* Reading the view fails as broken, for a reason of this code. */
static inline void check_broken(World *world, const char *view, Status reason)
{
    char code[16];
    ViewReader *reader = NULL;
    weir_error_clear(&world->err);
    assert_int_equal(weir_engine_read(world->engine, view, &reader, &world->err), WEIR_ERR_BROKEN);
    (void)snprintf(code, sizeof code, "DBSP-E%03d", (int)reason);
    if (strstr(world->err.message, code) == NULL) {
        fail_msg("the reason of \"%s\" is not %s", world->err.message, code);
    }
}

#endif
