/* ir_check.c: what every plan graph must fulfil, checked after reading and after each rule.
 *
 * Columns in range and of the type that the expression says; conditions BOOLEAN; keys pairwise of one
 * type; operands of a union alike. A violation is a fault of Weir, found before it becomes a wrong
 * view. */
#include "plan/plan_priv.h"

typedef struct Checker {
    const char *after;
    bool *is_done; /* by node id */
} Checker;

static Status report(const Checker *c, const IrNode *node, const char *what, Error *err)
{
    return weir_error_set(err, WEIR_ERR_INTERNAL, "plan check after %s: node %zu of kind %d: %s",
                          c->after, node->id, (int)node->kind, what);
}

/* The columns of one or two children, one after the other. */
typedef struct Input {
    const IrNode *left;
    const IrNode *right; /* NULL = none */
} Input;

static const LogicalType *input_type(const Input *input, size_t column)
{
    if (column < input->left->column_count) {
        return input->left->types[column];
    }
    const size_t place = column - input->left->column_count;
    if (input->right == NULL || place >= input->right->column_count) {
        return NULL;
    }
    return input->right->types[place];
}

static bool is_valid(const Input *input, const Expr *expr)
{
    if (expr->kind == EXPR_COLUMN) {
        const LogicalType *type = input_type(input, expr->column);
        return type != NULL && weir_ir_type_matches(type, expr->type);
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        if (!is_valid(input, expr->args[i])) {
            return false;
        }
    }
    return expr->extra == NULL || expr->extra->lambda == NULL ||
           is_valid(input, expr->extra->lambda);
}

static bool is_condition(const Input *input, const Expr *expr)
{
    return expr->type->id == TYPE_BOOLEAN && is_valid(input, expr);
}

static Status check_scan(const Checker *c, const IrNode *node, Error *err)
{
    const IrScan *scan = weir_ir_as_scan(node);
    for (size_t i = 0; i < node->column_count; i++) {
        if (scan->columns[i] >= scan->table->column_count ||
            !weir_ir_type_matches(scan->table->types[scan->columns[i]], node->types[i])) {
            return report(c, node, "a column that the table does not have", err);
        }
    }
    return WEIR_OK;
}

static Status check_filter(const Checker *c, const IrNode *node, Error *err)
{
    const IrFilter *filter = weir_ir_as_filter(node);
    const Input input = {.left = node->children[0]};
    for (size_t i = 0; i < filter->predicate_count; i++) {
        if (!is_condition(&input, filter->predicates[i])) {
            return report(c, node, "a predicate", err);
        }
    }
    return node->column_count == node->children[0]->column_count
               ? WEIR_OK
               : report(c, node, "the number of columns", err);
}

static Status check_project(const Checker *c, const IrNode *node, Error *err)
{
    const Input input = {.left = node->children[0]};
    for (size_t i = 0; i < node->column_count; i++) {
        if (!is_valid(&input, weir_ir_as_project(node)->exprs[i])) {
            return report(c, node, "an expression", err);
        }
    }
    return WEIR_OK;
}

static Status check_aggregate(const Checker *c, const IrNode *node, Error *err)
{
    const IrAggregate *aggregate = weir_ir_as_aggregate(node);
    const Input input = {.left = node->children[0]};
    bool is_right = aggregate->group_count + aggregate->call_count == node->column_count;
    for (size_t i = 0; is_right && i < aggregate->group_count; i++) {
        is_right = is_valid(&input, aggregate->groups[i]);
    }
    for (size_t i = 0; is_right && i < aggregate->call_count; i++) {
        const IrCall *call = &aggregate->calls[i];
        is_right = call->filter == NULL || is_condition(&input, call->filter);
        for (size_t a = 0; is_right && a < call->arg_count; a++) {
            is_right = is_valid(&input, call->args[a]);
        }
    }
    return is_right ? WEIR_OK : report(c, node, "a group or an aggregate", err);
}

static Status check_join(const Checker *c, const IrNode *node, Error *err)
{
    const IrJoin *join = weir_ir_as_join(node);
    const Input left = {.left = node->children[0]};
    const Input right = {.left = node->children[1]};
    const Input both = {.left = node->children[0], .right = node->children[1]};
    for (size_t k = 0; k < join->key_count; k++) {
        const IrKey *key = &join->keys[k];
        if (!is_valid(&left, key->left) || !is_valid(&right, key->right) ||
            !weir_ir_type_matches(key->left->type, key->right->type)) {
            return report(c, node, "a key", err);
        }
    }
    if (join->residual != NULL && !is_condition(&both, join->residual)) {
        return report(c, node, "the residual", err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        const size_t source = weir_ir_join_source(join, i);
        const LogicalType *type = source == SIZE_MAX ? NULL : input_type(&both, source);
        if (source != SIZE_MAX && (type == NULL || !weir_ir_type_matches(type, node->types[i]))) {
            return report(c, node, "an output column", err);
        }
    }
    return WEIR_OK;
}

static Status check_union(const Checker *c, const IrNode *node, Error *err)
{
    for (size_t i = 0; i < node->child_count; i++) {
        const IrNode *child = node->children[i];
        bool is_alike = child->column_count == node->column_count;
        for (size_t k = 0; is_alike && k < node->column_count; k++) {
            is_alike = weir_ir_type_matches(child->types[k], node->types[k]);
        }
        if (!is_alike) {
            return report(c, node, "operands of different types", err);
        }
    }
    return WEIR_OK;
}

static Status check_node(Checker *c, const IrNode *node, Error *err)
{
    if (c->is_done[node->id]) {
        return WEIR_OK;
    }
    c->is_done[node->id] = true;
    for (size_t i = 0; i < node->child_count; i++) {
        WEIR_TRY(check_node(c, node->children[i], err));
    }
    switch (node->kind) {
    case IR_VALUES: return WEIR_OK;
    case IR_SCAN: return check_scan(c, node, err);
    case IR_FILTER: return check_filter(c, node, err);
    case IR_PROJECT: return check_project(c, node, err);
    case IR_AGGREGATE: return check_aggregate(c, node, err);
    case IR_DISTINCT: return node->column_count > 0 ? WEIR_OK : report(c, node, "no columns", err);
    case IR_JOIN: return check_join(c, node, err);
    case IR_UNION: return check_union(c, node, err);
    }
    return WEIR_OK;
}

Status weir_ir_check(const Ir *ir, const IrNode *root, const char *after, Error *err)
{
    const ArenaMark mark = weir_arena_mark(ir->arena);
    Checker c = {.after = after};
    c.is_done = weir_arena_calloc(ir->arena, ir->node_count, sizeof *c.is_done, err);
    if (c.is_done == NULL) {
        return weir_ir_failure(err);
    }
    const Status status = check_node(&c, root, err);
    weir_arena_release(ir->arena, mark);
    return status;
}
