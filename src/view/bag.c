/* bag.c: adding to, walking and subtracting Z-sets kept in row tables. */
#include "view/bag.h"

#include "base/checked.h"

/* Subtracts the first `count` rows of the batch again. */
static void take_back(Row *const *rows, const Batch *batch, size_t count, int64_t sign)
{
    for (size_t i = 0; i < count; i++) {
        weir_row_set_weight(rows[i], weir_row_weight(rows[i]) - sign * weir_batch_weight(batch, i));
    }
}

Status weir_bag_add(RowTable *bag, const Batch *batch, int64_t sign, Error *err)
{
    const Vector *columns[ROW_MAX_COLUMNS];
    Row *rows[BATCH_CAPACITY];
    WEIR_ASSERT(batch->column_count <= ROW_MAX_COLUMNS);
    for (size_t i = 0; i < batch->column_count; i++) {
        columns[i] = &batch->columns[i];
    }
    WEIR_TRY(weir_row_table_upsert(bag, columns, batch->count, rows, NULL, err));
    for (size_t i = 0; i < batch->count; i++) {
        int64_t weight = 0;
        if (weir_mul_i64(sign, weir_batch_weight(batch, i), &weight) ||
            weir_add_i64(weight, weir_row_weight(rows[i]), &weight)) {
            take_back(rows, batch, i, sign);
            return weir_error_set(err, WEIR_ERR_WEIGHT, "a row occurs more than 2^63 times");
        }
        weir_row_set_weight(rows[i], weight);
    }
    return WEIR_OK;
}

void weir_bag_compact(RowTable *bag)
{
    Row *rows[BATCH_CAPACITY];
    uint64_t cursor = 0;
    for (;;) {
        const size_t found = weir_row_table_scan(bag, &cursor, rows, BATCH_CAPACITY);
        if (found == 0) {
            break;
        }
        for (size_t i = 0; i < found; i++) {
            if (weir_row_weight(rows[i]) == 0) {
                weir_row_table_remove(bag, rows[i]);
            }
        }
    }
    weir_row_table_end_step(bag);
}

Status weir_bag_unpack(const RowPick *pick, Arena *arena, Batch *out, Error *err)
{
    const size_t room = WEIR_MAX(pick->count, (size_t)1);
    *out = (Batch){.count = pick->count, .column_count = pick->column_count};
    out->columns = weir_arena_calloc(arena, pick->column_count, sizeof *out->columns, err);
    if (out->columns == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < pick->column_count; i++) {
        uint64_t *validity = weir_arena_calloc(arena, VECTOR_VALIDITY_WORDS, sizeof *validity, err);
        if (validity == NULL) {
            return err->code;
        }
        const size_t column = pick->columns == NULL ? i : pick->columns[i];
        const PhysType phys = pick->layout->columns[column].phys;
        WEIR_TRY(weir_vector_init(&out->columns[i], phys, room, arena, err));
        weir_row_unpack(pick->layout, pick->rows, pick->count, column, &out->columns[i], validity);
    }
    return WEIR_OK;
}

/* Keeps the rows whose weight is not 0, in place; returns how many. */
static size_t rows_compact(Row **rows, int64_t *weights, size_t found)
{
    size_t count = 0;
    for (size_t i = 0; i < found; i++) {
        const int64_t weight = weir_row_weight(rows[i]);
        rows[count] = rows[i];
        weights[count] = weight;
        count += weight != 0;
    }
    return count;
}

Status weir_bag_visit(const RowTable *bag, const size_t *columns, size_t column_count, Mem *mem,
                      BagVisit visit, void *user, Error *err)
{
    Status status = WEIR_OK;
    Row *rows[BATCH_CAPACITY];
    int64_t weights[BATCH_CAPACITY];
    uint64_t cursor = 0;
    Arena arena;
    weir_arena_init(&arena, mem, 0);
    for (;;) {
        const size_t found = weir_row_table_scan(bag, &cursor, rows, BATCH_CAPACITY);
        if (found == 0) {
            break;
        }
        const size_t count = rows_compact(rows, weights, found);
        if (count > 0) {
            Batch batch;
            weir_arena_reset(&arena);
            const RowPick pick = {.layout = &bag->layout,
                                  .rows = rows,
                                  .count = count,
                                  .columns = columns,
                                  .column_count = column_count};
            WEIR_CHECK(weir_bag_unpack(&pick, &arena, &batch, err));
            batch.weights = weights;
            WEIR_CHECK(visit(user, &batch, err));
        }
    }
done:
    weir_arena_deinit(&arena);
    return status;
}

/* One direction of the difference: the rows of `here`, with weight sign * (here - there) where that
 * is to be told. In the second direction rows that `there` also has were told already. */
typedef struct DifferenceWalk {
    RowTable *there;
    int64_t sign;
    bool is_second;
    BagVisit visit;
    void *user;
} DifferenceWalk;

static Status difference_visit(void *user, const Batch *batch, Error *err)
{
    const DifferenceWalk *const walk = user;
    const Vector *columns[ROW_MAX_COLUMNS];
    Row *others[BATCH_CAPACITY];
    int64_t weights[BATCH_CAPACITY];
    uint16_t selection[BATCH_CAPACITY];
    size_t count = 0;
    for (size_t i = 0; i < batch->column_count; i++) {
        columns[i] = &batch->columns[i];
    }
    weir_row_table_find(walk->there, columns, batch->count, others);
    for (size_t i = 0; i < batch->count; i++) {
        const int64_t there = others[i] == NULL ? 0 : weir_row_weight(others[i]);
        const int64_t weight = walk->sign * (batch->weights[i] - there);
        const bool is_told = weight != 0 && !(walk->is_second && there != 0);
        selection[count] = (uint16_t)i;
        weights[count] = weight;
        count += is_told;
    }
    if (count == 0) {
        return WEIR_OK;
    }
    Status status = WEIR_OK;
    Arena arena;
    weir_arena_init(&arena, walk->there->store.mem, 0);
    Batch out;
    WEIR_CHECK(weir_batch_gather(batch, selection, count, &arena, &out, err));
    out.weights = weights;
    WEIR_CHECK(walk->visit(walk->user, &out, err));
done:
    weir_arena_deinit(&arena);
    return status;
}

Status weir_bag_visit_difference(RowTable *before, RowTable *after, Mem *mem, BagVisit visit,
                                 void *user, Error *err)
{
    const size_t column_count = before->layout.column_count;
    DifferenceWalk walk = {.there = after, .sign = -1, .visit = visit, .user = user};
    WEIR_TRY(weir_bag_visit(before, NULL, column_count, mem, difference_visit, &walk, err));
    walk = (DifferenceWalk){
        .there = before, .sign = 1, .is_second = true, .visit = visit, .user = user};
    return weir_bag_visit(after, NULL, column_count, mem, difference_visit, &walk, err);
}
