/* mem.c: the counted allocator.
 *
 * Each block is preceded by 16 bytes that hold its size, so that free and realloc can keep the
 * count. Counters are atomics and need no order between each other: the budget is checked on the
 * value that the addition returned, and given back on failure. */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/checked.h"

struct Mem {
    size_t budget_bytes; /* 0 = unlimited */
    atomic_size_t used;
    atomic_size_t peak;
    atomic_size_t allocation_count;
    atomic_size_t fail_countdown; /* 0 = off; the allocation that takes it from 1 fails */
    atomic_bool is_fail_sticky;
};

typedef struct BlockHead {
    size_t size;    /* as the caller asked, without the head */
    size_t padding; /* keeps the block 16-byte aligned */
} BlockHead;

_Static_assert(sizeof(BlockHead) == 16, "blocks stay 16-byte aligned");

static BlockHead *head_of(void *block)
{
    return (BlockHead *)block - 1;
}

Mem *weir_mem_new(size_t budget_bytes)
{
    Mem *mem = calloc(1, sizeof *mem);
    if (mem != NULL) {
        mem->budget_bytes = budget_bytes;
    }
    return mem;
}

void weir_mem_free_allocator(Mem *mem)
{
    if (mem == NULL) {
        return;
    }
    WEIR_ASSERT(weir_mem_used(mem) == 0);
    free(mem);
}

/* True if a test wants this allocation to fail. */
static bool takes_planned_failure(Mem *mem)
{
    size_t left = atomic_load_explicit(&mem->fail_countdown, memory_order_relaxed);
    while (left != 0) {
        const bool is_last = left == 1;
        const bool stays = is_last && atomic_load(&mem->is_fail_sticky);
        if (stays || atomic_compare_exchange_weak(&mem->fail_countdown, &left, left - 1)) {
            return is_last;
        }
    }
    return false;
}

static void raise_peak(Mem *mem, size_t used)
{
    size_t peak = atomic_load_explicit(&mem->peak, memory_order_relaxed);
    while (used > peak && !atomic_compare_exchange_weak(&mem->peak, &peak, used)) {
    }
}

/* Adds size to the bytes in use if the budget allows it. */
static Status count_bytes(Mem *mem, size_t size, Error *err)
{
    if (size == 0) {
        return WEIR_OK;
    }
    const size_t before = atomic_fetch_add_explicit(&mem->used, size, memory_order_relaxed);
    size_t after = 0;
    const bool overflows = weir_add_size(before, size, &after);
    if (overflows || (mem->budget_bytes != 0 && after > mem->budget_bytes)) {
        atomic_fetch_sub_explicit(&mem->used, size, memory_order_relaxed);
        weir_error_set(err, WEIR_ERR_NOMEM,
                       "%zu more bytes would exceed the memory budget of %zu (%zu in use)", size,
                       mem->budget_bytes, before);
        weir_error_hint(err, "raise the memory limit, or drop views that are not needed");
        return WEIR_ERR_NOMEM;
    }
    raise_peak(mem, after);
    return WEIR_OK;
}

static void uncount_bytes(Mem *mem, size_t size)
{
    const size_t before = atomic_fetch_sub_explicit(&mem->used, size, memory_order_relaxed);
    WEIR_ASSERT(before >= size);
    WEIR_UNUSED(before);
}

static Status fail_allocation(size_t size, Error *err)
{
    return weir_error_set(err, WEIR_ERR_NOMEM, "out of memory: %zu bytes are not to be had", size);
}

static void *allocate(Mem *mem, size_t size, bool zeroed, Error *err)
{
    WEIR_ASSERT(mem != NULL);
    size_t total = 0;
    if (takes_planned_failure(mem) || weir_add_size(size, sizeof(BlockHead), &total)) {
        (void)fail_allocation(size, err);
        return NULL;
    }
    if (count_bytes(mem, total, err) != WEIR_OK) {
        return NULL;
    }
    BlockHead *head = zeroed ? calloc(1, total) : malloc(total);
    if (head == NULL) {
        uncount_bytes(mem, total);
        (void)fail_allocation(size, err);
        return NULL;
    }
    atomic_fetch_add_explicit(&mem->allocation_count, 1, memory_order_relaxed);
    head->size = size;
    return head + 1;
}

void *weir_mem_alloc(Mem *mem, size_t size, Error *err)
{
    return allocate(mem, size, false, err);
}

void *weir_mem_zalloc(Mem *mem, size_t size, Error *err)
{
    return allocate(mem, size, true, err);
}

void *weir_mem_calloc(Mem *mem, size_t count, size_t size, Error *err)
{
    size_t total = 0;
    if (weir_mul_size(count, size, &total)) {
        weir_error_set(err, WEIR_ERR_NOMEM, "out of memory: %zu objects of %zu bytes", count, size);
        return NULL;
    }
    return allocate(mem, total, true, err);
}

void *weir_mem_realloc(Mem *mem, void *old, size_t size, Error *err)
{
    if (old == NULL) {
        return weir_mem_alloc(mem, size, err);
    }
    size_t total = 0;
    if (takes_planned_failure(mem) || weir_add_size(size, sizeof(BlockHead), &total)) {
        (void)fail_allocation(size, err);
        return NULL;
    }
    BlockHead *head = head_of(old);
    const size_t old_size = head->size;
    const size_t growth = size > old_size ? size - old_size : 0;
    if (count_bytes(mem, growth, err) != WEIR_OK) {
        return NULL;
    }
    BlockHead *moved = realloc(head, total);
    if (moved == NULL) {
        uncount_bytes(mem, growth);
        (void)fail_allocation(size, err);
        return NULL;
    }
    if (size < old_size) {
        uncount_bytes(mem, old_size - size);
    }
    atomic_fetch_add_explicit(&mem->allocation_count, 1, memory_order_relaxed);
    moved->size = size;
    return moved + 1;
}

char *weir_mem_strdup(Mem *mem, const char *text, Error *err)
{
    const size_t size = strlen(text) + 1;
    char *copy = weir_mem_alloc(mem, size, err);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

void weir_mem_free(Mem *mem, void *block)
{
    if (block == NULL) {
        return;
    }
    BlockHead *head = head_of(block);
    uncount_bytes(mem, head->size + sizeof *head);
    free(head);
}

Status weir_mem_reserve(Mem *mem, size_t size, Error *err)
{
    if (takes_planned_failure(mem)) {
        return fail_allocation(size, err);
    }
    WEIR_TRY(count_bytes(mem, size, err));
    atomic_fetch_add_explicit(&mem->allocation_count, 1, memory_order_relaxed);
    return WEIR_OK;
}

void weir_mem_unreserve(Mem *mem, size_t size)
{
    uncount_bytes(mem, size);
}

size_t weir_mem_used(const Mem *mem)
{
    return atomic_load_explicit(&mem->used, memory_order_relaxed);
}

size_t weir_mem_peak(const Mem *mem)
{
    return atomic_load_explicit(&mem->peak, memory_order_relaxed);
}

size_t weir_mem_allocation_count(const Mem *mem)
{
    return atomic_load_explicit(&mem->allocation_count, memory_order_relaxed);
}

void weir_mem_fail_after(Mem *mem, size_t nth, bool sticky)
{
    atomic_store(&mem->is_fail_sticky, sticky);
    atomic_store(&mem->fail_countdown, nth);
}
