/* row_store.h: packed rows in pages, addressed by 32-bit references.
 *
 * A reference counts 16-byte granules through a page directory, so a store holds up to 32 GiB and a
 * page can move without any reference changing. Reference 0 is never given out. A row freed in a
 * step is reused only after weir_row_store_end_step: batches of the step may still point into it. */
#ifndef WEIR_TRACE_ROW_STORE_H
#define WEIR_TRACE_ROW_STORE_H

#include "trace/page_pool.h"
#include "types/row.h"

typedef uint32_t RowRef;

enum { ROW_GRANULE_BYTES = 16, ROW_REF_BITS = 31 };

typedef struct RowStore {
    Mem *mem;       /* borrowed */
    PagePool *pool; /* borrowed */
    char **pages;   /* owned: directory, one entry per 64 KB */
    size_t page_count;
    size_t page_capacity;
    struct RowStorePriv
        *priv; /* owned: free lists by size class, fill pointer, rows of this step */
} RowStore;

enum { ROW_GRANULES_PER_PAGE_BITS = 12 };
_Static_assert((ROW_GRANULE_BYTES << ROW_GRANULES_PER_PAGE_BITS) == PAGE_BYTES, "page of granules");

Status weir_row_store_init(RowStore *store, Mem *mem, PagePool *pool, Error *err) WEIR_MUST_CHECK;
void weir_row_store_deinit(RowStore *store);

static inline Row *weir_row_at(const RowStore *store, RowRef ref)
{
    return (Row *)(void *)(store->pages[ref >> ROW_GRANULES_PER_PAGE_BITS] +
                           (size_t)(ref & ((1u << ROW_GRANULES_PER_PAGE_BITS) - 1)) *
                               ROW_GRANULE_BYTES);
}

/* Room for count rows of the given sizes (or of fixed_size each if sizes is NULL): refs and rows are
 * filled. Rows larger than a page get their own run of pages. All or nothing. */
Status weir_row_store_alloc(RowStore *store, const uint32_t *sizes, size_t fixed_size, size_t count,
                            RowRef *refs, Row **rows, Error *err) WEIR_MUST_CHECK;

/* Gives a row back at the end of the step. Cannot fail: if there is no memory to remember it, its
 * place is reused only after weir_row_store_clear. */
void weir_row_store_free(RowStore *store, RowRef ref, size_t size);

/* Gives back at once a row that nobody can point to. */
void weir_row_store_cancel(RowStore *store, RowRef ref, size_t size);
void weir_row_store_end_step(RowStore *store);
void weir_row_store_clear(RowStore *store); /* frees every row at once */
size_t weir_row_store_bytes(const RowStore *store);

#endif
