/* print_markdown.c: a table in Markdown, its columns aligned for readers of the source too. */
#include "shell/print.h"
#include "shell/table.h"

#include <stdlib.h>
#include <string.h>

/* A cell must stay on its line, and | ends it. */
static void write_cell(Text *text, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') {
            weir_text_puts(text, "<br>");
        } else if (bytes[i] == '|') {
            weir_text_puts(text, "\\|");
        } else if (bytes[i] != '\r') {
            weir_text_putc(text, bytes[i]);
        }
    }
}

static void put_cell(Output *output, const char *bytes, const Cell *cell, const TableColumn *column)
{
    const size_t padding = column->width - cell->width;
    weir_output_puts(output, "| ");
    weir_output_repeat(output, " ", column->is_number ? padding : 0);
    weir_output_write(output, bytes + cell->offset, cell->size);
    weir_output_repeat(output, " ", column->is_number ? 1 : padding + 1);
}

static void put_rule(Output *output, const Table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const TableColumn *const column = &table->columns[i];
        weir_output_putc(output, '|');
        weir_output_repeat(output, "-", column->width + 1);
        weir_output_putc(output, column->is_number ? ':' : '-');
    }
    weir_output_puts(output, "|\n");
}

static void put_row(Output *output, const Table *table, const char *text, const Cell *cells)
{
    for (size_t i = 0; i < table->column_count; i++) {
        put_cell(output, text, &cells[i], &table->columns[i]);
    }
    weir_output_puts(output, "|\n");
}

static void put_header(Output *output, Table *table, Rows result)
{
    Text text = {0};
    Cell *const cells = weir_shell_alloc(table->column_count * sizeof *cells);
    for (size_t i = 0; i < table->column_count; i++) {
        const char *const name = weir_rows_column_name(result, i);
        cells[i].offset = text.size;
        write_cell(&text, name, strlen(name));
        cells[i].size = text.size - cells[i].offset;
        cells[i].width = weir_utf8_width(weir_text_string(&text) + cells[i].offset, cells[i].size);
        if (cells[i].width > table->columns[i].width) {
            table->columns[i].width = cells[i].width;
        }
    }
    put_row(output, table, weir_text_string(&text), cells);
    put_rule(output, table);
    free(cells);
    weir_text_deinit(&text);
}

WeirStatus weir_print_markdown(Output *output, const PrintStyle *style, Rows result, WeirError *err)
{
    Table table;
    const WeirStatus status =
        weir_table_read(&table, result, 0, weir_print_null_text(style), write_cell, err);
    if (status == WEIR_OK) {
        if (!style->has_no_header) {
            put_header(output, &table, result);
        }
        for (size_t i = 0; i < table.row_count; i++) {
            const TableRow *const row = weir_table_row(&table, i);
            put_row(output, &table, row->text, row->cells);
        }
    }
    weir_table_deinit(&table);
    return status;
}
