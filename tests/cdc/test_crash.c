/* test_crash.c: the process is killed while it commits; afterwards a row is there exactly if its record is.
 *
 *     test_crash DIRECTORY [ROUNDS [SEED]] */
#include "decode.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        (void)fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
        _exit(3);
    }
}

/* Writes until it is killed. */
static void write_for_ever(const char *path, const char *journal)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db) != SQLITE_OK) {
        _exit(3);
    }
    char *const setup = sqlite3_mprintf(
        "PRAGMA journal_mode=%s; PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=20;"
        "PRAGMA cache_size=10; PRAGMA capture_data_changes_conn('full')",
        journal);
    run(db, setup);
    for (int i = 0;; i++) {
        run(db, "INSERT INTO t(v) VALUES (randomblob(100))");
        run(db, "BEGIN; INSERT INTO t(v) VALUES (randomblob(3000)),(randomblob(9)); UPDATE t SET "
                "v=randomblob(50) WHERE "
                "x%17=3; DELETE FROM t WHERE x%23=5; COMMIT");
        if (i % 40 == 39) {
            run(db, "DELETE FROM turso_cdc WHERE change_id<(SELECT max(change_id)-1000000 FROM "
                    "turso_cdc)");
        }
    }
}

static int count(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row = NULL;
    int result = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW) {
        result = sqlite3_column_int(row, 0);
    } else {
        (void)fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    }
    sqlite3_finalize(row);
    return result;
}

/* The number of ways in which table and log differ. */
static int check(const char *path)
{
    /* The last record of each row says whether it is there. */
    static const char PRESENCE[] =
        "SELECT count(*) FROM (SELECT id, change_type, max(change_id) FROM turso_cdc WHERE "
        "table_name='t' "
        "GROUP BY id) AS l WHERE (change_type=-1) = EXISTS (SELECT 1 FROM t WHERE x=l.id)";
    /* Every transaction has its one COMMIT record, the last of its records. */
    static const char COMMITS[] = "SELECT count(*) FROM (SELECT change_txn_id, sum(change_type=2) "
                                  "AS commits, max(change_id) AS last, "
                                  "max(CASE change_type WHEN 2 THEN change_id END) AS c FROM "
                                  "turso_cdc WHERE change_txn_id>0 GROUP BY 1) "
                                  "WHERE commits<>1 OR last<>c";
    static const char SEQUENCE[] =
        "SELECT (SELECT seq FROM sqlite_sequence WHERE name='turso_cdc') <> "
        "(SELECT max(change_id) FROM turso_cdc)";
    static const char *const QUERIES[] = {
        PRESENCE,
        "SELECT count(*) FROM t WHERE x NOT IN (SELECT id FROM turso_cdc WHERE table_name='t')",
        COMMITS,
        SEQUENCE,
        "SELECT integrity_check<>'ok' FROM pragma_integrity_check LIMIT 1",
    };
    sqlite3 *db = NULL;
    int problems = 0;
    if (sqlite3_open(path, &db) != SQLITE_OK) {
        return 1;
    }
    if (count(db, "SELECT count(*) FROM sqlite_schema WHERE name='turso_cdc'") == 1 &&
        count(db, "SELECT count(*) FROM turso_cdc") > 0) {
        for (size_t i = 0; i < sizeof QUERIES / sizeof QUERIES[0]; i++) {
            const int wrong = count(db, QUERIES[i]);
            if (wrong != 0) {
                (void)printf("query %zu: %d\n", i, wrong);
                problems++;
            }
        }
    }
    (void)printf("%d rows, %d records\n", count(db, "SELECT count(*) FROM t"),
                 count(db, "SELECT count(*) FROM sqlite_schema WHERE name='turso_cdc'") == 1
                     ? count(db, "SELECT count(*) FROM turso_cdc")
                     : 0);
    sqlite3_close(db);
    return problems;
}

int main(int argument_count, char **arguments)
{
    static const char *const JOURNALS[] = {"WAL", "DELETE", "TRUNCATE", "PERSIST"};
    static const char *const SUFFIXES[] = {"", "-wal", "-shm", "-journal"};
    char path[512];
    char file[600];
    const int rounds = argument_count > 2 ? (int)strtol(arguments[2], NULL, 10) : 12;
    uint32_t seed = argument_count > 3 ? (uint32_t)strtoul(arguments[3], NULL, 10) : 1;
    int problems = 0;
    if (argument_count < 2) {
        return 2;
    }
    for (int round = 0; round < rounds; round++) {
        (void)snprintf(path, sizeof path, "%s/crash_%d.db", arguments[1], round % 4);
        for (size_t i = 0; round < 4 && i < 4; i++) {
            (void)snprintf(file, sizeof file, "%s%s", path, SUFFIXES[i]);
            (void)unlink(file);
        }
        sqlite3 *db = NULL;
        if (sqlite3_open(path, &db) != SQLITE_OK) {
            return 2;
        }
        run(db, "CREATE TABLE IF NOT EXISTS t(x INTEGER PRIMARY KEY AUTOINCREMENT, v)");
        sqlite3_close(db);
        const pid_t child = fork();
        if (child == 0) {
            write_for_ever(path, JOURNALS[round % 4]);
        }
        seed = seed * 1103515245 + 12345;
        const struct timespec delay = {.tv_nsec = 20000000 + (long)(seed % 200000000)};
        (void)nanosleep(&delay, NULL);
        int status = 0;
        (void)kill(child, SIGKILL);
        (void)waitpid(child, &status, 0);
        if (!WIFSIGNALED(status)) {
            (void)printf("round %d: the writer ended by itself\n", round);
            problems++;
        }
        problems += check(path);
    }
    return problems > 0;
}
