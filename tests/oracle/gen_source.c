/* gen_source.c: the FROM clause of a query: tables, views, subqueries, VALUES, and their joins.
 *
 * How many tables are multiplied with each other is bounded (WEIGHT_MAX), so that no view has
 * more than some ten thousand rows. */
#include "gen_source.h"

#include <stdio.h>
#include <string.h>

unsigned gen_weight_max(const Gen *gen)
{
    return gen->is_bulk ? 1 : 3;
}

size_t gen_alias(Gen *gen)
{
    gen->alias_count++;
    return gen->alias_count;
}

void scope_add_query(Scope *scope, const char *alias, const ViewColumn *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        scope_add(scope, alias, columns[i].name, columns[i].type, columns[i].mode, columns[i].kind,
                  false);
    }
}

static void add_table(Gen *gen, const char *alias, Scope *scope, Text *sql)
{
    const Table *table = &gen->test->tables[rng_below(&gen->rng, gen->test->table_count)];
    text_addf(sql, "%s AS %s", table->name, alias);
    for (size_t i = 0; i < table->column_count; i++) {
        const Column *column = &table->columns[i];
        scope_add(scope, alias, column->name, column->type, COLUMN_EXACT, column->kind,
                  column->is_tame);
    }
}

static void add_values(Gen *gen, const char *alias, Scope *scope, Text *sql)
{
    TypeId types[3];
    const size_t column_count = rng_between(&gen->rng, 1, 3);
    const size_t row_count = rng_between(&gen->rng, 1, 4);
    for (size_t i = 0; i < column_count; i++) {
        types[i] = (TypeId)rng_below(&gen->rng, TYPE_STRUCT);
    }
    text_add(sql, "(VALUES ");
    for (size_t row = 0; row < row_count; row++) {
        text_add(sql, row > 0 ? ", (" : "(");
        for (size_t i = 0; i < column_count; i++) {
            char *literal = row > 0 && rng_chance(&gen->rng, 20)
                                ? test_copy("NULL")
                                : gen_literal(gen, types[i], false);
            text_addf(sql, "%s%s", i > 0 ? ", " : "", literal);
            test_free(literal);
        }
        text_add_char(sql, ')');
    }
    text_addf(sql, ") AS %s(", alias);
    for (size_t i = 0; i < column_count; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "x%zu", i);
        text_addf(sql, "%s%s", i > 0 ? ", " : "", name);
        scope_add(scope, alias, name, types[i], COLUMN_EXACT, FLOAT_ANY, false);
    }
    text_add_char(sql, ')');
}

/* A view made before, if one may be named here. */
static bool add_view(Gen *gen, Query *query, const char *alias, Scope *scope, Text *sql,
                     unsigned weight_max)
{
    const Case *test = gen->test;
    if (test->view_count == 0) {
        return false;
    }
    const size_t index = rng_below(&gen->rng, test->view_count);
    const View *view = &test->views[index];
    if (view->is_leaf || view->can_fail || view->weight > weight_max) {
        return false;
    }
    text_addf(sql, "%s AS %s", view->name, alias);
    scope_add_query(scope, alias, view->columns, view->column_count);
    query->views |= 1U << index;
    query->weight += view->weight;
    return true;
}

static bool add_subquery(Gen *gen, Query *query, const char *alias, Scope *scope, Text *sql,
                         unsigned weight_max, int depth)
{
    Query inner = {0};
    gen_query(gen, &inner, depth - 1);
    const bool fits = inner.weight <= weight_max;
    if (fits) {
        text_addf(sql, "(%s) AS %s", inner.sql, alias);
        scope_add_query(scope, alias, inner.columns, inner.column_count);
        query->views |= inner.views;
        query->weight += inner.weight;
    }
    test_free(inner.sql);
    return fits;
}

/* One relation; `weight_max` is at least 1. */
static void add_relation(Gen *gen, Query *query, Scope *scope, Text *sql, unsigned weight_max,
                         int depth)
{
    char alias[24];
    (void)snprintf(alias, sizeof alias, "r%zu", gen_alias(gen));
    const size_t choice = rng_below(&gen->rng, 100);
    if (choice < 40 && add_view(gen, query, alias, scope, sql, weight_max)) {
        return;
    }
    if (choice >= 40 && choice < 50 && depth > 0 &&
        add_subquery(gen, query, alias, scope, sql, weight_max, depth)) {
        return;
    }
    query->weight++;
    if (choice >= 50 && choice < 54) {
        add_values(gen, alias, scope, sql);
    } else {
        add_table(gen, alias, scope, sql);
    }
}

void gen_relation_simple(Gen *gen, Query *query, Scope *scope, Text *sql)
{
    const unsigned weight = query->weight;
    add_relation(gen, query, scope, sql, 1, 0);
    query->weight = weight;
}

/* "a = b" of a column of each side; false if no types meet. */
static bool add_equality(Gen *gen, const Scope *left, const Scope *right, Text *sql)
{
    for (int attempt = 0; attempt < 12; attempt++) {
        const ScopeColumn *b = scope_pick(gen, right, TYPE_ANY, COLUMN_EQUAL);
        if (b == NULL) {
            return false;
        }
        const bool is_mixed = type_is_integer(b->type) && rng_chance(&gen->rng, 20);
        const ScopeColumn *a = scope_pick(gen, left, is_mixed ? TYPE_INT : b->type, COLUMN_EQUAL);
        if (a == NULL) {
            continue;
        }
        const char *operator= rng_chance(&gen->rng, 20) ? "IS NOT DISTINCT FROM" : "=";
        if (rng_chance(&gen->rng, 12)) {
            Expr expr = gen_expr(gen, left, b->type, COLUMN_EQUAL, 1);
            text_addf(sql, "%s %s %s", expr.sql, operator, b->ref);
            test_free(expr.sql);
        } else {
            text_addf(sql, "%s %s %s", a->ref, operator, b->ref);
        }
        return true;
    }
    return false;
}

/* A comparison over both sides that is no equality. */
static void add_residual(Gen *gen, const Scope *left, const Scope *right, Text *sql)
{
    static const char *const operators[] = {"<", "<=", ">", ">=", "<>", "IS DISTINCT FROM"};
    const char *operator= operators[rng_below(&gen->rng, sizeof operators / sizeof operators[0])];
    for (int attempt = 0; attempt < 6; attempt++) {
        const ScopeColumn *b = scope_pick(gen, right, TYPE_ANY, COLUMN_EQUAL);
        const ScopeColumn *a = b == NULL ? NULL : scope_pick(gen, left, b->type, COLUMN_EQUAL);
        if (a != NULL) {
            text_addf(sql, "%s %s %s", a->ref, operator, b->ref);
            return;
        }
    }
    char *condition = gen_condition(gen, rng_chance(&gen->rng, 50) ? left : right, 1);
    text_add(sql, condition);
    test_free(condition);
}

void gen_join_condition(Gen *gen, const Scope *left, const Scope *right, bool may_be_wide,
                        Text *sql)
{
    if (may_be_wide && rng_chance(&gen->rng, 15)) {
        add_residual(gen, left, right, sql);
        return;
    }
    if (!add_equality(gen, left, right, sql)) {
        text_add(sql, may_be_wide ? "TRUE" : "FALSE");
        return;
    }
    if (rng_chance(&gen->rng, 15)) {
        Text second = {0};
        if (add_equality(gen, left, right, &second)) {
            text_addf(sql, " AND %s", second.data);
        }
        text_free(&second);
    }
    if (rng_chance(&gen->rng, 25)) {
        text_add(sql, " AND ");
        add_residual(gen, left, right, sql);
    }
    if (rng_chance(&gen->rng, 10)) {
        char *condition = gen_condition(gen, rng_chance(&gen->rng, 50) ? left : right, 1);
        text_addf(sql, " AND %s", condition);
        test_free(condition);
    }
}

/* The right scope is seen by the rest of the query unless the join is a semi or anti join. */
static void add_join(Gen *gen, Query *query, Scope *scope, Text *sql, unsigned weight_max,
                     int depth)
{
    static const char *const kinds[] = {"JOIN",      "JOIN",      "JOIN",
                                        "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN",
                                        "FULL JOIN", "SEMI JOIN", "ANTI JOIN"};
    const char *kind = kinds[rng_below(&gen->rng, sizeof kinds / sizeof kinds[0])];
    const bool may_be_wide = query->weight < weight_max && query->weight < 2;
    Scope right = {0};
    if (may_be_wide && rng_chance(&gen->rng, 6)) {
        text_add(sql, " CROSS JOIN ");
        add_relation(gen, query, &right, sql, 1, depth);
    } else {
        text_addf(sql, " %s ", kind);
        add_relation(gen, query, &right, sql, weight_max - query->weight, depth);
        text_add(sql, " ON ");
        gen_join_condition(gen, scope, &right, may_be_wide, sql);
        if (strcmp(kind, "SEMI JOIN") == 0 || strcmp(kind, "ANTI JOIN") == 0) {
            return;
        }
    }
    for (size_t i = 0; i < right.count && scope->count < SCOPE_MAX; i++) {
        scope->items[scope->count] = right.items[i];
        scope->count++;
    }
}

void gen_source(Gen *gen, Query *query, Scope *scope, Text *sql, int depth)
{
    const unsigned weight_max = gen_weight_max(gen);
    add_relation(gen, query, scope, sql, weight_max, depth);
    size_t join_count = rng_chance(&gen->rng, 55) ? 0 : rng_between(&gen->rng, 1, 2);
    while (join_count > 0 && query->weight < weight_max) {
        add_join(gen, query, scope, sql, weight_max, depth);
        join_count--;
    }
}

/* "x [NOT] IN (SELECT y FROM ...)" */
static bool add_in(Gen *gen, Query *query, const Scope *scope, Text *sql)
{
    Scope inner = {0};
    Text relation = {0};
    const unsigned views = query->views;
    gen_relation_simple(gen, query, &inner, &relation);
    bool is_done = false;
    for (int attempt = 0; attempt < 8 && !is_done; attempt++) {
        const ScopeColumn *y = scope_pick(gen, &inner, TYPE_ANY, COLUMN_EQUAL);
        const ScopeColumn *x = y == NULL ? NULL : scope_pick(gen, scope, y->type, COLUMN_EQUAL);
        if (x == NULL) {
            continue;
        }
        is_done = true;
        text_addf(sql, "%s %sIN (SELECT %s FROM %s", x->ref,
                  rng_chance(&gen->rng, 50) ? "NOT " : "", y->ref, relation.data);
        if (rng_chance(&gen->rng, 50)) {
            char *condition = gen_condition(gen, &inner, 1);
            text_addf(sql, " WHERE %s", condition);
            test_free(condition);
        }
        text_add_char(sql, ')');
    }
    if (!is_done) {
        query->views = views;
    }
    text_free(&relation);
    return is_done;
}

/* "[NOT] EXISTS (SELECT 1 FROM ...)", mostly correlated. */
static void add_exists(Gen *gen, Query *query, const Scope *scope, Text *sql)
{
    Scope inner = {0};
    text_addf(sql, "%sEXISTS (SELECT 1 FROM ", rng_chance(&gen->rng, 50) ? "NOT " : "");
    gen_relation_simple(gen, query, &inner, sql);
    text_add(sql, " WHERE ");
    if (rng_chance(&gen->rng, 80)) {
        gen_join_condition(gen, scope, &inner, false, sql);
    } else {
        char *condition = gen_condition(gen, &inner, 1);
        text_add(sql, condition);
        test_free(condition);
    }
    text_add_char(sql, ')');
}

void gen_subquery_condition(Gen *gen, Query *query, const Scope *scope, Text *sql)
{
    if (rng_chance(&gen->rng, 70) && add_in(gen, query, scope, sql)) {
        return;
    }
    add_exists(gen, query, scope, sql);
}
