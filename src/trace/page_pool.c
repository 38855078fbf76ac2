/* page_pool.c: 64 KB pages cut from 2 MB blocks.
 *
 * A block is 2 MB of anonymous memory, aligned to its size, and a bit per page. Blocks stand in an
 * array sorted by address: a page finds its block by binary search, and pages are taken from the
 * lowest block that has room, so that the high ones become empty and can be returned. Runs longer
 * than a block are mapped on their own and returned at once.
 *
 * The budget is charged for the pages handed out, not for the blocks behind them: a nearly empty
 * engine is not charged 2 MB. */
#include "trace/page_pool.h"

#include <sys/mman.h>

enum {
    BLOCK_BYTES = 2 * 1024 * 1024,
    BLOCK_PAGES = BLOCK_BYTES / PAGE_BYTES,
    BLOCKS_MIN = 16, /* first capacity of the array */
};
_Static_assert(BLOCK_PAGES == 32, "a page is a bit of a uint32_t");

typedef struct PoolBlock {
    char *base;
    uint32_t used; /* bit p = page p is handed out */
} PoolBlock;

struct PagePool {
    Mem *mem;          /* borrowed */
    Lock lock;         /* protects everything below */
    PoolBlock *blocks; /* owned, sorted by base */
    size_t block_count;
    size_t block_capacity;
    size_t first_open; /* no block before this one has a free page */
    size_t used_bytes;
    size_t free_pages; /* in all blocks */
};

/* size bytes (a multiple of 64 KB), aligned to 2 MB; NULL if the system has none. */
static char *pool_map(size_t size)
{
    const int protection = PROT_READ | PROT_WRITE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *memory = mmap(NULL, size, protection, flags, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    if ((uintptr_t)memory % BLOCK_BYTES != 0) {
        (void)munmap(memory, size);
        memory = mmap(NULL, size + BLOCK_BYTES, protection, flags, -1, 0);
        if (memory == MAP_FAILED) {
            return NULL;
        }
        const size_t head = BLOCK_BYTES - (size_t)((uintptr_t)memory % BLOCK_BYTES);
        char *aligned = memory + head;
        (void)munmap(memory, head);
        if (head < BLOCK_BYTES) {
            (void)munmap(aligned + size, BLOCK_BYTES - head);
        }
        memory = aligned;
    }
    (void)madvise(memory, size, MADV_HUGEPAGE); /* advice: small pages do as well */
    return memory;
}

PagePool *weir_page_pool_new(Mem *mem, Error *err)
{
    PagePool *pool = weir_mem_zalloc(mem, sizeof *pool, err);
    if (pool == NULL) {
        return NULL;
    }
    pool->mem = mem;
    if (weir_lock_init(&pool->lock, LOCK_RANK_LEAF, err) != WEIR_OK) {
        weir_mem_free(mem, pool);
        return NULL;
    }
    return pool;
}

void weir_page_pool_free(PagePool *pool)
{
    if (pool == NULL) {
        return;
    }
    WEIR_ASSERT(pool->used_bytes == 0);
    for (size_t i = 0; i < pool->block_count; i++) {
        (void)munmap(pool->blocks[i].base, BLOCK_BYTES);
    }
    weir_mem_free(pool->mem, pool->blocks);
    weir_lock_deinit(&pool->lock);
    weir_mem_free(pool->mem, pool);
}

/* The first of page_count free neighbours in a block, or BLOCK_PAGES. */
static uint32_t block_find_run(uint32_t used, size_t page_count)
{
    uint32_t starts = ~used;
    for (size_t i = 1; i < page_count && starts != 0; i++) {
        starts &= ~used >> i;
    }
    return starts == 0 ? BLOCK_PAGES : (uint32_t)__builtin_ctz(starts);
}

static uint32_t run_mask(uint32_t first, size_t page_count)
{
    return (uint32_t)(((UINT64_C(1) << page_count) - 1) << first);
}

/* How many blocks begin at or before the address. */
static size_t pool_blocks_before(const PagePool *pool, const void *address)
{
    size_t low = 0;
    size_t high = pool->block_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)pool->blocks[middle].base <= (uintptr_t)address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static Status pool_add_block(PagePool *pool, Error *err)
{
    if (pool->block_count == pool->block_capacity) {
        const size_t capacity = WEIR_MAX(2 * pool->block_capacity, (size_t)BLOCKS_MIN);
        PoolBlock *blocks =
            weir_mem_realloc(pool->mem, pool->blocks, capacity * sizeof *blocks, err);
        if (blocks == NULL) {
            return err->code;
        }
        pool->blocks = blocks;
        pool->block_capacity = capacity;
    }
    char *base = pool_map(BLOCK_BYTES);
    if (base == NULL) {
        return weir_error_set(err, WEIR_ERR_NOMEM, "the system has no memory for a block of pages");
    }
    const size_t place = pool_blocks_before(pool, base);
    memmove(pool->blocks + place + 1, pool->blocks + place,
            (pool->block_count - place) * sizeof *pool->blocks);
    pool->blocks[place] = (PoolBlock){.base = base};
    pool->block_count++;
    pool->free_pages += BLOCK_PAGES;
    pool->first_open = WEIR_MIN(pool->first_open, place);
    return WEIR_OK;
}

/* A run from the blocks there are, or NULL. */
static void *pool_take_run(PagePool *pool, size_t page_count)
{
    if (pool->free_pages < page_count) {
        return NULL;
    }
    while (pool->blocks[pool->first_open].used == UINT32_MAX) {
        pool->first_open++;
    }
    for (size_t i = pool->first_open; i < pool->block_count; i++) {
        PoolBlock *block = &pool->blocks[i];
        const uint32_t first = block_find_run(block->used, page_count);
        if (first < BLOCK_PAGES) {
            block->used |= run_mask(first, page_count);
            pool->free_pages -= page_count;
            return block->base + (size_t)first * PAGE_BYTES;
        }
    }
    return NULL;
}

static void *pool_take_locked(PagePool *pool, size_t page_count, Error *err)
{
    void *pages = NULL;
    if (page_count > BLOCK_PAGES) {
        pages = pool_map(page_count * PAGE_BYTES);
        if (pages == NULL) {
            weir_error_set(err, WEIR_ERR_NOMEM, "the system has no memory for %zu pages",
                           page_count);
        }
        return pages;
    }
    pages = pool_take_run(pool, page_count);
    if (pages == NULL && pool_add_block(pool, err) == WEIR_OK) {
        pages = pool_take_run(pool, page_count);
        WEIR_ASSERT(pages != NULL);
    }
    return pages;
}

void *weir_page_take(PagePool *pool, size_t page_count, Error *err)
{
    WEIR_ASSERT(page_count > 0);
    if (page_count > SIZE_MAX / PAGE_BYTES / 2) {
        weir_error_set(err, WEIR_ERR_NOMEM, "out of memory: %zu pages", page_count);
        return NULL;
    }
    const size_t size = page_count * PAGE_BYTES;
    if (weir_mem_reserve(pool->mem, size, err) != WEIR_OK) {
        return NULL;
    }
    weir_lock_acquire(&pool->lock);
    void *pages = pool_take_locked(pool, page_count, err);
    if (pages != NULL) {
        pool->used_bytes += size;
    }
    weir_lock_release(&pool->lock);
    if (pages == NULL) {
        weir_mem_unreserve(pool->mem, size);
    }
    return pages;
}

void weir_page_give(PagePool *pool, void *pages, size_t page_count)
{
    if (pages == NULL) {
        return;
    }
    const size_t size = page_count * PAGE_BYTES;
    weir_lock_acquire(&pool->lock);
    if (page_count > BLOCK_PAGES) {
        (void)munmap(pages, size);
    } else {
        const size_t before = pool_blocks_before(pool, pages);
        WEIR_ASSERT(before > 0);
        PoolBlock *block = &pool->blocks[before - 1];
        const size_t first = (size_t)((char *)pages - block->base) / PAGE_BYTES;
        WEIR_ASSERT(first + page_count <= BLOCK_PAGES);
        const uint32_t mask = run_mask((uint32_t)first, page_count);
        WEIR_ASSERT((block->used & mask) == mask);
        block->used &= ~mask;
        pool->free_pages += page_count;
        pool->first_open = WEIR_MIN(pool->first_open, before - 1);
    }
    WEIR_ASSERT(pool->used_bytes >= size);
    pool->used_bytes -= size;
    weir_lock_release(&pool->lock);
    weir_mem_unreserve(pool->mem, size);
}

void weir_page_pool_trim(PagePool *pool, size_t keep_bytes)
{
    weir_lock_acquire(&pool->lock);
    size_t kept = 0;
    size_t empty_bytes = 0;
    for (size_t i = 0; i < pool->block_count; i++) {
        const PoolBlock block = pool->blocks[i];
        if (block.used == 0) {
            empty_bytes += BLOCK_BYTES;
            if (empty_bytes > keep_bytes) {
                (void)munmap(block.base, BLOCK_BYTES);
                pool->free_pages -= BLOCK_PAGES;
                continue;
            }
        }
        pool->blocks[kept] = block;
        kept++;
    }
    pool->block_count = kept;
    pool->first_open = 0;
    weir_lock_release(&pool->lock);
}

size_t weir_page_pool_used_bytes(const PagePool *pool)
{
    return pool->used_bytes;
}
