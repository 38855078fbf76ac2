/* script.c: see script.h. */
#include "script.h"

#include <stdio.h>
#include <string.h>

enum { LITERALS_MAX = 16, BULK_ROWS = 260000 };

/* Flags of oracle/types.def. */
enum { AMBIGUOUS = 1, NUMBER = 2, NESTED = 4 };

typedef struct ScriptType {
    const char *sql;
    int level;
    int flags;
    const char *literals[LITERALS_MAX]; /* NULL behind the last */
} ScriptType;

static const ScriptType TYPES[] = {
#define LITERALS(...) \
    {                 \
        __VA_ARGS__   \
    }
#define X(id, sql, level, flags, tame, ...) {sql, level, flags, __VA_ARGS__},
#include "../oracle/types.def"
#include "types.def"
#undef X
#undef LITERALS
};

enum { TYPE_COUNT_ALL = sizeof TYPES / sizeof TYPES[0] };

static size_t random_type(Rng *rng)
{
    size_t type = rng_below(rng, TYPE_COUNT_ALL);
    while (TYPES[type].level > 2) {
        type = rng_below(rng, TYPE_COUNT_ALL);
    }
    return type;
}

/* --- running ----------------------------------------------------------------------------------- */

static bool run(Script *s, size_t connection, const char *sql)
{
    Text error = {0};
    if (s->is_printing) {
        (void)printf("%zu: %.300s\n", connection, sql);
    }
    s->statements++;
    const bool is_done = db_run(db_connection(s->db, connection), sql, &error);
    if (!is_done) {
        s->refused++;
        if (s->is_printing) {
            (void)printf("   refused: %.200s\n", text_get(&error));
        }
    }
    text_free(&error);
    return is_done;
}

static bool run_text(Script *s, size_t connection, Text *sql)
{
    const bool is_done = run(s, connection, text_get(sql));
    text_free(sql);
    return is_done;
}

/* --- statements -------------------------------------------------------------------------------- */

/* A value that depends on the number that `row` gives. */
static void add_value(Script *s, Text *sql, size_t type, const char *row)
{
    const ScriptType *const t = &TYPES[type];
    size_t count = 1;
    while (count < LITERALS_MAX && t->literals[count] != NULL) {
        count++;
    }
    const size_t salt = rng_below(&s->rng, 1000000);
    if (rng_chance(&s->rng, 15)) { /* the same in all rows */
        text_add(sql, t->literals[salt % count]);
        return;
    }
    const size_t nulls = rng_below(&s->rng, 3);
    text_add(sql, "list_value(");
    for (size_t i = 0; i < count; i++) {
        text_addf(sql, "%s%s", i == 0 ? "" : ", ", t->literals[i]);
    }
    text_addf(sql, ")[1 + (hash(%s + %zu) %% %zu)::INTEGER]", row, salt, count + nulls);
}

static ScriptTable *pick_table(Script *s)
{
    return &s->tables[rng_below(&s->rng, SCRIPT_TABLES)];
}

static void add_column(Script *s, ScriptTable *table)
{
    table->columns[table->column_count++] =
        (ScriptColumn){.type = random_type(&s->rng), .number = table->columns_made++};
}

static bool create_table(Script *s, ScriptTable *table)
{
    Text sql = {0};
    table->has_key = rng_chance(&s->rng, 40);
    table->column_count = 0;
    text_addf(&sql, "CREATE TABLE %s(%s", table->name,
              table->has_key ? "k BIGINT PRIMARY KEY" : "k BIGINT");
    const size_t count = rng_between(&s->rng, 1, 6);
    for (size_t i = 0; i < count; i++) {
        add_column(s, table);
        text_addf(&sql, ", c%zu %s", table->columns[i].number, TYPES[table->columns[i].type].sql);
    }
    text_add_char(&sql, ')');
    return run_text(s, 0, &sql);
}

static void insert(Script *s, size_t connection, ScriptTable *table, size_t count)
{
    Text sql = {0};
    const bool replaces = table->has_key && count < 100 && rng_chance(&s->rng, 30);
    const size_t back = replaces ? rng_below(&s->rng, s->next_key < 50 ? s->next_key + 1 : 50) : 0;
    text_addf(&sql, "INSERT %s INTO %s SELECT i + %zu", replaces ? "OR REPLACE" : "", table->name,
              s->next_key - back);
    s->next_key += count;
    for (size_t i = 0; i < table->column_count; i++) {
        text_add(&sql, ", ");
        add_value(s, &sql, table->columns[i].type, "i");
    }
    text_addf(&sql, " FROM range(%zu) r(i)", count);
    (void)run_text(s, connection, &sql);
}

static void insert_some(Script *s, size_t connection)
{
    const size_t kind = rng_below(&s->rng, 100);
    size_t count = rng_between(&s->rng, 1, 5);
    if (kind >= 98 && s->has_bulk) {
        count = BULK_ROWS;
        s->bulk++;
    } else if (kind >= 70) {
        count = rng_between(&s->rng, 100, 4500);
    }
    insert(s, connection, pick_table(s), count);
}

static void update_some(Script *s, size_t connection)
{
    const ScriptTable *const table = pick_table(s);
    const ScriptColumn *const column = &table->columns[rng_below(&s->rng, table->column_count)];
    Text sql = {0};
    text_addf(&sql, "UPDATE %s SET c%zu = ", table->name, column->number);
    add_value(s, &sql, column->type, "rowid");
    if (rng_chance(&s->rng, 30)) {
        const ScriptColumn *const other = &table->columns[rng_below(&s->rng, table->column_count)];
        if (other != column) {
            text_addf(&sql, ", c%zu = ", other->number);
            add_value(s, &sql, other->type, "rowid");
        }
    }
    text_addf(&sql, " WHERE hash(rowid + %zu) %% %zu = 0", rng_below(&s->rng, 1000000),
              rng_between(&s->rng, 1, 200));
    (void)run_text(s, connection, &sql);
}

static void delete_some(Script *s, size_t connection)
{
    const ScriptTable *const table = pick_table(s);
    Text sql = {0};
    if (rng_chance(&s->rng, 20)) {
        text_addf(&sql, "DELETE FROM %s WHERE rowid > (SELECT max(rowid) - 4 FROM %s)", table->name,
                  table->name);
    } else {
        text_addf(&sql, "DELETE FROM %s WHERE hash(rowid + %zu) %% %zu = 0", table->name,
                  rng_below(&s->rng, 1000000), rng_between(&s->rng, 1, 100));
    }
    (void)run_text(s, connection, &sql);
}

static void change_data(Script *s, size_t connection)
{
    const size_t kind = rng_below(&s->rng, 100);
    if (kind < 45) {
        insert_some(s, connection);
    } else if (kind < 75) {
        update_some(s, connection);
    } else if (kind < 97) {
        delete_some(s, connection);
    } else {
        Text sql = {0};
        text_addf(&sql, "TRUNCATE %s", pick_table(s)->name);
        (void)run_text(s, connection, &sql);
    }
}

static void transaction(Script *s)
{
    const size_t connection = rng_between(&s->rng, 1, SCRIPT_CONNECTIONS - 1);
    const size_t count = rng_between(&s->rng, 1, 5);
    (void)run(s, connection, "BEGIN");
    for (size_t i = 0; i < count; i++) {
        /* Others commit while it is open; they may be in each other's way. */
        change_data(s, rng_chance(&s->rng, 20) ? 0 : connection);
    }
    if (!run(s, connection, rng_chance(&s->rng, 70) ? "COMMIT" : "ROLLBACK")) {
        (void)run(s, connection, "ROLLBACK");
    }
}

static void change_shape(Script *s)
{
    ScriptTable *const table = pick_table(s);
    Text sql = {0};
    s->shapes++;
    switch (rng_below(&s->rng, 5)) {
    case 0:
        if (table->column_count < SCRIPT_COLUMNS_MAX) {
            const size_t number = table->columns_made++;
            const size_t type = random_type(&s->rng);
            text_addf(&sql, "ALTER TABLE %s ADD COLUMN c%zu %s", table->name, number,
                      TYPES[type].sql);
            if ((TYPES[type].flags & NESTED) == 0) { /* 1.5.6 dies of a list as the default */
                text_addf(&sql, " DEFAULT %s", TYPES[type].literals[0]);
            }
            if (run(s, 0, text_get(&sql))) {
                table->columns[table->column_count++] =
                    (ScriptColumn){.type = type, .number = number};
            }
        }
        break;
    case 1:
        if (table->column_count > 1) {
            text_addf(&sql, "ALTER TABLE %s DROP COLUMN c%zu", table->name,
                      table->columns[table->column_count - 1].number);
            table->column_count -= run(s, 0, text_get(&sql)) ? 1 : 0;
        }
        break;
    case 2: {
        const size_t number = table->columns_made++;
        text_addf(&sql, "ALTER TABLE %s RENAME COLUMN c%zu TO c%zu", table->name,
                  table->columns[0].number, number);
        if (run(s, 0, text_get(&sql))) {
            table->columns[0].number = number;
        }
        break;
    }
    case 3:
        text_addf(&sql, "COMMENT ON TABLE %s IS 'noted'", table->name);
        (void)run(s, 0, text_get(&sql));
        break;
    default:
        text_addf(&sql, "DROP TABLE %s", table->name);
        if (run(s, 0, text_get(&sql))) {
            (void)create_table(s, table);
        }
        break;
    }
    text_free(&sql);
}

/* Things of the catalog that are of no concern. */
static void change_others(Script *s)
{
    static const char *const statements[] = {
        "CREATE VIEW v%zu AS SELECT 1 AS a",
        "CREATE SEQUENCE s%zu; SELECT nextval('s%zu')",
        "CREATE MACRO m%zu(a) AS a + %zu",
        "CREATE TYPE y%zu AS ENUM ('y%zu')",
        "CREATE SCHEMA h%zu; CREATE TABLE h%zu.t0(a INTEGER); INSERT INTO h%zu.t0 VALUES (1); "
        "DROP SCHEMA h%zu CASCADE",
        "CREATE TABLE o%zu AS SELECT range AS a FROM range(10); DROP TABLE o%zu",
        "BEGIN; CREATE TABLE o%zu(a INTEGER); INSERT INTO o%zu VALUES (1); ROLLBACK",
        "CREATE INDEX i%zu ON app(a)",
        "CREATE TABLE f%zu(a INTEGER PRIMARY KEY CHECK (a > 0), b INTEGER DEFAULT 7); "
        "INSERT INTO f%zu(a) VALUES (1)",
    };
    const size_t n = s->names_made++;
    const char *const format =
        statements[rng_below(&s->rng, sizeof statements / sizeof *statements)];
    Text sql = {0};
    for (const char *at = format; *at != '\0'; at++) {
        if (strncmp(at, "%zu", 3) == 0) {
            text_addf(&sql, "%zu", n);
            at += 2;
        } else {
            text_add_char(&sql, *at);
        }
    }
    (void)run_text(s, 0, &sql);
}

/* --- without SQL ------------------------------------------------------------------------------- */

static void append_rows(Script *s)
{
    duckdb_appender appender = NULL;
    const size_t count = rng_between(&s->rng, 1, 3000);
    if (s->is_printing) {
        (void)printf("appender: %zu rows\n", count);
    }
    if (duckdb_appender_create_ext(db_connection(s->db, 1), "x", NULL, "app", &appender) ==
        DuckDBSuccess) {
        for (size_t i = 0; i < count; i++) {
            duckdb_append_int32(appender, (int32_t)rng_below(&s->rng, 100));
            if (i % 7 == 0) {
                duckdb_append_null(appender);
            } else {
                duckdb_append_varchar(appender, i % 2 == 0 ? "short" : "a longer appended string");
            }
            duckdb_appender_end_row(appender);
        }
        duckdb_appender_close(appender);
    }
    duckdb_appender_destroy(&appender);
}

static void run_prepared(Script *s)
{
    static const char *const statements[] = {
        "INSERT INTO app VALUES ($1, 'prepared')",
        "UPDATE app SET b = 'prepared update' WHERE a = $1",
        "DELETE FROM app WHERE a = $1",
    };
    const char *const sql = statements[rng_below(&s->rng, 3)];
    duckdb_prepared_statement statement = NULL;
    if (duckdb_prepare(db_connection(s->db, 2), sql, &statement) == DuckDBSuccess) {
        for (size_t i = 0; i < 3; i++) {
            duckdb_bind_int32(statement, 1, (int32_t)rng_below(&s->rng, 100));
            duckdb_execute_prepared(statement, NULL);
        }
        if (s->is_printing) {
            (void)printf("prepared: %s\n", sql);
        }
    }
    duckdb_destroy_prepare(&statement);
}

bool script_start(Script *script, Text *error)
{
    if (!db_run(db_connection(script->db, 0),
                "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'a rather long feeling'); "
                "CREATE TABLE app(a INTEGER, b VARCHAR)",
                error)) {
        return false;
    }
    for (size_t i = 0; i < SCRIPT_TABLES; i++) {
        (void)snprintf(script->tables[i].name, sizeof script->tables[i].name, "t%zu", i);
        if (!create_table(script, &script->tables[i])) {
            text_add(error, "a table cannot be created");
            return false;
        }
    }
    return true;
}

void script_step(Script *s)
{
    const size_t kind = rng_below(&s->rng, 100);
    if (kind < 50) {
        change_data(s, rng_below(&s->rng, SCRIPT_CONNECTIONS));
    } else if (kind < 75) {
        transaction(s);
    } else if (kind < 80) {
        append_rows(s);
    } else if (kind < 86) {
        run_prepared(s);
    } else if (kind < 92) {
        change_others(s);
    } else if (kind < 96) {
        if (s->has_shapes) {
            change_shape(s);
        }
    } else if (s->has_checkpoints) {
        s->checkpoints++;
        (void)run(s, 0, "CHECKPOINT");
    }
}
