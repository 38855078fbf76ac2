/* reader.h: the struct of a reader. Only for src/view. */
#ifndef WEIR_VIEW_READER_H
#define WEIR_VIEW_READER_H

#include "view/engine_priv.h"

/* Reads a view's rows. While the view does not change, straight from its sink; before the view
 * changes, the rest is copied (weir_view_detach_readers), so a reader sees one generation. Or reads
 * entries of a change feed, which never change. */
struct ViewReader {
    Engine *engine;
    Mem *mem;
    Arena arena; /* schema, layout, entry list */
    Schema schema;
    RowLayout layout;    /* of the rows: a copy */
    size_t column_count; /* without weight and generation */
    uint64_t row_count;
    uint64_t generation; /* of the engine when it was opened */
    View *view;          /* borrowed while not copied; NULL = a feed reader */

    /* Under the catalog lock: */
    ViewReader *next;  /* of the same view */
    bool is_attached;  /* in the view's list */
    bool is_copying;   /* the engine is copying what is left */
    bool is_abandoned; /* freed meanwhile */

    pthread_mutex_t mutex; /* protects what follows */
    bool is_copied;        /* what was left is in copies; the view may be gone */
    uint64_t cursor;       /* into the sink's table */
    Row **window;          /* rows taken from the sink or the copy, not handed out yet */
    size_t window_count;
    size_t window_place;
    int64_t repeats_left; /* of window[window_place]; 0 = not begun */
    Arena copy_arena;     /* the copied rows */
    Row **copies;         /* owned */
    size_t copy_count;
    size_t copy_place;
    bool is_feed;
    FeedEntry **entries; /* a reference on each */
    size_t entry_count;
    size_t entry_place;
    size_t entry_row;
};

#endif
