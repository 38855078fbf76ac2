/* column_block.c: columns in few bytes.
 *
 * A number of a column without NULLs: order bits u = value ^ sign bit (for signed types), base =
 * smallest u, kept d = u - base in the width that the largest d needs. Under a NULL stands d = 0. If
 * d needs the type's own width the values are kept as they are, and reading them is no work. Numbers
 * of 16 bytes are kept as they are.
 *
 * Strings of a column: the ends of the strings in the bytes, in 2, 4 or 8 bytes each, then the bytes. */
#include "trace/column_block.h"

/* --- numbers ---------------------------------------------------------------------------------- */

/* For each unsigned type: the range of order bits, and values to differences and back. */
#define NUMBER_KERNELS(name, type)                                                                \
    static void name##_range(const type *restrict values, size_t count, type sign, uint64_t *low, \
                             uint64_t *high)                                                      \
    {                                                                                             \
        type least = (type)(values[0] ^ sign);                                                    \
        type most = least;                                                                        \
        for (size_t i = 1; i < count; i++) {                                                      \
            const type order = (type)(values[i] ^ sign);                                          \
            least = order < least ? order : least;                                                \
            most = order > most ? order : most;                                                   \
        }                                                                                         \
        *low = least;                                                                             \
        *high = most;                                                                             \
    }                                                                                             \
    static void name##_replace_nulls(const type *restrict values, const uint64_t *validity,       \
                                     size_t count, type *restrict out)                            \
    {                                                                                             \
        type last = 0;                                                                            \
        for (size_t i = 0; i < count; i++) {                                                      \
            if (weir_validity_get(validity, i)) {                                                 \
                last = values[i];                                                                 \
                break;                                                                            \
            }                                                                                     \
        }                                                                                         \
        for (size_t i = 0; i < count; i++) {                                                      \
            last = weir_validity_get(validity, i) ? values[i] : last;                             \
            out[i] = last;                                                                        \
        }                                                                                         \
    }

NUMBER_KERNELS(u8, uint8_t)
NUMBER_KERNELS(u16, uint16_t)
NUMBER_KERNELS(u32, uint32_t)
NUMBER_KERNELS(u64, uint64_t)
#undef NUMBER_KERNELS

/* From a wide type to a narrow one and back. */
#define WIDTH_KERNELS(name, wide, narrow)                                                      \
    static void name##_narrow(const wide *restrict values, size_t count, wide sign, wide base, \
                              narrow *restrict out)                                            \
    {                                                                                          \
        for (size_t i = 0; i < count; i++) {                                                   \
            out[i] = (narrow)((wide)(values[i] ^ sign) - base);                                \
        }                                                                                      \
    }                                                                                          \
    static void name##_widen(const narrow *restrict kept, size_t count, wide sign, wide base,  \
                             wide *restrict out)                                               \
    {                                                                                          \
        for (size_t i = 0; i < count; i++) {                                                   \
            out[i] = (wide)((wide)(base + kept[i]) ^ sign);                                    \
        }                                                                                      \
    }

WIDTH_KERNELS(u64_u8, uint64_t, uint8_t)
WIDTH_KERNELS(u64_u16, uint64_t, uint16_t)
WIDTH_KERNELS(u64_u32, uint64_t, uint32_t)
WIDTH_KERNELS(u32_u8, uint32_t, uint8_t)
WIDTH_KERNELS(u32_u16, uint32_t, uint16_t)
WIDTH_KERNELS(u16_u8, uint16_t, uint8_t)
#undef WIDTH_KERNELS

/* The bit whose flip turns the order of the type into that of unsigned numbers. */
static uint64_t sign_bit(PhysType phys)
{
    switch (phys) {
    case PHYS_I8: return UINT64_C(1) << 7;
    case PHYS_I16: return UINT64_C(1) << 15;
    case PHYS_I32: return UINT64_C(1) << 31;
    case PHYS_I64: return UINT64_C(1) << 63;
    case PHYS_U8:
    case PHYS_U16:
    case PHYS_U32:
    case PHYS_U64:
    case PHYS_F32:
    case PHYS_F64:
    case PHYS_I128:
    case PHYS_U128:
    case PHYS_INTERVAL:
    case PHYS_STRING:
    case PHYS_COUNT: break;
    }
    return 0;
}

static void number_range(const void *values, size_t width, size_t count, uint64_t sign,
                         uint64_t *low, uint64_t *high)
{
    switch (width) {
    case 1: u8_range(values, count, (uint8_t)sign, low, high); break;
    case 2: u16_range(values, count, (uint16_t)sign, low, high); break;
    case 4: u32_range(values, count, (uint32_t)sign, low, high); break;
    default: u64_range(values, count, sign, low, high); break;
    }
}

/* out = the values, with that of a neighbour under each NULL. */
static void replace_nulls(const void *values, const uint64_t *validity, size_t width, size_t count,
                          void *out)
{
    switch (width) {
    case 1: u8_replace_nulls(values, validity, count, out); break;
    case 2: u16_replace_nulls(values, validity, count, out); break;
    case 4: u32_replace_nulls(values, validity, count, out); break;
    default: u64_replace_nulls(values, validity, count, out); break;
    }
}

static uint8_t width_for(uint64_t range)
{
    if (range == 0) {
        return 0;
    }
    if (range <= UINT8_MAX) {
        return 1;
    }
    return range <= UINT16_MAX ? 2 : range <= UINT32_MAX ? 4 : 8;
}

/* A case for each pair of widths. */
#define PAIR(wide, narrow) ((wide)*16 + (narrow))

static void number_narrow(const void *values, size_t wide, size_t count, uint64_t sign,
                          uint64_t base, size_t narrow, void *out)
{
    switch (PAIR(wide, narrow)) {
    case PAIR(8, 1): u64_u8_narrow(values, count, sign, base, out); break;
    case PAIR(8, 2): u64_u16_narrow(values, count, sign, base, out); break;
    case PAIR(8, 4): u64_u32_narrow(values, count, sign, base, out); break;
    case PAIR(4, 1): u32_u8_narrow(values, count, (uint32_t)sign, (uint32_t)base, out); break;
    case PAIR(4, 2): u32_u16_narrow(values, count, (uint32_t)sign, (uint32_t)base, out); break;
    default:
        WEIR_ASSERT(PAIR(wide, narrow) == PAIR(2, 1));
        u16_u8_narrow(values, count, (uint16_t)sign, (uint16_t)base, out);
        break;
    }
}

static void number_widen(const void *kept, size_t narrow, size_t count, uint64_t sign,
                         uint64_t base, size_t wide, void *out)
{
    switch (PAIR(wide, narrow)) {
    case PAIR(8, 1): u64_u8_widen(kept, count, sign, base, out); break;
    case PAIR(8, 2): u64_u16_widen(kept, count, sign, base, out); break;
    case PAIR(8, 4): u64_u32_widen(kept, count, sign, base, out); break;
    case PAIR(4, 1): u32_u8_widen(kept, count, (uint32_t)sign, (uint32_t)base, out); break;
    case PAIR(4, 2): u32_u16_widen(kept, count, (uint32_t)sign, (uint32_t)base, out); break;
    default:
        WEIR_ASSERT(PAIR(wide, narrow) == PAIR(2, 1));
        u16_u8_widen(kept, count, (uint16_t)sign, (uint16_t)base, out);
        break;
    }
}
#undef PAIR

/* --- packing ---------------------------------------------------------------------------------- */

/* NULL with err filled on failure. */
static void *take_piece(RowStore *store, size_t size, RowRef *ref, Error *err)
{
    Row *row = NULL;
    if (size > UINT32_MAX) {
        weir_error_set(err, WEIR_ERR_LIMIT, "%d neighbouring values of more than 4 GB",
                       (int)BATCH_CAPACITY);
        return NULL;
    }
    return weir_row_store_alloc(store, NULL, size, 1, ref, &row, err) == WEIR_OK ? row : NULL;
}

static size_t validity_bytes(size_t count)
{
    return (count + 63) / 64 * sizeof(uint64_t);
}

static Status pack_numbers(RowStore *store, const Vector *column, size_t count, ColumnPiece *piece,
                           Error *err)
{
    uint64_t replaced[BATCH_CAPACITY];
    const size_t wide = weir_phys_width(column->phys);
    const uint64_t sign = sign_bit(column->phys);
    const void *values = column->data;
    replaced[0] = 0; /* for compilers that do not know that there is a row */
    if (piece->validity != 0) {
        replace_nulls(values, column->validity, wide, count, replaced);
        values = replaced;
    }
    uint64_t high = 0;
    number_range(values, wide, count, sign, &piece->base, &high);
    piece->width = width_for(high - piece->base);
    if (piece->width == 0) {
        return WEIR_OK;
    }
    piece->size = (uint32_t)(count * piece->width);
    void *out = take_piece(store, piece->size, &piece->values, err);
    if (out == NULL) {
        return err->code;
    }
    if (piece->width == wide) {
        memcpy(out, values, piece->size);
    } else {
        number_narrow(values, wide, count, sign, piece->base, piece->width, out);
    }
    return WEIR_OK;
}

static Status pack_wide(RowStore *store, const Vector *column, size_t count, ColumnPiece *piece,
                        Error *err)
{
    enum { WIDTH = 16 };
    piece->width = WIDTH;
    piece->size = (uint32_t)(count * WIDTH);
    void *out = take_piece(store, piece->size, &piece->values, err);
    if (out == NULL) {
        return err->code;
    }
    memcpy(out, column->data, piece->size);
    for (size_t i = 0; piece->validity != 0 && i < count; i++) {
        if (!weir_validity_get(column->validity, i)) {
            memset((char *)out + i * WIDTH, 0, WIDTH);
        }
    }
    return WEIR_OK;
}

static void put_end(void *ends, size_t width, size_t i, uint64_t end)
{
    switch (width) {
    case 2: ((uint16_t *)ends)[i] = (uint16_t)end; break;
    case 4: ((uint32_t *)ends)[i] = (uint32_t)end; break;
    default: ((uint64_t *)ends)[i] = end; break;
    }
}

static Status pack_strings(RowStore *store, const Vector *column, size_t count, ColumnPiece *piece,
                           Error *err)
{
    const String *const strings = column->data;
    const uint64_t *const validity = piece->validity == 0 ? NULL : column->validity;
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += weir_validity_get(validity, i) ? weir_string_size(&strings[i]) : 0;
    }
    if (total == 0) {
        return WEIR_OK;
    }
    piece->width = (uint8_t)WEIR_MAX(width_for(total), 2);
    const size_t size = count * piece->width + total;
    void *out = take_piece(store, size, &piece->values, err);
    if (out == NULL) {
        return err->code;
    }
    piece->size = (uint32_t)size;
    char *const bytes = (char *)out + count * piece->width;
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (weir_validity_get(validity, i)) {
            const size_t length = weir_string_size(&strings[i]);
            memcpy(bytes + end, weir_string_data(&strings[i]), length);
            end += length;
        }
        put_end(out, piece->width, i, end);
    }
    return WEIR_OK;
}

static bool has_null(const uint64_t *validity, size_t count)
{
    for (size_t i = 0; validity != NULL && i < count; i += 64) {
        const uint64_t used = count - i >= 64 ? UINT64_MAX : (UINT64_C(1) << (count - i)) - 1;
        if ((~validity[i / 64] & used) != 0) {
            return true;
        }
    }
    return false;
}

static Status pack_column(RowStore *store, const Vector *column, size_t count, ColumnPiece *piece,
                          Error *err)
{
    WEIR_ASSERT(!column->is_constant);
    if (has_null(column->validity, count)) {
        void *out = take_piece(store, validity_bytes(count), &piece->validity, err);
        if (out == NULL) {
            return err->code;
        }
        memcpy(out, column->validity, validity_bytes(count));
    }
    if (column->phys == PHYS_STRING) {
        return pack_strings(store, column, count, piece, err);
    }
    return weir_phys_width(column->phys) == 16 ? pack_wide(store, column, count, piece, err)
                                               : pack_numbers(store, column, count, piece, err);
}

Status weir_column_block_pack(RowStore *store, const Batch *batch, ColumnBlock *out, Error *err)
{
    WEIR_ASSERT(batch->count > 0 && batch->count <= BATCH_CAPACITY);
    ColumnBlock block = {.count = (uint32_t)batch->count};
    Status status = WEIR_OK;
    if (batch->column_count > 0) {
        block.pieces = weir_mem_calloc(store->mem, batch->column_count, sizeof *block.pieces, err);
        if (block.pieces == NULL) {
            return err->code;
        }
    }
    for (size_t c = 0; c < batch->column_count && status == WEIR_OK; c++) {
        status = pack_column(store, &batch->columns[c], batch->count, &block.pieces[c], err);
    }
    if (status != WEIR_OK) {
        weir_column_block_free(store, &block, batch->column_count);
        return status;
    }
    *out = block;
    return WEIR_OK;
}

void weir_column_block_free(RowStore *store, ColumnBlock *block, size_t column_count)
{
    for (size_t c = 0; block->pieces != NULL && c < column_count; c++) {
        const ColumnPiece *const piece = &block->pieces[c];
        if (piece->values != 0) {
            weir_row_store_cancel(store, piece->values, piece->size);
        }
        if (piece->validity != 0) {
            weir_row_store_cancel(store, piece->validity, validity_bytes(block->count));
        }
    }
    weir_mem_free(store->mem, block->pieces);
    *block = (ColumnBlock){0};
}

size_t weir_column_block_bytes(size_t column_count)
{
    return column_count * sizeof(ColumnPiece);
}

/* --- reading ---------------------------------------------------------------------------------- */

Status weir_column_reader_init(ColumnReader *reader, const Schema *schema, Arena *arena, Error *err)
{
    *reader = (ColumnReader){0};
    WEIR_TRY(weir_batch_new(arena, schema, &reader->batch, err));
    reader->values = weir_arena_calloc(arena, schema->count, sizeof(void *), err);
    if (reader->values == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < schema->count; c++) {
        reader->values[c] = reader->batch->columns[c].data;
    }
    reader->batch->weights = NULL;
    return WEIR_OK;
}

static uint64_t get_end(const void *ends, size_t width, size_t i)
{
    switch (width) {
    case 2: return ((const uint16_t *)ends)[i];
    case 4: return ((const uint32_t *)ends)[i];
    default: return ((const uint64_t *)ends)[i];
    }
}

static void read_strings(const RowStore *store, const ColumnPiece *piece, size_t count,
                         String *strings)
{
    if (piece->values == 0) {
        memset(strings, 0, count * sizeof *strings);
        return;
    }
    const char *const ends = (const char *)weir_row_at(store, piece->values);
    const char *const bytes = ends + count * piece->width;
    uint64_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t end = get_end(ends, piece->width, i);
        strings[i] = weir_string_make(bytes + begin, (size_t)(end - begin));
        begin = end;
    }
}

/* Fills the buffer, or points into the store. */
static void *read_numbers(const RowStore *store, const ColumnPiece *piece, PhysType phys,
                          size_t count, void *buffer)
{
    const size_t wide = weir_phys_width(phys);
    if (piece->width == wide) {
        return weir_row_at(store, piece->values);
    }
    const uint64_t sign = sign_bit(phys);
    if (piece->values != 0) {
        number_widen(weir_row_at(store, piece->values), piece->width, count, sign, piece->base,
                     wide, buffer);
        return buffer;
    }
    const uint64_t value = piece->base ^ sign; /* little endian: its first bytes */
    switch (wide) {
    case 1: memset(buffer, (int)value, count); break;
    case 2:
        for (size_t i = 0; i < count; i++) {
            ((uint16_t *)buffer)[i] = (uint16_t)value;
        }
        break;
    case 4:
        for (size_t i = 0; i < count; i++) {
            ((uint32_t *)buffer)[i] = (uint32_t)value;
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            ((uint64_t *)buffer)[i] = value;
        }
        break;
    }
    return buffer;
}

const Batch *weir_column_block_read(ColumnReader *reader, const RowStore *store,
                                    const ColumnBlock *block)
{
    Batch *const batch = reader->batch;
    batch->count = block->count;
    for (size_t c = 0; c < batch->column_count; c++) {
        const ColumnPiece *const piece = &block->pieces[c];
        Vector *const column = &batch->columns[c];
        column->data = reader->values[c];
        column->validity =
            piece->validity == 0 ? NULL : (uint64_t *)(void *)weir_row_at(store, piece->validity);
        if (column->phys == PHYS_STRING) {
            read_strings(store, piece, block->count, column->data);
        } else {
            column->data =
                read_numbers(store, piece, column->phys, block->count, reader->values[c]);
        }
    }
    return batch;
}

bool weir_column_block_pick(const RowStore *store, const ColumnPiece *piece, PhysType phys,
                            const ColumnBlock *block, size_t row, void *value)
{
    WEIR_ASSERT(row < block->count);
    if (piece->validity != 0 &&
        !weir_validity_get((uint64_t *)(void *)weir_row_at(store, piece->validity), row)) {
        return false;
    }
    const size_t wide = weir_phys_width(phys);
    const char *const kept =
        piece->values == 0 ? NULL : (const char *)weir_row_at(store, piece->values);
    if (phys == PHYS_STRING) {
        const uint64_t begin = kept == NULL || row == 0 ? 0 : get_end(kept, piece->width, row - 1);
        const uint64_t end = kept == NULL ? 0 : get_end(kept, piece->width, row);
        const char *const bytes =
            kept == NULL ? "" : kept + (size_t)block->count * piece->width + begin;
        const String string = weir_string_make(bytes, (size_t)(end - begin));
        memcpy(value, &string, sizeof string);
    } else if (kept != NULL && piece->width == wide) {
        memcpy(value, kept + row * wide, wide);
    } else {
        uint64_t difference = 0; /* little endian, as the value */
        if (kept != NULL) {
            memcpy(&difference, kept + row * piece->width, piece->width);
        }
        const uint64_t number = (piece->base + difference) ^ sign_bit(phys);
        memcpy(value, &number, wide);
    }
    return true;
}
