/* text.h: values as DuckDB prints them: CAST(... AS VARCHAR), by DuckDB, a batch at a time. */
#ifndef WEIR_DUCKDB_TEXT_H
#define WEIR_DUCKDB_TEXT_H

#include "duckdb/database.h"

typedef struct TextCaster TextCaster;

/* Prints in the session of the connection (its time zone). The schema and the connection are
 * borrowed and must outlive the caster. */
Status weir_text_caster_new(WeirDatabase *database, duckdb_connection connection,
                            const Schema *schema, TextCaster **out, Error *err) WEIR_MUST_CHECK;
void weir_text_caster_free(TextCaster *caster); /* NULL is allowed */

/* out: one VARCHAR vector per column of the batch, in the arena. */
Status weir_text_caster_run(TextCaster *caster, const Batch *batch, Arena *arena, Vector *out,
                            Error *err) WEIR_MUST_CHECK;

#endif
