/* table.c: the rows of a result, all of them or the first and the last.
 *
 * With a limit, rows[first_count ..) is a ring of the rows seen last. It has three places more than
 * are shown, for a result that is so little over the limit that leaving rows out saves no line. */
#include "shell/table.h"

#include <stdlib.h>
#include <string.h>

#include "shell/print.h"

enum { GAP_LINES = 3 };

static void row_free(TableRow *row)
{
    free(row->text);
    free(row->cells);
    *row = (TableRow){0};
}

void weir_table_deinit(Table *table)
{
    for (size_t i = 0; i < table->kept_count; i++) {
        row_free(&table->rows[i]);
    }
    free(table->rows);
    free(table->columns);
    *table = (Table){0};
}

/* Where the row with that number is kept. */
static size_t row_place(const Table *table, size_t number)
{
    return number < table->limit ? number
                                 : table->first_count + (number - table->first_count) %
                                                            (table->limit - table->first_count);
}

bool weir_table_has_gap(const Table *table)
{
    return table->row_count > table->limit;
}

size_t weir_table_shown_count(const Table *table)
{
    return weir_table_has_gap(table) ? table->first_count + table->last_count : table->row_count;
}

const TableRow *weir_table_row(const Table *table, size_t place)
{
    if (!weir_table_has_gap(table) || place < table->first_count) {
        return &table->rows[place];
    }
    const size_t shown_count = table->first_count + table->last_count;
    return &table->rows[row_place(table, table->row_count - (shown_count - place))];
}

static TableRow read_row(Table *table, Rows result, const char *null_text, CellWriter writer)
{
    Text text = {0};
    weir_text_append(&text, "", 0); /* a row of nothing has a text too */
    TableRow row = {.cells = weir_shell_alloc(table->column_count * sizeof(Cell))};
    for (size_t i = 0; i < table->column_count; i++) {
        size_t size = 0;
        const char *const value = weir_rows_text(result, i, &size);
        Cell *const cell = &row.cells[i];
        TableColumn *const column = &table->columns[i];
        column->is_number = column->is_number && weir_rows_is_numeric(result, i);
        cell->offset = text.size;
        if (value == NULL) {
            writer(&text, null_text, strlen(null_text));
        } else {
            writer(&text, value, size);
        }
        cell->size = text.size - cell->offset;
        cell->width = weir_utf8_width(text.data + cell->offset, cell->size);
    }
    row.text = text.data;
    return row;
}

static void add_row(Table *table, TableRow row)
{
    const size_t place = row_place(table, table->row_count);
    if (place == table->capacity) {
        table->capacity = table->capacity == 0 ? 64 : table->capacity * 2;
        table->rows = weir_shell_realloc(table->rows, table->capacity * sizeof *table->rows);
    }
    if (place == table->kept_count) {
        table->kept_count++;
    } else {
        row_free(&table->rows[place]);
    }
    table->rows[place] = row;
    table->row_count++;
}

static void measure_columns(Table *table)
{
    const size_t shown_count = weir_table_shown_count(table);
    for (size_t place = 0; place < shown_count; place++) {
        const TableRow *const row = weir_table_row(table, place);
        for (size_t i = 0; i < table->column_count; i++) {
            TableColumn *const column = &table->columns[i];
            column->width =
                row->cells[i].width > column->width ? row->cells[i].width : column->width;
        }
    }
}

WeirStatus weir_table_read(Table *table, Rows result, size_t max_rows, const char *null_text,
                           CellWriter writer, WeirError *err)
{
    const size_t count = weir_rows_column_count(result);
    *table = (Table){
        .column_count = count,
        .columns = weir_shell_alloc(count * sizeof(TableColumn)),
        .limit = max_rows == 0 ? SIZE_MAX : max_rows + GAP_LINES,
        .first_count = max_rows - max_rows / 2,
        .last_count = max_rows / 2,
    };
    for (size_t i = 0; i < count; i++) {
        table->columns[i].is_number = true;
    }
    for (;;) {
        bool has_row = false;
        const WeirStatus status = weir_print_next(result, &has_row, err);
        if (status != WEIR_OK) {
            return status;
        }
        if (!has_row) {
            break;
        }
        add_row(table, read_row(table, result, null_text, writer));
    }
    measure_columns(table);
    return WEIR_OK;
}
