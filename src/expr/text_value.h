/* text_value.h: comparing string slots inside loops: the inlined forms of types/vector.h. */
#ifndef WEIR_EXPR_TEXT_VALUE_H
#define WEIR_EXPR_TEXT_VALUE_H

#include "types/vector.h"

/* The first word holds the length and four bytes; the padding of short strings is zero. */
static inline bool weir_text_equal(const String *a, const String *b)
{
    if (a->words[0] != b->words[0]) {
        return false;
    }
    if (a->words[1] == b->words[1]) {
        return true;
    }
    return !weir_string_is_inline(a) &&
           memcmp(a->remote.pointer, b->remote.pointer, a->remote.length) == 0;
}

static inline int weir_text_compare(const String *a, const String *b)
{
    uint32_t left;
    uint32_t right;
    memcpy(&left, a->remote.prefix, sizeof left);
    memcpy(&right, b->remote.prefix, sizeof right);
    if (left != right) {
        left = __builtin_bswap32(left);
        right = __builtin_bswap32(right);
        return left < right ? -1 : 1;
    }
    return weir_string_compare(a, b);
}

#endif
