/* rule_delim.c: correlated subqueries without the distinct outer values.
 *
 * A correlated subquery is read as left JOIN R(D) ON its correlated columns IS NOT DISTINCT, where
 * D = DISTINCT(correlated columns of left). Mostly R joins D with something that knows the values
 * itself:
 *
 *     X JOIN D ON x = d   is   X WHERE x IS NOT NULL, with x in the place of d,
 *
 * except for rows whose x is in no left row. Those rows make partitions of their own all the way up
 * if every operator keeps the partitions by d apart, and match nothing in the end. So D goes if the
 * path from it to the join consists of: filters, projections that keep the columns, groupings by
 * them, DISTINCT, unions of such paths, joins with what does not read D, and joins on all of them of
 * two such paths. A count needs D itself, for its zeros:
 *
 *     left JOIN (D LEFT JOIN Y ON d) ON d   is   left LEFT JOIN Y, with left's columns for d.
 *
 * Nothing on the path may fail, since it sees more rows than before; and equal values of D's types
 * must be alike. Nodes on the path with other parents are left alone. */
#include "plan/rule_delim_priv.h"

enum { ROUNDS_MAX = 64 };

typedef struct DelimSearch {
    Ir *ir;
    size_t *parent_counts;
    bool *is_seen;
    const IrNode *found;       /* a join that was made again; NULL = none */
    const IrNode *replacement; /* of found */
} DelimSearch;

/* --- recognising --- */

/* The key of the join that says: the correlated expression is not distinct from a right column. */
static size_t find_key(const IrJoin *join, const Expr *expr)
{
    for (size_t k = 0; k < join->key_count; k++) {
        const IrKey *key = &join->keys[k];
        if (key->is_null_safe && key->right->kind == EXPR_COLUMN &&
            weir_expr_equal(key->left, expr)) {
            return k;
        }
    }
    return SIZE_MAX;
}

/* True if the node is DISTINCT of values of base, each of which is a key of the join. */
static bool is_delim(const Delim *d, const IrJoin *join, const IrNode *node)
{
    if (node->kind != IR_DISTINCT || node->children[0]->kind != IR_PROJECT ||
        node->children[0]->children[0] != d->base) {
        return false;
    }
    const Expr *const *exprs = weir_ir_as_project(node->children[0])->exprs;
    for (size_t j = 0; j < node->column_count; j++) {
        if (weir_type_is_lossy(node->types[j]) || find_key(join, exprs[j]) == SIZE_MAX) {
            return false;
        }
    }
    return true;
}

static const IrNode *search_delim(const Delim *d, const IrJoin *join, const IrNode *node,
                                  bool *is_seen)
{
    if (is_seen[node->id]) {
        return NULL;
    }
    is_seen[node->id] = true;
    if (is_delim(d, join, node)) {
        return node;
    }
    for (size_t i = 0; i < node->child_count; i++) {
        const IrNode *found = search_delim(d, join, node->children[i], is_seen);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

/* Finds D on the right side of the join; d->node stays NULL if there is none. */
static Status find_delim(Delim *d, const IrNode *node, Error *err)
{
    d->base = node->children[0];
    while (d->base->kind == IR_FILTER) {
        d->base = d->base->children[0];
    }
    const ArenaMark mark = weir_arena_mark(d->ir->arena);
    bool *is_seen = weir_arena_calloc(d->ir->arena, d->ir->node_count, sizeof *is_seen, err);
    if (is_seen == NULL) {
        return weir_ir_failure(err);
    }
    d->node = search_delim(d, weir_ir_as_join(node), node->children[1], is_seen);
    weir_arena_release(d->ir->arena, mark);
    if (d->node != NULL) {
        d->count = d->node->column_count;
        d->exprs = weir_ir_as_project(d->node->children[0])->exprs;
    }
    return WEIR_OK;
}

/* --- the join over the freed right side --- */

static Status free_right(const Delim *d, const IrNode *node, const IrNode **out, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    Freed right = {0};
    WEIR_TRY(weir_rule_free(d, node->children[1], &right, err));
    if (right.node == NULL) {
        return WEIR_OK;
    }
    for (size_t j = 0; j < d->count; j++) {
        const size_t k = find_key(join, d->exprs[j]);
        if (join->keys[k].right->column != right.columns[j]) {
            return WEIR_OK;
        }
    }
    const IrJoinSpec spec = weir_ir_join_spec(join);
    *out = weir_ir_join(d->ir, node->children[0], right.node, &spec, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* --- left JOIN (D LEFT JOIN Y) --- */

/* True if the node is D LEFT JOIN Y by all of D's columns and nothing else. */
static bool is_padded(const Delim *d, const IrNode *node)
{
    if (node->kind != IR_JOIN || node->children[0] != d->node) {
        return false;
    }
    const IrJoin *join = weir_ir_as_join(node);
    bool is_right =
        join->kind == JOIN_LEFT && join->residual == NULL && join->key_count == d->count;
    for (size_t j = 0; is_right && j < d->count; j++) {
        is_right = false;
        for (size_t k = 0; k < join->key_count; k++) {
            const IrKey *key = &join->keys[k];
            is_right = is_right || (key->is_null_safe && key->left->kind == EXPR_COLUMN &&
                                    key->left->column == j);
        }
    }
    return is_right;
}

/* What the padded join's output columns are over left ++ Y. */
static Status over_left(const Delim *d, const IrNode *padded, size_t left_count,
                        const Expr *const **out, Error *err)
{
    const Expr **exprs =
        weir_arena_calloc(d->ir->arena, padded->column_count, sizeof(const Expr *), err);
    if (exprs == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < padded->column_count; i++) {
        const size_t source = weir_ir_join_source(weir_ir_as_join(padded), i);
        exprs[i] = source < d->count
                       ? d->exprs[source]
                       : weir_expr_column(d->ir->arena, left_count + (source - d->count),
                                          padded->types[i], err);
        if (exprs[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    *out = exprs;
    return WEIR_OK;
}

/* left LEFT JOIN Y: the keys of the padded join, with left's expressions for D's columns. */
static const IrNode *join_left(const Delim *d, const IrNode *left, const IrNode *padded, Error *err)
{
    const IrJoin *join = weir_ir_as_join(padded);
    IrKey *keys = weir_arena_calloc(d->ir->arena, d->count, sizeof *keys, err);
    if (keys == NULL) {
        return NULL;
    }
    for (size_t k = 0; k < d->count; k++) {
        keys[k] = join->keys[k];
        keys[k].left = d->exprs[join->keys[k].left->column];
    }
    const IrJoinSpec spec = {.kind = JOIN_LEFT, .keys = keys, .key_count = d->count};
    return weir_ir_join(d->ir, left, padded->children[1], &spec, err);
}

static Status unpad(const Delim *d, const IrNode *node, const IrNode **out, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    const IrNode *right = node->children[1];
    const IrNode *padded = right->kind == IR_PROJECT ? right->children[0] : right;
    const size_t left_count = node->children[0]->column_count;
    if ((join->kind != JOIN_LEFT && join->kind != JOIN_INNER) || join->residual != NULL ||
        join->key_count != d->count || !is_padded(d, padded)) {
        return WEIR_OK;
    }
    const Expr *const *below = NULL;
    WEIR_TRY(over_left(d, padded, left_count, &below, err));
    for (size_t j = 0; j < d->count; j++) {
        /* The join's own keys must be D's columns, too. */
        const size_t k = find_key(join, d->exprs[j]);
        const size_t column = join->keys[k].right->column;
        const Expr *shown = right == padded ? NULL : weir_ir_as_project(right)->exprs[column];
        const size_t place = shown == NULL ? column : shown->column;
        if ((shown != NULL && shown->kind != EXPR_COLUMN) ||
            weir_ir_join_source(weir_ir_as_join(padded), place) != j) {
            return WEIR_OK;
        }
    }
    const Expr **exprs =
        weir_arena_calloc(d->ir->arena, node->column_count, sizeof(const Expr *), err);
    const IrNode *joined = join_left(d, node->children[0], padded, err);
    if (exprs == NULL || joined == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        const size_t source = weir_ir_join_source(join, i);
        if (source < left_count) {
            exprs[i] = weir_expr_column(d->ir->arena, source, node->types[i], err);
        } else if (right == padded) {
            exprs[i] = below[source - left_count];
        } else {
            exprs[i] = weir_expr_substitute(
                d->ir->arena, weir_ir_as_project(right)->exprs[source - left_count], below, err);
        }
        if (exprs[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    *out = weir_ir_project(d->ir, joined, exprs, node->column_count, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* --- the search --- */

static Status try_join(const DelimSearch *s, const IrNode *node, const IrNode **out, Error *err)
{
    Delim d = {.ir = s->ir, .parent_counts = s->parent_counts};
    *out = NULL;
    if (weir_ir_as_join(node)->kind == JOIN_FULL) {
        return WEIR_OK;
    }
    WEIR_TRY(find_delim(&d, node, err));
    if (d.node == NULL) {
        return WEIR_OK;
    }
    WEIR_TRY(free_right(&d, node, out, err));
    const IrNode *unpadded = NULL;
    WEIR_TRY(unpad(&d, *out == NULL ? node : *out, &unpadded, err));
    *out = unpadded == NULL ? *out : unpadded;
    return WEIR_OK;
}

/* Inner joins first: what they lose, outer ones need not keep. */
static Status search_join(DelimSearch *s, const IrNode *node, Error *err)
{
    if (s->is_seen[node->id]) {
        return WEIR_OK;
    }
    s->is_seen[node->id] = true;
    for (size_t i = 0; i < node->child_count && s->found == NULL; i++) {
        WEIR_TRY(search_join(s, node->children[i], err));
    }
    if (s->found == NULL && node->kind == IR_JOIN) {
        WEIR_TRY(try_join(s, node, &s->replacement, err));
        s->found = s->replacement == NULL ? NULL : node;
    }
    return WEIR_OK;
}

static Status replace_found(Ir *ir, void *context, const IrNode *old, const IrNode *node,
                            const IrNode **out, Error *err)
{
    WEIR_UNUSED(ir);
    WEIR_UNUSED(err);
    const DelimSearch *s = context;
    *out = old == s->found ? s->replacement : node;
    return WEIR_OK;
}

Status weir_rule_delim(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    *out = root;
    for (size_t round = 0; round < ROUNDS_MAX; round++) {
        DelimSearch s = {.ir = ir};
        WEIR_TRY(weir_ir_count_parents(ir, *out, &s.parent_counts, err));
        s.is_seen = weir_arena_calloc(ir->arena, ir->node_count, sizeof *s.is_seen, err);
        if (s.is_seen == NULL) {
            return weir_ir_failure(err);
        }
        WEIR_TRY(search_join(&s, *out, err));
        if (s.found == NULL) {
            return WEIR_OK;
        }
        WEIR_TRY(weir_ir_rewrite(ir, *out, replace_found, &s, out, err));
        /* What has one parent less now may let filters through, and show another join of D. */
        WEIR_TRY(weir_rule_push_filters(ir, *out, out, err));
    }
    return WEIR_OK;
}
