/* bench_capture.c: commits through libweir, which tells views exactly what changed.
 *
 * Table t(id BIGINT PRIMARY KEY, k INTEGER, v BIGINT) with views, and a copy of it, u, that no view
 * reads. Each change is one statement; it is over when the views are current. What the views cost is
 * the difference to the same statement on u. */
#include "bench.h"
#include "embedded.h"

#include <stdio.h>
#include <string.h>

enum { KEYS = 10000 };

static WeirDb *open_tables(size_t row_count)
{
    WeirDb *const db = embedded_open();
    for (int i = 0; i < 2; i++) {
        const char *const table = i == 0 ? "t" : "u";
        run(db, "CREATE TABLE %s(id BIGINT PRIMARY KEY, k INTEGER, v BIGINT)", table);
        run(db,
            "INSERT INTO %s SELECT i, (hash(i) %% %d)::INTEGER, (hash(i + 1) %% 1000000)::BIGINT "
            "FROM range(%zu) r(i)",
            table, KEYS, row_count);
    }
    run(db, "CREATE TABLE d AS SELECT i::INTEGER AS k, 'name ' || i AS name FROM range(%d) r(i)",
        KEYS);
    return db;
}

typedef enum ChangeKind { CHANGE_INSERT, CHANGE_UPDATE, CHANGE_DELETE } ChangeKind;

typedef struct Change {
    const char *label;
    ChangeKind kind;
    size_t rows;
    double limit_ms; /* of what the views may cost; 0 = none */
} Change;

static const Change CHANGES[] = {
    {"INSERT 1 row", CHANGE_INSERT, 1, 0.2},        {"UPDATE 1 row", CHANGE_UPDATE, 1, 0.2},
    {"DELETE 1 row", CHANGE_DELETE, 1, 0.2},        {"INSERT 1000 rows", CHANGE_INSERT, 1000, 0},
    {"UPDATE 1000 rows", CHANGE_UPDATE, 1000, 2.0}, {"DELETE 1000 rows", CHANGE_DELETE, 1000, 0},
};

typedef struct Place {
    size_t next_new; /* ids of rows to insert */
    size_t next_old; /* of rows to update and delete */
} Place;

static void change(WeirDb *db, const Change *what, const char *table, const Place *place)
{
    const size_t old = place->next_old;
    switch (what->kind) {
    case CHANGE_INSERT:
        if (what->rows == 1) {
            run(db, "INSERT INTO %s VALUES (%zu, %zu, 7)", table, place->next_new,
                place->next_new % KEYS);
        } else {
            run(db, "INSERT INTO %s SELECT i, i %% %d, 7 FROM range(%zu, %zu) r(i)", table, KEYS,
                place->next_new, place->next_new + what->rows);
        }
        break;
    case CHANGE_UPDATE:
        if (what->rows == 1) {
            run(db, "UPDATE %s SET v = v + 1 WHERE id = %zu", table, old);
        } else {
            run(db, "UPDATE %s SET v = v + 1 WHERE id >= %zu AND id < %zu", table, old,
                old + what->rows);
        }
        break;
    case CHANGE_DELETE:
        if (what->rows == 1) {
            run(db, "DELETE FROM %s WHERE id = %zu", table, old);
        } else {
            run(db, "DELETE FROM %s WHERE id >= %zu AND id < %zu", table, old, old + what->rows);
        }
        break;
    }
}

/* One kind of change: with views, without, in turns. */
static void bench_change(WeirDb *db, const Change *what, Place *place, size_t runs)
{
    Samples with = {0};
    Samples without = {0};
    Samples cost = {0};
    for (size_t i = 0; i < runs; i++) {
        double start = bench_now_ms();
        change(db, what, "u", place);
        const double bare = bench_now_ms() - start;
        start = bench_now_ms();
        change(db, what, "t", place);
        const double ours = bench_now_ms() - start;
        samples_add(&with, ours);
        samples_add(&without, bare);
        samples_add(&cost, ours - bare);
        place->next_new += what->rows;
        place->next_old += what->rows;
    }
    report_comparison(&(Comparison){.label = what->label,
                                    .unit = "ms",
                                    .what = "without views",
                                    .ours = &with,
                                    .theirs = &without,
                                    .target = NO_TARGET});
    report_value("  what the view costs", samples_median(&cost), "ms",
                 what->limit_ms > 0 ? AT_MOST(what->limit_ms) : NO_TARGET);
}

static void bench_view(WeirDb *db, const char *title, const char *sql, Place *place, size_t runs)
{
    run(db, "CREATE MATERIALIZED VIEW v AS %s", sql);
    report_title(title, sql);
    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++) {
        bench_change(db, &CHANGES[i], place, runs);
    }
    run(db, "DROP MATERIALIZED VIEW v");
}

/* A large INSERT, and filling, beside DuckDB's own CREATE TABLE AS. */
static void bench_bulk(WeirDb *db, Place *place, size_t runs)
{
    static const char GROUPED[] = "SELECT k, count(*) AS n, sum(v) AS total FROM t GROUP BY k";
    const Change large = {"INSERT 100000 rows", CHANGE_INSERT, 100000, 0};
    Samples with = {0};
    Samples without = {0};
    Samples filled = {0};
    Samples table = {0};
    for (size_t i = 0; i < runs; i++) {
        double start = bench_now_ms();
        run(db, "CREATE TABLE c AS %s", GROUPED);
        samples_add(&table, bench_now_ms() - start);
        start = bench_now_ms();
        run(db, "CREATE MATERIALIZED VIEW v AS %s", GROUPED);
        samples_add(&filled, bench_now_ms() - start);
        start = bench_now_ms();
        change(db, &large, "u", place);
        samples_add(&without, bench_now_ms() - start);
        start = bench_now_ms();
        change(db, &large, "t", place);
        samples_add(&with, bench_now_ms() - start);
        place->next_new += large.rows;
        run(db, "DROP MATERIALIZED VIEW v; DROP TABLE c");
    }
    report_title("Large changes through a GROUP BY view", GROUPED);
    report_comparison(&(Comparison){.label = large.label,
                                    .unit = "ms",
                                    .what = "without views",
                                    .ours = &with,
                                    .theirs = &without,
                                    .target = AT_MOST(2)});
    report_comparison(&(Comparison){.label = "filling the view",
                                    .unit = "ms",
                                    .what = "CREATE TABLE AS",
                                    .ours = &filled,
                                    .theirs = &table,
                                    .target = AT_MOST(2)});
}

/* Views over k = 0, 1, ...: a change touches three of them. */
static double commits_of(WeirDb *db, size_t views, Place *place, size_t commits)
{
    for (size_t i = 0; i < views; i++) {
        run(db, "CREATE MATERIALIZED VIEW v%zu AS SELECT %s, count(*) AS n FROM %s GROUP BY 1", i,
            i < 3 ? "k" : "name", i < 3 ? "t" : "d");
    }
    const double start = bench_now_ms();
    for (size_t i = 0; i < commits; i++) {
        change(db, &CHANGES[0], "t", place);
        place->next_new++;
    }
    const double time = bench_now_ms() - start;
    for (size_t i = 0; i < views; i++) {
        run(db, "DROP MATERIALIZED VIEW v%zu", i);
    }
    return time;
}

static void bench_many(WeirDb *db, Place *place, size_t runs)
{
    enum { COMMITS = 200 };
    Samples few = {0};
    Samples many = {0};
    for (size_t i = 0; i < runs; i++) {
        samples_add(&few, commits_of(db, 3, place, COMMITS));
        samples_add(&many, commits_of(db, 100, place, COMMITS));
    }
    report_title("Many views", "200 one-row commits, of which 3 views read the table");
    report_value("commits each second, 3 views", COMMITS * 1000 / samples_median(&few), "",
                 NO_TARGET);
    report_comparison(&(Comparison){.label = "100 views",
                                    .unit = "ms",
                                    .what = "3 views",
                                    .ours = &many,
                                    .theirs = &few,
                                    .target = AT_MOST(1.2)});
}

int main(int argc, char **argv)
{
    const BenchOptions options = bench_options(argc, argv);
    const size_t sizes[] = {1000000, 10000000};
    const size_t runs = options.is_quick ? 21 : 51;
    for (size_t i = 0; i < (options.is_quick ? 1u : 2u); i++) {
        char title[128];
        WeirDb *const db = open_tables(sizes[i]);
        Place place = {.next_new = sizes[i], .next_old = 1000};
        (void)snprintf(title, sizeof title, "Commit through a GROUP BY view, %zu rows", sizes[i]);
        bench_view(db, title, "SELECT k, count(*) AS n, sum(v) AS total FROM t GROUP BY k", &place,
                   runs);
        (void)snprintf(title, sizeof title, "Commit through a join view, %zu rows", sizes[i]);
        bench_view(db, title, "SELECT t.id, t.v, d.name FROM t JOIN d ON t.k = d.k", &place, runs);
        bench_bulk(db, &place, 5);
        if (i == 0) {
            bench_many(db, &place, 3);
        }
        weir_close(db);
    }
    report_end();
    return 0;
}
