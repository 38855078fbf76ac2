/* rule_distinct.c: DISTINCT over rows that are distinct already is dropped: over GROUP BY, another
 * DISTINCT, a semi join of one, ... */
#include "plan/rule_priv.h"

static Status drop_distinct(Ir *ir, void *context, const IrNode *old, const IrNode *node,
                            const IrNode **out, Error *err)
{
    WEIR_UNUSED(context);
    WEIR_UNUSED(old);
    *out = node;
    if (node->kind != IR_DISTINCT) {
        return WEIR_OK;
    }
    bool is_unique = false;
    bool *all = weir_arena_calloc(ir->arena, node->column_count, sizeof *all, err);
    if (all == NULL) {
        return weir_ir_failure(err);
    }
    memset(all, true, node->column_count * sizeof *all);
    WEIR_TRY(weir_ir_is_unique(ir->arena, node->children[0], all, &is_unique, err));
    if (is_unique) {
        *out = node->children[0];
    }
    return WEIR_OK;
}

Status weir_rule_distinct(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    return weir_ir_rewrite(ir, root, drop_distinct, NULL, out, err);
}
