/* view_list.h: definitions of views as a JSON text.
 *
 *   {"format": "weir views", "version": 1, "views": [
 *     {"database": "other", "schema": "main", "name": "v", "sql": "SELECT ...",
 *      "settings": {"search_path": "s", "time_zone": "UTC", "calendar": "gregorian"},
 *      "columns": [{"name": "a", "type": "INTEGER"}]}]}
 *
 * Views stand before those that read them. "database" is left out if it is the one that a session begins
 * in, so that the list fits a database of another name; settings that were not given are left out too.
 * Columns are for whoever reads the text: they follow from the rest. Fields that are not known are
 * passed over. */
#ifndef WEIR_DUCKDB_VIEW_LIST_H
#define WEIR_DUCKDB_VIEW_LIST_H

#include "view/engine.h"

enum { VIEW_LIST_MAX_BYTES = 16 << 20, VIEW_LIST_MAX_VIEWS = 10000 };

Status weir_view_list_write(const ViewDefinition *views, size_t count, const char *home_database,
                            Buf *out, Error *err) WEIR_MUST_CHECK;

/* The views as create_all takes them, in the arena. Whatever is wrong with the text: WEIR_ERR_ARGUMENT, or
 * WEIR_ERR_LIMIT if there is too much of it. */
Status weir_view_list_read(const char *text, size_t size, Arena *arena, CreateSpec **out,
                           size_t *count, Error *err) WEIR_MUST_CHECK;

#endif
