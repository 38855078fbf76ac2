/* text.h: growable strings and lists of strings, for test programs.
 *
 * Memory that cannot be had ends the program: a test has no caller to report to. */
#ifndef WEIR_TESTS_HARNESS_TEXT_H
#define WEIR_TESTS_HARNESS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A string that grows; `= {0}` is the empty one. `data` is NULL until something was added. */
typedef struct Text {
    char *data; /* owned, NUL-terminated */
    size_t len;
    size_t capacity;
} Text;

/* A list of strings; `= {0}` is the empty one. */
typedef struct TextList {
    char **items; /* owned, each owned */
    size_t count;
    size_t capacity;
} TextList;

/* Allocation that ends the program when it fails. */
void *test_alloc(size_t size);
void *test_realloc(void *memory, size_t size);
char *test_copy(const char *string);
char *test_copy_len(const char *string, size_t len);
void test_free(void *memory);

/* Makes room for one more item in an array of `count` items of `size` bytes. */
void *test_grow(void *items, size_t count, size_t *capacity, size_t size);

void text_add(Text *text, const char *string);
void text_add_len(Text *text, const char *string, size_t len);
void text_add_char(Text *text, char c);
void text_addf(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds `string` as an SQL string literal, quotes included. */
void text_add_literal(Text *text, const char *string);
/* Adds `string` as a quoted SQL identifier. */
void text_add_identifier(Text *text, const char *string);
void text_clear(Text *text);
void text_free(Text *text);
/* The content, never NULL; borrowed. */
const char *text_get(const Text *text);
/* Moves the content out; the caller owns it. */
char *text_take(Text *text);
/* A new string made by a format; the caller owns it. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

void text_list_add(TextList *list, const char *string);
void text_list_add_len(TextList *list, const char *string, size_t len);
bool text_list_has(const TextList *list, const char *string);
void text_list_sort(TextList *list);
void text_list_free(TextList *list);

/* Reads a whole file; false if that fails. */
bool text_read_file(Text *text, const char *path);
/* Writes a whole file; false if that fails. */
bool text_write_file(const char *path, const char *content);

/* Adds the files below a folder whose names end so, in alphabetical order; a path that is no folder is
 * added as it is. */
void text_list_add_files(TextList *list, const char *path, const char *ending);

#endif
