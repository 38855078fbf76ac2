/* demo.c: three million flights, six live views, one day of changes.
 *
 * Loads the flights but for the last full day, creates the views, then commits that day hour by hour
 * with corrections and cancellations in between. For each commit: what changed in the views, how
 * long it took to keep them current, and how long running the definitions again takes. At the end
 * every view is compared with its definition. Uses the public API only.
 *
 *   weir_demo DATA_DIRECTORY */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "weir.h"

typedef struct DemoView {
    const char *name;
    const char *what;
    const char *sql;
    const char *from_tables; /* the same without reading other views; NULL = sql does not */
} DemoView;

/* The definition of view "routes", which another view reads. */
#define ROUTES                                                                      \
    "SELECT o.name AS from_airport, d.name AS to_airport, count(*) AS flights, "    \
    "sum(f.distance) AS miles FROM flights f JOIN airports o ON f.origin = o.iata " \
    "JOIN airports d ON f.destination = d.iata GROUP BY ALL"

static const DemoView VIEWS[] = {
    {"delays", "flights and delays by airport and day",
     "SELECT origin, date::DATE AS day, count(*) AS flights, avg(delay) AS mean_delay, "
     "max(delay) AS worst FROM flights GROUP BY origin, date::DATE",
     NULL},
    {"routes", "routes with the names of their airports", ROUTES, NULL},
    {"busy_routes", "a view on a view: routes flown more than 5000 times",
     "SELECT from_airport, to_airport, flights FROM routes WHERE flights > 5000",
     "SELECT from_airport, to_airport, flights FROM (" ROUTES ") WHERE flights > 5000"},
    {"destinations", "DISTINCT: which airports are reached from where",
     "SELECT DISTINCT origin, destination FROM flights WHERE delay < 1000", NULL},
    {"quiet_airports", "an outer join: airports and their departures, if any",
     "SELECT a.iata, a.city, coalesce(f.n, 0) AS departures FROM airports a LEFT JOIN "
     "(SELECT origin, count(*) AS n FROM flights GROUP BY origin) f ON a.iata = f.origin "
     "WHERE coalesce(f.n, 0) < 500",
     NULL},
    {"total", "one row over everything",
     "SELECT count(*) AS flights, sum(distance) AS miles, avg(delay) AS mean_delay, "
     "min(date) AS first, max(date) AS last FROM flights",
     NULL},
};

enum { VIEW_COUNT = sizeof VIEWS / sizeof VIEWS[0], SHOWN_ROWS = 1, HOURS = 24 };

typedef struct Demo {
    WeirDb *db;
    bool is_color;
    double maintain_ms; /* sums over all commits */
    double rerun_ms;
    size_t commits;
} Demo;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static const char *paint(const Demo *demo, const char *code)
{
    return demo->is_color ? code : "";
}

static void fail(const WeirError *err)
{
    fprintf(stderr, "DBSP-E%03d: %s\n", err->code, err->message);
    exit(1);
}

/* Runs one statement; the result, if any, is the caller's. */
static WeirResult *run(Demo *demo, const char *format, ...)
{
    char sql[8192];
    WeirError err;
    WeirResult *result = NULL;
    va_list args;
    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    if (weir_execute(demo->db, sql, NULL, &result, &err) != WEIR_OK) {
        fprintf(stderr, "in: %s\n", sql);
        fail(&err);
    }
    return result;
}

static bool next_row(WeirResult *result)
{
    WeirError err;
    bool has_row = false;
    if (weir_result_next(result, &has_row, &err) != WEIR_OK) {
        fail(&err);
    }
    return has_row;
}

/* The first value of the first row as a number. */
static double run_number(Demo *demo, const char *sql)
{
    WeirResult *result = run(demo, "%s", sql);
    const double number = next_row(result) ? atof(weir_result_text(result, 0, NULL)) : 0;
    weir_result_free(result);
    return number;
}

static void load(Demo *demo, const char *directory)
{
    const double start = now_ms();
    weir_result_free(run(demo, "CREATE TABLE airports AS FROM '%s/airports.csv'", directory));
    weir_result_free(run(demo,
                         "CREATE TABLE flights AS SELECT * FROM '%s/flights-3m.parquet' WHERE "
                         "date < '2001-06-30'",
                         directory));
    weir_result_free(run(demo,
                         "CREATE TABLE last_day AS SELECT * FROM '%s/flights-3m.parquet' WHERE "
                         "date >= '2001-06-30' AND date < '2001-07-01'",
                         directory));
    printf("loaded %.0f flights and %.0f airports in %.1f s\n\n",
           run_number(demo, "SELECT count(*) FROM flights"),
           run_number(demo, "SELECT count(*) FROM airports"), (now_ms() - start) / 1e3);
}

static void create_views(Demo *demo)
{
    for (size_t i = 0; i < VIEW_COUNT; i++) {
        const double start = now_ms();
        weir_result_free(
            run(demo, "CREATE MATERIALIZED VIEW %s AS %s", VIEWS[i].name, VIEWS[i].sql));
        const double elapsed = now_ms() - start;
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", VIEWS[i].name);
        printf("%s%-15s%s %-52s %7.0f rows %7.0f ms\n", paint(demo, "\033[1m"), VIEWS[i].name,
               paint(demo, "\033[0m"), VIEWS[i].what, run_number(demo, sql), elapsed);
    }
    printf("\n");
}

/* Every definition from scratch, the way one would without views. */
static double rerun_all(Demo *demo)
{
    const double start = now_ms();
    for (size_t i = 0; i < VIEW_COUNT; i++) {
        const DemoView *const view = &VIEWS[i];
        weir_result_free(run(demo, "SELECT count(*), bit_xor(hash(v)) FROM (%s) v",
                             view->from_tables == NULL ? view->sql : view->from_tables));
    }
    return now_ms() - start;
}

static void show_row(const Demo *demo, WeirResult *result, size_t columns, bool is_insert)
{
    printf("      %s%s ", paint(demo, is_insert ? "\033[32m" : "\033[31m"), is_insert ? "+" : "-");
    for (size_t i = 0; i < columns; i++) {
        const char *text = weir_result_text(result, i, NULL);
        printf("%s%s", i == 0 ? "" : " | ", text == NULL ? "NULL" : text);
    }
    printf("%s\n", paint(demo, "\033[0m"));
}

/* A few rows of one sign. */
static void show_sample(Demo *demo, const DemoView *view, uint64_t generation, bool is_insert)
{
    WeirResult *result = run(demo,
                             "SELECT * FROM dbsp_changes('%s', since := %" PRIu64
                             ") WHERE weight %c 0 ORDER BY ALL LIMIT %d",
                             view->name, generation, is_insert ? '>' : '<', SHOWN_ROWS);
    while (next_row(result)) {
        show_row(demo, result, weir_result_column_count(result) - 2, is_insert);
    }
    weir_result_free(result);
}

/* What the commits after `generation` changed in the view. */
static void show_changes(Demo *demo, const DemoView *view, uint64_t generation)
{
    WeirResult *result = run(demo,
                             "SELECT coalesce(sum(weight) FILTER (weight > 0), 0), "
                             "coalesce(-sum(weight) FILTER (weight < 0), 0) FROM "
                             "dbsp_changes('%s', since := %" PRIu64 ")",
                             view->name, generation);
    if (!next_row(result)) {
        return;
    }
    const double inserted = atof(weir_result_text(result, 0, NULL));
    const double removed = atof(weir_result_text(result, 1, NULL));
    weir_result_free(result);
    if (inserted + removed > 0) {
        printf("   %-15s %s+%.0f%s %s-%.0f%s rows\n", view->name, paint(demo, "\033[32m"), inserted,
               paint(demo, "\033[0m"), paint(demo, "\033[31m"), removed, paint(demo, "\033[0m"));
        show_sample(demo, view, generation, false);
        show_sample(demo, view, generation, true);
    }
}

static uint64_t generation_now(Demo *demo)
{
    return (uint64_t)run_number(demo, "SELECT coalesce(max(generation), 0) FROM dbsp_tables()");
}

/* One commit: the change, the views, and the same answers from scratch. */
static void commit(Demo *demo, const char *what, const char *sql)
{
    const uint64_t before = generation_now(demo);
    const double start = now_ms();
    weir_result_free(run(demo, "%s", sql));
    const double total = now_ms() - start;
    const double views = run_number(demo, "SELECT sum(last_step_ms) FROM dbsp_view_state()");
    const double rerun = rerun_all(demo);
    printf("%s%s%s\n", paint(demo, "\033[1m"), what, paint(demo, "\033[0m"));
    for (size_t i = 0; i < VIEW_COUNT; i++) {
        show_changes(demo, &VIEWS[i], before);
    }
    printf("   statement and views %.1f ms, of which stepping the views %.1f; running the "
           "definitions again %.0f ms",
           total, views, rerun);
    if (views > 0) {
        printf(": %.0f times as long", rerun / views);
    }
    printf("\n\n");
    demo->maintain_ms += views;
    demo->rerun_ms += rerun;
    demo->commits++;
}

static void play_day(Demo *demo)
{
    char what[128];
    char sql[512];
    for (int hour = 0; hour < HOURS; hour += 4) {
        snprintf(what, sizeof what, "%02d:00  departures of four hours", hour);
        snprintf(sql, sizeof sql,
                 "INSERT INTO flights FROM last_day WHERE hour(date) >= %d AND hour(date) < %d",
                 hour, hour + 4);
        commit(demo, what, sql);
    }
    commit(demo, "a correction: flights of Las Vegas on that day were five minutes faster",
           "UPDATE flights SET delay = delay - 5 WHERE origin = 'LAS' AND date >= '2001-06-30'");
    commit(demo, "a cancellation: nothing left Kodiak at all",
           "DELETE FROM flights WHERE origin = 'ADQ'");
    commit(demo, "one airport gets another name",
           "UPDATE airports SET name = 'William B Hartsfield' WHERE iata = 'ATL'");
    commit(demo, "one flight more",
           "INSERT INTO flights VALUES ('2001-06-30 23:59:00', 12, 2176, 'LAS', 'PHL')");
}

/* Returns the number of views that differ from their definitions. */
static size_t verify(Demo *demo)
{
    size_t wrong = 0;
    printf("comparing every view with its definition:");
    for (size_t i = 0; i < VIEW_COUNT; i++) {
        WeirResult *result = run(demo, "SELECT result FROM dbsp_verify('%s')", VIEWS[i].name);
        const bool is_ok = next_row(result) && strcmp(weir_result_text(result, 0, NULL), "ok") == 0;
        weir_result_free(result);
        wrong += !is_ok;
        printf(" %s %s", VIEWS[i].name, is_ok ? "ok" : "DIFFERS");
        fflush(stdout);
    }
    printf("\n\n%zu commits: stepping the views took %.0f ms, running the definitions again "
           "%.0f ms: %.0f times as long\n",
           demo->commits, demo->maintain_ms, demo->rerun_ms, demo->rerun_ms / demo->maintain_ms);
    return wrong;
}

int main(int argc, char **argv)
{
    Demo demo = {.is_color = isatty(1) != 0};
    WeirError err;
    if (argc != 2) {
        fprintf(stderr, "usage: %s DATA_DIRECTORY\n", argv[0]);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (weir_open(NULL, &demo.db, &err) != WEIR_OK) {
        fail(&err);
    }
    load(&demo, argv[1]);
    create_views(&demo);
    play_day(&demo);
    const size_t wrong = verify(&demo);
    weir_close(demo.db);
    return wrong == 0 ? 0 : 1;
}
