/* output.c: standard output or a file, and what happens when it does not take any more.
 *
 * SIGPIPE is ignored by the program, so that a reader that has gone away is seen here, as EPIPE, and
 * the database is closed in peace. */
#include "shell/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void weir_output_init(Output *output)
{
    *output = (Output){.file = stdout, .is_terminal = isatty(STDOUT_FILENO) == 1};
}

/* Keeps why the output failed; after a failure it takes nothing more. */
static void output_failed(Output *output, int reason)
{
    if (reason == EPIPE) {
        output->is_gone = true;
    } else if (output->failure == 0) {
        output->failure = reason == 0 ? EIO : reason;
    }
}

static bool output_is_dead(const Output *output)
{
    return output->is_gone || output->failure != 0;
}

void weir_output_flush(Output *output)
{
    if (!output_is_dead(output) && fflush(output->file) != 0) {
        output_failed(output, errno);
    }
}

static void output_close(Output *output)
{
    weir_output_flush(output);
    if (output->file != stdout && fclose(output->file) != 0) {
        output_failed(output, errno);
    }
}

void weir_output_deinit(Output *output)
{
    output_close(output);
    output->file = stdout;
}

bool weir_output_redirect(Output *output, const char *path)
{
    FILE *const file = path == NULL ? stdout : fopen(path, "we");
    if (file == NULL) {
        return false;
    }
    output_close(output);
    output->file = file;
    output->is_terminal = isatty(fileno(file)) == 1;
    return true;
}

void weir_output_write(Output *output, const char *bytes, size_t size)
{
    if (size > 0 && !output_is_dead(output) && fwrite(bytes, 1, size, output->file) != size) {
        output_failed(output, errno);
    }
}

void weir_output_puts(Output *output, const char *string)
{
    weir_output_write(output, string, strlen(string));
}

void weir_output_putc(Output *output, char c)
{
    weir_output_write(output, &c, 1);
}

void weir_output_repeat(Output *output, const char *string, size_t count)
{
    const size_t size = strlen(string);
    for (size_t i = 0; i < count; i++) {
        weir_output_write(output, string, size);
    }
}

void weir_output_printf(Output *output, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!output_is_dead(output) && vfprintf(output->file, format, arguments) < 0) {
        output_failed(output, errno);
    }
    va_end(arguments);
}

size_t weir_output_columns(const Output *output)
{
    struct winsize size = {0};
    if (ioctl(fileno(output->file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char *const columns = getenv("COLUMNS");
    const long count = columns == NULL ? 0 : strtol(columns, NULL, 10);
    return count > 0 && count < 100000 ? (size_t)count : 80;
}
