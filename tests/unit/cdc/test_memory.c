/* test_memory.c: every allocation fails in turn, while a log is read, compared and pruned. Each try ends
 * with the right result or with an error, and nothing is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cdc/database.h"
#include "cdc/log.h"
#include "cdc/net.h"
#include "cdc/setting.h"

static const char PATH[] = "cdc_memory.db";

static const char *const STATEMENTS[] = {
    "CREATE TABLE t(a, v AS (a + 1), b)",
    "PRAGMA capture_data_changes_default('full')",
    "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
    "ALTER TABLE t RENAME COLUMN b TO c",
    "UPDATE t SET c = 'z' WHERE a = 1",
    "ALTER TABLE t RENAME TO u",
    "CREATE INDEX i ON u(c)",
    "CREATE TABLE w(x)",
    "INSERT INTO w VALUES (1)",
    "DROP TABLE w",
    "DELETE FROM u WHERE a = 2",
};

/* ---- an allocator that fails ---------------------------------------------------------------- */

static sqlite3_mem_methods real_methods;
static long fail_at; /* the allocation that fails; 0 = none */
static long allocation_count;

static bool must_fail(void)
{
    allocation_count++;
    return allocation_count == fail_at;
}

static void *failing_malloc(int size)
{
    return must_fail() ? NULL : real_methods.xMalloc(size);
}

static void *failing_realloc(void *memory, int size)
{
    return must_fail() ? NULL : real_methods.xRealloc(memory, size);
}

static int set_up(void **state)
{
    WeirError err;
    sqlite3 *db = NULL;
    (void)state;
    (void)unlink(PATH);
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_methods) != SQLITE_OK) {
        return 1;
    }
    sqlite3_mem_methods methods = real_methods;
    methods.xMalloc = failing_malloc;
    methods.xRealloc = failing_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK ||
        sqlite3_initialize() != SQLITE_OK ||
        weir_cdc_open(PATH, CDC_OPEN_CREATE, &db, &err) != WEIR_OK) {
        return 1;
    }
    for (size_t i = 0; i < sizeof STATEMENTS / sizeof *STATEMENTS; i++) {
        if (weir_cdc_run(db, &err, "%s", STATEMENTS[i]) != WEIR_OK) {
            return 1;
        }
    }
    sqlite3_close_v2(db);
    return 0;
}

/* ---- what is done --------------------------------------------------------------------------- */

/* A sum of what a change says: its names and types of values. */
static uint64_t digest_change(uint64_t digest, const CdcChange *change)
{
    const char *const texts[] = {
        change->table,
        change->columns == NULL ? "?" : change->columns->names[change->columns->stored_count - 1],
        change->before_columns == NULL ? "?" : change->before_columns->names[0]};
    digest = digest * 31 + (uint64_t)change->change_id + (uint64_t)(change->type + 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (const char *c = texts[i]; *c != '\0'; c++) {
            digest = digest * 31 + (unsigned char)*c;
        }
    }
    return digest + change->before.size + change->after.size;
}

static bool visit(void *user, const CdcChange *change)
{
    uint64_t *const digest = user;
    *digest = digest_change(*digest, change);
    return true;
}

static WeirStatus read_log(sqlite3 *db, uint64_t *digest, WeirError *err)
{
    CdcLog *log = NULL;
    WEIR_CDC_TRY(weir_cdc_log_open(db, NULL, &log, err));
    WeirStatus status = WEIR_OK;
    for (;;) {
        const CdcChange *change = NULL;
        status = weir_cdc_log_next(log, &change, err);
        if (status != WEIR_OK || change == NULL) {
            break;
        }
        *digest = digest_change(*digest, change);
    }
    if (status == WEIR_OK) {
        status = weir_cdc_net(db, log, 0, 12, visit, digest, err);
    }
    weir_cdc_log_close(log);
    return status;
}

static WeirStatus read_all(uint64_t *digest, WeirError *err)
{
    sqlite3 *db = NULL;
    CdcSetting setting;
    CdcStatus log_status;
    *digest = 0;
    WEIR_CDC_TRY(weir_cdc_open(PATH, CDC_OPEN_READ, &db, err));
    WeirStatus status = weir_cdc_setting_read(db, NULL, &setting, err);
    if (status == WEIR_OK) {
        status = weir_cdc_status_read(db, &setting, &log_status, err);
        *digest += (uint64_t)(status == WEIR_OK ? log_status.change_count : 0);
    }
    if (status == WEIR_OK) {
        status = read_log(db, digest, err);
    }
    sqlite3_close_v2(db);
    return status;
}

static WeirStatus write_all(uint64_t *digest, WeirError *err)
{
    sqlite3 *db = NULL;
    CdcSetting setting;
    sqlite3_int64 removed = 0;
    sqlite3_int64 kept = 0;
    *digest = 0;
    WEIR_CDC_TRY(weir_cdc_open(PATH, CDC_OPEN_WRITE, &db, err));
    WeirStatus status = weir_cdc_setting_write(db, "full", "turso_cdc", err);
    if (status == WEIR_OK) {
        status = weir_cdc_setting_read(db, NULL, &setting, err);
    }
    if (status == WEIR_OK) {
        status = weir_cdc_prune(db, &setting, CDC_PRUNE_KEEP, 100, &removed, &kept, err);
        *digest = (uint64_t)kept;
    }
    sqlite3_close_v2(db);
    return status;
}

static void fail_each(WeirStatus (*run)(uint64_t *digest, WeirError *err))
{
    WeirError err = {0};
    uint64_t expected = 0;
    fail_at = 0;
    assert_int_equal(run(&expected, &err), WEIR_OK);
    const sqlite3_int64 used = sqlite3_memory_used();
    long failed_count = 0;
    for (long point = 1;; point++) {
        uint64_t digest = 0;
        allocation_count = 0;
        fail_at = point;
        const WeirStatus status = run(&digest, &err);
        const bool is_over = allocation_count < point;
        fail_at = 0;
        if (status == WEIR_OK) {
            assert_true(digest == expected);
        } else {
            assert_true(status == WEIR_ERR_NOMEM || status == WEIR_ERR_HOST ||
                        status == WEIR_ERR_IO);
            assert_true(err.message[0] != '\0');
            failed_count++;
        }
        assert_true(sqlite3_memory_used() == used);
        if (is_over) {
            break;
        }
    }
    assert_true(failed_count > 100);
}

static void reading_survives_missing_memory(void **state)
{
    (void)state;
    fail_each(read_all);
}

static void writing_survives_missing_memory(void **state)
{
    (void)state;
    fail_each(write_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_survives_missing_memory),
        cmocka_unit_test(writing_survives_missing_memory),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
