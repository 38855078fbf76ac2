/* changes.c: subscriptions to the changes of views.
 *
 *   position: everything up to this generation has been handed out
 *   reader:   the snapshot, or what the feed has after position; NULL = to be looked for
 *
 * The feed keeps generations until its limit; a reader holds those that it has begun with. So a
 * subscriber that is slow costs at most two feeds, and one that is too slow is told so by the engine.
 * The engine's lock is held while a reader is opened, never while rows are printed or waited for. */
#include "api/db_priv.h"
#include "base/lock.h"

#include "types/type.h"
#include "view/names.h"

struct WeirChanges {
    OpenDatabase *shared;         /* one reference */
    Mem *mem;                     /* the database's */
    duckdb_connection connection; /* prints values, whatever the user's transactions are at */
    const char *view;             /* its full name, as SQL; in the arena */
    Arena arena;                  /* names, types */
    Schema schema;                /* the view's columns */
    WeirResult *row;              /* the batch in hand */
    const int64_t *weights;       /* of the batch; NULL = a snapshot's: 1 */
    const int64_t *generations;   /* of the batch; NULL = a snapshot's */
    size_t row_index;             /* in the batch; the next one */
    size_t row_count;
    ViewReader *reader;
    uint64_t position;
    bool is_snapshot;    /* the reader's, or the last event */
    bool is_open;        /* rows of `generation` were handed out, but not its end */
    uint64_t generation; /* of the last event */
    int64_t weight;
    Error failure; /* the subscription has ended; code 0 = it has not */
    Cancel cancel;
};

/* ---- opening and closing ---------------------------------------------------------------------- */

void weir_changes_close(WeirChanges *changes)
{
    if (changes == NULL) {
        return;
    }
    OpenDatabase *const shared = changes->shared;
    weir_view_reader_free(changes->reader);
    weir_result_free(changes->row);
    if (changes->connection != NULL) {
        duckdb_disconnect(&changes->connection);
    }
    weir_arena_deinit(&changes->arena);
    weir_mem_free(changes->mem, changes);
    weir_open_database_unref(shared);
}

static Engine *engine_of(const WeirChanges *changes)
{
    return changes->shared->database->engine;
}

/* The view's full name and its columns. */
static Status take_shape(WeirChanges *changes, const ViewShape *shape, Error *err)
{
    Arena *const arena = &changes->arena;
    WEIR_TRY(weir_schema_copy(arena, &shape->schema, &changes->schema, err));
    Buf name;
    weir_buf_init(&name, changes->mem, 1 << 16);
    weir_name_put_sql(&name, &shape->name);
    Status status = weir_buf_status(&name, err);
    if (status == WEIR_OK) {
        changes->view = weir_arena_strdup(arena, name.data, err);
        status = changes->view == NULL ? err->code : WEIR_OK;
    }
    weir_buf_deinit(&name);
    return status;
}

static Status find_view(WeirChanges *changes, const char *name, Error *err)
{
    ViewShape shape;
    WEIR_TRY(weir_engine_shape(engine_of(changes), name, &shape, err));
    const Status status = take_shape(changes, &shape, err);
    weir_view_shape_deinit(&shape);
    return status;
}

/* The first reader. */
static Status begin(WeirChanges *changes, int64_t since, Error *err)
{
    Engine *const engine = engine_of(changes);
    if (since == WEIR_SINCE_SNAPSHOT) {
        WEIR_TRY(weir_engine_read(engine, changes->view, &changes->reader, err));
        changes->is_snapshot = true;
        changes->is_open = true; /* an empty one has an end too */
        changes->generation = weir_view_reader_generation(changes->reader);
        return WEIR_OK;
    }
    const int64_t from = since == WEIR_SINCE_NOW ? WEIR_FEED_FROM_NOW : since;
    WEIR_TRY(weir_engine_read_changes(engine, changes->view, from, &changes->reader, err));
    const uint64_t present = weir_view_reader_generation(changes->reader);
    changes->position = since == WEIR_SINCE_NOW ? present : (uint64_t)since;
    return WEIR_OK;
}

WeirStatus weir_subscribe(WeirDb *db, const char *view, int64_t since, WeirChanges **out,
                          WeirError *err)
{
    Status status = WEIR_OK;
    *out = NULL;
    weir_error_clear(err);
    if (since < WEIR_SINCE_NOW) {
        return weir_error_set(err, WEIR_ERR_ARGUMENT, "%lld is not a generation", (long long)since);
    }
    WeirChanges *changes = weir_mem_zalloc(db->mem, sizeof *changes, err);
    if (changes == NULL) {
        return err->code;
    }
    changes->mem = db->mem;
    changes->shared = weir_open_database_ref(db->shared);
    weir_arena_init(&changes->arena, db->mem, 0);
    WEIR_CHECK(find_view(changes, view, err));
    WEIR_CHECK(weir_db_connect_alike(db, &changes->connection, err));
    WEIR_CHECK(weir_result_new_rows(db->database, changes->connection, &changes->schema,
                                    &changes->row, err));
    WEIR_CHECK(begin(changes, since, err));
    *out = changes;
done:
    if (status != WEIR_OK) {
        weir_changes_close(changes);
    }
    return status;
}

/* ---- events --------------------------------------------------------------------------------- */

/* The next batch of the reader; row_count 0 at its end. */
static Status take_batch(WeirChanges *changes, Error *err)
{
    Batch batch;
    WeirResult *const row = changes->row;
    const size_t count = changes->schema.count;
    changes->row_index = 0;
    changes->row_count = 0;
    weir_arena_reset(&row->chunk_arena);
    WEIR_TRY(weir_view_reader_next(changes->reader, &row->chunk_arena, &batch, err));
    if (batch.count == 0) {
        return WEIR_OK;
    }
    if (!changes->is_snapshot) {
        changes->weights = batch.columns[count].data;
        changes->generations = batch.columns[count + 1].data;
    }
    batch.column_count = count;
    WEIR_TRY(weir_result_take_batch(row, &batch, err));
    changes->row_count = batch.count;
    return WEIR_OK;
}

static void complete(WeirChanges *changes, WeirEvent *event)
{
    changes->is_open = false;
    changes->position = changes->generation;
    *event = WEIR_EVENT_COMPLETE;
}

/* The next event of the reader; its end gives WEIR_EVENT_NONE. */
static Status read_event(WeirChanges *changes, WeirEvent *event, Error *err)
{
    *event = WEIR_EVENT_NONE;
    if (changes->row_index == changes->row_count) {
        WEIR_TRY(take_batch(changes, err));
    }
    if (changes->row_count == 0) {
        if (changes->is_open) {
            complete(changes, event);
        }
        return WEIR_OK;
    }
    const size_t index = changes->row_index;
    const uint64_t generation =
        changes->is_snapshot ? changes->generation : (uint64_t)changes->generations[index];
    if (changes->is_open && generation != changes->generation) {
        complete(changes, event);
        return WEIR_OK;
    }
    WEIR_VERIFY(weir_result_step(changes->row), err);
    changes->row_index++;
    changes->is_open = true;
    changes->generation = generation;
    changes->weight = changes->is_snapshot ? 1 : changes->weights[index];
    *event = WEIR_EVENT_ROW;
    return WEIR_OK;
}

static void close_reader(WeirChanges *changes)
{
    changes->position = WEIR_MAX(changes->position, weir_view_reader_generation(changes->reader));
    weir_view_reader_free(changes->reader);
    changes->reader = NULL;
    changes->row_count = 0;
    changes->row_index = 0;
}

/* What is there now: an event, or WEIR_EVENT_NONE. */
static Status look(WeirChanges *changes, WeirEvent *event, Error *err)
{
    Engine *const engine = engine_of(changes);
    for (size_t i = 0; i < 2; i++) { /* what is left of one reader, then a new one */
        if (changes->reader == NULL) {
            WEIR_TRY(weir_engine_read_changes(engine, changes->view, (int64_t)changes->position,
                                              &changes->reader, err));
            changes->is_snapshot = false;
        }
        const Status status = read_event(changes, event, err);
        if (status != WEIR_OK) {
            changes->failure = *err;
            return status;
        }
        if (*event != WEIR_EVENT_NONE) {
            return WEIR_OK;
        }
        close_reader(changes);
    }
    return WEIR_OK;
}

WeirStatus weir_changes_next(WeirChanges *changes, int64_t timeout_ms, WeirEvent *event,
                             WeirError *err)
{
    const int64_t longest_ms = (int64_t)1 << 40; /* decades: nothing overflows */
    Engine *const engine = engine_of(changes);
    const bool has_deadline = timeout_ms >= 0;
    const struct timespec deadline = weir_deadline_after(WEIR_MIN(timeout_ms, longest_ms));
    bool is_late = timeout_ms == 0;
    weir_error_clear(err);
    *event = WEIR_EVENT_NONE;
    if (changes->failure.code != WEIR_OK) {
        *err = changes->failure;
        return err->code;
    }
    for (;;) {
        const uint64_t seen = weir_engine_news(engine);
        WEIR_TRY(look(changes, event, err));
        if (*event != WEIR_EVENT_NONE || is_late) {
            return WEIR_OK;
        }
        const Status status = weir_engine_wait(engine, seen, has_deadline ? &deadline : NULL,
                                               &changes->cancel, &is_late, err);
        if (status != WEIR_OK) {
            weir_cancel_forget(&changes->cancel);
            return status;
        }
    }
}

void weir_changes_interrupt(WeirChanges *changes)
{
    weir_cancel_want(&changes->cancel);
    weir_engine_wake(engine_of(changes));
}

WeirStatus weir_changes_deliver(WeirChanges *changes, int64_t timeout_ms, WeirChangesVisit visit,
                                void *user, WeirError *err)
{
    WeirEvent event = WEIR_EVENT_NONE;
    for (int64_t timeout = timeout_ms;; timeout = 0) {
        WEIR_TRY(weir_changes_next(changes, timeout, &event, err));
        if (event == WEIR_EVENT_NONE || !visit(user, changes, event)) {
            return WEIR_OK;
        }
    }
}

/* ---- what an event is about ----------------------------------------------------------------- */

uint64_t weir_changes_generation(const WeirChanges *changes)
{
    return changes->generation;
}

int64_t weir_changes_weight(const WeirChanges *changes)
{
    return changes->weight;
}

bool weir_changes_is_snapshot(const WeirChanges *changes)
{
    return changes->is_snapshot;
}

WeirResult *weir_changes_row(WeirChanges *changes)
{
    return changes->row;
}
