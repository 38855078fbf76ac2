/* print_json.c: an array of objects, a row a line.
 *
 * Numbers, booleans and NULL have their own JSON types; every other value is the text that DuckDB
 * prints. Numbers that JSON does not know (nan, inf, -inf) are texts too. */
#include "shell/print.h"

#include <ctype.h>
#include <string.h>

void weir_print_json_string(Output *output, const char *bytes, size_t size)
{
    weir_output_putc(output, '"');
    size_t done = 0;
    size_t at = 0;
    while (at < size) {
        uint32_t point = 0;
        const size_t length = weir_utf8_decode(bytes + at, size - at, &point);
        const bool is_special = point == '"' || point == '\\';
        const bool is_invalid = point == UTF8_INVALID && length == 1;
        if (point < 0x20 || is_special || is_invalid) {
            weir_output_write(output, bytes + done, at - done);
            if (is_special) {
                weir_output_printf(output, "\\%c", (int)point);
            } else if (point == '\n') {
                weir_output_puts(output, "\\n");
            } else {
                weir_output_printf(output, "\\u%04x", (unsigned)point);
            }
            done = at + length;
        }
        at += length;
    }
    weir_output_write(output, bytes + done, size - done);
    weir_output_putc(output, '"');
}

static const char *skip_digits(const char *c)
{
    while (isdigit((unsigned char)*c)) {
        c++;
    }
    return c;
}

/* JSON's numbers, and those that lack nothing but the digit before the point. */
static bool is_number(const char *c)
{
    c += *c == '-';
    const bool is_digit = isdigit((unsigned char)*c) != 0;
    if ((!is_digit && *c != '.') || (*c == '0' && isdigit((unsigned char)c[1]))) {
        return false;
    }
    c = skip_digits(c);
    if (*c == '.') {
        c++;
        if (!isdigit((unsigned char)*c)) {
            return false;
        }
        c = skip_digits(c);
    }
    if (*c == 'e' || *c == 'E') {
        c++;
        c += *c == '+' || *c == '-';
        if (!isdigit((unsigned char)*c)) {
            return false;
        }
        c = skip_digits(c);
    }
    return *c == '\0';
}

/* DuckDB prints some decimals without the digit before the point: .5, -.25. */
static void put_number(Output *output, const char *value, size_t size)
{
    const size_t sign_size = value[0] == '-';
    weir_output_write(output, value, sign_size);
    weir_output_puts(output, value[sign_size] == '.' ? "0" : "");
    weir_output_write(output, value + sign_size, size - sign_size);
}

static void put_value(Output *output, Rows result, size_t column)
{
    size_t size = 0;
    const char *const value = weir_rows_text(result, column, &size);
    if (value == NULL) {
        weir_output_puts(output, "null");
    } else if (weir_rows_is_numeric(result, column) && is_number(value)) {
        put_number(output, value, size);
    } else if (strcmp(weir_rows_column_type(result, column), "BOOLEAN") == 0) {
        weir_output_write(output, value, size);
    } else {
        weir_print_json_string(output, value, size);
    }
}

void weir_print_json_row(Output *output, Rows result)
{
    const size_t count = weir_rows_column_count(result);
    for (size_t i = 0; i < count; i++) {
        const char *const name = weir_rows_column_name(result, i);
        weir_output_putc(output, i == 0 ? '{' : ',');
        weir_print_json_string(output, name, strlen(name));
        weir_output_putc(output, ':');
        put_value(output, result, i);
    }
    weir_output_putc(output, '}');
}

WeirStatus weir_print_json(Output *output, Rows result, WeirError *err)
{
    const char *before = "[";
    for (;;) {
        bool has_row = false;
        const WeirStatus status = weir_print_next(result, &has_row, err);
        if (status != WEIR_OK) {
            return status;
        }
        if (!has_row || output->is_gone) {
            break;
        }
        weir_output_puts(output, before);
        before = ",\n";
        weir_print_json_row(output, result);
    }
    weir_output_puts(output, *before == '[' ? "[]\n" : "]\n");
    return WEIR_OK;
}
