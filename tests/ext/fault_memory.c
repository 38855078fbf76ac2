/* fault_memory.c: see fault_memory.h. */
#include "fault_memory.h"

#include "base/mem.h"
#include "duckdb/database.h"

#include <stdio.h>

enum { ALLOCATORS_MAX = 64 };

typedef struct Allocator {
    Mem *mem;
    size_t start; /* its allocations when counting began */
    size_t count; /* those that were counted last */
} Allocator;

static Allocator allocators[ALLOCATORS_MAX];
static size_t allocator_count;
static size_t leak_count;
static size_t new_until_fault; /* 0 = off */
static size_t new_nth;

/* By the names that the linker gives them. */
Mem *real_mem_new(size_t budget_bytes) __asm__("__real_weir_mem_new");
Mem *wrapped_mem_new(size_t budget_bytes) __asm__("__wrap_weir_mem_new");
void real_mem_free_allocator(Mem *mem) __asm__("__real_weir_mem_free_allocator");
void wrapped_mem_free_allocator(Mem *mem) __asm__("__wrap_weir_mem_free_allocator");

Mem *wrapped_mem_new(size_t budget_bytes)
{
    const bool is_meant = new_until_fault == 1;
    new_until_fault -= new_until_fault > 0;
    const bool is_refused = (is_meant && new_nth == 0) || allocator_count == ALLOCATORS_MAX;
    Mem *mem = is_refused ? NULL : real_mem_new(budget_bytes);
    if (mem != NULL) {
        allocators[allocator_count++] = (Allocator){.mem = mem};
        weir_mem_fail_after(mem, is_meant ? new_nth : 0, false);
    }
    return mem;
}

void wrapped_mem_free_allocator(Mem *mem)
{
    size_t place = 0;
    while (place < allocator_count && allocators[place].mem != mem) {
        place++;
    }
    if (place == allocator_count) {
        printf("an allocator is freed that is not there\n");
        leak_count++;
        return;
    }
    allocators[place] = allocators[--allocator_count];
    if (weir_mem_used(mem) != 0) {
        printf("%zu bytes of an allocator are in use at its end\n", weir_mem_used(mem));
        leak_count++;
        return; /* the bytes may still be freed */
    }
    real_mem_free_allocator(mem);
}

bool fault_attach(Db *db, Text *error)
{
    Error err = {0};
    char text[sizeof(Error) + 64];
    WeirDatabase *database = NULL;
    if (weir_database_attach(db->handle, db_connection(db, 0), false, &database, &err) != WEIR_OK) {
        weir_error_format(&err, text, sizeof text);
        text_clear(error);
        text_add(error, text);
        return false;
    }
    weir_database_unref(database); /* the registered functions hold theirs */
    return true;
}

void fault_count_begin(void)
{
    for (size_t i = 0; i < allocator_count; i++) {
        allocators[i].start = weir_mem_allocation_count(allocators[i].mem);
    }
}

size_t fault_count_end(void)
{
    size_t total = 0;
    for (size_t i = 0; i < allocator_count; i++) {
        allocators[i].count = weir_mem_allocation_count(allocators[i].mem) - allocators[i].start;
        total += allocators[i].count;
    }
    return total;
}

void fault_arm(size_t nth, bool sticky)
{
    for (size_t i = 0; i < allocator_count; i++) {
        if (nth <= allocators[i].count) {
            weir_mem_fail_after(allocators[i].mem, nth, sticky);
            return;
        }
        nth -= allocators[i].count;
    }
}

void fault_arm_new(size_t which, size_t nth)
{
    new_until_fault = which;
    new_nth = nth;
}

void fault_disarm(void)
{
    new_until_fault = 0;
    for (size_t i = 0; i < allocator_count; i++) {
        weir_mem_fail_after(allocators[i].mem, 0, false);
    }
}

size_t fault_leak_count(void)
{
    return leak_count + allocator_count;
}
