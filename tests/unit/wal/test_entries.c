/* test_entries.c: entries made by hand: encodings that DuckDB writes rarely, and what it never does. */
#include "wal_test.h"

typedef struct Entries {
    Files files;
    WalPosition start;
    Buf text;
} Entries;

static int setup(void **state)
{
    Entries *e = calloc(1, sizeof *e);
    assert_non_null(e);
    files_open(&e->files, "wal_entries");
    assert_int_equal(weir_wal_mark(e->files.wal, &e->start), WAL_NEW);
    weir_buf_init(&e->text, e->files.mem, 1 << 20);
    *state = e;
    return 0;
}

static int teardown(void **state)
{
    Entries *e = *state;
    weir_buf_deinit(&e->text);
    files_close(&e->files);
    free(e);
    return 0;
}

/* What a log of these entries, with a table and the end of a commit around them, says. */
static const char *changes_of(Entries *e, const Bytes *payload)
{
    static Bytes log;
    WalPosition position = e->start;
    log.size = 0;
    put_version(&log);
    put_use_table(&log, "t");
    put_entry(&log, payload);
    put_flush(&log);
    write_log(&e->files, &log);
    print_changes(&e->files, &position, &e->text);
    return e->text.data;
}

/* Types, by DuckDB's numbers. */
enum { INTEGER = 13, BIGINT = 14, VARCHAR = 25, STRUCT = 100, LIST = 101, VARIANT = 109 };

static void put_type(Bytes *b, uint64_t id)
{
    put_property(b, 100, id);
    put_end(b);
}

/* LIST of LIST of ... of `id`. */
static void put_list_type(Bytes *b, size_t levels, uint64_t id)
{
    for (size_t i = 0; i < levels; i++) {
        put_property(b, 100, LIST);
        put_property(b, 101, 1);
        put_property(b, 100, 4);
        put_id(b, 200);
    }
    put_type(b, id);
    for (size_t i = 0; i < levels; i++) {
        put_end(b);
        put_end(b);
    }
}

/* The beginning of an INSERT of one column: up to its vector. */
static void begin_insert(Bytes *b, size_t rows, size_t list_levels, uint64_t id)
{
    b->size = 0;
    put_property(b, 100, 26);
    put_id(b, 101);
    put_property(b, 100, rows);
    put_property(b, 101, 1);
    put_list_type(b, list_levels, id);
    put_property(b, 102, 1);
}

static void end_insert(Bytes *b)
{
    put_end(b); /* vector, chunk, entry */
    put_end(b);
    put_end(b);
}

static void put_integers(Bytes *b, const int32_t *values, size_t count)
{
    put_property(b, 100, 0);
    put_blob(b, 102, values, count * sizeof *values);
}

static void constant_dictionary_and_sequence_vectors_are_decoded(void **state)
{
    Entries *const e = *state;
    static Bytes b;
    const int32_t values[] = {7, 8};
    begin_insert(&b, 3, 0, INTEGER);
    put_property(&b, 90, 2);
    put_integers(&b, values, 1);
    end_insert(&b);
    assert_string_equal(changes_of(e, &b), "insert main.t of INTEGER\n  (07000000)\n  (07000000)\n"
                                           "  (07000000)\ncommit\n");
    const uint32_t selection[] = {1, 0, 1};
    begin_insert(&b, 3, 0, INTEGER);
    put_property(&b, 90, 3);
    put_blob(&b, 91, selection, sizeof selection);
    put_property(&b, 92, 2);
    put_integers(&b, values, 2);
    end_insert(&b);
    assert_string_equal(changes_of(e, &b), "insert main.t of INTEGER\n  (08000000)\n  (07000000)\n"
                                           "  (08000000)\ncommit\n");
    begin_insert(&b, 3, 0, BIGINT);
    put_property(&b, 90, 4);
    put_property(&b, 91, 5);
    put_property(&b, 92, 0x7f); /* -1 */
    end_insert(&b);
    assert_string_equal(changes_of(e, &b),
                        "insert main.t of BIGINT\n  (0500000000000000)\n  (0400000000000000)\n"
                        "  (0300000000000000)\ncommit\n");
}

/* The start of a list vector: its child has `size` elements. */
static void begin_list(Bytes *b, size_t rows, uint64_t size, uint64_t length)
{
    put_property(b, 100, 0);
    put_property(b, 104, size);
    put_property(b, 105, rows);
    for (size_t i = 0; i < rows; i++) {
        put_property(b, 100, 0);
        put_property(b, 101, length);
        put_end(b);
    }
    put_id(b, 106);
}

static void a_list_may_have_a_constant_child(void **state)
{
    Entries *const e = *state;
    static Bytes b;
    const int32_t value = 9;
    begin_insert(&b, 1, 1, INTEGER);
    begin_list(&b, 1, 2, 2);
    put_property(&b, 90, 2);
    put_integers(&b, &value, 1);
    put_end(&b);
    end_insert(&b);
    assert_string_equal(
        changes_of(e, &b),
        "insert main.t of INTEGER[]\n"
        "  (\"\\02\\00\\00\\00\\01\\09\\00\\00\\00\\01\\09\\00\\00\\00\")\ncommit\n");
}

static void lists_that_would_fill_the_memory_are_refused(void **state)
{
    Entries *const e = *state;
    static Bytes b;
    const int32_t value = 9;
    const uint64_t sizes[] = {UINT32_MAX, UINT64_C(1) << 60, UINT64_MAX};
    for (size_t i = 0; i < 3; i++) {
        begin_insert(&b, 2000, 1, INTEGER);
        begin_list(&b, 2000, sizes[i], sizes[i]);
        put_property(&b, 90, 2);
        put_integers(&b, &value, 1);
        put_end(&b);
        end_insert(&b);
        const size_t used = weir_mem_peak(e->files.mem);
        assert_string_equal(changes_of(e, &b),
                            i == 0 ? "insert main.t of INTEGER[]\n"
                                     "  undecodable: nested values are too large\ncommit\n"
                                   : "insert main.t of INTEGER[]\n"
                                     "  undecodable: a list is too long\ncommit\n");
        assert_true(weir_mem_peak(e->files.mem) <= used + ((size_t)64 << 20));
    }
}

static void what_does_not_add_up_is_refused_with_a_reason(void **state)
{
    Entries *const e = *state;
    static Bytes b;
    const int32_t values[] = {1, 2, 3};
    begin_insert(&b, 2, 0, INTEGER); /* three values for two rows */
    put_integers(&b, values, 3);
    end_insert(&b);
    assert_string_equal(changes_of(e, &b),
                        "insert main.t (a vector has not as many values as rows)\ncommit\n");
    begin_insert(&b, 2049, 0, INTEGER);
    put_property(&b, 90, 2);
    put_integers(&b, values, 1);
    end_insert(&b);
    assert_string_equal(changes_of(e, &b),
                        "unreadable main.t (a chunk has more rows than a vector holds)\ncommit\n");
    begin_insert(&b, 1, 0, INTEGER);
    put_property(&b, 90, 1); /* FSST */
    put_integers(&b, values, 1);
    end_insert(&b);
    assert_string_equal(changes_of(e, &b),
                        "insert main.t (a vector has an encoding that is not known)\ncommit\n");
    const uint32_t beyond = 1;
    begin_insert(&b, 1, 0, INTEGER);
    put_property(&b, 90, 3);
    put_blob(&b, 91, &beyond, sizeof beyond);
    put_property(&b, 92, 1);
    put_integers(&b, values, 1);
    end_insert(&b);
    assert_string_equal(changes_of(e, &b),
                        "insert main.t (a dictionary has no such value)\ncommit\n");
    begin_insert(&b, 1, 1, INTEGER);
    begin_list(&b, 1, 3, 4);
    put_integers(&b, values, 3);
    put_end(&b);
    end_insert(&b);
    assert_string_equal(changes_of(e, &b),
                        "insert main.t (a list reaches beyond its elements)\ncommit\n");
    begin_insert(&b, 5, 0, VARIANT);
    assert_string_equal(changes_of(e, &b),
                        "insert main.t (the type of a column is not supported)\ncommit\n");
    begin_insert(&b, 5, 100, INTEGER);
    assert_string_equal(changes_of(e, &b), "insert main.t (a type is nested too deeply)\ncommit\n");
    begin_insert(&b, 1, 0, INTEGER);
    put_integers(&b, values, 1);
    put_property(&b, 999, 0); /* a property of a later version */
    end_insert(&b);
    assert_string_equal(changes_of(e, &b),
                        "insert main.t (an object has properties that are not known)\ncommit\n");
}

static void an_entry_of_an_unknown_kind_loses_the_log(void **state)
{
    Entries *const e = *state;
    static Bytes b;
    b.size = 0;
    put_property(&b, 100, 30);
    put_end(&b);
    assert_string_equal(changes_of(e, &b), "lost (an entry has a kind that is not known: 30)\n");
    b.size = 0;
    put_property(&b, 100, 2); /* DROP_TABLE without names */
    put_end(&b);
    assert_string_equal(changes_of(e, &b),
                        "lost (an entry of kind 2 is not understood: a property is missing)\n");
}

static void data_of_no_table_is_lost(void **state)
{
    Entries *const e = *state;
    static Bytes log;
    WalPosition position = e->start;
    log.size = 0;
    put_version(&log);
    put_use_table(&log, "t");
    put_flush(&log);
    put_delete(&log, 1); /* a table holds for one commit */
    put_flush(&log);
    write_log(&e->files, &log);
    assert_int_equal(print_changes(&e->files, &position, &e->text), 1);
    assert_string_equal(e->text.data,
                        "commit\nlost (an entry of kind 27 is not understood: data of no table)\n");
}

static void row_ids_must_be_row_ids(void **state)
{
    Entries *const e = *state;
    static Bytes b;
    static Bytes log;
    WalPosition position = e->start;
    log.size = 0;
    put_version(&log);
    put_use_table(&log, "t");
    put_delete(&log, -1);
    put_flush(&log);
    write_log(&e->files, &log);
    print_changes(&e->files, &position, &e->text);
    assert_string_equal(e->text.data, "unreadable main.t (a row id is negative)\ncommit\n");
    const int32_t value = 1;
    begin_insert(&b, 1, 0, INTEGER);
    b.data[2] = 27; /* DELETE with an INTEGER */
    put_integers(&b, &value, 1);
    end_insert(&b);
    assert_string_equal(changes_of(e, &b),
                        "unreadable main.t (row ids are not as expected)\ncommit\n");
}

int main(void)
{
#define ENTRIES_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        ENTRIES_TEST(constant_dictionary_and_sequence_vectors_are_decoded),
        ENTRIES_TEST(a_list_may_have_a_constant_child),
        ENTRIES_TEST(lists_that_would_fill_the_memory_are_refused),
        ENTRIES_TEST(what_does_not_add_up_is_refused_with_a_reason),
        ENTRIES_TEST(an_entry_of_an_unknown_kind_loses_the_log),
        ENTRIES_TEST(data_of_no_table_is_lost),
        ENTRIES_TEST(row_ids_must_be_row_ids),
    };
#undef ENTRIES_TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
