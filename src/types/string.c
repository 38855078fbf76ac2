/* string.c: DuckDB's 16-byte string slots. */
#include "types/vector.h"

String weir_string_make(const char *bytes, size_t size)
{
    WEIR_ASSERT(size <= UINT32_MAX);
    String s = {.words = {0, 0}};
    if (size <= STRING_INLINE_BYTES) {
        s.inlined.length = (uint32_t)size;
        if (size > 0) {
            memcpy(s.inlined.bytes, bytes, size);
        }
        return s;
    }
    s.remote.length = (uint32_t)size;
    memcpy(s.remote.prefix, bytes, sizeof s.remote.prefix);
    s.remote.pointer = bytes;
    return s;
}

bool weir_string_equal(const String *a, const String *b)
{
    if (a->words[0] != b->words[0]) {
        return false; /* length or prefix */
    }
    if (a->words[1] == b->words[1]) {
        return true; /* the same short bytes, or the same place */
    }
    return !weir_string_is_inline(a) &&
           memcmp(a->remote.pointer, b->remote.pointer, a->remote.length) == 0;
}

int weir_string_compare(const String *a, const String *b)
{
    /* The prefix is zero padded, which is right: a shorter string is smaller if it is a prefix. */
    const int prefix_order = memcmp(a->remote.prefix, b->remote.prefix, sizeof a->remote.prefix);
    if (prefix_order != 0) {
        return prefix_order;
    }
    const size_t a_size = weir_string_size(a);
    const size_t b_size = weir_string_size(b);
    const size_t common = WEIR_MIN(a_size, b_size);
    const int order = memcmp(weir_string_data(a), weir_string_data(b), common);
    if (order != 0) {
        return order;
    }
    return (a_size > b_size) - (a_size < b_size);
}
