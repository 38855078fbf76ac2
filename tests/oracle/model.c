/* model.c: see model.h. */
#include "model.h"

#include <inttypes.h>
#include <string.h>

#define LITERALS(...)     \
    {                     \
        __VA_ARGS__, NULL \
    }
#define AMBIGUOUS TYPE_FLAG_AMBIGUOUS
#define NUMBER TYPE_FLAG_NUMBER
#define NESTED TYPE_FLAG_NESTED
#define X(id, text, from, bits, tame_count, list) \
    [TYPE_##id] = {                               \
        .sql = (text), .level = (from), .flags = (bits), .tame = (tame_count), .literals = list},
static TypeInfo type_infos[TYPE_COUNT] = {
#include "types.def"
};
#undef X
#undef NESTED
#undef NUMBER
#undef AMBIGUOUS
#undef LITERALS

const TypeInfo *type_info(TypeId type)
{
    TypeInfo *info = &type_infos[type];
    while (info->literals[info->literal_count] != NULL) {
        info->literal_count++;
    }
    return info;
}

bool type_is_ambiguous(TypeId type)
{
    return (type_info(type)->flags & TYPE_FLAG_AMBIGUOUS) != 0;
}

bool type_is_small(TypeId type)
{
    return type == TYPE_TINYINT || type == TYPE_SMALLINT || type == TYPE_INTEGER ||
           type == TYPE_UTINYINT || type == TYPE_USMALLINT || type == TYPE_UINTEGER;
}

bool type_is_integer(TypeId type)
{
    return type_is_small(type) || type == TYPE_BIGINT || type == TYPE_UBIGINT ||
           type == TYPE_HUGEINT;
}

bool type_is_float(TypeId type)
{
    return type == TYPE_FLOAT || type == TYPE_DOUBLE;
}

bool type_is_decimal(TypeId type)
{
    return type == TYPE_DEC4 || type == TYPE_DEC9 || type == TYPE_DEC18 || type == TYPE_DEC30;
}

static void statement_free(Statement *statement)
{
    for (size_t i = 0; i < statement->row_count * statement->column_count; i++) {
        test_free(statement->cells[i]);
    }
    test_free(statement->cells);
    test_free(statement->sql);
    test_free(statement->suffix);
}

static Statement statement_clone(const Statement *source)
{
    Statement copy = *source;
    copy.sql = test_copy(source->sql);
    copy.suffix = source->suffix == NULL ? NULL : test_copy(source->suffix);
    const size_t cell_count = source->row_count * source->column_count;
    copy.cells = source->cells == NULL ? NULL : test_alloc((cell_count + 1) * sizeof *copy.cells);
    for (size_t i = 0; copy.cells != NULL && i < cell_count; i++) {
        copy.cells[i] = test_copy(source->cells[i]);
    }
    return copy;
}

static void group_free(Group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        statement_free(&group->items[i]);
    }
    test_free(group->items);
}

Case *case_clone(const Case *source)
{
    Case *copy = test_alloc(sizeof *copy);
    *copy = *source;
    for (size_t i = 0; i < copy->view_count; i++) {
        copy->views[i].sql = test_copy(source->views[i].sql);
    }
    copy->group_capacity = source->group_count;
    copy->groups = test_alloc((source->group_count + 1) * sizeof *copy->groups);
    for (size_t i = 0; i < source->group_count; i++) {
        const Group *from = &source->groups[i];
        Group *to = &copy->groups[i];
        *to = *from;
        to->capacity = from->count;
        to->items = test_alloc((from->count + 1) * sizeof *to->items);
        for (size_t j = 0; j < from->count; j++) {
            to->items[j] = statement_clone(&from->items[j]);
        }
    }
    return copy;
}

void case_free(Case *test)
{
    if (test == NULL) {
        return;
    }
    for (size_t i = 0; i < test->view_count; i++) {
        test_free(test->views[i].sql);
    }
    for (size_t i = 0; i < test->group_count; i++) {
        group_free(&test->groups[i]);
    }
    test_free(test->groups);
    test_free(test);
}

Group *case_add_group(Case *test)
{
    test->groups =
        test_grow(test->groups, test->group_count, &test->group_capacity, sizeof *test->groups);
    Group *group = &test->groups[test->group_count];
    *group = (Group){0};
    test->group_count++;
    return group;
}

Statement *group_add(Group *group, size_t connection)
{
    group->items = test_grow(group->items, group->count, &group->capacity, sizeof *group->items);
    Statement *statement = &group->items[group->count];
    *statement = (Statement){.connection = connection};
    group->count++;
    return statement;
}

Statement *group_add_sql(Group *group, size_t connection, const char *sql)
{
    Statement *statement = group_add(group, connection);
    statement->sql = test_copy(sql);
    return statement;
}

void group_remove(Group *group, size_t index)
{
    statement_free(&group->items[index]);
    group->count--;
    memmove(&group->items[index], &group->items[index + 1],
            (group->count - index) * sizeof *group->items);
}

void case_remove_group(Case *test, size_t index)
{
    group_free(&test->groups[index]);
    test->group_count--;
    memmove(&test->groups[index], &test->groups[index + 1],
            (test->group_count - index) * sizeof *test->groups);
    for (size_t i = 0; i < test->view_count; i++) {
        if (test->views[i].create_at > index) {
            test->views[i].create_at--;
        }
    }
}

void case_remove_view(Case *test, size_t index)
{
    const unsigned low = (1U << index) - 1U;
    test_free(test->views[index].sql);
    test->view_count--;
    memmove(&test->views[index], &test->views[index + 1],
            (test->view_count - index) * sizeof *test->views);
    unsigned orphans = 0;
    for (size_t i = index; i < test->view_count; i++) {
        const unsigned old = test->views[i].views;
        orphans |= (old & (1U << index)) != 0 ? 1U << i : 0U;
        test->views[i].views = (old & low) | ((old >> 1) & ~low);
    }
    for (size_t i = test->view_count; i > index; i--) {
        if ((orphans & (1U << (i - 1))) != 0 && i - 1 < test->view_count) {
            case_remove_view(test, i - 1);
        }
    }
}

static void add_table(const Table *table, Text *sql)
{
    text_addf(sql, "CREATE TABLE %s(", table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        const Column *column = &table->columns[i];
        text_addf(sql, "%s%s %s%s", i > 0 ? ", " : "", column->name, type_info(column->type)->sql,
                  column->is_key ? " PRIMARY KEY" : "");
    }
    text_add(sql, ")");
}

void case_schema(const Case *test, TextList *statements)
{
    text_list_add(statements,
                  "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'a rather long feeling')");
    for (size_t i = 0; i < test->table_count; i++) {
        const Table *table = &test->tables[i];
        Text sql = {0};
        add_table(table, &sql);
        text_list_add(statements, sql.data);
        if (table->has_index) {
            text_clear(&sql);
            text_addf(&sql, "CREATE INDEX i_%s ON %s(%s)", table->name, table->name,
                      table->columns[0].name);
            text_list_add(statements, sql.data);
        }
        text_free(&sql);
    }
}

char *statement_sql(const Case *test, const Statement *statement)
{
    if (statement->cells == NULL) {
        return test_copy(statement->sql);
    }
    Text sql = {0};
    text_addf(&sql, "%s %s VALUES ", statement->sql, test->tables[statement->table].name);
    for (size_t row = 0; row < statement->row_count; row++) {
        text_add(&sql, row > 0 ? ", (" : "(");
        for (size_t column = 0; column < statement->column_count; column++) {
            text_add(&sql, column > 0 ? ", " : "");
            text_add(&sql, statement->cells[row * statement->column_count + column]);
        }
        text_add_char(&sql, ')');
    }
    text_add(&sql, statement->suffix);
    return text_take(&sql);
}

/* The views that view `index` stands on, directly or not. */
static unsigned view_closure(const Case *test, size_t index)
{
    unsigned all = test->views[index].views;
    for (size_t i = index; i > 0; i--) {
        if ((all & (1U << (i - 1))) != 0) {
            all |= test->views[i - 1].views;
        }
    }
    return all;
}

char *view_expand(const Case *test, size_t index)
{
    const unsigned below = view_closure(test, index);
    if (below == 0) {
        return test_copy(test->views[index].sql);
    }
    Text sql = {0};
    for (size_t i = 0; i < index; i++) {
        if ((below & (1U << i)) != 0) {
            text_addf(&sql, "%s%s AS (%s)", sql.len == 0 ? "WITH " : ", ", test->views[i].name,
                      test->views[i].sql);
        }
    }
    text_addf(&sql, " SELECT * FROM (%s)", test->views[index].sql);
    return text_take(&sql);
}

/* A statement of a transaction may fail by right (a key twice, two writers of one row). */
static void print_statement(Text *out, size_t connection, const char *sql)
{
    if (connection == 0) {
        text_addf(out, "statement maybe\n%s\n\n", sql);
    } else {
        text_addf(out, "statement maybe con%zu\n%s\n\n", connection, sql);
    }
}

static void print_views(const Case *test, size_t group, Text *out)
{
    for (size_t i = 0; i < test->view_count; i++) {
        const View *view = &test->views[i];
        if (view->create_at != group) {
            continue;
        }
        for (size_t j = 0; j < view->column_count; j++) {
            if (view->columns[j].mode == COLUMN_NEAR) {
                text_addf(out, "verify near %s %zu\n\n", view->name, j);
            }
        }
        text_addf(out, "statement ok\nCALL dbsp_create_view('%s', ", view->name);
        text_add_literal(out, view->sql);
        text_add(out, ")\n\n");
    }
}

void case_print(const Case *test, const char *comment, Text *out)
{
    text_addf(out, "# seed %" PRIu64 ", round %" PRIu64 "\n", test->seed, test->round);
    text_addf(out, "# %s\n\nrequire dbsp\n\nverify on\n\n", comment);
    if (test->is_file) {
        text_add(out, "load oracle.duckdb\n\n");
    }
    TextList schema = {0};
    case_schema(test, &schema);
    for (size_t i = 0; i < schema.count; i++) {
        text_addf(out, "statement ok\n%s\n\n", schema.items[i]);
    }
    text_list_free(&schema);
    for (size_t i = 0; i < test->group_count; i++) {
        const Group *group = &test->groups[i];
        print_views(test, i, out);
        text_add(out, group->is_reopen ? "restart\n\n" : "");
        text_add(out, group->is_quiet ? "verify off\n\n" : "");
        for (size_t j = 0; j < group->count; j++) {
            char *sql = statement_sql(test, &group->items[j]);
            print_statement(out, group->items[j].connection, sql);
            test_free(sql);
        }
        text_add(out, group->is_quiet ? "verify on\n\n" : "");
    }
    print_views(test, test->group_count, out);
}
