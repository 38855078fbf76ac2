/* run.h: runs a round of the oracle and reports the first thing that is wrong. */
#ifndef WEIR_TESTS_ORACLE_RUN_H
#define WEIR_TESTS_ORACLE_RUN_H

#include "backend.h"
#include "model.h"

typedef struct RunOptions {
    const char *extension;    /* NULL: the model of backend.h */
    const char *directory;    /* for database files */
    Fault fault;              /* of the model */
    unsigned timeout_seconds; /* for one round */
    bool has_feed;            /* the changes are replayed */
    bool has_reopens;
    bool is_quiet; /* nothing is printed about invalid definitions */
} RunOptions;

/* What rounds did, to be sure that they did something. */
typedef struct RunStats {
    int64_t rounds;
    int64_t views;         /* created */
    int64_t refused;       /* not created: DBSP-E110 to E119 */
    int64_t skipped;       /* not created: above a refused view, too many rows, failing */
    int64_t invalid;       /* definitions that DuckDB itself does not accept */
    int64_t statements;    /* run */
    int64_t failed;        /* that failed, as a key that is there twice */
    int64_t compared;      /* comparisons of a view */
    int64_t filled;        /* of them with rows */
    int64_t broken;        /* views rightly reported as broken */
    int64_t unstable;      /* definitions that failed where none should */
    int64_t disagreements; /* DuckDB with and without its optimizer */
    int64_t replays;       /* comparisons of a view's changes with its content */
} RunStats;

typedef struct Outcome {
    bool is_failure;
    char *kind;    /* owned; what went wrong, in one word */
    char *message; /* owned */
    size_t group;  /* where */
    char view[8];  /* of which view, or empty */
    RunStats stats;
    TextList refusals; /* the reasons, one for each refused view */
} Outcome;

/* Runs the round in this process. */
void run_case(const Case *test, const RunOptions *options, Outcome *outcome);
/* Runs it in a process of its own, so that a crash or endless loop is an outcome like others. */
void run_case_apart(const Case *test, const RunOptions *options, Outcome *outcome);
void outcome_free(Outcome *outcome);
void stats_add(RunStats *total, const RunStats *more);

#endif
