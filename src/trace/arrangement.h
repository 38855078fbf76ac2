/* arrangement.h: a Z-set indexed by key: key -> rows with weights.
 *
 * = row store + key index. The rows of a key form a short chain; above ARRANGEMENT_HEAVY rows the
 * key is heavy: a dense vector of references plus a full-row index, so that retraction is O(1)
 * under a key of a million rows. Equal rows are one row with a summed weight; a row whose weight
 * returns to 0 is forgotten. A key with no row is forgotten. Rows with a NULL in a key column are
 * stored like others: whether NULL matches NULL is the caller's decision before probing. */
#ifndef WEIR_TRACE_ARRANGEMENT_H
#define WEIR_TRACE_ARRANGEMENT_H

#include "trace/hash_index.h"
#include "trace/row_store.h"

enum { ARRANGEMENT_HEAVY = 16 };

typedef struct Arrangement Arrangement;

Status weir_arrangement_new(Mem *mem, PagePool *pool, const RowLayoutSpec *spec, Arrangement **out,
                            Error *err) WEIR_MUST_CHECK;
void weir_arrangement_free(Arrangement *arrangement);
const RowLayout *weir_arrangement_layout(const Arrangement *arrangement);

/* Adds the weights of count (<= BATCH_CAPACITY) rows. columns: key (normalised), then payload;
 * weights NULL = all +1, else weights[i] is that of row i of the selection; selection NULL = rows
 * 0..count-1 of the columns, else places.
 * Overflowing weights fail with WEIR_ERR_WEIGHT. After a failure part of the rows may have been
 * added: the caller treats its state as broken. */
Status weir_arrangement_apply(Arrangement *arrangement, const Vector *const *columns,
                              const uint16_t *selection, const int64_t *weights, size_t count,
                              Error *err) WEIR_MUST_CHECK;

/* The same; rows[i] = the row of entry i as it is then, for users that keep a state in rows. A row
 * whose weight returned to 0 is forgotten but stays readable until weir_arrangement_end_step; an
 * entry of weight 0 gives no row. */
Status weir_arrangement_apply_rows(Arrangement *arrangement, const Vector *const *columns,
                                   const uint16_t *selection, const int64_t *weights, size_t count,
                                   Row **rows, Error *err) WEIR_MUST_CHECK;

/* For filling: adds rows as weir_arrangement_apply does with the rows 0..count-1, but nothing finds
 * them before weir_arrangement_settle, which must come before any other call. Equal rows may take
 * room each until then, in a bounded number. After the first settling that finds rows, the rows of a
 * load are added at once. */
Status weir_arrangement_load(Arrangement *arrangement, const Vector *const *columns,
                             const int64_t *weights, size_t count, Error *err) WEIR_MUST_CHECK;

/* Takes the loaded rows into the index; a failure is as one of apply. No rows: nothing to do. */
Status weir_arrangement_settle(Arrangement *arrangement, Error *err) WEIR_MUST_CHECK;

/* Announces how many keys there will be, so that the index is built once. Memory for that many is
 * taken now. */
Status weir_arrangement_reserve(Arrangement *arrangement, size_t key_count, Error *err)
    WEIR_MUST_CHECK;

/* A resumable probe: for keys 0..count-1 (through selection) every row of the key. */
typedef struct ArrangementProbe {
    struct ArrangementProbePriv *priv; /* owned */
} ArrangementProbe;

Status weir_arrangement_probe_new(Arrangement *arrangement, ArrangementProbe *probe, Error *err)
    WEIR_MUST_CHECK;
void weir_arrangement_probe_free(Arrangement *arrangement, ArrangementProbe *probe);

/* Starts on the keys (normalised key columns, borrowed until the probe is exhausted). */
void weir_arrangement_probe_start(Arrangement *arrangement, ArrangementProbe *probe,
                                  const Vector *const *keys, const uint16_t *selection,
                                  size_t count);

/* The next up to `capacity` (<= BATCH_CAPACITY) pairs: places[i] = place of the key in the columns
 * (selection[k] for key k), rows[i] = the matching row. Returns how many; 0 = exhausted. Pairs of
 * one key need not be adjacent. The arrangement must not change while a probe is open. */
size_t weir_arrangement_probe_next(Arrangement *arrangement, ArrangementProbe *probe,
                                   uint16_t *places, Row **rows, size_t capacity);

/* out[i] = summed weight of the rows of key i of the selection (0 = no such key). */
void weir_arrangement_key_weights(Arrangement *arrangement, const Vector *const *keys,
                                  const uint16_t *selection, size_t count, int64_t *out);

/* Removed rows may be reused; a large arrangement that has become empty gives its memory back. */
void weir_arrangement_end_step(Arrangement *arrangement);
size_t weir_arrangement_row_count(const Arrangement *arrangement);
size_t weir_arrangement_bytes(const Arrangement *arrangement);

/* All rows, up to `capacity` (>= ARRANGEMENT_HEAVY) per call, in no order. cursor starts at 0;
 * returns 0 at the end. The arrangement must not change while walking. */
size_t weir_arrangement_scan(const Arrangement *arrangement, uint64_t *cursor, Row **rows,
                             size_t capacity);

#endif
