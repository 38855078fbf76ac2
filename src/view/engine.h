/* engine.h: the view manager of one database: catalog, followed tables, dependency graph,
 * propagation, contents, change feeds.
 *
 * One commit, as far as it can be told apart, is one generation: all deltas enter the circuits in
 * one step each, in topological order, and a reader sees whole generations only.
 * Threads: every function may be called from any thread; the engine serialises. A host callback
 * must not call the engine. */
#ifndef WEIR_VIEW_ENGINE_H
#define WEIR_VIEW_ENGINE_H

#include "trace/row_table.h"
#include "view/host.h"

#include <time.h>

typedef struct Engine Engine;

/* mem is borrowed; host is copied. */
Status weir_engine_new(Mem *mem, const Host *host, Engine **out, Error *err) WEIR_MUST_CHECK;

/* No reader may be open. The host's database may be gone already: only table_close and expr_close
 * are called. */
void weir_engine_free(Engine *engine);

/* Brings back the views whose definitions the database keeps; otherwise the first call that asks for a
 * view does. Those that cannot be brought back are told by take_notice. */
void weir_engine_restore(Engine *engine);

/* The same for what is kept since then: by a database that was attached, or imported; and what could not
 * be brought back before. */
void weir_engine_restore_new(Engine *engine);

typedef enum CreateMode { CREATE_NEW, CREATE_IF_MISSING, CREATE_OR_REPLACE } CreateMode;

typedef struct CreateSpec {
    const char *name; /* possibly qualified and quoted */
    const char *sql;  /* one SELECT */
    ViewSettings settings;
    CreateMode mode;
    bool is_saved;       /* the database keeps the definition already */
    bool is_saved_later; /* the caller sees to it that it does */
    bool keeps_sources; /* of a view that is replaced: the new plan reads the same columns and gives
                            the same ones; or it fails */
} CreateSpec;

typedef struct CreateResult {
    bool was_created; /* false: it was there, and the mode is CREATE_IF_MISSING */
    uint64_t row_count;
} CreateResult;

/* Plans, populates and publishes a view; all or nothing. result may be NULL. Replacing is refused
 * while other views depend on the view, unless its columns stay the same; then the change feed goes
 * on, with the difference as one change. Otherwise a new feed begins. */
Status weir_engine_create(Engine *engine, const CreateSpec *spec, CreateResult *result, Error *err)
    WEIR_MUST_CHECK;

/* Creates new views, each of which may read those before it: all, or on failure none. The database keeps
 * the definitions from one transaction on. */
Status weir_engine_create_all(Engine *engine, const CreateSpec *specs, size_t count, Error *err)
    WEIR_MUST_CHECK;

/* Refused with WEIR_ERR_HAS_DEPENDENTS unless cascade. *dropped (may be NULL) = views dropped. */
Status weir_engine_drop(Engine *engine, const char *name, bool cascade, size_t *dropped, Error *err)
    WEIR_MUST_CHECK;

/* Plans a view again and rebuilds it from its tables: mends a broken one. row_count may be NULL. */
Status weir_engine_refresh(Engine *engine, const char *name, uint64_t *row_count, Error *err)
    WEIR_MUST_CHECK;

/* Brings all views up to date with the committed data. table NULL = all followed tables, otherwise
 * only that one. *changed_rows (may be NULL) = net changed base rows. A view that fails becomes
 * broken and does not fail the sync. */
Status weir_engine_sync(Engine *engine, const char *table, uint64_t *changed_rows, Error *err)
    WEIR_MUST_CHECK;

/* What reading does first, without reading, and with the first failure of a table. *has_stepped: something
 * had changed. Nothing while auto-sync is off. */
Status weir_engine_poll(Engine *engine, bool *has_stepped, Error *err) WEIR_MUST_CHECK;

/* True, and *out filled, if a view has become broken since the last call. */
bool weir_engine_take_notice(Engine *engine, Error *out);

/* Reading syncs first while this is on (the default). */
void weir_engine_set_auto_sync(Engine *engine, bool on);
bool weir_engine_auto_sync(Engine *engine);

/* How far the filling of a view from what it reads has come, after every batch of rows. Called by the
 * thread that fills, with the engine's lock held: it must not call the engine. */
typedef void (*EngineProgress)(void *user, const char *view, uint64_t rows_done,
                               uint64_t rows_expected);
void weir_engine_set_progress(Engine *engine, EngineProgress progress, void *user);

/* How many bytes the change feeds of views made from now on may keep. */
void weir_engine_set_feed_limit(Engine *engine, size_t bytes);

uint64_t weir_engine_generation(Engine *engine);

typedef enum NameMatch {
    NAME_UNKNOWN,
    NAME_FOUND,
    NAME_AMBIGUOUS, /* views of several schemas have it */
} NameMatch;

/* Whether a name (as a replacement scan passes it, or qualified) is a view. Never fails, nor waits
 * for a step. */
NameMatch weir_engine_look_up(Engine *engine, const char *name);

/* Whether a name of several parts ends, from `last` on, in the name of a view without being that of the
 * only view of this name. Nothing is terminated. */
bool weir_engine_is_misread(Engine *engine, const char *name, size_t size, const char *last);

/* ---- reading ------------------------------------------------------------------------------- */

/* A view's shape. Everything is owned; free with weir_view_shape_deinit. */
typedef struct ViewShape {
    Arena arena;
    Schema schema;          /* with names */
    const bool *is_rounded; /* per column: weir_plan_is_rounded */
    const char *sql;
    ViewSettings settings;
    TableName name;
} ViewShape;

Status weir_engine_shape(Engine *engine, const char *name, ViewShape *out, Error *err)
    WEIR_MUST_CHECK;
void weir_view_shape_deinit(ViewShape *shape);

typedef struct ViewReader ViewReader;

/* The contents of a view at one generation, after a sync if auto-sync is on (or if `sync`).
 * A broken view: WEIR_ERR_BROKEN with its reason. */
Status weir_engine_read(Engine *engine, const char *name, ViewReader **out, Error *err)
    WEIR_MUST_CHECK;

/* Instead of a generation: none of the changes that there are. */
#define WEIR_FEED_FROM_NOW INT64_MAX

/* The change feed: signed rows of every generation after `since`, in order. The rows end with two
 * columns more: weight BIGINT, generation BIGINT. since < 0 = what the feed still has. A generation
 * before the view was made means all of its changes; one after which some have been forgotten is
 * WEIR_ERR_TOO_OLD, one that is still to come WEIR_ERR_ARGUMENT. */
Status weir_engine_read_changes(Engine *engine, const char *name, int64_t since, ViewReader **out,
                                Error *err) WEIR_MUST_CHECK;

void weir_view_reader_free(ViewReader *reader); /* NULL is allowed */
const Schema *weir_view_reader_schema(const ViewReader *reader);
uint64_t weir_view_reader_row_count(const ViewReader *reader); /* an estimate for planning */

/* The database's generation when the reader was opened: it has everything up to it, nothing after. */
uint64_t weir_view_reader_generation(const ViewReader *reader);

/* The next up to BATCH_CAPACITY rows, without weights: a row of weight n comes n times. arena owns
 * what out points to (strings included). Several threads may call it at once, each with its own
 * arena. out->count 0 = end. */
Status weir_view_reader_next(ViewReader *reader, Arena *arena, Batch *out, Error *err)
    WEIR_MUST_CHECK;

/* ---- waiting for changes -------------------------------------------------------------------- */

/* A count that rises after whatever may have changed a view, or whether it can be read. */
uint64_t weir_engine_news(Engine *engine);

/* Waits until the count is not `seen` any more or the deadline (CLOCK_MONOTONIC; NULL = never) has
 * passed: then *is_late. WEIR_ERR_INTERRUPTED if the cancel is wanted; whoever wants it calls
 * weir_engine_wake. Holds no lock that a commit needs. */
Status weir_engine_wait(Engine *engine, uint64_t seen, const struct timespec *deadline,
                        const Cancel *cancel, bool *is_late, Error *err) WEIR_MUST_CHECK;

/* Makes all who wait look at their cancel. */
void weir_engine_wake(Engine *engine);

/* ---- what is there -------------------------------------------------------------------------- */

typedef struct ViewInfo {
    TableName name;
    const char *sql;
    const char *state;  /* "live", "broken" */
    const char *reason; /* of a broken one; NULL otherwise */
    uint64_t row_count;
    uint64_t generation; /* of its last change, or of its creation */
    uint64_t step_count;
    uint64_t changed_rows; /* rows of its change feed since it was created */
    size_t state_bytes;    /* operators and contents */
    size_t feed_bytes;
    double populate_ms;
    double last_step_ms; /* in the last sync; 0 if nothing it reads had changed */
} ViewInfo;

typedef struct TableInfo {
    TableName name;
    const char *columns;   /* followed columns, comma separated */
    const char *method;    /* "wal", "fingerprint", "capture", "manual"; "none": it was given up */
    const char *last_sync; /* a SyncMethod, "never", or the error */
    uint64_t row_count;
    uint64_t sync_count;
    uint64_t diff_count;
    uint64_t fall_back_count; /* the log was to tell what changed, but could not */
    uint64_t generation;      /* of its last change */
    size_t state_bytes;
    double last_sync_ms;
    const char *promise; /* "append_only", "key (a, b)", both; NULL = none */
    const char
        *promise_error; /* how it was found broken, or why it is not checked; NULL = neither */
} TableInfo;

typedef struct DependencyInfo {
    TableName name;
    const char *kind; /* "table", "view" */
    size_t depth;     /* 1 = direct */
} DependencyInfo;

/* What creating a view anew takes, and its columns. */
typedef struct ViewDefinition {
    TableName name;
    const char *sql;
    ViewSettings settings;
    Schema schema;
} ViewDefinition;

/* All views, those before others that read them; everything is copied into the arena. Refused if there is
 * a definition that could not be brought back: it would be missing. */
Status weir_engine_definitions(Engine *engine, Arena *arena, ViewDefinition **out, size_t *count,
                               Error *err) WEIR_MUST_CHECK;

/* Lists; everything is copied into the arena. */
Status weir_engine_views(Engine *engine, Arena *arena, ViewInfo **out, size_t *count, Error *err)
    WEIR_MUST_CHECK;
Status weir_engine_tables(Engine *engine, Arena *arena, TableInfo **out, size_t *count, Error *err)
    WEIR_MUST_CHECK;
Status weir_engine_dependencies(Engine *engine, const char *name, Arena *arena,
                                DependencyInfo **out, size_t *count, Error *err) WEIR_MUST_CHECK;

/* The IR and the circuit, as text: of a view by name, or of a SELECT that is only planned. */
Status weir_engine_explain(Engine *engine, const char *name_or_sql, const ViewSettings *settings,
                           Buf *out, Error *err) WEIR_MUST_CHECK;

/* ---- commits told by the writer ------------------------------------------------------------- */

/* What a writer must know of a table whose rows it changes. */
typedef struct CaptureShape {
    bool is_followed;
    uint64_t follow_id; /* another one whenever other columns are followed */
    Schema schema;      /* the followed columns, with names; in the arena */
    uint64_t epoch;     /* weir_engine_epoch at that moment */
} CaptureShape;

/* Rises before any table begins to be followed, or other columns of one. Any thread; does not wait. */
uint64_t weir_engine_epoch(const Engine *engine);

Status weir_engine_capture_shape(Engine *engine, const TableName *name, Arena *arena,
                                 CaptureShape *out, Error *err) WEIR_MUST_CHECK;

/* A followed table and a view that reads it. */
typedef struct FollowedTable {
    const TableName *name;
    const Schema *columns; /* the followed ones, with names */
    const TableName *view;
} FollowedTable;

/* Calls visit with every view and table that can be followed, table by table, the lock held: no call of
 * the engine in it. */
Status weir_engine_visit_followed(Engine *engine,
                                  Status (*visit)(void *user, const FollowedTable *table,
                                                  Error *err),
                                  void *user, Error *err) WEIR_MUST_CHECK;

/* Rises with every pass. Any thread; does not wait. */
uint64_t weir_engine_commits(const Engine *engine);

/* How rows of a table were updated or deleted. Two transactions of one kind cannot both change a row,
 * since one of them fails. Of other kinds there is one for each set of columns that are updated. */
enum { REWRITES_NONE = 0, REWRITES_DELETE = 1 };
#define REWRITES_MIXED UINT64_MAX /* like no other, nor itself */

/* The net change of one table. */
typedef struct TableChange {
    TableName name;
    uint64_t rewrites;  /* the kind of its updates and deletes */
    uint64_t follow_id; /* of the shape that the rows have */
    RowTable *rows; /* a bag of all followed columns; borrowed; NULL = changed, but not known how */
} TableChange;

typedef struct EngineCommit EngineCommit;

struct EngineCommit {
    const TableChange *changes;
    size_t change_count;
    uint64_t since;       /* weir_engine_commits before the transaction had its snapshot */
    bool is_unknown;      /* any table may have changed, also those of the list otherwise */
    bool has_definitions; /* tables may have been altered, dropped, or made again */

    /* Commits in the database, unless that is done, and may fill in what changed. */
    Status (*run)(void *context, EngineCommit *commit, Error *err);
    void *context;
};

/* Commits, and brings every view up to that commit: one generation. The commits of all writers come
 * one after another. If run fails nothing has happened; WEIR_OK otherwise, since there is nothing to
 * take back: a view that cannot follow is broken, as after a sync. With a host that does not capture,
 * the next sync finds the rows in the database and knows that they were told. */
Status weir_engine_commit(Engine *engine, EngineCommit *commit, Error *err) WEIR_MUST_CHECK;

/* What a writer calls when its transaction has its snapshot and has changed nothing: brings the views at
 * least to that snapshot, unless auto-sync is off. */
Status weir_engine_prepare_commit(Engine *engine, Error *err) WEIR_MUST_CHECK;

/* ---- sources fed by hand -------------------------------------------------------------------- */

/* How a table is followed, and what its user promises of it. */
typedef struct TrackSpec {
    const char *name; /* possibly qualified and quoted */
    bool
        is_manual; /* its changes are told with notify, and it is compared with the database only by a
                         sync that names it; otherwise as a table that a view follows */
    bool is_append_only; /* rows are only added: what is old is looked at in samples, until a row is
                            found to be missing or another one */
    const char *key;     /* these columns, separated by commas, are together unique and never NULL:
                            that is checked, and not relied on; NULL = none */
} TrackSpec;

/* Starts to follow a table before a view needs it, or in another way than before. WEIR_ERR_PROMISE: what
 * the table holds has no such key. On failure the table is followed as before. */
Status weir_engine_track(Engine *engine, const TrackSpec *spec, uint64_t *row_count, Error *err)
    WEIR_MUST_CHECK;

/* The columns that are followed, in order; copied into the arena. */
Status weir_engine_followed(Engine *engine, const char *table, Arena *arena, Schema *out,
                            Error *err) WEIR_MUST_CHECK;

/* Rows that come in batches. */
typedef struct RowSource {
    void *context;
    Status (*visit_rows)(void *context, HostVisit visit, void *user, Error *err);
} RowSource;

/* Rows inserted into (sign 1) or deleted from (-1) a manual table: one commit, or on failure none.
 * Batches: the followed columns. visit_rows runs with the engine's lock held. The next sync that
 * names the table takes back what the database does not confirm. */
Status weir_engine_notify(Engine *engine, const char *table, int64_t sign, const RowSource *rows,
                          Error *err) WEIR_MUST_CHECK;

#endif
