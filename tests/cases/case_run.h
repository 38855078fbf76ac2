/* case_run.h: runs a case in five ways. */
#ifndef WEIR_TESTS_CASES_CASE_RUN_H
#define WEIR_TESTS_CASES_CASE_RUN_H

#include "case_file.h"

/* X(name, meaning) */
#define CASE_WAYS(X)                                                                       \
    X(EACH, "each", "views before the rows; a commit after each change")                   \
    X(LATE, "late", "views after the rows; a commit after each change")                    \
    X(ONCE, "once", "all changes in one transaction")                                      \
    X(UNDO, "undo", "after each change: BEGIN, all tables as before the change, ROLLBACK") \
    X(REOPEN, "reopen", "the file is closed and opened after each change")

typedef enum CaseWay {
#define X(id, name, meaning) WAY_##id,
    CASE_WAYS(X)
#undef X
        WAY_COUNT
} CaseWay;

typedef struct CaseOptions {
    const char *extension; /* NULL: the model of harness/backend.h; refusals are then not tested */
    const char *directory; /* for database files */
} CaseOptions;

const char *case_way_name(CaseWay way);
/* Is the case to be run in that way? */
bool case_has_way(const CaseFile *file, CaseWay way, const CaseOptions *options);
/* False if a view is not what it must be; `report` says which and when. */
bool case_run(const CaseFile *file, CaseWay way, const CaseOptions *options, Text *report);

#endif
