/* test_query.c: what DuckDB's messages become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "duckdb/query.h"

#include <cmocka.h>

static void check(const char *text, Status code, const char *message, const char *hint)
{
    Error err = {0};
    assert_int_equal(weir_query_error(&err, WEIR_ERR_HOST, text), code);
    assert_int_equal(err.code, code);
    assert_string_equal(err.message, message);
    assert_string_equal(err.hint, hint);
}

static void a_message_keeps_its_last_class(void **state)
{
    (void)state;
    check("Binder Error: Catalog Error: no table\n", WEIR_ERR_HOST, "Catalog Error: no table", "");
    check("Conversion Error: 'x Error: ' is not a number", WEIR_ERR_HOST,
          "Conversion Error: 'x Error: ' is not a number", "");
    check("INTERNAL Error: bad\n\nStack Trace:\n0 main", WEIR_ERR_HOST, "INTERNAL Error: bad", "");
    check(NULL, WEIR_ERR_HOST, "DuckDB failed without a message", "");
}

static void an_error_of_weir_comes_back_as_it_was(void **state)
{
    (void)state;
    check("Invalid Input Error: DBSP-E001: out of memory: 5 bytes", WEIR_ERR_NOMEM,
          "out of memory: 5 bytes", "");
    check("Binder Error: DBSP-E201: there is no view v (hint: look (twice))\n\nLINE 1: FROM v",
          WEIR_ERR_UNKNOWN_VIEW, "there is no view v", "look (twice)");
    check("Binder Error: Error in replacement scan: DBSP-E001: out of memory\n", WEIR_ERR_NOMEM,
          "out of memory", "");
    check("Binder Error: Invalid Input Error: DBSP-E204: broken (no hint)", WEIR_ERR_BROKEN,
          "broken (no hint)", "");
}

static void what_only_looks_like_one_does_not(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {
        "Invalid Input Error: DBSP-E999: no such code",
        "Invalid Input Error: DBSP-E1: short",
        "Invalid Input Error: DBSP-E0011: long",
        "Invalid Input Error: DBSP-E001",
        "Invalid Input Error: DBSP-E-01: sign",
        "Invalid Input Error: cannot cast 'DBSP-E001: x'",
        "DBSP-E001: without a class",
        "what: Error: DBSP-E001: x",
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(TEXTS); i++) {
        check(TEXTS[i], WEIR_ERR_HOST, TEXTS[i], "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_keeps_its_last_class),
        cmocka_unit_test(an_error_of_weir_comes_back_as_it_was),
        cmocka_unit_test(what_only_looks_like_one_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
