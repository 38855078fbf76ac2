/* gen_dml.c: the transactions of a round: inserts, updates, deletes, upserts, several in one
 * transaction, rollbacks, two connections at once, checkpoints, bulk rows, closed files.
 *
 * More is deleted than a real program would: what goes away is where incremental code is wrong.
 * Values that are stored stay within what is known of their column (Column.is_tame, .kind), as
 * the expressions of the views rely on it. */
#include "gen.h"

#include <string.h>

/* Tables do not grow beyond this, so that joins stay small. */
enum { ROWS_MAX = 40, BULK_ROWS = 2100 };

static Table *pick_table(Gen *gen)
{
    return &gen->test->tables[rng_below(&gen->rng, gen->test->table_count)];
}

static size_t table_index(const Gen *gen, const Table *table)
{
    return (size_t)(table - gen->test->tables);
}

static bool table_has_key(const Table *table)
{
    return table->columns[0].is_key;
}

static void table_scope(const Table *table, const char *alias, Scope *scope)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const Column *column = &table->columns[i];
        scope_add(scope, alias, column->name, column->type, COLUMN_EXACT, column->kind,
                  column->is_tame);
    }
}

static void add_insert(Gen *gen, Group *group, size_t connection, size_t row_max)
{
    const Table *table = pick_table(gen);
    Statement *statement = group_add(group, connection);
    const char *verb = "INSERT INTO";
    const char *suffix = "";
    if (table_has_key(table)) {
        switch (rng_below(&gen->rng, 5)) {
        case 0: break;
        case 1: verb = "INSERT OR REPLACE INTO"; break;
        case 2: suffix = " ON CONFLICT DO NOTHING"; break;
        default: verb = "INSERT OR IGNORE INTO"; break;
        }
    }
    statement->sql = test_copy(verb);
    statement->suffix = test_copy(suffix);
    statement->table = table_index(gen, table);
    statement->column_count = table->column_count;
    statement->row_count = rng_between(&gen->rng, 1, row_max);
    statement->cells =
        test_alloc(statement->row_count * table->column_count * sizeof *statement->cells);
    for (size_t row = 0; row < statement->row_count; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            char **cell = &statement->cells[row * table->column_count + i];
            /* Now and then the row before again: duplicates are what bags are about. */
            if (row > 0 && !table->columns[i].is_key && rng_chance(&gen->rng, 40)) {
                *cell = test_copy(statement->cells[(row - 1) * table->column_count + i]);
            } else {
                *cell = gen_value(gen, &table->columns[i]);
            }
        }
    }
}

/* A value for a column that may be computed from the columns of `scope`. */
static char *stored_value(Gen *gen, const Column *column, const Scope *scope)
{
    const bool is_free = !column->is_key && !column->is_tame && !column->is_poison &&
                         (!type_is_float(column->type) || column->kind == FLOAT_ANY);
    if (is_free && rng_chance(&gen->rng, 60)) {
        return gen_expr(gen, scope, column->type, COLUMN_EXACT, 1).sql;
    }
    return gen_value(gen, column);
}

static void add_update(Gen *gen, Group *group, size_t connection)
{
    const Table *table = pick_table(gen);
    Scope scope = {0};
    Text sql = {0};
    table_scope(table, "", &scope);
    text_addf(&sql, "UPDATE %s SET ", table->name);
    const size_t count = rng_between(&gen->rng, 1, 2);
    const size_t start = rng_below(&gen->rng, table->column_count);
    for (size_t i = 0; i < count && i < table->column_count; i++) {
        const Column *column = &table->columns[(start + i) % table->column_count];
        char *value = NULL;
        if (column->is_key) {
            value =
                text_format(column->type == TYPE_VARCHAR ? "%s || 'z'" : "%s + 100", column->name);
        } else if (rng_chance(&gen->rng, 10)) {
            value = test_copy(column->name);
        } else {
            value = stored_value(gen, column, &scope);
        }
        text_addf(&sql, "%s%s = %s", i > 0 ? ", " : "", column->name, value);
        test_free(value);
    }
    if (rng_chance(&gen->rng, 90)) {
        char *condition = gen_condition(gen, &scope, 1);
        text_addf(&sql, " WHERE %s", condition);
        test_free(condition);
    }
    group_add_sql(group, connection, sql.data);
    text_free(&sql);
}

static void add_delete(Gen *gen, Group *group, size_t connection)
{
    const Table *table = pick_table(gen);
    Text sql = {0};
    const size_t choice = rng_below(&gen->rng, 100);
    if (choice < 55) {
        Scope scope = {0};
        table_scope(table, "", &scope);
        char *condition = gen_condition(gen, &scope, 1);
        text_addf(&sql, "DELETE FROM %s WHERE %s", table->name, condition);
        test_free(condition);
    } else if (choice < 75) {
        text_addf(&sql,
                  "DELETE FROM %s WHERE rowid IN (SELECT rowid FROM %s ORDER BY rowid LIMIT %zu "
                  "OFFSET %zu)",
                  table->name, table->name, rng_between(&gen->rng, 1, 4), rng_below(&gen->rng, 9));
    } else if (choice < 82) {
        const Table *other = pick_table(gen);
        text_addf(&sql, "DELETE FROM %s WHERE (SELECT count(*) FROM %s) > %zu", table->name,
                  other->name, rng_below(&gen->rng, 12));
    } else if (choice < 88) {
        text_addf(&sql, "DELETE FROM %s", table->name);
    } else if (choice < 92) {
        text_addf(&sql, "TRUNCATE %s", table->name);
    } else {
        const Column *column = &table->columns[rng_below(&gen->rng, table->column_count)];
        text_addf(&sql, "DELETE FROM %s WHERE %s = (SELECT min(%s) FROM %s)", table->name,
                  column->name, column->name, table->name);
    }
    group_add_sql(group, connection, sql.data);
    text_free(&sql);
}

/* Columns of `source` where they may be stored, values elsewhere. */
static void add_insert_select(Gen *gen, Group *group, size_t connection)
{
    const Table *table = pick_table(gen);
    const Table *source = pick_table(gen);
    Text sql = {0};
    text_addf(&sql, "INSERT %sINTO %s SELECT ", table_has_key(table) ? "OR IGNORE " : "",
              table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        const Column *column = &table->columns[i];
        const Column *found = NULL;
        for (size_t j = 0; j < source->column_count && found == NULL; j++) {
            const Column *other = &source->columns[j];
            const bool fits = other->type == column->type && other->kind == column->kind &&
                              (other->is_tame || !column->is_tame) && !column->is_poison;
            if (fits && rng_chance(&gen->rng, 70)) {
                found = other;
            }
        }
        char *value = found == NULL ? gen_value(gen, column) : test_copy(found->name);
        text_addf(&sql, "%s%s", i > 0 ? ", " : "", value);
        test_free(value);
    }
    text_addf(&sql, " FROM %s WHERE (SELECT count(*) FROM %s) < %d ORDER BY rowid LIMIT 9",
              source->name, table->name, ROWS_MAX - 9);
    group_add_sql(group, connection, sql.data);
    text_free(&sql);
}

static void add_upsert(Gen *gen, Group *group, size_t connection)
{
    const Table *table = pick_table(gen);
    if (!table_has_key(table) || table->column_count < 2) {
        add_delete(gen, group, connection);
        return;
    }
    Text sql = {0};
    const char *key = table->columns[0].name;
    const char *other = table->columns[rng_between(&gen->rng, 1, table->column_count - 1)].name;
    const bool is_merge = rng_chance(&gen->rng, 30);
    text_add(&sql, is_merge ? "MERGE INTO " : "INSERT INTO ");
    text_addf(&sql, "%s %s(VALUES (", table->name, is_merge ? "USING " : "SELECT * FROM ");
    for (size_t i = 0; i < table->column_count; i++) {
        char *value = gen_value(gen, &table->columns[i]);
        text_addf(&sql, "%sCAST(%s AS %s)", i > 0 ? ", " : "", value,
                  type_info(table->columns[i].type)->sql);
        test_free(value);
    }
    text_add(&sql, ")) AS s(");
    for (size_t i = 0; i < table->column_count; i++) {
        text_addf(&sql, "%s%s", i > 0 ? ", " : "", table->columns[i].name);
    }
    if (is_merge) {
        text_addf(&sql, ") ON %s.%s = s.%s WHEN MATCHED THEN %s WHEN NOT MATCHED THEN INSERT",
                  table->name, key, key, rng_chance(&gen->rng, 50) ? "DELETE" : "UPDATE");
    } else {
        text_addf(&sql, ") ON CONFLICT (%s) DO UPDATE SET %s = excluded.%s", key, other, other);
    }
    group_add_sql(group, connection, sql.data);
    text_free(&sql);
}

static void add_statement(Gen *gen, Group *group, size_t connection)
{
    const size_t choice = rng_below(&gen->rng, 100);
    if (choice < 32) {
        add_insert(gen, group, connection, 9);
    } else if (choice < 44) {
        add_insert_select(gen, group, connection);
    } else if (choice < 62) {
        add_update(gen, group, connection);
    } else if (choice < 92) {
        add_delete(gen, group, connection);
    } else {
        add_upsert(gen, group, connection);
    }
    if (gen->options.has_errors && rng_chance(&gen->rng, 25)) {
        const Table *table = pick_table(gen);
        char *sql = text_format("DELETE FROM %s WHERE e IN ('x', '300')", table->name);
        group_add_sql(group, connection, sql);
        test_free(sql);
    }
}

static void add_end(Gen *gen, Group *group, size_t connection, unsigned rollback_percent)
{
    const bool is_rollback = rng_chance(&gen->rng, rollback_percent);
    group_add_sql(group, connection, is_rollback ? "ROLLBACK" : "COMMIT");
}

/* A table comes and goes, or changes and changes back, inside a transaction. */
static void add_come_and_go(Gen *gen, Group *group)
{
    const Table *table = pick_table(gen);
    char *keep = text_format("CREATE TEMP TABLE kept AS SELECT * FROM %s", table->name);
    char *clear = text_format("DELETE FROM %s", table->name);
    char *back = text_format("INSERT INTO %s SELECT * FROM kept", table->name);
    group_add_sql(group, 0, keep);
    group_add_sql(group, 0, "BEGIN");
    group_add_sql(group, 0, clear);
    if (rng_chance(&gen->rng, 50)) {
        add_insert(gen, group, 0, 3);
        group_add_sql(group, 0, clear);
    }
    /* A key that has been deleted in a transaction may be refused in it: then nothing happens. */
    group_add_sql(group, 0, back);
    group_add_sql(group, 0, "COMMIT");
    group_add_sql(group, 0, "DROP TABLE kept");
    test_free(keep);
    test_free(clear);
    test_free(back);
}

static void add_two_writers(Gen *gen, Group *group)
{
    group_add_sql(group, 0, "BEGIN");
    group_add_sql(group, 1, "BEGIN");
    const size_t count = rng_between(&gen->rng, 2, 6);
    for (size_t i = 0; i < count; i++) {
        add_statement(gen, group, rng_below(&gen->rng, 2));
    }
    const size_t first = rng_below(&gen->rng, 2);
    add_end(gen, group, first, 20);
    if (rng_chance(&gen->rng, 40)) {
        add_statement(gen, group, 1 - first);
    }
    add_end(gen, group, 1 - first, 20);
}

static void add_bulk(Gen *gen, Group *group)
{
    const Table *table = pick_table(gen);
    if (table_has_key(table)) {
        add_insert(gen, group, 0, 6);
        return;
    }
    Text sql = {0};
    text_addf(&sql, "INSERT INTO %s SELECT ", table->name);
    for (size_t i = 0; i < table->column_count; i++) {
        text_addf(&sql, "%s(CASE (i * %zu) %% 4", i > 0 ? ", " : "",
                  2 * rng_below(&gen->rng, 50) + 1);
        for (int arm = 0; arm < 3; arm++) {
            char *value = gen_value(gen, &table->columns[i]);
            text_addf(&sql, " WHEN %d THEN CAST(%s AS %s)", arm, value,
                      type_info(table->columns[i].type)->sql);
            test_free(value);
        }
        text_add(&sql, " END)");
    }
    text_addf(&sql, " FROM range(%zu) AS r(i)", rng_between(&gen->rng, 2040, BULK_ROWS));
    group_add_sql(group, 0, sql.data);
    text_free(&sql);
}

static void add_housekeeping(Gen *gen, Group *group)
{
    static const char *const words[] = {"CHECKPOINT",
                                        "ANALYZE",
                                        "CHECKPOINT",
                                        "CREATE TABLE IF NOT EXISTS other(a INTEGER)",
                                        "INSERT INTO other VALUES (1)",
                                        "DROP TABLE IF EXISTS other",
                                        "VACUUM"};
    group_add_sql(group, 0, words[rng_below(&gen->rng, sizeof words / sizeof words[0])]);
}

static void gen_group_of_statements(Gen *gen, Group *group)
{
    const size_t choice = rng_below(&gen->rng, 100);
    if (choice < 45) {
        add_statement(gen, group, rng_chance(&gen->rng, 15) ? 1 : 0);
    } else if (choice < 75) {
        const size_t connection = rng_chance(&gen->rng, 20) ? 1 : 0;
        group_add_sql(group, connection, "BEGIN");
        const size_t count = rng_between(&gen->rng, 1, 5);
        for (size_t i = 0; i < count; i++) {
            add_statement(gen, group, connection);
        }
        add_end(gen, group, connection, 20);
    } else if (choice < 83) {
        add_two_writers(gen, group);
    } else if (choice < 88) {
        add_come_and_go(gen, group);
    } else if (choice < 95) {
        add_housekeeping(gen, group);
    } else if (gen->is_bulk) {
        add_bulk(gen, group);
    } else {
        add_insert(gen, group, 0, 12);
    }
    group->is_quiet = rng_chance(&gen->rng, 10);
    group->is_reopen = gen->test->is_file && gen->options.has_reopens && rng_chance(&gen->rng, 10);
}

void gen_groups(Gen *gen)
{
    Group *first = case_add_group(gen->test);
    for (size_t i = 0; i < gen->test->table_count; i++) {
        add_insert(gen, first, 0, 15);
        add_insert(gen, first, 0, 15);
    }
    if (gen->is_bulk) {
        add_bulk(gen, first);
    }
    const size_t count = rng_between(&gen->rng, 5, 30);
    for (size_t i = 0; i < count; i++) {
        gen_group_of_statements(gen, case_add_group(gen->test));
    }
    case_add_group(gen->test);
}
