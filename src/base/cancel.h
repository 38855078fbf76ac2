/* cancel.h: the wish that something stops, expressed by one thread and looked for by another. */
#ifndef WEIR_BASE_CANCEL_H
#define WEIR_BASE_CANCEL_H

#include <stdatomic.h>

#include "base/base.h"

typedef struct Cancel {
    atomic_bool is_wanted;
} Cancel;

/* Any thread. */
static inline void weir_cancel_want(Cancel *cancel)
{
    atomic_store(&cancel->is_wanted, true);
}

static inline void weir_cancel_forget(Cancel *cancel)
{
    atomic_store(&cancel->is_wanted, false);
}

/* WEIR_ERR_INTERRUPTED if it is wanted; NULL never is. Cheap: for every batch. */
WEIR_MUST_CHECK static inline Status weir_cancel_check(const Cancel *cancel, Error *err)
{
    if (cancel != NULL && atomic_load_explicit(&cancel->is_wanted, memory_order_relaxed)) {
        return weir_error_set(err, WEIR_ERR_INTERRUPTED, "interrupted");
    }
    return WEIR_OK;
}

#endif
