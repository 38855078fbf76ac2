#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

WeirDb *api_open(const char *path)
{
    WeirDb *db = NULL;
    WeirError err = {0};
    if (weir_open(path, &db, &err) != WEIR_OK) {
        fail_msg("cannot open: %s", err.message);
    }
    return db;
}

WeirDb *api_connect(WeirDb *db)
{
    WeirDb *other = NULL;
    WeirError err = {0};
    if (weir_connect(db, &other, &err) != WEIR_OK) {
        fail_msg("cannot connect: %s", err.message);
    }
    return other;
}

typedef struct Text {
    char *data;
    size_t size;
} Text;

static void add(Text *text, const char *part)
{
    const size_t size = strlen(part);
    char *const data = realloc(text->data, text->size + size + 1);
    if (data == NULL) {
        abort();
    }
    memcpy(data + text->size, part, size + 1);
    text->data = data;
    text->size += size;
}

static WeirStatus read_rows(WeirResult *result, Text *text, WeirError *err)
{
    bool has_row = false;
    for (;;) {
        const WeirStatus status = weir_result_next(result, &has_row, err);
        if (status != WEIR_OK || !has_row) {
            return status;
        }
        for (size_t c = 0; c < weir_result_column_count(result); c++) {
            const char *const value = weir_result_text(result, c, NULL);
            add(text, c == 0 ? "" : "|");
            add(text, value == NULL ? "NULL" : value);
        }
        add(text, "\n");
    }
}

char *try_run(WeirDb *db, const char *sql, WeirError *err)
{
    Text text = {0};
    while (*sql != '\0') {
        WeirResult *result = NULL;
        WeirStatus status = weir_execute(db, sql, &sql, &result, err);
        free(text.data);
        text = (Text){0};
        add(&text, "");
        if (status == WEIR_OK && result != NULL && weir_result_has_rows(result)) {
            status = read_rows(result, &text, err);
        } else if (status == WEIR_OK && result != NULL) {
            char line[64];
            (void)snprintf(line, sizeof line, "changed %llu",
                           (unsigned long long)weir_result_rows_changed(result));
            add(&text, line);
        }
        weir_result_free(result);
        if (status != WEIR_OK) {
            free(text.data);
            return NULL;
        }
    }
    return text.data;
}

void run(WeirDb *db, const char *sql)
{
    WeirError err = {0};
    char *const rows = try_run(db, sql, &err);
    if (rows == NULL) {
        fail_msg("%s: %s", sql, err.message);
    }
    free(rows);
}

void gives(WeirDb *db, const char *sql, const char *expected)
{
    WeirError err = {0};
    char *const rows = try_run(db, sql, &err);
    if (rows == NULL) {
        fail_msg("%s: %s", sql, err.message);
    } else if (strcmp(rows, expected) != 0) {
        fail_msg("%s gives\n%s, not\n%s", sql, rows, expected);
    }
    free(rows);
}

void fails(WeirDb *db, const char *sql, const char *message)
{
    WeirError err = {0};
    char *const rows = try_run(db, sql, &err);
    const bool has_succeeded = rows != NULL;
    free(rows);
    if (has_succeeded) {
        fail_msg("%s succeeds, but should fail: %s", sql, message);
    } else if (strstr(err.message, message) == NULL) {
        fail_msg("%s fails with\n%s, not\n%s", sql, err.message, message);
    }
}

char *test_path(const char *name)
{
    const char *const directory = getenv("TMPDIR");
    char *const path = malloc(4096);
    if (path == NULL) {
        abort();
    }
    (void)snprintf(path, 4096, "%s/weir-%ld-%s", directory == NULL ? "/tmp" : directory,
                   (long)getpid(), name);
    return path;
}
