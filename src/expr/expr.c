/* expr.c: building, comparing and rewriting expression trees.
 *
 * Rewrites copy only the path from the root to what changes; untouched subtrees are shared. All
 * functions recurse to the depth of the tree, which the plan reader limits. */
#include "expr/expr.h"

#include "expr/function.h"

static const Expr *expr_new(Arena *arena, const Expr *init, Error *err)
{
    Expr *expr = weir_arena_alloc(arena, sizeof *expr, err);
    if (expr != NULL) {
        *expr = *init;
    }
    return expr;
}

const Expr *weir_expr_column(Arena *arena, size_t column, const LogicalType *type, Error *err)
{
    return expr_new(arena, &(Expr){.kind = EXPR_COLUMN, .type = type, .column = column}, err);
}

const Expr *weir_expr_constant(Arena *arena, const Value *value, Error *err)
{
    return expr_new(arena, &(Expr){.kind = EXPR_CONSTANT, .type = value->type, .value = *value},
                    err);
}

const Expr *weir_expr_call(Arena *arena, const char *name, const LogicalType *type,
                           const Expr *const *args, size_t arg_count, Error *err)
{
    const Expr init = {
        .kind = EXPR_CALL,
        .type = type,
        .args = args,
        .arg_count = arg_count,
        .name = name,
    };
    return expr_new(arena, &init, err);
}

const Expr *weir_expr_and(Arena *arena, const Expr *const *args, size_t arg_count, Error *err)
{
    WEIR_ASSERT(arg_count > 0);
    if (arg_count == 1) {
        return args[0];
    }
    const Expr init = {
        .kind = EXPR_AND,
        .type = weir_type_simple(TYPE_BOOLEAN),
        .args = args,
        .arg_count = arg_count,
    };
    return expr_new(arena, &init, err);
}

/* --- equality ---------------------------------------------------------------------------------- */

static bool text_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool list_equal(const Expr *const *a, const Expr *const *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!weir_expr_equal(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static bool value_equal(const Value *a, const Value *b)
{
    if (a->is_null || b->is_null) {
        return a->is_null == b->is_null;
    }
    if (a->type->phys != PHYS_STRING) {
        return memcmp(a->data.bytes, b->data.bytes, weir_phys_width(a->type->phys)) == 0;
    }
    String left;
    String right;
    memcpy(&left, a->data.bytes, sizeof left);
    memcpy(&right, b->data.bytes, sizeof right);
    return weir_string_equal(&left, &right);
}

static bool extra_equal(const CallExtra *a, const CallExtra *b, size_t arg_count)
{
    const CallExtra none = {0};
    a = a == NULL ? &none : a;
    b = b == NULL ? &none : b;
    if (a == b) {
        return true;
    }
    if (a->lambda_parameter_count != b->lambda_parameter_count ||
        a->lambda_has_initial != b->lambda_has_initial || a->wrap_in_cast != b->wrap_in_cast ||
        !text_equal(a->list_aggregate, b->list_aggregate) ||
        a->more_arg_count != b->more_arg_count || (a->lambda == NULL) != (b->lambda == NULL) ||
        (a->arg_names == NULL) != (b->arg_names == NULL)) {
        return false;
    }
    for (size_t i = 0; a->arg_names != NULL && i < arg_count; i++) {
        if (!text_equal(a->arg_names[i], b->arg_names[i])) {
            return false;
        }
    }
    return (a->lambda == NULL || weir_expr_equal(a->lambda, b->lambda)) &&
           list_equal(a->more_args, b->more_args, a->more_arg_count);
}

bool weir_expr_equal(const Expr *a, const Expr *b)
{
    if (a == b) {
        return true;
    }
    if (a->kind != b->kind || a->arg_count != b->arg_count || a->column != b->column ||
        a->compare != b->compare || a->is_try != b->is_try || a->is_negated != b->is_negated ||
        !text_equal(a->name, b->name) || !weir_type_equal(a->type, b->type)) {
        return false;
    }
    if (a->kind == EXPR_CONSTANT && !value_equal(&a->value, &b->value)) {
        return false;
    }
    return extra_equal(a->extra, b->extra, a->arg_count) &&
           list_equal(a->args, b->args, a->arg_count);
}

/* --- columns ----------------------------------------------------------------------------------- */

void weir_expr_collect_columns(const Expr *expr, bool *used)
{
    if (expr->kind == EXPR_COLUMN) {
        used[expr->column] = true;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        weir_expr_collect_columns(expr->args[i], used);
    }
    if (expr->extra == NULL) {
        return;
    }
    if (expr->extra->lambda != NULL) {
        weir_expr_collect_columns(expr->extra->lambda, used);
    }
    for (size_t i = 0; i < expr->extra->more_arg_count; i++) {
        weir_expr_collect_columns(expr->extra->more_args[i], used);
    }
}

/* How a rewrite replaces columns: by number, or by expression. */
typedef struct Rewrite {
    Arena *arena;
    const size_t *map;          /* or NULL */
    const Expr *const *columns; /* or NULL */
} Rewrite;

static const Expr *rewrite_column(const Rewrite *rewrite, const Expr *expr, Error *err)
{
    if (rewrite->columns != NULL) {
        return rewrite->columns[expr->column];
    }
    WEIR_ASSERT(rewrite->map != NULL);
    const size_t column = rewrite->map[expr->column];
    if (column == SIZE_MAX) {
        weir_error_set(err, WEIR_ERR_INTERNAL, "column %zu of an expression is gone", expr->column);
        return NULL;
    }
    return column == expr->column ? expr
                                  : weir_expr_column(rewrite->arena, column, expr->type, err);
}

static const Expr *rewrite_expr(const Rewrite *rewrite, const Expr *expr, Error *err);

/* *out = the rewritten list: the old one if nothing changed. */
static Status rewrite_list(const Rewrite *rewrite, const Expr *const *list, size_t count,
                           const Expr *const **out, Error *err)
{
    const Expr **copy = NULL;
    for (size_t i = 0; i < count; i++) {
        const Expr *arg = rewrite_expr(rewrite, list[i], err);
        if (arg == NULL) {
            return err->code;
        }
        if (arg != list[i] && copy == NULL) {
            copy = weir_arena_calloc(rewrite->arena, count, sizeof(void *), err);
            if (copy == NULL) {
                return err->code;
            }
            for (size_t k = 0; k < i; k++) {
                copy[k] = list[k];
            }
        }
        if (copy != NULL) {
            copy[i] = arg;
        }
    }
    *out = copy == NULL ? list : (const Expr *const *)copy;
    return WEIR_OK;
}

static Status rewrite_extra(const Rewrite *rewrite, const CallExtra *extra, const CallExtra **out,
                            Error *err)
{
    *out = extra;
    if (extra == NULL) {
        return WEIR_OK;
    }
    CallExtra changed = *extra;
    if (extra->lambda != NULL) {
        changed.lambda = rewrite_expr(rewrite, extra->lambda, err);
        if (changed.lambda == NULL) {
            return err->code;
        }
    }
    WEIR_TRY(
        rewrite_list(rewrite, extra->more_args, extra->more_arg_count, &changed.more_args, err));
    if (changed.lambda == extra->lambda && changed.more_args == extra->more_args) {
        return WEIR_OK;
    }
    CallExtra *copy = weir_arena_alloc(rewrite->arena, sizeof *copy, err);
    if (copy == NULL) {
        return err->code;
    }
    *copy = changed;
    *out = copy;
    return WEIR_OK;
}

static const Expr *rewrite_expr(const Rewrite *rewrite, const Expr *expr, Error *err)
{
    if (expr->kind == EXPR_COLUMN) {
        return rewrite_column(rewrite, expr, err);
    }
    Expr copy = *expr;
    if (rewrite_list(rewrite, expr->args, expr->arg_count, &copy.args, err) != WEIR_OK ||
        rewrite_extra(rewrite, expr->extra, &copy.extra, err) != WEIR_OK) {
        return NULL;
    }
    if (copy.args == expr->args && copy.extra == expr->extra) {
        return expr;
    }
    return expr_new(rewrite->arena, &copy, err);
}

const Expr *weir_expr_remap(Arena *arena, const Expr *expr, const size_t *map, Error *err)
{
    return rewrite_expr(&(Rewrite){.arena = arena, .map = map}, expr, err);
}

const Expr *weir_expr_substitute(Arena *arena, const Expr *expr, const Expr *const *columns,
                                 Error *err)
{
    return rewrite_expr(&(Rewrite){.arena = arena, .columns = columns}, expr, err);
}

/* --- failure ----------------------------------------------------------------------------------- */

/* TRY_CAST fails on few rows, but in the host it can: for instance of an infinite timestamp. */
static bool node_can_fail(const Expr *expr)
{
    if (expr->kind != EXPR_CAST && expr->kind != EXPR_CALL) {
        return false;
    }
    const FunctionDef *def =
        expr->kind == EXPR_CAST ? weir_cast_find(expr) : weir_function_find(expr);
    if (def == NULL) {
        return true;
    }
    const bool is_try_cast = expr->kind == EXPR_CAST && expr->is_try;
    return (def->flags & FUNCTION_CAN_FAIL) != 0 &&
           (!is_try_cast || (def->flags & FUNCTION_PARTIAL) != 0);
}

bool weir_expr_can_fail(const Expr *expr)
{
    if (expr->kind == EXPR_TRY) {
        return false;
    }
    if (node_can_fail(expr)) {
        return true;
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        if (weir_expr_can_fail(expr->args[i])) {
            return true;
        }
    }
    return false;
}
