/* text.h: growing byte strings, UTF-8, and the columns that text takes on a terminal.
 *
 * Memory that cannot be had ends the program: a shell has nobody to tell, and a DuckDB database
 * survives it. */
#ifndef WEIR_SHELL_TEXT_H
#define WEIR_SHELL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {0} is the empty text. data is NUL-terminated as soon as there is any. */
typedef struct Text {
    char *data; /* owned */
    size_t size;
    size_t capacity;
} Text;

void *weir_shell_alloc(size_t size);
/* There is no memory: says so and ends the shell. */
void weir_shell_no_memory(void);
void *weir_shell_realloc(void *memory, size_t size);

void weir_text_deinit(Text *text);
void weir_text_clear(Text *text);
void weir_text_append(Text *text, const char *bytes, size_t size);
void weir_text_puts(Text *text, const char *string);
void weir_text_putc(Text *text, char c);
void weir_text_printf(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Removes the first size bytes. */
void weir_text_drop(Text *text, size_t size);

/* As a C string; "" if there is nothing. */
const char *weir_text_string(const Text *text);

/* string as an SQL literal: 'it''s'. */
void weir_text_put_literal(Text *text, const char *string);

/* The bytes of the character at bytes (size > 0) and its code point; a byte that is not part of
 * valid UTF-8 is a character of its own, UTF8_INVALID. */
enum { UTF8_INVALID = 0xFFFD };
size_t weir_utf8_decode(const char *bytes, size_t size, uint32_t *out);

/* Columns on a terminal. */
size_t weir_utf8_width(const char *bytes, size_t size);

/* The size of the longest beginning that takes at most that many columns; *used (may be NULL)
 * receives how many it takes. */
size_t weir_utf8_fit(const char *bytes, size_t size, size_t columns, size_t *used);

/* Appends the bytes so that they stay on one line and cannot steer a terminal: control characters
 * become \n, \t, ..., \x1F. */
void weir_text_put_visible(Text *text, const char *bytes, size_t size);

#endif
