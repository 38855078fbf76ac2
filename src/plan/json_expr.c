/* json_expr.c: bound scalar expressions.
 *
 * Casts that change nothing are dropped and casts of NULL folded, so that literals are constants:
 * DuckDB writes 3 as CAST(3 AS INTEGER) and true as CAST('t' AS BOOLEAN). */
#include "plan/json_priv.h"

const Expr *weir_json_make_expr(JsonReader *reader, const Expr *proto, Error *err)
{
    Expr *expr = weir_arena_alloc(reader->arena, sizeof *expr, err);
    if (expr != NULL) {
        *expr = *proto;
    }
    return expr;
}

const Expr *weir_json_make_null(JsonReader *reader, const LogicalType *type, Error *err)
{
    const Expr null = {
        .kind = EXPR_CONSTANT, .type = type, .value = {.type = type, .is_null = true}};
    return weir_json_make_expr(reader, &null, err);
}

const Expr *weir_json_make_text(JsonReader *reader, const char *text, size_t size, Error *err)
{
    const LogicalType *type = weir_type_simple(TYPE_VARCHAR);
    const String string = weir_string_make(text, size);
    Expr constant = {.kind = EXPR_CONSTANT, .type = type, .value = {.type = type}};
    memcpy(constant.value.data.bytes, &string, sizeof string);
    return weir_json_make_expr(reader, &constant, err);
}

const Expr *weir_json_make_bigint(JsonReader *reader, int64_t value, Error *err)
{
    const LogicalType *type = weir_type_simple(TYPE_BIGINT);
    Expr constant = {.kind = EXPR_CONSTANT, .type = type, .value = {.type = type}};
    memcpy(constant.value.data.bytes, &value, sizeof value);
    return weir_json_make_expr(reader, &constant, err);
}

static const Expr *make_boolean(JsonReader *reader, bool value, Error *err)
{
    const LogicalType *type = weir_type_simple(TYPE_BOOLEAN);
    Expr constant = {.kind = EXPR_CONSTANT, .type = type, .value = {.type = type}};
    constant.value.data.bytes[0] = value ? 1 : 0;
    return weir_json_make_expr(reader, &constant, err);
}

static Status read_return_type(JsonReader *reader, Json *json, const LogicalType **out, Error *err)
{
    Json *type = NULL;
    WEIR_TRY(weir_json_get(json, "return_type", &type, err));
    return weir_json_read_type(reader, type, out, err);
}

Status weir_json_check_boolean(const Expr *expr, Error *err)
{
    if (expr->type->id != TYPE_BOOLEAN) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a condition of the type %s",
                              weir_type_name(expr->type->id));
    }
    return WEIR_OK;
}

bool weir_json_is_true(const Expr *expr)
{
    return expr->kind == EXPR_CONSTANT && expr->type->id == TYPE_BOOLEAN && !expr->value.is_null &&
           expr->value.data.bytes[0] != 0;
}

const Expr *weir_json_form_argument(const Expr *expr)
{
    const bool is_form =
        expr->kind == EXPR_CALL && expr->arg_count == 1 &&
        ((strcmp(expr->name, "normalized_interval") == 0 &&
          expr->args[0]->type->id == TYPE_INTERVAL && expr->type->id == TYPE_INTERVAL) ||
         (strcmp(expr->name, "timetz_byte_comparable") == 0 &&
          expr->args[0]->type->id == TYPE_TIME_TZ && expr->type->id == TYPE_UBIGINT));
    return is_form ? expr->args[0] : NULL;
}

void weir_json_strip_forms(const Expr **left, const Expr **right)
{
    const Expr *left_argument = weir_json_form_argument(*left);
    const Expr *right_argument = weir_json_form_argument(*right);
    if (left_argument != NULL && right_argument != NULL &&
        left_argument->type->id == right_argument->type->id) {
        *left = left_argument;
        *right = right_argument;
    }
}

/* --- references --- */

/* The type that the reference states must be the one we computed: catches every misreading early. */
static Status check_type(const LogicalType *stated, const LogicalType *computed, uint64_t index,
                         Error *err)
{
    if (!weir_ir_type_matches(stated, computed)) {
        return weir_error_set(
            err, WEIR_ERR_PLAN, "malformed plan: column #%llu is read as %s, but it is %s",
            (unsigned long long)index, weir_type_name(stated->id), weir_type_name(computed->id));
    }
    return WEIR_OK;
}

static Status read_column(JsonReader *reader, const JsonScope *scope, uint64_t index,
                          const LogicalType *stated, const Expr **out, Error *err)
{
    const Rel *rel = scope->left;
    size_t offset = 0;
    uint64_t place = index;
    if (rel != NULL && scope->right != NULL && place >= rel->count) {
        place -= rel->count;
        offset = rel->node->column_count;
        rel = scope->right;
    }
    if (rel == NULL || place >= rel->count) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: there is no column #%llu",
                              (unsigned long long)index);
    }
    WEIR_TRY(weir_json_check_column(rel, (size_t)place, err));
    const size_t column = rel->columns[place];
    const LogicalType *computed = rel->node->types[column];
    WEIR_TRY(check_type(stated, computed, index, err));
    *out = weir_expr_column(reader->arena, offset + column, computed, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

/* Inside a lambda body the parameters come first, in reverse order of declaration. */
static Status read_lambda_ref(JsonReader *reader, const LambdaScope *lambda, uint64_t index,
                              const LogicalType *stated, const Expr **out, Error *err)
{
    if (index < lambda->parameter_count) {
        const size_t declared = lambda->parameter_count - 1 - (size_t)index;
        const Expr parameter = {
            .kind = EXPR_PARAMETER, .type = stated, .column = lambda->first_parameter + declared};
        *out = weir_json_make_expr(reader, &parameter, err);
        return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
    }
    const uint64_t place = index - lambda->parameter_count;
    if (place >= lambda->capture_count) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a lambda without capture #%llu",
                              (unsigned long long)place);
    }
    *out = lambda->captures[place];
    return check_type(stated, (*out)->type, index, err);
}

static Status read_ref(JsonReader *reader, const JsonScope *scope, Json *json, const Expr **out,
                       Error *err)
{
    uint64_t index = 0;
    const LogicalType *stated = NULL;
    WEIR_TRY(weir_json_get_index(json, "index", &index, err));
    WEIR_TRY(read_return_type(reader, json, &stated, err));
    if (scope->lambda != NULL) {
        return read_lambda_ref(reader, scope->lambda, index, stated, out, err);
    }
    return read_column(reader, scope, index, stated, out, err);
}

/* --- operators --- */

/* Makes a node of the given kind and type over the arguments. */
static Status make_node(JsonReader *reader, ExprKind kind, const LogicalType *type,
                        const Expr *const *args, size_t arg_count, const Expr **out, Error *err)
{
    const Expr node = {.kind = kind, .type = type, .args = args, .arg_count = arg_count};
    *out = weir_json_make_expr(reader, &node, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status read_field(JsonReader *reader, const JsonScope *scope, Json *json, const char *key,
                         const Expr **out, Error *err)
{
    Json *field = NULL;
    WEIR_TRY(weir_json_get(json, key, &field, err));
    return weir_json_read_expr(reader, scope, field, out, err);
}

/* True for 't' and 'f', as DuckDB writes the literals true and false. */
static bool is_boolean_literal(const Expr *expr, bool *value)
{
    if (expr->kind != EXPR_CONSTANT || expr->type->id != TYPE_VARCHAR || expr->value.is_null) {
        return false;
    }
    String text;
    memcpy(&text, expr->value.data.bytes, sizeof text);
    const char first = *weir_string_data(&text);
    *value = first == 't';
    return weir_string_size(&text) == 1 && (first == 't' || first == 'f');
}

static Status read_cast(JsonReader *reader, const JsonScope *scope, Json *json, const Expr **out,
                        Error *err)
{
    const Expr *child = NULL;
    const LogicalType *type = NULL;
    WEIR_TRY(read_field(reader, scope, json, "child", &child, err));
    WEIR_TRY(read_return_type(reader, json, &type, err));
    if (weir_type_equal(child->type, type)) {
        *out = child;
        return WEIR_OK;
    }
    if (child->kind == EXPR_CONSTANT && child->value.is_null) {
        *out = weir_json_make_null(reader, type, err);
        return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
    }
    bool literal = false;
    if (type->id == TYPE_BOOLEAN && is_boolean_literal(child, &literal)) {
        *out = make_boolean(reader, literal, err);
        return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
    }
    const Expr **args = weir_arena_alloc(reader->arena, sizeof(const Expr *), err);
    if (args == NULL) {
        return weir_ir_failure(err);
    }
    args[0] = child;
    const Expr cast = {
        .kind = EXPR_CAST,
        .type = type,
        .args = args,
        .arg_count = 1,
        .is_try = weir_json_find_flag(json, "try_cast"),
    };
    *out = weir_json_make_expr(reader, &cast, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

Status weir_json_read_compare(const char *name, CompareOp *out, Error *err)
{
    static const struct {
        const char *name;
        CompareOp compare;
    } NAMES[] = {
        {"COMPARE_EQUAL", COMPARE_EQ},
        {"COMPARE_NOTEQUAL", COMPARE_NE},
        {"COMPARE_LESSTHAN", COMPARE_LT},
        {"COMPARE_LESSTHANOREQUALTO", COMPARE_LE},
        {"COMPARE_GREATERTHAN", COMPARE_GT},
        {"COMPARE_GREATERTHANOREQUALTO", COMPARE_GE},
        {"COMPARE_DISTINCT_FROM", COMPARE_DISTINCT},
        {"COMPARE_NOT_DISTINCT_FROM", COMPARE_NOT_DISTINCT},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(NAMES); i++) {
        if (strcmp(NAMES[i].name, name) == 0) {
            *out = NAMES[i].compare;
            return WEIR_OK;
        }
    }
    return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: the comparison %s", name);
}

/* left `compare` right. */
static Status make_compare(JsonReader *reader, CompareOp compare, const Expr *left,
                           const Expr *right, const Expr **out, Error *err)
{
    if (!weir_ir_type_matches(left->type, right->type)) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: %s is compared with %s",
                              weir_type_name(left->type->id), weir_type_name(right->type->id));
    }
    const Expr **args = weir_arena_calloc(reader->arena, 2, sizeof(const Expr *), err);
    if (args == NULL) {
        return weir_ir_failure(err);
    }
    args[0] = left;
    args[1] = right;
    weir_json_strip_forms(&args[0], &args[1]);
    const Expr node = {
        .kind = EXPR_COMPARE,
        .type = weir_type_simple(TYPE_BOOLEAN),
        .args = args,
        .arg_count = 2,
        .compare = compare,
    };
    *out = weir_json_make_expr(reader, &node, err);
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status read_comparison(JsonReader *reader, const JsonScope *scope, Json *json,
                              const Expr **out, Error *err)
{
    const char *name = NULL;
    CompareOp compare = COMPARE_EQ;
    const Expr *left = NULL;
    const Expr *right = NULL;
    WEIR_TRY(weir_json_get_text(json, "type", &name, err));
    WEIR_TRY(weir_json_read_compare(name, &compare, err));
    WEIR_TRY(read_field(reader, scope, json, "left", &left, err));
    WEIR_TRY(read_field(reader, scope, json, "right", &right, err));
    return make_compare(reader, compare, left, right, out, err);
}

/* input >(=) lower AND input <(=) upper. */
static Status read_between(JsonReader *reader, const JsonScope *scope, Json *json, const Expr **out,
                           Error *err)
{
    const Expr *input = NULL;
    const Expr *lower = NULL;
    const Expr *upper = NULL;
    WEIR_TRY(read_field(reader, scope, json, "input", &input, err));
    WEIR_TRY(read_field(reader, scope, json, "lower", &lower, err));
    WEIR_TRY(read_field(reader, scope, json, "upper", &upper, err));
    const Expr **both = weir_arena_calloc(reader->arena, 2, sizeof(const Expr *), err);
    if (both == NULL) {
        return weir_ir_failure(err);
    }
    const CompareOp above = weir_json_find_flag(json, "lower_inclusive") ? COMPARE_GE : COMPARE_GT;
    const CompareOp below = weir_json_find_flag(json, "upper_inclusive") ? COMPARE_LE : COMPARE_LT;
    WEIR_TRY(make_compare(reader, above, input, lower, &both[0], err));
    WEIR_TRY(make_compare(reader, below, input, upper, &both[1], err));
    return make_node(reader, EXPR_AND, weir_type_simple(TYPE_BOOLEAN), both, 2, out, err);
}

static Status read_conjunction(JsonReader *reader, const JsonScope *scope, Json *json,
                               const Expr **out, Error *err)
{
    const char *name = NULL;
    const Expr *const *args = NULL;
    size_t count = 0;
    WEIR_TRY(weir_json_get_text(json, "type", &name, err));
    WEIR_TRY(weir_json_read_exprs(reader, scope, json, "children", &args, &count, err));
    const bool is_and = strcmp(name, "CONJUNCTION_AND") == 0;
    if ((!is_and && strcmp(name, "CONJUNCTION_OR") != 0) || count == 0) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: the conjunction %s of %zu", name,
                              count);
    }
    for (size_t i = 0; i < count; i++) {
        WEIR_TRY(weir_json_check_boolean(args[i], err));
    }
    if (count == 1) {
        *out = args[0];
        return WEIR_OK;
    }
    return make_node(reader, is_and ? EXPR_AND : EXPR_OR, weir_type_simple(TYPE_BOOLEAN), args,
                     count, out, err);
}

typedef struct OperatorDef {
    const char *name;
    size_t arg_count; /* SIZE_MAX = at least one */
    ExprKind kind;
    bool is_negated;
    bool takes_boolean;
} OperatorDef;

static const OperatorDef OPERATORS[] = {
    {"OPERATOR_NOT", 1, EXPR_NOT, false, true},
    {"OPERATOR_IS_NULL", 1, EXPR_IS_NULL, false, false},
    {"OPERATOR_IS_NOT_NULL", 1, EXPR_IS_NOT_NULL, false, false},
    {"OPERATOR_COALESCE", SIZE_MAX, EXPR_COALESCE, false, false},
    {"OPERATOR_TRY", 1, EXPR_TRY, false, false},
    {"COMPARE_IN", SIZE_MAX, EXPR_IN, false, false},
    {"COMPARE_NOT_IN", SIZE_MAX, EXPR_IN, true, false},
};

/* IN compares and COALESCE chooses among values of one type. */
static Status check_operands(const Expr *node, Error *err)
{
    const LogicalType *type = node->kind == EXPR_IN ? node->args[0]->type : node->type;
    const bool is_alike =
        node->kind == EXPR_IN || node->kind == EXPR_COALESCE || node->kind == EXPR_TRY;
    for (size_t i = 0; is_alike && i < node->arg_count; i++) {
        if (!weir_ir_type_matches(node->args[i]->type, type)) {
            return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: %s stands beside %s",
                                  weir_type_name(node->args[i]->type->id),
                                  weir_type_name(type->id));
        }
    }
    const bool is_test = node->kind != EXPR_COALESCE && node->kind != EXPR_TRY;
    return is_test ? weir_json_check_boolean(node, err) : WEIR_OK;
}

/* x IN (y, ...) where all operands are brought to their common form: without it. */
static Status strip_operands(JsonReader *reader, Expr *node, Error *err)
{
    const Expr **args =
        weir_arena_calloc(reader->arena, node->arg_count, sizeof(const Expr *), err);
    if (args == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < node->arg_count; i++) {
        args[i] = weir_json_form_argument(node->args[i]);
        if (args[i] == NULL || args[i]->type->id != args[0]->type->id) {
            return WEIR_OK;
        }
    }
    node->args = args;
    return WEIR_OK;
}

static Status read_operator(JsonReader *reader, const JsonScope *scope, Json *json,
                            const Expr **out, Error *err)
{
    const char *name = NULL;
    const OperatorDef *def = NULL;
    Expr node = {0};
    WEIR_TRY(weir_json_get_text(json, "type", &name, err));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(OPERATORS); i++) {
        if (strcmp(OPERATORS[i].name, name) == 0) {
            def = &OPERATORS[i];
        }
    }
    if (def == NULL) {
        return weir_error_set(err, WEIR_ERR_FUNCTION, "the operator %s is not supported in a view",
                              name);
    }
    WEIR_TRY(
        weir_json_read_exprs(reader, scope, json, "children", &node.args, &node.arg_count, err));
    WEIR_TRY(read_return_type(reader, json, &node.type, err));
    node.kind = def->kind;
    node.is_negated = def->is_negated;
    if (node.arg_count == 0 || (def->arg_count != SIZE_MAX && node.arg_count != def->arg_count)) {
        return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: %s of %zu operands", name,
                              node.arg_count);
    }
    if (def->takes_boolean) {
        WEIR_TRY(weir_json_check_boolean(node.args[0], err));
    }
    WEIR_TRY(check_operands(&node, err));
    if (node.kind == EXPR_IN) {
        WEIR_TRY(strip_operands(reader, &node, err));
    }
    if (node.kind == EXPR_IN && node.arg_count == 1) {
        *out = make_boolean(reader, node.is_negated, err);
    } else {
        *out = weir_json_make_expr(reader, &node, err);
    }
    return *out == NULL ? weir_ir_failure(err) : WEIR_OK;
}

static Status read_case(JsonReader *reader, const JsonScope *scope, Json *json, const Expr **out,
                        Error *err)
{
    JsonArray checks = {0};
    const LogicalType *type = NULL;
    WEIR_TRY(weir_json_get_array(json, "case_checks", &checks, err));
    WEIR_TRY(read_return_type(reader, json, &type, err));
    const size_t count = 2 * checks.count + 1;
    const Expr **args = weir_arena_calloc(reader->arena, count, sizeof(const Expr *), err);
    if (args == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < checks.count; i++) {
        Json *check = weir_json_item(&checks, i);
        WEIR_TRY(read_field(reader, scope, check, "when_expr", &args[2 * i], err));
        WEIR_TRY(read_field(reader, scope, check, "then_expr", &args[2 * i + 1], err));
        WEIR_TRY(weir_json_check_boolean(args[2 * i], err));
    }
    WEIR_TRY(read_field(reader, scope, json, "else_expr", &args[count - 1], err));
    for (size_t i = 1; i <= count; i += 2) {
        const Expr *value = args[WEIR_MIN(i, count - 1)];
        if (!weir_ir_type_matches(value->type, type)) {
            return weir_error_set(err, WEIR_ERR_PLAN, "malformed plan: a CASE of %s gives %s",
                                  weir_type_name(type->id), weir_type_name(value->type->id));
        }
    }
    if (count == 1) {
        *out = args[0];
        return WEIR_OK;
    }
    return make_node(reader, EXPR_CASE, type, args, count, out, err);
}

static Status read_constant(JsonReader *reader, const JsonScope *scope, Json *json,
                            const Expr **out, Error *err)
{
    WEIR_UNUSED(scope);
    Json *value = NULL;
    WEIR_TRY(weir_json_get(json, "value", &value, err));
    return weir_json_read_constant(reader, value, out, err);
}

typedef Status (*ExprReader)(JsonReader *reader, const JsonScope *scope, Json *json,
                             const Expr **out, Error *err);

static const struct {
    const char *name;
    ExprReader read;
} EXPRESSION_CLASSES[] = {
    {"BOUND_REF", read_ref},
    {"BOUND_CONSTANT", read_constant},
    {"BOUND_CAST", read_cast},
    {"BOUND_COMPARISON", read_comparison},
    {"BOUND_CONJUNCTION", read_conjunction},
    {"BOUND_OPERATOR", read_operator},
    {"BOUND_CASE", read_case},
    {"BOUND_FUNCTION", weir_json_read_call},
    {"BOUND_BETWEEN", read_between},
};

Status weir_json_read_expr(JsonReader *reader, const JsonScope *scope, Json *json, const Expr **out,
                           Error *err)
{
    const char *name = NULL;
    WEIR_TRY(weir_json_get_text(json, "expression_class", &name, err));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(EXPRESSION_CLASSES); i++) {
        if (strcmp(EXPRESSION_CLASSES[i].name, name) == 0) {
            WEIR_TRY(weir_json_enter(reader, err));
            const Status status = EXPRESSION_CLASSES[i].read(reader, scope, json, out, err);
            weir_json_leave(reader);
            return status;
        }
    }
    return weir_error_set(err, WEIR_ERR_OPERATOR, "the expression %s is not supported in a view",
                          name);
}

Status weir_json_read_exprs(JsonReader *reader, const JsonScope *scope, Json *object,
                            const char *key, const Expr *const **out, size_t *count, Error *err)
{
    JsonArray array = {0};
    WEIR_TRY(weir_json_get_array(object, key, &array, err));
    const Expr **exprs = weir_arena_calloc(reader->arena, array.count, sizeof(const Expr *), err);
    if (exprs == NULL) {
        return weir_ir_failure(err);
    }
    for (size_t i = 0; i < array.count; i++) {
        WEIR_TRY(weir_json_read_expr(reader, scope, weir_json_item(&array, i), &exprs[i], err));
    }
    *out = exprs;
    *count = array.count;
    return WEIR_OK;
}
