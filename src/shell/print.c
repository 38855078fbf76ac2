/* print.c: the modes that print a row as soon as they have it: CSV, list, line. */
#include "shell/print.h"

#include <string.h>
#include <strings.h>

#include "shell/signals.h"

static const char *const MODE_NAMES[] = {
#define X(mode, name) name,
    PRINT_MODES(X)
#undef X
};

const char *weir_print_mode_name(PrintMode mode)
{
    return MODE_NAMES[mode];
}

bool weir_print_mode_find(const char *name, PrintMode *out)
{
    for (size_t i = 0; i < sizeof MODE_NAMES / sizeof *MODE_NAMES; i++) {
        if (strcasecmp(name, MODE_NAMES[i]) == 0) {
            *out = (PrintMode)i;
            return true;
        }
    }
    return false;
}

void weir_print_set_null(PrintStyle *style, const char *text)
{
    weir_text_clear(&style->null_text);
    weir_text_puts(&style->null_text, text);
    style->has_null_text = true;
}

const char *weir_print_null_text(const PrintStyle *style)
{
    return style->has_null_text || style->mode != PRINT_BOX ? weir_text_string(&style->null_text)
                                                            : "NULL";
}

bool weir_print_set_separator(PrintStyle *style, const char *text)
{
    static const char NAMES[] = "tnr\\";
    static const char VALUES[] = "\t\n\r\\";
    if (*text == '\0') {
        return false;
    }
    weir_text_clear(&style->separator);
    for (const char *c = text; *c != '\0'; c++) {
        const char *const escape = *c == '\\' && c[1] != '\0' ? strchr(NAMES, c[1]) : NULL;
        weir_text_append(&style->separator, escape == NULL ? c : &VALUES[escape - NAMES], 1);
        c += escape != NULL;
    }
    style->has_separator = true;
    return true;
}

const char *weir_print_separator(const PrintStyle *style)
{
    const char *const usual = style->mode == PRINT_CSV ? "," : "|";
    return style->has_separator ? weir_text_string(&style->separator) : usual;
}

WeirStatus weir_print_next(Rows result, bool *has_row, WeirError *err)
{
    if (weir_signals_is_interrupted()) {
        *has_row = false;
        *err = (WeirError){.code = WEIR_ERR_INTERRUPTED};
        return err->code;
    }
    return weir_rows_next(result, has_row, err);
}

/* ---- CSV and list --------------------------------------------------------------------------- */

/* One field of RFC 4180. Quotes also tell the empty text, and text that reads like it, from NULL. */
static void put_csv_field(Output *output, const char *value, size_t size, const char *null_text,
                          const char *separator)
{
    bool needs_quotes =
        strcmp(value, null_text) == 0 || strstr(value, separator) != NULL || strlen(value) != size;
    for (size_t i = 0; i < size && !needs_quotes; i++) {
        needs_quotes = value[i] == '"' || value[i] == '\r' || value[i] == '\n';
    }
    if (!needs_quotes) {
        weir_output_write(output, value, size);
        return;
    }
    weir_output_putc(output, '"');
    size_t done = 0;
    for (size_t i = 0; i < size; i++) {
        if (value[i] == '"') {
            weir_output_write(output, value + done, i + 1 - done);
            done = i; /* the quote once more */
        }
    }
    weir_output_write(output, value + done, size - done);
    weir_output_putc(output, '"');
}

/* Rows of separated fields. */
typedef struct FieldStyle {
    bool is_csv;
    const char *separator;
    const char *null_text;
} FieldStyle;

static void put_field(Output *output, const FieldStyle *style, size_t column, const char *value,
                      size_t size)
{
    weir_output_puts(output, column == 0 ? "" : style->separator);
    if (value == NULL) {
        weir_output_puts(output, style->null_text);
    } else if (style->is_csv) {
        put_csv_field(output, value, size, style->null_text, style->separator);
    } else {
        weir_output_write(output, value, size);
    }
}

static WeirStatus print_fields(Output *output, const PrintStyle *style, Rows result, WeirError *err)
{
    const FieldStyle fields = {.is_csv = style->mode == PRINT_CSV,
                               .separator = weir_print_separator(style),
                               .null_text = weir_print_null_text(style)};
    const char *const line_end = fields.is_csv ? "\r\n" : "\n";
    const size_t count = weir_rows_column_count(result);
    for (size_t i = 0; i < count && !style->has_no_header; i++) {
        const char *const name = weir_rows_column_name(result, i);
        put_field(output, &fields, i, name, strlen(name));
    }
    weir_output_puts(output, style->has_no_header ? "" : line_end);
    for (;;) {
        bool has_row = false;
        const WeirStatus status = weir_print_next(result, &has_row, err);
        if (status != WEIR_OK || !has_row || output->is_gone) {
            return status;
        }
        for (size_t i = 0; i < count; i++) {
            size_t size = 0;
            const char *const value = weir_rows_text(result, i, &size);
            put_field(output, &fields, i, value, size);
        }
        weir_output_puts(output, line_end);
    }
}

/* ---- line ----------------------------------------------------------------------------------- */

/* name = value, a column a line, the names right-aligned, an empty line between rows. */
static WeirStatus print_lines(Output *output, const PrintStyle *style, Rows result, WeirError *err)
{
    const size_t count = weir_rows_column_count(result);
    size_t name_width = 5;
    for (size_t i = 0; i < count; i++) {
        const char *const name = weir_rows_column_name(result, i);
        const size_t width = weir_utf8_width(name, strlen(name));
        name_width = width > name_width ? width : name_width;
    }
    bool is_first = true;
    for (;;) {
        bool has_row = false;
        const WeirStatus status = weir_print_next(result, &has_row, err);
        if (status != WEIR_OK || !has_row || output->is_gone) {
            return status;
        }
        weir_output_puts(output, is_first ? "" : "\n");
        is_first = false;
        for (size_t i = 0; i < count; i++) {
            size_t size = 0;
            const char *const name = weir_rows_column_name(result, i);
            const char *const value = weir_rows_text(result, i, &size);
            weir_output_repeat(output, " ", name_width - weir_utf8_width(name, strlen(name)));
            weir_output_puts(output, name);
            weir_output_puts(output, " = ");
            if (value == NULL) {
                weir_output_puts(output, weir_print_null_text(style));
            } else {
                weir_output_write(output, value, size);
            }
            weir_output_putc(output, '\n');
        }
    }
}

/* ---- plans ---------------------------------------------------------------------------------- */

/* What EXPLAIN and dbsp_explain give is a drawing of many lines, not a table. */
static bool is_plan(Rows result)
{
    const size_t count = weir_rows_column_count(result);
    const char *const last = count == 0 ? "" : weir_rows_column_name(result, count - 1);
    return (count == 2 && strcmp(weir_rows_column_name(result, 0), "explain_key") == 0 &&
            strcmp(last, "explain_value") == 0) ||
           (count == 1 && strcmp(last, "explain") == 0);
}

static WeirStatus print_plan(Output *output, Rows result, WeirError *err)
{
    const size_t column = weir_rows_column_count(result) - 1;
    for (;;) {
        bool has_row = false;
        const WeirStatus status = weir_print_next(result, &has_row, err);
        if (status != WEIR_OK || !has_row || output->is_gone) {
            return status;
        }
        size_t size = 0;
        const char *const value = weir_rows_text(result, column, &size);
        if (value != NULL) {
            weir_output_write(output, value, size);
            weir_output_puts(output, size > 0 && value[size - 1] == '\n' ? "" : "\n");
        }
    }
}

WeirStatus weir_print_result(Output *output, const PrintStyle *style, Rows result, WeirError *err)
{
    switch (style->mode) {
    case PRINT_BOX:
        return is_plan(result) ? print_plan(output, result, err)
                               : weir_print_box(output, style, result, err);
    case PRINT_MARKDOWN: return weir_print_markdown(output, style, result, err);
    case PRINT_JSON: return weir_print_json(output, result, err);
    case PRINT_LINE: return print_lines(output, style, result, err);
    case PRINT_CSV:
    case PRINT_LIST: break;
    }
    return print_fields(output, style, result, err);
}
