/* plan_json.c: libFuzzer on the text of a plan: read, rewritten, lowered, built, one empty step.
 *
 * Build and run: fuzz/run plan_json. Any text must be refused or planned; a plan without a database
 * to evaluate for it may fail to build, with an error. */
#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUDGET_BYTES = 512 << 20, SOURCES_MAX = 64 };

static void run_step(Circuit *circuit, Error *err)
{
    Status status = weir_circuit_begin_step(circuit, err);
    if (status == WEIR_OK) {
        status = weir_circuit_finish_step(circuit, err);
    }
    WEIR_UNUSED(status);
    weir_circuit_end_step(circuit);
}

static void build(const Plan *plan, Mem *mem)
{
    Error err = {0};
    PagePool *pool = weir_page_pool_new(mem, &err);
    const CircuitEnv env = {.mem = mem, .pool = pool};
    Circuit *circuit = NULL;
    Op *sources[SOURCES_MAX] = {NULL};
    Op *sink = NULL;
    if (pool != NULL && weir_plan_source_count(plan) <= SOURCES_MAX &&
        weir_plan_build(plan, &env, &circuit, sources, &sink, &err) == WEIR_OK) {
        run_step(circuit, &err);
    }
    weir_circuit_free(circuit);
    if (pool != NULL) {
        weir_page_pool_free(pool);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Mem *mem = weir_mem_new(BUDGET_BYTES);
    if (mem == NULL) {
        return 0;
    }
    Error err = {0};
    Plan *plan = NULL;
    const PlanEnv env = {.mem = mem, .rules_off = size % 4 == 0};
    const Status status = weir_plan_new(&env, (const char *)data, size, &plan, &err);
    if (status == WEIR_OK) {
        Buf text;
        weir_buf_init(&text, mem, 1 << 20);
        weir_plan_put_text(plan, &text);
        weir_buf_deinit(&text);
        build(plan, mem);
    } else if (status == WEIR_ERR_INTERNAL) {
        __builtin_trap(); /* a rule broke a plan that the reader let through */
    }
    weir_plan_free(plan);
    weir_mem_free_allocator(mem);
    return 0;
}
