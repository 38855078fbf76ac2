/* plan.c: reading, rewriting and building a plan. */
#include "plan/plan.h"

#include "plan/json_priv.h"
#include "plan/plan_priv.h"

enum { ARENA_BLOCK_BYTES = 16 * 1024 };

static Status read_plan(Plan *plan, const PlanEnv *env, const char *json, size_t json_size,
                        Error *err)
{
    JsonReader *reader = weir_mem_zalloc(plan->mem, sizeof *reader, err);
    if (reader == NULL) {
        return weir_ir_failure(err);
    }
    reader->env = env;
    reader->ir = &plan->ir;
    reader->arena = &plan->arena;
    Json *parsed = NULL;
    Status status = weir_json_parse(json, json_size, &parsed, err);
    if (status == WEIR_OK) {
        status = weir_json_read_plan(reader, parsed, &plan->root, err);
    }
    weir_json_free(parsed);
    weir_mem_free(plan->mem, reader);
    return status;
}

static Status complete_plan(Plan *plan, const PlanEnv *env, Error *err)
{
    Ir *ir = &plan->ir;
    WEIR_TRY(weir_ir_check(ir, plan->root, "reading", err));
    WEIR_TRY(weir_plan_apply_rules(ir, PLAN_PHASE_EARLY, env, &plan->root, err));
    WEIR_TRY(weir_plan_split_columns(ir, plan->root, &plan->root, err));
    WEIR_TRY(weir_ir_check(ir, plan->root, "splitting", err));
    WEIR_TRY(weir_plan_apply_rules(ir, PLAN_PHASE_LATE, env, &plan->root, err));
    WEIR_TRY(weir_plan_find_rounded(ir, plan->root, &plan->is_rounded, err));
    plan->text.root = plan->root;
    WEIR_TRY(weir_ir_name_columns(ir, plan->root, &plan->text.names, err));
    WEIR_TRY(weir_ir_count_parents(ir, plan->root, &plan->text.counts, err));
    plan->schema = (Schema){.count = plan->root->column_count, .types = plan->root->types};
    return weir_plan_lower(ir, plan->root, &plan->program, err);
}

Status weir_plan_new(const PlanEnv *env, const char *json, size_t json_size, Plan **out, Error *err)
{
    *out = NULL;
    Plan *plan = weir_mem_zalloc(env->mem, sizeof *plan, err);
    if (plan == NULL) {
        return weir_ir_failure(err);
    }
    plan->mem = env->mem;
    weir_arena_init(&plan->arena, env->mem,
                    env->arena_block_bytes == 0 ? (size_t)ARENA_BLOCK_BYTES
                                                : env->arena_block_bytes);
    plan->ir.arena = &plan->arena;
    Status status = read_plan(plan, env, json, json_size, err);
    if (status == WEIR_OK) {
        status = complete_plan(plan, env, err);
    }
    if (status != WEIR_OK) {
        weir_plan_free(plan);
        return status;
    }
    *out = plan;
    return WEIR_OK;
}

void weir_plan_free(Plan *plan)
{
    if (plan != NULL) {
        weir_arena_deinit(&plan->arena);
        weir_mem_free(plan->mem, plan);
    }
}

size_t weir_plan_source_count(const Plan *plan)
{
    return plan->program.source_count;
}

const PlanSource *weir_plan_source(const Plan *plan, size_t index)
{
    WEIR_ASSERT(index < plan->program.source_count);
    return &plan->program.sources[index];
}

const Schema *weir_plan_schema(const Plan *plan)
{
    return &plan->schema;
}

bool weir_plan_is_rounded(const Plan *plan, size_t column)
{
    WEIR_ASSERT(column < plan->schema.count);
    return plan->is_rounded[column];
}

void weir_plan_put_text(const Plan *plan, Buf *out)
{
    weir_ir_put_text(&plan->text, out);
}

/* --- building --- */

static Status build_union(const PlanOp *op, Circuit *circuit, Op *const *ops, Op **out, Error *err)
{
    Mem *mem = weir_circuit_env(circuit)->mem;
    Op **inputs = weir_mem_calloc(mem, op->more_input_count, sizeof(Op *), err);
    if (inputs == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < op->more_input_count; i++) {
        inputs[i] = ops[op->more_inputs[i]];
    }
    const Status status =
        weir_op_union_new(circuit, inputs, op->more_input_count, &op->schema, out, err);
    weir_mem_free(mem, inputs);
    return status;
}

static Status build_op(const PlanOp *op, Circuit *circuit, Op *const *ops, Op **out, Error *err)
{
    switch (op->kind) {
    case PLAN_OP_SOURCE: return weir_op_source_new(circuit, &op->schema, op->spec.label, out, err);
    case PLAN_OP_CONSTANT: return weir_op_constant_new(circuit, &op->spec.constant, out, err);
    case PLAN_OP_MAP: return weir_op_map_new(circuit, ops[op->inputs[0]], &op->spec.map, out, err);
    case PLAN_OP_AGGREGATE:
        return weir_op_aggregate_new(circuit, ops[op->inputs[0]], &op->spec.aggregate, out, err);
    case PLAN_OP_JOIN:
        return weir_op_join_new(circuit, ops[op->inputs[0]], ops[op->inputs[1]], &op->spec.join,
                                out, err);
    case PLAN_OP_UNION: return build_union(op, circuit, ops, out, err);
    }
    return WEIR_OK;
}

static Status build_ops(const PlanProgram *program, Circuit *circuit, Op **ops, Op **sources,
                        Op **sink, Error *err)
{
    for (size_t i = 0; i < program->op_count; i++) {
        WEIR_TRY(build_op(&program->ops[i], circuit, ops, &ops[i], err));
    }
    for (size_t i = 0; i < program->source_count; i++) {
        sources[i] = ops[i];
    }
    return weir_op_sink_new(circuit, ops[program->result], sink, err);
}

Status weir_plan_build(const Plan *plan, const CircuitEnv *env, Circuit **out, Op **sources,
                       Op **sink, Error *err)
{
    const PlanProgram *program = &plan->program;
    Circuit *circuit = NULL;
    *out = NULL;
    Op **ops = weir_mem_calloc(env->mem, program->op_count, sizeof(Op *), err);
    if (ops == NULL) {
        return weir_ir_failure(err);
    }
    Status status = weir_circuit_new(env, &circuit, err);
    if (status == WEIR_OK) {
        status = build_ops(program, circuit, ops, sources, sink, err);
    }
    weir_mem_free(env->mem, ops);
    if (status != WEIR_OK) {
        weir_circuit_free(circuit);
        return status;
    }
    *out = circuit;
    return WEIR_OK;
}
