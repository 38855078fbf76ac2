/* ordered_set.h: a multiset of order-preserving keys with weights: MIN and MAX, later quantiles,
 * top-K and windows stand on it.
 *
 * A set is a 24-byte handle that the user embeds (an aggregate state). Up to one value lives
 * inline, up to 128 in one sorted block of a size class, more in a counted B+tree (1 KB nodes, keys
 * as 64-bit words in host order). All sets of one family share an OrderedSpace. Keys are
 * `key_words` 64-bit words compared as unsigned integers, most significant first; variable-length
 * values (strings, nested) are references into the space's row store compared by a callback. */
#ifndef WEIR_TRACE_ORDERED_SET_H
#define WEIR_TRACE_ORDERED_SET_H

#include "trace/row_store.h"
#include "types/type.h"

typedef struct OrderedSpace OrderedSpace;

typedef struct OrderedSet {
    uint64_t words[3]; /* all zero = empty; private */
} OrderedSet;

/* A space for values of one logical type. */
Status weir_ordered_space_new(Mem *mem, PagePool *pool, const LogicalType *type, OrderedSpace **out,
                              Error *err) WEIR_MUST_CHECK;
void weir_ordered_space_free(OrderedSpace *space); /* and every set in it */

/* Adds weight to the value (of the type's physical form; strings are copied). A value whose weight
 * returns to 0 leaves the set; a weight that would end below 0 is WEIR_ERR_NEGATIVE only when
 * checked by weir_ordered_set_verify at the end of a step: within a step it may be negative. */
Status weir_ordered_set_add(OrderedSpace *space, OrderedSet *set, const void *value, int64_t weight,
                            Error *err) WEIR_MUST_CHECK;

/* The smallest / largest value with positive weight; NULL if there is none. Borrowed until the set
 * changes; strings point into the space. */
const void *weir_ordered_set_min(OrderedSpace *space, const OrderedSet *set);
const void *weir_ordered_set_max(OrderedSpace *space, const OrderedSet *set);

size_t weir_ordered_set_count(const OrderedSpace *space, const OrderedSet *set); /* distinct */
void weir_ordered_set_clear(OrderedSpace *space, OrderedSet *set);
void weir_ordered_space_end_step(OrderedSpace *space);
size_t weir_ordered_space_bytes(const OrderedSpace *space);

#endif
