/* feed.c: recording what each generation changed in a view. */
#include "view/feed.h"

/* Forgets the rows. */
static void entry_clear(FeedEntry *entry)
{
    weir_mem_free(entry->mem, entry->bytes);
    weir_mem_free(entry->mem, entry->offsets);
    entry->bytes = NULL;
    entry->offsets = NULL;
    entry->byte_count = 0;
    entry->byte_capacity = 0;
    entry->row_count = 0;
}

static void entry_free(FeedEntry *entry)
{
    entry_clear(entry);
    weir_mem_free(entry->mem, entry);
}

FeedEntry *weir_feed_entry_ref(FeedEntry *entry)
{
    atomic_fetch_add(&entry->ref_count, 1);
    return entry;
}

void weir_feed_entry_unref(FeedEntry *entry)
{
    if (atomic_fetch_sub(&entry->ref_count, 1) == 1) {
        entry_free(entry);
    }
}

static size_t entry_bytes(const FeedEntry *entry)
{
    return sizeof *entry + entry->byte_capacity + entry->row_count * sizeof *entry->offsets;
}

Status weir_feed_init(Feed *feed, Mem *mem, const Schema *schema, size_t limit_bytes,
                      uint64_t floor, Error *err)
{
    *feed = (Feed){.mem = mem, .limit_bytes = limit_bytes, .floor = floor};
    PhysType *payload = weir_mem_calloc(mem, schema->count, sizeof *payload, err);
    if (payload == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < schema->count; i++) {
        payload[i] = schema->types[i]->phys;
    }
    const RowLayoutSpec spec = {.payload = payload, .payload_count = schema->count};
    const Status status = weir_row_layout_init(&feed->layout, mem, &spec, err);
    weir_mem_free(mem, payload);
    return status;
}

void weir_feed_deinit(Feed *feed)
{
    if (feed->mem == NULL) {
        return;
    }
    weir_feed_abort(feed);
    for (size_t i = 0; i < feed->count; i++) {
        weir_feed_entry_unref(feed->entries[i]);
    }
    weir_mem_free(feed->mem, feed->entries);
    weir_row_layout_deinit(&feed->layout, feed->mem);
    *feed = (Feed){0};
}

Status weir_feed_begin(Feed *feed, uint64_t generation, Error *err)
{
    WEIR_ASSERT(feed->open == NULL);
    WEIR_ASSERT(feed->count == 0 || feed->entries[feed->count - 1]->generation < generation);
    FeedEntry *entry = weir_mem_zalloc(feed->mem, sizeof *entry, err);
    if (entry == NULL) {
        return err->code;
    }
    entry->mem = feed->mem;
    entry->generation = generation;
    atomic_init(&entry->ref_count, 1);
    feed->open = entry;
    return WEIR_OK;
}

/* The entry's bytes with rows of these sizes; SIZE_MAX if that is more than the limit. */
static size_t entry_bytes_with(const FeedEntry *entry, const uint32_t *sizes, size_t count,
                               size_t limit)
{
    size_t bytes = entry->byte_count;
    for (size_t i = 0; i < count && bytes <= limit; i++) {
        bytes += sizes[i];
    }
    return bytes > limit ? SIZE_MAX : bytes;
}

static Status entry_reserve(FeedEntry *entry, size_t byte_count, size_t row_count, Error *err)
{
    size_t *offsets =
        weir_mem_realloc(entry->mem, entry->offsets, row_count * sizeof *offsets, err);
    if (offsets == NULL) {
        return err->code;
    }
    entry->offsets = offsets;
    if (byte_count > entry->byte_capacity) {
        const size_t capacity = WEIR_MAX(byte_count, 2 * entry->byte_capacity);
        char *bytes = weir_mem_realloc(entry->mem, entry->bytes, capacity, err);
        if (bytes == NULL) {
            return err->code;
        }
        entry->bytes = bytes;
        entry->byte_capacity = capacity;
    }
    return WEIR_OK;
}

/* Appends zeroed room for rows of these sizes, which come to byte_count in all. */
static Status entry_extend(FeedEntry *entry, const uint32_t *sizes, size_t count, size_t byte_count,
                           Row **rows, Error *err)
{
    WEIR_TRY(entry_reserve(entry, byte_count, entry->row_count + count, err));
    memset(entry->bytes + entry->byte_count, 0, byte_count - entry->byte_count);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (Row *)(void *)(entry->bytes + entry->byte_count);
        entry->offsets[entry->row_count++] = entry->byte_count;
        entry->byte_count += sizes[i];
    }
    WEIR_ASSERT(entry->byte_count == byte_count);
    return WEIR_OK;
}

Status weir_feed_add(Feed *feed, const Batch *batch, Error *err)
{
    FeedEntry *const entry = feed->open;
    WEIR_ASSERT(entry != NULL && batch->column_count == feed->layout.column_count);
    if (batch->count == 0) {
        return WEIR_OK;
    }
    if (entry->is_overflow) {
        return WEIR_OK;
    }
    const Vector *columns[ROW_MAX_COLUMNS];
    for (size_t i = 0; i < batch->column_count; i++) {
        columns[i] = &batch->columns[i];
    }
    uint32_t sizes[BATCH_CAPACITY];
    Row *rows[BATCH_CAPACITY];
    weir_row_sizes(&feed->layout, columns, batch->count, sizes);
    const size_t bytes = entry_bytes_with(entry, sizes, batch->count, feed->limit_bytes);
    if (bytes == SIZE_MAX) { /* a change larger than the feed: readers start again from the view */
        entry_clear(entry);
        entry->is_overflow = true;
        return WEIR_OK;
    }
    WEIR_TRY(entry_extend(entry, sizes, batch->count, bytes, rows, err));
    weir_row_pack(&feed->layout, columns, NULL, batch->count, NULL, sizes, rows);
    for (size_t i = 0; i < batch->count; i++) {
        weir_row_set_weight(rows[i], weir_batch_weight(batch, i));
    }
    return WEIR_OK;
}

/* Lets the oldest `gone` entries go; the feed is complete after generation `floor`. */
static void feed_forget(Feed *feed, size_t gone, uint64_t floor)
{
    for (size_t i = 0; i < gone; i++) {
        feed->bytes -= entry_bytes(feed->entries[i]);
        weir_feed_entry_unref(feed->entries[i]);
    }
    if (gone > 0) {
        memmove(feed->entries, feed->entries + gone, (feed->count - gone) * sizeof(FeedEntry *));
    }
    feed->count -= gone;
    feed->floor = floor;
    feed->has_forgotten = true;
}

/* Lets the oldest entries go until the feed fits its limit. */
static void feed_trim(Feed *feed)
{
    size_t gone = 0;
    size_t bytes = feed->bytes;
    while (gone < feed->count && bytes > feed->limit_bytes) {
        bytes -= entry_bytes(feed->entries[gone]);
        gone++;
    }
    if (gone > 0) {
        feed_forget(feed, gone, feed->entries[gone - 1]->generation);
    }
}

Status weir_feed_commit(Feed *feed, Error *err)
{
    FeedEntry *const entry = feed->open;
    WEIR_ASSERT(entry != NULL);
    if (entry->is_overflow) {
        feed_forget(feed, feed->count, entry->generation);
        weir_feed_abort(feed);
        return WEIR_OK;
    }
    if (entry->row_count == 0) {
        weir_feed_abort(feed);
        return WEIR_OK;
    }
    if (feed->count == feed->capacity) {
        const size_t capacity = feed->capacity == 0 ? 16 : feed->capacity * 2;
        FeedEntry **entries =
            weir_mem_realloc(feed->mem, feed->entries, capacity * sizeof(FeedEntry *), err);
        if (entries == NULL) {
            return err->code;
        }
        feed->entries = entries;
        feed->capacity = capacity;
    }
    feed->entries[feed->count++] = entry;
    feed->open = NULL;
    feed->bytes += entry_bytes(entry);
    feed->row_total += entry->row_count;
    feed_trim(feed);
    return WEIR_OK;
}

void weir_feed_abort(Feed *feed)
{
    if (feed->open != NULL) {
        entry_free(feed->open);
        feed->open = NULL;
    }
}

size_t weir_feed_find(const Feed *feed, uint64_t since)
{
    size_t low = 0;
    size_t high = feed->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (feed->entries[middle]->generation <= since) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
