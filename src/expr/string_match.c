/* string_match.c: lengths, contains, prefix, suffix, position, and LIKE.
 *
 * A LIKE pattern without _ is a list of segments between %: the first and last are anchored, the
 * others are found one after the other, each as early as possible. With _ the pattern is matched
 * byte by byte, going back to the last % when it fails; trying the earliest place is enough, since a
 * later begin of a segment never gives an earlier end. */
#include "expr/text_value.h"

#define TEXT_COUNT_KERNEL(name, expression)                         \
    Status weir_kernel_##name(const KernelCall *call, Error *err)   \
    {                                                               \
        WEIR_UNUSED(err);                                           \
        const TextArg texts = weir_text_arg(call, 0);               \
        int64_t *out = call->out->data;                             \
        for (size_t row = 0; row < weir_kernel_rows(call); row++) { \
            out[row] = 0;                                           \
            if (weir_kernel_is_valid(call, row)) {                  \
                const String *s = weir_text_at(&texts, row);        \
                out[row] = (int64_t)(expression);                   \
            }                                                       \
        }                                                           \
        return WEIR_OK;                                             \
    }
TEXT_COUNT_KERNEL(length, weir_utf8_count(weir_string_data(s), weir_string_size(s)))
TEXT_COUNT_KERNEL(length_bytes, weir_string_size(s))
TEXT_COUNT_KERNEL(length_bits, weir_string_size(s) * 8)
#undef TEXT_COUNT_KERNEL

/* --- one string in another ----------------------------------------------------------------------- */

static inline bool has_prefix(const String *s, const String *prefix)
{
    const size_t size = weir_string_size(prefix);
    return size <= weir_string_size(s) &&
           memcmp(weir_string_data(s), weir_string_data(prefix), size) == 0;
}

static inline bool has_suffix(const String *s, const String *suffix)
{
    const size_t size = weir_string_size(suffix);
    return size <= weir_string_size(s) && memcmp(weir_string_data(s) + weir_string_size(s) - size,
                                                 weir_string_data(suffix), size) == 0;
}

static inline size_t find(const String *s, const String *needle)
{
    return weir_text_find(weir_string_data(s), weir_string_size(s), weir_string_data(needle),
                          weir_string_size(needle));
}

/* 1-based position in characters; 0 = not there. */
static inline int64_t position(const String *s, const String *needle)
{
    const size_t place = find(s, needle);
    return place == SIZE_MAX ? 0 : 1 + (int64_t)weir_utf8_count(weir_string_data(s), place);
}

#define TEXT_PAIR_KERNEL(name, type, expression)                    \
    Status weir_kernel_##name(const KernelCall *call, Error *err)   \
    {                                                               \
        WEIR_UNUSED(err);                                           \
        const TextArg texts = weir_text_arg(call, 0);               \
        const TextArg needles = weir_text_arg(call, 1);             \
        type *out = call->out->data;                                \
        for (size_t row = 0; row < weir_kernel_rows(call); row++) { \
            out[row] = 0;                                           \
            if (weir_kernel_is_valid(call, row)) {                  \
                const String *s = weir_text_at(&texts, row);        \
                const String *needle = weir_text_at(&needles, row); \
                out[row] = (type)(expression);                      \
            }                                                       \
        }                                                           \
        return WEIR_OK;                                             \
    }
TEXT_PAIR_KERNEL(contains, uint8_t, find(s, needle) != SIZE_MAX)
TEXT_PAIR_KERNEL(prefix, uint8_t, has_prefix(s, needle))
TEXT_PAIR_KERNEL(suffix, uint8_t, has_suffix(s, needle))
TEXT_PAIR_KERNEL(position, int64_t, position(s, needle))
#undef TEXT_PAIR_KERNEL

/* --- LIKE ---------------------------------------------------------------------------------------- */

typedef struct Pattern {
    const char *bytes;
    size_t size;
    bool is_segments; /* no _ in it */
    size_t head;      /* bytes before the first % */
    size_t tail;      /* bytes behind the last % */
    bool has_percent;
} Pattern;

static Pattern pattern_of(const String *s)
{
    Pattern p = {.bytes = weir_string_data(s), .size = weir_string_size(s)};
    p.is_segments = memchr(p.bytes, '_', p.size) == NULL;
    const char *first = memchr(p.bytes, '%', p.size);
    if (first == NULL) {
        return p;
    }
    const char *last = memrchr(p.bytes, '%', p.size);
    p.has_percent = true;
    p.head = (size_t)(first - p.bytes);
    p.tail = p.size - (size_t)(last - p.bytes) - 1;
    return p;
}

static bool matches_segments(const Pattern *p, const char *text, size_t size)
{
    if (!p->has_percent) {
        return size == p->size && memcmp(text, p->bytes, size) == 0;
    }
    if (size < p->head + p->tail || memcmp(text, p->bytes, p->head) != 0 ||
        memcmp(text + size - p->tail, p->bytes + p->size - p->tail, p->tail) != 0) {
        return false;
    }
    const char *at = text + p->head;
    size_t left = size - p->head - p->tail;
    const char *segment = p->bytes + p->head;
    const char *end = p->bytes + p->size - p->tail;
    while (segment < end) { /* at a % */
        segment++;
        const char *next = memchr(segment, '%', (size_t)(end - segment));
        const size_t length = next == NULL ? 0 : (size_t)(next - segment);
        const size_t hit = weir_text_find(at, left, segment, length);
        if (hit == SIZE_MAX) {
            return false;
        }
        at += hit + length;
        left -= hit + length;
        segment += length;
    }
    return true;
}

static size_t next_character(const char *text, size_t size, size_t at)
{
    at++;
    while (at < size && !weir_utf8_is_start(text[at])) {
        at++;
    }
    return at;
}

static bool matches_bytes(const Pattern *p, const char *text, size_t size)
{
    size_t at = 0;
    size_t in_pattern = 0;
    size_t percent = SIZE_MAX; /* behind the last % */
    size_t retry = 0;          /* where the text goes on after it */
    while (at < size) {
        const int c = in_pattern < p->size ? p->bytes[in_pattern] : 0;
        if (in_pattern < p->size && c == '%') {
            percent = ++in_pattern;
            retry = at;
        } else if (in_pattern < p->size && c == '_') {
            at = next_character(text, size, at);
            in_pattern++;
        } else if (in_pattern < p->size && c == text[at]) {
            at++;
            in_pattern++;
        } else if (percent != SIZE_MAX) {
            at = ++retry;
            in_pattern = percent;
        } else {
            return false;
        }
    }
    while (in_pattern < p->size && p->bytes[in_pattern] == '%') {
        in_pattern++;
    }
    return in_pattern == p->size;
}

static bool matches(const Pattern *p, const String *s)
{
    const char *text = weir_string_data(s);
    const size_t size = weir_string_size(s);
    return p->is_segments ? matches_segments(p, text, size) : matches_bytes(p, text, size);
}

static Status like_rows(const KernelCall *call, uint8_t negate)
{
    const TextArg texts = weir_text_arg(call, 0);
    const TextArg patterns = weir_text_arg(call, 1);
    uint8_t *out = call->out->data;
    Pattern pattern = {0};
    for (size_t row = 0; row < weir_kernel_rows(call); row++) {
        out[row] = 0;
        if (!weir_kernel_is_valid(call, row)) {
            continue;
        }
        if (pattern.bytes == NULL || patterns.step != 0) {
            pattern = pattern_of(weir_text_at(&patterns, row));
        }
        out[row] = matches(&pattern, weir_text_at(&texts, row)) ^ negate;
    }
    return WEIR_OK;
}

Status weir_kernel_like(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return like_rows(call, 0);
}

Status weir_kernel_not_like(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    return like_rows(call, 1);
}
