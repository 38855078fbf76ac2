/* names.h: qualified names as SQL writes them. */
#ifndef WEIR_VIEW_NAMES_H
#define WEIR_VIEW_NAMES_H

#include "view/host.h"

enum { NAME_MAX_PARTS = 3 };

/* Splits a."b.c".d into unquoted parts (1 to 3), allocated from the arena. */
Status weir_name_split(Arena *arena, const char *text, const char *parts[NAME_MAX_PARTS],
                       size_t *part_count, Error *err) WEIR_MUST_CHECK;

/* True if a part needs no quotes. */
bool weir_name_part_is_plain(const char *part);

/* DuckDB's identifier equality: without case. */
bool weir_name_part_equal(const char *a, const char *b);
bool weir_name_equal(const TableName *a, const TableName *b);

/* True if the text, not terminated, writes this part and nothing else: a word or a quoted name. */
bool weir_name_is_written(const char *text, size_t size, const char *part);

/* True if the text is a name of 1 to 3 parts that, counted from the right, are this one's. */
bool weir_name_matches(const TableName *name, const char *text);

Status weir_name_copy(Arena *arena, const TableName *name, TableName *out, Error *err)
    WEIR_MUST_CHECK;

/* "catalog"."schema"."name", each quoted. */
void weir_name_put_sql(Buf *buf, const TableName *name);

/* catalog.schema.name for messages, quoted only where needed. */
const char *weir_name_text(const TableName *name, char *out, size_t size);

#endif
