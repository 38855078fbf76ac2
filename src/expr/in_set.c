/* in_set.c: an open-addressed table of 64-bit integers or of strings, at most half full.
 *
 * Integers of every width are kept as 64 bits, extended by their sign; two types never meet. */
#include "expr/in_set.h"

#include "expr/text_value.h"

enum { INTEGERS_MIN = 12, STRINGS_MIN = 4 };

typedef union InKey {
    uint64_t integer;
    String text;
} InKey;

typedef struct InSlot {
    InKey key;
    bool is_used;
} InSlot;

struct InSet {
    bool is_text;
    bool has_null; /* then what is not found is NULL */
    size_t mask;
    InSlot *slots;
};

bool weir_in_set_pays(const LogicalType *type, size_t count)
{
    if (weir_type_is_nested(type) || type->id == TYPE_BIT || type->id == TYPE_BIGNUM ||
        type->id == TYPE_TIME_TZ) {
        return false;
    }
    switch (type->phys) {
    case PHYS_I8:
    case PHYS_I16:
    case PHYS_I32:
    case PHYS_I64:
    case PHYS_U8:
    case PHYS_U16:
    case PHYS_U32:
    case PHYS_U64: return count >= INTEGERS_MIN;
    case PHYS_STRING: return count >= STRINGS_MIN;
    case PHYS_I128:
    case PHYS_U128:
    case PHYS_F32:
    case PHYS_F64:
    case PHYS_INTERVAL:
    case PHYS_COUNT: break;
    }
    return false;
}

static inline uint64_t scramble(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0x9E3779B97F4A7C15);
    return x ^ (x >> 29);
}

static uint64_t hash_text(const String *s)
{
    uint64_t hash = scramble(s->words[0]);
    if (weir_string_is_inline(s)) {
        return scramble(hash ^ s->words[1]);
    }
    const char *bytes = weir_string_data(s);
    const size_t size = weir_string_size(s);
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        hash = scramble(hash ^ weir_load_u64(bytes + i));
    }
    return scramble(hash ^ weir_load_u64(bytes + size - 8)); /* the last 8 of more than 12 */
}

/* The slot that holds the key, or the free one where it belongs. */
static inline size_t find_integer(const InSet *set, uint64_t key)
{
    size_t at = scramble(key) & set->mask;
    while (set->slots[at].is_used && set->slots[at].key.integer != key) {
        at = (at + 1) & set->mask;
    }
    return at;
}

static inline size_t find_text(const InSet *set, const String *key)
{
    size_t at = hash_text(key) & set->mask;
    while (set->slots[at].is_used && !weir_text_equal(&set->slots[at].key.text, key)) {
        at = (at + 1) & set->mask;
    }
    return at;
}

static uint64_t constant_integer(const Vector *v)
{
    switch (v->phys) {
#define X(suffix, type, utype, phys) \
    case phys: return (uint64_t)((const type *)v->data)[0];
        KERNEL_SIGNED_TYPES(X)
        KERNEL_UNSIGNED_TYPES(X)
#undef X
    default: break;
    }
    WEIR_ASSERT(false);
    return 0;
}

static void add(InSet *set, const Vector *value)
{
    InKey key;
    size_t at;
    if (set->is_text) {
        key.text = ((const String *)value->data)[0];
        at = find_text(set, &key.text);
    } else {
        key.integer = constant_integer(value);
        at = find_integer(set, key.integer);
    }
    set->slots[at] = (InSlot){.key = key, .is_used = true};
}

Status weir_in_set_new(Arena *arena, const LogicalType *type, const Vector *values, size_t count,
                       InSet **out, Error *err)
{
    size_t capacity = 8;
    while (capacity < count * 2) {
        capacity *= 2;
    }
    InSet *set = weir_arena_zalloc(arena, sizeof *set, err);
    InSlot *slots = weir_arena_calloc(arena, capacity, sizeof *slots, err);
    if (set == NULL || slots == NULL) {
        return WEIR_ERR_NOMEM;
    }
    *set = (InSet){.is_text = type->phys == PHYS_STRING, .mask = capacity - 1, .slots = slots};
    for (size_t i = 0; i < count; i++) {
        if (weir_vector_is_null(&values[i], 0)) {
            set->has_null = true;
        } else {
            add(set, &values[i]);
        }
    }
    *out = set;
    return WEIR_OK;
}

/* out[row] = 1 if found; rows under NULL hold garbage, which is no string. */
static void look_up(const KernelCall *call, const InSet *set)
{
    const size_t rows = weir_kernel_rows(call);
    uint8_t *out = call->out->data;
    if (set->is_text) {
        const String *texts = call->args[0].data;
        for (size_t i = 0; i < rows; i++) {
            out[i] = weir_kernel_is_valid(call, i) && set->slots[find_text(set, &texts[i])].is_used;
        }
        return;
    }
    switch (call->args[0].phys) {
#define X(suffix, type, utype, phys)                                             \
    case phys: {                                                                 \
        const type *values = call->args[0].data;                                 \
        for (size_t i = 0; i < rows; i++) {                                      \
            out[i] = set->slots[find_integer(set, (uint64_t)values[i])].is_used; \
        }                                                                        \
        break;                                                                   \
    }
        KERNEL_SIGNED_TYPES(X)
        KERNEL_UNSIGNED_TYPES(X)
#undef X
    default: WEIR_ASSERT(false); break;
    }
}

Status weir_kernel_in_set(const KernelCall *call, Error *err)
{
    const InSet *set = call->state;
    const size_t rows = weir_kernel_rows(call);
    uint8_t *out = call->out->data;
    look_up(call, set);
    if (set->has_null) {
        WEIR_TRY(weir_kernel_own_validity(call, err));
        for (size_t i = 0; i < rows; i++) {
            if (out[i] == 0) {
                weir_validity_set_null(call->out->validity, i);
            }
        }
    }
    for (size_t i = 0; i < rows && call->expr->is_negated; i++) {
        out[i] ^= 1;
    }
    return WEIR_OK;
}
