/* test_arrangement_rows.c: weir_arrangement_apply_rows tells where each row is, so that a state kept
 * in rows can be found without a second look-up. */
#include "trace_test.h"

#include "trace/arrangement.h"

enum { KEYS = 8, PAYLOADS = 40, CELLS = KEYS * PAYLOADS };

/* The state of a row is its cell number + 1; 0 = new. */
static uint64_t swap_state(const RowLayout *layout, Row *row, uint64_t state)
{
    uint64_t old;
    memcpy(&old, weir_row_state(layout, row), sizeof old);
    memcpy(weir_row_state(layout, row), &state, sizeof state);
    return old;
}

static void rows_of_an_apply_are_the_rows_of_its_entries(void **unused)
{
    WEIR_UNUSED(unused);
    World world;
    world_init(&world);
    const PhysType types[1] = {PHYS_I64};
    const RowLayoutSpec spec = {
        .key = types, .key_count = 1, .payload = types, .payload_count = 1, .state_bytes = 8};
    Arrangement *arrangement = NULL;
    assert_int_equal(weir_arrangement_new(world.mem, world.pool, &spec, &arrangement, &world.err),
                     WEIR_OK);
    const RowLayout *layout = weir_arrangement_layout(arrangement);
    Random random = {.state = test_seed()};
    int64_t model[CELLS] = {0};
    int64_t keys[256];
    int64_t payloads[256];
    int64_t weights[256];
    Row *rows[256];
    const Vector vectors[2] = {vector_of(PHYS_I64, keys), vector_of(PHYS_I64, payloads)};
    const Vector *const columns[2] = {&vectors[0], &vectors[1]};
    for (size_t round = 0; round < 400; round++) {
        const size_t count = 1 + random_below(&random, 256);
        uint64_t cells[256];
        for (size_t i = 0; i < count; i++) {
            /* Different cells in a batch, so that each row is as the batch leaves it. */
            cells[i] = (round * 131 + i) % CELLS;
            keys[i] = (int64_t)(cells[i] % KEYS);
            payloads[i] = (int64_t)(cells[i] / KEYS);
            weights[i] = (int64_t)random_below(&random, 5) - 2;
            if (random_below(&random, 3) == 0 && model[cells[i]] != 0) {
                weights[i] = -model[cells[i]];
            }
        }
        assert_int_equal(weir_arrangement_apply_rows(arrangement, columns, NULL, weights, count,
                                                     rows, &world.err),
                         WEIR_OK);
        for (size_t i = 0; i < count; i++) {
            if (weights[i] == 0) {
                assert_null(rows[i]);
                continue;
            }
            const bool was_there = model[cells[i]] != 0;
            model[cells[i]] += weights[i];
            assert_int_equal(weir_row_weight(rows[i]), model[cells[i]]);
            const uint64_t old = swap_state(layout, rows[i], cells[i] + 1);
            assert_int_equal(old, was_there ? cells[i] + 1 : 0);
        }
        weir_arrangement_end_step(arrangement);
    }
    weir_arrangement_free(arrangement);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_an_apply_are_the_rows_of_its_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
