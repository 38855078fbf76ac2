/* wal_replay.c: the log, replayed, gives the tables.
 *
 *   wal_replay [--seed N] [--rounds N] [--round N] [--print]
 *
 * A round makes a database file, runs random statements on several connections, and after some of
 * them lets a follower (follower.h) catch up from the log alone and compares its tables with the
 * database's. The follower may say that it does not know only for these reasons: a checkpoint, in a
 * round that has some; a table altered or dropped; a load so large that it went past the log. */
#include "follower.h"
#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 60, CATCH_UP_PERCENT = 60 };

typedef struct Options {
    uint64_t seed;
    size_t first;
    size_t rounds;
    bool is_printing;
} Options;

static bool open_round(Db *db, Rng *rng, const char *path, bool *has_checkpoints, Text *error)
{
    Text sql = {0};
    const DbOptions options = {0};
    static const char *const versions[] = {"v1.0.0", "v1.2.0", "latest"};
    *has_checkpoints = rng_chance(rng, 50);
    bool is_open = db_open(db, &options, error);
    text_addf(&sql, "ATTACH '%s' AS x (STORAGE_VERSION '%s'); SET wal_autocheckpoint = '%s'", path,
              versions[rng_below(rng, 3)],
              *has_checkpoints && rng_chance(rng, 50) ? "100KB" : "1TB");
    is_open = is_open && db_run(db_connection(db, 0), text_get(&sql), error);
    for (size_t i = 0; is_open && i < SCRIPT_CONNECTIONS; i++) {
        is_open = db_run(db_connection(db, i), "USE x", error);
    }
    text_free(&sql);
    return is_open;
}

/* What the follower did not know must have had its cause. */
static bool is_justified(const Follower *f, const Script *s, bool has_checkpoints)
{
    const FollowerCounts *const c = &f->counts;
    return c->unknown == 0 && c->unreadable == 0 && c->ends == 0 &&
           (has_checkpoints || c->checkpoints == 0) && (s->shapes > 0 || c->shape == 0) &&
           (s->bulk > 0 || c->bulk == 0);
}

static bool run_steps(Script *script, Follower *f)
{
    for (size_t i = 0; i < STEPS; i++) {
        script_step(script);
        if (rng_chance(&script->rng, CATCH_UP_PERCENT) &&
            (!follower_catch_up(f) || !follower_check(f))) {
            return false;
        }
    }
    return follower_catch_up(f) && follower_check(f);
}

static void add_counts(FollowerCounts *sum, const FollowerCounts *c)
{
    size_t *to = &sum->looks;
    const size_t *from = &c->looks;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) {
        to[i] += from[i];
    }
}

static void print_counts(const FollowerCounts *c)
{
    (void)printf("%zu looks, %zu nothing new, %zu commits, %zu rows inserted, %zu deleted, "
                 "%zu cells updated, %zu of them inside a value\n",
                 c->looks, c->nothing_new, c->commits, c->rows_inserted, c->rows_deleted,
                 c->cells_updated, c->cells_nested);
    (void)printf("not known: %zu checkpoints, %zu tables altered, %zu bulk loads, %zu undecodable, "
                 "%zu other\n",
                 c->checkpoints, c->shape, c->bulk, c->unreadable, c->unknown);
}

static bool run_round(const Options *options, size_t round, FollowerCounts *sum)
{
    Db db = {0};
    Text error = {0};
    Script script = {.rng = rng_derive(options->seed, round),
                     .db = &db,
                     .is_printing = options->is_printing,
                     .next_key = 1000};
    char *path = text_format("wal_replay_%ld.db", (long)getpid());
    db_remove_file(path);
    Follower f = {0};
    bool is_right = open_round(&db, &script.rng, path, &script.has_checkpoints, &error);
    script.has_bulk = rng_chance(&script.rng, 30);
    script.has_shapes = rng_chance(&script.rng, 50);
    is_right =
        is_right && script_start(&script, &error) && follower_init(&f, db_connection(&db, 0), path);
    f.is_alone = true;
    if (is_right) {
        follower_add(&f, "app");
        for (size_t i = 0; i < SCRIPT_TABLES; i++) {
            follower_add(&f, script.tables[i].name);
        }
        is_right = run_steps(&script, &f) && is_justified(&f, &script, script.has_checkpoints);
        add_counts(sum, &f.counts);
    }
    if (!is_right) {
        (void)printf("FAILED: wal_replay --seed %llu --round %zu --print\n%s%s\n",
                     (unsigned long long)options->seed, round, text_get(&error),
                     text_get(&f.complaint));
        print_counts(&f.counts);
    }
    if (f.mem != NULL) {
        follower_deinit(&f);
    }
    db_close(&db);
    db_remove_file(path);
    test_free(path);
    text_free(&error);
    return is_right;
}

int main(int argc, char **argv)
{
    Options options = {.seed = 1, .rounds = 10};
    for (int i = 1; i < argc; i++) {
        const char *const value = i + 1 < argc ? argv[i + 1] : "0";
        if (strcmp(argv[i], "--print") == 0) {
            options.is_printing = true;
        } else if (strcmp(argv[i], "--seed") == 0) {
            options.seed = strtoull(value, NULL, 10);
            i++;
        } else if (strcmp(argv[i], "--rounds") == 0) {
            options.rounds = strtoull(value, NULL, 10);
            i++;
        } else if (strcmp(argv[i], "--round") == 0) {
            options.first = strtoull(value, NULL, 10);
            options.rounds = 1;
            i++;
        }
    }
    FollowerCounts sum = {0};
    for (size_t i = options.first; i < options.first + options.rounds; i++) {
        if (!run_round(&options, i, &sum)) {
            return 1;
        }
    }
    print_counts(&sum);
    /* A test that tested nothing must not pass. */
    return sum.commits > 0 && sum.rows_inserted > 0 && sum.rows_deleted > 0 && sum.cells_updated > 0
               ? 0
               : 1;
}
