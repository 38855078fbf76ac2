/* decimal_text.h: a DECIMAL as DuckDB prints it. */
#ifndef WEIR_EXPR_DECIMAL_TEXT_H
#define WEIR_EXPR_DECIMAL_TEXT_H

#include "types/type.h"

enum { DECIMAL_TEXT_SIZE = 48 };

/* value: unscaled. NUL-terminated; returns the bytes without the NUL. */
size_t weir_decimal_text(i128 value, const LogicalType *type, char out[DECIMAL_TEXT_SIZE]);

#endif
