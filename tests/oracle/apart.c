/* apart.c: run_case in a child process. The outcome comes back through a pipe as one text:
 *   a line with the numbers of RunStats, is_failure and group
 *   a line each with the view, the kind and the count of refusals
 *   a line for each refusal
 *   the message, up to the end. */
#include "run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATS_COUNT = sizeof(RunStats) / sizeof(int64_t) };

_Static_assert(sizeof(RunStats) == STATS_COUNT * sizeof(int64_t), "RunStats holds int64_t alone");

void stats_add(RunStats *total, const RunStats *more)
{
    int64_t sums[STATS_COUNT];
    int64_t numbers[STATS_COUNT] = {0};
    memcpy(sums, total, sizeof sums);
    memcpy(numbers, more, sizeof numbers);
    for (size_t i = 0; i < STATS_COUNT; i++) {
        sums[i] += numbers[i];
    }
    memcpy(total, sums, sizeof sums);
}

void outcome_free(Outcome *outcome)
{
    test_free(outcome->kind);
    test_free(outcome->message);
    text_list_free(&outcome->refusals);
    *outcome = (Outcome){0};
}

static void encode(const Outcome *outcome, Text *out)
{
    int64_t numbers[STATS_COUNT] = {0};
    memcpy(numbers, &outcome->stats, sizeof numbers);
    for (size_t i = 0; i < STATS_COUNT; i++) {
        text_addf(out, "%" PRId64 " ", numbers[i]);
    }
    text_addf(out, "%d %zu\n%s\n%s\n%zu\n", outcome->is_failure ? 1 : 0, outcome->group,
              outcome->view, outcome->kind == NULL ? "" : outcome->kind, outcome->refusals.count);
    for (size_t i = 0; i < outcome->refusals.count; i++) {
        const char *reason = outcome->refusals.items[i];
        text_add_len(out, reason, strcspn(reason, "\n"));
        text_add_char(out, '\n');
    }
    text_add(out, outcome->message == NULL ? "" : outcome->message);
}

/* The line at *at, without its end; *at moves behind it. */
static char *take_line(const char **at)
{
    const size_t len = strcspn(*at, "\n");
    char *line = test_copy_len(*at, len);
    *at += len + ((*at)[len] == '\n' ? 1 : 0);
    return line;
}

static bool decode(const char *text, Outcome *outcome)
{
    if (strchr(text, '\n') == NULL) {
        return false;
    }
    const char *at = text;
    char *line = take_line(&at);
    char *end = line;
    int64_t numbers[STATS_COUNT] = {0};
    for (size_t i = 0; i < STATS_COUNT; i++) {
        numbers[i] = strtoll(end, &end, 10);
    }
    memcpy(&outcome->stats, numbers, sizeof numbers);
    outcome->is_failure = strtol(end, &end, 10) != 0;
    outcome->group = (size_t)strtoul(end, &end, 10);
    test_free(line);
    line = take_line(&at);
    (void)snprintf(outcome->view, sizeof outcome->view, "%s", line);
    test_free(line);
    outcome->kind = take_line(&at);
    line = take_line(&at);
    size_t refusal_count = (size_t)strtoul(line, NULL, 10);
    test_free(line);
    for (; refusal_count > 0; refusal_count--) {
        line = take_line(&at);
        text_list_add(&outcome->refusals, line);
        test_free(line);
    }
    outcome->message = test_copy(at);
    return true;
}

static void run_child(const Case *test, const RunOptions *options, int pipe_end)
{
    Outcome outcome = {0};
    Text text = {0};
    alarm(options->timeout_seconds);
    run_case(test, options, &outcome);
    encode(&outcome, &text);
    size_t at = 0;
    while (at < text.len) {
        const ssize_t written = write(pipe_end, text.data + at, text.len - at);
        if (written <= 0) {
            break;
        }
        at += (size_t)written;
    }
    /* No handlers of the parent's libraries; what the child opened is closed. */
    _exit(at == text.len ? 0 : 1);
}

static void describe_death(Outcome *outcome, int status)
{
    outcome_free(outcome);
    outcome->stats.rounds = 1;
    outcome->is_failure = true;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        outcome->kind = test_copy("timeout");
        outcome->message = test_copy("the round does not end");
    } else {
        outcome->kind = test_copy("crash");
        outcome->message = WIFSIGNALED(status) ? text_format("died of signal %d", WTERMSIG(status))
                                               : text_format("exit code %d", WEXITSTATUS(status));
    }
}

static void remove_leftovers(const RunOptions *options, pid_t child)
{
    char *path = text_format("%s/oracle_%ld.duckdb", options->directory, (long)child);
    db_remove_file(path);
    test_free(path);
}

void run_case_apart(const Case *test, const RunOptions *options, Outcome *outcome)
{
    *outcome = (Outcome){0};
    int ends[2];
    (void)fflush(NULL);
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(70);
    }
    const pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(70);
    }
    if (child == 0) {
        close(ends[0]);
        run_child(test, options, ends[1]);
    }
    close(ends[1]);
    Text text = {0};
    char buffer[4096];
    ssize_t len = read(ends[0], buffer, sizeof buffer);
    while (len > 0) {
        text_add_len(&text, buffer, (size_t)len);
        len = read(ends[0], buffer, sizeof buffer);
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0 || !decode(text_get(&text), outcome)) {
        describe_death(outcome, status);
        remove_leftovers(options, child);
    }
    text_free(&text);
}
