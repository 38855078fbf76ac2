/* values.c: the columns of a chunk as vectors.
 *
 * Flat and constant columns keep their form; dictionaries and sequences become flat. Strings point
 * into the entry. */
#include "wal/chunk.h"

#include "base/codec.h"

/* The rows of the vector: one for a constant. */
static size_t vector_rows(const Part *part)
{
    return part->encoding == PART_CONSTANT ? 1 : part->count;
}

static Status make_validity(const Part *part, Arena *arena, uint64_t **out, Error *err)
{
    *out = NULL;
    if (part->validity == NULL) {
        return WEIR_OK;
    }
    const size_t rows = vector_rows(part);
    uint64_t *words = weir_arena_calloc(arena, VECTOR_VALIDITY_WORDS, sizeof *words, err);
    if (words == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < rows; i++) {
        if (weir_part_is_valid(part, i)) {
            words[i / 64] |= UINT64_C(1) << (i % 64);
        }
    }
    *out = words;
    return WEIR_OK;
}

static Status make_fixed(const Part *part, Arena *arena, void **out, Error *err)
{
    const size_t rows = vector_rows(part);
    char *values = weir_arena_alloc(arena, rows * part->width, err);
    if (values == NULL) {
        return err->code;
    }
    *out = values;
    if (part->encoding == PART_SEQUENCE) {
        for (size_t i = 0; i < rows; i++) {
            const uint64_t value = part->start + i * part->increment;
            memcpy(values + i * part->width, &value, part->width);
        }
    } else if (part->encoding == PART_DICTIONARY) {
        for (size_t i = 0; i < rows; i++) {
            memcpy(values + i * part->width, part->data + weir_part_place(part, i) * part->width,
                   part->width);
        }
    } else if (rows > 0) {
        memcpy(values, part->data, rows * part->width);
    }
    return WEIR_OK;
}

/* The stored strings by row. */
static Status spread_strings(const Part *part, const String *stored, Arena *arena, void **out,
                             Error *err)
{
    WEIR_ASSERT(stored != NULL);
    const size_t rows = vector_rows(part);
    String *strings = weir_arena_calloc(arena, rows, sizeof *strings, err);
    if (strings == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < rows; i++) {
        strings[i] = stored[weir_part_place(part, i)];
    }
    *out = strings;
    return WEIR_OK;
}

/* The canonical bytes of all stored values in one block, and a string for each. */
static Status make_nested(const Part *part, Buf *bytes, Arena *arena, String **out,
                          const char **fault, Error *err)
{
    size_t *ends = weir_arena_calloc(arena, part->stored, sizeof *ends, err);
    String *strings = weir_arena_calloc(arena, part->stored, sizeof *strings, err);
    if (ends == NULL || strings == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < part->stored && *fault == NULL; i++) {
        if (weir_part_has_value(part, i)) {
            weir_wal_put_nested(part, i, bytes, fault);
        }
        ends[i] = bytes->size;
    }
    const Status status = weir_buf_status(bytes, err);
    if (status == WEIR_ERR_LIMIT) {
        *fault = "nested values are too large";
    } else if (status != WEIR_OK) {
        return status;
    }
    if (*fault != NULL) {
        return WEIR_OK;
    }
    char *block = weir_arena_alloc(arena, bytes->size, err);
    if (block == NULL) {
        return err->code;
    }
    if (bytes->size > 0) {
        memcpy(block, bytes->data, bytes->size);
    }
    for (size_t i = 0, start = 0; i < part->stored; start = ends[i], i++) {
        strings[i] = weir_string_make(block + start, ends[i] - start);
    }
    *out = strings;
    return WEIR_OK;
}

static Status make_nested_vector(const Part *part, size_t *bytes_left, Arena *arena, void **out,
                                 const char **fault, Error *err)
{
    Buf bytes;
    weir_buf_init(&bytes, arena->mem, WEIR_MIN(*bytes_left, (size_t)UINT32_MAX));
    String *strings = NULL;
    Status status = make_nested(part, &bytes, arena, &strings, fault, err);
    if (status == WEIR_OK && *fault == NULL) {
        *bytes_left -= bytes.size;
        status = spread_strings(part, strings, arena, out, err);
    }
    weir_buf_deinit(&bytes);
    return status;
}

Status weir_wal_make_vector(const Part *part, size_t *nested_bytes_left, Arena *arena, Vector *out,
                            const char **fault, Error *err)
{
    WEIR_ASSERT(part->count <= VECTOR_CAPACITY);
    *out = (Vector){.phys = part->type->phys, .is_constant = part->encoding == PART_CONSTANT};
    switch (part->layout) {
    case PART_FIXED: WEIR_TRY(make_fixed(part, arena, &out->data, err)); break;
    case PART_STRING: WEIR_TRY(spread_strings(part, part->strings, arena, &out->data, err)); break;
    case PART_STRUCT:
    case PART_LIST:
    case PART_ARRAY:
        WEIR_TRY(make_nested_vector(part, nested_bytes_left, arena, &out->data, fault, err));
        break;
    }
    return make_validity(part, arena, &out->validity, err);
}
