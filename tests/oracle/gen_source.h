/* gen_source.h: what gen_source.c and gen_query.c share. */
#ifndef WEIR_TESTS_ORACLE_GEN_SOURCE_H
#define WEIR_TESTS_ORACLE_GEN_SOURCE_H

#include "gen.h"

/* How many tables may be multiplied in one view. */
unsigned gen_weight_max(const Gen *gen);
/* A number for a name that is used once. */
size_t gen_alias(Gen *gen);
/* The columns of a query or view under an alias. */
void scope_add_query(Scope *scope, const char *alias, const ViewColumn *columns, size_t count);
/* The condition of a join; it has an equality unless `may_be_wide`. */
void gen_join_condition(Gen *gen, const Scope *left, const Scope *right, bool may_be_wide,
                        Text *sql);

#endif
