/* bench_live.c: views under steady writing, and how fast they are read: commits a second with more and
 * more views over one table, the latency of a read while another connection writes as fast as it can,
 * and values a second out of a large view. All through libweir. */
#include "bench.h"
#include "embedded.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 1000 };

static double time_of(WeirDb *db, const char *sql)
{
    const double start = bench_now_ms();
    run(db, "%s", sql);
    return bench_now_ms() - start;
}

static WeirDb *open_table(size_t row_count)
{
    WeirDb *const db = embedded_open();
    run(db,
        "CREATE TABLE t AS SELECT i AS id, (hash(i) %% %d)::INTEGER AS k, i %% 777 AS v, i / 2 AS "
        "d "
        "FROM range(%zu) r(i)",
        KEYS, row_count);
    return db;
}

/* --- commits a second --------------------------------------------------------------------------- */

/* Thirds of INSERT, UPDATE and DELETE. */
static void commit_one(WeirDb *db, size_t i, size_t *next_id)
{
    switch (i % 3) {
    case 0: run(db, "INSERT INTO t VALUES (%zu, %zu, 7, 0.5)", *next_id, *next_id % KEYS); break;
    case 1: run(db, "UPDATE t SET v = v + 1 WHERE id = %zu", *next_id); break;
    default: run(db, "DELETE FROM t WHERE id = %zu", *next_id); ++*next_id;
    }
}

static void bench_commits(WeirDb *db, bool is_quick, size_t row_count)
{
    static const size_t counts[] = {0, 1, 10, 100};
    const double enough_ms = is_quick ? 400 : 3000;
    size_t next_id = row_count;
    size_t view_count = 0;
    report_title("Commits a second, one after the other",
                 "one row each, a third INSERT, UPDATE and DELETE; all views read the table");
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (; view_count < counts[c]; view_count++) {
            run(db,
                "CREATE MATERIALIZED VIEW s%zu AS SELECT k %% %zu AS g, count(*) AS n, sum(v) AS s "
                "FROM t WHERE v <> %zu GROUP BY g",
                view_count, 10 + view_count, view_count);
        }
        size_t commits = 0;
        const double start = bench_now_ms();
        double passed = 0;
        while (passed < enough_ms) {
            commit_one(db, commits++, &next_id);
            passed = bench_now_ms() - start;
        }
        char label[64];
        (void)snprintf(label, sizeof label, "%zu views", counts[c]);
        report_value(label, (double)commits * 1000 / passed, "commits/s", NO_TARGET);
    }
    for (size_t i = 0; i < view_count; i++) {
        run(db, "DROP MATERIALIZED VIEW s%zu", i);
    }
}

/* --- reading beside a writer -------------------------------------------------------------------- */

typedef struct Writer {
    WeirDb *db; /* a connection of its own */
    size_t next_id;
    atomic_size_t commits;
    atomic_bool is_stopped;
} Writer;

static void *write_on(void *argument)
{
    Writer *const writer = argument;
    while (!atomic_load(&writer->is_stopped)) {
        commit_one(writer->db, atomic_fetch_add(&writer->commits, 1), &writer->next_id);
    }
    return NULL;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report_latency(WeirDb *db, const char *label, const char *sql, size_t reads)
{
    double *times = bench_alloc(reads, sizeof *times);
    char line[96];
    for (size_t i = 0; i < reads; i++) {
        times[i] = time_of(db, sql);
    }
    qsort(times, reads, sizeof *times, compare_doubles);
    (void)snprintf(line, sizeof line, "%s, p50", label);
    report_value(line, times[reads / 2], "ms", NO_TARGET);
    (void)snprintf(line, sizeof line, "%s, p99", label);
    report_value(line, times[reads * 99 / 100], "ms", NO_TARGET);
    bench_free(times);
}

static void bench_readers(WeirDb *db, bool is_quick, size_t row_count)
{
    static const char READ[] = "SELECT sum(n), max(s) FROM live";
    static const char AGAIN[] =
        "SELECT sum(n), max(s) FROM (SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k)";
    const size_t reads = is_quick ? 300 : 3000;
    Writer writer = {.next_id = row_count * 2};
    WeirError err = {0};
    pthread_t thread;
    run(db,
        "CREATE MATERIALIZED VIEW live AS SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k");
    report_title("Reading a view of 1000 groups", READ);
    report_latency(db, "nobody writes", READ, reads);
    if (weir_connect(db, &writer.db, &err) != WEIR_OK ||
        pthread_create(&thread, NULL, write_on, &writer) != 0) {
        bench_fail("no writer: %s", err.message);
    }
    const double start = bench_now_ms();
    report_latency(db, "beside a writer", READ, reads);
    const double passed = bench_now_ms() - start;
    const size_t commits = atomic_load(&writer.commits);
    report_latency(db, "the definition again", AGAIN, reads / 10);
    atomic_store(&writer.is_stopped, true);
    if (pthread_join(thread, NULL) != 0) {
        bench_fail("the writer does not end");
    }
    report_value("meanwhile the writer did", (double)commits * 1000 / passed, "commits/s",
                 NO_TARGET);
    weir_close(writer.db);
    run(db, "DROP MATERIALIZED VIEW live");
}

/* --- scanning ----------------------------------------------------------------------------------- */

static void bench_scan(WeirDb *db, size_t row_count, size_t runs)
{
    enum { COLUMNS = 4 };
    Samples view = {0};
    Samples table = {0};
    Samples rate = {0};
    run(db, "CREATE MATERIALIZED VIEW whole AS SELECT id, k, v, d FROM t WHERE k >= 0");
    for (size_t i = 0; i < runs; i++) {
        samples_add(&table, time_of(db, "SELECT sum(id), sum(k), sum(v), sum(d) FROM t"));
        samples_add(&view, time_of(db, "SELECT sum(id), sum(k), sum(v), sum(d) FROM whole"));
        samples_add(&rate, (double)row_count * COLUMNS / 1000 / view.values[i]);
    }
    report_title("Scanning a large view", "SELECT sum(id), sum(k), sum(v), sum(d) FROM whole");
    report_comparison(&(Comparison){.label = "four columns",
                                    .unit = "ms",
                                    .what = "the table",
                                    .ours = &view,
                                    .theirs = &table,
                                    .target = NO_TARGET});
    report_value("values", samples_median(&rate), "M/s", AT_LEAST(50));
    run(db, "DROP MATERIALIZED VIEW whole");
}

int main(int argc, char **argv)
{
    const BenchOptions options = bench_options(argc, argv);
    const size_t row_count = 1000000;
    WeirDb *const db = open_table(row_count);
    bench_commits(db, options.is_quick, row_count);
    bench_readers(db, options.is_quick, row_count);
    bench_scan(db, row_count, options.is_quick ? 5 : 21);
    weir_close(db);
    report_end();
    return 0;
}
