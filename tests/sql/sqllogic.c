/* sqllogic.c: runs sqllogictest files.
 *
 *   sqllogic [--ext FILE] [--out DIR] [--fails] PATH...
 *
 * A directory stands for all *.test files below it. Each file runs in a process of its own. With
 * --fails every file must fail, and its report contain what a line "# expect: ..." of the file
 * says: that is how the runner itself is tested. Exit code: 0 all well, 1 a difference, 2 usage.
 * logic_file.h says what a file may hold. */
#include "logic_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_SECONDS_MAX = 300 };

/* Does the report hold what the file says it must? */
static bool is_expected(const char *path, const char *report)
{
    static const char mark[] = "# expect: ";
    Text text = {0};
    bool is_good = text_read_file(&text, path);
    const char *start = is_good ? strstr(text_get(&text), mark) : NULL;
    is_good = start != NULL;
    if (is_good) {
        start += sizeof mark - 1;
        char *wanted = test_copy_len(start, strcspn(start, "\n"));
        is_good = strstr(report, wanted) != NULL;
        test_free(wanted);
    }
    text_free(&text);
    return is_good;
}

/* Runs the file in a child; what it finds goes to standard output. */
static bool run_apart(const char *path, const LogicOptions *options, bool must_fail)
{
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return false;
    }
    if (child == 0) {
        alarm(FILE_SECONDS_MAX);
        Text report = {0};
        size_t record_count = 0;
        bool is_good = logic_run(path, options, &record_count, &report);
        if (must_fail) {
            is_good = !is_good && is_expected(path, text_get(&report));
        }
        printf("%s %s (%zu records)\n%s", is_good ? "ok    " : "FAILED", path, record_count,
               text_get(&report));
        (void)fflush(stdout);
        text_free(&report);
        _exit(is_good ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        printf("FAILED %s: died of signal %d\n", path, WTERMSIG(status));
    }
    return status == 0;
}

int main(int argc, char **argv)
{
    LogicOptions options = {.directory = "."};
    TextList files = {0};
    bool must_fail = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--fails") == 0) {
            must_fail = true;
        } else if (strcmp(argv[i], "--ext") == 0 && i + 1 < argc) {
            i++;
            options.extension = argv[i];
        } else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
            i++;
            options.directory = argv[i];
        } else {
            text_list_add_files(&files, argv[i], ".test");
        }
    }
    if (files.count == 0) {
        (void)fprintf(stderr, "usage: sqllogic [--ext FILE] [--out DIR] [--fails] PATH...\n");
        return 2;
    }
    text_list_sort(&files);
    size_t bad_count = 0;
    for (size_t i = 0; i < files.count; i++) {
        bad_count += run_apart(files.items[i], &options, must_fail) ? 0 : 1;
    }
    printf("%zu files, %zu failed\n", files.count, bad_count);
    text_list_free(&files);
    return bad_count == 0 ? 0 : 1;
}
