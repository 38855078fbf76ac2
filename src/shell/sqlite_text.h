/* sqlite_text.h: where statements of SQLite's language begin and end. */
#ifndef WEIR_SHELL_SQLITE_TEXT_H
#define WEIR_SHELL_SQLITE_TEXT_H

#include <stdbool.h>

/* As weir_next_statement: behind blanks, comments and lone semicolons; NULL if a comment is open. */
const char *weir_sqlite_next_statement(const char *sql);

/* Behind the semicolon that ends the first statement; NULL if there is none yet. */
const char *weir_sqlite_statement_end(const char *sql);

/* True if sql holds at least one complete statement. */
bool weir_sqlite_is_complete(const char *sql);

#endif
