/* plan_fixture.h: the plans of tests/fixtures/plan, and planning them. */
#ifndef WEIR_TESTS_UNIT_PLAN_PLAN_FIXTURE_H
#define WEIR_TESTS_UNIT_PLAN_PLAN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/plan.h"

enum { FIXTURES_MAX = 400 };

/* One query: its name, its text, and what json_serialize_plan gave. All borrowed from the file. */
typedef struct Fixture {
    const char *name;
    const char *sql;
    const char *json;
} Fixture;

typedef struct FixtureFile {
    char *text; /* owned */
    size_t count;
    Fixture items[FIXTURES_MAX];
} FixtureFile;

/* Cuts the next line off. */
static inline char *fixture_line(char **rest)
{
    char *line = *rest;
    char *end = strchr(line, '\n');
    assert_non_null(end);
    *end = '\0';
    *rest = end + 1;
    return line;
}

/* version: "1.5.6" or "1.4.4". */
static inline FixtureFile *fixture_open(const char *version)
{
    static const char HERE[] = __FILE__;
    char path[1024];
    const char *tests = strstr(HERE, "unit/plan/");
    assert_non_null(tests);
    const int length = snprintf(path, sizeof path, "%.*sfixtures/plan/plans-%s.txt",
                                (int)(tests - HERE), HERE, version);
    assert_true(length > 0 && (size_t)length < sizeof path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    FixtureFile *fixtures = calloc(1, sizeof *fixtures);
    assert_non_null(fixtures);
    fixtures->text = malloc((size_t)size + 1);
    assert_non_null(fixtures->text);
    assert_int_equal(fread(fixtures->text, 1, (size_t)size, file), (size_t)size);
    assert_int_equal(fclose(file), 0);
    fixtures->text[size] = '\0';
    char *rest = fixtures->text;
    while (*rest != '\0') {
        assert_true(fixtures->count < FIXTURES_MAX);
        Fixture *item = &fixtures->items[fixtures->count++];
        const char *head = fixture_line(&rest);
        assert_memory_equal(head, "== ", 3);
        item->name = head + 3;
        item->sql = fixture_line(&rest);
        item->json = fixture_line(&rest);
    }
    return fixtures;
}

static inline void fixture_close(FixtureFile *fixtures)
{
    free(fixtures->text);
    free(fixtures);
}

static inline const Fixture *fixture_find(const FixtureFile *fixtures, const char *name)
{
    for (size_t i = 0; i < fixtures->count; i++) {
        if (strcmp(fixtures->items[i].name, name) == 0) {
            return &fixtures->items[i];
        }
    }
    fail_msg("no fixture %s", name);
    return NULL;
}

/* The plan as text in a buffer of the caller, or the error. */
static inline Status fixture_text(const PlanEnv *env, const char *json, char *out, size_t size,
                                  Error *err)
{
    Plan *plan = NULL;
    const Status status = weir_plan_new(env, json, strlen(json), &plan, err);
    out[0] = '\0';
    if (status == WEIR_OK) {
        Buf buf;
        weir_buf_init(&buf, env->mem, size);
        weir_plan_put_text(plan, &buf);
        assert_int_equal(weir_buf_status(&buf, err), WEIR_OK);
        const int length = snprintf(out, size, "%s", buf.data);
        assert_true(length > 0 && (size_t)length < size);
        weir_buf_deinit(&buf);
    }
    weir_plan_free(plan);
    return status;
}

#endif
