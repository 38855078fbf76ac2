/* text_value.h: string slots inside loops: comparing, reading arguments, looking at UTF-8. */
#ifndef WEIR_EXPR_TEXT_VALUE_H
#define WEIR_EXPR_TEXT_VALUE_H

#include "base/codec.h"
#include "expr/kernel.h"

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

/* A string argument of a kernel, constant or not. */
typedef struct TextArg {
    const String *slots;
    size_t step; /* 0 = constant */
} TextArg;

static inline TextArg weir_text_arg(const KernelCall *call, size_t index)
{
    const Vector *v = &call->args[index];
    return (TextArg){.slots = v->data, .step = v->is_constant ? 0 : 1};
}

static inline const String *weir_text_at(const TextArg *arg, size_t row)
{
    return &arg->slots[row * arg->step];
}

/* An argument of BIGINT. */
static inline int64_t weir_long_at(const KernelCall *call, size_t index, size_t row)
{
    const Vector *v = &call->args[index];
    return ((const int64_t *)v->data)[weir_vector_place(v, row)];
}

static inline bool weir_utf8_is_start(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

static inline size_t weir_utf8_count(const char *bytes, size_t size)
{
    size_t tails = 0;
    size_t i = 0;
    for (; i + 8 <= size; i += 8) { /* a tail has bit 7 and not bit 6 */
        const uint64_t word = weir_load_u64(bytes + i);
        const uint64_t is_tail = (word >> 7) & ~(word >> 6) & UINT64_C(0x0101010101010101);
        tails += is_tail * UINT64_C(0x0101010101010101) >> 56;
    }
    for (; i < size; i++) {
        tails += !weir_utf8_is_start(bytes[i]);
    }
    return size - tails;
}

static inline bool weir_text_is_ascii(const char *bytes, size_t size)
{
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        if ((weir_load_u64(bytes + i) & UINT64_C(0x8080808080808080)) != 0) {
            return false;
        }
    }
    for (; i < size; i++) {
        if (((unsigned char)bytes[i] & 0x80) != 0) {
            return false;
        }
    }
    return true;
}

/* True if every valid row of the argument is ASCII. */
bool weir_text_arg_is_ascii(const KernelCall *call, size_t index);

/* Place of the needle, SIZE_MAX if it is not there. */
size_t weir_text_find(const char *haystack, size_t haystack_size, const char *needle,
                      size_t needle_size);

#endif
