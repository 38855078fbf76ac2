/* generate.c: see generate.h. */
#include "generate.h"

uint32_t pick(Generator *generator, uint32_t limit)
{
    uint64_t z = generator->state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (uint32_t)((z ^ (z >> 31)) % limit);
}

static int chance(Generator *generator, uint32_t percent)
{
    return pick(generator, 100) < percent;
}

static const char *choose(Generator *generator, const char *const *texts, uint32_t count)
{
    return texts[pick(generator, count)];
}
#define CHOOSE(generator, texts) choose(generator, texts, sizeof(texts) / sizeof((texts)[0]))

/* --- values --- */

static void add_value(Generator *generator, Text *out)
{
    static const char *const ODD[] = {
        "NULL",
        "''",
        "x''",
        "x'00ff'",
        "'é'",
        "1.0",
        "-0.0",
        "1e300",
        "9007199254740993",
        "-9223372036854775808",
        "'12'",
        "'1.5'",
        "0.1",
        "zeroblob(9)",
        "128",
        "-129",
        "40000",
        "zeroblob(3000)",
        "'a longer text to fill a few more bytes of the page'",
        "9e999",
    };
    if (chance(generator, 70)) {
        text_add(out, "%u", pick(generator, 12));
    } else {
        text_add(out, "%s", CHOOSE(generator, ODD));
    }
}

static void add_column(Generator *generator, int table, Text *out)
{
    text_add(out, "c%u", pick(generator, (uint32_t)generator->columns[table]));
}

/* A number that the table's rows have: their rowid, or a column of their key. */
static const char *rowid_of(const Generator *generator, uint32_t table)
{
    return generator->has_rowid[table] ? "rowid" : "c0";
}

static void add_where(Generator *generator, int table, Text *out)
{
    if (chance(generator, 12)) {
        return;
    }
    text_add(out, " WHERE ");
    if (chance(generator, 60)) {
        add_column(generator, table, out);
        text_add(out, "%s", chance(generator, 60) ? "=" : chance(generator, 50) ? "<" : ">=");
        add_value(generator, out);
    } else if (chance(generator, 50)) {
        text_add(out, "%s%%%u=%u", rowid_of(generator, (uint32_t)table), 2 + pick(generator, 3),
                 pick(generator, 2));
    } else {
        add_column(generator, table, out);
        text_add(out, " IN (SELECT c%u FROM t%u)", pick(generator, 2), pick(generator, TABLES));
    }
}

static const char *const CONFLICTS[] = {
    "", "", "", " OR IGNORE", " OR FAIL", " OR ABORT", " OR REPLACE", " OR ROLLBACK"};

/* --- schemas --- */

static void add_column_definition(Generator *generator, int table, int column, int alias, Text *out)
{
    static const char *const TYPES[] = {"", "INTEGER", "INT", "REAL", "TEXT", "BLOB", "NUMERIC"};
    static const char *const STRICT_TYPES[] = {"ANY", "ANY", "INT", "REAL", "TEXT", "BLOB"};
    text_add(out, "%sc%d ", column > 0 ? ", " : "", column);
    if (column == alias) {
        text_add(out, "INTEGER PRIMARY KEY%s", chance(generator, 30) ? " AUTOINCREMENT" : "");
        return;
    }
    text_add(out, "%s",
             generator->is_strict ? CHOOSE(generator, STRICT_TYPES) : CHOOSE(generator, TYPES));
    if (chance(generator, 8) && column > 1) {
        text_add(out, " AS (c%d%s) %s", column == 2 ? 0 : 1, chance(generator, 50) ? "||'g'" : "*2",
                 chance(generator, 50) ? "VIRTUAL" : "STORED");
        return;
    }
    if (chance(generator, 25)) {
        text_add(out, " UNIQUE%s", chance(generator, 20) ? " ON CONFLICT REPLACE" : "");
    }
    if (chance(generator, 10)) {
        text_add(out, " NOT NULL DEFAULT %u", pick(generator, 9));
    }
    if (chance(generator, 6)) {
        text_add(out, " CHECK (c%d IS NOT 7)", column);
    }
    if (chance(generator, 15) && table > 0) {
        static const char *const ACTIONS[] = {"CASCADE", "SET NULL", "SET DEFAULT", "NO ACTION",
                                              "RESTRICT"};
        text_add(out, " REFERENCES t%u ON DELETE %s ON UPDATE %s%s",
                 pick(generator, (uint32_t)table + 1), CHOOSE(generator, ACTIONS),
                 CHOOSE(generator, ACTIONS),
                 chance(generator, 30) ? " DEFERRABLE INITIALLY DEFERRED" : "");
    }
}

static void add_table(Generator *generator, int table, Text *out)
{
    const int count = 2 + (int)pick(generator, COLUMNS_MAX - 3);
    const int has_rowid = chance(generator, 75);
    const int has_alias = has_rowid && chance(generator, 70);
    const int alias =
        has_alias ? (chance(generator, 80) ? 0 : (int)pick(generator, (uint32_t)count)) : -1;
    generator->columns[table] = count;
    generator->has_alias[table] = has_alias;
    generator->has_rowid[table] = has_rowid;
    generator->is_strict = chance(generator, 12);
    text_add(out, "CREATE TABLE t%d(", table);
    for (int i = 0; i < count; i++) {
        add_column_definition(generator, table, i, alias, out);
    }
    if (!has_rowid) {
        static const char *const KEYS[] = {"c0", "c1, c0", "c0, c1", "c1 COLLATE nocase DESC, c0",
                                           "c0, c0 COLLATE nocase"};
        text_add(out, ", PRIMARY KEY(%s)%s) WITHOUT ROWID%s\n", CHOOSE(generator, KEYS),
                 chance(generator, 20) ? " ON CONFLICT REPLACE" : "",
                 generator->is_strict ? ", STRICT" : "");
        return;
    }
    text_add(out, generator->is_strict ? ") STRICT\n" : ")\n");
}

static void add_index(Generator *generator, int table, Text *out)
{
    text_add(out, "CREATE %sINDEX i%d ON t%d(", chance(generator, 25) ? "UNIQUE " : "",
             generator->names++, table);
    add_column(generator, table, out);
    text_add(out, chance(generator, 15) ? "||'x'" : "");
    if (chance(generator, 30)) {
        text_add(out, ", ");
        add_column(generator, table, out);
        text_add(out, chance(generator, 30) ? " DESC" : "");
    }
    text_add(out, ")");
    if (chance(generator, 25)) {
        text_add(out, " WHERE ");
        add_column(generator, table, out);
        text_add(out, ">3");
    }
    text_add(out, "\n");
}

static void add_trigger(Generator *generator, int table, Text *out)
{
    static const char *const EVENTS[] = {"INSERT", "UPDATE", "DELETE", "UPDATE OF c1"};
    static const char *const RAISES[] = {"IGNORE", "IGNORE", "ABORT,'no'", "FAIL,'no'",
                                         "ROLLBACK,'no'"};
    const uint32_t event = pick(generator, 4);
    const char *const row = event == 2 ? "old" : "new";
    const uint32_t target = pick(generator, TABLES);
    text_add(out, "CREATE TRIGGER g%d %s %s ON t%d", generator->names++,
             chance(generator, 40) ? "BEFORE" : "AFTER", EVENTS[event], table);
    if (chance(generator, 20)) {
        text_add(out, " WHEN %s.c1 IS NOT 3", row);
    }
    text_add(out, " BEGIN ");
    switch (pick(generator, 5)) {
    case 0:
        text_add(out, "INSERT%s INTO t%u(c1) VALUES (%s.c1);", CHOOSE(generator, CONFLICTS), target,
                 row);
        break;
    case 1: text_add(out, "UPDATE t%u SET c1=c1+1 WHERE c0=%s.c0;", target, row); break;
    case 2:
        text_add(out, "DELETE FROM t%u WHERE c1=%s.c0 AND %s%%2;", target, row,
                 rowid_of(generator, target));
        break;
    case 3: text_add(out, "SELECT raise(%s) WHERE %s.c1=5;", CHOOSE(generator, RAISES), row); break;
    default:
        text_add(out, "INSERT INTO t%u SELECT * FROM t%u WHERE c0=%s.c1 LIMIT 1;", target,
                 pick(generator, TABLES), row);
        break;
    }
    text_add(out, " END\n");
}

void generate_schema(Generator *generator, Text *out)
{
    static const char *const PAGE_SIZES[] = {"512", "1024", "4096", "4096", "65536"};
    text_add(out, "PRAGMA page_size=%s\nPRAGMA auto_vacuum=%u\n", CHOOSE(generator, PAGE_SIZES),
             chance(generator, 60) ? 0 : 1 + pick(generator, 2));
    /* It cannot be written under capture, only read. */
    text_add(out, "CREATE TABLE w(a PRIMARY KEY, b) WITHOUT ROWID\n"
                  "INSERT INTO w VALUES (1,5),(2,NULL),(5,'w'),(7,2.0)\n");
    for (int i = 0; i < TABLES; i++) {
        add_table(generator, i, out);
        for (uint32_t k = pick(generator, 3); k > 0; k--) {
            add_index(generator, i, out);
        }
    }
    for (uint32_t k = pick(generator, 5); k > 0; k--) {
        add_trigger(generator, (int)pick(generator, TABLES), out);
    }
    text_add(
        out,
        "CREATE VIEW v0 AS SELECT c0, c1 FROM t0\n"
        "CREATE TRIGGER vi INSTEAD OF INSERT ON v0 BEGIN INSERT OR IGNORE INTO t0(c0,c1) "
        "VALUES (new.c0,new.c1); END\n"
        "CREATE TRIGGER vd INSTEAD OF DELETE ON v0 BEGIN DELETE FROM t0 WHERE c0=old.c0; END\n");
}

/* --- statements --- */

static void add_rows(Generator *generator, uint32_t columns, Text *out)
{
    for (uint32_t row = 1 + pick(generator, 3), first = 1; row > 0; row--, first = 0) {
        text_add(out, "%s(", first ? "" : ", ");
        for (uint32_t i = 0; i < columns; i++) {
            text_add(out, "%s", i > 0 ? ", " : "");
            add_value(generator, out);
        }
        text_add(out, ")");
    }
}

static void add_upsert(Generator *generator, int table, Text *out)
{
    if (generator->has_alias[table] && chance(generator, 25)) {
        text_add(out, " ON CONFLICT(c0) DO UPDATE SET ");
        add_column(generator, table, out);
        text_add(out, "=excluded.c1%s", chance(generator, 30) ? " WHERE excluded.c0<>5" : "");
    }
    text_add(out, " ON CONFLICT DO ");
    if (chance(generator, 30)) {
        text_add(out, "NOTHING");
        return;
    }
    text_add(out, "UPDATE SET ");
    add_column(generator, table, out);
    text_add(out, "=excluded.");
    add_column(generator, table, out);
    if (chance(generator, 30)) {
        text_add(out, ", ");
        add_column(generator, table, out);
        text_add(out, "=");
        add_value(generator, out);
    }
    if (chance(generator, 20)) {
        text_add(out, " WHERE excluded.c0>3");
    }
}

/* One of them fails at some rows. */
static void add_returning(Generator *generator, Text *out)
{
    static const char *const RETURNINGS[] = {" RETURNING *",
                                             " RETURNING CASE WHEN c1=5 THEN json('{') ELSE c0 END",
                                             " RETURNING abs(c1)"};
    if (chance(generator, 12)) {
        text_add(out, "%s", CHOOSE(generator, RETURNINGS));
    }
}

static void add_limit(Generator *generator, int table, Text *out)
{
    if (chance(generator, 10)) {
        text_add(out, " ORDER BY ");
        add_column(generator, table, out);
        text_add(out, ", %s LIMIT %u", rowid_of(generator, (uint32_t)table),
                 1 + pick(generator, 3));
    }
}

static void add_insert(Generator *generator, int table, Text *out)
{
    const uint32_t count = (uint32_t)generator->columns[table];
    const uint32_t kind = pick(generator, 10);
    text_add(out, "INSERT%s INTO t%d", CHOOSE(generator, CONFLICTS), table);
    if (kind < 2 && chance(generator, 20)) {
        text_add(out, "(c0,c1) SELECT a, b FROM w");
    } else if (kind < 2) {
        text_add(out, " SELECT * FROM t%u", pick(generator, TABLES));
        text_add(out, chance(generator, 70) ? " LIMIT 5" : "");
    } else if (kind == 2) {
        text_add(out, " DEFAULT VALUES");
    } else if (kind < 6) {
        text_add(out, "(c0,c1) VALUES ");
        add_rows(generator, 2, out);
    } else if (kind == 6) {
        text_add(out, "(%s,c1) VALUES ", rowid_of(generator, (uint32_t)table));
        add_rows(generator, 2, out);
    } else {
        text_add(out, " VALUES ");
        add_rows(generator, count, out);
    }
    if (kind > 1 && chance(generator, 25)) {
        add_upsert(generator, table, out);
    }
    add_returning(generator, out);
}

static void add_update(Generator *generator, int table, Text *out)
{
    text_add(out, "UPDATE%s t%d SET ", CHOOSE(generator, CONFLICTS), table);
    if (chance(generator, 15)) {
        text_add(out, "%s=%s+%u, ", rowid_of(generator, (uint32_t)table),
                 rowid_of(generator, (uint32_t)table), pick(generator, 20));
    }
    add_column(generator, table, out);
    text_add(out, "=");
    if (chance(generator, 50)) {
        add_value(generator, out);
    } else {
        add_column(generator, table, out);
        text_add(out, chance(generator, 50) ? "+1" : "");
    }
    if (chance(generator, 30)) {
        text_add(out, ", ");
        add_column(generator, table, out);
        text_add(out, "=");
        add_value(generator, out);
    }
    if (chance(generator, 5)) {
        text_add(out, " FROM w WHERE w.a=t%d.c0", table);
        add_returning(generator, out);
    } else if (chance(generator, 15)) {
        const uint32_t other = pick(generator, TABLES);
        text_add(out, " FROM (SELECT c0 AS k, c1 AS v FROM t%u) AS o WHERE o.k=t%d.c1", other,
                 table);
    } else {
        add_where(generator, table, out);
        add_returning(generator, out);
        add_limit(generator, table, out);
    }
}

static void add_control(Generator *generator, Text *out)
{
    static const char *const TOGGLES[] = {"PRAGMA foreign_keys=1",
                                          "PRAGMA foreign_keys=0",
                                          "PRAGMA recursive_triggers=1",
                                          "PRAGMA recursive_triggers=0",
                                          "PRAGMA defer_foreign_keys=1",
                                          "PRAGMA ignore_check_constraints=1",
                                          "PRAGMA ignore_check_constraints=0",
                                          "PRAGMA incremental_vacuum(2)",
                                          "REINDEX"};
    switch (pick(generator, 9)) {
    case 0:
    case 1: text_add(out, "BEGIN"); break;
    case 2:
    case 3: text_add(out, "COMMIT"); break;
    case 4: text_add(out, "ROLLBACK"); break;
    case 5: text_add(out, "SAVEPOINT s%u", pick(generator, 3)); break;
    case 6: text_add(out, "ROLLBACK TO s%u", pick(generator, 3)); break;
    case 7: text_add(out, "RELEASE s%u", pick(generator, 3)); break;
    default: text_add(out, "%s", CHOOSE(generator, TOGGLES)); break;
    }
}

static void add_ddl(Generator *generator, int table, Text *out)
{
    const uint32_t column = pick(generator, (uint32_t)generator->columns[table]);
    switch (pick(generator, 10)) {
    case 7: text_add(out, "ALTER TABLE t%d DROP COLUMN c%u", table, column); break;
    case 8: text_add(out, "ALTER TABLE t%d RENAME COLUMN c%u TO d%u", table, column, column); break;
    case 9: text_add(out, "ALTER TABLE t%d RENAME COLUMN d%u TO c%u", table, column, column); break;
    case 0: add_index(generator, table, out); break;
    case 1:
        text_add(out, "DROP INDEX IF EXISTS i%u", pick(generator, 1 + (uint32_t)generator->names));
        break;
    case 2:
    case 3:
        text_add(out, "ALTER TABLE t%d ADD COLUMN c%d%s", table, generator->columns[table],
                 chance(generator, 50)   ? " REAL DEFAULT 3"
                 : chance(generator, 50) ? " DEFAULT 'd'"
                                         : "");
        if (generator->columns[table] < COLUMNS_MAX * 2) {
            generator->columns[table]++;
        }
        break;
    case 4:
        text_add(out, "CREATE TABLE n%d AS SELECT * FROM t%d", generator->names++, table);
        break;
    case 5:
        text_add(out, "DROP TABLE IF EXISTS n%u", pick(generator, 1 + (uint32_t)generator->names));
        break;
    default:
        text_add(out, "ALTER TABLE n%u RENAME TO n%d",
                 pick(generator, 1 + (uint32_t)generator->names), generator->names);
        generator->names++;
        break;
    }
}

void generate_statement(Generator *generator, Text *out)
{
    const int table = (int)pick(generator, TABLES);
    const uint32_t kind = pick(generator, 100);
    if (kind < 40) {
        add_insert(generator, table, out);
    } else if (kind < 62) {
        add_update(generator, table, out);
    } else if (kind < 72) {
        text_add(out, "DELETE FROM t%d", table);
        add_where(generator, table, out);
        add_returning(generator, out);
        add_limit(generator, table, out);
    } else if (kind < 75) {
        text_add(out, "%s",
                 chance(generator, 60) ? "INSERT INTO v0 VALUES (3,4),(8,9)"
                                       : "DELETE FROM v0 WHERE c0<4");
    } else if (kind < 94 || !generator->with_ddl) {
        add_control(generator, out);
    } else {
        add_ddl(generator, table, out);
    }
}
