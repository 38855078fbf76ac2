/* law_trees.c: random expression trees, several at once, and as conditions.
 *
 * What DuckDB computes without an error must be what the evaluator computes. Where DuckDB fails the
 * evaluator may fail too, or not: it looks at fewer rows than DuckDB in AND, OR and IN.
 * Usage: law_trees [-s seed] [-n rounds] [-o]. */
#include "law.h"

#include <stdio.h>

enum { TREES = 3, COLUMNS = 6, DEPTH = 4, ROWS_MAX = 2048 };

static const TypeId column_types[COLUMNS] = {TYPE_INTEGER, TYPE_BIGINT,  TYPE_DOUBLE,
                                             TYPE_VARCHAR, TYPE_BOOLEAN, TYPE_DATE};

static const Expr *tree(Law *law, TypeId type, int depth);

static Expr *new_node(Law *law, ExprKind kind, TypeId type, size_t arg_count)
{
    Expr *expr = weir_arena_zalloc(&law->plan, sizeof *expr, &law->err);
    const Expr **args =
        weir_arena_calloc(&law->plan, arg_count + 1, sizeof(const Expr *), &law->err);
    if (expr == NULL || args == NULL) {
        law_die("memory", law->err.message);
    }
    *expr =
        (Expr){.kind = kind, .type = weir_type_simple(type), .args = args, .arg_count = arg_count};
    return expr;
}

static void set_arg(Law *law, Expr *expr, size_t index, const Expr *arg)
{
    const Expr **args =
        weir_arena_calloc(&law->plan, expr->arg_count + 1, sizeof(const Expr *), &law->err);
    if (args == NULL) {
        law_die("memory", law->err.message);
    }
    memcpy(args, expr->args, expr->arg_count * sizeof(const Expr *));
    args[index] = arg;
    expr->args = args;
}

static LawColumn column_of(TypeId type)
{
    return (LawColumn){.type = weir_type_simple(type), .is_dense = true, .text = LAW_TEXT_SHORT};
}

/* No NULL constants as arguments of calls and casts: the binder folds those, and what is beside them. */
static const Expr *constant(Law *law, TypeId type)
{
    const LawColumn column = column_of(type);
    Expr *expr = new_node(law, EXPR_CONSTANT, type, 0);
    do {
        expr->value = law_value(law, &column);
    } while (expr->value.is_null);
    if (type == TYPE_VARCHAR) { /* constants outlive the batch */
        String s;
        memcpy(&s, expr->value.data.bytes, sizeof s);
        char *bytes =
            weir_arena_strndup(&law->plan, weir_string_data(&s), weir_string_size(&s), &law->err);
        s = weir_string_make(bytes, weir_string_size(&s));
        memcpy(expr->value.data.bytes, &s, sizeof s);
    }
    return expr;
}

static const Expr *leaf(Law *law, TypeId type)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        if (column_types[c] == type && !law_one_in(law, 3)) {
            Expr *expr = new_node(law, EXPR_COLUMN, type, 0);
            expr->column = c;
            return expr;
        }
    }
    return constant(law, type);
}

static const Expr *call(Law *law, const char *name, TypeId type, size_t count,
                        const TypeId *arg_types, int depth)
{
    Expr *expr = new_node(law, EXPR_CALL, type, count);
    expr->name = name;
    for (size_t i = 0; i < count; i++) {
        set_arg(law, expr, i, tree(law, arg_types[i], depth - 1));
    }
    return expr;
}

static const Expr *cast(Law *law, TypeId from, TypeId to, bool is_try, int depth)
{
    Expr *expr = new_node(law, EXPR_CAST, to, 1);
    expr->is_try = is_try;
    set_arg(law, expr, 0, tree(law, from, depth - 1));
    return expr;
}

static const Expr *null_constant(Law *law, TypeId type)
{
    Expr *expr = new_node(law, EXPR_CONSTANT, type, 0);
    expr->value = (Value){.type = expr->type, .is_null = true};
    return expr;
}

static const Expr *branch(Law *law, TypeId type, int depth)
{
    return law_one_in(law, 8) ? null_constant(law, type) : tree(law, type, depth - 1);
}

/* CASE, COALESCE or TRY of any type. TRY only of what fails on single rows: in DuckDB one row can
 * fail because of another in AND, OR and IN. */
static const Expr *branches(Law *law, TypeId type, int depth)
{
    const size_t which = law_below(law, 5);
    if (which == 0) {
        static const char *const names[] = {"+", "-", "*"};
        Expr *expr = new_node(law, EXPR_TRY, TYPE_INTEGER, 1);
        Expr *sum = new_node(law, EXPR_CALL, TYPE_INTEGER, 2);
        sum->name = names[law_below(law, WEIR_ARRAY_COUNT(names))];
        set_arg(law, sum, 0, leaf(law, TYPE_INTEGER));
        set_arg(law, sum, 1, leaf(law, TYPE_INTEGER));
        set_arg(law, expr, 0, sum);
        return type == TYPE_INTEGER ? expr : tree(law, type, depth - 1);
    }
    if (which == 1) {
        Expr *expr = new_node(law, EXPR_COALESCE, type, 2 + law_below(law, 2));
        for (size_t i = 0; i < expr->arg_count; i++) {
            set_arg(law, expr, i, branch(law, type, depth));
        }
        return expr;
    }
    Expr *expr = new_node(law, EXPR_CASE, type, law_one_in(law, 2) ? 3 : 5);
    for (size_t i = 0; i < expr->arg_count; i++) {
        const bool is_when = i % 2 == 0 && i + 1 < expr->arg_count;
        set_arg(law, expr, i, branch(law, is_when ? TYPE_BOOLEAN : type, depth));
    }
    return expr;
}

static const Expr *number(Law *law, TypeId type, int depth)
{
    static const char *const names[] = {"+", "-", "*", "//", "%"};
    const TypeId both[] = {type, type};
    const TypeId text[] = {TYPE_VARCHAR};
    switch (law_below(law, 4)) {
    case 0:
        return type == TYPE_INTEGER ? cast(law, TYPE_BIGINT, type, law_one_in(law, 2), depth)
                                    : call(law, "length", TYPE_BIGINT, 1, text, depth);
    case 1:
        return type == TYPE_INTEGER ? cast(law, TYPE_VARCHAR, type, true, depth)
                                    : cast(law, TYPE_INTEGER, TYPE_BIGINT, false, depth);
    default: return call(law, names[law_below(law, WEIR_ARRAY_COUNT(names))], type, 2, both, depth);
    }
}

static const Expr *floating(Law *law, int depth)
{
    static const char *const names[] = {"+", "-", "*", "/"};
    const TypeId both[] = {TYPE_DOUBLE, TYPE_DOUBLE};
    if (law_one_in(law, 4)) {
        return cast(law, TYPE_BIGINT, TYPE_DOUBLE, false, depth);
    }
    if (law_one_in(law, 5)) {
        return call(law, "sqrt", TYPE_DOUBLE, 1, both, depth);
    }
    return call(law, names[law_below(law, WEIR_ARRAY_COUNT(names))], TYPE_DOUBLE, 2, both, depth);
}

static const Expr *text(Law *law, int depth)
{
    static const char *const one[] = {"lower", "upper", "md5", "trim", "reverse", "bin"};
    const TypeId args[] = {TYPE_VARCHAR, TYPE_VARCHAR};
    switch (law_below(law, 4)) {
    case 0: return cast(law, TYPE_INTEGER, TYPE_VARCHAR, false, depth);
    case 1: return call(law, "||", TYPE_VARCHAR, 2, args, depth);
    case 2: {
        const TypeId substring[] = {TYPE_VARCHAR, TYPE_BIGINT, TYPE_BIGINT};
        return call(law, "substring", TYPE_VARCHAR, 3, substring, depth);
    }
    default:
        return call(law, one[law_below(law, WEIR_ARRAY_COUNT(one))], TYPE_VARCHAR, 1, args, depth);
    }
}

static const Expr *date(Law *law, int depth)
{
    const TypeId args[] = {TYPE_DATE, TYPE_INTEGER};
    return call(law, law_one_in(law, 2) ? "+" : "-", TYPE_DATE, 2, args, depth);
}

static const Expr *comparison(Law *law, int depth)
{
    const TypeId type = column_types[law_below(law, COLUMNS)];
    Expr *expr = new_node(law, EXPR_COMPARE, TYPE_BOOLEAN, 2);
    expr->compare = (CompareOp)law_below(law, COMPARE_NOT_DISTINCT + 1);
    set_arg(law, expr, 0, tree(law, type, depth - 1));
    set_arg(law, expr, 1, tree(law, type, depth - 1));
    return expr;
}

/* A constant, or the cast of one, as the binder gives a list one type. */
static const Expr *element(Law *law, TypeId type)
{
    if (type != TYPE_BIGINT || law_one_in(law, 2)) {
        return constant(law, type);
    }
    Expr *expr = new_node(law, EXPR_CAST, type, 1);
    set_arg(law, expr, 0, constant(law, TYPE_INTEGER));
    return expr;
}

static const Expr *in_list(Law *law, int depth)
{
    const TypeId type = column_types[law_below(law, COLUMNS)];
    const bool is_long = law_one_in(law, 4);
    Expr *expr = new_node(law, EXPR_IN, TYPE_BOOLEAN, 2 + law_below(law, is_long ? 60 : 12));
    expr->is_negated = law_one_in(law, 2);
    set_arg(law, expr, 0, tree(law, type, depth - 1));
    const bool is_constant = law_one_in(law, 2);
    for (size_t i = 1; i < expr->arg_count; i++) {
        const bool is_null = law_one_in(law, is_long ? 100 : 10);
        const Expr *arg = is_constant ? element(law, type) : tree(law, type, depth - 2);
        set_arg(law, expr, i, is_null ? null_constant(law, type) : arg);
    }
    return expr;
}

static const Expr *condition(Law *law, int depth)
{
    static const ExprKind one[] = {EXPR_NOT, EXPR_IS_NULL, EXPR_IS_NOT_NULL};
    const TypeId texts[] = {TYPE_VARCHAR, TYPE_VARCHAR};
    switch (law_below(law, 6)) {
    case 0:
    case 1: {
        const ExprKind kind = law_one_in(law, 2) ? EXPR_AND : EXPR_OR;
        Expr *expr = new_node(law, kind, TYPE_BOOLEAN, 2 + law_below(law, 3));
        for (size_t i = 0; i < expr->arg_count; i++) {
            set_arg(law, expr, i, branch(law, TYPE_BOOLEAN, depth));
        }
        return expr;
    }
    case 2: {
        const ExprKind kind = one[law_below(law, WEIR_ARRAY_COUNT(one))];
        const TypeId type = kind == EXPR_NOT ? TYPE_BOOLEAN : column_types[law_below(law, COLUMNS)];
        Expr *expr = new_node(law, kind, TYPE_BOOLEAN, 1);
        set_arg(law, expr, 0, tree(law, type, depth - 1));
        return expr;
    }
    case 3: return in_list(law, depth);
    case 4: return call(law, law_one_in(law, 2) ? "~~" : "contains", TYPE_BOOLEAN, 2, texts, depth);
    default: return comparison(law, depth);
    }
}

static const Expr *inner_node(Law *law, TypeId type, int depth)
{
    if (law_one_in(law, 3)) {
        return branches(law, type, depth);
    }
    switch (type) {
    case TYPE_INTEGER:
    case TYPE_BIGINT: return number(law, type, depth);
    case TYPE_DOUBLE: return floating(law, depth);
    case TYPE_VARCHAR: return text(law, depth);
    case TYPE_DATE: return date(law, depth);
    default: return condition(law, depth);
    }
}

static bool has_columns(const Expr *expr)
{
    bool used[COLUMNS] = {false};
    weir_expr_collect_columns(expr, used);
    for (size_t c = 0; c < COLUMNS; c++) {
        if (used[c]) {
            return true;
        }
    }
    return false;
}

/* What has no columns could be a NULL constant after folding, see leaf. */
static const Expr *tree(Law *law, TypeId type, int depth)
{
    if (depth <= 0 || law_one_in(law, 6)) {
        return leaf(law, type);
    }
    const Expr *expr = inner_node(law, type, depth);
    return has_columns(expr) ? expr : leaf(law, type);
}

/* --- comparing ----------------------------------------------------------------------------------- */

typedef struct Trees {
    const Expr *exprs[TREES];
    const char *sql[TREES];
    Schema schema;
    Batch batch;
} Trees;

static void report(Law *law, const Trees *t, const char *what, const char *detail)
{
    law->failures++;
    printf("FAIL %s: %s\n", what, detail);
    for (size_t i = 0; i < TREES; i++) {
        printf("  %s\n", t->sql[i]);
    }
}

static void report_row(Law *law, const Trees *t, size_t index, size_t row, const Vector *native,
                       const Vector *duck)
{
    report(law, t, "values differ", t->sql[index]);
    printf("  row %zu of %zu:", row, t->batch.count);
    for (size_t c = 0; c < COLUMNS; c++) {
        printf(" c%zu=", c);
        law_print_value(t->schema.types[c], &t->batch.columns[c], row);
    }
    printf("\n  native ");
    law_print_value(t->exprs[index]->type, native, row);
    printf("\n  DuckDB ");
    law_print_value(t->exprs[index]->type, duck, row);
    printf("\n");
}

static void check_values(Law *law, const Trees *t)
{
    Error err = {0};
    Vector duck[TREES];
    if (law_query(law,
                  &(LawQuery){.table = "b", .sql = t->sql, .count = TREES, .rows = t->batch.count},
                  &law->step, duck, &err) != WEIR_OK) {
        return;
    }
    law->cases++; /* only what DuckDB computes is compared */
    Evaluator *ev = NULL;
    Vector native[TREES];
    if (weir_evaluator_new(law->mem, &law->host, t->exprs, TREES, &t->schema, &ev, &err) !=
            WEIR_OK ||
        weir_evaluator_run(ev, &t->batch, &law->step, native, &err) != WEIR_OK) {
        report(law, t, "native fails", err.message);
    } else {
        for (size_t i = 0; i < TREES; i++) {
            size_t row = 0;
            if (!law_same(t->exprs[i]->type, &native[i], &duck[i], t->batch.count, &row)) {
                report_row(law, t, i, row, &native[i], &duck[i]);
                break;
            }
        }
    }
    weir_evaluator_free(ev);
}

/* The trees are conditions: selects what DuckDB's WHERE does. */
static void check_select(Law *law, const Trees *t)
{
    Error err = {0};
    Vector duck[1];
    const char *both = weir_arena_printf(&law->plan, &law->err, "(%s) AND (%s) AND (%s)", t->sql[0],
                                         t->sql[1], t->sql[2]);
    if (law_query(law, &(LawQuery){.table = "b", .sql = &both, .count = 1, .rows = t->batch.count},
                  &law->step, duck, &err) != WEIR_OK) {
        return;
    }
    law->cases++;
    Evaluator *ev = NULL;
    uint16_t selection[BATCH_CAPACITY];
    size_t count = 0;
    if (weir_evaluator_new(law->mem, &law->host, t->exprs, TREES, &t->schema, &ev, &err) !=
            WEIR_OK ||
        weir_evaluator_select(ev, &t->batch, &law->step, selection, &count, &err) != WEIR_OK) {
        report(law, t, "native select fails", err.message);
        weir_evaluator_free(ev);
        return;
    }
    size_t next = 0;
    for (size_t row = 0; row < t->batch.count; row++) {
        const bool is_wanted =
            !weir_vector_is_null(&duck[0], row) && ((const uint8_t *)duck[0].data)[row] != 0;
        const bool is_selected = next < count && selection[next] == row;
        next += is_selected;
        if (is_wanted != is_selected) {
            report(law, t, "selection differs", is_wanted ? "a row is missing" : "a row too many");
            break;
        }
    }
    weir_evaluator_free(ev);
}

static void run_round(Law *law)
{
    static const size_t sizes[] = {1, 63, 64, 65, 300, ROWS_MAX};
    const bool is_select = law_one_in(law, 3);
    Trees t = {0};
    LawColumn columns[COLUMNS];
    const LogicalType *types[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) {
        columns[c] = column_of(column_types[c]);
        types[c] = columns[c].type;
    }
    t.schema = (Schema){.count = COLUMNS, .types = types};
    for (size_t i = 0; i < TREES; i++) {
        const TypeId type = is_select ? TYPE_BOOLEAN : column_types[law_below(law, COLUMNS)];
        t.exprs[i] = tree(law, type, DEPTH);
        t.sql[i] = law_sql(law, t.exprs[i]);
        if (t.sql[i] == NULL) {
            law_die("sql", law->err.message);
        }
    }
    t.batch = law_batch(law, columns, COLUMNS, sizes[law_below(law, WEIR_ARRAY_COUNT(sizes))]);
    law_load(law, "b", &t.schema, &t.batch);
    law->batches++;
    if (is_select) {
        check_select(law, &t);
    } else {
        check_values(law, &t);
    }
    weir_arena_reset(&law->step);
    weir_arena_reset(&law->plan);
}

int main(int argc, char **argv)
{
    Law law;
    law_open(&law, argc, argv);
    for (size_t i = 0; i < law.rounds * 200 && law.failures < 5; i++) {
        run_round(&law);
    }
    return law_close(&law);
}
