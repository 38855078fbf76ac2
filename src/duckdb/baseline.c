/* baseline.c: groups of references, and reading the rows back.
 *
 * A group is dense while at least half of its span are rows, so that a reference costs at most 8
 * bytes a row. */
#include "duckdb/baseline.h"

static Status copy_schema(Baseline *baseline, const Schema *schema, Error *err)
{
    Arena *const arena = &baseline->arena;
    const LogicalType **types =
        weir_arena_calloc(arena, schema->count, sizeof(const LogicalType *), err);
    const char **names =
        types == NULL ? NULL : weir_arena_calloc(arena, schema->count, sizeof *names, err);
    if (names == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < schema->count; c++) {
        names[c] = weir_arena_strdup(arena, schema->names[c], err);
        types[c] = names[c] == NULL ? NULL : weir_type_copy(arena, schema->types[c], err);
        if (types[c] == NULL) {
            return err->code;
        }
    }
    baseline->schema = (Schema){.count = schema->count, .types = types, .names = names};
    return WEIR_OK;
}

static Status init_layout(Baseline *baseline, Error *err)
{
    const Schema *const schema = &baseline->schema;
    PhysType *payload = weir_arena_calloc(&baseline->arena, schema->count, sizeof *payload, err);
    if (payload == NULL) {
        return err->code;
    }
    for (size_t c = 0; c < schema->count; c++) {
        payload[c] = schema->types[c]->phys;
    }
    const RowLayoutSpec spec = {.payload = payload, .payload_count = schema->count};
    return weir_row_layout_init(&baseline->layout, baseline->mem, &spec, err);
}

Status weir_baseline_init(Baseline *baseline, Mem *mem, PagePool *pool, const Schema *schema,
                          uint32_t group_rows, Error *err)
{
    WEIR_ASSERT(group_rows > 0 && group_rows <= BASELINE_GROUP_ROWS);
    Status status = WEIR_OK;
    *baseline = (Baseline){.mem = mem, .group_rows = group_rows};
    weir_arena_init(&baseline->arena, mem, 4096);
    WEIR_CHECK(copy_schema(baseline, schema, err));
    WEIR_CHECK(init_layout(baseline, err));
    WEIR_CHECK(weir_row_store_init(&baseline->store, mem, pool, err));
    baseline->has_store = true;
done:
    if (status != WEIR_OK) {
        weir_baseline_deinit(baseline);
    }
    return status;
}

static void group_deinit(Baseline *baseline, BaselineGroup *group)
{
    weir_mem_free(baseline->mem, group->refs);
    weir_mem_free(baseline->mem, group->places);
}

void weir_baseline_deinit(Baseline *baseline)
{
    if (baseline->mem == NULL) {
        return;
    }
    for (size_t i = 0; i < baseline->group_count; i++) {
        group_deinit(baseline, &baseline->groups[i]);
    }
    weir_mem_free(baseline->mem, baseline->groups);
    if (baseline->has_store) {
        weir_row_store_deinit(&baseline->store);
    }
    weir_row_layout_deinit(&baseline->layout, baseline->mem);
    weir_arena_deinit(&baseline->arena);
    *baseline = (Baseline){0};
}

/* --- groups ----------------------------------------------------------------------------------- */

/* The place of the first group with at least this id. */
static size_t lower_bound(const Baseline *baseline, uint64_t id)
{
    size_t low = 0;
    size_t high = baseline->group_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (baseline->groups[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const BaselineGroup *weir_baseline_find(const Baseline *baseline, uint64_t id)
{
    const size_t place = lower_bound(baseline, id);
    const bool is_found = place < baseline->group_count && baseline->groups[place].id == id;
    return is_found ? &baseline->groups[place] : NULL;
}

void weir_baseline_load(const BaselineGroup *group, RowRef *refs, size_t place_count)
{
    const size_t span = group == NULL || group->places != NULL ? 0 : group->span;
    WEIR_ASSERT(group == NULL || group->span <= place_count);
    if (span > 0) {
        memcpy(refs, group->refs, span * sizeof *refs);
    }
    memset(refs + span, 0, (place_count - span) * sizeof *refs);
    if (group != NULL && group->places != NULL) {
        for (size_t i = 0; i < group->sum.row_count; i++) {
            refs[group->places[i]] = group->refs[i];
        }
    }
}

static size_t group_ref_bytes(const BaselineGroup *group)
{
    const size_t row_count = (size_t)group->sum.row_count;
    return group->places == NULL ? group->span * sizeof(RowRef)
                                 : row_count * (sizeof(RowRef) + sizeof(uint32_t));
}

static Status fill_sparse(const Baseline *baseline, BaselineGroup *group, const RowRef *refs,
                          Error *err)
{
    const size_t count = (size_t)group->sum.row_count;
    group->refs = weir_mem_calloc(baseline->mem, count, sizeof *group->refs, err);
    group->places = group->refs == NULL
                        ? NULL
                        : weir_mem_calloc(baseline->mem, count, sizeof *group->places, err);
    if (group->places == NULL) {
        weir_mem_free(baseline->mem, group->refs);
        return err->code;
    }
    size_t next = 0;
    for (uint32_t place = 0; place < group->span; place++) {
        if (refs[place] != 0) {
            group->refs[next] = refs[place];
            group->places[next] = place;
            next++;
        }
    }
    WEIR_ASSERT(next == count);
    return WEIR_OK;
}

static Status fill_dense(const Baseline *baseline, BaselineGroup *group, const RowRef *refs,
                         Error *err)
{
    group->refs = weir_mem_alloc(baseline->mem, group->span * sizeof *refs, err);
    if (group->refs == NULL) {
        return err->code;
    }
    memcpy(group->refs, refs, group->span * sizeof *refs);
    return WEIR_OK;
}

static Status make_group(const Baseline *baseline, BaselineGroup *group, const RowRef *refs,
                         size_t place_count, Error *err)
{
    uint32_t span = (uint32_t)place_count;
    while (span > 0 && refs[span - 1] == 0) {
        span--;
    }
    WEIR_ASSERT(span >= group->sum.row_count);
    group->span = span;
    return group->sum.row_count >= span / 2 ? fill_dense(baseline, group, refs, err)
                                            : fill_sparse(baseline, group, refs, err);
}

static Status reserve_group(Baseline *baseline, Error *err)
{
    if (baseline->group_count < baseline->group_capacity) {
        return WEIR_OK;
    }
    const size_t capacity = WEIR_MAX(2 * baseline->group_capacity, (size_t)8);
    BaselineGroup *groups =
        weir_mem_realloc(baseline->mem, baseline->groups, capacity * sizeof *groups, err);
    if (groups == NULL) {
        return err->code;
    }
    baseline->groups = groups;
    baseline->group_capacity = capacity;
    return WEIR_OK;
}

static void remove_group(Baseline *baseline, size_t place)
{
    BaselineGroup *const group = &baseline->groups[place];
    baseline->row_count -= group->sum.row_count;
    baseline->ref_bytes -= group_ref_bytes(group);
    group_deinit(baseline, group);
    memmove(group, group + 1, (baseline->group_count - place - 1) * sizeof *group);
    baseline->group_count--;
}

Status weir_baseline_put(Baseline *baseline, uint64_t id, const RowRef *refs, size_t place_count,
                         const RowSum *sum, Error *err)
{
    WEIR_ASSERT(place_count <= baseline->group_rows);
    BaselineGroup made = {.id = id, .sum = *sum};
    if (sum->row_count > 0) {
        WEIR_TRY(reserve_group(baseline, err));
        WEIR_TRY(make_group(baseline, &made, refs, place_count, err));
    }
    const size_t place = lower_bound(baseline, id);
    if (place < baseline->group_count && baseline->groups[place].id == id) {
        remove_group(baseline, place);
    }
    if (sum->row_count > 0) {
        BaselineGroup *const group = &baseline->groups[place];
        memmove(group + 1, group, (baseline->group_count - place) * sizeof *group);
        *group = made;
        baseline->group_count++;
        baseline->row_count += made.sum.row_count;
        baseline->ref_bytes += group_ref_bytes(&made);
    }
    return WEIR_OK;
}

int64_t weir_baseline_last_row_id(const Baseline *baseline)
{
    if (baseline->group_count == 0) {
        return -1;
    }
    const BaselineGroup *const last = &baseline->groups[baseline->group_count - 1];
    return (int64_t)(last->id * baseline->group_rows + last->span) - 1;
}

size_t weir_baseline_bytes(const Baseline *baseline)
{
    const size_t rows = baseline->has_store ? weir_row_store_bytes(&baseline->store) : 0;
    return rows + baseline->ref_bytes + baseline->group_capacity * sizeof *baseline->groups;
}

/* --- reading ---------------------------------------------------------------------------------- */

Status weir_row_reader_init(RowReader *reader, const Baseline *baseline, int64_t weight,
                            Arena *arena, Error *err)
{
    Batch *batch = NULL;
    const size_t columns = baseline->schema.count;
    *reader = (RowReader){0};
    WEIR_TRY(weir_batch_new(arena, &baseline->schema, &batch, err));
    reader->batch = *batch;
    int64_t *const weights = weir_batch_borrow_weights(batch);
    for (size_t i = 0; i < BATCH_CAPACITY; i++) {
        weights[i] = weight;
    }
    reader->rows = weir_arena_calloc(arena, BATCH_CAPACITY, sizeof(Row *), err);
    reader->validity = reader->rows == NULL
                           ? NULL
                           : weir_arena_calloc(arena, columns * VECTOR_VALIDITY_WORDS,
                                               sizeof *reader->validity, err);
    return reader->validity == NULL ? err->code : WEIR_OK;
}

const Batch *weir_row_reader_read(RowReader *reader, const Baseline *baseline, const RowRef *refs,
                                  size_t count)
{
    WEIR_ASSERT(count <= BATCH_CAPACITY);
    reader->batch.count = count;
    if (baseline->schema.count == 0) {
        return &reader->batch;
    }
    for (size_t i = 0; i < count; i++) {
        reader->rows[i] = weir_row_at(&baseline->store, refs[i]);
    }
    weir_row_unpack_columns(&baseline->layout, reader->rows, count, 0, baseline->schema.count,
                            reader->batch.columns, reader->validity);
    return &reader->batch;
}

/* References waiting to become a batch. */
typedef struct ScanState {
    const Baseline *baseline;
    RowReader reader;
    RowRef *refs;
    size_t count;
    HostVisit visit;
    void *user;
} ScanState;

static Status scan_flush(ScanState *scan, Error *err)
{
    if (scan->count == 0) {
        return WEIR_OK;
    }
    const Batch *const batch =
        weir_row_reader_read(&scan->reader, scan->baseline, scan->refs, scan->count);
    scan->count = 0;
    return scan->visit(scan->user, batch, err);
}

static Status scan_group(ScanState *scan, const BaselineGroup *group, Error *err)
{
    const size_t size = group->places == NULL ? group->span : (size_t)group->sum.row_count;
    for (size_t i = 0; i < size; i++) {
        if (group->refs[i] == 0) {
            continue;
        }
        scan->refs[scan->count++] = group->refs[i];
        if (scan->count == BATCH_CAPACITY) {
            WEIR_TRY(scan_flush(scan, err));
        }
    }
    return WEIR_OK;
}

Status weir_baseline_scan(const Baseline *baseline, HostVisit visit, void *user, Error *err)
{
    Arena arena;
    weir_arena_init(&arena, baseline->mem, 0);
    Status status = WEIR_OK;
    ScanState scan = {.baseline = baseline, .visit = visit, .user = user};
    WEIR_CHECK(weir_row_reader_init(&scan.reader, baseline, 1, &arena, err));
    scan.reader.batch.weights = NULL;
    scan.refs = weir_arena_calloc(&arena, BATCH_CAPACITY, sizeof *scan.refs, err);
    if (scan.refs == NULL) {
        status = err->code;
        goto done;
    }
    for (size_t i = 0; i < baseline->group_count; i++) {
        WEIR_CHECK(scan_group(&scan, &baseline->groups[i], err));
    }
    WEIR_CHECK(scan_flush(&scan, err));
done:
    weir_arena_deinit(&arena);
    return status;
}
