/* mem.h: the counted allocator of an engine.
 *
 * Every allocation outside arenas and pages goes through a Mem. It counts bytes, refuses what goes
 * over its budget, and can be told to fail the nth allocation (fault tests). Safe from several
 * threads at once. Memory is aligned to 16 bytes. */
#ifndef WEIR_BASE_MEM_H
#define WEIR_BASE_MEM_H

#include "base/base.h"

typedef struct Mem Mem;

/* budget_bytes 0 = unlimited. NULL when out of memory. */
Mem *weir_mem_new(size_t budget_bytes);

/* Everything allocated from it must have been freed. */
void weir_mem_free_allocator(Mem *mem);

/* NULL with err filled (WEIR_ERR_NOMEM) on failure. size 0 is allowed and gives a unique pointer. */
void *weir_mem_alloc(Mem *mem, size_t size, Error *err) WEIR_MUST_CHECK;
void *weir_mem_zalloc(Mem *mem, size_t size, Error *err) WEIR_MUST_CHECK;

/* count * size, checked for overflow, zeroed. */
void *weir_mem_calloc(Mem *mem, size_t count, size_t size, Error *err) WEIR_MUST_CHECK;

/* Like realloc: on failure the old block stays. old may be NULL. */
void *weir_mem_realloc(Mem *mem, void *old, size_t size, Error *err) WEIR_MUST_CHECK;
char *weir_mem_strdup(Mem *mem, const char *text, Error *err) WEIR_MUST_CHECK;

/* NULL is allowed. */
void weir_mem_free(Mem *mem, void *block);

/* Bytes taken from or given back to the operating system directly (pages): counted against the
 * budget like allocations. */
Status weir_mem_reserve(Mem *mem, size_t size, Error *err) WEIR_MUST_CHECK;
void weir_mem_unreserve(Mem *mem, size_t size);

size_t weir_mem_used(const Mem *mem);
size_t weir_mem_peak(const Mem *mem);
size_t weir_mem_allocation_count(const Mem *mem); /* allocations made since the start */

/* The nth allocation from now (1 = the next) fails, and with it every later one if `sticky`; 0
 * turns it off. For tests. */
void weir_mem_fail_after(Mem *mem, size_t nth, bool sticky);

#endif
