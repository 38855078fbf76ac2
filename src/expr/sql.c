/* sql.c: an expression as DuckDB SQL over the columns c0, c1, ...
 *
 * The text binds back to the same tree. Constants go through a CAST, since a bare literal picks
 * other overloads; sums of decimals too, since the width of a literal is not the one it was bound
 * with. Functions and operators are called by their full name: a macro of the user's may have the
 * short one. Collations are functions already, so no COLLATE is printed. The parameters of lambdas are
 * x0, x1, ..., counted from the outermost, so that no two scopes share a name. */
#include "expr/expr.h"

typedef struct SqlWriter {
    Buf *buf;
    size_t parameter_count; /* of the lambdas around */
} SqlWriter;

static const char *const compare_operators[] = {
    [COMPARE_EQ] = "=",
    [COMPARE_NE] = "<>",
    [COMPARE_LT] = "<",
    [COMPARE_LE] = "<=",
    [COMPARE_GT] = ">",
    [COMPARE_GE] = ">=",
    [COMPARE_DISTINCT] = "IS DISTINCT FROM",
    [COMPARE_NOT_DISTINCT] = "IS NOT DISTINCT FROM",
};

static bool is_named(const Expr *expr, const char *a, const char *b)
{
    return strcmp(expr->name, a) == 0 || (b != NULL && strcmp(expr->name, b) == 0);
}

static void refuse(Buf *buf, const char *what, const char *name)
{
    if (buf->status == WEIR_OK) {
        buf->status =
            weir_error_set(&buf->err, WEIR_ERR_FUNCTION, "%s %s has no SQL spelling", what, name);
    }
}

static void put_expr(const SqlWriter *w, const Expr *expr);

static void put_type(const SqlWriter *w, const LogicalType *type)
{
    if (weir_type_is_unspellable(type)) {
        refuse(w->buf, "the type", weir_type_name(type->id));
        return;
    }
    weir_type_put_sql(w->buf, type);
}

/* before arg separator arg separator ... after */
static void put_list(const SqlWriter *w, const char *separator, const Expr *const *args,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            weir_buf_puts(w->buf, separator);
        }
        put_expr(w, args[i]);
    }
}

static void put_function_name(const SqlWriter *w, const char *name)
{
    weir_buf_puts(w->buf, "system.main.");
    weir_buf_put_sql_name(w->buf, name);
}

static bool is_empty_bound(const Expr *expr)
{
    if (expr->kind == EXPR_CAST) {
        return is_empty_bound(expr->args[0]);
    }
    if (expr->kind == EXPR_CONSTANT) {
        return expr->type->id == TYPE_LIST && !expr->value.is_null;
    }
    return expr->kind == EXPR_CALL && expr->arg_count == 0 && is_named(expr, "list_value", NULL);
}

/* (x)[begin:end] or (x)[begin:end:step]; a missing bound is an empty list, for which the function has
 * no spelling. */
static void put_slice(const SqlWriter *w, const Expr *expr)
{
    weir_buf_putc(w->buf, '(');
    put_expr(w, expr->args[0]);
    weir_buf_puts(w->buf, ")[");
    if (!is_empty_bound(expr->args[1])) {
        put_expr(w, expr->args[1]);
    }
    weir_buf_putc(w->buf, ':');
    if (!is_empty_bound(expr->args[2])) {
        put_expr(w, expr->args[2]);
    } else if (expr->arg_count == 4) {
        weir_buf_putc(w->buf, '-');
    }
    if (expr->arg_count == 4) {
        weir_buf_putc(w->buf, ':');
        put_expr(w, expr->args[3]);
    }
    weir_buf_putc(w->buf, ']');
}

static bool has_open_slice(const Expr *expr)
{
    return is_named(expr, "array_slice", "list_slice") && expr->arg_count >= 3 &&
           (is_empty_bound(expr->args[1]) || is_empty_bound(expr->args[2]));
}

/* date_part with a list of parts: the parts are the fields of the result. */
static void put_date_parts(const SqlWriter *w, const Expr *expr)
{
    weir_buf_puts(w->buf, "system.main.date_part(system.main.list_value(");
    for (size_t i = 0; i < expr->type->name_count; i++) {
        const char *name = expr->type->names[i];
        weir_buf_puts(w->buf, i == 0 ? "" : ", ");
        weir_buf_put_sql_string(w->buf, name, strlen(name));
    }
    weir_buf_puts(w->buf, "), ");
    put_expr(w, expr->args[0]);
    weir_buf_putc(w->buf, ')');
}

/* name(list, lambda x0, x1: body, initial) */
static void put_lambda_call(const SqlWriter *w, const Expr *expr)
{
    const CallExtra *extra = expr->extra;
    put_function_name(w, expr->name);
    weir_buf_putc(w->buf, '(');
    put_expr(w, expr->args[0]);
    weir_buf_puts(w->buf, ", lambda ");
    for (size_t i = 0; i < extra->lambda_parameter_count; i++) {
        weir_buf_printf(w->buf, "%sx%zu", i == 0 ? "" : ", ", w->parameter_count + i);
    }
    weir_buf_puts(w->buf, ": ");
    const SqlWriter inner = {
        .buf = w->buf,
        .parameter_count = w->parameter_count + extra->lambda_parameter_count,
    };
    put_expr(&inner, extra->lambda);
    if (extra->lambda_has_initial && expr->arg_count > 1) {
        weir_buf_puts(w->buf, ", ");
        put_expr(w, expr->args[1]);
    }
    weir_buf_putc(w->buf, ')');
}

static const char *argument_name(const Expr *expr, size_t index)
{
    if (expr->extra != NULL && expr->extra->arg_names != NULL) {
        return expr->extra->arg_names[index];
    }
    if (is_named(expr, "struct_pack", "union_value") && index < expr->type->name_count) {
        return expr->type->names[index];
    }
    return NULL;
}

static void put_plain_call(const SqlWriter *w, const Expr *expr)
{
    const CallExtra *extra = expr->extra;
    put_function_name(w, is_named(expr, "unpivot_list", NULL) ? "list_value" : expr->name);
    weir_buf_putc(w->buf, '(');
    for (size_t i = 0; i < expr->arg_count; i++) {
        const char *name = argument_name(expr, i);
        weir_buf_puts(w->buf, i == 0 ? "" : ", ");
        if (name != NULL && name[0] != '\0') {
            weir_buf_put_sql_name(w->buf, name);
            weir_buf_puts(w->buf, " := ");
        }
        put_expr(w, expr->args[i]);
    }
    if (extra != NULL && extra->list_aggregate != NULL && expr->arg_count == 1) {
        weir_buf_puts(w->buf, ", ");
        weir_buf_put_sql_string(w->buf, extra->list_aggregate, strlen(extra->list_aggregate));
    }
    for (size_t i = 0; extra != NULL && i < extra->more_arg_count; i++) {
        weir_buf_puts(w->buf, expr->arg_count + i == 0 ? "" : ", ");
        put_expr(w, extra->more_args[i]);
    }
    weir_buf_putc(w->buf, ')');
}

/* True if binding the text again could give another type. */
static bool needs_cast(const Expr *expr)
{
    if (expr->extra != NULL && expr->extra->wrap_in_cast) {
        return true;
    }
    if (is_named(expr, "error", "equi_width_bins")) {
        return expr->type->id != TYPE_SQLNULL;
    }
    return expr->type->id == TYPE_DECIMAL && expr->arg_count == 2 &&
           (is_named(expr, "+", "-") || is_named(expr, "*", "%"));
}

static void put_call_body(const SqlWriter *w, const Expr *expr)
{
    if (strncmp(expr->name, "icu_collate_", 12) == 0 ||
        strncmp(expr->name, "__internal", 10) == 0) {
        refuse(w->buf, "the function", expr->name);
    } else if (expr->extra != NULL && expr->extra->lambda != NULL) {
        put_lambda_call(w, expr);
    } else if (has_open_slice(expr)) {
        put_slice(w, expr);
    } else if (is_named(expr, "date_part", "datepart") && expr->arg_count == 1 &&
               expr->type->id == TYPE_STRUCT) {
        put_date_parts(w, expr);
    } else {
        put_plain_call(w, expr);
    }
}

static void put_call(const SqlWriter *w, const Expr *expr)
{
    if (!needs_cast(expr)) {
        put_call_body(w, expr);
        return;
    }
    weir_buf_puts(w->buf, "CAST(");
    put_call_body(w, expr);
    weir_buf_puts(w->buf, " AS ");
    put_type(w, expr->type);
    weir_buf_putc(w->buf, ')');
}

static void put_case(const SqlWriter *w, const Expr *expr)
{
    weir_buf_puts(w->buf, "CASE");
    size_t i = 0;
    for (; i + 1 < expr->arg_count; i += 2) {
        weir_buf_puts(w->buf, " WHEN ");
        put_expr(w, expr->args[i]);
        weir_buf_puts(w->buf, " THEN ");
        put_expr(w, expr->args[i + 1]);
    }
    weir_buf_puts(w->buf, " ELSE ");
    put_expr(w, expr->args[i]);
    weir_buf_puts(w->buf, " END");
}

static void put_wrapped(const SqlWriter *w, const char *before, const Expr *const *args,
                        size_t count, const char *separator, const char *after)
{
    weir_buf_puts(w->buf, before);
    put_list(w, separator, args, count);
    weir_buf_puts(w->buf, after);
}

static void put_in(const SqlWriter *w, const Expr *expr)
{
    weir_buf_putc(w->buf, '(');
    put_expr(w, expr->args[0]);
    put_wrapped(w, expr->is_negated ? " NOT IN (" : " IN (", expr->args + 1, expr->arg_count - 1,
                ", ", "))");
}

static void put_cast(const SqlWriter *w, const Expr *expr)
{
    weir_buf_puts(w->buf, expr->is_try ? "TRY_CAST(" : "CAST(");
    put_expr(w, expr->args[0]);
    weir_buf_puts(w->buf, " AS ");
    put_type(w, expr->type);
    weir_buf_putc(w->buf, ')');
}

static void put_compare(const SqlWriter *w, const Expr *expr)
{
    weir_buf_putc(w->buf, '(');
    put_expr(w, expr->args[0]);
    weir_buf_printf(w->buf, " %s ", compare_operators[expr->compare]);
    put_expr(w, expr->args[1]);
    weir_buf_putc(w->buf, ')');
}

static void put_expr(const SqlWriter *w, const Expr *expr)
{
    if (w->buf->status != WEIR_OK) {
        return;
    }
    switch (expr->kind) {
    case EXPR_COLUMN: weir_buf_printf(w->buf, "c%zu", expr->column); break;
    case EXPR_PARAMETER: weir_buf_printf(w->buf, "x%zu", expr->column); break;
    case EXPR_CONSTANT: weir_value_put_sql(w->buf, &expr->value); break;
    case EXPR_CAST: put_cast(w, expr); break;
    case EXPR_COMPARE: put_compare(w, expr); break;
    case EXPR_AND: put_wrapped(w, "(", expr->args, expr->arg_count, " AND ", ")"); break;
    case EXPR_OR: put_wrapped(w, "(", expr->args, expr->arg_count, " OR ", ")"); break;
    case EXPR_NOT: put_wrapped(w, "(NOT ", expr->args, 1, "", ")"); break;
    case EXPR_IS_NULL: put_wrapped(w, "(", expr->args, 1, "", " IS NULL)"); break;
    case EXPR_IS_NOT_NULL: put_wrapped(w, "(", expr->args, 1, "", " IS NOT NULL)"); break;
    case EXPR_COALESCE: put_wrapped(w, "COALESCE(", expr->args, expr->arg_count, ", ", ")"); break;
    case EXPR_TRY: put_wrapped(w, "TRY(", expr->args, 1, "", ")"); break;
    case EXPR_IN: put_in(w, expr); break;
    case EXPR_CASE: put_case(w, expr); break;
    case EXPR_CALL: put_call(w, expr); break;
    }
}

void weir_expr_put_sql(Buf *buf, const Expr *expr)
{
    put_expr(&(SqlWriter){.buf = buf}, expr);
}
