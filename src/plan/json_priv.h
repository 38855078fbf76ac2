/* json_priv.h: reading DuckDB's plan: what the readers of this folder share.
 *
 * Nothing in the text is trusted: every field is looked up by name and type, every index is checked,
 * nesting is limited. A text that does not fit is refused with WEIR_ERR_PLAN. */
#ifndef WEIR_PLAN_JSON_PRIV_H
#define WEIR_PLAN_JSON_PRIV_H

#include "plan/ir.h"

/* json-c's value; its accessors are not const. */
typedef struct json_object Json;

enum {
    JSON_MAX_NESTING = 3000, /* of the text */
    JSON_MAX_DEPTH = 500,    /* of operators and of expressions */
    JSON_MAX_COLUMNS = 4096, /* of one operator */
    JSON_MAX_ROWS = 1000000, /* of one list of constant rows */
    JSON_MAX_TYPES = 256,    /* types kept for reuse */
};

/* The number that DuckDB prints for "none", and for the row id column. */
#define JSON_NO_INDEX UINT64_MAX

/* In Rel.columns: not a column of the node. */
#define REL_ROW_ID SIZE_MAX
#define REL_UNUSED (SIZE_MAX - 1)

/* A translated operator: its output columns, as parents count them, and where they are in node. */
typedef struct Rel {
    const IrNode *node;
    size_t count;
    const size_t *columns; /* column of node, REL_ROW_ID or REL_UNUSED (may not be read) */
} Rel;

/* The duplicate-free columns that the DELIM_GETs of a correlated subquery read. */
typedef struct DelimFrame {
    const struct DelimFrame *parent;
    const IrNode *node;
} DelimFrame;

/* A common table expression in scope. */
typedef struct CteFrame {
    const struct CteFrame *parent;
    uint64_t index;
    Rel rel;
} CteFrame;

typedef struct JsonReader {
    const PlanEnv *env;
    Ir *ir;
    Arena *arena;            /* the plan's */
    size_t depth;            /* of the operator or expression being read */
    const DelimFrame *delim; /* innermost first; NULL = none */
    const CteFrame *ctes;
    Json *scalar_first; /* the first() of a scalar subquery being read; NULL = none */
    size_t type_count;
    const LogicalType *types[JSON_MAX_TYPES];
} JsonReader;

/* Parameters and captures that the body of a lambda counts. */
typedef struct LambdaScope {
    size_t first_parameter; /* number of parameters of the lambdas around */
    size_t parameter_count;
    const Expr *const *captures;
    size_t capture_count;
} LambdaScope;

/* What BOUND_REFs count: left's columns, then right's; inside a lambda body, its scope. */
typedef struct JsonScope {
    const Rel *left;
    const Rel *right;          /* NULL = none */
    const LambdaScope *lambda; /* NULL = not inside a lambda */
} JsonScope;

/* An array inside the text. */
typedef struct JsonArray {
    Json *json;
    size_t count;
} JsonArray;

/* --- json.c: fields --- */

/* Parses the text; free with weir_json_free. */
Status weir_json_parse(const char *text, size_t size, Json **out, Error *err) WEIR_MUST_CHECK;
void weir_json_free(Json *json); /* NULL is allowed */

/* NULL if object is not an object, or the field is absent or null. */
Json *weir_json_find(Json *object, const char *key);

/* "" if it is absent or not a text. */
const char *weir_json_find_text(Json *object, const char *key);

/* False if it is absent. */
bool weir_json_find_flag(Json *object, const char *key);

Status weir_json_get(Json *object, const char *key, Json **out, Error *err) WEIR_MUST_CHECK;
Status weir_json_get_text(Json *object, const char *key, const char **out, Error *err)
    WEIR_MUST_CHECK;
Status weir_json_get_array(Json *object, const char *key, JsonArray *out, Error *err)
    WEIR_MUST_CHECK;

/* A natural number. */
Status weir_json_get_index(Json *object, const char *key, uint64_t *out, Error *err)
    WEIR_MUST_CHECK;
Status weir_json_as_index(Json *json, uint64_t *out, Error *err) WEIR_MUST_CHECK;
Status weir_json_as_array(Json *json, JsonArray *out, Error *err) WEIR_MUST_CHECK;

/* The text of a JSON string; it may hold NUL bytes, but is never cut by the arena's copy. */
Status weir_json_as_text(Json *json, const char **out, size_t *size, Error *err) WEIR_MUST_CHECK;
Json *weir_json_item(const JsonArray *array, size_t i);

/* A number in [low, high]. */
Status weir_json_as_integer(Json *json, i128 low, i128 high, i128 *out, Error *err) WEIR_MUST_CHECK;
Status weir_json_as_double(Json *json, double *out, Error *err) WEIR_MUST_CHECK;
Status weir_json_as_flag(Json *json, bool *out, Error *err) WEIR_MUST_CHECK;

/* Enters a level of nesting; weir_json_leave when done. Fails when it is too deep. */
Status weir_json_enter(JsonReader *reader, Error *err) WEIR_MUST_CHECK;
void weir_json_leave(JsonReader *reader);

/* --- json_type.c --- */

Status weir_json_read_type(JsonReader *reader, Json *json, const LogicalType **out, Error *err)
    WEIR_MUST_CHECK;

/* A list of types. */
Status weir_json_read_types(JsonReader *reader, Json *object, const char *key,
                            const LogicalType *const **out, size_t *count, Error *err)
    WEIR_MUST_CHECK;

/* --- json_value.c --- */

/* A constant: {"type", "is_null", "value"}; nested ones become calls that build them. */
Status weir_json_read_constant(JsonReader *reader, Json *json, const Expr **out, Error *err)
    WEIR_MUST_CHECK;

/* --- json_expr.c --- */

Status weir_json_read_expr(JsonReader *reader, const JsonScope *scope, Json *json, const Expr **out,
                           Error *err) WEIR_MUST_CHECK;

/* The field `key`, an array of expressions. */
Status weir_json_read_exprs(JsonReader *reader, const JsonScope *scope, Json *object,
                            const char *key, const Expr *const **out, size_t *count, Error *err)
    WEIR_MUST_CHECK;

/* Fails unless the expression is BOOLEAN. */
Status weir_json_check_boolean(const Expr *expr, Error *err) WEIR_MUST_CHECK;

/* The constant TRUE. */
bool weir_json_is_true(const Expr *expr);

/* DuckDB compares intervals and times with a zone by a function that brings equal ones to one form:
 * its argument if the expression is such a call, else NULL. */
const Expr *weir_json_form_argument(const Expr *expr);

/* Takes the function off if both operands have it: our comparisons know these types. */
void weir_json_strip_forms(const Expr **left, const Expr **right);
Status weir_json_read_compare(const char *name, CompareOp *out, Error *err) WEIR_MUST_CHECK;

/* An expression node in the plan's arena; NULL with err filled when out of memory. */
const Expr *weir_json_make_expr(JsonReader *reader, const Expr *proto, Error *err) WEIR_MUST_CHECK;
const Expr *weir_json_make_null(JsonReader *reader, const LogicalType *type, Error *err)
    WEIR_MUST_CHECK;
const Expr *weir_json_make_text(JsonReader *reader, const char *text, size_t size, Error *err)
    WEIR_MUST_CHECK;
const Expr *weir_json_make_bigint(JsonReader *reader, int64_t value, Error *err) WEIR_MUST_CHECK;

/* --- json_call.c --- */

Status weir_json_read_call(JsonReader *reader, const JsonScope *scope, Json *json, const Expr **out,
                           Error *err) WEIR_MUST_CHECK;

/* --- json_function.c: what is not a function of its arguments --- */

Status weir_json_check_function(JsonReader *reader, const char *name, size_t arg_count, Error *err)
    WEIR_MUST_CHECK;

/* --- json_plan.c, json_leaf.c, json_join.c, json_aggregate.c: operators --- */

typedef Status (*JsonRelReader)(JsonReader *reader, Json *json, Rel *out, Error *err);

Status weir_json_read_rel(JsonReader *reader, Json *json, Rel *out, Error *err) WEIR_MUST_CHECK;
Status weir_json_read_child(JsonReader *reader, Json *json, size_t index, Rel *out, Error *err)
    WEIR_MUST_CHECK;

/* All columns of the node, in order. */
Status weir_json_rel_of(JsonReader *reader, const IrNode *node, Rel *out, Error *err)
    WEIR_MUST_CHECK;

/* The relation as a node with exactly its columns. */
Status weir_json_rel_node(JsonReader *reader, const Rel *rel, const IrNode **out, Error *err)
    WEIR_MUST_CHECK;

/* The columns named by the array `key` of the operator; all if it is empty or absent. */
Status weir_json_rel_pick(JsonReader *reader, const Rel *rel, Json *json, const char *key, Rel *out,
                          Error *err) WEIR_MUST_CHECK;

/* Refuses a column that may not be read (a row id, or an unused one). */
Status weir_json_check_column(const Rel *rel, size_t index, Error *err) WEIR_MUST_CHECK;

/* The aggregate `json` over an operator that has been read. */
Status weir_json_read_aggregate_over(JsonReader *reader, Json *json, const Rel *child, Rel *out,
                                     Error *err) WEIR_MUST_CHECK;

/* Refuses an aggregate that has no operator; shown_name is how the user knows it. */
Status weir_json_check_call(const IrCall *call, const char *shown_name, Error *err) WEIR_MUST_CHECK;

/* --- json_subquery.c: uncorrelated subqueries --- */

/* True for the shape of a scalar subquery. */
bool weir_json_is_scalar(Json *json);

/* left's columns, then the value of the scalar subquery. */
Status weir_json_read_scalar(JsonReader *reader, Json *json, const Rel *left, Rel *out, Error *err)
    WEIR_MUST_CHECK;

/* rel's columns, found in node at the same places, then node's last column. */
Status weir_json_append_column(JsonReader *reader, const Rel *rel, const IrNode *node, Rel *out,
                               Error *err) WEIR_MUST_CHECK;

/* The shape of an uncorrelated EXISTS, a projection; *is_done tells if it is one. */
Status weir_json_read_exists(JsonReader *reader, Json *json, Rel *out, bool *is_done, Error *err)
    WEIR_MUST_CHECK;

Status weir_json_read_get(JsonReader *reader, Json *json, Rel *out, Error *err);
Status weir_json_read_dummy_scan(JsonReader *reader, Json *json, Rel *out, Error *err);
Status weir_json_read_expression_get(JsonReader *reader, Json *json, Rel *out, Error *err);
Status weir_json_read_chunk_get(JsonReader *reader, Json *json, Rel *out, Error *err);
Status weir_json_read_empty_result(JsonReader *reader, Json *json, Rel *out, Error *err);
Status weir_json_read_aggregate(JsonReader *reader, Json *json, Rel *out, Error *err);
Status weir_json_read_cross_product(JsonReader *reader, Json *json, Rel *out, Error *err);
Status weir_json_read_comparison_join(JsonReader *reader, Json *json, Rel *out, Error *err);
Status weir_json_read_any_join(JsonReader *reader, Json *json, Rel *out, Error *err);
Status weir_json_read_delim_join(JsonReader *reader, Json *json, Rel *out, Error *err);
Status weir_json_read_delim_get(JsonReader *reader, Json *json, Rel *out, Error *err);

/* --- json_single.c: correlated scalar subqueries --- */

typedef struct SingleJoin {
    const Rel *left;
    const Rel *right;
    const IrKey *keys;
    size_t key_count;
    size_t part_count; /* other conditions */
} SingleJoin;

Status weir_json_make_single(JsonReader *reader, const SingleJoin *single, Rel *out, Error *err)
    WEIR_MUST_CHECK;

/* --- json_top.c --- */

/* "a view cannot contain <what>"; hint may be NULL. Always fails. */
Status weir_json_refuse(const char *what, const char *hint, Error *err) WEIR_MUST_CHECK;

/* Refuses an operator that has no reader, by the name that a user knows. */
Status weir_json_refuse_operator(Json *json, const char *name, Error *err) WEIR_MUST_CHECK;

/* The whole text: the object around the plans, then the one plan. */
Status weir_json_read_plan(JsonReader *reader, Json *json, const IrNode **out, Error *err)
    WEIR_MUST_CHECK;

#endif
