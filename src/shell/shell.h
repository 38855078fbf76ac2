/* shell.h: a session: the database, how results are printed, and what has gone wrong. */
#ifndef WEIR_SHELL_SHELL_H
#define WEIR_SHELL_SHELL_H

#include "shell/output.h"
#include "shell/print.h"
#include "shell/session.h"

typedef struct Watch Watch;

typedef struct Shell {
    Session session;
    const char *path; /* borrowed; NULL = in memory */
    Output output;
    PrintStyle style;
    bool is_interactive;
    bool is_bail;        /* a failure ends a script */
    bool has_timer;      /* times are printed */
    bool must_stop;      /* run nothing more: .quit, a failure with -bail, nobody reads */
    bool is_interrupted; /* Ctrl-C came while something ran: drop what is left of the input */
    size_t failed_count; /* statements and commands that failed */
    int exit_status;     /* of .exit STATUS; -1 = not given */
    size_t read_depth;   /* of .read in .read */
    Watch *watches;      /* owned: the views of .watch */
    size_t watch_count;
} Shell;

/* Where a statement comes from, for messages. */
typedef struct Place {
    const char *file; /* NULL = typed, or given on the command line */
    size_t line;
} Place;

/* Nothing is open yet. Takes what the style owns; weir_shell_close frees it. */
void weir_shell_init(Shell *shell, PrintStyle style);

/* Opens the database; false after telling why not. */
bool weir_shell_open(Shell *shell, const SessionType *type, const char *path);
void weir_shell_close(Shell *shell);

/* True if nothing more of the present input is to be run. */
bool weir_shell_is_stopped(const Shell *shell);

/* Tells of a failure on standard error, counts it, and stops a script if -bail says so. */
void weir_shell_fail(Shell *shell, const WeirError *err, Place place);
void weir_shell_fail_text(Shell *shell, Place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sends what has been printed. If it cannot be written, that is a failure; if nobody reads it,
 * everything stops, quietly. */
void weir_shell_flush(Shell *shell, Place place);

/* Runs the first statement of sql, prints its result, tells of failures and warnings. Returns the
 * place behind the statement. */
const char *weir_shell_run(Shell *shell, const char *sql, Place place);

/* Runs a query of the shell's own; no rows exist after telling why it failed. They go back to
 * weir_shell_end_query. */
Rows weir_shell_query(Shell *shell, const char *sql, Place place);
void weir_shell_end_query(Shell *shell, Rows result); /* {0} is allowed */

/* Runs a query of the shell's own and prints its result. */
void weir_shell_print_query(Shell *shell, const char *sql, Place place);

/* Runs a dot command: a line that starts with '.'. */
void weir_shell_command(Shell *shell, const char *line, Place place);

/* Runs a file, or standard input for "-". Tells if it cannot be read. */
void weir_shell_run_file(Shell *shell, const char *path, Place place);

/* Runs all of a text, or of an open file. */
void weir_shell_run_text(Shell *shell, const char *text);
void weir_shell_run_fd(Shell *shell, int fd, const char *name, Place place);

/* Reads lines from the terminal until Ctrl-D or .quit. */
void weir_shell_interact(Shell *shell);

#endif
