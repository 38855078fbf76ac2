/* touched.c: entries in runs of pages; see touched.h. */
#include "trace/touched.h"

#include "base/checked.h"

enum { TOUCHED_KEPT_RUNS = 4 }; /* kept between steps */

void weir_touched_init(TouchedList *list, Mem *mem, PagePool *pool, size_t entry_bytes)
{
    WEIR_ASSERT(entry_bytes > 0 && entry_bytes % 8 == 0);
    const size_t run_pages = (entry_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    *list = (TouchedList){
        .mem = mem,
        .pool = pool,
        .entry_bytes = entry_bytes,
        .run_pages = run_pages,
        .run_entries = run_pages * PAGE_BYTES / entry_bytes,
    };
}

static void give_runs(TouchedList *list, size_t kept)
{
    while (list->run_count > kept) {
        list->run_count -= 1;
        weir_page_give(list->pool, list->runs[list->run_count], list->run_pages);
    }
}

void weir_touched_deinit(TouchedList *list)
{
    give_runs(list, 0);
    weir_mem_free(list->mem, list->runs);
    *list = (TouchedList){0};
}

void weir_touched_clear(TouchedList *list)
{
    give_runs(list, TOUCHED_KEPT_RUNS);
    list->count = 0;
    list->room = 0;
    list->next = NULL;
}

Status weir_touched_grow(TouchedList *list, Error *err)
{
    WEIR_ASSERT(list->room == 0);
    const size_t used_runs = list->count / list->run_entries;
    if (used_runs == list->run_count) {
        if (list->run_count == list->run_capacity) {
            const size_t capacity = list->run_capacity == 0 ? 8 : 2 * list->run_capacity;
            void **runs = weir_mem_realloc(list->mem, list->runs, capacity * sizeof *runs, err);
            if (runs == NULL) {
                return err->code;
            }
            list->runs = runs;
            list->run_capacity = capacity;
        }
        void *run = weir_page_take(list->pool, list->run_pages, err);
        if (run == NULL) {
            return err->code;
        }
        list->runs[list->run_count] = run;
        list->run_count += 1;
    }
    list->next = list->runs[used_runs];
    list->room = list->run_entries;
    return WEIR_OK;
}

void *weir_touched_run(const TouchedList *list, size_t index, size_t *available)
{
    WEIR_ASSERT(index <= list->count);
    if (index == list->count) {
        *available = 0;
        return NULL;
    }
    const size_t place = index % list->run_entries;
    *available = WEIR_MIN(list->run_entries - place, list->count - index);
    return (char *)list->runs[index / list->run_entries] + place * list->entry_bytes;
}

size_t weir_touched_bytes(const TouchedList *list)
{
    return list->run_count * list->run_pages * PAGE_BYTES;
}
