/* options.h: the command line. */
#ifndef WEIR_SHELL_OPTIONS_H
#define WEIR_SHELL_OPTIONS_H

#include "shell/print.h"

typedef enum TaskKind { TASK_SQL, TASK_FILE } TaskKind;

/* Something to run, in the order of the command line. */
typedef struct Task {
    TaskKind kind;
    const char *text; /* borrowed: SQL, or the name of a file */
} Task;

enum { CDC_WORDS = 4, CDC_GIVEN = 8 };

/* Of weir cdc. All are borrowed from the command line; NULL = not given. */
typedef struct CdcOptions {
    char *words[CDC_WORDS]; /* the file, the command, its arguments */
    size_t word_count;
    const char *given[CDC_GIVEN]; /* the names of the options that were given */
    size_t given_count;
    const char *before;
    const char *keep;
    const char *older_than;
    const char *since;
    const char *table;
    bool wants_follow;
} CdcOptions;

/* Two command lines: weir and weir cdc. */
typedef enum OptionsKind { OPTIONS_SHELL, OPTIONS_CDC } OptionsKind;

typedef struct Options {
    OptionsKind kind;
    CdcOptions cdc;
    const char *path; /* of the database; NULL = in memory */
    const char *init; /* a file to run before everything; NULL = none */
    Task *tasks;      /* owned */
    size_t task_count;
    const char **watches; /* owned; the views to watch, as they are written */
    size_t watch_count;
    PrintStyle style; /* moved out by whoever uses it */
    bool is_bail;
    bool is_sqlite; /* whatever the file says */
    bool wants_help;
    bool wants_version;
    bool is_watch; /* weir watch: the words behind the file are views */
    int64_t since; /* where watching begins: a generation, or WEIR_SINCE_... */
} Options;

/* False after telling what is wrong. */
bool weir_options_read(Options *options, int count, char *const *arguments);
void weir_options_deinit(Options *options);
void weir_options_help(void);

/* The lines of a help, an option each. */
void weir_options_list(OptionsKind kind);

#endif
