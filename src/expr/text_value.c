/* text_value.c: see text_value.h. */
#include "expr/text_value.h"

bool weir_text_arg_is_ascii(const KernelCall *call, size_t index)
{
    const TextArg arg = weir_text_arg(call, index);
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *s = weir_text_at(&arg, row);
        if (!weir_text_is_ascii(weir_string_data(s), weir_string_size(s))) {
            return false;
        }
    }
    return true;
}

/* Longer needles are searched in linear time; below, a hit of the first byte costs at most so many
 * bytes, and the search is faster. */
enum { SHORT_NEEDLE_MAX = 32 };

size_t weir_text_find(const char *haystack, size_t haystack_size, const char *needle,
                      size_t needle_size)
{
    if (needle_size == 0) {
        return 0;
    }
    if (needle_size > haystack_size) {
        return SIZE_MAX;
    }
    if (needle_size > SHORT_NEEDLE_MAX) {
        const char *hit = memmem(haystack, haystack_size, needle, needle_size);
        return hit == NULL ? SIZE_MAX : (size_t)(hit - haystack);
    }
    const char *at = haystack;
    const char *const last = haystack + (haystack_size - needle_size);
    while (at <= last) {
        at = memchr(at, needle[0], (size_t)(last - at) + 1);
        if (at == NULL) {
            return SIZE_MAX;
        }
        if (memcmp(at + 1, needle + 1, needle_size - 1) == 0) {
            return (size_t)(at - haystack);
        }
        at++;
    }
    return SIZE_MAX;
}
