/* script.h: SQL and dot commands that arrive piece by piece: from a file, a pipe, a terminal.
 *
 * What is complete is run: a dot command with its line, a statement with its semicolon. */
#ifndef WEIR_SHELL_SCRIPT_H
#define WEIR_SHELL_SCRIPT_H

#include "shell/shell.h"

typedef struct Script {
    const char *file; /* borrowed; named in messages; NULL = none */
    Text pending;     /* not yet run */
    size_t line;      /* of the first byte of pending; 1 is the first one */
    bool is_begun;    /* the place where a byte order mark may be has been passed */
} Script;

void weir_script_init(Script *script, const char *file);
void weir_script_deinit(Script *script);

/* Appends text. False after telling that it is not text (it has NUL bytes): nothing of what was
 * pending is run then. */
bool weir_script_add(Script *script, Shell *shell, const char *bytes, size_t size);

/* Runs what is complete; everything, if nothing more comes. */
void weir_script_run(Script *script, Shell *shell, bool is_whole);

/* Forgets what is pending. */
void weir_script_clear(Script *script);

/* True if a statement has begun. */
bool weir_script_is_pending(const Script *script);

#endif
