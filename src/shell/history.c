/* history.c: the file of lines typed. */
#include "shell/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void weir_history_find_path(Text *path)
{
    const char *const state = getenv("XDG_STATE_HOME");
    const char *const home = getenv("HOME");
    if (state != NULL && state[0] == '/') {
        (void)mkdir(state, 0700); /* usually there */
        weir_text_printf(path, "%s/weir_history", state);
    } else if (home != NULL && home[0] == '/') {
        weir_text_printf(path, "%s/.weir_history", home);
    }
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return true;
}

/* Only its owner reads what was typed. */
static void write_file(const char *path, int flags, const char *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    if (fd >= 0) {
        const bool is_written = write_all(fd, bytes, size);
        (void)is_written;
        (void)close(fd);
    }
}

static bool read_file(const char *path, Text *out)
{
    FILE *const file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char buffer[4096];
    size_t size = fread(buffer, 1, sizeof buffer, file);
    while (size > 0) {
        weir_text_append(out, buffer, size);
        size = fread(buffer, 1, sizeof buffer, file);
    }
    (void)fclose(file);
    return out->size > 0;
}

/* The beginning of the last count lines; *line_count is how many there are in all. */
static char *last_lines(Text *text, size_t count, size_t *line_count)
{
    size_t lines = 0;
    char *start = text->data;
    *line_count = 0;
    for (size_t i = text->size; i > 0; i--) {
        if (text->data[i - 1] == '\n') {
            lines++;
            start = lines == count + 1 ? text->data + i : start;
        }
    }
    *line_count = lines;
    return start;
}

void weir_history_load(const char *path, HistoryVisit visit, void *user)
{
    Text text = {0};
    size_t line_count = 0;
    if (read_file(path, &text)) {
        char *line = last_lines(&text, HISTORY_LINES, &line_count);
        if (line_count / 2 > HISTORY_LINES) {
            write_file(path, O_TRUNC, line, text.size - (size_t)(line - text.data));
        }
        while (*line != '\0') {
            char *const end = line + strcspn(line, "\n");
            const bool is_last = *end == '\0';
            *end = '\0';
            if (*line != '\0') {
                visit(user, line);
            }
            line = is_last ? end : end + 1;
        }
    }
    weir_text_deinit(&text);
}

void weir_history_append(const char *path, const char *line)
{
    Text text = {0};
    weir_text_printf(&text, "%s\n", line);
    write_file(path, O_APPEND, text.data, text.size);
    weir_text_deinit(&text);
}
