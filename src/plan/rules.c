/* rules.c: the rules in the order in which they are applied. */
#include "plan/plan_priv.h"

Status weir_plan_apply_rules(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    WEIR_UNUSED(ir);
    WEIR_UNUSED(err);
    *out = root;
    return WEIR_OK;
}

Status weir_plan_apply_late_rules(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    WEIR_UNUSED(ir);
    WEIR_UNUSED(err);
    *out = root;
    return WEIR_OK;
}
