/* kernel.c: helpers that kernels share: own validity, and values as text for messages. */
#include "expr/kernel.h"

#include "base/codec.h"

Status weir_kernel_own_validity(const KernelCall *call, Error *err)
{
    Vector *out = call->out;
    const uint64_t *shared = out->validity;
    out->validity = NULL;
    WEIR_TRY(weir_vector_add_validity(out, call->count, call->arena, err));
    if (shared != NULL) {
        const size_t words = (weir_kernel_rows(call) + 63) / 64;
        memcpy(out->validity, shared, words * sizeof *shared);
    }
    return WEIR_OK;
}

i128 weir_kernel_integer(const KernelCall *call, size_t index, size_t row)
{
    const Vector *v = &call->args[index];
    const size_t place = weir_vector_place(v, row);
    switch (v->phys) {
#define X(suffix, type, utype, phys) \
    case phys: return ((const type *)v->data)[place];
        KERNEL_SIGNED_TYPES(X)
        KERNEL_UNSIGNED_TYPES(X)
        X(i128, KernelI128, KernelU128, PHYS_I128)
#undef X
    case PHYS_U128: return (i128)((const KernelU128 *)v->data)[place];
    case PHYS_F32:
    case PHYS_F64:
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: break;
    }
    WEIR_ASSERT(false);
    return 0;
}

const char *weir_kernel_unsigned_text(u128 value, char out[KERNEL_INTEGER_TEXT_SIZE])
{
    char *at = &out[KERNEL_INTEGER_TEXT_SIZE - 1];
    *at = '\0';
    do {
        at--;
        *at = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value > 0);
    return at;
}

const char *weir_kernel_integer_text(i128 value, char out[KERNEL_INTEGER_TEXT_SIZE])
{
    if (value >= 0) {
        return weir_kernel_unsigned_text((u128)value, out);
    }
    char digits[KERNEL_INTEGER_TEXT_SIZE];
    const char *text = weir_kernel_unsigned_text(-(u128)value, digits);
    out[0] = '-';
    memcpy(out + 1, text, strlen(text) + 1);
    return out;
}

const char *weir_kernel_argument_text(const KernelCall *call, size_t index, size_t row,
                                      char out[KERNEL_INTEGER_TEXT_SIZE])
{
    const i128 value = weir_kernel_integer(call, index, row);
    return call->args[index].phys == PHYS_U128 ? weir_kernel_unsigned_text((u128)value, out)
                                               : weir_kernel_integer_text(value, out);
}

const char *weir_kernel_phys_name(const LogicalType *type)
{
    static const char *const names[PHYS_COUNT] = {
        [PHYS_I8] = "INT8",           [PHYS_I16] = "INT16",      [PHYS_I32] = "INT32",
        [PHYS_I64] = "INT64",         [PHYS_I128] = "INT128",    [PHYS_U8] = "UINT8",
        [PHYS_U16] = "UINT16",        [PHYS_U32] = "UINT32",     [PHYS_U64] = "UINT64",
        [PHYS_U128] = "UINT128",      [PHYS_F32] = "FLOAT",      [PHYS_F64] = "DOUBLE",
        [PHYS_INTERVAL] = "INTERVAL", [PHYS_STRING] = "VARCHAR",
    };
    return type->id == TYPE_BOOLEAN ? "BOOL" : names[type->phys];
}

bool weir_integer_is_outside(i128 value, PhysType phys)
{
    switch (phys) {
    case PHYS_I8: return value < INT8_MIN || value > INT8_MAX;
    case PHYS_I16: return value < INT16_MIN || value > INT16_MAX;
    case PHYS_I32: return value < INT32_MIN || value > INT32_MAX;
    case PHYS_I64: return value < INT64_MIN || value > INT64_MAX;
    case PHYS_U8: return value < 0 || value > UINT8_MAX;
    case PHYS_U16: return value < 0 || value > UINT16_MAX;
    case PHYS_U32: return value < 0 || value > UINT32_MAX;
    case PHYS_U64: return value < 0 || value > UINT64_MAX;
    case PHYS_U128: return value < 0;
    case PHYS_I128:
    case PHYS_F32:
    case PHYS_F64:
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: break;
    }
    return false;
}
