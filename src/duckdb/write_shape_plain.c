/* write_shape_plain.c: parts of statements that give the same whenever they are evaluated. */
#include "base/sql_lexer.h"
#include "duckdb/write_shape.h"

/* Words before a bracket that are no functions. */
static bool is_operator_word(const SqlToken *token)
{
    static const char *const WORDS[] = {"and", "or",   "not",  "in",   "is",   "like", "ilike",
                                        "on",  "then", "else", "when", "case", "as",   "between"};
    return weir_sql_token_is_one_of(token, WORDS, WEIR_ARRAY_COUNT(WORDS));
}

bool weir_sql_span_is_plain(SqlSpan span)
{
    static const char *const QUERIES[] = {"select", "from", "values", "pivot", "tablesample"};
    SqlToken token = {.end = span.start};
    bool may_be_call = false;
    while (span.start != NULL && token.end < span.start + span.size &&
           weir_sql_token_next(&token)) {
        const bool is_name = weir_sql_token_is_name(&token);
        if ((may_be_call && *token.start == '(') ||
            (is_name && weir_sql_token_is_one_of(&token, QUERIES, WEIR_ARRAY_COUNT(QUERIES)))) {
            return false;
        }
        may_be_call = is_name && !is_operator_word(&token);
    }
    return true;
}
