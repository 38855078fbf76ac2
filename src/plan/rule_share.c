/* rule_share.c: equal parts of a plan become one node.
 *
 * Bottom-up: two nodes are equal if they are of one kind with equal fields over the same children,
 * which have been made one before. Their operators and state then exist once. */
#include "plan/rule_priv.h"

typedef struct Sharer {
    size_t capacity; /* a power of two, more than there are nodes */
    const IrNode **slots;
} Sharer;

static size_t mix(size_t hash, size_t value)
{
    return (hash ^ value) * (size_t)0x9E3779B97F4A7C15u;
}

/* A cheap hash: what it leaves out, is_same compares. */
static size_t hash_node(const IrNode *node)
{
    size_t hash = mix((size_t)node->kind + 1, node->column_count);
    for (size_t i = 0; i < node->child_count; i++) {
        hash = mix(hash, node->children[i]->id);
    }
    if (node->kind == IR_SCAN) {
        hash = mix(hash, weir_ir_as_scan(node)->table->index);
    }
    return hash ^ (hash >> 29);
}

static bool are_equal(const Expr *const *a, const Expr *const *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!weir_expr_equal(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static bool is_equal_or_none(const Expr *a, const Expr *b)
{
    return a == NULL || b == NULL ? a == b : weir_expr_equal(a, b);
}

static bool is_same_scan(const IrScan *a, const IrScan *b)
{
    return a->table == b->table &&
           memcmp(a->columns, b->columns, a->head.column_count * sizeof *a->columns) == 0;
}

static bool is_same_values(const IrValues *a, const IrValues *b)
{
    if (a->row_count != b->row_count) {
        return false;
    }
    for (size_t i = 0; i < a->row_count * a->head.column_count; i++) {
        const Expr first = {
            .kind = EXPR_CONSTANT, .type = a->values[i].type, .value = a->values[i]};
        const Expr second = {
            .kind = EXPR_CONSTANT, .type = b->values[i].type, .value = b->values[i]};
        if (!weir_expr_equal(&first, &second)) {
            return false;
        }
    }
    return true;
}

static bool is_same_filter(const IrFilter *a, const IrFilter *b)
{
    return a->predicate_count == b->predicate_count &&
           are_equal(a->predicates, b->predicates, a->predicate_count);
}

static bool is_same_call(const IrCall *a, const IrCall *b)
{
    return strcmp(a->name, b->name) == 0 && a->arg_count == b->arg_count &&
           a->is_distinct == b->is_distinct && are_equal(a->args, b->args, a->arg_count) &&
           is_equal_or_none(a->filter, b->filter) && weir_type_equal(a->type, b->type);
}

static bool is_same_aggregate(const IrAggregate *a, const IrAggregate *b)
{
    if (a->group_count != b->group_count || a->call_count != b->call_count ||
        !are_equal(a->groups, b->groups, a->group_count)) {
        return false;
    }
    for (size_t i = 0; i < a->call_count; i++) {
        if (!is_same_call(&a->calls[i], &b->calls[i])) {
            return false;
        }
    }
    return true;
}

static bool is_same_list(const size_t *a, size_t a_count, const size_t *b, size_t b_count)
{
    return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * sizeof *a) == 0);
}

static bool is_same_join(const IrJoin *a, const IrJoin *b)
{
    if (a->kind != b->kind || a->key_count != b->key_count ||
        !is_same_list(a->left_output, a->left_output_count, b->left_output, b->left_output_count) ||
        !is_same_list(a->right_output, a->right_output_count, b->right_output,
                      b->right_output_count) ||
        !is_equal_or_none(a->residual, b->residual)) {
        return false;
    }
    for (size_t k = 0; k < a->key_count; k++) {
        if (a->keys[k].is_null_safe != b->keys[k].is_null_safe ||
            !weir_expr_equal(a->keys[k].left, b->keys[k].left) ||
            !weir_expr_equal(a->keys[k].right, b->keys[k].right)) {
            return false;
        }
    }
    return true;
}

static bool is_same(const IrNode *a, const IrNode *b)
{
    if (a->kind != b->kind || a->column_count != b->column_count ||
        a->child_count != b->child_count) {
        return false;
    }
    for (size_t i = 0; i < a->child_count; i++) {
        if (a->children[i] != b->children[i]) {
            return false;
        }
    }
    for (size_t i = 0; i < a->column_count; i++) {
        if (!weir_type_equal(a->types[i], b->types[i])) {
            return false;
        }
    }
    switch (a->kind) {
    case IR_SCAN: return is_same_scan(weir_ir_as_scan(a), weir_ir_as_scan(b));
    case IR_VALUES: return is_same_values(weir_ir_as_values(a), weir_ir_as_values(b));
    case IR_FILTER: return is_same_filter(weir_ir_as_filter(a), weir_ir_as_filter(b));
    case IR_PROJECT:
        return are_equal(weir_ir_as_project(a)->exprs, weir_ir_as_project(b)->exprs,
                         a->column_count);
    case IR_AGGREGATE: return is_same_aggregate(weir_ir_as_aggregate(a), weir_ir_as_aggregate(b));
    case IR_DISTINCT:
    case IR_UNION: return true;
    case IR_JOIN: return is_same_join(weir_ir_as_join(a), weir_ir_as_join(b));
    }
    return false;
}

static Status share_node(Ir *ir, void *context, const IrNode *old, const IrNode *node,
                         const IrNode **out, Error *err)
{
    WEIR_UNUSED(ir);
    WEIR_UNUSED(old);
    WEIR_UNUSED(err);
    Sharer *sharer = context;
    size_t place = hash_node(node) & (sharer->capacity - 1);
    while (sharer->slots[place] != NULL && !is_same(sharer->slots[place], node)) {
        place = (place + 1) & (sharer->capacity - 1);
    }
    if (sharer->slots[place] == NULL) {
        sharer->slots[place] = node;
    }
    *out = sharer->slots[place];
    return WEIR_OK;
}

Status weir_rule_share(Ir *ir, const IrNode *root, const IrNode **out, Error *err)
{
    Sharer sharer = {.capacity = 64};
    while (sharer.capacity < 2 * ir->node_count) {
        sharer.capacity *= 2;
    }
    sharer.slots = weir_arena_calloc(ir->arena, sharer.capacity, sizeof(const IrNode *), err);
    if (sharer.slots == NULL) {
        return weir_ir_failure(err);
    }
    return weir_ir_rewrite(ir, root, share_node, &sharer, out, err);
}
