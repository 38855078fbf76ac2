/* text.c: expressions for people: columns by name, constants bare, operators between operands. */
#include "expr/expr.h"

#include "expr/float_text.h"

static void put_text(Buf *buf, const Expr *expr, const char *const *names);

static void put_list(Buf *buf, const Expr *const *args, size_t count, const char *separator,
                     const char *const *names)
{
    for (size_t i = 0; i < count; i++) {
        weir_buf_puts(buf, i == 0 ? "" : separator);
        put_text(buf, args[i], names);
    }
}

static bool is_sign(const char *name)
{
    const char c = name[0];
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_');
}

static void put_call(Buf *buf, const Expr *expr, const char *const *names)
{
    if (is_sign(expr->name) && expr->arg_count == 2) {
        weir_buf_putc(buf, '(');
        put_text(buf, expr->args[0], names);
        weir_buf_printf(buf, " %s ", expr->name);
        put_text(buf, expr->args[1], names);
        weir_buf_putc(buf, ')');
        return;
    }
    weir_buf_printf(buf, "%s(", expr->name);
    put_list(buf, expr->args, expr->arg_count, ", ", names);
    if (expr->extra != NULL && expr->extra->lambda != NULL) {
        weir_buf_puts(buf, expr->arg_count == 0 ? "lambda: " : ", lambda: ");
        put_text(buf, expr->extra->lambda, names);
    }
    weir_buf_putc(buf, ')');
}

static void put_case(Buf *buf, const Expr *expr, const char *const *names)
{
    weir_buf_puts(buf, "CASE");
    for (size_t i = 0; i < expr->arg_count; i++) {
        const bool is_last = i + 1 == expr->arg_count;
        const char *word = i % 2 == 0 ? " WHEN " : " THEN ";
        weir_buf_puts(buf, is_last ? " ELSE " : word);
        put_text(buf, expr->args[i], names);
    }
    weir_buf_puts(buf, " END");
}

static void put_constant(Buf *buf, const Value *value)
{
    if (value->is_null) {
        weir_buf_puts(buf, "NULL");
        return;
    }
    char text[FLOAT_TEXT_SIZE];
    switch (value->type->id) {
    case TYPE_BOOLEAN: weir_buf_puts(buf, value->data.bytes[0] != 0 ? "true" : "false"); return;
    case TYPE_VARCHAR: {
        String s;
        memcpy(&s, value->data.bytes, sizeof s);
        weir_buf_put_sql_string(buf, weir_string_data(&s), weir_string_size(&s));
        return;
    }
    case TYPE_INTEGER: {
        int32_t x;
        memcpy(&x, value->data.bytes, sizeof x);
        weir_buf_printf(buf, "%ld", (long)x);
        return;
    }
    case TYPE_BIGINT: {
        int64_t x;
        memcpy(&x, value->data.bytes, sizeof x);
        weir_buf_printf(buf, "%lld", (long long)x);
        return;
    }
    case TYPE_DOUBLE: {
        double x;
        memcpy(&x, value->data.bytes, sizeof x);
        weir_double_text(x, text, sizeof text);
        weir_buf_puts(buf, text);
        return;
    }
    default: weir_value_put_sql(buf, value); return; /* the rest is rare: its SQL will do */
    }
}

static void put_text(Buf *buf, const Expr *expr, const char *const *names)
{
    static const char *const compares[] = {
        [COMPARE_EQ] = " = ",
        [COMPARE_NE] = " <> ",
        [COMPARE_LT] = " < ",
        [COMPARE_LE] = " <= ",
        [COMPARE_GT] = " > ",
        [COMPARE_GE] = " >= ",
        [COMPARE_DISTINCT] = " IS DISTINCT FROM ",
        [COMPARE_NOT_DISTINCT] = " IS NOT DISTINCT FROM ",
    };
    const char *before = "(";
    const char *separator = ", ";
    const char *after = ")";
    switch (expr->kind) {
    case EXPR_COLUMN:
        if (names != NULL && names[expr->column] != NULL) {
            weir_buf_puts(buf, names[expr->column]);
        } else {
            weir_buf_printf(buf, "#%zu", expr->column);
        }
        return;
    case EXPR_PARAMETER: weir_buf_printf(buf, "x%zu", expr->column); return;
    case EXPR_CONSTANT: put_constant(buf, &expr->value); return;
    case EXPR_CALL: put_call(buf, expr, names); return;
    case EXPR_CASE: put_case(buf, expr, names); return;
    case EXPR_CAST:
        weir_buf_puts(buf, expr->is_try ? "TRY_CAST(" : "CAST(");
        put_text(buf, expr->args[0], names);
        weir_buf_puts(buf, " AS ");
        weir_type_put_sql(buf, expr->type);
        weir_buf_putc(buf, ')');
        return;
    case EXPR_IN:
        weir_buf_putc(buf, '(');
        put_text(buf, expr->args[0], names);
        weir_buf_puts(buf, expr->is_negated ? " NOT IN (" : " IN (");
        put_list(buf, expr->args + 1, expr->arg_count - 1, ", ", names);
        weir_buf_puts(buf, "))");
        return;
    case EXPR_COMPARE: separator = compares[expr->compare]; break;
    case EXPR_AND: separator = " AND "; break;
    case EXPR_OR: separator = " OR "; break;
    case EXPR_NOT: before = "(NOT "; break;
    case EXPR_IS_NULL: after = " IS NULL)"; break;
    case EXPR_IS_NOT_NULL: after = " IS NOT NULL)"; break;
    case EXPR_COALESCE: before = "COALESCE("; break;
    case EXPR_TRY: before = "TRY("; break;
    }
    weir_buf_puts(buf, before);
    put_list(buf, expr->args, expr->arg_count, separator, names);
    weir_buf_puts(buf, after);
}

void weir_expr_put_text(Buf *buf, const Expr *expr, const char *const *names)
{
    put_text(buf, expr, names);
}
