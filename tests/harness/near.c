/* near.c: see near.h.
 *
 * "Near" is no equivalence, so sorting both sides and comparing in order could fail where a pairing
 * exists. The pairing is found by augmenting paths (Kuhn); groups are small. */
#include "near.h"

#include "text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR_NUMBERS_MAX = 16 };

/* Far above n * 2^-53 for the number of rows that a test adds up, far below any real mistake. */
static const double near_bound = 1e-11;

typedef struct Tuple {
    double numbers[NEAR_NUMBERS_MAX];
    bool is_null[NEAR_NUMBERS_MAX];
    size_t count;
} Tuple;

typedef struct Tuples {
    Tuple *items; /* owned */
    size_t count;
    size_t capacity;
} Tuples;

typedef struct Pairing {
    const Tuples *left;
    const Tuples *right;
    size_t *owner;  /* of a right tuple: its left tuple plus 1, or 0 */
    bool *is_tried; /* right tuples seen on this path */
} Pairing;

static bool number_is_near(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    if (isinf(a) || isinf(b)) {
        return a == b;
    }
    return fabs(a - b) <= near_bound * fmax(fabs(a), fabs(b));
}

static bool tuple_is_near(const Tuple *a, const Tuple *b)
{
    for (size_t i = 0; i < a->count; i++) {
        if (a->is_null[i] != b->is_null[i]) {
            return false;
        }
        if (!a->is_null[i] && !number_is_near(a->numbers[i], b->numbers[i])) {
            return false;
        }
    }
    return a->count == b->count;
}

static bool pairing_find(Pairing *pairing, size_t left)
{
    for (size_t i = 0; i < pairing->right->count; i++) {
        if (pairing->is_tried[i] ||
            !tuple_is_near(&pairing->left->items[left], &pairing->right->items[i])) {
            continue;
        }
        pairing->is_tried[i] = true;
        if (pairing->owner[i] == 0 || pairing_find(pairing, pairing->owner[i] - 1)) {
            pairing->owner[i] = left + 1;
            return true;
        }
    }
    return false;
}

static void tuples_add(Tuples *tuples, char *text)
{
    Tuple tuple = {0};
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word != NULL && tuple.count < NEAR_NUMBERS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        tuple.is_null[tuple.count] = strcmp(word, "-") == 0;
        tuple.numbers[tuple.count] = strtod(word, NULL);
        tuple.count++;
    }
    tuples->items = test_grow(tuples->items, tuples->count, &tuples->capacity, sizeof tuple);
    tuples->items[tuples->count] = tuple;
    tuples->count++;
}

bool near_match(const char *group)
{
    Tuples left = {0};
    Tuples right = {0};
    char *copy = test_copy(group);
    char *rest = NULL;
    for (char *item = strtok_r(copy, ";", &rest); item != NULL; item = strtok_r(NULL, ";", &rest)) {
        tuples_add(item[0] == 'l' ? &left : &right, item + 1);
    }
    Pairing pairing = {.left = &left, .right = &right};
    pairing.owner = test_alloc((right.count + 1) * sizeof *pairing.owner);
    pairing.is_tried = test_alloc((right.count + 1) * sizeof *pairing.is_tried);
    bool is_match = left.count == right.count;
    for (size_t i = 0; is_match && i < left.count; i++) {
        memset(pairing.is_tried, 0, right.count * sizeof *pairing.is_tried);
        is_match = pairing_find(&pairing, i);
    }
    test_free(pairing.owner);
    test_free(pairing.is_tried);
    test_free(left.items);
    test_free(right.items);
    test_free(copy);
    return is_match;
}
