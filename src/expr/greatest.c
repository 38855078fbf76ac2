/* greatest.c: greatest and least: NULLs are skipped; NULL only if all arguments are. */
#include "expr/kernel.h"

#include "expr/text_value.h"

/* Types that DuckDB does not copy through a sort key, which would change -0.0 and intervals. */
bool weir_accepts_greatest(const Expr *call)
{
    const PhysType phys = call->type->phys;
    if (phys == PHYS_F32 || phys == PHYS_INTERVAL || call->type->id == TYPE_TIME_TZ ||
        call->type->id == TYPE_ENUM || call->type->id == TYPE_BIT ||
        call->type->id == TYPE_BIGNUM || weir_type_is_nested(call->type)) {
        return false;
    }
    for (size_t i = 0; i < call->arg_count; i++) {
        if (!weir_type_equal(call->args[i]->type, call->type)) {
            return false;
        }
    }
    return true;
}

/* Row `row` of arg becomes the result if it is better than what is there. */
#define FOLD(type, better)                                    \
    do {                                                      \
        type *out = call->out->data;                          \
        const type *values = arg->data;                       \
        for (size_t i = 0; i < rows; i++) {                   \
            const size_t place = weir_vector_place(arg, i);   \
            if (!weir_validity_get(arg->validity, place)) {   \
                continue;                                     \
            }                                                 \
            const type a = is_least ? out[i] : values[place]; \
            const type b = is_least ? values[place] : out[i]; \
            if (!has_value[i] || (better)) {                  \
                out[i] = values[place];                       \
                has_value[i] = 1;                             \
            }                                                 \
        }                                                     \
    } while (0)

static void fold(const KernelCall *call, const Vector *arg, bool is_least, uint8_t *has_value)
{
    const size_t rows = weir_kernel_rows(call);
    switch (call->out->phys) {
#define X(suffix, type, utype, phys) \
    case phys: FOLD(type, a > b); break;
        KERNEL_SIGNED_TYPES(X)
        KERNEL_UNSIGNED_TYPES(X)
        KERNEL_WIDE_TYPES(X)
#undef X
    case PHYS_F64: FOLD(double, (b == b) && (a != a || a > b)); break;
    case PHYS_STRING: FOLD(String, weir_text_compare(&a, &b) > 0); break;
    case PHYS_F32:
    case PHYS_INTERVAL:
    case PHYS_COUNT: WEIR_ASSERT(false); break;
    }
}

static Status fold_all(const KernelCall *call, bool is_least, Error *err)
{
    const size_t rows = weir_kernel_rows(call);
    uint8_t *has_value = weir_arena_zalloc(call->arena, rows, err);
    if (has_value == NULL) {
        return err->code;
    }
    memset(call->out->data, 0, rows * weir_phys_width(call->out->phys));
    for (size_t k = 0; k < call->arg_count; k++) {
        fold(call, &call->args[k], is_least, has_value);
    }
    if (memchr(has_value, 0, rows) == NULL) {
        return WEIR_OK;
    }
    WEIR_TRY(weir_kernel_own_validity(call, err));
    for (size_t i = 0; i < rows; i++) {
        if (has_value[i] == 0) {
            weir_validity_set_null(call->out->validity, i);
        }
    }
    return WEIR_OK;
}

Status weir_kernel_greatest(const KernelCall *call, Error *err)
{
    return fold_all(call, false, err);
}

Status weir_kernel_least(const KernelCall *call, Error *err)
{
    return fold_all(call, true, err);
}
