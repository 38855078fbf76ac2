/* text.c: see text.h. */
#include "text.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The one place of the test programs that talks to the allocator. */
void *test_realloc(void *memory, size_t size)
{
    void *result = realloc(memory, size == 0 ? 1 : size);
    if (result == NULL) {
        (void)fprintf(stderr, "out of memory: %zu bytes\n", size);
        exit(70);
    }
    return result;
}

void *test_alloc(size_t size)
{
    void *result = test_realloc(NULL, size);
    memset(result, 0, size);
    return result;
}

char *test_copy_len(const char *string, size_t len)
{
    char *copy = test_alloc(len + 1);
    memcpy(copy, string, len);
    return copy;
}

char *test_copy(const char *string)
{
    return test_copy_len(string, strlen(string));
}

void test_free(void *memory)
{
    free(memory);
}

void *test_grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return items;
    }
    *capacity = *capacity == 0 ? 8 : *capacity * 2;
    return test_realloc(items, *capacity * size);
}

void text_add_len(Text *text, const char *string, size_t len)
{
    if (text->len + len + 1 > text->capacity) {
        text->capacity = (text->len + len + 1) * 2;
        text->data = test_realloc(text->data, text->capacity);
    }
    memcpy(text->data + text->len, string, len);
    text->len += len;
    text->data[text->len] = '\0';
}

void text_add(Text *text, const char *string)
{
    text_add_len(text, string, strlen(string));
}

void text_add_char(Text *text, char c)
{
    text_add_len(text, &c, 1);
}

__attribute__((format(printf, 2, 0))) static void text_add_va(Text *text, const char *format,
                                                              va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    const int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (len < 0) {
        return;
    }
    char *buffer = test_alloc((size_t)len + 1);
    (void)vsnprintf(buffer, (size_t)len + 1, format, arguments);
    text_add_len(text, buffer, (size_t)len);
    test_free(buffer);
}

void text_addf(Text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_add_va(text, format, arguments);
    va_end(arguments);
}

char *text_format(const char *format, ...)
{
    Text text = {0};
    va_list arguments;
    va_start(arguments, format);
    text_add_va(&text, format, arguments);
    va_end(arguments);
    return text_take(&text);
}

static void text_add_quoted(Text *text, const char *string, char quote)
{
    text_add_char(text, quote);
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == quote) {
            text_add_char(text, quote);
        }
        text_add_char(text, *c);
    }
    text_add_char(text, quote);
}

void text_add_literal(Text *text, const char *string)
{
    text_add_quoted(text, string, '\'');
}

void text_add_identifier(Text *text, const char *string)
{
    text_add_quoted(text, string, '"');
}

void text_clear(Text *text)
{
    text->len = 0;
    if (text->data != NULL) {
        text->data[0] = '\0';
    }
}

void text_free(Text *text)
{
    test_free(text->data);
    *text = (Text){0};
}

const char *text_get(const Text *text)
{
    return text->data == NULL ? "" : text->data;
}

char *text_take(Text *text)
{
    char *result = text->data == NULL ? test_copy("") : text->data;
    *text = (Text){0};
    return result;
}

void text_list_add_len(TextList *list, const char *string, size_t len)
{
    list->items = test_grow(list->items, list->count, &list->capacity, sizeof *list->items);
    list->items[list->count] = test_copy_len(string, len);
    list->count++;
}

void text_list_add(TextList *list, const char *string)
{
    text_list_add_len(list, string, strlen(string));
}

bool text_list_has(const TextList *list, const char *string)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], string) == 0) {
            return true;
        }
    }
    return false;
}

static int text_list_compare(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
}

void text_list_sort(TextList *list)
{
    if (list->count > 1) {
        qsort(list->items, list->count, sizeof *list->items, text_list_compare);
    }
}

void text_list_free(TextList *list)
{
    for (size_t i = 0; i < list->count; i++) {
        test_free(list->items[i]);
    }
    test_free(list->items);
    *list = (TextList){0};
}

bool text_read_file(Text *text, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    char buffer[4096];
    size_t len = fread(buffer, 1, sizeof buffer, file);
    while (len > 0) {
        text_add_len(text, buffer, len);
        len = fread(buffer, 1, sizeof buffer, file);
    }
    const bool is_good = ferror(file) == 0;
    return fclose(file) == 0 && is_good;
}

bool text_write_file(const char *path, const char *content)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return false;
    }
    const size_t len = strlen(content);
    const bool is_good = fwrite(content, 1, len, file) == len;
    return fclose(file) == 0 && is_good;
}

static bool ends_with(const char *name, const char *ending)
{
    const size_t len = strlen(name);
    const size_t ending_len = strlen(ending);
    return len >= ending_len && strcmp(name + len - ending_len, ending) == 0;
}

void text_list_add_files(TextList *list, const char *path, const char *ending)
{
    struct dirent **entries = NULL;
    const int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) {
        text_list_add(list, path);
        return;
    }
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char *inner = text_format("%s/%s", path, name);
        struct stat status;
        const bool is_folder = stat(inner, &status) == 0 && S_ISDIR(status.st_mode);
        if (is_folder && name[0] != '.') {
            text_list_add_files(list, inner, ending);
        } else if (!is_folder && ends_with(name, ending)) {
            text_list_add(list, inner);
        }
        test_free(inner);
        test_free(entries[i]);
    }
    test_free(entries);
}
