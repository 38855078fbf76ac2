/* error.c: filling, wrapping and printing of errors.
 *
 * Texts are formatted into a local buffer first, so that arguments may point into the error that is
 * being filled. A text that does not fit is cut before the character that would be torn. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>

/* Ends text after its last whole UTF-8 character. `size` is the size of the full buffer. */
static void cut_torn_character(char *text, size_t size)
{
    size_t end = size - 1;
    size_t start = end;
    while (start > 0 && end - start < 4 && ((unsigned char)text[start - 1] & 0xC0u) == 0x80u) {
        start--;
    }
    if (start == 0) {
        return;
    }
    const unsigned char lead = (unsigned char)text[start - 1];
    size_t wanted = 1;
    if (lead >= 0xF0u) {
        wanted = 4;
    } else if (lead >= 0xE0u) {
        wanted = 3;
    } else if (lead >= 0xC0u) {
        wanted = 2;
    }
    if (end - (start - 1) < wanted) {
        text[start - 1] = '\0';
    }
}

static void format_cut(char *out, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static void format_cut(char *out, size_t size, const char *format, va_list arguments)
{
    const int length = vsnprintf(out, size, format, arguments);
    if (length < 0) {
        out[0] = '\0';
    } else if ((size_t)length >= size) {
        cut_torn_character(out, size);
    }
}

/* As format_cut; a wrapper that gives snprintf the same cut. */
static void print_cut(char *out, size_t size, const char *format, ...) WEIR_PRINTF(3, 4);

static void print_cut(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    format_cut(out, size, format, arguments);
    va_end(arguments);
}

Status weir_error_set(Error *err, Status code, const char *format, ...)
{
    WEIR_ASSERT(err != NULL);
    WEIR_ASSERT(code != WEIR_OK);
    char text[sizeof err->message];
    va_list arguments;
    va_start(arguments, format);
    format_cut(text, sizeof text, format, arguments);
    va_end(arguments);
    err->code = code;
    memcpy(err->message, text, strlen(text) + 1);
    err->hint[0] = '\0';
    return code;
}

void weir_error_hint(Error *err, const char *format, ...)
{
    WEIR_ASSERT(err != NULL);
    char text[sizeof err->hint];
    va_list arguments;
    va_start(arguments, format);
    format_cut(text, sizeof text, format, arguments);
    va_end(arguments);
    memcpy(err->hint, text, strlen(text) + 1);
}

Status weir_error_wrap(Error *err, const char *format, ...)
{
    WEIR_ASSERT(err != NULL);
    char context[sizeof err->message];
    va_list arguments;
    va_start(arguments, format);
    format_cut(context, sizeof context, format, arguments);
    va_end(arguments);
    char text[sizeof err->message];
    print_cut(text, sizeof text, "%s: %s", context, err->message);
    memcpy(err->message, text, strlen(text) + 1);
    return err->code;
}

void weir_error_format(const Error *err, char *out, size_t size)
{
    WEIR_ASSERT(err != NULL);
    WEIR_ASSERT(out != NULL && size > 0);
    if (err->hint[0] != '\0') {
        print_cut(out, size, "DBSP-E%03d: %s (hint: %s)", err->code, err->message, err->hint);
    } else {
        print_cut(out, size, "DBSP-E%03d: %s", err->code, err->message);
    }
}

void weir_error_clear(Error *err)
{
    WEIR_ASSERT(err != NULL);
    err->code = WEIR_OK;
    err->message[0] = '\0';
    err->hint[0] = '\0';
}

typedef struct ErrorRow {
    Status code;
    const char *summary;
} ErrorRow;

static const ErrorRow ERROR_ROWS[] = {
#define X(name, number, text) {.code = (number), .summary = (text)},
#include "weir/errors.def"
#undef X
};

const char *weir_error_summary(Status code)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ERROR_ROWS); i++) {
        if (ERROR_ROWS[i].code == code) {
            return ERROR_ROWS[i].summary;
        }
    }
    return NULL;
}
