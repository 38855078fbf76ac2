/* op_join.c: what a JoinSpec means, and which operator does it.
 *
 *   INNER                      op_join_inner.c; a residual that can fail becomes a filter behind it,
 *                              which holds failing rows back until the end of the step
 *   LEFT, FULL                 op_join_outer.c
 *   SEMI, ANTI                 op_join_semi.c
 *   MARK                       op_join_mark.c
 *   all but INNER, residual    op_join_matched.c; the keys of a MARK that are not null safe become
 *                              parts of the residual, since NULL in them makes a pair unknown */
#include "op/op_join_priv.h"

/* --- an inner join with a residual that can fail --------------------------------------------- */

/* Numbers the columns that a join must show so that the residual can be evaluated behind it: the
 * output columns, then those only the residual reads. */
typedef struct ShownColumns {
    size_t *columns; /* input columns of one side */
    size_t count;
} ShownColumns;

static Status show_columns(Arena *arena, const size_t *outputs, size_t output_count,
                           const bool *used, size_t column_count, ShownColumns *out, Error *err)
{
    size_t *columns = weir_arena_calloc(arena, output_count + column_count, sizeof *columns, err);
    if (columns == NULL) {
        return err->code;
    }
    size_t count = output_count;
    for (size_t o = 0; o < output_count; o++) {
        columns[o] = outputs[o];
    }
    for (size_t i = 0; i < column_count; i++) {
        bool is_shown = false;
        for (size_t o = 0; o < output_count; o++) {
            is_shown = is_shown || outputs[o] == i;
        }
        if (used[i] && !is_shown) {
            columns[count] = i;
            count += 1;
        }
    }
    *out = (ShownColumns){.columns = columns, .count = count};
    return WEIR_OK;
}

/* A join that shows more, and the filter behind it. */
typedef struct LoweredJoin {
    JoinSpec join;
    MapSpec filter;
} LoweredJoin;

/* Fills map: where the join shows each of the combined input columns. */
static void map_shown(const ShownColumns shown[2], size_t left_column_count, size_t *map)
{
    size_t place = 0;
    for (size_t s = 0; s < 2; s++) {
        for (size_t i = 0; i < shown[s].count; i++) {
            map[shown[s].columns[i] + (s == 0 ? 0 : left_column_count)] = place;
            place += 1;
        }
    }
}

static Status lower_filter(const JoinSpec *spec, const ShownColumns shown[2], const size_t *map,
                           Arena *arena, LoweredJoin *out, Error *err)
{
    const Expr **predicate = weir_arena_alloc(arena, sizeof(const Expr *), err);
    const Expr **exprs = weir_arena_calloc(arena, spec->schema.count, sizeof(const Expr *), err);
    if (predicate == NULL || exprs == NULL) {
        return err->code;
    }
    predicate[0] = weir_expr_remap(arena, spec->residual, map, err);
    if (predicate[0] == NULL) {
        return err->code;
    }
    for (size_t o = 0; o < spec->schema.count; o++) {
        const size_t place =
            o < spec->left_output_count ? o : shown[0].count + (o - spec->left_output_count);
        exprs[o] = weir_expr_column(arena, place, spec->schema.types[o], err);
        if (exprs[o] == NULL) {
            return err->code;
        }
    }
    out->filter = (MapSpec){
        .predicates = predicate,
        .predicate_count = 1,
        .exprs = exprs,
        .schema = spec->schema,
    };
    return WEIR_OK;
}

static Status lower_residual(Op *const inputs[2], const JoinSpec *spec, Arena *arena,
                             LoweredJoin *out, Error *err)
{
    const size_t left_count = inputs[0]->schema.count;
    const size_t column_count = left_count + inputs[1]->schema.count;
    bool *used = weir_arena_calloc(arena, column_count, sizeof *used, err);
    size_t *map = weir_arena_calloc(arena, column_count, sizeof *map, err);
    if (used == NULL || map == NULL) {
        return err->code;
    }
    weir_expr_collect_columns(spec->residual, used);
    ShownColumns shown[2] = {{0}, {0}};
    WEIR_TRY(show_columns(arena, spec->left_output, spec->left_output_count, used, left_count,
                          &shown[0], err));
    WEIR_TRY(show_columns(arena, spec->right_output, spec->right_output_count, used + left_count,
                          column_count - left_count, &shown[1], err));
    map_shown(shown, left_count, map);
    const size_t shown_count = shown[0].count + shown[1].count;
    const LogicalType **types =
        weir_arena_calloc(arena, shown_count, sizeof(const LogicalType *), err);
    if (types == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < shown_count; i++) {
        types[i] = i < shown[0].count
                       ? inputs[0]->schema.types[shown[0].columns[i]]
                       : inputs[1]->schema.types[shown[1].columns[i - shown[0].count]];
    }
    out->join = *spec;
    out->join.residual = NULL;
    out->join.left_output = shown[0].columns;
    out->join.left_output_count = shown[0].count;
    out->join.right_output = shown[1].columns;
    out->join.right_output_count = shown[1].count;
    out->join.schema = (Schema){.count = shown_count, .types = types};
    return lower_filter(spec, shown, map, arena, out, err);
}

/* An inner join, and behind it the residual. */
static Status new_filtered(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
{
    LoweredJoin lowered = {0};
    WEIR_TRY(lower_residual(plan->inputs, plan->spec, plan->arena, &lowered, err));
    const JoinPlan inner = {.inputs = plan->inputs, .spec = &lowered.join, .arena = plan->arena};
    Op *join = NULL;
    WEIR_TRY(weir_join_inner_new(circuit, &inner, &join, err));
    return weir_op_map_new(circuit, join, &lowered.filter, out, err);
}

/* --- MARK with a residual -------------------------------------------------------------------- */

/* A comparison left column = right column, over the combined columns. */
static const Expr *key_comparison(Arena *arena, Op *const inputs[2], const JoinSpec *spec, size_t k,
                                  Error *err)
{
    const LogicalType *type = inputs[0]->schema.types[spec->left_keys[k]];
    const Expr **args = weir_arena_calloc(arena, 2, sizeof(const Expr *), err);
    Expr *expr = args == NULL ? NULL : weir_arena_zalloc(arena, sizeof *expr, err);
    if (expr == NULL) {
        return NULL;
    }
    args[0] = weir_expr_column(arena, spec->left_keys[k], type, err);
    args[1] = weir_expr_column(arena, inputs[0]->schema.count + spec->right_keys[k], type, err);
    if (args[0] == NULL || args[1] == NULL) {
        return NULL;
    }
    expr->kind = EXPR_COMPARE;
    expr->compare = COMPARE_EQ;
    expr->type = weir_type_simple(TYPE_BOOLEAN);
    expr->args = args;
    expr->arg_count = 2;
    return expr;
}

/* Moves keys that are not null safe into the residual, which then is evaluated for all pairs of a
 * group: a NULL in one condition decides even where another condition is FALSE. */
static Status lower_mark(const JoinPlan *plan, JoinSpec *out, Error *err)
{
    const JoinSpec *spec = plan->spec;
    Arena *arena = plan->arena;
    size_t *left_keys = weir_arena_calloc(arena, spec->key_count, sizeof *left_keys, err);
    size_t *right_keys = weir_arena_calloc(arena, spec->key_count, sizeof *right_keys, err);
    bool *is_null_safe = weir_arena_calloc(arena, spec->key_count, sizeof *is_null_safe, err);
    const Expr **parts = weir_arena_calloc(arena, spec->key_count + 1, sizeof(const Expr *), err);
    if (left_keys == NULL || right_keys == NULL || is_null_safe == NULL || parts == NULL) {
        return err->code;
    }
    size_t key_count = 0;
    size_t part_count = 0;
    for (size_t k = 0; k < spec->key_count; k++) {
        if (spec->is_null_safe[k]) {
            left_keys[key_count] = spec->left_keys[k];
            right_keys[key_count] = spec->right_keys[k];
            is_null_safe[key_count] = true;
            key_count += 1;
        } else {
            parts[part_count] = key_comparison(arena, plan->inputs, spec, k, err);
            if (parts[part_count] == NULL) {
                return err->code;
            }
            part_count += 1;
        }
    }
    parts[part_count] = spec->residual;
    part_count += 1;
    *out = *spec;
    out->left_keys = left_keys;
    out->right_keys = right_keys;
    out->is_null_safe = is_null_safe;
    out->key_count = key_count;
    out->residual = weir_expr_and(arena, parts, part_count, err);
    return out->residual == NULL ? err->code : WEIR_OK;
}

/* --- the constructor -------------------------------------------------------------------------- */

static Status new_join(Circuit *circuit, const JoinPlan *plan, Op **out, Error *err)
{
    const JoinSpec *spec = plan->spec;
    JoinSpec mark = {0};
    switch (spec->kind) {
    case JOIN_INNER:
        return spec->residual != NULL && weir_expr_can_fail(spec->residual)
                   ? new_filtered(circuit, plan, out, err)
                   : weir_join_inner_new(circuit, plan, out, err);
    case JOIN_LEFT:
    case JOIN_FULL:
        return spec->residual != NULL ? weir_join_matched_new(circuit, plan, out, err)
                                      : weir_join_outer_new(circuit, plan, out, err);
    case JOIN_SEMI:
    case JOIN_ANTI:
        return spec->residual != NULL ? weir_join_matched_new(circuit, plan, out, err)
                                      : weir_join_semi_new(circuit, plan, out, err);
    case JOIN_MARK:
        if (spec->residual == NULL) {
            return weir_join_mark_new(circuit, plan, out, err);
        }
        WEIR_TRY(lower_mark(plan, &mark, err));
        return weir_join_matched_new(
            circuit, &(JoinPlan){.inputs = plan->inputs, .spec = &mark, .arena = plan->arena}, out,
            err);
    }
    return WEIR_OK;
}

Status weir_op_join_new(Circuit *circuit, Op *left, Op *right, const JoinSpec *spec, Op **out,
                        Error *err)
{
    *out = NULL;
    Op *const inputs[2] = {left, right};
    Arena arena;
    weir_arena_init(&arena, weir_circuit_env(circuit)->mem, 1024);
    const JoinPlan plan = {.inputs = inputs, .spec = spec, .arena = &arena};
    const Status status = new_join(circuit, &plan, out, err);
    weir_arena_deinit(&arena); /* empty if a join took it */
    return status;
}
