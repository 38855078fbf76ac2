/* compile.c: expressions to blocks of steps.
 *
 * An expression gets a slot: an equal one that exists, in this block or imported from one around it;
 * else the slots of its arguments and a step. A branch that cannot fail and is cheap is computed
 * eagerly, another becomes a block. A kernel of constants runs now, or stays a step if it fails. */
#include "expr/program_priv.h"

enum {
    EAGER_NODES_MAX = 8, /* a branch with more is computed only where it is needed */
    SLOTS_MIN = 16,
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

/* --- slots --------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15) ^ (hash >> 29);
}

static uint64_t hash_expr(const Expr *expr)
{
    uint64_t hash = mix((uint64_t)expr->kind, expr->column);
    hash = mix(hash, (uint64_t)expr->compare * 4 + expr->is_try * 2u + expr->is_negated);
    hash = mix(hash, (uint64_t)expr->type->id);
    for (const char *p = expr->name; p != NULL && *p != '\0'; p++) {
        hash = mix(hash, (unsigned char)*p);
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        hash = mix(hash, hash_expr(expr->args[i]));
    }
    return hash;
}

/* Doubles an array in the evaluator's arena; the old one is left behind. */
static Status grow(Evaluator *ev, void **array, size_t *capacity, size_t size, Error *err)
{
    const size_t wanted = WEIR_MAX(*capacity * 2, (size_t)SLOTS_MIN);
    void *larger = weir_arena_calloc(&ev->arena, wanted, size, err);
    if (larger == NULL) {
        return err->code;
    }
    if (*capacity > 0) {
        memcpy(larger, *array, *capacity * size);
    }
    *array = larger;
    *capacity = wanted;
    return WEIR_OK;
}

static Status add_slot(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash, size_t *slot,
                       Error *err)
{
    if (block->slot_count == block->slot_capacity) {
        size_t capacity = block->slot_capacity;
        void *slots = block->slots;
        void *values = block->values;
        WEIR_TRY(grow(ev, &slots, &capacity, sizeof *block->slots, err));
        capacity = block->slot_capacity;
        WEIR_TRY(grow(ev, &values, &capacity, sizeof *block->values, err));
        block->slots = slots;
        block->values = values;
        block->slot_capacity = capacity;
    }
    *slot = block->slot_count++;
    block->slots[*slot] = (Slot){.expr = expr, .hash = hash};
    block->values[*slot] = (Vector){.phys = expr->type->phys};
    return WEIR_OK;
}

static Status add_import(Evaluator *ev, Block *block, Import import, Error *err)
{
    if (block->import_count == block->import_capacity) {
        void *imports = block->imports;
        WEIR_TRY(grow(ev, &imports, &block->import_capacity, sizeof *block->imports, err));
        block->imports = imports;
    }
    block->imports[block->import_count++] = import;
    return WEIR_OK;
}

/* SIZE_MAX if the block itself does not have it. */
static size_t find_in_block(const Block *block, const Expr *expr, uint64_t hash)
{
    for (size_t i = 0; i < block->slot_count; i++) {
        if (block->slots[i].hash == hash && weir_expr_equal(block->slots[i].expr, expr)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static bool is_known(const Block *block, const Expr *expr)
{
    const uint64_t hash = hash_expr(expr);
    for (; block != NULL; block = block->outer) {
        if (find_in_block(block, expr, hash) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

/* The slot in this block of what this block or one around it has; SIZE_MAX in *slot if none has. */
static Status find_or_import(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                             size_t *slot, Error *err)
{
    *slot = find_in_block(block, expr, hash);
    if (*slot != SIZE_MAX || block->outer == NULL) {
        return WEIR_OK;
    }
    size_t outer;
    WEIR_TRY(find_or_import(ev, block->outer, expr, hash, &outer, err));
    if (outer == SIZE_MAX) {
        return WEIR_OK;
    }
    WEIR_TRY(add_slot(ev, block, expr, hash, slot, err));
    if (block->outer->slots[outer].is_constant) {
        block->slots[*slot].is_constant = true;
        block->values[*slot] = block->outer->values[outer];
        return WEIR_OK;
    }
    return add_import(ev, block, (Import){.outer = outer, .slot = *slot}, err);
}

static Block *new_block(Evaluator *ev, Block *outer, Error *err)
{
    Block *block = weir_arena_zalloc(&ev->arena, sizeof *block, err);
    if (block == NULL) {
        return NULL;
    }
    block->outer = outer;
    block->last = &block->first;
    block->next = ev->blocks;
    ev->blocks = block;
    return block;
}

/* --- leaves -------------------------------------------------------------------------------------- */

static Status compile_column(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                             size_t *slot, Error *err)
{
    WEIR_ASSERT(expr->column < ev->input->count);
    if (block->outer != NULL) {
        size_t outer;
        WEIR_TRY(compile(ev, block->outer, expr, &outer, err));
        WEIR_TRY(add_slot(ev, block, expr, hash, slot, err));
        return add_import(ev, block, (Import){.outer = outer, .slot = *slot}, err);
    }
    WEIR_TRY(add_slot(ev, block, expr, hash, slot, err));
    return add_import(ev, block, (Import){.outer = expr->column, .slot = *slot}, err);
}

/* A constant vector's data and validity in the evaluator's arena. */
static Status set_constant(Evaluator *ev, Block *block, size_t slot, const void *bytes,
                           bool is_null, Error *err)
{
    const PhysType phys = block->slots[slot].expr->type->phys;
    const size_t width = weir_phys_width(phys);
    Vector *v = &block->values[slot];
    WEIR_TRY(weir_vector_init(v, phys, 1, &ev->arena, err));
    v->is_constant = true;
    if (is_null) {
        memset(v->data, 0, width);
        WEIR_TRY(weir_vector_add_validity(v, 1, &ev->arena, err));
        weir_validity_set_null(v->validity, 0);
    } else {
        memcpy(v->data, bytes, width);
    }
    block->slots[slot].is_constant = true;
    return WEIR_OK;
}

static Status compile_constant(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                               size_t *slot, Error *err)
{
    WEIR_TRY(add_slot(ev, block, expr, hash, slot, err));
    return set_constant(ev, block, *slot, expr->value.data.bytes, expr->value.is_null, err);
}

/* --- kernels ------------------------------------------------------------------------------------- */

/* Runs the step on its constant arguments; true if that gave the slot its value. */
static bool fold(Evaluator *ev, Block *block, const Step *step)
{
    for (size_t i = 0; i < step->arg_count; i++) {
        if (!block->slots[step->args[i]].is_constant) {
            return false;
        }
        step->values[i] = block->values[step->args[i]];
    }
    Error ignored = {0};
    Vector out = {0};
    const Status status = weir_step_run_kernel(step, 1, &ev->arena, &out, &ignored);
    const bool is_folded = status == KERNEL_DECLINES ? weir_host_fold(ev, step->expr, &out)
                                                     : status == WEIR_OK && out.is_constant;
    if (!is_folded) {
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

static Status compile_kernel(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                             size_t *slot, Error *err)
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
    WEIR_TRY(add_slot(ev, block, expr, hash, slot, err));
    *step = (Step){
        .kind = STEP_KERNEL,
        .expr = expr,
        .out = *slot,
        .def = weir_kernel_of_kind(expr),
        .args = args,
        .values = values,
        .arg_count = expr->arg_count,
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
        (mode == BRANCH_AS_FITS && (is_eager(expr) || is_known(block, expr)))) {
        return compile(ev, block, expr, &out->slot, err);
    }
    out->block = new_block(ev, block, err);
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
    WEIR_TRY(add_slot(ev, block, expr, hash, slot, err));
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

/* The same AND or OR marked as a condition, of which only TRUE counts: `is_negated`, which means
 * nothing there, keeps it apart from the value. Other expressions are values. */
static const Expr *as_condition(Evaluator *ev, const Expr *expr, Error *err)
{
    if ((expr->kind != EXPR_AND && expr->kind != EXPR_OR) || !weir_expr_can_fail(expr)) {
        return expr;
    }
    Expr *copy = weir_arena_alloc(&ev->arena, sizeof *copy, err);
    const Expr **args = weir_arena_calloc(&ev->arena, expr->arg_count, sizeof *args, err);
    if (copy == NULL || args == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        args[i] = as_condition(ev, expr->args[i], err);
        if (args[i] == NULL) {
            return NULL;
        }
    }
    *copy = *expr;
    copy->args = args;
    copy->is_negated = true;
    return copy;
}

/* A CASE whose WHENs are conditions. */
static const Expr *case_of_conditions(Evaluator *ev, const Expr *expr, Error *err)
{
    const Expr **args = weir_arena_calloc(&ev->arena, expr->arg_count, sizeof *args, err);
    Expr *copy = weir_arena_alloc(&ev->arena, sizeof *copy, err);
    if (args == NULL || copy == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        const bool is_when = i % 2 == 0 && i + 1 < expr->arg_count;
        args[i] = is_when ? as_condition(ev, expr->args[i], err) : expr->args[i];
        if (args[i] == NULL) {
            return NULL;
        }
    }
    *copy = *expr;
    copy->args = args;
    return copy;
}

/* True if some argument is not computed for all rows. The first always is. */
static bool needs_lazy(const Block *block, const Expr *expr)
{
    for (size_t i = 1; i < expr->arg_count; i++) {
        if (!is_eager(expr->args[i]) && !is_known(block, expr->args[i])) {
            return true;
        }
    }
    return false;
}

static Status compile_case(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                           size_t *slot, Error *err)
{
    const Expr *with_conditions = case_of_conditions(ev, expr, err);
    if (with_conditions == NULL) {
        return err->code;
    }
    WEIR_TRY(needs_lazy(block, with_conditions)
                 ? compile_lazy(ev, block, with_conditions, hash, slot, err)
                 : compile_kernel(ev, block, with_conditions, hash, slot, err));
    block->slots[*slot].expr = expr; /* for those who look for it */
    return WEIR_OK;
}

/* x IN (a, b): x = a OR x = b; NOT IN: its negation. */
static const Expr *expand_in(Evaluator *ev, const Expr *expr, Error *err)
{
    const size_t count = expr->arg_count - 1;
    Expr *nodes = weir_arena_calloc(&ev->arena, count + 2, sizeof *nodes, err);
    const Expr **args = weir_arena_calloc(&ev->arena, 3 * count + 1, sizeof *args, err);
    if (nodes == NULL || args == NULL) {
        return NULL;
    }
    const Expr **pairs = args + count;
    for (size_t i = 0; i < count; i++) {
        pairs[2 * i] = expr->args[0];
        pairs[2 * i + 1] = expr->args[i + 1];
        nodes[i] = (Expr){
            .kind = EXPR_COMPARE,
            .type = expr->type,
            .args = &pairs[2 * i],
            .arg_count = 2,
            .compare = COMPARE_EQ,
        };
        args[i] = &nodes[i];
    }
    nodes[count] = (Expr){.kind = EXPR_OR, .type = expr->type, .args = args, .arg_count = count};
    const Expr *result = count == 1 ? args[0] : &nodes[count];
    if (!expr->is_negated) {
        return result;
    }
    args[3 * count] = result;
    nodes[count + 1] =
        (Expr){.kind = EXPR_NOT, .type = expr->type, .args = &args[3 * count], .arg_count = 1};
    return &nodes[count + 1];
}

/* --- the host ------------------------------------------------------------------------------------ */

static Status compile_host(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash,
                           size_t *slot, Error *err)
{
    HostPart *part = &block->host;
    Vector constant;
    if (weir_host_fold(ev, expr, &constant)) {
        WEIR_TRY(add_slot(ev, block, expr, hash, slot, err));
        block->values[*slot] = constant;
        block->slots[*slot].is_constant = true;
        return WEIR_OK;
    }
    const Expr **exprs = weir_arena_calloc(&ev->arena, part->count + 1, sizeof *exprs, err);
    size_t *slots = weir_arena_calloc(&ev->arena, part->count + 1, sizeof *slots, err);
    if (exprs == NULL || slots == NULL) {
        return WEIR_ERR_NOMEM;
    }
    if (part->count > 0) {
        memcpy(exprs, part->exprs, part->count * sizeof *exprs);
        memcpy(slots, part->slots, part->count * sizeof *slots);
    }
    WEIR_TRY(add_slot(ev, block, expr, hash, slot, err));
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
    case EXPR_IN: {
        const Expr *expanded = expand_in(ev, expr, err);
        return expanded == NULL ? err->code : compile(ev, block, expanded, slot, err);
    }
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
    return compile_kernel(ev, block, expr, hash, slot, err);
}

static Status compile(Evaluator *ev, Block *block, const Expr *expr, size_t *slot, Error *err)
{
    const uint64_t hash = hash_expr(expr);
    WEIR_TRY(find_or_import(ev, block, expr, hash, slot, err));
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
    program->top = new_block(ev, NULL, err);
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
        const Expr *condition = as_condition(ev, ev->exprs[i], err);
        if (condition == NULL) {
            return err->code;
        }
        WEIR_TRY(compile_branch(ev, program->top, condition, mode, &program->outputs[i], err));
    }
    return prepare_hosts(ev, old, program, err);
}
