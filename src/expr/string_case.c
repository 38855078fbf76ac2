/* string_case.c: functions that look at single characters and know only ASCII: lower, upper, reverse,
 * lpad and rpad. They decline a batch with other characters. */
#include "expr/text_out.h"
#include "expr/text_value.h"

/* Writes size bytes to to. */
typedef void (*MapFn)(char *restrict to, const char *restrict from, size_t size);

static void map_lower(char *restrict to, const char *restrict from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char c = from[i];
        to[i] = (char)(c + ((c >= 'A') & (c <= 'Z')) * ('a' - 'A'));
    }
}

static void map_upper(char *restrict to, const char *restrict from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char c = from[i];
        to[i] = (char)(c - ((c >= 'a') & (c <= 'z')) * ('a' - 'A'));
    }
}

static void map_reverse(char *restrict to, const char *restrict from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        to[i] = from[size - 1 - i];
    }
}

static Status map_rows(const KernelCall *call, MapFn map, Error *err)
{
    if (!weir_text_arg_is_ascii(call, 0)) {
        return KERNEL_DECLINES;
    }
    TextOut out = {.arena = call->arena};
    const TextArg texts = weir_text_arg(call, 0);
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        slots[row] = (String){.words = {0, 0}};
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *s = weir_text_at(&texts, row);
        const size_t size = weir_string_size(s);
        char *bytes = weir_text_reserve(&out, size, err);
        if (bytes == NULL) {
            return err->code;
        }
        map(bytes, weir_string_data(s), size);
        slots[row] = weir_text_finish(&out, bytes, size);
    }
    return WEIR_OK;
}

Status weir_kernel_lower(const KernelCall *call, Error *err)
{
    return map_rows(call, map_lower, err);
}

Status weir_kernel_upper(const KernelCall *call, Error *err)
{
    return map_rows(call, map_upper, err);
}

Status weir_kernel_reverse(const KernelCall *call, Error *err)
{
    return map_rows(call, map_reverse, err);
}

/* --- padding ------------------------------------------------------------------------------------- */

enum { PAD_MAX = 1 << 20 };

static void fill(char *to, size_t size, const String *pad)
{
    for (size_t i = 0; i < size; i++) {
        to[i] = weir_string_data(pad)[i % weir_string_size(pad)];
    }
}

static Status pad_rows(const KernelCall *call, bool is_left, Error *err)
{
    if (!weir_text_arg_is_ascii(call, 0) || !weir_text_arg_is_ascii(call, 2)) {
        return KERNEL_DECLINES;
    }
    TextOut out = {.arena = call->arena};
    const TextArg texts = weir_text_arg(call, 0);
    const TextArg pads = weir_text_arg(call, 2);
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        slots[row] = (String){.words = {0, 0}};
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *s = weir_text_at(&texts, row);
        const String *pad = weir_text_at(&pads, row);
        const i128 wanted = weir_kernel_integer(call, 1, row);
        if (wanted > PAD_MAX) {
            return KERNEL_DECLINES;
        }
        const size_t size = wanted < 0 ? 0 : (size_t)wanted;
        const size_t kept = WEIR_MIN(size, weir_string_size(s));
        if (size > kept && weir_string_size(pad) == 0) {
            return weir_error_set(err, WEIR_ERR_EVALUATION,
                                  "Invalid Input Error: Insufficient padding in %s.",
                                  is_left ? "LPAD" : "RPAD");
        }
        char *bytes = weir_text_reserve(&out, size, err);
        if (bytes == NULL) {
            return err->code;
        }
        memcpy(bytes + (is_left ? size - kept : 0), weir_string_data(s), kept);
        fill(bytes + (is_left ? 0 : kept), size - kept, pad);
        slots[row] = weir_text_finish(&out, bytes, size);
    }
    return WEIR_OK;
}

Status weir_kernel_pad_left(const KernelCall *call, Error *err)
{
    return pad_rows(call, true, err);
}

Status weir_kernel_pad_right(const KernelCall *call, Error *err)
{
    return pad_rows(call, false, err);
}
