/* bench.c: see bench.h. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static size_t met_count;
static size_t missed_count;

BenchOptions bench_options(int argc, char **argv)
{
    BenchOptions options = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "quick") == 0) {
            options.is_quick = true;
        } else if (strcmp(argv[i], "--ext") == 0 && i + 1 < argc) {
            options.extension = argv[++i];
        } else {
            bench_fail("usage: %s [quick] [--ext EXTENSION]", argv[0]);
        }
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    return options;
}

static double clock_ms(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

double bench_now_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

double bench_cpu_ms(void)
{
    return clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fprintf(stderr, "\n");
    exit(1);
}

/* Large blocks get huge pages, as the engine's do. */
void *bench_alloc(size_t count, size_t size)
{
    enum { HUGE_PAGE = 2 << 20, LINE = 64 };
    const size_t align = count * size >= HUGE_PAGE ? HUGE_PAGE : LINE;
    const size_t bytes = (count * size + align) / align * align;
    void *block = aligned_alloc(align, bytes);
    if (block == NULL) {
        bench_fail("out of memory");
    }
    if (align == HUGE_PAGE) {
        (void)madvise(block, bytes, MADV_HUGEPAGE);
    }
    memset(block, 0, bytes);
    return block;
}

void bench_free(void *block)
{
    free(block);
}

/* --- samples ---------------------------------------------------------------------------------- */

void samples_add(Samples *samples, double value)
{
    if (samples->count < BENCH_MAX_RUNS) {
        samples->values[samples->count++] = value;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    const double *const x = a;
    const double *const y = b;
    return (*x > *y) - (*x < *y);
}

double samples_median(const Samples *samples)
{
    double sorted[BENCH_MAX_RUNS];
    const size_t count = samples->count;
    if (count == 0) {
        return 0;
    }
    memcpy(sorted, samples->values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double samples_ratio(const Samples *a, const Samples *b)
{
    Samples ratios = {0};
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        samples_add(&ratios, a->values[i] / b->values[i]);
    }
    return samples_median(&ratios);
}

/* --- results ---------------------------------------------------------------------------------- */

enum { LABEL_WIDTH = 50 };

void report_title(const char *title, const char *note)
{
    (void)printf("\n%s\n", title);
    if (note != NULL) {
        (void)printf("  %s\n", note);
    }
}

static void put_number(double value)
{
    const int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 4;
    (void)printf("%9.*f", digits, value);
}

static void put_verdict(double value, Target target)
{
    if (target.kind == TARGET_NONE) {
        (void)printf("\n");
        return;
    }
    const bool is_upper = target.kind == TARGET_AT_MOST;
    const bool is_met = is_upper ? value <= target.limit : value >= target.limit;
    met_count += is_met;
    missed_count += !is_met;
    (void)printf("   target %s %g: %s\n", is_upper ? "<=" : ">=", target.limit,
                 is_met ? "met" : "MISSED");
}

void report_value(const char *label, double value, const char *unit, Target target)
{
    (void)printf("  %-*s", LABEL_WIDTH, label);
    put_number(value);
    (void)printf(" %-7s", unit);
    put_verdict(value, target);
}

void report_comparison(const Comparison *c)
{
    const double ratio =
        c->is_gain ? samples_ratio(c->theirs, c->ours) : samples_ratio(c->ours, c->theirs);
    (void)printf("  %-*s", LABEL_WIDTH, c->label);
    put_number(samples_median(c->ours));
    (void)printf(" %-7s %-24s", c->unit, c->what);
    put_number(samples_median(c->theirs));
    put_number(ratio);
    (void)printf("x%s", c->is_gain ? " faster" : "");
    put_verdict(ratio, c->target);
}

void report_end(void)
{
    (void)printf("\n%zu targets met, %zu missed\n", met_count, missed_count);
}
