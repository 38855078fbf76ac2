/* options.c: reading the command line. */
#include "shell/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool (*OptionAction)(Options *options, const char *argument);

typedef struct Option {
    const char *name;
    const char *argument;
    OptionAction action;
    const char *help;
} Option;

static bool usage_error(const Options *options, const char *what, const char *word)
{
    (void)fprintf(stderr, "weir: %s: %s\nTry weir %s-help.\n", what, word,
                  options->kind == OPTIONS_CDC ? "cdc " : "");
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

/* X(function, what it sets, to what) */
#define SETTERS(X)                              \
    X(set_bail, is_bail, true)                  \
    X(set_help, wants_help, true)               \
    X(set_follow, cdc.wants_follow, true)       \
    X(set_version, wants_version, true)         \
    X(set_snapshot, since, WEIR_SINCE_SNAPSHOT) \
    X(set_sqlite, is_sqlite, true)              \
    X(set_header, style.has_no_header, false)   \
    X(set_noheader, style.has_no_header, true)  \
    X(set_box, style.mode, PRINT_BOX)           \
    X(set_csv, style.mode, PRINT_CSV)           \
    X(set_json, style.mode, PRINT_JSON)         \
    X(set_line, style.mode, PRINT_LINE)         \
    X(set_list, style.mode, PRINT_LIST)         \
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

/* X(function, what it sets to the argument) */
#define TEXT_SETTERS(X)               \
    X(set_init, init)                 \
    X(set_before, cdc.before)         \
    X(set_keep, cdc.keep)             \
    X(set_older_than, cdc.older_than) \
    X(set_first, cdc.since)           \
    X(set_table, cdc.table)

#define X(function, member)                                      \
    static bool function(Options *options, const char *argument) \
    {                                                            \
        options->member = argument;                              \
        return true;                                             \
    }
TEXT_SETTERS(X)
#undef X

static bool set_null(Options *options, const char *argument)
{
    weir_print_set_null(&options->style, argument);
    return true;
}

static bool set_since(Options *options, const char *argument)
{
    char *end = NULL;
    const long long since = strtoll(argument, &end, 10);
    if (*argument == '\0' || *end != '\0' || since < 0) {
        return usage_error(options, "a generation is a number", argument);
    }
    options->since = since;
    return true;
}

static bool set_separator(Options *options, const char *argument)
{
    if (!weir_print_set_separator(&options->style, argument)) {
        return usage_error(options, "a separator must not be empty", "-separator");
    }
    return true;
}

#define X(name, argument, action, help) {name, argument, action, help},
static const Option SHELL_OPTIONS[] = {
#include "shell/options.def"
};
static const Option CDC_OPTIONS[] = {
#include "shell/cdc_options.def"
};
#undef X

static const struct {
    const Option *options;
    size_t count;
} TABLES[] = {
    [OPTIONS_SHELL] = {SHELL_OPTIONS, sizeof SHELL_OPTIONS / sizeof *SHELL_OPTIONS},
    [OPTIONS_CDC] = {CDC_OPTIONS, sizeof CDC_OPTIONS / sizeof *CDC_OPTIONS},
};

_Static_assert(sizeof CDC_OPTIONS / sizeof *CDC_OPTIONS <= CDC_GIVEN, "each may be given");

void weir_options_list(OptionsKind kind)
{
    for (size_t i = 0; i < TABLES[kind].count; i++) {
        const Option *const option = &TABLES[kind].options[i];
        char name[32];
        (void)snprintf(name, sizeof name, "-%s %s", option->name, option->argument);
        (void)printf("  %-16s %s\n", name, option->help);
    }
}

void weir_options_help(void)
{
    (void)puts("weir [OPTION...] [FILE] [SQL]\n"
               "weir watch FILE VIEW [OPTION...]\n"
               "weir cdc FILE [COMMAND]\n"
               "\n"
               "A shell for DuckDB databases whose materialized views keep themselves current,\n"
               "and for SQLite databases that record what changes in them (weir cdc -help).\n"
               "FILE is a database; without it, one in memory. SQL, -c and -f are run in their\n"
               "order; without any, weir reads the terminal or standard input.\n");
    weir_options_list(OPTIONS_SHELL);
    (void)puts("\nOptions may have one dash or two. Inside, .help lists the commands.");
}

/* Notes that an option of weir cdc was given: each command has its own. */
static void note_given(Options *options, const char *name)
{
    CdcOptions *const cdc = &options->cdc;
    for (size_t i = 0; i < cdc->given_count; i++) {
        if (strcmp(cdc->given[i], name) == 0) {
            return;
        }
    }
    if (cdc->given_count < CDC_GIVEN) {
        cdc->given[cdc->given_count++] = name;
    }
}

/* Reads the option at arguments[*index], with its argument behind = or in the next word, and moves *index to its last
 * word. */
static bool read_option(Options *options, int count, char *const *arguments, int *index)
{
    const char *name = arguments[*index] + 1;
    name += *name == '-';
    const size_t size = strcspn(name, "=");
    const char *argument = name[size] == '=' ? name + size + 1 : NULL;
    for (size_t i = 0; i < TABLES[options->kind].count; i++) {
        const Option *const option = &TABLES[options->kind].options[i];
        if (strlen(option->name) != size || memcmp(option->name, name, size) != 0) {
            continue;
        }
        const bool has_argument = option->argument[0] != '\0';
        if (!has_argument && argument != NULL) {
            return usage_error(options, "an option without an argument", arguments[*index]);
        }
        if (has_argument && argument == NULL) {
            if (*index + 1 == count) {
                return usage_error(options, "an argument is missing", arguments[*index]);
            }
            argument = arguments[++*index];
        }
        if (options->kind == OPTIONS_CDC) {
            note_given(options, option->name);
        }
        return option->action(options, argument);
    }
    return usage_error(options, "unknown option", arguments[*index]);
}

/* Takes the word at a place among those that are no options. */
static bool read_word(Options *options, char *word, size_t place)
{
    CdcOptions *const cdc = &options->cdc;
    if (options->kind == OPTIONS_CDC && place < CDC_WORDS) {
        cdc->words[cdc->word_count++] = word;
        return true;
    }
    if (options->kind == OPTIONS_SHELL && place == 0) {
        options->path = word;
        return true;
    }
    if (options->is_watch) {
        return add_watch(options, word);
    }
    return options->kind == OPTIONS_SHELL && place == 1
               ? add_task(options, TASK_SQL, word)
               : usage_error(options, "one argument too many", word);
}

bool weir_options_read(Options *options, int count, char *const *arguments)
{
    const bool is_cdc = count > 1 && strcmp(arguments[1], "cdc") == 0;
    const bool is_watch = count > 1 && strcmp(arguments[1], "watch") == 0;
    bool is_option_allowed = true;
    size_t word_count = 0;
    *options = (Options){.kind = is_cdc ? OPTIONS_CDC : OPTIONS_SHELL,
                         .is_watch = is_watch,
                         .since = WEIR_SINCE_NOW};
    for (int i = is_cdc || is_watch ? 2 : 1; i < count; i++) {
        char *const word = arguments[i];
        if (is_option_allowed && strcmp(word, "--") == 0) {
            is_option_allowed = false;
        } else if (is_option_allowed && word[0] == '-' && word[1] != '\0') {
            if (!read_option(options, count, arguments, &i)) {
                return false;
            }
        } else if (!read_word(options, word, word_count++)) {
            return false;
        }
    }
    return !is_watch || options->wants_help || options->watch_count > 0 ||
           usage_error(options, "a file and a view of it are missing behind", "watch");
}

void weir_options_deinit(Options *options)
{
    free(options->tasks);
    free(options->watches);
    weir_text_deinit(&options->style.null_text);
    weir_text_deinit(&options->style.separator);
    *options = (Options){0};
}
