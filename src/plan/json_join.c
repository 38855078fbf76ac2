/* json_join.c: COMPARISON_JOIN, ANY_JOIN, CROSS_PRODUCT, and correlated subqueries: DELIM_JOIN and
 * DELIM_GET.
 *
 * Conditions are ANDed: equalities become keys, the others the residual. DuckDB's MARK is TRUE if
 * some right row fulfils all conditions, else NULL if a condition's operand is NULL on the left (and
 * there is a right row) or in any right row, else FALSE. That is the OR over the right rows of
 *     CASE WHEN an operand is NULL THEN NULL ELSE all conditions END,
 * which is the residual given to the operator; one plain equality it can do by key.
 *
 * A DELIM_JOIN reads D = DISTINCT(the correlated columns of left); the DELIM_GETs on its right side
 * read D; then it is the join that it says. SINGLE is a LEFT join in which a left row may match one
 * right row at most: proven, or checked by grouping the right side. */
#include "plan/json_priv.h"

/* One join being read. */
typedef struct JoinReader {
    JsonReader *reader;
    Rel left;
    Rel right;
    size_t key_count;
    IrKey *keys;
    size_t part_count;
    const Expr **parts; /* conditions that are not keys, over left ++ right */
    size_t operand_count;
    const Expr **operands; /* of the parts, where NULL makes a MARK unknown */
    bool is_mirrored;      /* a RIGHT join: made as LEFT with the sides exchanged */
} JoinReader;

static const struct {
    const char *name;
    JoinKind kind;
} KINDS[] = {
    {"INNER", JOIN_INNER}, {"LEFT", JOIN_LEFT}, {"FULL", JOIN_FULL}, {"OUTER", JOIN_FULL},
    {"SEMI", JOIN_SEMI},   {"ANTI", JOIN_ANTI}, {"MARK", JOIN_MARK}, {"RIGHT", JOIN_LEFT},
};

static Status read_kind(JoinReader *j, Json *json, JoinKind *out, Error *err)
{
    const char *name = NULL;
    WEIR_TRY(weir_json_get_text(json, "join_type", &name, err));
    j->is_mirrored = strcmp(name, "RIGHT") == 0;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(KINDS); i++) {
        if (strcmp(KINDS[i].name, name) == 0) {
            *out = KINDS[i].kind;
            return WEIR_OK;
        }
    }
    return weir_error_set(err, WEIR_ERR_OPERATOR, "a view cannot contain a join of the kind %s",
                          name);
}

/* Makes the join; exchanges its sides if it is mirrored. */
static const IrNode *make_node(JoinReader *j, IrJoinSpec *spec, Error *err)
{
    Ir *ir = j->reader->ir;
    const IrNode *left = j->left.node;
    const IrNode *right = j->right.node;
    if (!j->is_mirrored) {
        return weir_ir_join(ir, left, right, spec, err);
    }
    for (size_t k = 0; k < j->key_count; k++) {
        const IrKey key = j->keys[k];
        j->keys[k].left = key.right;
        j->keys[k].right = key.left;
    }
    const size_t count = left->column_count + right->column_count;
    size_t *map = weir_arena_calloc(ir->arena, count, sizeof *map, err);
    if (map == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        map[i] = i < left->column_count ? right->column_count + i : i - left->column_count;
    }
    if (spec->residual != NULL) {
        spec->residual = weir_expr_remap(ir->arena, spec->residual, map, err);
        if (spec->residual == NULL) {
            return NULL;
        }
    }
    return weir_ir_join(ir, right, left, spec, err);
}

/* The relation of a finished join, whose node shows all columns of both sides. */
static Status finish_rel(const JoinReader *j, Json *json, const IrNode *node, Rel *out, Error *err)
{
    if (node == NULL) {
        return weir_ir_failure(err);
    }
    JsonReader *reader = j->reader;
    const IrJoin *join = weir_ir_as_join(node);
    Rel left = {0};
    WEIR_TRY(weir_json_rel_pick(reader, &j->left, json, "left_projection_map", &left, err));
    left.node = node;
    if (join->kind == JOIN_SEMI || join->kind == JOIN_ANTI) {
        *out = left;
        return WEIR_OK;
    }
    if (join->kind == JOIN_MARK) {
        return weir_json_append_column(reader, &left, node, out, err);
    }
    Rel right = {0};
    WEIR_TRY(weir_json_rel_pick(reader, &j->right, json, "right_projection_map", &right, err));
    const size_t count = left.count + right.count;
    size_t *columns = weir_arena_calloc(reader->arena, count, sizeof *columns, err);
    if (columns == NULL) {
        return weir_ir_failure(err);
    }
    if (count > JSON_MAX_COLUMNS) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "a join of more than %d columns",
                              JSON_MAX_COLUMNS);
    }
    for (size_t i = 0; i < count; i++) {
        const bool is_right = i >= left.count;
        const Rel *own = is_right ? &j->right : &j->left;
        const Rel *other = is_right ? &j->left : &j->right;
        columns[i] = is_right ? right.columns[i - left.count] : left.columns[i];
        if (is_right != j->is_mirrored && columns[i] < own->node->column_count) {
            columns[i] += other->node->column_count;
        }
    }
    *out = (Rel){.node = node, .count = count, .columns = columns};
    return WEIR_OK;
}

/* --- conditions --- */

/* An expression over the right side, as one over left ++ right. */
static Status shift_right(const JoinReader *j, const Expr *expr, const Expr **out, Error *err)
{
    const size_t count = j->right.node->column_count;
    size_t *map = weir_arena_calloc(j->reader->arena, count, sizeof *map, err);
    if (map == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < count; i++) {
        map[i] = j->left.node->column_count + i;
    }
    *out = weir_expr_remap(j->reader->arena, expr, map, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* A comparison that is no key: a part of the residual. */
static Status add_part(JoinReader *j, CompareOp compare, const Expr *left, const Expr *right,
                       Error *err)
{
    const Expr **args = weir_arena_calloc(j->reader->arena, 2, sizeof(const Expr *), err);
    if (args == NULL) {
        return weir_ir_failure(err);
    }
    args[0] = left;
    WEIR_TRY(shift_right(j, right, &args[1], err));
    const Expr node = {
        .kind = EXPR_COMPARE,
        .type = weir_type_simple(TYPE_BOOLEAN),
        .args = args,
        .arg_count = 2,
        .compare = compare,
    };
    const Expr *part = weir_json_make_expr(j->reader, &node, err);
    if (part == NULL) {
        return weir_ir_failure(err);
    }
    j->parts[j->part_count++] = part;
    if (compare != COMPARE_DISTINCT && compare != COMPARE_NOT_DISTINCT) {
        j->operands[j->operand_count++] = args[0];
        j->operands[j->operand_count++] = args[1];
    }
    return WEIR_OK;
}

/* True if plain equalities must not be keys: a MARK of more than one condition. */
static Status is_coarse_mark(const JsonArray *conditions, JoinKind kind, bool *out, Error *err)
{
    size_t open_count = 0;
    size_t equal_count = 0;
    for (size_t i = 0; i < conditions->count; i++) {
        const char *name = NULL;
        WEIR_TRY(weir_json_get_text(weir_json_item(conditions, i), "comparison", &name, err));
        open_count += strcmp(name, "COMPARE_NOT_DISTINCT_FROM") != 0 ? 1 : 0;
        equal_count += strcmp(name, "COMPARE_EQUAL") == 0 ? 1 : 0;
    }
    *out = kind == JOIN_MARK && (open_count > 1 || equal_count != open_count);
    return WEIR_OK;
}

static Status read_condition(JoinReader *j, Json *json, bool is_coarse, Error *err)
{
    const JsonScope left_scope = {.left = &j->left};
    const JsonScope right_scope = {.left = &j->right};
    Json *left_json = NULL;
    Json *right_json = NULL;
    const Expr *left = NULL;
    const Expr *right = NULL;
    const char *name = NULL;
    CompareOp compare = COMPARE_EQ;
    WEIR_TRY(weir_json_get(json, "left", &left_json, err));
    WEIR_TRY(weir_json_get(json, "right", &right_json, err));
    WEIR_TRY(weir_json_get_text(json, "comparison", &name, err));
    WEIR_TRY(weir_json_read_compare(name, &compare, err));
    WEIR_TRY(weir_json_read_expr(j->reader, &left_scope, left_json, &left, err));
    WEIR_TRY(weir_json_read_expr(j->reader, &right_scope, right_json, &right, err));
    weir_json_strip_forms(&left, &right);
    if (!weir_ir_type_matches(left->type, right->type)) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a join of %s with %s",
                              weir_type_name(left->type->id), weir_type_name(right->type->id));
    }
    if (compare == COMPARE_NOT_DISTINCT || (compare == COMPARE_EQ && !is_coarse)) {
        j->keys[j->key_count++] =
            (IrKey){.left = left, .right = right, .is_null_safe = compare == COMPARE_NOT_DISTINCT};
        return WEIR_OK;
    }
    return add_part(j, compare, left, right, err);
}

static Status read_conditions(JoinReader *j, Json *json, JoinKind kind, Error *err)
{
    JsonArray conditions = {0};
    bool is_coarse = false;
    Arena *arena = j->reader->arena;
    WEIR_TRY(weir_json_get_array(json, "conditions", &conditions, err));
    WEIR_TRY(is_coarse_mark(&conditions, kind, &is_coarse, err));
    j->keys = weir_arena_calloc(arena, conditions.count, sizeof *j->keys, err);
    j->parts = weir_arena_calloc(arena, conditions.count, sizeof(const Expr *), err);
    j->operands = weir_arena_calloc(arena, conditions.count, 2 * sizeof(const Expr *), err);
    if (j->keys == NULL || j->parts == NULL || j->operands == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < conditions.count; i++) {
        WEIR_TRY(read_condition(j, weir_json_item(&conditions, i), is_coarse, err));
    }
    if (weir_json_find(json, "predicate") != NULL) {
        return weir_json_refuse("a join with a further predicate", NULL, err);
    }
    return WEIR_OK;
}

/* operand IS NULL OR ... */
static Status make_null_test(JoinReader *j, const Expr **out, Error *err)
{
    const Expr **tests =
        weir_arena_calloc(j->reader->arena, j->operand_count, sizeof(const Expr *), err);
    if (tests == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < j->operand_count; i++) {
        const Expr test = {
            .kind = EXPR_IS_NULL,
            .type = weir_type_simple(TYPE_BOOLEAN),
            .args = &j->operands[i],
            .arg_count = 1,
        };
        tests[i] = weir_json_make_expr(j->reader, &test, err);
        if (tests[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    const Expr any = {
        .kind = EXPR_OR,
        .type = weir_type_simple(TYPE_BOOLEAN),
        .args = tests,
        .arg_count = j->operand_count,
    };
    *out = weir_json_make_expr(j->reader, &any, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status make_residual(JoinReader *j, JoinKind kind, const Expr **out, Error *err)
{
    *out = NULL;
    if (j->part_count == 0) {
        return WEIR_OK;
    }
    const Expr *all = weir_expr_and(j->reader->arena, j->parts, j->part_count, err);
    if (all == NULL) {
        return weir_ir_failure(err);
    }
    if (kind != JOIN_MARK || j->part_count == 1 || j->operand_count == 0) {
        *out = all;
        return WEIR_OK;
    }
    const Expr **args = weir_arena_calloc(j->reader->arena, 3, sizeof(const Expr *), err);
    if (args == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(make_null_test(j, &args[0], err));
    args[1] = weir_json_make_null(j->reader, all->type, err);
    args[2] = all;
    const Expr node = {.kind = EXPR_CASE, .type = all->type, .args = args, .arg_count = 3};
    *out = args[1] == NULL ? NULL : weir_json_make_expr(j->reader, &node, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status make_join(JoinReader *j, Json *json, JoinKind kind, Rel *out, Error *err)
{
    IrJoinSpec spec = {.kind = kind};
    WEIR_TRY(read_conditions(j, json, kind, err));
    WEIR_TRY(make_residual(j, kind, &spec.residual, err));
    spec.keys = j->keys;
    spec.key_count = j->key_count;
    return finish_rel(j, json, make_node(j, &spec, err), out, err);
}

/* --- joins --- */

Status weir_json_read_comparison_join(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    JoinReader j = {.reader = reader};
    JoinKind kind = JOIN_INNER;
    WEIR_TRY(read_kind(&j, json, &kind, err));
    WEIR_TRY(weir_json_read_child(reader, json, 0, &j.left, err));
    WEIR_TRY(weir_json_read_child(reader, json, 1, &j.right, err));
    return make_join(&j, json, kind, out, err);
}

Status weir_json_read_any_join(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    JoinReader j = {.reader = reader};
    IrJoinSpec spec = {0};
    Json *condition = NULL;
    WEIR_TRY(read_kind(&j, json, &spec.kind, err));
    WEIR_TRY(weir_json_read_child(reader, json, 0, &j.left, err));
    WEIR_TRY(weir_json_read_child(reader, json, 1, &j.right, err));
    WEIR_TRY(weir_json_get(json, "condition", &condition, err));
    const JsonScope scope = {.left = &j.left, .right = &j.right};
    WEIR_TRY(weir_json_read_expr(reader, &scope, condition, &spec.residual, err));
    WEIR_TRY(weir_json_check_boolean(spec.residual, err));
    if (weir_json_is_true(spec.residual)) {
        spec.residual = NULL;
    }
    return finish_rel(&j, json, make_node(&j, &spec, err), out, err);
}

Status weir_json_read_cross_product(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    JoinReader j = {.reader = reader};
    JsonArray children = {0};
    const IrJoinSpec spec = {.kind = JOIN_INNER};
    WEIR_TRY(weir_json_get_array(json, "children", &children, err));
    WEIR_TRY(weir_json_read_child(reader, json, 0, &j.left, err));
    if (children.count == 2 && weir_json_is_scalar(weir_json_item(&children, 1))) {
        return weir_json_read_scalar(reader, weir_json_item(&children, 1), &j.left, out, err);
    }
    WEIR_TRY(weir_json_read_child(reader, json, 1, &j.right, err));
    return finish_rel(&j, json, weir_ir_join(reader->ir, j.left.node, j.right.node, &spec, err),
                      out, err);
}

/* --- correlated subqueries --- */

/* D: the distinct values of the correlated columns. */
static Status make_delim(JsonReader *reader, Json *json, const Rel *left, const IrNode **out,
                         Error *err)
{
    const JsonScope scope = {.left = left};
    const Expr *const *exprs = NULL;
    size_t count = 0;
    WEIR_TRY(weir_json_read_exprs(reader, &scope, json, "duplicate_eliminated_columns", &exprs,
                                  &count, err));
    *out = NULL;
    if (count == 0) {
        return WEIR_OK; /* nothing is correlated: an ordinary join */
    }
    const IrNode *values = weir_ir_project(reader->ir, left->node, exprs, count, err);
    *out = values == NULL ? NULL : weir_ir_distinct(reader->ir, values, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

Status weir_json_read_delim_get(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    const LogicalType *const *types = NULL;
    size_t count = 0;
    WEIR_TRY(weir_json_read_types(reader, json, "chunk_types", &types, &count, err));
    const IrNode *node = reader->delim == NULL ? NULL : reader->delim->node;
    bool is_same = node != NULL && node->column_count == count;
    for (size_t i = 0; is_same && i < count; i++) {
        is_same = weir_ir_type_matches(node->types[i], types[i]);
    }
    if (!is_same) {
        return weir_error_set(err, WEIR_ERR_PLAN,
                              "malformed plan: a DELIM_GET without its DELIM_JOIN");
    }
    return weir_json_rel_of(reader, node, out, err);
}

Status weir_json_read_delim_join(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    JoinReader j = {.reader = reader};
    const char *name = NULL;
    DelimFrame frame = {.parent = reader->delim};
    WEIR_TRY(weir_json_get_text(json, "join_type", &name, err));
    if (weir_json_find_flag(json, "delim_flipped")) {
        return weir_error_set(err, WEIR_ERR_PLAN, "the plan is optimized");
    }
    WEIR_TRY(weir_json_read_child(reader, json, 0, &j.left, err));
    WEIR_TRY(make_delim(reader, json, &j.left, &frame.node, err));
    reader->delim = &frame;
    const Status status = weir_json_read_child(reader, json, 1, &j.right, err);
    reader->delim = frame.parent;
    WEIR_TRY(status);
    if (strcmp(name, "SINGLE") == 0) {
        WEIR_TRY(read_conditions(&j, json, JOIN_LEFT, err));
        const SingleJoin single = {
            .left = &j.left,
            .right = &j.right,
            .keys = j.keys,
            .key_count = j.key_count,
            .part_count = j.part_count,
        };
        return weir_json_make_single(reader, &single, out, err);
    }
    JoinKind kind = JOIN_INNER;
    WEIR_TRY(read_kind(&j, json, &kind, err));
    if (kind == JOIN_FULL || j.is_mirrored) {
        return weir_json_refuse("a correlated FULL or RIGHT JOIN", NULL, err);
    }
    return make_join(&j, json, kind, out, err);
}
