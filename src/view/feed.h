/* feed.h: the change feed of a view: signed rows by generation, within a byte limit.
 *
 * Oldest generations leave first. Entries are immutable and reference-counted, so that a reader can
 * keep them while the feed moves on. */
#ifndef WEIR_VIEW_FEED_H
#define WEIR_VIEW_FEED_H

#include <stdatomic.h>

#include "types/row.h"

/* One generation's changes: packed rows (all columns as payload), weight in the row header. */
typedef struct FeedEntry {
    uint64_t generation;
    size_t row_count;
    size_t *offsets; /* owned: of each row in bytes */
    char *bytes;     /* owned */
    size_t byte_count;
    size_t byte_capacity;
    Mem *mem;
    bool is_overflow; /* larger than the feed's limit: nothing is kept */
    atomic_size_t ref_count;
} FeedEntry;

typedef struct Feed {
    Mem *mem;
    RowLayout layout;
    FeedEntry **entries; /* by rising generation */
    size_t count;
    size_t capacity;
    size_t bytes;
    size_t limit_bytes;
    uint64_t floor;     /* changes after this generation are complete */
    bool has_forgotten; /* older entries left; otherwise floor is where the view began */
    uint64_t row_total; /* changes ever recorded */
    FeedEntry *open;    /* being written; NULL outside begin .. commit */
} Feed;

Status weir_feed_init(Feed *feed, Mem *mem, const Schema *schema, size_t limit_bytes,
                      uint64_t floor, Error *err) WEIR_MUST_CHECK;
void weir_feed_deinit(Feed *feed);

/* begin, add batches, then commit (becomes visible; empty entries vanish) or abort. */
Status weir_feed_begin(Feed *feed, uint64_t generation, Error *err) WEIR_MUST_CHECK;
Status weir_feed_add(Feed *feed, const Batch *batch, Error *err) WEIR_MUST_CHECK;
Status weir_feed_commit(Feed *feed, Error *err) WEIR_MUST_CHECK;
void weir_feed_abort(Feed *feed);

FeedEntry *weir_feed_entry_ref(FeedEntry *entry); /* any thread */
void weir_feed_entry_unref(FeedEntry *entry);

/* Index of the first entry after generation `since`. */
size_t weir_feed_find(const Feed *feed, uint64_t since);

#endif
