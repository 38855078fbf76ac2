/* arena.h: bump allocation with stack discipline.
 *
 * A scratch arena lives as long as its owner; a user takes a mark, allocates, and releases the
 * mark, which gives back everything allocated since. Blocks are kept for reuse, so that a steady
 * state allocates nothing from the system. Not safe for several threads. */
#ifndef WEIR_BASE_ARENA_H
#define WEIR_BASE_ARENA_H

#include "base/mem.h"

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    Mem *mem;            /* borrowed */
    ArenaBlock *first;   /* owned list */
    ArenaBlock *current; /* the block being filled; NULL = before the first */
    size_t used;         /* bytes used in current */
    size_t block_bytes;  /* size of a normal block */
} Arena;

typedef struct ArenaMark {
    ArenaBlock *block;
    size_t used;
} ArenaMark;

/* Never fails: allocates at first use. block_bytes 0 = a default. */
void weir_arena_init(Arena *arena, Mem *mem, size_t block_bytes);
void weir_arena_deinit(Arena *arena);

/* 16-byte aligned; NULL with err filled on failure. */
void *weir_arena_alloc(Arena *arena, size_t size, Error *err) WEIR_MUST_CHECK;
void *weir_arena_zalloc(Arena *arena, size_t size, Error *err) WEIR_MUST_CHECK;
void *weir_arena_calloc(Arena *arena, size_t count, size_t size, Error *err) WEIR_MUST_CHECK;
char *weir_arena_strdup(Arena *arena, const char *text, Error *err) WEIR_MUST_CHECK;
char *weir_arena_strndup(Arena *arena, const char *text, size_t size, Error *err) WEIR_MUST_CHECK;
char *weir_arena_printf(Arena *arena, Error *err, const char *format, ...) WEIR_PRINTF(3, 4)
    WEIR_MUST_CHECK;

ArenaMark weir_arena_mark(const Arena *arena);
void weir_arena_release(Arena *arena, ArenaMark mark);

/* Gives back everything; blocks are kept. */
void weir_arena_reset(Arena *arena);

#endif
