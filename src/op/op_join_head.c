/* op_join_head.c: what every join has: the row forms of its sides and its residual. */
#include "op/op_join_priv.h"

/* --- sides ----------------------------------------------------------------------------------- */

/* What init_side is told about one input. */
typedef struct SideSpec {
    const Schema *schema;
    const size_t *keys;
    size_t key_count;
    const size_t *outputs;
    size_t output_count;
    const bool *used; /* by the residual, per column; NULL = no residual */
} SideSpec;

/* The column that holds input column `input` as it is; added to the payload if there is none. */
static size_t find_column(JoinSide *side, const SideSpec *spec, size_t input)
{
    const LogicalType *type = spec->schema->types[input];
    for (size_t c = weir_type_is_lossy(type) ? side->key_count : 0; c < side->column_count; c++) {
        if (side->inputs[c] == input) {
            return c;
        }
    }
    const size_t added = side->column_count;
    side->inputs[added] = input;
    side->types[added] = type;
    side->phys[added] = type->phys;
    side->column_count += 1;
    return added;
}

static Status init_side(JoinSide *side, Arena *arena, const SideSpec *spec, Error *err)
{
    const size_t capacity = spec->key_count + spec->schema->count;
    side->inputs = weir_arena_calloc(arena, capacity, sizeof *side->inputs, err);
    side->types = weir_arena_calloc(arena, capacity, sizeof(const LogicalType *), err);
    side->phys = weir_arena_calloc(arena, capacity, sizeof *side->phys, err);
    side->outputs = weir_arena_calloc(arena, spec->output_count, sizeof *side->outputs, err);
    side->operands = weir_arena_calloc(arena, spec->schema->count, sizeof *side->operands, err);
    if (side->inputs == NULL || side->types == NULL || side->phys == NULL ||
        side->outputs == NULL || side->operands == NULL) {
        return err->code;
    }
    side->key_count = spec->key_count;
    side->column_count = spec->key_count;
    for (size_t k = 0; k < spec->key_count; k++) {
        side->inputs[k] = spec->keys[k];
        side->types[k] = spec->schema->types[spec->keys[k]];
        side->phys[k] = side->types[k]->phys;
    }
    side->output_count = spec->output_count;
    for (size_t o = 0; o < spec->output_count; o++) {
        side->outputs[o] = find_column(side, spec, spec->outputs[o]);
    }
    for (size_t i = 0; spec->used != NULL && i < spec->schema->count; i++) {
        if (spec->used[i]) {
            side->operands[side->operand_count] = find_column(side, spec, i);
            side->operand_count += 1;
        }
    }
    return WEIR_OK;
}

/* --- residual -------------------------------------------------------------------------------- */

/* Counts, and if `out` is given lists, the parts of an AND. */
static size_t split_and(const Expr *expr, const Expr **out)
{
    if (expr->kind != EXPR_AND) {
        if (out != NULL) {
            out[0] = expr;
        }
        return 1;
    }
    size_t count = 0;
    for (size_t i = 0; i < expr->arg_count; i++) {
        count += split_and(expr->args[i], out == NULL ? NULL : out + count);
    }
    return count;
}

/* Compiles the residual over the operands of both sides. used: the combined columns it reads. */
static Status init_residual(JoinOp *join, const Expr *expr, const Schema *const inputs[2],
                            const bool *used, Error *err)
{
    Arena *arena = &join->arena;
    JoinResidual *residual = &join->residual;
    const size_t column_count = inputs[0]->count + inputs[1]->count;
    const size_t part_count = split_and(expr, NULL);
    const Expr **parts = weir_arena_calloc(arena, part_count, sizeof(const Expr *), err);
    size_t *map = weir_arena_calloc(arena, column_count, sizeof *map, err);
    const LogicalType **types =
        weir_arena_calloc(arena, column_count, sizeof(const LogicalType *), err);
    if (parts == NULL || map == NULL || types == NULL) {
        return err->code;
    }
    size_t operand_count = 0;
    for (size_t i = 0; i < column_count; i++) {
        map[i] = SIZE_MAX;
        if (used[i]) {
            const size_t left_count = inputs[0]->count;
            map[i] = operand_count;
            types[operand_count] =
                i < left_count ? inputs[0]->types[i] : inputs[1]->types[i - left_count];
            operand_count += 1;
        }
    }
    WEIR_ASSERT(operand_count == join->sides[0].operand_count + join->sides[1].operand_count);
    split_and(expr, parts);
    for (size_t p = 0; p < part_count; p++) {
        parts[p] = weir_expr_remap(arena, parts[p], map, err);
        if (parts[p] == NULL) {
            return err->code;
        }
    }
    residual->part_count = part_count;
    residual->schema = (Schema){.count = operand_count, .types = types};
    return weir_evaluator_new(join->op.env->mem, join->op.env->host, parts, part_count,
                              &residual->schema, &residual->evaluator, err);
}

/* --- the head of a join ---------------------------------------------------------------------- */

Status weir_join_init(JoinOp *join, const OpType *type, const Circuit *circuit,
                      const JoinPlan *plan, Error *err)
{
    const JoinSpec *spec = plan->spec;
    op_init(&join->op, type, circuit, &spec->schema);
    join->arena = *plan->arena;
    *plan->arena = (Arena){0};
    join->kind = spec->kind;
    join->is_null_safe = spec->is_null_safe;
    const Schema *const schemas[2] = {&plan->inputs[0]->schema, &plan->inputs[1]->schema};
    bool *used = NULL;
    if (spec->residual != NULL) {
        used = weir_arena_calloc(&join->arena, schemas[0]->count + schemas[1]->count, sizeof *used,
                                 err);
        if (used == NULL) {
            return err->code;
        }
        weir_expr_collect_columns(spec->residual, used);
    }
    const bool shows_right =
        spec->kind == JOIN_INNER || spec->kind == JOIN_LEFT || spec->kind == JOIN_FULL;
    const SideSpec left = {
        .schema = schemas[0],
        .keys = spec->left_keys,
        .key_count = spec->key_count,
        .outputs = spec->left_output,
        .output_count = spec->left_output_count,
        .used = used,
    };
    const SideSpec right = {
        .schema = schemas[1],
        .keys = spec->right_keys,
        .key_count = spec->key_count,
        .outputs = spec->right_output,
        .output_count = shows_right ? spec->right_output_count : 0,
        .used = used == NULL ? NULL : used + schemas[0]->count,
    };
    WEIR_TRY(init_side(&join->sides[0], &join->arena, &left, err));
    WEIR_TRY(init_side(&join->sides[1], &join->arena, &right, err));
    for (size_t k = 0; k < spec->key_count; k++) {
        WEIR_ASSERT(join->sides[0].phys[k] == join->sides[1].phys[k]);
    }
    WEIR_ASSERT(spec->schema.count == join->sides[0].output_count + join->sides[1].output_count +
                                          (spec->kind == JOIN_MARK ? 1 : 0));
    return spec->residual == NULL ? WEIR_OK
                                  : init_residual(join, spec->residual, schemas, used, err);
}

Status weir_join_new(Circuit *circuit, const JoinPlan *plan, size_t size, JoinInit init, Op **out,
                     Error *err)
{
    JoinOp *join = weir_mem_zalloc(weir_circuit_env(circuit)->mem, size, err);
    if (join == NULL) {
        return err->code;
    }
    const Status status = init(join, circuit, plan, err);
    if (status != WEIR_OK) {
        join->op.type->free(&join->op);
        return status;
    }
    WEIR_TRY(weir_circuit_add(circuit, &join->op, plan->inputs, 2, err));
    *out = &join->op;
    return WEIR_OK;
}

void weir_join_deinit(JoinOp *join)
{
    weir_evaluator_free(join->residual.evaluator);
    weir_arena_deinit(&join->arena);
}

static const char *kind_name(JoinKind kind)
{
    switch (kind) {
    case JOIN_INNER: return "inner";
    case JOIN_LEFT: return "left";
    case JOIN_FULL: return "full";
    case JOIN_SEMI: return "semi";
    case JOIN_ANTI: return "anti";
    case JOIN_MARK: return "mark";
    }
    return "";
}

void weir_join_describe(const Op *op, Buf *out)
{
    const JoinOp *join = OP_CONST(JoinOp, op);
    const JoinSide *left = &join->sides[0];
    const JoinSide *right = &join->sides[1];
    weir_buf_printf(out, "%s on", kind_name(join->kind));
    for (size_t k = 0; k < left->key_count; k++) {
        weir_buf_printf(out, "%s#%zu %s #%zu", k == 0 ? " " : ", ", left->inputs[k],
                        join->is_null_safe[k] ? "is" : "=", right->inputs[k]);
    }
    if (left->key_count == 0) {
        weir_buf_puts(out, " nothing: each row with each");
    }
    if (join->residual.evaluator != NULL) {
        const size_t host_count = weir_evaluator_host_count(join->residual.evaluator);
        weir_buf_printf(out, ", residual of %zu", join->residual.part_count);
        weir_buf_puts(out, host_count > 0 ? " (by the host)" : "");
    }
}
