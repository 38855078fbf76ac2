/* bench_follow.c: reading a view in a process that is not ours: the table is in a file, and what others
 * commit is found in DuckDB's log.
 *
 * Table t(id BIGINT, k INTEGER, v BIGINT); a table d of names for k. Beside each reading of a view the
 * same statement over a table with the same rows. A change is one statement on another connection. */
#include "duck.h"

#include <stdio.h>
#include <unistd.h>

enum { FOLLOW_KEYS = 1000, FOLLOW_RUNS = 41 };

static const char DATABASE[] = "bench_follow.db";
static const char LOG[] = "bench_follow.db.wal";

typedef struct FollowView {
    const char *name;
    const char *sql;
} FollowView;

static const FollowView VIEWS[] = {
    {"grouped", "SELECT k, count(*) AS n, sum(v) AS total FROM x.t GROUP BY k"},
    {"joined", "SELECT d.name, count(*) AS n, sum(t.v) AS total FROM x.t JOIN x.d ON t.k = d.k "
               "GROUP BY d.name"},
};

typedef enum FollowChange {
    FOLLOW_NOTHING,
    FOLLOW_INSERT,
    FOLLOW_UPDATE,
    FOLLOW_DELETE
} FollowChange;

static const char *const CHANGE_NAMES[] = {"unchanged", "after INSERT of 1 row",
                                           "after UPDATE of 1 row", "after DELETE of 1 row"};

static void apply_change(Duck *writer, FollowChange change, size_t row)
{
    switch (change) {
    case FOLLOW_NOTHING: break;
    case FOLLOW_INSERT: duck_run(writer, "INSERT INTO t VALUES (-1, 7, %zu)", row); break;
    case FOLLOW_UPDATE: duck_run(writer, "UPDATE t SET v = v + 1 WHERE id = %zu", row); break;
    case FOLLOW_DELETE: duck_run(writer, "DELETE FROM t WHERE id = %zu", row); break;
    }
}

static void follow_open(Duck *duck, const BenchOptions *options, size_t row_count)
{
    (void)unlink(DATABASE);
    (void)unlink(LOG);
    duck_open(duck, options->extension);
    duck_run(duck, "ATTACH '%s' AS x; USE x; SET wal_autocheckpoint = '1TB'", DATABASE);
    duck_run(duck,
             "CREATE TABLE t AS SELECT i AS id, (hash(i) %% %d)::INTEGER AS k, "
             "(hash(i + 1) %% 1000000)::BIGINT AS v FROM range(%zu) r(i)",
             FOLLOW_KEYS, row_count);
    duck_run(
        duck,
        "CREATE TABLE d AS SELECT i::INTEGER AS k, 'name of ' || i AS name FROM range(%d) r(i)",
        FOLLOW_KEYS);
    duck_run(duck, "CHECKPOINT x");
    for (size_t i = 0; i < sizeof VIEWS / sizeof VIEWS[0]; i++) {
        duck_run(duck, "CALL dbsp_create_view('%s', '%s')", VIEWS[i].name, VIEWS[i].sql);
        duck_run(duck, "CREATE TABLE copy_of_%s AS FROM %s", VIEWS[i].name, VIEWS[i].name);
    }
}

static double read_view(Duck *duck, const char *prefix, const FollowView *view)
{
    return duck_time(duck, "SELECT sum(n), max(total) FROM %s%s", prefix, view->name);
}

/* The view that is read first after a change pays for finding it. */
static void bench_change(Duck *duck, Duck *writer, const FollowView *view, FollowChange change,
                         size_t row_count, size_t *next_row)
{
    Samples added = {0};
    Samples bare = {0};
    for (int run = 0; run < FOLLOW_RUNS; run++) {
        const double floor = read_view(duck, "copy_of_", view);
        apply_change(writer, change, *next_row);
        *next_row = (*next_row + 7919) % row_count;
        samples_add(&added, read_view(duck, "", view) - floor);
        samples_add(&bare, floor);
    }
    char label[96];
    (void)snprintf(label, sizeof label, "%s: %s, over the table's %.2f ms", view->name,
                   CHANGE_NAMES[change], samples_median(&bare));
    report_value(label, samples_median(&added), "ms",
                 AT_MOST(change == FOLLOW_NOTHING ? 0.1 : 0.5));
}

static void bench_size(const BenchOptions *options, size_t row_count)
{
    Duck duck;
    char title[96];
    size_t next_row = 1;
    follow_open(&duck, options, row_count);
    Duck writer = {.database = duck.database};
    if (duckdb_connect(writer.database, &writer.connection) != DuckDBSuccess) {
        bench_fail("cannot connect");
    }
    duck_run(&writer, "USE x");
    (void)snprintf(title, sizeof title, "Reading a view of a file, table of %zu rows", row_count);
    report_title(title, "what a reading takes longer than one of a table with the view's rows");
    for (size_t i = 0; i < sizeof VIEWS / sizeof VIEWS[0]; i++) {
        for (int change = FOLLOW_NOTHING; change <= FOLLOW_DELETE; change++) {
            bench_change(&duck, &writer, &VIEWS[i], (FollowChange)change, row_count, &next_row);
        }
        duck_verify(&duck, VIEWS[i].name);
    }
    duckdb_disconnect(&writer.connection);
    duck_close(&duck);
    (void)unlink(DATABASE);
    (void)unlink(LOG);
}

int main(int argc, char **argv)
{
    const BenchOptions options = bench_options(argc, argv);
    bench_size(&options, 1000000);
    if (!options.is_quick) {
        bench_size(&options, 10000000);
    }
    report_end();
    return 0;
}
