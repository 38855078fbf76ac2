/* test_position.c: when nothing is new, when something is, and when that cannot be known. */
#include "wal_test.h"

static int setup(void **state)
{
    Files *files = calloc(1, sizeof *files);
    assert_non_null(files);
    files_open(files, "wal_position");
    *state = files;
    return 0;
}

static int teardown(void **state)
{
    files_close(*state);
    free(*state);
    return 0;
}

static WalPosition mark(Files *files)
{
    WalPosition position;
    assert_int_equal(weir_wal_mark(files->wal, &position), WAL_NEW);
    return position;
}

/* A log of so many commits, each of which deletes a row. */
static void write_commits(const Files *files, int64_t first, size_t count)
{
    static Bytes log;
    log.size = 0;
    put_version(&log);
    for (size_t i = 0; i < count; i++) {
        put_use_table(&log, "t");
        put_delete(&log, first + (int64_t)i);
        put_flush(&log);
    }
    write_log(files, &log);
}

static void is_unknown(Files *files, const WalPosition *position, const char *reason)
{
    assert_int_equal(weir_wal_look(files->wal, position), WAL_UNKNOWN);
    assert_string_equal(weir_wal_reason(files->wal), reason);
    assert_int_equal(weir_wal_begin(files->wal, position), WAL_UNKNOWN);
}

static void a_log_that_appears_and_grows_is_new(void **state)
{
    Files *const files = *state;
    WalPosition position = mark(files);
    Buf text;
    weir_buf_init(&text, files->mem, 1 << 16);
    assert_int_equal(position.offset, 0);
    assert_false(weir_wal_has_logged(files->wal));
    assert_int_equal(weir_wal_look(files->wal, &position), WAL_NOTHING_NEW);
    assert_int_equal(print_changes(files, &position, &text), 0);
    write_commits(files, 7, 1);
    assert_int_equal(weir_wal_look(files->wal, &position), WAL_NEW);
    assert_true(weir_wal_has_logged(files->wal));
    assert_int_equal(print_changes(files, &position, &text), 1);
    assert_string_equal(text.data, "delete main.t rows 7\ncommit\n");
    assert_int_equal(weir_wal_look(files->wal, &position), WAL_NOTHING_NEW);
    write_commits(files, 7, 3);
    assert_int_equal(weir_wal_look(files->wal, &position), WAL_NEW);
    assert_int_equal(print_changes(files, &position, &text), 2);
    assert_string_equal(text.data, "delete main.t rows 8\ncommit\ndelete main.t rows 9\ncommit\n");
    weir_buf_deinit(&text);
}

static void a_checkpoint_makes_everything_unknown(void **state)
{
    Files *const files = *state;
    const WalPosition empty = mark(files);
    write_commits(files, 0, 1);
    const WalPosition position = mark(files);
    write_header(files, 1, 1);
    is_unknown(files, &position, "there was a checkpoint");
    is_unknown(files, &empty, "there was a checkpoint");
    const WalPosition after = mark(files);
    assert_int_equal(weir_wal_look(files->wal, &after), WAL_NOTHING_NEW);
    write_header(files, 0, 2);
    is_unknown(files, &after, "there was a checkpoint");
}

/* A checkpoint is done when its header is whole. */
static void a_header_half_written_does_not_count(void **state)
{
    Files *const files = *state;
    const WalPosition position = mark(files);
    write_header(files, 1, 1);
    const uint8_t damage = 1;
    assert_int_equal(pwrite(files->descriptor, &damage, 1, HEADER_OFFSET + HEADER_SIZE + 100), 1);
    assert_int_equal(weir_wal_look(files->wal, &position), WAL_NOTHING_NEW);
    assert_int_equal(pwrite(files->descriptor, &damage, 1, HEADER_OFFSET + 100), 1);
    is_unknown(files, &position,
               "the database file has no header that is understood; it may be encrypted");
}

static void a_log_that_is_not_the_same_is_unknown(void **state)
{
    Files *const files = *state;
    write_commits(files, 100, 3);
    const WalPosition position = mark(files);
    write_commits(files, 100, 2);
    is_unknown(files, &position, "the log was replaced or cut");
    write_commits(files, 200, 3); /* the same file, the same size, other rows */
    is_unknown(files, &position, "the log was rewritten");
    write_commits(files, 200, 4);
    is_unknown(files, &position, "the log was rewritten");
    assert_int_equal(unlink(files->log), 0);
    is_unknown(files, &position, "the log was replaced or cut");
    char old[100];
    (void)snprintf(old, sizeof old, "%s.old", files->log);
    write_commits(files, 100, 3);
    const WalPosition again = mark(files);
    assert_int_equal(rename(files->log, old), 0);
    write_commits(files, 100, 3); /* the same bytes, another file */
    is_unknown(files, &again, "the log was replaced or cut");
    assert_int_equal(unlink(old), 0);
}

static void another_database_file_is_unknown(void **state)
{
    Files *const files = *state;
    WalPosition position = mark(files);
    position.inode++;
    is_unknown(files, &position, "the database file is another one");
}

static void a_database_file_without_a_descriptor_is_unknown(void **state)
{
    Files *const files = *state;
    Error err = {0};
    Wal *wal = NULL;
    WalPosition position = {0};
    assert_int_equal(weir_wal_open(files->mem, files->database, &wal, &err), WEIR_OK);
    assert_int_not_equal(weir_wal_mark(wal, &position), WAL_UNKNOWN);
    assert_int_equal(weir_wal_look(wal, &position), WAL_NOTHING_NEW); /* found: it is ours */
    close(files->descriptor);
    assert_int_equal(weir_wal_look(wal, &position), WAL_UNKNOWN);
    assert_string_equal(weir_wal_reason(wal), "this process does not have the database file open");
    /* Its number belongs to another file now. */
    files->descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(weir_wal_look(wal, &position), WAL_UNKNOWN);
    /* One that only writes is no use. */
    const int writer = open(files->database, O_WRONLY | O_CLOEXEC);
    assert_int_equal(weir_wal_look(wal, &position), WAL_UNKNOWN);
    close(writer);
    const int reader = open(files->database, O_RDONLY | O_CLOEXEC);
    assert_int_equal(weir_wal_look(wal, &position), WAL_UNKNOWN); /* it was opened anew */
    assert_int_not_equal(weir_wal_mark(wal, &position), WAL_UNKNOWN);
    assert_int_equal(weir_wal_look(wal, &position), WAL_NOTHING_NEW);
    close(reader);
    assert_int_equal(unlink(files->database), 0);
    assert_int_equal(weir_wal_look(wal, &position), WAL_UNKNOWN);
    weir_wal_close(wal);
}

static void versions_that_are_not_known_are_unknown(void **state)
{
    Files *const files = *state;
    static Bytes log;
    const WalPosition start = mark(files);
    static const struct {
        unsigned version;
        const char *reason;
    } cases[] = {{3, "the log is encrypted"}, {4, "the log has a version that is not known"}};
    for (size_t i = 0; i < 2; i++) {
        log.size = 0;
        put_property(&log, 100, 98);
        put_property(&log, 101, cases[i].version);
        put_end(&log);
        write_log(files, &log);
        assert_int_equal(weir_wal_begin(files->wal, &start), WAL_UNKNOWN);
        assert_string_equal(weir_wal_reason(files->wal), cases[i].reason);
    }
    log.size = 0;
    put_property(&log, 100, 98);
    put_property(&log, 101, 2);
    put_property(&log, 103, 5); /* of another checkpoint than the file's */
    put_end(&log);
    write_log(files, &log);
    assert_int_equal(weir_wal_begin(files->wal, &start), WAL_UNKNOWN);
    assert_string_equal(weir_wal_reason(files->wal),
                        "the log belongs to another checkpoint than the database file");
}

static void a_checkpoint_that_was_begun_loses_the_log(void **state)
{
    Files *const files = *state;
    static Bytes log;
    Buf text;
    WalPosition position = mark(files);
    weir_buf_init(&text, files->mem, 1 << 16);
    log.size = 0;
    put_version(&log);
    put_use_table(&log, "t");
    put_delete(&log, 1);
    put_flush(&log);
    const size_t commit_end = log.size;
    put_simple_entry(&log, 99);
    put_flush(&log);
    write_log(files, &log);
    assert_int_equal(print_changes(files, &position, &text), 1);
    assert_string_equal(text.data, "delete main.t rows 1\ncommit\nlost (a checkpoint was begun)\n");
    assert_int_equal(position.offset, commit_end);
    assert_int_equal(weir_wal_look(files->wal, &position), WAL_NEW);
    assert_int_equal(print_changes(files, &position, &text), 0);
    assert_string_equal(text.data, "lost (a checkpoint was begun)\n");
    assert_int_equal(position.offset, commit_end);
    WalPosition marked;
    assert_int_equal(weir_wal_mark(files->wal, &marked), WAL_UNKNOWN);
    assert_string_equal(weir_wal_reason(files->wal), "a checkpoint is running");
    /* It failed, and the log goes on. */
    put_use_table(&log, "t");
    put_delete(&log, 2);
    put_flush(&log);
    write_log(files, &log);
    assert_int_equal(weir_wal_mark(files->wal, &marked), WAL_NEW);
    assert_int_equal(marked.offset, log.size);
    weir_buf_deinit(&text);
}

int main(void)
{
#define POSITION_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        POSITION_TEST(a_log_that_appears_and_grows_is_new),
        POSITION_TEST(a_checkpoint_makes_everything_unknown),
        POSITION_TEST(a_header_half_written_does_not_count),
        POSITION_TEST(a_log_that_is_not_the_same_is_unknown),
        POSITION_TEST(another_database_file_is_unknown),
        POSITION_TEST(a_database_file_without_a_descriptor_is_unknown),
        POSITION_TEST(versions_that_are_not_known_are_unknown),
        POSITION_TEST(a_checkpoint_that_was_begun_loses_the_log),
    };
#undef POSITION_TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
