/* safe_file.h: small files at paths that come from SQL.
 *
 * A path is relative to the working directory and stays below it: no empty part, no "." or "..", and no
 * symbolic link on the way or at its end. */
#ifndef WEIR_DUCKDB_SAFE_FILE_H
#define WEIR_DUCKDB_SAFE_FILE_H

#include "base/buf.h"

/* Writes the file anew: whoever reads it sees the old or the new content, whenever the process ends. */
Status weir_safe_file_write(const char *path, const char *bytes, size_t size, Error *err)
    WEIR_MUST_CHECK;

/* Appends the content to the buffer; more than limit bytes are refused. */
Status weir_safe_file_read(const char *path, size_t limit, Buf *out, Error *err) WEIR_MUST_CHECK;

#endif
