/* float_text.h: FLOAT and DOUBLE as DuckDB prints them: the shortest digits that read back. */
#ifndef WEIR_EXPR_FLOAT_TEXT_H
#define WEIR_EXPR_FLOAT_TEXT_H

#include "base/base.h"

enum { FLOAT_TEXT_SIZE = 40 };

/* NUL-terminated; size >= FLOAT_TEXT_SIZE. Returns the bytes without the NUL. */
size_t weir_double_text(double value, char *out, size_t size);
size_t weir_float_text(float value, char *out, size_t size);

#endif
