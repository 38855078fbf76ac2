/* sqlite_weir.c: SQLite and the capture hooks as one compilation unit (internals.h says why). */
#include "sqlite/internals.h"

#include "sqlite/hook_commit.c"
#include "sqlite/hook_functions.c"
#include "sqlite/hook_gate.c"
#include "sqlite/hook_image.c"
#include "sqlite/hook_log.c"
#include "sqlite/hook_pragma.c"
#include "sqlite/hook_row.c"
#include "sqlite/hook_schema.c"
#include "sqlite/hook_setup.c"
#include "sqlite/hook_state.c"
#include "sqlite/record.c"
