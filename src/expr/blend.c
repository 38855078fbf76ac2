/* blend.c: CASE and COALESCE whose branches are all computed already.
 *
 * From the last branch to the first: out = mask ? branch : out. Values are moved by their width,
 * validity by words. */
#include "expr/kernel.h"

#include "expr/mask.h"

typedef struct Bytes16 {
    uint64_t words[2];
} Bytes16;

#define BLEND(type)                                 \
    do {                                            \
        type *restrict o = out->data;               \
        const type *restrict b = branch->data;      \
        if (branch->is_constant && rows > 1) {      \
            const type value = b[0];                \
            for (size_t i = 0; i < rows; i++) {     \
                o[i] = mask[i] != 0 ? value : o[i]; \
            }                                       \
        } else {                                    \
            for (size_t i = 0; i < rows; i++) {     \
                o[i] = mask[i] != 0 ? b[i] : o[i];  \
            }                                       \
        }                                           \
    } while (0)

static void blend_values(Vector *out, const Vector *branch, const uint8_t *restrict mask,
                         size_t rows)
{
    switch (weir_phys_width(out->phys)) {
    case 1: BLEND(uint8_t); break;
    case 2: BLEND(uint16_t); break;
    case 4: BLEND(uint32_t); break;
    case 8: BLEND(uint64_t); break;
    default: BLEND(Bytes16); break;
    }
}

#undef BLEND

static uint64_t validity_word(const Vector *v, size_t word)
{
    if (v->validity == NULL) {
        return UINT64_MAX;
    }
    if (v->is_constant) {
        return weir_vector_is_null(v, 0) ? 0 : UINT64_MAX;
    }
    return v->validity[word];
}

/* Where the mask is 1: out = branch. */
static Status blend(const KernelCall *call, const Vector *branch, const uint8_t *mask, Error *err)
{
    Vector *out = call->out;
    const size_t rows = weir_kernel_rows(call);
    blend_values(out, branch, mask, rows);
    if (branch->validity == NULL && out->validity == NULL) {
        return WEIR_OK;
    }
    WEIR_TRY(weir_vector_add_validity(out, call->count, call->arena, err));
    for (size_t word = 0; word < weir_mask_words(rows); word++) {
        const size_t begin = word * 64;
        uint64_t taken;
        weir_mask_pack(mask + begin, WEIR_MIN(rows - begin, (size_t)64), &taken);
        out->validity[word] =
            (validity_word(branch, word) & taken) | (out->validity[word] & ~taken);
    }
    return WEIR_OK;
}

/* out = the branch for all rows. */
static Status start(const KernelCall *call, const Vector *branch, Error *err)
{
    Vector *out = call->out;
    const size_t rows = weir_kernel_rows(call);
    Vector flat = *branch;
    if (!out->is_constant) {
        WEIR_TRY(weir_vector_flatten(branch, call->count, call->arena, &flat, err));
    }
    memcpy(out->data, flat.data, rows * weir_phys_width(out->phys));
    if (flat.validity != NULL) {
        out->validity = flat.validity;
        WEIR_TRY(weir_kernel_own_validity(call, err));
    }
    return WEIR_OK;
}

Status weir_kernel_case(const KernelCall *call, Error *err)
{
    const size_t rows = weir_kernel_rows(call);
    WEIR_TRY(start(call, &call->args[call->arg_count - 1], err));
    for (size_t k = call->arg_count - 1; k > 0; k -= 2) {
        const ArenaMark mark = weir_arena_mark(call->arena);
        const bool had_nulls = call->out->validity != NULL;
        const uint8_t *mask = weir_mask_true(&call->args[k - 2], rows, call->arena, err);
        if (mask == NULL) {
            return err->code;
        }
        WEIR_TRY(blend(call, &call->args[k - 1], mask, err));
        if (had_nulls || call->out->validity == NULL) {
            weir_arena_release(call->arena, mark);
        }
    }
    return WEIR_OK;
}

Status weir_kernel_coalesce(const KernelCall *call, Error *err)
{
    const size_t rows = weir_kernel_rows(call);
    WEIR_TRY(start(call, &call->args[call->arg_count - 1], err));
    uint8_t *mask = weir_arena_alloc(call->arena, rows, err);
    if (mask == NULL) {
        return err->code;
    }
    for (size_t k = call->arg_count - 1; k-- > 0;) {
        for (size_t word = 0; word < weir_mask_words(rows); word++) {
            const uint64_t valid = validity_word(&call->args[k], word);
            const size_t begin = word * 64;
            weir_mask_unpack(&valid, WEIR_MIN(rows - begin, (size_t)64), mask + begin);
        }
        WEIR_TRY(blend(call, &call->args[k], mask, err));
    }
    return WEIR_OK;
}
