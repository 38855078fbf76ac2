/* touched.h: the rows of a table that a step has touched, each with what it was before.
 *
 * An append-only list of entries of one fixed size, in pages of the pool. The user marks a row as
 * listed in the row itself (link = 1), so that each row is listed once, and clears the mark when it
 * walks the list at the end of the step. */
#ifndef WEIR_TRACE_TOUCHED_H
#define WEIR_TRACE_TOUCHED_H

#include "trace/page_pool.h"
#include "types/row.h"

typedef struct TouchedList {
    Mem *mem;           /* borrowed */
    PagePool *pool;     /* borrowed */
    size_t entry_bytes; /* multiple of 8 */
    size_t run_pages;   /* pages of one run of entries */
    size_t run_entries; /* entries of one run */
    void **runs;        /* owned */
    size_t run_count;   /* runs taken from the pool */
    size_t run_capacity;
    size_t count; /* entries */
    char *next;   /* where the next entry goes */
    size_t room;  /* entries that still fit there */
} TouchedList;

/* Never fails: takes memory at the first entry. */
void weir_touched_init(TouchedList *list, Mem *mem, PagePool *pool, size_t entry_bytes);
void weir_touched_deinit(TouchedList *list);

/* Forgets all entries; keeps memory of the usual size. */
void weir_touched_clear(TouchedList *list);

Status weir_touched_grow(TouchedList *list, Error *err) WEIR_MUST_CHECK; /* private */

/* A new entry, contents undefined; NULL with err filled on failure. It stays where it is. */
static inline void *weir_touched_add(TouchedList *list, Error *err)
{
    if (WEIR_UNLIKELY(list->room == 0) && weir_touched_grow(list, err) != WEIR_OK) {
        return NULL;
    }
    void *entry = list->next;
    list->next += list->entry_bytes;
    list->room -= 1;
    list->count += 1;
    return entry;
}

/* The entries from `index` on that lie side by side; *available = how many, 0 at the end. */
void *weir_touched_run(const TouchedList *list, size_t index, size_t *available);

size_t weir_touched_bytes(const TouchedList *list);

#endif
