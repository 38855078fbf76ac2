/* shell.c: opening the database, running a statement, telling what went wrong. */
#include "shell/shell.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "shell/signals.h"
#include "shell/watch.h"

enum { BOX_ROWS = 40 }; /* that a terminal shows of a long result, as in DuckDB's shell */

/* ---- failures ------------------------------------------------------------------------------- */

static void put_place(Place place)
{
    if (place.file != NULL) {
        (void)fprintf(stderr, " (line %zu of %s)", place.line, place.file);
    }
}

static void count_failure(Shell *shell)
{
    shell->failed_count++;
    if (shell->is_bail && !shell->is_interactive) {
        shell->must_stop = true;
    }
}

/* Weir's errors have a code. DuckDB's are said as DuckDB says them: "Binder Error: ..." and then,
 * often, lines that show where. */
static void put_error(const char *word, const WeirError *err, Place place)
{
    if (err->code == WEIR_ERR_HOST) {
        const size_t line_size = strcspn(err->message, "\n");
        const char *const colon = strstr(err->message, "Error:");
        const bool names_itself = colon != NULL && colon < err->message + line_size;
        (void)fprintf(stderr, "%s%.*s", names_itself ? "" : "Error: ", (int)line_size,
                      err->message);
        put_place(place);
        (void)fprintf(stderr, "%s\n", err->message + line_size);
    } else {
        (void)fprintf(stderr, "%s: DBSP-E%03d: %s", word, err->code, err->message);
        put_place(place);
        (void)fputc('\n', stderr);
    }
    if (err->hint[0] != '\0') {
        (void)fprintf(stderr, "Hint: %s\n", err->hint);
    }
}

void weir_shell_fail(Shell *shell, const WeirError *err, Place place)
{
    weir_output_flush(&shell->output);
    if (err->code == WEIR_ERR_INTERRUPTED) {
        (void)fputs(shell->is_interactive ? "\n" : "", stderr); /* the terminal has put ^C */
        WeirError interrupted = {.code = WEIR_ERR_INTERRUPTED};
        (void)snprintf(interrupted.message, sizeof interrupted.message, "interrupted");
        put_error("Error", &interrupted, place);
    } else {
        put_error("Error", err, place);
    }
    count_failure(shell);
}

void weir_shell_fail_text(Shell *shell, Place place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weir_output_flush(&shell->output);
    (void)fputs("Error: ", stderr);
    (void)vfprintf(stderr, format, arguments);
    put_place(place);
    (void)fputc('\n', stderr);
    va_end(arguments);
    count_failure(shell);
}

void weir_shell_flush(Shell *shell, Place place)
{
    weir_output_flush(&shell->output);
    if (shell->output.is_gone) {
        shell->must_stop = true;
    } else if (shell->output.failure != 0) {
        const int reason = shell->output.failure;
        shell->output.failure = 0;
        weir_shell_fail_text(shell, place, "cannot write the output: %s", strerror(reason));
    }
}

/* ---- the database --------------------------------------------------------------------------- */

void weir_shell_init(Shell *shell, PrintStyle style)
{
    *shell = (Shell){.style = style, .exit_status = -1};
    shell->style.max_rows = BOX_ROWS;
    weir_output_init(&shell->output);
}

bool weir_shell_open(Shell *shell, const SessionType *type, const char *path)
{
    WeirError err;
    shell->path = path;
    if (weir_session_open(&shell->session, type, path, &err) != WEIR_OK) {
        weir_shell_fail(shell, &err, (Place){0});
        return false;
    }
    weir_signals_set_target(type->interrupt, shell->session.handle);
    return true;
}

void weir_shell_close(Shell *shell)
{
    weir_signals_enter(ACTIVITY_IDLE);
    weir_signals_set_target(NULL, NULL);
    weir_watch_remove(shell, NULL, (Place){0});
    weir_session_close(&shell->session);
    weir_shell_flush(shell, (Place){0});
    weir_output_deinit(&shell->output);
    weir_text_deinit(&shell->style.null_text);
    weir_text_deinit(&shell->style.separator);
}

/* ---- statements ----------------------------------------------------------------------------- */

typedef struct Clock {
    struct timespec real;
    struct rusage used;
} Clock;

static Clock clock_now(void)
{
    Clock now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now.real);
    (void)getrusage(RUSAGE_SELF, &now.used);
    return now;
}

static double timeval_seconds(struct timeval from, struct timeval to)
{
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_usec - from.tv_usec) * 1e-6;
}

static void put_time(Shell *shell, const Clock *from)
{
    const Clock to = clock_now();
    const double real = (double)(to.real.tv_sec - from->real.tv_sec) +
                        (double)(to.real.tv_nsec - from->real.tv_nsec) * 1e-9;
    weir_output_printf(&shell->output, "Run Time (s): real %.3f user %.6f sys %.6f\n", real,
                       timeval_seconds(from->used.ru_utime, to.used.ru_utime),
                       timeval_seconds(from->used.ru_stime, to.used.ru_stime));
}

static void put_warnings(Shell *shell, Place place)
{
    WeirError warning;
    while (shell->session.type->take_warning(shell->session.handle, &warning)) {
        weir_output_flush(&shell->output);
        put_error("Warning", &warning, place);
    }
}

bool weir_shell_is_stopped(const Shell *shell)
{
    return shell->must_stop || shell->is_interrupted;
}

static void print_result(Shell *shell, Rows result, Place place)
{
    WeirError err;
    if (weir_rows_exist(result) &&
        weir_print_result(&shell->output, &shell->style, result, &err) != WEIR_OK) {
        weir_shell_fail(shell, &err, place);
    }
}

const char *weir_shell_run(Shell *shell, const char *sql, Place place)
{
    WeirError err;
    Rows result = {0};
    const char *tail = sql;
    const Clock from = clock_now();
    weir_signals_enter(ACTIVITY_RUNNING);
    const WeirStatus status = weir_session_execute(&shell->session, sql, &tail, &result, &err);
    if (status == WEIR_OK) {
        print_result(shell, result, place);
    } else {
        weir_shell_fail(shell, &err, place);
    }
    put_warnings(shell, place);
    if (shell->has_timer) {
        put_time(shell, &from);
    }
    weir_watch_print(shell, place);
    weir_shell_flush(shell, place);
    weir_shell_end_query(shell, result);
    return tail;
}

Rows weir_shell_query(Shell *shell, const char *sql, Place place)
{
    WeirError err;
    Rows result = {0};
    weir_signals_enter(ACTIVITY_RUNNING);
    if (weir_session_execute(&shell->session, sql, NULL, &result, &err) != WEIR_OK) {
        weir_shell_fail(shell, &err, place);
        weir_shell_end_query(shell, (Rows){0});
    }
    return result;
}

void weir_shell_end_query(Shell *shell, Rows result)
{
    weir_rows_free(result);
    shell->is_interrupted = shell->is_interrupted || weir_signals_is_interrupted();
    weir_signals_enter(shell->is_interactive ? ACTIVITY_EDITING : ACTIVITY_IDLE);
}

void weir_shell_print_query(Shell *shell, const char *sql, Place place)
{
    const Rows result = weir_shell_query(shell, sql, place);
    if (weir_rows_exist(result)) {
        print_result(shell, result, place);
        weir_shell_flush(shell, place);
        weir_shell_end_query(shell, result);
    }
}
