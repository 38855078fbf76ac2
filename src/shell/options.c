/* options.c: reading the command line. */
#include "shell/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool (*OptionAction)(Options *options, const char *argument);

static bool usage_error(const char *what, const char *word)
{
    (void)fprintf(stderr, "weir: %s: %s\nTry weir -help.\n", what, word);
    return false;
}

static bool add_task(Options *options, TaskKind kind, const char *text)
{
    options->tasks =
        weir_shell_realloc(options->tasks, (options->task_count + 1) * sizeof *options->tasks);
    options->tasks[options->task_count++] = (Task){.kind = kind, .text = text};
    return true;
}

static bool add_sql(Options *options, const char *argument)
{
    return add_task(options, TASK_SQL, argument);
}

static bool add_file(Options *options, const char *argument)
{
    return add_task(options, TASK_FILE, argument);
}

static bool add_watch(Options *options, const char *argument)
{
    options->watches =
        weir_shell_realloc(options->watches, (options->watch_count + 1) * sizeof(const char *));
    options->watches[options->watch_count++] = argument;
    return true;
}

static bool set_init(Options *options, const char *argument)
{
    options->init = argument;
    return true;
}

/* X(function, what it sets, to what) */
#define SETTERS(X)                             \
    X(set_bail, is_bail, true)                 \
    X(set_help, wants_help, true)              \
    X(set_version, wants_version, true)        \
    X(set_snapshot, wants_snapshot, true)      \
    X(set_sqlite, is_sqlite, true)             \
    X(set_header, style.has_no_header, false)  \
    X(set_noheader, style.has_no_header, true) \
    X(set_box, style.mode, PRINT_BOX)          \
    X(set_csv, style.mode, PRINT_CSV)          \
    X(set_json, style.mode, PRINT_JSON)        \
    X(set_line, style.mode, PRINT_LINE)        \
    X(set_list, style.mode, PRINT_LIST)        \
    X(set_markdown, style.mode, PRINT_MARKDOWN)

#define X(function, member, value)                               \
    static bool function(Options *options, const char *argument) \
    {                                                            \
        (void)argument;                                          \
        options->member = (value);                               \
        return true;                                             \
    }
SETTERS(X)
#undef X

static bool set_null(Options *options, const char *argument)
{
    weir_print_set_null(&options->style, argument);
    return true;
}

static bool set_separator(Options *options, const char *argument)
{
    if (!weir_print_set_separator(&options->style, argument)) {
        return usage_error("a separator must not be empty", "-separator");
    }
    return true;
}

static const struct {
    const char *name;
    const char *argument;
    OptionAction action;
    const char *help;
} OPTIONS[] = {
#define X(name, argument, action, help) {name, argument, action, help},
#include "shell/options.def"
#undef X
};

enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };

void weir_options_help(void)
{
    (void)puts("weir [OPTION...] [FILE] [SQL]\n"
               "\n"
               "A shell for DuckDB databases whose materialized views keep themselves current,\n"
               "and for SQLite databases that record what changes in them.\n"
               "FILE is a database; without it, one in memory. SQL, -c and -f are run in their\n"
               "order; without any, weir reads the terminal or standard input.\n");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        char option[32];
        (void)snprintf(option, sizeof option, "-%s %s", OPTIONS[i].name, OPTIONS[i].argument);
        (void)printf("  %-16s %s\n", option, OPTIONS[i].help);
    }
    (void)puts("\nOptions may have one dash or two. Inside, .help lists the commands.");
}

/* Reads the option at arguments[*index], and moves *index to its last word. */
static bool read_option(Options *options, int count, char *const *arguments, int *index)
{
    const char *name = arguments[*index] + 1;
    name += *name == '-';
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(OPTIONS[i].name, name) != 0) {
            continue;
        }
        const bool has_argument = OPTIONS[i].argument[0] != '\0';
        if (has_argument && *index + 1 == count) {
            return usage_error("an argument is missing", arguments[*index]);
        }
        *index += has_argument;
        return OPTIONS[i].action(options, has_argument ? arguments[*index] : NULL);
    }
    return usage_error("unknown option", arguments[*index]);
}

bool weir_options_read(Options *options, int count, char *const *arguments)
{
    bool is_option_allowed = true;
    size_t word_count = 0;
    *options = (Options){0};
    for (int i = 1; i < count; i++) {
        const char *const word = arguments[i];
        if (is_option_allowed && strcmp(word, "--") == 0) {
            is_option_allowed = false;
        } else if (is_option_allowed && word[0] == '-' && word[1] != '\0') {
            if (!read_option(options, count, arguments, &i)) {
                return false;
            }
        } else if (word_count == 0) {
            options->path = word;
            word_count++;
        } else if (word_count == 1) {
            (void)add_task(options, TASK_SQL, word);
            word_count++;
        } else {
            return usage_error("one argument too many", word);
        }
    }
    return true;
}

void weir_options_deinit(Options *options)
{
    free(options->tasks);
    free(options->watches);
    weir_text_deinit(&options->style.null_text);
    weir_text_deinit(&options->style.separator);
    *options = (Options){0};
}
