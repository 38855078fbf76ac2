/* script.c: finding out what is complete, and running it. */
#include "shell/script.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16, READ_DEPTH = 16 };

void weir_script_init(Script *script, const char *file)
{
    *script = (Script){.file = file, .line = 1};
}

void weir_script_deinit(Script *script)
{
    weir_text_deinit(&script->pending);
}

void weir_script_clear(Script *script)
{
    weir_text_clear(&script->pending);
}

bool weir_script_is_pending(const Script *script)
{
    return script->pending.size > 0;
}

static size_t count_lines(const char *from, const char *to)
{
    size_t count = 0;
    for (const char *c = from; c < to; c++) {
        count += *c == '\n';
    }
    return count;
}

bool weir_script_add(Script *script, Shell *shell, const char *bytes, size_t size)
{
    const char *const nul = memchr(bytes, '\0', size);
    if (nul == NULL) {
        weir_text_append(&script->pending, bytes, size);
        return true;
    }
    /* Cutting a statement off at the NUL could make another one of it: DELETE without its WHERE. */
    const char *const pending = weir_text_string(&script->pending);
    const size_t line = script->line + count_lines(pending, pending + script->pending.size) +
                        count_lines(bytes, nul);
    weir_shell_fail_text(shell, (Place){script->file, line},
                         "the input is not text: it has a NUL byte");
    weir_script_clear(script);
    return false;
}

/* ---- what is complete ----------------------------------------------------------------------- */

/* Runs the dot command at c. NULL if its line is not complete. */
static const char *run_command(Shell *shell, const char *c, Place place, bool is_whole)
{
    const size_t size = strcspn(c, "\n");
    if (c[size] == '\0' && !is_whole) {
        return NULL;
    }
    Text line = {0};
    weir_text_append(&line, c, size);
    while (line.size > 0 && isspace((unsigned char)line.data[line.size - 1])) {
        line.data[--line.size] = '\0';
    }
    weir_shell_command(shell, line.data, place);
    weir_text_deinit(&line);
    return c + size + (c[size] == '\n');
}

/* Runs what comes first in text. NULL if it is not complete. */
static const char *run_first(Shell *shell, const char *text, Place place, bool is_whole)
{
    if (*text == '.') {
        return run_command(shell, text, place, is_whole);
    }
    return is_whole || shell->session.type->is_complete(text) ? weir_shell_run(shell, text, place)
                                                              : NULL;
}

static void skip_byte_order_mark(Script *script)
{
    static const char MARK[] = "\xEF\xBB\xBF";
    if (script->pending.size >= 3 && memcmp(script->pending.data, MARK, 3) == 0) {
        weir_text_drop(&script->pending, 3);
    }
    script->is_begun = true;
}

void weir_script_run(Script *script, Shell *shell, bool is_whole)
{
    if (!script->is_begun && (is_whole || script->pending.size >= 3)) {
        skip_byte_order_mark(script);
    }
    const char *const text = weir_text_string(&script->pending);
    const char *at = text;
    while (!weir_shell_is_stopped(shell)) {
        const char *const start = shell->session.type->next_statement(at);
        if (start == NULL) {
            at = is_whole ? text + script->pending.size : at;
            break;
        }
        script->line += count_lines(at, start);
        at = start;
        if (*at == '\0') {
            break;
        }
        const char *const end = run_first(shell, at, (Place){script->file, script->line}, is_whole);
        if (end == NULL) {
            break;
        }
        script->line += count_lines(at, end);
        at = end;
    }
    weir_text_drop(&script->pending, (size_t)(at - text));
}

/* ---- whole inputs --------------------------------------------------------------------------- */

void weir_shell_run_text(Shell *shell, const char *text)
{
    Script script;
    weir_script_init(&script, NULL);
    if (weir_script_add(&script, shell, text, strlen(text))) {
        weir_script_run(&script, shell, true);
    }
    weir_script_deinit(&script);
}

static bool has_more_now(int fd)
{
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    return poll(&poller, 1, 0) == 1;
}

/* Reads what is there, at least one byte, and as much again as is pending if it comes at once: a
 * long statement is not looked at again for every piece of it. 0 at the end, -1 on failure. */
static ssize_t read_some(int fd, size_t pending, Text *out)
{
    static char buffer[READ_BYTES];
    weir_text_clear(out);
    do {
        const ssize_t size = read(fd, buffer, sizeof buffer);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            return out->size > 0 ? (ssize_t)out->size : size;
        }
        weir_text_append(out, buffer, (size_t)size);
    } while (out->size == 0 || (out->size < pending && has_more_now(fd)));
    return (ssize_t)out->size;
}

void weir_shell_run_fd(Shell *shell, int fd, const char *name, Place place)
{
    Script script;
    Text piece = {0};
    ssize_t size = 0;
    weir_script_init(&script, name);
    while (!weir_shell_is_stopped(shell)) {
        size = read_some(fd, script.pending.size, &piece);
        if (size <= 0 || !weir_script_add(&script, shell, piece.data, piece.size)) {
            break;
        }
        weir_script_run(&script, shell, false);
    }
    if (size < 0) {
        weir_shell_fail_text(shell, place, "cannot read %s: %s", name, strerror(errno));
    } else if (!weir_shell_is_stopped(shell)) {
        weir_script_run(&script, shell, true);
    }
    weir_text_deinit(&piece);
    weir_script_deinit(&script);
}

void weir_shell_run_file(Shell *shell, const char *path, Place place)
{
    if (strcmp(path, "-") == 0) {
        weir_shell_run_fd(shell, STDIN_FILENO, "standard input", place);
        return;
    }
    if (shell->read_depth == READ_DEPTH) {
        weir_shell_fail_text(shell, place, "files read each other %d deep", READ_DEPTH);
        return;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        weir_shell_fail_text(shell, place, "cannot read %s: %s", path, strerror(errno));
        return;
    }
    shell->read_depth++;
    weir_shell_run_fd(shell, fd, path, place);
    shell->read_depth--;
    (void)close(fd);
}
