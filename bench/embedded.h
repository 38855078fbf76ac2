/* embedded.h: statements through libweir. */
#ifndef WEIR_BENCH_EMBEDDED_H
#define WEIR_BENCH_EMBEDDED_H

#include "weir.h"

/* An empty database in memory; a failure ends the program, here and below. */
WeirDb *embedded_open(void);

/* Runs statements. */
void run(WeirDb *db, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
