/* write_shape.c: see write_shape.h. */
#include "duckdb/write_shape.h"

#include <string.h>
#include <strings.h>

#include "base/sql_lexer.h"

static SqlSpan span_of(const char *start, const char *end)
{
    while (end > start && (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\t')) {
        end--;
    }
    return (SqlSpan){.start = start, .size = (size_t)(end - start)};
}

/* The next token, if it is that word. */
static bool take(SqlToken *token, const char *word)
{
    SqlToken next = *token;
    if (!weir_sql_token_next(&next) || !weir_sql_token_is(&next, word)) {
        return false;
    }
    *token = next;
    return true;
}

/* name, schema.name, catalog.schema.name */
static bool take_name(SqlToken *token, SqlSpan *out)
{
    SqlToken next = *token;
    if (!weir_sql_token_next(&next) || !weir_sql_token_is_name(&next)) {
        return false;
    }
    const char *const start = next.start;
    *token = next;
    while (weir_sql_token_next(&next) && *next.start == '.') {
        if (!weir_sql_token_next(&next) || !weir_sql_token_is_name(&next)) {
            return false;
        }
        *token = next;
    }
    *out = span_of(start, token->end);
    return true;
}

/* The last part of a name. */
static SqlSpan last_part(SqlSpan name)
{
    SqlToken token = {.end = name.start};
    SqlSpan part = name;
    const char *const end = name.start + name.size;
    while (token.end < end && weir_sql_token_next(&token)) {
        if (weir_sql_token_is_name(&token)) {
            part = span_of(token.start, token.end);
        }
    }
    return part;
}

/* [AS] alias, unless the next word is the clause that follows. */
static void take_alias(SqlToken *token, const char *const *clauses, size_t count, WriteShape *shape)
{
    const char *const start = shape->target.start;
    SqlToken next = *token;
    shape->alias = last_part(shape->target);
    const bool has_as = take(token, "as");
    next = *token;
    if (weir_sql_token_next(&next) && weir_sql_token_is_name(&next) &&
        (has_as || !weir_sql_token_is_one_of(&next, clauses, count))) {
        *token = next;
        shape->alias = span_of(next.start, next.end);
    }
    shape->relation = span_of(start, token->end);
}

/* ---- clauses ---------------------------------------------------------------------------------- */

typedef enum Clause {
    CLAUSE_SET,
    CLAUSE_OTHERS,
    CLAUSE_WHERE,
    CLAUSE_RETURNING,
    CLAUSE_NONE
} Clause;

/* The clause that a word at the top level begins. IS DISTINCT FROM is none. */
static Clause clause_of(const SqlToken *token, const SqlToken *before, const char *others_word)
{
    if (token->depth > 0) {
        return CLAUSE_NONE;
    }
    if (weir_sql_token_is(token, others_word)) {
        return weir_sql_token_is(before, "distinct") ? CLAUSE_NONE : CLAUSE_OTHERS;
    }
    return weir_sql_token_is(token, "where")       ? CLAUSE_WHERE
           : weir_sql_token_is(token, "returning") ? CLAUSE_RETURNING
                                                   : CLAUSE_NONE;
}

/* Whether a condition is an equation, or some of them and more: then it takes few rows, as a rule. */
static bool is_equation(SqlSpan span)
{
    bool has_equation = false;
    SqlToken token = {.end = span.start};
    while (span.start != NULL && weir_sql_token_next(&token) &&
           token.end <= span.start + span.size) {
        if (weir_sql_token_is(&token, "or")) {
            return false;
        }
        has_equation = has_equation || (*token.start == '=' && token.depth == 0 &&
                                        strchr("<>!=", token.start[-1]) == NULL);
    }
    return has_equation;
}

/* What stands behind the target of an UPDATE or DELETE. */
static void read_clauses(SqlToken token, const char *others_word, WriteShape *shape)
{
    SqlToken before = token;
    Clause open = CLAUSE_SET;
    const char *start = token.end;
    const char *end = token.end;
    bool is_more = true;
    while (is_more) {
        is_more = weir_sql_token_next(&token);
        const Clause next = is_more ? clause_of(&token, &before, others_word) : CLAUSE_NONE;
        if (!is_more || (next != CLAUSE_NONE && next > open)) {
            const SqlSpan span = span_of(start, end);
            shape->set = open == CLAUSE_SET ? span : shape->set;
            shape->others = open == CLAUSE_OTHERS ? span : shape->others;
            shape->condition = open == CLAUSE_WHERE ? span : shape->condition;
            shape->has_returning = open == CLAUSE_RETURNING || next == CLAUSE_RETURNING;
            open = next;
            start = token.end;
        }
        end = token.end;
        before = token;
    }
    shape->is_plain =
        weir_sql_span_is_plain(shape->others) && weir_sql_span_is_plain(shape->condition);
    shape->is_simple = shape->with.start == NULL && shape->others.start == NULL &&
                       !shape->has_returning && shape->is_plain &&
                       weir_sql_span_is_plain(shape->set) && is_equation(shape->condition);
}

/* ---- statements ------------------------------------------------------------------------------- */

/* Any token behind that is this word, at the top level. */
static bool has_word(SqlToken token, const char *word)
{
    while (weir_sql_token_next(&token)) {
        if (token.depth == 0 && weir_sql_token_is(&token, word)) {
            return true;
        }
    }
    return false;
}

/* Steps over tokens to the word at the top level, which becomes the token. */
static bool skip_to(SqlToken *token, const char *word)
{
    while (weir_sql_token_next(token)) {
        if (token->depth == 0 && weir_sql_token_is(token, word)) {
            return true;
        }
    }
    return false;
}

/* The end of the text, without blanks and comments behind the last token, or where RETURNING begins. */
static const char *find_end(SqlToken token)
{
    const char *end = token.end;
    while (weir_sql_token_next(&token) &&
           !(token.depth == 0 && weir_sql_token_is(&token, "returning"))) {
        end = token.end;
    }
    return end;
}

/* ON CONFLICT ... DO, at which the token is left. */
static bool skip_to_conflict(SqlToken *token)
{
    while (skip_to(token, "on")) {
        if (take(token, "conflict")) {
            return skip_to(token, "do");
        }
    }
    return false;
}

/* [(columns)] VALUES, and nothing but constants up to the end. */
static bool has_only_constants(SqlToken token, const char *end)
{
    while (weir_sql_token_next(&token) && (token.depth > 0 || *token.start == ')')) {
        /* the columns */
    }
    return weir_sql_token_is(&token, "values") && end > token.end &&
           weir_sql_span_is_plain(span_of(token.end, end));
}

/* Behind DO UPDATE: SET ... [WHERE ...] [RETURNING ...] */
static void read_conflict_update(SqlToken token, WriteShape *shape)
{
    const char *const end = find_end(token);
    SqlToken where = token;
    if (!take(&token, "set")) {
        return;
    }
    const bool has_where = skip_to(&where, "where") && where.end < end;
    shape->set = span_of(token.end, has_where ? where.start : end);
    shape->condition = has_where ? span_of(where.end, end) : (SqlSpan){0};
    shape->places[0] = (ConditionPlace){
        .condition = has_where ? shape->condition : span_of(end, end), .keyword = "WHERE"};
    shape->place_count = 1;
    shape->kind = WRITE_UPSERT;
}

/* OR REPLACE: the clause that means the same may be put at the end. */
static void read_replace(SqlToken token, WriteShape *shape)
{
    const char *const end = find_end(token);
    SqlToken next = token;
    shape->kind = WRITE_ROWS;
    if (weir_sql_token_next(&next) && *next.start == '(') {
        SqlToken last = next;
        while (last.depth > 0 && weir_sql_token_next(&last)) {
            /* the columns */
        }
        shape->columns = span_of(next.end, last.start);
        next = last;
        (void)weir_sql_token_next(&next);
    }
    if (weir_sql_token_is(&next, "by")) {
        return;
    }
    shape->places[0] = (ConditionPlace){.condition = span_of(end, end), .keyword = "WHERE"};
    shape->place_count = 1;
    shape->kind = WRITE_UPSERT;
}

static void read_insert(SqlToken token, WriteShape *shape)
{
    if (take(&token, "or") && !take(&token, "ignore")) {
        const char *const start = token.start;
        if (!take(&token, "replace")) {
            return;
        }
        shape->replace = span_of(start, token.end);
    }
    if (!take(&token, "into") || !take_name(&token, &shape->target)) {
        return;
    }
    shape->alias = last_part(shape->target);
    if (take(&token, "as") && weir_sql_token_next(&token)) {
        shape->alias = span_of(token.start, token.end);
    }
    shape->kind = WRITE_INSERT;
    shape->has_returning = has_word(token, "returning");
    SqlToken conflict = token;
    const bool has_conflict = skip_to_conflict(&conflict);
    const char *const end = find_end(token);
    if (shape->replace.start != NULL) {
        read_replace(token, shape);
    } else if (has_conflict && !take(&conflict, "nothing")) {
        shape->kind = WRITE_ROWS;
        if (take(&conflict, "update")) {
            read_conflict_update(conflict, shape);
        }
    }
    SqlToken on = token;
    const char *const source_end = has_conflict && skip_to(&on, "on") ? on.start : end;
    shape->is_simple = shape->kind != WRITE_ROWS && shape->with.start == NULL &&
                       !shape->has_returning && has_only_constants(token, source_end) &&
                       weir_sql_span_is_plain(shape->set) &&
                       weir_sql_span_is_plain(shape->condition);
}

static void read_update(SqlToken token, WriteShape *shape)
{
    static const char *const SET[] = {"set"};
    if (!take_name(&token, &shape->target)) {
        return;
    }
    take_alias(&token, SET, 1, shape);
    if (take(&token, "set")) {
        shape->kind = WRITE_UPDATE;
        read_clauses(token, "from", shape);
    }
}

static void read_delete(SqlToken token, WriteShape *shape)
{
    static const char *const CLAUSES[] = {"using", "where", "returning"};
    if (!take(&token, "from") || !take_name(&token, &shape->target)) {
        return;
    }
    take_alias(&token, CLAUSES, WEIR_ARRAY_COUNT(CLAUSES), shape);
    shape->kind = WRITE_DELETE;
    read_clauses(token, "using", shape);
}

static void read_truncate(SqlToken token, WriteShape *shape)
{
    (void)take(&token, "table");
    if (take_name(&token, &shape->target) && !weir_sql_token_next(&token)) {
        shape->kind = WRITE_TRUNCATE;
        shape->relation = shape->target;
        shape->alias = last_part(shape->target);
        shape->is_plain = true;
    }
}

static void count_cases(const SqlToken *token, size_t *open)
{
    if (token->depth == 0) {
        *open += weir_sql_token_is(token, "case");
        *open -= *open > 0 && weir_sql_token_is(token, "end");
    }
}

/* Behind WHEN [NOT] MATCHED [BY ...]: the condition up to THEN, which the token becomes. */
static bool take_condition(SqlToken *token, SqlSpan *out)
{
    size_t open_cases = 0; /* outside of brackets */
    const char *start = token->end;
    const char *end = token->end;
    if (take(token, "and")) {
        start = token->end;
    }
    while (weir_sql_token_next(token)) {
        if (token->depth == 0 && open_cases == 0 && weir_sql_token_is(token, "then")) {
            *out = span_of(start, end);
            return true;
        }
        count_cases(token, &open_cases);
        end = token->end;
    }
    return false;
}

/* Behind WHEN. False: it is no action that rows can be told of. */
static bool take_action(SqlToken *token, WriteShape *shape)
{
    static const char *const OTHERS[] = {"insert", "do", "error"};
    const bool is_new = take(token, "not");
    SqlSpan condition = {0};
    if (!take(token, "matched")) {
        return false;
    }
    if (is_new && take(token, "by")) {
        (void)weir_sql_token_next(token); /* SOURCE, TARGET */
    }
    const SqlToken matched = *token;
    if (!take_condition(token, &condition)) {
        return false;
    }
    const bool is_update = take(token, "update");
    if (is_update || take(token, "delete")) {
        if (shape->place_count == WRITE_MAX_PLACES || (is_update && is_new)) {
            return false; /* what DuckDB 1.5 returns of BY SOURCE updates is not the row */
        }
        if (condition.size == 0) {
            condition.start = matched.end;
        }
        shape->places[shape->place_count++] =
            (ConditionPlace){.condition = condition, .keyword = "AND"};
        return true;
    }
    return weir_sql_token_next(token) &&
           weir_sql_token_is_one_of(token, OTHERS, WEIR_ARRAY_COUNT(OTHERS));
}

/* MERGE INTO target USING ... WHEN ... [RETURNING ...] */
static void read_merge(SqlToken token, WriteShape *shape)
{
    static const char *const CLAUSES[] = {"using"};
    if (!take(&token, "into") || !take_name(&token, &shape->target)) {
        return;
    }
    take_alias(&token, CLAUSES, 1, shape);
    shape->has_returning = has_word(token, "returning");
    size_t open_cases = 0;
    while (weir_sql_token_next(&token)) {
        const bool is_action =
            token.depth == 0 && open_cases == 0 && weir_sql_token_is(&token, "when");
        if (is_action && !take_action(&token, shape)) {
            shape->kind = WRITE_ROWS;
            return;
        }
        count_cases(&token, &open_cases);
    }
    shape->kind = open_cases == 0 ? WRITE_MERGE : WRITE_ROWS;
}

/* COPY table [(columns)] FROM file; COPY table TO file; COPY (query) TO file. */
static void read_copy(SqlToken token, WriteShape *shape)
{
    SqlToken next = token;
    if (take(&next, "from")) {
        return; /* a whole database */
    }
    if (weir_sql_token_next(&next) && *next.start == '(') {
        shape->kind = WRITE_NONE;
        return;
    }
    if (!take_name(&token, &shape->target)) {
        return;
    }
    shape->alias = last_part(shape->target);
    const bool is_to = has_word(token, "to");
    shape->kind = has_word(token, "from") ? WRITE_COPY : is_to ? WRITE_NONE : WRITE_UNKNOWN;
}

/* Behind WITH name AS (...), ...: the verb of the statement. */
static bool skip_with(SqlToken *token)
{
    static const char *const VERBS[] = {"select", "from",  "values", "insert", "update",
                                        "delete", "merge", "pivot",  "unpivot"};
    while (weir_sql_token_next(token)) {
        if (token->depth == 0 && weir_sql_token_is_one_of(token, VERBS, WEIR_ARRAY_COUNT(VERBS))) {
            return true;
        }
    }
    return false;
}

/* CREATE TABLE [IF NOT EXISTS] name, ...; views and macros may be what a definition reads. */
static void read_create(SqlToken token, WriteShape *shape)
{
    shape->kind = WRITE_DEFINITION;
    if (take(&token, "or")) {
        return;
    }
    (void)(take(&token, "temp") || take(&token, "temporary") || take(&token, "persistent") ||
           take(&token, "unlogged"));
    if (take(&token, "view") || take(&token, "recursive") || take(&token, "macro") ||
        take(&token, "function")) {
        return;
    }
    shape->kind = WRITE_SESSION;
    if (take(&token, "table")) {
        SqlToken next = token;
        if (take(&next, "if") && take(&next, "not") && take(&next, "exists")) {
            token = next;
        }
        shape->kind = WRITE_CREATE;
        shape->alias = take_name(&token, &shape->target) ? last_part(shape->target) : (SqlSpan){0};
    }
}

/* PREPARE name [(types)] AS statement */
static void read_prepare(SqlToken token, WriteShape *shape)
{
    shape->kind = WRITE_NONE;
    if (take_name(&token, &shape->target) && skip_to(&token, "as")) {
        shape->kind = WRITE_PREPARE;
        shape->relation = (SqlSpan){.start = token.end, .size = strlen(token.end)};
    }
}

static void read_execute(SqlToken token, WriteShape *shape)
{
    if (take_name(&token, &shape->target)) {
        shape->kind = WRITE_EXECUTE;
        shape->relation = (SqlSpan){.start = token.end, .size = strlen(token.end)};
    }
}

static void read_deallocate(SqlToken token, WriteShape *shape)
{
    (void)take(&token, "prepare");
    shape->kind = WRITE_DEALLOCATE;
    if (!take(&token, "all")) {
        (void)take_name(&token, &shape->target);
    }
}

/* DETACH [DATABASE] [IF EXISTS] name: the last word. */
static void read_detach(SqlToken token, WriteShape *shape)
{
    shape->kind = WRITE_DEFINITION;
    while (take_name(&token, &shape->target)) {
        /* to the next */
    }
}

/* ATTACH OR REPLACE [DATABASE] 'path' [AS name]: without a name it is that of the file. */
static void read_attach(SqlToken token, WriteShape *shape)
{
    shape->kind = WRITE_ATTACH;
    if (!take(&token, "or") || !take(&token, "replace")) {
        return;
    }
    (void)take(&token, "database");
    if (!weir_sql_token_next(&token)) {
        return;
    }
    const char *start = token.start + 1;
    for (const char *c = start; c < token.end; c++) {
        start = *c == '/' ? c + 1 : start;
    }
    shape->target = span_of(start, start + strcspn(start, ".'"));
    if (take(&token, "as")) {
        (void)take_name(&token, &shape->target);
    }
}

/* EXPLAIN ANALYZE runs what it explains. CALL can do anything, but our own functions change no
 * table. */
static WriteKind kind_of_special(const SqlToken *verb)
{
    SqlToken token = *verb;
    if (weir_sql_token_is(verb, "explain")) {
        return has_word(token, "analyze") ? WRITE_UNKNOWN : WRITE_NONE;
    }
    if (weir_sql_token_is(verb, "pragma")) {
        return has_word(token, "import_database") ? WRITE_UNKNOWN : WRITE_NONE;
    }
    if (weir_sql_token_is(verb, "call") && weir_sql_token_next(&token)) {
        return strncasecmp(token.start, "dbsp_", 5) == 0 ? WRITE_NONE : WRITE_UNKNOWN;
    }
    return WRITE_UNKNOWN;
}

static WriteKind kind_of_other(const SqlToken *verb)
{
    static const struct {
        const char *word;
        WriteKind kind;
    } WORDS[] = {
        {"select", WRITE_NONE},       {"from", WRITE_NONE},        {"values", WRITE_NONE},
        {"table", WRITE_NONE},        {"pivot", WRITE_NONE},       {"unpivot", WRITE_NONE},
        {"show", WRITE_NONE},         {"describe", WRITE_NONE},    {"desc", WRITE_NONE},
        {"summarize", WRITE_NONE},    {"export", WRITE_NONE},      {"analyze", WRITE_NONE},
        {"checkpoint", WRITE_NONE},   {"force", WRITE_NONE},       {"vacuum", WRITE_NONE},
        {"comment", WRITE_NONE},      {"install", WRITE_NONE},     {"load", WRITE_SESSION},
        {"use", WRITE_SESSION},       {"set", WRITE_SESSION},      {"reset", WRITE_SESSION},
        {"drop", WRITE_DEFINITION},   {"alter", WRITE_DEFINITION}, {"begin", WRITE_BEGIN},
        {"start", WRITE_BEGIN},       {"commit", WRITE_COMMIT},    {"end", WRITE_COMMIT},
        {"rollback", WRITE_ROLLBACK}, {"abort", WRITE_ROLLBACK},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(WORDS); i++) {
        if (weir_sql_token_is(verb, WORDS[i].word)) {
            return WORDS[i].kind;
        }
    }
    return kind_of_special(verb);
}

WriteShape weir_write_shape(const char *sql)
{
    static const struct {
        const char *verb;
        void (*read)(SqlToken token, WriteShape *shape);
    } WRITES[] = {
        {"insert", read_insert},     {"update", read_update},   {"delete", read_delete},
        {"truncate", read_truncate}, {"merge", read_merge},     {"copy", read_copy},
        {"prepare", read_prepare},   {"execute", read_execute}, {"deallocate", read_deallocate},
        {"create", read_create},     {"detach", read_detach},   {"attach", read_attach},
    };
    WriteShape shape = {.kind = WRITE_UNKNOWN};
    SqlToken token = {.end = sql};
    if (!weir_sql_token_next(&token)) {
        return shape;
    }
    while (*token.start == '(' && weir_sql_token_next(&token)) {
        /* (SELECT ...) */
    }
    if (weir_sql_token_is(&token, "with")) {
        const char *const start = token.start;
        if (!skip_with(&token)) {
            return shape;
        }
        shape.with = span_of(start, token.start);
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(WRITES); i++) {
        if (weir_sql_token_is(&token, WRITES[i].verb)) {
            WRITES[i].read(token, &shape);
            return shape;
        }
    }
    shape.kind = kind_of_other(&token);
    shape.is_cascade = weir_sql_token_is(&token, "drop") && has_word(token, "cascade");
    return shape;
}
