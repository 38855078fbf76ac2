/* shrink_sql.c: see shrink_sql.h.
 *
 * The text is cut into tokens. Parts worth leaving out lie between two borders of the same depth
 * of parentheses: commas, keywords, operators. A parenthesis is also replaced by what is in it, by
 * one of its arguments, or by NULL. */
#include "shrink_sql.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct Tokens {
    TextList texts;
    size_t *depths;  /* owned; of parentheses around the token */
    size_t *matches; /* owned; of "(" the index of its ")" */
} Tokens;

static size_t token_length(const char *at)
{
    if (*at == '\'' || *at == '"') {
        size_t len = 1;
        while (at[len] != '\0' && (at[len] != *at || at[len + 1] == *at)) {
            len += at[len] == *at ? 2 : 1;
        }
        return at[len] == '\0' ? len : len + 1;
    }
    size_t len = 0;
    while (isalnum((unsigned char)at[len]) || at[len] == '_' || at[len] == '.' ||
           (unsigned char)at[len] >= 128) {
        len++;
    }
    if (len > 0) {
        return len;
    }
    static const char *const pairs[] = {"::", "<=", ">=", "<>", "||", "//"};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (strncmp(at, pairs[i], 2) == 0) {
            return 2;
        }
    }
    return 1;
}

static bool is_opening(const char *token)
{
    return strcmp(token, "(") == 0 || strcmp(token, "[") == 0 || strcmp(token, "{") == 0;
}

static bool is_closing(const char *token)
{
    return strcmp(token, ")") == 0 || strcmp(token, "]") == 0 || strcmp(token, "}") == 0;
}

static void tokens_init(Tokens *tokens, const char *sql)
{
    *tokens = (Tokens){0};
    for (const char *at = sql; *at != '\0';) {
        if (isspace((unsigned char)*at)) {
            at++;
            continue;
        }
        const size_t len = token_length(at);
        text_list_add_len(&tokens->texts, at, len);
        at += len;
    }
    const size_t count = tokens->texts.count;
    tokens->depths = test_alloc((count + 1) * sizeof *tokens->depths);
    tokens->matches = test_alloc((count + 1) * sizeof *tokens->matches);
    size_t *open = test_alloc((count + 1) * sizeof *open);
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_closing(tokens->texts.items[i]) && depth > 0) {
            depth--;
            tokens->matches[open[depth]] = i;
        }
        tokens->depths[i] = depth;
        if (is_opening(tokens->texts.items[i])) {
            open[depth] = i;
            depth++;
        }
    }
    test_free(open);
}

static void tokens_deinit(Tokens *tokens)
{
    text_list_free(&tokens->texts);
    test_free(tokens->depths);
    test_free(tokens->matches);
}

/* The tokens with [from, to) replaced by [inner_from, inner_to) and by `word`, if any. */
static void add_candidate(const Tokens *tokens, size_t from, size_t to, size_t inner_from,
                          size_t inner_to, const char *word, TextList *candidates)
{
    Text text = {0};
    for (size_t i = 0; i < tokens->texts.count; i++) {
        if (i == from) {
            for (size_t j = inner_from; j < inner_to; j++) {
                text_addf(&text, "%s%s", text.len > 0 ? " " : "", tokens->texts.items[j]);
            }
            if (word != NULL) {
                text_addf(&text, "%s%s", text.len > 0 ? " " : "", word);
            }
        }
        if (i < from || i >= to) {
            text_addf(&text, "%s%s", text.len > 0 ? " " : "", tokens->texts.items[i]);
        }
    }
    if (!text_list_has(candidates, text_get(&text))) {
        text_list_add(candidates, text_get(&text));
    }
    text_free(&text);
}

static bool is_border(const char *token)
{
    static const char *const words[] = {
        "SELECT", "FROM",  "WHERE", "GROUP", "HAVING", "UNION",    "JOIN",  "LEFT", "RIGHT",
        "FULL",   "CROSS", "SEMI",  "ANTI",  "ON",     "AND",      "OR",    "NOT",  "CASE",
        "WHEN",   "THEN",  "ELSE",  "END",   "FILTER", "DISTINCT", "AS",    "WITH", "SET",
        "VALUES", "ORDER", "LIMIT", "IN",    "IS",     "BETWEEN",  "INNER", "LIKE", "EXISTS"};
    if (!isalnum((unsigned char)token[0]) && token[0] != '\'' && token[0] != '"') {
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(token, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_start(const Tokens *tokens, size_t index)
{
    return index == 0 || is_border(tokens->texts.items[index]) ||
           is_border(tokens->texts.items[index - 1]);
}

/* Leaves out everything between two borders of one depth. */
static void add_cuts(const Tokens *tokens, TextList *candidates)
{
    const size_t count = tokens->texts.count;
    for (size_t from = 0; from < count; from++) {
        if (!is_start(tokens, from) || is_closing(tokens->texts.items[from])) {
            continue;
        }
        for (size_t to = from + 1; to <= count; to++) {
            if (to < count && tokens->depths[to] < tokens->depths[from]) {
                break;
            }
            const bool is_end =
                to == count || (tokens->depths[to] == tokens->depths[from] &&
                                is_start(tokens, to) && !is_opening(tokens->texts.items[to - 1]));
            if (is_end) {
                add_candidate(tokens, from, to, 0, 0, NULL, candidates);
            }
            if (to < count && is_closing(tokens->texts.items[to]) &&
                tokens->depths[to] + 1 == tokens->depths[from]) {
                add_candidate(tokens, from, to, 0, 0, NULL, candidates);
                break;
            }
        }
    }
}

static bool is_word(const char *token)
{
    return isalpha((unsigned char)token[0]) && !is_border(token);
}

/* Replaces f(a, b) by a, by b, and by NULL. */
static void add_unwraps(const Tokens *tokens, TextList *candidates)
{
    for (size_t open = 0; open < tokens->texts.count; open++) {
        const size_t close = tokens->matches[open];
        if (strcmp(tokens->texts.items[open], "(") != 0 || close == 0) {
            continue;
        }
        const bool is_call = open > 0 && is_word(tokens->texts.items[open - 1]);
        const size_t from = is_call ? open - 1 : open;
        size_t start = open + 1;
        for (size_t i = open + 1; i <= close; i++) {
            const bool is_comma = tokens->depths[i] == tokens->depths[open] + 1 &&
                                  (strcmp(tokens->texts.items[i], ",") == 0 ||
                                   strcasecmp(tokens->texts.items[i], "AS") == 0);
            if (is_comma || i == close) {
                add_candidate(tokens, from, close + 1, start, i, NULL, candidates);
                start = i + 1;
            }
        }
        add_candidate(tokens, from, close + 1, 0, 0, "NULL", candidates);
    }
}

static int compare_length(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;
    const size_t left_len = strlen(*left);
    const size_t right_len = strlen(*right);
    if (left_len != right_len) {
        return left_len < right_len ? -1 : 1;
    }
    return strcmp(*left, *right);
}

void shrink_sql(const char *sql, TextList *candidates)
{
    Tokens tokens = {0};
    tokens_init(&tokens, sql);
    add_cuts(&tokens, candidates);
    add_unwraps(&tokens, candidates);
    tokens_deinit(&tokens);
    if (candidates->count > 1) {
        qsort(candidates->items, candidates->count, sizeof *candidates->items, compare_length);
    }
}
