/* compare.c: = <> < <= > >= and IS [NOT] DISTINCT FROM of every type.
 *
 * Results are bytes 0 or 1. Only = and < are computed: a > b is b < a, and the others are their
 * negation, which is right since every type is totally ordered (NaN is the largest and equal to
 * itself). */
#include "expr/kernel.h"

#include "expr/text_value.h"
#include "types/interval.h"
#include "types/time.h"

/* A call with a and b swapped, and what to do with the result. */
typedef struct Comparison {
    Vector args[2];
    KernelCall call;
    bool is_less; /* else equal */
    bool is_negated;
} Comparison;

static Comparison comparison_of(const KernelCall *call)
{
    const CompareOp op = call->expr->compare;
    const bool is_swapped = op == COMPARE_GT || op == COMPARE_LE;
    Comparison c = {
        .args = {call->args[is_swapped ? 1 : 0], call->args[is_swapped ? 0 : 1]},
        .call = *call,
        .is_less = op == COMPARE_LT || op == COMPARE_GT || op == COMPARE_LE || op == COMPARE_GE,
        .is_negated =
            op == COMPARE_NE || op == COMPARE_LE || op == COMPARE_GE || op == COMPARE_DISTINCT,
    };
    return c;
}

#define RUN(type, equal, less)                                          \
    do {                                                                \
        if (c->is_less) {                                               \
            KERNEL_BINARY(call, type, type, uint8_t, (less) ^ negate);  \
        } else {                                                        \
            KERNEL_BINARY(call, type, type, uint8_t, (equal) ^ negate); \
        }                                                               \
    } while (0)

/* Strings and nested values: bytes under NULL are no strings, so rows are looked at. */
static void compare_strings(const Comparison *c, const KernelCall *call)
{
    const LogicalType *type = call->expr->args[0]->type;
    const bool is_nested = weir_type_is_nested(type);
    const String *left = call->args[0].data;
    const String *right = call->args[1].data;
    const size_t left_step = call->args[0].is_constant ? 0 : 1;
    const size_t right_step = call->args[1].is_constant ? 0 : 1;
    uint8_t *out = call->out->data;
    for (size_t i = 0; i < weir_kernel_rows(call); i++) {
        if (!weir_validity_get(call->out->validity, i)) {
            out[i] = 0;
            continue;
        }
        const String *a = &left[i * left_step];
        const String *b = &right[i * right_step];
        bool result;
        if (is_nested) {
            const int order = weir_value_compare(type, a, b);
            result = c->is_less ? order < 0 : order == 0;
        } else {
            result = c->is_less ? weir_text_compare(a, b) < 0 : weir_text_equal(a, b);
        }
        out[i] = (uint8_t)(result ^ c->is_negated);
    }
}

static void compare_integers(const Comparison *c, const KernelCall *call, uint8_t negate)
{
    switch (call->args[0].phys) {
#define X(suffix, type, utype, phys) \
    case phys: RUN(type, a == b, a < b); break;
        KERNEL_SIGNED_TYPES(X)
        KERNEL_UNSIGNED_TYPES(X)
        KERNEL_WIDE_TYPES(X)
#undef X
    default: WEIR_ASSERT(false); break;
    }
}

static void compare_floats(const Comparison *c, const KernelCall *call, uint8_t negate)
{
    if (call->args[0].phys == PHYS_F32) {
        RUN(float, (a == b) | ((a != a) & (b != b)), (a == a) & ((b != b) | (a < b)));
    } else {
        RUN(double, (a == b) | ((a != a) & (b != b)), (a == a) & ((b != b) | (a < b)));
    }
}

static void compare_intervals(const Comparison *c, const KernelCall *call, uint8_t negate)
{
    RUN(Interval, weir_interval_compare(a, b) == 0, weir_interval_compare(a, b) < 0);
}

static void compare_times_tz(const Comparison *c, const KernelCall *call, uint8_t negate)
{
    RUN(uint64_t, a == b, weir_time_tz_sort_key(a) < weir_time_tz_sort_key(b));
}

static void compare_values(const Comparison *c)
{
    KernelCall swapped = c->call;
    swapped.args = c->args;
    const KernelCall *const call = &swapped;
    const uint8_t negate = c->is_negated ? 1 : 0;
    if (call->expr->args[0]->type->id == TYPE_TIME_TZ) {
        compare_times_tz(c, call, negate);
        return;
    }
    switch (call->args[0].phys) {
    case PHYS_F32:
    case PHYS_F64: compare_floats(c, call, negate); break;
    case PHYS_INTERVAL: compare_intervals(c, call, negate); break;
    case PHYS_STRING: compare_strings(c, call); break;
    default: compare_integers(c, call, negate); break;
    }
}

#undef RUN

Status weir_kernel_compare(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    const Comparison c = comparison_of(call);
    compare_values(&c);
    return WEIR_OK;
}

/* Valid in both: compared; NULL in one: distinct; NULL in both: not distinct. */
Status weir_kernel_distinct(const KernelCall *call, Error *err)
{
    Comparison c = comparison_of(call);
    const Vector *a = &call->args[0];
    const Vector *b = &call->args[1];
    if (a->validity == NULL && b->validity == NULL) {
        compare_values(&c);
        return WEIR_OK;
    }
    Vector out = *call->out;
    WEIR_TRY(weir_vector_add_validity(&out, call->count, call->arena, err));
    const size_t rows = weir_kernel_rows(call);
    for (size_t i = 0; i < rows; i++) {
        if (weir_vector_is_null(a, i) || weir_vector_is_null(b, i)) {
            weir_validity_set_null(out.validity, i);
        }
    }
    c.call.out = &out;
    compare_values(&c);
    uint8_t *bytes = out.data;
    for (size_t i = 0; i < rows; i++) {
        if (!weir_validity_get(out.validity, i)) {
            const bool is_distinct = weir_vector_is_null(a, i) != weir_vector_is_null(b, i);
            bytes[i] = (uint8_t)(is_distinct == c.is_negated);
        }
    }
    return WEIR_OK;
}
