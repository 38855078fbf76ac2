/* ext_crash.c: processes that make, replace and drop views and commit rows in one file are killed at any
 * moment; the next one finds every view that was reported made, none that was reported dropped, and each
 * view is its definition run anew.
 *
 *   ext_crash EXTENSION [ROUNDS [SEED]]
 *
 * Processes follow one another: each is libweir's or has the extension in its DuckDB, each of which finds
 * what the other one left. What was reported stands in memory that all of them share. */
#include "ext.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rng.h"
#include "weir.h"

enum { NAMES = 6, DEFAULT_ROUNDS = 32, KILLED_AFTER_MS = 500 };

/* What the processes have reported. A change is pending from before its statement until it is
 * reported: if the process is killed meanwhile, it has happened or not. */
typedef struct Journal {
    atomic_int versions[NAMES]; /* of the definition of each view; 0 = it is not there */
    atomic_int pending_name;    /* -1 = none */
    atomic_int pending_version;
    atomic_int batches; /* of rows that were committed: 1 to this */
    atomic_int is_batch_pending;
    atomic_int changes; /* of all processes */
} Journal;

/* An open database. */
typedef struct Side {
    WeirDb *weir; /* NULL = the extension */
    Db db;
} Side;

static Journal *journal;
static const char *path;

static _Noreturn void give_up(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s\n%s\n", what, why);
    _exit(3);
}

static void side_open(Side *side, bool is_weir)
{
    WeirError err = {0};
    Text error = {0};
    const DbOptions options = {.path = path, .extension = ext_path};
    *side = (Side){0};
    if (is_weir ? weir_open(path, &side->weir, &err) != WEIR_OK
                : !db_open(&side->db, &options, &error)) {
        give_up("the file cannot be opened", is_weir ? err.message : text_get(&error));
    }
}

static void side_close(Side *side)
{
    weir_close(side->weir);
    if (side->weir == NULL) {
        db_close(&side->db);
    }
}

/* The first value of the statement's first row, 0 if there is none. */
static int64_t side_run(Side *side, const char *sql)
{
    int64_t value = 0;
    if (side->weir == NULL) {
        Text error = {0};
        if (!db_number(db_connection(&side->db, 0), sql, &value, &error)) {
            give_up(sql, text_get(&error));
        }
        return value;
    }
    WeirError err = {0};
    WeirResult *result = NULL;
    bool has_row = false;
    if (weir_execute(side->weir, sql, NULL, &result, &err) != WEIR_OK ||
        (result != NULL && weir_result_has_rows(result) &&
         weir_result_next(result, &has_row, &err) != WEIR_OK)) {
        give_up(sql, err.message);
    }
    const char *const text = has_row ? weir_result_text(result, 0, NULL) : NULL;
    value = text == NULL ? 0 : strtoll(text, NULL, 10);
    weir_result_free(result);
    return value;
}

__attribute__((format(printf, 2, 3))) static int64_t side_runf(Side *side, const char *format, ...)
{
    char sql[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    return side_run(side, sql);
}

/* ---- changes ---------------------------------------------------------------------------------- */

static void change_view(Side *side, Rng *rng)
{
    const int name = (int)rng_below(rng, NAMES);
    const bool is_dropped = rng_below(rng, 3) == 0;
    const int version = is_dropped ? 0 : atomic_load(&journal->changes) + 1;
    atomic_store(&journal->pending_version, version);
    atomic_store(&journal->pending_name, name);
    if (is_dropped) {
        (void)side_runf(side, "CALL dbsp_drop('v%d', if_exists := true)", name);
    } else {
        (void)side_runf(side,
                        "CALL dbsp_replace_view('v%d', 'SELECT %d AS version, batch %% 5 AS g, "
                        "count(*) AS n, sum(a) AS s FROM t GROUP BY g')",
                        name, version);
    }
    atomic_store(&journal->versions[name], version);
    atomic_store(&journal->pending_name, -1);
}

static void commit_batch(Side *side, Rng *rng)
{
    const int batch = atomic_load(&journal->batches) + 1;
    atomic_store(&journal->is_batch_pending, 1);
    if (rng_below(rng, 2) == 0) {
        (void)side_runf(side,
                        "CALL dbsp_exec('INSERT INTO t SELECT %d, i FROM range(20) r(i); "
                        "DELETE FROM t WHERE batch = %d - 10 AND a > 0')",
                        batch, batch);
    } else {
        (void)side_run(side, "BEGIN");
        (void)side_runf(side, "INSERT INTO t SELECT %d, i FROM range(20) r(i)", batch);
        (void)side_runf(side, "DELETE FROM t WHERE batch = %d - 10 AND a > 0", batch);
        (void)side_run(side, "COMMIT");
    }
    atomic_store(&journal->batches, batch);
    atomic_store(&journal->is_batch_pending, 0);
}

static _Noreturn void change_for_ever(bool is_weir, uint64_t seed)
{
    Side side;
    Rng rng = {.state = seed};
    side_open(&side, is_weir);
    for (;;) {
        if (rng_below(&rng, 2) == 0) {
            change_view(&side, &rng);
        } else {
            commit_batch(&side, &rng);
        }
        if (rng_below(&rng, 30) == 0) {
            (void)side_run(&side, "CHECKPOINT");
        }
        (void)atomic_fetch_add(&journal->changes, 1);
    }
}

/* ---- what is found ---------------------------------------------------------------------------- */

static void check_view(Side *side, int name)
{
    const int reported = atomic_load(&journal->versions[name]);
    const bool is_pending = atomic_load(&journal->pending_name) == name;
    const int found = (int)side_runf(
        side,
        "SELECT coalesce(max(regexp_extract(sql, '([0-9]+) AS version', 1)::INTEGER), "
        "0) FROM dbsp_views() WHERE view = 'v%d'",
        name);
    if (found != reported && !(is_pending && found == atomic_load(&journal->pending_version))) {
        char text[128];
        (void)snprintf(text, sizeof text, "v%d has version %d instead of %d", name, found,
                       reported);
        give_up(text, is_pending ? "or the pending one" : "nothing was pending");
    }
    atomic_store(&journal->versions[name], found);
    if (found != 0 &&
        side_runf(side, "SELECT count(*) FROM dbsp_verify('v%d') WHERE result = 'ok'", name) != 1) {
        give_up("a view is not its definition run anew", "");
    }
}

static void check_rows(Side *side)
{
    const int reported = atomic_load(&journal->batches);
    const int found = (int)side_run(side, "SELECT coalesce(max(batch), 0)::INTEGER FROM t");
    if (found != reported &&
        !(atomic_load(&journal->is_batch_pending) == 1 && found == reported + 1)) {
        give_up("a commit that was reported is not there", "");
    }
    /* A batch has 20 rows, and one when ten more have come. */
    const int expected = found <= 10 ? 20 * found : 200 + (found - 10);
    if (side_run(side, "SELECT count(*) FROM t") != expected) {
        give_up("a commit is there in part", "");
    }
    atomic_store(&journal->batches, found);
}

static _Noreturn void check(bool is_weir)
{
    Side side;
    Rng rng = {.state = (uint64_t)atomic_load(&journal->changes) + 1};
    side_open(&side, is_weir);
    check_rows(&side);
    for (int i = 0; i < NAMES; i++) {
        check_view(&side, i);
    }
    atomic_store(&journal->pending_name, -1);
    atomic_store(&journal->is_batch_pending, 0);
    change_view(&side, &rng); /* and ends as it should */
    commit_batch(&side, &rng);
    (void)atomic_fetch_add(&journal->changes, 1);
    side_close(&side);
    _exit(0);
}

/* ---- rounds ----------------------------------------------------------------------------------- */

static void make_file(void)
{
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        Side side;
        side_open(&side, true);
        (void)side_run(&side, "CREATE TABLE t (batch INTEGER, a INTEGER)");
        side_close(&side);
        _exit(0);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void one_round(bool writer_is_weir, bool checker_is_weir, uint64_t seed)
{
    Rng rng = {.state = seed};
    int status = 0;
    (void)fflush(NULL);
    const pid_t writer = fork();
    if (writer == 0) {
        change_for_ever(writer_is_weir, seed);
    }
    const struct timespec delay = {.tv_nsec = (long)rng_below(&rng, KILLED_AFTER_MS) * 1000000 +
                                              (long)rng_below(&rng, 1000000)};
    (void)nanosleep(&delay, NULL);
    (void)kill(writer, SIGKILL);
    assert_int_equal(waitpid(writer, &status, 0), writer);
    assert_true(WIFSIGNALED(status)); /* it has not failed by itself */
    const pid_t checker = fork();
    if (checker == 0) {
        check(checker_is_weir);
    }
    assert_int_equal(waitpid(checker, &status, 0), checker);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static long rounds = DEFAULT_ROUNDS;
static uint64_t seed = 1;

static void definitions_and_rows_survive(void **state)
{
    (void)state;
    char *own_path = ext_new_path("crash");
    path = own_path;
    journal =
        mmap(NULL, sizeof *journal, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(journal != MAP_FAILED);
    atomic_store(&journal->pending_name, -1);
    print_message("seed %llu, %ld rounds\n", (unsigned long long)seed, rounds);
    make_file();
    for (long i = 0; i < rounds; i++) {
        one_round(i % 4 < 3, i % 2 == 0, seed * 1000 + (uint64_t)i);
    }
    print_message("%d changes, %d batches\n", atomic_load(&journal->changes),
                  atomic_load(&journal->batches));
    assert_true(atomic_load(&journal->changes) > rounds);
    (void)munmap(journal, sizeof *journal);
    db_remove_file(path);
    test_free(own_path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(definitions_and_rows_survive),
};

int main(int argc, char **argv)
{
    return ext_take_run(argc, argv, "ROUNDS", &rounds, &seed)
               ? cmocka_run_group_tests(tests, NULL, NULL)
               : 2;
}
