/* time_text.h: dates and times as DuckDB prints them. Each returns the bytes written; out has room
 * for TIME_TEXT_SIZE. */
#ifndef WEIR_EXPR_TIME_TEXT_H
#define WEIR_EXPR_TIME_TEXT_H

#include "base/base.h"

enum { TIME_TEXT_SIZE = 64 };

size_t weir_date_text(int32_t days, char out[TIME_TEXT_SIZE]);
size_t weir_time_text(int64_t micros, char out[TIME_TEXT_SIZE]);

/* units_per_second: 10^0, 10^3, 10^6 or 10^9. */
size_t weir_timestamp_text(int64_t timestamp, int64_t units_per_second, char out[TIME_TEXT_SIZE]);

#endif
