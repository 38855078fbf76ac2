/* slots.c: the slots of blocks: equal expressions share one, in a block and between a block and those
 * around it. */
#include "expr/program_priv.h"

enum { SLOTS_MIN = 16 };

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15) ^ (hash >> 29);
}

uint64_t weir_slot_hash(const Expr *expr)
{
    uint64_t hash = mix((uint64_t)expr->kind, expr->column);
    hash = mix(hash, (uint64_t)expr->compare * 4 + (expr->is_try ? 2 : 0) + expr->is_negated);
    hash = mix(hash, (uint64_t)expr->type->id);
    for (const char *p = expr->name; p != NULL && *p != '\0'; p++) {
        hash = mix(hash, (unsigned char)*p);
    }
    for (size_t i = 0; i < expr->arg_count; i++) {
        hash = mix(hash, weir_slot_hash(expr->args[i]));
    }
    return hash;
}

/* Doubles an array in the evaluator's arena; the old one is left behind. */
static Status grow(Evaluator *ev, void **array, size_t *capacity, size_t size, Error *err)
{
    const size_t wanted = WEIR_MAX(*capacity * 2, (size_t)SLOTS_MIN);
    void *larger = weir_arena_calloc(&ev->arena, wanted, size, err);
    if (larger == NULL) {
        return err->code;
    }
    if (*capacity > 0) {
        memcpy(larger, *array, *capacity * size);
    }
    *array = larger;
    *capacity = wanted;
    return WEIR_OK;
}

Status weir_slot_add(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash, size_t *slot,
                     Error *err)
{
    if (block->slot_count == block->slot_capacity) {
        size_t capacity = block->slot_capacity;
        void *slots = block->slots;
        void *values = block->values;
        WEIR_TRY(grow(ev, &slots, &capacity, sizeof *block->slots, err));
        capacity = block->slot_capacity;
        WEIR_TRY(grow(ev, &values, &capacity, sizeof *block->values, err));
        block->slots = slots;
        block->values = values;
        block->slot_capacity = capacity;
    }
    *slot = block->slot_count++;
    block->slots[*slot] = (Slot){.expr = expr, .hash = hash};
    block->values[*slot] = (Vector){.phys = expr->type->phys};
    return WEIR_OK;
}

Status weir_slot_import(Evaluator *ev, Block *block, Import import, Error *err)
{
    if (block->import_count == block->import_capacity) {
        void *imports = block->imports;
        WEIR_TRY(grow(ev, &imports, &block->import_capacity, sizeof *block->imports, err));
        block->imports = imports;
    }
    block->imports[block->import_count++] = import;
    return WEIR_OK;
}

/* SIZE_MAX if the block itself does not have it. */
static size_t find_in_block(const Block *block, const Expr *expr, uint64_t hash)
{
    for (size_t i = 0; i < block->slot_count; i++) {
        if (block->slots[i].hash == hash && weir_expr_equal(block->slots[i].expr, expr)) {
            return i;
        }
    }
    return SIZE_MAX;
}

bool weir_slot_is_known(const Block *block, const Expr *expr)
{
    const uint64_t hash = weir_slot_hash(expr);
    for (; block != NULL; block = block->outer) {
        if (find_in_block(block, expr, hash) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

/* The slot in this block of what this block or one around it has; SIZE_MAX in *slot if none has. */
Status weir_slot_find(Evaluator *ev, Block *block, const Expr *expr, uint64_t hash, size_t *slot,
                      Error *err)
{
    *slot = find_in_block(block, expr, hash);
    if (*slot != SIZE_MAX || block->outer == NULL) {
        return WEIR_OK;
    }
    size_t outer;
    WEIR_TRY(weir_slot_find(ev, block->outer, expr, hash, &outer, err));
    if (outer == SIZE_MAX) {
        return WEIR_OK;
    }
    WEIR_TRY(weir_slot_add(ev, block, expr, hash, slot, err));
    if (block->outer->slots[outer].is_constant) {
        block->slots[*slot].is_constant = true;
        block->values[*slot] = block->outer->values[outer];
        return WEIR_OK;
    }
    return weir_slot_import(ev, block, (Import){.outer = outer, .slot = *slot}, err);
}

Block *weir_block_new(Evaluator *ev, Block *outer, Error *err)
{
    Block *block = weir_arena_zalloc(&ev->arena, sizeof *block, err);
    if (block == NULL) {
        return NULL;
    }
    block->outer = outer;
    block->last = &block->first;
    block->next = ev->blocks;
    ev->blocks = block;
    return block;
}
