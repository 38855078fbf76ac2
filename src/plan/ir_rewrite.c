/* ir_rewrite.c: walking and rewriting the plan graph. */
#include "plan/ir.h"

typedef struct Rewriting {
    Ir *ir;
    IrRewrite rewrite;
    void *context;
    const IrNode **done; /* by id of the old node; NULL = not yet */
} Rewriting;

static Status rewrite_node(Rewriting *r, const IrNode *node, const IrNode **out, Error *err);

/* The node over its rewritten children. */
static Status rewrite_children(Rewriting *r, const IrNode *node, const IrNode **out, Error *err)
{
    *out = node;
    if (node->child_count == 0) {
        return WEIR_OK;
    }
    const IrNode **children =
        weir_arena_calloc(r->ir->arena, node->child_count, sizeof(const IrNode *), err);
    if (children == NULL) {
        return weir_ir_failure(err);
    }
    bool is_changed = false;
    for (size_t i = 0; i < node->child_count; i++) {
        WEIR_TRY(rewrite_node(r, node->children[i], &children[i], err));
        WEIR_ASSERT(children[i]->column_count == node->children[i]->column_count);
        is_changed = is_changed || children[i] != node->children[i];
    }
    if (is_changed) {
        *out = weir_ir_with_children(r->ir, node, children, err);
    }
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status rewrite_node(Rewriting *r, const IrNode *node, const IrNode **out, Error *err)
{
    if (r->done[node->id] == NULL) {
        const IrNode *copy = NULL;
        WEIR_TRY(rewrite_children(r, node, &copy, err));
        WEIR_TRY(r->rewrite(r->ir, r->context, node, copy, &r->done[node->id], err));
    }
    *out = r->done[node->id];
    return WEIR_OK;
}

Status weir_ir_rewrite(Ir *ir, const IrNode *root, IrRewrite rewrite, void *context,
                       const IrNode **out, Error *err)
{
    Rewriting r = {.ir = ir, .rewrite = rewrite, .context = context};
    r.done = weir_arena_calloc(ir->arena, ir->node_count, sizeof(const IrNode *), err);
    if (r.done == NULL) {
        return weir_ir_failure(err);
    }
    return rewrite_node(&r, root, out, err);
}

static void count_edges(const IrNode *node, size_t *counts)
{
    counts[node->id]++;
    if (counts[node->id] > 1) {
        return;
    }
    for (size_t i = 0; i < node->child_count; i++) {
        count_edges(node->children[i], counts);
    }
}

Status weir_ir_count_parents(const Ir *ir, const IrNode *root, size_t **counts, Error *err)
{
    size_t *numbers = weir_arena_calloc(ir->arena, ir->node_count, sizeof *numbers, err);
    if (numbers == NULL) {
        return weir_ir_failure(err);
    }
    count_edges(root, numbers);
    *counts = numbers;
    return WEIR_OK;
}
