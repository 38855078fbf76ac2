/* buf.c: a growable byte buffer with a sticky error. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"

enum { BUF_FIRST_CAPACITY = 64 };

void weir_buf_init(Buf *buf, Mem *mem, size_t limit)
{
    WEIR_ASSERT(mem != NULL);
    *buf = (Buf){.mem = mem, .limit = limit};
}

void weir_buf_deinit(Buf *buf)
{
    if (buf->data != NULL) {
        weir_mem_free(buf->mem, buf->data);
    }
    *buf = (Buf){0};
}

void weir_buf_clear(Buf *buf)
{
    buf->size = 0;
    buf->status = WEIR_OK;
    weir_error_clear(&buf->err);
    if (buf->data != NULL) {
        buf->data[0] = '\0';
    }
}

/* Room for `size` more bytes and the NUL; false if the buffer has failed, now or before. */
static bool ensure_room(Buf *buf, size_t size)
{
    if (buf->status != WEIR_OK) {
        return false;
    }
    size_t wanted = 0;
    if (weir_add_size(buf->size, size, &wanted) || wanted > buf->limit || wanted == SIZE_MAX) {
        buf->status =
            weir_error_set(&buf->err, WEIR_ERR_LIMIT,
                           "a text of more than %zu bytes is not allowed here", buf->limit);
        return false;
    }
    if (buf->data != NULL && wanted + 1 <= buf->capacity) {
        return true;
    }
    size_t capacity = WEIR_MAX(buf->capacity, (size_t)BUF_FIRST_CAPACITY);
    while (capacity < wanted + 1) {
        capacity = capacity > SIZE_MAX / 2 ? wanted + 1 : capacity * 2;
    }
    char *data = weir_mem_realloc(buf->mem, buf->data, capacity, &buf->err);
    if (data == NULL) {
        buf->status = buf->err.code;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void weir_buf_append(Buf *buf, const void *bytes, size_t size)
{
    if (!ensure_room(buf, size)) {
        return;
    }
    if (size > 0) {
        memcpy(buf->data + buf->size, bytes, size);
    }
    buf->size += size;
    buf->data[buf->size] = '\0';
}

void weir_buf_puts(Buf *buf, const char *text)
{
    weir_buf_append(buf, text, strlen(text));
}

void weir_buf_putc(Buf *buf, char c)
{
    weir_buf_append(buf, &c, 1);
}

void weir_buf_printf(Buf *buf, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        if (buf->status == WEIR_OK) {
            buf->status =
                weir_error_set(&buf->err, WEIR_ERR_INTERNAL, "cannot format \"%s\"", format);
        }
    } else if (ensure_room(buf, (size_t)length)) {
        const int written = vsnprintf(buf->data + buf->size, (size_t)length + 1, format, again);
        WEIR_ASSERT(written == length);
        WEIR_UNUSED(written);
        buf->size += (size_t)length;
    }
    va_end(again);
}

/* Appends text between two quotes, each quote inside doubled. */
static void put_quoted(Buf *buf, const char *text, size_t size, char quote)
{
    weir_buf_putc(buf, quote);
    size_t begin = 0;
    while (begin < size) {
        const char *next = memchr(text + begin, quote, size - begin);
        const size_t end = next == NULL ? size : (size_t)(next - text) + 1;
        weir_buf_append(buf, text + begin, end - begin);
        if (next != NULL) {
            weir_buf_putc(buf, quote);
        }
        begin = end;
    }
    weir_buf_putc(buf, quote);
}

void weir_buf_put_sql_string(Buf *buf, const char *text, size_t size)
{
    const bool has_nul = size > 0 && memchr(text, '\0', size) != NULL;
    if (!has_nul) {
        put_quoted(buf, text, size, '\'');
        return;
    }
    weir_buf_putc(buf, '(');
    size_t begin = 0;
    for (;;) {
        const char *nul = memchr(text + begin, '\0', size - begin);
        const size_t end = nul == NULL ? size : (size_t)(nul - text);
        put_quoted(buf, text + begin, end - begin, '\'');
        if (nul == NULL) {
            break;
        }
        weir_buf_puts(buf, " || chr(0) || ");
        begin = end + 1;
    }
    weir_buf_putc(buf, ')');
}

void weir_buf_put_sql_name(Buf *buf, const char *name)
{
    put_quoted(buf, name, strlen(name), '"');
}

void weir_buf_fail(Buf *buf, const Error *reason)
{
    WEIR_ASSERT(reason->code != WEIR_OK);
    if (buf->status == WEIR_OK) {
        buf->status = reason->code;
        buf->err = *reason;
    }
}

Status weir_buf_status(const Buf *buf, Error *err)
{
    if (buf->status != WEIR_OK) {
        *err = buf->err;
    }
    return buf->status;
}

char *weir_buf_take(Buf *buf, Error *err)
{
    weir_buf_append(buf, "", 0); /* an empty text is a text, too */
    if (weir_buf_status(buf, err) != WEIR_OK) {
        return NULL;
    }
    char *data = buf->data;
    buf->data = NULL;
    buf->size = 0;
    buf->capacity = 0;
    WEIR_ASSERT(data != NULL);
    return data;
}
