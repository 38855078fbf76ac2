/* differential.c: random workloads, with capture and without.
 *
 *     differential --seed S [--rounds N | --round K [--print]]
 *
 * With --print the contents are compared after every statement.
 *
 * Each round runs one workload on two databases; one captures. Every statement must do the same on both: result,
 * message, changes(), last_insert_rowid(). At the end the contents must be equal, the log well formed, and its
 * replay must lead from the first state to the last one, and back if there was no DDL. */
#include "generate.h"
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG "turso_cdc"

typedef struct Round {
    Generator generator;
    sqlite3 *captured;
    sqlite3 *plain;
    sqlite3 *first; /* a copy of the first state */
    Text history;
    Text problem;
    /* The log has an index: then statements have a journal, and what SQLite otherwise leaves of one that fails
     * with a datatype mismatch is undone. Such a round is checked by its log only. */
    int has_index;
    int is_damaged; /* by SQLite itself */
    int transactions;
    int failures; /* statements that failed, alike */
    int statements;
} Round;

static sqlite3 *open_memory(void)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        (void)fprintf(stderr, "cannot open a database\n");
        exit(2);
    }
    return db;
}

static sqlite3 *copy_of(sqlite3 *db)
{
    sqlite3 *const copy = open_memory();
    sqlite3_backup *const backup = sqlite3_backup_init(copy, "main", db, "main");
    (void)sqlite3_backup_step(backup, -1);
    (void)sqlite3_backup_finish(backup);
    sqlite3_stmt *triggers = NULL;
    Text drops = {0};
    (void)sqlite3_prepare_v2(copy, "SELECT name FROM sqlite_schema WHERE type='trigger'", -1,
                             &triggers, NULL);
    while (sqlite3_step(triggers) == SQLITE_ROW) {
        text_add(&drops, "DROP TRIGGER \"%s\";", sqlite3_column_text(triggers, 0));
    }
    sqlite3_finalize(triggers);
    text_add(&drops, "PRAGMA foreign_keys=0; PRAGMA ignore_check_constraints=1");
    (void)sqlite3_exec(copy, text_get(&drops), NULL, NULL, NULL);
    text_free(&drops);
    return copy;
}

/* --- statements --- */

typedef struct Outcome {
    int rc;
    char message[200];
    sqlite3_int64 changes;
    sqlite3_int64 rowid;
    int is_autocommit;
} Outcome;

static Outcome run(sqlite3 *db, const char *sql)
{
    Outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    outcome.rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_snprintf((int)sizeof outcome.message, outcome.message, "%s", sqlite3_errmsg(db));
    outcome.changes = sqlite3_changes64(db);
    outcome.rowid = sqlite3_last_insert_rowid(db);
    outcome.is_autocommit = sqlite3_get_autocommit(db);
    return outcome;
}

/* Writes into the middle of a blob or text, if there is one. */
static Outcome write_blob(sqlite3 *db, const char *table, sqlite3_int64 rowid, int offset)
{
    Outcome outcome;
    sqlite3_blob *blob = NULL;
    memset(&outcome, 0, sizeof outcome);
    outcome.rc = sqlite3_blob_open(db, "main", table, "c1", rowid, 1, &blob);
    if (outcome.rc == SQLITE_OK) {
        outcome.rc = sqlite3_blob_write(blob, "zz", 2, offset);
    }
    const int closed = sqlite3_blob_close(blob);
    outcome.rc = outcome.rc == SQLITE_OK ? closed : outcome.rc;
    outcome.is_autocommit = sqlite3_get_autocommit(db);
    return outcome;
}

static int is_same(const Outcome *a, const Outcome *b)
{
    return a->rc == b->rc && strcmp(a->message, b->message) == 0 && a->changes == b->changes &&
           a->rowid == b->rowid && a->is_autocommit == b->is_autocommit;
}

static void run_both(Round *round, const char *sql)
{
    const int was_autocommit = sqlite3_get_autocommit(round->captured);
    const Outcome a = run(round->captured, sql);
    const Outcome b = run(round->plain, sql);
    text_add(&round->history, "%s;%s\n", sql, a.rc == SQLITE_OK ? "" : " -- fails");
    if (!round->has_index && !is_same(&a, &b)) {
        text_add(&round->problem, "with capture: %d %s %lld %lld %d; without: %d %s %lld %lld %d",
                 a.rc, a.message, a.changes, a.rowid, a.is_autocommit, b.rc, b.message, b.changes,
                 b.rowid, b.is_autocommit);
    }
    round->statements++;
    round->failures += a.rc != SQLITE_OK;
    round->transactions += a.is_autocommit && (a.rc == SQLITE_OK || !was_autocommit);
}

static void write_both(Round *round)
{
    char table[8];
    sqlite3_snprintf((int)sizeof table, table, "t%u", pick(&round->generator, TABLES));
    const sqlite3_int64 rowid = 1 + pick(&round->generator, 9);
    const int offset = (int)pick(&round->generator, 40);
    const Outcome a = write_blob(round->captured, table, rowid, offset);
    const Outcome b = write_blob(round->plain, table, rowid, offset);
    text_add(&round->history, "-- blob %s %lld %d: %d\n", table, rowid, offset, a.rc);
    if (!round->has_index && !is_same(&a, &b)) {
        text_add(&round->problem, "blob write: with capture %d, without %d", a.rc, b.rc);
    }
}

/* --- rounds --- */

static void begin(Round *round)
{
    Text schema = {0};
    generate_schema(&round->generator, &schema);
    for (char *line = schema.data; *line != 0;) {
        const size_t size = strcspn(line, "\n");
        line[size] = 0;
        run_both(round, line);
        line += size + 1;
    }
    text_free(&schema);
    round->has_index = pick(&round->generator, 4) == 0;
    const char *const enable = round->has_index
                                   ? "PRAGMA capture_data_changes_conn('full');"
                                     "CREATE INDEX log_index ON turso_cdc(table_name,id);"
                                     "DELETE FROM turso_cdc"
                                   : "PRAGMA capture_data_changes_conn('full')";
    if (run(round->captured, enable).rc != SQLITE_OK) {
        text_add(&round->problem, "cannot enable: %s", sqlite3_errmsg(round->captured));
    }
    (void)run(round->plain, "CREATE TABLE same(a); INSERT INTO same VALUES (1); DROP TABLE same");
    (void)run(round->captured, "PRAGMA capture_data_changes_conn('off'); CREATE TABLE same(a); "
                               "INSERT INTO same VALUES (1);"
                               "DROP TABLE same; PRAGMA capture_data_changes_conn('full')");
    round->first = copy_of(round->captured);
}

static void compare(Round *round, sqlite3 *a, sqlite3 *b, const char *what)
{
    Text x = {0};
    Text y = {0};
    replay_dump(a, &x);
    replay_dump(b, &y);
    const int is_expected = round->has_index && (a == round->plain || b == round->plain);
    if (round->problem.size == 0 && !is_expected && strcmp(text_get(&x), text_get(&y)) != 0) {
        text_add(&round->problem, "%s differ:\n%s----\n%s", what, text_get(&x), text_get(&y));
    }
    text_free(&x);
    text_free(&y);
}

/* What integrity_check finds first, but for rows that a CHECK came too late for; nothing if all is well. */
static void find_damage(sqlite3 *db, Text *out)
{
    sqlite3_stmt *check = NULL;
    (void)sqlite3_prepare_v2(
        db,
        "SELECT integrity_check FROM pragma_integrity_check WHERE "
        "integrity_check<>'ok' AND integrity_check NOT LIKE 'CHECK constraint%'",
        -1, &check, NULL);
    if (sqlite3_step(check) == SQLITE_ROW) {
        text_add(out, "%s", sqlite3_column_text(check, 0));
    }
    sqlite3_finalize(check);
}

/* A database that SQLite damages without capture too tells nothing: a type that a STRICT table refuses is found
 * when REPLACE has already removed index entries, and without a journal they are gone. */
static void check_integrity(Round *round)
{
    Text captured = {0};
    Text plain = {0};
    find_damage(round->captured, &captured);
    find_damage(round->plain, &plain);
    round->is_damaged = plain.size > 0;
    if (round->problem.size == 0 && captured.size > 0 && !round->is_damaged) {
        text_add(&round->problem, "integrity_check: %s", text_get(&captured));
    }
    text_free(&captured);
    text_free(&plain);
}

static void finish(Round *round)
{
    if (!sqlite3_get_autocommit(round->captured)) {
        run_both(round,
                 pick(&round->generator, 2) > 0 ? "PRAGMA foreign_keys=0; COMMIT" : "ROLLBACK");
    }
    if (!sqlite3_get_autocommit(round->captured)) {
        run_both(round, "ROLLBACK");
    }
    compare(round, round->captured, round->plain, "contents with and without capture");
    check_integrity(round);
    if (round->problem.size > 0 || round->is_damaged ||
        replay_check_rules(round->captured, LOG, &round->problem)) {
        return;
    }
    sqlite3 *const last = copy_of(round->captured);
    sqlite3 *const start = copy_of(round->first);
    if (!replay_forward(round->first, round->captured, LOG, &round->problem)) {
        compare(round, round->first, round->captured, "forward replay and last state");
    }
    if (!round->generator.with_ddl &&
        !replay_backward(last, round->captured, LOG, &round->problem)) {
        compare(round, last, start, "backward replay and first state");
    }
    sqlite3_close(last);
    sqlite3_close(start);
}

static void play(Round *round, uint64_t seed, uint64_t number, int is_slow)
{
    *round = (Round){.generator.state = seed * 1000003 + number};
    round->generator.with_ddl = pick(&round->generator, 2) > 0;
    round->captured = open_memory();
    round->plain = open_memory();
    begin(round);
    Text sql = {0};
    for (uint32_t left = 30 + pick(&round->generator, 60); left > 0 && round->problem.size == 0;
         left--) {
        if (pick(&round->generator, 25) == 0) {
            write_both(round);
            continue;
        }
        text_clear(&sql);
        generate_statement(&round->generator, &sql);
        run_both(round, text_get(&sql));
        if (is_slow) {
            compare(round, round->captured, round->plain, "contents with and without capture");
        }
    }
    text_free(&sql);
    if (round->problem.size == 0) {
        finish(round);
    }
}

static void end(Round *round)
{
    if (sqlite3_close(round->captured) != SQLITE_OK || sqlite3_close(round->plain) != SQLITE_OK ||
        sqlite3_close(round->first) != SQLITE_OK) {
        text_add(&round->problem, "a connection cannot be closed");
    }
    text_free(&round->history);
}

int main(int argument_count, char **arguments)
{
    unsigned long long seed = 1;
    unsigned long long first = 0;
    unsigned long long rounds = 100;
    int prints = 0;
    for (int i = 1; i < argument_count; i++) {
        const char *const value = i + 1 < argument_count ? arguments[i + 1] : "0";
        if (strcmp(arguments[i], "--seed") == 0) {
            seed = strtoull(value, NULL, 10);
        } else if (strcmp(arguments[i], "--rounds") == 0) {
            rounds = strtoull(value, NULL, 10);
        } else if (strcmp(arguments[i], "--round") == 0) {
            first = strtoull(value, NULL, 10);
            rounds = 1;
        } else if (strcmp(arguments[i], "--print") == 0) {
            prints = 1;
        }
    }
    Round round;
    long transactions = 0;
    long statements = 0;
    long failures = 0;
    long damaged = 0;
    int bad = 0;
    for (unsigned long long number = first; number < first + rounds && bad < 3; number++) {
        play(&round, seed, number, prints);
        if (prints) {
            (void)printf("%s", text_get(&round.history));
        }
        end(&round);
        transactions += round.transactions;
        statements += round.statements;
        failures += round.failures;
        damaged += round.is_damaged;
        if (round.problem.size > 0) {
            bad++;
            (void)printf("--seed %llu --round %llu: %s\n", seed, number, text_get(&round.problem));
        }
        text_free(&round.problem);
    }
    (void)printf("%ld transactions, %ld statements, %ld failed alike, %ld databases damaged "
                 "without capture too\n",
                 transactions, statements, failures, damaged);
    return bad > 0;
}
