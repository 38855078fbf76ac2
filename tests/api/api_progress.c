/* api_progress.c: what is told while views are filled. */
#include "api.h"

#include <string.h>

typedef struct Told {
    size_t count;
    uint64_t rows_done;
    uint64_t rows_expected;
    bool is_wrong;
    WeirDb *interrupted; /* NULL = none */
} Told;

static void note(void *user, const char *view, uint64_t rows_done, uint64_t rows_expected)
{
    Told *const told = user;
    told->is_wrong = told->is_wrong || strcmp(view, "v") != 0 || rows_done <= told->rows_done ||
                     rows_done > rows_expected;
    told->rows_done = rows_done;
    told->rows_expected = rows_expected;
    told->count++;
    if (told->interrupted != NULL) {
        weir_interrupt(told->interrupted);
    }
}

static WeirDb *open_rows(void)
{
    WeirDb *const db = api_open(NULL);
    run(db, "CREATE TABLE t AS SELECT range AS a FROM range(100000);"
            "CREATE TABLE u AS SELECT range AS a FROM range(5000)");
    return db;
}

static void the_rows_of_all_inputs_are_counted(void **state)
{
    (void)state;
    WeirDb *const db = open_rows();
    Told told = {0};
    weir_set_progress(db, note, &told);
    run(db, "CREATE MATERIALIZED VIEW v AS SELECT t.a FROM t JOIN u ON t.a = u.a");
    assert_false(told.is_wrong);
    assert_true(told.count >= 50);
    assert_int_equal(told.rows_done, 105000);
    assert_int_equal(told.rows_expected, 105000);
    told = (Told){0};
    run(db, "INSERT INTO t SELECT range FROM range(100000)"); /* a step, not a fill */
    assert_int_equal(told.count, 0);
    run(db, "REFRESH MATERIALIZED VIEW v");
    assert_false(told.is_wrong);
    assert_int_equal(told.rows_done, 205000);
    told = (Told){0};
    weir_set_progress(db, NULL, NULL);
    run(db, "REFRESH MATERIALIZED VIEW v");
    assert_int_equal(told.count, 0);
    weir_close(db);
}

static void the_callback_may_interrupt(void **state)
{
    (void)state;
    WeirDb *const db = open_rows();
    Told told = {.interrupted = db};
    WeirError err = {0};
    weir_set_progress(db, note, &told);
    assert_null(try_run(db, "CREATE MATERIALIZED VIEW v AS SELECT a FROM t", &err));
    assert_int_equal(err.code, WEIR_ERR_INTERRUPTED);
    told = (Told){0};
    run(db, "CREATE MATERIALIZED VIEW v AS SELECT a FROM t");
    gives(db, "SELECT count(*) FROM v", "100000\n");
    weir_close(db);
}

static void interrupt_other(void *user, const char *view, uint64_t rows_done,
                            uint64_t rows_expected)
{
    (void)view;
    (void)rows_done;
    (void)rows_expected;
    weir_interrupt(user);
}

static void a_connection_interrupts_only_its_own_statement(void **state)
{
    (void)state;
    WeirDb *const db = open_rows();
    WeirDb *const other = api_connect(db);
    gives(other, "SELECT count(*) FROM u", "5000\n");
    weir_set_progress(db, interrupt_other, other);
    run(db, "CREATE MATERIALIZED VIEW v AS SELECT a FROM t");
    gives(db, "SELECT count(*) FROM v", "100000\n");
    weir_close(other);
    weir_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rows_of_all_inputs_are_counted),
        cmocka_unit_test(the_callback_may_interrupt),
        cmocka_unit_test(a_connection_interrupts_only_its_own_statement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
