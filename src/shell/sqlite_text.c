/* sqlite_text.c: a lexer that knows of quotes and comments only, but for triggers.
 *
 * A trigger has semicolons inside. Where one ends is asked of SQLite, at each semicolon. */
#include "shell/sqlite_text.h"

#include <ctype.h>
#include <sqlite3.h>
#include <string.h>
#include <strings.h>

#include "shell/text.h"

/* Behind the comment at c; c if there is none; NULL if it does not end. */
static const char *skip_comment(const char *c)
{
    if (c[0] == '-' && c[1] == '-') {
        const char *const end = strchr(c, '\n');
        return end == NULL ? NULL : end + 1;
    }
    if (c[0] == '/' && c[1] == '*') {
        const char *const end = strstr(c + 2, "*/");
        return end == NULL ? NULL : end + 2;
    }
    return c;
}

/* Behind the token at c; NULL if it does not end. A doubled quote is two tokens side by side. */
static const char *skip_token(const char *c)
{
    static const char OPENING[] = "'\"`[";
    static const char CLOSING[] = "'\"`]";
    const char *const quote = strchr(OPENING, *c);
    if (quote != NULL) {
        const char *const end = strchr(c + 1, CLOSING[quote - OPENING]);
        return end == NULL ? NULL : end + 1;
    }
    const char *const end = skip_comment(c);
    return end == c ? c + 1 : end;
}

const char *weir_sqlite_next_statement(const char *sql)
{
    const char *c = sql;
    while (*c != '\0') {
        if (isspace((unsigned char)*c) || *c == ';') {
            c++;
            continue;
        }
        const char *const end = skip_comment(c);
        if (end == NULL || end == c) {
            return end;
        }
        c = end;
    }
    return c;
}

/* Moves *c behind the word, if it is the next one. */
static bool take_word(const char **c, const char *word)
{
    const size_t size = strlen(word);
    const char *const at = weir_sqlite_next_statement(*c);
    if (at == NULL || strncasecmp(at, word, size) != 0 || isalnum((unsigned char)at[size])) {
        return false;
    }
    *c = at + size;
    return true;
}

static bool is_trigger(const char *sql)
{
    const char *c = sql;
    if (take_word(&c, "explain") && take_word(&c, "query")) {
        (void)take_word(&c, "plan");
    }
    if (!take_word(&c, "create")) {
        return false;
    }
    if (!take_word(&c, "temp")) {
        (void)take_word(&c, "temporary");
    }
    return take_word(&c, "trigger");
}

static bool is_whole_trigger(const char *sql, const char *end)
{
    Text text = {0};
    weir_text_append(&text, sql, (size_t)(end - sql));
    const bool is_whole = sqlite3_complete(weir_text_string(&text)) != 0;
    weir_text_deinit(&text);
    return is_whole;
}

const char *weir_sqlite_statement_end(const char *sql)
{
    const char *const start = weir_sqlite_next_statement(sql);
    const bool has_inner = start != NULL && is_trigger(start);
    const char *c = start;
    while (c != NULL && *c != '\0') {
        if (*c == ';' && (!has_inner || is_whole_trigger(start, c + 1))) {
            return c + 1;
        }
        c = skip_token(c);
    }
    return NULL;
}

bool weir_sqlite_is_complete(const char *sql)
{
    return weir_sqlite_statement_end(sql) != NULL;
}
