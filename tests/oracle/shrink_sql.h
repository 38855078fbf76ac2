/* shrink_sql.h: shorter versions of an SQL text, most of them not SQL: whoever tries them finds
 * out. */
#ifndef WEIR_TESTS_ORACLE_SHRINK_SQL_H
#define WEIR_TESTS_ORACLE_SHRINK_SQL_H

#include "text.h"

/* Adds versions of the text with one part left out or replaced, the shortest first. */
void shrink_sql(const char *sql, TextList *candidates);

#endif
