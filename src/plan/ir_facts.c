/* ir_facts.c: what a node guarantees about its rows.
 *
 * Both answers are safe: false means "not known". They walk shared nodes again and again, so that a
 * budget of visits bounds them. */
#include "plan/ir.h"

enum { VISIT_BUDGET = 2000 };

static bool is_single_row(const IrNode *node, size_t *budget)
{
    if (*budget == 0) {
        return false;
    }
    (*budget)--;
    switch (node->kind) {
    case IR_SCAN:
    case IR_FILTER:
    case IR_UNION: return false;
    case IR_VALUES: return weir_ir_as_values(node)->row_count == 1;
    case IR_PROJECT:
    case IR_DISTINCT: return is_single_row(node->children[0], budget);
    case IR_AGGREGATE: return weir_ir_as_aggregate(node)->group_count == 0;
    case IR_JOIN: break;
    }
    const IrJoin *join = weir_ir_as_join(node);
    if (join->kind == JOIN_MARK) {
        return is_single_row(node->children[0], budget);
    }
    return (join->kind == JOIN_LEFT ||
            (join->key_count == 0 && join->residual == NULL && join->kind == JOIN_INNER)) &&
           is_single_row(node->children[0], budget) && is_single_row(node->children[1], budget);
}

bool weir_ir_is_single_row(const IrNode *node)
{
    size_t budget = VISIT_BUDGET;
    return is_single_row(node, &budget);
}

static bool is_never_null(const IrNode *node, size_t column, size_t *budget);

static bool is_value_never_null(const IrNode *child, const Expr *expr, size_t *budget)
{
    if (expr->kind == EXPR_CONSTANT) {
        return !expr->value.is_null;
    }
    return expr->kind == EXPR_COLUMN && is_never_null(child, expr->column, budget);
}

static bool is_filter_never_null(const IrNode *node, size_t column, size_t *budget)
{
    const IrFilter *filter = weir_ir_as_filter(node);
    for (size_t i = 0; i < filter->predicate_count; i++) {
        const Expr *test = filter->predicates[i];
        if (test->kind == EXPR_IS_NOT_NULL && test->args[0]->kind == EXPR_COLUMN &&
            test->args[0]->column == column) {
            return true;
        }
    }
    return is_never_null(node->children[0], column, budget);
}

static bool is_join_never_null(const IrNode *node, size_t column, size_t *budget)
{
    const IrJoin *join = weir_ir_as_join(node);
    const size_t source = weir_ir_join_source(join, column);
    const size_t left_count = node->children[0]->column_count;
    if (source == SIZE_MAX || join->kind == JOIN_FULL ||
        (source >= left_count && join->kind != JOIN_INNER)) {
        return false;
    }
    for (size_t k = 0; k < join->key_count; k++) {
        const IrKey *key = &join->keys[k];
        const Expr *own = source < left_count ? key->left : key->right;
        const size_t place = source < left_count ? source : source - left_count;
        if ((join->kind == JOIN_INNER || join->kind == JOIN_SEMI) && !key->is_null_safe &&
            own->kind == EXPR_COLUMN && own->column == place) {
            return true;
        }
    }
    return source < left_count ? is_never_null(node->children[0], source, budget)
                               : is_never_null(node->children[1], source - left_count, budget);
}

static bool is_never_null(const IrNode *node, size_t column, size_t *budget)
{
    if (*budget == 0) {
        return false;
    }
    (*budget)--;
    switch (node->kind) {
    case IR_SCAN:
    case IR_VALUES: return false;
    case IR_FILTER: return is_filter_never_null(node, column, budget);
    case IR_DISTINCT: return is_never_null(node->children[0], column, budget);
    case IR_PROJECT:
        return is_value_never_null(node->children[0], weir_ir_as_project(node)->exprs[column],
                                   budget);
    case IR_AGGREGATE: {
        const IrAggregate *aggregate = weir_ir_as_aggregate(node);
        return column < aggregate->group_count &&
               is_value_never_null(node->children[0], aggregate->groups[column], budget);
    }
    case IR_UNION:
        for (size_t i = 0; i < node->child_count; i++) {
            if (!is_never_null(node->children[i], column, budget)) {
                return false;
            }
        }
        return true;
    case IR_JOIN: return is_join_never_null(node, column, budget);
    }
    return false;
}

bool weir_ir_is_never_null(const IrNode *node, size_t column)
{
    size_t budget = VISIT_BUDGET;
    return is_never_null(node, column, &budget);
}

typedef struct UniqueSearch {
    Arena *arena;
    size_t budget;
} UniqueSearch;

static Status find_unique(UniqueSearch *search, const IrNode *node, const bool *columns, bool *out,
                          Error *err);

static Status find_unique_project(UniqueSearch *search, const IrNode *node, const bool *columns,
                                  bool *out, Error *err)
{
    const IrNode *child = node->children[0];
    const Expr *const *exprs = weir_ir_as_project(node)->exprs;
    bool *below = weir_arena_calloc(search->arena, child->column_count, sizeof *below, err);
    if (below == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        if (columns[i] && exprs[i]->kind == EXPR_COLUMN) {
            below[exprs[i]->column] = true;
        }
    }
    return find_unique(search, child, below, out, err);
}

/* Adds to `set` the columns of one side's plain keys whose partner is in `partner_set`; all of them
 * if partner_set is NULL. */
static void add_keys(const IrJoin *join, bool to_left, const bool *partner_set, bool *set)
{
    for (size_t k = 0; k < join->key_count; k++) {
        const Expr *key = to_left ? join->keys[k].left : join->keys[k].right;
        const Expr *partner = to_left ? join->keys[k].right : join->keys[k].left;
        const bool is_bound =
            partner_set == NULL || (partner->kind == EXPR_COLUMN && partner_set[partner->column]);
        if (key->kind == EXPR_COLUMN && is_bound) {
            set[key->column] = true;
        }
    }
}

/* Rows that agree on the columns are one pair if one side's row is fixed by them, and the other's by
 * them and the keys, which are then fixed too. */
static Status find_unique_join(UniqueSearch *search, const IrNode *node, const bool *columns,
                               bool *out, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    const IrNode *left = node->children[0];
    const IrNode *right = node->children[1];
    bool *sets[2] = {
        weir_arena_calloc(search->arena, left->column_count, sizeof(bool), err),
        weir_arena_calloc(search->arena, right->column_count, sizeof(bool), err),
    };
    if (sets[0] == NULL || sets[1] == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < join->left_output_count; i++) {
        sets[0][join->left_output[i]] |= columns[i];
    }
    for (size_t i = 0; i < join->right_output_count; i++) {
        sets[1][join->right_output[i]] |= columns[join->left_output_count + i];
    }
    if (!weir_ir_join_shows_right(join->kind)) {
        return find_unique(search, left, sets[0], out, err);
    }
    if (join->kind == JOIN_FULL) {
        *out = false;
        return WEIR_OK;
    }
    if (join->kind == JOIN_INNER) {
        add_keys(join, true, sets[1], sets[0]);
    }
    bool is_unique = false;
    WEIR_TRY(find_unique(search, left, sets[0], &is_unique, err));
    if (is_unique) {
        add_keys(join, false, NULL, sets[1]);
        return find_unique(search, right, sets[1], out, err);
    }
    if (join->kind == JOIN_INNER) {
        add_keys(join, false, sets[0], sets[1]);
        WEIR_TRY(find_unique(search, right, sets[1], &is_unique, err));
        if (is_unique) {
            add_keys(join, true, NULL, sets[0]);
            return find_unique(search, left, sets[0], out, err);
        }
    }
    *out = false;
    return WEIR_OK;
}

static bool has_all(const bool *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!columns[i]) {
            return false;
        }
    }
    return true;
}

static Status find_unique(UniqueSearch *search, const IrNode *node, const bool *columns, bool *out,
                          Error *err)
{
    *out = weir_ir_is_single_row(node);
    if (*out || search->budget == 0) {
        return WEIR_OK;
    }
    search->budget--;
    switch (node->kind) {
    case IR_SCAN:
    case IR_VALUES:
    case IR_UNION: return WEIR_OK;
    case IR_FILTER: return find_unique(search, node->children[0], columns, out, err);
    case IR_PROJECT: return find_unique_project(search, node, columns, out, err);
    case IR_AGGREGATE:
        *out = has_all(columns, weir_ir_as_aggregate(node)->group_count);
        return WEIR_OK;
    case IR_DISTINCT:
        *out = has_all(columns, node->column_count);
        return *out ? WEIR_OK : find_unique(search, node->children[0], columns, out, err);
    case IR_JOIN: return find_unique_join(search, node, columns, out, err);
    }
    return WEIR_OK;
}

Status weir_ir_is_unique(Arena *arena, const IrNode *node, const bool *columns, bool *out,
                         Error *err)
{
    UniqueSearch search = {.arena = arena, .budget = VISIT_BUDGET / 10};
    *out = false;
    const ArenaMark mark = weir_arena_mark(arena);
    const Status status = find_unique(&search, node, columns, out, err);
    weir_arena_release(arena, mark);
    return status;
}
