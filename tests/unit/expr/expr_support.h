/* expr_support.h: short ways to build expressions and batches in tests. Failures end the test. */
#ifndef WEIR_TESTS_EXPR_SUPPORT_H
#define WEIR_TESTS_EXPR_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "expr/evaluator.h"

typedef struct World {
    Mem *mem;
    Arena plan; /* expressions and types */
    Arena step; /* batches and results */
    Error err;
} World;

static inline int world_setup(void **state)
{
    World *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->mem = weir_mem_new(0);
    assert_non_null(w->mem);
    weir_arena_init(&w->plan, w->mem, 0);
    weir_arena_init(&w->step, w->mem, 0);
    *state = w;
    return 0;
}

static inline int world_teardown(void **state)
{
    World *w = *state;
    weir_arena_deinit(&w->plan);
    weir_arena_deinit(&w->step);
    weir_mem_free_allocator(w->mem);
    free(w);
    return 0;
}

static inline const void *must(const World *w, const void *pointer)
{
    if (pointer == NULL) {
        fail_msg("%s", w->err.message);
    }
    return pointer;
}

static inline void must_ok(const World *w, Status status)
{
    if (status != WEIR_OK) {
        fail_msg("%s", w->err.message);
    }
}

static inline const Expr *column(World *w, size_t index, TypeId type)
{
    return must(w, weir_expr_column(&w->plan, index, weir_type_simple(type), &w->err));
}

static inline const Expr *node(World *w, Expr init, size_t count, ...)
{
    const Expr **args = weir_arena_calloc(&w->plan, count + 1, sizeof(const Expr *), &w->err);
    assert_non_null(args);
    va_list list;
    va_start(list, count);
    for (size_t i = 0; i < count; i++) {
        args[i] = va_arg(list, const Expr *);
    }
    va_end(list);
    Expr *expr = weir_arena_alloc(&w->plan, sizeof *expr, &w->err);
    assert_non_null(expr);
    *expr = init;
    expr->args = args;
    expr->arg_count = count;
    if (expr->type == NULL) {
        expr->type = weir_type_simple(TYPE_BOOLEAN);
    }
    return expr;
}

static inline const Expr *call2(World *w, const char *name, const Expr *a, const Expr *b)
{
    return node(w, (Expr){.kind = EXPR_CALL, .name = name, .type = a->type}, 2, a, b);
}

static inline const Expr *compare(World *w, CompareOp op, const Expr *a, const Expr *b)
{
    return node(w, (Expr){.kind = EXPR_COMPARE, .compare = op}, 2, a, b);
}

static inline const Expr *constant(World *w, TypeId type, const void *bytes, size_t size)
{
    Value value = {.type = weir_type_simple(type), .is_null = bytes == NULL};
    if (bytes != NULL) {
        memcpy(value.data.bytes, bytes, size);
    }
    return must(w, weir_expr_constant(&w->plan, &value, &w->err));
}

static inline const Expr *integer(World *w, int32_t x)
{
    return constant(w, TYPE_INTEGER, &x, sizeof x);
}

/* A column of `count` INTEGERs; INT32_MIN stands for NULL (with garbage 7 under it). */
static inline Vector integers(World *w, const int32_t *values, size_t count)
{
    Vector v;
    must_ok(w, weir_vector_init(&v, PHYS_I32, count, &w->step, &w->err));
    for (size_t i = 0; i < count; i++) {
        ((int32_t *)v.data)[i] = values[i] == INT32_MIN ? 7 : values[i];
        if (values[i] == INT32_MIN) {
            must_ok(w, weir_vector_add_validity(&v, count, &w->step, &w->err));
            weir_validity_set_null(v.validity, i);
        }
    }
    return v;
}

#endif
