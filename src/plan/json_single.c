/* json_single.c: correlated scalar subqueries, the join kind SINGLE.
 *
 * A LEFT join in which a left row may match one right row at most. If the right side has no two rows
 * of one key, it is that LEFT join. Otherwise the right side is grouped by the key,
 *
 *     left LEFT JOIN (SELECT key, min(x), count(*) FROM right GROUP BY key) ON key IS NOT DISTINCT,
 *     value = CASE WHEN count(*) > 1 THEN error(..) ELSE min(x) END,
 *
 * where min(x) is x whenever the count is 1; the error arises for a left row that matches two, as in
 * DuckDB. */
#include "plan/json_priv.h"

static const char MESSAGE[] =
    "More than one row returned by a subquery used as an expression - scalar subqueries can only "
    "return a single row.\n \nUse \"SET scalar_subquery_error_on_multiple_rows=false\" to revert "
    "to "
    "previous behavior of returning a random row.";

/* The key whose right side is this column; SIZE_MAX if there is none. */
static size_t find_key(const SingleJoin *single, size_t column)
{
    for (size_t k = 0; k < single->key_count; k++) {
        const Expr *right = single->keys[k].right;
        if (right->kind == EXPR_COLUMN && right->column == column) {
            return k;
        }
    }
    return SIZE_MAX;
}

static Status is_right_unique(JsonReader *reader, const SingleJoin *single, bool *out, Error *err)
{
    const IrNode *right = single->right->node;
    bool *columns = weir_arena_calloc(reader->arena, right->column_count, sizeof *columns, err);
    if (columns == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t k = 0; k < single->key_count; k++) {
        const Expr *key = single->keys[k].right;
        if (key->kind == EXPR_COLUMN) {
            columns[key->column] = true;
        }
    }
    return weir_ir_is_unique(reader->arena, right, columns, out, err);
}

/* left, then right's columns as they are. */
static Status make_left_join(JsonReader *reader, const SingleJoin *single, Rel *out, Error *err)
{
    const IrJoinSpec spec = {
        .kind = JOIN_LEFT, .keys = single->keys, .key_count = single->key_count};
    const size_t left_width = single->left->node->column_count;
    const size_t left_count = single->left->count;
    const size_t count = left_count + single->right->count;
    size_t *columns = weir_arena_calloc(reader->arena, count, sizeof *columns, err);
    out->node = weir_ir_join(reader->ir, single->left->node, single->right->node, &spec, err);
    if (columns == NULL || out->node == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < count; i++) {
        columns[i] =
            i < left_count ? single->left->columns[i] : single->right->columns[i - left_count];
        if (i >= left_count && columns[i] < single->right->node->column_count) {
            columns[i] += left_width;
        }
    }
    out->count = count;
    out->columns = columns;
    return WEIR_OK;
}

/* GROUP BY the keys: keys, then min of each right column, then count_star. */
static Status group_right(JsonReader *reader, const SingleJoin *single, const IrNode **out,
                          Error *err)
{
    const IrNode *right = single->right->node;
    const size_t call_count = right->column_count + 1;
    const Expr **groups =
        weir_arena_calloc(reader->arena, single->key_count, sizeof(const Expr *), err);
    IrCall *calls = weir_arena_calloc(reader->arena, call_count, sizeof *calls, err);
    if (groups == NULL || calls == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t k = 0; k < single->key_count; k++) {
        groups[k] = single->keys[k].right;
    }
    calls[0] = (IrCall){.name = "count_star", .type = weir_type_simple(TYPE_BIGINT)};
    size_t used = 1;
    for (size_t i = 0; i < right->column_count; i++) {
        if (find_key(single, i) != SIZE_MAX) {
            continue;
        }
        IrCall *call = &calls[used++];
        *call = (IrCall){.name = "min", .arg_count = 1, .type = right->types[i]};
        call->args[0] = weir_expr_column(reader->arena, i, right->types[i], err);
        if (call->args[0] == NULL) {
            return weir_ir_failure(err);
        }
        WEIR_TRY(weir_json_check_call(call, "first (a correlated subquery as a value)", err));
    }
    const IrAggregateSpec spec = {
        .groups = groups, .group_count = single->key_count, .calls = calls, .call_count = used};
    *out = weir_ir_aggregate(reader->ir, right, &spec, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* CASE WHEN count > 1 THEN error(MESSAGE) ELSE value END over the joined columns. */
static Status make_check(JsonReader *reader, const Expr *count, const Expr *value, const Expr **out,
                         Error *err)
{
    const Expr **compared = weir_arena_calloc(reader->arena, 2, sizeof(const Expr *), err);
    const Expr **message = weir_arena_alloc(reader->arena, sizeof(const Expr *), err);
    const Expr **args = weir_arena_calloc(reader->arena, 3, sizeof(const Expr *), err);
    if (compared == NULL || message == NULL || args == NULL) {
        return weir_ir_failure(err);
    }
    compared[0] = count;
    compared[1] = weir_json_make_bigint(reader, 1, err);
    message[0] = weir_json_make_text(reader, MESSAGE, sizeof MESSAGE - 1, err);
    if (compared[1] == NULL || message[0] == NULL) {
        return weir_ir_failure(err);
    }
    const Expr test = {
        .kind = EXPR_COMPARE,
        .type = weir_type_simple(TYPE_BOOLEAN),
        .args = compared,
        .arg_count = 2,
        .compare = COMPARE_GT,
    };
    args[0] = weir_json_make_expr(reader, &test, err);
    args[1] = weir_expr_call(reader->arena, "error", value->type, message, 1, err);
    args[2] = value;
    const Expr check = {.kind = EXPR_CASE, .type = value->type, .args = args, .arg_count = 3};
    *out = args[0] == NULL || args[1] == NULL ? NULL : weir_json_make_expr(reader, &check, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* The joined columns in the order of left, then right, each value behind its check. */
static Status project_checked(JsonReader *reader, const SingleJoin *single, const IrNode *join,
                              Rel *out, Error *err)
{
    const size_t left_width = single->left->node->column_count;
    const size_t right_width = single->right->node->column_count;
    const Expr **exprs =
        weir_arena_calloc(reader->arena, left_width + right_width, sizeof(const Expr *), err);
    const size_t count_column = left_width + single->key_count;
    const Expr *count =
        weir_expr_column(reader->arena, count_column, join->types[count_column], err);
    if (exprs == NULL || count == NULL) {
        return weir_ir_failure(err);
    }
    size_t next = count_column + 1;
    for (size_t i = 0; i < left_width + right_width; i++) {
        size_t column = i;
        const size_t key = i < left_width ? 0 : find_key(single, i - left_width);
        if (i >= left_width) {
            column = key == SIZE_MAX ? next++ : left_width + key;
        }
        exprs[i] = weir_expr_column(reader->arena, column, join->types[column], err);
        if (exprs[i] == NULL) {
            return weir_ir_failure(err);
        }
        if (key == SIZE_MAX) {
            WEIR_TRY(make_check(reader, count, exprs[i], &exprs[i], err));
        }
    }
    out->node = weir_ir_project(reader->ir, join, exprs, left_width + right_width, err);
    return out->node == NULL ? weir_ir_failure(err) : WEIR_OK;
}

Status weir_json_make_single(JsonReader *reader, const SingleJoin *single, Rel *out, Error *err)
{
    bool is_unique = false;
    for (size_t k = 0; k < single->key_count; k++) {
        if (!single->keys[k].is_null_safe) {
            return weir_json_refuse("this form of correlated subquery", "write it as a join", err);
        }
    }
    if (single->part_count > 0 || single->key_count == 0) {
        return weir_json_refuse("this form of correlated subquery", "write it as a join", err);
    }
    WEIR_TRY(is_right_unique(reader, single, &is_unique, err));
    WEIR_TRY(make_left_join(reader, single, out, err));
    if (is_unique) {
        return WEIR_OK;
    }
    const IrNode *grouped = NULL;
    WEIR_TRY(group_right(reader, single, &grouped, err));
    IrKey *keys = weir_arena_calloc(reader->arena, single->key_count, sizeof *keys, err);
    if (keys == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t k = 0; k < single->key_count; k++) {
        keys[k] = single->keys[k];
        keys[k].right = weir_expr_column(reader->arena, k, grouped->types[k], err);
        if (keys[k].right == NULL) {
            return weir_ir_failure(err);
        }
    }
    const IrJoinSpec spec = {.kind = JOIN_LEFT, .keys = keys, .key_count = single->key_count};
    const IrNode *join = weir_ir_join(reader->ir, single->left->node, grouped, &spec, err);
    return join == NULL ? weir_ir_failure(err) : project_checked(reader, single, join, out, err);
}
