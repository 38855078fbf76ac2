/* row_store.c: size classes over granules, bump allocation in the open page.
 *
 * Sizes are rounded to classes: every multiple of 16 bytes up to 512, then four classes per
 * doubling up to a page. A row comes from its class's free list, else from the open page; what is
 * left of a page when it closes becomes one free piece.
 *
 * A free list is an array, not a chain through the rows: taking 32 rows does not wait for 32
 * dependent reads. refs[0, usable) may be taken, refs[usable, count) were freed in this step.
 *
 * A row over a page stands in a run of pages behind a RunHead. Runs form two doubly linked lists,
 * live and freed in this step. The first two pages of a store are small, since most stores are. */
#include "trace/row_store.h"

enum {
    SMALL_PAGES = 2,
    PAGE_GRANULES = PAGE_BYTES / ROW_GRANULE_BYTES,
    RESERVED_GRANULES = 4, /* at the start of the store: reference 0, and 64-byte alignment */
    EXACT_CLASSES = 32,    /* classes of 1..32 granules */
    CLASS_COUNT = EXACT_CLASSES + 4 * 7,
    RUN_HEAD_GRANULES = 4,
    RUN_HEAD_BYTES = RUN_HEAD_GRANULES * ROW_GRANULE_BYTES,
    PAGES_MAX = 1 << (ROW_REF_BITS - ROW_GRANULES_PER_PAGE_BITS),
    FREE_LIST_MIN = 16,
};

static const size_t small_page_bytes[SMALL_PAGES] = {4096, 16384};

typedef struct FreeList {
    RowRef *refs; /* owned */
    uint32_t usable;
    uint32_t count;
    uint32_t capacity;
} FreeList;

typedef struct RunHead {
    struct RunHead *next;
    struct RunHead *previous;
    uint32_t first_page; /* place in the directory */
    uint32_t page_count;
} RunHead;

_Static_assert(sizeof(RunHead) <= RUN_HEAD_BYTES, "room for the head");

struct RowStorePriv {
    RowRef fill;     /* next granule of the open page */
    RowRef fill_end; /* end of the open page */
    bool has_pending;
    bool is_small[SMALL_PAGES]; /* pages that came from the allocator */
    size_t vacant_pages;        /* empty entries of the directory, left by runs */
    size_t bytes;               /* pages and free lists */
    RunHead *live_runs;
    RunHead *freed_runs;
    FreeList lists[CLASS_COUNT];
};

typedef struct SizeClass {
    uint32_t index;
    uint32_t granules;
} SizeClass;

/* The class of a row of at most a page. */
static SizeClass size_class(size_t size)
{
    const uint32_t granules = (uint32_t)((size + ROW_GRANULE_BYTES - 1) / ROW_GRANULE_BYTES);
    WEIR_ASSERT(granules > 0 && granules <= PAGE_GRANULES);
    if (granules <= EXACT_CLASSES) {
        return (SizeClass){.index = granules - 1, .granules = granules};
    }
    /* 2^order < granules <= 2^(order + 1), in four steps */
    const uint32_t order = 31u - (uint32_t)__builtin_clz(granules - 1);
    const uint32_t step = 1u << (order - 2);
    const uint32_t steps = (granules - (1u << order) + step - 1) / step;
    return (SizeClass){
        .index = EXACT_CLASSES + (order - 5) * 4 + steps - 1,
        .granules = (1u << order) + steps * step,
    };
}

/* The largest class of at most the given granules. */
static SizeClass class_below(uint32_t granules)
{
    if (granules <= EXACT_CLASSES) {
        return (SizeClass){.index = granules - 1, .granules = granules};
    }
    const uint32_t order = 31u - (uint32_t)__builtin_clz(granules);
    const uint32_t step = 1u << (order - 2);
    return size_class((size_t)(granules / step * step) * ROW_GRANULE_BYTES);
}

Status weir_row_store_init(RowStore *store, Mem *mem, PagePool *pool, Error *err)
{
    *store = (RowStore){.mem = mem, .pool = pool};
    store->priv = weir_mem_zalloc(mem, sizeof *store->priv, err);
    return store->priv == NULL ? err->code : WEIR_OK;
}

/* --- free lists ------------------------------------------------------------------------------ */

/* Remembers a free piece; forgets it if there is no memory for that. */
static void list_push(RowStore *store, FreeList *list, RowRef ref, bool is_usable)
{
    if (list->count == list->capacity) {
        Error err = {0};
        const uint32_t capacity = WEIR_MAX(2 * list->capacity, (uint32_t)FREE_LIST_MIN);
        RowRef *refs = weir_mem_realloc(store->mem, list->refs, capacity * sizeof *refs, &err);
        if (refs == NULL) {
            return;
        }
        store->priv->bytes += (capacity - list->capacity) * sizeof *refs;
        list->refs = refs;
        list->capacity = capacity;
    }
    list->refs[list->count] = ref;
    list->count++;
    if (is_usable) {
        list->refs[list->count - 1] = list->refs[list->usable];
        list->refs[list->usable] = ref;
        list->usable++;
    } else {
        store->priv->has_pending = true;
    }
}

static RowRef list_pop(FreeList *list)
{
    list->usable--;
    list->count--;
    const RowRef ref = list->refs[list->usable];
    list->refs[list->usable] = list->refs[list->count]; /* a pending one fills the hole */
    return ref;
}

/* --- pages ----------------------------------------------------------------------------------- */

/* Finds page_count neighbouring entries of the directory, growing it if there are none. */
static Status directory_find(RowStore *store, size_t page_count, size_t *first, Error *err)
{
    if (store->priv->vacant_pages >= page_count) {
        size_t run = 0;
        for (size_t i = 0; i < store->page_count; i++) {
            run = store->pages[i] == NULL ? run + 1 : 0;
            if (run == page_count) {
                *first = i + 1 - page_count;
                return WEIR_OK;
            }
        }
    }
    const size_t needed = store->page_count + page_count;
    if (page_count > PAGES_MAX || needed > PAGES_MAX) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "the rows of one store exceed 32 GiB");
    }
    if (needed > store->page_capacity) {
        const size_t capacity = WEIR_MAX(needed, WEIR_MAX(2 * store->page_capacity, (size_t)4));
        char **pages = weir_mem_realloc(store->mem, store->pages, capacity * sizeof *pages, err);
        if (pages == NULL) {
            return err->code;
        }
        store->pages = pages;
        store->page_capacity = capacity;
    }
    *first = store->page_count;
    return WEIR_OK;
}

static void directory_set(RowStore *store, size_t first, size_t page_count, char *memory)
{
    for (size_t i = 0; i < page_count; i++) {
        if (first + i == store->page_count) {
            store->page_count++;
        } else {
            store->priv->vacant_pages--;
        }
        store->pages[first + i] = memory + i * PAGE_BYTES;
    }
}

/* Closes the open page and opens one that is meant for a row of the given granules. */
static Status store_open_page(RowStore *store, uint32_t granules, Error *err)
{
    struct RowStorePriv *priv = store->priv;
    size_t place = 0;
    WEIR_TRY(directory_find(store, 1, &place, err));
    size_t size = PAGE_BYTES;
    const bool is_new = place == store->page_count;
    if (is_new && place < SMALL_PAGES &&
        (size_t)(granules + RESERVED_GRANULES) * ROW_GRANULE_BYTES <= small_page_bytes[place]) {
        size = small_page_bytes[place];
    }
    char *page = size < PAGE_BYTES ? weir_mem_alloc(store->mem, size, err)
                                   : weir_page_take(store->pool, 1, err);
    if (page == NULL) {
        return err->code;
    }
    if (priv->fill < priv->fill_end) {
        const SizeClass rest = class_below(priv->fill_end - priv->fill);
        list_push(store, &priv->lists[rest.index], priv->fill, true);
    }
    if (place < SMALL_PAGES) {
        priv->is_small[place] = size < PAGE_BYTES;
    }
    priv->bytes += size;
    directory_set(store, place, 1, page);
    const RowRef begin = (RowRef)(place << ROW_GRANULES_PER_PAGE_BITS);
    priv->fill = place == 0 ? (RowRef)RESERVED_GRANULES : begin;
    priv->fill_end = begin + (RowRef)(size / ROW_GRANULE_BYTES);
    return WEIR_OK;
}

static void store_give_page(RowStore *store, size_t place)
{
    if (place < SMALL_PAGES && store->priv->is_small[place]) {
        weir_mem_free(store->mem, store->pages[place]);
        store->priv->is_small[place] = false;
    } else {
        weir_page_give(store->pool, store->pages[place], 1);
    }
    store->pages[place] = NULL;
}

/* --- runs ------------------------------------------------------------------------------------ */

static Status run_new(RowStore *store, size_t size, RowRef *ref, Error *err)
{
    struct RowStorePriv *priv = store->priv;
    if (size >= UINT32_MAX) {
        return weir_error_set(err, WEIR_ERR_LIMIT, "a row is longer than 4 GiB");
    }
    const size_t total = size + RUN_HEAD_BYTES;
    const size_t page_count = (total + PAGE_BYTES - 1) / PAGE_BYTES;
    size_t place = 0;
    WEIR_TRY(directory_find(store, page_count, &place, err));
    char *memory = weir_page_take(store->pool, page_count, err);
    if (memory == NULL) {
        return err->code;
    }
    directory_set(store, place, page_count, memory);
    RunHead *run = (RunHead *)(void *)memory;
    *run = (RunHead){
        .next = priv->live_runs,
        .first_page = (uint32_t)place,
        .page_count = (uint32_t)page_count,
    };
    if (run->next != NULL) {
        run->next->previous = run;
    }
    priv->live_runs = run;
    priv->bytes += page_count * PAGE_BYTES;
    *ref = (RowRef)(place << ROW_GRANULES_PER_PAGE_BITS) + RUN_HEAD_GRANULES;
    return WEIR_OK;
}

static void run_give(RowStore *store, RunHead *run)
{
    const size_t first = run->first_page;
    const size_t page_count = run->page_count;
    weir_page_give(store->pool, run, page_count);
    for (size_t i = 0; i < page_count; i++) {
        store->pages[first + i] = NULL;
    }
    store->priv->vacant_pages += page_count;
    store->priv->bytes -= page_count * PAGE_BYTES;
}

static void runs_give(RowStore *store, RunHead **list)
{
    while (*list != NULL) {
        RunHead *run = *list;
        *list = run->next;
        run_give(store, run);
    }
}

static RunHead *run_unlink(RowStore *store, RowRef ref)
{
    RunHead *run = (RunHead *)(void *)store->pages[ref >> ROW_GRANULES_PER_PAGE_BITS];
    WEIR_ASSERT(run->first_page == ref >> ROW_GRANULES_PER_PAGE_BITS);
    if (run->next != NULL) {
        run->next->previous = run->previous;
    }
    if (run->previous != NULL) {
        run->previous->next = run->next;
    } else {
        store->priv->live_runs = run->next;
    }
    return run;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* A row of at most a page. */
static Status alloc_class(RowStore *store, SizeClass class, RowRef *ref, Error *err)
{
    struct RowStorePriv *priv = store->priv;
    FreeList *list = &priv->lists[class.index];
    if (list->usable > 0) {
        *ref = list_pop(list);
        return WEIR_OK;
    }
    while (WEIR_UNLIKELY(priv->fill_end - priv->fill < class.granules)) {
        WEIR_TRY(store_open_page(store, class.granules, err));
    }
    *ref = priv->fill;
    priv->fill += class.granules;
    return WEIR_OK;
}

Status weir_row_store_alloc(RowStore *store, const uint32_t *sizes, size_t fixed_size, size_t count,
                            RowRef *refs, Row **rows, Error *err)
{
    const bool is_small = fixed_size > 0 && fixed_size <= PAGE_BYTES;
    SizeClass class = is_small ? size_class(fixed_size) : (SizeClass){0};
    for (size_t i = 0; i < count; i++) {
        size_t size = fixed_size;
        if (sizes != NULL) {
            size = sizes[i];
            class = size <= PAGE_BYTES ? size_class(size) : class;
        }
        const Status status = WEIR_UNLIKELY(size > PAGE_BYTES)
                                  ? run_new(store, size, &refs[i], err)
                                  : alloc_class(store, class, &refs[i], err);
        if (WEIR_UNLIKELY(status != WEIR_OK)) {
            for (size_t j = 0; j < i; j++) {
                weir_row_store_cancel(store, refs[j], sizes == NULL ? fixed_size : sizes[j]);
            }
            return status;
        }
        rows[i] = weir_row_at(store, refs[i]);
        __builtin_prefetch(rows[i], 1);
    }
    return WEIR_OK;
}

void weir_row_store_free(RowStore *store, RowRef ref, size_t size)
{
    WEIR_ASSERT(ref != 0);
    if (WEIR_UNLIKELY(size > PAGE_BYTES)) {
        RunHead *run = run_unlink(store, ref);
        run->next = store->priv->freed_runs;
        store->priv->freed_runs = run;
        store->priv->has_pending = true;
        return;
    }
    list_push(store, &store->priv->lists[size_class(size).index], ref, false);
}

void weir_row_store_cancel(RowStore *store, RowRef ref, size_t size)
{
    WEIR_ASSERT(ref != 0);
    if (WEIR_UNLIKELY(size > PAGE_BYTES)) {
        run_give(store, run_unlink(store, ref));
        return;
    }
    list_push(store, &store->priv->lists[size_class(size).index], ref, true);
}

void weir_row_store_end_step(RowStore *store)
{
    struct RowStorePriv *priv = store->priv;
    if (!priv->has_pending) {
        return;
    }
    for (size_t i = 0; i < CLASS_COUNT; i++) {
        priv->lists[i].usable = priv->lists[i].count;
    }
    runs_give(store, &priv->freed_runs);
    priv->has_pending = false;
}

void weir_row_store_clear(RowStore *store)
{
    struct RowStorePriv *priv = store->priv;
    runs_give(store, &priv->live_runs);
    runs_give(store, &priv->freed_runs);
    for (size_t i = 0; i < store->page_count; i++) {
        if (store->pages[i] != NULL) {
            store_give_page(store, i);
        }
    }
    for (size_t i = 0; i < CLASS_COUNT; i++) {
        weir_mem_free(store->mem, priv->lists[i].refs);
    }
    weir_mem_free(store->mem, store->pages);
    store->pages = NULL;
    store->page_count = 0;
    store->page_capacity = 0;
    *priv = (struct RowStorePriv){0};
}

void weir_row_store_deinit(RowStore *store)
{
    if (store->priv != NULL) {
        weir_row_store_clear(store);
        weir_mem_free(store->mem, store->priv);
    }
    *store = (RowStore){0};
}

size_t weir_row_store_bytes(const RowStore *store)
{
    return sizeof *store->priv + store->priv->bytes + store->page_capacity * sizeof *store->pages;
}
