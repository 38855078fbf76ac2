/* cases.c: runs .case files, each in all its ways.
 *
 *   cases [--ext FILE] [--out DIR] [--way NAME] PATH...
 *
 * A directory stands for all *.case files in it. Without --ext the model of harness/backend.h is
 * run: that tests the cases themselves. Exit code: 0 all well, 1 a difference, 2 usage. */
#include "case_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CASE_SECONDS_MAX = 120 };

static bool run_apart(const CaseFile *file, CaseWay way, const CaseOptions *options)
{
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return false;
    }
    if (child == 0) {
        alarm(CASE_SECONDS_MAX);
        Text report = {0};
        const bool is_good = case_run(file, way, options, &report);
        if (!is_good) {
            printf("FAILED %s, way %s: %s\n%s", file->path, case_way_name(way), file->story,
                   text_get(&report));
        }
        (void)fflush(stdout);
        text_free(&report);
        _exit(is_good ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        printf("FAILED %s, way %s: died of signal %d\n", file->path, case_way_name(way),
               WTERMSIG(status));
    }
    return status == 0;
}

static size_t run_file(const char *path, const char *way_name, const CaseOptions *options,
                       size_t *run_count)
{
    CaseFile file = {0};
    Text error = {0};
    size_t bad_count = 0;
    if (!case_file_read(&file, path, &error)) {
        printf("FAILED %s\n", text_get(&error));
        bad_count = 1;
    } else {
        for (CaseWay way = WAY_EACH; way < WAY_COUNT; way++) {
            const bool is_asked = way_name == NULL || strcmp(way_name, case_way_name(way)) == 0;
            if (is_asked && case_has_way(&file, way, options)) {
                *run_count += 1;
                bad_count += run_apart(&file, way, options) ? 0 : 1;
            }
        }
    }
    text_free(&error);
    case_file_free(&file);
    return bad_count;
}

int main(int argc, char **argv)
{
    CaseOptions options = {.directory = "."};
    const char *way_name = NULL;
    TextList files = {0};
    for (int i = 1; i < argc; i++) {
        const bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--ext") == 0 && has_value) {
            i++;
            options.extension = argv[i];
        } else if (strcmp(argv[i], "--out") == 0 && has_value) {
            i++;
            options.directory = argv[i];
        } else if (strcmp(argv[i], "--way") == 0 && has_value) {
            i++;
            way_name = argv[i];
        } else {
            text_list_add_files(&files, argv[i], ".case");
        }
    }
    if (files.count == 0) {
        (void)fprintf(stderr, "usage: cases [--ext FILE] [--out DIR] [--way NAME] PATH...\n");
        return 2;
    }
    text_list_sort(&files);
    size_t bad_count = 0;
    size_t run_count = 0;
    for (size_t i = 0; i < files.count; i++) {
        bad_count += run_file(files.items[i], way_name, &options, &run_count);
    }
    printf("%zu files, %zu runs, %zu failed\n", files.count, run_count, bad_count);
    text_list_free(&files);
    return bad_count == 0 && run_count > 0 ? 0 : 1;
}
