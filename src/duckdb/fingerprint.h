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

/* Registers the scalar functions; once per database. */
Status weir_fingerprint_register(duckdb_connection connection, Error *err) WEIR_MUST_CHECK;

/* Appends the expression of type UBIGINT over rowid and the named columns of the schema. It depends
 * on every bit of them; values that differ only in how they are stored count as different. */
void weir_fingerprint_put_sql(Buf *buf, const Schema *schema);

/* out[i] = what that expression gives for row i, whose columns are the schema's. No type may be nested:
 * of those DuckDB hashes texts. */
void weir_fingerprint_rows(const Batch *batch, const int64_t *row_ids, uint64_t *out);

/* The rows of a part of a table: their number and the exclusive or of their fingerprints. */
typedef struct RowSum {
    uint64_t row_count;
    uint64_t fingerprint;
} RowSum;

/* A part of one group of row ids, as found in a scan. */
typedef struct PartSum {
    uint64_t group;      /* row id / group_rows */
    bool is_new;         /* the row ids are behind last_row */
    uint32_t last_place; /* the largest row id % group_rows */
    RowSum sum;
} PartSum;

/* Where the groups and the known rows end. */
typedef struct PartSpec {
    uint32_t group_rows; /* <= FINGERPRINT_MAX_GROUP_ROWS */
    int64_t last_row;    /* -1 = none */
} PartSpec;

enum { FINGERPRINT_MAX_GROUP_ROWS = 1 << 17 };

/* Appends a query over the table (SQL text of its name). Its one column is read by
 * weir_fingerprint_read_part; a group's rows come in several parts, in any order. This is much
 * cheaper than GROUP BY: a part is what a vector of the scan holds of a group. */
void weir_fingerprint_put_parts_sql(Buf *buf, const Schema *schema, const PartSpec *spec,
                                    const char *table);

/* Row `row` of the query's result column. */
PartSum weir_fingerprint_read_part(duckdb_vector parts, size_t row);

#endif
