/* nested.h: the canonical byte string of a nested value.
 *
 * LIST, ARRAY: u32 count, then elements. STRUCT: fields in order. MAP: u32 count, then key and value
 * in turn. UNION: u8 tag, then the member. An element is preceded by one byte: 1 valid, 0 NULL (and
 * nothing follows). Fixed-width values are their bytes, little endian; strings u32 size and bytes.
 * Equal bytes <=> equal representation; equality of values needs weir_nested_normalise (floats,
 * intervals). A value is written and read recursively to a depth of at most NESTED_MAX_DEPTH. */
#ifndef WEIR_TYPES_NESTED_H
#define WEIR_TYPES_NESTED_H

#include "types/vector.h"

enum { NESTED_MAX_DEPTH = 64 };

/* Appends the normalised form of the value to out. */
void weir_nested_normalise(const LogicalType *type, const char *bytes, size_t size, Buf *out);

/* The same without a copy: the normalised form has the same size. */
void weir_nested_normalise_in_place(const LogicalType *type, char *bytes, size_t size);

/* SQL order of two nested values of one type (element-wise; NULL elements equal and largest). */
int weir_nested_compare(const LogicalType *type, const char *a, const char *b);

/* Bytes taken by the encoded value of `type` that starts at bytes (used to walk). */
size_t weir_nested_size(const LogicalType *type, const char *bytes);

#endif
