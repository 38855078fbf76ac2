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

size_t weir_text_find(const char *haystack, size_t haystack_size, const char *needle,
                      size_t needle_size)
{
    if (needle_size == 0) {
        return 0;
    }
    if (needle_size > haystack_size) {
        return SIZE_MAX;
    }
    if (needle_size == 1) {
        const char *hit = memchr(haystack, needle[0], haystack_size);
        return hit == NULL ? SIZE_MAX : (size_t)(hit - haystack);
    }
    const char *hit = memmem(haystack, haystack_size, needle, needle_size);
    return hit == NULL ? SIZE_MAX : (size_t)(hit - haystack);
}
