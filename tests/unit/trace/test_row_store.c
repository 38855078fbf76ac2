/* test_row_store.c: rows keep their bytes; freed ones are reused after the step, not before. */
#include "trace_test.h"

#include "trace/row_store.h"

typedef struct Piece {
    RowRef ref;
    uint32_t size;
    unsigned char mark;
} Piece;

static void piece_fill(const RowStore *store, const Piece *piece)
{
    memset(weir_row_at(store, piece->ref), piece->mark, piece->size);
}

static void piece_check(const RowStore *store, const Piece *piece)
{
    const unsigned char *bytes = (const unsigned char *)weir_row_at(store, piece->ref);
    for (size_t i = 0; i < piece->size; i++) {
        assert_int_equal(bytes[i], piece->mark);
    }
}

static uint32_t random_size(Random *random)
{
    switch (random_below(random, 200)) {
    case 0: return (uint32_t)(PAGE_BYTES - 100 + random_below(random, 200));
    case 1: return (uint32_t)(1 + random_below(random, 300000));
    case 2: return (uint32_t)(1 + random_below(random, 20000));
    default: return (uint32_t)(16 + 8 * random_below(random, 30));
    }
}

static void row_store_keeps_what_is_written_into_its_rows(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    RowStore store;
    assert_int_equal(weir_row_store_init(&store, world.mem, world.pool, &world.err), WEIR_OK);
    enum { MOST = 4000 };
    Piece *pieces = calloc(MOST, sizeof *pieces);
    Piece freed[64];
    size_t count = 0;
    size_t freed_count = 0;
    for (size_t step = 0; step < 4000; step++) {
        uint32_t sizes[20];
        RowRef refs[20];
        Row *rows[20];
        const size_t wanted = WEIR_MIN(random_below(&random, 20), MOST - count);
        for (size_t i = 0; i < wanted; i++) {
            sizes[i] = random_size(&random);
        }
        assert_int_equal(weir_row_store_alloc(&store, sizes, 0, wanted, refs, rows, &world.err),
                         WEIR_OK);
        for (size_t i = 0; i < wanted; i++) {
            assert_int_not_equal(refs[i], 0);
            assert_true(refs[i] >> ROW_REF_BITS == 0);
            assert_ptr_equal(rows[i], weir_row_at(&store, refs[i]));
            assert_int_equal((uintptr_t)rows[i] % ROW_GRANULE_BYTES, 0);
            const unsigned char mark = (unsigned char)random_next(&random);
            pieces[count] = (Piece){.ref = refs[i], .size = sizes[i], .mark = mark};
            piece_fill(&store, &pieces[count]);
            count++;
        }
        const size_t unwanted = random_below(&random, WEIR_MIN(count + 1, 20));
        for (size_t i = 0; i < unwanted; i++) {
            const size_t victim = random_below(&random, count);
            const Piece piece = pieces[victim];
            piece_check(&store, &piece);
            pieces[victim] = pieces[--count];
            if (random_below(&random, 5) == 0) {
                weir_row_store_cancel(&store, piece.ref, piece.size);
            } else {
                weir_row_store_free(&store, piece.ref, piece.size);
                freed[freed_count++] = piece;
            }
        }
        if (freed_count > 40 || step % 3 == 0) {
            for (size_t i = 0; i < freed_count; i++) {
                piece_check(&store, &freed[i]); /* still readable in this step */
            }
            weir_row_store_end_step(&store);
            freed_count = 0;
        }
        if (step == 3000) {
            for (size_t i = 0; i < count; i++) {
                piece_check(&store, &pieces[i]);
            }
            weir_row_store_clear(&store);
            count = 0;
            freed_count = 0;
        }
    }
    for (size_t i = 0; i < count; i++) {
        piece_check(&store, &pieces[i]);
    }
    weir_row_store_deinit(&store);
    free(pieces);
    world_deinit(&world);
}

static void row_store_does_not_grow_under_steady_churn(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    RowStore store;
    assert_int_equal(weir_row_store_init(&store, world.mem, world.pool, &world.err), WEIR_OK);
    enum { COUNT = 2000 };
    static RowRef refs[COUNT];
    static Row *rows[COUNT];
    size_t bytes = 0;
    for (size_t step = 0; step < 100; step++) {
        const size_t size = step % 2 == 0 ? 48 : PAGE_BYTES + 100;
        const size_t count = step % 2 == 0 ? COUNT : 10;
        assert_int_equal(weir_row_store_alloc(&store, NULL, size, count, refs, rows, &world.err),
                         WEIR_OK);
        for (size_t i = 0; i < count; i++) {
            weir_row_store_free(&store, refs[i], size);
        }
        weir_row_store_end_step(&store);
        if (step == 10) {
            bytes = weir_row_store_bytes(&store);
        }
    }
    assert_int_equal(weir_row_store_bytes(&store), bytes);
    weir_row_store_deinit(&store);
    world_deinit(&world);
}

static void row_store_begins_small(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    RowStore store;
    assert_int_equal(weir_row_store_init(&store, world.mem, world.pool, &world.err), WEIR_OK);
    RowRef ref = 0;
    Row *row = NULL;
    assert_int_equal(weir_row_store_alloc(&store, NULL, 48, 1, &ref, &row, &world.err), WEIR_OK);
    assert_true(weir_mem_used(world.mem) < (size_t)8 * 1024);
    weir_row_store_deinit(&store);
    world_deinit(&world);
}

static void row_store_allocates_all_rows_or_none(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    for (size_t nth = 1; nth < 80; nth++) {
        Random random = {.state = nth};
        RowStore store;
        weir_mem_fail_after(world.mem, nth, nth % 2 == 0);
        if (weir_row_store_init(&store, world.mem, world.pool, &world.err) != WEIR_OK) {
            continue;
        }
        Piece pieces[2000];
        size_t count = 0;
        for (size_t step = 0; step < 100; step++) {
            uint32_t sizes[20];
            RowRef refs[20];
            Row *rows[20];
            for (size_t i = 0; i < 20; i++) {
                sizes[i] = random_size(&random);
            }
            if (weir_row_store_alloc(&store, sizes, 0, 20, refs, rows, &world.err) != WEIR_OK) {
                assert_int_equal(world.err.code, WEIR_ERR_NOMEM);
                weir_mem_fail_after(world.mem, 0, false);
                continue;
            }
            for (size_t i = 0; i < 20; i++) {
                pieces[count] = (Piece){.ref = refs[i], .size = sizes[i], .mark = (unsigned char)i};
                piece_fill(&store, &pieces[count]);
                count++;
            }
            for (size_t i = 0; i < 5; i++) {
                count--;
                piece_check(&store, &pieces[count]);
                weir_row_store_free(&store, pieces[count].ref, pieces[count].size);
            }
            weir_row_store_end_step(&store);
        }
        for (size_t i = 0; i < count; i++) {
            piece_check(&store, &pieces[i]);
        }
        weir_mem_fail_after(world.mem, 0, false);
        weir_row_store_deinit(&store);
    }
    weir_mem_fail_after(world.mem, 0, false);
    world_deinit(&world);
}

static void row_store_refuses_a_row_that_cannot_be(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    RowStore store;
    assert_int_equal(weir_row_store_init(&store, world.mem, world.pool, &world.err), WEIR_OK);
    RowRef refs[2];
    Row *rows[2];
    const uint32_t sizes[2] = {100, UINT32_MAX};
    assert_int_equal(weir_row_store_alloc(&store, sizes, 0, 2, refs, rows, &world.err),
                     WEIR_ERR_LIMIT);
    weir_row_store_deinit(&store);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_store_keeps_what_is_written_into_its_rows),
        cmocka_unit_test(row_store_does_not_grow_under_steady_churn),
        cmocka_unit_test(row_store_begins_small),
        cmocka_unit_test(row_store_allocates_all_rows_or_none),
        cmocka_unit_test(row_store_refuses_a_row_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
