/* test_buf.c: appending, the sticky error, SQL spellings. */
#include "base_test.h"

#include "base/buf.h"

static void buf_collects_what_is_appended(void **state)
{
    (void)state;
    Mem *mem = weir_mem_new(0);
    Error err = {0};
    Buf buf;
    weir_buf_init(&buf, mem, 100000);
    weir_buf_puts(&buf, "one");
    weir_buf_putc(&buf, ' ');
    weir_buf_printf(&buf, "%d %s", 2, "three");
    weir_buf_append(&buf, "\0x", 2);
    assert_int_equal(buf.size, 13);
    assert_memory_equal(buf.data, "one 2 three\0x", 14);
    for (size_t i = 0; i < 10000; i++) {
        weir_buf_printf(&buf, "%zu", i % 10);
    }
    assert_int_equal(buf.size, 10013);
    assert_int_equal(weir_buf_status(&buf, &err), WEIR_OK);
    weir_buf_clear(&buf);
    assert_int_equal(buf.size, 0);
    assert_string_equal(buf.data, "");
    weir_buf_deinit(&buf);
    weir_buf_deinit(&buf);
    assert_int_equal(weir_mem_used(mem), 0);
    weir_mem_free_allocator(mem);
}

static void buf_take_moves_the_bytes_to_the_caller(void **state)
{
    (void)state;
    Mem *mem = weir_mem_new(0);
    Error err = {0};
    Buf buf;
    weir_buf_init(&buf, mem, 100);
    char *empty = weir_buf_take(&buf, &err);
    assert_string_equal(empty, "");
    weir_buf_puts(&buf, "text");
    char *text = weir_buf_take(&buf, &err);
    assert_string_equal(text, "text");
    assert_int_equal(buf.size, 0);
    weir_buf_puts(&buf, "more");
    assert_string_equal(buf.data, "more");
    weir_buf_deinit(&buf);
    weir_mem_free(mem, empty);
    weir_mem_free(mem, text);
    assert_int_equal(weir_mem_used(mem), 0);
    weir_mem_free_allocator(mem);
}

static void buf_error_sticks_until_it_is_cleared(void **state)
{
    (void)state;
    Mem *mem = weir_mem_new(0);
    Error err = {0};
    Buf buf;
    weir_buf_init(&buf, mem, 5);
    weir_buf_puts(&buf, "12345");
    assert_int_equal(weir_buf_status(&buf, &err), WEIR_OK);
    weir_buf_puts(&buf, "6");
    weir_buf_printf(&buf, "%s", "");
    assert_int_equal(buf.size, 5);
    assert_int_equal(weir_buf_status(&buf, &err), WEIR_ERR_LIMIT);
    assert_null(weir_buf_take(&buf, &err));
    assert_int_equal(err.code, WEIR_ERR_LIMIT);
    weir_buf_clear(&buf);
    weir_buf_puts(&buf, "ok");
    assert_int_equal(weir_buf_status(&buf, &err), WEIR_OK);
    assert_string_equal(buf.data, "ok");
    weir_buf_deinit(&buf);
    weir_mem_free_allocator(mem);
}

static void buf_fails_for_the_first_reason_it_is_given(void **state)
{
    (void)state;
    Mem *mem = weir_mem_new(0);
    Error reason = {0};
    Error err = {0};
    Buf buf;
    weir_buf_init(&buf, mem, 5);
    weir_error_set(&reason, WEIR_ERR_NOMEM, "no part");
    weir_buf_fail(&buf, &reason);
    weir_error_set(&reason, WEIR_ERR_IO, "later");
    weir_buf_fail(&buf, &reason);
    weir_buf_puts(&buf, "not added");
    assert_int_equal(weir_buf_status(&buf, &err), WEIR_ERR_NOMEM);
    assert_string_equal(err.message, "no part");
    assert_null(buf.data);
    weir_buf_deinit(&buf);
    weir_mem_free_allocator(mem);
}

static void buf_reports_every_failing_allocation(void **state)
{
    (void)state;
    size_t failures = 0;
    for (size_t nth = 1;; nth++) {
        Mem *mem = weir_mem_new(0);
        Error err = {0};
        Buf buf;
        weir_buf_init(&buf, mem, 10000);
        weir_mem_fail_after(mem, nth, false);
        for (size_t i = 0; i < 100; i++) {
            weir_buf_printf(&buf, "line %zu\n", i);
        }
        const Status status = weir_buf_status(&buf, &err);
        weir_buf_deinit(&buf);
        assert_int_equal(weir_mem_used(mem), 0);
        weir_mem_free_allocator(mem);
        if (status == WEIR_OK) {
            break;
        }
        assert_int_equal(status, WEIR_ERR_NOMEM);
        failures++;
    }
    assert_true(failures > 2);
}

static void check_string(const char *text, size_t size, const char *wanted)
{
    Mem *mem = weir_mem_new(0);
    Buf buf;
    weir_buf_init(&buf, mem, 1000);
    weir_buf_put_sql_string(&buf, text, size);
    assert_string_equal(buf.data, wanted);
    weir_buf_deinit(&buf);
    weir_mem_free_allocator(mem);
}

static void buf_spells_strings_for_sql(void **state)
{
    (void)state;
    check_string("", 0, "''");
    check_string("abc", 3, "'abc'");
    check_string("it's", 4, "'it''s'");
    check_string("'", 1, "''''");
    check_string("''", 2, "''''''");
    check_string("a\0b", 3, "('a' || chr(0) || 'b')");
    check_string("\0", 1, "('' || chr(0) || '')");
    check_string("'\0\0'", 4, "('''' || chr(0) || '' || chr(0) || '''')");
}

static void buf_spells_names_for_sql(void **state)
{
    (void)state;
    Mem *mem = weir_mem_new(0);
    Buf buf;
    weir_buf_init(&buf, mem, 1000);
    weir_buf_put_sql_name(&buf, "na\"me");
    weir_buf_put_sql_name(&buf, "");
    assert_string_equal(buf.data, "\"na\"\"me\"\"\"");
    weir_buf_deinit(&buf);
    weir_mem_free_allocator(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buf_collects_what_is_appended),
        cmocka_unit_test(buf_take_moves_the_bytes_to_the_caller),
        cmocka_unit_test(buf_error_sticks_until_it_is_cleared),
        cmocka_unit_test(buf_fails_for_the_first_reason_it_is_given),
        cmocka_unit_test(buf_reports_every_failing_allocation),
        cmocka_unit_test(buf_spells_strings_for_sql),
        cmocka_unit_test(buf_spells_names_for_sql),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
