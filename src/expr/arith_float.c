/* arith_float.c: + - * / of FLOAT and DOUBLE: IEEE, and nothing fails. */
#include "expr/kernel.h"

#define FLOAT_KERNEL(name, expression)                               \
    Status weir_kernel_##name(const KernelCall *call, Error *err)    \
    {                                                                \
        WEIR_UNUSED(err);                                            \
        if (call->out->phys == PHYS_F32) {                           \
            KERNEL_BINARY(call, float, float, float, expression);    \
        } else {                                                     \
            KERNEL_BINARY(call, double, double, double, expression); \
        }                                                            \
        return WEIR_OK;                                              \
    }

FLOAT_KERNEL(add_float, a + b)
FLOAT_KERNEL(subtract_float, a - b)
FLOAT_KERNEL(multiply_float, a *b)
FLOAT_KERNEL(divide_float, a / b)
#undef FLOAT_KERNEL
