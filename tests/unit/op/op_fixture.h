/* op_fixture.h: circuits, random Z-sets and their contents as text, for tests of operators. */
#ifndef WEIR_TESTS_OP_FIXTURE_H
#define WEIR_TESTS_OP_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "op/op.h"
#include "op/sink.h"

typedef struct Fixture {
    Mem *mem;
    PagePool *pool;
    Arena plan; /* types, expressions, specs, Z-sets */
    Arena step; /* batches */
    CircuitEnv env;
    Error err;
    uint64_t random;
} Fixture;

/* Ends the test if an allocation of the test itself failed; says so to compilers and linters, which
 * do not know that a failed assertion does not return. */
static inline void *need(void *pointer)
{
    if (pointer == NULL) {
        fail_msg("out of memory");
        __builtin_unreachable();
    }
    return pointer;
}

static inline Fixture *fixture_of(void **state)
{
    return *state;
}

static inline int fixture_setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->mem = weir_mem_new(0);
    assert_non_null(f->mem);
    f->pool = weir_page_pool_new(f->mem, &f->err);
    assert_non_null(f->pool);
    weir_arena_init(&f->plan, f->mem, 0);
    weir_arena_init(&f->step, f->mem, 0);
    f->env = (CircuitEnv){.mem = f->mem, .pool = f->pool};
    f->random = 1;
    *state = f;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    Fixture *f = *state;
    weir_arena_deinit(&f->plan);
    weir_arena_deinit(&f->step);
    weir_page_pool_free(f->pool);
    assert_int_equal(weir_mem_used(f->mem), 0);
    weir_mem_free_allocator(f->mem);
    free(f);
    return 0;
}

static inline void must(const Fixture *f, Status status)
{
    if (status != WEIR_OK) {
        fail_msg("%d: %s", status, f->err.message);
    }
}

static inline uint64_t next_random(Fixture *f)
{
    f->random += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = f->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline size_t below(Fixture *f, size_t bound)
{
    return (size_t)(next_random(f) % bound);
}

/* --- schemas --------------------------------------------------------------------------------- */

static inline const Schema *schema_of_types(Fixture *f, const LogicalType *const *types,
                                            size_t count)
{
    Schema *schema = need(weir_arena_zalloc(&f->plan, sizeof *schema, &f->err));
    const LogicalType **copy =
        need(weir_arena_calloc(&f->plan, count, sizeof(const LogicalType *), &f->err));
    for (size_t i = 0; i < count; i++) {
        copy[i] = types[i];
    }
    *schema = (Schema){.count = count, .types = copy};
    return schema;
}

/* --- Z-sets ---------------------------------------------------------------------------------- */

typedef struct Cell {
    bool is_null;
    unsigned char bytes[16]; /* as in a vector */
} Cell;

typedef struct ZSet {
    const Schema *schema;
    size_t count;
    size_t capacity;
    Cell *cells; /* row by row; lives in plan */
    int64_t *weights;
} ZSet;

static inline ZSet *zset_new(Fixture *f, const Schema *schema)
{
    ZSet *set = weir_arena_zalloc(&f->plan, sizeof *set, &f->err);
    assert_non_null(set);
    set->schema = schema;
    return set;
}

static inline Cell *zset_row(const ZSet *set, size_t row)
{
    return set->cells + row * set->schema->count;
}

/* A new row, all NULL. */
static inline Cell *zset_add(Fixture *f, ZSet *set, int64_t weight)
{
    const size_t width = set->schema->count;
    if (set->count == set->capacity) {
        const size_t capacity = set->capacity == 0 ? 64 : 2 * set->capacity;
        Cell *cells =
            need(weir_arena_calloc(&f->plan, capacity * width + 1, sizeof *cells, &f->err));
        int64_t *weights = need(weir_arena_calloc(&f->plan, capacity, sizeof *weights, &f->err));
        if (set->cells != NULL) {
            memcpy(cells, set->cells, set->count * width * sizeof *cells);
            memcpy(weights, set->weights, set->count * sizeof *weights);
        }
        set->cells = cells;
        set->weights = weights;
        set->capacity = capacity;
    }
    set->weights[set->count] = weight;
    set->count++;
    Cell *row = zset_row(set, set->count - 1);
    for (size_t i = 0; i < width; i++) {
        row[i].is_null = true;
    }
    return row;
}

static inline void zset_add_row(Fixture *f, ZSet *set, const Cell *row, int64_t weight)
{
    Cell *copy = zset_add(f, set, weight);
    memcpy(copy, row, set->schema->count * sizeof *row);
}

static inline Cell cell_of(const void *bytes, size_t size)
{
    Cell cell = {.is_null = false};
    memcpy(cell.bytes, bytes, size);
    return cell;
}

static inline Cell cell_i32(int32_t value)
{
    return cell_of(&value, sizeof value);
}

static inline Cell cell_i64(int64_t value)
{
    return cell_of(&value, sizeof value);
}

static inline Cell cell_f64(double value)
{
    return cell_of(&value, sizeof value);
}

static inline Cell cell_bool(bool value)
{
    const uint8_t byte = value;
    return cell_of(&byte, 1);
}

static inline Cell cell_text(Fixture *f, const char *text)
{
    char *copy = weir_arena_strdup(&f->plan, text, &f->err);
    assert_non_null(copy);
    const String string = weir_string_make(copy, strlen(copy));
    return cell_of(&string, sizeof string);
}

static inline Cell cell_null(void)
{
    return (Cell){.is_null = true};
}

/* Values from a small domain, so that they repeat; one in eight is NULL. */
static inline Cell random_cell(Fixture *f, const LogicalType *type)
{
    if (below(f, 8) == 0) {
        return cell_null();
    }
    static const double doubles[] = {0.0, -0.0, 1.5,   -2.25, 1e300, -1e300, 1e-300, 0.1,     0.2,
                                     0.3, 1e16, -1e16, 3.0,   NAN,   -1.0,   4e-320, INFINITY};
    static const char *const texts[] = {"",
                                        "a",
                                        "ab",
                                        "twelve bytes",
                                        "thirteen byte",
                                        "a rather long string that lives in the tail of rows",
                                        "a rather long string that lives in the tail of rowz",
                                        "b"};
    const int64_t number = (int64_t)below(f, 12) - 4;
    switch (type->phys) {
    case PHYS_STRING: return cell_text(f, texts[below(f, WEIR_ARRAY_COUNT(texts))]);
    case PHYS_F64: return cell_f64(doubles[below(f, WEIR_ARRAY_COUNT(doubles))]);
    case PHYS_F32: {
        const float value = (float)doubles[below(f, 4)];
        return cell_of(&value, sizeof value);
    }
    case PHYS_INTERVAL: {
        const Interval value = {.months = (int32_t)below(f, 2), .days = 30 * (int32_t)below(f, 2)};
        return cell_of(&value, sizeof value);
    }
    case PHYS_U8:
        return type->id == TYPE_BOOLEAN ? cell_bool(below(f, 2) == 0)
                                        : cell_i64((int64_t)below(f, 9));
    case PHYS_U16:
    case PHYS_U32:
    case PHYS_U64:
    case PHYS_U128: {
        const i128 value = (i128)below(f, 9);
        return cell_of(&value, sizeof value);
    }
    case PHYS_I8:
    case PHYS_I16:
    case PHYS_I32:
    case PHYS_I64:
    case PHYS_I128:
    case PHYS_COUNT: break;
    }
    const i128 value = number;
    return cell_of(&value, sizeof value);
}

static inline Cell *zset_add_random(Fixture *f, ZSet *set, int64_t weight)
{
    Cell *row = zset_add(f, set, weight);
    for (size_t i = 0; i < set->schema->count; i++) {
        row[i] = random_cell(f, set->schema->types[i]);
    }
    return row;
}

static inline void zset_shuffle(Fixture *f, ZSet *set)
{
    for (size_t i = set->count; i > 1; i--) {
        const size_t k = below(f, i);
        for (size_t c = 0; c < set->schema->count; c++) {
            const Cell swapped = zset_row(set, i - 1)[c];
            zset_row(set, i - 1)[c] = zset_row(set, k)[c];
            zset_row(set, k)[c] = swapped;
        }
        const int64_t weight = set->weights[i - 1];
        set->weights[i - 1] = set->weights[k];
        set->weights[k] = weight;
    }
}

/* Rows [first, first + count) as a batch in the step arena; garbage under NULLs. */
static inline Status zset_batch(Fixture *f, const ZSet *set, size_t first, size_t count, Batch *out)
{
    const size_t width = set->schema->count;
    Vector *columns = weir_arena_calloc(&f->step, width, sizeof *columns, &f->err);
    if (columns == NULL) {
        return f->err.code;
    }
    for (size_t c = 0; c < width; c++) {
        const PhysType phys = set->schema->types[c]->phys;
        const size_t size = weir_phys_width(phys);
        WEIR_TRY(weir_vector_init(&columns[c], phys, count, &f->step, &f->err));
        for (size_t i = 0; i < count; i++) {
            const Cell *cell = &zset_row(set, first + i)[c];
            char *slot = (char *)columns[c].data + i * size;
            memcpy(slot, cell->bytes, size);
            if (cell->is_null) {
                WEIR_TRY(weir_vector_add_validity(&columns[c], count, &f->step, &f->err));
                weir_validity_set_null(columns[c].validity, i);
                memset(slot, phys == PHYS_STRING ? 0 : 0x5A, size);
            }
        }
    }
    *out = (Batch){
        .count = count,
        .column_count = width,
        .columns = columns,
        .weights = set->weights + first,
    };
    return WEIR_OK;
}

/* Pushes the whole set in batches of random sizes. */
static inline Status zset_push(Fixture *f, const ZSet *set, Circuit *circuit, Op *source)
{
    size_t count = 0;
    for (size_t i = 0; i < set->count; i += count) {
        const size_t limit = below(f, 3) == 0 ? 5 : BATCH_CAPACITY;
        const size_t wanted = 1 + below(f, limit);
        count = WEIR_MIN(wanted, set->count - i);
        const ArenaMark mark = weir_arena_mark(&f->step);
        Batch batch = {0};
        Status status = zset_batch(f, set, i, count, &batch);
        if (status == WEIR_OK) {
            status = weir_circuit_push(circuit, source, &batch, &f->err);
        }
        weir_arena_release(&f->step, mark);
        WEIR_TRY(status);
    }
    return WEIR_OK;
}

/* --- contents as text ------------------------------------------------------------------------ */

static inline void put_value(Buf *out, const Vector *column, size_t row)
{
    if (weir_vector_is_null(column, row)) {
        weir_buf_puts(out, "NULL");
        return;
    }
    const size_t width = weir_phys_width(column->phys);
    unsigned char bytes[16] = {0};
    memcpy(bytes, (const char *)column->data + row * width, width);
    double f64;
    String string;
    i128 number = 0;
    switch (column->phys) {
    case PHYS_STRING:
        memcpy(&string, bytes, sizeof string);
        weir_buf_printf(out, "'%.*s'", (int)weir_string_size(&string), weir_string_data(&string));
        return;
    case PHYS_F64:
        memcpy(&f64, bytes, sizeof f64);
        weir_buf_printf(out, "%a", f64);
        return;
    case PHYS_I8:
    case PHYS_I16:
    case PHYS_I32:
    case PHYS_I64:
        memcpy(&number, bytes, width);
        number = (i128)((u128)number << (128 - 8 * width)) >> (128 - 8 * width);
        weir_buf_printf(out, "%lld", (long long)number);
        return;
    case PHYS_I128:
        memcpy(&number, bytes, width);
        if (number == (int64_t)number) {
            weir_buf_printf(out, "%lld", (long long)number);
            return;
        }
        break;
    case PHYS_U8:
    case PHYS_U16:
    case PHYS_U32:
    case PHYS_U64:
        memcpy(&number, bytes, width);
        weir_buf_printf(out, "%llu", (unsigned long long)number);
        return;
    case PHYS_U128:
    case PHYS_F32:
    case PHYS_INTERVAL:
    case PHYS_COUNT: break;
    }
    for (size_t i = 0; i < width; i++) {
        weir_buf_printf(out, "%02x", bytes[width - 1 - i]);
    }
}

typedef struct TextLine {
    const char *text;
    int64_t weight;
} TextLine;

static inline int compare_lines(const void *a, const void *b)
{
    return strcmp(((const TextLine *)a)->text, ((const TextLine *)b)->text);
}

/* The sink's rows in normal form, "value|value x weight", sorted; lives in plan. Equal values that
 * look different in the sink (0.0, -0.0) are one line. */
static inline const char *contents(Fixture *f, Op *sink)
{
    RowTable *table = weir_sink_table(sink);
    const Schema *schema = &sink->schema;
    TextLine *lines = weir_arena_calloc(&f->plan, table->row_count + 1, sizeof *lines, &f->err);
    assert_non_null(lines);
    size_t count = 0;
    uint64_t cursor = 0;
    Row *row = NULL;
    Buf text;
    weir_buf_init(&text, f->mem, (size_t)1 << 30);
    while (weir_row_table_scan(table, &cursor, &row, 1) > 0) {
        weir_buf_clear(&text);
        weir_buf_puts(&text, "");
        for (size_t c = 0; c < schema->count; c++) {
            const ArenaMark mark = weir_arena_mark(&f->step);
            Vector raw;
            Vector normal;
            uint64_t validity[VECTOR_VALIDITY_WORDS];
            must(f, weir_vector_init(&raw, schema->types[c]->phys, 1, &f->step, &f->err));
            weir_row_unpack(&table->layout, &row, 1, c, &raw, validity);
            must(f, weir_vector_normalise(&raw, schema->types[c], 1, &f->step, &normal, &f->err));
            weir_buf_puts(&text, c == 0 ? "" : "|");
            put_value(&text, &normal, 0);
            weir_arena_release(&f->step, mark);
        }
        must(f, weir_buf_status(&text, &f->err));
        lines[count].text =
            weir_arena_strdup(&f->plan, text.data == NULL ? "" : text.data, &f->err);
        lines[count].weight = weir_row_weight(row);
        assert_true(lines[count].weight > 0);
        count++;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    weir_buf_clear(&text);
    weir_buf_puts(&text, "");
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && compare_lines(&lines[i], &lines[i + 1]) == 0) {
            lines[i + 1].weight += lines[i].weight;
            continue;
        }
        weir_buf_printf(&text, "%s x%lld\n", lines[i].text, (long long)lines[i].weight);
    }
    must(f, weir_buf_status(&text, &f->err));
    const char *result = weir_arena_strdup(&f->plan, text.data == NULL ? "" : text.data, &f->err);
    weir_buf_deinit(&text);
    return result;
}

#endif
