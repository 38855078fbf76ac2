/* detect.h: finding what changed in a followed table. */
#ifndef WEIR_DUCKDB_DETECT_H
#define WEIR_DUCKDB_DETECT_H

#include "duckdb/fetch.h"

/* Fills an empty baseline with the table's rows. */
Status weir_detect_load(const DetectJob *job, Error *err) WEIR_MUST_CHECK;

/* Brings the baseline up to the snapshot and reports the difference. */
Status weir_detect_sync(const DetectJob *job, Error *err) WEIR_MUST_CHECK;

/* The same for a table to which rows are only added, as far as is cheap: the new rows are read, the rows are
 * counted, and one group of old ones is compared, another one for every number `sample`. *is_kept: nothing
 * speaks against it, and the difference has been reported. Otherwise weir_detect_sync finds the rest. */
Status weir_detect_appended(const DetectJob *job, size_t sample, bool *is_kept, Error *err)
    WEIR_MUST_CHECK;

#endif
