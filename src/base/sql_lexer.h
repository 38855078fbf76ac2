/* sql_lexer.h: SQL text token by token. It knows quotes, comments and brackets, and no grammar. */
#ifndef WEIR_BASE_SQL_LEXER_H
#define WEIR_BASE_SQL_LEXER_H

#include "base/base.h"

/* At c is a letter, a digit, '_', or part of a character beyond ASCII that is no space. */
bool weir_sql_is_word_char(const char *c);

/* Behind blanks and comments; NULL if a comment does not end. */
const char *weir_sql_skip_blank(const char *c);

/* The same. *is_open: text behind the final NUL would be comment. */
const char *weir_sql_scan_blank(const char *c, bool *is_open);

/* Behind the token that starts at c (not blank, not the end); NULL if it does not end. */
const char *weir_sql_skip_token(const char *c);

/* The semicolon that ends the statement, or the final NUL; *is_open: that is inside a quote or a
 * comment. */
const char *weir_sql_statement_end(const char *sql, bool *is_open);

/* Begin with {.end = text}. */
typedef struct SqlToken {
    const char *start;
    const char *end;
    uint32_t depth; /* brackets open behind it */
    bool is_label;  /* it follows a point or AS: whatever word it is, it is a name there */
} SqlToken;

/* Steps to the next token; false at the end, or if a quote or comment is open. */
bool weir_sql_token_next(SqlToken *token);

/* Without case. Where any word is a name, it is none of the language's. */
bool weir_sql_token_is(const SqlToken *token, const char *word);

bool weir_sql_token_is_one_of(const SqlToken *token, const char *const *words, size_t count);

/* A word or a quoted name. */
bool weir_sql_token_is_name(const SqlToken *token);

#endif
