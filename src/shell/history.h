/* history.h: the file of lines typed: a line a line, the newest last. */
#ifndef WEIR_SHELL_HISTORY_H
#define WEIR_SHELL_HISTORY_H

#include "shell/text.h"

enum { HISTORY_LINES = 1000 }; /* that are kept */

typedef void (*HistoryVisit)(void *user, const char *line);

/* Where it is: $XDG_STATE_HOME/weir_history, or ~/.weir_history. Empty if there is no such place. */
void weir_history_find_path(Text *path);

/* Calls visit for the newest lines, oldest first. A file that has grown too long is shortened. */
void weir_history_load(const char *path, HistoryVisit visit, void *user);

/* Appends a line. Several shells may do so at once. A failure is nobody's concern. */
void weir_history_append(const char *path, const char *line);

#endif
