/* arena.c: bump allocation in a list of blocks.
 *
 * Blocks form one list; `current` is being filled, those behind it are free and waiting. When an
 * allocation does not fit, the first waiting block that is large enough moves up behind current; if
 * there is none, a new one is made. Under AddressSanitizer everything not handed out is poisoned. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

struct ArenaBlock {
    ArenaBlock *next;
    size_t size; /* bytes behind this head */
};

enum { ARENA_ALIGNMENT = 16, ARENA_DEFAULT_BLOCK_BYTES = 64 * 1024 };

_Static_assert(sizeof(ArenaBlock) == ARENA_ALIGNMENT, "the head keeps the data aligned");

static char *block_data(ArenaBlock *block)
{
    return (char *)(block + 1);
}

void weir_arena_init(Arena *arena, Mem *mem, size_t block_bytes)
{
    WEIR_ASSERT(mem != NULL);
    *arena = (Arena){
        .mem = mem,
        .block_bytes = block_bytes == 0 ? (size_t)ARENA_DEFAULT_BLOCK_BYTES : block_bytes,
    };
}

void weir_arena_deinit(Arena *arena)
{
    ArenaBlock *block = arena->first;
    while (block != NULL) {
        ArenaBlock *next = block->next;
        ASAN_UNPOISON_MEMORY_REGION(block_data(block), block->size);
        weir_mem_free(arena->mem, block);
        block = next;
    }
    *arena = (Arena){0};
}

/* The link that points to the first block behind current. */
static ArenaBlock **waiting_link(Arena *arena)
{
    return arena->current == NULL ? &arena->first : &arena->current->next;
}

/* Moves current to an empty block of at least size bytes. */
static Status enter_next_block(Arena *arena, size_t size, Error *err)
{
    ArenaBlock **const link = waiting_link(arena);
    ArenaBlock **found = link;
    while (*found != NULL && (*found)->size < size) {
        found = &(*found)->next;
    }
    ArenaBlock *block = *found;
    if (block != NULL) {
        *found = block->next;
    } else {
        const size_t data_bytes = WEIR_MAX(size, arena->block_bytes);
        size_t total = 0;
        if (weir_add_size(data_bytes, sizeof *block, &total)) {
            weir_error_set(err, WEIR_ERR_NOMEM, "out of memory: %zu bytes", size);
            return WEIR_ERR_NOMEM;
        }
        block = weir_mem_alloc(arena->mem, total, err);
        if (block == NULL) {
            return WEIR_ERR_NOMEM;
        }
        block->size = data_bytes;
        ASAN_POISON_MEMORY_REGION(block_data(block), block->size);
    }
    block->next = *link;
    *link = block;
    arena->current = block;
    arena->used = 0;
    return WEIR_OK;
}

void *weir_arena_alloc(Arena *arena, size_t size, Error *err)
{
    WEIR_ASSERT(arena->mem != NULL);
    size_t rounded = 0;
    if (weir_add_size(size == 0 ? 1 : size, ARENA_ALIGNMENT - 1, &rounded)) {
        weir_error_set(err, WEIR_ERR_NOMEM, "out of memory: %zu bytes", size);
        return NULL;
    }
    rounded &= ~(size_t)(ARENA_ALIGNMENT - 1);
    if (arena->current == NULL || arena->current->size - arena->used < rounded) {
        if (enter_next_block(arena, rounded, err) != WEIR_OK) {
            return NULL;
        }
    }
    char *place = block_data(arena->current) + arena->used;
    arena->used += rounded;
    ASAN_UNPOISON_MEMORY_REGION(place, size);
    WEIR_ASSERT(arena->used <= arena->current->size);
    return place;
}

void *weir_arena_zalloc(Arena *arena, size_t size, Error *err)
{
    void *place = weir_arena_alloc(arena, size, err);
    if (place != NULL) {
        memset(place, 0, size);
    }
    return place;
}

void *weir_arena_calloc(Arena *arena, size_t count, size_t size, Error *err)
{
    size_t total = 0;
    if (weir_mul_size(count, size, &total)) {
        weir_error_set(err, WEIR_ERR_NOMEM, "out of memory: %zu objects of %zu bytes", count, size);
        return NULL;
    }
    return weir_arena_zalloc(arena, total, err);
}

char *weir_arena_strdup(Arena *arena, const char *text, Error *err)
{
    return weir_arena_strndup(arena, text, strlen(text), err);
}

char *weir_arena_strndup(Arena *arena, const char *text, size_t size, Error *err)
{
    WEIR_ASSERT(size < SIZE_MAX);
    char *copy = weir_arena_alloc(arena, size + 1, err);
    if (copy != NULL) {
        if (size > 0) {
            memcpy(copy, text, size);
        }
        copy[size] = '\0';
    }
    return copy;
}

char *weir_arena_printf(Arena *arena, Error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = NULL;
    if (length < 0) {
        weir_error_set(err, WEIR_ERR_INTERNAL, "cannot format \"%s\"", format);
    } else {
        text = weir_arena_alloc(arena, (size_t)length + 1, err);
    }
    if (text != NULL) {
        const int written = vsnprintf(text, (size_t)length + 1, format, again);
        WEIR_ASSERT(written == length);
        WEIR_UNUSED(written);
    }
    va_end(again);
    return text;
}

ArenaMark weir_arena_mark(const Arena *arena)
{
    return (ArenaMark){.block = arena->current, .used = arena->used};
}

void weir_arena_release(Arena *arena, ArenaMark mark)
{
#ifdef ARENA_ASAN
    ArenaBlock *block = mark.block == NULL ? arena->first : mark.block;
    size_t from = mark.block == NULL ? 0 : mark.used;
    for (; block != NULL; block = block->next) {
        ASAN_POISON_MEMORY_REGION(block_data(block) + from, block->size - from);
        from = 0;
    }
#endif
    arena->current = mark.block;
    arena->used = mark.block == NULL ? 0 : mark.used;
}

void weir_arena_reset(Arena *arena)
{
    weir_arena_release(arena, (ArenaMark){0});
}
