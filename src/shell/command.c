/* command.c: dot commands: their list, their arguments, and those that set something.
 *
 * A command is a line: a dot, a name or the beginning of one, arguments between blanks; quotes keep
 * an argument with blanks together. */
#include "shell/command.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shell/manual.h"
#include "shell/watch.h"

enum { MOST_ARGUMENTS = 32, MOST_NUMBER = 1000000000 };

typedef struct Arguments {
    char *line; /* owned; cut into the values */
    char *values[MOST_ARGUMENTS];
    size_t count;
} Arguments;

typedef void (*CommandRun)(Shell *shell, const Arguments *arguments, Place place);

typedef struct Command {
    const char *name;
    const char *usage;
    size_t least_count;
    size_t most_count;
    unsigned sessions; /* kinds of databases for which there is such a command */
    CommandRun run;
    const char *help;
} Command;

/* The argument at that place; NULL if there is none. */
static const char *argument(const Arguments *arguments, size_t index)
{
    return index < arguments->count ? arguments->values[index] : NULL;
}

static void set_bool(Shell *shell, const Arguments *arguments, Place place, bool *out)
{
    const char *const value = arguments->values[0];
    const bool is_on = strcasecmp(value, "on") == 0 || strcasecmp(value, "yes") == 0 ||
                       strcasecmp(value, "true") == 0 || strcmp(value, "1") == 0;
    const bool is_off = strcasecmp(value, "off") == 0 || strcasecmp(value, "no") == 0 ||
                        strcasecmp(value, "false") == 0 || strcmp(value, "0") == 0;
    if (is_on || is_off) {
        *out = is_on;
    } else {
        weir_shell_fail_text(shell, place, "\"%s\" is neither on nor off", value);
    }
}

static void set_number(Shell *shell, const Arguments *arguments, Place place, size_t *out)
{
    const char *const value = arguments->values[0];
    char *end = NULL;
    errno = 0;
    const long number = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || number < 0 || number > MOST_NUMBER) {
        weir_shell_fail_text(shell, place, "\"%s\" is not a number from 0 to %d", value,
                             MOST_NUMBER);
        return;
    }
    *out = (size_t)number;
}

/* ---- the commands --------------------------------------------------------------------------- */

static void run_bail(Shell *shell, const Arguments *arguments, Place place)
{
    set_bool(shell, arguments, place, &shell->is_bail);
}

static void run_timer(Shell *shell, const Arguments *arguments, Place place)
{
    set_bool(shell, arguments, place, &shell->has_timer);
}

static void run_headers(Shell *shell, const Arguments *arguments, Place place)
{
    bool has_header = !shell->style.has_no_header;
    set_bool(shell, arguments, place, &has_header);
    shell->style.has_no_header = !has_header;
}

static void run_maxrows(Shell *shell, const Arguments *arguments, Place place)
{
    set_number(shell, arguments, place, &shell->style.max_rows);
}

static void run_maxwidth(Shell *shell, const Arguments *arguments, Place place)
{
    set_number(shell, arguments, place, &shell->style.max_width);
}

static void run_exit(Shell *shell, const Arguments *arguments, Place place)
{
    const char *const value = argument(arguments, 0);
    char *end = NULL;
    const long status = value == NULL ? 0 : strtol(value, &end, 10);
    if (value != NULL && (end == value || *end != '\0' || status < 0 || status > 255)) {
        weir_shell_fail_text(shell, place, "\"%s\" is not an exit status", value);
        return;
    }
    shell->exit_status = value == NULL ? -1 : (int)status;
    shell->must_stop = true;
}

static void run_mode(Shell *shell, const Arguments *arguments, Place place)
{
    const char *const name = argument(arguments, 0);
    if (name == NULL) {
        weir_output_printf(&shell->output, "%s\n", weir_print_mode_name(shell->style.mode));
    } else if (!weir_print_mode_find(name, &shell->style.mode)) {
        weir_shell_fail_text(shell, place,
                             "unknown mode \"%s\": box, csv, json, line, list, markdown", name);
    }
}

static void run_manual(Shell *shell, const Arguments *arguments, Place place)
{
    const char *const name = argument(arguments, 0);
    const Manual *page = WEIR_MANUALS;
    while (page->name != NULL && (name == NULL || strcasecmp(page->name, name) != 0)) {
        if (name == NULL) {
            weir_output_printf(&shell->output, "%s\n", page->name);
        }
        page++;
    }
    if (page->name == NULL && name != NULL) {
        weir_shell_fail_text(shell, place, "there is no page \"%s\"; .manual lists them", name);
    }
    for (size_t i = 0; page->name != NULL && page->lines[i] != NULL; i++) {
        weir_output_printf(&shell->output, "%s\n", page->lines[i]);
    }
}

static void run_nullvalue(Shell *shell, const Arguments *arguments, Place place)
{
    (void)place;
    weir_print_set_null(&shell->style, arguments->values[0]);
}

static void run_separator(Shell *shell, const Arguments *arguments, Place place)
{
    if (!weir_print_set_separator(&shell->style, arguments->values[0])) {
        weir_shell_fail_text(shell, place, "a separator is not empty");
    }
}

static void run_output(Shell *shell, const Arguments *arguments, Place place)
{
    const char *const path = argument(arguments, 0);
    if (!weir_output_redirect(&shell->output, path)) {
        weir_shell_fail_text(shell, place, "cannot write %s: %s", path, strerror(errno));
    }
}

static void run_print(Shell *shell, const Arguments *arguments, Place place)
{
    (void)place;
    for (size_t i = 0; i < arguments->count; i++) {
        weir_output_printf(&shell->output, "%s%s", i == 0 ? "" : " ", arguments->values[i]);
    }
    weir_output_putc(&shell->output, '\n');
}

static void run_read(Shell *shell, const Arguments *arguments, Place place)
{
    weir_shell_run_file(shell, arguments->values[0], place);
}

static void run_tables(Shell *shell, const Arguments *arguments, Place place)
{
    weir_command_tables(shell, argument(arguments, 0), place);
}

static void run_views(Shell *shell, const Arguments *arguments, Place place)
{
    weir_command_views(shell, argument(arguments, 0), place);
}

static void run_schema(Shell *shell, const Arguments *arguments, Place place)
{
    weir_command_schema(shell, argument(arguments, 0), place);
}

static void run_show(Shell *shell, const Arguments *arguments, Place place)
{
    const PrintStyle *const style = &shell->style;
    Output *const output = &shell->output;
    (void)arguments;
    (void)place;
    weir_output_printf(output, "     bail: %s\n", shell->is_bail ? "on" : "off");
    weir_output_printf(output, " database: %s\n", shell->path == NULL ? ":memory:" : shell->path);
    weir_output_printf(output, "  headers: %s\n", style->has_no_header ? "off" : "on");
    weir_output_printf(output, "  maxrows: %zu\n", style->max_rows);
    weir_output_printf(output, " maxwidth: %zu\n", style->max_width);
    weir_output_printf(output, "     mode: %s\n", weir_print_mode_name(style->mode));
    weir_output_printf(output, "nullvalue: \"%s\"\n", weir_print_null_text(style));
    weir_output_printf(output, "separator: \"%s\"\n", weir_print_separator(style));
    weir_output_printf(output, "    timer: %s\n", shell->has_timer ? "on" : "off");
}

static void run_version(Shell *shell, const Arguments *arguments, Place place)
{
    Text version = {0};
    (void)arguments;
    (void)place;
    shell->session.type->put_version(shell->session.handle, &version);
    weir_output_printf(&shell->output, "Weir v%s, %s\n", weir_version(),
                       weir_text_string(&version));
    weir_text_deinit(&version);
}

/* .watch, .watch VIEW, .watch VIEW snapshot, .watch off, .watch off VIEW. */
static void run_watch(Shell *shell, const Arguments *arguments, Place place)
{
    const char *const first = argument(arguments, 0);
    const char *const second = argument(arguments, 1);
    if (first == NULL) {
        weir_watch_list(shell);
    } else if (strcasecmp(first, "off") == 0) {
        weir_watch_remove(shell, second, place);
    } else if (second == NULL || strcasecmp(second, "snapshot") == 0) {
        weir_watch_add(shell, first, second == NULL ? WEIR_SINCE_NOW : WEIR_SINCE_SNAPSHOT, place);
    } else {
        weir_shell_fail_text(shell, place, "usage: .watch [VIEW [snapshot] | off [VIEW]]");
    }
}

static void run_help(Shell *shell, const Arguments *arguments, Place place);

/* ---- the list ------------------------------------------------------------------------------- */

enum { IN_DUCKDB = SESSION_DUCKDB, IN_BOTH = SESSION_DUCKDB | SESSION_SQLITE };

static const Command COMMANDS[] = {
#define X(name, usage, least, most, sessions, run, help) \
    {"." name, usage, least, most, IN_##sessions, run, help},
#include "shell/commands.def"
#undef X
};

enum { COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS };

size_t weir_command_count(void)
{
    return COMMAND_COUNT;
}

static bool is_known(const Shell *shell, const Command *command)
{
    return (command->sessions & shell->session.type->kind) != 0;
}

const char *weir_command_name(const Shell *shell, size_t index)
{
    return is_known(shell, &COMMANDS[index]) ? COMMANDS[index].name : NULL;
}

/* The command of that name, or the only one that begins so; NULL after telling why there is none. */
static const Command *find_command(Shell *shell, const char *name, Place place)
{
    const Command *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (!is_known(shell, &COMMANDS[i])) {
            continue;
        }
        if (strcasecmp(COMMANDS[i].name, name) == 0) {
            return &COMMANDS[i];
        }
        if (strncasecmp(COMMANDS[i].name, name, strlen(name)) == 0) {
            found = &COMMANDS[i];
            count++;
        }
    }
    if (count == 1) {
        return found;
    }
    if (count > 1 && name[1] != '\0') {
        weir_shell_fail_text(shell, place, "\"%s\" begins several commands; .help lists them",
                             name);
    } else {
        weir_shell_fail_text(shell, place, "unknown command \"%s\"; .help lists all of them", name);
    }
    return NULL;
}

static void run_help(Shell *shell, const Arguments *arguments, Place place)
{
    const Command *only = NULL;
    if (arguments->count == 1) {
        Text name = {0};
        weir_text_printf(&name, "%s%s", arguments->values[0][0] == '.' ? "" : ".",
                         arguments->values[0]);
        only = find_command(shell, name.data, place);
        weir_text_deinit(&name);
        if (only == NULL) {
            return;
        }
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const Command *const command = &COMMANDS[i];
        if (only == NULL ? is_known(shell, command) : only == command) {
            weir_output_printf(&shell->output, "%-10s %-10s %s\n", command->name, command->usage,
                               command->help);
        }
    }
}

/* ---- running one ---------------------------------------------------------------------------- */

/* Takes the next argument off the cursor, unquoted in place. */
static char *take_argument(char **cursor)
{
    char *c = *cursor;
    const bool is_quoted = *c == '\'' || *c == '"';
    const char *const ends = *c == '"' ? "\"" : "'";
    char *const start = is_quoted ? c + 1 : c;
    c = start + strcspn(start, is_quoted ? ends : " \t\r\v\f\n");
    if (*c != '\0') {
        *c++ = '\0';
    }
    *cursor = c;
    return start;
}

static bool read_arguments(Arguments *arguments, const char *text)
{
    Text line = {0};
    weir_text_puts(&line, text);
    arguments->line = line.data;
    char *cursor = line.data;
    for (;;) {
        while (isspace((unsigned char)*cursor)) {
            cursor++;
        }
        if (*cursor == '\0') {
            return true;
        }
        if (arguments->count == MOST_ARGUMENTS) {
            return false;
        }
        arguments->values[arguments->count++] = take_argument(&cursor);
    }
}

void weir_shell_command(Shell *shell, const char *line, Place place)
{
    const size_t name_size = strcspn(line, " \t");
    Arguments arguments = {0};
    Text name = {0};
    weir_text_append(&name, line, name_size);
    const Command *const command = find_command(shell, name.data, place);
    if (command != NULL) {
        if (!read_arguments(&arguments, line + name_size) ||
            arguments.count < command->least_count || arguments.count > command->most_count) {
            weir_shell_fail_text(shell, place, "usage: %s %s", command->name, command->usage);
        } else {
            command->run(shell, &arguments, place);
        }
    }
    weir_shell_flush(shell, place);
    free(arguments.line);
    weir_text_deinit(&name);
}
