/* function.c: the registry: which calls and casts have a native kernel. */
#include "expr/function.h"

#include "expr/kernel.h"

enum {
    FUNCTION_TOTAL = 0,
    FUNCTION_CAN_FAIL_PARTIAL = FUNCTION_CAN_FAIL | FUNCTION_PARTIAL,
};

#define weir_accepts_any NULL
#define X(name_, arguments_, result_, kernel_, flags_, accepts_) \
    {                                                            \
        .name = (name_),                                         \
        .arguments = (arguments_),                               \
        .result = (result_),                                     \
        .kernel = weir_kernel_##kernel_,                         \
        .flags = FUNCTION_##flags_,                              \
        .accepts = weir_accepts_##accepts_,                      \
    },

static const FunctionDef functions[] = {
#include "expr/functions.def"
};

static const FunctionDef casts[] = {
#include "expr/casts.def"
};

#undef X

bool weir_type_class_has(char letter, const LogicalType *type)
{
    switch (letter) {
    case 'b': return type->id == TYPE_BOOLEAN;
    case 'i': return weir_type_is_integer(type);
    case 'k': return type->id == TYPE_INTEGER;
    case 'l': return type->id == TYPE_BIGINT;
    case 'f': return type->id == TYPE_FLOAT || type->id == TYPE_DOUBLE;
    case 'd': return type->id == TYPE_DOUBLE;
    case 'n':
        return weir_type_is_integer(type) || type->id == TYPE_FLOAT || type->id == TYPE_DOUBLE;
    case 'm': return type->id == TYPE_DECIMAL;
    case 's': return type->id == TYPE_VARCHAR && !type->is_json;
    case 'x': return type->id == TYPE_BLOB;
    case 'e': return type->id == TYPE_ENUM;
    case 'D': return type->id == TYPE_DATE;
    case 't': return type->id == TYPE_TIME;
    case 'T': return type->id == TYPE_TIMESTAMP;
    case 'S': return type->id == TYPE_TIMESTAMP_S;
    case 'M': return type->id == TYPE_TIMESTAMP_MS;
    case 'N': return type->id == TYPE_TIMESTAMP_NS;
    case 'Z': return type->id == TYPE_TIMESTAMP_TZ;
    case 'v': return type->id == TYPE_INTERVAL;
    case 'u': return type->id == TYPE_UUID;
    case '*': return true;
    default: break;
    }
    WEIR_ASSERT(false);
    return false;
}

/* True if the letter stood before for a type of another representation. */
static bool clashes(const FunctionDef *def, const Expr *call, size_t index, const LogicalType *type)
{
    const char *letters = index < call->arg_count ? &def->arguments[index] : def->result;
    const char letter = letters[0];
    if (letter == '*') {
        return false;
    }
    for (size_t i = 0; i < index && i < call->arg_count && def->arguments[i] != '\0'; i++) {
        if (def->arguments[i] == letter && call->args[i]->type->phys != type->phys) {
            return true;
        }
    }
    return false;
}

static bool function_matches(const FunctionDef *def, const Expr *call)
{
    if (strcmp(def->name, call->name) != 0) {
        return false;
    }
    const size_t letters = strlen(def->arguments);
    const bool is_variadic = letters > 0 && def->arguments[letters - 1] == '+';
    const size_t fixed = is_variadic ? letters - 1 : letters;
    if (is_variadic ? call->arg_count < fixed : call->arg_count != fixed) {
        return false;
    }
    for (size_t i = 0; i < call->arg_count; i++) {
        const LogicalType *type = call->args[i]->type;
        if (!weir_type_class_has(def->arguments[WEIR_MIN(i, fixed - 1)], type) ||
            (i < fixed && clashes(def, call, i, type))) {
            return false;
        }
    }
    return weir_type_class_has(def->result[0], call->type) &&
           !clashes(def, call, call->arg_count, call->type) &&
           (def->accepts == NULL || def->accepts(call));
}

const FunctionDef *weir_function_find(const Expr *call)
{
    WEIR_ASSERT(call->kind == EXPR_CALL);
    if (call->extra != NULL && (call->extra->lambda != NULL || call->extra->more_arg_count > 0)) {
        return NULL;
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(functions); i++) {
        if (function_matches(&functions[i], call)) {
            return &functions[i];
        }
    }
    return NULL;
}

const FunctionDef *weir_cast_find(const Expr *cast)
{
    WEIR_ASSERT(cast->kind == EXPR_CAST);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(casts); i++) {
        const FunctionDef *def = &casts[i];
        if (weir_type_class_has(def->arguments[0], cast->args[0]->type) &&
            weir_type_class_has(def->result[0], cast->type) &&
            (def->accepts == NULL || def->accepts(cast))) {
            return def;
        }
    }
    return NULL;
}

const FunctionDef *weir_function_list(size_t *count)
{
    *count = WEIR_ARRAY_COUNT(functions);
    return functions;
}

const FunctionDef *weir_cast_list(size_t *count)
{
    *count = WEIR_ARRAY_COUNT(casts);
    return casts;
}

/* --- kinds -------------------------------------------------------------------------------------- */

const FunctionDef *weir_kernel_of_kind(const Expr *expr)
{
    static const FunctionDef compare = {.name = "compare", .kernel = weir_kernel_compare};
#define OWN_NULLS_DEF(id)            \
    static const FunctionDef id = {  \
        .name = #id,                 \
        .kernel = weir_kernel_##id,  \
        .flags = FUNCTION_OWN_NULLS, \
    }
    OWN_NULLS_DEF(distinct);
    OWN_NULLS_DEF(and);
    OWN_NULLS_DEF(or);
    OWN_NULLS_DEF(is_null);
    OWN_NULLS_DEF(is_not_null);
    OWN_NULLS_DEF(coalesce);
#undef OWN_NULLS_DEF
    static const FunctionDef case_def = {
        .name = "case",
        .kernel = weir_kernel_case,
        .flags = FUNCTION_OWN_NULLS,
    };
    static const FunctionDef in_def = {.name = "in", .kernel = weir_kernel_in_set};
    static const FunctionDef not_def = {.name = "not", .kernel = weir_kernel_not};
    switch (expr->kind) {
    case EXPR_COMPARE: return expr->compare >= COMPARE_DISTINCT ? &distinct : &compare;
    case EXPR_AND: return &and;
    case EXPR_OR: return & or ;
    case EXPR_NOT: return &not_def;
    case EXPR_IS_NULL: return &is_null;
    case EXPR_IS_NOT_NULL: return &is_not_null;
    case EXPR_CASE: return &case_def;
    case EXPR_COALESCE: return &coalesce;
    case EXPR_CAST: return weir_cast_find(expr);
    case EXPR_CALL: return weir_function_find(expr);
    case EXPR_IN: return &in_def;
    case EXPR_COLUMN:
    case EXPR_CONSTANT:
    case EXPR_TRY:
    case EXPR_PARAMETER: break;
    }
    return NULL;
}
