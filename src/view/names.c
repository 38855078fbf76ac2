/* names.c: splitting, comparing and printing qualified names. */
#include "view/names.h"

#include <stdio.h>

/* Reads one part at *cursor into out (room for the rest of the text); false if it is malformed. */
static bool part_read(const char **cursor, char *out)
{
    const char *c = *cursor;
    size_t size = 0;
    if (*c == '"') {
        c++;
        while (*c != '\0') {
            if (*c == '"' && c[1] != '"') {
                break;
            }
            c += *c == '"' ? 2 : 1;
            out[size++] = c[-1];
        }
        if (*c != '"') {
            return false;
        }
        c++;
    } else {
        while (*c != '\0' && *c != '.' && *c != '"') {
            out[size++] = *c++;
        }
    }
    out[size] = '\0';
    *cursor = c;
    return size > 0;
}

Status weir_name_split(Arena *arena, const char *text, const char *parts[NAME_MAX_PARTS],
                       size_t *part_count, Error *err)
{
    const char *cursor = text;
    *part_count = 0;
    for (;;) {
        char *part = weir_arena_alloc(arena, strlen(cursor) + 1, err);
        if (part == NULL) {
            return err->code;
        }
        if (*part_count == NAME_MAX_PARTS || !part_read(&cursor, part)) {
            break;
        }
        parts[(*part_count)++] = part;
        if (*cursor == '\0') {
            return WEIR_OK;
        }
        if (*cursor != '.') {
            break;
        }
        cursor++;
    }
    weir_error_set(err, WEIR_ERR_ARGUMENT, "'%s' is not a name", text);
    weir_error_hint(err, "write name, schema.name or catalog.schema.name; put parts with special "
                         "characters in double quotes");
    return err->code;
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

bool weir_name_matches(const TableName *name, const char *const *parts, size_t part_count)
{
    const char *const own[NAME_MAX_PARTS] = {name->catalog, name->schema, name->name};
    WEIR_ASSERT(part_count >= 1 && part_count <= NAME_MAX_PARTS);
    for (size_t i = 0; i < part_count; i++) {
        if (!weir_name_part_equal(parts[i], own[NAME_MAX_PARTS - part_count + i])) {
            /* schema.name where "schema" is the catalog, as DuckDB resolves it too */
            const bool is_catalog = part_count == 2 && i == 0 &&
                                    weir_name_part_equal(parts[0], name->catalog) &&
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
