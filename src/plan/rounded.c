/* rounded.c: which result columns hold sums of doubles, or values computed from them.
 *
 * DuckDB adds doubles in the order in which it reads them, so that two runs of one query may differ
 * in the last digits. A column is rounded if it is such an aggregate, or an expression over a
 * rounded column. */
#include "plan/plan_priv.h"

/* Aggregates that add doubles; those of the second group do so even for other arguments. */
static const char *const ADDING[] = {"sum",      "avg",       "mean", "fsum",
                                     "sumkahan", "kahan_sum", "favg", "product"};
static const char *const STATISTICAL[] = {
    "stddev",     "stddev_samp", "stddev_pop",   "variance",   "var_samp",       "var_pop",
    "covar_samp", "covar_pop",   "corr",         "regr_slope", "regr_intercept", "regr_r2",
    "regr_sxx",   "regr_syy",    "regr_sxy",     "regr_avgx",  "regr_avgy",      "sem",
    "skewness",   "kurtosis",    "kurtosis_pop", "entropy",
};

typedef struct Rounding {
    Arena *arena;
    bool **done; /* by node id: by column; NULL = not yet */
} Rounding;

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_float(const LogicalType *type)
{
    return type->id == TYPE_FLOAT || type->id == TYPE_DOUBLE;
}

/* True if the expression reads a marked column. */
static bool reads(const Expr *expr, const bool *columns)
{
    if (expr->kind == EXPR_COLUMN) {
        return columns[expr->column];
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        if (reads(expr->args[i], columns)) {
            return true;
        }
    }
    return expr->extra != NULL && expr->extra->lambda != NULL &&
           reads(expr->extra->lambda, columns);
}

static bool is_rounded_call(const IrCall *call, const bool *child)
{
    if (is_one_of(call->name, STATISTICAL, WEIR_ARRAY_COUNT(STATISTICAL))) {
        return true;
    }
    const bool adds = is_one_of(call->name, ADDING, WEIR_ARRAY_COUNT(ADDING));
    if (adds && call->arg_count > 0 &&
        (is_float(call->args[0]->type) || call->args[0]->type->id == TYPE_UHUGEINT)) {
        return true;
    }
    for (size_t i = 0; i < call->arg_count; i++) {
        if (strcmp(call->name, "count") != 0 && reads(call->args[i], child)) {
            return true;
        }
    }
    return false;
}

static Status find_node(Rounding *r, const IrNode *node, Error *err);

static void mark_columns(const Rounding *r, const IrNode *node, bool *out)
{
    const bool *child = r->done[weir_ir_first(node)->id];
    for (size_t i = 0; i < node->column_count; i++) {
        switch (node->kind) {
        case IR_SCAN:
        case IR_VALUES: break;
        case IR_FILTER:
        case IR_DISTINCT: out[i] = child[i]; break;
        case IR_PROJECT: out[i] = reads(weir_ir_as_project(node)->exprs[i], child); break;
        case IR_UNION:
            for (size_t c = 0; c < node->child_count; c++) {
                out[i] = out[i] || r->done[node->children[c]->id][i];
            }
            break;
        case IR_AGGREGATE: {
            const IrAggregate *aggregate = weir_ir_as_aggregate(node);
            const size_t groups = aggregate->group_count;
            out[i] = i < groups ? reads(aggregate->groups[i], child)
                                : is_rounded_call(&aggregate->calls[i - groups], child);
            break;
        }
        case IR_JOIN: {
            const size_t source = weir_ir_join_source(weir_ir_as_join(node), i);
            const size_t left_count = node->children[0]->column_count;
            const bool *right = r->done[node->children[1]->id];
            if (source != SIZE_MAX) {
                out[i] = source < left_count ? child[source] : right[source - left_count];
            }
            break;
        }
        }
    }
}

static Status find_node(Rounding *r, const IrNode *node, Error *err)
{
    if (r->done[node->id] != NULL) {
        return WEIR_OK;
    }
    for (size_t i = 0; i < node->child_count; i++) {
        WEIR_TRY(find_node(r, node->children[i], err));
    }
    bool *columns = weir_arena_calloc(r->arena, node->column_count, sizeof *columns, err);
    if (columns == NULL) {
        return weir_ir_failure(err);
    }
    mark_columns(r, node, columns);
    r->done[node->id] = columns;
    return WEIR_OK;
}

Status weir_plan_find_rounded(const Ir *ir, const IrNode *root, const bool **out, Error *err)
{
    Rounding r = {.arena = ir->arena};
    r.done = weir_arena_calloc(ir->arena, ir->node_count, sizeof *r.done, err);
    if (r.done == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(find_node(&r, root, err));
    *out = r.done[root->id];
    return WEIR_OK;
}
