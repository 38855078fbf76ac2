/* plan_samples.h: the plans of tests/fixtures/plan, and planning them. */
#ifndef WEIR_TESTS_UNIT_PLAN_PLAN_SAMPLES_H
#define WEIR_TESTS_UNIT_PLAN_PLAN_SAMPLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/plan.h"

enum { SAMPLES_MAX = 400 };

/* One query: its name, its text, and what json_serialize_plan gave. All borrowed from the file. */
typedef struct Sample {
    const char *name;
    const char *sql;
    const char *json;
} Sample;

typedef struct Samples {
    char *text; /* owned */
    size_t count;
    Sample items[SAMPLES_MAX];
} Samples;

/* Cuts the next line off. */
static inline char *sample_line(char **rest)
{
    char *line = *rest;
    char *end = strchr(line, '\n');
    assert_non_null(end);
    *end = '\0';
    *rest = end + 1;
    return line;
}

/* version: "1.5.6" or "1.4.4". */
static inline Samples *samples_open(const char *version)
{
    char path[1024];
    const int length =
        snprintf(path, sizeof path, WEIR_TESTS_DIR "/fixtures/plan/plans-%s.txt", version);
    assert_true(length > 0 && (size_t)length < sizeof path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    assert_true(size > 0);
    rewind(file);
    Samples *samples = calloc(1, sizeof *samples);
    assert_non_null(samples);
    samples->text = malloc((size_t)size + 1);
    assert_non_null(samples->text);
    assert_int_equal(fread(samples->text, 1, (size_t)size, file), (size_t)size);
    assert_int_equal(fclose(file), 0);
    samples->text[size] = '\0';
    char *rest = samples->text;
    while (*rest != '\0') {
        assert_true(samples->count < SAMPLES_MAX);
        Sample *item = &samples->items[samples->count++];
        const char *head = sample_line(&rest);
        assert_memory_equal(head, "== ", 3);
        item->name = head + 3;
        item->sql = sample_line(&rest);
        item->json = sample_line(&rest);
    }
    return samples;
}

static inline void samples_close(Samples *samples)
{
    free(samples->text);
    free(samples);
}

static inline const Sample *samples_find(const Samples *samples, const char *name)
{
    for (size_t i = 0; i < samples->count; i++) {
        if (strcmp(samples->items[i].name, name) == 0) {
            return &samples->items[i];
        }
    }
    fail_msg("no sample %s", name);
    return NULL;
}

/* The plan as text in a buffer of the caller, or the error. */
static inline Status sample_text(const PlanEnv *env, const char *json, char *out, size_t size,
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
