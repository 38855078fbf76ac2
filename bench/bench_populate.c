/* bench_populate.c: filling a view, beside CREATE TABLE AS of its definition; with one thread and
 * with as many as DuckDB takes by default. The first view of a table also makes the baseline by which
 * changes are found; a later one finds it there. */
#include "duck.h"

#include <stdio.h>

typedef struct PopulateView {
    const char *label;
    const char *sql;
} PopulateView;

static const PopulateView VIEWS[] = {
    {"filter + project", "SELECT id, v + w AS s FROM t WHERE v < w"},
    {"GROUP BY, 1000 groups", "SELECT g, count(*) AS n, sum(v) AS total FROM t GROUP BY g"},
    {"GROUP BY, 1,000,000 groups", "SELECT m, count(*) AS n, sum(v) AS total FROM t GROUP BY m"},
    {"join with 100,000 rows", "SELECT t.id, t.v, d.name FROM t JOIN d ON t.k = d.k"},
};

enum { DEFAULT_THREADS = 0 };

typedef struct PopulateSamples {
    Samples table;  /* CREATE TABLE AS */
    Samples first;  /* dbsp_create_view, table not followed yet */
    Samples later;  /* the same, table followed */
    Samples filled; /* populate_ms of that */
} PopulateSamples;

static void populate_open(Duck *duck, const BenchOptions *options, size_t row_count)
{
    duck_open(duck, options->extension);
    duck_run(duck,
             "CREATE TABLE t AS SELECT i AS id, (hash(i) %% 100000)::INTEGER AS k, "
             "(hash(i + 1) %% 1000)::INTEGER AS g, (hash(i + 2) %% 1000000)::INTEGER AS m, "
             "(hash(i + 3) %% 1000000)::BIGINT AS v, (hash(i + 4) %% 1000000)::BIGINT AS w "
             "FROM range(%zu) r(i)",
             row_count);
    duck_run(duck, "CREATE TABLE d AS SELECT i::INTEGER AS k, 'name ' || i AS name "
                   "FROM range(100000) r(i)");
}

/* The view alone, then once more beside another one over the same columns. */
static void populate_run(Duck *duck, const PopulateView *view, PopulateSamples *samples)
{
    samples_add(&samples->table, duck_time(duck, "CREATE TABLE c AS %s", view->sql));
    duck_run(duck, "DROP TABLE c");
    samples_add(&samples->first, duck_time(duck, "CALL dbsp_create_view('a', '%s')", view->sql));
    samples_add(&samples->later, duck_time(duck, "CALL dbsp_create_view('b', '%s')", view->sql));
    samples_add(&samples->filled,
                duck_number(duck, "SELECT populate_ms FROM dbsp_view_state() WHERE view = 'b'"));
    duck_run(duck, "CALL dbsp_drop('a'); CALL dbsp_drop('b')");
}

static void populate_bench(Duck *duck, const BenchOptions *options, const PopulateView *view,
                           const char *threads)
{
    PopulateSamples samples = {0};
    const size_t runs = options->is_quick ? 3 : 5;
    for (size_t run = 0; run < runs; run++) {
        populate_run(duck, view, &samples);
    }
    char label[96];
    const struct {
        const char *what;
        const Samples *ours;
        Target target;
    } lines[] = {
        {"first view of its table", &samples.first, AT_MOST(2)},
        {"later view", &samples.later, NO_TARGET},
        {"later view, the circuit alone", &samples.filled, NO_TARGET},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        (void)snprintf(label, sizeof label, "%s: %s", view->label, lines[i].what);
        report_comparison(&(Comparison){.label = label,
                                        .unit = "ms",
                                        .what = threads,
                                        .ours = lines[i].ours,
                                        .theirs = &samples.table,
                                        .target = lines[i].target});
    }
}

/* What a followed table keeps for each row, beside the packed values. */
static void baseline_bench(Duck *duck, size_t row_count)
{
    duck_run(duck, "CALL dbsp_create_view('a', 'SELECT id, v, w, k, g, m FROM t WHERE v < 0')");
    const double bytes =
        duck_number(duck, "SELECT state_bytes FROM dbsp_table_state() WHERE \"table\" LIKE '%%t'");
    const double packed = 3 * 8 + 3 * 4;
    report_title("State of a followed table", "6 columns, 36 bytes packed");
    report_value("bytes for each row of the table", bytes / (double)row_count, "B",
                 AT_MOST(packed + 32));
    duck_run(duck, "CALL dbsp_drop('a')");
}

int main(int argc, char **argv)
{
    const BenchOptions options = bench_options(argc, argv);
    const size_t row_count = options.is_quick ? 1000000 : 4000000;
    Duck duck;
    char title[96];
    populate_open(&duck, &options, row_count);
    baseline_bench(&duck, row_count);
    (void)snprintf(title, sizeof title, "Filling a view over %zu rows", row_count);
    report_title(title, "beside CREATE TABLE AS of the definition");
    for (size_t threads = 1; threads <= 2; threads++) {
        if (threads == 1) {
            duck_run(&duck, "SET threads = 1");
        } else {
            duck_run(&duck, "RESET threads");
        }
        for (size_t i = 0; i < sizeof VIEWS / sizeof VIEWS[0]; i++) {
            populate_bench(&duck, &options, &VIEWS[i],
                           threads == 1 ? "CTAS, 1 thread" : "CTAS, default threads");
        }
    }
    duck_close(&duck);
    report_end();
    return 0;
}
