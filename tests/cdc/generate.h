/* generate.h: random schemas and statements. Text depends on the generator's state only, so a seed and a
 * number name a workload. Statements may fail: they must then fail alike. */
#ifndef CDC_GENERATE_H
#define CDC_GENERATE_H

#include "decode.h"

#include <stdint.h>

enum { TABLES = 4, COLUMNS_MAX = 8 };

typedef struct Generator {
    uint64_t state;
    int columns[TABLES]; /* c0, c1, ... of t0, t1, ... */
    int has_alias[TABLES];
    int has_rowid[TABLES];
    int is_strict;  /* the table that is being made */
    int names;      /* given to indexes, columns, tables so far */
    int savepoints; /* open, as far as is known */
    int in_transaction;
    int with_ddl;
} Generator;

/* A number below `limit`. */
uint32_t pick(Generator *generator, uint32_t limit);
/* Statements that make tables, indexes, triggers and views, one a line. */
void generate_schema(Generator *generator, Text *out);
/* One statement. */
void generate_statement(Generator *generator, Text *out);

#endif
