/* bench_cdc.c: what change capture costs.
 *
 *     bench_cdc [--rows N] [--only NAME] [--variant NAME]
 *
 * Each workload runs on a file in WAL mode with every variant, the variants taking turns, and the least of
 * several runs counts. Printed is the time of each as a multiple of the first variant, SQLite without
 * capture, and the bytes the log takes for a change. */
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 5 };

typedef enum Variant { OFF, ID, FULL, TRIGGERS, SESSION, VARIANTS } Variant;

static const char *const VARIANT_NAMES[VARIANTS] = {"off", "id", "full", "triggers", "session"};

typedef struct Workload {
    const char *name;
    const char *sql;     /* run for each row, or once */
    const char *setting; /* of synchronous */
    int is_bulk;         /* once, over all rows */
    int is_filled;       /* starts with all rows there */
    int batch;           /* rows a transaction; 0: one for all, timed by the processor's time */
    int divisor;         /* of the number of rows */
} Workload;

#define FILL                                                                                       \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT (SELECT rows FROM size)) " \
    "INSERT INTO t SELECT i, 'name of row ' || i, i * 1.5, i % 1000 FROM n"

static const Workload WORKLOADS[] = {
    {"insert", "INSERT INTO t VALUES (?1, 'name of this row', ?1 * 1.5, ?1 % 1000)", "OFF", 0, 0, 0,
     1},
    {"update", "UPDATE t SET score = score + 1, n = n + 1 WHERE id = ?1", "OFF", 0, 1, 0, 1},
    {"delete", "DELETE FROM t WHERE id = ?1", "OFF", 0, 1, 0, 1},
    {"bulk insert", FILL, "OFF", 1, 0, 0, 1},
    {"bulk update", "UPDATE t SET score = score + 1, n = n + 1", "OFF", 1, 1, 0, 1},
    {"bulk delete", "DELETE FROM t WHERE id > 0", "OFF", 1, 1, 0, 1},
    {"autocommit", "INSERT INTO t VALUES (?1, 'name of this row', ?1 * 1.5, ?1 % 1000)", "OFF", 0,
     0, 1, 20},
    {"batched", "INSERT INTO t VALUES (?1, 'name of this row', ?1 * 1.5, ?1 % 1000)", "FULL", 0, 0,
     100, 3},
    {"durable", "INSERT INTO t VALUES (?1, 'name of this row', ?1 * 1.5, ?1 % 1000)", "FULL", 0, 0,
     1, 300},
};

static const char TRIGGER_SQL[] =
    "CREATE TABLE log(id INTEGER PRIMARY KEY AUTOINCREMENT, time, type, tbl, row, before, after);"
    "CREATE TRIGGER ti AFTER INSERT ON t BEGIN INSERT INTO log(time,type,tbl,row,after) VALUES "
    "(unixepoch(),1,'t',"
    "new.id,json_object('id',new.id,'name',new.name,'score',new.score,'n',new.n)); END;"
    "CREATE TRIGGER tu AFTER UPDATE ON t BEGIN INSERT INTO log(time,type,tbl,row,before,after) "
    "VALUES (unixepoch(),0,"
    "'t',new.id,json_object('id',old.id,'name',old.name,'score',old.score,'n',old.n),"
    "json_object('id',new.id,'name',new.name,'score',new.score,'n',new.n)); END;"
    "CREATE TRIGGER td AFTER DELETE ON t BEGIN INSERT INTO log(time,type,tbl,row,before) VALUES "
    "(unixepoch(),-1,'t',"
    "old.id,json_object('id',old.id,'name',old.name,'score',old.score,'n',old.n)); END;";

static void die(sqlite3 *db, const char *what)
{
    (void)fprintf(stderr, "bench_cdc: %s: %s\n", what, sqlite3_errmsg(db));
    exit(1);
}

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        die(db, sql);
    }
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double wall(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void run_rows(sqlite3 *db, const Workload *workload, int rows)
{
    const int batch = workload->batch;
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, workload->sql, -1, &statement, NULL) != SQLITE_OK) {
        die(db, workload->sql);
    }
    for (int i = 1; i <= rows; i++) {
        if (batch > 1 && i % batch == 1) {
            run(db, "BEGIN");
        }
        (void)sqlite3_bind_int(statement, 1, i);
        if (sqlite3_step(statement) != SQLITE_DONE || sqlite3_reset(statement) != SQLITE_OK) {
            die(db, workload->sql);
        }
        if (batch > 1 && (i % batch == 0 || i == rows)) {
            run(db, "COMMIT");
        }
    }
    (void)sqlite3_finalize(statement);
}

static double bytes_per_change(sqlite3 *db)
{
    sqlite3_stmt *row = NULL;
    double bytes = 0;
    if (sqlite3_prepare_v2(db,
                           "SELECT (SELECT sum(pgsize) FROM dbstat WHERE "
                           "name='turso_cdc')*1.0/count(*) FROM turso_cdc",
                           -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW) {
        bytes = sqlite3_column_double(row, 0);
    }
    (void)sqlite3_finalize(row);
    return bytes;
}

/* One run; the seconds it took. */
static double measure(const Workload *workload, Variant variant, int rows, double *bytes)
{
    static const char *const FILES[] = {"bench_cdc.db", "bench_cdc.db-wal", "bench_cdc.db-shm"};
    sqlite3 *db = NULL;
    sqlite3_session *session = NULL;
    for (int i = 0; i < 3; i++) {
        (void)unlink(FILES[i]);
    }
    if (sqlite3_open(FILES[0], &db) != SQLITE_OK) {
        die(db, "cannot open");
    }
    char *const setup =
        sqlite3_mprintf("PRAGMA journal_mode=WAL; PRAGMA synchronous=%s; PRAGMA cache_size=-200000;"
                        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, score REAL, n INTEGER);"
                        "CREATE TEMP TABLE size AS SELECT %d AS rows",
                        workload->setting, rows);
    run(db, setup);
    sqlite3_free(setup);
    if (workload->is_filled) {
        run(db, FILL);
    }
    if (variant == TRIGGERS) {
        run(db, TRIGGER_SQL);
    } else if (variant == SESSION) {
        if (sqlite3session_create(db, "main", &session) != SQLITE_OK ||
            sqlite3session_attach(session, "t") != SQLITE_OK) {
            die(db, "session");
        }
    } else if (variant != OFF) {
        run(db, variant == ID ? "PRAGMA capture_data_changes_conn('id')"
                              : "PRAGMA capture_data_changes_conn('full')");
    }
    const double start = workload->batch > 0 ? wall() : now();
    if (workload->batch == 0) {
        run(db, "BEGIN");
    }
    if (workload->is_bulk) {
        run(db, workload->sql);
    } else {
        run_rows(db, workload, rows);
    }
    if (workload->batch == 0) {
        run(db, "COMMIT");
    }
    const double seconds = (workload->batch > 0 ? wall() : now()) - start;
    if (variant == FULL) {
        *bytes = bytes_per_change(db);
    }
    if (session != NULL) {
        sqlite3session_delete(session);
    }
    (void)sqlite3_close(db);
    return seconds;
}

int main(int argument_count, char **arguments)
{
    int rows = 300000;
    const char *only = NULL;
    const char *only_variant = NULL;
    for (int i = 1; i + 1 < argument_count; i += 2) {
        if (strcmp(arguments[i], "--rows") == 0) {
            rows = (int)strtol(arguments[i + 1], NULL, 10);
        } else if (strcmp(arguments[i], "--only") == 0) {
            only = arguments[i + 1];
        } else if (strcmp(arguments[i], "--variant") == 0) {
            only_variant = arguments[i + 1];
        }
    }
    (void)printf("%-12s %12s %8s %8s %8s %8s %8s %10s\n", "workload", "off rows/s", "off", "id",
                 "full", "triggers", "session", "bytes");
    for (size_t i = 0; i < sizeof WORKLOADS / sizeof WORKLOADS[0]; i++) {
        const Workload *const workload = &WORKLOADS[i];
        double best[VARIANTS] = {0};
        double bytes = 0;
        const int count = rows / workload->divisor;
        if (only != NULL && strcmp(only, workload->name) != 0) {
            continue;
        }
        for (int k = 0; k < RUNS * VARIANTS; k++) {
            const Variant variant = (Variant)(k % VARIANTS);
            if (only_variant != NULL && strcmp(only_variant, VARIANT_NAMES[variant]) != 0) {
                continue;
            }
            const double seconds = measure(workload, variant, count, &bytes);
            if (best[variant] <= 0 || seconds < best[variant]) {
                best[variant] = seconds;
            }
        }
        (void)printf("%-12s %12.0f", workload->name, count / best[OFF]);
        for (int k = 0; k < VARIANTS; k++) {
            (void)printf(" %8.2f", best[k] / best[OFF]);
        }
        (void)printf(" %10.1f\n", bytes);
        (void)fflush(stdout);
    }
    return 0;
}
