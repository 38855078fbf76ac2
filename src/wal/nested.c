/* nested.c: values of nested vectors as canonical bytes (types/nested.h).
 *
 * Recursion is bounded by the depth of the type. What is written is bounded by the buffer: a list of
 * a constant can be any length and take no byte of the entry, so that loops look at the buffer. */
#include "wal/chunk.h"

#include "base/codec.h"
#include "types/nested.h"

static void put_u32(Buf *out, size_t value)
{
    char bytes[sizeof(uint32_t)];
    weir_store_u32(bytes, (uint32_t)value);
    weir_buf_append(out, bytes, sizeof bytes);
}

static void put_simple(const Part *part, size_t row, Buf *out)
{
    if (part->encoding == PART_SEQUENCE) {
        const uint64_t value = part->start + row * part->increment;
        weir_buf_append(out, &value, part->width);
        return;
    }
    const size_t place = weir_part_place(part, row);
    if (part->layout == PART_STRING) {
        const String *const string = &part->strings[place];
        put_u32(out, weir_string_size(string));
        weir_buf_append(out, weir_string_data(string), weir_string_size(string));
        return;
    }
    weir_buf_append(out, part->data + place * part->width, part->width);
}

/* A row of a part that is inside another. */
static void put_element(const Part *part, size_t row, Buf *out, const char **fault)
{
    if (!weir_part_is_valid(part, row)) {
        weir_buf_putc(out, 0);
        return;
    }
    weir_buf_putc(out, 1);
    if (part->layout == PART_FIXED || part->layout == PART_STRING) {
        put_simple(part, row, out);
    } else {
        weir_wal_put_nested(part, weir_part_place(part, row), out, fault);
    }
}

static void put_union(const Part *part, size_t place, Buf *out, const char **fault)
{
    const Part *const tags = &part->children[0];
    uint8_t tag = 0;
    if (tags->encoding == PART_SEQUENCE || !weir_part_is_valid(tags, place)) {
        *fault = "a UNION has no tag";
        return;
    }
    tag = tags->data[weir_part_place(tags, place)];
    if (tag >= part->type->child_count) {
        *fault = "a UNION has no such member";
        return;
    }
    weir_buf_putc(out, (char)tag);
    put_element(&part->children[tag + 1], place, out, fault);
}

/* Elements first to first + count of a list's or array's child; pairs without a byte of their own.
 */
static void put_elements(const Part *child, bool is_map, uint64_t first, uint64_t count, Buf *out,
                         const char **fault)
{
    if (count > UINT32_MAX) {
        *fault = "a list is too long";
        return;
    }
    put_u32(out, (size_t)count);
    for (uint64_t i = first; i < first + count && out->status == WEIR_OK && *fault == NULL; i++) {
        if (!is_map) {
            put_element(child, (size_t)i, out, fault);
            continue;
        }
        if (!weir_part_is_valid(child, (size_t)i)) {
            *fault = "a MAP has a pair that is NULL";
            return;
        }
        const size_t place = weir_part_place(child, (size_t)i);
        put_element(&child->children[0], place, out, fault);
        put_element(&child->children[1], place, out, fault);
    }
}

void weir_wal_put_nested(const Part *part, size_t place, Buf *out, const char **fault)
{
    const LogicalType *const type = part->type;
    switch (part->layout) {
    case PART_LIST:
        put_elements(&part->children[0], type->id == TYPE_MAP, part->entries[place].offset,
                     part->entries[place].length, out, fault);
        return;
    case PART_ARRAY:
        put_elements(&part->children[0], false, place * type->array_size, type->array_size, out,
                     fault);
        return;
    case PART_STRUCT:
        if (type->id == TYPE_UNION) {
            put_union(part, place, out, fault);
            return;
        }
        for (size_t i = 0; i < part->child_count && *fault == NULL; i++) {
            put_element(&part->children[i], place, out, fault);
        }
        return;
    case PART_FIXED:
    case PART_STRING: WEIR_ASSERT(false); return;
    }
}
