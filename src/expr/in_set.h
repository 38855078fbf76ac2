/* in_set.h: x IN (many constants) by a hash table. */
#ifndef WEIR_EXPR_IN_SET_H
#define WEIR_EXPR_IN_SET_H

#include "expr/function.h"

typedef struct InSet InSet;

/* True if a list of so many constants of the type is better looked up than compared one by one. */
bool weir_in_set_pays(const LogicalType *type, size_t count);

/* values: count constant vectors of one type for which it pays. The set comes from the arena; the
 * strings of the values must live as long. */
Status weir_in_set_new(Arena *arena, const LogicalType *type, const Vector *values, size_t count,
                       InSet **out, Error *err) WEIR_MUST_CHECK;

#endif
