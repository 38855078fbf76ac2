/* gen_query.c: SELECTs: projections, groups, DISTINCT, set operations, common table expressions. */
#include "gen_source.h"

#include <stdio.h>
#include <string.h>

static void query_add_column(Query *query, TypeId type, ColumnMode mode, FloatKind kind)
{
    ViewColumn *column = &query->columns[query->column_count];
    *column = (ViewColumn){.type = type, .mode = mode, .kind = kind};
    (void)snprintf(column->name, sizeof column->name, "x%u",
                   (unsigned)query->column_count % COLUMNS_MAX);
    query->column_count++;
}

/* Adds "expression AS xN". */
static void add_item(Query *query, Text *items, Expr expr)
{
    text_addf(items, "%s%s AS x%zu", query->column_count > 0 ? ", " : "", expr.sql,
              query->column_count);
    query_add_column(query, expr.type, expr.mode, expr.kind);
    test_free(expr.sql);
}

/* "(SELECT max(x) FROM ... WHERE x = y)": one row at most, as its outermost is an aggregate. */
static Expr scalar_subquery(Gen *gen, Query *query, const Scope *scope)
{
    Scope inner = {0};
    Text sql = {0};
    Text from = {0};
    gen_relation_simple(gen, query, &inner, &from);
    const ScopeColumn *column = scope_pick(gen, &inner, TYPE_ANY, COLUMN_EQUAL);
    Expr result = {.type = TYPE_BIGINT, .mode = COLUMN_EXACT};
    if (column == NULL || rng_chance(&gen->rng, 40)) {
        text_addf(&sql, "(SELECT count(*) FROM %s", from.data);
    } else {
        text_addf(&sql, "(SELECT %s(%s) FROM %s", rng_chance(&gen->rng, 50) ? "min" : "max",
                  column->ref, from.data);
        result.type = column->type;
        result.mode = type_is_ambiguous(column->type) ? COLUMN_EQUAL : COLUMN_EXACT;
    }
    if (rng_chance(&gen->rng, 60)) {
        text_add(&sql, " WHERE ");
        gen_join_condition(gen, scope, &inner, false, &sql);
    }
    text_add_char(&sql, ')');
    text_free(&from);
    result.sql = text_take(&sql);
    return result;
}

static Expr pick_item(Gen *gen, const Scope *scope, ColumnMode worst)
{
    const ScopeColumn *column = scope_pick(gen, scope, TYPE_ANY, worst);
    if (column != NULL && (column->mode == COLUMN_NEAR || rng_chance(&gen->rng, 45))) {
        return (Expr){.sql = test_copy(column->ref),
                      .type = column->type,
                      .mode = column->mode,
                      .kind = column->kind};
    }
    return gen_any(gen, scope, COLUMN_EQUAL, 2);
}

static void add_where(Gen *gen, Query *query, const Scope *scope, Text *sql)
{
    const char *separator = " WHERE ";
    const size_t count = rng_chance(&gen->rng, 60) ? 0 : rng_between(&gen->rng, 1, 2);
    for (size_t i = 0; i < count; i++) {
        text_add(sql, separator);
        if (rng_chance(&gen->rng, 15)) {
            gen_subquery_condition(gen, query, scope, sql);
        } else {
            char *condition = gen_condition(gen, scope, 2);
            text_add(sql, condition);
            test_free(condition);
        }
        separator = " AND ";
    }
}

static void gen_select(Gen *gen, Query *query, int depth, bool is_distinct)
{
    Scope scope = {0};
    Text from = {0};
    Text items = {0};
    gen_source(gen, query, &scope, &from, depth);
    const size_t item_count = rng_between(&gen->rng, 1, is_distinct ? 3 : 6);
    for (size_t i = 0; i < item_count; i++) {
        Expr item = rng_chance(&gen->rng, 4)
                        ? scalar_subquery(gen, query, &scope)
                        : pick_item(gen, &scope, is_distinct ? COLUMN_EQUAL : COLUMN_NEAR);
        if (is_distinct && type_is_ambiguous(item.type)) {
            item.mode = COLUMN_EQUAL;
        }
        add_item(query, &items, item);
    }
    add_where(gen, query, &scope, &from);
    query->sql =
        text_format("SELECT %s%s FROM %s", is_distinct ? "DISTINCT " : "", items.data, from.data);
    text_free(&from);
    text_free(&items);
}

static TypeId sum_type(TypeId type)
{
    switch (type) {
    case TYPE_DEC4: return TYPE_SUM_DEC4;
    case TYPE_DEC9: return TYPE_SUM_DEC9;
    case TYPE_DEC18: return TYPE_SUM_DEC18;
    case TYPE_DEC30: return TYPE_SUM_DEC30;
    case TYPE_FLOAT:
    case TYPE_DOUBLE: return TYPE_DOUBLE;
    default: return TYPE_HUGEINT;
    }
}

/* sum or avg of a number; a double only if its sum may be compared (see FloatKind). */
static bool make_sum(Gen *gen, const Scope *scope, const char *distinct, Expr *result)
{
    const ScopeColumn *column = NULL;
    for (int attempt = 0; attempt < 10; attempt++) {
        column = scope_pick(gen, scope, TYPE_ANY, COLUMN_NEAR);
        if (column != NULL && (type_is_integer(column->type) || type_is_decimal(column->type) ||
                               (type_is_float(column->type) && column->kind != FLOAT_ANY))) {
            break;
        }
        column = NULL;
    }
    if (column == NULL) {
        return false;
    }
    const bool is_avg = rng_chance(&gen->rng, 40);
    const bool is_double = type_is_float(column->type);
    *result = (Expr){.type = is_avg ? TYPE_DOUBLE : sum_type(column->type),
                     .mode = is_avg || is_double ? COLUMN_EQUAL : COLUMN_EXACT,
                     .kind = is_double ? column->kind : FLOAT_ANY};
    if (column->mode == COLUMN_NEAR || (is_double && column->kind == FLOAT_ROUGH)) {
        result->mode = COLUMN_NEAR;
    } else if (is_avg) {
        result->kind = FLOAT_ANY;
    }
    if (!is_double && !is_avg && type_is_integer(column->type) && rng_chance(&gen->rng, 30)) {
        Expr argument = gen_expr(gen, scope, TYPE_BIGINT, COLUMN_EXACT, 2);
        result->sql = text_format("sum(%s%s)", distinct, argument.sql);
        test_free(argument.sql);
    } else {
        result->sql = text_format("%s(%s%s)", is_avg ? "avg" : "sum", distinct, column->ref);
    }
    return true;
}

static Expr make_extreme(Gen *gen, const Scope *scope)
{
    Expr argument = pick_item(gen, scope, COLUMN_NEAR);
    Expr result = argument;
    if (result.mode != COLUMN_NEAR && type_is_ambiguous(result.type)) {
        result.mode = COLUMN_EQUAL;
    }
    result.sql = text_format("%s(%s)", rng_chance(&gen->rng, 50) ? "min" : "max", argument.sql);
    test_free(argument.sql);
    return result;
}

/* The aggregates that come with level 2. */
static Expr make_rare(Gen *gen, const Scope *scope)
{
    static const struct {
        const char *name;
        TypeId argument;
        TypeId result;
    } rare[] = {
        {"bool_and", TYPE_BOOLEAN, TYPE_BOOLEAN}, {"bool_or", TYPE_BOOLEAN, TYPE_BOOLEAN},
        {"count_if", TYPE_BOOLEAN, TYPE_HUGEINT}, {"bit_and", TYPE_INTEGER, TYPE_INTEGER},
        {"bit_or", TYPE_BIGINT, TYPE_BIGINT},     {"bit_xor", TYPE_SMALLINT, TYPE_SMALLINT},
        {"avg", TYPE_TIMESTAMP, TYPE_TIMESTAMP},  {"sum", TYPE_BOOLEAN, TYPE_HUGEINT},
    };
    const size_t index = rng_below(&gen->rng, sizeof rare / sizeof rare[0]);
    Expr argument = gen_expr(gen, scope, rare[index].argument, COLUMN_EXACT, 1);
    Expr result = {.sql = text_format("%s(%s)", rare[index].name, argument.sql),
                   .type = rare[index].result};
    test_free(argument.sql);
    return result;
}

static Expr make_count(Gen *gen, const Scope *scope, const char *distinct)
{
    Expr result = {.type = TYPE_BIGINT, .mode = COLUMN_EXACT};
    if (distinct[0] == '\0' && rng_chance(&gen->rng, 50)) {
        result.sql = test_copy("count(*)");
    } else {
        Expr argument = pick_item(gen, scope, COLUMN_EQUAL);
        result.sql = text_format("count(%s%s)", distinct, argument.sql);
        test_free(argument.sql);
    }
    return result;
}

static Expr make_aggregate(Gen *gen, const Scope *scope)
{
    Expr result = {0};
    const char *distinct = rng_chance(&gen->rng, 20) ? "DISTINCT " : "";
    const size_t choice = rng_below(&gen->rng, 100);
    if (gen->options.level >= 2 && choice < 10) {
        result = make_rare(gen, scope);
    } else if (choice < 35) {
        result = make_count(gen, scope, distinct);
    } else if (choice < 70) {
        if (!make_sum(gen, scope, distinct, &result)) {
            result = make_count(gen, scope, distinct);
        }
    } else {
        result = make_extreme(gen, scope);
    }
    if (rng_chance(&gen->rng, 25)) {
        char *condition = gen_condition(gen, scope, 1);
        char *filtered = text_format("%s FILTER (WHERE %s)", result.sql, condition);
        test_free(condition);
        test_free(result.sql);
        result.sql = filtered;
    }
    return result;
}

static void add_having(Gen *gen, const Scope *scope, Text *sql)
{
    const ScopeColumn *column = scope_pick(gen, scope, TYPE_ANY, COLUMN_EQUAL);
    switch (rng_below(&gen->rng, 4)) {
    case 0: text_add(sql, " HAVING count(*) > 1"); break;
    case 1: text_addf(sql, " HAVING count(%s) < 3", column == NULL ? "*" : column->ref); break;
    case 2:
        text_addf(sql, " HAVING max(%s) IS NOT NULL", column == NULL ? "1" : column->ref);
        break;
    default:
        text_addf(sql, " HAVING count(DISTINCT %s) >= 2 OR count(*) = 1",
                  column == NULL ? "1" : column->ref);
        break;
    }
}

/* Adds the format with the keys in place of %s. */
static void add_keys(Text *sql, const char *format, const char *keys)
{
    const char *place = strstr(format, "%s");
    if (place == NULL) {
        text_add(sql, format);
    } else {
        text_add_len(sql, format, (size_t)(place - format));
        text_add(sql, keys);
        text_add(sql, place + 2);
    }
}

static void gen_group(Gen *gen, Query *query, int depth)
{
    Scope scope = {0};
    Text from = {0};
    Text items = {0};
    Text keys = {0};
    gen_source(gen, query, &scope, &from, depth);
    const bool is_all = rng_chance(&gen->rng, 20);
    const size_t key_count = rng_chance(&gen->rng, 20) ? 0 : rng_between(&gen->rng, 1, 3);
    for (size_t i = 0; i < key_count; i++) {
        Expr key = pick_item(gen, &scope, COLUMN_EQUAL);
        if (type_is_ambiguous(key.type)) {
            key.mode = COLUMN_EQUAL;
        }
        text_add(&keys, i > 0 ? ", " : "");
        const bool is_hidden = !is_all && rng_chance(&gen->rng, 8);
        if (!is_hidden && rng_chance(&gen->rng, 30)) {
            text_addf(&keys, "%zu", query->column_count + 1);
        } else {
            text_add(&keys, key.sql);
        }
        if (is_hidden) {
            test_free(key.sql);
        } else {
            add_item(query, &items, key);
        }
    }
    const size_t aggregate_count = rng_between(&gen->rng, 1, 4);
    for (size_t i = 0; i < aggregate_count; i++) {
        add_item(query, &items, make_aggregate(gen, &scope));
    }
    add_where(gen, query, &scope, &from);
    Text sql = {0};
    text_addf(&sql, "SELECT %s FROM %s", items.data, from.data);
    if (key_count > 0) {
        const char *format = is_all ? " GROUP BY ALL" : " GROUP BY %s";
        if (!is_all && rng_chance(&gen->rng, 10)) {
            format = rng_chance(&gen->rng, 50) ? " GROUP BY ROLLUP (%s)" : " GROUP BY CUBE (%s)";
        }
        add_keys(&sql, format, text_get(&keys));
    }
    if (rng_chance(&gen->rng, 20)) {
        add_having(gen, &scope, &sql);
    }
    query->sql = text_take(&sql);
    query->weight = 1;
    text_free(&from);
    text_free(&items);
    text_free(&keys);
}

/* One arm of a set operation: a value of each type, its mode and kind joined to those of the others. */
static void add_arm(Gen *gen, Query *query, const TypeId *types, size_t type_count,
                    const char *operator, Text * sql)
{
    Scope scope = {0};
    Text from = {0};
    Text items = {0};
    const bool is_first = operator== NULL;
    gen_source(gen, query, &scope, &from, 0);
    for (size_t i = 0; i < type_count; i++) {
        Expr expr = gen_expr(gen, &scope, types[i], COLUMN_EQUAL, 1);
        text_addf(&items, "%sCAST(%s AS %s) AS x%zu", i > 0 ? ", " : "", expr.sql,
                  type_info(types[i])->sql, i);
        if (is_first) {
            query_add_column(query, types[i], expr.mode, expr.kind);
        } else {
            ViewColumn *column = &query->columns[i];
            column->mode = expr.mode > column->mode ? expr.mode : column->mode;
            column->kind = expr.kind == column->kind ? column->kind : FLOAT_ANY;
        }
        test_free(expr.sql);
    }
    add_where(gen, query, &scope, &from);
    text_addf(sql, "%sSELECT %s FROM %s", is_first ? "" : operator, items.data, from.data);
    text_free(&from);
    text_free(&items);
}

static void gen_set_operation(Gen *gen, Query *query)
{
    TypeId types[4];
    const size_t type_count = rng_between(&gen->rng, 1, 4);
    for (size_t i = 0; i < type_count; i++) {
        const Table *table = &gen->test->tables[rng_below(&gen->rng, gen->test->table_count)];
        types[i] = table->columns[rng_below(&gen->rng, table->column_count)].type;
    }
    /* Between more than two arms only UNION ALL: the others bind differently. */
    static const char *const operators[] = {" UNION ALL ", " UNION ALL ", " UNION ALL ",
                                            " UNION ",     " EXCEPT ",    " INTERSECT "};
    const char *operator= operators[rng_below(&gen->rng, sizeof operators / sizeof operators[0])];
    const bool is_bag = strcmp(operator, " UNION ALL ") == 0;
    Text sql = {0};
    unsigned weight = 0;
    const size_t arm_count = is_bag ? rng_between(&gen->rng, 2, 3) : 2;
    for (size_t i = 0; i < arm_count; i++) {
        query->weight = 0;
        add_arm(gen, query, types, type_count, i == 0 ? NULL : operator, & sql);
        weight = query->weight > weight ? query->weight : weight;
    }
    for (size_t i = 0; i < type_count && !is_bag; i++) {
        ViewColumn *column = &query->columns[i];
        column->mode = type_is_ambiguous(column->type) ? COLUMN_EQUAL : column->mode;
    }
    query->weight = weight;
    query->sql = text_take(&sql);
}

/* WITH c AS (...) used once, joined with itself, or added to itself. */
static void gen_cte(Gen *gen, Query *query, int depth)
{
    Query inner = {0};
    gen_query(gen, &inner, depth - 1);
    query->views = inner.views;
    query->weight = inner.weight;
    char name[24];
    char left[24];
    char right[24];
    (void)snprintf(name, sizeof name, "c%zu", gen_alias(gen));
    (void)snprintf(left, sizeof left, "r%zu", gen_alias(gen));
    (void)snprintf(right, sizeof right, "r%zu", gen_alias(gen));
    Scope scope = {0};
    Scope other = {0};
    Text from = {0};
    Text items = {0};
    scope_add_query(&scope, left, inner.columns, inner.column_count);
    scope_add_query(&other, right, inner.columns, inner.column_count);
    const size_t choice = rng_below(&gen->rng, 3);
    if (choice == 0) {
        text_addf(&from, "(SELECT * FROM %s UNION ALL SELECT * FROM %s) AS %s", name, name, left);
    } else if (choice == 1 && inner.weight * 2 <= gen_weight_max(gen)) {
        text_addf(&from, "%s AS %s %s %s AS %s ON ", name, left,
                  rng_chance(&gen->rng, 50) ? "JOIN" : "FULL JOIN", name, right);
        gen_join_condition(gen, &scope, &other, false, &from);
        query->weight = inner.weight * 2;
        memcpy(&scope.items[scope.count], other.items, other.count * sizeof other.items[0]);
        scope.count += other.count;
    } else {
        text_addf(&from, "%s AS %s", name, left);
    }
    const size_t item_count = rng_between(&gen->rng, 1, 5);
    for (size_t i = 0; i < item_count; i++) {
        add_item(query, &items, pick_item(gen, &scope, COLUMN_NEAR));
    }
    add_where(gen, query, &scope, &from);
    query->sql =
        text_format("WITH %s AS (%s) SELECT %s FROM %s", name, inner.sql, items.data, from.data);
    text_free(&from);
    text_free(&items);
    test_free(inner.sql);
}

void gen_query(Gen *gen, Query *query, int depth)
{
    const size_t choice = rng_below(&gen->rng, 100);
    if (choice < 35) {
        gen_group(gen, query, depth);
    } else if (choice < 45) {
        gen_select(gen, query, depth, true);
    } else if (choice < 55) {
        gen_set_operation(gen, query);
    } else if (choice < 65 && depth > 0) {
        gen_cte(gen, query, depth);
    } else {
        gen_select(gen, query, depth, false);
    }
}
