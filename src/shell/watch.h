/* watch.h: the changes of views, printed as they happen: .watch, -watch and weir watch. */
#ifndef WEIR_SHELL_WATCH_H
#define WEIR_SHELL_WATCH_H

#include "shell/shell.h"

/* Watches a view after a generation, or WEIR_SINCE_.... One that is watched already begins anew. Tells
 * why it cannot. */
void weir_watch_add(Shell *shell, const char *view, int64_t since, Place place);

/* Ends watching a view, or all of them (NULL). */
void weir_watch_remove(Shell *shell, const char *view, Place place);

/* Prints the names of the views that are watched. */
void weir_watch_list(Shell *shell);

/* Prints what has changed since the last time. */
void weir_watch_print(Shell *shell, Place place);

#endif
