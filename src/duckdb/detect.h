/* detect.h: finding what changed in a followed table. */
#ifndef WEIR_DUCKDB_DETECT_H
#define WEIR_DUCKDB_DETECT_H

#include "duckdb/fetch.h"

/* Fills an empty baseline with the table's rows. */
Status weir_detect_load(const DetectJob *job, Error *err) WEIR_MUST_CHECK;

/* Brings the baseline up to the snapshot and reports the difference. */
Status weir_detect_sync(const DetectJob *job, Error *err) WEIR_MUST_CHECK;

#endif
