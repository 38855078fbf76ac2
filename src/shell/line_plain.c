/* line_plain.c: lines as the terminal gives them, where there is no libedit. */
#include "shell/line.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell/signals.h"

struct LineReader {
    Text input; /* read, not yet given out */
    Text line;
};

LineReader *weir_line_open(Shell *shell)
{
    (void)shell;
    return weir_shell_alloc(sizeof(LineReader));
}

void weir_line_close(LineReader *reader)
{
    if (reader != NULL) {
        weir_text_deinit(&reader->input);
        weir_text_deinit(&reader->line);
        free(reader);
    }
}

void weir_line_remember(LineReader *reader, const char *line)
{
    (void)reader;
    (void)line;
}

/* Waits for input or an event; LINE_READ if there is more input. */
static LineStatus read_more(LineReader *reader)
{
    char buffer[4096];
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = weir_signals_fd(), .events = POLLIN}};
    while (poll(fds, 2, -1) < 0) {
        if (errno != EINTR) {
            return LINE_END;
        }
    }
    if (fds[1].revents != 0) {
        const ssize_t size = read(weir_signals_fd(), buffer, 1);
        return size == 1 && buffer[0] == EVENT_INTERRUPT ? LINE_CANCELLED : LINE_READ;
    }
    const ssize_t size = read(STDIN_FILENO, buffer, sizeof buffer);
    if (size <= 0) {
        return LINE_END;
    }
    weir_text_append(&reader->input, buffer, (size_t)size);
    return LINE_READ;
}

LineStatus weir_line_read(LineReader *reader, const char *prompt, const char **line)
{
    (void)fputs(prompt, stdout);
    (void)fflush(stdout);
    const char *end = NULL;
    while (end == NULL) {
        end = reader->input.size == 0 ? NULL : memchr(reader->input.data, '\n', reader->input.size);
        const LineStatus status = end == NULL ? read_more(reader) : LINE_READ;
        if (status != LINE_READ) {
            weir_text_clear(&reader->input);
            (void)putchar('\n');
            return status;
        }
    }
    const size_t size = (size_t)(end - reader->input.data);
    weir_text_clear(&reader->line);
    weir_text_append(&reader->line, reader->input.data, size);
    weir_text_drop(&reader->input, size + 1);
    *line = weir_text_string(&reader->line);
    return LINE_READ;
}
