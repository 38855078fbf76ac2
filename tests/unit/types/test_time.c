/* test_time.c: the calendar against day-by-day counting, and against values taken from DuckDB. */
#include "types_test.h"

#include "types/time.h"

static void dates_follow_each_other_day_by_day(void **state)
{
    (void)state;
    /* Four eras around year 0: every kind of leap year. */
    int32_t days = (int32_t)weir_days_from_civil(-801, 1, 1);
    CivilDate at = {.year = -801, .month = 1, .day = 1};
    int32_t day_of_year = 1;
    while (at.year < 2401) {
        const CivilDate date = weir_civil_from_days(days);
        assert_int_equal(date.year, at.year);
        assert_int_equal(date.month, at.month);
        assert_int_equal(date.day, at.day);
        assert_int_equal(weir_days_from_civil(at.year, at.month, at.day), days);
        assert_int_equal(weir_day_of_year(days), day_of_year);
        days++;
        at.day++;
        day_of_year++;
        if (at.day > weir_month_days(at.year, at.month)) {
            at.day = 1;
            at.month++;
        }
        if (at.month > 12) {
            at.month = 1;
            at.year++;
            day_of_year = 1;
        }
    }
}

static void known_dates_have_known_days(void **state)
{
    (void)state;
    assert_int_equal(weir_days_from_civil(1970, 1, 1), 0);
    assert_int_equal(weir_days_from_civil(2000, 2, 29), 11016);
    assert_int_equal(weir_days_from_civil(5881580, 7, 10), DATE_MAX);
    assert_int_equal(weir_days_from_civil(-5877641, 6, 25), DATE_MIN);
    assert_int_equal(weir_days_from_civil(1970, 14, 1), weir_days_from_civil(1971, 2, 1));
    assert_int_equal(weir_days_from_civil(1970, 0, 1), weir_days_from_civil(1969, 12, 1));
    assert_int_equal(weir_days_from_civil(1970, -11, 1), weir_days_from_civil(1969, 1, 1));
    assert_int_equal(weir_days_from_civil(1970, 3, 0), weir_days_from_civil(1970, 2, 28));
    const CivilDate first = weir_civil_from_days(DATE_MIN);
    assert_int_equal(first.year, -5877641);
    assert_int_equal(first.month, 6);
    assert_int_equal(first.day, 25);
    const CivilDate lowest = weir_civil_from_days(INT32_MIN);
    assert_int_equal(weir_days_from_civil(lowest.year, lowest.month, lowest.day), INT32_MIN);
    const CivilDate highest = weir_civil_from_days(INT32_MAX);
    assert_int_equal(weir_days_from_civil(highest.year, highest.month, highest.day), INT32_MAX);
}

static void impossible_dates_are_refused(void **state)
{
    (void)state;
    int32_t days = 0;
    assert_true(weir_date_make(2024, 2, 29, &days));
    assert_int_equal(days, weir_days_from_civil(2024, 2, 29));
    assert_true(weir_date_make(5881580, 7, 10, &days));
    assert_int_equal(days, DATE_MAX);
    assert_true(weir_date_make(-5877641, 6, 25, &days));
    assert_false(weir_date_make(5881580, 7, 11, &days));
    assert_false(weir_date_make(-5877641, 6, 24, &days));
    assert_false(weir_date_make(2023, 2, 29, &days));
    assert_false(weir_date_make(1900, 2, 29, &days));
    assert_false(weir_date_make(2023, 13, 1, &days));
    assert_false(weir_date_make(2023, 0, 1, &days));
    assert_false(weir_date_make(2023, 4, 31, &days));
    assert_false(weir_date_make(2023, 4, 0, &days));
    assert_false(weir_date_make(INT64_MAX, 1, 1, &days));
    assert_false(weir_date_make(INT64_MIN, 1, 1, &days));
}

typedef struct WeekCase {
    int32_t year, month, day;
    int32_t iso_year, iso_week, iso_day;
} WeekCase;

static void iso_weeks_are_duckdbs(void **state)
{
    (void)state;
    /* select isoyear(d), week(d), isodow(d) */
    static const WeekCase cases[] = {
        {1970, 1, 1, 1970, 1, 4},   {2004, 12, 31, 2004, 53, 5}, {2005, 1, 1, 2004, 53, 6},
        {2005, 1, 2, 2004, 53, 7},  {2005, 1, 3, 2005, 1, 1},    {2007, 12, 31, 2008, 1, 1},
        {2008, 12, 29, 2009, 1, 1}, {2008, 12, 28, 2008, 52, 7}, {2009, 12, 31, 2009, 53, 4},
        {2010, 1, 3, 2009, 53, 7},  {2010, 1, 4, 2010, 1, 1},    {0, 1, 1, -1, 52, 6},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        const WeekCase *c = &cases[i];
        const int32_t days = (int32_t)weir_days_from_civil(c->year, c->month, c->day);
        const IsoWeek week = weir_iso_week(days);
        assert_int_equal(week.year, c->iso_year);
        assert_int_equal(week.week, c->iso_week);
        assert_int_equal(weir_iso_day_of_week(days), c->iso_day);
        assert_int_equal(weir_monday_of(days), days - c->iso_day + 1);
        assert_int_equal(weir_iso_year_begin(days),
                         weir_monday_of(days) - INT64_C(7) * (c->iso_week - 1));
    }
}

static void iso_weeks_count_up_without_gaps(void **state)
{
    (void)state;
    IsoWeek last = weir_iso_week(-1000000);
    for (int32_t days = -999999; days < 200000; days++) {
        const IsoWeek week = weir_iso_week(days);
        if (weir_iso_day_of_week(days) != 1) {
            assert_true(week.year == last.year && week.week == last.week);
        } else if (week.week == 1) {
            assert_int_equal(week.year, last.year + 1);
            assert_true(last.week == 52 || last.week == 53);
        } else {
            assert_true(week.year == last.year && week.week == last.week + 1);
        }
        last = week;
    }
}

static void timestamps_before_1970_round_down(void **state)
{
    (void)state;
    assert_int_equal(weir_timestamp_date(-1, TIME_MICROS_PER_DAY), -1);
    assert_int_equal(weir_timestamp_time(-1, TIME_MICROS_PER_DAY), TIME_MICROS_PER_DAY - 1);
    assert_int_equal(weir_timestamp_date(-TIME_MICROS_PER_DAY, TIME_MICROS_PER_DAY), -1);
    assert_int_equal(weir_timestamp_time(-TIME_MICROS_PER_DAY, TIME_MICROS_PER_DAY), 0);
    assert_int_equal(weir_timestamp_date(TIME_MICROS_PER_DAY - 1, TIME_MICROS_PER_DAY), 0);
    assert_int_equal(weir_floor_div(-7, 2), -4);
    assert_int_equal(weir_floor_mod(-7, 2), 1);
    assert_int_equal(weir_floor_div(INT64_MIN, 1), INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_follow_each_other_day_by_day),
        cmocka_unit_test(known_dates_have_known_days),
        cmocka_unit_test(impossible_dates_are_refused),
        cmocka_unit_test(iso_weeks_are_duckdbs),
        cmocka_unit_test(iso_weeks_count_up_without_gaps),
        cmocka_unit_test(timestamps_before_1970_round_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
