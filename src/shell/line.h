/* line.h: reading lines from a terminal, with editing, history and completion.
 *
 * line_edit.c does it with libedit; line_plain.c, where there is none, just reads. */
#ifndef WEIR_SHELL_LINE_H
#define WEIR_SHELL_LINE_H

#include "shell/shell.h"

typedef struct LineReader LineReader;

typedef enum LineStatus {
    LINE_READ,
    LINE_CANCELLED, /* Ctrl-C */
    LINE_END,       /* Ctrl-D on an empty line, or the terminal is gone */
} LineStatus;

LineReader *weir_line_open(Shell *shell);
void weir_line_close(LineReader *reader); /* NULL is allowed */

/* *line, without its newline, is borrowed until the next call. */
LineStatus weir_line_read(LineReader *reader, const char *prompt, const char **line);

/* Keeps a line for the arrow keys, and in the history file. */
void weir_line_remember(LineReader *reader, const char *line);

#endif
