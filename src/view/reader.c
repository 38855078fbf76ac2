/* reader.c: reading a view's contents and change feed, from several threads, as of one generation.
 *
 * Order of locks: engine lock, then a reader's mutex, then the view's content lock (shared) or the
 * catalog lock, which protects the lists of readers. */
#include "view/reader.h"

static void reader_destroy(ViewReader *reader)
{
    for (size_t i = 0; i < reader->entry_count; i++) {
        weir_feed_entry_unref(reader->entries[i]);
    }
    weir_mem_free(reader->mem, reader->copies);
    weir_arena_deinit(&reader->copy_arena);
    weir_arena_deinit(&reader->arena);
    pthread_mutex_destroy(&reader->mutex);
    weir_mem_free(reader->mem, reader);
}

/* Copies what the reader shows of the view: names and types, and the layout of its rows. */
static Status reader_copy_shape(ViewReader *reader, const View *view, const RowLayout *layout,
                                size_t extra_columns, Error *err)
{
    const size_t count = view->schema.count;
    const size_t shown = count + extra_columns;
    Arena *const arena = &reader->arena;
    const LogicalType **types = weir_arena_calloc(arena, shown, sizeof(const LogicalType *), err);
    const char **names = types == NULL ? NULL : weir_arena_calloc(arena, shown, sizeof *names, err);
    RowColumn *row_columns =
        names == NULL ? NULL : weir_arena_calloc(arena, count, sizeof *row_columns, err);
    reader->window =
        row_columns == NULL ? NULL : weir_arena_calloc(arena, BATCH_CAPACITY, sizeof(Row *), err);
    if (reader->window == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        types[i] = weir_type_copy(arena, view->schema.types[i], err);
        names[i] = types[i] == NULL ? NULL : weir_arena_strdup(arena, view->schema.names[i], err);
        if (names[i] == NULL) {
            return err->code;
        }
        row_columns[i] = layout->columns[i];
    }
    if (extra_columns > 0) {
        WEIR_ASSERT(extra_columns == 2);
        types[count] = types[count + 1] = weir_type_simple(TYPE_BIGINT);
        names[count] = "weight";
        names[count + 1] = "generation";
    }
    reader->layout = *layout;
    reader->layout.columns = row_columns;
    reader->column_count = count;
    reader->schema = (Schema){.count = shown, .types = types, .names = names};
    return WEIR_OK;
}

/* NULL with err filled on failure. */
static ViewReader *reader_new(Engine *engine, const View *view, const RowLayout *layout,
                              size_t extra_columns, Error *err)
{
    ViewReader *reader = weir_mem_zalloc(engine->mem, sizeof *reader, err);
    if (reader == NULL) {
        return NULL;
    }
    reader->engine = engine;
    reader->mem = engine->mem;
    reader->generation = engine->generation;
    weir_arena_init(&reader->arena, engine->mem, 0);
    weir_arena_init(&reader->copy_arena, engine->mem, READER_COPY_BLOCK_BYTES);
    pthread_mutex_init(&reader->mutex, NULL);
    if (reader_copy_shape(reader, view, layout, extra_columns, err) != WEIR_OK) {
        reader_destroy(reader);
        return NULL;
    }
    return reader;
}

/* Takes the reader out of its view's list. Under the catalog lock. */
static void reader_unlink(ViewReader *reader)
{
    ViewReader **place = &reader->view->readers;
    while (*place != reader) {
        place = &(*place)->next;
    }
    *place = reader->next;
    reader->is_attached = false;
}

void weir_view_reader_free(ViewReader *reader)
{
    if (reader == NULL) {
        return;
    }
    Engine *const engine = reader->engine;
    weir_lock_acquire(&engine->catalog_lock);
    const bool is_copying = reader->is_copying; /* then whoever copies frees it */
    reader->is_abandoned = is_copying;
    if (reader->is_attached && !is_copying) {
        reader_unlink(reader);
    }
    weir_lock_release(&engine->catalog_lock);
    if (!is_copying) {
        reader_destroy(reader);
    }
}

const Schema *weir_view_reader_schema(const ViewReader *reader)
{
    return &reader->schema;
}

uint64_t weir_view_reader_row_count(const ViewReader *reader)
{
    return reader->row_count;
}

uint64_t weir_view_reader_generation(const ViewReader *reader)
{
    return reader->generation;
}

/* ---- opening -------------------------------------------------------------------------------- */

static Status refuse_broken(const View *view, Error *err)
{
    const View *culprit = NULL;
    const Error *const failure = weir_view_failure(view, &culprit);
    if (failure == NULL) {
        return WEIR_OK;
    }
    weir_error_set(err, WEIR_ERR_BROKEN, "view %s is broken: DBSP-E%03d: %s", culprit->name.name,
                   failure->code, failure->message);
    weir_error_hint(err, "undo the change that broke it, or give it a definition that works with "
                         "CREATE OR REPLACE MATERIALIZED VIEW or dbsp_replace_view");
    return err->code;
}

static Status read_locked(Engine *engine, const char *name, ViewReader **out, Error *err)
{
    View *view = NULL;
    WEIR_TRY(weir_engine_get_view(engine, name, &view, err));
    WEIR_TRY(refuse_broken(view, err));
    const RowTable *const table = weir_sink_table(view->sink);
    ViewReader *const reader = reader_new(engine, view, &table->layout, 0, err);
    if (reader == NULL) {
        return err->code;
    }
    reader->row_count = weir_sink_row_count(view->sink);
    reader->view = view;
    weir_lock_acquire(&engine->catalog_lock);
    reader->next = view->readers;
    reader->is_attached = true;
    view->readers = reader;
    weir_lock_release(&engine->catalog_lock);
    *out = reader;
    return WEIR_OK;
}

static Status read_changes_locked(Engine *engine, const char *name, int64_t since, ViewReader **out,
                                  Error *err)
{
    View *view = NULL;
    WEIR_TRY(weir_engine_get_view(engine, name, &view, err));
    WEIR_TRY(refuse_broken(view, err));
    if (since != WEIR_FEED_FROM_NOW && since > 0 && (uint64_t)since > engine->generation) {
        weir_error_set(err, WEIR_ERR_ARGUMENT, "generation %lld is still to come: it is %llu now",
                       (long long)since, (unsigned long long)engine->generation);
        weir_error_hint(err, "generations count from the opening of the database: begin with a "
                             "snapshot");
        return err->code;
    }
    const uint64_t start = since < 0 ? view->feed.floor : (uint64_t)since;
    if (start < view->feed.floor && view->feed.has_forgotten) {
        weir_error_set(err, WEIR_ERR_TOO_OLD,
                       "the changes of view %s are kept from generation %llu on, not from %lld",
                       view->name.name, (unsigned long long)view->feed.floor, (long long)since);
        weir_error_hint(err, "read the view itself, and follow its changes since generation %llu",
                        (unsigned long long)engine->generation);
        return err->code;
    }
    ViewReader *const reader = reader_new(engine, view, &view->feed.layout, 2, err);
    if (reader == NULL) {
        return err->code;
    }
    *out = reader;
    const size_t first = weir_feed_find(&view->feed, start);
    const size_t count = view->feed.count - first;
    reader->is_feed = true;
    reader->entries = weir_arena_calloc(&reader->arena, count, sizeof(FeedEntry *), err);
    if (reader->entries == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < count; i++) {
        reader->entries[i] = weir_feed_entry_ref(view->feed.entries[first + i]);
        reader->row_count += reader->entries[i]->row_count;
    }
    reader->entry_count = count;
    return WEIR_OK;
}

Status weir_engine_read(Engine *engine, const char *name, ViewReader **out, Error *err)
{
    *out = NULL;
    weir_engine_enter(engine);
    Status status = weir_engine_freshen(engine, name, err);
    if (status == WEIR_OK) {
        status = read_locked(engine, name, out, err);
    }
    weir_lock_release(&engine->lock);
    if (status != WEIR_OK) {
        weir_view_reader_free(*out);
        *out = NULL;
    }
    return status;
}

Status weir_engine_read_changes(Engine *engine, const char *name, int64_t since, ViewReader **out,
                                Error *err)
{
    *out = NULL;
    weir_engine_enter(engine);
    Status status = weir_engine_freshen(engine, name, err);
    if (status == WEIR_OK) {
        status = read_changes_locked(engine, name, since, out, err);
    }
    weir_lock_release(&engine->lock);
    if (status != WEIR_OK) {
        weir_view_reader_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- taking rows: under the reader's mutex --------------------------------------------------- */

static void window_fill(ViewReader *reader)
{
    reader->window_place = 0;
    if (!reader->is_copied) {
        const RowTable *const table = weir_sink_table(reader->view->sink);
        reader->window_count =
            weir_row_table_scan(table, &reader->cursor, reader->window, BATCH_CAPACITY);
        return;
    }
    const size_t left = reader->copy_count - reader->copy_place;
    reader->window_count = WEIR_MIN(left, (size_t)BATCH_CAPACITY);
    for (size_t i = 0; i < reader->window_count; i++) {
        reader->window[i] = reader->copies[reader->copy_place + i];
    }
    reader->copy_place += reader->window_count;
}

/* Up to BATCH_CAPACITY rows, each as often as its weight says. */
static size_t rows_take(ViewReader *reader, Row **rows)
{
    size_t count = 0;
    while (count < BATCH_CAPACITY) {
        if (reader->window_place == reader->window_count) {
            window_fill(reader);
            if (reader->window_count == 0) {
                break;
            }
        }
        Row *const row = reader->window[reader->window_place];
        if (reader->repeats_left == 0) {
            reader->repeats_left = weir_row_weight(row);
        }
        while (reader->repeats_left > 0 && count < BATCH_CAPACITY) {
            rows[count++] = row;
            reader->repeats_left--;
        }
        reader->window_place += reader->repeats_left <= 0;
        reader->repeats_left = WEIR_MAX(reader->repeats_left, (int64_t)0);
    }
    return count;
}

static size_t changes_take(ViewReader *reader, Row **rows, int64_t *generations)
{
    size_t count = 0;
    while (count < BATCH_CAPACITY && reader->entry_place < reader->entry_count) {
        const FeedEntry *const entry = reader->entries[reader->entry_place];
        if (reader->entry_row == entry->row_count) {
            reader->entry_place++;
            reader->entry_row = 0;
            continue;
        }
        rows[count] = (Row *)(void *)(entry->bytes + entry->offsets[reader->entry_row]);
        generations[count] = (int64_t)entry->generation;
        reader->entry_row++;
        count++;
    }
    return count;
}

/* ---- handing out ---------------------------------------------------------------------------- */

static Status changes_next(ViewReader *reader, Arena *arena, Batch *out, Error *err)
{
    Row *rows[BATCH_CAPACITY];
    int64_t *generations = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *generations, err);
    int64_t *weights = weir_arena_alloc(arena, BATCH_CAPACITY * sizeof *weights, err);
    if (generations == NULL || weights == NULL) {
        return err->code;
    }
    pthread_mutex_lock(&reader->mutex);
    const size_t count = changes_take(reader, rows, generations);
    pthread_mutex_unlock(&reader->mutex);
    Batch batch;
    const RowPick pick = {.layout = &reader->layout,
                          .rows = rows,
                          .count = count,
                          .column_count = reader->column_count};
    WEIR_TRY(weir_bag_unpack(&pick, arena, &batch, err));
    Vector *columns = weir_arena_calloc(arena, reader->schema.count, sizeof *columns, err);
    if (columns == NULL) {
        return err->code;
    }
    for (size_t i = 0; i < reader->column_count; i++) {
        columns[i] = batch.columns[i];
    }
    for (size_t i = 0; i < count; i++) {
        weights[i] = weir_row_weight(rows[i]);
    }
    columns[reader->column_count] = (Vector){.phys = PHYS_I64, .data = weights};
    columns[reader->column_count + 1] = (Vector){.phys = PHYS_I64, .data = generations};
    *out = (Batch){.count = count, .column_count = reader->schema.count, .columns = columns};
    return WEIR_OK;
}

static Status rows_unpack(const ViewReader *reader, Row *const *rows, size_t count, bool is_own,
                          Arena *arena, Batch *out, Error *err)
{
    const RowPick pick = {.layout = &reader->layout,
                          .rows = rows,
                          .count = count,
                          .column_count = reader->column_count};
    WEIR_TRY(weir_bag_unpack(&pick, arena, out, err));
    for (size_t i = 0; is_own && i < out->column_count; i++) {
        if (out->columns[i].phys == PHYS_STRING) {
            WEIR_TRY(weir_vector_own_strings(&out->columns[i], count, arena, err));
        }
    }
    return WEIR_OK;
}

Status weir_view_reader_next(ViewReader *reader, Arena *arena, Batch *out, Error *err)
{
    if (reader->is_feed) {
        return changes_next(reader, arena, out, err);
    }
    Row *rows[BATCH_CAPACITY];
    pthread_mutex_lock(&reader->mutex);
    View *const view = reader->is_copied ? NULL : reader->view;
    const size_t count = rows_take(reader, rows);
    if (view != NULL) {
        pthread_rwlock_rdlock(&view->content_lock);
    }
    pthread_mutex_unlock(&reader->mutex);
    const Status status = rows_unpack(reader, rows, count, view != NULL, arena, out, err);
    if (view != NULL) {
        pthread_rwlock_unlock(&view->content_lock);
    }
    return status;
}

/* ---- before a change ------------------------------------------------------------------------ */

static Status copies_add(ViewReader *reader, Row *const *rows, size_t count, size_t *capacity,
                         Error *err)
{
    if (reader->copy_count + count > *capacity) {
        const size_t wanted = WEIR_MAX(*capacity * 2, reader->copy_count + count);
        Row **copies = weir_mem_realloc(reader->mem, reader->copies, wanted * sizeof(Row *), err);
        if (copies == NULL) {
            return err->code;
        }
        reader->copies = copies;
        *capacity = wanted;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t size = weir_row_size(&reader->layout, rows[i]);
        Row *copy = weir_arena_alloc(&reader->copy_arena, size, err);
        if (copy == NULL) {
            return err->code;
        }
        memcpy(copy, rows[i], size);
        reader->copies[reader->copy_count++] = copy;
    }
    return WEIR_OK;
}

/* Under the reader's mutex: copies the window's rest, then what the cursor has not reached. */
static Status reader_copy_rest(ViewReader *reader, Error *err)
{
    const RowTable *const table = weir_sink_table(reader->view->sink);
    size_t capacity = 0;
    uint64_t cursor = reader->cursor;
    Row *rows[BATCH_CAPACITY];
    reader->copy_count = 0;
    reader->copy_place = 0;
    weir_arena_reset(&reader->copy_arena);
    WEIR_TRY(copies_add(reader, reader->window + reader->window_place,
                        reader->window_count - reader->window_place, &capacity, err));
    for (;;) {
        const size_t found = weir_row_table_scan(table, &cursor, rows, BATCH_CAPACITY);
        if (found == 0) {
            break;
        }
        WEIR_TRY(copies_add(reader, rows, found, &capacity, err));
    }
    reader->window_count = 0;
    reader->window_place = 0;
    reader->is_copied = true;
    return WEIR_OK;
}

/* The view's next reader, kept from being freed; NULL if there is none left. */
static ViewReader *hold_reader(View *view)
{
    weir_lock_acquire(&view->engine->catalog_lock);
    ViewReader *const reader = view->readers;
    if (reader != NULL) {
        reader->is_copying = true;
    }
    weir_lock_release(&view->engine->catalog_lock);
    return reader;
}

/* Lets the reader go its own way if it has its copy. */
static void let_reader_go(Engine *engine, ViewReader *reader)
{
    weir_lock_acquire(&engine->catalog_lock);
    const bool is_abandoned = reader->is_abandoned;
    reader->is_copying = false;
    if (is_abandoned || reader->is_copied) {
        reader_unlink(reader);
    }
    weir_lock_release(&engine->catalog_lock);
    if (is_abandoned) {
        reader_destroy(reader);
    }
}

Status weir_view_detach_readers(View *view, Error *err)
{
    for (;;) {
        ViewReader *const reader = hold_reader(view);
        if (reader == NULL) {
            break;
        }
        pthread_mutex_lock(&reader->mutex);
        const Status status = reader_copy_rest(reader, err);
        pthread_mutex_unlock(&reader->mutex);
        let_reader_go(view->engine, reader);
        WEIR_TRY(status);
    }
    /* Whoever is still unpacking rows of the sink finishes first. */
    pthread_rwlock_wrlock(&view->content_lock);
    pthread_rwlock_unlock(&view->content_lock);
    return WEIR_OK;
}
