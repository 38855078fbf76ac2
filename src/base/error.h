/* error.h: one error type, which is also the public one (WeirError).
 *
 * It owns no memory, so that reporting out-of-memory cannot fail. A function that can fail
 * returns Status and fills its `Error *err` once, where the failure is seen. */
#ifndef WEIR_BASE_ERROR_H
#define WEIR_BASE_ERROR_H

#include "weir.h"

typedef WeirStatus Status;
typedef WeirError Error;

/* Fills err (code, message) and returns the code. The hint is cleared. A message that does not fit
 * is cut at a character border. */
Status weir_error_set(Error *err, Status code, const char *format, ...) WEIR_PRINTF(3, 4);

/* Adds a hint: what the user can do. */
void weir_error_hint(Error *err, const char *format, ...) WEIR_PRINTF(2, 3);

/* Puts context in front of the message: "view v: <old message>". Keeps code and hint; returns the
 * code. */
Status weir_error_wrap(Error *err, const char *format, ...) WEIR_PRINTF(2, 3);

/* "DBSP-E110: message (hint: ...)", NUL-terminated and cut to size. */
void weir_error_format(const Error *err, char *out, size_t size);

/* Back to "no error". */
void weir_error_clear(Error *err);

/* The one-line summary of a code; NULL for an unknown code. */
const char *weir_error_summary(Status code);

#endif
