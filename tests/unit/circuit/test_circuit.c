/* test_circuit.c: the graph and the step, with operators that only write down what they saw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "circuit/circuit.h"

/* What happened, one letter-coded word an event: "p1:0" = push on operator 1, port 0; "f1" flush;
 * "e1" end of step; "x1" free. */
typedef struct Diary {
    char text[512];
    size_t size;
} Diary;

typedef struct ProbeOp {
    Op op;
    Mem *mem;
    Diary *diary;
    bool passes_on; /* emits what it gets at once */
    bool emits_at_flush;
    bool fails_push;
    bool fails_flush;
} ProbeOp;

static void diary_add(Diary *diary, const char *word, size_t number)
{
    const size_t room = sizeof diary->text - diary->size;
    const int written = snprintf(diary->text + diary->size, room, "%s%zu ", word, number);
    assert_true(written > 0 && (size_t)written < room);
    diary->size += (size_t)written;
}

static Status probe_push(Op *op, size_t port, const Batch *batch, Step *step, Error *err)
{
    ProbeOp *self = WEIR_DOWNCAST(ProbeOp, op);
    diary_add(self->diary, "p", op->id * 10 + port);
    void *scratch = weir_arena_alloc(&step->scratch, 100, err);
    if (scratch == NULL) {
        return err->code;
    }
    if (self->fails_push) {
        return weir_error_set(err, WEIR_ERR_EVALUATION, "push fails");
    }
    return self->passes_on ? weir_op_emit(op, batch, step, err) : WEIR_OK;
}

static Status probe_flush(Op *op, Step *step, Error *err)
{
    ProbeOp *self = WEIR_DOWNCAST(ProbeOp, op);
    diary_add(self->diary, "f", op->id);
    if (self->fails_flush) {
        return weir_error_set(err, WEIR_ERR_NEGATIVE, "flush fails");
    }
    const Batch batch = {.count = 3};
    return self->emits_at_flush ? weir_op_emit(op, &batch, step, err) : WEIR_OK;
}

static void probe_end_step(Op *op)
{
    diary_add(WEIR_DOWNCAST(ProbeOp, op)->diary, "e", op->id);
}

static size_t probe_state(const Op *op)
{
    return 10 * (op->id + 1);
}

static void probe_describe(const Op *op, Buf *out)
{
    weir_buf_printf(out, "\"%zu\"", op->id);
}

static void probe_free(Op *op)
{
    ProbeOp *self = WEIR_DOWNCAST(ProbeOp, op);
    diary_add(self->diary, "x", op->id);
    weir_mem_free(self->mem, self);
}

static const OpType probe_type = {
    .name = "probe",
    .cost = "O(delta)",
    .push = probe_push,
    .flush = probe_flush,
    .end_step = probe_end_step,
    .state_bytes = probe_state,
    .state_rows = probe_state,
    .describe = probe_describe,
    .free = probe_free,
};

typedef struct Fixture {
    Mem *mem;
    Diary diary;
    Circuit *circuit;
} Fixture;

static void start(Fixture *fixture)
{
    Error err = {0};
    fixture->mem = weir_mem_new(0);
    assert_non_null(fixture->mem);
    fixture->diary = (Diary){0};
    const CircuitEnv env = {.mem = fixture->mem};
    assert_int_equal(weir_circuit_new(&env, &fixture->circuit, &err), WEIR_OK);
}

static void stop(Fixture *fixture)
{
    weir_circuit_free(fixture->circuit);
    assert_int_equal(weir_mem_used(fixture->mem), 0);
    weir_mem_free_allocator(fixture->mem);
}

static Status try_add(Fixture *fixture, Op *const *inputs, size_t count, ProbeOp **out, Error *err)
{
    ProbeOp *probe = weir_mem_zalloc(fixture->mem, sizeof *probe, err);
    if (probe == NULL) {
        return err->code;
    }
    probe->op.type = &probe_type;
    probe->mem = fixture->mem;
    probe->diary = &fixture->diary;
    probe->passes_on = true;
    WEIR_TRY(weir_circuit_add(fixture->circuit, &probe->op, inputs, count, err));
    *out = probe;
    return WEIR_OK;
}

static ProbeOp *add(Fixture *fixture, Op *const *inputs, size_t count)
{
    Error err = {0};
    ProbeOp *probe = NULL;
    assert_int_equal(try_add(fixture, inputs, count, &probe, &err), WEIR_OK);
    return probe;
}

static void a_batch_reaches_every_consumer_on_its_port(void **state)
{
    WEIR_UNUSED(state);
    Fixture fixture;
    Error err = {0};
    start(&fixture);
    ProbeOp *source = add(&fixture, NULL, 0);
    Op *const twice[] = {&source->op, &source->op};
    ProbeOp *join = add(&fixture, twice, 2);
    Op *const once[] = {&source->op};
    ProbeOp *map = add(&fixture, once, 1);
    join->passes_on = false;
    map->passes_on = false;

    assert_int_equal(weir_circuit_begin_step(fixture.circuit, &err), WEIR_OK);
    const Batch batch = {.count = 2};
    const Batch empty = {.count = 0};
    assert_int_equal(weir_circuit_push(fixture.circuit, &source->op, &empty, &err), WEIR_OK);
    assert_int_equal(weir_circuit_push(fixture.circuit, &source->op, &batch, &err), WEIR_OK);
    assert_int_equal(weir_circuit_finish_step(fixture.circuit, &err), WEIR_OK);
    weir_circuit_end_step(fixture.circuit);
    assert_string_equal(fixture.diary.text, "p0 p10 p11 p20 f0 f1 f2 e0 e1 e2 ");
    assert_int_equal(source->op.rows_out, 2);
    assert_int_equal(join->op.rows_in, 4);
    assert_int_equal(join->op.batches_in, 2);
    assert_int_equal(map->op.rows_in, 2);
    stop(&fixture);
}

static void what_a_flush_emits_arrives_before_the_next_flush(void **state)
{
    WEIR_UNUSED(state);
    Fixture fixture;
    Error err = {0};
    start(&fixture);
    ProbeOp *first = add(&fixture, NULL, 0);
    Op *const in_first[] = {&first->op};
    ProbeOp *second = add(&fixture, in_first, 1);
    Op *const in_second[] = {&second->op};
    ProbeOp *third = add(&fixture, in_second, 1);
    first->emits_at_flush = true;
    second->passes_on = false;
    second->emits_at_flush = true;
    third->passes_on = false;

    assert_int_equal(weir_circuit_begin_step(fixture.circuit, &err), WEIR_OK);
    assert_int_equal(weir_circuit_finish_step(fixture.circuit, &err), WEIR_OK);
    weir_circuit_end_step(fixture.circuit);
    assert_string_equal(fixture.diary.text, "f0 p10 f1 p20 f2 e0 e1 e2 ");
    stop(&fixture);
}

static void a_failed_step_can_be_ended_and_freed_but_not_followed(void **state)
{
    WEIR_UNUSED(state);
    for (int in_flush = 0; in_flush < 2; in_flush++) {
        Fixture fixture;
        Error err = {0};
        start(&fixture);
        ProbeOp *source = add(&fixture, NULL, 0);
        Op *const inputs[] = {&source->op};
        ProbeOp *map = add(&fixture, inputs, 1);
        map->fails_push = in_flush == 0;
        map->fails_flush = in_flush == 1;
        map->passes_on = false;

        const Batch batch = {.count = 1};
        assert_int_equal(weir_circuit_begin_step(fixture.circuit, &err), WEIR_OK);
        const Status pushed = weir_circuit_push(fixture.circuit, &source->op, &batch, &err);
        if (in_flush == 1) {
            assert_int_equal(pushed, WEIR_OK);
            assert_int_equal(weir_circuit_finish_step(fixture.circuit, &err), WEIR_ERR_NEGATIVE);
        } else {
            assert_int_equal(pushed, WEIR_ERR_EVALUATION);
        }
        assert_int_equal(weir_circuit_finish_step(fixture.circuit, &err), WEIR_ERR_INTERNAL);
        weir_circuit_end_step(fixture.circuit);
        assert_int_equal(weir_circuit_begin_step(fixture.circuit, &err), WEIR_ERR_INTERNAL);
        stop(&fixture);
    }
}

static void every_failed_allocation_frees_the_operator(void **state)
{
    WEIR_UNUSED(state);
    bool is_complete = false;
    for (size_t nth = 1; !is_complete; nth++) {
        Fixture fixture;
        Error err = {0};
        start(&fixture);
        weir_mem_fail_after(fixture.mem, nth, false);
        ProbeOp *last = NULL;
        Status status = try_add(&fixture, NULL, 0, &last, &err);
        for (size_t i = 0; i < 40 && status == WEIR_OK; i++) {
            Op *const inputs[] = {&last->op, weir_circuit_op(fixture.circuit, i / 2)};
            status = try_add(&fixture, inputs, 2, &last, &err);
        }
        is_complete = status == WEIR_OK;
        if (!is_complete) {
            assert_int_equal(status, WEIR_ERR_NOMEM);
        }
        weir_mem_fail_after(fixture.mem, 0, false);
        fixture.diary = (Diary){0};
        for (size_t i = 0; i < weir_circuit_op_count(fixture.circuit); i++) {
            fixture.diary.size = 0;
            assert_int_equal(weir_circuit_op(fixture.circuit, i)->id, i);
        }
        stop(&fixture);
    }
}

static void scratch_memory_of_a_push_is_given_back(void **state)
{
    WEIR_UNUSED(state);
    Fixture fixture;
    Error err = {0};
    start(&fixture);
    ProbeOp *source = add(&fixture, NULL, 0);
    const Batch batch = {.count = 1};
    assert_int_equal(weir_circuit_begin_step(fixture.circuit, &err), WEIR_OK);
    assert_int_equal(weir_circuit_push(fixture.circuit, &source->op, &batch, &err), WEIR_OK);
    const size_t used = weir_mem_used(fixture.mem);
    for (int i = 0; i < 5000; i++) {
        fixture.diary.size = 0;
        assert_int_equal(weir_circuit_push(fixture.circuit, &source->op, &batch, &err), WEIR_OK);
    }
    assert_int_equal(weir_mem_used(fixture.mem), used);
    weir_circuit_end_step(fixture.circuit);
    stop(&fixture);
}

static void a_circuit_prints_itself(void **state)
{
    WEIR_UNUSED(state);
    Fixture fixture;
    Error err = {0};
    start(&fixture);
    ProbeOp *source = add(&fixture, NULL, 0);
    Op *const inputs[] = {&source->op, &source->op};
    add(&fixture, inputs, 2);
    Buf text;
    weir_buf_init(&text, fixture.mem, 4096);
    weir_circuit_put_text(fixture.circuit, &text);
    assert_int_equal(weir_buf_status(&text, &err), WEIR_OK);
    assert_string_equal(text.data,
                        "#0 probe [\"0\"] O(delta) in 0 (0 batches), out 0, state 10 rows, "
                        "10 bytes\n"
                        "#1 probe (#0, #0) [\"1\"] O(delta) in 0 (0 batches), out 0, "
                        "state 20 rows, 20 bytes\n");
    weir_buf_clear(&text);
    weir_circuit_put_dot(fixture.circuit, &text);
    assert_int_equal(weir_buf_status(&text, &err), WEIR_OK);
    assert_non_null(strstr(text.data, "n0 [label=\"#0 probe\\n\\\"0\\\"\\n"));
    assert_non_null(strstr(text.data, "n0 -> n1;\n    n0 -> n1;\n"));
    weir_buf_deinit(&text);
    assert_int_equal(weir_circuit_state_bytes(fixture.circuit), 30);
    stop(&fixture);
}

static void profiling_counts_own_time_only(void **state)
{
    WEIR_UNUSED(state);
    Fixture fixture;
    Error err = {0};
    start(&fixture);
    ProbeOp *source = add(&fixture, NULL, 0);
    Op *const inputs[] = {&source->op};
    ProbeOp *map = add(&fixture, inputs, 1);
    const Batch batch = {.count = 1};
    weir_circuit_set_profiled(fixture.circuit, true);
    assert_int_equal(weir_circuit_begin_step(fixture.circuit, &err), WEIR_OK);
    for (int i = 0; i < 1000; i++) {
        fixture.diary.size = 0;
        assert_int_equal(weir_circuit_push(fixture.circuit, &source->op, &batch, &err), WEIR_OK);
    }
    weir_circuit_end_step(fixture.circuit);
    assert_true(source->op.nanos > 0);
    assert_true(map->op.nanos > 0);
    stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_reaches_every_consumer_on_its_port),
        cmocka_unit_test(what_a_flush_emits_arrives_before_the_next_flush),
        cmocka_unit_test(a_failed_step_can_be_ended_and_freed_but_not_followed),
        cmocka_unit_test(every_failed_allocation_frees_the_operator),
        cmocka_unit_test(scratch_memory_of_a_push_is_given_back),
        cmocka_unit_test(a_circuit_prints_itself),
        cmocka_unit_test(profiling_counts_own_time_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
