/* bench.h: clocks, samples, random numbers and the table of results, shared by all benchmarks.
 *
 * A figure is the median of several runs. Two figures are compared run by run, in one process: the
 * ratio printed is the median of the runs' ratios, since a busy machine slows both of a run. */
#ifndef WEIR_BENCH_BENCH_H
#define WEIR_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MAX_RUNS = 64 };

/* Reads "quick" from the command line; anything else ends the program with a word on its use. */
typedef struct BenchOptions {
    bool is_quick;         /* smaller tables, fewer runs */
    const char *extension; /* NULL = not given */
} BenchOptions;

BenchOptions bench_options(int argc, char **argv);

double bench_now_ms(void); /* wall clock */
double bench_cpu_ms(void); /* of this process: what others do on the machine does not count */

/* Ends the program with a message. */
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Zeroed memory, aligned to cache lines, or the end of the program. */
void *bench_alloc(size_t count, size_t size);
void bench_free(void *block);

/* --- random numbers --------------------------------------------------------------------------- */

typedef struct Random {
    uint64_t state;
} Random;

static inline uint64_t random_next(Random *random)
{
    random->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A number below bound, which is below 2^32. */
static inline uint64_t random_below(Random *random, uint64_t bound)
{
    return ((random_next(random) >> 32) * bound) >> 32;
}

/* --- samples ---------------------------------------------------------------------------------- */

typedef struct Samples {
    size_t count;
    double values[BENCH_MAX_RUNS];
} Samples;

void samples_add(Samples *samples, double value);
double samples_median(const Samples *samples);

/* The median of a[i] / b[i]. */
double samples_ratio(const Samples *a, const Samples *b);

/* --- results ---------------------------------------------------------------------------------- */

typedef enum TargetKind { TARGET_NONE, TARGET_AT_MOST, TARGET_AT_LEAST } TargetKind;

typedef struct Target {
    TargetKind kind;
    double limit;
} Target;

#define AT_MOST(x) ((Target){.kind = TARGET_AT_MOST, .limit = (x)})
#define AT_LEAST(x) ((Target){.kind = TARGET_AT_LEAST, .limit = (x)})
#define NO_TARGET ((Target){.kind = TARGET_NONE})

/* A headline; `note` (NULL = none) says how to read what follows. */
void report_title(const char *title, const char *note);

/* "label   value unit". */
void report_value(const char *label, double value, const char *unit, Target target);

/* "label   ours unit   what theirs   ratio". The target is for the ratio. */
typedef struct Comparison {
    const char *label;
    const char *unit;
    const char *what; /* what theirs is */
    const Samples *ours;
    const Samples *theirs;
    bool is_gain; /* the ratio is theirs / ours: how many times faster */
    Target target;
} Comparison;

void report_comparison(const Comparison *comparison);

/* How many targets were met and missed; call it last. */
void report_end(void);

#endif
