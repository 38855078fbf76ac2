/* host_test.h: a database with a host on it, and bags of rows compared byte by byte. */
#ifndef WEIR_TEST_HOST_TEST_H
#define WEIR_TEST_HOST_TEST_H

#include "duck.h"

#include "duckdb/chunk.h"
#include "duckdb/host_priv.h"
#include "duckdb/type_map.h"
#include "types/row.h"

typedef struct World {
    duckdb_database database;
    duckdb_connection user; /* the user's connection */
    Connector *connector;
    Mem *mem;
    DuckHost *duck;
    Host host;
    Arena arena;
    Error err;
} World;

static inline void world_open(World *w, const char *path)
{
    *w = (World){.mem = weir_mem_new(0)};
    weir_arena_init(&w->arena, w->mem, 0);
    assert_int_equal(duckdb_open(path, &w->database), DuckDBSuccess);
    assert_int_equal(duckdb_connect(w->database, &w->user), DuckDBSuccess);
    ASSERT_OK(weir_connector_new(w->database, w->user, &w->connector, &w->err), &w->err);
    ASSERT_OK(weir_duck_host_new(w->mem, w->connector, false, &w->duck, &w->err), &w->err);
    w->host = weir_duck_host_functions(w->duck);
}

static inline void world_close(World *w)
{
    if (w->database != NULL) {
        duckdb_disconnect(&w->user);
        duckdb_close(&w->database);
    }
    weir_duck_host_free(w->duck);
    weir_connector_unref(w->connector);
    weir_arena_deinit(&w->arena);
    assert_int_equal(weir_mem_used(w->mem), 0);
    weir_mem_free_allocator(w->mem);
}

static inline void world_begin(World *w)
{
    ASSERT_OK(w->host.begin(w->host.context, &w->err), &w->err);
}

static inline void world_end(World *w)
{
    w->host.end(w->host.context);
}

/* --- bags --------------------------------------------------------------------------------------- */

typedef struct BagRow {
    unsigned char *bytes; /* the packed row behind its header */
    size_t size;
    int64_t weight;
} BagRow;

/* Rows of one schema with weights. */
typedef struct Bag {
    Mem *mem;
    RowLayout layout;
    size_t columns;
    BagRow *rows;
    size_t count;
    size_t capacity;
} Bag;

static inline void bag_init(Bag *bag, Mem *mem, const LogicalType *const *types, size_t count)
{
    PhysType phys[64];
    Error err = {0};
    assert_true(count <= WEIR_ARRAY_COUNT(phys));
    for (size_t i = 0; i < count; i++) {
        phys[i] = types[i]->phys;
    }
    *bag = (Bag){.mem = mem, .columns = count};
    const RowLayoutSpec spec = {.payload = phys, .payload_count = count};
    ASSERT_OK(weir_row_layout_init(&bag->layout, mem, &spec, &err), &err);
}

static inline void bag_clear(Bag *bag)
{
    for (size_t i = 0; i < bag->count; i++) {
        free(bag->rows[i].bytes);
    }
    bag->count = 0;
}

static inline void bag_deinit(Bag *bag)
{
    bag_clear(bag);
    free(bag->rows);
    weir_row_layout_deinit(&bag->layout, bag->mem);
}

static inline void bag_add(Bag *bag, const Batch *batch)
{
    const Vector *columns[64];
    uint32_t sizes[BATCH_CAPACITY];
    Row *rows[BATCH_CAPACITY];
    assert_int_equal(batch->column_count, bag->columns);
    for (size_t c = 0; c < bag->columns; c++) {
        columns[c] = &batch->columns[c];
    }
    weir_row_sizes(&bag->layout, columns, batch->count, sizes);
    for (size_t i = 0; i < batch->count; i++) {
        rows[i] = malloc(sizes[i]);
        assert_non_null(rows[i]);
    }
    weir_row_pack(&bag->layout, columns, NULL, batch->count, NULL, sizes, rows);
    for (size_t i = 0; i < batch->count; i++) {
        if (bag->count == bag->capacity) {
            bag->capacity = bag->capacity == 0 ? 1024 : 2 * bag->capacity;
            bag->rows = realloc(bag->rows, bag->capacity * sizeof *bag->rows);
            assert_non_null(bag->rows);
        }
        assert_true(weir_batch_weight(batch, i) != 0);
        bag->rows[bag->count++] = (BagRow){
            .bytes = (unsigned char *)rows[i],
            .size = sizes[i],
            .weight = weir_batch_weight(batch, i),
        };
    }
}

/* A visitor: user is the Bag. */
static inline Status bag_visit(void *user, const Batch *batch, Error *err)
{
    WEIR_UNUSED(err);
    bag_add(user, batch);
    return WEIR_OK;
}

static inline int bag_row_compare(const void *a, const void *b)
{
    const BagRow *x = a;
    const BagRow *y = b;
    if (x->size != y->size) {
        return x->size < y->size ? -1 : 1;
    }
    return memcmp(x->bytes + ROW_HEADER_BYTES, y->bytes + ROW_HEADER_BYTES,
                  x->size - ROW_HEADER_BYTES);
}

/* Sorts, adds up equal rows and drops those of weight 0. */
static inline void bag_normalise(Bag *bag)
{
    if (bag->count > 0) {
        qsort(bag->rows, bag->count, sizeof *bag->rows, bag_row_compare);
    }
    size_t kept = 0;
    for (size_t i = 0; i < bag->count;) {
        BagRow sum = bag->rows[i];
        size_t k = i + 1;
        while (k < bag->count && bag_row_compare(&sum, &bag->rows[k]) == 0) {
            sum.weight += bag->rows[k].weight;
            free(bag->rows[k].bytes);
            k++;
        }
        if (sum.weight != 0) {
            bag->rows[kept++] = sum;
        } else {
            free(sum.bytes);
        }
        i = k;
    }
    bag->count = kept;
}

static inline void bag_assert_equal(Bag *a, Bag *b)
{
    bag_normalise(a);
    bag_normalise(b);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(bag_row_compare(&a->rows[i], &b->rows[i]), 0);
        assert_int_equal(a->rows[i].weight, b->rows[i].weight);
    }
}

/* Adds what a query of the bag's columns gives, read by the plainest code there is. */
static inline void bag_add_query(Bag *bag, World *w, duckdb_connection connection, const char *sql,
                                 const LogicalType *const *types)
{
    duckdb_result result = {0};
    if (duckdb_query(connection, sql, &result) != DuckDBSuccess) {
        fail_msg("%s: %s", sql, duckdb_result_error(&result));
    }
    const Schema schema = {.count = bag->columns, .types = types};
    for (;;) {
        duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
        if (chunk == NULL) {
            break;
        }
        const ArenaMark mark = weir_arena_mark(&w->arena);
        Batch batch = {0};
        ASSERT_OK(weir_chunk_read(chunk, 0, &schema, &w->arena, &batch, &w->err), &w->err);
        bag_add(bag, &batch);
        weir_arena_release(&w->arena, mark);
        duckdb_destroy_data_chunk(&chunk);
    }
    duckdb_destroy_result(&result);
}

#endif
