/* type_name.h: types as DuckDB's shell heads its columns with: int32, varchar, int64[]. */
#ifndef WEIR_SHELL_TYPE_NAME_H
#define WEIR_SHELL_TYPE_NAME_H

#include "shell/text.h"

/* type: as SQL spells it. */
void weir_type_name_append(Text *text, const char *type);

#endif
