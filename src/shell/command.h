/* command.h: dot commands that need more than a line. */
#ifndef WEIR_SHELL_COMMAND_H
#define WEIR_SHELL_COMMAND_H

#include "shell/shell.h"

/* What the commands print of the database. pattern: of LIKE; NULL = everything. */
void weir_command_tables(Shell *shell, const char *pattern, Place place);
void weir_command_views(Shell *shell, const char *pattern, Place place);
void weir_command_schema(Shell *shell, const char *pattern, Place place);

/* The name of the command at a place of the list, with its dot; NULL if this database has no use for
 * it. */
size_t weir_command_count(void);
const char *weir_command_name(const Shell *shell, size_t index);

#endif
