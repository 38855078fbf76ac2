/* row.c: the layout of packed rows, and what can be asked of one row. */
#include "types/row.h"

#include "base/checked.h"
#include "base/codec.h"

enum { ROW_MAX_STATE_BYTES = 1 << 24 };

static uint32_t align_up(uint32_t value, uint32_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* Bytes of the null bits of count columns: an integer, or several of 64 bits. */
static uint32_t null_bytes_of(size_t count)
{
    const uint32_t bytes = (uint32_t)((count + 7) / 8);
    if (bytes > 8) {
        return align_up(bytes, 8);
    }
    return bytes > 4 ? 8 : bytes + (bytes == 3 ? 1 : 0);
}

/* Gives the columns of a section and its null bits their places from `begin` on. */
static RowSection place_section(RowColumn *columns, size_t first, size_t count, uint32_t begin)
{
    RowSection section = {
        .first = first,
        .count = count,
        .begin = begin,
        .null_bytes = null_bytes_of(count),
    };
    uint32_t offset = begin;
    for (uint32_t width = 16; width > 0; width /= 2) {
        for (size_t c = first; c < first + count; c++) {
            if (weir_phys_width(columns[c].phys) == width) {
                columns[c].offset = offset;
                offset += width;
                section.has_strings = section.has_strings || columns[c].phys == PHYS_STRING;
            }
        }
        if (section.null_bytes > 0 && WEIR_MIN(section.null_bytes, 8u) == width) {
            section.null_offset = offset;
            offset += section.null_bytes;
        }
    }
    section.end = align_up(offset, 8);
    return section;
}

static void collect_string_offsets(RowLayout *layout)
{
    for (size_t c = 0; c < layout->column_count; c++) {
        if (layout->columns[c].phys == PHYS_STRING) {
            layout->string_offsets[layout->string_count++] = layout->columns[c].offset;
            layout->key_string_count += c < layout->key.count ? 1 : 0;
        }
    }
}

Status weir_row_layout_init(RowLayout *layout, Mem *mem, const RowLayoutSpec *spec, Error *err)
{
    const size_t count = spec->key_count + spec->payload_count;
    if (spec->key_count > ROW_MAX_COLUMNS || spec->payload_count > ROW_MAX_COLUMNS ||
        count > ROW_MAX_COLUMNS) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "a row of %zu columns; at most %d are possible",
                              count, ROW_MAX_COLUMNS);
    }
    if (spec->state_bytes > ROW_MAX_STATE_BYTES) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "aggregate states of %zu bytes in one row",
                              spec->state_bytes);
    }
    RowLayout made = {.column_count = count};
    made.columns = weir_mem_calloc(mem, count, sizeof *made.columns, err);
    if (made.columns == NULL) {
        return WEIR_ERR_NOMEM;
    }
    made.string_offsets = weir_mem_calloc(mem, count, sizeof *made.string_offsets, err);
    if (made.string_offsets == NULL) {
        weir_mem_free(mem, made.columns);
        return WEIR_ERR_NOMEM;
    }
    for (size_t c = 0; c < count; c++) {
        const bool is_key = c < spec->key_count;
        made.columns[c].phys = is_key ? spec->key[c] : spec->payload[c - spec->key_count];
    }
    made.key = place_section(made.columns, 0, spec->key_count, ROW_HEADER_BYTES);
    made.payload = place_section(made.columns, spec->key_count, spec->payload_count, made.key.end);
    made.has_strings = made.key.has_strings || made.payload.has_strings;
    made.state_bytes = (uint32_t)spec->state_bytes;
    made.state_offset = made.payload.end;
    if (made.state_bytes > 0) {
        made.state_offset = align_up(made.payload.end, 16);
    }
    made.fixed_bytes = align_up(made.state_offset + made.state_bytes, 8);
    collect_string_offsets(&made);
    *layout = made;
    return WEIR_OK;
}

void weir_row_layout_deinit(RowLayout *layout, Mem *mem)
{
    if (layout->columns != NULL) {
        weir_mem_free(mem, layout->columns);
        weir_mem_free(mem, layout->string_offsets);
    }
    *layout = (RowLayout){0};
}

/* Where the tail of the first string_count strings ends, unpadded: behind the last long one. */
static size_t tail_end(const RowLayout *layout, const char *row, size_t string_count)
{
    for (size_t s = string_count; s > 0; s--) {
        const char *slot = row + layout->string_offsets[s - 1];
        const uint32_t length = weir_load_u32(slot);
        if (length > STRING_INLINE_BYTES) {
            return weir_load_u64(slot + 8) + length;
        }
    }
    return layout->fixed_bytes;
}

size_t weir_row_size(const RowLayout *layout, const Row *row)
{
    const size_t end = tail_end(layout, (const char *)row, layout->string_count);
    return (end + 7) & ~(size_t)7;
}

typedef uint64_t WordPair __attribute__((vector_size(16)));

static WordPair load_pair(const char *bytes)
{
    WordPair pair;
    memcpy(&pair, bytes, sizeof pair);
    return pair;
}

/* Compares [begin, end), whose ends are multiples of 8. Rows that get here are nearly always equal
 * (their hashes are), so that there is one branch at the end instead of one per word. */
static bool words_equal(const char *a, const char *b, uint32_t begin, uint32_t end)
{
    WordPair difference = {0, 0};
    uint32_t at = begin;
    for (; at + 16 <= end; at += 16) {
        difference |= load_pair(a + at) ^ load_pair(b + at);
    }
    uint64_t rest = difference[0] | difference[1];
    if (at < end) {
        rest |= weir_load_u64(a + at) ^ weir_load_u64(b + at);
    }
    return rest == 0;
}

/* Compares the tails of two rows whose string slots are equal, so that they are laid out alike. */
static bool tails_equal(const RowLayout *layout, const char *a, const char *b, size_t string_count)
{
    const size_t begin = layout->fixed_bytes;
    const size_t end = tail_end(layout, a, string_count);
    return end == begin || memcmp(a + begin, b + begin, end - begin) == 0;
}

bool weir_row_key_equal(const RowLayout *layout, const Row *a, const Row *b)
{
    const char *x = (const char *)a;
    const char *y = (const char *)b;
    return words_equal(x, y, layout->key.begin, layout->key.end) &&
           (!layout->key.has_strings || tails_equal(layout, x, y, layout->key_string_count));
}

bool weir_row_equal(const RowLayout *layout, const Row *a, const Row *b)
{
    const char *x = (const char *)a;
    const char *y = (const char *)b;
    return words_equal(x, y, layout->key.begin, layout->payload.end) &&
           (!layout->has_strings || tails_equal(layout, x, y, layout->string_count));
}

bool weir_row_is_null(const RowLayout *layout, const Row *row, size_t column)
{
    const RowSection *section = column < layout->key.count ? &layout->key : &layout->payload;
    const size_t bit = column - section->first;
    const char byte = ((const char *)row)[section->null_offset + bit / 8];
    return (((unsigned char)byte >> (bit % 8)) & 1u) != 0;
}
