/* oracle.c: random tables, views and transactions; after every commit each view must equal its
 * definition run anew.
 *
 *   oracle [--ext FILE] [--seed N] [--rounds R | --seconds S] [--round K] [--level L] [--out DIR]
 *          [--errors] [--memory] [--reopen] [--no-feed] [--inject FAULT] [--refusals PERCENT]
 *          [--shrink SECONDS] [--timeout SECONDS] [--print]
 *
 * Without --ext the model of harness/backend.h stands in for Weir; --inject breaks the model, and
 * the oracle then succeeds if it finds the fault. Exit code: 0 all well, 1 a difference, 2 usage. */
#include "gen.h"
#include "run.h"
#include "shrink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct Options {
    GenOptions gen;
    RunOptions run;
    uint64_t seed;
    uint64_t first_round;
    uint64_t round_count; /* 0: until the time is over */
    double seconds;
    double shrink_seconds;
    double refusal_percent; /* more refusals than this are a failure */
    bool is_print;          /* the rounds are printed, not run */
} Options;

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int usage(const char *complaint)
{
    (void)fprintf(
        stderr,
        "oracle: %s\n"
        "usage: oracle [--ext FILE] [--seed N] [--rounds R | --seconds S] [--round K]\n"
        "              [--level L] [--out DIR] [--errors] [--memory] [--reopen] [--no-feed]\n"
        "              [--inject FAULT] [--refusals PERCENT] [--shrink SECONDS]\n"
        "              [--timeout SECONDS] [--print]\n",
        complaint);
    return 2;
}

static bool parse_switch(Options *options, const char *name)
{
    if (strcmp(name, "--errors") == 0) {
        options->gen.has_errors = true;
    } else if (strcmp(name, "--memory") == 0) {
        options->gen.has_files = false;
    } else if (strcmp(name, "--reopen") == 0) {
        options->gen.has_reopens = true;
        options->run.has_reopens = true;
    } else if (strcmp(name, "--no-feed") == 0) {
        options->run.has_feed = false;
    } else if (strcmp(name, "--print") == 0) {
        options->is_print = true;
    } else {
        return false;
    }
    return true;
}

static bool parse_value(Options *options, const char *name, const char *value)
{
    if (strcmp(name, "--ext") == 0) {
        options->run.extension = value;
    } else if (strcmp(name, "--seed") == 0) {
        options->seed = strtoull(value, NULL, 10);
    } else if (strcmp(name, "--rounds") == 0) {
        options->round_count = strtoull(value, NULL, 10);
    } else if (strcmp(name, "--round") == 0) {
        options->first_round = strtoull(value, NULL, 10);
        options->round_count = 1;
    } else if (strcmp(name, "--seconds") == 0) {
        options->seconds = strtod(value, NULL);
        options->round_count = 0;
    } else if (strcmp(name, "--shrink") == 0) {
        options->shrink_seconds = strtod(value, NULL);
    } else if (strcmp(name, "--refusals") == 0) {
        options->refusal_percent = strtod(value, NULL);
    } else if (strcmp(name, "--timeout") == 0) {
        options->run.timeout_seconds = (unsigned)strtoul(value, NULL, 10);
    } else if (strcmp(name, "--level") == 0) {
        options->gen.level = (int)strtol(value, NULL, 10);
    } else if (strcmp(name, "--out") == 0) {
        options->run.directory = value;
    } else if (strcmp(name, "--inject") == 0) {
        options->run.fault = fault_find(value);
        return options->run.fault != FAULT_COUNT;
    } else {
        return false;
    }
    return true;
}

static void print_stats(const RunStats *stats, double seconds)
{
    printf("%" PRId64 " rounds in %.1f s: %" PRId64 " views (%" PRId64 " refused, %" PRId64
           " skipped, %" PRId64 " invalid), %" PRId64 " statements (%" PRId64 " failed)\n",
           stats->rounds, seconds, stats->views, stats->refused, stats->skipped, stats->invalid,
           stats->statements, stats->failed);
    printf("%" PRId64 " comparisons (%" PRId64 " with rows, %" PRId64 " broken by right, %" PRId64
           " unstable, %" PRId64 " where DuckDB disagrees with itself), %" PRId64 " replays\n",
           stats->compared, stats->filled, stats->broken, stats->unstable, stats->disagreements,
           stats->replays);
}

/* Cuts the failing round down and writes it as a file for the program sqllogic. */
static void report_failure(const Options *options, const Case *test, const Outcome *outcome)
{
    printf("FAILED: seed %" PRIu64 ", round %" PRIu64 ", group %zu, view %s: %s\n%s\n", test->seed,
           test->round, outcome->group, outcome->view, outcome->kind, outcome->message);
    (void)fflush(stdout);
    Case *small = shrink_case(test, outcome, &options->run, options->shrink_seconds);
    Text text = {0};
    char *comment = text_format("fails with: %s (view %s)", outcome->kind, outcome->view);
    case_print(small, comment, &text);
    char *path = text_format("%s/seed_%" PRIu64 "_round_%" PRIu64 ".test", options->run.directory,
                             test->seed, test->round);
    if (text_write_file(path, text_get(&text))) {
        printf("written: %s\n", path);
    }
    printf("---\n%s---\n", text_get(&text));
    text_free(&text);
    test_free(comment);
    test_free(path);
    case_free(small);
}

static void print_refusals(const TextList *refusals)
{
    for (size_t i = 0; i < refusals->count && i < 20; i++) {
        printf("refused: %s\n", refusals->items[i]);
    }
}

/* The oracle itself must be sound: its definitions valid and stable, its views not all empty, and
 * what Weir refuses few. */
static bool is_sound(const Options *options, const RunStats *stats)
{
    const int64_t asked = stats->views + stats->refused;
    bool is_good = true;
    if ((double)stats->refused * 100 > options->refusal_percent * (double)asked) {
        printf("FAILED: %" PRId64 " of %" PRId64 " views were refused\n", stats->refused, asked);
        is_good = false;
    }
    if (stats->invalid * 50 > asked || stats->unstable * 50 > stats->compared ||
        stats->disagreements * 50 > stats->compared) {
        printf("FAILED: the oracle makes bad definitions\n");
        is_good = false;
    }
    if (stats->compared > 1000 && stats->filled * 4 < stats->compared) {
        printf("FAILED: most views are empty\n");
        is_good = false;
    }
    return is_good;
}

static bool run_round(const Options *options, uint64_t round, RunStats *total, TextList *refusals)
{
    Case *test = gen_case(options->seed, round, &options->gen);
    Outcome outcome = {0};
    if (options->is_print) {
        Text text = {0};
        case_print(test, "printed", &text);
        printf("%s", text_get(&text));
        text_free(&text);
        case_free(test);
        return true;
    }
    run_case_apart(test, &options->run, &outcome);
    stats_add(total, &outcome.stats);
    for (size_t i = 0; i < outcome.refusals.count; i++) {
        text_list_add(refusals, outcome.refusals.items[i]);
    }
    const bool is_good = !outcome.is_failure;
    if (!is_good) {
        report_failure(options, test, &outcome);
    }
    outcome_free(&outcome);
    case_free(test);
    return is_good;
}

static int run_rounds(const Options *options)
{
    RunStats total = {0};
    TextList refusals = {0};
    const double start = now_seconds();
    bool is_good = true;
    for (uint64_t i = 0; is_good; i++) {
        const bool is_over = options->round_count > 0 ? i >= options->round_count
                                                      : now_seconds() - start > options->seconds;
        if (is_over) {
            break;
        }
        is_good = run_round(options, options->first_round + i, &total, &refusals);
    }
    print_stats(&total, now_seconds() - start);
    print_refusals(&refusals);
    text_list_free(&refusals);
    if (options->run.fault != FAULT_NONE) {
        printf("%s\n", is_good ? "FAILED: the fault was not found" : "the fault was found");
        return is_good ? 1 : 0;
    }
    return is_good && (options->is_print || is_sound(options, &total)) ? 0 : 1;
}

int main(int argc, char **argv)
{
    Options options = {
        .gen = {.level = 1, .has_files = true},
        .run = {.directory = ".", .timeout_seconds = 120, .has_feed = true},
        .seed = 1,
        .round_count = 50,
        .shrink_seconds = 60,
        .refusal_percent = 5,
    };
    for (int i = 1; i < argc; i++) {
        if (parse_switch(&options, argv[i])) {
            continue;
        }
        if (i + 1 == argc || !parse_value(&options, argv[i], argv[i + 1])) {
            return usage(argv[i]);
        }
        i++;
    }
    mkdir(options.run.directory, 0777);
    return run_rounds(&options);
}
