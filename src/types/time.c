/* time.c: days <-> year, month, day; weeks.
 *
 * The year is taken to begin in March, so that the leap day is its last one; then the days before
 * month m (0 = March) are (153 m + 2) / 5, and 400 years are 146097 days. */
#include "types/time.h"

enum {
    DAYS_PER_ERA = 146097, /* 400 years */
    YEARS_PER_ERA = 400,
    DAYS_0000_03_01_TO_1970 = 719468,
    DAYS_PER_WEEK = 7,
};

int32_t weir_month_days(int64_t year, int32_t month)
{
    static const int8_t DAYS[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    WEIR_ASSERT(month >= 1 && month <= 12);
    return DAYS[month - 1] + (month == 2 && weir_year_is_leap(year) ? 1 : 0);
}

CivilDate weir_civil_from_days(int32_t days)
{
    const int64_t shifted = (int64_t)days + DAYS_0000_03_01_TO_1970;
    const int64_t era = weir_floor_div(shifted, DAYS_PER_ERA);
    const int32_t day_of_era = (int32_t)(shifted - era * DAYS_PER_ERA);
    const int32_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const int32_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int32_t march_month = (5 * day_of_year + 2) / 153;
    const int32_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    const int64_t year = year_of_era + era * YEARS_PER_ERA + (month <= 2 ? 1 : 0);
    return (CivilDate){
        .year = (int32_t)year,
        .month = month,
        .day = day_of_year - (153 * march_month + 2) / 5 + 1,
    };
}

int64_t weir_days_from_civil(int64_t year, int64_t month, int64_t day)
{
    const int64_t months = month - 3; /* from March of the year */
    const int64_t march_year = year + weir_floor_div(months, 12);
    const int64_t march_month = weir_floor_mod(months, 12);
    const int64_t era = weir_floor_div(march_year, YEARS_PER_ERA);
    const int64_t year_of_era = march_year - era * YEARS_PER_ERA;
    const int64_t day_of_year = (153 * march_month + 2) / 5;
    const int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_0000_03_01_TO_1970 + (day - 1);
}

bool weir_date_make(int64_t year, int64_t month, int64_t day, int32_t *days)
{
    enum { YEAR_LIMIT = 6000000 };
    if (month < 1 || month > 12 || year < -YEAR_LIMIT || year > YEAR_LIMIT) {
        return false;
    }
    if (day < 1 || day > weir_month_days(year, (int32_t)month)) {
        return false;
    }
    const int64_t wide = weir_days_from_civil(year, month, day);
    if (wide < DATE_MIN || wide > DATE_MAX) {
        return false;
    }
    *days = (int32_t)wide;
    return true;
}

int32_t weir_day_of_year(int32_t days)
{
    const CivilDate date = weir_civil_from_days(days);
    return (int32_t)(days - weir_days_from_civil(date.year, 1, 1)) + 1;
}

int32_t weir_iso_day_of_week(int32_t days)
{
    /* 1970-01-01 was a Thursday. */
    return (int32_t)weir_floor_mod((int64_t)days + 3, DAYS_PER_WEEK) + 1;
}

int64_t weir_monday_of(int32_t days)
{
    return (int64_t)days - (weir_iso_day_of_week(days) - 1);
}

/* The Monday of week 1 of an ISO year: of the week that holds January 4th. */
static int64_t first_monday(int64_t year)
{
    const int64_t fourth = weir_days_from_civil(year, 1, 4);
    return fourth - weir_floor_mod(fourth + 3, DAYS_PER_WEEK);
}

/* The ISO year is the calendar year of the week's Thursday. */
static int64_t iso_year(int32_t days)
{
    const int64_t thursday = weir_monday_of(days) + 3;
    const CivilDate date = weir_civil_from_days(days);
    int64_t year = date.year;
    if (thursday < weir_days_from_civil(year, 1, 1)) {
        year--;
    } else if (thursday >= weir_days_from_civil(year + 1, 1, 1)) {
        year++;
    }
    return year;
}

IsoWeek weir_iso_week(int32_t days)
{
    const int64_t year = iso_year(days);
    const int64_t week = ((int64_t)days - first_monday(year)) / DAYS_PER_WEEK;
    return (IsoWeek){.year = (int32_t)year, .week = (int32_t)week + 1};
}

int64_t weir_iso_year_begin(int32_t days)
{
    return first_monday(iso_year(days));
}
