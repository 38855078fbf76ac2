/* rule_util.c: lists of conditions, and what a rule asks of an expression. */
#include "expr/function.h"
#include "plan/rule_priv.h"

enum { HOST_COST = 100 };

Status weir_rule_list_init(Ir *ir, ExprList *list, size_t capacity, Error *err)
{
    *list = (ExprList){.capacity = capacity};
    list->items = weir_arena_calloc(ir->arena, capacity, sizeof(const Expr *), err);
    return list->items == NULL ? weir_ir_failure(err) : WEIR_OK;
}

void weir_rule_list_add(ExprList *list, const Expr *expr)
{
    WEIR_ASSERT(list->count < list->capacity);
    list->items[list->count++] = expr;
}

size_t weir_rule_count_parts(const Expr *condition)
{
    if (condition->kind != EXPR_AND) {
        return 1;
    }
    size_t count = 0;
    for (size_t i = 0; i < condition->arg_count; i++) {
        count += weir_rule_count_parts(condition->args[i]);
    }
    return count;
}

void weir_rule_add_parts(ExprList *list, const Expr *condition)
{
    if (condition->kind != EXPR_AND) {
        weir_rule_list_add(list, condition);
        return;
    }
    for (size_t i = 0; i < condition->arg_count; i++) {
        weir_rule_add_parts(list, condition->args[i]);
    }
}

Status weir_rule_split(Ir *ir, const Expr *const *conditions, size_t count, ExprList *out,
                       Error *err)
{
    size_t part_count = 0;
    for (size_t i = 0; i < count; i++) {
        part_count += weir_rule_count_parts(conditions[i]);
    }
    WEIR_TRY(weir_rule_list_init(ir, out, part_count, err));
    for (size_t i = 0; i < count; i++) {
        weir_rule_add_parts(out, conditions[i]);
    }
    return WEIR_OK;
}

unsigned weir_rule_sides(const Expr *expr, size_t left_count)
{
    if (expr->kind == EXPR_COLUMN) {
        return expr->column < left_count ? RULE_LEFT : RULE_RIGHT;
    }
    unsigned sides = 0;
    for (size_t i = 0; i < expr->arg_count; i++) {
        sides |= weir_rule_sides(expr->args[i], left_count);
    }
    if (expr->extra != NULL && expr->extra->lambda != NULL) {
        sides |= weir_rule_sides(expr->extra->lambda, left_count);
    }
    return sides;
}

bool weir_rule_reads(const Expr *expr, size_t column)
{
    if (expr->kind == EXPR_COLUMN) {
        return expr->column == column;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        if (weir_rule_reads(expr->args[i], column)) {
            return true;
        }
    }
    return expr->extra != NULL && expr->extra->lambda != NULL &&
           weir_rule_reads(expr->extra->lambda, column);
}

size_t weir_rule_cost(const Expr *expr)
{
    if (expr->kind == EXPR_COLUMN || expr->kind == EXPR_CONSTANT) {
        return 0;
    }
    if ((expr->kind == EXPR_CALL && weir_function_find(expr) == NULL) ||
        (expr->kind == EXPR_CAST && weir_cast_find(expr) == NULL) || expr->kind == EXPR_TRY) {
        return HOST_COST;
    }
    size_t cost = 1;
    for (size_t i = 0; i < expr->arg_count && cost < HOST_COST; i++) {
        cost += weir_rule_cost(expr->args[i]);
    }
    return cost;
}

const IrNode *weir_rule_filter(Ir *ir, const IrNode *node, const ExprList *predicates, Error *err)
{
    if (predicates->count == 0) {
        return node;
    }
    return weir_ir_filter(ir, node, predicates->items, predicates->count, err);
}

const Expr *weir_rule_shift_left(Ir *ir, const Expr *expr, size_t left_count, size_t right_count,
                                 Error *err)
{
    size_t *map = weir_arena_calloc(ir->arena, left_count + right_count, sizeof *map, err);
    if (map == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < left_count + right_count; i++) {
        map[i] = i < left_count ? SIZE_MAX : i - left_count;
    }
    return weir_expr_remap(ir->arena, expr, map, err);
}

Status weir_rule_columns(Ir *ir, const IrNode *node, const Expr **exprs, Error *err)
{
    for (size_t i = 0; i < node->column_count; i++) {
        exprs[i] = weir_expr_column(ir->arena, i, node->types[i], err);
        if (exprs[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    return WEIR_OK;
}
