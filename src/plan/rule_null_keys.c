/* rule_null_keys.c: IS NOT DISTINCT FROM, where one side is never NULL, is =.
 *
 * Not in a MARK join, whose value depends on which keys are plain. */
#include "plan/rule_priv.h"

static bool is_never_null(const IrNode *child, const Expr *key)
{
    return key->kind == EXPR_COLUMN && weir_ir_is_never_null(child, key->column);
}

static Status simplify_join(Ir *ir, void *context, const IrNode *old, const IrNode *node,
                            const IrNode **out, Error *err)
{
    WEIR_UNUSED(context);
    WEIR_UNUSED(old);
    *out = node;
    if (node->kind != IR_JOIN || weir_ir_as_join(node)->kind == JOIN_MARK) {
        return WEIR_OK;
    }
    const IrJoin *join = weir_ir_as_join(node);
    const IrNode *left = node->children[0];
    const IrNode *right = node->children[1];
    IrKey *keys = weir_arena_calloc(ir->arena, join->key_count, sizeof *keys, err);
    if (keys == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t k = 0; k < join->key_count; k++) {
        keys[k] = join->keys[k];
        keys[k].is_null_safe = keys[k].is_null_safe && !is_never_null(left, keys[k].left) &&
                               !is_never_null(right, keys[k].right);
    }
    IrJoinSpec spec = weir_ir_join_spec(join);
    spec.keys = keys;
    *out = weir_ir_join(ir, left, right, &spec, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

Status weir_rule_null_keys(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    return weir_ir_rewrite(ir, root, simplify_join, NULL, out, err);
}
