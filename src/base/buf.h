/* buf.h: a growable byte buffer with a sticky error.
 *
 * Append freely and check once at the end: after the first failure every append does nothing.
 * `data` is always NUL-terminated after a successful append. */
#ifndef WEIR_BASE_BUF_H
#define WEIR_BASE_BUF_H

#include "base/mem.h"

typedef struct Buf {
    Mem *mem;        /* borrowed */
    char *data;      /* owned; NULL while empty */
    size_t size;     /* bytes in use, without the NUL */
    size_t capacity; /* bytes allocated */
    size_t limit;    /* the largest size allowed */
    Status status;   /* sticky */
    Error err;       /* of the first failure */
} Buf;

void weir_buf_init(Buf *buf, Mem *mem, size_t limit);
void weir_buf_deinit(Buf *buf);
void weir_buf_clear(Buf *buf); /* empties it and forgets the error; keeps the memory */
void weir_buf_append(Buf *buf, const void *bytes, size_t size);
void weir_buf_puts(Buf *buf, const char *text);
void weir_buf_putc(Buf *buf, char c);
void weir_buf_printf(Buf *buf, const char *format, ...) WEIR_PRINTF(2, 3);

/* SQL spellings: 'it''s' (NUL bytes become || chr(0) ||, all inside parentheses) and "na""me". */
void weir_buf_put_sql_string(Buf *buf, const char *text, size_t size);
void weir_buf_put_sql_name(Buf *buf, const char *name);

/* Makes the buffer fail as if an append had: for text that could not be made. */
void weir_buf_fail(Buf *buf, const Error *reason);

/* WEIR_OK, or the first failure copied to err. */
Status weir_buf_status(const Buf *buf, Error *err) WEIR_MUST_CHECK;

/* The bytes, owned by the caller from now on (weir_mem_free); the buffer is empty after. NULL with
 * err filled if an append failed. */
char *weir_buf_take(Buf *buf, Error *err) WEIR_MUST_CHECK;

#endif
