/* case_file.h: a .case file: tables, views, changes, and what the views must then hold.
 *
 * A section starts with a word at the start of a line; its lines are indented. '#' is a comment.
 *
 *   story WORDS                  what went wrong elsewhere
 *   ways WORD...                 only these ways (see case_run.h); without it all of them
 *   settings                     statements for every connection (SET TimeZone = ...)
 *   tables                       statements, separated by ';' at the end of a line
 *   rows                         statements that fill the tables
 *   view NAME                    its definition
 *   refused NAME CODE WORDS      the view must be refused with that code and those words
 *   near NAME COLUMN             the column, from 0, is a sum of doubles: see verify.h
 *   change                       statements; one commit, unless they say BEGIN ... themselves
 *   alone                        the same for statements that cannot run in a transaction
 *   expect NAME                  rows, values separated by '|'; none: the view is empty
 *   unchanged NAME               the last change put nothing into the view's change feed */
#ifndef WEIR_TESTS_CASES_CASE_FILE_H
#define WEIR_TESTS_CASES_CASE_FILE_H

#include "text.h"

enum { CASE_VIEWS_MAX = 8, CASE_COLUMNS_MAX = 16 };

typedef struct CaseView {
    char *name;    /* owned */
    char *sql;     /* owned */
    char *refusal; /* owned; NULL: the view must be made */
    char *reason;  /* owned; what the refusal must name */
    bool is_near[CASE_COLUMNS_MAX];
} CaseView;

typedef enum StepKind { STEP_CHANGE, STEP_ALONE, STEP_EXPECT, STEP_UNCHANGED } StepKind;

typedef struct CaseStep {
    StepKind kind;
    size_t line;
    TextList lines; /* statements, or rows */
    size_t view;    /* for STEP_EXPECT and STEP_UNCHANGED */
} CaseStep;

typedef struct CaseFile {
    char *path;  /* owned */
    char *story; /* owned */
    TextList ways;
    TextList settings;
    TextList tables;
    TextList rows;
    CaseView views[CASE_VIEWS_MAX];
    size_t view_count;
    CaseStep *steps; /* owned */
    size_t step_count;
    size_t step_capacity;
} CaseFile;

bool case_file_read(CaseFile *file, const char *path, Text *error);
void case_file_free(CaseFile *file);

#endif
