/* story.h: what the tests that let memory and disk fail have in common. */
#ifndef CDC_STORY_H
#define CDC_STORY_H

#include <sqlite3.h>

/* The first state of the database. */
extern const char STORY_SCHEMA[];

/* Runs statements of every kind, captured if the connection captures; each may fail. */
void story_run(sqlite3 *db);
/* Asserts that the database is whole and that its log leads from `first`, a captured copy of the first state
 * in memory, to its tables. `point` is where the failure was, for the message. */
void story_check(sqlite3 *db, sqlite3 *first, long point);

/* Makes `path` a new database whose log lacks a change behind its last record: the id of that. */
sqlite3_int64 story_make_gap(const char *path, const char *journal);
/* Asserts that the database is whole and its log has that one gap, and none else. */
void story_check_gap(const char *path, sqlite3_int64 after, long point);

#endif
