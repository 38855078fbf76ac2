/* cdc_time.c: points in time, as they are typed and shown: always UTC. */
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "shell/cdc.h"

enum { MOST_SECONDS = 2000000000 };

/* 7d, 12h, 1d12h. */
static bool parse_duration(const char *text, sqlite3_int64 *out)
{
    static const char UNITS[] = "smhdw";
    static const sqlite3_int64 SECONDS[] = {1, 60, 3600, 86400, 604800};
    sqlite3_int64 total = 0;
    const char *c = text;
    do {
        sqlite3_int64 number = 0;
        if (!isdigit((unsigned char)*c)) {
            return false;
        }
        for (; isdigit((unsigned char)*c) && number < MOST_SECONDS; c++) {
            number = number * 10 + (*c - '0');
        }
        const char *const unit = *c == '\0' ? NULL : strchr(UNITS, *c);
        if (unit == NULL || number >= MOST_SECONDS) {
            return false;
        }
        total += number * SECONDS[unit - UNITS];
        c++;
    } while (*c != '\0');
    *out = total;
    return true;
}

/* True if the text begins like the pattern, where 0 stands for any digit; *end is behind it. */
static bool matches(const char *text, const char *pattern, const char **end)
{
    for (; *pattern != '\0'; pattern++, text++) {
        const bool is_same = *pattern == '0' ? isdigit((unsigned char)*text) : *text == *pattern;
        if (!is_same) {
            return false;
        }
    }
    *end = text;
    return true;
}

static int number_at(const char *digits)
{
    return (digits[0] - '0') * 10 + (digits[1] - '0');
}

/* 2026-01-31, 2026-01-31T12:00, 2026-01-31 12:00:30Z. */
static bool parse_date(const char *text, sqlite3_int64 *out)
{
    const char *end = NULL;
    struct tm wanted = {0};
    if (!matches(text, "0000-00-00", &end)) {
        return false;
    }
    wanted.tm_year = number_at(text) * 100 + number_at(text + 2) - 1900;
    wanted.tm_mon = number_at(text + 5) - 1;
    wanted.tm_mday = number_at(text + 8);
    if (matches(end, "T00:00", &end) || matches(end, " 00:00", &end)) {
        wanted.tm_hour = number_at(end - 5);
        wanted.tm_min = number_at(end - 2);
        if (matches(end, ":00", &end)) {
            wanted.tm_sec = number_at(end - 2);
        }
    }
    end += *end == 'Z';
    /* timegm makes 1 March of 29 February where there is none. */
    struct tm found = wanted;
    *out = timegm(&found);
    return *end == '\0' && found.tm_mon == wanted.tm_mon && found.tm_mday == wanted.tm_mday &&
           found.tm_hour == wanted.tm_hour && found.tm_min == wanted.tm_min &&
           found.tm_sec == wanted.tm_sec;
}

bool weir_cdc_time_parse(const char *text, sqlite3_int64 now, sqlite3_int64 *out)
{
    sqlite3_int64 duration = 0;
    if (parse_duration(text, &duration)) {
        *out = now - duration;
        return true;
    }
    return parse_date(text, out);
}

void weir_cdc_time_put(Text *text, sqlite3_int64 seconds, bool is_json)
{
    char buffer[64];
    struct tm parts;
    const time_t time = (time_t)seconds;
    if (gmtime_r(&time, &parts) == NULL) {
        weir_text_printf(text, "%lld", seconds);
        return;
    }
    const size_t size = strftime(buffer, sizeof buffer,
                                 is_json ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d %H:%M:%S", &parts);
    weir_text_append(text, buffer, size);
}
