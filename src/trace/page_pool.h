/* page_pool.h: 64 KB pages cut from 2 MB blocks of anonymous memory, recycled, never returned to
 * the system within a step.
 *
 * One pool per engine, shared by all its stores. Blocks ask for huge pages. Counted in the Mem. */
#ifndef WEIR_TRACE_PAGE_POOL_H
#define WEIR_TRACE_PAGE_POOL_H

#include "base/lock.h"
#include "base/mem.h"

typedef struct PagePool PagePool;

enum { PAGE_BYTES = 64 * 1024 };

PagePool *weir_page_pool_new(Mem *mem, Error *err);
void weir_page_pool_free(PagePool *pool); /* every page must have been given back */

/* page_count consecutive pages, 64 KB aligned, contents undefined; NULL with err filled. */
void *weir_page_take(PagePool *pool, size_t page_count, Error *err) WEIR_MUST_CHECK;
void weir_page_give(PagePool *pool, void *pages, size_t page_count);

/* Returns free blocks beyond keep_bytes to the system. Called between steps. */
void weir_page_pool_trim(PagePool *pool, size_t keep_bytes);

size_t weir_page_pool_used_bytes(const PagePool *pool); /* in pages handed out */

#endif
