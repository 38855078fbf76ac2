/* statement.c: the first words of a statement, and where it ends. It does not parse SQL: DuckDB does. */
#include "api/statement.h"

#include <string.h>
#include <strings.h>

#include "base/sql_lexer.h"

const char *weir_statement_start(const char *sql)
{
    bool is_open = false;
    const char *const start = weir_sql_scan_blank(sql, &is_open);
    return is_open ? NULL : start;
}

bool weir_statement_is_complete(const char *sql)
{
    bool is_open = false;
    return *weir_sql_statement_end(sql, &is_open) == ';' && !is_open;
}

/* ---- Weir's statements ---------------------------------------------------------------------- */

/* If the next token is that word: true, and *cursor behind it. */
static bool take_word(const char **cursor, const char *word)
{
    const char *const start = weir_sql_skip_blank(*cursor);
    const size_t size = strlen(word);
    if (start == NULL || strncasecmp(start, word, size) != 0 ||
        weir_sql_is_word_char(start + size)) {
        return false;
    }
    *cursor = start + size;
    return true;
}

static bool take_words(const char **cursor, const char *const *words, size_t count)
{
    const char *c = *cursor;
    for (size_t i = 0; i < count; i++) {
        if (!take_word(&c, words[i])) {
            return false;
        }
    }
    *cursor = c;
    return true;
}

static Status syntax_error(const char *expected, const char *at, Error *err)
{
    const char *const start = weir_sql_skip_blank(at);
    if (start == NULL || *start == '\0') {
        return weir_error_set(err, WEIR_ERR_SYNTAX, "expected %s at the end of the statement",
                              expected);
    }
    const size_t size = strcspn(start, " \t\r\n;");
    return weir_error_set(err, WEIR_ERR_SYNTAX, "expected %s near \"%.*s\"", expected,
                          (int)WEIR_MIN(size, (size_t)40), start);
}

/* name, schema.name, "na me".name: as written. */
static Status take_name(Arena *arena, const char **cursor, const char **out, Error *err)
{
    const char *const start = weir_sql_skip_blank(*cursor);
    const char *c = start;
    for (;;) {
        if (c == NULL || !(weir_sql_is_word_char(c) || *c == '"')) {
            return syntax_error("the name of a view", *cursor, err);
        }
        c = weir_sql_skip_token(c);
        if (c == NULL || *c != '.') {
            break;
        }
        c++;
    }
    if (c == NULL) {
        return syntax_error("the name of a view", *cursor, err);
    }
    *out = weir_arena_strndup(arena, start, (size_t)(c - start), err);
    *cursor = c;
    return *out == NULL ? err->code : WEIR_OK;
}

/* (a, b, ...): as written, with the parentheses; NULL if there is none. */
static Status take_column_list(Arena *arena, const char **cursor, const char **out, Error *err)
{
    const char *const start = weir_sql_skip_blank(*cursor);
    *out = NULL;
    if (start == NULL || *start != '(') {
        return WEIR_OK;
    }
    const char *c = start + 1;
    while (c != NULL && *c != '\0' && *c != ')' && *c != ';') {
        c = weir_sql_skip_blank(c);
        if (c != NULL && *c != ')') {
            c = weir_sql_skip_token(c);
        }
    }
    if (c == NULL || *c != ')') {
        return syntax_error("a list of column names in parentheses", *cursor, err);
    }
    *out = weir_arena_strndup(arena, start, (size_t)(c + 1 - start), err);
    *cursor = c + 1;
    return *out == NULL ? err->code : WEIR_OK;
}

static Status read_create(Arena *arena, const char *cursor, Statement *out, Error *err)
{
    static const char *const IF_NOT_EXISTS[] = {"if", "not", "exists"};
    const char *columns = NULL;
    const bool is_if_missing = take_words(&cursor, IF_NOT_EXISTS, 3);
    if (is_if_missing && out->mode == CREATE_OR_REPLACE) {
        return weir_error_set(err, WEIR_ERR_SYNTAX,
                              "OR REPLACE and IF NOT EXISTS exclude each other");
    }
    out->mode = is_if_missing ? CREATE_IF_MISSING : out->mode;
    WEIR_TRY(take_name(arena, &cursor, &out->name, err));
    WEIR_TRY(take_column_list(arena, &cursor, &columns, err));
    if (!take_word(&cursor, "as")) {
        return syntax_error("AS", cursor, err);
    }
    cursor = weir_sql_skip_blank(cursor);
    out->query = columns == NULL
                     ? cursor
                     : weir_arena_printf(arena, err, "SELECT * FROM (%s\n) AS definition%s", cursor,
                                         columns);
    return out->query == NULL ? err->code : WEIR_OK;
}

static Status expect_end(const char *cursor, Error *err)
{
    const char *const rest = weir_sql_skip_blank(cursor);
    return rest != NULL && *rest == '\0' ? WEIR_OK
                                         : syntax_error("the end of the statement", cursor, err);
}

static Status read_drop(Arena *arena, const char *cursor, Statement *out, Error *err)
{
    static const char *const IF_EXISTS[] = {"if", "exists"};
    out->is_if_exists = take_words(&cursor, IF_EXISTS, 2);
    WEIR_TRY(take_name(arena, &cursor, &out->name, err));
    out->is_cascade = take_word(&cursor, "cascade");
    if (!out->is_cascade) {
        take_word(&cursor, "restrict");
    }
    return expect_end(cursor, err);
}

/* dbsp_explain takes the name as a literal: its quotes are doubled. */
static Status read_explain(Arena *arena, const char *cursor, Statement *out, Error *err)
{
    WEIR_TRY(take_name(arena, &cursor, &out->name, err));
    WEIR_TRY(expect_end(cursor, err));
    char *const literal = weir_arena_alloc(arena, 2 * strlen(out->name) + 1, err);
    if (literal == NULL) {
        return err->code;
    }
    char *end = literal;
    for (const char *c = out->name; *c != '\0'; c++) {
        *end++ = *c;
        if (*c == '\'') {
            *end++ = '\'';
        }
    }
    *end = '\0';
    out->query =
        weir_arena_printf(arena, err, "SELECT * FROM system.main.dbsp_explain('%s')", literal);
    return out->query == NULL ? err->code : WEIR_OK;
}

static Status statement_classify(Arena *arena, Statement *out, Error *err)
{
    static const char *const CREATE[] = {"create", "materialized", "view"};
    static const char *const REPLACE[] = {"create", "or", "replace", "materialized", "view"};
    static const char *const DROP[] = {"drop", "materialized", "view"};
    static const char *const REFRESH[] = {"refresh", "materialized", "view"};
    static const char *const EXPLAIN[] = {"explain", "materialized", "view"};
    const char *cursor = out->text;
    out->kind = STATEMENT_DUCKDB;
    if (take_words(&cursor, CREATE, 3)) {
        out->kind = STATEMENT_CREATE;
        out->mode = CREATE_NEW;
        return read_create(arena, cursor, out, err);
    }
    if (take_words(&cursor, REPLACE, 5)) {
        out->kind = STATEMENT_CREATE;
        out->mode = CREATE_OR_REPLACE;
        return read_create(arena, cursor, out, err);
    }
    if (take_words(&cursor, DROP, 3)) {
        out->kind = STATEMENT_DROP;
        return read_drop(arena, cursor, out, err);
    }
    if (take_words(&cursor, REFRESH, 3)) {
        out->kind = STATEMENT_REFRESH;
        WEIR_TRY(take_name(arena, &cursor, &out->name, err));
        return expect_end(cursor, err);
    }
    if (take_words(&cursor, EXPLAIN, 3)) {
        out->kind = STATEMENT_EXPLAIN;
        return read_explain(arena, cursor, out, err);
    }
    return WEIR_OK;
}

Status weir_statement_read(Arena *arena, const char *sql, const char **tail, Statement *out,
                           Error *err)
{
    bool is_open = false;
    const char *const start = weir_sql_skip_blank(sql);
    const char *const end = weir_sql_statement_end(sql, &is_open);
    *out = (Statement){.kind = STATEMENT_EMPTY};
    *tail = *end == ';' ? end + 1 : end;
    if (start == NULL || start >= end) {
        return WEIR_OK; /* an unfinished comment is blank, as for DuckDB's shell */
    }
    out->text = weir_arena_strndup(arena, start, (size_t)(end - start), err);
    if (out->text == NULL) {
        return err->code;
    }
    return statement_classify(arena, out, err);
}
