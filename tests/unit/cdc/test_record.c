/* test_record.c: records as SQLite writes them, and bytes that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cdc/record.h"

static WeirStatus read_bytes(CdcRecord *record, const void *data, size_t size)
{
    WeirError err;
    return weir_cdc_record_read(record, (CdcBytes){.data = data, .size = size}, &err);
}

static void every_serial_type_is_read(void **state)
{
    static const unsigned char BYTES[] = {
        0x0D, 0,    1,    2,    3,    4,    5,    6,    7, 8, 9, 14, 17, /* header */
        0xFF,                                                            /* -1 */
        0x01, 0x2C,                                                      /* 300 */
        0x80, 0x00, 0x00,                                                /* -2^23 */
        0x7F, 0xFF, 0xFF, 0xFF,                                          /* 2^31 - 1 */
        0x80, 0x00, 0x00, 0x00, 0x00, 0x00,                              /* -2^47 */
        0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,                  /* -2^63 */
        0x3F, 0xF8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,                  /* 1.5 */
        0x42,                                                            /* a blob */
        'a',  'b',                                                       /* a text */
    };
    static const sqlite3_int64 INTEGERS[] = {-1,       300, -8388608, 2147483647, -140737488355328,
                                             INT64_MIN};
    CdcRecord record = {0};
    (void)state;
    assert_int_equal(read_bytes(&record, BYTES, sizeof BYTES), WEIR_OK);
    assert_int_equal(record.count, 12);
    assert_int_equal(record.fields[0].type, SQLITE_NULL);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(record.fields[i + 1].type, SQLITE_INTEGER);
        assert_true(record.fields[i + 1].integer == INTEGERS[i]);
    }
    assert_int_equal(record.fields[7].type, SQLITE_FLOAT);
    assert_true(record.fields[7].real == 1.5);
    assert_true(record.fields[8].integer == 0 && record.fields[9].integer == 1);
    assert_int_equal(record.fields[10].type, SQLITE_BLOB);
    assert_int_equal(record.fields[10].data[0], 0x42);
    assert_int_equal(record.fields[11].type, SQLITE_TEXT);
    assert_memory_equal(record.fields[11].data, "ab", 2);
    /* A copy of exactly so many bytes: a sanitizer sees every byte that is read behind them. */
    for (size_t size = 0; size < sizeof BYTES; size++) {
        unsigned char *const cut = malloc(size + (size == 0));
        assert_non_null(cut);
        memcpy(cut, BYTES, size);
        assert_int_equal(read_bytes(&record, cut, size), WEIR_ERR_HOST);
        free(cut);
    }
    weir_cdc_record_deinit(&record);
}

static void an_empty_record_has_no_fields(void **state)
{
    CdcRecord record = {0};
    (void)state;
    assert_int_equal(read_bytes(&record, "\x01", 1), WEIR_OK);
    assert_int_equal(record.count, 0);
    weir_cdc_record_deinit(&record);
}

static void what_is_no_record_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } WRONG[] = {
        {"\x00", 1},                                      /* a header without itself */
        {"\x05\x01", 2},                                  /* longer than all of it */
        {"\x02\x0A", 2},                                  /* a reserved type */
        {"\x02\x0B", 2},                                  /* the other one */
        {"\x02\x81", 2},                                  /* a type that goes on behind it */
        {"\x02\x0F", 2},                                  /* a text that is not there */
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9},      /* 2^64 - 1 bytes of header */
        {"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 10}, /* 2^63 bytes of text */
    };
    CdcRecord record = {0};
    (void)state;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        assert_int_equal(read_bytes(&record, WRONG[i].bytes, WRONG[i].size), WEIR_ERR_HOST);
    }
    weir_cdc_record_deinit(&record);
}

static void equal_values_are_equal(void **state)
{
    static const unsigned char BYTES[] = {0x05, 15, 15, 14, 9, 'a', 'a', 'a'};
    CdcRecord record = {0};
    (void)state;
    assert_int_equal(read_bytes(&record, BYTES, sizeof BYTES), WEIR_OK);
    assert_true(weir_cdc_field_is_equal(&record.fields[0], &record.fields[1]));
    assert_false(weir_cdc_field_is_equal(&record.fields[0], &record.fields[2]));
    assert_false(weir_cdc_field_is_equal(&record.fields[0], &record.fields[3]));
    weir_cdc_record_deinit(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_serial_type_is_read),
        cmocka_unit_test(an_empty_record_has_no_fields),
        cmocka_unit_test(what_is_no_record_is_refused),
        cmocka_unit_test(equal_values_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
