/* base.h: the words every file uses: integers, status and error, assertions, small macros.
 *
 * Nothing here allocates, prints or keeps state. */
#ifndef WEIR_BASE_BASE_H
#define WEIR_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

#define WEIR_MUST_CHECK __attribute__((warn_unused_result))
#define WEIR_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define WEIR_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define WEIR_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define WEIR_ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WEIR_MIN(a, b) ((a) < (b) ? (a) : (b))
#define WEIR_MAX(a, b) ((a) > (b) ? (a) : (b))
#define WEIR_UNUSED(name) ((void)(name))

/* States what is true if our own code is right. Never used for input from outside. */
#ifdef WEIR_DEBUG
#include <assert.h>
#define WEIR_ASSERT(condition) assert(condition)
#else
#define WEIR_ASSERT(condition) ((void)0)
#endif

/* From the head of a struct to the struct: the head must be the first member. */
#define WEIR_DOWNCAST(type, head) ((type *)(void *)(head))

#include "base/error.h"

/* Propagates a failure while nothing needs cleaning. */
#define WEIR_TRY(expr)                               \
    do {                                             \
        const Status try_status_ = (expr);           \
        if (WEIR_UNLIKELY(try_status_ != WEIR_OK)) { \
            return try_status_;                      \
        }                                            \
    } while (0)

/* Propagates a failure once something needs cleaning: sets `status`, goes to `done`. */
#define WEIR_CHECK(expr)                        \
    do {                                        \
        status = (expr);                        \
        if (WEIR_UNLIKELY(status != WEIR_OK)) { \
            goto done;                          \
        }                                       \
    } while (0)

/* What must hold even in release builds before anything lasting is done. */
#define WEIR_VERIFY(condition, err)                                                              \
    do {                                                                                         \
        if (WEIR_UNLIKELY(!(condition))) {                                                       \
            return weir_error_set((err), WEIR_ERR_INTERNAL, "internal check failed: %s (%s:%d)", \
                                  #condition, __FILE__, __LINE__);                               \
        }                                                                                        \
    } while (0)

#endif
