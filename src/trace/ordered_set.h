/* ordered_set.h: a multiset of order-preserving keys with weights: MIN and MAX, later quantiles,
 * top-K and windows stand on it.
 *
 * A set is a 24-byte handle that the user embeds (an aggregate state). Up to one value lives
 * inline, up to 128 in one sorted block of a size class, more in a counted B+tree (1 KB nodes, keys
 * as 64-bit words in host order). All sets of one family share an OrderedSpace. Keys are
 * one or two 64-bit words compared as unsigned integers, most significant first; variable-length
 * values (strings, nested) and intervals are references to a copy in the space, compared by value.
 * Equal floats are one value (0.0 for -0.0, one NaN); other values that are equal but look different
 * (intervals, nested ones with floats) are kept apart, so that what is returned was added. */
#ifndef WEIR_TRACE_ORDERED_SET_H
#define WEIR_TRACE_ORDERED_SET_H

#include "trace/row_store.h"
#include "types/type.h"

typedef struct OrderedSpace OrderedSpace;

typedef struct OrderedSet {
    uint64_t words[3]; /* all zero = empty; private */
} OrderedSet;

/* A space for values of one logical type, which is borrowed for the life of the space. */
Status weir_ordered_space_new(Mem *mem, PagePool *pool, const LogicalType *type, OrderedSpace **out,
                              Error *err) WEIR_MUST_CHECK;
void weir_ordered_space_free(OrderedSpace *space); /* and every set in it */

/* Adds weight to the value (of the type's physical form; strings are copied). A value whose weight
 * returns to 0 leaves the set. Within a step a weight may be negative: see weir_ordered_set_verify.
 * On failure nothing has changed; WEIR_ERR_WEIGHT if a sum of weights leaves its range. */
Status weir_ordered_set_add(OrderedSpace *space, OrderedSet *set, const void *value, int64_t weight,
                            Error *err) WEIR_MUST_CHECK;

/* The same for many values, with prefetch: to set sets[p] the value at place p, valid and flat, with
 * weight weights[p], for the places of the selection (NULL: 0..count-1). On failure a part is done. */
Status weir_ordered_set_add_batch(OrderedSpace *space, OrderedSet *const *sets,
                                  const Vector *values, const uint16_t *selection,
                                  const int64_t *weights, size_t count, Error *err) WEIR_MUST_CHECK;

/* The same for filling: nothing of the sets is told before weir_ordered_set_settle, which must come
 * before any other call for a set. Equal values may take room each until then, in a bounded number.
 * After a failure of either the space is fit to be freed only. */
Status weir_ordered_set_load_batch(OrderedSpace *space, OrderedSet *const *sets,
                                   const Vector *values, const uint16_t *selection,
                                   const int64_t *weights, size_t count, Error *err)
    WEIR_MUST_CHECK;

/* Takes the loaded values into the set; nothing to do if there are none. */
Status weir_ordered_set_settle(OrderedSpace *space, OrderedSet *set, Error *err) WEIR_MUST_CHECK;

/* Fetches what reading the set will touch; for loops over many sets. */
void weir_ordered_set_prefetch(const OrderedSpace *space, const OrderedSet *set);

/* WEIR_ERR_NEGATIVE if a value has a negative weight. Called at the end of a step. */
Status weir_ordered_set_verify(const OrderedSpace *space, const OrderedSet *set, Error *err)
    WEIR_MUST_CHECK;

/* The smallest / largest value with positive weight; NULL if there is none. Borrowed until the set
 * changes; strings point into the space. */
const void *weir_ordered_set_min(OrderedSpace *space, const OrderedSet *set);
const void *weir_ordered_set_max(OrderedSpace *space, const OrderedSet *set);

/* Summed weight, and the value at `offset` (0-based) of the sorted multiset, each value repeated by
 * its weight; NULL if offset is outside. No weight may be negative. Borrowed as above. */
int64_t weir_ordered_set_weight(const OrderedSpace *space, const OrderedSet *set);
const void *weir_ordered_set_select(OrderedSpace *space, const OrderedSet *set, int64_t offset);

size_t weir_ordered_set_count(const OrderedSpace *space, const OrderedSet *set); /* distinct */
void weir_ordered_set_clear(OrderedSpace *space, OrderedSet *set);
void weir_ordered_space_end_step(OrderedSpace *space);
size_t weir_ordered_space_bytes(const OrderedSpace *space);

#endif
