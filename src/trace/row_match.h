/* row_match.h: are these rows of a batch equal to those packed rows? This folder only.
 *
 * It agrees with weir_row_key_equal and weir_row_equal on the packed form, without packing. */
#ifndef WEIR_TRACE_ROW_MATCH_H
#define WEIR_TRACE_ROW_MATCH_H

#include "types/row.h"

enum { ROW_MATCH_MAX = 32 };

/* What is compared: row i of the batch, at places[i] (places NULL: at first + i), with rows[i]. */
typedef struct RowMatch {
    const RowLayout *layout;
    const Vector *const *columns; /* key columns, then payload columns if they are compared */
    const uint16_t *places;
    size_t first;
    Row *const *rows;   /* best prefetched */
    size_t count;       /* <= ROW_MATCH_MAX */
    bool key_has_nulls; /* false: no packed row has a NULL key column, so far */
    bool payload_has_nulls;
} RowMatch;

/* Bit i of the result: the keys differ. */
uint32_t weir_row_match_key(const RowMatch *match);

/* Bit i of the result: the rows differ, in key or payload. */
uint32_t weir_row_match_all(const RowMatch *match);

/* True if one of the rows, just packed from the columns, has a NULL in the section. */
bool weir_rows_have_nulls(const RowSection *section, const Vector *const *columns, Row *const *rows,
                          size_t count);

#endif
