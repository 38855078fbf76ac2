/* test_vector.c: flattening, gathering and owning, for every width, with and without NULLs. */
#include "types_test.h"

static const PhysType PHYS_OF_WIDTH[] = {PHYS_U8, PHYS_I16, PHYS_F32, PHYS_I64, PHYS_I128};

/* A vector of random bytes; some rows are NULL if has_nulls. */
static Vector random_vector(World *world, Random *random, PhysType phys, size_t count,
                            bool has_nulls)
{
    Vector v = {0};
    assert_int_equal(weir_vector_init(&v, phys, count, &world->arena, &world->err), WEIR_OK);
    unsigned char *bytes = v.data;
    for (size_t i = 0; i < count * weir_phys_width(phys); i++) {
        bytes[i] = (unsigned char)random_next(random);
    }
    if (has_nulls) {
        assert_int_equal(weir_vector_add_validity(&v, count, &world->arena, &world->err), WEIR_OK);
        for (size_t i = 0; i < count; i++) {
            if (random_below(random, 3) == 0) {
                weir_validity_set_null(v.validity, i);
            }
        }
    }
    return v;
}

static void check_same_value(const Vector *a, size_t i, const Vector *b, size_t j)
{
    const size_t width = weir_phys_width(a->phys);
    assert_int_equal(a->phys, b->phys);
    assert_int_equal(weir_vector_is_null(a, i), weir_vector_is_null(b, j));
    if (!weir_vector_is_null(a, i)) {
        assert_memory_equal((const char *)a->data + weir_vector_place(a, i) * width,
                            (const char *)b->data + weir_vector_place(b, j) * width, width);
    }
}

static void gather_takes_the_selected_rows(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    static const size_t counts[] = {0, 1, 63, 64, 65, 1000, VECTOR_CAPACITY};
    for (size_t round = 0; round < WEIR_ARRAY_COUNT(counts) * 10; round++) {
        const size_t count = counts[round / 10];
        const Vector v = random_vector(&world, &random, PHYS_OF_WIDTH[round % 5], VECTOR_CAPACITY,
                                       round % 10 < 5);
        uint16_t selection[VECTOR_CAPACITY];
        for (size_t i = 0; i < count; i++) {
            selection[i] = (uint16_t)random_below(&random, VECTOR_CAPACITY);
        }
        Vector out = {0};
        assert_int_equal(weir_vector_gather(&v, selection, count, &world.arena, &out, &world.err),
                         WEIR_OK);
        assert_false(out.is_constant);
        for (size_t i = 0; i < count; i++) {
            check_same_value(&out, i, &v, selection[i]);
        }
    }
    world_deinit(&world);
}

static void gather_drops_a_mask_without_nulls(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Vector v = {0};
    assert_int_equal(weir_vector_init(&v, PHYS_I32, 100, &world.arena, &world.err), WEIR_OK);
    memset(v.data, 0, 400);
    assert_int_equal(weir_vector_add_validity(&v, 100, &world.arena, &world.err), WEIR_OK);
    weir_validity_set_null(v.validity, 50);
    uint16_t selection[2] = {49, 51};
    Vector out = {0};
    assert_int_equal(weir_vector_gather(&v, selection, 2, &world.arena, &out, &world.err), WEIR_OK);
    assert_null(out.validity);
    selection[1] = 50;
    assert_int_equal(weir_vector_gather(&v, selection, 2, &world.arena, &out, &world.err), WEIR_OK);
    assert_true(weir_vector_is_null(&out, 1) && !weir_vector_is_null(&out, 0));
    world_deinit(&world);
}

static void constants_stay_constant_in_gather_and_become_rows_in_flatten(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Random random = {.state = test_seed()};
    for (size_t round = 0; round < 20; round++) {
        Vector v = random_vector(&world, &random, PHYS_OF_WIDTH[round % 5], 1, round >= 10);
        v.is_constant = true;
        const uint16_t selection[3] = {7, 0, 2000};
        Vector gathered = {0};
        assert_int_equal(weir_vector_gather(&v, selection, 3, &world.arena, &gathered, &world.err),
                         WEIR_OK);
        assert_true(gathered.is_constant);
        check_same_value(&gathered, 2, &v, 0);
        Vector flat = {0};
        assert_int_equal(weir_vector_flatten(&v, 1000, &world.arena, &flat, &world.err), WEIR_OK);
        assert_false(flat.is_constant);
        for (size_t i = 0; i < 1000; i++) {
            check_same_value(&flat, i, &v, 0);
        }
        Vector again = {0};
        assert_int_equal(weir_vector_flatten(&flat, 1000, &world.arena, &again, &world.err),
                         WEIR_OK);
        assert_ptr_equal(again.data, flat.data);
    }
    world_deinit(&world);
}

static void validity_is_added_once(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    Vector v = {0};
    assert_int_equal(weir_vector_init(&v, PHYS_I32, 70, &world.arena, &world.err), WEIR_OK);
    assert_null(v.validity);
    assert_int_equal(weir_vector_add_validity(&v, 70, &world.arena, &world.err), WEIR_OK);
    for (size_t i = 0; i < 70; i++) {
        assert_false(weir_vector_is_null(&v, i));
    }
    weir_validity_set_null(v.validity, 69);
    assert_int_equal(weir_vector_add_validity(&v, 70, &world.arena, &world.err), WEIR_OK);
    assert_true(weir_vector_is_null(&v, 69));
    assert_false(weir_vector_is_null(&v, 68));
    world_deinit(&world);
}

static void owned_strings_outlive_their_source(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    char source[] = "a text that is longer than twelve bytes";
    String slots[4] = {
        string_of("short"),
        weir_string_make(source, 20),
        weir_string_make(source, strlen(source)),
        {.words = {UINT64_MAX, 0}}, /* garbage under NULL */
    };
    uint64_t validity[1] = {7};
    Vector v = {.phys = PHYS_STRING, .data = slots, .validity = validity};
    assert_int_equal(weir_vector_own_strings(&v, 4, &world.arena, &world.err), WEIR_OK);
    assert_ptr_equal(slots[1].remote.pointer, source); /* the source's slots stay as they are */
    memset(source, 'X', sizeof source);
    const String *owned = v.data;
    const String first = string_of("a text that is longe");
    const String second = string_of("a text that is longer than twelve bytes");
    assert_true(weir_string_equal(&owned[0], &slots[0]));
    assert_true(weir_string_equal(&owned[1], &first));
    assert_true(weir_string_equal(&owned[2], &second));
    Vector shorts = {.phys = PHYS_STRING, .data = slots};
    assert_int_equal(weir_vector_own_strings(&shorts, 1, &world.arena, &world.err), WEIR_OK);
    assert_ptr_equal(shorts.data, slots);
    world_deinit(&world);
}

static void batches_are_made_and_gathered(void **state)
{
    (void)state;
    World world;
    world_init(&world);
    const LogicalType *const types[2] = {weir_type_simple(TYPE_INTEGER),
                                         weir_type_simple(TYPE_VARCHAR)};
    const Schema schema = {.count = 2, .types = types};
    Batch *batch = NULL;
    assert_int_equal(weir_batch_new(&world.arena, &schema, &batch, &world.err), WEIR_OK);
    assert_int_equal(batch->count, 0);
    assert_int_equal(batch->column_count, 2);
    int32_t *numbers = batch->columns[0].data;
    String *texts = batch->columns[1].data;
    int64_t *weights = weir_batch_borrow_weights(batch);
    for (size_t i = 0; i < BATCH_CAPACITY; i++) {
        assert_int_equal(batch->weights[i], 1);
        numbers[i] = (int32_t)i;
        texts[i] = string_of(i % 2 == 0 ? "even" : "an odd number, in many words");
        weights[i] = (int64_t)i - 1000;
    }
    batch->count = BATCH_CAPACITY;
    const uint16_t selection[3] = {2047, 4, 4};
    Batch out = {0};
    assert_int_equal(weir_batch_gather(batch, selection, 3, &world.arena, &out, &world.err),
                     WEIR_OK);
    assert_int_equal(out.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(((const int32_t *)out.columns[0].data)[i], selection[i]);
        assert_int_equal(weir_batch_weight(&out, i), (int64_t)selection[i] - 1000);
        assert_true(
            weir_string_equal((const String *)out.columns[1].data + i, &texts[selection[i]]));
    }
    batch->weights = NULL;
    batch->columns[0].is_constant = true;
    assert_int_equal(weir_batch_gather(batch, selection, 3, &world.arena, &out, &world.err),
                     WEIR_OK);
    assert_null(out.weights);
    assert_false(out.columns[0].is_constant);
    assert_int_equal(((const int32_t *)out.columns[0].data)[2], 0);
    world_deinit(&world);
}

static void vectors_report_failing_allocations(void **state)
{
    (void)state;
    bool is_done = false;
    for (size_t nth = 1; !is_done; nth++) {
        World world;
        world_init(&world);
        weir_arena_deinit(&world.arena);
        weir_arena_init(&world.arena, world.mem, 16);
        String slots[2] = {string_of("a text of more than twelve bytes"), string_of("another one")};
        uint64_t validity[1] = {2};
        Vector v = {.phys = PHYS_STRING, .data = slots, .validity = validity};
        const Batch batch = {.count = 2, .column_count = 1, .columns = &v};
        const uint16_t selection[2] = {1, 0};
        weir_mem_fail_after(world.mem, nth, true);
        Batch out = {0};
        Vector flat = {0};
        Vector constant = v;
        constant.is_constant = true;
        validity[0] = 1;
        Status status = weir_batch_gather(&batch, selection, 2, &world.arena, &out, &world.err);
        if (status == WEIR_OK) {
            status = weir_vector_flatten(&constant, 5, &world.arena, &flat, &world.err);
        }
        if (status == WEIR_OK) {
            status = weir_vector_own_strings(&v, 2, &world.arena, &world.err);
        }
        is_done = status == WEIR_OK;
        assert_true(is_done || status == WEIR_ERR_NOMEM);
        assert_true(is_done || v.data == slots);
        world_deinit(&world);
        assert_true(!is_done || nth > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_takes_the_selected_rows),
        cmocka_unit_test(gather_drops_a_mask_without_nulls),
        cmocka_unit_test(constants_stay_constant_in_gather_and_become_rows_in_flatten),
        cmocka_unit_test(validity_is_added_once),
        cmocka_unit_test(owned_strings_outlive_their_source),
        cmocka_unit_test(batches_are_made_and_gathered),
        cmocka_unit_test(vectors_report_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
