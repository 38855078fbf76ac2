/* nested.c: walking, comparing and normalising the canonical bytes of nested values.
 *
 * Recursion is bounded: no type is deeper than NESTED_MAX_DEPTH. */
#include "types/nested.h"

#include "base/codec.h"
#include "types/interval.h"
#include "types/normal.h"

static bool is_string(const LogicalType *type)
{
    return type->phys == PHYS_STRING && !weir_type_is_nested(type);
}

/* Bytes of an element: one byte, then the value unless it is NULL. */
static size_t element_size(const LogicalType *type, const char *bytes)
{
    return 1 + (bytes[0] != 0 ? weir_nested_size(type, bytes + 1) : 0);
}

size_t weir_nested_size(const LogicalType *type, const char *bytes)
{
    WEIR_ASSERT(type->depth <= NESTED_MAX_DEPTH);
    if (!weir_type_is_nested(type)) {
        return is_string(type) ? sizeof(uint32_t) + weir_load_u32(bytes)
                               : weir_phys_width(type->phys);
    }
    if (type->id == TYPE_UNION) {
        const uint8_t tag = (uint8_t)bytes[0];
        WEIR_ASSERT(tag < type->child_count);
        return 1 + element_size(type->children[tag], bytes + 1);
    }
    size_t size = 0;
    size_t rounds = 1;
    if (type->id != TYPE_STRUCT) {
        rounds = weir_load_u32(bytes);
        size = sizeof(uint32_t);
    }
    for (size_t i = 0; i < rounds; i++) {
        for (size_t c = 0; c < type->child_count; c++) {
            size += element_size(type->children[c], bytes + size);
        }
    }
    return size;
}

/* --- order ------------------------------------------------------------------------------------- */

/* A place in each of two values that have been equal so far. */
typedef struct ComparePair {
    const char *a;
    const char *b;
} ComparePair;

/* Compares the values at the pair; moves it behind them if they are equal. */
static int compare_value(const LogicalType *type, ComparePair *at);

static int compare_element(const LogicalType *type, ComparePair *at)
{
    const int a_is_null = *at->a++ == 0;
    const int b_is_null = *at->b++ == 0;
    if (a_is_null || b_is_null) {
        return a_is_null - b_is_null;
    }
    return compare_value(type, at);
}

static int compare_bytes(ComparePair *at)
{
    const size_t a_size = weir_load_u32(at->a);
    const size_t b_size = weir_load_u32(at->b);
    at->a += sizeof(uint32_t);
    at->b += sizeof(uint32_t);
    const int order = memcmp(at->a, at->b, WEIR_MIN(a_size, b_size));
    if (order != 0) {
        return order;
    }
    at->a += a_size;
    at->b += b_size;
    return (a_size > b_size) - (a_size < b_size);
}

static int compare_union(const LogicalType *type, ComparePair *at)
{
    const uint8_t a_tag = (uint8_t)*at->a++;
    const uint8_t b_tag = (uint8_t)*at->b++;
    if (a_tag != b_tag) {
        return a_tag < b_tag ? -1 : 1;
    }
    WEIR_ASSERT(a_tag < type->child_count);
    return compare_element(type->children[a_tag], at);
}

static int compare_value(const LogicalType *type, ComparePair *at)
{
    if (!weir_type_is_nested(type)) {
        if (is_string(type)) {
            return compare_bytes(at);
        }
        const int order = weir_value_compare(type, at->a, at->b);
        at->a += weir_phys_width(type->phys);
        at->b += weir_phys_width(type->phys);
        return order;
    }
    if (type->id == TYPE_UNION) {
        return compare_union(type, at);
    }
    size_t a_count = 1;
    size_t b_count = 1;
    if (type->id != TYPE_STRUCT) {
        a_count = weir_load_u32(at->a);
        b_count = weir_load_u32(at->b);
        at->a += sizeof(uint32_t);
        at->b += sizeof(uint32_t);
    }
    const size_t common = WEIR_MIN(a_count, b_count);
    for (size_t i = 0; i < common; i++) {
        for (size_t c = 0; c < type->child_count; c++) {
            const int order = compare_element(type->children[c], at);
            if (order != 0) {
                return order;
            }
        }
    }
    return (a_count > b_count) - (a_count < b_count);
}

int weir_nested_compare(const LogicalType *type, const char *a, const char *b)
{
    ComparePair at = {.a = a, .b = b};
    return compare_value(type, &at);
}

/* --- normal form ------------------------------------------------------------------------------- */

/* No value changes its size, so that the work is done in place. Returns the place behind. */
static char *normalise_value(const LogicalType *type, char *bytes)
{
    if (type->phys == PHYS_F32) {
        weir_store_u32(bytes, weir_normal_f32(weir_load_u32(bytes)));
    } else if (type->phys == PHYS_F64) {
        weir_store_u64(bytes, weir_normal_f64(weir_load_u64(bytes)));
    } else if (type->phys == PHYS_INTERVAL) {
        Interval v;
        memcpy(&v, bytes, sizeof v);
        v = weir_interval_canonical(v);
        memcpy(bytes, &v, sizeof v);
    }
    if (!weir_type_is_nested(type)) {
        return bytes + weir_nested_size(type, bytes);
    }
    size_t rounds = 1;
    const LogicalType *const *children = type->children;
    size_t child_count = type->child_count;
    if (type->id == TYPE_UNION) {
        children += (uint8_t)*bytes++;
        child_count = 1;
    } else if (type->id != TYPE_STRUCT) {
        rounds = weir_load_u32(bytes);
        bytes += sizeof(uint32_t);
    }
    for (size_t i = 0; i < rounds; i++) {
        for (size_t c = 0; c < child_count; c++) {
            const bool is_null = *bytes++ == 0;
            bytes = is_null ? bytes : normalise_value(children[c], bytes);
        }
    }
    return bytes;
}

void weir_nested_normalise_in_place(const LogicalType *type, char *bytes, size_t size)
{
    WEIR_ASSERT(weir_type_is_nested(type));
    const char *end = normalise_value(type, bytes);
    WEIR_ASSERT(end == bytes + size);
    WEIR_UNUSED(end);
    WEIR_UNUSED(size);
}

void weir_nested_normalise(const LogicalType *type, const char *bytes, size_t size, Buf *out)
{
    const size_t begin = out->size;
    weir_buf_append(out, bytes, size);
    if (out->status == WEIR_OK) {
        weir_nested_normalise_in_place(type, out->data + begin, size);
    }
}
