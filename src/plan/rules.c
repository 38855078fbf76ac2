/* rules.c: applies the rules of rules.def, and checks the graph after each. */
#include "plan/rule_priv.h"

Status weir_rule_fuse_again(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    return weir_rule_fuse_projects(ir, root, out, err);
}

Status weir_rule_fuse_last(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    return weir_rule_fuse_projects(ir, root, out, err);
}

static const struct {
    const char *name;
    PlanPhase phase;
    PlanRule apply;
} RULES[] = {
#define X(name, phase, summary) {#name, PLAN_PHASE_##phase, weir_rule_##name},
#include "plan/rules.def"
#undef X
};

_Static_assert(WEIR_ARRAY_COUNT(RULES) <= 32, "PlanEnv.rules_without has a bit for each");

Status weir_plan_apply_rules(Ir *ir, PlanPhase phase, const PlanEnv *env, const IrNode **root,
                             Error *err)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(RULES); i++) {
        const bool is_on = !env->rules_off && (env->rules_without >> i & 1u) == 0;
        if (is_on && RULES[i].phase == phase) {
            WEIR_TRY(RULES[i].apply(ir, *root, root, err));
            WEIR_TRY(weir_ir_check(ir, *root, RULES[i].name, err));
        }
    }
    return WEIR_OK;
}
