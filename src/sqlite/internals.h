/* internals.h: SQLite itself, for the files of this folder.
 *
 * All functions of the amalgamation that are not its public interface are static. So the hooks are
 * compiled with it, as one unit (cmake/sqlite.cmake). A single file of this folder also compiles alone,
 * which is how the linters read it. */
#ifndef WEIR_SQLITE_INTERNALS_H
#define WEIR_SQLITE_INTERNALS_H

#include <stdbool.h>

#include <sqlite3.inc>

#ifndef SQLITE_ENABLE_PREUPDATE_HOOK
#error "change capture needs SQLITE_ENABLE_PREUPDATE_HOOK: without it SQLite leaves out row events"
#endif

#endif
