/* names.c: splitting, comparing and printing qualified names. */
#include "view/names.h"

#include <stdio.h>

/* One part of a qualified name, where it is written. */
typedef struct NameSlice {
    const char *start;
    const char *end;
    bool is_quoted; /* between the quotes, where "" stands for one */
} NameSlice;

/* Reads one part at *cursor; false if it is malformed. */
static bool slice_read(const char **cursor, NameSlice *out)
{
    const char *c = *cursor;
    out->is_quoted = *c == '"';
    c += out->is_quoted;
    out->start = c;
    if (out->is_quoted) {
        while (*c != '\0' && (*c != '"' || c[1] == '"')) {
            c += *c == '"' ? 2 : 1;
        }
        out->end = c;
        if (*c != '"') {
            return false;
        }
        c++;
    } else {
        c += strcspn(c, ".\"");
        out->end = c;
    }
    *cursor = c;
    return out->end > out->start;
}

/* All parts of a text; false if it is not a name. */
static bool slices_read(const char *text, NameSlice slices[NAME_MAX_PARTS], size_t *count)
{
    const char *cursor = text;
    *count = 0;
    while (*count < NAME_MAX_PARTS && slice_read(&cursor, &slices[*count])) {
        (*count)++;
        if (*cursor == '\0') {
            return true;
        }
        if (*cursor != '.') {
            return false;
        }
        cursor++;
    }
    return false;
}

/* The slice's next character at *c. */
static char slice_take(const NameSlice *slice, const char **c)
{
    const char taken = **c;
    *c += slice->is_quoted && taken == '"' ? 2 : 1;
    return taken;
}

Status weir_name_split(Arena *arena, const char *text, const char *parts[NAME_MAX_PARTS],
                       size_t *part_count, Error *err)
{
    NameSlice slices[NAME_MAX_PARTS];
    if (!slices_read(text, slices, part_count)) {
        weir_error_set(err, WEIR_ERR_ARGUMENT, "'%s' is not a name", text);
        weir_error_hint(err, "write name, schema.name or catalog.schema.name; put parts with "
                             "special characters in double quotes");
        return err->code;
    }
    for (size_t i = 0; i < *part_count; i++) {
        const size_t room = (size_t)(slices[i].end - slices[i].start) + 1;
        char *part = weir_arena_alloc(arena, room, err);
        if (part == NULL) {
            return err->code;
        }
        size_t size = 0;
        for (const char *c = slices[i].start; c < slices[i].end;) {
            part[size++] = slice_take(&slices[i], &c);
        }
        part[size] = '\0';
        parts[i] = part;
    }
    return WEIR_OK;
}

/* Of the host program's locale nothing depends. */
static unsigned char to_lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool weir_name_part_equal(const char *a, const char *b)
{
    while (*a != '\0' && to_lower(*a) == to_lower(*b)) {
        a++;
        b++;
    }
    return to_lower(*a) == to_lower(*b);
}

bool weir_name_equal(const TableName *a, const TableName *b)
{
    return weir_name_part_equal(a->name, b->name) && weir_name_part_equal(a->schema, b->schema) &&
           weir_name_part_equal(a->catalog, b->catalog);
}

static bool slice_equal(const NameSlice *slice, const char *part)
{
    const char *c = slice->start;
    while (c < slice->end && *part != '\0') {
        if (to_lower(slice_take(slice, &c)) != to_lower(*part)) {
            return false;
        }
        part++;
    }
    return c == slice->end && *part == '\0';
}

/* True if the slice goes on to its end without the quote or point that would end it. */
static bool slice_is_whole(const NameSlice *slice)
{
    for (const char *c = slice->start; c < slice->end; c++) {
        const bool is_doubled = slice->is_quoted && *c == '"' && c + 1 < slice->end && c[1] == '"';
        if (!is_doubled && (*c == '"' || (*c == '.' && !slice->is_quoted))) {
            return false;
        }
        c += is_doubled;
    }
    return slice->end > slice->start;
}

bool weir_name_is_written(const char *text, size_t size, const char *part)
{
    NameSlice slice = {.start = text, .end = text + size};
    if (size >= 2 && text[0] == '"' && text[size - 1] == '"') {
        slice = (NameSlice){.start = text + 1, .end = text + size - 1, .is_quoted = true};
    }
    return slice_is_whole(&slice) && slice_equal(&slice, part);
}

bool weir_name_matches(const TableName *name, const char *text)
{
    const char *const own[NAME_MAX_PARTS] = {name->catalog, name->schema, name->name};
    NameSlice slices[NAME_MAX_PARTS];
    size_t count = 0;
    if (!slices_read(text, slices, &count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!slice_equal(&slices[i], own[NAME_MAX_PARTS - count + i])) {
            /* schema.name where "schema" is the catalog, as DuckDB resolves it too */
            const bool is_catalog = count == 2 && i == 0 &&
                                    slice_equal(&slices[0], name->catalog) &&
                                    weir_name_part_equal(name->schema, "main");
            if (!is_catalog) {
                return false;
            }
        }
    }
    return true;
}

Status weir_name_copy(Arena *arena, const TableName *name, TableName *out, Error *err)
{
    out->catalog = weir_arena_strdup(arena, name->catalog, err);
    out->schema = out->catalog == NULL ? NULL : weir_arena_strdup(arena, name->schema, err);
    out->name = out->schema == NULL ? NULL : weir_arena_strdup(arena, name->name, err);
    return out->name == NULL ? err->code : WEIR_OK;
}

void weir_name_put_sql(Buf *buf, const TableName *name)
{
    weir_buf_put_sql_name(buf, name->catalog);
    weir_buf_putc(buf, '.');
    weir_buf_put_sql_name(buf, name->schema);
    weir_buf_putc(buf, '.');
    weir_buf_put_sql_name(buf, name->name);
}

bool weir_name_part_is_plain(const char *part)
{
    return part[0] != '\0' &&
           part[strspn(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] ==
               '\0';
}

const char *weir_name_text(const TableName *name, char *out, size_t size)
{
    const char *const parts[NAME_MAX_PARTS] = {name->catalog, name->schema, name->name};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < NAME_MAX_PARTS && used < size; i++) {
        const char *const quote = weir_name_part_is_plain(parts[i]) ? "" : "\"";
        const int written = snprintf(out + used, size - used, "%s%s%s%s", i == 0 ? "" : ".", quote,
                                     parts[i], quote);
        used += written > 0 ? (size_t)written : 0;
    }
    return out;
}
