/* sql_lexer.c: tokens as DuckDB's lexer cuts them, as far as it takes to know where they end: '..' and
 * ".." with doubled quotes, e'..' with backslashes, $tag$ .. $tag$, -- and nested block comments. */
#include "base/sql_lexer.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The spaces of Unicode, which DuckDB makes ordinary ones outside of quotes. */
static size_t space_size(const char *c)
{
    static const char *const SPACES[] = {
        "\xc2\xa0",     "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83",
        "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88",
        "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\x8b", "\xe2\x80\xaf", "\xe2\x81\x9f",
        "\xe2\x81\xa0", "\xe3\x80\x80", "\xef\xbb\xbf",
    };
    if (isspace((unsigned char)*c)) {
        return 1;
    }
    for (size_t i = 0; (unsigned char)*c >= 0x80 && i < WEIR_ARRAY_COUNT(SPACES); i++) {
        const size_t size = strlen(SPACES[i]);
        if (strncmp(c, SPACES[i], size) == 0) {
            return size;
        }
    }
    return 0;
}

bool weir_sql_is_word_char(const char *c)
{
    return isalnum((unsigned char)*c) || *c == '_' ||
           ((unsigned char)*c >= 0x80 && space_size(c) == 0);
}

/* Behind the quoted text that starts at c with the character *c; NULL if it does not end. */
static const char *skip_quoted(const char *c, bool has_escapes)
{
    const char quote = *c++;
    while (*c != '\0') {
        const bool is_escape = has_escapes && *c == '\\' && c[1] != '\0';
        if (is_escape || (*c == quote && c[1] == quote)) {
            c += 2;
        } else if (*c == quote) {
            return c + 1;
        } else {
            c++;
        }
    }
    return NULL;
}

/* Behind $tag$ ... $tag$ or the parameter $name; NULL if a quote does not end. */
static const char *skip_dollar(const char *c)
{
    const char *tag_end = c + 1;
    while (weir_sql_is_word_char(tag_end)) {
        tag_end++;
    }
    if (*tag_end != '$' || isdigit((unsigned char)c[1])) {
        return tag_end;
    }
    const size_t tag_size = (size_t)(tag_end + 1 - c);
    for (const char *end = tag_end + 1; *end != '\0'; end++) {
        if (strncmp(end, c, tag_size) == 0) {
            return end + tag_size;
        }
    }
    return NULL;
}

static const char *skip_block_comment(const char *c)
{
    size_t depth = 0;
    while (*c != '\0') {
        if (c[0] == '/' && c[1] == '*') {
            depth++;
            c += 2;
        } else if (c[0] == '*' && c[1] == '/') {
            depth--;
            c += 2;
            if (depth == 0) {
                return c;
            }
        } else {
            c++;
        }
    }
    return NULL;
}

const char *weir_sql_scan_blank(const char *c, bool *is_open)
{
    *is_open = false;
    while (c != NULL && *c != '\0') {
        const size_t size = space_size(c);
        if (size > 0) {
            c += size;
        } else if (c[0] == '-' && c[1] == '-') {
            c += strcspn(c, "\r\n");
            *is_open = *c == '\0';
        } else if (c[0] == '/' && c[1] == '*') {
            c = skip_block_comment(c);
            *is_open = c == NULL;
        } else {
            break;
        }
    }
    return c;
}

const char *weir_sql_skip_blank(const char *c)
{
    bool is_open = false;
    return weir_sql_scan_blank(c, &is_open);
}

static const char *skip_digits(const char *c)
{
    while (isdigit((unsigned char)*c) || (*c == '_' && isdigit((unsigned char)c[1]))) {
        c++;
    }
    return c;
}

/* 12, 1_000, 1.5, 1., 1e-5; a word may follow without a blank. */
static const char *skip_number(const char *c)
{
    c = skip_digits(c);
    if (*c == '.') {
        c = skip_digits(c + 1);
    }
    if (*c == 'e' || *c == 'E') {
        const char *const exponent = c + 1 + (c[1] == '+' || c[1] == '-');
        c = isdigit((unsigned char)*exponent) ? skip_digits(exponent) : c;
    }
    return c;
}

const char *weir_sql_skip_token(const char *c)
{
    if (isdigit((unsigned char)*c)) {
        return skip_number(c);
    }
    if ((*c == 'e' || *c == 'E') && c[1] == '\'') {
        return skip_quoted(c + 1, true);
    }
    if (*c == '\'' || *c == '"') {
        return skip_quoted(c, false);
    }
    if (*c == '$') {
        return skip_dollar(c);
    }
    if (weir_sql_is_word_char(c)) {
        while (weir_sql_is_word_char(c) || *c == '$') {
            c++;
        }
        return c;
    }
    return c + 1;
}

const char *weir_sql_statement_end(const char *sql, bool *is_open)
{
    const char *c = sql;
    for (;;) {
        c = weir_sql_skip_blank(c);
        if (c == NULL) {
            break;
        }
        if (*c == '\0' || *c == ';') {
            *is_open = false;
            return c;
        }
        c = weir_sql_skip_token(c);
        if (c == NULL) {
            break;
        }
    }
    *is_open = true;
    return sql + strlen(sql);
}

bool weir_sql_token_is(const SqlToken *token, const char *word)
{
    const size_t size = (size_t)(token->end - token->start);
    return !token->is_label && size == strlen(word) && strncasecmp(token->start, word, size) == 0;
}

bool weir_sql_token_is_one_of(const SqlToken *token, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (weir_sql_token_is(token, words[i])) {
            return true;
        }
    }
    return false;
}

bool weir_sql_token_next(SqlToken *token)
{
    const uint32_t depth = token->depth;
    const char *const start = weir_sql_skip_blank(token->end);
    if (start == NULL || *start == '\0') {
        return false;
    }
    const char *const end = weir_sql_skip_token(start);
    if (end == NULL) {
        return false;
    }
    const bool is_label =
        token->start != NULL && (*token->start == '.' || weir_sql_token_is(token, "as"));
    const bool opens = *start == '(' || *start == '[' || *start == '{';
    const bool closes = *start == ')' || *start == ']' || *start == '}';
    token->start = start;
    token->end = end;
    token->is_label = is_label;
    token->depth = opens ? depth + 1 : closes && depth > 0 ? depth - 1 : depth;
    return true;
}

bool weir_sql_token_is_name(const SqlToken *token)
{
    return token->start[0] == '"' ||
           (weir_sql_is_word_char(token->start) && !isdigit((unsigned char)token->start[0]) &&
            token->end[-1] != '\'');
}
