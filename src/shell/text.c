/* text.c: growing byte strings, UTF-8, display width. */
#include "shell/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void weir_shell_no_memory(void)
{
    (void)fputs("Error: out of memory\n", stderr);
    exit(1);
}

static void *must_have(void *memory)
{
    if (memory == NULL) {
        weir_shell_no_memory();
    }
    return memory;
}

void *weir_shell_alloc(size_t size)
{
    return must_have(calloc(1, size + (size == 0)));
}

void *weir_shell_realloc(void *memory, size_t size)
{
    return must_have(realloc(memory, size + (size == 0)));
}

/* ---- text ----------------------------------------------------------------------------------- */

void weir_text_deinit(Text *text)
{
    free(text->data);
    *text = (Text){0};
}

void weir_text_clear(Text *text)
{
    text->size = 0;
    if (text->data != NULL) {
        text->data[0] = '\0';
    }
}

/* Room for size more bytes and a NUL. */
static void text_reserve(Text *text, size_t size)
{
    if (size > SIZE_MAX / 4 || text->size > SIZE_MAX / 4) {
        must_have(NULL);
    }
    const size_t needed = text->size + size + 1;
    if (needed > text->capacity) {
        const size_t doubled = text->capacity * 2 > 64 ? text->capacity * 2 : 64;
        text->capacity = needed > doubled ? needed : doubled;
        text->data = weir_shell_realloc(text->data, text->capacity);
    }
}

void weir_text_append(Text *text, const char *bytes, size_t size)
{
    text_reserve(text, size);
    if (size > 0) {
        memcpy(text->data + text->size, bytes, size);
    }
    text->size += size;
    text->data[text->size] = '\0';
}

void weir_text_puts(Text *text, const char *string)
{
    weir_text_append(text, string, strlen(string));
}

void weir_text_putc(Text *text, char c)
{
    weir_text_append(text, &c, 1);
}

void weir_text_printf(Text *text, const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int size = vsnprintf(NULL, 0, format, arguments);
    if (size > 0) {
        text_reserve(text, (size_t)size);
        (void)vsnprintf(text->data + text->size, (size_t)size + 1, format, again);
        text->size += (size_t)size;
    }
    va_end(again);
    va_end(arguments);
}

void weir_text_drop(Text *text, size_t size)
{
    if (size > 0) {
        memmove(text->data, text->data + size, text->size - size);
        text->size -= size;
        text->data[text->size] = '\0';
    }
}

const char *weir_text_string(const Text *text)
{
    return text->data == NULL ? "" : text->data;
}

void weir_text_put_literal(Text *text, const char *string)
{
    weir_text_putc(text, '\'');
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == '\'') {
            weir_text_putc(text, '\'');
        }
        weir_text_putc(text, *c);
    }
    weir_text_putc(text, '\'');
}

/* ---- UTF-8 ---------------------------------------------------------------------------------- */

/* How many bytes a character with that first byte has; 0 if none has. */
static size_t utf8_size(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first < 0xE0) {
        return 2;
    }
    if (first >= 0xE0 && first < 0xF0) {
        return 3;
    }
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

size_t weir_utf8_decode(const char *bytes, size_t size, uint32_t *out)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = (unsigned char)bytes[0];
    const size_t length = utf8_size(first);
    *out = UTF8_INVALID;
    if (length == 0 || length > size) {
        return 1;
    }
    uint32_t point = length == 1 ? first : first & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        const unsigned char next = (unsigned char)bytes[i];
        if ((next & 0xC0) != 0x80) {
            return 1;
        }
        point = point << 6 | (next & 0x3FU);
    }
    if (point < LEAST[length] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) {
        return 1;
    }
    *out = point;
    return length;
}

/* wcwidth knows no columns of a character that is newer than the C library: one is a fair guess. */
static size_t point_width(uint32_t point)
{
    if (point >= 0x20 && point < 0x7F) {
        return 1;
    }
    const int width = wcwidth((wchar_t)point);
    return width < 0 ? 1 : (size_t)width;
}

size_t weir_utf8_fit(const char *bytes, size_t size, size_t columns, size_t *used)
{
    size_t width = 0;
    size_t at = 0;
    while (at < size) {
        uint32_t point = 0;
        const size_t length = weir_utf8_decode(bytes + at, size - at, &point);
        const size_t more = point_width(point);
        if (more > columns - width) {
            break;
        }
        width += more;
        at += length;
    }
    if (used != NULL) {
        *used = width;
    }
    return at;
}

size_t weir_utf8_width(const char *bytes, size_t size)
{
    size_t width = 0;
    (void)weir_utf8_fit(bytes, size, SIZE_MAX, &width);
    return width;
}

/* C0, DEL and C1: some terminals obey all of them. */
static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

void weir_text_put_visible(Text *text, const char *bytes, size_t size)
{
    static const char NAMES[] = "abtnvfr"; /* of 7 to 13 */
    size_t done = 0;
    size_t at = 0;
    while (at < size) {
        uint32_t point = 0;
        const size_t length = weir_utf8_decode(bytes + at, size - at, &point);
        const bool is_invalid = point == UTF8_INVALID && length == 1;
        if (is_control(point) || is_invalid) {
            weir_text_append(text, bytes + done, at - done);
            if (point >= 7 && point <= 13) {
                weir_text_printf(text, "\\%c", NAMES[point - 7]);
            } else {
                weir_text_printf(text, "\\x%02X",
                                 is_invalid ? (unsigned)(unsigned char)bytes[at] : point);
            }
            done = at + length;
        }
        at += length;
    }
    weir_text_append(text, bytes + done, size - done);
}
