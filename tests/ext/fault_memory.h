/* fault_memory.h: every allocation of Weir in this process, counted and made to fail.
 *
 * The program is linked with Weir's objects and with weir_mem_new and weir_mem_free_allocator wrapped
 * (the linker's --wrap), so that no allocator escapes: those of all databases, of what outlives
 * them, and any that are added later. */
#ifndef WEIR_TESTS_EXT_FAULT_MEMORY_H
#define WEIR_TESTS_EXT_FAULT_MEMORY_H

#include "db.h"

/* Weir in the database, as libweir attaches it. On failure replaces `error` by the formatted error. */
bool fault_attach(Db *db, Text *error);

/* The allocations that are made between the two, of all allocators there are. */
void fault_count_begin(void);
size_t fault_count_end(void);

/* The nth (from 1) of the allocations that were counted last fails when it comes again, and with it
 * all later ones of its allocator if `sticky`. */
void fault_arm(size_t nth, bool sticky);

/* Of the allocator that is the `which`th (from 1) to be made from now on, the nth allocation fails; if
 * nth is 0, the allocator is not to be had. */
void fault_arm_new(size_t which, size_t nth);
void fault_disarm(void);

/* Allocators that have not been freed, or had bytes in use when they were. */
size_t fault_leak_count(void);

#endif
