/* table.h: rows kept until the widths of all columns are known. */
#ifndef WEIR_SHELL_TABLE_H
#define WEIR_SHELL_TABLE_H

#include "shell/rows.h"
#include "shell/text.h"

/* How a value is written into a cell; text is what the writer appends to. */
typedef void (*CellWriter)(Text *text, const char *bytes, size_t size);

typedef struct Cell {
    size_t offset; /* in the row's text */
    size_t size;
    size_t width; /* columns on a terminal */
} Cell;

typedef struct TableRow {
    char *text;  /* owned */
    Cell *cells; /* owned; one a column */
} TableRow;

typedef struct TableColumn {
    size_t width;   /* of the widest cell kept, headers not counted */
    bool is_number; /* all values kept are numbers, or NULL */
} TableColumn;

/* All rows, or the first and the last ones. */
typedef struct Table {
    size_t column_count;
    TableColumn *columns; /* owned */
    TableRow *rows;       /* owned; behind first_count a ring as soon as it is full */
    size_t kept_count;    /* rows in use */
    size_t capacity;
    size_t limit;       /* how many rows may be kept */
    size_t row_count;   /* of the result */
    size_t first_count; /* rows shown before the gap */
    size_t last_count;  /* rows shown behind it */
} Table;

/* Reads the whole result. Of more than max_rows + 3 rows only max_rows are kept (a gap takes three
 * lines itself); 0 = keep all. */
WeirStatus weir_table_read(Table *table, Rows result, size_t max_rows, const char *null_text,
                           CellWriter writer, WeirError *err);
void weir_table_deinit(Table *table);

/* True if rows between the first and the last ones are not shown. */
bool weir_table_has_gap(const Table *table);

/* How many rows there are to show, and the one at a place among them. */
size_t weir_table_shown_count(const Table *table);
const TableRow *weir_table_row(const Table *table, size_t place);

#endif
