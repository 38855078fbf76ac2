/* logic_file.h: a sqllogictest file as a list of records.
 *
 *   statement ok|error|maybe [CONNECTION]     SQL up to an empty line; for error: "----" and a part
 *                                             of the message. maybe: may fail.
 *   query TYPES [nosort|rowsort|valuesort] [CONNECTION]
 *                                             SQL, "----", the rows: values separated by tabs, or
 *                                             one a line. A letter of TYPES for each column; R is
 *                                             compared as a number, the others as text. NULL is
 *                                             NULL, (empty) the empty string.
 *   foreach NAME WORD... / loop NAME FROM TO / endloop    ${NAME} is replaced in what is between
 *   load FILE | restart | reconnect           a database file, made anew; closed and opened again;
 *                                             new connections
 *   require NAME | halt | mode skip|unskip | hash-threshold N
 *   skipif VERSION | onlyif VERSION           of the next record, if DuckDB's version starts so
 *   verify on|off                             after each statement every live view is compared with
 *                                             its definition, and its changes with its content
 *   verify forget                             views that were made again while verify was off are
 *                                             not the ones that were compared before
 *   verify near VIEW COLUMN                   that column (from 0) is a sum of doubles; verify.h */
#ifndef WEIR_TESTS_SQL_LOGIC_FILE_H
#define WEIR_TESTS_SQL_LOGIC_FILE_H

#include "text.h"

typedef enum RecordKind { RECORD_STATEMENT, RECORD_QUERY, RECORD_DIRECTIVE } RecordKind;

typedef struct Record {
    RecordKind kind;
    size_t line;
    TextList words;    /* of the first line */
    char *sql;         /* owned; NULL for a directive */
    TextList expected; /* the lines after "----" */
    bool has_expected;
} Record;

typedef struct LogicFile {
    Record *records; /* owned; loops are unrolled */
    size_t count;
    size_t capacity;
} LogicFile;

/* False if the file cannot be read or understood; `error` says why. */
bool logic_file_read(LogicFile *file, const char *path, Text *error);
void logic_file_free(LogicFile *file);

#endif
