/* bench_wal.c: the reader of DuckDB's log: a look, a small commit, a large log.
 *
 * The database is a file that DuckDB has open; the extension is loaded but not used. A look finds
 * that nothing is new; a small read begins at a position, reads one commit of one row, and asks for the
 * new position; a large read decodes every value. */
#include "duck.h"

#include "wal/wal.h"

#include <unistd.h>

enum { LOOKS = 20000, SMALL_READS = 500, BATCH_ROWS = 100000, RUNS = 5 };

static const char DATABASE[] = "bench_wal.db";
static const char LOG[] = "bench_wal.db.wal";

static Wal *open_log(Mem *mem)
{
    Error err = {0};
    Wal *wal = NULL;
    if (mem == NULL || weir_wal_open(mem, DATABASE, &wal, &err) != WEIR_OK) {
        bench_fail("cannot open the log: %s", err.message);
    }
    return wal;
}

static WalPosition mark(Wal *wal)
{
    WalPosition position;
    if (weir_wal_mark(wal, &position) != WAL_NEW) {
        bench_fail("cannot find the log's end: %s", weir_wal_reason(wal));
    }
    return position;
}

/* Reads to the end; the number of rows. Values are decoded if asked. */
static size_t read_rows(Wal *wal, WalPosition *position, bool decodes)
{
    Error err = {0};
    size_t rows = 0;
    WalChange change = {.kind = WAL_COMMIT};
    if (weir_wal_begin(wal, position) == WAL_UNKNOWN) {
        bench_fail("%s", weir_wal_reason(wal));
    }
    while (change.kind != WAL_END) {
        Batch batch;
        const char *reason = NULL;
        if (weir_wal_next(wal, &change, &err) != WEIR_OK || change.kind == WAL_LOST) {
            bench_fail("the log cannot be read");
        }
        rows += change.row_count;
        if (decodes && change.column_count > 0 &&
            (weir_wal_values(wal, &batch, &reason, &err) != WEIR_OK || reason != NULL)) {
            bench_fail("a change cannot be decoded");
        }
    }
    if (!weir_wal_position(wal, position)) {
        bench_fail("the log was cut");
    }
    weir_wal_end(wal);
    return rows;
}

static void bench_look(Wal *wal)
{
    const WalPosition position = mark(wal);
    const double start = bench_now_ms();
    for (int i = 0; i < LOOKS; i++) {
        if (weir_wal_look(wal, &position) != WAL_NOTHING_NEW) {
            bench_fail("%s", weir_wal_reason(wal));
        }
    }
    report_value("a look, nothing new", (bench_now_ms() - start) * 1000 / LOOKS, "us", AT_MOST(20));
}

static void bench_small(Duck *duck, Wal *wal)
{
    WalPosition position = mark(wal);
    double spent = 0;
    for (int i = 0; i < SMALL_READS; i++) {
        duck_run(duck, "INSERT INTO t VALUES (%d, 1, 'one')", i);
        const double start = bench_now_ms();
        if (read_rows(wal, &position, true) != 1) {
            bench_fail("a commit was not found");
        }
        spent += bench_now_ms() - start;
    }
    report_value("a commit of one row", spent * 1000 / SMALL_READS, "us", NO_TARGET);
}

static void bench_large(Duck *duck, Wal *wal, size_t row_count)
{
    const WalPosition start = mark(wal);
    for (size_t i = 0; i < row_count; i += BATCH_ROWS) {
        duck_run(duck,
                 "INSERT INTO t SELECT i, (hash(i) %% 1000)::INTEGER, 'a string of row ' || i "
                 "FROM range(%zu, %zu) r(i)",
                 i, i + BATCH_ROWS);
    }
    const WalPosition end = mark(wal);
    const double megabytes = (double)(end.offset - start.offset) / 1e6;
    for (int decodes = 0; decodes < 2; decodes++) {
        Samples samples = {0};
        for (int run = 0; run < RUNS; run++) {
            WalPosition position = start;
            const double from = bench_now_ms();
            if (read_rows(wal, &position, decodes != 0) != row_count) {
                bench_fail("rows are missing");
            }
            samples_add(&samples, megabytes / (bench_now_ms() - from) * 1000);
        }
        report_value(decodes == 0 ? "a large log, row counts" : "a large log, every value",
                     samples_median(&samples), "MB/s", NO_TARGET);
    }
}

int main(int argc, char **argv)
{
    const BenchOptions options = bench_options(argc, argv);
    Duck duck;
    Mem *mem = weir_mem_new(0);
    (void)unlink(DATABASE);
    (void)unlink(LOG);
    duck_open(&duck, options.extension);
    duck_run(&duck,
             "ATTACH '%s' AS x; USE x; SET wal_autocheckpoint = '1TB'; "
             "CREATE TABLE t(a BIGINT, b INTEGER, c VARCHAR)",
             DATABASE);
    Wal *wal = open_log(mem);
    report_title("The log", NULL);
    bench_look(wal);
    bench_small(&duck, wal);
    bench_large(&duck, wal, options.is_quick ? 1000000 : 5000000);
    weir_wal_close(wal);
    weir_mem_free_allocator(mem);
    duck_close(&duck);
    (void)unlink(DATABASE);
    (void)unlink(LOG);
    report_end();
    return 0;
}
