/* shrink.h: cuts a failing round down to a small one that fails in the same way. */
#ifndef WEIR_TESTS_ORACLE_SHRINK_H
#define WEIR_TESTS_ORACLE_SHRINK_H

#include "run.h"

/* The smallest round found within the time; the caller owns it. */
Case *shrink_case(const Case *test, const Outcome *outcome, const RunOptions *options,
                  double seconds);

#endif
