/* value.h: one constant of a non-nested type. */
#ifndef WEIR_TYPES_VALUE_H
#define WEIR_TYPES_VALUE_H

#include "types/vector.h"

typedef struct Value {
    const LogicalType *type;
    bool is_null;
    union {
        unsigned char bytes[16]; /* the physical value, as in a vector */
        i128 align;
    } data; /* strings: a String whose bytes live as long as the value's arena */
} Value;

/* Appends the SQL text that binds to exactly this value and type: always through a CAST. */
void weir_value_put_sql(Buf *buf, const Value *value);

#endif
