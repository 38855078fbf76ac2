/* vector.c: making, flattening and gathering vectors. */
#include "types/vector.h"

/* One unsigned stand-in for each width: copying does not look at values. */
typedef struct Bytes16 {
    uint64_t words[2];
} Bytes16;

static size_t validity_words(size_t rows)
{
    return (rows + 63) / 64;
}

Status weir_vector_init(Vector *v, PhysType phys, size_t capacity, Arena *arena, Error *err)
{
    void *data = weir_arena_alloc(arena, capacity * weir_phys_width(phys), err);
    if (data == NULL) {
        return WEIR_ERR_NOMEM;
    }
    *v = (Vector){.phys = phys, .data = data};
    return WEIR_OK;
}

Status weir_vector_add_validity(Vector *v, size_t capacity, Arena *arena, Error *err)
{
    if (v->validity != NULL) {
        return WEIR_OK;
    }
    const size_t size = validity_words(v->is_constant ? 1 : capacity) * sizeof(uint64_t);
    uint64_t *validity = weir_arena_alloc(arena, size, err);
    if (validity == NULL) {
        return WEIR_ERR_NOMEM;
    }
    memset(validity, 0xFF, size);
    v->validity = validity;
    return WEIR_OK;
}

#define FILL(ctype)                          \
    do {                                     \
        ctype *out_values = out;             \
        ctype value;                         \
        memcpy(&value, from, sizeof value);  \
        for (size_t i = 0; i < count; i++) { \
            out_values[i] = value;           \
        }                                    \
    } while (0)

static void fill(void *restrict out, const void *restrict from, size_t width, size_t count)
{
    switch (width) {
    case 1: FILL(uint8_t); break;
    case 2: FILL(uint16_t); break;
    case 4: FILL(uint32_t); break;
    case 8: FILL(uint64_t); break;
    default:
        WEIR_ASSERT(width == 16);
        FILL(Bytes16);
        break;
    }
}

#undef FILL

Status weir_vector_flatten(const Vector *v, size_t count, Arena *arena, Vector *out, Error *err)
{
    if (!v->is_constant) {
        *out = *v;
        return WEIR_OK;
    }
    const size_t width = weir_phys_width(v->phys);
    const bool is_null = weir_vector_is_null(v, 0);
    Vector flat = {0};
    WEIR_TRY(weir_vector_init(&flat, v->phys, count, arena, err));
    if (is_null) {
        WEIR_TRY(weir_vector_add_validity(&flat, count, arena, err));
        memset(flat.validity, 0, validity_words(count) * sizeof(uint64_t));
        memset(flat.data, 0, count * width);
    } else {
        fill(flat.data, v->data, width, count);
    }
    *out = flat;
    return WEIR_OK;
}

#define GATHER(ctype)                             \
    do {                                          \
        ctype *out_values = out;                  \
        const ctype *values = from;               \
        for (size_t i = 0; i < count; i++) {      \
            out_values[i] = values[selection[i]]; \
        }                                         \
    } while (0)

static void gather(void *restrict out, const void *restrict from,
                   const uint16_t *restrict selection, size_t width, size_t count)
{
    switch (width) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(uint16_t); break;
    case 4: GATHER(uint32_t); break;
    case 8: GATHER(uint64_t); break;
    default:
        WEIR_ASSERT(width == 16);
        GATHER(Bytes16);
        break;
    }
}

#undef GATHER

/* True if all of the first count rows are valid. */
static bool is_all_valid(const uint64_t *validity, size_t count)
{
    for (size_t w = 0; w < count / 64; w++) {
        if (validity[w] != UINT64_MAX) {
            return false;
        }
    }
    const size_t rest = count % 64;
    return rest == 0 || (~validity[count / 64] & ((UINT64_C(1) << rest) - 1)) == 0;
}

/* Gathers validity bits; returns true if one of them is 0. Bits behind count are set. */
static bool gather_validity(uint64_t *restrict out, const uint64_t *restrict from,
                            const uint16_t *restrict selection, size_t count)
{
    uint64_t all = UINT64_MAX;
    for (size_t begin = 0; begin < count; begin += 64) {
        const size_t rows = WEIR_MIN(count - begin, (size_t)64);
        uint64_t nulls = 0;
        for (size_t i = 0; i < rows; i++) {
            const size_t place = selection[begin + i];
            nulls |= (~from[place / 64] >> (place % 64) & 1u) << i;
        }
        out[begin / 64] = ~nulls;
        all &= ~nulls;
    }
    return all != UINT64_MAX;
}

Status weir_vector_gather(const Vector *v, const uint16_t *selection, size_t count, Arena *arena,
                          Vector *out, Error *err)
{
    if (v->is_constant) {
        *out = *v;
        return WEIR_OK;
    }
    Vector result = {0};
    WEIR_TRY(weir_vector_init(&result, v->phys, count, arena, err));
    gather(result.data, v->data, selection, weir_phys_width(v->phys), count);
    if (v->validity != NULL && count > 0) {
        const ArenaMark mark = weir_arena_mark(arena);
        const size_t size = validity_words(count) * sizeof(uint64_t);
        uint64_t *validity = weir_arena_alloc(arena, size, err);
        if (validity == NULL) {
            return WEIR_ERR_NOMEM;
        }
        if (gather_validity(validity, v->validity, selection, count)) {
            result.validity = validity;
        } else {
            weir_arena_release(arena, mark);
        }
    }
    *out = result;
    return WEIR_OK;
}

Status weir_vector_own_strings(Vector *v, size_t count, Arena *arena, Error *err)
{
    if (v->phys != PHYS_STRING || count == 0) {
        return WEIR_OK;
    }
    const size_t rows = v->is_constant ? 1 : count;
    const bool has_nulls = v->validity != NULL && !is_all_valid(v->validity, rows);
    const String *values = v->data;
    size_t long_bytes = 0;
    for (size_t i = 0; i < rows; i++) {
        const bool is_null = has_nulls && !weir_validity_get(v->validity, i);
        if (!is_null && !weir_string_is_inline(&values[i])) {
            long_bytes += weir_string_size(&values[i]);
        }
    }
    if (long_bytes == 0) {
        return WEIR_OK;
    }
    String *owned = weir_arena_alloc(arena, rows * sizeof *owned, err);
    char *bytes = owned == NULL ? NULL : weir_arena_alloc(arena, long_bytes, err);
    if (bytes == NULL) {
        return WEIR_ERR_NOMEM;
    }
    for (size_t i = 0; i < rows; i++) {
        const bool is_null = has_nulls && !weir_validity_get(v->validity, i);
        owned[i] = is_null ? (String){.words = {0, 0}} : values[i];
        if (!weir_string_is_inline(&owned[i])) {
            const size_t size = weir_string_size(&owned[i]);
            memcpy(bytes, owned[i].remote.pointer, size);
            owned[i].remote.pointer = bytes;
            bytes += size;
        }
    }
    v->data = owned; /* the old slots may be the database's: they are left as they are */
    return WEIR_OK;
}
