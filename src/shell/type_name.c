/* type_name.c: SQL's names of types, in DuckDB's short form. */
#include "shell/type_name.h"

#include <string.h>

/* The numbers go by their bits; every other type by its SQL name in lower case. */
static const struct {
    const char *sql;
    const char *name;
} SHORT_NAMES[] = {
    {"TINYINT", "int8"},   {"SMALLINT", "int16"},   {"INTEGER", "int32"},    {"BIGINT", "int64"},
    {"HUGEINT", "int128"}, {"UTINYINT", "uint8"},   {"USMALLINT", "uint16"}, {"UINTEGER", "uint32"},
    {"UBIGINT", "uint64"}, {"UHUGEINT", "uint128"},
};

static const char *find_short_name(const char *type, size_t size)
{
    for (size_t i = 0; i < sizeof SHORT_NAMES / sizeof *SHORT_NAMES; i++) {
        if (strlen(SHORT_NAMES[i].sql) == size && memcmp(SHORT_NAMES[i].sql, type, size) == 0) {
            return SHORT_NAMES[i].name;
        }
    }
    return NULL;
}

void weir_type_name_append(Text *text, const char *type)
{
    static const char LOWER[] = "abcdefghijklmnopqrstuvwxyz";
    size_t size = strlen(type);
    while (size >= 2 && memcmp(type + size - 2, "[]", 2) == 0) {
        size -= 2;
    }
    const char *const short_name = find_short_name(type, size);
    if (short_name != NULL) {
        weir_text_puts(text, short_name);
        weir_text_puts(text, type + size);
        return;
    }
    Text lower = {0};
    const char *quote = NULL; /* where it opened: names of fields and values of enums are kept */
    for (const char *c = type; *c != '\0'; c++) {
        const bool is_upper = quote == NULL && *c >= 'A' && *c <= 'Z';
        if (quote == NULL && (*c == '"' || *c == '\'')) {
            quote = c;
        } else if (quote != NULL && *c == *quote) {
            quote = NULL;
        }
        weir_text_append(&lower, is_upper ? &LOWER[*c - 'A'] : c, 1);
    }
    weir_text_put_visible(text, weir_text_string(&lower), lower.size);
    weir_text_deinit(&lower);
}
