/* string_join.c: ||, concat, concat_ws, repeat and replace. */
#include "expr/text_out.h"
#include "expr/text_value.h"

/* Writes at *to what the row has of an argument and moves on. */
static char *put(char *to, const String *s)
{
    const size_t size = weir_string_size(s);
    memcpy(to, weir_string_data(s), size);
    return to + size;
}

Status weir_kernel_join(const KernelCall *call, Error *err)
{
    TextOut out = {.arena = call->arena};
    const TextArg left = weir_text_arg(call, 0);
    const TextArg right = weir_text_arg(call, 1);
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        slots[row] = (String){.words = {0, 0}};
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *a = weir_text_at(&left, row);
        const String *b = weir_text_at(&right, row);
        char *bytes = weir_text_reserve(&out, weir_string_size(a) + weir_string_size(b), err);
        if (bytes == NULL) {
            return err->code;
        }
        const char *end = put(put(bytes, a), b);
        slots[row] = weir_text_finish(&out, bytes, (size_t)(end - bytes));
    }
    return WEIR_OK;
}

/* The argument of a row if it is not NULL. */
static const String *valid_text(const KernelCall *call, size_t index, size_t row)
{
    const Vector *v = &call->args[index];
    return weir_vector_is_null(v, row) ? NULL
                                       : &((const String *)v->data)[weir_vector_place(v, row)];
}

/* Arguments from `first` on, NULLs left out, with the separator (NULL = none) between them. */
static Status join_row(const KernelCall *call, size_t first, const String *separator, size_t row,
                       TextOut *out, String *slot, Error *err)
{
    size_t size = 0;
    for (size_t k = first; k < call->arg_count; k++) {
        const String *s = valid_text(call, k, row);
        size += s == NULL ? 0 : weir_string_size(s);
        size += separator == NULL ? 0 : weir_string_size(separator);
    }
    char *bytes = weir_text_reserve(out, size, err);
    if (bytes == NULL) {
        return err->code;
    }
    char *to = bytes;
    bool is_first = true;
    for (size_t k = first; k < call->arg_count; k++) {
        const String *s = valid_text(call, k, row);
        if (s == NULL) {
            continue;
        }
        if (separator != NULL && !is_first) {
            to = put(to, separator);
        }
        to = put(to, s);
        is_first = false;
    }
    *slot = weir_text_finish(out, bytes, (size_t)(to - bytes));
    return WEIR_OK;
}

Status weir_kernel_concat(const KernelCall *call, Error *err)
{
    TextOut out = {.arena = call->arena};
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        WEIR_TRY(join_row(call, 0, NULL, row, &out, &slots[row], err));
    }
    return WEIR_OK;
}

Status weir_kernel_concat_ws(const KernelCall *call, Error *err)
{
    TextOut out = {.arena = call->arena};
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        const String *separator = valid_text(call, 0, row);
        slots[row] = (String){.words = {0, 0}};
        if (separator == NULL) {
            WEIR_TRY(weir_vector_add_validity(call->out, call->count, call->arena, err));
            weir_validity_set_null(call->out->validity, row);
            continue;
        }
        WEIR_TRY(join_row(call, 1, separator, row, &out, &slots[row], err));
    }
    return WEIR_OK;
}

/* Results above this size are left to the host, which knows when to give up. */
enum { REPEAT_BYTES_MAX = 1 << 20 };

Status weir_kernel_repeat(const KernelCall *call, Error *err)
{
    TextOut out = {.arena = call->arena};
    const TextArg arg = weir_text_arg(call, 0);
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        slots[row] = (String){.words = {0, 0}};
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *s = weir_text_at(&arg, row);
        const int64_t count = weir_long_at(call, 1, row);
        if (count <= 0 || weir_string_size(s) == 0) {
            continue;
        }
        if (count > REPEAT_BYTES_MAX || (size_t)count * weir_string_size(s) > REPEAT_BYTES_MAX) {
            return KERNEL_DECLINES;
        }
        char *bytes = weir_text_reserve(&out, (size_t)count * weir_string_size(s), err);
        if (bytes == NULL) {
            return err->code;
        }
        char *to = bytes;
        for (int64_t i = 0; i < count; i++) {
            to = put(to, s);
        }
        slots[row] = weir_text_finish(&out, bytes, (size_t)(to - bytes));
    }
    return WEIR_OK;
}

/* --- replace ------------------------------------------------------------------------------------- */

static size_t count_hits(const String *text, const String *needle)
{
    const char *at = weir_string_data(text);
    size_t left = weir_string_size(text);
    size_t count = 0;
    for (;;) {
        const size_t hit =
            weir_text_find(at, left, weir_string_data(needle), weir_string_size(needle));
        if (hit == SIZE_MAX) {
            return count;
        }
        count++;
        at += hit + weir_string_size(needle);
        left -= hit + weir_string_size(needle);
    }
}

static void replace_hits(char *to, const String *text, const String *needle, const String *with)
{
    const char *at = weir_string_data(text);
    size_t left = weir_string_size(text);
    for (;;) {
        const size_t hit =
            weir_text_find(at, left, weir_string_data(needle), weir_string_size(needle));
        const size_t size = hit == SIZE_MAX ? left : hit;
        memcpy(to, at, size);
        if (hit == SIZE_MAX) {
            return;
        }
        to = put(to + size, with);
        at += hit + weir_string_size(needle);
        left -= hit + weir_string_size(needle);
    }
}

Status weir_kernel_replace(const KernelCall *call, Error *err)
{
    TextOut out = {.arena = call->arena};
    const TextArg texts = weir_text_arg(call, 0);
    const TextArg needles = weir_text_arg(call, 1);
    const TextArg replacements = weir_text_arg(call, 2);
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        slots[row] = (String){.words = {0, 0}};
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *text = weir_text_at(&texts, row);
        const String *needle = weir_text_at(&needles, row);
        const String *with = weir_text_at(&replacements, row);
        const size_t hits = weir_string_size(needle) == 0 ? 0 : count_hits(text, needle);
        if (hits == 0) {
            slots[row] = *text;
            continue;
        }
        const size_t size = weir_string_size(text) - hits * weir_string_size(needle) +
                            hits * weir_string_size(with);
        char *bytes = weir_text_reserve(&out, size, err);
        if (bytes == NULL) {
            return err->code;
        }
        replace_hits(bytes, text, needle, with);
        slots[row] = weir_text_finish(&out, bytes, size);
    }
    return WEIR_OK;
}
