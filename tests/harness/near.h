/* near.h: do two bags of number tuples match within rounding? */
#ifndef WEIR_TESTS_HARNESS_NEAR_H
#define WEIR_TESTS_HARNESS_NEAR_H

#include <stdbool.h>

/* `group` holds tuples separated by ';': a side, 'l' or 'r', and numbers ("-" is NULL), separated
 * by blanks. True if the tuples of both sides can be paired so that all numbers of a pair are near
 * each other. */
bool near_match(const char *group);

#endif
