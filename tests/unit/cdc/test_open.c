/* test_open.c: a database that cannot be opened, and what is said of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cdc/database.h"

enum { NOBODY = 65534 };

static char directory[] = "/tmp/weir_open_XXXXXX";
static char path[sizeof directory + 8];

static int set_up(void **state)
{
    WeirError err;
    sqlite3 *db = NULL;
    (void)state;
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof path, "%s/w.db", directory);
    if (weir_cdc_open(path, CDC_OPEN_CREATE, &db, &err) != WEIR_OK ||
        weir_cdc_run(db, &err, "PRAGMA journal_mode=WAL") != WEIR_OK ||
        weir_cdc_run(db, &err, "CREATE TABLE t(a)") != WEIR_OK) {
        return -1;
    }
    return sqlite3_close(db);
}

static int tear_down(void **state)
{
    (void)state;
    return chmod(directory, 0700) != 0 || unlink(path) != 0 || rmdir(directory) != 0;
}

/* To root everything is permitted. */
static WeirStatus open_as_nobody(CdcOpen how, WeirError *err)
{
    sqlite3 *db = NULL;
    const uid_t user = geteuid();
    assert_int_equal(user == 0 ? seteuid(NOBODY) : 0, 0);
    const WeirStatus status = weir_cdc_open(path, how, &db, err);
    assert_int_equal(user == 0 ? seteuid(0) : 0, 0);
    assert_null(db);
    return status;
}

static void a_log_file_that_cannot_be_made_is_told(void **state)
{
    (void)state;
    static const CdcOpen HOWS[] = {CDC_OPEN_READ, CDC_OPEN_WRITE};
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(directory, 0555), 0);
    for (size_t i = 0; i < sizeof HOWS / sizeof *HOWS; i++) {
        WeirError err;
        assert_int_equal(open_as_nobody(HOWS[i], &err), WEIR_ERR_IO);
        assert_non_null(strstr(err.message, path));
        assert_non_null(strstr(err.message, "its directory is read-only"));
        assert_non_null(strstr(err.hint, "WAL mode"));
    }
}

static void a_file_that_may_not_be_read_is_told(void **state)
{
    WeirError err;
    (void)state;
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(directory, 0755), 0);
    assert_int_equal(open_as_nobody(CDC_OPEN_READ, &err), WEIR_ERR_IO);
    assert_non_null(strstr(err.message, path));
    assert_non_null(strstr(err.message, "Permission denied"));
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(a_log_file_that_cannot_be_made_is_told),
        cmocka_unit_test(a_file_that_may_not_be_read_is_told),
    };
    return cmocka_run_group_tests(TESTS, set_up, tear_down);
}
