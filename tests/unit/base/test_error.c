/* test_error.c: errors carry code, message and hint, and are cut, never overrun. */
#include "base_test.h"

static void error_keeps_code_and_message_and_clears_the_hint(void **state)
{
    (void)state;
    Error err = {.hint = "old"};
    assert_int_equal(weir_error_set(&err, WEIR_ERR_IO, "cannot read %s (%d)", "f", 7), WEIR_ERR_IO);
    assert_int_equal(err.code, WEIR_ERR_IO);
    assert_string_equal(err.message, "cannot read f (7)");
    assert_string_equal(err.hint, "");
}

static void error_prints_code_message_and_hint(void **state)
{
    (void)state;
    Error err = {0};
    char text[100];
    weir_error_set(&err, WEIR_ERR_OPERATOR, "no PIVOT");
    weir_error_format(&err, text, sizeof text);
    assert_string_equal(text, "DBSP-E110: no PIVOT");
    weir_error_hint(&err, "use %s", "CASE");
    weir_error_format(&err, text, sizeof text);
    assert_string_equal(text, "DBSP-E110: no PIVOT (hint: use CASE)");
    weir_error_set(&err, WEIR_ERR_NOMEM, "none");
    weir_error_format(&err, text, 14);
    assert_string_equal(text, "DBSP-E001: no");
}

static void error_context_stands_before_the_message_and_keeps_code_and_hint(void **state)
{
    (void)state;
    Error err = {0};
    weir_error_set(&err, WEIR_ERR_TYPE, "type %s", "X");
    weir_error_hint(&err, "cast it");
    assert_int_equal(weir_error_wrap(&err, "view %s", "v"), WEIR_ERR_TYPE);
    assert_string_equal(err.message, "view v: type X");
    assert_string_equal(err.hint, "cast it");
}

static void error_arguments_may_point_into_the_error_itself(void **state)
{
    (void)state;
    Error err = {0};
    weir_error_set(&err, WEIR_ERR_HOST, "inner");
    weir_error_set(&err, WEIR_ERR_IO, "outer (%s)", err.message);
    assert_string_equal(err.message, "outer (inner)");
    weir_error_wrap(&err, "%s", err.message);
    assert_string_equal(err.message, "outer (inner): outer (inner)");
}

/* A character of `size` bytes must not be torn, wherever the cut falls. */
static void check_cut(const char *character, size_t size)
{
    char text[1100];
    for (size_t shift = 0; shift < 2 * size; shift++) {
        size_t length = 0;
        while (length < shift) {
            text[length++] = 'a';
        }
        while (length + size < sizeof text - 1) {
            memcpy(text + length, character, size);
            length += size;
        }
        text[length] = '\0';
        Error err = {0};
        weir_error_set(&err, WEIR_ERR_IO, "%s", text);
        const size_t kept = strlen(err.message);
        assert_true(kept < sizeof err.message);
        assert_true(kept + size >= sizeof err.message);
        assert_int_equal((kept - shift) % size, 0);
        assert_memory_equal(err.message, text, kept);
    }
}

static void error_cuts_a_long_message_at_a_character(void **state)
{
    (void)state;
    check_cut("x", 1);
    check_cut("\xC3\xA4", 2);
    check_cut("\xE2\x82\xAC", 3);
    check_cut("\xF0\x9F\x98\x80", 4);
}

static void error_cuts_a_long_context(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'c', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    Error err = {0};
    weir_error_set(&err, WEIR_ERR_IO, "message");
    weir_error_wrap(&err, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    weir_error_hint(&err, "%s", text);
    assert_int_equal(strlen(err.hint), sizeof err.hint - 1);
    char all[3000];
    weir_error_format(&err, all, sizeof all);
    assert_int_equal(strlen(all), 11 + 1023 + 8 + 511 + 1);
}

static void error_clear_gives_the_empty_error(void **state)
{
    (void)state;
    Error err = {0};
    weir_error_set(&err, WEIR_ERR_IO, "message");
    weir_error_hint(&err, "hint");
    weir_error_clear(&err);
    assert_int_equal(err.code, WEIR_OK);
    assert_string_equal(err.message, "");
    assert_string_equal(err.hint, "");
}

static void error_codes_have_summaries_and_are_unique(void **state)
{
    (void)state;
    static const int codes[] = {
#define X(name, number, summary) WEIR_ERR_##name,
#include "weir/errors.def"
#undef X
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(codes); i++) {
        assert_non_null(weir_error_summary(codes[i]));
        assert_true(codes[i] > 0 && codes[i] < 1000);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(codes[i], codes[j]);
        }
    }
    assert_null(weir_error_summary(999));
    assert_null(weir_error_summary(WEIR_OK));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_keeps_code_and_message_and_clears_the_hint),
        cmocka_unit_test(error_prints_code_message_and_hint),
        cmocka_unit_test(error_context_stands_before_the_message_and_keeps_code_and_hint),
        cmocka_unit_test(error_arguments_may_point_into_the_error_itself),
        cmocka_unit_test(error_cuts_a_long_message_at_a_character),
        cmocka_unit_test(error_cuts_a_long_context),
        cmocka_unit_test(error_clear_gives_the_empty_error),
        cmocka_unit_test(error_codes_have_summaries_and_are_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
