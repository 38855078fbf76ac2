/* logic_verify.h: compares all live views of a database with their definitions, as often as asked. */
#ifndef WEIR_TESTS_SQL_LOGIC_VERIFY_H
#define WEIR_TESTS_SQL_LOGIC_VERIFY_H

#include "verify.h"

enum { LOGIC_VIEWS_MAX = 64, LOGIC_COLUMNS_MAX = 64 };

/* What is remembered of a view from one comparison to the next. */
typedef struct KnownView {
    char *name; /* owned */
    char *sql;  /* owned; another definition is another view */
    Feed feed;
} KnownView;

typedef struct LogicVerifier {
    KnownView views[LOGIC_VIEWS_MAX];
    size_t view_count;
    TextList near; /* "VIEW COLUMN" */
} LogicVerifier;

/* Compares every view that dbsp_views() shows; false and a report if one differs. */
bool logic_verify(LogicVerifier *verifier, duckdb_connection connection, Text *report);
/* Forgets what was read of the views (the database has been closed). */
void logic_verify_reset(LogicVerifier *verifier);
void logic_verify_free(LogicVerifier *verifier);

#endif
