/* law_functions.c: every line of functions.def and casts.def, and every comparison of every type.
 *
 * For each there are random batches, with every mix of columns and constants as arguments.
 * Usage: law_functions [-s seed] [-n rounds] [filter]. */
#include "law.h"

#include <stdio.h>

enum { ARGS_MAX = 5, ROWS_MAX = 2048 };

/* The node under test, its arguments missing. */
typedef struct Case {
    char name[128];
    Expr node;
    size_t arg_count;
    LawColumn args[ARGS_MAX];
    const FunctionDef *def; /* functions: what must be found */
    size_t constants;       /* bit i: argument i is always a constant */
    bool is_retyped;        /* the result type depends on a constant */
} Case;

static size_t batch_rows(Law *law)
{
    static const size_t sizes[] = {1, 7, 63, 64, 65, 200, 1000, ROWS_MAX};
    return sizes[law_below(law, WEIR_ARRAY_COUNT(sizes))];
}

static const Expr *argument(Law *law, const Case *c, size_t index, bool is_constant)
{
    const Expr *expr;
    if (is_constant) {
        const Value value = law_value(law, &c->args[index]);
        expr = weir_expr_constant(&law->plan, &value, &law->err);
    } else {
        expr = weir_expr_column(&law->plan, index, c->args[index].type, &law->err);
    }
    if (expr == NULL) {
        law_die("memory", law->err.message);
    }
    return expr;
}

/* The binder casts the operands of decimal arithmetic to the result's representation and, but for
 * products, scale. */
static const Expr *bind_argument(Law *law, const Case *c, const Expr *arg)
{
    const LogicalType *type = c->node.type;
    const bool is_call = c->node.kind == EXPR_CALL && c->arg_count == 2;
    const bool is_product = is_call && strcmp(c->node.name, "*") == 0;
    const bool is_sum =
        is_call && (strcmp(c->node.name, "+") == 0 || strcmp(c->node.name, "-") == 0 ||
                    strcmp(c->node.name, "%") == 0);
    if (type->id != TYPE_DECIMAL || arg->type->id != TYPE_DECIMAL || !(is_product || is_sum) ||
        (arg->type->phys == type->phys && (is_product || arg->type->scale == type->scale))) {
        return arg;
    }
    const uint8_t scale = is_product ? arg->type->scale : type->scale;
    const LogicalType *target = weir_type_decimal(&law->plan, type->width, scale, &law->err);
    Expr *cast = weir_arena_alloc(&law->plan, sizeof *cast, &law->err);
    const Expr **args = weir_arena_calloc(&law->plan, 1, sizeof(const Expr *), &law->err);
    if (target == NULL || cast == NULL || args == NULL) {
        law_die("memory", law->err.message);
    }
    args[0] = arg;
    *cast = (Expr){.kind = EXPR_CAST, .type = target, .args = args, .arg_count = 1};
    return cast;
}

/* constants: bit i = argument i is a constant. */
static const Expr *build(Law *law, const Case *c, size_t constants)
{
    const Expr **args = weir_arena_calloc(&law->plan, ARGS_MAX, sizeof(const Expr *), &law->err);
    Expr *expr = weir_arena_alloc(&law->plan, sizeof *expr, &law->err);
    if (args == NULL || expr == NULL) {
        law_die("memory", law->err.message);
    }
    for (size_t i = 0; i < c->arg_count; i++) {
        args[i] = bind_argument(law, c, argument(law, c, i, ((constants >> i) & 1) != 0));
    }
    *expr = c->node;
    expr->args = args;
    expr->arg_count = c->arg_count;
    return expr;
}

static Schema schema_of(Law *law, const Case *c)
{
    const LogicalType **types =
        weir_arena_calloc(&law->plan, c->arg_count + 1, sizeof(const LogicalType *), &law->err);
    if (types == NULL) {
        law_die("memory", law->err.message);
    }
    for (size_t i = 0; i < c->arg_count; i++) {
        types[i] = c->args[i].type;
    }
    return (Schema){.count = c->arg_count, .types = types};
}

/* The expression with DuckDB's type for it; NULL if it does not bind or is not ours. */
static const Expr *retype(Law *law, const Case *c, const Expr *expr)
{
    Expr *typed = weir_arena_alloc(&law->plan, sizeof *typed, &law->err);
    if (typed == NULL) {
        law_die("memory", law->err.message);
    }
    *typed = *expr;
    typed->type = weir_type_simple(TYPE_BOOLEAN);
    const char *sql = law_sql(law, typed);
    typed->type = sql == NULL ? NULL : law_type_of(law, sql);
    return typed->type != NULL && weir_function_find(typed) == c->def ? typed : NULL;
}

static void run_round(Law *law, const Case *c)
{
    const Schema schema = schema_of(law, c);
    const Batch batch = law_batch(law, c->args, c->arg_count, batch_rows(law));
    law_load(law, "b", &schema, &batch);
    const size_t constants = law_one_in(law, 2) ? 0 : law_below(law, (size_t)1 << c->arg_count);
    const Expr *expr = build(law, c, constants | c->constants);
    expr = c->is_retyped ? retype(law, c, expr) : expr;
    if (expr != NULL) {
        law_check(law, c->name, expr, &schema, &batch);
    }
    weir_arena_reset(&law->step);
}

static void run_case(Law *law, const Case *c)
{
    const size_t failures = law->failures;
    law->cases++;
    const size_t rounds = c->is_retyped ? law->rounds * 10 : law->rounds;
    for (size_t i = 0; i < rounds && law->failures == failures; i++) {
        run_round(law, c);
    }
}

/* --- functions ----------------------------------------------------------------------------------- */

static bool is_any_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, list[i]) == 0) {
            return true;
        }
    }
    return false;
}
#define IS_ANY_OF(name, ...)                            \
    is_any_of(name, (const char *const[]){__VA_ARGS__}, \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void set_hints(Case *c)
{
    const char *name = c->node.name;
    for (size_t i = 0; i < c->arg_count; i++) {
        LawColumn *arg = &c->args[i];
        arg->is_small = !IS_ANY_OF(name, "+", "-", "*", "//", "%", "&", "|", "abs", "~", "@") &&
                        weir_type_is_integer(arg->type);
    }
    if (IS_ANY_OF(name, "date_part", "date_trunc", "date_diff", "date_sub", "datediff", "datepart",
                  "datetrunc", "datesub")) {
        c->args[0].text = LAW_TEXT_DATE_PART;
    } else if (IS_ANY_OF(name, "~~", "!~~", "~~*", "!~~*", "like_escape")) {
        c->args[1].text = LAW_TEXT_PATTERN;
    } else if (c->arg_count > 1) {
        c->args[1].text = LAW_TEXT_SHORT;
    }
    const bool has_part = c->args[0].text == LAW_TEXT_DATE_PART;
    c->is_retyped = has_part || (IS_ANY_OF(name, "round") && c->arg_count == 2);
    c->constants = has_part ? 1 : c->is_retyped ? 2 : 0;
    if (IS_ANY_OF(name, "substring", "substr") && (c->def->flags & FUNCTION_CAN_FAIL) == 0) {
        c->constants = 6;
    }
}

/* Asks DuckDB for the result type; runs the case if our registry has it. */
static void try_function(Law *law, Case *c)
{
    const Schema schema = schema_of(law, c);
    const Batch empty = law_batch(law, c->args, c->arg_count, 0);
    law_load(law, "b", &schema, &empty);
    c->node.type = weir_type_simple(TYPE_BOOLEAN);
    if (c->is_retyped) {
        run_case(law, c);
        return;
    }
    const char *sql = law_sql(law, build(law, c, c->constants));
    const LogicalType *type = sql == NULL ? NULL : law_type_of(law, sql);
    if (type == NULL) {
        return;
    }
    c->node.type = type;
    if (weir_function_find(build(law, c, c->constants)) == c->def) {
        run_case(law, c);
    }
}

static void name_case(Case *c)
{
    size_t size = (size_t)snprintf(c->name, sizeof c->name, "%s(", c->def->name);
    for (size_t i = 0; i < c->arg_count && size < sizeof c->name; i++) {
        size += (size_t)snprintf(c->name + size, sizeof c->name - size, "%s%s", i == 0 ? "" : ", ",
                                 weir_type_name(c->args[i].type->id));
    }
    if (size < sizeof c->name - 1) {
        (void)snprintf(c->name + size, sizeof c->name - size, ")");
    }
}

/* Chooses the types of arguments from `index` on in every way. */
static void choose_types(Law *law, Case *c, const char *letters, size_t index)
{
    if (index >= c->arg_count || index >= ARGS_MAX) {
        name_case(c);
        set_hints(c);
        const ArenaMark mark = weir_arena_mark(&law->plan);
        try_function(law, c);
        weir_arena_release(&law->plan, mark);
        return;
    }
    const LogicalType *types[LAW_TYPES_MAX];
    const size_t count = law_types_of(law, letters[index], types);
    for (size_t t = 0; t < count; t++) {
        bool is_allowed = true;
        for (size_t i = 0; i < index; i++) {
            const bool is_same_letter = letters[i] == letters[index];
            is_allowed = is_allowed &&
                         !(is_same_letter && letters[index] != 'm' && c->args[i].type != types[t]);
        }
        if (is_allowed) {
            c->args[index] = (LawColumn){.type = types[t]};
            choose_types(law, c, letters, index + 1);
        }
    }
}

static void test_function(Law *law, const FunctionDef *def)
{
    if (law->filter != NULL && strcmp(law->filter, def->name) != 0) {
        return;
    }
    char letters[ARGS_MAX + 1] = {0};
    const size_t length = strlen(def->arguments);
    const bool is_variadic = length > 0 && def->arguments[length - 1] == '+';
    const size_t fixed = is_variadic ? length - 1 : length;
    const size_t most = is_variadic ? WEIR_MIN(fixed + 2, (size_t)3) : fixed;
    for (size_t count = fixed; count <= most; count++) {
        for (size_t i = 0; i < count; i++) {
            letters[i] = def->arguments[WEIR_MIN(i, fixed - 1)];
        }
        const size_t cases = law->cases;
        Case c = {
            .node = {.kind = EXPR_CALL, .name = def->name},
            .arg_count = count,
            .def = def,
        };
        choose_types(law, &c, letters, 0);
        if (law->cases == cases) {
            law->failures++;
            printf("FAIL no case reaches %s(%s) -> %s\n", def->name, def->arguments, def->result);
        }
    }
}

/* --- casts and comparisons ----------------------------------------------------------------------- */

static LawText cast_text(const LogicalType *to)
{
    return to->id == TYPE_DATE || to->id == TYPE_TIMESTAMP ? LAW_TEXT_TIME : LAW_TEXT_NUMBER;
}

static void test_cast(Law *law, const LogicalType *from, const LogicalType *to, bool is_try)
{
    const ArenaMark mark = weir_arena_mark(&law->plan);
    Case c = {
        .node = {.kind = EXPR_CAST, .type = to, .is_try = is_try},
        .arg_count = 1,
        .args = {{.type = from, .text = cast_text(to)}},
    };
    (void)snprintf(c.name, sizeof c.name, "%s(%s AS %s)", is_try ? "TRY_CAST" : "CAST",
                   weir_type_name(from->id), weir_type_name(to->id));
    if (!weir_type_equal(from, to) && weir_cast_find(build(law, &c, 0)) != NULL) {
        run_case(law, &c);
        if (from->id == TYPE_VARCHAR) {
            c.args[0].is_plain = true;
            run_case(law, &c);
        }
    }
    weir_arena_release(&law->plan, mark);
}

static void test_casts(Law *law)
{
    if (law->filter != NULL && strcmp(law->filter, "cast") != 0) {
        return;
    }
    for (size_t from = 0; from < law->type_count; from++) {
        for (size_t to = 0; to < law->type_count; to++) {
            test_cast(law, law->types[from], law->types[to], false);
            test_cast(law, law->types[from], law->types[to], true);
        }
    }
}

static void test_compares(Law *law)
{
    if (law->filter != NULL && strcmp(law->filter, "compare") != 0) {
        return;
    }
    for (size_t t = 0; t < law->type_count; t++) {
        for (int op = COMPARE_EQ; op <= COMPARE_NOT_DISTINCT; op++) {
            const ArenaMark mark = weir_arena_mark(&law->plan);
            const LawColumn column = {.type = law->types[t], .is_dense = true};
            Case c = {
                .node = {.kind = EXPR_COMPARE,
                         .type = weir_type_simple(TYPE_BOOLEAN),
                         .compare = (CompareOp)op},
                .arg_count = 2,
                .args = {column, column},
            };
            (void)snprintf(c.name, sizeof c.name, "compare %d of %s", op,
                           weir_type_name(column.type->id));
            run_case(law, &c);
            weir_arena_release(&law->plan, mark);
        }
    }
}

int main(int argc, char **argv)
{
    Law law;
    law_open(&law, argc, argv);
    size_t count = 0;
    const FunctionDef *functions = weir_function_list(&count);
    for (size_t i = 0; i < count; i++) {
        test_function(&law, &functions[i]);
    }
    test_casts(&law);
    test_compares(&law);
    return law_close(&law);
}
