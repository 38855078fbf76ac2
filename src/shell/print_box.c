/* print_box.c: a box as DuckDB's shell draws it.
 *
 *   ┌───────┬─────────┐      names and types are centred, numbers right-aligned; from ten rows on,
 *   │   a   │    b    │      and whenever something is left out, a line counts rows and columns.
 *   │ int32 │ varchar │
 *   ├───────┼─────────┤      On a terminal a long result loses its middle rows, values are cut to
 *   │     1 │ x       │      fit its width, down to CUT_WIDTH, and then middle columns go. Elsewhere
 *   └───────┴─────────┘      everything is printed. */
#include "shell/print.h"
#include "shell/table.h"

#include <stdlib.h>
#include <string.h>

#include "shell/type_name.h"

enum {
    CUT_WIDTH = 20,      /* columns are not cut narrower for the sake of others */
    FOOTER_ROWS = 10,    /* so many rows are counted */
    DIVIDER_LINES = 3,   /* dots where rows are left out */
    BORDER_WIDTH = 3,    /* of a column: blank, blank, line */
    LEAST_BOX_WIDTH = 40 /* narrower terminals wrap */
};

typedef enum Alignment { ALIGN_LEFT, ALIGN_CENTRE, ALIGN_RIGHT } Alignment;

typedef struct BoxColumn {
    size_t column; /* of the result; COLUMN_GAP = where columns are left out */
    size_t width;
} BoxColumn;

#define COLUMN_GAP SIZE_MAX

typedef struct Box {
    Output *output;
    Table table;
    Text *names; /* owned; one a column of the result, like types */
    Text *types;
    BoxColumn *columns; /* owned; what is shown, from left to right */
    size_t column_count;
    bool has_header;
    bool has_types;        /* the columns have types to show */
    size_t footer_width;   /* 0 = no footer */
    char rows_text[80];    /* "12 rows (4 shown)" */
    char columns_text[80]; /* the same of columns; may be empty */
} Box;

/* ---- drawing -------------------------------------------------------------------------------- */

static void put_aligned(Output *output, const char *bytes, size_t size, size_t width,
                        size_t box_width, Alignment alignment)
{
    const size_t padding = box_width - width;
    size_t left = 0;
    if (alignment != ALIGN_LEFT) {
        left = alignment == ALIGN_CENTRE ? padding / 2 : padding;
    }
    weir_output_puts(output, "│ ");
    weir_output_repeat(output, " ", left);
    weir_output_write(output, bytes, size);
    weir_output_repeat(output, " ", padding - left + 1);
}

/* A value, cut to its column's width. */
static void put_value(Output *output, const char *bytes, size_t size, size_t box_width,
                      Alignment alignment)
{
    size_t width = 0;
    const size_t fitting = weir_utf8_fit(bytes, size, box_width, &width);
    if (fitting == size) {
        put_aligned(output, bytes, size, width, box_width, alignment);
        return;
    }
    Text cut = {0};
    weir_text_append(&cut, bytes, weir_utf8_fit(bytes, size, box_width - 1, &width));
    weir_text_puts(&cut, "…");
    put_aligned(output, cut.data, cut.size, width + 1, box_width, alignment);
    weir_text_deinit(&cut);
}

static void put_rule(const Box *box, const char *left, const char *middle, const char *right)
{
    weir_output_puts(box->output, left);
    for (size_t i = 0; i < box->column_count; i++) {
        weir_output_puts(box->output, i == 0 ? "" : middle);
        weir_output_repeat(box->output, "─", box->columns[i].width + 2);
    }
    weir_output_puts(box->output, right);
    weir_output_putc(box->output, '\n');
}

static void put_heads(const Box *box, const Text *texts)
{
    for (size_t i = 0; i < box->column_count; i++) {
        const BoxColumn *const column = &box->columns[i];
        const bool is_gap = column->column == COLUMN_GAP;
        const char *const text = is_gap ? "…" : weir_text_string(&texts[column->column]);
        put_value(box->output, text, strlen(text), column->width, ALIGN_CENTRE);
    }
    weir_output_puts(box->output, "│\n");
}

static Alignment column_alignment(const Box *box, const BoxColumn *column)
{
    return box->table.columns[column->column].is_number ? ALIGN_RIGHT : ALIGN_LEFT;
}

static void put_row(const Box *box, const TableRow *row)
{
    for (size_t i = 0; i < box->column_count; i++) {
        const BoxColumn *const column = &box->columns[i];
        if (column->column == COLUMN_GAP) {
            put_value(box->output, "…", strlen("…"), column->width, ALIGN_CENTRE);
        } else {
            const Cell *const cell = &row->cells[column->column];
            put_value(box->output, row->text + cell->offset, cell->size, column->width,
                      column_alignment(box, column));
        }
    }
    weir_output_puts(box->output, "│\n");
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A dot below the middle of the shorter one of the values around the gap. */
static void put_divider(const Box *box, const TableRow *above, const TableRow *below)
{
    for (size_t i = 0; i < box->column_count; i++) {
        const BoxColumn *const column = &box->columns[i];
        if (column->column == COLUMN_GAP) {
            put_value(box->output, "·", strlen("·"), column->width, ALIGN_CENTRE);
            continue;
        }
        const Alignment alignment = column_alignment(box, column);
        const size_t value_width = least(column->width, least(above->cells[column->column].width,
                                                              below->cells[column->column].width));
        const size_t blanks = value_width == 0 ? 0 : (value_width - 1) / 2;
        Text text = {0};
        for (size_t j = 0; j < blanks; j++) {
            weir_text_putc(&text, ' ');
        }
        weir_text_puts(&text, "·");
        for (size_t j = 0; j < blanks; j++) {
            weir_text_putc(&text, ' ');
        }
        put_value(box->output, text.data, text.size, column->width, alignment);
        weir_text_deinit(&text);
    }
    weir_output_puts(box->output, "│\n");
}

static size_t box_width(const Box *box)
{
    size_t width = 1;
    for (size_t i = 0; i < box->column_count; i++) {
        width += box->columns[i].width + BORDER_WIDTH;
    }
    return width;
}

static void put_footer(const Box *box)
{
    const size_t room = box_width(box) - 4;
    const size_t rows_width = strlen(box->rows_text);
    const size_t columns_width = strlen(box->columns_text);
    Output *const output = box->output;
    if (columns_width > 0 && rows_width + columns_width + 2 <= room) {
        weir_output_printf(output, "│ %s%*s │\n", box->rows_text, (int)(room - rows_width),
                           box->columns_text);
    } else {
        put_aligned(output, box->rows_text, rows_width, rows_width, room, ALIGN_CENTRE);
        weir_output_puts(output, "│\n");
    }
    weir_output_puts(output, "└");
    weir_output_repeat(output, "─", room + 2);
    weir_output_puts(output, "┘\n");
}

static void put_box(const Box *box)
{
    const Table *const table = &box->table;
    const size_t shown_count = weir_table_shown_count(table);
    put_rule(box, "┌", "┬", "┐");
    if (box->has_header) {
        put_heads(box, box->names);
        if (box->has_types) {
            put_heads(box, box->types);
        }
        if (shown_count > 0) {
            put_rule(box, "├", "┼", "┤");
        }
    }
    for (size_t i = 0; i < shown_count; i++) {
        const TableRow *const row = weir_table_row(table, i);
        put_row(box, row);
        if (weir_table_has_gap(table) && i + 1 == table->first_count) {
            const TableRow *const below = i + 1 < shown_count ? weir_table_row(table, i + 1) : row;
            for (size_t j = 0; j < DIVIDER_LINES; j++) {
                put_divider(box, row, below);
            }
        }
    }
    if (box->footer_width > 0) {
        put_rule(box, "├", "┴", "┤");
        put_footer(box);
    } else {
        put_rule(box, "└", "┴", "┘");
    }
}

/* ---- layout --------------------------------------------------------------------------------- */

/* The width that a box has if no column is wider than cap. */
static size_t width_at(const Box *box, size_t cap)
{
    size_t width = 1;
    for (size_t i = 0; i < box->column_count; i++) {
        width += least(box->columns[i].width, cap) + BORDER_WIDTH;
    }
    return width;
}

/* Removes columns from the middle outwards until the rest fits, cut as far as allowed. */
static void drop_columns(Box *box, size_t max_width)
{
    if (width_at(box, CUT_WIDTH) <= max_width || box->column_count < 2) {
        return;
    }
    const size_t gap = box->column_count / 2;
    size_t first = gap; /* columns first .. last - 1 go */
    size_t last = gap + 1;
    size_t width = width_at(box, CUT_WIDTH) + 1 + BORDER_WIDTH;
    width -= least(box->columns[gap].width, CUT_WIDTH) + BORDER_WIDTH;
    while (width > max_width && last - first + 1 < box->column_count) {
        const bool is_left = gap - first <= last - 1 - gap && first > 0;
        const size_t gone = is_left ? --first : last++;
        width -= least(box->columns[gone].width, CUT_WIDTH) + BORDER_WIDTH;
    }
    box->columns[first] = (BoxColumn){.column = COLUMN_GAP, .width = 1};
    memmove(&box->columns[first + 1], &box->columns[last],
            (box->column_count - last) * sizeof *box->columns);
    box->column_count -= last - first - 1;
}

/* Cuts the widest columns, all to the same width, so that the box has at most max_width. */
static void cut_columns(Box *box, size_t max_width)
{
    if (box_width(box) <= max_width) {
        return;
    }
    size_t cap = max_width;
    while (cap > 1 && width_at(box, cap) > max_width) {
        cap--;
    }
    size_t spare = max_width > width_at(box, cap) ? max_width - width_at(box, cap) : 0;
    for (size_t i = 0; i < box->column_count; i++) {
        BoxColumn *const column = &box->columns[i];
        if (column->width > cap) {
            column->width = cap + (spare > 0);
            spare -= spare > 0;
        }
    }
}

static void describe_count(char *out, size_t out_size, size_t count, size_t shown_count,
                           const char *noun)
{
    const char *const plural = count == 1 ? "" : "s";
    if (shown_count == count) {
        (void)snprintf(out, out_size, "%zu %s%s", count, noun, plural);
    } else {
        (void)snprintf(out, out_size, "%zu %s%s (%zu shown)", count, noun, plural, shown_count);
    }
}

static void layout_footer(Box *box)
{
    const Table *const table = &box->table;
    const size_t shown_count = weir_table_shown_count(table);
    size_t shown_columns = 0;
    for (size_t i = 0; i < box->column_count; i++) {
        shown_columns += box->columns[i].column != COLUMN_GAP;
    }
    const bool has_column_gap = shown_columns != table->column_count;
    const bool has_gap = has_column_gap || weir_table_has_gap(table);
    if (table->row_count > 0 && table->row_count < FOOTER_ROWS && !has_gap) {
        return;
    }
    describe_count(box->rows_text, sizeof box->rows_text, table->row_count, shown_count, "row");
    if (table->column_count > 1 && (table->row_count > 0 || has_column_gap)) {
        describe_count(box->columns_text, sizeof box->columns_text, table->column_count,
                       shown_columns, "column");
    }
    box->footer_width = strlen(box->rows_text) + 4;
    const size_t width = box_width(box);
    if (width < box->footer_width) {
        box->columns[0].width += box->footer_width - width;
    }
}

static void layout(Box *box, const PrintStyle *style)
{
    box->column_count = box->table.column_count;
    box->columns = weir_shell_alloc(box->column_count * sizeof *box->columns);
    for (size_t i = 0; i < box->column_count; i++) {
        size_t width = box->table.columns[i].width;
        if (box->has_header) {
            const size_t name_width = weir_utf8_width(box->names[i].data, box->names[i].size);
            const size_t type_width = weir_utf8_width(box->types[i].data, box->types[i].size);
            width = name_width > width ? name_width : width;
            width = type_width > width ? type_width : width;
        }
        box->columns[i] = (BoxColumn){.column = i, .width = width};
    }
    if (box->output->is_terminal || style->max_width > 0) {
        size_t max_width =
            style->max_width > 0 ? style->max_width : weir_output_columns(box->output);
        max_width = max_width < LEAST_BOX_WIDTH ? LEAST_BOX_WIDTH : max_width;
        drop_columns(box, max_width);
        cut_columns(box, max_width);
    }
    layout_footer(box);
}

static void read_heads(Box *box, Rows result)
{
    const size_t count = box->table.column_count;
    box->names = weir_shell_alloc(count * sizeof(Text));
    box->types = weir_shell_alloc(count * sizeof(Text));
    for (size_t i = 0; i < count; i++) {
        const char *const name = weir_rows_column_name(result, i);
        weir_text_put_visible(&box->names[i], name, strlen(name));
        weir_type_name_append(&box->types[i], weir_rows_column_type(result, i));
        box->has_types = box->has_types || box->types[i].size > 0;
    }
}

static void box_deinit(Box *box)
{
    for (size_t i = 0; box->names != NULL && i < box->table.column_count; i++) {
        weir_text_deinit(&box->names[i]);
        weir_text_deinit(&box->types[i]);
    }
    free(box->names);
    free(box->types);
    free(box->columns);
    weir_table_deinit(&box->table);
}

WeirStatus weir_print_box(Output *output, const PrintStyle *style, Rows result, WeirError *err)
{
    Box box = {.output = output, .has_header = !style->has_no_header};
    const size_t max_rows = output->is_terminal ? style->max_rows : 0;
    const WeirStatus status = weir_table_read(
        &box.table, result, max_rows, weir_print_null_text(style), weir_text_put_visible, err);
    if (status == WEIR_OK && box.table.column_count > 0) {
        read_heads(&box, result);
        layout(&box, style);
        put_box(&box);
    }
    box_deinit(&box);
    return status;
}
