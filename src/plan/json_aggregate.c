/* json_aggregate.c: AGGREGATE_AND_GROUP_BY.
 *
 * Output: groups, aggregates, then GROUPING() calls. grouping_sets [] or one set of all groups is an
 * ordinary GROUP BY; several sets are a union of one aggregate each. */
#include "plan/json_priv.h"

/* Equal results whatever the order of the rows, so that ORDER BY inside the call means nothing. */
static const char *const ORDERLESS[] = {
    "count_star",   "count",
    "sum",          "avg",
    "mean",         "min",
    "max",          "bool_and",
    "bool_or",      "bit_and",
    "bit_or",       "bit_xor",
    "stddev",       "stddev_samp",
    "stddev_pop",   "var_samp",
    "var_pop",      "variance",
    "covar_samp",   "covar_pop",
    "corr",         "count_if",
    "countif",      "sum_no_overflow",
    "fsum",         "sumkahan",
    "kahan_sum",    "favg",
    "regr_count",   "regr_sxx",
    "regr_syy",     "regr_sxy",
    "regr_slope",   "regr_intercept",
    "regr_avgx",    "regr_avgy",
    "regr_r2",      "sem",
    "skewness",     "kurtosis",
    "kurtosis_pop", "entropy",
    "median",       "mad",
    "product",
};

/* DISTINCT changes nothing. */
static const char *const IDEMPOTENT[] = {"min", "max", "bool_and", "bool_or", "bit_and", "bit_or"};

/* They carry arguments outside of their children. */
static const char *const PARAMETRIC[] = {
    "string_agg",      "group_concat",       "listagg",         "quantile",
    "quantile_cont",   "quantile_disc",      "percentile_cont", "percentile_disc",
    "approx_quantile", "reservoir_quantile", "bitstring_agg",
};

/* Their value depends on the order in which rows are read. */
static const char *const ORDER_DEPENDENT[] = {"first", "last", "any_value", "arbitrary"};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static Status refuse_aggregate(const char *name, Error *err)
{
    const Status status =
        weir_error_set(err, WEIR_ERR_OPERATOR, "a view cannot contain the aggregate %s", name);
    weir_error_hint(err, "aggregate in the query that reads the view");
    return status;
}

static Status refuse_call(const IrCall *call, const char *shown_name, Error *err)
{
    if (call->arg_count == 0) {
        return refuse_aggregate(shown_name, err);
    }
    Status status = weir_error_set(
        err, WEIR_ERR_OPERATOR, "a view cannot contain the aggregate %s%s of the type %s",
        shown_name, call->is_distinct ? " DISTINCT" : "", weir_type_name(call->args[0]->type->id));
    weir_error_hint(err, "aggregate in the query that reads the view");
    return status;
}

static Status refuse_order_dependent(const char *name, Json *json, Error *err)
{
    if (strcmp(weir_json_find_text(json, "alias"), "__collated_group") == 0) {
        const char *type = weir_json_find_text(weir_json_find(json, "return_type"), "id");
        return strcmp(type, "VARCHAR") == 0
                   ? weir_json_refuse("GROUP BY over a column with a collation",
                                      "apply lower() or strip_accents() to the column yourself",
                                      err)
                   : weir_json_refuse("GROUPING SETS over a column of this type",
                                      "write a UNION ALL of groupings", err);
    }
    const Status status = weir_error_set(
        err, WEIR_ERR_OPERATOR,
        "a view cannot contain the aggregate %s: it depends on the order of the rows", name);
    weir_error_hint(err, "use min() or max()");
    return status;
}

static bool has_orders(Json *json)
{
    JsonArray orders = {0};
    Error ignored = {0};
    return weir_json_get_array(weir_json_find(json, "order_bys"), "orders", &orders, &ignored) ==
               WEIR_OK &&
           orders.count > 0;
}

/* The name under which operators know the aggregate; NULL with err filled if it is refused.
 * is_alike: all values of a group are equal, so that the first is any. */
static const char *read_call_name(JsonReader *reader, Json *json, bool is_alike, Error *err)
{
    const char *name = NULL;
    JsonArray children = {0};
    if (weir_json_get_text(json, "name", &name, err) != WEIR_OK ||
        weir_json_get_array(json, "children", &children, err) != WEIR_OK) {
        return NULL;
    }
    if (strcmp(name, "mean") == 0) {
        return "avg";
    }
    if (strcmp(name, "count") == 0 && children.count == 0) {
        return "count_star";
    }
    const bool is_ordered =
        has_orders(json) && !is_one_of(name, ORDERLESS, WEIR_ARRAY_COUNT(ORDERLESS));
    if (is_ordered || is_one_of(name, PARAMETRIC, WEIR_ARRAY_COUNT(PARAMETRIC)) ||
        children.count > IR_CALL_ARGS) {
        refuse_aggregate(name, err);
        return NULL;
    }
    if (strcmp(name, "first") == 0 && (json == reader->scalar_first || is_alike)) {
        return "min";
    }
    if (is_one_of(name, ORDER_DEPENDENT, WEIR_ARRAY_COUNT(ORDER_DEPENDENT))) {
        refuse_order_dependent(name, json, err);
        return NULL;
    }
    return weir_arena_strdup(reader->arena, name, err);
}

/* Asks the operators. The columns that it will read are not known yet, and do not matter. */
Status weir_json_check_call(const IrCall *call, const char *shown_name, Error *err)
{
    AggregateCall probe = {
        .name = call->name,
        .args = {OP_NO_COLUMN, OP_NO_COLUMN, OP_NO_COLUMN},
        .filter = call->filter == NULL ? OP_NO_COLUMN : (ptrdiff_t)call->arg_count,
        .is_distinct = call->is_distinct,
        .type = call->type,
    };
    for (size_t i = 0; i < call->arg_count; i++) {
        probe.args[i] = (ptrdiff_t)i;
    }
    if (call->arg_count > 0) {
        probe.arg_type = call->args[0]->type;
    }
    return weir_op_aggregate_supports(&probe) ? WEIR_OK : refuse_call(call, shown_name, err);
}

/* The layout of the result that the operators write; PHYS_COUNT for an aggregate not listed. */
static PhysType result_layout(const IrCall *call)
{
    static const struct {
        const char *name;
        PhysType phys; /* PHYS_COUNT = that of the argument */
    } LAYOUTS[] = {
        {"count_star", PHYS_I64}, {"count", PHYS_I64},     {"count_if", PHYS_I128},
        {"countif", PHYS_I128},   {"min", PHYS_COUNT},     {"max", PHYS_COUNT},
        {"bool_and", PHYS_U8},    {"bool_or", PHYS_U8},    {"bit_and", PHYS_COUNT},
        {"bit_or", PHYS_COUNT},   {"bit_xor", PHYS_COUNT},
    };
    const LogicalType *arg = call->arg_count == 0 ? NULL : call->args[0]->type;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(LAYOUTS); i++) {
        if (strcmp(LAYOUTS[i].name, call->name) == 0) {
            return LAYOUTS[i].phys == PHYS_COUNT && arg != NULL ? arg->phys : LAYOUTS[i].phys;
        }
    }
    const bool is_sum = strcmp(call->name, "sum") == 0;
    if (arg == NULL || (!is_sum && strcmp(call->name, "avg") != 0)) {
        return PHYS_COUNT;
    }
    if (arg->id == TYPE_BOOLEAN || arg->id == TYPE_DECIMAL || weir_type_is_integer(arg)) {
        return is_sum ? PHYS_I128 : PHYS_F64;
    }
    return arg->phys;
}

/* The plan's word for the result's type is not taken for it. */
static Status check_result(const IrCall *call, Error *err)
{
    const PhysType phys = result_layout(call);
    if (phys != PHYS_COUNT && phys != call->type->phys) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: %s gives %s", call->name,
                              weir_type_name(call->type->id));
    }
    return WEIR_OK;
}

static bool is_count_of_constant(const IrCall *call)
{
    return strcmp(call->name, "count") == 0 && call->arg_count == 1 && !call->is_distinct &&
           call->args[0]->kind == EXPR_CONSTANT && !call->args[0]->value.is_null;
}

/* Everything of the operator but its child. */
typedef struct AggregateReader {
    JsonReader *reader;
    const IrNode *child;
    size_t group_count;
    const Expr *const *groups;
    size_t call_count;
    IrCall *calls;
    JsonArray functions; /* GROUPING() calls: arrays of group positions */
    bool has_one_set;    /* one set of all groups */
} AggregateReader;

/* True if all values in a group are equal: the group is made of their common form. */
static bool is_alike(const AggregateReader *a, const Expr *const *args, size_t arg_count)
{
    for (size_t i = 0; arg_count == 1 && a->has_one_set && i < a->group_count; i++) {
        const Expr *argument = weir_json_form_argument(a->groups[i]);
        if (argument != NULL && weir_expr_equal(argument, args[0])) {
            return true;
        }
    }
    return false;
}

static Status read_call(const AggregateReader *a, const JsonScope *scope, Json *json, IrCall *out,
                        Error *err)
{
    JsonReader *reader = a->reader;
    const char *class_name = NULL;
    Json *type = NULL;
    const Expr *const *args = NULL;
    IrCall call = {0};
    WEIR_TRY(weir_json_get_text(json, "expression_class", &class_name, err));
    if (strcmp(class_name, "BOUND_AGGREGATE") != 0) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: %s is not an aggregate",
                              class_name);
    }
    WEIR_TRY(weir_json_read_exprs(reader, scope, json, "children", &args, &call.arg_count, err));
    call.name = read_call_name(reader, json, is_alike(a, args, call.arg_count), err);
    if (call.name == NULL) {
        return weir_ir_failure(err);
    }
    WEIR_TRY(weir_json_get(json, "return_type", &type, err));
    WEIR_TRY(weir_json_read_type(reader, type, &call.type, err));
    WEIR_ASSERT(call.arg_count <= IR_CALL_ARGS);
    for (size_t i = 0; i < call.arg_count; i++) {
        call.args[i] = args[i];
    }
    Json *filter = weir_json_find(json, "filter");
    if (filter != NULL) {
        WEIR_TRY(weir_json_read_expr(reader, scope, filter, &call.filter, err));
        WEIR_TRY(weir_json_check_boolean(call.filter, err));
    }
    call.is_distinct = strcmp(weir_json_find_text(json, "aggregate_type"), "DISTINCT") == 0 &&
                       !is_one_of(call.name, IDEMPOTENT, WEIR_ARRAY_COUNT(IDEMPOTENT));
    if (is_count_of_constant(&call)) {
        call.name = "count_star";
        call.arg_count = 0;
    }
    *out = call;
    WEIR_TRY(check_result(&call, err));
    return weir_json_check_call(&call, weir_json_find_text(json, "name"), err);
}

static Status read_calls(AggregateReader *a, const JsonScope *scope, Json *json, Error *err)
{
    JsonArray array = {0};
    WEIR_TRY(weir_json_get_array(json, "expressions", &array, err));
    a->calls = weir_arena_calloc(a->reader->arena, array.count, sizeof *a->calls, err);
    if (a->calls == NULL) {
        return weir_ir_failure(err);
    }
    a->call_count = array.count;
    for (size_t i = 0; i < array.count; i++) {
        WEIR_TRY(read_call(a, scope, weir_json_item(&array, i), &a->calls[i], err));
    }
    return WEIR_OK;
}

/* Marks the groups that the array of positions names. */
static Status read_set(const AggregateReader *a, Json *json, bool *is_in, Error *err)
{
    JsonArray set = {0};
    WEIR_TRY(weir_json_as_array(json, &set, err));
    memset(is_in, 0, a->group_count * sizeof *is_in);
    for (size_t i = 0; i < set.count; i++) {
        uint64_t position = 0;
        WEIR_TRY(weir_json_as_index(weir_json_item(&set, i), &position, err));
        if (position >= a->group_count) {
            return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: grouping by column %llu",
                                  (unsigned long long)position);
        }
        is_in[position] = true;
    }
    return WEIR_OK;
}

/* GROUPING(a, b): a bit for each argument, the first the highest, 1 = not in the set. */
static Status make_grouping(const AggregateReader *a, Json *json, const bool *is_in,
                            const Expr **out, Error *err)
{
    JsonArray args = {0};
    int64_t mask = 0;
    WEIR_TRY(weir_json_as_array(json, &args, err));
    if (args.count > 63) {
        return weir_json_refuse("GROUPING of more than 63 columns", NULL, err);
    }
    for (size_t i = 0; i < args.count; i++) {
        uint64_t position = 0;
        WEIR_TRY(weir_json_as_index(weir_json_item(&args, i), &position, err));
        if (position >= a->group_count) {
            return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: GROUPING of column %llu",
                                  (unsigned long long)position);
        }
        mask = mask * 2 + (is_in[position] ? 0 : 1);
    }
    *out = weir_json_make_bigint(a->reader, mask, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* The aggregate by the groups of one set alone. */
static const IrNode *make_plain(const AggregateReader *a, const bool *is_in, Error *err)
{
    const Expr **groups =
        weir_arena_calloc(a->reader->arena, a->group_count, sizeof(const Expr *), err);
    if (groups == NULL) {
        return NULL;
    }
    size_t count = 0;
    for (size_t i = 0; i < a->group_count; i++) {
        if (is_in[i]) {
            groups[count++] = a->groups[i];
        }
    }
    if (count + a->call_count == 0) {
        return weir_ir_values(a->reader->ir, a->child->types, 0, NULL, 1, err);
    }
    const IrAggregateSpec spec = {
        .groups = groups, .group_count = count, .calls = a->calls, .call_count = a->call_count};
    return weir_ir_aggregate(a->reader->ir, a->child, &spec, err);
}

/* One grouping set: the aggregate, with NULL for the groups that are not in it. */
static Status make_set(const AggregateReader *a, const bool *is_in, const IrNode **out, Error *err)
{
    const IrNode *node = make_plain(a, is_in, err);
    if (node == NULL) {
        return weir_ir_failure(err);
    }
    const size_t count = a->group_count + a->call_count + a->functions.count;
    if (node->column_count == count) {
        *out = node;
        return WEIR_OK;
    }
    const Expr **exprs = weir_arena_calloc(a->reader->arena, count, sizeof(const Expr *), err);
    if (exprs == NULL) {
        return weir_ir_failure(err);
    }
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (i >= a->group_count + a->call_count) {
            const size_t place = i - a->group_count - a->call_count;
            WEIR_TRY(make_grouping(a, weir_json_item(&a->functions, place), is_in, &exprs[i], err));
        } else if (i < a->group_count && !is_in[i]) {
            exprs[i] = weir_json_make_null(a->reader, a->groups[i]->type, err);
        } else {
            exprs[i] = weir_expr_column(a->reader->arena, next, node->types[next], err);
            next++;
        }
        if (exprs[i] == NULL) {
            return weir_ir_failure(err);
        }
    }
    *out = weir_ir_project(a->reader->ir, node, exprs, count, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status make_sets(const AggregateReader *a, const JsonArray *sets, const IrNode **out,
                        Error *err)
{
    bool *is_in = weir_arena_calloc(a->reader->arena, a->group_count, sizeof *is_in, err);
    const IrNode **nodes =
        weir_arena_calloc(a->reader->arena, sets->count + 1, sizeof(const IrNode *), err);
    if (is_in == NULL || nodes == NULL) {
        return weir_ir_failure(err);
    }
    if (sets->count == 0) {
        memset(is_in, true, a->group_count * sizeof *is_in);
        return make_set(a, is_in, out, err);
    }
    for (size_t i = 0; i < sets->count; i++) {
        WEIR_TRY(read_set(a, weir_json_item(sets, i), is_in, err));
        WEIR_TRY(make_set(a, is_in, &nodes[i], err));
    }
    *out = sets->count == 1 ? nodes[0] : weir_ir_union(a->reader->ir, nodes, sets->count, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

Status weir_json_read_aggregate_over(JsonReader *reader, Json *json, const Rel *child, Rel *out,
                                     Error *err)
{
    AggregateReader a = {.reader = reader, .child = child->node};
    const JsonScope scope = {.left = child};
    JsonArray sets = {0};
    WEIR_TRY(weir_json_read_exprs(reader, &scope, json, "groups", &a.groups, &a.group_count, err));
    WEIR_TRY(weir_json_get_array(json, "grouping_sets", &sets, err));
    a.has_one_set = sets.count <= 1;
    WEIR_TRY(read_calls(&a, &scope, json, err));
    WEIR_TRY(weir_json_get_array(json, "grouping_functions", &a.functions, err));
    const size_t width = a.group_count + a.call_count + a.functions.count;
    if (width > JSON_MAX_COLUMNS || sets.count > JSON_MAX_COLUMNS) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "more than %d columns or grouping sets",
                              JSON_MAX_COLUMNS);
    }
    const IrNode *node = NULL;
    WEIR_TRY(make_sets(&a, &sets, &node, err));
    return weir_json_rel_of(reader, node, out, err);
}

Status weir_json_read_aggregate(JsonReader *reader, Json *json, Rel *out, Error *err)
{
    Rel child = {0};
    WEIR_TRY(weir_json_read_child(reader, json, 0, &child, err));
    return weir_json_read_aggregate_over(reader, json, &child, out, err);
}
