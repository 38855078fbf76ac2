/* command_info.c: .tables, .views and .schema.
 *
 * They ask DuckDB's catalog for tables and plain views, and dbsp_views() for materialized ones, as
 * any client could. */
#include "shell/command.h"

#include <stdlib.h>
#include <string.h>

#include "shell/relations.h"

/* AND column LIKE 'pattern', if there is a pattern. */
static void put_like(Text *sql, const char *column, const char *pattern)
{
    if (pattern != NULL) {
        weir_text_printf(sql, " AND %s LIKE ", column);
        weir_text_put_literal(sql, pattern);
    }
}

/* Prints the names from top to bottom, in as many columns as the terminal has room for. */
static void put_names(Output *output, const Text *names, size_t count)
{
    size_t widest = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t width = weir_utf8_width(names[i].data, names[i].size);
        widest = width > widest ? width : widest;
    }
    const size_t room = output->is_terminal ? weir_output_columns(output) : 0;
    const size_t across = room / (widest + 2) == 0 ? 1 : room / (widest + 2);
    const size_t down = (count + across - 1) / across;
    for (size_t row = 0; row < down; row++) {
        for (size_t i = row; i < count; i += down) {
            const size_t width = weir_utf8_width(names[i].data, names[i].size);
            weir_output_write(output, names[i].data, names[i].size);
            weir_output_repeat(output, " ", i + down < count ? widest + 2 - width : 0);
        }
        weir_output_putc(output, '\n');
    }
}

void weir_command_tables(Shell *shell, const char *pattern, Place place)
{
    Text sql = {0};
    weir_text_puts(&sql, "SELECT name FROM ");
    shell->session.type->put_relations(&sql);
    weir_text_puts(&sql, " WHERE kind <= 3");
    put_like(&sql, "name", pattern);
    weir_text_puts(&sql, " ORDER BY name");
    Text *names = NULL;
    size_t count = 0;
    size_t capacity = 0;
    WeirError err = {0};
    bool has_row = true;
    const Rows result = weir_shell_query(shell, sql.data, place);
    while (weir_rows_exist(result) && weir_print_next(result, &has_row, &err) == WEIR_OK &&
           has_row) {
        size_t size = 0;
        const char *const name = weir_rows_text(result, 0, &size);
        if (count == capacity) {
            capacity = capacity == 0 ? 64 : capacity * 2;
            names = weir_shell_realloc(names, capacity * sizeof *names);
        }
        names[count] = (Text){0};
        weir_text_put_visible(&names[count], name, size);
        count++;
    }
    if (err.code != WEIR_OK) {
        weir_shell_fail(shell, &err, place);
    }
    put_names(&shell->output, names, count);
    for (size_t i = 0; i < count; i++) {
        weir_text_deinit(&names[i]);
    }
    free(names);
    weir_text_deinit(&sql);
    if (weir_rows_exist(result)) {
        weir_shell_end_query(shell, result);
    }
}

void weir_command_views(Shell *shell, const char *pattern, Place place)
{
    Text sql = {0};
    weir_text_puts(&sql, "SELECT ");
    weir_relations_put_view_name(&sql);
    weir_text_puts(&sql, " AS view, state, row_count AS rows, reason, ");
    weir_relations_put_view_sql(&sql);
    weir_text_puts(&sql, " AS sql FROM system.main.dbsp_views() WHERE true");
    put_like(&sql, "view", pattern);
    weir_text_puts(&sql, " ORDER BY 1");
    weir_shell_print_query(shell, sql.data, place);
    weir_text_deinit(&sql);
}

/* Statements, to be read or run: never in a box. */
void weir_command_schema(Shell *shell, const char *pattern, Place place)
{
    Text sql = {0};
    weir_text_puts(&sql, "SELECT sql FROM ");
    shell->session.type->put_relations(&sql);
    weir_text_puts(&sql, " WHERE sql IS NOT NULL");
    put_like(&sql, "name", pattern);
    weir_text_puts(&sql, " ORDER BY kind, place");
    WeirError err = {0};
    bool has_row = false;
    const Rows result = weir_shell_query(shell, sql.data, place);
    while (weir_rows_exist(result) && weir_print_next(result, &has_row, &err) == WEIR_OK &&
           has_row) {
        size_t size = 0;
        const char *const text = weir_rows_text(result, 0, &size);
        weir_output_write(&shell->output, text, size);
        weir_output_puts(&shell->output, ";\n");
    }
    if (err.code != WEIR_OK) {
        weir_shell_fail(shell, &err, place);
    }
    if (weir_rows_exist(result)) {
        weir_shell_end_query(shell, result);
    }
    weir_text_deinit(&sql);
}
