/* bench_commit.c: from a commit to the view, through the extension.
 *
 * Table t(id BIGINT, k INTEGER, v BIGINT) and a copy of it, u, that no view reads; a table d of names
 * for k. A change is one statement in a transaction of its own, then a sync. Beside each: the same
 * statement on u, and the view's definition run again. What a sync costs is told apart into finding
 * the change (a scan of the table, by fingerprints) and the step of the view once it is known. */
#include "duck.h"

#include <stdio.h>

enum { COMMIT_KEYS = 10000, BULK_ROWS = 100000 };

typedef struct CommitBench {
    Duck duck;
    size_t runs;
    size_t row_count; /* of t when it was made */
    size_t next_id;   /* of the next inserted row */
    size_t next_old;  /* of the next row to update or delete */
} CommitBench;

typedef struct CommitView {
    const char *name;
    const char *sql;
} CommitView;

static const CommitView VIEWS[] = {
    {"grouped", "SELECT k, count(*) AS n, sum(v) AS total FROM t GROUP BY k"},
    {"joined", "SELECT t.id, t.v, d.name FROM t JOIN d ON t.k = d.k"},
};

typedef enum ChangeKind { CHANGE_INSERT, CHANGE_UPDATE, CHANGE_DELETE } ChangeKind;

static const char *const CHANGE_NAMES[] = {"INSERT", "UPDATE", "DELETE"};

typedef struct Change {
    ChangeKind kind;
    size_t rows;
} Change;

static const Change CHANGES[] = {
    {CHANGE_INSERT, 1},    {CHANGE_UPDATE, 1},    {CHANGE_DELETE, 1},
    {CHANGE_INSERT, 1000}, {CHANGE_UPDATE, 1000}, {CHANGE_DELETE, 1000},
};

static void make_rows(Duck *duck, const char *table, size_t first, size_t count)
{
    duck_run(duck,
             "INSERT INTO %s SELECT i, (hash(i) %% %d)::INTEGER, (hash(i + 1) %% 1000000)::BIGINT "
             "FROM range(%zu, %zu) r(i)",
             table, COMMIT_KEYS, first, first + count);
}

static void commit_open(CommitBench *bench, const BenchOptions *options, size_t row_count)
{
    *bench = (CommitBench){.runs = 5, .row_count = row_count, .next_id = row_count};
    Duck *const duck = &bench->duck;
    duck_open(duck, options->extension);
    for (int i = 0; i < 2; i++) {
        const char *const table = i == 0 ? "t" : "u";
        duck_run(duck, "CREATE TABLE %s(id BIGINT, k INTEGER, v BIGINT)", table);
        make_rows(duck, table, 0, row_count);
    }
    duck_run(
        duck,
        "CREATE TABLE d AS SELECT i::INTEGER AS k, 'name of ' || i AS name FROM range(%d) r(i)",
        COMMIT_KEYS);
    duck_run(duck, "CALL dbsp_auto_sync(false)");
}

/* The statement, on t or u; the same rows for both. Returns its time. */
static double apply_change(CommitBench *bench, const char *table, const Change *change)
{
    const size_t rows = change->rows;
    switch (change->kind) {
    case CHANGE_INSERT:
        return duck_time(&bench->duck,
                         "INSERT INTO %s SELECT i, (i * 7 %% %d)::INTEGER, i FROM "
                         "range(%zu, %zu) r(i)",
                         table, COMMIT_KEYS, bench->next_id, bench->next_id + rows);
    case CHANGE_UPDATE:
        return duck_time(&bench->duck, "UPDATE %s SET v = v + 1 WHERE id BETWEEN %zu AND %zu",
                         table, bench->next_old, bench->next_old + rows - 1);
    case CHANGE_DELETE:
        return duck_time(&bench->duck, "DELETE FROM %s WHERE id BETWEEN %zu AND %zu", table,
                         bench->next_old, bench->next_old + rows - 1);
    }
    return 0;
}

static void advance(CommitBench *bench, const Change *change)
{
    bench->next_id += change->kind == CHANGE_INSERT ? change->rows : 0;
    bench->next_old += 7919 * change->rows;
    bench->next_old %= bench->row_count / 2;
}

typedef struct CommitSamples {
    Samples whole; /* statement and sync */
    Samples bare;  /* the statement on u */
    Samples rerun;
    Samples detect;
    Samples step;
} CommitSamples;

static double rerun(Duck *duck, const CommitView *view)
{
    return duck_time(duck, "SELECT bit_xor(hash(r)) FROM (%s) r", view->sql);
}

static void commit_run(CommitBench *bench, const CommitView *view, const Change *change,
                       CommitSamples *samples)
{
    Duck *const duck = &bench->duck;
    samples_add(&samples->bare, apply_change(bench, "u", change));
    const double statement = apply_change(bench, "t", change);
    const double sync = duck_time(duck, "CALL dbsp_sync()");
    samples_add(&samples->whole, statement + sync);
    samples_add(&samples->rerun, rerun(duck, view));
    samples_add(&samples->step,
                duck_number(duck, "SELECT last_step_ms FROM dbsp_view_state() WHERE view = '%s'",
                            view->name));
    samples_add(&samples->detect,
                duck_number(duck, "SELECT sum(last_sync_ms) FROM dbsp_table_state()"));
    advance(bench, change);
}

static void report_change(const CommitBench *bench, const Change *change,
                          const CommitSamples *samples)
{
    const bool has_target = change->rows == 1 && bench->row_count >= 10000000;
    char label[96];
    (void)snprintf(label, sizeof label, "%s %zu row%s", CHANGE_NAMES[change->kind], change->rows,
                   change->rows == 1 ? "" : "s");
    report_value(label, samples_median(&samples->whole), "ms", NO_TARGET);
    const Comparison lines[] = {
        {.label = "  statement and sync", .what = "the statement alone", .theirs = &samples->bare},
        {.label = "  statement and sync",
         .what = "definition again",
         .is_gain = true,
         .theirs = &samples->rerun},
        {.label = "  finding the change",
         .what = "definition again",
         .is_gain = true,
         .ours = &samples->detect,
         .theirs = &samples->rerun},
        {.label = "  the change is known: step",
         .what = "definition again",
         .is_gain = true,
         .ours = &samples->step,
         .theirs = &samples->rerun,
         .target = has_target ? AT_LEAST(100) : NO_TARGET},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        Comparison line = lines[i];
        line.unit = "ms";
        line.ours = line.ours == NULL ? &samples->whole : line.ours;
        report_comparison(&line);
    }
}

static void bench_view(CommitBench *bench, const CommitView *view)
{
    char title[128];
    duck_run(&bench->duck, "CALL dbsp_create_view('%s', '%s')", view->name, view->sql);
    (void)snprintf(title, sizeof title, "Commit to view: %s, table of %zu rows", view->name,
                   bench->row_count);
    report_title(title, view->sql);
    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++) {
        CommitSamples samples = {0};
        for (size_t run = 0; run < bench->runs; run++) {
            commit_run(bench, view, &CHANGES[i], &samples);
        }
        report_change(bench, &CHANGES[i], &samples);
    }
    duck_verify(&bench->duck, view->name);
}

/* 100,000 rows at once through a GROUP BY view. */
static void bench_bulk(CommitBench *bench)
{
    const Change change = {CHANGE_INSERT, BULK_ROWS};
    CommitSamples samples = {0};
    duck_run(&bench->duck, "CALL dbsp_create_view('%s', '%s')", VIEWS[0].name, VIEWS[0].sql);
    for (size_t run = 0; run < bench->runs; run++) {
        commit_run(bench, &VIEWS[0], &change, &samples);
    }
    char title[128];
    (void)snprintf(title, sizeof title,
                   "INSERT of %d rows through a GROUP BY view, table of %zu rows", (int)BULK_ROWS,
                   bench->row_count);
    report_title(title, VIEWS[0].sql);
    report_comparison(&(Comparison){.label = "statement and sync",
                                    .unit = "ms",
                                    .what = "the statement alone",
                                    .ours = &samples.whole,
                                    .theirs = &samples.bare,
                                    .target = AT_MOST(2)});
    report_value("  finding the change", samples_median(&samples.detect), "ms", NO_TARGET);
    report_value("  the change is known: step", samples_median(&samples.step), "ms", NO_TARGET);
    duck_verify(&bench->duck, VIEWS[0].name);
}

static void bench_size(const BenchOptions *options, size_t row_count)
{
    for (size_t i = 0; i < sizeof VIEWS / sizeof VIEWS[0]; i++) {
        CommitBench bench;
        commit_open(&bench, options, row_count);
        bench_view(&bench, &VIEWS[i]);
        duck_close(&bench.duck);
    }
}

int main(int argc, char **argv)
{
    const BenchOptions options = bench_options(argc, argv);
    bench_size(&options, 1000000);
    if (!options.is_quick) {
        bench_size(&options, 10000000);
    }
    CommitBench bench;
    commit_open(&bench, &options, 1000000);
    bench_bulk(&bench);
    duck_close(&bench.duck);
    report_end();
    return 0;
}
