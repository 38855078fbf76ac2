/* relations.h: what a database holds, as SQL. */
#ifndef WEIR_SHELL_RELATIONS_H
#define WEIR_SHELL_RELATIONS_H

#include "shell/text.h"

/* Appends a subquery for FROM, with the columns
 *   name   with its schema, if that is not the current one
 *   kind   1 table, 2 view, 3 materialized view, 4 index
 *   place  within the kind; what a view reads comes before it
 *   sql    which makes it again, without a semicolon */
void weir_relations_put(Text *sql);

/* Appends the name of a materialized view of dbsp_views(), with its schema if need be, and its
 * definition without blanks around it. */
void weir_relations_put_view_name(Text *sql);
void weir_relations_put_view_sql(Text *sql);

#endif
