/* rule_project.c: a projection of a projection is one projection, and one that changes nothing is
 * none.
 *
 * The inner expressions replace the outer one's columns unless that would compute something twice.
 * Both see the same rows, so that what can fail fails as before, or less often. */
#include "plan/rule_priv.h"

enum { DUPLICATION_COST_MAX = 1 };

static void count_uses(const Expr *expr, size_t *uses)
{
    if (expr->kind == EXPR_COLUMN) {
        uses[expr->column]++;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        count_uses(expr->args[i], uses);
    }
    if (expr->extra != NULL && expr->extra->lambda != NULL) {
        /* A body is evaluated for each element. */
        count_uses(expr->extra->lambda, uses);
        count_uses(expr->extra->lambda, uses);
    }
}

/* True if no costly expression of `below` is used more than once. */
static Status is_cheap(Ir *ir, const IrProject *above, const IrProject *below, bool *out,
                       Error *err)
{
    const size_t count = below->head.column_count;
    size_t *uses = weir_arena_calloc(ir->arena, count, sizeof *uses, err);
    if (uses == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < above->head.column_count; i++) {
        count_uses(above->exprs[i], uses);
    }
    *out = true;
    for (size_t i = 0; i < count; i++) {
        if (uses[i] > 1 && weir_rule_cost(below->exprs[i]) > DUPLICATION_COST_MAX) {
            *out = false;
        }
    }
    return WEIR_OK;
}

static bool is_identity(const IrProject *project)
{
    const IrNode *child = project->head.children[0];
    if (child->column_count != project->head.column_count) {
        return false;
    }
    for (size_t i = 0; i < child->column_count; i++) {
        if (project->exprs[i]->kind != EXPR_COLUMN || project->exprs[i]->column != i) {
            return false;
        }
    }
    return true;
}

static bool is_column_list(const IrProject *project)
{
    for (size_t i = 0; i < project->head.column_count; i++) {
        if (project->exprs[i]->kind != EXPR_COLUMN) {
            return false;
        }
    }
    return true;
}

static Status fuse_pair(Ir *ir, const IrNode *node, const IrNode **out, Error *err)
{
    const IrProject *above = weir_ir_as_project(node);
    const IrProject *below = weir_ir_as_project(node->children[0]);
    const Expr **exprs =
        weir_arena_calloc(ir->arena, node->column_count, sizeof(const Expr *), err);
    if (exprs == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        exprs[i] = weir_expr_substitute(ir->arena, above->exprs[i], below->exprs, err);
        if (exprs[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    *out = weir_ir_project(ir, below->head.children[0], exprs, node->column_count, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* context: parent counts of the graph before. */
static Status fuse_node(Ir *ir, void *context, const IrNode *old, const IrNode *node,
                        const IrNode **out, Error *err)
{
    const size_t *parent_counts = context;
    *out = node;
    if (node->kind != IR_PROJECT) {
        return WEIR_OK;
    }
    if (is_identity(weir_ir_as_project(node))) {
        *out = node->children[0];
        return WEIR_OK;
    }
    if (node->children[0]->kind != IR_PROJECT) {
        return WEIR_OK;
    }
    const IrProject *below = weir_ir_as_project(node->children[0]);
    bool can_fuse = is_column_list(below);
    if (!can_fuse && parent_counts[old->children[0]->id] == 1) {
        WEIR_TRY(is_cheap(ir, weir_ir_as_project(node), below, &can_fuse, err));
    }
    if (!can_fuse) {
        return WEIR_OK;
    }
    WEIR_TRY(fuse_pair(ir, node, out, err));
    if (is_identity(weir_ir_as_project(*out))) {
        *out = (*out)->children[0];
    }
    return WEIR_OK;
}

Status weir_rule_fuse_projects(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    size_t *parent_counts = NULL;
    WEIR_TRY(weir_ir_count_parents(ir, root, &parent_counts, err));
    return weir_ir_rewrite(ir, root, fuse_node, parent_counts, out, err);
}
