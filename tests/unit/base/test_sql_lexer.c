/* test_sql_lexer.c: tokens end where DuckDB's do; a word that is a name is no keyword. */
#include "base_test.h"

#include "base/sql_lexer.h"

/* The tokens with | behind each. */
static void cuts(const char *sql, const char *expected)
{
    char out[256] = "";
    size_t size = 0;
    SqlToken token = {.end = sql};
    while (weir_sql_token_next(&token)) {
        size += (size_t)snprintf(out + size, sizeof out - size, "%.*s|",
                                 (int)(token.end - token.start), token.start);
        assert_true(size < sizeof out);
    }
    assert_string_equal(out, expected);
}

static bool has_word(const char *sql, const char *word)
{
    SqlToken token = {.end = sql};
    while (weir_sql_token_next(&token)) {
        if (weir_sql_token_is(&token, word)) {
            return true;
        }
    }
    return false;
}

static void numbers_end_before_a_word(void **state)
{
    (void)state;
    cuts("a=1THEN 2", "a|=|1|THEN|2|");
    cuts("1.THEN 1.5e-3AND 1e5or 1e x", "1.|THEN|1.5e-3|AND|1e5|or|1|e|x|");
    cuts("1_000 1_a .5 t1.a2", "1_000|1|_a|.|5|t1|.|a2|");
}

static void quotes_and_parameters_are_one_token(void **state)
{
    (void)state;
    cuts("$$a b$$ $t$ $$ $t$", "$$a b$$|$t$ $$ $t$|");
    cuts("$case $1+$ü", "$case|$1|+|$ü|");
    cuts("e'a\\'b' 'a''b' \"a\"\"b\"", "e'a\\'b'|'a''b'|\"a\"\"b\"|");
}

static void blanks_are_those_of_duckdb(void **state)
{
    (void)state;
    cuts("a\xc2\xa0"
         "b\xe2\x80\x83\xe3\x80\x80"
         "c\xef\xbb\xbf",
         "a|b|c|");
    cuts("a -- b\rc -- d\ne", "a|c|e|");
    cuts("a/* b /* c */ d */e", "a|e|");
    cuts("\xc3\xa9\xc2\xa2\xe3\x80\x81", "\xc3\xa9\xc2\xa2\xe3\x80\x81|"); /* no spaces */
    bool is_open = false;
    assert_string_equal(weir_sql_statement_end("SELECT 1 -- x\r; SELECT 2", &is_open),
                        "; SELECT 2");
    assert_false(is_open);
}

static void words_behind_a_point_or_as_are_names(void **state)
{
    (void)state;
    assert_false(has_word("s.case", "case"));
    assert_false(has_word("s . case", "case"));
    assert_false(has_word("1 AS case", "case"));
    assert_false(has_word("\"case\" 'case' $case cases", "case"));
    assert_true(has_word("1.case", "case"));
    assert_true(has_word("s.as case", "case"));
    assert_true(has_word("x AS y case", "case"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_end_before_a_word),
        cmocka_unit_test(quotes_and_parameters_are_one_token),
        cmocka_unit_test(blanks_are_those_of_duckdb),
        cmocka_unit_test(words_behind_a_point_or_as_are_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
