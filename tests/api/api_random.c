/* api_random.c [SEED [ROUNDS]]: random statements of every kind that writes, on several connections,
 * in transactions that commit, roll back, conflict and fail.
 *
 * After commits every view is compared with its definition run again. The first connection's
 * statements also run on a twin without views, where nothing is rewritten: both must answer the same,
 * as long as no other connection writes. */
#include "api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rng.h"

enum { CONNECTIONS = 3, STATEMENTS = 100, SQL_SIZE = 1024 };

typedef struct World {
    Rng rng;
    WeirDb *connections[CONNECTIONS];
    bool in_transaction[CONNECTIONS];
    WeirDb *reader;
    WeirDb *twin; /* NULL = several connections write */
    char *file;
    size_t failures; /* statements that failed, as some must */
    size_t commits;
} World;

static const char *const VIEWS[] = {
    "SELECT g, count(*) AS n, sum(v) AS v, sum(twice) AS w FROM t GROUP BY g",
    "SELECT t.id, t.s, k.l FROM t JOIN keyed k ON t.g = k.id",
    "SELECT t.id, k.g FROM t LEFT JOIN keyed k ON t.v = k.id",
    "SELECT g, min(id) AS a, max(id) AS z, count(DISTINCT u) AS u FROM keyed GROUP BY g",
    "SELECT count(*) AS n FROM keyed",
    "SELECT DISTINCT s FROM t WHERE g IN (SELECT g FROM keyed)",
};
enum { VIEW_COUNT = sizeof VIEWS / sizeof VIEWS[0] };

static const char SCHEMA[] =
    "CREATE TABLE t (id INTEGER, g INTEGER, v INTEGER DEFAULT 5, s VARCHAR, "
    "twice INTEGER GENERATED ALWAYS AS (v * 2), CHECK (v < 1000));"
    "CREATE TABLE keyed (id INTEGER PRIMARY KEY, g INTEGER, l INTEGER[], u INTEGER);";

static const char PROMISE[] =
    "SELECT promise, promise_error FROM dbsp_tables() WHERE \"table\" = 'keyed'";

/* ---- statements ------------------------------------------------------------------------------- */

static const char *pick(World *world, const char *const *texts, size_t count)
{
    return texts[rng_below(&world->rng, count)];
}

static size_t number(World *world)
{
    return rng_below(&world->rng, 12);
}

/* The form with a number for every # and the text for every @. */
static void fill(World *world, const char *form, const char *text, char *out)
{
    char *end = out;
    for (const char *c = form; *c != '\0'; c++) {
        const size_t left = SQL_SIZE - (size_t)(end - out);
        if (*c == '#') {
            end += snprintf(end, left, "%zu", number(world));
        } else if (*c == '@') {
            end += snprintf(end, left, "%s", text);
        } else {
            *end++ = *c;
        }
    }
    *end = '\0';
}

static void put_condition(World *world, char *out)
{
    static const char *const PLAIN[] = {"id = #",
                                        "g = #",
                                        "id > #",
                                        "g IS NULL OR id < #",
                                        "id BETWEEN 3 AND #",
                                        "NOT (g = #)",
                                        "abs(id - #) < 2",
                                        "id IN (SELECT g FROM keyed WHERE id <> #)",
                                        "g IS DISTINCT FROM #",
                                        "id % 7 = #",
                                        "random() < 0.1 * #"};
    fill(world, pick(world, PLAIN, sizeof PLAIN / sizeof PLAIN[0]), "", out);
}

/* With random() a twin would do something else. */
static void put_where(World *world, char *out)
{
    char condition[SQL_SIZE];
    do {
        put_condition(world, condition);
    } while (world->twin != NULL && strstr(condition, "random") != NULL);
    fill(world, rng_below(&world->rng, 12) == 0 ? "" : " WHERE @", condition, out);
}

static void put_insert(World *world, char *sql)
{
    static const char *const FORMS[] = {
        "INSERT INTO t VALUES (#, #, #, 'a'), (#, NULL, 7, 'text that is long')",
        "INSERT INTO t (id, g) VALUES (#, #)",
        "INSERT INTO t SELECT i, i % 5, i + #, 's' || i FROM range(#) r(i)",
        "INSERT INTO t BY NAME SELECT id, # AS g FROM t WHERE id = #",
        "INSERT INTO t VALUES (#, #, 999 + #, 'may fail')",
        "INSERT INTO keyed VALUES (#, #, [1, 2], NULL)",
        "INSERT INTO keyed VALUES (# + 12, #, NULL, #)",
        "INSERT INTO keyed VALUES (#, #, NULL, NULL) ON CONFLICT DO NOTHING",
        "INSERT OR IGNORE INTO keyed SELECT i, #, [i], NULL FROM range(#) r(i)",
        "INSERT OR REPLACE INTO keyed (id, g, l) VALUES (#, #, [9])",
        "INSERT OR REPLACE INTO keyed SELECT i, #, NULL, # FROM range(#) r(i)",
        "INSERT INTO keyed VALUES (#, #, NULL, NULL) ON CONFLICT (id) DO UPDATE SET g = 3",
        ("INSERT INTO keyed AS x VALUES (#, #, NULL, #), (# + 12, #, NULL, #) ON CONFLICT DO "
         "UPDATE "
         "SET u = x.u + #, g = excluded.g WHERE x.g <> #"),
        "WITH x AS (SELECT # AS a, # AS b) INSERT INTO t SELECT a, b, 1, 'with' FROM x",
    };
    fill(world, pick(world, FORMS, sizeof FORMS / sizeof FORMS[0]), "", sql);
}

static void put_update(World *world, char *sql)
{
    static const char *const FORMS[] = {
        "UPDATE t SET v = v + 1@",
        "UPDATE t SET g = NULL, s = 'u'@",
        "UPDATE t AS x SET v = id@",
        "UPDATE keyed SET g = g + 1@",
        "UPDATE keyed SET id = id + 40@",
        "UPDATE keyed SET l = [g]@",
        "UPDATE keyed SET u = id@",
        "UPDATE t SET v = v + 400@",
        "UPDATE t SET v = k.g FROM keyed k WHERE t.id = k.id AND k.g = #",
        "WITH x AS (SELECT # AS a) UPDATE t SET g = a FROM x WHERE t.v = x.a",
    };
    char where[SQL_SIZE];
    put_where(world, where);
    fill(world, pick(world, FORMS, sizeof FORMS / sizeof FORMS[0]), where, sql);
}

static void put_delete(World *world, char *sql)
{
    static const char *const FORMS[] = {
        "DELETE FROM t USING keyed k WHERE t.g = k.g AND k.id = #",
        "TRUNCATE t",
        "DELETE FROM keyed@",
        "DELETE FROM keyed@",
        "DELETE FROM t@",
        "DELETE FROM t AS x@",
        "DELETE FROM t@",
        "DELETE FROM t@",
    };
    char where[SQL_SIZE];
    put_where(world, where);
    fill(world, pick(world, FORMS, sizeof FORMS / sizeof FORMS[0]), where, sql);
}

static void put_other(World *world, char *sql)
{
    static const char *const FORMS[] = {
        "COPY t (id, g) FROM '@'",
        ("MERGE INTO keyed USING (SELECT # AS id, # AS g) AS s ON keyed.id = s.id "
         "WHEN MATCHED THEN UPDATE SET g = s.g "
         "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.g, NULL, NULL)"),
        ("MERGE INTO keyed AS k USING (SELECT DISTINCT id FROM t WHERE g > #) s ON k.id = s.id "
         "WHEN MATCHED AND k.g < # THEN UPDATE SET g = k.g + 1, l = NULL WHEN MATCHED THEN DELETE "
         "WHEN NOT MATCHED AND s.id > # THEN INSERT VALUES (s.id, #, [s.id], NULL)"),
        ("MERGE INTO keyed USING (SELECT # AS id) s ON keyed.id = s.id WHEN MATCHED THEN DELETE "
         "WHEN NOT MATCHED BY SOURCE AND keyed.g = # THEN DELETE"),
        ("MERGE INTO keyed USING (SELECT # AS id) s ON keyed.id = s.id WHEN MATCHED THEN DELETE "
         "WHEN NOT MATCHED BY SOURCE AND keyed.g = # THEN UPDATE SET g = #"),
        "SELECT count(*) FROM t",
        "SELECT nosuch FROM t",
        "UPDATE t SET nosuch = #",
        "PREPARE p AS DELETE FROM t WHERE id = #; EXECUTE p; DEALLOCATE p",
        "PREPARE q AS UPDATE t SET g = ?, v = ? WHERE id = ?; EXECUTE q(#, #, #)",
        "PREPARE r AS INSERT INTO keyed VALUES ($1, $2, NULL, NULL); EXECUTE r(#, #)",
    };
    fill(world, pick(world, FORMS, sizeof FORMS / sizeof FORMS[0]), world->file, sql);
}

static void put_statement(World *world, size_t connection, char *sql)
{
    const size_t kind = rng_below(&world->rng, 100);
    if (kind < 8) {
        (void)snprintf(sql, SQL_SIZE, world->in_transaction[connection] ? "ROLLBACK" : "BEGIN");
    } else if (kind < 24) {
        (void)snprintf(sql, SQL_SIZE, world->in_transaction[connection] ? "COMMIT" : "BEGIN");
    } else if (kind < 54) {
        put_insert(world, sql);
    } else if (kind < 75) {
        put_update(world, sql);
    } else if (kind < 89) {
        put_delete(world, sql);
    } else {
        put_other(world, sql);
    }
    const bool can_return = strncmp(sql, "INSERT", 6) == 0 || strncmp(sql, "UPDATE", 6) == 0 ||
                            strncmp(sql, "DELETE", 6) == 0;
    if (can_return && rng_below(&world->rng, 6) == 0) {
        const size_t size = strlen(sql);
        (void)snprintf(sql + size, SQL_SIZE - size, " RETURNING id, g + 1 AS h");
    }
}

/* ---- running ---------------------------------------------------------------------------------- */

static void verify(World *world, const char *sql)
{
    for (size_t i = 0; i < VIEW_COUNT; i++) {
        char check[128];
        WeirError err = {0};
        (void)snprintf(check, sizeof check, "FROM dbsp_verify('v%zu')", i);
        char *const rows = try_run(world->reader, check, &err);
        if (rows == NULL || strcmp(rows, "ok|NULL\n") != 0) {
            fail_msg("after %s:\nview %s:\n%s", sql, VIEWS[i], rows == NULL ? err.message : rows);
        }
        free(rows);
    }
    gives(world->reader, PROMISE, "key (id)|NULL\n"); /* DuckDB enforces it */
}

/* The rows in any order: RETURNING promises none. */
static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *sorted(char *text)
{
    char *lines[4096];
    size_t count = 0;
    if (text == NULL || strchr(text, '\n') == NULL) {
        return text;
    }
    char *const copy = strdup(text);
    for (char *line = copy; *line != '\0' && count < 4096;) {
        char *const end = strchr(line, '\n');
        lines[count++] = line;
        line = end == NULL ? line + strlen(line) : end + 1;
        if (end != NULL) {
            *end = '\0';
        }
    }
    qsort(lines, count, sizeof lines[0], compare_lines);
    text[0] = '\0';
    char *end = text;
    for (size_t i = 0; i < count; i++) {
        end = stpcpy(stpcpy(end, lines[i]), "\n");
    }
    free(copy);
    return text;
}

/* Which of several duplicate keys is met first is not defined. */
static void cut_key(char *message)
{
    char *const key = strstr(message, "Duplicate key");
    if (key != NULL) {
        *key = '\0';
    }
}

static void ask_twin(World *world, const char *sql, const char *rows, WeirError *err)
{
    WeirError twin_err = {0};
    char *const answer = sorted(try_run(world->twin, sql, &twin_err));
    cut_key(twin_err.message);
    cut_key(err->message);
    if ((answer == NULL) != (rows == NULL)) {
        fail_msg("%s\ngives: %s\nwithout views: %s", sql, rows == NULL ? err->message : rows,
                 answer == NULL ? twin_err.message : answer);
    } else if (answer != NULL && strcmp(answer, rows) != 0) {
        fail_msg("%s\ngives: %s\nwithout views: %s", sql, rows, answer);
    } else if (answer == NULL && strcmp(err->message, twin_err.message) != 0) {
        fail_msg("%s\nfails: %s\nwithout views: %s", sql, err->message, twin_err.message);
    }
    free(answer);
}

static void step(World *world)
{
    char sql[SQL_SIZE];
    WeirError err = {0};
    const size_t connection = world->twin != NULL ? 0 : rng_below(&world->rng, CONNECTIONS);
    bool *const in_transaction = &world->in_transaction[connection];
    put_statement(world, connection, sql);
    char *const rows = sorted(try_run(world->connections[connection], sql, &err));
    if (getenv("WEIR_TEST_TRACE") != NULL) {
        (void)printf("%zu: %s; -- %s\n", connection, sql, rows == NULL ? err.message : "");
    }
    world->failures += rows == NULL;
    if (world->twin != NULL) {
        ask_twin(world, sql, rows, &err);
    }
    free(rows);
    if (strcmp(sql, "BEGIN") == 0) {
        *in_transaction = true;
    } else if (strcmp(sql, "COMMIT") == 0 || strcmp(sql, "ROLLBACK") == 0) {
        *in_transaction = false;
    }
    if (!*in_transaction) {
        world->commits++;
        verify(world, sql);
    }
}

static void check_twin(World *world)
{
    static const char *const TABLES[] = {"SELECT * FROM t ORDER BY ALL",
                                         "SELECT * FROM keyed ORDER BY ALL"};
    for (size_t i = 0; i < 2; i++) {
        WeirError err = {0};
        char *const ours = try_run(world->connections[0], TABLES[i], &err);
        char *const theirs = try_run(world->twin, TABLES[i], &err);
        if (ours == NULL || theirs == NULL || strcmp(ours, theirs) != 0) {
            fail_msg("%s: the twin has other rows", TABLES[i]);
        }
        free(ours);
        free(theirs);
    }
}

static void play(uint64_t seed, bool has_twin)
{
    World world = {.rng = {.state = seed}};
    world.connections[0] = api_open(NULL);
    for (size_t i = 1; i < CONNECTIONS; i++) {
        world.connections[i] = api_connect(world.connections[0]);
    }
    world.reader = api_connect(world.connections[0]);
    world.twin = has_twin ? api_open(NULL) : NULL;
    world.file = test_path("random.csv");
    run(world.connections[0], SCHEMA);
    for (size_t i = 0; i < VIEW_COUNT; i++) {
        char sql[SQL_SIZE];
        (void)snprintf(sql, sizeof sql, "CREATE MATERIALIZED VIEW v%zu AS %s", i, VIEWS[i]);
        run(world.connections[0], sql);
    }
    run(world.connections[0], "CALL dbsp_track('keyed', key := 'id')");
    if (has_twin) {
        run(world.twin, SCHEMA);
    }
    FILE *const file = fopen(world.file, "w");
    assert_non_null(file);
    (void)fputs("id,g\n1,2\n2,3\n1,2\n", file);
    (void)fclose(file);
    for (size_t i = 0; i < STATEMENTS; i++) {
        step(&world);
    }
    for (size_t i = 0; i < CONNECTIONS; i++) {
        if (world.in_transaction[i]) {
            WeirError err = {0};
            free(try_run(world.connections[i], "ROLLBACK", &err));
        }
    }
    verify(&world, "the end");
    if (has_twin) {
        if (world.in_transaction[0]) {
            run(world.twin, "ROLLBACK");
        }
        check_twin(&world);
        weir_close(world.twin);
    }
    weir_close(world.reader);
    for (size_t i = CONNECTIONS; i-- > 0;) {
        weir_close(world.connections[i]);
    }
    (void)unlink(world.file);
    free(world.file);
}

static uint64_t first_seed = 1;
static uint64_t round_count = 4;

static void test_random(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < round_count; i++) {
        (void)printf("seed %" PRIu64 "\n", first_seed + i);
        (void)fflush(stdout);
        play(first_seed + i, i % 2 == 0);
    }
}

int main(int argc, char **argv)
{
    first_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : first_seed;
    round_count = argc > 2 ? strtoull(argv[2], NULL, 10) : round_count;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
