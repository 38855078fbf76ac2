/* logic.c: three-valued AND, OR, NOT, and IS [NOT] NULL.
 *
 * AND is FALSE if an argument is, else NULL if an argument is, else TRUE. With t = "no argument is
 * FALSE" (as bytes) and n = "an argument is NULL" (as bits) the value is t and it is NULL where t
 * and n. OR is the dual: t = "an argument is TRUE", NULL where n and not t. */
#include "expr/kernel.h"

#include "expr/mask.h"

enum { TILE = 64 };

/* t = t AND (value OR NULL), or t = t OR (value AND NOT NULL), for rows [begin, begin + rows). */
static void fold_tile(uint8_t *restrict t, const Vector *v, size_t begin, size_t rows, bool is_or)
{
    const uint8_t *restrict values = (const uint8_t *)v->data + begin;
    const uint64_t bits = v->validity == NULL ? UINT64_MAX : v->validity[begin / 64];
    if (bits == UINT64_MAX) {
        for (size_t i = 0; i < rows; i++) {
            t[i] = is_or ? (uint8_t)(t[i] | values[i]) : (uint8_t)(t[i] & values[i]);
        }
        return;
    }
    uint8_t valid[TILE];
    weir_mask_unpack(&bits, rows, valid);
    for (size_t i = 0; i < rows; i++) {
        t[i] = is_or ? (uint8_t)(t[i] | (values[i] & valid[i]))
                     : (uint8_t)(t[i] & (values[i] | (valid[i] ^ 1)));
    }
}

static void fold_constant(uint8_t *t, size_t rows, const Vector *v, bool is_or)
{
    const bool is_true = ((const uint8_t *)v->data)[0] != 0;
    if (!weir_vector_is_null(v, 0) && is_true == is_or) {
        memset(t, is_or, rows);
    }
}

/* The validity where some argument can be NULL. */
static Status put_nulls(const KernelCall *call, bool is_or, Error *err)
{
    Vector *out = call->out;
    const uint8_t *t = out->data;
    const size_t rows = weir_kernel_rows(call);
    WEIR_TRY(weir_vector_add_validity(out, call->count, call->arena, err));
    weir_mask_pack(t, rows, out->validity);
    for (size_t word = 0; word < weir_mask_words(rows); word++) {
        uint64_t valid = UINT64_MAX;
        for (size_t k = 0; k < call->arg_count; k++) {
            const Vector *v = &call->args[k];
            if (v->validity != NULL) {
                const uint64_t constant = weir_vector_is_null(v, 0) ? 0 : UINT64_MAX;
                valid &= v->is_constant ? constant : v->validity[word];
            }
        }
        const uint64_t bits = out->validity[word];
        out->validity[word] = valid | (is_or ? bits : ~bits);
    }
    return WEIR_OK;
}

static Status fold(const KernelCall *call, bool is_or, Error *err)
{
    uint8_t *t = call->out->data;
    const size_t rows = weir_kernel_rows(call);
    bool has_nulls = false;
    memset(t, !is_or, rows);
    for (size_t k = 0; k < call->arg_count; k++) {
        const Vector *v = &call->args[k];
        has_nulls = has_nulls || v->validity != NULL;
        if (v->is_constant) {
            fold_constant(t, rows, v, is_or);
            continue;
        }
        for (size_t begin = 0; begin < rows; begin += TILE) {
            fold_tile(t + begin, v, begin, WEIR_MIN(rows - begin, (size_t)TILE), is_or);
        }
    }
    return has_nulls ? put_nulls(call, is_or, err) : WEIR_OK;
}

Status weir_kernel_and(const KernelCall *call, Error *err)
{
    return fold(call, false, err);
}

Status weir_kernel_or(const KernelCall *call, Error *err)
{
    return fold(call, true, err);
}

Status weir_kernel_not(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    KERNEL_UNARY(call, uint8_t, uint8_t, a ^ 1);
    return WEIR_OK;
}

static void put_validity(const KernelCall *call, bool is_null_wanted)
{
    const Vector *v = &call->args[0];
    uint8_t *out = call->out->data;
    const size_t rows = weir_kernel_rows(call);
    if (v->validity == NULL) {
        memset(out, !is_null_wanted, rows);
        return;
    }
    weir_mask_unpack(v->validity, rows, out);
    for (size_t i = 0; i < rows; i++) {
        out[i] ^= (uint8_t)is_null_wanted;
    }
}

Status weir_kernel_is_null(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    put_validity(call, true);
    return WEIR_OK;
}

Status weir_kernel_is_not_null(const KernelCall *call, Error *err)
{
    WEIR_UNUSED(err);
    put_validity(call, false);
    return WEIR_OK;
}
