/* gen_expr.c: literals and scalar expressions.
 *
 * An expression is a leaf (a column or a literal) or a template of templates.def with expressions
 * as arguments. What is known of its value (how it may be compared, what its doubles look like)
 * follows from the arguments and the template's flags. */
#include "gen.h"

#include <stdio.h>
#include <string.h>

enum { FLAG_EQUAL = 1, FLAG_LOOSE = 2, FLAG_DYADIC = 4, ARGUMENTS_MAX = 3 };

typedef struct Template {
    const char *sql;
    TypeId result;
    int level;
    unsigned flags;
    TypeId arguments[ARGUMENTS_MAX];
} Template;

#define EQUAL FLAG_EQUAL
#define LOOSE FLAG_LOOSE
#define DYADIC FLAG_DYADIC
#define T(result, level, flags, sql, a, b, c) \
    {(sql), TYPE_##result, (level), (flags), {TYPE_##a, TYPE_##b, TYPE_##c}},
static const Template templates[] = {
#include "templates.def"
};
#undef T
#undef DYADIC
#undef LOOSE
#undef EQUAL

enum { TEMPLATE_COUNT = sizeof templates / sizeof templates[0] };

char *gen_literal(Gen *gen, TypeId type, bool is_tame)
{
    const TypeInfo *info = type_info(type);
    const size_t count = is_tame || rng_chance(&gen->rng, 70) ? info->tame : info->literal_count;
    return text_format("CAST(%s AS %s)", info->literals[rng_below(&gen->rng, count)], info->sql);
}

/* Doubles whose sum depends on the order of addition; none is negative. */
static const char *const rough_values[] = {"0.1",   "0.2",  "'-0.0'", "0.3",   "0.7",  "1e10",
                                           "33e-6", "1e16", "1.1",    "'inf'", "'nan'"};

char *gen_value(Gen *gen, const Column *column)
{
    if (column->is_key) {
        const size_t key = rng_between(&gen->rng, 1, KEY_VALUES);
        return text_format(column->type == TYPE_VARCHAR ? "'k%zu'" : "%zu", key);
    }
    if (rng_chance(&gen->rng, column->null_percent)) {
        return test_copy("NULL");
    }
    if (column->is_poison) {
        return rng_chance(&gen->rng, 2) ? test_copy(rng_chance(&gen->rng, 50) ? "'x'" : "'300'")
                                        : text_format("'%zu'", rng_below(&gen->rng, 4));
    }
    const size_t index = column->first + rng_below(&gen->rng, column->count);
    if (column->kind == FLOAT_ROUGH) {
        const size_t rough_count = sizeof rough_values / sizeof rough_values[0];
        return text_format("CAST(%s AS %s)", rough_values[index % rough_count],
                           type_info(column->type)->sql);
    }
    const TypeInfo *info = type_info(column->type);
    return test_copy(info->literals[index % (column->is_tame ? info->tame : info->literal_count)]);
}

void scope_add(Scope *scope, const char *relation, const char *column, TypeId type, ColumnMode mode,
               FloatKind kind, bool is_tame)
{
    if (scope->count == SCOPE_MAX) {
        return;
    }
    ScopeColumn *item = &scope->items[scope->count];
    *item = (ScopeColumn){.type = type, .mode = mode, .kind = kind, .is_tame = is_tame};
    if (relation[0] == '\0') {
        (void)snprintf(item->ref, sizeof item->ref, "%s", column);
    } else {
        (void)snprintf(item->ref, sizeof item->ref, "%s.%s", relation, column);
    }
    scope->count++;
}

static bool type_fits(TypeId wanted, const ScopeColumn *column)
{
    switch (wanted) {
    case TYPE_ANY: return true;
    case TYPE_SMALL: return type_is_small(column->type);
    case TYPE_INT: return type_is_integer(column->type);
    case TYPE_PLAIN: return !type_is_ambiguous(column->type);
    case TYPE_SCALAR: return (type_info(column->type)->flags & TYPE_FLAG_NESTED) == 0;
    case TYPE_TAME: return type_is_small(column->type) && column->is_tame;
    default: return column->type == wanted;
    }
}

const ScopeColumn *scope_pick(Gen *gen, const Scope *scope, TypeId type, ColumnMode worst)
{
    if (scope->count == 0) {
        return NULL;
    }
    const size_t start = rng_below(&gen->rng, scope->count);
    for (size_t i = 0; i < scope->count; i++) {
        const ScopeColumn *column = &scope->items[(start + i) % scope->count];
        if (column->mode <= worst && type_fits(type, column)) {
            return column;
        }
    }
    return NULL;
}

/* A type of the class `wanted`, one that the scope has if possible. */
static TypeId resolve_type(Gen *gen, const Scope *scope, TypeId wanted)
{
    if (wanted < TYPE_COUNT) {
        return wanted;
    }
    const ScopeColumn *column = scope_pick(gen, scope, wanted, COLUMN_EQUAL);
    if (column != NULL) {
        return column->type;
    }
    static const TypeId usual[] = {TYPE_INTEGER, TYPE_SMALLINT, TYPE_UTINYINT, TYPE_TINYINT};
    return usual[rng_below(&gen->rng, sizeof usual / sizeof usual[0])];
}

static Expr literal_expr(Gen *gen, TypeId type, bool is_tame)
{
    return (Expr){.sql = gen_literal(gen, type, is_tame),
                  .type = type,
                  .mode = COLUMN_EXACT,
                  .kind = type_is_float(type) ? FLOAT_DYADIC : FLOAT_ANY};
}

static Expr column_expr(const ScopeColumn *column)
{
    return (Expr){.sql = test_copy(column->ref),
                  .type = column->type,
                  .mode = column->mode,
                  .kind = column->kind};
}

static Expr leaf_expr(Gen *gen, const Scope *scope, TypeId type, ColumnMode worst)
{
    const ScopeColumn *column = scope_pick(gen, scope, type, worst);
    if (column != NULL && rng_chance(&gen->rng, 85)) {
        return column_expr(column);
    }
    return literal_expr(gen, type, false);
}

/* `has_column`: the scope has a column of that type. Without one, COALESCE and the like would
 * choose among literals. */
static bool template_serves(const Gen *gen, const Template *template, TypeId type, ColumnMode worst,
                            bool has_column)
{
    /* DuckDB has no CASE over arrays. */
    has_column = has_column && type != TYPE_ARRAY;
    const bool is_loose = (template->flags & FLAG_LOOSE) != 0 && type_is_ambiguous(type);
    return template->level <= gen->options.level && !(is_loose && worst == COLUMN_EXACT) &&
           (template->result == type || (template->result == TYPE_ANY && has_column));
}

static const Template *pick_template(Gen *gen, const Scope *scope, TypeId type, ColumnMode worst)
{
    const bool has_column = scope_pick(gen, scope, type, worst) != NULL;
    size_t count = 0;
    const Template *picked = NULL;
    for (size_t i = 0; i < TEMPLATE_COUNT; i++) {
        if (template_serves(gen, &templates[i], type, worst, has_column)) {
            count++;
            if (rng_below(&gen->rng, count) == 0) {
                picked = &templates[i];
            }
        }
    }
    return picked;
}

static void fill_template(const char *sql, const Expr *arguments, Text *out)
{
    for (const char *c = sql; *c != '\0'; c++) {
        if (c[0] == '$' && c[1] >= '1' && c[1] <= '3') {
            text_add(out, arguments[c[1] - '1'].sql);
            c++;
        } else {
            text_add_char(out, *c);
        }
    }
}

/* One of the arguments to be chosen, and what it follows from. */
typedef struct ArgumentSpec {
    TypeId wanted;
    TypeId first;  /* of the first argument */
    TypeId result; /* of the template */
    ColumnMode worst;
    int depth; /* of the template */
} ArgumentSpec;

static Expr gen_argument(Gen *gen, const Scope *scope, const ArgumentSpec *spec)
{
    const TypeId wanted = spec->wanted;
    if (wanted == TYPE_LITERAL) {
        return literal_expr(gen, spec->first, false);
    }
    if (wanted == TYPE_TAME) {
        const ScopeColumn *column = scope_pick(gen, scope, TYPE_TAME, spec->worst);
        return column != NULL ? column_expr(column) : literal_expr(gen, TYPE_INTEGER, true);
    }
    if (wanted == TYPE_BOOLEAN && spec->depth > -1) {
        return (Expr){.sql = gen_condition(gen, scope, spec->depth - 1), .type = TYPE_BOOLEAN};
    }
    TypeId type = wanted == TYPE_RESULT ? spec->result : TYPE_ANY;
    if (wanted == TYPE_SAME) {
        type = spec->first;
    } else if (wanted != TYPE_RESULT) {
        type = resolve_type(gen, scope, wanted);
    }
    return gen_expr(gen, scope, type, spec->worst, spec->depth - 1);
}

static Expr template_expr(Gen *gen, const Scope *scope, const Template *template, TypeId type,
                          ColumnMode worst, int depth)
{
    Expr arguments[ARGUMENTS_MAX] = {{0}};
    Expr result = {.type = type, .mode = COLUMN_EXACT, .kind = FLOAT_DYADIC};
    if ((template->flags & FLAG_EQUAL) == 0) {
        worst = COLUMN_EXACT;
    }
    bool is_passed = template->result == TYPE_ANY;
    for (size_t i = 0; i < ARGUMENTS_MAX && template->arguments[i] != TYPE_NONE; i++) {
        Expr *argument = &arguments[i];
        const ArgumentSpec spec = {
            .wanted = template->arguments[i],
            .first = arguments[0].type,
            .result = type,
            .worst = worst,
            .depth = depth,
        };
        *argument = gen_argument(gen, scope, &spec);
        const bool counts = is_passed ? template->arguments[i] == TYPE_RESULT : true;
        if (counts && is_passed && argument->mode > result.mode) {
            result.mode = argument->mode;
        }
        if (counts && argument->kind != FLOAT_DYADIC) {
            result.kind = FLOAT_ANY;
        }
    }
    if (!is_passed && (template->flags & FLAG_DYADIC) == 0) {
        result.kind = FLOAT_ANY;
    }
    if ((template->flags & FLAG_LOOSE) != 0) {
        result.mode = COLUMN_EQUAL;
    }
    if (!type_is_ambiguous(type)) {
        result.mode = COLUMN_EXACT;
    }
    if (!type_is_float(type)) {
        result.kind = FLOAT_ANY;
    }
    Text sql = {0};
    fill_template(template->sql, arguments, &sql);
    result.sql = text_take(&sql);
    for (size_t i = 0; i < ARGUMENTS_MAX; i++) {
        test_free(arguments[i].sql);
    }
    return result;
}

Expr gen_expr(Gen *gen, const Scope *scope, TypeId type, ColumnMode worst, int depth)
{
    if (depth <= 0 || rng_chance(&gen->rng, 25)) {
        return leaf_expr(gen, scope, type, worst);
    }
    const Template *template = pick_template(gen, scope, type, worst);
    if (template == NULL) {
        return leaf_expr(gen, scope, type, worst);
    }
    return template_expr(gen, scope, template, type, worst, depth);
}

char *gen_condition(Gen *gen, const Scope *scope, int depth)
{
    for (int attempt = 0; attempt < 8; attempt++) {
        const Template *template = pick_template(gen, scope, TYPE_BOOLEAN, COLUMN_EQUAL);
        if (template != NULL && template->result == TYPE_BOOLEAN) {
            return template_expr(gen, scope, template, TYPE_BOOLEAN, COLUMN_EQUAL, depth).sql;
        }
    }
    return test_copy("TRUE");
}

Expr gen_any(Gen *gen, const Scope *scope, ColumnMode worst, int depth)
{
    TypeId type = TYPE_INTEGER;
    if (rng_chance(&gen->rng, 60)) {
        const ScopeColumn *column = scope_pick(gen, scope, TYPE_ANY, worst);
        type = column == NULL ? TYPE_INTEGER : column->type;
    } else {
        do {
            type = (TypeId)rng_below(&gen->rng, TYPE_COUNT);
        } while (type_info(type)->level > gen->options.level);
    }
    return gen_expr(gen, scope, type, worst, depth);
}
