/* logic_run.h: runs the records of a sqllogictest file. */
#ifndef WEIR_TESTS_SQL_LOGIC_RUN_H
#define WEIR_TESTS_SQL_LOGIC_RUN_H

#include "logic_file.h"

typedef struct LogicOptions {
    const char *extension; /* NULL: none; a file that requires it fails */
    const char *directory; /* for the files of load */
} LogicOptions;

/* Runs the file; false if something differs, and `report` says where and what. */
bool logic_run(const char *path, const LogicOptions *options, size_t *record_count, Text *report);

#endif
