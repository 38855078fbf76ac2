/* row_match.h: are these rows of a batch equal to those packed rows? This folder only.
 *
 * The first column_count columns of the layout are compared: key.count for the key, column_count for
 * key and payload. It agrees with weir_row_key_equal and weir_row_equal on the packed form, without
 * packing. */
#ifndef WEIR_TRACE_ROW_MATCH_H
#define WEIR_TRACE_ROW_MATCH_H

#include "types/row.h"

/* is_equal[i] = (row places[i] of the columns) equals rows[i]. Rows are best prefetched. */
void weir_row_match(const RowLayout *layout, const Vector *const *columns, size_t column_count,
                    const uint16_t *places, Row *const *rows, size_t count, bool *is_equal);

/* The same for one row. */
bool weir_row_matches(const RowLayout *layout, const Vector *const *columns, size_t column_count,
                      uint16_t place, Row *row);

#endif
