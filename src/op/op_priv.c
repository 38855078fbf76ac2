/* op_priv.c: helpers of several operators. */
#include "op/op_priv.h"

/* A type with the same bytes whose equality is equality of bytes. */
static TypeId raw_type(PhysType phys)
{
    switch (phys) {
    case PHYS_I8: return TYPE_TINYINT;
    case PHYS_I16: return TYPE_SMALLINT;
    case PHYS_I32:
    case PHYS_F32: return TYPE_INTEGER;
    case PHYS_I64:
    case PHYS_F64: return TYPE_BIGINT;
    case PHYS_I128:
    case PHYS_INTERVAL: return TYPE_HUGEINT;
    case PHYS_U8: return TYPE_UTINYINT;
    case PHYS_U16: return TYPE_USMALLINT;
    case PHYS_U32: return TYPE_UINTEGER;
    case PHYS_U64: return TYPE_UBIGINT;
    case PHYS_U128: return TYPE_UHUGEINT;
    case PHYS_STRING:
    case PHYS_COUNT: return TYPE_BLOB;
    }
    return TYPE_BLOB;
}

Status weir_op_raw_keys(const Batch *batch, Arena *arena, const Vector *const **out, Error *err)
{
    const size_t count = batch->column_count;
    Vector *columns = weir_arena_calloc(arena, count, sizeof *columns, err);
    const Vector **pointers =
        columns == NULL ? NULL : weir_arena_calloc(arena, count, sizeof(const Vector *), err);
    if (pointers == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        Vector raw = batch->columns[i];
        const LogicalType *type = weir_type_simple(raw_type(raw.phys));
        raw.phys = type->phys;
        WEIR_TRY(weir_vector_normalise(&raw, type, batch->count, arena, &columns[i], err));
        columns[i].phys = batch->columns[i].phys;
        pointers[i] = &columns[i];
    }
    *out = pointers;
    return WEIR_OK;
}

PhysType *weir_op_phys_types(const Schema *schema, Mem *mem, Error *err)
{
    PhysType *types = weir_mem_calloc(mem, schema->count, sizeof *types, err);
    if (types == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < schema->count; i++) {
        types[i] = schema->types[i]->phys;
    }
    return types;
}

#define ONES_8 1, 1, 1, 1, 1, 1, 1, 1
#define ONES_64 ONES_8, ONES_8, ONES_8, ONES_8, ONES_8, ONES_8, ONES_8, ONES_8
#define ONES_512 ONES_64, ONES_64, ONES_64, ONES_64, ONES_64, ONES_64, ONES_64, ONES_64

static const int64_t ones[] = {ONES_512, ONES_512, ONES_512, ONES_512};

_Static_assert(WEIR_ARRAY_COUNT(ones) == BATCH_CAPACITY, "one weight a row");

const int64_t *weir_op_weights(const Batch *batch)
{
    return batch->weights == NULL ? ones : batch->weights;
}
