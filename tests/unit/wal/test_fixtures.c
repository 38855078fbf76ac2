/* test_fixtures.c: the logs of tests/fixtures/wal, whole, cut, damaged, with too little memory.
 *
 * With WEIR_WRITE_CHANGES in the environment it writes changes.txt instead of comparing. */
#include "wal_test.h"

static const char *const LOGS[] = {"v1.0.0-1.4.4.wal", "v1.0.0-1.5.6.wal", "v1.4.0-1.4.4.wal",
                                   "v1.5.0-1.5.6.wal"};

enum { LOG_COUNT = sizeof LOGS / sizeof LOGS[0], COMMITS_MAX = 200, TEXT_MAX = 1 << 20 };

static void path_of(const char *name, char *out, size_t size)
{
    const int length = snprintf(out, size, "%s/%s", WEIR_TESTS_DIR "/fixtures/wal", name);
    assert_true(length > 0 && (size_t)length < size);
}

static void read_fixture(const char *name, Bytes *out)
{
    char path[1024];
    path_of(name, path, sizeof path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    out->size = fread(out->data, 1, sizeof out->data, file);
    assert_true(out->size < sizeof out->data);
    assert_int_equal(fclose(file), 0);
}

typedef struct Fixture {
    Files files;
    WalPosition start; /* before the log is there */
    Buf text;
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    files_open(&f->files, "wal_fixtures");
    assert_int_equal(weir_wal_mark(f->files.wal, &f->start), WAL_NEW);
    weir_buf_init(&f->text, f->files.mem, TEXT_MAX);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    weir_buf_deinit(&f->text);
    files_close(&f->files);
    free(f);
    return 0;
}

static void recorded_logs_say_what_was_done(void **state)
{
    Fixture *const f = *state;
    static Bytes log;
    static Bytes expected;
    char path[1024];
    path_of("changes.txt", path, sizeof path);
    for (size_t i = 0; i < LOG_COUNT; i++) {
        WalPosition position = f->start;
        read_fixture(LOGS[i], &log);
        write_log(&f->files, &log);
        print_changes(&f->files, &position, &f->text);
        assert_int_equal(position.offset, log.size);
        if (getenv("WEIR_WRITE_CHANGES") != NULL && i == 0) {
            write_file(path, f->text.data, f->text.size);
        }
        read_fixture("changes.txt", &expected);
        expected.data[expected.size] = '\0';
        assert_string_equal(f->text.data, (const char *)expected.data);
    }
}

/* Where the commits of a log end. */
static size_t find_ends(Fixture *f, const Bytes *log, uint64_t *ends)
{
    Error err = {0};
    size_t count = 0;
    WalChange change = {.kind = WAL_COMMIT};
    WalPosition position;
    write_log(&f->files, log);
    assert_int_equal(weir_wal_begin(f->files.wal, &f->start), WAL_NEW);
    while (change.kind != WAL_END) {
        assert_int_equal(weir_wal_next(f->files.wal, &change, &err), WEIR_OK);
        if (change.kind == WAL_COMMIT) {
            assert_true(count < COMMITS_MAX && weir_wal_position(f->files.wal, &position));
            ends[count++] = position.offset;
        }
    }
    weir_wal_end(f->files.wal);
    assert_true(count > 20);
    return count;
}

static size_t commits_before(const uint64_t *ends, size_t count, uint64_t offset)
{
    size_t commits = 0;
    while (commits < count && ends[commits] <= offset) {
        commits++;
    }
    return commits;
}

static int create_log(const Files *files)
{
    const int descriptor = open(files->log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(descriptor >= 0);
    return descriptor;
}

static void a_log_cut_anywhere_gives_its_first_commits(void **state)
{
    Fixture *const f = *state;
    static Bytes log;
    uint64_t ends[COMMITS_MAX];
    for (size_t i = 0; i < LOG_COUNT; i += 3) {
        read_fixture(LOGS[i], &log);
        const size_t count = find_ends(f, &log, ends);
        const int descriptor = create_log(&f->files);
        for (size_t size = 0; size <= log.size; size++) {
            WalPosition position = f->start;
            WalPosition marked;
            const size_t commits = commits_before(ends, count, size);
            assert_int_equal(print_changes(&f->files, &position, &f->text), commits);
            assert_int_equal(position.offset, commits == 0 ? 0 : ends[commits - 1]);
            assert_int_equal(weir_wal_mark(f->files.wal, &marked), WAL_NEW);
            assert_true(commits == 0 || marked.offset == position.offset);
            assert_true(commits == 0 || marked.tail == position.tail);
            assert_true(size == log.size || write(descriptor, log.data + size, 1) == 1);
        }
        close(descriptor);
    }
}

/* Reading goes on where it ended, whatever was there. */
static void a_log_that_grows_is_read_piece_by_piece(void **state)
{
    Fixture *const f = *state;
    static Bytes log;
    uint64_t ends[COMMITS_MAX];
    read_fixture(LOGS[0], &log);
    const size_t count = find_ends(f, &log, ends);
    Buf all;
    weir_buf_init(&all, f->files.mem, TEXT_MAX);
    for (size_t step = 1; step < 4000; step = step * 3 + 1) {
        WalPosition position = f->start;
        size_t commits = 0;
        weir_buf_clear(&all);
        const int descriptor = create_log(&f->files);
        for (size_t size = 0; size < log.size; size += step) {
            const size_t part = step < log.size - size ? step : log.size - size;
            assert_int_equal(write(descriptor, log.data + size, part), part);
            commits += print_changes(&f->files, &position, &f->text);
            weir_buf_append(&all, f->text.data, f->text.size);
            assert_true(weir_wal_look(f->files.wal, &position) != WAL_UNKNOWN);
        }
        close(descriptor);
        assert_int_equal(commits, count);
        assert_int_equal(weir_wal_look(f->files.wal, &position), WAL_NOTHING_NEW);
        WalPosition again = f->start;
        print_changes(&f->files, &again, &f->text);
        assert_string_equal(all.data, f->text.data);
    }
    weir_buf_deinit(&all);
}

/* A byte that is not as it was: what is before it is believed, what is behind it is not. */
static void a_log_damaged_anywhere_gives_no_commit_behind_it(void **state)
{
    Fixture *const f = *state;
    static Bytes log;
    uint64_t ends[COMMITS_MAX];
    for (size_t i = 0; i < LOG_COUNT; i += 3) {
        read_fixture(LOGS[i], &log);
        const size_t count = find_ends(f, &log, ends);
        const int descriptor = open(f->files.log, O_RDWR | O_CLOEXEC);
        for (size_t at = 100; at < log.size; at += 3) {
            const uint8_t damaged = log.data[at] ^ 0x24;
            assert_int_equal(pwrite(descriptor, &damaged, 1, (off_t)at), 1);
            WalPosition position = f->start;
            assert_int_equal(print_changes(&f->files, &position, &f->text),
                             commits_before(ends, count, at));
            assert_int_equal(pwrite(descriptor, &log.data[at], 1, (off_t)at), 1);
        }
        close(descriptor);
    }
}

static void want_of_memory_is_an_error_and_nothing_leaks(void **state)
{
    Fixture *const f = *state;
    static Bytes log;
    read_fixture(LOGS[3], &log);
    write_log(&f->files, &log);
    Status status = WEIR_ERR_NOMEM;
    for (size_t nth = 1; status != WEIR_OK; nth++) {
        Error err = {0};
        Wal *wal = NULL;
        Mem *mem = weir_mem_new(0);
        WalChange change = {.kind = WAL_COMMIT};
        weir_mem_fail_after(mem, nth, true);
        status = weir_wal_open(mem, f->files.database, &wal, &err);
        if (status == WEIR_OK) {
            weir_wal_use_descriptor(wal, f->files.descriptor);
        }
        if (status == WEIR_OK && weir_wal_begin(wal, &f->start) == WAL_UNKNOWN) {
            status = WEIR_ERR_NOMEM; /* the version could not be read */
        }
        while (status == WEIR_OK && change.kind != WAL_END) {
            Batch batch;
            const char *reason = NULL;
            status = weir_wal_next(wal, &change, &err);
            if (status == WEIR_OK && change.column_count > 0) {
                status = weir_wal_values(wal, &batch, &reason, &err);
            }
        }
        assert_true(status == WEIR_OK || status == WEIR_ERR_NOMEM);
        weir_wal_close(wal);
        assert_int_equal(weir_mem_used(mem), 0);
        weir_mem_free_allocator(mem);
    }
}

int main(void)
{
#define FIXTURE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(recorded_logs_say_what_was_done),
        FIXTURE_TEST(a_log_cut_anywhere_gives_its_first_commits),
        FIXTURE_TEST(a_log_that_grows_is_read_piece_by_piece),
        FIXTURE_TEST(a_log_damaged_anywhere_gives_no_commit_behind_it),
        FIXTURE_TEST(want_of_memory_is_an_error_and_nothing_leaks),
    };
#undef FIXTURE_TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
