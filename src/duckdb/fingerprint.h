/* fingerprint.h: a 64-bit hash of a row and its row id, computed by us inside DuckDB's scans.
 *
 * DuckDB's own hash() is of no use to prove that a table has not changed: it is built for hash
 * tables. Equal values hash equally whatever their bytes (0.0 and -0.0, 30 days and 1 month); long
 * strings that differ in the last byte of two words collide one time in 256; and hash(a, b) is an
 * exclusive or with the last argument, so that setting one column of an even number of rows to the
 * same value leaves the exclusive or over the rows as it was. */
#ifndef WEIR_DUCKDB_FINGERPRINT_H
#define WEIR_DUCKDB_FINGERPRINT_H

#include "duckdb/api.h"
#include "types/batch.h"

/* Registers the scalar function; once per database. */
Status weir_fingerprint_register(duckdb_connection connection, Error *err) WEIR_MUST_CHECK;

/* Appends the expression of type UBIGINT over rowid and the named columns of the schema. It depends
 * on every bit of them; values that differ only in how they are stored count as different. */
void weir_fingerprint_put_sql(Buf *buf, const Schema *schema);

#endif
