/* api_changes.c: subscriptions: the snapshot and the changes after it add up to the view, at every
 * generation, in order, once; from where they were left; across threads. */
#include "api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 256, TEXT_SIZE = 64, WAIT_MS = 20000 };

/* The rows that a subscriber has added up. */
typedef struct Sum {
    char rows[ROWS_MAX][TEXT_SIZE];
    int64_t weights[ROWS_MAX];
    size_t count;
    uint64_t generation; /* complete */
    size_t generation_count;
    bool is_out_of_order;
    bool is_overfull;
} Sum;

static void add_row(Sum *sum, const char *row, int64_t weight)
{
    size_t i = 0;
    while (i < sum->count && strcmp(sum->rows[i], row) != 0) {
        i++;
    }
    if (i == ROWS_MAX) {
        sum->is_overfull = true;
        return;
    }
    if (i == sum->count) {
        (void)snprintf(sum->rows[i], TEXT_SIZE, "%s", row);
        sum->weights[i] = 0;
        sum->count++;
    }
    sum->weights[i] += weight;
    if (sum->weights[i] == 0) {
        sum->count--;
        memmove(sum->rows[i], sum->rows[sum->count], TEXT_SIZE);
        sum->weights[i] = sum->weights[sum->count];
    }
}

static bool take_event(void *user, WeirChanges *changes, WeirEvent event)
{
    Sum *const sum = user;
    const uint64_t generation = weir_changes_generation(changes);
    if (event == WEIR_EVENT_COMPLETE) {
        sum->generation = generation;
        sum->generation_count++;
        return true;
    }
    sum->is_out_of_order = sum->is_out_of_order || generation <= sum->generation;
    WeirResult *const row = weir_changes_row(changes);
    char text[TEXT_SIZE] = "";
    for (size_t i = 0; i < weir_result_column_count(row); i++) {
        const char *const value = weir_result_text(row, i, NULL);
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s", i == 0 ? "" : "|",
                       value == NULL ? "NULL" : value);
    }
    add_row(sum, text, weir_changes_weight(changes));
    return true;
}

static WeirChanges *subscribe(WeirDb *db, const char *view, int64_t since)
{
    WeirChanges *changes = NULL;
    WeirError err = {0};
    if (weir_subscribe(db, view, since, &changes, &err) != WEIR_OK) {
        fail_msg("cannot subscribe to %s: %s", view, err.message);
    }
    return changes;
}

static void refused(WeirDb *db, const char *view, int64_t since, WeirStatus code)
{
    WeirChanges *changes = NULL;
    WeirError err = {0};
    assert_int_equal(weir_subscribe(db, view, since, &changes, &err), code);
    assert_null(changes);
}

/* All that is there now. */
static void deliver(WeirChanges *changes, Sum *sum)
{
    WeirError err = {0};
    if (weir_changes_deliver(changes, 0, take_event, sum, &err) != WEIR_OK) {
        fail_msg("no changes: %s", err.message);
    }
    assert_false(sum->is_out_of_order);
    assert_false(sum->is_overfull);
}

static WeirStatus next(WeirChanges *changes, int64_t timeout_ms, WeirEvent *event)
{
    WeirError err = {0};
    return weir_changes_next(changes, timeout_ms, event, &err);
}

/* The sum is the view. */
static void adds_up(const Sum *sum, WeirDb *db, const char *query)
{
    Sum view = {0};
    WeirError err = {0};
    char *const rows = try_run(db, query, &err);
    assert_non_null(rows);
    for (char *line = rows; *line != '\0'; line += strlen(line) + 1) {
        *strchr(line, '\n') = '\0';
        add_row(&view, line, 1);
    }
    for (size_t i = 0; i < sum->count; i++) {
        add_row(&view, sum->rows[i], -sum->weights[i]);
    }
    if (view.count > 0) {
        fail_msg("%s of the view and of the sum differ by %lld", view.rows[0],
                 (long long)view.weights[0]);
    }
    free(rows);
}

/* DuckDB's own threads are of no interest here. */
static WeirDb *open_memory(void)
{
    WeirDb *const db = api_open(NULL);
    run(db, "SET threads = 1");
    return db;
}

static WeirDb *open_sales(void)
{
    WeirDb *const db = open_memory();
    run(db, "CREATE TABLE t (g INTEGER, v INTEGER);"
            "INSERT INTO t VALUES (1, 10), (1, 11), (2, 20), (NULL, NULL);"
            "CREATE MATERIALIZED VIEW v AS SELECT g, count(*) AS n, sum(v) AS s FROM t GROUP BY g;"
            "CREATE MATERIALIZED VIEW twice AS SELECT g FROM t");
    return db;
}

/* ---- one thread ------------------------------------------------------------------------------- */

static const char *const WRITES[] = {
    "INSERT INTO t VALUES (1, 1), (3, 30), (3, 30)",
    "UPDATE t SET v = v + 1 WHERE g = 1",
    "DELETE FROM t WHERE g IS NULL",
    "BEGIN; INSERT INTO t VALUES (7, 1); DELETE FROM t WHERE g = 3; COMMIT",
    "BEGIN; DELETE FROM t; ROLLBACK",
    "CREATE TABLE other (a INTEGER); INSERT INTO other VALUES (1)",
    "UPDATE t SET g = 2",
    "TRUNCATE t",
    "INSERT INTO t SELECT range % 5, range FROM range(100)",
    "DELETE FROM t WHERE v % 2 = 0",
};
enum { WRITE_COUNT = sizeof WRITES / sizeof *WRITES };

static void snapshot_and_changes_add_up_to_the_view_at_every_generation(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    WeirDb *const writer = api_connect(db);
    for (size_t start = 0; start < WRITE_COUNT; start++) {
        WeirChanges *const groups = subscribe(db, "v", WEIR_SINCE_SNAPSHOT);
        WeirChanges *const rows = subscribe(db, "twice", WEIR_SINCE_SNAPSHOT);
        Sum group_sum = {0};
        Sum row_sum = {0};
        for (size_t i = start; i < WRITE_COUNT; i++) {
            if (i != start) { /* else the snapshot is read after the next write */
                deliver(groups, &group_sum);
                adds_up(&group_sum, db, "SELECT * FROM v");
                deliver(rows, &row_sum);
                adds_up(&row_sum, db, "SELECT * FROM twice");
            }
            run(writer, WRITES[i]);
        }
        deliver(groups, &group_sum);
        adds_up(&group_sum, db, "SELECT * FROM v");
        weir_changes_close(groups);
        weir_changes_close(rows);
        run(writer, "DROP TABLE IF EXISTS other; TRUNCATE t; INSERT INTO t VALUES (1, 1), (5, 5)");
    }
    weir_close(writer);
    weir_close(db);
}

static void a_snapshot_is_of_the_generation_that_it_names(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    WeirChanges *const changes = subscribe(db, "v", WEIR_SINCE_SNAPSHOT);
    run(db, "INSERT INTO t VALUES (9, 9)"); /* after it: a change, not in the snapshot */
    WeirEvent event = WEIR_EVENT_NONE;
    uint64_t snapshot = 0;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(next(changes, 0, &event), WEIR_OK);
        assert_int_equal(event, WEIR_EVENT_ROW);
        assert_int_equal(weir_changes_weight(changes), 1);
        assert_true(weir_changes_is_snapshot(changes));
    }
    assert_int_equal(next(changes, 0, &event), WEIR_OK);
    assert_int_equal(event, WEIR_EVENT_COMPLETE);
    assert_true(weir_changes_is_snapshot(changes));
    snapshot = weir_changes_generation(changes);
    assert_int_equal(next(changes, 0, &event), WEIR_OK);
    assert_int_equal(event, WEIR_EVENT_ROW);
    assert_false(weir_changes_is_snapshot(changes));
    assert_true(weir_changes_generation(changes) > snapshot);
    assert_string_equal(weir_result_text(weir_changes_row(changes), 0, NULL), "9");
    assert_string_equal(weir_result_column_name(weir_changes_row(changes), 1), "n");
    assert_string_equal(weir_result_column_type(weir_changes_row(changes), 1), "BIGINT");
    weir_changes_close(changes);
    weir_close(db);
}

static void an_empty_snapshot_has_an_end_too(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    run(db, "DELETE FROM t");
    WeirChanges *const changes = subscribe(db, "v", WEIR_SINCE_SNAPSHOT);
    WeirEvent event = WEIR_EVENT_NONE;
    assert_int_equal(next(changes, 0, &event), WEIR_OK);
    assert_int_equal(event, WEIR_EVENT_COMPLETE);
    assert_int_equal(next(changes, 0, &event), WEIR_OK);
    assert_int_equal(event, WEIR_EVENT_NONE);
    weir_changes_close(changes);
    weir_close(db);
}

static void a_subscription_goes_on_from_where_another_was_left(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    Sum sum = {0};
    WeirChanges *changes = subscribe(db, "main.V", WEIR_SINCE_SNAPSHOT);
    deliver(changes, &sum);
    weir_changes_close(changes);
    for (size_t i = 0; i < WRITE_COUNT; i++) {
        run(db, WRITES[i]);
        if (i % 3 == 0) {
            changes = subscribe(db, "v", (int64_t)sum.generation);
            deliver(changes, &sum);
            adds_up(&sum, db, "SELECT * FROM v");
            weir_changes_close(changes);
        }
    }
    changes = subscribe(db, "v", WEIR_SINCE_NOW);
    const size_t count = sum.generation_count;
    deliver(changes, &sum);
    assert_int_equal(sum.generation_count, count);
    weir_changes_close(changes);
    weir_close(db);
}

static void what_cannot_be_followed_is_refused(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    refused(db, "nosuch", WEIR_SINCE_NOW, WEIR_ERR_UNKNOWN_VIEW);
    refused(db, "t", WEIR_SINCE_SNAPSHOT, WEIR_ERR_UNKNOWN_VIEW);
    refused(db, "v", 1000000, WEIR_ERR_ARGUMENT);
    refused(db, "v", -3, WEIR_ERR_ARGUMENT);
    weir_close(db);
}

static void who_is_too_far_behind_is_told_so(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    WeirError err = {0};
    WeirEvent event = WEIR_EVENT_NONE;
    run(db, "CREATE TABLE wide (a INTEGER);"
            "CREATE MATERIALIZED VIEW texts AS SELECT a, repeat('x', 1000) AS x FROM wide");
    WeirChanges *changes = subscribe(db, "texts", WEIR_SINCE_NOW);
    run(db, "INSERT INTO wide SELECT range FROM range(80000)"); /* more than a feed keeps */
    assert_int_equal(weir_changes_next(changes, 0, &event, &err), WEIR_ERR_TOO_OLD);
    assert_non_null(strstr(err.message, "texts"));
    assert_int_equal(next(changes, WAIT_MS, &event), WEIR_ERR_TOO_OLD);
    weir_changes_close(changes);
    changes = subscribe(db, "texts", WEIR_SINCE_SNAPSHOT);
    size_t count = 0;
    while (next(changes, 0, &event) == WEIR_OK && event == WEIR_EVENT_ROW) {
        count++;
    }
    assert_int_equal(count, 80000);
    assert_int_equal(event, WEIR_EVENT_COMPLETE);
    run(db, "DELETE FROM wide WHERE a = 5");
    assert_int_equal(next(changes, 0, &event), WEIR_OK);
    assert_int_equal(event, WEIR_EVENT_ROW);
    assert_int_equal(weir_changes_weight(changes), -1);
    weir_changes_close(changes);
    weir_close(db);
}

static void a_view_that_is_made_again_is_another_one(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    WeirEvent event = WEIR_EVENT_NONE;
    WeirChanges *const changes = subscribe(db, "v", WEIR_SINCE_NOW);
    run(db, "DROP MATERIALIZED VIEW v");
    assert_int_equal(next(changes, WAIT_MS, &event), WEIR_ERR_UNKNOWN_VIEW);
    run(db, "CREATE MATERIALIZED VIEW v AS SELECT v FROM t");
    assert_int_equal(next(changes, WAIT_MS, &event), WEIR_ERR_TOO_OLD);
    weir_changes_close(changes);
    weir_close(db);
}

static void a_mended_view_gives_the_difference(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    Sum sum = {0};
    WeirEvent event = WEIR_EVENT_NONE;
    run(db, "CREATE TABLE texts (a VARCHAR); INSERT INTO texts VALUES ('1');"
            "CREATE MATERIALIZED VIEW numbers AS SELECT a::INTEGER AS n FROM texts");
    WeirChanges *const changes = subscribe(db, "numbers", WEIR_SINCE_SNAPSHOT);
    deliver(changes, &sum);
    run(db, "INSERT INTO texts VALUES ('2'), ('x')");
    assert_int_equal(next(changes, 0, &event), WEIR_ERR_BROKEN);
    run(db, "DELETE FROM texts WHERE a = 'x'");
    deliver(changes, &sum);
    adds_up(&sum, db, "SELECT * FROM numbers");
    assert_int_equal(sum.count, 2);
    weir_changes_close(changes);
    weir_close(db);
}

static void a_transaction_does_not_disturb_a_subscription(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    WeirDb *const other = api_connect(db);
    Sum sum = {0};
    WeirChanges *const changes = subscribe(db, "v", WEIR_SINCE_SNAPSHOT);
    run(db, "BEGIN; INSERT INTO t VALUES (1, 1)");
    run(other, "INSERT INTO t VALUES (2, 2)");
    fails(db, "SELECT nosuch", "nosuch"); /* the transaction can only be rolled back now */
    deliver(changes, &sum);
    adds_up(&sum, other, "SELECT * FROM v");
    run(db, "ROLLBACK");
    weir_changes_close(changes);
    weir_close(other);
    weir_close(db);
}

static void a_subscription_outlives_its_connection(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    Sum sum = {0};
    WeirChanges *const changes = subscribe(db, "v", WEIR_SINCE_SNAPSHOT);
    weir_close(db);
    deliver(changes, &sum);
    assert_int_equal(sum.count, 3);
    weir_changes_close(changes);
}

static void numbers_of_an_earlier_opening_are_refused(void **state)
{
    (void)state;
    char *const path = test_path("changes.db");
    WeirDb *db = api_open(path);
    run(db, "SET threads = 1; CREATE TABLE t (a INTEGER);"
            "CREATE MATERIALIZED VIEW v AS SELECT a FROM t;"
            "INSERT INTO t VALUES (1), (2)");
    weir_close(db);
    Sum sum = {0};
    for (int opening = 0; opening < 3; opening++) {
        const uint64_t earlier = sum.generation;
        db = api_open(path);
        run(db, "SET threads = 1; INSERT INTO t VALUES (3); INSERT INTO t VALUES (4)");
        refused(db, "v", 0, WEIR_ERR_TOO_OLD);
        refused(db, "v", 2, WEIR_ERR_TOO_OLD);
        refused(db, "v", (int64_t)earlier, WEIR_ERR_TOO_OLD);
        sum = (Sum){0};
        WeirChanges *const changes = subscribe(db, "v", WEIR_SINCE_SNAPSHOT);
        deliver(changes, &sum);
        weir_changes_close(changes);
        assert_true(sum.generation > earlier);
        refused(db, "v", (int64_t)sum.generation + 1, WEIR_ERR_ARGUMENT);
        weir_close(db);
    }
    (void)remove(path);
    free(path);
}

/* ---- several threads -------------------------------------------------------------------------- */

enum { ACCOUNTS = 8, TOTAL = 800, TRANSFERS = 300 };

typedef struct Follower {
    WeirChanges *changes;
    Sum sum;
    size_t wrong_count; /* generations in which money is missing, or an account */
    bool is_done;       /* the last transfer was seen */
    WeirStatus status;
} Follower;

static void check_accounts(Follower *follower)
{
    long long total = 0;
    for (size_t i = 0; i < follower->sum.count; i++) {
        const char *const row = follower->sum.rows[i];
        const long long value = strtoll(strchr(row, '|') + 1, NULL, 10);
        const bool is_marker = strncmp(row, "-1|", 3) == 0;
        total += is_marker ? 0 : value;
        follower->is_done = follower->is_done || (is_marker && value == TRANSFERS);
        follower->wrong_count += follower->sum.weights[i] != 1;
    }
    follower->wrong_count += total != TOTAL || follower->sum.count != ACCOUNTS + 1;
}

static void *follow(void *argument)
{
    Follower *const follower = argument;
    while (follower->status == WEIR_OK && !follower->is_done) {
        WeirEvent event = WEIR_EVENT_NONE;
        WeirError err = {0};
        follower->status = weir_changes_next(follower->changes, WAIT_MS, &event, &err);
        if (event == WEIR_EVENT_NONE) {
            break;
        }
        (void)take_event(&follower->sum, follower->changes, event);
        if (event == WEIR_EVENT_COMPLETE) {
            check_accounts(follower);
        }
    }
    return NULL;
}

static void a_thread_follows_what_another_one_writes(void **state)
{
    (void)state;
    WeirDb *const db = open_memory();
    Follower follower = {0};
    pthread_t thread;
    run(db, "CREATE TABLE accounts (id INTEGER, value INTEGER);"
            "INSERT INTO accounts SELECT range, 100 FROM range(8);"
            "INSERT INTO accounts VALUES (-1, 0);"
            "CREATE MATERIALIZED VIEW v AS SELECT id, value FROM accounts");
    follower.changes = subscribe(db, "v", WEIR_SINCE_SNAPSHOT);
    assert_int_equal(pthread_create(&thread, NULL, follow, &follower), 0);
    for (int i = 1; i <= TRANSFERS; i++) {
        char sql[256];
        (void)snprintf(sql, sizeof sql,
                       "BEGIN; UPDATE accounts SET value = value - 1 WHERE id = %d;"
                       "UPDATE accounts SET value = value + 1 WHERE id = %d;"
                       "UPDATE accounts SET value = %d WHERE id = -1; COMMIT",
                       i % ACCOUNTS, (i * 3 + 1) % ACCOUNTS, i);
        run(db, sql);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(follower.status, WEIR_OK);
    assert_true(follower.is_done);
    assert_int_equal(follower.wrong_count, 0);
    assert_false(follower.sum.is_out_of_order);
    adds_up(&follower.sum, db, "SELECT * FROM v");
    weir_changes_close(follower.changes);
    weir_close(db);
}

static void *wait_for_ever(void *argument)
{
    Follower *const follower = argument;
    WeirEvent event = WEIR_EVENT_NONE;
    follower->status = next(follower->changes, -1, &event);
    return NULL;
}

static void a_wait_can_be_interrupted(void **state)
{
    (void)state;
    WeirDb *const db = open_sales();
    Follower follower = {.changes = subscribe(db, "v", WEIR_SINCE_NOW)};
    pthread_t thread;
    WeirEvent event = WEIR_EVENT_NONE;
    for (size_t i = 0; i < 20; i++) { /* before, while and after it begins to wait */
        assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, &follower), 0);
        weir_changes_interrupt(follower.changes);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(follower.status, WEIR_ERR_INTERRUPTED);
    }
    assert_int_equal(next(follower.changes, 5, &event), WEIR_OK);
    assert_int_equal(event, WEIR_EVENT_NONE);
    run(db, "INSERT INTO t VALUES (1, 1)");
    assert_int_equal(next(follower.changes, -1, &event), WEIR_OK);
    assert_int_equal(event, WEIR_EVENT_ROW);
    weir_changes_close(follower.changes);
    weir_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshot_and_changes_add_up_to_the_view_at_every_generation),
        cmocka_unit_test(a_snapshot_is_of_the_generation_that_it_names),
        cmocka_unit_test(an_empty_snapshot_has_an_end_too),
        cmocka_unit_test(a_subscription_goes_on_from_where_another_was_left),
        cmocka_unit_test(what_cannot_be_followed_is_refused),
        cmocka_unit_test(who_is_too_far_behind_is_told_so),
        cmocka_unit_test(a_view_that_is_made_again_is_another_one),
        cmocka_unit_test(a_mended_view_gives_the_difference),
        cmocka_unit_test(a_transaction_does_not_disturb_a_subscription),
        cmocka_unit_test(a_subscription_outlives_its_connection),
        cmocka_unit_test(numbers_of_an_earlier_opening_are_refused),
        cmocka_unit_test(a_thread_follows_what_another_one_writes),
        cmocka_unit_test(a_wait_can_be_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
