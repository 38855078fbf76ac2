/* output.h: where results go: standard output, or the file of .output. */
#ifndef WEIR_SHELL_OUTPUT_H
#define WEIR_SHELL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct Output {
    FILE *file;       /* stdout, or owned */
    bool is_terminal; /* results are fitted to its size */
    bool is_gone;     /* nobody reads any more (a broken pipe): everything is dropped */
    int failure;      /* errno of the first other failure; 0 = none */
} Output;

void weir_output_init(Output *output);
void weir_output_deinit(Output *output); /* flushes, and closes the file of .output */

/* Sends what follows to a file (truncated), or back to standard output (NULL). False, and errno
 * set, if the file cannot be opened: nothing changes then. */
bool weir_output_redirect(Output *output, const char *path);

void weir_output_write(Output *output, const char *bytes, size_t size);
void weir_output_puts(Output *output, const char *string);
void weir_output_putc(Output *output, char c);
void weir_output_repeat(Output *output, const char *string, size_t count);
void weir_output_printf(Output *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void weir_output_flush(Output *output);

/* Columns of the terminal. */
size_t weir_output_columns(const Output *output);

#endif
