/* float_text.h: FLOAT and DOUBLE as text: the shortest digits that read back.
 *
 * A DOUBLE is printed as DuckDB does it, but for "odd" ones, large or small powers of two, which
 * DuckDB prints with other, sometimes wrong, digits. A FLOAT is only for messages: DuckDB prints more
 * digits of some. */
#ifndef WEIR_EXPR_FLOAT_TEXT_H
#define WEIR_EXPR_FLOAT_TEXT_H

#include "base/base.h"

enum { FLOAT_TEXT_SIZE = 40 };

/* NUL-terminated; size >= FLOAT_TEXT_SIZE. Returns the bytes without the NUL. */
size_t weir_double_text(double value, char *out, size_t size);
size_t weir_float_text(float value, char *out, size_t size);

bool weir_double_is_odd(double value);

#endif
