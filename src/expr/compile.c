/* compile.c: expressions to blocks of steps.
 *
 * An expression gets a slot: an equal one that exists, in this block or imported from one around it;
 * else the slots of its arguments and a step. A branch is computed eagerly if it cannot fail and is
 * cheap; else it becomes a block. A kernel whose arguments are constants runs now; if it fails, it
 * stays a step, and fails when a row reaches it. */
#include "expr/in_set.h"
#include "expr/program_priv.h"

enum {
    EAGER_NODES_MAX = 8, /* a branch with more is computed only where it is needed */
};

static Status compile(Evaluator *ev, Block *block, const Expr *expr, size_t *slot, Error *err);

/* --- what can be done here ----------------------------------------------------------------------- */

/* True if the node itself can be computed here, given its arguments. */
static bool is_native_node(const Expr *expr)
{
    switch (expr->kind) {
    case EXPR_COLUMN:
    case EXPR_CONSTANT:
    case EXPR_IN:
    case EXPR_TRY: return true;
    case EXPR_PARAMETER: return false;
    case EXPR_CAST:
    case EXPR_COMPARE:
    case EXPR_AND:
    case EXPR_OR:
    case EXPR_NOT:
    case EXPR_IS_NULL:
    case EXPR_IS_NOT_NULL:
    case EXPR_COALESCE:
    case EXPR_CASE:
    case EXPR_CALL: return weir_kernel_of_kind(expr) != NULL;
    }
    return false;
}

/* is_surely: a kernel that may decline does not count. */
static bool is_native(const Expr *expr, bool is_surely)
{
    if (!is_native_node(expr)) {
        return false;
    }
    const bool has_def = expr->kind == EXPR_CAST || expr->kind == EXPR_CALL;
    if (is_surely && has_def && (weir_kernel_of_kind(expr)->flags & FUNCTION_PARTIAL) != 0) {
        return false;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        if (!is_native(expr->args[i], is_surely)) {
            return false;
        }
    }
    return true;
}

/* Nodes that cost something; stops counting above the limit. */
static size_t count_nodes(const Expr *expr)
{
    if (expr->kind == EXPR_COLUMN || expr->kind == EXPR_CONSTANT) {
        return 0;
    }
    size_t count = 1;
    for (size_t i = 0; i < expr->arg_count && count <= EAGER_NODES_MAX; i++) {
        count += count_nodes(expr->args[i]);
    }
    return count;
}

static bool is_eager(const Expr *expr)
{
    return count_nodes(expr) <= EAGER_NODES_MAX && is_native(expr, false) &&
           !weir_expr_can_fail(expr);
}

/* --- leaves -------------------------------------------------------------------------------------- */

static Status compile_column(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                             size_t *slot, Error *err)
{
    WEIR_ASSERT(expr->column < ev->input->count);
    if (block->outer != NULL) {
        size_t outer;
        WEIR_TRY(compile(ev, block->outer, expr, &outer, err));
        WEIR_TRY(weir_slot_add(ev, block, expr, hash, slot, err));
        return weir_slot_import(ev, block, (Import){.outer = outer, .slot = *slot}, err);
    }
    WEIR_TRY(weir_slot_add(ev, block, expr, hash, slot, err));
    return weir_slot_import(ev, block, (Import){.outer = expr->column, .slot = *slot}, err);
}

/* A constant as a vector in the evaluator's arena. */
static Status constant_vector(Evaluator *ev, const Value *value, Vector *out, Error *err)
{
    const size_t width = weir_phys_width(value->type->phys);
    WEIR_TRY(weir_vector_init(out, value->type->phys, 1, &ev->arena, err));
    out->is_constant = true;
    if (!value->is_null) {
        memcpy(out->data, value->data.bytes, width);
        return WEIR_OK;
    }
    memset(out->data, 0, width);
    WEIR_TRY(weir_vector_add_validity(out, 1, &ev->arena, err));
    weir_validity_set_null(out->validity, 0);
    return WEIR_OK;
}

static Status compile_constant(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                               size_t *slot, Error *err)
{
    WEIR_TRY(weir_slot_add(ev, block, expr, hash, slot, err));
    block->slots[*slot].is_constant = true;
    return constant_vector(ev, &expr->value, &block->values[*slot], err);
}

/* --- kernels ------------------------------------------------------------------------------------- */

/* Runs the step, whose arguments are constants; false if it fails. */
static bool run_constant(Evaluator *ev, const Step *step, Vector *out)
{
    Error ignored = {0};
    const Status status = weir_step_run_kernel(step, 1, &ev->arena, out, &ignored);
    return status == KERNEL_DECLINES ? weir_host_fold(ev, step->expr, out)
                                     : status == WEIR_OK && out->is_constant;
}

/* Runs the step if its arguments are constants; true if that gave the slot its value. */
static bool fold(Evaluator *ev, Block *block, const Step *step)
{
    for (size_t i = 0; i < step->arg_count; i++) {
        if (!block->slots[step->args[i]].is_constant) {
            return false;
        }
        step->values[i] = block->values[step->args[i]];
    }
    Vector out = {0};
    if (!run_constant(ev, step, &out)) {
        return false;
    }
    block->values[step->out] = out;
    block->slots[step->out].is_constant = true;
    return true;
}

static void append_step(Block *block, Step *step)
{
    *block->last = step;
    block->last = &step->next;
}

/* state: for the kernel; NULL = none. */
static Status compile_kernel(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                             const void *state, size_t *slot, Error *err)
{
    Step *step = weir_arena_zalloc(&ev->arena, sizeof *step, err);
    size_t *args = weir_arena_calloc(&ev->arena, expr->arg_count + 1, sizeof *args, err);
    Vector *values = weir_arena_calloc(&ev->arena, expr->arg_count + 1, sizeof *values, err);
    if (step == NULL || args == NULL || values == NULL) {
        return WEIR_ERR_NOMEM;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        WEIR_TRY(compile(ev, block, expr->args[i], &args[i], err));
    }
    WEIR_TRY(weir_slot_add(ev, block, expr, hash, slot, err));
    *step = (Step){
        .kind = STEP_KERNEL,
        .expr = expr,
        .out = *slot,
        .def = weir_kernel_of_kind(expr),
        .args = args,
        .values = values,
        .arg_count = expr->arg_count,
        .state = state,
    };
    WEIR_ASSERT(step->def != NULL);
    if (expr->arg_count == 0 || !fold(ev, block, step)) {
        append_step(block, step);
    }
    return WEIR_OK;
}

/* --- lazy steps ---------------------------------------------------------------------------------- */

typedef enum BranchMode { BRANCH_EAGER, BRANCH_LAZY, BRANCH_AS_FITS } BranchMode;

static Status compile_branch(Evaluator *ev, Block *block, const Expr *expr, BranchMode mode,
                             Branch *out, Error *err)
{
    *out = (Branch){0};
    if (mode == BRANCH_EAGER ||
        (mode == BRANCH_AS_FITS && (is_eager(expr) || weir_slot_is_known(block, expr)))) {
        return compile(ev, block, expr, &out->slot, err);
    }
    out->block = weir_block_new(ev, block, err);
    if (out->block == NULL) {
        return err->code;
    }
    return compile(ev, out->block, expr, &out->slot, err);
}

static StepKind lazy_kind(const Expr *expr)
{
    switch (expr->kind) {
    case EXPR_AND: return STEP_AND;
    case EXPR_OR: return STEP_OR;
    case EXPR_CASE: return STEP_CASE;
    case EXPR_COALESCE: return STEP_COALESCE;
    case EXPR_TRY: return STEP_TRY;
    case EXPR_COLUMN:
    case EXPR_CONSTANT:
    case EXPR_CAST:
    case EXPR_COMPARE:
    case EXPR_NOT:
    case EXPR_IS_NULL:
    case EXPR_IS_NOT_NULL:
    case EXPR_IN:
    case EXPR_CALL:
    case EXPR_PARAMETER: break;
    }
    return STEP_KERNEL;
}

static Status compile_lazy(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                           size_t *slot, Error *err)
{
    Step *step = weir_arena_zalloc(&ev->arena, sizeof *step, err);
    Branch *branches = weir_arena_calloc(&ev->arena, expr->arg_count, sizeof *branches, err);
    if (step == NULL || branches == NULL) {
        return WEIR_ERR_NOMEM;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        const BranchMode first = expr->kind == EXPR_TRY ? BRANCH_LAZY : BRANCH_EAGER;
        const BranchMode mode = i == 0 ? first : BRANCH_AS_FITS;
        WEIR_TRY(compile_branch(ev, block, expr->args[i], mode, &branches[i], err));
    }
    WEIR_TRY(weir_slot_add(ev, block, expr, hash, slot, err));
    *step = (Step){
        .kind = lazy_kind(expr),
        .expr = expr,
        .out = *slot,
        .branches = branches,
        .branch_count = expr->arg_count,
    };
    append_step(block, step);
    return WEIR_OK;
}

/* True if some argument is not computed for all rows. The first always is. */
static bool needs_lazy(const Block *block, const Expr *expr)
{
    for (size_t i = 1; i < expr->arg_count; i++) {
        if (!is_eager(expr->args[i]) && !weir_slot_is_known(block, expr->args[i])) {
            return true;
        }
    }
    return false;
}

static Status compile_case(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                           size_t *slot, Error *err)
{
    const Expr *with_conditions = weir_program_case_of_conditions(ev, expr, err);
    if (with_conditions == NULL) {
        return err->code;
    }
    WEIR_TRY(needs_lazy(block, with_conditions)
                 ? compile_lazy(ev, block, with_conditions, hash, slot, err)
                 : compile_kernel(ev, block, with_conditions, hash, NULL, slot, err));
    block->slots[*slot].expr = expr; /* for those who look for it */
    return WEIR_OK;
}

/* The value of a constant or of the cast of one, which is how DuckDB gives a list the type of what is
 * looked up in it; *is_constant is false for all else. */
static Status constant_element(Evaluator *ev, const Expr *expr, Vector *out, bool *is_constant,
                               Error *err)
{
    *is_constant = expr->kind == EXPR_CONSTANT;
    if (*is_constant) {
        return constant_vector(ev, &expr->value, out, err);
    }
    if (expr->kind != EXPR_CAST || expr->args[0]->kind != EXPR_CONSTANT || !is_native_node(expr)) {
        return WEIR_OK;
    }
    Vector uncast;
    WEIR_TRY(constant_vector(ev, &expr->args[0]->value, &uncast, err));
    const Step step = {
        .kind = STEP_KERNEL,
        .expr = expr,
        .def = weir_kernel_of_kind(expr),
        .values = &uncast,
        .arg_count = 1,
    };
    *is_constant = run_constant(ev, &step, out);
    return WEIR_OK;
}

/* x IN (constants): a lookup, if the list is long; SIZE_MAX in *slot if it does not pay. */
static Status compile_in_set(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                             size_t *slot, Error *err)
{
    const size_t count = expr->arg_count - 1;
    *slot = SIZE_MAX;
    if (!weir_in_set_pays(expr->args[0]->type, count)) {
        return WEIR_OK;
    }
    Vector *values = weir_arena_calloc(&ev->arena, count, sizeof *values, err);
    if (values == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_constant;
        WEIR_TRY(constant_element(ev, expr->args[i + 1], &values[i], &is_constant, err));
        if (!is_constant) {
            return WEIR_OK;
        }
    }
    InSet *set = NULL;
    WEIR_TRY(weir_in_set_new(&ev->arena, expr->args[0]->type, values, count, &set, err));
    Expr *lookup = weir_arena_alloc(&ev->arena, sizeof *lookup, err);
    if (lookup == NULL) {
        return err->code;
    }
    *lookup = *expr;
    lookup->arg_count = 1;
    WEIR_TRY(compile_kernel(ev, block, lookup, hash, set, slot, err));
    block->slots[*slot].expr = expr;
    return WEIR_OK;
}

static Status compile_in(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash, size_t *slot,
                         Error *err)
{
    WEIR_TRY(compile_in_set(ev, block, expr, hash, slot, err));
    if (*slot != SIZE_MAX) {
        return WEIR_OK;
    }
    const Expr *expanded = weir_program_expand_in(ev, expr, err);
    return expanded == NULL ? err->code : compile(ev, block, expanded, slot, err);
}

/* --- the host ------------------------------------------------------------------------------------ */

static Status compile_host(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                           size_t *slot, Error *err)
{
    HostPart *part = &block->host;
    Vector constant;
    if (weir_host_fold(ev, expr, &constant)) {
        WEIR_TRY(weir_slot_add(ev, block, expr, hash, slot, err));
        block->values[*slot] = constant;
        block->slots[*slot].is_constant = true;
        return WEIR_OK;
    }
    const Expr **exprs = weir_arena_calloc(&ev->arena, part->count + 1, sizeof(const Expr *), err);
    size_t *slots = weir_arena_calloc(&ev->arena, part->count + 1, sizeof *slots, err);
    if (exprs == NULL || slots == NULL) {
        return WEIR_ERR_NOMEM;
    }
    if (part->count > 0) {
        memcpy(slots, part->slots, part->count * sizeof *slots);
    }
    for (size_t i = 0; i < part->count; i++) {
        exprs[i] = part->exprs[i];
    }
    WEIR_TRY(weir_slot_add(ev, block, expr, hash, slot, err));
    exprs[part->count] = expr;
    slots[part->count] = *slot;
    part->exprs = exprs;
    part->slots = slots;
    part->count++;
    return WEIR_OK;
}

/* --- all together -------------------------------------------------------------------------------- */

static Status compile_native(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                             size_t *slot, Error *err)
{
    switch (expr->kind) {
    case EXPR_COLUMN: return compile_column(ev, block, expr, hash, slot, err);
    case EXPR_CONSTANT: return compile_constant(ev, block, expr, hash, slot, err);
    case EXPR_TRY: return compile_lazy(ev, block, expr, hash, slot, err);
    case EXPR_IN: return compile_in(ev, block, expr, hash, slot, err);
    case EXPR_CASE: return compile_case(ev, block, expr, hash, slot, err);
    case EXPR_AND:
    case EXPR_OR:
    case EXPR_COALESCE:
        if (needs_lazy(block, expr)) {
            return compile_lazy(ev, block, expr, hash, slot, err);
        }
        break;
    case EXPR_CAST:
    case EXPR_COMPARE:
    case EXPR_NOT:
    case EXPR_IS_NULL:
    case EXPR_IS_NOT_NULL:
    case EXPR_CALL:
    case EXPR_PARAMETER: break;
    }
    return compile_kernel(ev, block, expr, hash, NULL, slot, err);
}

static Status compile(Evaluator *ev, Block *block, const Expr *expr, size_t *slot, Error *err)
{
    const uint64_t hash = weir_slot_hash(expr);
    WEIR_TRY(weir_slot_find(ev, block, expr, hash, slot, err));
    if (*slot != SIZE_MAX) {
        return WEIR_OK;
    }
    /* TRY catches the failures of kernels; what fails in the host is better caught there. */
    const bool is_native_here =
        expr->kind == EXPR_TRY ? is_native(expr, true) : is_native_node(expr);
    return is_native_here ? compile_native(ev, block, expr, hash, slot, err)
                          : compile_host(ev, block, expr, hash, slot, err);
}

Status weir_program_slot(Evaluator *ev, Block *block, const Expr *expr, size_t *slot, Error *err)
{
    return compile(ev, block, expr, slot, err);
}

/* Prepares the host parts of the blocks made since `old`. */
static Status prepare_hosts(Evaluator *ev, const Block *old, Program *program, Error *err)
{
    for (Block *block = ev->blocks; block != old; block = block->next) {
        program->host_count += block->host.count;
        if (block->host.count > 0) {
            WEIR_TRY(weir_host_prepare(ev, block, err));
        }
    }
    return WEIR_OK;
}

static Status start_program(Evaluator *ev, Program *program, Error *err)
{
    program->outputs =
        weir_arena_calloc(&ev->arena, ev->expr_count + 1, sizeof *program->outputs, err);
    program->top = weir_block_new(ev, NULL, err);
    return program->outputs == NULL || program->top == NULL ? WEIR_ERR_NOMEM : WEIR_OK;
}

Status weir_program_compile_values(Evaluator *ev, Error *err)
{
    const Block *old = ev->blocks;
    Program *program = &ev->values;
    WEIR_TRY(start_program(ev, program, err));
    for (size_t i = 0; i < ev->expr_count; i++) {
        WEIR_TRY(compile(ev, program->top, ev->exprs[i], &program->outputs[i].slot, err));
    }
    return prepare_hosts(ev, old, program, err);
}

/* A conjunct that can fail, or is dear, sees only the rows that passed those before. */
Status weir_program_compile_conditions(Evaluator *ev, Error *err)
{
    const Block *old = ev->blocks;
    Program *program = &ev->conditions;
    WEIR_TRY(start_program(ev, program, err));
    for (size_t i = 0; i < ev->expr_count; i++) {
        const BranchMode mode = i == 0 ? BRANCH_EAGER : BRANCH_AS_FITS;
        const Expr *condition = weir_program_condition(ev, ev->exprs[i], err);
        if (condition == NULL) {
            return err->code;
        }
        WEIR_TRY(compile_branch(ev, program->top, condition, mode, &program->outputs[i], err));
    }
    return prepare_hosts(ev, old, program, err);
}
