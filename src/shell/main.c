/* main.c: weir, the shell: a client of include/weir.h like any other program.
 *
 * Exit status: 0, 1 if a statement or command failed, 2 if the command line is wrong, what .exit
 * says; after Ctrl-C in a script, or when nobody reads the output, the program ends as SIGINT and
 * SIGPIPE end programs. */
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cdc/database.h"
#include "shell/cdc.h"
#include "shell/options.h"
#include "shell/shell.h"
#include "shell/signals.h"
#include "shell/watch.h"

/* The database's text is UTF-8; its width must be known even where the environment says nothing. */
static void set_locale(void)
{
    const char *const set = setlocale(LC_CTYPE, "");
    if (set == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    }
}

static void run_tasks(Shell *shell, const Options *options)
{
    if (options->init != NULL) {
        weir_shell_run_file(shell, options->init, (Place){0});
    }
    for (size_t i = 0; i < options->watch_count && !weir_shell_is_stopped(shell); i++) {
        weir_watch_add(shell, options->watches[i], options->since, (Place){0});
    }
    weir_shell_flush(shell, (Place){0});
    for (size_t i = 0; i < options->task_count && !weir_shell_is_stopped(shell); i++) {
        const Task *const task = &options->tasks[i];
        switch (task->kind) {
        case TASK_SQL: weir_shell_run_text(shell, task->text); break;
        case TASK_FILE: weir_shell_run_file(shell, task->text, (Place){0}); break;
        }
    }
    if (options->task_count > 0 || weir_shell_is_stopped(shell)) {
        return;
    }
    if (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) {
        weir_shell_interact(shell);
    } else {
        weir_shell_run_file(shell, "-", (Place){0});
    }
}

static int exit_status(const Shell *shell)
{
    if (shell->output.is_gone) {
        weir_signals_die(SIGPIPE);
    }
    if (shell->is_interrupted && !shell->is_interactive) {
        weir_signals_die(SIGINT);
    }
    if (shell->exit_status >= 0) {
        return shell->exit_status;
    }
    return shell->failed_count > 0 && !shell->is_interactive;
}

/* A view that is watched before anything runs cannot be in a database that is still to be made; the name
 * of one that is no file has a colon: ":memory:", "https://...". */
static bool is_file_needed(const Options *options)
{
    return options->watch_count > 0 && options->init == NULL && options->path != NULL &&
           strchr(options->path, ':') == NULL;
}

static void run_session(Shell *shell, const Options *options)
{
    WeirError err;
    if (is_file_needed(options) && weir_cdc_check_file(options->path, &err) != WEIR_OK) {
        weir_shell_fail(shell, &err, (Place){0});
        return;
    }
    const SessionType *const type =
        options->is_sqlite ? &WEIR_SESSION_SQLITE : weir_session_type_of(options->path);
    if (weir_shell_open(shell, type, options->path)) {
        run_tasks(shell, options);
    }
}

static int run(Options *options)
{
    Shell shell;
    weir_shell_init(&shell, options->style);
    shell.is_bail = options->is_bail;
    options->style.null_text = (Text){0};
    options->style.separator = (Text){0};
    if (!weir_signals_start()) {
        (void)fputs("Error: cannot watch for signals\n", stderr);
        return 1;
    }
    switch (options->kind) {
    case OPTIONS_SHELL: run_session(&shell, options); break;
    case OPTIONS_CDC: weir_cdc_command(&shell, options); break;
    }
    weir_shell_close(&shell);
    weir_signals_stop();
    return exit_status(&shell);
}

static void put_help(const Options *options)
{
    switch (options->kind) {
    case OPTIONS_SHELL: weir_options_help(); break;
    case OPTIONS_CDC: weir_cdc_help(); break;
    }
}

int main(int argument_count, char **arguments)
{
    Options options;
    int status = 0;
    set_locale();
    if (!weir_options_read(&options, argument_count, arguments)) {
        status = 2;
    } else if (options.wants_help) {
        put_help(&options);
    } else if (options.wants_version) {
        (void)printf("weir %s\n", weir_version());
    } else {
        status = run(&options);
    }
    weir_options_deinit(&options);
    return status;
}
