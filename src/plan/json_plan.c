/* json_plan.c: the operators: dispatch, and those with one child; set operations and common table
 * expressions; what is refused. */
#include "plan/json_priv.h"

/* --- relations --- */

Status weir_json_rel_of(JsonReader *reader, const IrNode *node, Rel *out, Error *err)
{
    if (node == NULL) {
        return weir_ir_failure(err);
    }
    size_t *columns = weir_arena_calloc(reader->arena, node->column_count, sizeof *columns, err);
    if (columns == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->column_count; i++) {
        columns[i] = i;
    }
    *out = (Rel){.node = node, .count = node->column_count, .columns = columns};
    return WEIR_OK;
}

Status weir_json_check_column(const Rel *rel, size_t index, Error *err)
{
    WEIR_ASSERT(index < rel->count);
    if (rel->columns[index] == REL_ROW_ID) {
        const Status status =
            weir_error_set(err, WEIR_ERR_VOLATILE,
                           "rowid is not a function of the tables: row ids move when "
                           "DuckDB rewrites the table");
        weir_error_hint(err, "give the table a key column");
        return status;
    }
    if (rel->columns[index] == REL_UNUSED) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: column #%zu is read, but empty",
                              index);
    }
    return WEIR_OK;
}

Status weir_json_rel_node(JsonReader *reader, const Rel *rel, const IrNode **out, Error *err)
{
    bool is_identity = rel->count == rel->node->column_count;
    for (size_t i = 0; i < rel->count; i++) {
        WEIR_TRY(weir_json_check_column(rel, i, err));
        is_identity = is_identity && rel->columns[i] == i;
    }
    if (is_identity) {
        *out = rel->node;
        return WEIR_OK;
    }
    const Expr **exprs = weir_arena_calloc(reader->arena, rel->count, sizeof(const Expr *), err);
    if (exprs == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < rel->count; i++) {
        const size_t column = rel->columns[i];
        exprs[i] = weir_expr_column(reader->arena, column, rel->node->types[column], err);
        if (exprs[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    *out = weir_ir_project(reader->ir, rel->node, exprs, rel->count, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

Status weir_json_rel_pick(JsonReader *reader, const Rel *rel, Json *json, const char *key, Rel *out,
                          Error *err)
{
    JsonArray map = {0};
    if (weir_json_find(json, key) != NULL) {
        WEIR_TRY(weir_json_get_array(json, key, &map, err));
    }
    if (map.count == 0) {
        *out = *rel;
        return WEIR_OK;
    }
    size_t *columns = weir_arena_calloc(reader->arena, map.count, sizeof *columns, err);
    if (columns == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < map.count; i++) {
        uint64_t index = 0;
        WEIR_TRY(weir_json_as_index(weir_json_item(&map, i), &index, err));
        if (index >= rel->count) {
            return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: %s names column #%llu", key,
                                  (unsigned long long)index);
        }
        columns[i] = rel->columns[index];
    }
    *out = (Rel){.node = rel->node, .count = map.count, .columns = columns};
    return WEIR_OK;
}

Status weir_json_append_column(JsonReader *reader, const Rel *rel, const IrNode *node, Rel *out,
                               Error *err)
{
    size_t *columns = weir_arena_calloc(reader->arena, rel->count + 1, sizeof *columns, err);
    if (columns == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < rel->count; i++) {
        columns[i] = rel->columns[i];
    }
    columns[rel->count] = node->column_count - 1;
    *out = (Rel){.node = node, .count = rel->count + 1, .columns = columns};
    return WEIR_OK;
}

static Status child_at(Json *json, size_t index, Json **out, Error *err)
{
    JsonArray children = {0};
    WEIR_TRY(weir_json_get_array(json, "children", &children, err));
    if (index >= children.count) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: %s of %zu children",
                              weir_json_find_text(json, "type"), children.count);
    }
    *out = weir_json_item(&children, index);
    return WEIR_OK;
}

Status weir_json_read_child(JsonReader *reader, Json *json, size_t index, Rel *out, Error *err)
{
    Json *child = NULL;
    WEIR_TRY(child_at(json, index, &child, err));
    return weir_json_read_rel(reader, child, out, err);
}

/* --- operators with one child --- */

static const LogicalType *const NO_TYPES[1];

static Status read_projection(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    Rel child = {0};
    bool is_done = false;
    WEIR_TRY(weir_json_read_exists(reader, json, out, &is_done, err));
    if (is_done) {
        return WEIR_OK;
    }
    if (weir_json_is_scalar(json)) {
        const IrNode *one = weir_ir_values(reader->ir, NO_TYPES, 0, NULL, 1, err);
        WEIR_TRY(weir_json_rel_of(reader, one, &child, err));
        return weir_json_read_scalar(reader, json, &child, out, err);
    }
    WEIR_TRY(weir_json_read_child(reader, json, 0, &child, err));
    const JsonScope scope = {.left = &child};
    const Expr *const *exprs = NULL;
    size_t count = 0;
    WEIR_TRY(weir_json_read_exprs(reader, &scope, json, "expressions", &exprs, &count, err));
    return weir_json_rel_of(reader, weir_ir_project(reader->ir, child.node, exprs, count, err), out,
                            err);
}

/* The predicates that are not the constant TRUE. */
static Status read_predicates(JsonReader *reader, const Rel *child, Json *json,
                              const Expr *const **out, size_t *count, Error *err)
{
    const JsonScope scope = {.left = child};
    const Expr *const *all = NULL;
    size_t all_count = 0;
    WEIR_TRY(weir_json_read_exprs(reader, &scope, json, "expressions", &all, &all_count, err));
    const Expr **kept = weir_arena_calloc(reader->arena, all_count, sizeof(const Expr *), err);
    if (kept == NULL) {
        return weir_ir_failure(err);
    }
    size_t kept_count = 0;
    for (size_t i = 0; i < all_count; i++) {
        WEIR_TRY(weir_json_check_boolean(all[i], err));
        if (!weir_json_is_true(all[i])) {
            kept[kept_count++] = all[i];
        }
    }
    *out = kept;
    *count = kept_count;
    return WEIR_OK;
}

static Status read_filter(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    Rel child = {0};
    const Expr *const *predicates = NULL;
    size_t count = 0;
    WEIR_TRY(weir_json_read_child(reader, json, 0, &child, err));
    WEIR_TRY(read_predicates(reader, &child, json, &predicates, &count, err));
    Rel filtered = child;
    if (count > 0) {
        filtered.node = weir_ir_filter(reader->ir, child.node, predicates, count, err);
    }
    if (filtered.node == NULL) {
        return weir_ir_failure(err);
    }
    return weir_json_rel_pick(reader, &filtered, json, "projection_map", out, err);
}

static Status make_distinct(JsonReader *reader, const IrNode *node, Rel *out, Error *err)
{
    if (node->column_count == 0) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: DISTINCT without columns");
    }
    return weir_json_rel_of(reader, weir_ir_distinct(reader->ir, node, err), out, err);
}

static Status read_distinct(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    const char *kind = NULL;
    Rel child = {0};
    const IrNode *node = NULL;
    const Expr *const *targets = NULL;
    size_t count = 0;
    WEIR_TRY(weir_json_get_text(json, "distinct_type", &kind, err));
    if (strcmp(kind, "DISTINCT") != 0) {
        return weir_json_refuse("DISTINCT ON", "use GROUP BY with min(), max() or arg_min()", err);
    }
    WEIR_TRY(weir_json_read_child(reader, json, 0, &child, err));
    WEIR_TRY(weir_json_rel_node(reader, &child, &node, err));
    WEIR_TRY(weir_json_rel_of(reader, node, &child, err));
    const JsonScope scope = {.left = &child};
    WEIR_TRY(weir_json_read_exprs(reader, &scope, json, "distinct_targets", &targets, &count, err));
    bool is_plain = count == child.count;
    for (size_t i = 0; is_plain && i < count; i++) {
        const Expr *argument = weir_json_form_argument(targets[i]);
        const Expr *target = argument == NULL ? targets[i] : argument;
        is_plain = target->kind == EXPR_COLUMN && target->column == i;
    }
    if (!is_plain) {
        return weir_json_refuse("DISTINCT over columns with a collation",
                                "apply lower() or strip_accents() to the column yourself", err);
    }
    return make_distinct(reader, node, out, err);
}

/* Bags have no order: below other operators ORDER BY means nothing. (On top it is refused before,
 * and so is LIMIT above it.) */
static Status read_order_by(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    Rel child = {0};
    WEIR_TRY(weir_json_read_child(reader, json, 0, &child, err));
    return weir_json_rel_pick(reader, &child, json, "projections", out, err);
}

/* --- set operations --- */

static Status check_same_types(const IrNode *a, const IrNode *b, Error *err)
{
    bool is_same = a->column_count == b->column_count;
    for (size_t i = 0; is_same && i < a->column_count; i++) {
        is_same = weir_ir_type_matches(a->types[i], b->types[i]);
    }
    return is_same ? WEIR_OK
                   : weir_error_set(err, WEIR_ERR_PLAN,
                                    "malformed plan: a set operation of different types");
}

/* All children as nodes of equal types. */
static Status read_operands(JsonReader *reader, Json *json, const IrNode *const **out,
                            size_t *count, Error *err)
{
    JsonArray children = {0};
    WEIR_TRY(weir_json_get_array(json, "children", &children, err));
    if (children.count == 0) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a set operation of nothing");
    }
    const IrNode **nodes =
        weir_arena_calloc(reader->arena, children.count, sizeof(const IrNode *), err);
    if (nodes == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < children.count; i++) {
        Rel rel = {0};
        WEIR_TRY(weir_json_read_rel(reader, weir_json_item(&children, i), &rel, err));
        WEIR_TRY(weir_json_rel_node(reader, &rel, &nodes[i], err));
        WEIR_TRY(check_same_types(nodes[0], nodes[i], err));
    }
    *out = nodes;
    *count = children.count;
    return WEIR_OK;
}

static Status read_union(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    const IrNode *const *nodes = NULL;
    size_t count = 0;
    WEIR_TRY(read_operands(reader, json, &nodes, &count, err));
    const IrNode *node = count == 1 ? nodes[0] : weir_ir_union(reader->ir, nodes, count, err);
    /* 1.4.4 says distinct here, later versions by a DISTINCT above. */
    if (node != NULL && !weir_json_find_flag(json, "setop_all")) {
        return make_distinct(reader, node, out, err);
    }
    return weir_json_rel_of(reader, node, out, err);
}

/* left's distinct rows that are (INTERSECT) or are not (EXCEPT) in right; NULLs are equal. */
static Status read_distinct_set_operation(JsonReader *reader, Json *json, JoinKind kind, Rel *out,
                                          Error *err)
{
    const IrNode *const *nodes = NULL;
    size_t count = 0;
    WEIR_TRY(read_operands(reader, json, &nodes, &count, err));
    if (count != 2) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a set operation of %zu", count);
    }
    const size_t width = nodes[0]->column_count;
    IrKey *keys = weir_arena_calloc(reader->arena, width, sizeof *keys, err);
    if (keys == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < width; i++) {
        keys[i].left = weir_expr_column(reader->arena, i, nodes[0]->types[i], err);
        keys[i].right = weir_expr_column(reader->arena, i, nodes[1]->types[i], err);
        keys[i].is_null_safe = true;
        if (keys[i].left == NULL || keys[i].right == NULL) {
            return weir_ir_failure(err);
        }
    }
    const IrJoinSpec spec = {.kind = kind, .keys = keys, .key_count = width};
    const IrNode *join = weir_ir_join(reader->ir, nodes[0], nodes[1], &spec, err);
    return join == NULL ? weir_ir_failure(err) : make_distinct(reader, join, out, err);
}

static Status read_intersect(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    if (weir_json_find_flag(json, "setop_all")) {
        return weir_json_refuse("INTERSECT ALL", "use INTERSECT, or a join", err);
    }
    return read_distinct_set_operation(reader, json, JOIN_SEMI, out, err);
}

static Status read_except(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    if (weir_json_find_flag(json, "setop_all")) {
        return weir_json_refuse("EXCEPT ALL", "use EXCEPT, or NOT EXISTS", err);
    }
    return read_distinct_set_operation(reader, json, JOIN_ANTI, out, err);
}

/* --- common table expressions: shared nodes --- */

static Status read_materialized_cte(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    CteFrame frame = {.parent = reader->ctes};
    WEIR_TRY(weir_json_get_index(json, "table_index", &frame.index, err));
    WEIR_TRY(weir_json_read_child(reader, json, 0, &frame.rel, err));
    reader->ctes = &frame;
    const Status status = weir_json_read_child(reader, json, 1, out, err);
    reader->ctes = frame.parent;
    return status;
}

static Status read_cte_ref(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    uint64_t index = 0;
    const LogicalType *const *types = NULL;
    size_t count = 0;
    WEIR_TRY(weir_json_get_index(json, "cte_index", &index, err));
    WEIR_TRY(weir_json_read_types(reader, json, "chunk_types", &types, &count, err));
    const CteFrame *frame = reader->ctes;
    while (frame != NULL && frame->index != index) {
        frame = frame->parent;
    }
    if (frame == NULL || count > frame->rel.count) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: no common table expression %llu",
                              (unsigned long long)index);
    }
    for (size_t i = 0; i < count; i++) {
        const size_t column = frame->rel.columns[i];
        if (column < frame->rel.node->column_count &&
            !weir_ir_type_matches(frame->rel.node->types[column], types[i])) {
            return weir_error_set(err, WEIR_ERR_PLAN,
                                  "malformed plan: a common table expression of other types");
        }
    }
    *out = frame->rel;
    out->count = count;
    return WEIR_OK;
}

/* --- dispatch --- */

static const struct {
    const char *name;
    JsonRelReader read;
} OPERATORS[] = {
    {"LOGICAL_PROJECTION", read_projection},
    {"LOGICAL_GET", weir_json_read_get},
    {"LOGICAL_FILTER", read_filter},
    {"LOGICAL_AGGREGATE_AND_GROUP_BY", weir_json_read_aggregate},
    {"LOGICAL_COMPARISON_JOIN", weir_json_read_comparison_join},
    {"LOGICAL_ANY_JOIN", weir_json_read_any_join},
    {"LOGICAL_CROSS_PRODUCT", weir_json_read_cross_product},
    {"LOGICAL_DELIM_JOIN", weir_json_read_delim_join},
    {"LOGICAL_DELIM_GET", weir_json_read_delim_get},
    {"LOGICAL_DISTINCT", read_distinct},
    {"LOGICAL_ORDER_BY", read_order_by},
    {"LOGICAL_UNION", read_union},
    {"LOGICAL_INTERSECT", read_intersect},
    {"LOGICAL_EXCEPT", read_except},
    {"LOGICAL_MATERIALIZED_CTE", read_materialized_cte},
    {"LOGICAL_CTE_REF", read_cte_ref},
    {"LOGICAL_DUMMY_SCAN", weir_json_read_dummy_scan},
    {"LOGICAL_EXPRESSION_GET", weir_json_read_expression_get},
    {"LOGICAL_CHUNK_GET", weir_json_read_chunk_get},
    {"LOGICAL_EMPTY_RESULT", weir_json_read_empty_result},
};

Status weir_json_read_rel(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    const char *name = NULL;
    WEIR_TRY(weir_json_get_text(json, "type", &name, err));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(OPERATORS); i++) {
        if (strcmp(OPERATORS[i].name, name) == 0) {
            WEIR_TRY(weir_json_enter(reader, err));
            const Status status = OPERATORS[i].read(reader, json, out, err);
            weir_json_leave(reader);
            return status;
        }
    }
    return weir_json_refuse_operator(json, name, err);
}
