/* rule_join.c: predicates above a join, and its residual, where they belong.
 *
 *               above the join, or (INNER) in its residual     in the residual
 *   INNER       one side: below. left = right: a key. Else the residual.
 *   LEFT        left side: below. Rejects NULL of the right    right side: below. left = right:
 *               side: the join becomes INNER. Else above.      a key. Else the residual.
 *   FULL        above.                                         left = right: a key.
 *   SEMI        below left.                                    one side: below. left = right: a key.
 *   ANTI        below left.                                    right side: below. left = right: a key.
 *   MARK        the mark itself: the join becomes SEMI. NOT    stays.
 *               of a mark that is never NULL: ANTI. Left side:
 *               below.
 *
 * What can fail moves neither below nor into a key, with one exception: where a join would have no
 * key at all, an equality that can fail becomes one. DuckDB does the same, and a product of all rows
 * is the alternative. */
#include "plan/rule_priv.h"

typedef struct JoinPusher {
    FilterPusher *pusher;
    const IrNode *node;
    const IrJoin *join;
    size_t left_count;
    size_t right_count;
    JoinKind kind;
    ExprList left;     /* predicates for the left side, over left */
    ExprList right;    /* for the right side, over right */
    ExprList residual; /* over left ++ right */
    ExprList above;    /* over the output */
    size_t key_count;
    IrKey *keys;
} JoinPusher;

static Ir *ir_of(const JoinPusher *j)
{
    return j->pusher->ir;
}

/* An expression over left ++ right, all of the right side, as one over right. */
static const Expr *to_right(const JoinPusher *j, const Expr *expr, Error *err)
{
    return weir_rule_shift_left(ir_of(j), expr, j->left_count, j->right_count, err);
}

static Status add_right(JoinPusher *j, const Expr *predicate, Error *err)
{
    const Expr *below = to_right(j, predicate, err);
    if (below == NULL) {
        return weir_ir_failure(err);
    }
    weir_rule_list_add(&j->right, below);
    return WEIR_OK;
}

/* --- keys --- */

/* left = right, or left IS NOT DISTINCT FROM right, one operand of each side. */
static bool is_equality(const JoinPusher *j, const Expr *part)
{
    if (part->kind != EXPR_COMPARE ||
        (part->compare != COMPARE_EQ && part->compare != COMPARE_NOT_DISTINCT)) {
        return false;
    }
    const unsigned first = weir_rule_sides(part->args[0], j->left_count);
    const unsigned second = weir_rule_sides(part->args[1], j->left_count);
    return (first == RULE_LEFT && second == RULE_RIGHT) ||
           (first == RULE_RIGHT && second == RULE_LEFT);
}

static Status add_key(JoinPusher *j, const Expr *part, Error *err)
{
    const bool is_in_order = weir_rule_sides(part->args[0], j->left_count) == RULE_LEFT;
    IrKey key = {
        .left = part->args[is_in_order ? 0 : 1],
        .is_null_safe = part->compare == COMPARE_NOT_DISTINCT,
    };
    key.right = to_right(j, part->args[is_in_order ? 1 : 0], err);
    if (key.right == NULL) {
        return weir_ir_failure(err);
    }
    j->keys[j->key_count++] = key;
    return WEIR_OK;
}

/* The join has no key: takes the first equality of the residual, though it can fail. */
static Status take_failing_key(JoinPusher *j, Error *err)
{
    if (j->key_count > 0 || j->kind == JOIN_MARK) {
        return WEIR_OK;
    }
    for (size_t i = 0; i < j->residual.count; i++) {
        if (!is_equality(j, j->residual.items[i])) {
            continue;
        }
        WEIR_TRY(add_key(j, j->residual.items[i], err));
        j->residual.count--;
        for (; i < j->residual.count; i++) {
            j->residual.items[i] = j->residual.items[i + 1];
        }
        return WEIR_OK;
    }
    return WEIR_OK;
}

/* --- parts of the join's condition --- */

/* A part that all pairs must fulfil. */
static Status place_part(JoinPusher *j, const Expr *part, Error *err)
{
    const unsigned sides = weir_rule_sides(part, j->left_count);
    const bool may_filter_left = j->kind == JOIN_INNER || j->kind == JOIN_SEMI;
    const bool may_filter_right = may_filter_left || j->kind == JOIN_LEFT || j->kind == JOIN_ANTI;
    if (!weir_expr_can_fail(part)) {
        if (sides == RULE_RIGHT && may_filter_right) {
            return add_right(j, part, err);
        }
        if ((sides == RULE_LEFT || sides == 0) && may_filter_left) {
            weir_rule_list_add(&j->left, part);
            return WEIR_OK;
        }
        if (is_equality(j, part)) {
            return add_key(j, part, err);
        }
    }
    weir_rule_list_add(&j->residual, part);
    return WEIR_OK;
}

/* The residual of a MARK that is only tested for TRUE: NULL and FALSE are alike, so that the test
 * for NULL that the reader put in front can go. */
static const Expr *without_null_test(const Expr *residual)
{
    const bool is_guarded = residual->kind == EXPR_CASE && residual->arg_count == 3 &&
                            residual->args[1]->kind == EXPR_CONSTANT &&
                            residual->args[1]->value.is_null;
    return is_guarded ? residual->args[2] : residual;
}

static Status place_residual(JoinPusher *j, Error *err)
{
    const Expr *residual = j->join->residual;
    ExprList parts = {0};
    if (residual == NULL) {
        return WEIR_OK;
    }
    if (j->kind == JOIN_MARK) {
        weir_rule_list_add(&j->residual, residual);
        return WEIR_OK;
    }
    if (j->join->kind == JOIN_MARK) {
        residual = without_null_test(residual);
    }
    WEIR_TRY(weir_rule_split(ir_of(j), &residual, 1, &parts, err));
    for (size_t i = 0; i < parts.count; i++) {
        WEIR_TRY(place_part(j, parts.items[i], err));
    }
    return WEIR_OK;
}

/* --- predicates above the join --- */

/* The predicate over left ++ right instead of the output; NULL in *out if it reads the mark. */
static Status to_sides(const JoinPusher *j, const Expr *predicate, const Expr **out, Error *err)
{
    const size_t count = j->node->column_count;
    *out = NULL;
    if (j->join->kind == JOIN_MARK && weir_rule_reads(predicate, count - 1)) {
        return WEIR_OK;
    }
    size_t *map = weir_arena_calloc(ir_of(j)->arena, count, sizeof *map, err);
    if (map == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < count; i++) {
        map[i] = weir_ir_join_source(j->join, i);
    }
    *out = weir_expr_remap(ir_of(j)->arena, predicate, map, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* True if the predicate is not TRUE when all columns of the right side are NULL. */
static bool rejects_null_right(const JoinPusher *j, const Expr *part)
{
    if (part->kind == EXPR_IS_NOT_NULL) {
        return part->args[0]->kind == EXPR_COLUMN && part->args[0]->column >= j->left_count;
    }
    if (part->kind != EXPR_COMPARE || part->compare == COMPARE_DISTINCT ||
        part->compare == COMPARE_NOT_DISTINCT) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        const Expr *operand = part->args[i];
        if (operand->kind == EXPR_COLUMN && operand->column >= j->left_count) {
            return true;
        }
    }
    return false;
}

/* What the join becomes when these predicates stand above it. */
static Status choose_kind(JoinPusher *j, const ExprList *predicates, Error *err)
{
    j->kind = j->join->kind;
    for (size_t i = 0; i < predicates->count; i++) {
        const Expr *predicate = predicates->items[i];
        const size_t mark = j->node->column_count - 1;
        if (j->join->kind == JOIN_LEFT) {
            const Expr *part = NULL;
            WEIR_TRY(to_sides(j, predicate, &part, err));
            if (part != NULL && rejects_null_right(j, part)) {
                j->kind = JOIN_INNER;
            }
        }
        if (j->join->kind == JOIN_MARK && predicate->kind == EXPR_COLUMN &&
            predicate->column == mark) {
            j->kind = JOIN_SEMI;
        }
        bool is_exists = j->join->residual == NULL;
        for (size_t k = 0; k < j->join->key_count; k++) {
            is_exists = is_exists && j->join->keys[k].is_null_safe;
        }
        if (j->join->kind == JOIN_MARK && is_exists && predicate->kind == EXPR_NOT &&
            predicate->args[0]->kind == EXPR_COLUMN && predicate->args[0]->column == mark &&
            j->kind == JOIN_MARK) {
            j->kind = JOIN_ANTI;
        }
    }
    return WEIR_OK;
}

/* A predicate that tests the mark the join has become: nothing is left of it. */
static bool is_done_by_kind(const JoinPusher *j, const Expr *predicate)
{
    const size_t mark = j->node->column_count - 1;
    if (j->join->kind != JOIN_MARK || j->kind == JOIN_MARK) {
        return false;
    }
    const Expr *tested =
        j->kind == JOIN_ANTI && predicate->kind == EXPR_NOT ? predicate->args[0] : predicate;
    return tested->kind == EXPR_COLUMN && tested->column == mark &&
           (predicate->kind == EXPR_NOT) == (j->kind == JOIN_ANTI);
}

static Status place_predicate(JoinPusher *j, const Expr *predicate, Error *err)
{
    const Expr *part = NULL;
    if (is_done_by_kind(j, predicate)) {
        return WEIR_OK;
    }
    WEIR_TRY(to_sides(j, predicate, &part, err));
    const bool can_fail = weir_expr_can_fail(predicate);
    const bool is_blocked = can_fail && j->above.count > 0;
    if (part != NULL && j->kind == JOIN_INNER && !is_blocked) {
        return place_part(j, part, err);
    }
    if (part != NULL && !can_fail && j->kind != JOIN_FULL &&
        weir_rule_sides(part, j->left_count) == RULE_LEFT) {
        weir_rule_list_add(&j->left, part);
        return WEIR_OK;
    }
    weir_rule_list_add(&j->above, predicate);
    return WEIR_OK;
}

/* --- the new join --- */

static Status init_pusher(JoinPusher *j, const ExprList *predicates, Error *err)
{
    const size_t own = j->join->residual == NULL ? 0 : weir_rule_count_parts(j->join->residual) + 1;
    const size_t capacity = own + predicates->count;
    WEIR_TRY(weir_rule_list_init(ir_of(j), &j->left, capacity, err));
    WEIR_TRY(weir_rule_list_init(ir_of(j), &j->right, capacity, err));
    WEIR_TRY(weir_rule_list_init(ir_of(j), &j->residual, capacity, err));
    WEIR_TRY(weir_rule_list_init(ir_of(j), &j->above, capacity, err));
    j->keys =
        weir_arena_calloc(ir_of(j)->arena, j->join->key_count + capacity, sizeof *j->keys, err);
    if (j->keys == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t k = 0; k < j->join->key_count; k++) {
        j->keys[j->key_count++] = j->join->keys[k];
    }
    return WEIR_OK;
}

/* The columns of a former MARK: those of the join, then the mark that the kind implies. */
static const IrNode *add_mark(const JoinPusher *j, const IrNode *join, Error *err)
{
    Ir *ir = ir_of(j);
    const LogicalType *type = weir_type_simple(TYPE_BOOLEAN);
    const size_t count = join->column_count + 1;
    const Expr **exprs = weir_arena_calloc(ir->arena, count, sizeof(const Expr *), err);
    if (exprs == NULL || weir_rule_columns(ir, join, exprs, err) != WEIR_OK) {
        return NULL;
    }
    Value mark = {.type = type};
    mark.data.bytes[0] = j->kind == JOIN_SEMI ? 1 : 0;
    exprs[count - 1] = weir_expr_constant(ir->arena, &mark, err);
    return exprs[count - 1] == NULL ? NULL : weir_ir_project(ir, join, exprs, count, err);
}

static Status rebuild(JoinPusher *j, const IrNode **out, Error *err)
{
    const IrNode *sides[2] = {NULL, NULL};
    WEIR_TRY(weir_rule_push(j->pusher, j->node->children[0], &j->left, &sides[0], err));
    WEIR_TRY(weir_rule_push(j->pusher, j->node->children[1], &j->right, &sides[1], err));
    IrJoinSpec spec = weir_ir_join_spec(j->join);
    spec.kind = j->kind;
    spec.keys = j->keys;
    spec.key_count = j->key_count;
    spec.residual = NULL;
    if (j->residual.count > 0) {
        spec.residual = weir_expr_and(ir_of(j)->arena, j->residual.items, j->residual.count, err);
        if (spec.residual == NULL) {
            return weir_ir_failure(err);
        }
    }
    const IrNode *join = weir_ir_join(ir_of(j), sides[0], sides[1], &spec, err);
    if (join != NULL && j->join->kind == JOIN_MARK && j->kind != JOIN_MARK) {
        join = add_mark(j, join, err);
    }
    *out = join == NULL ? NULL : weir_rule_filter(ir_of(j), join, &j->above, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

Status weir_rule_push_join(FilterPusher *pusher, const IrNode *node, const ExprList *predicates,
                           const IrNode **out, Error *err)
{
    JoinPusher j = {
        .pusher = pusher,
        .node = node,
        .join = weir_ir_as_join(node),
        .left_count = node->children[0]->column_count,
        .right_count = node->children[1]->column_count,
    };
    ExprList parts = {0};
    WEIR_TRY(weir_rule_split(pusher->ir, predicates->items, predicates->count, &parts, err));
    WEIR_TRY(init_pusher(&j, &parts, err));
    WEIR_TRY(choose_kind(&j, &parts, err));
    WEIR_TRY(place_residual(&j, err));
    for (size_t i = 0; i < parts.count; i++) {
        WEIR_TRY(place_predicate(&j, parts.items[i], err));
    }
    WEIR_TRY(take_failing_key(&j, err));
    return rebuild(&j, out, err);
}
