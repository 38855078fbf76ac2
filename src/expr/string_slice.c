/* string_slice.c: substring, left, right, trims, paddings, reverse, lower and upper.
 *
 * A slice of a string points into the string it was cut from. Positions count code points. */
#include "expr/text_out.h"
#include "expr/text_value.h"

typedef struct Slice {
    size_t begin;
    size_t end;
} Slice;

static String slice_string(const String *s, Slice slice)
{
    return weir_string_make(weir_string_data(s) + slice.begin, slice.end - slice.begin);
}

/* --- substring ----------------------------------------------------------------------------------- */

#define SUBSTRING_MAX ((int64_t)UINT32_MAX)
#define SUBSTRING_MIN (-SUBSTRING_MAX - 1)

/* From the end: positions are numbers of characters from the back. */
static Slice substring_backwards(const char *bytes, size_t size, int64_t offset, int64_t length)
{
    offset--;
    const int64_t start = length < 0 ? -offset - length : -offset;
    const int64_t end = length < 0 ? -offset : -offset - length;
    size_t begin_at = 0;
    size_t end_at = end <= 0 ? size : SIZE_MAX;
    int64_t current = 0;
    for (size_t i = size; i > 0; i--) {
        if (!weir_utf8_is_start(bytes[i - 1])) {
            continue;
        }
        current++;
        if (current == start) {
            begin_at = i;
            break;
        }
        if (current == end) {
            end_at = i;
        }
    }
    while (begin_at < size && !weir_utf8_is_start(bytes[begin_at])) {
        begin_at++;
    }
    while (end_at < size && !weir_utf8_is_start(bytes[end_at])) {
        end_at++;
    }
    if (end_at == SIZE_MAX) {
        return (Slice){0};
    }
    return (Slice){.begin = begin_at, .end = end_at};
}

static Slice substring_forwards(const char *bytes, size_t size, int64_t offset, int64_t length)
{
    offset--;
    const int64_t start = WEIR_MAX((int64_t)0, length < 0 ? offset + length : offset);
    const int64_t end = length < 0 ? offset : offset + length;
    size_t begin_at = SIZE_MAX;
    size_t end_at = size;
    int64_t current = 0;
    for (size_t i = 0; i < size; i++) {
        if (!weir_utf8_is_start(bytes[i])) {
            continue;
        }
        if (current == start) {
            begin_at = i;
        } else if (current == end) {
            end_at = i;
            break;
        }
        current++;
    }
    if (begin_at == SIZE_MAX || end == 0 || end <= start) {
        return (Slice){0};
    }
    return (Slice){.begin = begin_at, .end = end_at};
}

static Slice substring(const String *s, int64_t offset, int64_t length)
{
    const char *bytes = weir_string_data(s);
    const size_t size = weir_string_size(s);
    if (length == 0) {
        return (Slice){0};
    }
    return offset < 0 ? substring_backwards(bytes, size, offset, length)
                      : substring_forwards(bytes, size, offset, length);
}

static Status check_range(const char *what, int64_t value, Error *err)
{
    if (value >= SUBSTRING_MIN && value <= SUBSTRING_MAX) {
        return WEIR_OK;
    }
    return weir_error_set(err, WEIR_ERR_EVALUATION,
                          "Out of Range Error: Substring %s outside of supported range (%c %lld)",
                          what, value < 0 ? '<' : '>',
                          (long long)(value < 0 ? SUBSTRING_MIN : SUBSTRING_MAX));
}

/* Constant arguments that are in range, or none: nothing can fail. */
bool weir_accepts_substring_total(const Expr *call)
{
    for (size_t i = 1; i < call->arg_count; i++) {
        const Expr *arg = call->args[i];
        if (arg->kind != EXPR_CONSTANT) {
            return false;
        }
        int64_t value;
        memcpy(&value, arg->value.data.bytes, sizeof value);
        if (!arg->value.is_null && (value < SUBSTRING_MIN || value > SUBSTRING_MAX)) {
            return false;
        }
    }
    return true;
}

Status weir_kernel_substring(const KernelCall *call, Error *err)
{
    const TextArg texts = weir_text_arg(call, 0);
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        slots[row] = (String){.words = {0, 0}};
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *s = weir_text_at(&texts, row);
        const int64_t offset = weir_long_at(call, 1, row);
        const int64_t length = call->arg_count == 3 ? weir_long_at(call, 2, row) : SUBSTRING_MAX;
        WEIR_TRY(check_range("offset", offset, err));
        WEIR_TRY(check_range("length", length, err));
        slots[row] = slice_string(s, substring(s, offset, length));
    }
    return WEIR_OK;
}

/* left(s, n): the first n characters, or all but the last -n. */
static Status left_slice(const String *s, int64_t n, Slice *out, Error *err)
{
    if (n < 0) {
        const int64_t count = (int64_t)weir_utf8_count(weir_string_data(s), weir_string_size(s));
        n = WEIR_MAX((int64_t)0, count + n);
    }
    WEIR_TRY(check_range("length", n, err));
    *out = substring(s, 1, n);
    return WEIR_OK;
}

static Status right_slice(const String *s, int64_t n, Slice *out, Error *err)
{
    const int64_t count = (int64_t)weir_utf8_count(weir_string_data(s), weir_string_size(s));
    int64_t length = 0;
    if (n >= 0) {
        length = WEIR_MIN(count, n);
    } else if (n != INT64_MIN) {
        length = count - WEIR_MIN(count, -n);
    }
    WEIR_UNUSED(err);
    *out = substring(s, count - length + 1, length);
    return WEIR_OK;
}

static Status cut_rows(const KernelCall *call,
                       Status (*cut)(const String *s, int64_t n, Slice *out, Error *err),
                       Error *err)
{
    const TextArg texts = weir_text_arg(call, 0);
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        slots[row] = (String){.words = {0, 0}};
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        const String *s = weir_text_at(&texts, row);
        Slice slice;
        WEIR_TRY(cut(s, weir_long_at(call, 1, row), &slice, err));
        slots[row] = slice_string(s, slice);
    }
    return WEIR_OK;
}

Status weir_kernel_left(const KernelCall *call, Error *err)
{
    return cut_rows(call, left_slice, err);
}

Status weir_kernel_right(const KernelCall *call, Error *err)
{
    return cut_rows(call, right_slice, err);
}

/* --- trim ---------------------------------------------------------------------------------------- */

/* Bytes of the space (Unicode category Zs) at the begin of valid UTF-8; 0 = another character. */
static size_t space_at(const char *bytes, size_t size)
{
    const unsigned char a = (unsigned char)bytes[0];
    if (a == ' ') {
        return 1;
    }
    if (a == 0xC2) {
        return size >= 2 && (unsigned char)bytes[1] == 0xA0 ? 2 : 0;
    }
    if (size < 3 || a < 0xE1 || a > 0xE3) {
        return 0;
    }
    const unsigned code = ((unsigned)(a & 0x0F) << 12) |
                          ((unsigned)((unsigned char)bytes[1] & 0x3F) << 6) |
                          ((unsigned char)bytes[2] & 0x3Fu);
    const bool is_space = code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x202F ||
                          code == 0x205F || code == 0x3000;
    return is_space ? 3 : 0;
}

enum { TRIM_LEFT = 1, TRIM_RIGHT = 2 };

static Slice trim_spaces(const char *bytes, size_t size, int sides)
{
    size_t begin = 0;
    size_t space = 0;
    while ((sides & TRIM_LEFT) != 0 && begin < size) {
        space = space_at(bytes + begin, size - begin);
        if (space == 0) {
            break;
        }
        begin += space;
    }
    size_t end = size;
    while ((sides & TRIM_RIGHT) != 0 && end > begin) {
        size_t last = end - 1;
        while (last > begin && !weir_utf8_is_start(bytes[last])) {
            last--;
        }
        if (space_at(bytes + last, end - last) != end - last) {
            break;
        }
        end = last;
    }
    return (Slice){.begin = begin, .end = end};
}

/* set: which ASCII characters go. */
static Slice trim_set(const char *bytes, size_t size, int sides, const bool *set)
{
    size_t begin = 0;
    while ((sides & TRIM_LEFT) != 0 && begin < size && set[(unsigned char)bytes[begin]]) {
        begin++;
    }
    size_t end = size;
    while ((sides & TRIM_RIGHT) != 0 && end > begin && set[(unsigned char)bytes[end - 1]]) {
        end--;
    }
    return (Slice){.begin = begin, .end = end};
}

static Slice trim_row(const KernelCall *call, const String *s, size_t row, int sides)
{
    const char *bytes = weir_string_data(s);
    const size_t size = weir_string_size(s);
    if (call->arg_count == 1) {
        return trim_spaces(bytes, size, sides);
    }
    const TextArg sets = weir_text_arg(call, 1);
    const String *characters = weir_text_at(&sets, row);
    bool set[256] = {false};
    for (size_t i = 0; i < weir_string_size(characters); i++) {
        set[(unsigned char)weir_string_data(characters)[i]] = true;
    }
    return trim_set(bytes, size, sides, set);
}

static Status trim_rows(const KernelCall *call, int sides)
{
    if (call->arg_count == 2 && !weir_text_arg_is_ascii(call, 1)) {
        return KERNEL_DECLINES;
    }
    const TextArg texts = weir_text_arg(call, 0);
    String *slots = call->out->data;
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        slots[row] = (String){.words = {0, 0}};
        if (weir_kernel_is_valid(call, row)) {
            const String *s = weir_text_at(&texts, row);
            slots[row] = slice_string(s, trim_row(call, s, row, sides));
        }
    }
    return WEIR_OK;
}

Status weir_kernel_trim(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return trim_rows(call, TRIM_LEFT | TRIM_RIGHT);
}

Status weir_kernel_trim_left(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return trim_rows(call, TRIM_LEFT);
}

Status weir_kernel_trim_right(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return trim_rows(call, TRIM_RIGHT);
}
