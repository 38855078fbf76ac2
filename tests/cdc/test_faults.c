/* test_faults.c: every read, write, sync, truncation, opening and removal of a file, and every lock of the
 * wal-index, fails in turn, once or for ever, or the disk is full from there on; the database opened anew must
 * be whole: what is in the tables is in the log, and nothing else. */
#include "story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* --- files that fail --- */

typedef enum Fault {
    FAULT_READ,
    FAULT_WRITE,
    FAULT_FULL,
    FAULT_SYNC,
    FAULT_TRUNCATE,
    FAULT_OPEN,
    FAULT_DELETE,
    FAULT_LOCK,
    FAULTS,
} Fault;

static sqlite3_vfs *real_vfs;
static Fault fault;
static long fail_at; /* the operation of that kind that fails, 0 for none */
static long operation_count;
static int fails_on;

typedef struct FaultyFile {
    sqlite3_file base;
    sqlite3_file real; /* its memory goes on behind this struct */
} FaultyFile;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return &((FaultyFile *)file)->real;
}

static int must_fail(Fault kind)
{
    if (kind != fault) {
        return 0;
    }
    operation_count++;
    return fail_at > 0 && (operation_count == fail_at || (fails_on && operation_count > fail_at));
}

static int faulty_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int faulty_read(sqlite3_file *file, void *out, int size, sqlite3_int64 offset)
{
    return must_fail(FAULT_READ) ? SQLITE_IOERR_READ
                                 : real_of(file)->pMethods->xRead(real_of(file), out, size, offset);
}

static int faulty_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset)
{
    const int is_full = must_fail(FAULT_FULL);
    if (is_full || must_fail(FAULT_WRITE)) {
        /* Half of it is written. */
        if (size > 1) {
            (void)real_of(file)->pMethods->xWrite(real_of(file), data, size / 2, offset);
        }
        return is_full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    }
    return real_of(file)->pMethods->xWrite(real_of(file), data, size, offset);
}

static int faulty_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return must_fail(FAULT_TRUNCATE) ? SQLITE_IOERR_TRUNCATE
                                     : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int faulty_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    return must_fail(FAULT_SYNC) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int faulty_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), out);
}

static int faulty_lock(sqlite3_file *file, int lock)
{
    return real_of(file)->pMethods->xLock(real_of(file), lock);
}

static int faulty_unlock(sqlite3_file *file, int lock)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), lock);
}

static int faulty_check_lock(sqlite3_file *file, int *out)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int faulty_control(sqlite3_file *file, int operation, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int faulty_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int faulty_device(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int faulty_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}

static int faulty_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    /* Unlocking does not fail: a lock that stayed would be the test's fault. */
    return (flags & SQLITE_SHM_LOCK) != 0 && must_fail(FAULT_LOCK)
               ? SQLITE_IOERR_SHMLOCK
               : real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void faulty_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int faulty_shm_unmap(sqlite3_file *file, int must_delete)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), must_delete);
}

static int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                       int *out_flags)
{
    static const sqlite3_io_methods METHODS = {
        .iVersion = 2,
        .xClose = faulty_close,
        .xRead = faulty_read,
        .xWrite = faulty_write,
        .xTruncate = faulty_truncate,
        .xSync = faulty_sync,
        .xFileSize = faulty_size,
        .xLock = faulty_lock,
        .xUnlock = faulty_unlock,
        .xCheckReservedLock = faulty_check_lock,
        .xFileControl = faulty_control,
        .xSectorSize = faulty_sector,
        .xDeviceCharacteristics = faulty_device,
        .xShmMap = faulty_shm_map,
        .xShmLock = faulty_shm_lock,
        .xShmBarrier = faulty_shm_barrier,
        .xShmUnmap = faulty_shm_unmap,
    };
    (void)vfs;
    const int rc = must_fail(FAULT_OPEN)
                       ? SQLITE_CANTOPEN
                       : real_vfs->xOpen(real_vfs, name, real_of(file), flags, out_flags);
    file->pMethods = rc == SQLITE_OK ? &METHODS : NULL;
    return rc;
}

static int faulty_delete(sqlite3_vfs *vfs, const char *name, int must_sync)
{
    (void)vfs;
    return must_fail(FAULT_DELETE) ? SQLITE_IOERR_DELETE
                                   : real_vfs->xDelete(real_vfs, name, must_sync);
}

static int install(void **state)
{
    static sqlite3_vfs faulty;
    (void)state;
    real_vfs = sqlite3_vfs_find(NULL);
    faulty = *real_vfs;
    faulty.zName = "faulty";
    faulty.szOsFile = (int)offsetof(FaultyFile, real) + real_vfs->szOsFile;
    faulty.xOpen = faulty_open;
    faulty.xDelete = faulty_delete;
    return sqlite3_vfs_register(&faulty, 1);
}

/* --- the story with failures --- */

static const char DATABASE[] = "faults.db";
static const char ENABLE[] = "PRAGMA capture_data_changes_conn('full')";

static void run(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* A small cache spills: writes fail within statements, not only at their end. */
static sqlite3 *open_file(const char *journal)
{
    static const char *const SUFFIXES[] = {"", "-wal", "-shm", "-journal"};
    char *const setting = sqlite3_mprintf("PRAGMA journal_mode=%s", journal);
    sqlite3 *db = NULL;
    for (int i = 0; i < 4; i++) {
        char *const name = sqlite3_mprintf("%s%s", DATABASE, SUFFIXES[i]);
        (void)unlink(name);
        sqlite3_free(name);
    }
    assert_int_equal(sqlite3_open(DATABASE, &db), SQLITE_OK);
    run(db, "PRAGMA page_size=512; PRAGMA cache_size=8");
    run(db, setting);
    run(db, STORY_SCHEMA);
    run(db, ENABLE);
    sqlite3_free(setting);
    return db;
}

static void check_reopened(long point)
{
    sqlite3 *db = NULL;
    sqlite3 *first = NULL;
    assert_int_equal(sqlite3_open(DATABASE, &db), SQLITE_OK);
    assert_int_equal(sqlite3_open(":memory:", &first), SQLITE_OK);
    run(first, STORY_SCHEMA);
    run(first, ENABLE);
    story_check(db, first, point);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_close(first), SQLITE_OK);
}

/* Returns how many operations there were. */
static long fail_everywhere(const char *journal, Fault kind, int for_ever, long step)
{
    for (long point = 1;; point += step) {
        fault = kind;
        fail_at = 0;
        sqlite3 *const db = open_file(journal);
        operation_count = 0;
        fails_on = for_ever;
        fail_at = point;
        story_run(db);
        const int is_over = operation_count < point;
        (void)sqlite3_close(db);
        fail_at = 0;
        check_reopened(point);
        if (is_over) {
            return point;
        }
    }
}

static void fail_all_kinds(const char *journal)
{
    static const char *const NAMES[] = {"reads",    "writes",      "writes to a full disk",
                                        "syncs",    "truncations", "openings",
                                        "removals", "locks"};
    for (int kind = 0; kind < FAULTS; kind++) {
        const long once = fail_everywhere(journal, (Fault)kind, 0, 1);
        (void)fail_everywhere(journal, (Fault)kind, 1, 5);
        print_message("%s: %ld %s\n", journal, once - 1, NAMES[kind]);
    }
}

static void a_rollback_journal_undoes_what_fails(void **state)
{
    (void)state;
    fail_all_kinds("DELETE");
}

static void a_truncated_journal_undoes_what_fails(void **state)
{
    (void)state;
    (void)fail_everywhere("TRUNCATE", FAULT_TRUNCATE, 0, 1);
    (void)fail_everywhere("PERSIST", FAULT_WRITE, 0, 3);
}

static void a_write_ahead_log_forgets_what_fails(void **state)
{
    (void)state;
    fail_all_kinds("WAL");
}

/* Finding and keeping a gap fails at each operation: it is kept or can still be found. */
static void a_gap_is_never_lost(void **state)
{
    static const char *const JOURNALS[] = {"DELETE", "WAL"};
    static const Fault KINDS[] = {FAULT_READ, FAULT_WRITE,  FAULT_FULL, FAULT_SYNC,
                                  FAULT_OPEN, FAULT_DELETE, FAULT_LOCK};
    (void)state;
    for (int i = 0; i < 14; i++) {
        int rc = SQLITE_IOERR;
        for (long point = 1; rc != SQLITE_OK; point++) {
            sqlite3 *db = NULL;
            fail_at = 0;
            const sqlite3_int64 after = story_make_gap(DATABASE, JOURNALS[i % 2]);
            assert_int_equal(sqlite3_open(DATABASE, &db), SQLITE_OK);
            run(db, ENABLE);
            fault = KINDS[i / 2];
            operation_count = 0;
            fails_on = 0;
            fail_at = point;
            rc = sqlite3_exec(db, "UPDATE t SET z=9 WHERE x=1", NULL, NULL, NULL);
            fail_at = 0;
            (void)sqlite3_close(db);
            story_check_gap(DATABASE, after, point);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest TESTS[] = {
        cmocka_unit_test(a_rollback_journal_undoes_what_fails),
        cmocka_unit_test(a_truncated_journal_undoes_what_fails),
        cmocka_unit_test(a_write_ahead_log_forgets_what_fails),
        cmocka_unit_test(a_gap_is_never_lost),
    };
    return cmocka_run_group_tests(TESTS, install, NULL);
}
