/* engine_priv.h: the structs of the view manager. Only for src/view.
 *
 * Locks: engine->lock (rank ENGINE) serialises everything that changes state; catalog_lock (rank
 * LEAF) protects the list of views and their shapes, so that a name can be looked up while a step
 * runs; a view's content lock is shared by readers filling a chunk and exclusive for a step. */
#ifndef WEIR_VIEW_ENGINE_PRIV_H
#define WEIR_VIEW_ENGINE_PRIV_H

#include "base/lock.h"
#include "op/sink.h"
#include "view/bag.h"
#include "view/engine.h"
#include "view/feed.h"
#include "view/names.h"

#include <stdatomic.h>

typedef struct KeyPromise KeyPromise; /* promise.c */

/* A table that at least one view reads, or that the user asked to follow. */
typedef struct TrackedTable {
    Arena arena; /* names, types */
    TableName name;
    HostTable
        *host_table;      /* owned by the host; NULL = failed while its baseline moved: it is opened
                              again by the next sync, and all views that read it are rebuilt */
    const char **columns; /* followed columns, in the order of the host's batches */
    const LogicalType **types;
    size_t column_count;
    RowTable delta; /* this sync's net change, all columns as key; valid if has_delta */
    bool has_delta_table;
    RowTable *captured;    /* the pass under way has this change instead; borrowed */
    bool has_changed;      /* the pass under way found a change */
    bool has_removed;      /* in which rows went */
    uint64_t rewrites;     /* REWRITES_... of what was told in this pass */
    uint64_t last_rewrite; /* of engine->commits: may have updated or deleted rows */
    uint64_t last_kind;    /* of that commit: REWRITES_... */
    uint64_t last_other;   /* of engine->commits: was the last one of another kind */
    bool is_fresh;         /* the pass under way has no change to tell: its views are rebuilt */
    uint64_t follow_id;    /* of the present columns */
    RowTable notified;     /* net rows told that no sync has seen yet; if has_delta_table */
    size_t notified_limit; /* rows, from which on those of weight 0 are looked for and forgotten */
    bool is_manual;        /* changes come by hand; synced only when asked for by name */
    bool is_tracked;       /* by request: stays without users */
    bool is_append_only;   /* promised */
    Error promise_error;   /* how that was found broken; code 0 = it is believed */
    KeyPromise *key;       /* owned; NULL = none is promised */
    size_t user_count;     /* inputs of views */
    SyncReport report;
    bool was_synced;
    Error error; /* of the last sync: its views cannot be read; code 0 = none */
    uint64_t sync_count;
    uint64_t diff_count;
    uint64_t fall_back_count;
    uint64_t generation;
    double last_sync_ms;
} TrackedTable;

/* Where one plan source of a view gets its rows from. Exactly one of table, view is set. */
typedef struct ViewInput {
    TrackedTable *table;
    struct View *view;
    size_t *columns; /* place of each source column among the table's or view's columns */
    size_t column_count;
} ViewInput;

typedef struct View {
    Arena arena;    /* names, settings, schema, inputs: as long as the view */
    Engine *engine; /* borrowed */
    Mem *mem;
    TableName name;
    const char *sql;
    ViewSettings settings;
    Schema schema;          /* with names */
    const bool *is_rounded; /* per column */
    Plan *plan;
    ExprHost expr;
    bool has_expr;
    CircuitEnv env;
    Circuit *circuit;
    Op **sources;
    Op *sink;
    Circuit *old_circuit; /* the one before a rebuild, until the end of the pass */
    Op *old_sink;
    ViewInput *inputs;
    size_t input_count;
    size_t depth;     /* 1 + the deepest view among its inputs */
    bool is_broken;   /* by its own failure: its circuit is of no use any more, but its sink still
                          holds the last good contents */
    bool is_due;      /* something that it reads has changed since the last try to rebuild it */
    bool has_changed; /* the pass under way changed its contents */
    Error reason;
    bool reads_others;    /* definitions of the database's, which may be replaced */
    bool is_plan_due;     /* one of them may have been, and was not looked at yet */
    bool has_lost_others; /* broken since one of them is gone, or fits no longer */
    uint64_t plan_digest;
    uint64_t bound_against;     /* what was wrong with its tables when it was last bound again */
    const struct View *culprit; /* the first view at or below it that cannot be read; NULL = none */
    bool is_marked;             /* by weir_engine_mark_dependents or _mark_sources */
    Feed feed;
    pthread_rwlock_t content_lock;
    bool has_content_lock;
    struct ViewReader *readers; /* open readers that still need the circuit's contents */
    uint64_t generation;        /* of its last change, or of its creation */
    uint64_t step_count;
    double populate_ms;
    double last_step_ms;
} View;

enum {
    READER_COPY_BLOCK_BYTES = 1 << 20,
    ENGINE_FEED_LIMIT_BYTES = 64 << 20,  /* of a view's change feed */
    ENGINE_SPARE_PAGE_BYTES = 256 << 20, /* free pages kept for the next steps */
};

/* What followers of change feeds wait for. */
typedef struct News {
    Lock lock; /* protects what follows; rank LEAF */
    pthread_cond_t arrival;
    uint64_t count;
    bool is_ready;
} News;

struct Engine {
    Mem *mem; /* borrowed */
    PagePool *pool;
    Host host;
    Lock lock;
    Lock catalog_lock;
    bool has_locks;
    View **views; /* by rising depth */
    size_t view_count;
    size_t view_capacity;
    TrackedTable **tables;
    size_t table_count;
    size_t table_capacity;
    _Atomic uint64_t epoch;
    _Atomic uint64_t commits; /* passes so far */
    uint64_t last_follow_id;
    _Atomic int restore_state;
    struct LostView *lost; /* saved definitions that could not be brought back */
    uint64_t generation;
    News news;
    bool has_new_view; /* the pass under way brings one, which is a new generation */
    bool has_dropped;  /* there were views that are no more */
    bool auto_sync;
    EngineProgress progress; /* NULL = nobody wants to know */
    void *progress_user;
    Error notice;            /* of the last view that broke; code 0 = told, or none */
    size_t feed_limit_bytes; /* per view */
};

double weir_now_ms(void);

/* Makes room for one more pointer in a growing array. */
Status weir_engine_grow(Engine *engine, void *array_pointer, size_t count, size_t *capacity,
                        Error *err) WEIR_MUST_CHECK;

/* ---- tables (table.c) ----------------------------------------------------------------------- */

/* A table that was dropped or altered under its views is not found again: the next view to read that
 * name starts anew, and the views of the old one stay broken until they are made anew too. */
TrackedTable *weir_engine_find_table(Engine *engine, const TableName *name);

/* Borrowed from the table. */
Schema weir_table_schema(const TrackedTable *table);

uint64_t weir_table_row_count(const Engine *engine, const TrackedTable *table);

/* True if the table does not follow all of these columns. */
bool weir_table_lacks(const TrackedTable *table, const char *const *columns, size_t count);

/* Finds or opens a table, and follows the given columns too. Inside host begin .. end. If a table
 * lacks columns, it must have been synced to the host's snapshot. */
Status weir_table_acquire(Engine *engine, const TableName *name, const char *const *columns,
                          const LogicalType *const *types, size_t count, TrackedTable **out,
                          Error *err) WEIR_MUST_CHECK;

/* Takes rows told by hand as this pass's delta: all or none of them. */
Status weir_table_notify(Engine *engine, TrackedTable *table, int64_t sign, const RowSource *rows,
                         Error *err) WEIR_MUST_CHECK;

/* Every row the table is taken to have, all followed columns: its baseline and what was told by
 * hand. */
Status weir_table_visit_contents(Engine *engine, const TrackedTable *table, HostVisit visit,
                                 void *user, Error *err) WEIR_MUST_CHECK;

/* Calls visit with this pass's net change, `columns` of it, in batches. */
Status weir_table_visit_delta(TrackedTable *table, const size_t *columns, size_t column_count,
                              HostVisit visit, void *user, Error *err) WEIR_MUST_CHECK;

/* Forgets a table that nobody uses. */
void weir_table_release(Engine *engine, TrackedTable *table);

void weir_table_free(Engine *engine, TrackedTable *table);

/* Finds the table's net change since the last sync. On failure table->error says why; if the
 * baseline has moved, the table is closed. */
Status weir_table_sync(Engine *engine, TrackedTable *table, uint64_t *changed_rows, Error *err)
    WEIR_MUST_CHECK;
void weir_table_end_sync(TrackedTable *table);

/* Announces to the host what is going to be synced: one table, or all that are not synced by hand. */
void weir_table_prepare_syncs(Engine *engine, const TrackedTable *only);

/* True if the host can prove, without being begun, that a pass would find nothing in any table. */
bool weir_table_are_unchanged(Engine *engine);

/* What the table holds is not known any more; it is opened again by the next pass that can. */
void weir_table_give_up(Engine *engine, TrackedTable *table, const Error *reason);

/* Takes what a writer told of as this pass's delta. The rows are borrowed until the pass's end. */
void weir_table_take_captured(TrackedTable *table, const TableChange *change);

/* The same beside a baseline, which does not have the rows yet: the next sync takes them for told. On
 * failure the table is closed. */
Status weir_table_take_told(Engine *engine, TrackedTable *table, const TableChange *change,
                            Error *err) WEIR_MUST_CHECK;

/* ---- promises (promise.c) ---------------------------------------------------------------------- */

/* The columns of a promised key. */
typedef struct KeyColumns {
    const char **names; /* borrowed from the schema */
    size_t count;       /* 0 = no key */
} KeyColumns;

/* Whether the columns are a key in what the database holds now: WEIR_ERR_PROMISE if not. */
Status weir_table_try_key(Engine *engine, const TableName *name, const Schema *schema,
                          const KeyColumns *key, Error *err) WEIR_MUST_CHECK;

/* Reads a list of columns as SQL writes it; the array comes from the arena. */
Status weir_key_columns_parse(const char *text, const Schema *schema, Arena *arena, KeyColumns *out,
                              Error *err) WEIR_MUST_CHECK;

/* Puts these promises in the place of earlier ones. WEIR_ERR_PROMISE: the columns are no key of what the
 * table holds. On failure earlier promises stay. Inside host begin .. end, table synced. */
Status weir_table_promise(Engine *engine, TrackedTable *table, bool is_append_only,
                          const KeyColumns *columns, Error *err) WEIR_MUST_CHECK;
void weir_table_forget_promises(TrackedTable *table);

/* Whether the next syncs rely on the table being append-only, if that is promised and not found broken.
 * table may be NULL. */
void weir_table_believe(Engine *engine, TrackedTable *table, bool is_believed);

/* Compares the promises with this pass's change of the table. Inside host begin .. end. */
void weir_table_check_promises(Engine *engine, TrackedTable *table);

/* What was counted for a key is not what the table holds any more: the next pass counts again, and until
 * then the table is uncounted. */
void weir_table_forget_counts(TrackedTable *table);
bool weir_table_is_uncounted(const TrackedTable *table);

/* "append_only", "key (a, b)", both; nothing if nothing is promised, or nothing found broken. */
void weir_table_put_promise(const TrackedTable *table, Buf *out);
void weir_table_put_promise_error(const TrackedTable *table, Buf *out);

size_t weir_table_promise_bytes(const TrackedTable *table);

/* ---- views (view.c) ------------------------------------------------------------------------- */

Status weir_view_settings_copy(Arena *arena, const ViewSettings *from, ViewSettings *to, Error *err)
    WEIR_MUST_CHECK;

/* Plans a definition and prepares a view that is not in the catalog yet. */
Status weir_view_new(Engine *engine, const CreateSpec *spec, const TableName *name, View **out,
                     Error *err) WEIR_MUST_CHECK;

/* Connects the plan's sources with tables and views. old = the view whose place it will take, or
 * NULL. Inside host begin .. end, lock held. */
Status weir_view_bind(Engine *engine, View *view, const View *old, Error *err) WEIR_MUST_CHECK;

/* Builds the circuit anew and fills it from the inputs' present contents. If the view had contents
 * before, the difference becomes this pass's change. On failure the old contents stay. */
Status weir_view_populate(Engine *engine, View *view, Error *err) WEIR_MUST_CHECK;

/* One step: the deltas of all changed inputs. */
Status weir_view_step(Engine *engine, View *view, Error *err) WEIR_MUST_CHECK;

/* What this pass changed in the view, as batches of its columns. */
Status weir_view_visit_change(View *view, HostVisit visit, void *user, Error *err) WEIR_MUST_CHECK;
void weir_view_end_step(View *view);
bool weir_view_has_changed_input(const View *view);
void weir_view_unbind(Engine *engine, View *view);
void weir_view_free(Engine *engine, View *view);

/* The view is broken from now on, for this reason. */
void weir_view_break(Engine *engine, View *view, const Error *reason);

/* The failure that makes the view unreadable: its own, that of a table it reads, or that of a view
 * below; NULL = readable. As of the last pass. */
const Error *weir_view_failure(const View *view, const View **culprit);

/* ---- catalog (catalog.c) -------------------------------------------------------------------- */

/* These need the engine's lock or the catalog lock. Of several views that a name may mean, the one
 * in schema main is meant if there is one: *out and the result of find_view. NULL if none is. */
NameMatch weir_engine_match_view(Engine *engine, const char *name, View **out);
View *weir_engine_find_view(Engine *engine, const char *name);
View *weir_engine_find_view_exact(Engine *engine, const TableName *name);

/* As find_view, with an error that names what is there. */
Status weir_engine_get_view(Engine *engine, const char *name, View **out, Error *err)
    WEIR_MUST_CHECK;

/* Sets is_marked of every view: whether it reads `base`, directly or through others. */
void weir_engine_mark_dependents(Engine *engine, const View *base);

/* The same of `top` and what it reads. NULL = every view. */
void weir_engine_mark_sources(Engine *engine, const View *top);
void weir_engine_sort_views(Engine *engine);

/* The table's views cannot follow it, for the reason in table->error. */
void weir_engine_break_views_of(Engine *engine, const TrackedTable *table);

/* Sets the culprit of every view. */
void weir_engine_find_culprits(Engine *engine);

/* Steps every view whose inputs changed in this pass, then ends the pass: a new generation if
 * anything changed. */
void weir_engine_advance_views(Engine *engine);

/* ---- saved definitions (saved.c) -------------------------------------------------------------- */

/* A saved definition that could not be brought back. */
typedef struct LostView {
    struct LostView *next;
    Arena arena;
    TableName name;
    const char *sql;
    Error reason;
} LostView;

/* Takes the engine's lock; at first use the saved views are brought back. */
void weir_engine_enter(Engine *engine);

/* weir_engine_restore_new with the engine's lock held. */
void weir_engine_restore_new_locked(Engine *engine);

/* weir_engine_restore_new, unless somebody is in the engine, perhaps the caller itself, or every writer
 * tells what it does. True if it has been done. */
bool weir_engine_try_restore_new(Engine *engine);

LostView *weir_engine_match_lost(Engine *engine, const char *name); /* as written */
LostView *weir_engine_find_lost(Engine *engine, const TableName *name);
void weir_engine_forget_lost(Engine *engine, const TableName *name); /* NULL = all */
Status weir_lost_view_error(const LostView *lost, Error *err);

/* Inside host begin .. end: keep a definition, or no longer; then commit or take back. The list of
 * definitions that could not be brought back needs the engine's lock or the catalog lock. */
Status weir_engine_save(Engine *engine, const View *view, Error *err) WEIR_MUST_CHECK;
Status weir_engine_unsave(Engine *engine, const TableName *name, Error *err) WEIR_MUST_CHECK;
Status weir_engine_commit_saving(Engine *engine, Error *err) WEIR_MUST_CHECK;
void weir_engine_abort_saving(Engine *engine);

/* Takes a view that no other one reads out of the catalog. Its readers have their own copies. */
void weir_engine_drop_one(Engine *engine, View *view);

Status weir_engine_create_locked(Engine *engine, const CreateSpec *spec, CreateResult *result,
                                 Error *err) WEIR_MUST_CHECK;

/* ---- the same definition again (again.c): lock held ------------------------------------------- */

/* Views that stopped because a table was altered: those whose own columns are untouched go on. Each is
 * tried once until something else is wrong with its tables. Inside host begin .. end. */
void weir_engine_bind_again(Engine *engine);

/* Of `top` and the views that it reads (NULL = of all), those that read definitions of the database's are
 * due to be planned again. */
void weir_engine_make_plans_due(Engine *engine, const View *top);
bool weir_engine_is_plan_due(Engine *engine);

/* Plans what is due, and fills a view again if its plan is another one. A view whose definition has no
 * meaning any more is broken. Fails for want of memory or if interrupted: what was not looked at stays
 * due. Inside host begin .. end. */
Status weir_engine_plan_again(Engine *engine, Error *err) WEIR_MUST_CHECK;

/* ---- the sync pass (propagate.c) ------------------------------------------------------------- */

/* Brings everything up to the host's snapshot. The first failure of a table is returned, but does
 * not keep the others from being synced. Inside host begin .. end, lock held. */
Status weir_engine_propagate(Engine *engine, TrackedTable *only, uint64_t *changed_rows, Error *err)
    WEIR_MUST_CHECK;

/* The same as a preparation for something else. A table that failed makes only its own views
 * unreadable: nothing but an interruption fails. */
Status weir_engine_catch_up(Engine *engine, Error *err) WEIR_MUST_CHECK;

Status weir_engine_prepare_table(Engine *engine, const TableName *name, const char *const *columns,
                                 size_t count, Error *err) WEIR_MUST_CHECK;

/* What reading a view does first, unless auto-sync is off: catches up, and looks whether its definition
 * means something else now. NULL = only the tables. Lock held. */
Status weir_engine_freshen(Engine *engine, const char *name, Error *err) WEIR_MUST_CHECK;

/* ---- waiting for changes (news.c) -------------------------------------------------------------- */

Status weir_news_init(News *news, Error *err) WEIR_MUST_CHECK;
void weir_news_deinit(News *news);

/* Tells those who wait that there may be something. */
void weir_news_announce(News *news);

/* ---- readers (reader.c) ---------------------------------------------------------------------- */

/* Gives every open reader of the view its own copy of what it has not read yet. */
Status weir_view_detach_readers(View *view, Error *err) WEIR_MUST_CHECK;

#endif
