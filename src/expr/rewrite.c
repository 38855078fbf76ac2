/* rewrite.c: expressions put in another form before they are compiled. */
#include "expr/program_priv.h"

/* The same AND or OR marked as a condition, of which only TRUE counts: `is_negated`, which means
 * nothing there, keeps it apart from the value. Other expressions are values. */
const Expr *weir_program_condition(Evaluator *ev, const Expr *expr, Error *err)
{
    if ((expr->kind != EXPR_AND && expr->kind != EXPR_OR) || !weir_expr_can_fail(expr)) {
        return expr;
    }
    Expr *copy = weir_arena_alloc(&ev->arena, sizeof *copy, err);
    const Expr **args = weir_arena_calloc(&ev->arena, expr->arg_count, sizeof(const Expr *), err);
    if (copy == NULL || args == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        args[i] = weir_program_condition(ev, expr->args[i], err);
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
const Expr *weir_program_case_of_conditions(Evaluator *ev, const Expr *expr, Error *err)
{
    const Expr **args = weir_arena_calloc(&ev->arena, expr->arg_count, sizeof(const Expr *), err);
    Expr *copy = weir_arena_alloc(&ev->arena, sizeof *copy, err);
    if (args == NULL || copy == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        const bool is_when = i % 2 == 0 && i + 1 < expr->arg_count;
        args[i] = is_when ? weir_program_condition(ev, expr->args[i], err) : expr->args[i];
        if (args[i] == NULL) {
            return NULL;
        }
    }
    *copy = *expr;
    copy->args = args;
    return copy;
}

/* x IN (a, b): x = a OR x = b; NOT IN: its negation. */
const Expr *weir_program_expand_in(Evaluator *ev, const Expr *expr, Error *err)
{
    const size_t count = expr->arg_count - 1;
    Expr *nodes = weir_arena_calloc(&ev->arena, count + 2, sizeof *nodes, err);
    const Expr **args = weir_arena_calloc(&ev->arena, 3 * count + 1, sizeof(const Expr *), err);
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
