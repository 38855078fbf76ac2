/* rows.h: the rows of a statement, of whichever database.
 *
 * Like WeirResult: read forward, a row at a time, every value as text. */
#ifndef WEIR_SHELL_ROWS_H
#define WEIR_SHELL_ROWS_H

#include "weir.h"

/* What a kind of database does; the handle is what Rows has. */
typedef struct RowsType {
    void (*free)(void *handle);
    size_t (*column_count)(const void *handle);
    const char *(*column_name)(const void *handle, size_t column);
    const char *(*column_type)(const void *handle, size_t column);
    bool (*is_numeric)(const void *handle, size_t column);
    WeirStatus (*next)(void *handle, bool *has_row, WeirError *err);
    const char *(*text)(void *handle, size_t column, size_t *size);
} RowsType;

/* Passed by value; {0} is no rows at all. */
typedef struct Rows {
    const RowsType *type;
    void *handle; /* owned by whoever ends it with weir_rows_free */
} Rows;

static inline void weir_rows_free(Rows rows)
{
    if (rows.type != NULL) {
        rows.type->free(rows.handle);
    }
}

static inline bool weir_rows_exist(Rows rows)
{
    return rows.type != NULL;
}

static inline size_t weir_rows_column_count(Rows rows)
{
    return rows.type->column_count(rows.handle);
}

static inline const char *weir_rows_column_name(Rows rows, size_t column)
{
    return rows.type->column_name(rows.handle, column);
}

/* As SQL spells it; "" if values have types and columns have none. */
static inline const char *weir_rows_column_type(Rows rows, size_t column)
{
    return rows.type->column_type(rows.handle, column);
}

/* Of the present row, where values have types and columns have none; NULL is numeric there. */
static inline bool weir_rows_is_numeric(Rows rows, size_t column)
{
    return rows.type->is_numeric(rows.handle, column);
}

static inline WeirStatus weir_rows_next(Rows rows, bool *has_row, WeirError *err)
{
    return rows.type->next(rows.handle, has_row, err);
}

/* Borrowed until the next step; NULL for SQL's NULL. */
static inline const char *weir_rows_text(Rows rows, size_t column, size_t *size)
{
    return rows.type->text(rows.handle, column, size);
}

#endif
