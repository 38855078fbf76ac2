/* gen_case.c: the tables and views of a round, and the round itself. */
#include "gen.h"

#include <stdio.h>
#include <string.h>

static TypeId pick_type(Gen *gen)
{
    /* The usual types twice as often: views meet in them. */
    static const TypeId usual[] = {TYPE_INTEGER, TYPE_VARCHAR, TYPE_BIGINT,  TYPE_DOUBLE,
                                   TYPE_DATE,    TYPE_DEC9,    TYPE_INTEGER, TYPE_DOUBLE};
    if (rng_chance(&gen->rng, 50)) {
        return usual[rng_below(&gen->rng, sizeof usual / sizeof usual[0])];
    }
    TypeId type = TYPE_INTEGER;
    do {
        type = (TypeId)rng_below(&gen->rng, TYPE_COUNT);
    } while (type_info(type)->level > gen->options.level);
    return type;
}

static void gen_column(Gen *gen, Column *column, size_t index)
{
    *column = (Column){.type = pick_type(gen)};
    (void)snprintf(column->name, sizeof column->name, "c%u", (unsigned)index % COLUMNS_MAX);
    const TypeInfo *info = type_info(column->type);
    column->null_percent = (unsigned)rng_below(&gen->rng, 4) * 15;
    column->is_tame = type_is_small(column->type) && rng_chance(&gen->rng, 50);
    column->count = rng_between(&gen->rng, 2, info->literal_count > 5 ? 5 : info->literal_count);
    column->first = rng_chance(&gen->rng, 50) ? 0 : rng_below(&gen->rng, info->literal_count);
    if (type_is_float(column->type)) {
        const size_t choice = rng_below(&gen->rng, 3);
        column->kind = choice == 0 ? FLOAT_ROUGH : FLOAT_DYADIC;
        if (choice == 2) {
            column->kind = FLOAT_ANY;
        }
    }
}

static void gen_key(Gen *gen, Column *column)
{
    static const TypeId types[] = {TYPE_INTEGER, TYPE_BIGINT, TYPE_VARCHAR, TYPE_USMALLINT};
    *column = (Column){.type = types[rng_below(&gen->rng, sizeof types / sizeof types[0])],
                       .is_key = true,
                       .name = "c0"};
}

void gen_tables(Gen *gen)
{
    Case *test = gen->test;
    test->table_count = rng_between(&gen->rng, 2, TABLES_MAX);
    for (size_t i = 0; i < test->table_count; i++) {
        Table *table = &test->tables[i];
        (void)snprintf(table->name, sizeof table->name, "t%u", (unsigned)i % TABLES_MAX);
        table->column_count = rng_between(&gen->rng, 2, 7);
        for (size_t j = 0; j < table->column_count; j++) {
            gen_column(gen, &table->columns[j], j);
        }
        if (rng_chance(&gen->rng, 25)) {
            gen_key(gen, &table->columns[0]);
        }
        const TypeId type = table->columns[0].type;
        table->has_index = !table->columns[0].is_key &&
                           (type_is_integer(type) || type == TYPE_VARCHAR || type == TYPE_DATE) &&
                           rng_chance(&gen->rng, 25);
        if (gen->options.has_errors) {
            Column *poison = &table->columns[table->column_count];
            *poison =
                (Column){.name = "e", .type = TYPE_VARCHAR, .is_poison = true, .null_percent = 10};
            table->column_count++;
        }
    }
}

/* Column names that only a last view can have: taken twice, quoted, expressions without a name. */
static void make_leaf(Gen *gen, View *view, Query *query)
{
    Text sql = {0};
    text_add(&sql, "SELECT ");
    for (size_t i = 0; i < query->column_count; i++) {
        text_addf(&sql, "%sx%zu", i > 0 ? ", " : "", i);
        switch (rng_below(&gen->rng, 6)) {
        case 0: text_add(&sql, " AS \"two words\""); break;
        case 1: text_add(&sql, " AS \"select\""); break;
        case 2: text_add(&sql, " AS x0"); break;
        case 3: text_add(&sql, " AS \"X'\xc3\x84\""); break;
        default: break;
        }
    }
    if (query->column_count < COLUMNS_MAX && query->columns[0].mode != COLUMN_NEAR) {
        text_add(&sql, ", x0 IS NULL");
        query->columns[query->column_count] = (ViewColumn){.type = TYPE_BOOLEAN};
        query->column_count++;
    }
    text_addf(&sql, " FROM (%s)", query->sql);
    test_free(query->sql);
    query->sql = text_take(&sql);
    view->is_leaf = true;
}

/* A view that fails exactly while a poisoned row is there. */
static void make_failing(Gen *gen, View *view)
{
    const Table *table = &gen->test->tables[rng_below(&gen->rng, gen->test->table_count)];
    switch (rng_below(&gen->rng, 4)) {
    case 0: view->sql = text_format("SELECT CAST(e AS UTINYINT) AS x0 FROM %s", table->name); break;
    case 1:
        view->sql = text_format("SELECT sum(CAST(e AS UTINYINT)) AS x0 FROM %s", table->name);
        break;
    case 2:
        view->sql = text_format("SELECT e AS x0, count(*) AS x1, max(CAST(e AS UTINYINT)) AS x2 "
                                "FROM %s GROUP BY e",
                                table->name);
        break;
    default:
        view->sql = text_format("SELECT CAST(e AS UTINYINT) + 1::UTINYINT AS x0, e AS x1 FROM %s "
                                "UNION ALL SELECT 1, e FROM %s",
                                table->name, table->name);
        break;
    }
    view->can_fail = true;
    view->is_leaf = true;
}

static void gen_view(Gen *gen, size_t index)
{
    View view = {0};
    (void)snprintf(view.name, sizeof view.name, "v%u", (unsigned)index % VIEWS_MAX);
    if (gen->options.has_errors && rng_chance(&gen->rng, 50)) {
        make_failing(gen, &view);
    } else {
        Query query = {0};
        gen_query(gen, &query, 2);
        if (rng_chance(&gen->rng, 25)) {
            make_leaf(gen, &view, &query);
        }
        view.sql = query.sql;
        view.views = query.views;
        view.weight = query.weight;
        view.column_count = query.column_count;
        memcpy(view.columns, query.columns, sizeof view.columns);
    }
    gen->test->views[gen->test->view_count] = view;
    gen->test->view_count++;
}

/* Most views are made before the rows, some after them, some in between; never before those that
 * they name. */
static void place_views(Gen *gen)
{
    Case *test = gen->test;
    for (size_t i = 0; i < test->view_count; i++) {
        View *view = &test->views[i];
        const size_t choice = rng_below(&gen->rng, 4);
        view->create_at = choice == 0 ? 0 : 1;
        if (choice == 3) {
            view->create_at = rng_below(&gen->rng, test->group_count);
        }
        for (size_t j = 0; j < i; j++) {
            if ((view->views & (1U << j)) != 0 && test->views[j].create_at > view->create_at) {
                view->create_at = test->views[j].create_at;
            }
        }
    }
}

Case *gen_case(uint64_t seed, uint64_t round, const GenOptions *options)
{
    Case *test = test_alloc(sizeof *test);
    Gen gen = {.rng = rng_derive(seed, round), .options = *options, .test = test};
    test->seed = seed;
    test->round = round;
    test->is_file = options->has_files && rng_chance(&gen.rng, 40);
    gen.is_bulk = rng_chance(&gen.rng, 8);
    gen_tables(&gen);
    const size_t view_count = rng_between(&gen.rng, 3, VIEWS_MAX - 2);
    for (size_t i = 0; i < view_count; i++) {
        gen_view(&gen, i);
    }
    gen_groups(&gen);
    place_views(&gen);
    return test;
}
