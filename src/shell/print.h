/* print.h: results as text, in the output mode of the session. */
#ifndef WEIR_SHELL_PRINT_H
#define WEIR_SHELL_PRINT_H

#include "shell/output.h"
#include "shell/rows.h"
#include "shell/text.h"

/* X(MODE, "name"): as .mode and the options call them. */
#define PRINT_MODES(X) \
    X(BOX, "box")      \
    X(CSV, "csv")      \
    X(JSON, "json")    \
    X(LINE, "line")    \
    X(LIST, "list")    \
    X(MARKDOWN, "markdown")

typedef enum PrintMode {
#define X(mode, name) PRINT_##mode,
    PRINT_MODES(X)
#undef X
} PrintMode;

typedef struct PrintStyle {
    PrintMode mode;
    bool has_no_header;
    bool has_null_text;
    bool has_separator;
    Text null_text;   /* if not given: NULL in a box, nothing elsewhere */
    Text separator;   /* if not given: , in CSV, | in a list */
    size_t max_rows;  /* of a box on a terminal; 0 = all */
    size_t max_width; /* columns of a box on a terminal; 0 = those of the terminal */
} PrintStyle;

const char *weir_print_mode_name(PrintMode mode);
bool weir_print_mode_find(const char *name, PrintMode *out);

void weir_print_set_null(PrintStyle *style, const char *text);
const char *weir_print_null_text(const PrintStyle *style);

/* \t, \n, \r and \\ in the text mean what they mean in C. False if the separator is empty. */
bool weir_print_set_separator(PrintStyle *style, const char *text);
const char *weir_print_separator(const PrintStyle *style);

/* Prints all rows of the result. Fails as weir_rows_next does, or with WEIR_ERR_INTERRUPTED. */
WeirStatus weir_print_result(Output *output, const PrintStyle *style, Rows result, WeirError *err);

/* Steps to the next row; interrupts count as failures. For the modes' own files. */
WeirStatus weir_print_next(Rows result, bool *has_row, WeirError *err);

/* A text in JSON's quotes, and the row that a result is at as an object. */
void weir_print_json_string(Output *output, const char *bytes, size_t size);
void weir_print_json_row(Output *output, Rows result);

/* The modes that have a file of their own. */
WeirStatus weir_print_json(Output *output, Rows result, WeirError *err);
WeirStatus weir_print_box(Output *output, const PrintStyle *style, Rows result, WeirError *err);
WeirStatus weir_print_markdown(Output *output, const PrintStyle *style, Rows result,
                               WeirError *err);

#endif
